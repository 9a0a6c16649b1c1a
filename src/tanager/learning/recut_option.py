"""The option ``recut``, and what is noted where cut points have moved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tanager import saved
from tanager.encoding import Schema
from tanager.errors import OptionError, check_option, is_number


@dataclass(frozen=True)
class Recut:
    """Cut points of number columns follow a stream, for streams whose numbers drift.

    Parameters
    ----------
    by : {"grid", "sketch"}, default="grid"
        What is kept of a column: class counts over many small intervals, or a sketch of the quantiles of each class.
        The sketch needs no range and stands values of any size; the grid is quicker.
    every : int, default=1000
        Rows between two looks.
    distance : float, default=0.1
        Share of rows in other bins than before (beyond what chance does) above which cut points move.
    size : int, default=200
        Intervals of a grid.

    Examples
    --------
    >>> from tanager import NaiveBayes, Recut
    >>> model = NaiveBayes(recut=Recut(every=500), decay=2000)
    """

    by: str = "grid"
    every: int = 1000
    distance: float = 0.1
    size: int = 200

    def __post_init__(self) -> None:
        check_option("by", self.by, ("grid", "sketch"))
        for name, least in (("every", 1), ("size", 2)):
            value = getattr(self, name)
            if not is_number(value, least) or int(value) != value:
                raise OptionError(f"Recut({name}={value!r}): give a whole number of at least {least}.")
        if not is_number(self.distance, 0) or self.distance >= 1:
            raise OptionError(f"Recut(distance={self.distance!r}): give a share of the rows, at least 0 and below 1.")


def as_recut(value: Any) -> Recut | None:
    """The option ``recut``: "grid", "sketch", a Recut, or None."""
    if value is None or isinstance(value, Recut):
        return value
    if isinstance(value, str):
        check_option("recut", value, ("grid", "sketch", None))
        return Recut(by=value)
    raise OptionError(f'recut={value!r}: give "grid", "sketch", a Recut, or None for cut points that stay.')


class FirstCuts(NamedTuple):
    """A number column that did not vary in the first rows was cut: after which row, and how many cut points it has."""

    row: int
    column: str
    after: int

    @property
    def what(self) -> str:
        """What has happened, for curves along a stream."""
        return "first cut points"


def first_cuts(schema: Schema, cut: Mapping[int, int], learned: np.ndarray) -> list[FirstCuts]:
    """Events of columns that some rows have cut, each by the row given; ``learned`` are rows learned up to each."""
    found = sorted((round(float(learned[row])), i) for i, row in cut.items())
    return [FirstCuts(row, schema[i].name, len(schema[i].cuts)) for row, i in found]


def read_first_cuts(state: Mapping[str, Any]) -> list[FirstCuts]:
    """The events of a model file, where it has any."""
    expected = saved.items(saved.row(saved.whole(0), saved.text(), saved.whole(0)))
    found = saved.field("list of columns that were cut", {"first_cuts": []} | dict(state), "first_cuts", expected)
    return [FirstCuts(*event) for event in found]


class MovedCuts(NamedTuple):
    """The cut points of a column have moved: after which row, how far, and how many there were and are."""

    row: int
    column: str
    distance: float
    before: int
    after: int

    @property
    def what(self) -> str:
        """What has happened, for curves along a stream."""
        return "new cut points"
