"""Random diagrams, the diagrams of known answers, and the slow twins of all that solves them."""

from itertools import product

import numpy as np

from tanager import DecisionNetwork

UMBRELLA = DecisionNetwork(
    {"weather": ("no rain", "rain"), "forecast": ("sunny", "cloudy", "rainy")},
    {"umbrella": ("take it", "leave at home")},
    ["satisfaction"],
    [("weather", "forecast"), ("forecast", "umbrella"), ("weather", "satisfaction"), ("umbrella", "satisfaction")],
    {
        "weather": [0.7, 0.3],
        "forecast": [[0.7, 0.2, 0.1], [0.15, 0.25, 0.6]],
        "satisfaction": [[20, 100], [70, 0]],
    },
)

OIL = DecisionNetwork(
    {"oil": ("dry", "wet", "soaking"), "seismic": ("none", "no structure", "open", "closed")},
    {"test": ("no", "yes"), "drill": ("no", "yes")},
    ["profit", "cost"],
    [
        ("oil", "seismic"),
        ("test", "seismic"),
        ("test", "drill"),
        ("seismic", "drill"),
        ("oil", "profit"),
        ("drill", "profit"),
        ("test", "cost"),
    ],
    {
        "oil": [0.5, 0.3, 0.2],
        "seismic": [
            [[1, 0, 0, 0], [0, 0.6, 0.3, 0.1]],
            [[1, 0, 0, 0], [0, 0.3, 0.4, 0.3]],
            [[1, 0, 0, 0], [0, 0.1, 0.4, 0.5]],
        ],
        "profit": [[0, -70], [0, 50], [0, 200]],
        "cost": [0, -10],
    },
)


def random_diagram(seed, n_chance=(1, 4), n_decisions=(1, 3), n_utilities=(1, 3)):
    """A diagram of nodes in a random order, with arcs forwards along it, and tables with some zeros."""
    rng = np.random.default_rng(seed)
    kinds = ["c"] * rng.integers(*n_chance, endpoint=True) + ["d"] * rng.integers(*n_decisions, endpoint=True)
    nodes = [f"{kind}{i}" for i, kind in enumerate(rng.permutation(kinds).tolist())]
    values = {name: tuple(range(rng.choice([1, 2, 2, 2, 3]))) for name in nodes}
    density = rng.uniform(0.2, 0.8)
    arcs = [(a, b) for i, b in enumerate(nodes) for a in nodes[:i] if rng.random() < density]
    utilities = [f"u{i}" for i in range(rng.integers(*n_utilities, endpoint=True))]
    arcs += [(a, u) for u in utilities for a in nodes if rng.random() < 0.5]
    decisions = [name for name in nodes if name[0] == "d"]
    blank = DecisionNetwork(
        {name: values[name] for name in rng.permutation([n for n in nodes if n[0] == "c"]).tolist()},
        {name: values[name] for name in rng.permutation(decisions).tolist()},
        utilities,
        [arcs[i] for i in rng.permutation(len(arcs))],
        order=decisions,
    )
    tables = {}
    for name in blank.chance:
        cells = rng.dirichlet(np.ones(len(values[name])), [len(values[p]) for p in blank.parents(name)])
        cells = np.where((cells < 0.25) & (rng.random(cells.shape) < 0.5), 0.0, cells)
        tables[name] = cells / cells.sum(axis=-1, keepdims=True)
    for name in utilities:
        whole = rng.random() < 0.3  # small whole numbers make ties
        shape = [len(values[p]) for p in blank.parents(name)]
        tables[name] = rng.integers(0, 3, shape) if whole else rng.normal(0, 10, shape)
    return blank.with_tables(tables)


class Configurations:
    """All configurations of a diagram one by one, with their probability (decisions aside) and their utility."""

    def __init__(self, diagram, evidence=None):
        self.diagram = diagram
        nodes = list(diagram.network)
        cells = product(*(range(len(diagram.values(name))) for name in nodes))
        self.rows = [dict(zip(nodes, cell, strict=True)) for cell in cells]
        known = {name: diagram.values(name).index(value) for name, value in (evidence or {}).items()}
        self.rows = [row for row in self.rows if all(row[name] == v for name, v in known.items())]
        self.weight = np.array([self.chance(row) for row in self.rows])
        self.utility = np.array([self.gain(row) for row in self.rows])

    def chance(self, row):
        tables = self.diagram.tables
        return np.prod(
            [tables[n][(*(row[p] for p in self.diagram.parents(n)), row[n])] for n in self.diagram.chance], initial=1.0
        )

    def gain(self, row):
        return sum(
            self.diagram.tables[u][tuple(row[p] for p in self.diagram.parents(u))] for u in self.diagram.utilities
        )

    def column(self, name):
        return np.array([row[name] for row in self.rows])

    def contexts(self, names):
        """The number of the combination of some nodes, row by row, and how many there are."""
        at, n = np.zeros(len(self.rows), dtype=int), 1
        for name in names:
            size = len(self.diagram.values(name))
            at, n = at * size + self.column(name), n * size
        return at, n

    def expected(self, follows):
        """The expected utility of the rows that follow a policy."""
        return (self.weight * self.utility * follows).sum() / (self.weight * follows).sum()

    def follows(self, policies, but=None):
        """Which rows follow all policies, or all but one."""
        keep = np.ones(len(self.rows), dtype=bool)
        for name, policy in policies.items():
            if name != but:
                at, _ = self.contexts(policy.known)
                keep &= policy.choices.reshape(-1)[at] == self.column(name)
        return keep


def n_policies(diagram, *, limited_memory=False):
    total = 1
    for d in diagram.decisions:
        n = np.prod([len(diagram.values(p)) for p in diagram.information(d, limited_memory=limited_memory)], initial=1)
        total *= float(len(diagram.values(d))) ** float(n)
    return total


def best_by_enumeration(diagram, *, limited_memory=False, evidence=None):
    """The largest expected utility of all policies, each of them tried."""
    all_rows = Configurations(diagram, evidence)
    free = [d for d in diagram.decisions if d not in (evidence or {})]
    per_decision = []
    for d in free:
        at, n = all_rows.contexts(diagram.information(d, limited_memory=limited_memory))
        used = sorted(set(at.tolist()))
        options = range(len(diagram.values(d)))
        choices = np.zeros(n, dtype=int)
        follows = []
        for policy in product(options, repeat=len(used)):
            choices[used] = policy
            follows.append(choices[at] == all_rows.column(d))
        per_decision.append(follows)
    return max(
        all_rows.expected(np.logical_and.reduce([np.ones(len(all_rows.rows), dtype=bool), *chosen]))
        for chosen in product(*per_decision)
    )


def best_by_rollback(diagram):
    """The formula itself, over the whole joint: a sum over what is known first, then a maximum, and so on."""
    nodes = list(diagram.network)
    all_rows = Configurations(diagram)
    shape = [len(diagram.values(name)) for name in nodes]
    joint = (all_rows.weight * all_rows.utility).reshape(shape)
    steps, seen = [], set()
    for d in diagram.order:
        new = [name for name in diagram.information(d) if name not in seen]
        steps += [(np.sum, name) for name in new] + [(np.max, d)]
        seen |= {*new, d}
    steps += [(np.sum, name) for name in nodes if name not in seen]
    for how, name in reversed(steps):
        joint = how(joint, axis=nodes.index(name))
        nodes.remove(name)
    return float(joint)
