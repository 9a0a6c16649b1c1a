"""What users may hand in, as types: tables, labels, weights, and options that name columns.

For annotations alone: what a table holds is checked when it is read (``tanager.encoding.tables``).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from tanager.encoding.tables import Table


class ArrowStream(Protocol):
    """A frame or column of pandas, polars or Arrow, by the protocol that they share."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The data as a stream of Arrow."""


class ArrowArray(Protocol):
    """A column of Arrow."""

    def __arrow_c_array__(self, requested_schema: object | None = None) -> object:
        """The data as an array of Arrow."""


class AsArray(Protocol):
    """Anything that NumPy can make an array of, such as a frame or a series of pandas."""

    def __array__(self) -> np.ndarray:
        """The data as an array."""


class Estimator(Protocol):
    """A classifier of tanager or of scikit-learn: what learns rows and answers others."""

    def fit(self, X: Any, y: Any) -> Any:
        """Learn from rows and their classes."""

    def predict_proba(self, X: Any) -> Any:
        """The probability of every class for every row."""


Row: TypeAlias = Mapping[str, Any]
RowOfCodes: TypeAlias = bytes | np.ndarray  # a code for each column; in bytes 255 is missing
ColumnLike: TypeAlias = np.ndarray | AsArray | ArrowStream | ArrowArray | Sequence[Any] | range
TableLike: TypeAlias = (
    np.ndarray | AsArray | ArrowStream | Mapping[str, ColumnLike] | Iterable[Sequence[Any]] | Iterable[Row] | Table
)
LabelsLike: TypeAlias = ColumnLike
WeightsLike: TypeAlias = ArrayLike
TimesLike: TypeAlias = ColumnLike | float | datetime | np.datetime64

Columns: TypeAlias = Sequence[str | int]  # by name or by place
UnseenOption: TypeAlias = Literal["ignore", "smooth", "error"]
Order: TypeAlias = Mapping[Any, Sequence[Any] | None] | Columns  # of the values of ordinal columns
PerClass: TypeAlias = Mapping[Any, float] | ArrayLike  # by label, or in the order of the classes
Label: TypeAlias = Hashable  # text, a boolean or a whole number
Time: TypeAlias = float | datetime | np.datetime64
# As text: NumPy imports its random numbers when they are asked for, which takes time, and loses a Ctrl-C meanwhile.
Seed: TypeAlias = "int | np.random.RandomState | np.random.Generator | None"
