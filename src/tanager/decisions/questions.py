"""What information is worth, and which test is worth its price."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from tanager.errors import DataError, check_number

if TYPE_CHECKING:
    from tanager.decisions.diagram import DecisionNetwork


class PricedTest(NamedTuple):
    """A test: what its result is worth before the decision, its price, and what is left of it."""

    name: str
    value: float
    price: float
    net: float

    @property
    def worth_it(self) -> bool:
        """Whether the result is worth more than it costs."""
        return self.net > 0


def value_of_information(
    diagram: DecisionNetwork, name: str, before: str | None, evidence: Mapping[str, object], limited_memory: bool
) -> float:
    """The gain in expected utility if a chance node is known before a decision."""
    decision = _first(diagram, before, evidence, limited_memory)
    diagram.index(name)
    if name in diagram.decisions:
        raise DataError(f"{name!r} is a decision. Ask for the value of knowing a chance node.")
    if decision in diagram.network.ancestors(name):
        raise DataError(
            f"{name!r} cannot be known before the decision {decision!r}, which can change it. Ask for a node that does "
            "not depend on the decision."
        )
    now = diagram.solve(limited_memory=limited_memory, evidence=evidence).expected_utility
    return _gain(diagram, name, decision, now, evidence, limited_memory)


def information_values(
    diagram: DecisionNetwork, before: str | None, evidence: Mapping[str, object], limited_memory: bool
) -> dict[str, float]:
    """The value of knowing each chance node before a decision, the largest first."""
    decision = _first(diagram, before, evidence, limited_memory)
    known = {*diagram.information(decision, limited_memory=limited_memory), *evidence}
    later = diagram.network.descendants(decision)
    asked = [name for name in diagram.chance if name not in known and name not in later]
    now = diagram.solve(limited_memory=limited_memory, evidence=evidence).expected_utility
    found = {name: _gain(diagram, name, decision, now, evidence, limited_memory) for name in asked}
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def compare_tests(
    diagram: DecisionNetwork,
    prices: Mapping[str, float],
    before: str | None,
    evidence: Mapping[str, object],
    limited_memory: bool,
) -> list[PricedTest]:
    """Tests with their value and price, the one that leaves most first."""
    for name, price in prices.items():
        check_number(f"the price of {name!r}", price)
    found = []
    for name, price in prices.items():
        value = value_of_information(diagram, name, before, evidence, limited_memory)
        found.append(PricedTest(name, value, float(price), value - float(price)))
    return sorted(found, key=lambda test: -test.net)


def _first(diagram: DecisionNetwork, before: str | None, evidence: Mapping[str, object], limited_memory: bool) -> str:
    """The decision that is named, or the first one that is still to be made."""
    if before is not None:
        if diagram.kind(before) != "decision":
            raise DataError(f"before={before!r} is no decision; the decisions are {', '.join(diagram.decisions)}.")
        return before
    order = diagram.network.order() if limited_memory else diagram.order
    decision = next((name for name in order if name in diagram.decisions and name not in evidence), None)
    if decision is None:
        raise DataError("all decisions have been made; information is worth nothing any more.")
    return decision


def _gain(
    diagram: DecisionNetwork,
    name: str,
    decision: str,
    now: float,
    evidence: Mapping[str, object],
    limited_memory: bool,
) -> float:
    if name in evidence or name in diagram.parents(decision):
        return 0.0
    informed = diagram.add(name, decision)
    return max(informed.solve(limited_memory=limited_memory, evidence=evidence).expected_utility - now, 0.0)
