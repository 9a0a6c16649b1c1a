"""Which numbers in the tables an answer depends on: one-way sensitivity, of all numbers at once.

When one number t of a table changes, and the others of its row in proportion, P(target = value, evidence) and
P(evidence) are linear in t; so the posterior is f(t) = (alpha t + beta) / (gamma t + delta) (Castillo, Gutierrez and
Hadi, 1997; Chan and Darwiche, 2002). The constants follow from P(family | evidence) with and without target = value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isclose
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tanager.errors import DataError, check_whole, is_number
from tanager.networks import graph
from tanager.networks.evidence import Evidence
from tanager.networks.propagation import Beliefs, junction_for, propagated
from tanager.networks.questions import refuse_observed

if TYPE_CHECKING:
    from tanager.networks.network import Network

ROUNDING = 1e-13  # of a derivative, relative to the terms whose difference it is


class Sensitivity(NamedTuple):
    """What one number of a table does to a posterior, while the others of its row change in proportion."""

    variable: str
    value: object
    given: dict[str, object]  # the values of the parents
    number: float  # what the table says
    derivative: float  # of the posterior, there
    alpha: float  # the posterior is (alpha t + beta) / (gamma t + delta) if the number is t
    beta: float
    gamma: float
    delta: float
    low: float  # the range of the posterior while the number goes from 0 to 1
    high: float

    def posterior(self, number: float) -> float:
        """The posterior if the table had another number here."""
        _check_probability("number", number)
        evidence = self.gamma * number + self.delta
        if evidence <= 0:
            raise DataError(f"with {self.text()} = {number:g} the evidence has probability 0. Take another number.")
        return min(max((self.alpha * number + self.beta) / evidence, 0.0), 1.0)

    def needed(self, probability: float) -> float | None:
        """What the number must be for the posterior to be this; None if no number from 0 to 1 makes it so."""
        _check_probability("probability", probability)
        if self.derivative == 0:  # the posterior is the same all along
            return self.number if isclose(probability, self.posterior(self.number), abs_tol=1e-12) else None
        if not self.low <= probability <= self.high:
            return None
        slope = self.alpha - probability * self.gamma
        return min(max((probability * self.delta - self.beta) / slope, 0.0), 1.0)

    def text(self) -> str:
        """Which number it is: ``P(grass = wet | rain = yes)``."""
        given = ", ".join(f"{name} = {value}" for name, value in self.given.items())
        return f"P({self.variable} = {self.value}{' | ' if given else ''}{given})"


class _Constants(NamedTuple):
    """P(target = value, evidence) and P(evidence) where a number is 0 and where it is 1, over P(evidence) as it is.

    Of all numbers of one table: an axis for its rows, one for values.
    """

    joint_at_0: np.ndarray
    joint_at_1: np.ndarray
    evidence_at_0: np.ndarray
    evidence_at_1: np.ndarray

    def derivatives(self, posterior: float) -> np.ndarray:
        steps = self.joint_at_1 - self.joint_at_0 - (self.evidence_at_1 - self.evidence_at_0) * posterior
        sizes = self.joint_at_1 + self.joint_at_0 + (self.evidence_at_1 + self.evidence_at_0) * posterior
        return np.asarray(np.where(np.abs(steps) <= ROUNDING * sizes, 0.0, steps))


def sensitivity(network: Network, target: int, code: int, evidence: Evidence, top: int | None) -> list[Sensitivity]:
    """Every number that can matter, by the size of its derivative. Barren tables, which cannot, are left out."""
    check_whole("top", top, 1, or_none=True)
    refuse_observed(network, target, evidence)
    beliefs = propagated(network, evidence, [target])
    posterior = float(beliefs.marginal(target)[code])
    needed = sorted(graph.reachable(network.parent_indices, [target, *evidence.variables]))
    several = [i for i in needed if len(network.values(network.names[i])) > 1]
    constants = _all_constants(network, several, beliefs, evidence, evidence.also(target, code))
    slopes = {i: own.derivatives(posterior) for i, own in constants.items()}
    places = [(i, row, v) for i, own in slopes.items() for row in range(len(own)) for v in range(own.shape[1])]
    sizes = np.concatenate([[], *(np.abs(own).ravel() for own in slopes.values())])
    order = np.argsort(-sizes, kind="stable")[:top]
    return [_entry(network, places[k], constants, slopes) for k in order.tolist()]


def _all_constants(
    network: Network, families: Sequence[int], beliefs: Beliefs, evidence: Evidence, joint: Evidence
) -> dict[int, _Constants]:
    """Of each table, from two propagations for all tables, and two more for each table that has zeros."""
    with_target = beliefs.junction.propagate(joint)
    out = {}
    for i in families:
        table = network.tables[network.names[i]]
        if table.all():
            weights = [_weights(network, i, found, beliefs.log_evidence) for found in (with_target, beliefs)]
        else:  # what a zero would do cannot be read from a product with it; from one with an even table, it can
            even = network.with_tables({network.names[i]: np.full(table.shape, 1 / table.shape[-1])})
            junction = junction_for(even, evidence, families)
            both = [junction.propagate(given) for given in (joint, evidence)]
            weights = [_weights(even, i, found, beliefs.log_evidence) for found in both]
        rows = table.reshape(-1, table.shape[-1])
        out[i] = _Constants(*(line for own in weights for line in _line(rows, own.reshape(rows.shape))))
    return out


def _weights(network: Network, i: int, beliefs: Beliefs | None, log_evidence: float) -> np.ndarray:
    """The factors of a table's numbers in P(what is given), over P(evidence)."""
    table = network.tables[network.names[i]]
    if beliefs is None:  # impossible, whatever a table without zeros says
        return np.zeros(table.shape)
    return np.asarray(beliefs.family(i) / table * np.exp(beliefs.log_evidence - log_evidence))


