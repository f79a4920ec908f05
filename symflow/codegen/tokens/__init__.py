"""Interacting tokens: from what one pair of them contributes to functions of all tokens, for every number."""
