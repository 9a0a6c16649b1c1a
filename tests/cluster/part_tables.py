"""Random tables of all kinds of columns, cut into parts, some of them empty or of one class; and learning them."""

from __future__ import annotations

import datetime
import warnings
import zlib
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from tanager import DataWarning
from tanager.cluster import fit, run_here
from tanager.learning.counts_classifier import CountsClassifier


@dataclass(frozen=True)
class Parted:
    """A table with labels (and weights), and where it is cut."""

    X: pa.Table
    y: pa.Array
    weights: np.ndarray | None
    ends: list[int]

    @property
    def parts(self):
        """What each part of the table holds, in one or two chunks."""
        return [
            self._chunks(start, stop) for start, stop in zip([0, *self.ends], [*self.ends, len(self.y)], strict=True)
        ]

    def _chunks(self, start, stop):
        middle = (start + stop) // 2
        return [self._rows(start, middle), self._rows(middle, stop)]

    def _rows(self, start, stop):
        weights = None if self.weights is None else self.weights[start:stop]
        return self.X.slice(start, stop - start), self.y.slice(start, stop - start), weights

    def frame(self, **types):
        """The whole as one Arrow table with the columns "class" and, perhaps, "weight"."""
        table = self.X.append_column("class", self.y)
        return table if self.weights is None else table.append_column("weight", pa.array(self.weights))


def _column(rng, kind, m, hidden):
    day = datetime.date(2026, 1, 1)
    if kind == "text":  # values that come up late, so that parts differ
        return pa.array([f"v{min(int(v), r // 4)}" for r, v in enumerate(rng.integers(0, 6, m) + hidden)], pa.string())
    if kind == "number":
        return pa.array(np.round(rng.normal(size=m) + hidden, 1))
    if kind == "whole":
        return pa.array(rng.integers(-3, 4, m) * 10 + hidden)
    if kind == "few":
        return pa.array((rng.integers(0, 3, m) + hidden).astype(float))
    if kind == "boolean":
        return pa.array(rng.random(m) < 0.3 + 0.2 * hidden)
    if kind == "date":
        return pa.array([day + datetime.timedelta(int(v)) for v in rng.integers(0, 40, m) + 20 * hidden])
    return pa.array([None] * m, pa.string())


KINDS = ["text", "number", "whole", "few", "boolean", "date", "empty"]


@st.composite
def parted(draw, min_rows=1, max_rows=40, max_columns=4, weighted=False, unlabelled=True, kinds=tuple(KINDS)):
    """Tables with gaps, rows without a label, values that one part alone has; cut anywhere, also into empty parts."""
    m = draw(st.integers(min_rows, max_rows))
    columns = draw(st.lists(st.sampled_from(list(kinds)), min_size=1, max_size=max_columns))
    ends = sorted(draw(st.lists(st.integers(0, m), max_size=5)))
    gaps, no_label, sort = (draw(st.booleans()) for _ in range(3))
    seed = draw(st.integers(0, 2**32 - 1))
    return made(seed, m, columns, ends, gaps=gaps, no_label=no_label and unlabelled, sort=sort, weighted=weighted)


def made(seed, m, columns, ends, *, gaps=True, no_label=True, sort=True, weighted=False, name="a"):
    """A table of m rows with columns of these kinds; with ``sort``, parts have rows of one class."""
    rng = np.random.default_rng(seed)
    hidden = rng.integers(0, 3, m)
    if sort:
        hidden.sort()
    X = {}
    for i, kind in enumerate(columns):
        holes = rng.random(m) < (0.3 if gaps else 0.0)
        cells = _column(rng, kind, m, hidden)
        X[f"{name}{i}"] = pa.array(
            [None if hole else cell.as_py() for hole, cell in zip(holes, cells, strict=True)], cells.type
        )
    labels = [f"c{c}" for c in np.where(rng.random(m) < 0.8, hidden, rng.integers(0, 3, m))]
    if no_label:
        labels = [
            None if r and lost else label
            for r, (label, lost) in enumerate(zip(labels, rng.random(m) < 0.2, strict=True))
        ]
    weights = None
    if weighted:
        weights = rng.integers(0, 4, m).astype(float)
        weights[0] = 1.0
    return Parted(pa.table(X), pa.array(labels, pa.string()), weights, ends)


def table_for(name, n_columns=5):
    """A random table for a classifier of the registry, whose columns are x0, x1 and so on, with weights."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    m, kinds = int(rng.integers(40, 90)), rng.choice(KINDS[:-1], n_columns).tolist()
    ends = np.sort(rng.integers(0, m, 4)).tolist()
    return made(int(rng.integers(2**32)), m, kinds, [*ends, ends[-1]], weighted=True, name="x")


# --- learning them ----------------------------------------------------------------------------------------------------


def here(model: CountsClassifier, table: Parted, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # rows without a label
        return fit(model, run_here(table.parts), target="class", **options)


def alone(model: CountsClassifier, table: Parted):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return model.fit(table.X, table.y, table.weights)


def assert_same(ours: CountsClassifier, one: CountsClassifier, X) -> None:
    assert ours.encoder_.schema == one.encoder_.schema
    assert [c.reason for c in ours.encoder_.schema.columns] == [c.reason for c in one.encoder_.schema.columns]
    assert ours.classes_.tolist() == one.classes_.tolist()
    assert ours.classes_.dtype == one.classes_.dtype
    assert ours.counts_ == one.counts_
    np.testing.assert_array_equal(ours.predict_proba(X), one.predict_proba(X))


def cut_up(X, y, ends=(10, 10, 31)):
    edges = [0, *ends, len(y)]
    return [[(X[a:b], y[a:b], None)] for a, b in pairwise(edges)]


def once(model):
    """As parts are learned: a structure that can be chosen once, is."""
    return model.set_params(refresh=float("inf")) if model.may_choose_once and model.looks_at_rows else model