def _line(rows: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The sum of all weighted numbers where one of them is 0, and where it is 1.

    Only sums of what is not negative: a difference would leave rounding where nothing is left.
    """
    n = rows.shape[1]
    other_values = 1.0 - np.eye(n)
    left = rows @ other_values
    # In proportion to the others; evenly where these are all 0.
    shared = np.where(left > 0, (rows * weights) @ other_values, weights @ other_values)
    masses = (rows * weights).sum(axis=1)
    elsewhere = _before(masses) + _before(masses[::-1])[::-1]
    return shared / np.where(left > 0, left, n - 1) + elsewhere[:, None], weights + elsewhere[:, None]


def _before(masses: np.ndarray) -> np.ndarray:
    """The sum of all that come before each."""
    return np.concatenate([[0.0], np.cumsum(masses)[:-1]])


def _entry(
    network: Network,
    place: tuple[int, int, int],
    constants: Mapping[int, _Constants],
    slopes: Mapping[int, np.ndarray],
) -> Sensitivity:
    i, row, v = place
    name = network.names[i]
    table = network.tables[name]
    at = np.unravel_index(row, table.shape[:-1])
    given = {parent: network.values(parent)[k] for parent, k in zip(network.parents(name), at, strict=True)}
    joint_0, joint_1, evidence_0, evidence_1 = (float(line[row, v]) for line in constants[i])
    # Where the evidence is impossible at one end, the posterior is the same all along.
    ends = [a / b for a, b in ((joint_0, evidence_0), (joint_1, evidence_1)) if b > 0]
    return Sensitivity(
        name,
        network.values(name)[v],
        given,
        float(table[(*at, v)]),
        float(slopes[i][row, v]),
        joint_1 - joint_0,
        joint_0,
        evidence_1 - evidence_0,
        evidence_0,
        max(min(ends), 0.0),
        min(max(ends), 1.0),
    )


def _check_probability(what: str, value: object) -> None:
    if not is_number(value) or not 0 <= value <= 1:
        raise DataError(f"{what}={value!r}: give a number from 0 to 1.")
