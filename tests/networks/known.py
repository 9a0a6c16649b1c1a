"""The networks of the known answers, and the slow twin of all inference: the joint distribution, cell by cell."""

from itertools import product

import numpy as np

from tanager import Network


def binary(parents, ones):
    """A network of binary variables from P(node = 1 | parents), contexts in counting order."""
    network = Network(dict.fromkeys(parents, (0, 1)), [(u, v) for v, own in parents.items() for u in own])
    tables = {}
    for name, p in ones.items():
        p = np.array(p, dtype=float).reshape(network.shape(name)[:-1])
        tables[name] = np.stack([1 - p, p], axis=-1)
    return network.with_tables(tables)


DIAMOND = binary(
    {"A": "", "B": "A", "C": "A", "D": "BC"},
    {"A": [0.5], "B": [0.1, 0.8], "C": [0.2, 0.7], "D": [0.05, 0.6, 0.7, 0.95]},
)


def joint(network):
    """P of every configuration, as the product of one number per family."""
    sizes = [len(network.values(name)) for name in network]
    out = np.zeros(sizes)
    for cell in product(*map(range, sizes)):
        at = dict(zip(network, cell, strict=True))
        out[cell] = np.prod([network.tables[name][(*(at[p] for p in network.parents(name)), at[name])] for name in at])
    return out


def conditional(network, asked, evidence):
    """P(asked | evidence) from the joint; all zeros where the evidence is impossible."""
    cells = joint(network)
    for name, value in evidence.items():
        known = np.arange(len(network.values(name))) == network.code(name, value)
        cells = cells * known.reshape([-1 if other == name else 1 for other in network])
    rest = tuple(i for i, name in enumerate(network) if name not in asked)
    cells = cells.sum(axis=rest)
    left = [name for name in network if name in asked]
    cells = cells.transpose([left.index(name) for name in asked])
    return cells / cells.sum() if cells.sum() > 0 else cells
