"""Matrix calculus of symbolic size; has never heard of attention."""
