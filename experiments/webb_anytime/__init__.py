"""Anytime AODE: naive Bayes, then one super-parent after the other, in several orders. See README.md."""
