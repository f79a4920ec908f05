"""Claims about any model."""
