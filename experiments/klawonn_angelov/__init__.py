"""Evolving naive Bayes on joined irises, crossed, moving and overlapping clusters. See README.md."""
