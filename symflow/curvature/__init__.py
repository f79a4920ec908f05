"""Second derivatives of energies along geodesics, as numbers: exact where the input is."""
