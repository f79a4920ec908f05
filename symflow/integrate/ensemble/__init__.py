"""Many runs at once: members, lanes of a register, threads."""
