"""Dataset: a table, its classes, and what is known about the columns."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


@dataclass(frozen=True, repr=False)
class Dataset:
    """A table with classes.

    Attributes
    ----------
    name : str
    X : pyarrow.Table
        Categories as text, also when they are digits; numbers as numbers.
    y : array of str
        The class of every row.
    options : dict
        ``{"categorical": [...], "numeric": [...]}``, options for a classifier: ``AODE(**data.options)``.
    test : Dataset or None
        The test rows, where the source has a separate test part.
    about : dict
        Where it comes from, notes and other metadata.
    """

    name: str
    X: pa.Table
    y: np.ndarray
    options: dict[str, list[str]]
    test: Dataset | None = None
    about: dict[str, Any] = field(default_factory=dict)

    def complete(self) -> Dataset:
        """The rows without missing cells."""
        whole = np.ones(len(self.y), dtype=bool)
        for column in self.X.columns:
            whole &= pc.is_valid(column).to_numpy()
        test = None if self.test is None else self.test.complete()
        return replace(self, X=self.X.filter(pa.array(whole)), y=self.y[whole], test=test)

    def __repr__(self) -> str:
        kinds = [f"{len(names)} {kind}" for kind, names in self.options.items() if names]
        test = "" if self.test is None else f" and {len(self.test.y):,} to test"
        n_classes = len(np.unique(self.y))
        return (
            f"<Dataset {self.name!r}: {len(self.y):,} rows{test}, {' and '.join(kinds)} columns, {n_classes} classes>"
        )
