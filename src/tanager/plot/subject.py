"""What there is to show of a network or a classifier: boxes, arcs, and how much is behind each of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from tanager.counts.sample import Sample
from tanager.errors import MemoryBudgetError, OptionError, nearest
from tanager.networks.network import Arc, Network
from tanager.structure.measures import class_information

MOST_CHILDREN = 8  # of the class whose arcs are shown one by one, where all variables are its children
DRAWN = 100_000  # rows, where the tables of a network are too wide for exact answers
_BIN = re.compile(r"[(\[].*,.*[)\]]")  # how a schema describes the bins of a number column


class Strength(NamedTuple):
    """What an arc is worth: I(parent; child | the other parents) in nats, and whether both rise together.

    The sign is 0 where one of the two has no order.
    """

    value: float
    sign: int


@dataclass(frozen=True)
class Subject:
    """One network, as pictures and text drawings see it."""

    names: tuple[str, ...]  # the variables, without the class
    target: str | None  # the class, where there is one
    arcs: list[Arc]  # without those that are implied
    implied: tuple[str, ...] = ()  # the children of the class, where that are all variables with an arc
    strengths: dict[Arc, Strength] = field(default_factory=dict)
    told: dict[str, float] = field(default_factory=dict)  # I(column; class), where it is known
    faint: frozenset[str] = frozenset()  # what an answer about the class does not depend on
    heading: str = ""

    @property
    def all_arcs(self) -> list[Arc]:
        """The arcs, those from the class to its implied children among them."""
        return [*self.arcs, *((self.target, child) for child in self.implied if self.target is not None)]


def subjects(
    what: Any, target: str | None = None, information: Mapping[Arc, float] | Sample | None = None
) -> list[Subject]:
    """A network or a classifier as one subject; a multi-net as one for every class.

    ``target`` says which variable of a network is the class, and how the class of a classifier is called.
    ``information`` are the nats behind arcs, or rows to work them out from; otherwise tables and counts tell them.
    """
    if isinstance(what, Network):
        if target is not None and target not in what.names:
            raise OptionError(f"the network has no variable {target!r}.{nearest(target, what.names)}")
        return [_of_network(what, target, information)]
    what._ready()
    what = getattr(what, "best_", what)
    told = dict(zip(what.counts_.schema.names, class_information(what.counts_).tolist(), strict=True))
    if hasattr(what, "networks_"):
        name = target or what.target_name_ or "class"
        return [
            replace(
                _of_network(network, None, information), target=f"{name} = {value}", implied=network.names, told=told
            )
            for value, network in what.networks_.items()
        ]
    if hasattr(what, "network_"):
        subject = _of_network(what.network_, what.network_.names[-1], information)
        return [replace(subject, heading=_heading(what), told=told)]
    return [_of_counts(what, target or what.target_name_ or "class", told)]


def _heading(model: Any) -> str:
    counts = model.counts_
    return f"{type(model).__name__}: {counts.n_rows:,.0f} rows, {counts.n_features} columns"


def _of_network(network: Network, target: str | None, information: Mapping[Arc, float] | Sample | None) -> Subject:
    names = tuple(name for name in network.names if name != target)
    near = set(names) if target is None else set(network.markov_blanket(target))
    arcs, implied = list(network.arcs), network.children(target) if target is not None else ()
    if len(implied) <= MOST_CHILDREN or {name for arc in arcs for name in arc} != {target, *implied}:
        implied = ()
    shown = [arc for arc in arcs if not (implied and target in arc)]
    strengths = _strengths(network, information)
    return Subject(names, target, shown, implied, strengths, faint=frozenset(names) - near)


def _strengths(network: Network, information: Mapping[Arc, float] | Sample | None) -> dict[Arc, Strength]:
    """What is behind every arc, where it was given or can be worked out."""
    if isinstance(information, Mapping):
        return {arc: Strength(float(value), 0) for arc, value in information.items()}
    if information is None and len(network.tables) < len(network.names):
        return {}
    try:
        return {arc: _behind(arc, network, information) for arc in network.arcs}
    except MemoryBudgetError:  # too wide to be worked out; draw rows and count them
        drawn = network.sample(DRAWN, random_state=0, as_="sample")
        return {arc: _behind(arc, network, drawn) for arc in network.arcs}


def _behind(arc: Arc, network: Network, sample: Sample | None) -> Strength:
    parent, child = arc
    family = [parent, child, *(name for name in network.parents(child) if name != parent)]
    table = network.posterior(family) if sample is None else sample.count(*(sample.index(name) for name in family))
    return strength(table, network.values(parent), network.values(child))


def _of_counts(model: Any, target: str, told: dict[str, float]) -> Subject:
    """A classifier in which the class is a parent of every column."""
    parents, counts = _parents(model), model.counts_
    names = counts.schema.names
    while target in names:
        target += "_"
    values = {c.name: [c.describe(v) for v in range(c.n_values)] for c in counts.schema.columns}
    strengths = {
        (parent, child): strength(np.moveaxis(counts.joint(parent, child), 0, -1), values[parent], values[child])
        for child, own in parents.items()
        for parent in own
    }
    faint = frozenset(names) - set(parents)
    return Subject(names, target, list(strengths), tuple(parents), strengths, told, faint, _heading(model))


def _parents(model: Any) -> Mapping[str, Sequence[str]]:
    from tanager.classifiers.naive import NaiveBayes

    if isinstance(model, NaiveBayes):
        return dict.fromkeys(model.counts_.schema.names, ())
    if not hasattr(type(model), "parents_"):
        raise OptionError(
            f"{type(model).__name__} is not one network but a vote of many. Draw NaiveBayes, TAN, FAN, KDB or "
            "SuperParentTAN; all of them can be made from the same counts with from_counts(model.counts_)."
        )
    return model.parents_


# --- strength ---------------------------------------------------------------------------------------------------


def strength(table: np.ndarray, parent: Sequence[object], child: Sequence[object]) -> Strength:
    """Of an arc: axes are the parent, the child, and whatever is given.

    >>> strength(np.array([[0.5, 0.0], [0.0, 0.5]]), ["no", "yes"], [0, 1])
    Strength(value=0.6931471805599453, sign=1)
    """
    cells = table.reshape(len(parent), len(child), -1)
    cells = cells / (cells.sum() or 1.0)
    rest, own, other = cells.sum((0, 1)), cells.sum(1, keepdims=True), cells.sum(0, keepdims=True)
    expected = own * other / np.where(rest > 0, rest, 1.0)
    some = cells > 0
    value = float((cells[some] * np.log(cells[some] / expected[some])).sum())
    rows, columns = _ordered(parent), _ordered(child)
    if rows is None or columns is None:
        return Strength(max(value, 0.0), 0)
    cells = cells[rows][:, columns]
    together = _concordance(cells) - _concordance(cells[:, ::-1])
    return Strength(max(value, 0.0), int(np.sign(round((together / np.where(rest > 0, rest, 1.0)).sum(), 12))))


def _concordance(cells: np.ndarray) -> np.ndarray:
    """How often, of two draws under the same conditions, the one higher in the first is higher in the second."""
    later = cells[::-1, ::-1].cumsum(0).cumsum(1)[::-1, ::-1]
    return (cells[:-1, :-1] * later[1:, 1:]).sum((0, 1))


def _ordered(values: Sequence[object]) -> list[int] | None:
    """Places of the values from low to high: of numbers, bins, and of two values by name; others have no order."""
    places = range(len(values))
    if all(isinstance(value, int | float) for value in values):
        return sorted(places, key=lambda v: float(values[v]))  # type: ignore[arg-type]
    if all(isinstance(value, str) and _BIN.fullmatch(value) for value in values):
        return list(places)
    return sorted(places, key=lambda v: str(values[v])) if len(values) == 2 else None
