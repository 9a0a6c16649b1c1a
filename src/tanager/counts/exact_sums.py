"""ExactSums: sums of weights, of numbers and of their squares without rounding.

Every double is a whole number times a power of two, and so are sums of products of doubles. They are kept as such, in
digits of 32 bits (see ``src/kernels/exact_sums.hpp``): rows that are taken away leave no trace, whatever their numbers,
and the order of rows, chunks and models that are merged does not matter. Mean and variance are rounded once, when they
are read: the variance from W B - A², which is a whole number again, so that rows that do not vary have variance 0.

A sum takes as many digits as its numbers need: about eleven for three sums of ordinary numbers, and some hundred where
1e150 and 1e-150 are in one column. Fading is what rounds: digits below the last one are cut off, see ``multiply``.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tanager import _kernels, saved
from tanager.errors import ModelFileError

_NO_PLACE = 2**20
_GUARD = 4  # digits: what is cut off when sums fade is below 2^-128 of the last bit of a row
_DIGIT = 32


class Cells(NamedTuple):
    """Weight, mean and deviation (the root of the mean squared deviation), in arrays of one shape."""

    weight: np.ndarray
    mean: np.ndarray
    deviation: np.ndarray


class ExactSums:
    """Sums over rows of every column in every line: w, w x and w x².

    ``digits`` (lines, width) and ``windows`` (columns, 3, 2: place of the lowest digit, number of digits) are exchanged
    and never changed in place where their shape changes, so that a reader keeps what it has. ``scale`` is what weights
    are multiplied by when rows are added, as in JointCounts: where all fade, it grows, and no sum is touched.
    """

    def __init__(self, n_lines: int, n_columns: int) -> None:
        self.digits = np.zeros((n_lines, 0), dtype=np.int64)
        self.windows = np.zeros((n_columns, 3, 2), dtype=np.int64)
        self.scale = 1.0
        self.guarded = False  # whether there are digits for what fading leaves

    @property
    def n_columns(self) -> int:
        """How many numbers come with a row."""
        return len(self.windows)

    # --- room for digits ----------------------------------------------------------------------------------------

    def windows_for(self, values: np.ndarray, raw: np.ndarray) -> np.ndarray:
        """Windows that have room for these rows, too."""
        bounds = np.empty_like(self.windows)
        bounds[..., 0], bounds[..., 1] = _NO_PLACE, -_NO_PLACE
        _kernels.exact_bounds(values, raw, bounds)
        bounds[..., 1] += 1  # a digit for carries
        if self.guarded:
            bounds[..., 0] -= _GUARD
        return self._covering(bounds)

    def _covering(self, bounds: np.ndarray) -> np.ndarray:
        """The present windows, stretched to these bounds (first place, and the one after the last)."""
        low, size = self.windows[..., 0], self.windows[..., 1]
        start = np.where(size > 0, np.minimum(low, bounds[..., 0]), bounds[..., 0])
        end = np.where(size > 0, np.maximum(low + size, bounds[..., 1]), bounds[..., 1])
        some = end > start
        return np.stack([np.where(some, start, 0), np.where(some, end - start, 0)], axis=-1)

    def reserve(self, values: np.ndarray, raw: np.ndarray) -> None:
        """Have room for these rows; no sum changes."""
        self.widen(self.windows_for(values, raw))

    def with_room(self, values: np.ndarray, raw: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Digits and windows that have room for these rows; ours stay as they are."""
        windows = self.windows_for(values, raw)
        return (self.digits if np.array_equal(windows, self.windows) else self._in(windows)), windows

    def raw(self, n_rows: int, weights: np.ndarray | None, scale: float = 1.0) -> np.ndarray:
        """Weights times our scale, from weights (None: all 1) that are times another one."""
        if weights is None:
            return np.full(n_rows, self.scale)
        if scale == self.scale:
            return np.ascontiguousarray(weights)
        return (weights if scale == 1.0 else weights / scale) * self.scale

    def widen(self, windows: np.ndarray) -> None:
        """Move to windows that hold the present ones."""
        if not np.array_equal(windows, self.windows):
            self.digits, self.windows = self._in(windows), windows

    def _in(self, windows: np.ndarray) -> np.ndarray:
        """The digits in wider windows."""
        sizes, old = windows[..., 1].ravel(), self.windows[..., 1].ravel()
        begin = np.concatenate([[0], np.cumsum(sizes)])
        first = begin[:-1] + np.where(old > 0, (self.windows[..., 0] - windows[..., 0]).ravel(), 0)
        to = np.concatenate([at + np.arange(n) for at, n in zip(first, old, strict=True)]).astype(np.int64)
        digits = np.zeros((len(self.digits), int(begin[-1])), dtype=np.int64)
        digits[:, to] = self.digits
        _kernels.exact_normalise(digits, windows)  # what was the highest digit has a sign
        return digits

    # --- rows come and go ---------------------------------------------------------------------------------------

    def add(self, values: np.ndarray, raw: np.ndarray, lines: np.ndarray, *, subtract: bool = False) -> None:
        """Add rows to lines (rows, any number; negative: to none), or take them away. NaN is missing.

        ``raw`` are weights times the scale; a row goes without a trace where it is the number that it came with.
        """
        lines = np.ascontiguousarray(lines)
        if not _kernels.exact_add(self.digits, self.windows, values, raw, lines, subtract):
            self.reserve(values, raw)
            _kernels.exact_add(self.digits, self.windows, values, raw, lines, subtract)

    def merge(self, other: ExactSums) -> None:
        """Add sums of the same lines and columns."""
        if other.scale != self.scale:
            other = other.at_scale(self.scale)
        bounds = np.stack([other.windows[..., 0], other.windows.sum(axis=-1)], axis=-1)
        bounds[other.windows[..., 1] == 0] = _NO_PLACE, -_NO_PLACE
        windows = self._covering(bounds)
        self.widen(windows)
        self.digits = self.digits + (other.digits if np.array_equal(other.windows, windows) else other._in(windows))
        self.guarded = self.guarded or other.guarded
        _kernels.exact_normalise(self.digits, self.windows)

    def at_scale(self, scale: float) -> ExactSums:
        """The same sums, of weights that are multiplied by another scale."""
        new = copy.copy(self)
        new.digits = self.digits.copy()
        if scale != self.scale:
            new.multiply(scale / self.scale)
            new.scale = scale
        return new

    def fade(self, factor: float) -> None:
        """Multiply all weights by a factor in (0, 1]."""
        scales, halved = self.fading(np.array([factor]), 1)
        self.take_fading(float(scales[0]), int(halved[0]))

    def fading(self, fade: np.ndarray | None, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
        """The scale after each of some steps, and by how many bits the sums are to be divided before it."""
        scales, halved = np.empty(n_rows), np.empty(n_rows, dtype=np.int64)
        _kernels.fading_scales(fade, self.scale, scales, halved)
        return scales, halved

    def take_fading(self, scale: float, halved: int) -> None:
        """A step of ``fading``."""
        if halved:
            self.multiply(math.ldexp(1.0, -halved))
        self.scale = scale

    def guard(self) -> None:
        """Have digits for what is left of rows that have faded."""
        if not self.guarded:
            windows = self.windows.copy()
            windows[windows[..., 1] > 0] += [-_GUARD, _GUARD]
            self.widen(windows)
            self.guarded = True

    def multiply(self, factor: float, first: int = 0, step: int = 1) -> None:
        """Multiply all lines, or every so many from the first on, by a factor.

        Digits are cut off that would be 128 bits below the lowest of all rows; every sum loses less than that.
        """
        size, power = math.frexp(factor)
        mantissa, exponent = int(math.ldexp(size, 53)), power - 53
        zeros = (mantissa & -mantissa).bit_length() - 1
        self.guard()
        if power > 0:
            windows = self.windows.copy()
            windows[windows[..., 1] > 0, 1] += power // _DIGIT + 1
            self.widen(windows)
        _kernels.exact_scale(self.digits, self.windows, first, step, mantissa >> zeros, exponent + zeros)

    # --- other layouts ------------------------------------------------------------------------------------------

    def project(self, columns: Sequence[int]) -> ExactSums:
        """The sums of some columns, in the order given."""
        begin = np.concatenate([[0], np.cumsum(self.windows[..., 1].sum(axis=1))])
        taken = [np.arange(begin[i], begin[i + 1]) for i in columns]
        new = ExactSums(0, len(columns))
        new.digits = np.ascontiguousarray(self.digits[:, np.concatenate([np.zeros(0, dtype=np.int64), *taken])])
        new.windows = np.ascontiguousarray(self.windows[list(columns)])
        new.scale, new.guarded = self.scale, self.guarded
        return new

    def moved(self, n_lines: int, places: np.ndarray, lines: np.ndarray | None = None) -> ExactSums:
        """These sums (or those of some lines) among so many lines: the first is now places[0], and so on."""
        new = ExactSums(0, self.n_columns)
        new.digits = np.zeros((n_lines, self.digits.shape[1]), dtype=np.int64)
        new.digits[places] = self.digits if lines is None else self.digits[lines]
        new.windows, new.scale, new.guarded = self.windows, self.scale, self.guarded
        return new

    # --- what they say ------------------------------------------------------------------------------------------

    def read(self, lines: np.ndarray, n_jobs: int = 1) -> Cells:
        """Weight, mean and deviation of these lines: the shape of `lines`, and the columns."""
        flat = np.ascontiguousarray(lines, dtype=np.int64).ravel()
        cells = Cells(*(np.empty((len(flat), self.n_columns)) for _ in range(3)))
        _kernels.exact_read(self.digits, self.windows, flat, *cells, n_jobs)
        return self._shaped(cells, lines.shape)

    def read_without(self, lines: np.ndarray, values: np.ndarray, raw: np.ndarray, n_jobs: int = 1) -> Cells:
        """The same of lines (rows, sets), each without its row."""
        digits, windows = self.with_room(values, raw)
        at = np.ascontiguousarray(lines, dtype=np.int64)
        cells = Cells(*(np.empty((at.size, self.n_columns)) for _ in range(3)))
        _kernels.exact_read_without(digits, windows, at, values, raw, *cells, n_jobs)
        return self._shaped(cells, at.shape)

    def _shaped(self, cells: Cells, shape: tuple[int, ...]) -> Cells:
        weight, mean, deviation = (part.reshape(*shape, self.n_columns) for part in cells)
        return Cells(weight / self.scale, mean, deviation)

    def possible(self, lines: np.ndarray) -> bool:
        """Whether these lines may be sums over rows: no weight or square is below 0, and no rows have sums of 0."""
        digits, size = self.digits[np.unique(lines)], self.windows[..., 1]
        end = np.cumsum(size.ravel()).reshape(size.shape)
        for (w, _, b), ends in zip(size, end, strict=True):
            weight = digits[:, ends[0] - w : ends[0]]
            moments = digits[:, ends[0] : ends[2]]
            if (w and (weight[:, -1] < 0).any()) or (b and (moments[:, -1] < 0).any()):
                return False
            if (moments[~weight.any(axis=1)] != 0).any():
                return False
        return True

    # --- files --------------------------------------------------------------------------------------------------

    def to_arrays(self, prefix: str) -> dict[str, np.ndarray]:
        """The state as named arrays."""
        fading = np.array([self.scale, float(self.guarded)])
        parts = {"digits": self.digits, "windows": self.windows, "fading": fading}
        return {f"{prefix}-{name}": part for name, part in parts.items()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], prefix: str, n_lines: int, n_columns: int) -> ExactSums:
        """The sums of so many lines and columns in a model file; ModelFileError where no rows can have these."""
        if f"{prefix}-weight" in arrays:  # files of 0.1 before sums were exact
            return _of_older_file(arrays, prefix, (n_lines, n_columns))
        expected = {
            f"{prefix}-digits": saved.array("i8", n_lines, None),
            f"{prefix}-windows": saved.array("i8", n_columns, 3, 2, least=-512, most=1024),
            f"{prefix}-fading": saved.array("f8", 2, least=0.0, most=saved.LARGEST_SCALE),
        }
        new = cls(n_lines, n_columns)
        new.digits, new.windows, fading = saved.read("moments", arrays, expected).values()
        new.scale, new.guarded = float(fading[0]), bool(fading[1])
        if new.scale < saved.SMALLEST_SCALE or fading[1] not in (0, 1):
            raise ModelFileError(f"its moments are those of rows times {new.scale:g}, which is out of bounds")
        new._check()
        return new

    def _check(self) -> None:
        digits, windows = self.digits, self.windows
        low, size = windows[..., 0], windows[..., 1]
        if (low > 512).any() or (size < 0).any() or digits.shape[1] != size.sum():
            raise ModelFileError("the digits of its moments do not fit together")
        highest = np.zeros(digits.shape[1], dtype=bool)
        highest[np.cumsum(size.ravel())[size.ravel() > 0] - 1] = True
        lower, upper = digits[:, ~highest], digits[:, highest]
        if (lower < 0).any() or (lower >= 2**_DIGIT).any() or (upper < -(2**62)).any() or (upper >= 2**62).any():
            raise ModelFileError("the digits of its moments are out of bounds")


