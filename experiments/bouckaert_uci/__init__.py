"""Voted collections of Bayesian networks on 28 small data sets (Bouckaert, section 4.1). See README.md."""
