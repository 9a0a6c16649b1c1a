"""Which variable depends on which, read from counts."""
