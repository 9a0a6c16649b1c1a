"""Sources: distributions that rows are drawn from. A ``Stream`` is a source with a seed and with effects."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from tanager.errors import DataError, OptionError, is_number

MISSING = 255  # in codes; in numbers it is NaN
MAX_VALUES = 254
RAREST = 1e-3  # smallest share of a class that can be raised by rejection sampling


@dataclass(frozen=True)
class Column:
    """A column: the values behind its codes, or the range of its numbers."""

    name: str
    values: tuple[object, ...] | None = None
    low: float = 0.0
    high: float = 1.0

    @property
    def numeric(self) -> bool:
        """Whether its cells are numbers, not codes."""
        return self.values is None


@dataclass(frozen=True)
class Noise:
    """Noise per column: a cell is kept with probability ``keep``, else uniform over the values or the range."""

    keep: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def of(cls, columns: Sequence[Column], keep: Any = 1.0) -> Noise:
        """For these columns; without ``keep``, no noise."""
        low, high = ([column.low for column in columns], [column.high for column in columns])
        return cls(np.broadcast_to(keep, len(columns)), np.array(low), np.array(high))

    @property
    def any(self) -> bool:
        """Whether there is any."""
        return bool((self.keep < 1).any())


class Source(ABC):
    """Rows of a known distribution, which may depend on the number of the row."""

    text: str  # a short description
    columns: tuple[Column, ...]
    classes: tuple[object, ...]

    @abstractmethod
    def draw(self, rows: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Cells (column-major) and classes (codes) of the rows with these numbers, in order."""

    @abstractmethod
    def log_joint(self, X: np.ndarray, rows: np.ndarray, noise: Noise) -> np.ndarray | None:
        """log P(x, y) of every row and class, with missing cells summed out; None if it cannot be computed."""

    @abstractmethod
    def prior(self, rows: np.ndarray) -> np.ndarray:
        """P(y) at these rows: (n_rows, n_classes), or (1, n_classes) if it is the same for all."""

    def changes(self) -> Iterator[int]:
        """The rows at which the distribution changes, in order; possibly infinitely many."""
        return iter(())


