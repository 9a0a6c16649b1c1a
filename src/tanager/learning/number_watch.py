"""What is remembered of number columns in a stream, to notice that their values have moved to other bins."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tanager import saved
from tanager.counts.block import Block
from tanager.counts.forgetting import SMALLEST, Clock, Decay
from tanager.encoding import Schema
from tanager.encoding.bins import cut
from tanager.encoding.codes import code_type
from tanager.encoding.grid import Grid
from tanager.encoding.quantiles import LabelledSketch
from tanager.errors import ModelFileError
from tanager.learning.recut_option import Recut
from tanager.learning.rows import KeptRows

_OF_ROWS = ("codes", "labels", "weights", "times", "numbers")
_IN_FILES = "parts that follow its number columns"


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


class NumberWatch:
    """What is kept of the number columns beside the counts: a summary for each, and the last rows of the model.

    ``cutters`` says for each column that is watched (by its place) how it is cut: method, number of bins, encoding. The
    rows carry their numbers, and as their time the age of their class when they came: the logarithm of what was left
    by then of a row that came first. So the weight of a row now follows from the age now.
    """

    def __init__(
        self, recut: Recut, cutters: dict[int, tuple[str, int, str]], n_classes: int, decay: Decay | None
    ) -> None:
        self.recut, self.cutters = recut, cutters
        self.n_bins = next((n_bins for _, n_bins, _ in cutters.values()), 5)  # the same for all columns
        self.clock = Clock(decay, None)
        self.rows = KeptRows()
        self.probes: list[np.ndarray] = []  # cut points of each column, and quantiles as it was cut
        self.marks: list[np.ndarray] = []  # rows between these, and of each class, as it was cut
        self.summaries: list[Grid | LabelledSketch] = []  # with what is left of all rows since, for what fades
        self.ages = np.zeros(n_classes)
        self.aged = np.zeros(n_classes)  # the ages that the summaries know of
        self.since = 0  # rows that the summaries do not know of

    @property
    def n_rows(self) -> int:
        """How many rows were watched."""
        return self.clock.learned

    @property
    def rows_until_look(self) -> int:
        """How many rows may come until the next look."""
        return int(self.recut.every) - self.since

    # Rows

    def add(self, block: Block) -> None:
        """Keep rows; all have a class and a weight above zero, and their numbers."""
        steps = self.clock.steps(len(block), 0, None, block.times)
        weights = block.weights
        if steps.late is not None:
            weights = steps.late if weights is None else weights * steps.late
        ages = self._aging(steps.fade, block.labels)
        self.rows.append(Block(block.codes, block.labels, weights, ages, block.numbers))
        self.clock.pass_rows(len(block), block.times)
        self.since += len(block)

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

    def kept(self, n: int | None = None) -> Block:
        """The last n rows, or all that are kept, with their numbers and their weights now."""
        last = slice(len(self.rows) - (len(self.rows) if n is None else n), None)
        codes, labels, weights = (part[last] for part in self.rows.queue)
        stamps, numbers = self.rows.times, self.rows.numbers
        assert stamps is not None
        assert numbers is not None
        left = weights * np.exp(self.ages[labels] - stamps[last])
        return Block(codes, labels, left, None, numbers[last])

    def recode(self, cuts: Mapping[int, np.ndarray], schema: Schema) -> None:
        """Give the rows kept the codes that they have with new cut points."""
        kept = self.kept()
        codes, numbers = kept.codes, _numbers(kept)
        wide = code_type(int(schema.n_values.max()), "ignore") is np.uint16 and codes.dtype == np.uint8
        codes = np.where(codes == 255, 65535, codes.astype(np.uint16)) if wide else codes.copy()
        for j, i in enumerate(self.cutters):
            if i in cuts:
                cut(numbers[:, j], cuts[i], codes[:, i])
        self.rows.recode(codes)

    def map_codes(self, maps: Mapping[int, np.ndarray]) -> None:
        """Other columns were cut: code c of column i is now maps[i][c]."""
        self.rows.map_codes(maps)

    def move_classes(self, places: np.ndarray, n_classes: int) -> None:
        """There are more classes: class c is now places[c]."""
        for name in ("ages", "aged"):
            ages = np.zeros(n_classes)
            ages[places] = getattr(self, name)
            setattr(self, name, ages)
        self.rows.move_classes(places)
        for j, summary in enumerate(self.summaries):
            summary.move_classes(places, n_classes)
            mark = np.zeros((len(self.marks[j]), n_classes))
            mark[:, places] = self.marks[j]
            self.marks[j] = mark

    # Looks

    def start(self, cuts: Mapping[int, np.ndarray]) -> None:
        """The rows kept are those that these cut points were made from."""
        empty = [np.empty(0)] * len(self.cutters)
        self.summaries, self.probes, self.marks = [], empty, empty.copy()
        for j, i in enumerate(self.cutters):
            summary = self._summary(j, cuts[i])
            self._mark(j, cuts[i], summary)
            self.summaries.append(summary)
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
                self.summaries[j] = self._summary(j)
                new = self.summaries[j].cuts(*cutter)
                self._mark(j, new, self.summaries[j])
                if not np.array_equal(new, cuts[i]):
                    found[i] = new, far
        return found

    def _tables(self, rows: Block, *, fading: bool) -> list[np.ndarray]:
        """How the rows that count now lie between the probes of each column, by class."""
        numbers, labels, weights = _cells(rows)
        fade = np.maximum(np.exp(self.ages - self.aged), SMALLEST)
        self.since, self.aged = 0, self.ages
        if fading and self.clock.decay is not None:
            for j, summary in enumerate(self.summaries):
                summary.decay_classes(fade).update(numbers[:, j], labels, weights)
            return [summary.table(probes) for summary, probes in zip(self.summaries, self.probes, strict=True)]
        return [table(numbers[:, j], labels, weights, probes, len(fade)) for j, probes in enumerate(self.probes)]

    def _mark(self, j: int, cuts: np.ndarray, summary: Grid | LabelledSketch) -> None:
        """Remember how the rows kept lie as a column is cut. Quantiles show what happens where there is no cut."""
        numbers, labels, weights = _cells(self.kept())
        quantiles = summary.cuts("frequency", max(5, self.n_bins))
        self.probes[j] = np.unique(np.concatenate([cuts, quantiles, _around(numbers[:, j])]))
        self.marks[j] = table(numbers[:, j], labels, weights, self.probes[j], len(self.ages))

    def _summary(self, j: int, edges: np.ndarray | None = None) -> Grid | LabelledSketch:
        """A column of the rows kept, summed up; a grid has these edges among its own, where it counts exactly."""
        numbers, labels, weights = _cells(self.kept())
        x, n_classes = numbers[:, j], len(self.ages)
        edges = np.union1d([] if edges is None else edges, _around(x))
        if self.recut.by == "sketch":
            return LabelledSketch(n_classes, self.n_bins).update(x, labels, weights)
        grid = Grid.over(x, n_classes, int(self.recut.size))
        if len(edges):
            grid = Grid(np.union1d(grid.edges, edges), n_classes)
        return grid.update(x, labels, weights)

    # Files

    def to_arrays(self) -> dict[str, np.ndarray]:
        """All there is, by name."""
        now = np.nan if self.clock.now is None else self.clock.now
        state = np.array([self.clock.learned, now, self.since])
        arrays = {"state": state, "ages": self.ages, "aged": self.aged}
        if len(self.rows):
            arrays |= {f"rows-{name}": self.rows.part(name) for name in _OF_ROWS}
        for j, summary in enumerate(self.summaries):
            own = summary.to_arrays() | {"probes": self.probes[j], "mark": self.marks[j]}
            arrays |= {f"{j}-{name}": array for name, array in own.items()}
        return arrays

    def take_arrays(self, arrays: Mapping[str, np.ndarray], n_values: np.ndarray) -> None:
        """Take back what ``to_arrays`` gave; `n_values` are those of all columns."""
        expected = {
            "state": saved.numbers(3, gaps=True),
            "ages": saved.array("f8", len(self.ages), most=0.0),
            "aged": saved.array("f8", len(self.ages), most=0.0),
        }
        state, self.ages, self.aged = saved.read(_IN_FILES, arrays, expected).values()
        learned, now, since = state.tolist()
        if not (learned == learned // 1 and since == since // 1):
            raise ModelFileError("it has learned a part of a row, or has yet to look at one")
        self.clock.take_plain({"learned": int(learned), "now": None if np.isnan(now) else now})
        if "rows-codes" in arrays:
            self._take_rows(arrays, n_values)
        if not 0 <= since <= len(self.rows):
            raise ModelFileError("it has not kept the rows that it has yet to look at")
        self.since = int(since)
        kind = Grid if self.recut.by == "grid" else LabelledSketch
        for j in range(len(self.cutters)):
            own = {name.removeprefix(f"{j}-"): a for name, a in arrays.items() if name.startswith(f"{j}-")}
            if own:
                self.summaries.append(kind.from_arrays(own, len(self.ages)))
                self._take_mark(own)

    def _take_mark(self, own: Mapping[str, np.ndarray]) -> None:
        n_probes = len(own["probes"])
        expected = {
            "probes": saved.numbers(n_probes),
            "mark": saved.array("f8", n_probes + 1, len(self.ages), least=0.0),
        }
        probes, mark = saved.read(_IN_FILES, own, expected).values()
        if not (np.diff(probes) > 0).all():
            raise ModelFileError("the cut points that it compares with do not ascend")
        self.probes.append(probes)
        self.marks.append(mark)

    def _take_rows(self, arrays: Mapping[str, np.ndarray], n_values: np.ndarray) -> None:
        n_rows = len(arrays["rows-codes"])
        kinds = (
            saved.array("u1 u2", n_rows, len(n_values)),
            saved.array("u1 u2", n_rows, most=len(self.ages) - 1),
            saved.array("f8", n_rows, least=0.0),
            saved.numbers(n_rows),
            saved.numbers(n_rows, len(self.cutters), gaps=True),
        )
        expected = {f"rows-{name}": kind for name, kind in zip(_OF_ROWS, kinds, strict=True)}
        block = Block(*saved.read("last rows of its stream", arrays, expected).values())
        if not ((block.codes < n_values) | (block.codes == np.iinfo(block.codes.dtype).max)).all():
            raise ModelFileError("the last rows of its stream have values that its counts do not know")
        ages = self.ages[block.labels]
        if (
            block.times is None or not (ages - block.times <= 1e-9 * (1.0 - ages)).all()
        ):  # would weigh more than at first
            raise ModelFileError("the last rows of its stream are younger than the stream")
        self.rows.append(block)


def _numbers(block: Block) -> np.ndarray:
    assert block.numbers is not None
    return block.numbers


def _around(x: np.ndarray) -> np.ndarray:
    """Where a column holds one number alone, cut points just around it: they show when it begins to vary."""
    known = x[np.isfinite(x)]
    if not len(known) or known.min() < known.max():
        return np.empty(0)
    return np.array([np.nextafter(known[0], -np.inf), known[0]])


def _cells(block: Block) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Numbers, labels and weights."""
    assert block.weights is not None
    return _numbers(block), block.labels, block.weights
