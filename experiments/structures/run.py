"""What is run: random networks, rows drawn from them, learners, and how much of a network each finds again."""

from __future__ import annotations

import string
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from tanager import CBL, K2, ChowLiu, GSquared, HillClimb, Network
from tanager.evaluate import Table
from tanager.structure.learner import Learner

N_NETWORKS = 20
SIZES = (1_000, 10_000, 100_000)
MEASURES = ("precision", "recall", "f1", "distance")


def random_network(seed: int) -> Network:
    """10 to 15 variables of two or three values, up to three parents each, tables drawn evenly from all there are."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(10, 16))
    names = list(string.ascii_lowercase[:n])
    variables = {name: range(rng.integers(2, 4)) for name in names}
    order = rng.permutation(names).tolist()
    arcs = []
    for at, child in enumerate(order):
        parents = rng.choice(order[:at], min(at, int(rng.integers(0, 4))), replace=False) if at else []
        arcs += [(str(parent), child) for parent in parents]
    network = Network(variables, arcs)
    tables = {}
    for name in names:
        *contexts, own = network.shape(name)
        tables[name] = rng.dirichlet(np.ones(own), size=tuple(contexts))
    return network.with_tables(tables)


def learners(network: Network) -> dict[str, Learner]:
    """The learners; those of the second group are told the order of the variables."""
    order = network.order()
    return {
        "ChowLiu": ChowLiu(threshold=0.001),
        "CBL, 0.01": CBL(threshold=0.01, extend="pdag"),
        "CBL, G²": CBL(test=GSquared(0.001), extend="pdag"),
        "HillClimb": HillClimb(),
        "HillClimb, tabu": HillClimb(tabu=20, patience=20),
        "CBL, 0.01, order": CBL(threshold=0.01, order=order),
        "CBL, G², order": CBL(test=GSquared(0.001), order=order),
        "K2, BIC, order": K2(order=order, score="bic"),
    }


def found_again(network: Network, truth: Network) -> list[float]:
    """Precision, recall and F1 of the edges, whichever way they point, and the structural Hamming distance."""
    ours, theirs = ({frozenset(arc) for arc in some.arcs} for some in (network, truth))
    both = len(ours & theirs)
    precision, recall = both / len(ours) if ours else 1.0, both / len(theirs) if theirs else 1.0
    return [precision, recall, 2 * both / max(len(ours) + len(theirs), 1), network.distance(truth)]


def results(n_networks: int, sizes: Iterable[int], progress: Callable[[int, int, str], None]) -> tuple[Table, Table]:
    """A line for every network, number of rows and learner; and the seconds of the processor that they took."""
    rows: list[list[Any]] = []
    seconds: dict[tuple[str, int], float] = {}
    for seed in range(n_networks):
        truth = random_network(seed)
        for size in sizes:
            progress(seed, n_networks, f"network {seed} of {len(truth)} variables, {size:,} rows")
            sample = truth.sample(size, random_state=seed, as_="sample")
            for name, learner in learners(truth).items():
                fresh = sample.take(np.arange(size))  # nothing remembered of what others asked
                start = time.process_time()
                learned = learner.learn(fresh)
                spent = time.process_time() - start
                seconds[name, size] = seconds.get((name, size), 0.0) + spent / n_networks
                measured = found_again(learned.network, truth)
                rows.append([seed, len(truth), len(truth.arcs), size, name, len(learned.network.arcs), *measured])
    names = ["network", "n_variables", "n_arcs", "n_rows", "learner", "n_found", *MEASURES]
    times = [[name, size, spent] for (name, size), spent in seconds.items()]
    return Table(names, rows), Table(["learner", "n_rows", "seconds"], times)
