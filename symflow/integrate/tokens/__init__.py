"""Interacting tokens along the velocity of a model.

==============  ========================================================================
`state`         :class:`Tokens`: initial tokens, checked, and how they lie in a flat state
`run`           one run, on ℝᵈ or retracted onto the sphere
`frame`         the frame z = e^{−tV}x as a model with parameters that depend on time
`trajectory`    :class:`TokenTrajectory`: what a run leaves
`ensemble`      many runs of one model
==============  ========================================================================
"""
