"""Data sets by name: from a folder, from scikit-learn, or (asked for by "openml:") from OpenML."""

from tanager.datasets.dataset import Dataset
from tanager.datasets.shelf import Entry, load, names

__all__ = ["Dataset", "Entry", "load", "names"]
