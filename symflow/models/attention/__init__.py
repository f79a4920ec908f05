"""Attention variants. A variant is one file: a class that states its score, value and normalisation.

Every module of this folder is scanned by :mod:`symflow.models.registry`.
"""
