"""The most probable explanation: values of all variables at once, by maxima in place of sums on the junction tree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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


def most_probable(network: Network, evidence: Evidence, wanted: Iterable[int] | None) -> MostProbable:
    """The values of the wanted variables, others summed out; default: of all that are not observed."""
    log_total = log_evidence(network, evidence)
    if np.isneginf(log_total):
        raise evidence.impossible(network)
    unknown = [i for i in range(len(network)) if i not in evidence.known]
    asked = unknown if wanted is None else list(dict.fromkeys(wanted))
    codes, log_share = (_of_all if set(unknown) <= set(asked) else _of_some)(network, evidence, asked)
    names = network.names
    values = {names[i]: network.values(names[i])[codes[i]] for i in asked}
    return MostProbable(values, log_share + log_total, exp(log_share))


def _of_all(network: Network, evidence: Evidence, asked: Sequence[int]) -> tuple[dict[int, int], float]:
    """Codes and log P(codes | evidence)."""
    junction = junction_for(network, evidence, asked)
    tables, _ = junction.tables(evidence)
    codes, log_share = _maximum(junction.tree, tables, junction.sizes)
    return {**junction.known, **codes}, log_share


def _of_some(network: Network, evidence: Evidence, asked: Sequence[int]) -> tuple[dict[int, int], float]:
    """The same; the others are summed out first, which may take larger tables."""
    sizes = inference.sizes_of(network)
    known = {**inference.single_values(sizes), **evidence.known}
    free = tuple(i for i in asked if i not in known)
    factors = inference.relevant_factors(network, free, evidence, known)
    factors = inference.sum_out(network, factors, free, asked, sizes)
    tree = jt.compile_tree(tuple(scope for scope, _ in factors), sizes)
    check_cells(tree, len(free))
    codes, log_share = _maximum(tree, jt.potentials(tree, factors, sizes), sizes)
    return {**known, **codes}, log_share


def _maximum(tree: jt.Tree, tables: list[np.ndarray], sizes: Sequence[int]) -> tuple[dict[int, int], float]:
    """The codes of the largest product, and the log of its share of the sum of all.

    Of equal ones it is the first in the order of variables and values: where several values of a variable take part in
    a largest product, it is set to the first of them, and the others follow.
    """
    _, log_sum = jt.pass_up(tree, [table.copy() for table in tables])
    maxima, log_top = _maxima(tree, tables)
    codes = {}
    for i in sorted(tree.smallest):
        largest = np.flatnonzero(_maxima_of(tree, maxima, i) >= -TIE)
        codes[i] = int(largest[0])
        if len(largest) > 1:
            jt.multiply(tree, tables, i, jt.certain(sizes[i], codes[i]))
            maxima, _ = _maxima(tree, tables)
    return codes, min(log_top - log_sum, 0.0)


def _maxima(tree: jt.Tree, tables: Sequence[np.ndarray]) -> tuple[list[np.ndarray], float]:
    """The log of the largest product in which each cell takes part, less that of the largest of all; and the latter."""
    maxima = [table.copy() for table in tables]
    log_top = jt.pass_up_maxima(tree, maxima)
    jt.pass_down_maxima(tree, maxima)
    return maxima, log_top


def _maxima_of(tree: jt.Tree, maxima: list[np.ndarray], i: int) -> np.ndarray:
    """The log of the largest product with each value of a variable, less that of the largest of all."""
    c = tree.smallest[i]
    others = tuple(axis for axis, j in enumerate(tree.cliques[c].scope) if j != i)
    return np.asarray(np.maximum.reduce(maxima[c], axis=others))
