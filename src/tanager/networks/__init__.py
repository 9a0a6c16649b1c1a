"""Bayesian networks over named variables: arcs, tables, inference, sampling, files. They know nothing of learning."""
