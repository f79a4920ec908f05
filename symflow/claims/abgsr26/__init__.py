"""Agazzi, Bruno, Mosig García, Saviozzi, Romito: Stochastic scaling limits of deep transformers (ABGSR26)."""
