"""Critical points of energies on spheres: found, proved, classified."""
