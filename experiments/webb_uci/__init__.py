"""AODE beside naive Bayes, TAN and trees on the data sets of Webb et al. See README.md."""
