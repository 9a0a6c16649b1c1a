"""The slow, obvious version of normal distributions given parents: plain loops over rows, as the formulas are printed.

A row is a tuple of codes (None: missing; see ``oracle``) and a tuple of numbers, with None for missing and for
columns that are not Gaussian. As a parent a Gaussian column is its code, as a child its number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import oracle

PSEUDO_ROWS = 1.0


@dataclass(frozen=True)
class Numbers:
    """Labelled rows as codes (for ``oracle``), and beside them the numbers of the Gaussian columns."""

    data: oracle.Data
    numbers: tuple
    columns: tuple

    def without(self, r):
        rest = tuple(row for q, row in enumerate(self.numbers) if q != r)
        return Numbers(self.data.without(r), rest, self.columns)


def make(data, numbers, columns):
    return Numbers(data, tuple(numbers), tuple(columns))


def cells_of(table, i, y, values):
    """(weight, number) of column i in the rows of a class (None: of any) with these values of parents."""
    data, out = table.data, []
    for codes, numbers, label, weight in zip(data.rows, table.numbers, data.labels, data.weights, strict=True):
        same = all(codes[j] == v for j, v in values.items())
        if (y is None or label == y) and same and numbers[i] is not None and weight > 0:
            out.append((weight, numbers[i]))
    return out


def mean_and_variance(cells):
    total = sum(w for w, _ in cells)
    mean = sum(w * x for w, x in cells) / total
    return mean, sum(w * (x - mean) ** 2 for w, x in cells) / total


def log_density(table, i, x, y, values):
    """log N(x; mean, variance) of the rows in a context, with pseudo-rows that are distributed as the class.

    Without a class (None) of the rows of all classes, with pseudo-rows like all rows.
    """
    every = cells_of(table, i, None, {})
    varied = len({x for _, x in every}) > 1
    spread = mean_and_variance(every)[1] if varied else 1.0
    of_class = cells_of(table, i, y, {})
    m0, v0 = mean_and_variance(of_class or every) if every else (0.0, 1.0)
    if not of_class:
        v0 = spread
    cells = cells_of(table, i, y, values)
    total = sum(w for w, _ in cells) + PSEUDO_ROWS
    mean = (sum(w * c for w, c in cells) + PSEUDO_ROWS * m0) / total
    variance = (sum(w * (c - mean) ** 2 for w, c in cells) + PSEUDO_ROWS * (v0 + (m0 - mean) ** 2)) / total
    variance = max(variance, 1e-4 * spread if varied else 1.0)
    return -((x - mean) ** 2) / (2 * variance) - math.log(2 * math.pi * variance) / 2


def log(p):
    return math.log(p) if p > 0 else -math.inf


def log_sum(logs):
    top = max(logs, default=-math.inf)
    return top if math.isinf(top) else top + math.log(sum(math.exp(each - top) for each in logs))


def posterior(logs):
    total = log_sum(logs)
    return [math.exp(each - total) for each in logs]


def log_factor(table, codes, numbers, i, choices, y):
    """log sum_pa w f(x_i | y, pa) over the sets whose parents are present."""

    def term(parents):
        return log_density(table, i, numbers[i], y, {j: codes[j] for j in parents})

    voting = [(tuple(parents), weight) for parents, weight in choices if weight > 0]
    usable = [(parents, weight) for parents, weight in voting if all(codes[j] is not None for j in parents)]
    if usable:
        return log_sum([math.log(weight) + term(parents) for parents, weight in usable])
    first = voting[0][0] if len(voting) == 1 else ()
    while any(codes[j] is None for j in first):
        first = first[:-1]
    return term(first)


def product_of_sums(table, codes, numbers, sets, smoothing=oracle.LAPLACE):
    """The columns with codes as in ``oracle`` (the prior, where they rule all classes out), times densities."""
    data, coded = table.data, [i for i, code in enumerate(codes) if i not in table.columns and code is not None]
    joints = [oracle.prior(data, y, smoothing) for y in range(data.k)]
    for i in coded:
        joints = [p * oracle.factor(data, codes, i, sets[i], y, smoothing) for y, p in enumerate(joints)]
    if sum(joints) == 0:
        joints = [oracle.prior(data, y, oracle.LAPLACE) for y in range(data.k)]
    known = [i for i in table.columns if numbers[i] is not None]
    return [log(p) + sum(log_factor(table, codes, numbers, i, sets[i], y) for i in known) for y, p in enumerate(joints)]


def aode(table, codes, numbers, smoothing=oracle.LAPLACE, min_count=1.0):
    data = table.data
    members = [s for s in range(data.n) if codes[s] is not None and oracle.count(data, {s: codes[s]}) >= min_count]
    out = []
    for y in range(data.k):
        logs = []
        for s in members:
            total = log(oracle.joint(data, y, [(s, codes[s])], smoothing))
            for j in range(data.n):
                if j in table.columns and numbers[j] is not None:  # x_s, too: all members have the same units
                    total += log_density(table, j, numbers[j], None if j == s else y, {s: codes[s]})
                elif j not in table.columns and j != s and codes[j] is not None:
                    total += log(oracle.conditional(data, j, codes[j], y, [(s, codes[s])], smoothing))
            logs.append(total)
        out.append(log_sum(logs) - math.log(max(len(members), 1)))
    if max(out) > -math.inf:
        return out
    return product_of_sums(table, codes, numbers, [[((), 1.0)]] * data.n, smoothing)
