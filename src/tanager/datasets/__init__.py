"""Data sets by name: from a folder, from scikit-learn, or with the prefix "openml:" from OpenML."""

from tanager.datasets.catalog import DatasetEntry, load, names
from tanager.datasets.dataset import Dataset

__all__ = ["Dataset", "DatasetEntry", "load", "names"]
