"""Energies of laws of tokens, one class per definition in a paper."""
