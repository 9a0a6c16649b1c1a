"""Learned back-off beside the default smoothing of five classifiers."""
