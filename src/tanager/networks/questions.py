"""What to ask next: how much each variable would tell about a target, given what is known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tanager.errors import DataError, is_number
from tanager.networks.evidence import Evidence
from tanager.networks.propagation import propagated

if TYPE_CHECKING:
    from tanager.networks.network import Network

ROUNDING = 1e-12  # bits: less than that is none


class Question(NamedTuple):
    """A variable that could be observed next."""

    name: str
    bits: float  # mutual information with the target, given the evidence
    expected_entropy: float  # of the target, in bits, once the answer is known
    price: float
    bits_per_price: float


def next_question(
    network: Network,
    target: int,
    evidence: Evidence,
    candidates: Iterable[int] | None,
    prices: Mapping[str, float] | None,
) -> list[Question]:
    """All candidates that are not observed yet, the best first."""
    refuse_observed(network, target, evidence)
    names = network.names
    price = _checked_prices(network, prices)
    several = [i for i in range(len(network)) if len(network.values(names[i])) > 1]
    listed = dict.fromkeys(several if candidates is None else candidates)
    asked = [i for i in listed if i != target and i not in evidence.known]
    beliefs = propagated(network, evidence, [target, *asked])
    p = beliefs.marginal(target)
    # One propagation for each value of the target gives P(candidate | value, evidence) of all candidates.
    given = [beliefs.junction.propagate(evidence.also(target, code)) for code in range(len(p))]
    rows = [found for found in given if found is not None]
    weights = np.array([share for share, found in zip(p, given, strict=True) if found is not None])
    entropy = float(-(p[p > 0] @ np.log2(p[p > 0])))
    questions = []
    for i in asked:
        bits = min(_information(weights, np.array([found.marginal(i) for found in rows])), entropy)
        cost = price.get(names[i], 1.0)
        questions.append(Question(names[i], bits, entropy - bits, cost, bits / cost))
    return sorted(questions, key=lambda question: -question.bits_per_price)


def refuse_observed(network: Network, target: int, evidence: Evidence) -> None:
    """A target whose value is known leaves nothing to ask."""
    if target in evidence.known:
        name = network.names[target]
        raise DataError(f"the target {name!r} is in the evidence, so its value is known. Leave it out of the evidence.")


def _information(weights: np.ndarray, likelihoods: np.ndarray) -> float:
    """Mutual information in bits from P(t) and P(x | t), a row for each t."""
    mean = weights @ likelihoods / weights.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = likelihoods * np.log2(likelihoods / mean)
    bits = float(weights @ np.where(likelihoods > 0, terms, 0.0).sum(axis=1))
    return bits if bits > ROUNDING else 0.0


def _checked_prices(network: Network, prices: Mapping[str, float] | None) -> dict[str, float]:
    for name, price in (prices or {}).items():
        network.index(name)
        if not is_number(price) or price <= 0:
            raise DataError(f"the price of {name!r} is {price!r}; give a positive number.")
    return {name: float(price) for name, price in (prices or {}).items()}