def _of_older_file(arrays: Mapping[str, np.ndarray], prefix: str, shape: tuple[int, int]) -> ExactSums:
    """Sums from weight, mean and sum of squared deviations, without rounding."""
    expected = {
        f"{prefix}-weight": saved.array("f8", *shape, least=0.0),
        f"{prefix}-mean": saved.numbers(*shape),
        f"{prefix}-squares": saved.array("f8", *shape, least=0.0, most=saved.FINITE),
    }
    return sums_of_moments(*saved.read("moments", arrays, expected).values())


def sums_of_moments(weight: np.ndarray, mean: np.ndarray, squares: np.ndarray) -> ExactSums:
    """The sums that have exactly this weight, mean and sum of squared deviations (lines, columns)."""
    n_lines, n = weight.shape
    out, lines = ExactSums(n_lines, n), np.arange(n_lines)[:, None]
    for i in range(n):
        alone = np.full((n_lines, n), np.nan)
        alone[:, i] = np.where(weight[:, i] > 0, mean[:, i], np.nan)
        out.add(alone, np.ascontiguousarray(weight[:, i]), lines)
        out.merge(_squares_alone(np.where(weight[:, i] > 0, squares[:, i], 0.0), i, n))
    return out


def _squares_alone(squares: np.ndarray, column: int, n_columns: int) -> ExactSums:
    """Sums of squares of one column, of rows without weight: three digits of 32 bits hold any double."""
    size, power = np.frexp(squares)
    whole, exponent = np.ldexp(size, 53).astype(np.int64), power.astype(np.int64) - 53
    place, shift = exponent >> 5, exponent & 31
    lowest = (whole & 0xFFFFFFFF) << shift
    higher = (lowest >> _DIGIT) + ((whole >> _DIGIT) << shift)
    out = ExactSums(len(squares), n_columns)
    some = whole > 0
    if not some.any():
        return out
    low = int(place[some].min())
    out.windows[column, 2] = low, int(place[some].max()) - low + 4
    out.digits = np.zeros((len(squares), int(out.windows[column, 2, 1])), dtype=np.int64)
    for at, digit in enumerate((lowest & 0xFFFFFFFF, higher & 0xFFFFFFFF, higher >> _DIGIT)):
        out.digits[np.flatnonzero(some), (place - low + at)[some]] = digit[some]
    return out
