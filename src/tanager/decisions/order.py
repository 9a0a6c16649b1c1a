"""The order of decisions, and what is remembered along it."""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import TYPE_CHECKING

from tanager.errors import DataError, nearest

if TYPE_CHECKING:
    from tanager.decisions.diagram import DecisionNetwork


def decision_order(diagram: DecisionNetwork, given: tuple[str, ...] | None = None) -> tuple[str, ...]:
    """The decisions as they are made: as given, if the arcs allow that, or as the arcs alone determine it."""
    network = diagram.network
    if given is not None:
        _check_all_named(diagram, given)
        for earlier, later in combinations(given, 2):
            if later in network.ancestors(earlier):
                raise DataError(
                    f"order: {earlier!r} cannot come before {later!r}, as arcs lead from {later!r} to {earlier!r}."
                )
        return given
    order = tuple(name for name in network.order() if name in diagram.decisions)
    for earlier, later in pairwise(order):
        if earlier not in network.ancestors(later):
            raise DataError(
                f"the order of the decisions {earlier!r} and {later!r} is not determined: no path of arcs leads from "
                f"one to the other. Give it with order=[...], let one be known to the other with add({earlier!r}, "
                f"{later!r}), or solve with limited_memory=True."
            )
    return order


def _check_all_named(diagram: DecisionNetwork, given: tuple[str, ...]) -> None:
    odd = next((name for name in given if name not in diagram.decisions), None)
    if odd is not None:
        raise DataError(f"order names {odd!r}, which is no decision.{nearest(odd, diagram.decisions)}")
    if len(set(given)) < len(given) or len(given) < len(diagram.decisions):
        raise DataError(f"order must name each decision once: {', '.join(diagram.decisions)}; it is {list(given)}.")


def remembered(diagram: DecisionNetwork, order: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """What is known at each decision if nothing is forgotten: its parents, and all that was known or done before."""
    known: dict[str, tuple[str, ...]] = {}
    before: tuple[str, ...] = ()
    for name in order:
        known[name] = tuple(dict.fromkeys((*before, *diagram.parents(name))))
        before = (*known[name], name)
    return known