@dataclass(frozen=True)
class Concept(Source):
    """A source with other shares of the classes, or with wrong labels."""

    source: Source
    shares: tuple[float, ...] | None = None
    class_noise: float = 0.0

    text: str = field(init=False, compare=False, repr=False)
    columns: tuple[Column, ...] = field(init=False, compare=False, repr=False)
    classes: tuple[object, ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        shares = "" if self.shares is None else f" with classes {', '.join(f'{100 * s:g} %' for s in self.shares)}"
        wrong = f" with {100 * self.class_noise:g} % wrong labels" if self.class_noise else ""
        set_field = partial(object.__setattr__, self)  # the way to set a field of a frozen dataclass
        set_field("text", f"{self.source.text}{shares}{wrong}")
        set_field("columns", self.source.columns)
        set_field("classes", self.source.classes)

    def draw(self, rows: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        X, y = self.source.draw(rows, rng)
        if self.shares is not None:
            y = self._redraw(X, y, rows, rng)
        if self.class_noise:
            wrong = np.flatnonzero(rng.random(len(y), dtype=np.float32) < self.class_noise)
            y[wrong] = other_codes(y[wrong], len(self.classes), rng)
        return X, y

    def _redraw(self, X: np.ndarray, y: np.ndarray, rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw a class for each row, then redraw the row until it has this class; returns the classes."""
        assert self.shares is not None
        rarest = self.source.prior(rows).min(axis=0)
        for c in np.flatnonzero((rarest < RAREST) & (np.array(self.shares) > 0)):
            raise DataError(
                f"class {self.classes[c]!r} has a share of {rarest[c]:.2g} in the model, too small to be raised to "
                f"{100 * self.shares[c]:g} %. Use another model."
            )
        wanted = pick(self.shares, len(rows), rng)
        left = np.flatnonzero(y != wanted)
        while len(left):
            again, classes = self.source.draw(rows[left], rng)
            hit = classes == wanted[left]
            X[left[hit]] = again[hit]
            left = left[~hit]
        return wanted

    def log_joint(self, X: np.ndarray, rows: np.ndarray, noise: Noise) -> np.ndarray | None:
        logs = self.source.log_joint(X, rows, noise)
        if logs is None:
            return None
        with np.errstate(divide="ignore"):
            if self.shares is not None:
                logs = logs + np.log(self.shares) - np.log(self.source.prior(rows))
            if self.class_noise:
                logs = np.logaddexp(logs + np.log1p(-self.class_noise), _of_others(logs) + np.log(self._wrong))
        return logs

    def prior(self, rows: np.ndarray) -> np.ndarray:
        prior = self.source.prior(rows) if self.shares is None else np.array([self.shares])
        return np.asarray((1 - self.class_noise) * prior + self._wrong * (prior.sum(axis=1, keepdims=True) - prior))

    @property
    def _wrong(self) -> float:
        """The probability of one particular wrong label."""
        return self.class_noise / max(len(self.classes) - 1, 1)

    def changes(self) -> Iterator[int]:
        return self.source.changes()


def _of_others(logs: np.ndarray) -> np.ndarray:
    """For every class, log of the sum over all other classes."""
    n_classes = logs.shape[1]
    return np.stack(
        [np.logaddexp.reduce(logs[:, np.arange(n_classes) != c], axis=1, initial=-np.inf) for c in range(n_classes)],
        axis=1,
    )


def pick(shares: Sequence[float] | np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """n codes with these shares."""
    ends = np.cumsum(shares)
    ends /= ends[-1]
    codes = np.zeros(n, dtype=np.uint8)
    u = rng.random(n)
    for end in ends[:-1]:
        codes += u >= end
    return codes


def other_codes(codes: np.ndarray, n_values: int, rng: np.random.Generator) -> np.ndarray:
    """For each code a different one, all equally probable; the same if there is no other."""
    if n_values < 2:
        return codes
    steps = rng.integers(1, n_values, len(codes), dtype=np.uint16)
    return ((codes + steps) % n_values).astype(codes.dtype)


def missing_cells(X: np.ndarray) -> np.ndarray:
    """Where cells are missing."""
    return np.asarray(X == MISSING if X.dtype == np.uint8 else np.isnan(X))


def bounce(positions: np.ndarray, low: Any, high: Any) -> np.ndarray:
    """Positions of points that bounce off walls, given where they would be without walls."""
    span = np.asarray(high) - low
    return np.asarray(low + span - np.abs((positions - low) % (2 * span) - span))


def check_whole(name: str, value: object, least: int, most: float = float("inf")) -> int:
    """A whole number within bounds; a float such as 1e6 is accepted."""
    if is_number(value) and float(value).is_integer():
        whole = int(value)
        if least <= whole <= most:
            return whole
    upper = "" if most == float("inf") else f" and at most {int(most):,}"
    raise OptionError(f"{name}={value!r} is not an option; give a whole number of at least {least:,}{upper}.")


def check_share(name: str, value: object, most: float = 1.0) -> float:
    """A probability."""
    if is_number(value, 0) and float(value) <= most:
        return float(value)
    hint = f" For {float(value):g} % write {float(value) / 100:g}." if is_number(value, 1) else ""
    raise OptionError(f"{name}={value!r} is not an option; give a number from 0 to {most:g}.{hint}")


def check_positive(name: str, value: object) -> float:
    """A number above 0."""
    if is_number(value, 0) and float(value) > 0:
        return float(value)
    raise OptionError(f"{name}={value!r} is not an option; give a number above 0.")


def check_shares(name: str, shares: Any, n_classes: int) -> tuple[float, ...]:
    """One share for every class, which sum to one."""
    found = [check_share(name, share) for share in shares] if np.ndim(shares) == 1 else None
    if found is None or len(found) != n_classes or abs(sum(found) - 1) > 1e-6:
        raise OptionError(f"{name}={shares!r} is not an option; give {n_classes} shares that sum to 1, one per class.")
    return tuple(found)
