"""Sections on tokens: derived systems, clustering, mean field, stability, fast sums, runs of spec files.

==============  ================================================================================
`derived`       of every subject: the system of n tokens, and the constants on a ball
`clustering`    tokens that cluster: the common cosine, runs on the circle and on S²
`instability`   the spectrum of the uniform law, and the growth of one mode
`phases`        a small phase diagram
`mean_field`    Gaussian tokens beside the Gaussian equations
`separation`    two clouds beside the stability estimate
`expansions`    velocities without pairs beside the bound of what is cut off
`spec`          the run of a spec file with tokens
==============  ================================================================================
"""
