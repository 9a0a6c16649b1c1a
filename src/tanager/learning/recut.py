"""Cut points that follow a stream: number columns are summed up beside the counts, and cut again where they drift.

Counts are indexed by bin, so a cut point cannot move without them. The rule: every so many rows, the share of rows in
the bins of a column (class by class) is compared with what it was when the column was cut. Where it has changed by too
much, the column is cut anew by the rows at hand, and all counts are made again from these: the rows of the window, or
the last ``warm_up``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from tanager.counts.align import class_map
from tanager.counts.forgetting import SMALLEST, Clock, as_decay
from tanager.counts.joint import JointCounts
from tanager.encoding import Encoder, Schema
from tanager.encoding.bins import cut
from tanager.encoding.chunks import n_rows, rows_of_dicts, take_rows
from tanager.encoding.codes import code_type
from tanager.encoding.grid import Grid
from tanager.encoding.kinds import settled
from tanager.encoding.quantiles import LabelledSketch
from tanager.encoding.validation import check_times, check_weights, one_dimensional
from tanager.errors import ModelFileError, OptionError, SchemaMismatch, check_option, is_number
from tanager.learning.rows import Rows


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


def moved(before: np.ndarray, now: np.ndarray) -> float:
    """The share of rows that are in other bins than before, beyond what chance does to samples of this size.

    Total variation between the bins of each class (tables have bins first, then classes), weighed by the classes now;
    so it does not matter that a class has become more frequent. Of a class that is new, all rows count.

    >>> moved(np.array([[400, 0], [0, 400]]), np.array([[100, 0], [0, 700]]))
    0.0
    >>> round(moved(np.array([[400, 0], [0, 400]]), np.array([[100, 0], [100, 600]])), 2)
    0.12
    """
    n_before, n_now = before.sum(axis=0), now.sum(axis=0)
    known = (n_before > 0) & (n_now > 0)
    before, now, a, b = before[:, known], now[:, known], n_before[known], n_now[known]
    pooled = (before + now) / (a + b)
    chance = np.sqrt(2 / np.pi * pooled * (1 - pooled) * (1 / a + 1 / b))  # how far two samples are apart on average
    far = n_now.astype(np.float64)
    far[known] *= np.maximum(0.0, (np.abs(before / a - now / b) - chance).sum(axis=0) / 2)
    return round(float(far.sum() / max(n_now.sum(), np.finfo(float).tiny)), 9)


def table(x: np.ndarray, labels: np.ndarray, weights: np.ndarray, cuts: np.ndarray, n_classes: int) -> np.ndarray:
    """Weight of the rows in every bin that these cut points make, and class; missing values are left out."""
    bins, size = cut(x, cuts), len(cuts) + 1
    cell = np.where(bins < size, bins, size).astype(np.intp) * n_classes + labels
    return np.bincount(cell, weights, (size + 1) * n_classes).reshape(-1, n_classes)[:size]


class Watch:
    """What is kept of the number columns beside the counts: a layer for each, and the last rows of the model.

    ``cutters`` says for each column that is watched (by its place) how it is cut: method, number of bins, encoding. The
    rows carry their numbers, and as their time the age of their class when they came: the logarithm of what was left
    by then of a row that came first. So the weight of a row now follows from the age now.
    """

    def __init__(self, recut: Recut, cutters: dict[int, tuple[str, int, str]], n_classes: int, decay: Any) -> None:
        self.recut, self.cutters = recut, cutters
        self.n_bins = next((n_bins for _, n_bins, _ in cutters.values()), 5)  # the same for all columns
        self.clock = Clock(decay, None)
        self.rows = Rows()
        self.probes: list[np.ndarray] = []  # cut points of each column, and quantiles as it was cut
        self.marks: list[np.ndarray] = []  # rows between these, and of each class, as it was cut
        self.layers: list[Grid | LabelledSketch] = []  # with what is left of all rows since, for what fades
        self.ages = np.zeros(n_classes)
        self.aged = np.zeros(n_classes)  # the ages that the layers know of
        self.since = 0  # rows that the layers do not know of

    @property
    def n_rows(self) -> int:
        """How many rows were watched."""
        return self.clock.learned

    @property
    def room(self) -> int:
        """How many rows may come until the next look."""
        return int(self.recut.every) - self.since

    # Rows

    def add(
        self,
        codes: np.ndarray,
        numbers: np.ndarray,
        labels: np.ndarray,
        weights: np.ndarray | None,
        times: np.ndarray | None,
    ) -> None:
        """Keep rows; all have a class and a weight above zero."""
        steps = self.clock.steps(len(codes), 0, None, times)
        if steps.late is not None:
            weights = steps.late if weights is None else weights * steps.late
        self.rows.append(codes, labels, weights, self._aging(steps.fade, labels), numbers)
        self.clock.pass_rows(len(codes), times)
        self.since += len(codes)

    def _aging(self, fade: np.ndarray | None, labels: np.ndarray) -> np.ndarray:
        """Let the classes age with each row; the age of every row's class as it comes."""
        if fade is None:
            return self.ages[labels]
        logs = np.log(fade)
        if self.clock.decay is None or not self.clock.decay.per_class:
            passed = np.cumsum(logs)
            stamps = self.ages[labels] + passed
            self.ages = self.ages + passed[-1]
            return np.asarray(stamps)
        stamps, self.ages = np.empty(len(labels)), self.ages.copy()
        for c in np.unique(labels).tolist():
            stamps[labels == c] = self.ages[c] + np.cumsum(logs[labels == c])
            self.ages[c] = stamps[labels == c][-1]
        return stamps

    def fade(self, factor: float) -> None:
        """All that was learned fades at once."""
        self.ages = self.ages + np.log(factor)

    def kept(self, n: int | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Codes, numbers, labels and weights now of the last n rows, or of all that are kept."""
        last = slice(len(self.rows) - (len(self.rows) if n is None else n), None)
        codes, labels, weights = (part[last] for part in self.rows.queue)
        stamps, numbers = self.rows.times, self.rows.numbers
        assert stamps is not None
        assert numbers is not None
        return codes, numbers[last], labels, weights * np.exp(self.ages[labels] - stamps[last])

    def recode(self, cuts: Mapping[int, np.ndarray], schema: Schema) -> None:
        """Give the rows kept the codes that they have with new cut points."""
        codes, numbers, _, _ = self.kept()
        wide = code_type(int(schema.n_values.max()), "ignore") is np.uint16 and codes.dtype == np.uint8
        codes = np.where(codes == 255, 65535, codes.astype(np.uint16)) if wide else codes.copy()
        for j, i in enumerate(self.cutters):
            if i in cuts:
                cut(numbers[:, j], cuts[i], codes[:, i])
        self.rows.recode(codes)

    def move_classes(self, places: np.ndarray, n_classes: int) -> None:
        """There are more classes: class c is now places[c]."""
        for name in ("ages", "aged"):
            ages = np.zeros(n_classes)
            ages[places] = getattr(self, name)
            setattr(self, name, ages)
        self.rows.move_classes(places)
        for j, layer in enumerate(self.layers):
            layer.move_classes(places, n_classes)
            mark = np.zeros((len(self.marks[j]), n_classes))
            mark[:, places] = self.marks[j]
            self.marks[j] = mark

    # Looks

    def start(self, cuts: Mapping[int, np.ndarray]) -> None:
        """The rows kept are those that these cut points were made from."""
        empty = [np.empty(0)] * len(self.cutters)
        self.layers, self.probes, self.marks = [], empty, empty.copy()
        for j, i in enumerate(self.cutters):
            layer = self._layer(j, cuts[i])
            self._mark(j, cuts[i], layer)
            self.layers.append(layer)
        self.since, self.aged = 0, self.ages

    def look(self, cuts: Mapping[int, np.ndarray], n_kept: int, *, window: bool) -> dict[int, tuple[np.ndarray, float]]:
        """Columns that are to be cut anew by the last ``n_kept`` rows: new cut points, and how far rows have moved.

        What counts now are the rows of the window; all rows with the weights that are left of them; or, where the model
        never forgets, the rows since the last look.
        """
        if not self.probes:
            self.rows.drop(max(0, len(self.rows) - n_kept))
            self.start(cuts)
            return {}
        now = self._tables(self.kept(min(n_kept, len(self.rows)) if window else self.since), fading=not window)
        self.rows.drop(max(0, len(self.rows) - n_kept))
        found = {}
        for j, (i, cutter) in enumerate(self.cutters.items()):
            far = moved(self.marks[j], now[j])
            if far > self.recut.distance:
                self.layers[j] = self._layer(j)
                new = self.layers[j].cuts(*cutter)
                self._mark(j, new, self.layers[j])
                if not np.array_equal(new, cuts[i]):
                    found[i] = new, far
        return found

    def _tables(self, rows: tuple[np.ndarray, ...], *, fading: bool) -> list[np.ndarray]:
        """How the rows that count now lie between the probes of each column, by class."""
        _, numbers, labels, weights = rows
        fade = np.maximum(np.exp(self.ages - self.aged), SMALLEST)
        self.since, self.aged = 0, self.ages
        if fading and self.clock.decay is not None:
            for j, layer in enumerate(self.layers):
                layer.decay_classes(fade).update(numbers[:, j], labels, weights)
            return [layer.table(probes) for layer, probes in zip(self.layers, self.probes, strict=True)]
        return [table(numbers[:, j], labels, weights, probes, len(fade)) for j, probes in enumerate(self.probes)]

    def _mark(self, j: int, cuts: np.ndarray, layer: Grid | LabelledSketch) -> None:
        """Remember how the rows kept lie as a column is cut. Quantiles show what happens where there is no cut."""
        _, numbers, labels, weights = self.kept()
        self.probes[j] = np.union1d(cuts, layer.cuts("frequency", max(5, self.n_bins)))
        self.marks[j] = table(numbers[:, j], labels, weights, self.probes[j], len(self.ages))

    def _layer(self, j: int, edges: np.ndarray | None = None) -> Grid | LabelledSketch:
        """A column of the rows kept, summed up; a grid has these edges among its own, where it counts exactly."""
        _, numbers, labels, weights = self.kept()
        x, n_classes = numbers[:, j], len(self.ages)
        if self.recut.by == "sketch":
            return LabelledSketch(n_classes, self.n_bins).update(x, labels, weights)
        grid = Grid.over(x, n_classes, int(self.recut.size))
        if edges is not None:
            grid = Grid(np.union1d(grid.edges, edges), n_classes)
        return grid.update(x, labels, weights)

    # Files

    def to_arrays(self) -> dict[str, np.ndarray]:
        """All there is, by name."""
        now = np.nan if self.clock.now is None else self.clock.now
        state = np.array([self.clock.learned, now, self.since])
        arrays = {"state": state, "ages": self.ages, "aged": self.aged}
        if len(self.rows):
            arrays |= {f"rows-{name}": self.rows._part(name) for name in _OF_ROWS}
        for j, layer in enumerate(self.layers):
            own = layer.to_arrays() | {"probes": self.probes[j], "mark": self.marks[j]}
            arrays |= {f"{j}-{name}": array for name, array in own.items()}
        return arrays

    def take_arrays(self, arrays: Mapping[str, np.ndarray], n_values: np.ndarray) -> None:
        """Take back what ``to_arrays`` gave; `n_values` are those of all columns."""
        state, ages, aged = (arrays[name] for name in ("state", "ages", "aged"))
        sound = state.shape == (3,) and ages.shape == aged.shape == self.ages.shape
        if not sound or not np.isfinite(np.concatenate([state[[0, 2]], ages, aged])).all():
            raise ModelFileError("what it keeps of its number columns does not fit its classes")
        self.clock.take_plain({"learned": state[0], "now": None if np.isnan(state[1]) else state[1]})
        self.since, self.ages, self.aged = int(state[2]), ages, aged
        if "rows-codes" in arrays:
            self._take_rows([arrays[f"rows-{name}"] for name in _OF_ROWS], n_values)
        if not 0 <= self.since <= len(self.rows):
            raise ModelFileError("it has not kept the rows that it has yet to look at")
        kind = Grid if self.recut.by == "grid" else LabelledSketch
        for j in range(len(self.cutters)):
            own = {name.removeprefix(f"{j}-"): a for name, a in arrays.items() if name.startswith(f"{j}-")}
            if own:
                self.layers.append(kind.from_arrays(own, len(ages)))
                self._take_mark(own["probes"], own["mark"])

    def _take_mark(self, probes: np.ndarray, mark: np.ndarray) -> None:
        sound = probes.ndim == 1 and mark.shape == (len(probes) + 1, len(self.ages))
        if not sound or not (np.diff(probes) > 0).all() or not (np.isfinite(mark) & (mark >= 0)).all():
            raise ModelFileError("what it knows of its bins does not fit its classes")
        self.probes.append(probes.astype(np.float64))
        self.marks.append(mark.astype(np.float64))

    def _take_rows(self, parts: list[np.ndarray], n_values: np.ndarray) -> None:
        codes, labels, weights, stamps, numbers = parts
        shapes = [(len(labels), len(n_values)), *[(len(labels),)] * 3, (len(labels), len(self.cutters))]
        whole = all(part.dtype in (np.uint8, np.uint16) for part in (codes, labels))
        if not whole or [part.shape for part in parts] != shapes or not np.isfinite([weights, stamps]).all():
            raise ModelFileError("the last rows that it keeps do not fit its columns")
        known = (codes < n_values) | (codes == np.iinfo(codes.dtype).max)
        if not known.all() or (labels >= len(self.ages)).any():
            raise ModelFileError("the last rows that it keeps have values that its counts do not know")
        self.rows.append(codes, labels, weights, stamps, numbers)


_OF_ROWS = ("codes", "labels", "weights", "times", "numbers")


class RecutMixin:
    """The option ``recut`` of every counting classifier; ``events_`` says which cut points have moved, and when."""

    _rows: Rows | None
    _view: Any
    _watch: Watch | None = None
    _follows = False  # whether cut points may move from now on
    events_: list[MovedCuts]

    def _start_recut(self: Any) -> None:
        self._watch = None
        self._follows = as_recut(self.recut) is not None
        self.__dict__.pop("events_", None)
        if self._follows:
            self.events_ = []

    # --- rows are watched after they were learned ---------------------------------------------------------------

    def fit(self: Any, X: Any, y: Any = None, sample_weight: Any = None, times: Any = None) -> Any:
        """Learn from a table, forgetting all that was learned before. Rows without a label are left out.

        ``times`` says when each row happened (numbers in seconds, or dates), for models that forget by time.
        """
        if self.recut is not None and y is not None:
            y = one_dimensional(y)
        super().fit(X, y, sample_weight, times)  # type: ignore[misc]
        if self._follows:
            m = n_rows(X)
            self._watch_rows(X, self._labels(y)[0], check_weights(sample_weight, m), check_times(times, m), first=True)
        return self

    def _freeze(self: Any, n_first: int) -> None:
        warm = self._warm
        super()._freeze(n_first)  # type: ignore[misc]
        if self._follows:
            self._watch_rows(warm.X, warm.labels, warm.weights, warm.times, first=True)

    def _learn(self: Any, X: Any, y: Any, sample_weight: Any, times: Any = None, *, whole: bool) -> Any:
        """Rows are learned up to the next look at the cut points, then the rest."""
        if whole or not self._follows or not hasattr(y, "__len__") or len(y) != n_rows(X):
            return super()._learn(X, y, sample_weight, times, whole=whole)  # type: ignore[misc]
        y, m = one_dimensional(y), len(y)
        weights, moments = check_weights(sample_weight, m), check_times(times, m)
        if self._watch is not None:  # refuses cells that are no numbers while nothing has been learned
            self.encoder_.numbers(X, list(self._watch.cutters), type(self).__name__)
        done = 0
        while done < m:
            end = min(m, done + self._until_look())
            rows, labels = take_rows(X, done, end), take_rows(y, done, end)
            some, when = (None if cells is None else cells[done:end] for cells in (weights, moments))
            warm = self._warming()
            super()._learn(rows, labels, some, when, whole=False)  # type: ignore[misc]
            if not warm:
                self._watch_rows(rows, self._labels(labels)[0], some, when)
            done = end
        return self

    def learn_one(self: Any, row: Mapping[str, Any], y: Any, sample_weight: float = 1.0, time: Any = None) -> Any:
        """Learn one row. New keys are new columns, absent keys are missing; a missing label teaches nothing."""
        if not self._follows:
            return super().learn_one(row, y, sample_weight, time)  # type: ignore[misc]
        watched = self._n_watched()
        super().learn_one(row, y, sample_weight, time)  # type: ignore[misc]
        if not self._warming() and self._n_watched() == watched:
            weights = None if sample_weight == 1.0 else np.array([float(sample_weight)])
            label = self._class_codes().get(y, 65535)
            self._watch_rows([row], np.array([label], dtype=np.uint16), weights, check_times(_each(time), 1))
        return self

    def _test_some(
        self: Any, X: Any, y: np.ndarray, weights: np.ndarray | None, times: np.ndarray | None, answered: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        if not self._follows or self._warming():
            return super()._test_some(X, y, weights, times, answered)  # type: ignore[misc]
        end = min(len(y), self._until_look())
        X, answered = take_rows(X, 0, end), None if answered is None else take_rows(answered, 0, end)
        y, weights, times = (None if cells is None else cells[:end] for cells in (y, weights, times))  # type: ignore[assignment]
        watched = self._n_watched()
        classes, proba = super()._test_some(X, y, weights, times, answered)  # type: ignore[misc]
        if self._n_watched() == watched:
            went = len(proba)
            some, when = (None if cells is None else cells[:went] for cells in (weights, times))
            self._watch_rows(take_rows(X, 0, went), self._labels(y[:went])[0], some, when)
        return classes, proba

    def _warming(self: Any) -> bool:
        """Whether cut points are not fixed yet."""
        return not hasattr(self, "encoder_") or self._warm is not None

    def _n_watched(self: Any) -> int:
        return 0 if self._watch is None else self._watch.n_rows

    def _until_look(self: Any) -> int:
        """How many rows may be learned at once."""
        if self._warming():
            return max(1, int(self.warm_up) - (0 if self._warm is None else self._warm.n_rows))
        return int(as_recut(self.recut).every) if self._watch is None else self._watch.room  # type: ignore[union-attr]

    def _watch_rows(
        self: Any,
        X: Any,
        labels: np.ndarray,
        weights: np.ndarray | None,
        times: np.ndarray | None,
        *,
        first: bool = False,
    ) -> None:
        """Keep rows that were learned, and look at the cut points when it is time; the first rows have made them."""
        watch = self._watch = self._watch or self._new_watch()
        self._follows = bool(watch.cutters)
        counted = labels != np.iinfo(labels.dtype).max
        if weights is not None:
            counted &= weights > 0
        if not self._follows or not counted.any():
            return
        codes, numbers = self._codes_and_numbers(X)
        some, when = (None if cells is None else cells[counted] for cells in (weights, times))
        watch.add(codes[counted], numbers[counted], labels[counted], some, when)
        if first:
            watch.start(self._cuts())
            watch.rows.drop(max(0, len(watch.rows) - self._n_at_hand()))
        elif watch.room <= 0:
            self._look()

    def _codes_and_numbers(self: Any, X: Any) -> tuple[np.ndarray, np.ndarray]:
        encoder, columns, name = self.encoder_, list(self._watch.cutters), type(self).__name__
        if rows_of_dicts(X) and len(X) == 1:
            return encoder.encode_row(X[0])[None, :], encoder.numbers_row(X[0], columns)[None, :]
        return encoder.transform(X, name=name), encoder.numbers(X, columns, name)

    def _new_watch(self: Any) -> Watch:
        """Of number columns whose cut points nobody has given."""
        recut = as_recut(self.recut)
        assert recut is not None
        columns = self.encoder_.schema.columns
        rules = Encoder(**self._encoder_options())._rules(self.encoder_.schema.names)
        cutters = {
            i: (str(rules.bins.get(i, rules.default_bins)), rules.n_bins, rules.mdl_encoding)
            for i, column in enumerate(columns)
            if column.kind == "numeric" and not column.closed and not settled(column)
        }
        return Watch(recut, cutters, len(self.classes_), as_decay(self.decay))

    # --- cut points move ----------------------------------------------------------------------------------------

    def _n_at_hand(self: Any) -> int:
        """How many of the last rows cut points and counts are made from when they move."""
        return int(self.warm_up) if self.window is None else len(self._rows)

    def _cuts(self: Any) -> dict[int, np.ndarray]:
        return {i: np.array(self.encoder_.schema[i].cuts) for i in self._watch.cutters}

    def _look(self: Any) -> None:
        found = self._watch.look(self._cuts(), self._n_at_hand(), window=self.window is not None)
        if found:
            self._move_cuts(found)

    def _move_cuts(self: Any, found: dict[int, tuple[np.ndarray, float]]) -> None:
        """Cut some columns anew, and make all counts again from the rows at hand."""
        schema = self.encoder_.schema
        new = schema.with_columns({i: replace(schema[i], cuts=tuple(cuts.tolist())) for i, (cuts, _) in found.items()})
        counts = JointCounts(
            new, self.classes_, max_memory=self.max_memory, spare=self.counts_.spare, **self._shape(new)
        )
        self._watch.recode({i: cuts for i, (cuts, _) in found.items()}, new)
        codes, _, labels, weights = self._watch.kept()
        counts.update(codes, labels, weights, n_jobs=self._threads())
        if self._rows is not None:
            beside = (self._rows.times, self._rows.numbers) if self.window is not None else ()
            self._rows = Rows()
            self._rows.append(
                codes, labels, weights, *(None if part is None else part[-len(codes) :] for part in beside)
            )
        self.encoder_.adopt(new)
        self.counts_, self._view = counts, None
        self.events_ += [
            MovedCuts(self._watch.n_rows, schema[i].name, far, len(schema[i].cuts), len(cuts))
            for i, (cuts, far) in found.items()
        ]

    # --- what else happens to a model ---------------------------------------------------------------------------

    def _add_classes(self: Any, classes: np.ndarray) -> None:
        before = self.classes_
        super()._add_classes(classes)  # type: ignore[misc]
        self._watch_classes(before)

    def _watch_classes(self: Any, before: np.ndarray) -> None:
        if self._watch is not None and self.classes_ is not before:
            self._watch.move_classes(class_map(before, self.classes_), len(self.classes_))

    def _check_merge(self: Any, other: Any) -> None:
        """A merged window would hold rows whose numbers are not known here."""
        if self._watch is not None and self.window is not None:
            raise SchemaMismatch(
                "cannot merge into a window whose cut points follow the stream: they are made from the numbers in it, "
                "and those of the other model are gone. Use recut=None, or decay in place of a window."
            )

    def _add_columns(self: Any, rows: Any) -> None:
        before = len(self.encoder_.schema)
        super()._add_columns(rows)  # type: ignore[misc]
        if self._watch is not None and len(self.encoder_.schema) > before:
            self._watch.rows.add_columns(len(self.encoder_.schema) - before)

    def fade(self: Any, factor: float) -> Any:
        """Let all that was learned fade by a factor in (0, 1] at once, so that new rows count more."""
        super().fade(factor)  # type: ignore[misc]
        if self._watch is not None:
            self._watch.fade(factor)
        return self

    def _end_recut(self: Any) -> None:
        """From now on cut points stay as they are."""
        self._watch, self._follows = None, False

    # --- files --------------------------------------------------------------------------------------------------

    def _watch_arrays(self: Any) -> dict[str, np.ndarray]:
        if self._watch is None or not self._follows:
            return {}
        moves = [(e.row, self.encoder_.schema.index(e.column), *e[2:]) for e in self.events_]
        arrays = self._watch.to_arrays() | {"moved": np.array(moves, dtype=np.float64).reshape(-1, 5)}
        return {f"recut-{name}": array for name, array in arrays.items()}

    def _take_watch_arrays(self: Any, arrays: Mapping[str, np.ndarray]) -> None:
        own = {name.removeprefix("recut-"): array for name, array in arrays.items() if name.startswith("recut-")}
        if not own or not self._follows:
            return
        schema = self.encoder_.schema
        self._watch = self._new_watch()
        self._watch.take_arrays(own, schema.n_values)
        if own["moved"].ndim != 2 or own["moved"].shape[1] != 5:
            raise ModelFileError("its list of moved cut points is of another shape")
        self.events_ = [
            MovedCuts(int(row), schema.names[int(i)], far, int(before), int(after))
            for row, i, far, before, after in own["moved"].tolist()
        ]


def _each(time: Any) -> Any:
    return None if time is None else [time]
