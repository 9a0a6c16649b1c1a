"""tanager: Bayesian network classifiers that learn from a table, a stream or a cluster."""

__version__ = "0.1.0"
