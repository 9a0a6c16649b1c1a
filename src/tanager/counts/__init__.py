"""The heart: joint counts, and the way from counts to probabilities."""
