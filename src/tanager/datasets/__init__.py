"""Data sets by name: from a folder, from scikit-learn, or (as "openml:NAME") from OpenML."""

from tanager.datasets.catalogue import DatasetInfo, available, load
from tanager.datasets.dataset import Dataset

__all__ = ["Dataset", "DatasetInfo", "available", "load"]
