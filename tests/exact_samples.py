"""Small networks of 0 and 1 as exact distributions: a row for every configuration, weighted by its probability."""

import itertools

import numpy as np

from tanager.counts.sample import Sample


def exact_sample(parents, chances):
    """A sample from P(node = 1 | parents): ``chances`` holds it by node, for 00, 01, 10, ... of its parents."""
    names = list(chances)
    rows = np.array(list(itertools.product((0, 1), repeat=len(names))), dtype=np.uint8)
    weights = np.ones(len(rows))
    for i, name in enumerate(names):
        case = np.zeros(len(rows), dtype=int)
        for parent in parents.get(name, ""):
            case = 2 * case + rows[:, names.index(parent)]
        one = np.array(chances[name])[case]
        weights *= np.where(rows[:, i] == 1, one, 1 - one)
    return Sample(rows, [(0, 1)] * len(names), names, weights)


DIAMOND = {"B": "A", "C": "A", "D": "BC"}
FIVE = {"B": "A", "C": "B", "D": "B", "E": "CD"}
ASIA = {"T": "A", "L": "S", "B": "S", "E": "TL", "X": "E", "D": "EB"}
CANCER = {"I": "M", "B": "M", "C": "IB", "H": "B"}
KITE = {"B": "A", "C": "A", "D": "ABC"}


def diamond():
    return exact_sample(DIAMOND, {"A": [0.5], "B": [0.1, 0.8], "C": [0.2, 0.7], "D": [0.05, 0.6, 0.7, 0.95]})


def five():
    chances = {"A": [0.4], "B": [0.15, 0.8], "C": [0.2, 0.75], "D": [0.1, 0.85], "E": [0.05, 0.5, 0.6, 0.95]}
    return exact_sample(FIVE, chances)


def asia():
    chances = {"A": [0.01], "S": [0.5], "T": [0.01, 0.05], "L": [0.01, 0.1], "B": [0.3, 0.6]}
    chances |= {"E": [0, 1, 1, 1], "X": [0.05, 0.98], "D": [0.1, 0.8, 0.7, 0.9]}
    return exact_sample(ASIA, chances)


def cancer(order="MIBCH"):
    """Cooper's network: metastatic cancer, increased calcium, brain tumour, coma, headaches; columns in any order."""
    chances = {"M": [0.2], "I": [0.2, 0.8], "B": [0.05, 0.2], "C": [0.05, 0.8, 0.8, 0.8], "H": [0.6, 0.8]}
    return exact_sample(CANCER, {name: chances[name] for name in order})


def kite(order="ABCD"):
    """The diamond with A -> D: a direction that only Meek's third rule gives."""
    chances = {"A": [0.5], "B": [0.1, 0.8], "C": [0.2, 0.7], "D": [0.05, 0.6, 0.7, 0.8, 0.1, 0.3, 0.4, 0.95]}
    return exact_sample(KITE, {name: chances[name] for name in order})
