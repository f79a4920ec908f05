r"""Velocities of n tokens without a sum over pairs.

==============  ================================================================================
`bilinear`      scores that are affine in both tokens, up to squares that a sphere makes constant
`series`        e^{κ(c−1)} on the circle and on S²: coefficients, recurrences, a proved tail
`enclosures`    the coefficients and the tail in ball arithmetic; how many modes a tolerance needs
`harmonics`     exponential weights on the circle and on S²: :func:`harmonic_sum`
`moments`       weights that are affine in both tokens, in any space: :func:`moment_sum`
`checks`        the independent routes of the steps
==============  ================================================================================

Nothing is imported here: what a kernel needs of it does not wait for the steps and their checks.
"""
