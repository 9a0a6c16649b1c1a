"""AODE beside naive Bayes, TAN, LBR and trees on the data sets of Webb et al. See README.md."""
