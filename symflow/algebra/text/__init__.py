"""The small grammar as text: tokens, syntax tree, names and their shapes. Nothing here imports SymPy."""
