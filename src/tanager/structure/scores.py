"""Scores: how well a network, or one family of it, fits a sample. Larger is better; logarithms are natural.

Each takes a ``Network``, of which only the arcs are read, or a family ``(child, parents)``. The score of a network is
the sum over its families, each over the rows in which the whole family is present. With missing cells, families
are scored over different rows: compare networks after ``sample.filled()``.

>>> from tanager import Sample
>>> sample = Sample.of([["sun"], ["sun"], ["rain"], ["rain"]], ["play", "play", "stay", "stay"])
>>> round(log_likelihood(("class", []), sample), 6), log_likelihood(("class", ["x0"]), sample)  # 4 log(1/2), certainty
(-2.772589, 0.0)
>>> round(bic(("class", ["x0"]), sample), 6)  # two free parameters at log(4) / 2 each
-1.386294
"""

from __future__ import annotations

from collections.abc import Sequence

from tanager.counts.sample import Sample, Variable
from tanager.networks.network import Network

Family = tuple[Variable, Sequence[Variable]]  # child, parents


def log_likelihood(what: Network | Family, sample: Sample) -> float:
    """Sum of N log(N / N of the parents): the log probability of the sample at its best, by relative frequencies."""
    return _sum("ll", what, sample)


def aic(what: Network | Family, sample: Sample) -> float:
    """The log-likelihood less the number of free parameters."""
    return _sum("aic", what, sample)


def bic(what: Network | Family, sample: Sample) -> float:
    """The log-likelihood less half the log of the rows for each free parameter; the negative of MDL."""
    return _sum("bic", what, sample)


def k2(what: Network | Family, sample: Sample) -> float:
    """Log marginal likelihood when all tables are equally probable a priori.

    Unlike the others, it differs between equivalent networks: the direction of an arc matters.
    """
    return _sum("k2", what, sample)


def bdeu(what: Network | Family, sample: Sample, ess: float = 1.0) -> float:
    """Log marginal likelihood with a prior worth ``ess`` rows, spread evenly over all cells."""
    return _sum("bdeu", what, sample, ess)


def conditional_log_likelihood(network: Network, sample: Sample, target: str) -> float:
    """Sum over rows of log P(target | all others) under the tables of a network: what a classifier should maximise.

    It is not a sum over families, so it is the one score here that needs tables.
    """
    return network.conditional_log_likelihood(sample, target)


def _sum(kind: str, what: Network | Family, sample: Sample, strength: float = 1.0) -> float:
    families = [(name, what.parents(name)) for name in what.names] if isinstance(what, Network) else [what]
    return sum(sample.score(kind, child, parents, strength) for child, parents in families)
