"""Truncated power series in the query, for certificates about velocities at size one.

===========  ===================================================================================
`tree`       values of syntax trees in any arithmetic; at size one a matrix is a number
`exact`      series with coefficients in ℚ[√q, y, e^{ay² + by + c}], and their Gaussian integrals
`majorant`   series of bounds that hold for every real y
`enclosed`   series with coefficients in ball arithmetic, and enclosures of their integrals
`velocity`   the velocity of a statement in each of them
`reading`    numbers of a proof object
===========  ===================================================================================
"""
