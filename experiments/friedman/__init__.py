"""Naive Bayes, TAN, multi-nets and unrestricted networks on the data sets of Friedman et al. See README.md."""
