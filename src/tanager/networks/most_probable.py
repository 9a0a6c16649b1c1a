"""The most probable explanation: values of all variables at once, by maxima in place of sums on the junction tree."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tanager.networks import inference
from tanager.networks import junction_tree as jt
from tanager.networks.evidence import Evidence
from tanager.networks.propagation import check_cells, junction_for, log_evidence

if TYPE_CHECKING:
    from tanager.networks.network import Network

# Of logs: explanations that are closer than this are equally probable, since sums in another order differ by rounding.
TIE = 1e-9


class MostProbable(NamedTuple):
    """The most probable values of some variables together."""

    values: dict[str, object]
    log_probability: float  # of these values and the evidence
    probability_given_evidence: float


def most_probable(network: Network, evidence: Evidence, wanted: Sequence[int] | None) -> MostProbable:
    """The values of the wanted variables, others summed out; default: of all that are not observed."""
    open_ = [i for i in range(len(network)) if i not in evidence.known]
    asked = open_ if wanted is None else list(wanted)
    if set(open_) <= set(asked):
        codes, log_share, log_total = _of_all(network, evidence)
    else:
        codes, log_share = _of_some(network, evidence, asked)
        log_total = log_evidence(network, evidence)
    names = network.names
    values = {names[i]: network.values(names[i])[codes[i]] for i in asked}
    return MostProbable(values, log_share + log_total, exp(log_share))


def _of_all(network: Network, evidence: Evidence) -> tuple[dict[int, int], float, float]:
    """Codes, log P(codes | evidence), log P(evidence)."""
    junction = junction_for(network, evidence, range(len(network)))
    tables, constant = junction.tables(evidence)
    codes, log_share, log_total = _maximum(junction.tree, tables, junction.sizes)
    if log_total + constant < jt.IMPOSSIBLE / 2:
        raise evidence.impossible(network)
    return {**junction.known, **codes}, log_share, log_total + constant


def _of_some(network: Network, evidence: Evidence, asked: Sequence[int]) -> tuple[dict[int, int], float]:
    """Codes and log P(codes | evidence); the others are summed out first, which may take larger tables."""
    sizes = inference.sizes_of(network)
    known = {**inference.single_values(sizes), **evidence.known}
    free = tuple(i for i in asked if i not in known)
    factors = inference.relevant_factors(network, free, evidence, known)
    factors = inference.sum_out(network, factors, free, asked, sizes)
    tree = jt.compile_tree(tuple(scope for scope, _ in factors), sizes)
    check_cells(tree, len(free))
    constant = sum(float(logs) for scope, logs in factors if not scope)
    codes, log_share, log_total = _maximum(tree, jt.potentials(tree, factors, sizes), sizes)
    if log_total + constant < jt.IMPOSSIBLE / 2:
        raise evidence.impossible(network)
    return {**known, **codes}, log_share


def _maximum(tree: jt.Tree, tables: list[np.ndarray], sizes: Sequence[int]) -> tuple[dict[int, int], float, float]:
    """The codes of the largest product, the log of its share of the sum, and the log of the sum.

    Of equal ones it is the first in the order of variables and values: while several values of a variable take part in
    a largest product, the first such variable is set to the first of them.
    """
    _, log_total = jt.pass_up(tree, [table.copy() for table in tables])
    while True:
        maxima = [table.copy() for table in tables]
        log_top = jt.pass_up_maxima(tree, maxima)
        jt.pass_down_maxima(tree, maxima)
        best = {i: np.flatnonzero(_maxima_of(tree, maxima, i) >= -TIE) for i in sorted(tree.smallest)}
        tied = next((i for i, codes in best.items() if len(codes) > 1), None)
        if tied is None or log_top < jt.IMPOSSIBLE / 2:
            return {i: int(codes[0]) for i, codes in best.items()}, min(log_top - log_total, 0.0), log_total
        jt.multiply(tree, tables, tied, jt.certain(sizes[tied], int(best[tied][0])))


def _maxima_of(tree: jt.Tree, maxima: list[np.ndarray], i: int) -> np.ndarray:
    """The log of the largest product with each value of a variable, less that of the largest of all."""
    c = tree.smallest[i]
    others = tuple(axis for axis, j in enumerate(tree.cliques[c].scope) if j != i)
    return np.asarray(np.maximum.reduce(maxima[c], axis=others))
