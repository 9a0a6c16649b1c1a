"""Models that change while they learn: they notice drift, or change their shape."""
