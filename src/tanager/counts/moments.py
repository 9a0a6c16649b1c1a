"""Moments: weight, mean and variance of numeric columns per class, with the operations of counts.

What is kept are exact sums (``ExactSums``): rows may be added, merged and taken away in any order, and moments of the
same rows are the same to the last bit. Only fading rounds.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping

import numpy as np

from tanager import _kernels
from tanager.counts.block import Block
from tanager.counts.exact_sums import Cells, ExactSums
from tanager.counts.normals import AllRows, Normals, all_rows, by_rule, centre_of, normals_of, usable_numbers
from tanager.errors import DataError

LeftOut = tuple[np.ndarray, np.ndarray]  # labels and weights of rows that are answered as if they had not been learned


class Moments:
    """Weight, mean and deviation of every column (second axis) in every class (first axis).

    ``ddof`` is taken off the weight that a sum of squares is divided by: 0 (n) or 1 (n - 1).
    """

    def __init__(self, n_classes: int, n_columns: int, ddof: int = 0) -> None:
        self.sums, self.ddof = ExactSums(n_classes, n_columns), ddof
        self._read: Cells | None = None

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return len(self.sums.digits)

    @property
    def n_columns(self) -> int:
        """How many numbers come with a row."""
        return self.sums.n_columns

    @property
    def cells(self) -> Cells:
        """Weight, mean and deviation, as rounded from the sums."""
        if self._read is None:
            self._read = self.sums.read(np.arange(self.n_classes))
        return self._read

    @property
    def weight(self) -> np.ndarray:
        """The weight of the rows."""
        return self.cells.weight

    @property
    def mean(self) -> np.ndarray:
        """Their mean, 0 where there are none."""
        return self.cells.mean

    @property
    def by_class(self) -> Cells:
        """Weight, mean and deviation (divided by n - ddof) of every class."""
        return by_rule(self.cells, self.ddof)

    @property
    def squares(self) -> np.ndarray:
        """The sum of squared deviations from the mean."""
        with np.errstate(over="ignore"):
            return self.cells.weight * self.cells.deviation**2

    # --- rows come and go ---------------------------------------------------------------------------------------

    def reserve(self, block: Block) -> None:
        """Nothing can go wrong when rows are added here: sums take as many digits as they need."""

    def add_block(self, block: Block) -> None:
        """Add encoded rows."""
        assert block.numbers is not None
        self.update(block.numbers, block.labels, block.weights)

    def remove_block(self, block: Block, scale: float = 1.0) -> None:
        """Remove encoded rows; weights are multiplied by a scale, where one is given."""
        assert block.numbers is not None
        self.subtract(block.numbers, block.labels, block.weights, scale)

    def remove_learned(self, block: Block) -> None:
        """Remove rows that do not fade. Where these cannot have been learned: DataError, and nothing is changed."""
        self.remove_block(block)
        if not self.sums.possible(np.unique(block.labels[block.labels < self.n_classes]).astype(np.int64)):
            self.add_block(block)
            raise never_learned()

    def update(self, values: np.ndarray, labels: np.ndarray, weights: np.ndarray | None = None) -> Moments:
        """Add rows. NaN is missing; rows with labels beyond the classes are ignored."""
        self.sums.add(usable_numbers(values), self.sums.raw(len(values), weights), self._lines(labels))
        self._read = None
        return self

    def add_row(self, numbers: np.ndarray, label: int, weight: float) -> None:
        """``update`` for one row of a known class: the least work."""
        sums = self.sums
        if not _kernels.exact_add_row(sums.digits, sums.windows, numbers, weight * sums.scale, label):
            self.update(numbers[None, :], np.array([label]), np.array([weight]))
        self._read = None

    def subtract(
        self, values: np.ndarray, labels: np.ndarray, weights: np.ndarray | None = None, scale: float = 1.0
    ) -> Moments:
        """Remove rows."""
        raw = self.sums.raw(len(values), weights, scale)
        self.sums.add(usable_numbers(values), raw, self._lines(labels), subtract=True)
        self._read = None
        return self

    def _lines(self, labels: np.ndarray) -> np.ndarray:
        if len(labels) == 1:
            label = labels.item(0)
            return np.array([[label if label < self.n_classes else -1]])
        wide = labels.astype(np.int64)
        return np.where(wide < self.n_classes, wide, -1)[:, None]

    def merge(self, other: Moments) -> Moments:
        """Add other moments over the same classes and columns."""
        self.sums.merge(other.sums)
        self._read = None
        return self

    def decay(self, factor: float | np.ndarray) -> Moments:
        """Multiply the weights by a factor, or by one per class (first axis). Means stay."""
        fade(self.sums, factor, self.n_classes)
        self._read = None
        return self

    # --- other layouts ------------------------------------------------------------------------------------------

    def move_classes(self, places: np.ndarray, n_classes: int) -> Moments:
        """The same moments among more classes: class c is now places[c]."""
        return self._with(self.sums.moved(n_classes, np.asarray(places)))

    def project(self, columns: list[int]) -> Moments:
        """The moments of some columns, in the order given."""
        return self._with(self.sums.project(columns))

    def at_scale(self, scale: float) -> Moments:
        """The same moments, with another scale of the weights."""
        return self._with(self.sums.at_scale(scale))

    def _with(self, sums: ExactSums) -> Moments:
        new = copy.copy(self)
        new.sums, new._read = sums, None
        return new

    # --- answers ------------------------------------------------------------------------------------------------

    def log_density(self, values: np.ndarray, leave_out: LeftOut | None = None) -> np.ndarray:
        """Sum over the columns of log N(value; mean, variance) for every class; missing cells add 0.

        With ``leave_out`` (labels and weights of the rows) each row is first removed from its own class. The rules are
        those of ``tanager.counts.normals``.
        """
        ratios, highest = self.log_ratios(values, leave_out)
        return ratios + highest[:, None]

    def log_ratios(self, values: np.ndarray, leave_out: LeftOut | None = None) -> tuple[np.ndarray, np.ndarray]:
        """``log_density`` in two parts: less the highest of all classes, column by column, and the sum of these.

        A number far from all classes has log densities so low that nothing is left of others where they are added. Of
        the ratios, which are all that probabilities need, it is left.
        """
        values, sums = usable_numbers(values), self.sums
        ratios, highest = np.empty((len(values), self.n_classes)), np.empty(len(values))
        own = None if leave_out is None else (leave_out[0], sums.raw(len(values), leave_out[1]))

        def run(digits: np.ndarray, windows: np.ndarray) -> bool:
            rows = values, ratios, highest
            return _kernels.moment_ratios(digits, windows, self.ddof, sums.scale, *rows, *(own or ()))

        if not run(sums.digits, sums.windows) and own is not None:
            run(*sums.with_room(values, own[1]))
        return ratios, highest

    def posterior(self, numbers: np.ndarray, log_joint: list[float]) -> list[float] | None:
        """Probabilities of the classes of one row, from the log joint of all else; None where a number is too large."""
        sums = self.sums
        return _kernels.moment_posterior(sums.digits, sums.windows, self.ddof, sums.scale, numbers, log_joint)

    def normals(self) -> tuple[Normals, AllRows]:
        """The distribution of every class and column, and the moments of all rows."""
        every = all_rows(self.cells, 0, self.ddof)
        return normals_of(*centre_of(by_rule(self.cells, self.ddof), every), every), every

    def stream(
        self,
        values: np.ndarray,
        labels: np.ndarray,
        weights: np.ndarray | None,
        out: np.ndarray,
        asked: np.ndarray | None = None,
        fade: np.ndarray | None = None,
        leaving: tuple[np.ndarray, np.ndarray, np.ndarray, float] | None = None,
        gone: np.ndarray | None = None,
    ) -> None:
        """Test, then train: ratios of each row (or of those in ``asked``) into ``out``, then the row is added.

        Before it is added everything fades by fade[r]; after it gone[r] rows leave, oldest first. ``leaving`` are the
        rows of the window, these rows last: numbers, labels, weights times a scale, and that scale.
        """
        sums, values = self.sums, usable_numbers(values)
        scales, halved = sums.fading(fade, len(values))
        raw = scales if weights is None else weights * scales
        if halved.any():
            sums.guard()
        queue = None
        if leaving is not None and gone is not None:
            old = slice(min(len(leaving[0]) - len(values), int(gone.sum())))  # of those before these rows
            numbers, own, times_scale = (part[old] for part in leaving[:3])
            queue = usable_numbers(numbers), own, sums.raw(0, times_scale, leaving[3])

        def run() -> bool:
            given = None if asked is None else usable_numbers(asked)
            rows = values, labels, raw, scales, halved, sums.digits, sums.windows
            return _kernels.stream_moments(*rows, self.ddof, sums.scale, out, given, queue, gone)

        if not run():
            sums.reserve(values, raw)
            if queue is not None:
                sums.reserve(queue[0], queue[2])
            run()
        self._read = None
        if len(scales):
            sums.scale = float(scales[-1])

    # --- files --------------------------------------------------------------------------------------------------

    def to_arrays(self) -> dict[str, np.ndarray]:
        """The state as named arrays."""
        return self.sums.to_arrays("moments")

    def with_arrays(self, arrays: Mapping[str, np.ndarray]) -> Moments:
        """Moments of the same size, with the state that ``to_arrays`` returned. Raises ModelFileError for another."""
        return self._with(ExactSums.from_arrays(arrays, "moments", self.n_classes, self.n_columns))


def never_learned() -> DataError:
    """What is said of numbers that cannot be taken off the sums."""
    return DataError(
        "the numbers of a row to be unlearned were never learned with its class; nothing was changed. Give rows as "
        "they were learned, with the same weights."
    )


def fade(sums: ExactSums, factor: float | np.ndarray, n_classes: int) -> None:
    """Multiply the weights by a factor, or by one per class (first axis), of lines with the class innermost."""
    if np.ndim(factor) == 0:
        sums.fade(float(factor))
        return
    for c, own in enumerate(np.ravel(factor).tolist()):
        if own != 1.0:
            sums.multiply(own, c, n_classes)
