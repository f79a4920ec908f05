"""Taylor series of a flow: recurrences derived from its program, printed or executed."""
