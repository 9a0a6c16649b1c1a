"""Fuzzy sets: distributions scaled to 1 at their peak, which say to what degree a value belongs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

_MOST_VALUES = 6  # of a categorical column that a sentence names
_LEAST_DEGREE = 0.05  # of a value that a sentence names


@dataclass(frozen=True)
class About:
    """A number is about this much: a bell that is 1 at its centre."""

    density: ClassVar[str] = "normal"
    column: str
    centre: float
    spread: float

    @property
    def log_peak(self) -> float:
        """The log density at the centre."""
        return -math.log(self.spread) - 0.5 * math.log(2 * math.pi)

    def log_degree(self, value: Any) -> float:
        """Log of the degree, from 0 to 1, to which a number belongs."""
        return -0.5 * ((float(value) - self.centre) / self.spread) ** 2

    def __str__(self) -> str:
        return about(self.column, self.centre, self.spread)


@dataclass(frozen=True)
class CountAbout:
    """A count is about this much: Poisson's distribution, 1 at its likeliest count."""

    density: ClassVar[str] = "poisson"
    column: str
    centre: float

    @property
    def spread(self) -> float:
        """The standard deviation, which the mean determines."""
        return math.sqrt(self.centre)

    @property
    def log_peak(self) -> float:
        """The log probability of the likeliest count."""
        return self._log_probability(math.floor(self.centre))

    def log_degree(self, value: Any) -> float:
        """Log of the degree, from 0 to 1, to which a count belongs."""
        return min(0.0, self._log_probability(float(value)) - self.log_peak)

    def _log_probability(self, count: float) -> float:
        return count * math.log(self.centre) - self.centre - math.lgamma(count + 1)

    def __str__(self) -> str:
        return f"{self.column} is a count of about {self.centre:.3g}"


@dataclass(frozen=True)
class NearZero:
    """A number is small: the exponential distribution with this mean, 1 at 0."""

    density: ClassVar[str] = "exponential"
    column: str
    mean: float

    @property
    def centre(self) -> float:
        """Where the degree is 1."""
        return 0.0

    @property
    def spread(self) -> float:
        """The standard deviation, which is the mean."""
        return self.mean

    @property
    def log_peak(self) -> float:
        """The log density at 0."""
        return -math.log(self.mean)

    def log_degree(self, value: Any) -> float:
        """Log of the degree, from 0 to 1, to which a number belongs."""
        return -float(value) / self.mean

    def __str__(self) -> str:
        return f"{self.column} is small (mean {self.mean:.3g})"


@dataclass(frozen=True)
class OneOf:
    """A value is one of these, more or less: the likeliest belongs with degree 1."""

    column: str
    table: dict[Any, float]

    @property
    def log_peak(self) -> float:
        """The log probability of the likeliest value."""
        return math.log(max(self.table.values()))

    def log_degree(self, value: Any) -> float:
        """Log of the degree, from 0 to 1, to which a value belongs."""
        return math.log(self.table[value]) - self.log_peak

    def __str__(self) -> str:
        return one_of(self.column, self.table)


NumberSet = About | CountAbout | NearZero
FuzzySet = NumberSet | OneOf


def number_set(name: str, mean: float, spread: float, density: str = "normal") -> NumberSet:
    """The fuzzy set of a number column. Of other than normal numbers, the spread says what the mean in force is."""
    if density == "poisson":
        return CountAbout(name, spread * spread)
    return NearZero(name, spread) if density == "exponential" else About(name, mean, spread)


def judges(fuzzy_set: FuzzySet, value: Any) -> bool:
    """Whether a set has an opinion of this value: numbers must be finite, values known."""
    return value in fuzzy_set.table if isinstance(fuzzy_set, OneOf) else math.isfinite(value)


def about(name: str, centre: float, spread: float) -> str:
    """``length is about 1.46 (±0.17)``, with as many digits as the spread has meaning.

    >>> about("length", 1.46234, 0.17366)
    'length is about 1.46 (±0.17)'
    >>> about("price", 1234567.8, 89012.3)
    'price is about 1235000 (±89000)'
    """
    digits = 1 - math.floor(math.log10(spread))
    if digits > 6 or digits < -8:
        return f"{name} is about {centre:.4g} (±{spread:.2g})"
    texts = [f"{round(number, digits):.{max(digits, 0)}f}" for number in (centre, spread)]
    return f"{name} is about {texts[0]} (±{texts[1]})"


def one_of(name: str, table: Mapping[Any, float]) -> str:
    """``colour is red (1) or blue (0.4)``: the likeliest values, and the degrees to which they belong.

    >>> one_of("colour", {"blue": 0.2, "red": 0.5, "green": 0.3})
    'colour is red (1) or green (0.6) or blue (0.4)'
    """
    top = max(table.values())
    order = sorted(table, key=lambda value: -table[value])
    shown = [value for value in order if table[value] >= _LEAST_DEGREE * top]
    texts = [f"{value} ({table[value] / top:.2g})" for value in shown[:_MOST_VALUES]]
    return f"{name} is {' or '.join(texts)}{' or ...' if len(shown) > _MOST_VALUES else ''}"
