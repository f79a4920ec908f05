"""Random layers, one class per activation."""
