"""Deep transformers with random layers: the discrete network whose limit is the equation with common noise.

==============  ========================================================================
`network`       :class:`~symflow.DeepTransformer`: what a network is
`attention`     attention of tokens on the sphere, not projected, bound to numbers
`layer`         the random layer as numbers: activation, biases, and what it draws
`passes`        one path through the layers in NumPy, with the interface of the compiled one
`run`           one path, or many
`coupling`      a network and its limit with coupled noise, layer by layer
==============  ========================================================================
"""
