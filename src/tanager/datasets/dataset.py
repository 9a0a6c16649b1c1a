"""Dataset: a table, its classes, and the kinds of its columns."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


@dataclass(frozen=True, repr=False)
class Dataset:
    """A table with classes; made by ``load``.

    Parameters
    ----------
    name : str
        By which it was loaded.
    X : pyarrow.Table
        Categories as text, even if they are digits; numbers as numbers.
    y : array of str
        The class of every row.
    options : dict
        ``{"categorical": [...], "numeric": [...]}``, to be passed to a classifier: ``AODE(**data.options)``.
    test : Dataset or None
        The official test rows, if the source has any.
    about : dict
        Origin, notes and other metadata.

    Examples
    --------
    >>> from tanager import AODE
    >>> from tanager.datasets import load
    >>> data = load("iris")
    >>> data
    <Dataset 'iris': 150 rows, 4 numeric columns, 3 classes>
    >>> AODE(**data.options).fit(data.X, data.y).predict(data.X.slice(0, 1))
    array(['setosa'], dtype='<U10')
    """

    name: str
    X: pa.Table
    y: np.ndarray
    options: dict[str, list[str]]
    test: Dataset | None = None
    about: dict[str, Any] = field(default_factory=dict)

    def complete(self) -> Dataset:
        """The rows without missing cells.

        Returns
        -------
        Dataset
            Those rows, of the test rows as well.

        Examples
        --------
        >>> import numpy as np
        >>> import pyarrow as pa
        >>> from tanager.datasets import Dataset
        >>> X = pa.table({"sky": ["sun", None, "rain"]})
        >>> Dataset("weather", X, np.array(["play", "play", "stay"]), {"categorical": ["sky"]}).complete()
        <Dataset 'weather': 2 rows, 1 categorical column, 2 classes>
        """
        whole = np.ones(len(self.y), dtype=bool)
        for column in self.X.columns:
            whole &= pc.is_valid(column).to_numpy()
        test = None if self.test is None else self.test.complete()
        return replace(self, X=self.X.filter(pa.array(whole)), y=self.y[whole], test=test)

    def __repr__(self) -> str:
        kinds = [f"{len(names)} {kind}" for kind, names in self.options.items() if names]
        columns = "column" if sum(map(len, self.options.values())) == 1 else "columns"
        test = "" if self.test is None else f" and {len(self.test.y):,} test rows"
        n_classes = len(np.unique(self.y))
        return (
            f"<Dataset {self.name!r}: {len(self.y):,} rows{test}, {' and '.join(kinds)} {columns}, {n_classes} classes>"
        )
