"""The plain way to search: whole models, each row really left out, and the best move taken."""

import itertools
import math
from dataclasses import replace

import numpy as np

import oracle
from tanager.evaluate import auc


def left_out(data, answer):
    """Posteriors of all rows; of a weight above one, one is left out."""
    out = []
    for r, x in enumerate(data.rows):
        left = [max(v - 1, 0.0) if q == r else v for q, v in enumerate(data.weights)]
        rest = replace(data, weights=tuple(left))
        out.append(oracle.posterior(rest, answer(rest, x)))
    return np.array(out)


def quality(data, answer, criterion):
    proba, labels, weights = left_out(data, answer), np.array(data.labels), np.array(data.weights)
    own = proba[np.arange(len(labels)), labels]
    if criterion == "log_loss":
        return round(float(np.log(np.maximum(own, 1e-300)) @ weights / weights.sum()), 9), 0.0
    if criterion == "auc":
        area = auc(labels, proba, weights=weights)
        return (0.0 if math.isnan(area) else round(area, 9)), 0.0
    counts = [oracle.count(data, {}, y) for y in range(data.k)]
    answers = [max(range(data.k), key=lambda c, p=p: (round(p[c], 9), counts[c], -c)) for p in proba]
    return float((np.array(answers) == labels) @ weights / weights.sum()), round(
        float(own @ weights / weights.sum()), 9
    )


def greedy(state, moves, quality_of, non_worse=False):
    """Take the best move, the first of equals, as long as that is better."""
    current = quality_of(state)
    while options := moves(state):
        tried = [quality_of(option) for option in options]
        best = max(range(len(options)), key=lambda q: (tried[q], -q))
        if not (tried[best][0] >= current[0] if non_worse else tried[best][0] > current[0]):
            return state
        state, current = options[best], tried[best]
    return state


def nearly_tied(data, states, answer, criterion):
    """Whether rounding alone may decide between two of the states."""
    values = sorted({round(value, 6) for state in states for value in quality(data, answer(state), criterion)})
    return any(0 < b - a < 1e-5 for a, b in itertools.pairwise(values))


SMALL = {"min_rows": 3, "max_rows": 9, "max_columns": 3}


def parity(n=200, seed=0):
    """The class is whether x0 and x1 agree; x2 tells a little, x3 nothing."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n, 4))
    y = X[:, 0] ^ X[:, 1]
    X[:, 2] = np.where(rng.random(n) < 0.65, y, 1 - y)
    return [[f"v{v}" for v in row] for row in X], y
