"""How much depends on a number of a utility.

Under given policies the expected utility is linear in every number: its slope is the probability of that cell. The
largest expected utility is the upper envelope of these lines, so convex and piecewise linear.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tanager.errors import DataError, OptionError, check_number, is_number

if TYPE_CHECKING:
    from tanager.decisions.diagram import DecisionNetwork

FAR = 1e6  # times the largest utility: a range that reaches as far has no end
CLOSE = 1e-9  # of the largest number: expected utilities closer than this are the same


class UtilityRange(NamedTuple):
    """One number of a utility, and the range in which the best policies stay the best."""

    utility: str
    cell: dict[str, object]  # the values of its parents
    number: float
    low: float  # -inf: however small it is
    high: float
    slope: float  # of the expected utility in this range: how probable the cell is


class Swing(NamedTuple):
    """The largest expected utility for a lower and a higher number of a utility."""

    utility: str
    cell: dict[str, object]
    low: float  # the lower number
    high: float
    utility_at_low: float
    utility_at_high: float

    @property
    def width(self) -> float:
        """How much the expected utility changes."""
        return abs(self.utility_at_high - self.utility_at_low)


class _Line(NamedTuple):
    """The expected utility of some policies, as a function of the number."""

    at_zero: float
    slope: float

    def at(self, x: float) -> float:
        return self.at_zero + self.slope * x


class _Envelope:
    """The largest expected utility as a function of one number."""

    def __init__(
        self,
        diagram: DecisionNetwork,
        utility: str,
        cell: tuple[int, ...],
        evidence: Mapping[str, object],
        limited_memory: bool,
    ) -> None:
        self.diagram, self.utility, self.cell = diagram, utility, cell
        self.evidence, self.limited_memory = evidence, limited_memory
        self.number = float(diagram.tables[utility][cell])
        self.scale = max(1.0, *(float(np.abs(diagram.tables[name]).max(initial=0.0)) for name in diagram.utilities))

    def line(self, x: float) -> _Line:
        """The line of the best policies at x."""
        cells = np.array(self.diagram.tables[self.utility])
        cells[self.cell] = x
        changed = self.diagram.with_tables({self.utility: cells})
        solution = changed.solve(limited_memory=self.limited_memory, evidence=self.evidence)
        indicator = np.zeros_like(cells)
        indicator[self.cell] = 1.0
        others = {name: np.zeros_like(changed.tables[name]) for name in changed.utilities if name != self.utility}
        slope = changed.with_tables({**others, self.utility: indicator}).expected_utility(solution, self.evidence)
        cells[self.cell] = 0.0  # the value at 0, not the value at x less a product: x may be large
        at_zero = changed.with_tables({self.utility: cells}).expected_utility(solution, self.evidence)
        return _Line(at_zero, slope)

    def end(self, own: _Line, far: float) -> float:
        """How far towards one side the policies of a line stay the best; infinite beyond ``far``."""
        x = far
        while True:
            other = self.line(x)
            steeper = (other.slope - own.slope) * math.copysign(1.0, x - self.number)
            if steeper <= 1e-12 or other.at(x) - own.at(x) <= CLOSE * max(self.scale, abs(x) * 1e-3):
                return math.copysign(math.inf, far - self.number) if x == far else x
            crossing = (own.at_zero - other.at_zero) / (other.slope - own.slope)
            if abs(crossing - self.number) >= abs(x - self.number):
                return x
            x = crossing if (crossing - self.number) * (far - self.number) > 0 else self.number

    def corners(self, low: float, high: float) -> list[tuple[float, float]]:
        """The points between which it is linear, the ends among them."""
        first, last = self.line(low), self.line(high)
        inner = list(self._between(low, first, high, last))
        return [(low, first.at(low)), *inner, (high, last.at(high))]

    def _between(self, low: float, first: _Line, high: float, last: _Line) -> Iterator[tuple[float, float]]:
        if abs(first.slope - last.slope) <= 1e-12:
            return
        x = (first.at_zero - last.at_zero) / (last.slope - first.slope)
        if not low < x < high:
            return
        middle = self.line(x)
        if middle.at(x) - first.at(x) <= CLOSE * self.scale:
            yield x, middle.at(x)
            return
        yield from self._between(low, first, x, middle)
        yield from self._between(x, middle, high, last)


def utility_ranges(
    diagram: DecisionNetwork, utility: str | None, evidence: Mapping[str, object], limited_memory: bool
) -> list[UtilityRange]:
    """Every number of one utility or of all, with its range."""
    found = []
    for envelope in _envelopes(diagram, utility, evidence, limited_memory):
        own, x = envelope.line(envelope.number), envelope.number
        far = FAR * envelope.scale
        low, high = envelope.end(own, x - far), envelope.end(own, x + far)
        found.append(UtilityRange(envelope.utility, _cell(diagram, envelope), x, low, high, own.slope))
    return found


def utility_curve(
    diagram: DecisionNetwork,
    utility: str,
    cell: Mapping[str, object],
    low: float,
    high: float,
    evidence: Mapping[str, object],
    limited_memory: bool,
) -> list[tuple[float, float]]:
    """The corners of the largest expected utility between two values of a number."""
    if not (is_number(low) and is_number(high) and low < high):
        raise OptionError(f"low={low!r} and high={high!r}: give two numbers, the lower one first.")
    _check_utility(diagram, utility)
    parents = diagram.parents(utility)
    if set(cell) != set(parents):
        raise DataError(f"a number of {utility!r} is named by the values of {', '.join(parents)}; got {dict(cell)!r}.")
    at = tuple(diagram.network.code(parent, cell[parent]) for parent in parents)
    return _Envelope(diagram, utility, at, evidence, limited_memory).corners(float(low), float(high))


def tornado(
    diagram: DecisionNetwork, swing: float, evidence: Mapping[str, object], limited_memory: bool
) -> list[Swing]:
    """Every number of all utilities, a little lower and higher; those that matter most first."""
    check_number("swing", swing)
    found = []
    for envelope in _envelopes(diagram, None, evidence, limited_memory):
        table = diagram.tables[envelope.utility]
        step = swing * (float(np.ptp(table)) or abs(envelope.number) or 1.0)
        low, high = envelope.number - step, envelope.number + step
        ends = envelope.line(low).at(low), envelope.line(high).at(high)
        found.append(Swing(envelope.utility, _cell(diagram, envelope), low, high, *ends))
    return sorted(found, key=lambda row: -row.width)


def _envelopes(
    diagram: DecisionNetwork, utility: str | None, evidence: Mapping[str, object], limited_memory: bool
) -> Iterator[_Envelope]:
    diagram.require_tables()
    if utility is not None:
        _check_utility(diagram, utility)
    for name in diagram.utilities if utility is None else (utility,):
        for cell in np.ndindex(*diagram.tables[name].shape):
            yield _Envelope(diagram, name, cell, evidence, limited_memory)


def _check_utility(diagram: DecisionNetwork, utility: str) -> None:
    if diagram.kind(utility) != "utility":
        raise DataError(f"{utility!r} is no utility; the utilities are {', '.join(diagram.utilities)}.")
    diagram.require_tables()


def _cell(diagram: DecisionNetwork, envelope: _Envelope) -> dict[str, object]:
    parents = diagram.parents(envelope.utility)
    return {parent: diagram.values(parent)[v] for parent, v in zip(parents, envelope.cell, strict=True)}
