"""CrowdedBins: a number column of a stream is cut on where most rows have come to fall into one of its bins.

The first rows of a stream fix its cut points. Where numbers move later, to another unit or with a trend, rows crowd in
one bin, and the column tells nothing any more. Then that bin is divided by the last rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from tanager import saved
from tanager.counts.joint import JointCounts
from tanager.encoding import Encoder
from tanager.encoding.bins import cut, equal_frequency
from tanager.encoding.chunks import take_rows
from tanager.encoding.schema import Schema
from tanager.encoding.typing import Row
from tanager.errors import ModelFileError
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.recut import bins_of_columns
from tanager.learning.recut_option import MovedCuts

# Chosen on the development streams of experiments/real_streams/moving_numbers.py.
ROWS = 250  # between two looks
CROWDED = 0.4  # of the rows that one bin has beyond its usual share
WAIT = 2  # looks at most that a column waits for after it was cut on: that takes as long as hundreds of rows
LEAST = 100  # numbers that it takes to judge a column
MOST = 3  # times the bins of one cut; beyond, bins are brought together
OF_ALL = 5.0  # rows of a class that are spread as all rows are, where its parts of a bin are worked out


class CutOn(NamedTuple):
    """New cut points of a column, shares of parts of bins (``JointCounts.move_cuts``), and how far rows had moved."""

    cuts: np.ndarray
    shares: np.ndarray
    distance: float


class CrowdedBins:
    """The numbers of the last rows, and how full the bins of every number column were when it was cut."""

    def __init__(self) -> None:
        self._schema: Schema | None = None  # that was followed last
        self._n_bins: dict[int, int] = {}  # of every column that is watched, as it is cut at once
        self._usual: dict[int, np.ndarray] = {}  # the share of each bin when the column was cut
        self._cut_on: dict[int, int] = {}  # how often
        self._waits: dict[int, int] = {}  # looks until it may be cut on again
        self._numbers: list[np.ndarray] = []  # since the last look
        self._rows: list[Row] = []  # and single rows after these, whose numbers are read together
        self._labels: list[np.ndarray] = []  # of all of them
        self._n = 0
        self.events: list[MovedCuts] = []

    def follow(self, model: CountsClassifier, counts: Callable[[], JointCounts]) -> None:
        """Watch the number columns that there are by now; what was counted says how full their bins are."""
        schema = model.encoder_.schema
        if schema is self._schema:
            return
        self._schema, n_bins = schema, bins_of_columns(model)
        if n_bins.keys() != self._n_bins.keys():
            self._usual |= {i: _shares_of_bins(counts(), i) for i in n_bins if i not in self._usual}
            self._n_bins = n_bins
            self._forget_rows()

    def _forget_rows(self) -> None:
        self._numbers, self._rows, self._labels, self._n = [], [], [], 0

    def move_classes(self, places: np.ndarray) -> None:
        """There are more classes: class c is now places[c]."""
        self._labels = [places[labels].astype(np.uint16) for labels in self._labels]

    def add(self, model: CountsClassifier, X: Any, labels: np.ndarray, counted: np.ndarray) -> None:
        """Rows were learned; those that are ``counted`` have a class and a weight. Only the last may bring a cut.

        Looks before it, which change nothing, are passed over with all their rows.
        """
        self._read_rows(model.encoder_)
        places = np.flatnonzero(counted)
        n_looks = max(0, self._n + len(places) - 1) // ROWS  # before the last row
        if n_looks:
            places = places[n_looks * ROWS - self._n :]
            self._waits = {i: max(0, left - n_looks) for i, left in self._waits.items()}
            self._forget_rows()
        if len(places):
            numbers = model.encoder_.numbers(take_rows(X, int(places[0]), len(labels)), list(self._n_bins))
            self._numbers.append(numbers[places - places[0]])
            self._labels.append(labels[places].astype(np.uint16))
            self._n += len(places)

    def add_row(self, row: Row, label: int) -> None:
        """One row was learned."""
        self._rows.append(dict(row))
        self._labels.append(np.array([label], dtype=np.uint16))
        self._n += 1

    def _read_rows(self, encoder: Encoder) -> None:
        if self._rows:
            rows, self._rows, columns = self._rows, [], list(self._n_bins)
            self._numbers.append(np.array([encoder.numbers_row(row, columns) for row in rows]))

    # --- looks --------------------------------------------------------------------------------------------------

    @property
    def is_time(self) -> bool:
        """Whether it is time for a look."""
        return self._n >= ROWS

    def rows_until_cut(self, encoder: Encoder, codes: np.ndarray, counted: np.ndarray) -> int:
        """How many of some rows may be learned until a look that is likely to cut a column; all of them, if none is."""
        places = np.flatnonzero(counted)
        n_looks = (self._n + len(places)) // ROWS
        if not n_looks:
            return len(codes)
        self._read_rows(encoder)
        late = places[: n_looks * ROWS - self._n]
        crowded = np.zeros((n_looks, len(self._n_bins)), dtype=bool)
        for place, i in enumerate(self._n_bins):
            before = [cut(own[:, place], np.array(encoder.schema[i].cuts)) for own in self._numbers]
            own = np.minimum(codes[late, i], len(self._usual[i]))  # what is missing comes last
            own = np.concatenate([*(np.minimum(part, len(self._usual[i])) for part in before), own])
            crowded[:, place] = self._crowded(i, own.reshape(n_looks, ROWS))[0]
        waits = np.array([self._waits.get(i, 0) for i in self._n_bins], dtype=np.int64)
        crowded &= waits <= np.arange(n_looks)[:, None]
        first = int(np.argmax(crowded.any(axis=1)))
        return int(late[(first + 1) * ROWS - self._n - 1]) + 1 if crowded.any() else len(codes)

    def _crowded(self, i: int, bins: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Whether rows crowd, the fullest bin, and how far that is from usual; of bins of a column (looks, rows)."""
        usual = self._usual[i]
        n = len(usual) + 1  # with what is missing
        cells = bins + n * np.arange(len(bins))[:, None]
        rows = np.bincount(cells.ravel(), minlength=n * len(bins)).reshape(-1, n)[:, :-1]
        known = rows.sum(axis=1)
        full = rows.argmax(axis=1)
        distance = rows[np.arange(len(rows)), full] / np.maximum(1, known) - usual[full]
        return (known >= LEAST) & (distance >= CROWDED), full, distance

    def look(self, encoder: Encoder, counts: Callable[[], JointCounts]) -> dict[int, CutOn]:
        """The columns that are to be cut on now, by the rows since the last look."""
        self._read_rows(encoder)
        numbers, labels = np.concatenate(self._numbers), np.concatenate(self._labels)
        self._forget_rows()
        found = {}
        for place, i in enumerate(self._n_bins):
            if self._waits.get(i, 0) > 0:
                self._waits[i] -= 1
                continue
            x, cuts = np.ascontiguousarray(numbers[:, place]), np.array(encoder.schema[i].cuts)
            bins = np.minimum(cut(x, cuts), len(cuts) + 1)
            (is_crowded,), (full,), (distance,) = self._crowded(i, bins[None, :])
            if not is_crowded:
                continue
            self._cut_on[i] = self._cut_on.get(i, 0) + 1
            self._waits[i] = min(WAIT, self._cut_on[i])
            inside = bins == full
            if own := self._divided(i, cuts, int(full), x[~np.isnan(x)], x[inside], labels[inside], counts()):
                found[i] = CutOn(*own, round(float(distance), 9))
        return found

    def _divided(
        self,
        i: int,
        cuts: np.ndarray,
        full: int,
        x: np.ndarray,
        own: np.ndarray,
        labels: np.ndarray,
        learned: JointCounts,
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Cut points that divide a bin by its ``own`` numbers, and shares; None where all of these are the same."""
        more = equal_frequency(own, max(2, round(self._n_bins[i] * len(own) / len(x))))
        if not len(more):
            return None
        now = _fewer(np.union1d(cuts, more), cuts, x, _shares_of_bins(learned, i), MOST * self._n_bins[i])
        more = more[np.isin(more, now)]
        n_parts, k = len(more) + 1, learned.n_classes
        shares = np.ones((len(cuts) + n_parts, k))
        shares[full : full + n_parts] = _shares_of_parts(cut(own, more), labels, n_parts, k)
        self._usual[i] = np.bincount(cut(x, now), minlength=len(now) + 1) / len(x)
        return now, shares

    # --- files --------------------------------------------------------------------------------------------------

    def to_state(self, encoder: Encoder) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Plain data and arrays that say all."""
        self._read_rows(encoder)
        columns = [
            [i, usual.tolist(), self._cut_on.get(i, 0), self._waits.get(i, 0)] for i, usual in self._usual.items()
        ]
        state = {"columns": columns, "events": [list(event) for event in self.events]}
        numbers = np.concatenate([np.zeros((0, len(self._n_bins))), *self._numbers])
        labels = np.concatenate([np.zeros(0, dtype=np.uint16), *self._labels])
        return state, {"numbers": np.clip(numbers, -saved.FINITE, saved.FINITE), "labels": labels}

    def take_state(self, state: Mapping[str, Any], arrays: Mapping[str, np.ndarray], model: CountsClassifier) -> None:
        """Take back what ``to_state`` gave. Unsound data are refused."""
        what, schema = "watch over its bins", model.encoder_.schema
        shares = saved.items(saved.number(0.0, 1.0))
        column = saved.row(saved.whole(0, len(schema) - 1), shares, saved.whole(), saved.whole(0, WAIT))
        event = saved.row(saved.whole(), saved.text(), saved.number(0.0, 1.0), saved.whole(), saved.whole())
        kinds = {"columns": saved.items(column), "events": saved.items(event)}
        columns, events = saved.read(what, state, kinds).values()
        self._schema, self._n_bins = schema, bins_of_columns(model)
        self._usual = {i: np.array(usual) for i, usual, _, _ in columns}
        self._cut_on, self._waits = ({own[0]: own[at] for own in columns if own[at]} for at in (2, 3))
        self.events = [MovedCuts(*own) for own in events]
        numbers = saved.field(what, arrays, "numbers", saved.numbers(None, len(self._n_bins), gaps=True))
        labels = saved.field(what, arrays, "labels", saved.array("u2", len(numbers)))
        if any(len(self._usual.get(i, ())) != schema[i].n_values for i in self._n_bins):
            raise ModelFileError("the watch over its bins does not know how full they were")
        if len(numbers) >= ROWS or (labels >= len(model.classes_)).any():
            raise ModelFileError("the last rows of its stream are too many, or of classes that it does not know")
        self._numbers, self._labels, self._n = [numbers], [labels], len(numbers)


def _shares_of_bins(counts: JointCounts, i: int) -> np.ndarray:
    """How much of what was counted is in each bin of a column."""
    weights: np.ndarray = counts.joint(i).sum(axis=0)
    return weights / max(float(weights.sum()), np.finfo(float).tiny)


def _shares_of_parts(parts: np.ndarray, labels: np.ndarray, n_parts: int, n_classes: int) -> np.ndarray:
    """How the rows of each class are spread over the parts of a bin, (parts, classes); few of them as all rows are."""
    rows = np.zeros((n_parts, n_classes))
    np.add.at(rows, (parts, labels), 1.0)
    rows += OF_ALL * rows.sum(axis=1, keepdims=True) / len(parts)
    shares: np.ndarray = rows / rows.sum(axis=0)
    return shares


def _fewer(cuts: np.ndarray, before: np.ndarray, x: np.ndarray, held: np.ndarray, most: int) -> np.ndarray:
    """So many bins at most: neighbours are brought together, those first that hold least of what came and comes.

    ``held``: how much the bins by the cut points ``before`` have held in the long run; parts of one have even shares.
    """
    whole = np.searchsorted(before, np.append(cuts, np.inf), side="left")
    long = (held / np.bincount(whole))[whole]
    left, weights = cuts.tolist(), (long + np.bincount(cut(x, cuts), minlength=len(long)) / len(x)).tolist()
    while len(weights) > most:
        at = int(np.argmin(np.add(weights[:-1], weights[1:])))
        weights[at : at + 2] = [weights[at] + weights[at + 1]]
        del left[at]
    return np.array(left)
