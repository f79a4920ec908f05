"""Castin, Ablin, Carrillo, Peyré: A Unified Perspective on the Dynamics of Deep Transformers (CACP25)."""
