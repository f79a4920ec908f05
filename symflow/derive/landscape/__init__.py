"""What the landscape of interaction energies on the sphere looks like: rotations, saddles, extremal laws."""
