"""First and second derivatives of an energy of tokens on spheres, from its definition alone.

===========  ========================================================================================
`energy`     the energy from texts, evaluated at tokens that are series
`exact`      gradient and second derivative along great circles, in exact numbers
`enclosed`   the same in balls around tokens, modulo rotations; where a critical point is, and its kind
===========  ========================================================================================
"""
