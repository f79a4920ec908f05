"""What the landscape of interaction energies on the sphere looks like: rotations, saddles, extremal laws.

=============  ============================================================================
`profile`      the energy as a function of the cosine, and its second variations
`moments`      powers in zonal polynomials, for every degree and dimension
`small_beta`   up to which β critical points are strict saddles, and by how much
`argument`     all of it as steps with checks
=============  ============================================================================
"""

from symflow.derive.landscape.argument import Landscape as Landscape
from symflow.derive.landscape.argument import landscape as landscape
from symflow.derive.landscape.moments import power_moment as power_moment
from symflow.derive.landscape.small_beta import saddle_eigenvalue as saddle_eigenvalue
from symflow.derive.landscape.small_beta import small_beta_bound as small_beta_bound
