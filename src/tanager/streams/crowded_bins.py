"""CrowdedBins: a number column of a stream is cut on where most rows have come to fall into one of its bins.

The first rows of a stream fix its cut points. Where numbers move later, to another unit or with a trend, rows crowd in
one bin, and the column tells nothing any more. Then that bin is divided by the last rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tanager import saved
from tanager.encoding import Encoder
from tanager.encoding.bins import cut, equal_frequency
from tanager.encoding.chunks import take_rows
from tanager.encoding.schema import Schema
from tanager.encoding.typing import Row, RowOfCodes
from tanager.errors import ModelFileError
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.recut import bins_of_columns
from tanager.learning.recut_option import MovedCuts

# Chosen on the development streams of experiments/real_streams/moving_numbers.py.
ROWS = 250  # between two looks
CROWDED = 0.4  # of the rows that one bin has beyond its usual share
WAIT = 2  # looks at most that a column waits for after it was cut on: that takes as long as hundreds of rows
LEAST = 100  # numbers that it takes to judge a column
MOST = 2  # times the bins of one cut; beyond, bins are brought together
OF_ALL = 5.0  # rows of a class that are spread as all rows are, where its parts of a bin are worked out


Joint = Callable[[int], np.ndarray]  # what the longest memory has counted of a column: (classes, values)


class CutOn(NamedTuple):
    """New cut points of a column, and what else there is to say of them."""

    cuts: np.ndarray
    shares: np.ndarray  # of parts of bins, see ``JointCounts.move_cuts``
    usual: np.ndarray  # the share of the last rows in each new bin
    distance: float  # how far rows had moved


class CrowdedBins:
    """The numbers of the last rows, and how full the bins of every number column were when it was cut."""

    def __init__(self) -> None:
        self._schema: Schema | None = None  # that was followed last
        self._n_bins: dict[int, int] = {}  # of every column that is watched, as it is cut at once
        self._usual: dict[int, np.ndarray] = {}  # the share of each bin when the column was cut
        self._cut_on: dict[int, int] = {}  # how often
        self._waits: dict[int, int] = {}  # looks until it may be cut on again
        self._numbers: list[np.ndarray] = []  # since the last look
        self._labels: list[np.ndarray] = []
        self._rows: list[Row] = []  # and single rows after these, which are read where somebody asks for their numbers
        self._row_codes: list[RowOfCodes] = []
        self._row_labels: list[int] = []
        self._n = 0  # all of them
        self.events: list[MovedCuts] = []

    def follow(self, model: CountsClassifier, longest: Callable[[], Joint]) -> None:
        """Watch the number columns that there are by now; what was counted says how full their bins are."""
        schema = model.encoder_.schema
        if schema is self._schema:
            return
        self._schema, n_bins = schema, bins_of_columns(model)
        if n_bins.keys() != self._n_bins.keys():
            joint = longest()
            self._usual |= {i: _shares_of_bins(joint(i)) for i in n_bins if i not in self._usual}
            self._n_bins = n_bins
            self._forget_rows()

    def _forget_rows(self) -> None:
        self._numbers, self._labels, self._n = [], [], 0
        self._rows, self._row_codes, self._row_labels = [], [], []

    def move_classes(self, places: np.ndarray) -> None:
        """There are more classes: class c is now places[c]."""
        self._labels = [places[labels].astype(np.uint16) for labels in self._labels]
        self._row_labels = [int(places[label]) for label in self._row_labels]

    def add(self, model: CountsClassifier, X: Any, labels: np.ndarray, counted: np.ndarray) -> None:
        """Rows were learned; those that are ``counted`` have a class and a weight. Only the last may bring a cut.

        Looks before it, which change nothing, are passed over with all their rows.
        """
        if not self._n_bins:
            return
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

    def add_row(self, row: Row, codes: RowOfCodes, label: int) -> bool:
        """One row was learned; whether it is time for a look."""
        if not self._n_bins:
            return False
        self._rows.append(dict(row))
        self._row_codes.append(codes)
        self._row_labels.append(label)
        self._n += 1
        return self._n >= ROWS

    def _read_rows(self, encoder: Encoder) -> None:
        if self._rows:
            rows, labels, columns = self._rows, self._row_labels, list(self._n_bins)
            self._rows, self._row_codes, self._row_labels = [], [], []
            self._numbers.append(encoder.numbers_of(rows, columns))
            self._labels.append(np.array(labels, dtype=np.uint16))

    # --- looks --------------------------------------------------------------------------------------------------

    @property
    def is_time(self) -> bool:
        """Whether it is time for a look."""
        return self._n >= ROWS

    def rows_until_cut(self, encoder: Encoder, codes: np.ndarray, counted: np.ndarray) -> int:
        """How many of some rows may be learned until a look that is likely to cut a column; all of them, if none is."""
        places = np.flatnonzero(counted)
        n_looks = (self._n + len(places)) // ROWS
        if not n_looks or not self._n_bins:
            return len(codes)
        self._read_rows(encoder)
        late = places[: n_looks * ROWS - self._n]
        codes_of_late = codes[late].take(self._columns, axis=1)
        bins = [*(self._bins(encoder.schema, own) for own in self._numbers), codes_of_late]
        crowded = self._crowded(np.concatenate(bins).reshape(n_looks, ROWS, -1))[0]
        waits = np.array([self._waits.get(i, 0) for i in self._n_bins], dtype=np.int64)
        crowded &= waits <= np.arange(n_looks)[:, None]
        first = int(np.argmax(crowded.any(axis=1)))
        return int(late[(first + 1) * ROWS - self._n - 1]) + 1 if crowded.any() else len(codes)

    @property
    def _columns(self) -> np.ndarray:
        """The places of columns that are watched."""
        return np.array(list(self._n_bins), dtype=np.intp)

    def _bins(self, schema: Schema, numbers: np.ndarray) -> np.ndarray:
        """The bins of numbers, (rows, columns)."""
        bins = np.empty(numbers.shape, dtype=np.uint16)
        for place, i in enumerate(self._n_bins):
            bins[:, place] = cut(numbers[:, place], np.array(schema[i].cuts))
        return bins

    def _crowded(self, bins: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Whether rows crowd, the fullest bin, and how far that is from usual: (looks, columns).

        ``bins`` are those of rows, (looks, rows, columns).
        """
        n_looks, _, n = bins.shape
        n_bins = np.array([len(self._usual[i]) for i in self._n_bins], dtype=np.intp)
        size = int(n_bins.max(initial=0)) + 1
        table = np.arange(n_looks)[:, None, None] * n + np.arange(n)
        cells = table * size + np.minimum(bins, n_bins)  # what is missing comes behind the last bin
        rows = np.bincount(cells.ravel(), minlength=n_looks * n * size).reshape(n_looks, n, size)
        rows[:, np.arange(n), n_bins] = 0
        known, full = rows.sum(axis=2), rows.argmax(axis=2)
        usual = np.array([self._usual[i][full[:, place]] for place, i in enumerate(self._n_bins)]).reshape(n, n_looks).T
        distance = rows.max(axis=2) / np.maximum(1, known) - usual
        return (known >= LEAST) & (distance >= CROWDED), full, distance

    def look(self, encoder: Encoder, longest: Callable[[], Joint]) -> dict[int, CutOn]:
        """The columns that are to be cut on now, by the rows since the last look."""
        if self._numbers:
            self._read_rows(encoder)
            bins = self._bins(encoder.schema, np.concatenate(self._numbers))
        else:  # single rows alone, as most looks find nothing
            bins = _table(self._row_codes).take(self._columns, axis=1)
        crowded, full, distance = (own[0] for own in self._crowded(bins[None]))
        crowded &= np.array([self._waits.get(i, 0) == 0 for i in self._n_bins])
        self._waits = {i: max(0, left - 1) for i, left in self._waits.items()}
        found = {}
        if crowded.any():
            places, joint = np.flatnonzero(crowded).tolist(), longest()
            labels = np.concatenate([*self._labels, np.array(self._row_labels, dtype=np.uint16)])
            for place, x in zip(places, self._numbers_of(encoder, places), strict=True):
                i = int(self._columns[place])
                self._cut_on[i] = self._cut_on.get(i, 0) + 1
                self._waits[i] = min(WAIT, self._cut_on[i])
                inside, cuts = bins[:, place] == full[place], np.array(encoder.schema[i].cuts)
                if own := self._divided(
                    i, cuts, int(full[place]), x[~np.isnan(x)], x[inside], labels[inside], joint(i)
                ):
                    found[i] = CutOn(*own, round(float(distance[place]), 9))
        self._forget_rows()
        return found

    def _numbers_of(self, encoder: Encoder, places: list[int]) -> np.ndarray:
        """The numbers of some columns in all rows, (columns, rows)."""
        columns = self._columns[places].tolist()
        parts = [own[:, places] for own in self._numbers] + [encoder.numbers_of(self._rows, columns)]
        return np.ascontiguousarray(np.concatenate(parts).T)

    def _divided(
        self,
        i: int,
        cuts: np.ndarray,
        full: int,
        x: np.ndarray,
        own: np.ndarray,
        labels: np.ndarray,
        learned: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """What divides a bin by its ``own`` numbers: see CutOn. None where all of these are the same."""
        more = equal_frequency(own, max(2, round(self._n_bins[i] * len(own) / len(x))))
        if not len(more):
            return None
        now = _fewer(np.union1d(cuts, more), cuts, x, _shares_of_bins(learned), MOST * self._n_bins[i])
        more = more[np.isin(more, now)]
        n_parts, k = len(more) + 1, len(learned)
        shares = np.ones((len(cuts) + n_parts, k))
        shares[full : full + n_parts] = _shares_of_parts(cut(own, more), labels, n_parts, k)
        return now, shares, np.bincount(cut(x, now), minlength=len(now) + 1) / len(x)

    def were_cut(self, found: Mapping[int, CutOn]) -> None:
        """What a look has found was done."""
        self._usual |= {i: own.usual for i, own in found.items()}

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


def _table(rows: Sequence[RowOfCodes]) -> np.ndarray:
    """The codes of single rows, (rows, columns); what is missing is above all values."""
    narrow = [row for row in rows if isinstance(row, bytes)]
    if len(narrow) == len(rows):
        return np.frombuffer(b"".join(narrow), dtype=np.uint8).reshape(len(rows), -1)
    return np.array([np.frombuffer(row, dtype=np.uint8) if isinstance(row, bytes) else row for row in rows])


def _shares_of_bins(learned: np.ndarray) -> np.ndarray:
    """How much of what was counted of a column, (classes, bins), is in each bin; the same in whatever units."""
    weights: np.ndarray = learned.sum(axis=0)
    return np.round(weights / max(float(weights.sum()), np.finfo(float).tiny), 12)


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
