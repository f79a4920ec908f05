"""Models made of models: several heads, causal masks."""
