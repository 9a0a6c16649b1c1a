"""Papers re-run: one folder each, with what was claimed, a script, its results, and what we found."""
