"""Critical points of energies on spheres: found, proved, classified.

==========  ===================================================================================
`entry`     :func:`critical_points`: search, classify, certify
`atlas`     :class:`Atlas` and :class:`CriticalPoint`, what is handed out
`search`    starts, and damped Newton steps that every index attracts
`shapes`    which configurations are the same, and their names
`exact`     exact tokens of known figures
`circle`    gaps between neighbours on the circle, boxes in which a critical point is alone
`complete`  the certificate that an atlas of the circle has all critical points
==========  ===================================================================================
"""

from symflow.critical.atlas import Atlas, CriticalPoint
from symflow.critical.entry import critical_points

__all__ = ["Atlas", "CriticalPoint", "critical_points"]
