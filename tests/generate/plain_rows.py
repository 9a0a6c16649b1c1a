"""The slow twin of what a stream knows: the joint distribution of a network, and every way a row can come about."""

from itertools import product

import numpy as np


def joint(network, target):
    """{(class, cells...): probability} of all configurations, the class first."""
    names = [target, *(name for name in network if name != target)]
    out = {}
    for cell in product(*(range(len(network.values(name))) for name in names)):
        at = dict(zip(names, cell, strict=True))
        factors = [network.tables[name][(*(at[p] for p in network.parents(name)), at[name])] for name in names]
        out[cell] = float(np.prod(factors))
    return out


def shown(value, code, n_values, noise=0.0, flip=False, missing=0.0):
    """P(a cell shows this code | the value behind it); 255 is missing."""
    if code == 255:
        return missing
    other = (1 - (code == value)) / (n_values - 1) if flip else 1 / n_values
    return (1 - missing) * ((1 - noise) * (code == value) + noise * other)


def plain_posterior(cells, row, sizes, shares=None, class_noise=0.0, noise=0.0, flip=False, missing=None):
    """P(label | row as shown), by going through every class and every row behind it. `missing`: a rate per class."""
    k = sizes[0]
    prior = [sum(p for cell, p in cells.items() if cell[0] == c) for c in range(k)]
    missing = [0.0] * k if missing is None else missing
    total = np.zeros(k)
    for (c, *values), p in cells.items():
        p = p if shares is None else p / prior[c] * shares[c]
        for label in range(k):
            chance = 1 - class_noise if label == c else class_noise / (k - 1)
            for value, code, n_values in zip(values, row, sizes[1:], strict=True):
                chance *= shown(value, code, n_values, noise, flip, missing[label])
            total[label] += p * chance
    return total / total.sum()
