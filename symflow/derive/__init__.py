"""What follows from a model: its Gaussian closure as a list of checked steps, typeset as LaTeX and HTML."""
