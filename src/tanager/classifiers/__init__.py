"""Classifiers: each says which families of counts it reads, and how they are combined."""
