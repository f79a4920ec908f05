"""Second derivatives of energies along geodesics, derived at symbolic size as lists of checked steps."""
