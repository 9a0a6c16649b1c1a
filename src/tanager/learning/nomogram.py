"""Nomograms: what every value of every column adds to the log-odds of an answer (Mozina, Demsar, Kattan, Zupan, 2004).

In a single network P(y, x) is P(y) times a factor P(x_i | y, parents of x_i) for each column. With its parents held at
the values of a row, the factor of a column is one number for each of its values. These are read from the answers of the
model itself: log P(y, x_i, parents) - log P(y, parents), with all other columns missing. So class weights, smoothing
and calibration are in them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import exp
from typing import Any

import numpy as np

from tanager.counts.block import Query
from tanager.encoding.typing import Label
from tanager.errors import DataError, OptionError
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.explaining import classes_of
from tanager.scoring.forms import ProductOfSums
from tanager.shortcuts import public

Parents = Mapping[int, tuple[int, ...]]  # of every column that depends on the class, beside the class

TOLERANCE = 1e-6  # of log-odds, between the sum of the points and what the model answers


@dataclass(frozen=True)
class Axis:
    """One column: the log-odds that each of its values adds, its parents being as they are in the row."""

    column: str
    values: tuple[Any, ...]  # bins as text
    points: tuple[float, ...]
    given: dict[str, Any]  # the values of the parents, "?" where they are missing
    at: int | None  # the place of the row's own value; None where it is missing

    @property
    def spread(self) -> float:
        """How much the column can matter."""
        return max(self.points) - min(self.points)


@dataclass(frozen=True, repr=False)
class Nomogram:
    """The log-odds of an answer against another class: ``prior``, and one point from each axis, add up to them.

    The axes are sorted by what they can matter, most first.
    """

    answer: Any
    against: Any
    prior: float
    axes: tuple[Axis, ...]

    @cached_property
    def total(self) -> float:
        """The log-odds for the row; columns that are missing in it add nothing."""
        return self.prior + sum(axis.points[axis.at] for axis in self.axes if axis.at is not None)

    def probability(self, total: float | None = None) -> float:
        """P(answer), where only it and the class against it are possible, for log-odds (default: those of the row)."""
        x = self.total if total is None else total
        return 1.0 / (1.0 + exp(-x)) if x >= 0 else exp(x) / (1.0 + exp(x))

    def plot(self, path: Any = None, **options: Any) -> Any:
        """Draw it; see ``tanager.plot_nomogram``."""
        return public("plot_nomogram")(self, path=path, **options)

    def __str__(self) -> str:
        lines = [f"{self.answer!r} rather than {self.against!r}: prior {self.prior:+.4f}, total {self.total:+.4f}"]
        for axis in self.axes:
            given = ", ".join(f"{name} = {value}" for name, value in axis.given.items())
            points = ", ".join(
                f"{value} {point:+.2f}{'*' if v == axis.at else ''}"
                for v, (value, point) in enumerate(zip(axis.values, axis.points, strict=True))
            )
            lines.append(f"  {axis.column}{f' (where {given})' if given else ''}: {points}")
        return "\n".join(lines)

    __repr__ = __str__


def nomogram(
    model: CountsClassifier,
    row: Mapping[str, Any] | None = None,
    answer: Label | None = None,
    against: Label | None = None,
) -> Nomogram:
    """A model as a nomogram: an axis for every column, with what each value adds to the log-odds of an answer.

    For classifiers with a single network in which no column is a parent of the class: NaiveBayes, TAN, FAN, KDB, BAN,
    and most networks of GeneralNetwork and NetworkClassifier. A column whose parents beside the class are missing in
    the row is shown as it is without them.

    Parameters
    ----------
    model : CountsClassifier
        Fitted, without Gaussian columns.
    row : mapping from column to cell, default=None
        Whose values are marked, and at whose values parents are held. Default: a row in which all is missing.
    answer, against : label, default=None
        The two classes; see ``model.explain``.

    Returns
    -------
    Nomogram
        The axes; print or draw it.

    Examples
    --------
    >>> from tanager import NaiveBayes, nomogram
    >>> X = {"sky": ["sun", "sun", "rain", "rain"] * 5, "wind": ["no", "yes", "no", "yes"] * 5}
    >>> model = NaiveBayes().fit(X, ["play", "play", "stay", "stay"] * 5)
    >>> print(nomogram(model, {"sky": "rain"}))
    'stay' rather than 'play': prior +0.0000, total +2.3979
      sky: sun -2.40, rain +2.40*
      wind: no +0.00, yes +0.00
    """
    parents = _checked_parents(model)
    if len(model.classes_) < 2:
        raise DataError(f"there is nothing to compare: the only class is {model.classes_.tolist()[0]!r}.")
    query = model.encode([dict(row or {})])  # once: values never seen are counted once
    own, pair = query.codes[0], classes_of(model, model._scores_of(query, log_joint=False), answer, against)
    made = _made(model, own, parents, pair)
    if not row:  # a row with values shows whether columns count one by one
        _made(model, np.zeros_like(own), parents, pair)
    return made


def _made(model: CountsClassifier, own: np.ndarray, parents: Parents, pair: tuple[int, int]) -> Nomogram:
    schema, labels = model.counts_.schema, model.classes_.tolist()
    rows, starts = _rows(model, own, parents)
    joint = model.scorer_.score(Query(rows), log_joint=True)
    with np.errstate(invalid="ignore"):
        odds = joint[:, pair[0]] - joint[:, pair[1]]
    axes = []
    for i, start in zip(parents, starts, strict=True):
        n = schema[i].n_values
        points = odds[start + 1 : start + 1 + n] - odds[start]
        given = {schema.names[j]: _shown(model, j, own[j]) for j in parents[i]}
        values = tuple(schema[i].describe(v) for v in range(n))
        if n:
            at = int(own[i]) if own[i] < n else None
            axes.append(Axis(schema.names[i], values, tuple(points.tolist()), given, at))
    axes.sort(key=lambda axis: -axis.spread)
    made = Nomogram(labels[pair[0]], labels[pair[1]], float(odds[-2]), tuple(axes))
    _check_sum(model, made.total, float(odds[-1]))
    return made


def _rows(model: CountsClassifier, own: np.ndarray, parents: Parents) -> tuple[np.ndarray, list[int]]:
    """For each column a row with its parents alone, and one with each of its values; last, an empty row and the row.

    And where the rows of each column begin.
    """
    nothing = model.encode([{}]).codes[0]
    n_values = model.counts_.schema.n_values
    sizes = [1 + int(n_values[i]) for i in parents]
    starts = np.cumsum([0, *sizes]).tolist()
    batch = np.tile(nothing, (starts[-1] + 2, 1))
    batch[-1] = own
    for (i, before), start, size in zip(parents.items(), starts[:-1], sizes, strict=True):
        for j in before:
            batch[start : start + size, j] = own[j]
        batch[start + 1 : start + size, i] = np.arange(size - 1)
    return batch, starts[:-1]


def _shown(model: CountsClassifier, i: int, code: int) -> Any:
    column = model.counts_.schema[i]
    return column.describe(int(code)) if code < column.n_values else "?"


def _checked_parents(model: CountsClassifier) -> Parents:
    """The single network behind a model; others are refused with the reason."""
    what = "a nomogram needs a single network in which log-odds add up over columns"
    if not isinstance(model, CountsClassifier):
        raise OptionError(f"{what}, and {type(model).__name__} has none.")
    model.check_fitted()
    form = model.structure_
    names = model.counts_.schema.names
    if not isinstance(form, ProductOfSums) or form.n_networks > 1 or form.only:
        raise OptionError(f"{what}, and {type(model).__name__} is a vote of several; explain is there for single rows.")
    if form.class_parents:
        listed = ", ".join(repr(names[i]) for i in form.class_parents)
        raise OptionError(f"{what}, and here the class itself depends on {listed}; explain is there for single rows.")
    if model.memory.number_names:
        raise OptionError(f"{what}, and the column {model.memory.number_names[0]!r} is Gaussian. Leave out gaussian=.")
    return {i: before for i, before, weight in zip(form.child, form.parents, form.weight, strict=True) if weight > 0}


def _check_sum(model: CountsClassifier, total: float, answered: float) -> None:
    """Models that read columns otherwise than one factor each (``subsumption=``, sums over missing values) differ."""
    if np.isfinite(answered) and not abs(total - answered) <= TOLERANCE * (1 + abs(answered)):
        raise OptionError(
            f"what the columns add ({total:+.4f}) is not what {type(model).__name__} answers ({answered:+.4f}): its "
            "columns do not matter one by one; explain is there for single rows."
        )
