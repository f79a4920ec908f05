"""Exact linear algebra over ℚ, real algebraic numbers and balls, on python-flint, imported late."""
