"""What rows are drawn from: columns, and rules for row number t. A Stream is a source with a seed and with effects."""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tanager.errors import DataError, OptionError, is_number

MISSING = 255  # in codes; in numbers it is NaN
MOST_VALUES = 254
RAREST = 1e-3  # share of a class that can still be raised by drawing until it comes


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
    """What noise does to each column: it keeps its own cell so often, and else shows any value, or any of its range."""

    keep: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def of(cls, columns: Sequence[Column], keep: Any = 1.0) -> Noise:
        """Over the ranges of these columns; without `keep`, none at all."""
        low, high = ([column.low for column in columns], [column.high for column in columns])
        return cls(np.broadcast_to(keep, len(columns)), np.array(low), np.array(high))

    @property
    def any(self) -> bool:
        """Whether there is any."""
        return bool((self.keep < 1).any())


class Source(ABC):
    """Rows of a known distribution, which may depend on the number of the row."""

    text: str  # what it is, in a word or two
    columns: tuple[Column, ...]
    classes: tuple[object, ...]

    @abstractmethod
    def draw(self, rows: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Cells (column-major) and classes (codes) of the rows with these numbers, in order."""

    @abstractmethod
    def log_joint(self, X: np.ndarray, rows: np.ndarray, noise: Noise) -> np.ndarray | None:
        """log P(x, y) of every row and class, None where that is not known; missing cells say nothing."""

    @abstractmethod
    def prior(self, rows: np.ndarray) -> np.ndarray:
        """P(y) at these rows: (n_rows, n_classes), or one line for all of them."""

    def changes(self) -> Iterator[int]:
        """The rows at which it becomes another one, in order; there may be no end to them."""
        return iter(())


@dataclass(frozen=True)
class Concept(Source):
    """A source with other shares of the classes, and with wrong labels."""

    source: Source
    shares: tuple[float, ...] | None = None
    class_noise: float = 0.0

    @property
    def text(self) -> str:  # type: ignore[override]
        shares = "" if self.shares is None else f" with classes {', '.join(f'{100 * s:g} %' for s in self.shares)}"
        wrong = f" with {100 * self.class_noise:g} % wrong labels" if self.class_noise else ""
        return f"{self.source.text}{shares}{wrong}"

    @property
    def columns(self) -> tuple[Column, ...]:  # type: ignore[override]
        return self.source.columns

    @property
    def classes(self) -> tuple[object, ...]:  # type: ignore[override]
        return self.source.classes

    def draw(self, rows: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        X, y = self.source.draw(rows, rng)
        if self.shares is not None:
            y = self._redraw(X, y, rows, rng)
        if self.class_noise:
            wrong = np.flatnonzero(rng.random(len(y), dtype=np.float32) < self.class_noise)
            y[wrong] = other_codes(y[wrong], len(self.classes), rng)
        return X, y

    def _redraw(self, X: np.ndarray, y: np.ndarray, rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Say which class each row shall have, and draw the row again until it has; the classes."""
        assert self.shares is not None
        rarest = self.source.prior(rows).min(axis=0)
        for c in np.flatnonzero((rarest < RAREST) & (np.array(self.shares) > 0)):
            raise DataError(
                f"class {self.classes[c]!r} has a share of {rarest[c]:.2g} in the model, too few to draw "
                f"{100 * self.shares[c]:g} % of the rows from. Change the model."
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
        return (1 - self.class_noise) * prior + self._wrong * (prior.sum(axis=1, keepdims=True) - prior)

    @property
    def _wrong(self) -> float:
        """The chance of one particular wrong label."""
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
    """For each code a different one, all with equal chances; the same where there is no other."""
    if n_values < 2:
        return codes
    steps = rng.integers(1, n_values, len(codes), dtype=np.uint16)
    return ((codes + steps) % n_values).astype(codes.dtype)


def missing_cells(X: np.ndarray) -> np.ndarray:
    """Where cells are missing."""
    return X == MISSING if X.dtype == np.uint8 else np.isnan(X)


def bounce(positions: np.ndarray, low: Any, high: Any) -> np.ndarray:
    """Positions of things that turn back at the walls, given where they would be without walls."""
    span = np.asarray(high) - low
    return low + span - np.abs((positions - low) % (2 * span) - span)


def check_whole(name: str, value: object, least: int, most: float = float("inf")) -> int:
    """A whole number within bounds; 1e6 is one too."""
    if isinstance(value, numbers.Real) and not isinstance(value, bool) and float(value).is_integer():
        whole = int(value)  # type: ignore[call-overload]
        if least <= whole <= most:
            return whole
    upper = "" if most == float("inf") else f" and at most {int(most):,}"
    raise OptionError(f"{name}={value!r} is not an option; give a whole number of at least {least:,}{upper}.")


def check_share(name: str, value: object, most: float = 1.0) -> float:
    """A probability."""
    if is_number(value, 0) and float(value) <= most:  # type: ignore[arg-type]
        return float(value)  # type: ignore[arg-type]
    hint = f" For {float(value):g} % write {float(value) / 100:g}." if is_number(value, 1) else ""  # type: ignore[arg-type]
    raise OptionError(f"{name}={value!r} is not an option; give a number from 0 to {most:g}.{hint}")


def check_positive(name: str, value: object) -> float:
    """A number above 0."""
    if is_number(value, 0) and float(value) > 0:  # type: ignore[arg-type]
        return float(value)  # type: ignore[arg-type]
    raise OptionError(f"{name}={value!r} is not an option; give a number above 0.")


def check_shares(name: str, shares: Any, n_classes: int) -> tuple[float, ...]:
    """One share for every class, which sum to one."""
    found = [check_share(name, share) for share in shares] if np.ndim(shares) == 1 else None
    if found is None or len(found) != n_classes or abs(sum(found) - 1) > 1e-6:
        raise OptionError(f"{name}={shares!r} is not an option; give {n_classes} shares that sum to 1, one per class.")
    return tuple(found)
