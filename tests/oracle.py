"""The slow, obvious versions: plain loops over rows, and the formulas as they are printed.

A row is a sequence of codes with None for missing and UNSEEN for a value outside the vocabulary. Nothing here knows how
the library stores or combines anything; every number is counted again from the rows each time it is needed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

UNSEEN = -2


@dataclass(frozen=True)
class Data:
    """Labelled rows over a fixed vocabulary."""

    rows: tuple
    labels: tuple
    weights: tuple
    n_values: tuple
    k: int

    @property
    def n(self):
        return len(self.n_values)

    def without(self, r):
        """The same data, really without row r."""
        keep = [q for q in range(len(self.rows)) if q != r]
        parts = (tuple(part[q] for q in keep) for part in (self.rows, self.labels, self.weights))
        return Data(*parts, self.n_values, self.k)

    def columns(self, places):
        rows = tuple(tuple(row[i] for i in places) for row in self.rows)
        return replace(self, rows=rows, n_values=tuple(self.n_values[i] for i in places))


def make(rows, labels, weights=None, n_values=None, k=None):
    rows = tuple(tuple(row) for row in rows)
    weights = (1.0,) * len(rows) if weights is None else tuple(weights)
    if n_values is None:
        n_values = tuple(
            max((v for v in column if v is not None), default=-1) + 1 for column in zip(*rows, strict=True)
        )
    return Data(rows, tuple(labels), weights, tuple(n_values), max(labels) + 1 if k is None else k)


def count(data, values, y=None):
    """Weight of the rows with x_i = v for all i, v in ``values`` (a dict), of class y or of any class."""
    total = 0.0
    for row, label, weight in zip(data.rows, data.labels, data.weights, strict=True):
        if (y is None or label == y) and all(row[i] == v for i, v in values.items()):
            total += weight
    return total


def present(data, places, y=None):
    """Weight of the rows in which these columns are present."""
    total = 0.0
    for row, label, weight in zip(data.rows, data.labels, data.weights, strict=True):
        if (y is None or label == y) and all(row[i] is not None for i in places):
            total += weight
    return total


def subtotal(data, i, values, y):
    """sum_v N(x_i = v, values, y): the denominator of P(x_i | y, values)."""
    return sum(count(data, values | {i: v}, y) for v in range(data.n_values[i]))


# --- estimates (name, strength) -----------------------------------------------------------------------------


def pseudo(smoothing, r, q):
    kind, strength = smoothing
    if kind == "lidstone":
        return strength
    return 0.0 if r == 0 else strength / r if kind == "m" else strength / (r * q)


def marginal(data, i, v):
    counts = [count(data, {i: u}) for u in range(data.n_values[i])]
    own = count(data, {i: v})
    if all(c > 0 for c in counts) and v != UNSEEN:
        return own / sum(counts)
    return (own + 1) / (sum(counts) + len(counts)) if counts else 1.0


def prior(data, y, smoothing):
    kind, *strengths = smoothing  # a back-off may have a second strength, for the first level
    num, den, k = count(data, {}, y), count(data, {}), data.k
    if kind == "prior":
        add = 0.0 if all(count(data, {}, c) > 0 for c in range(k)) else 1.0
    elif kind == "backoff":
        add = strengths[-1] / k
    elif kind == "learned":
        add = strengths[0] / k
    else:
        add = pseudo(smoothing, k, 1)
    return (num + add) / (den + k * add) if den + k * add > 0 else 1 / k


def conditional(data, i, v, y, parents, smoothing):
    """P(x_i = v | y, parents): parents is a list of (column, value), most important first; y may be None, any class."""
    kind, strength = smoothing[:2]
    r = data.n_values[i]
    if r == 0:  # a column without a single value
        return 1.0
    num, den = count(data, dict(parents) | {i: v}, y), subtotal(data, i, dict(parents), y)
    if kind == "prior":
        add, total = strength * marginal(data, i, v), strength
    elif kind == "learned":
        strengths = smoothing[2][i, tuple(j for j, _ in parents)]
        return learned(data, i, v, y, parents, strengths)
    elif kind == "backoff":
        shorter = conditional(data, i, v, y, parents[:-1], smoothing) if parents else 1 / r
        total = strength if parents else smoothing[-1]
        add = total * shorter
    else:
        q = (1 if y is None else data.k) * math.prod(max(data.n_values[j], 1) for j, _ in parents)
        add = pseudo(smoothing, r, q)
        total = add * r
    return (num + add) / (den + total) if den + total > 0 else 1 / r


def learned(data, i, v, y, parents, strengths):
    """A back-off with a strength for every level."""
    theta = 1 / data.n_values[i]
    for level, c in enumerate(strengths):
        context = dict(parents[:level])
        num, den = count(data, context | {i: v}, y), subtotal(data, i, context, y)
        theta = (num + c * theta) / (den + c)
    return theta


def joint(data, y, values, smoothing):
    """P(y, x_s) for one or two super-parents."""
    kind, strength = smoothing[:2]
    num, den = count(data, dict(values), y), present(data, [i for i, _ in values])
    if kind == "prior":
        p0 = math.prod(marginal(data, i, v) for i, v in values)
        return (num + strength * p0 * prior(data, y, smoothing)) / (den + strength)
    if kind in ("backoff", "learned"):
        p = prior(data, y, smoothing)
        for at, (i, v) in enumerate(values):
            p *= conditional(data, i, v, y, values[:at], smoothing)
        return p
    r = data.k * math.prod(data.n_values[i] for i, _ in values)
    add = pseudo(smoothing, r, 1)
    return (num + add) / (den + add * r) if den + add * r > 0 else 0.0


def rule_of(estimate):
    """The kind and strength of one of the library's estimates, and the strength of its first level where it differs."""
    first = getattr(estimate, "first", None)
    return (estimate.kind, estimate.strength) if first is None else (estimate.kind, estimate.strength, first)


LAPLACE = ("lidstone", 1.0)
M1 = ("m", 1.0)


# --- the two ways to combine --------------------------------------------------------------------------------


def product_of_sums(data, x, sets, smoothing):
    """P(y) prod_i sum_pa w P(x_i | y, pa); ``sets[i]`` is a list of (parents, weight)."""
    return product_of_terms(data, x, [(i, *choice, ()) for i in range(data.n) for choice in sets[i]], (), smoothing)


def product_of_terms(data, x, terms, class_parents, smoothing):
    """The same with parents of the class; terms are (child, parents, weight, classes it speaks for, none for all)."""
    out = []
    for y in range(data.k):
        p = class_given(data, x, y, class_parents, smoothing)
        for i in range(data.n):
            choices = [term[1:3] for term in terms if term[0] == i and (not term[3] or y in term[3])]
            if choices and x[i] is not None:
                p *= factor(data, x, i, choices, y, smoothing)
        out.append(p)
    return out


def class_given(data, x, y, parents, smoothing):
    """P(y | parents up to the first missing one)."""
    if any(x[p] is None for p in parents):
        return class_given(data, x, y, parents[:-1], smoothing)
    if not parents:
        return prior(data, y, smoothing)
    kind, strength = smoothing[:2]
    values = {p: x[p] for p in parents}
    num, den = count(data, values, y), count(data, values)
    if kind == "prior":
        add, total = strength * prior(data, y, smoothing), strength
    elif kind == "backoff":
        add, total = strength * class_given(data, x, y, parents[:-1], smoothing), strength
    else:
        add = pseudo(smoothing, data.k, math.prod(max(data.n_values[p], 1) for p in parents))
        total = data.k * add
    return (num + add) / (den + total) if den + total > 0 else 1 / data.k


def factor(data, x, i, choices, y, smoothing):
    def term(parents):
        return conditional(data, i, x[i], y, [(j, x[j]) for j in parents], smoothing)

    voting = [(tuple(parents), weight) for parents, weight in choices if weight > 0]
    usable = [(parents, weight) for parents, weight in voting if all(x[j] is not None for j in parents)]
    if usable:
        return sum(weight * term(parents) for parents, weight in usable)
    if len(voting) == 1:  # a single set: its longest prefix that is present
        parents = voting[0][0]
        while any(x[j] is None for j in parents):
            parents = parents[:-1]
        return term(parents)
    return term(())


def sum_of_products(data, x, members, smoothing, min_count, children=None):
    """sum_s w P(y, x_s) prod_j P(x_j | y, x_s) over the members that speak, divided by their weight; None if none.

    j goes over all columns beside s, or over some of the ``children``.
    """
    speaking = [
        (s, w)
        for s, w in members
        if w > 0 and all(x[i] is not None for i in s) and count(data, {i: x[i] for i in s}) >= min_count
    ]
    if not speaking:
        return None
    out = []
    for y in range(data.k):
        total = 0.0
        for s, w in speaking:
            values = [(i, x[i]) for i in s]
            p = joint(data, y, values, smoothing)
            for j in range(data.n) if children is None else children:
                if j not in s and x[j] is not None:
                    p *= conditional(data, j, x[j], y, values, smoothing)
            total += w * p
        out.append(total / sum(w for _, w in speaking))
    return out


def posterior(data, scores):
    """Normalised; where every class has probability zero, the class prior by Laplace's rule."""
    total = sum(scores)
    if total <= 0:
        scores = [prior(data, y, LAPLACE) for y in range(data.k)]
        total = sum(scores)
    return [s / total for s in scores]


# --- classifiers: unnormalised P(y, x) for all y ------------------------------------------------------------


def one_each(parents):
    return [[(p, 1.0)] for p in parents]


def tree_terms(parents):
    return [(i, tuple(p), 1.0, ()) for i, p in enumerate(parents)]


def nb(data, x, smoothing=LAPLACE):
    return product_of_sums(data, x, one_each([()] * data.n), smoothing)


def tree(data, x, parents, smoothing=LAPLACE):
    return product_of_sums(data, x, one_each(parents), smoothing)


def _or(data, scores, otherwise):
    return scores if scores is not None and sum(scores) > 0 else otherwise()


def spode(data, x, s, smoothing=LAPLACE, min_count=0.0):
    return _or(data, sum_of_products(data, x, [((s,), 1.0)], smoothing, min_count), lambda: nb(data, x, smoothing))


def aode(data, x, smoothing=LAPLACE, min_count=1.0, weights=None):
    weights = [1.0] * data.n if weights is None else weights
    members = [((s,), w) for s, w in enumerate(weights)]
    return _or(data, sum_of_products(data, x, members, smoothing, min_count), lambda: nb(data, x, smoothing))


def waode(data, x, smoothing=M1, min_count=1.0):
    weights = [class_information(data, i) for i in range(data.n)]
    return aode(data, x, smoothing, min_count, weights if any(weights) else None)


def a2de(data, x, smoothing=LAPLACE, min_count=1.0):
    members = [(s, 1.0) for s in itertools.combinations(range(data.n), 2)] if data.n > 2 else []
    scores = sum_of_products(data, x, members, smoothing, min_count)
    return _or(data, scores, lambda: aode(data, x, smoothing, min_count))


def hnb(data, x, smoothing=M1):
    sets = []
    for i in range(data.n):
        w = {j: conditional_information(data, i, j) for j in range(data.n) if j != i}
        total = sum(w.values())
        sets.append([((j,), w[j] / total) for j in w] if total > 0 else [((), 1.0)])
    return product_of_sums(data, x, sets, smoothing)


def fanc_sets(order, first=None):
    sets = [None] * len(order)
    for place, i in enumerate(order):
        earlier = order[:place] if first is None else order[: min(place, first)]
        sets[i] = [((), 1.0)] + [((j,), 1.0) for j in earlier]
    return sets


def spc_sets(order, s):
    order = [s] + [i for i in order if i != s]
    sets = [None] * len(order)
    sets[s] = [((), 1.0)]
    for place, i in enumerate(order[1:], start=1):
        sets[i] = [((), 1.0), ((s,), 1.0)]
        for j in order[1:place]:
            sets[i] += [((j,), 1.0), ((s, j), 1.0)]
    return sets


def tc_sets(order):
    sets = [None] * len(order)
    for place, i in enumerate(order):
        sets[i] = [(pa, 1.0) for size in range(3) for pa in itertools.combinations(order[:place], size)]
    return sets


def every_network(data, x, sets, smoothing):
    """The same sum, network by network: how many there are, and the sum of their joints. For complete rows."""
    total, number = [0.0] * data.k, 0
    for choice in itertools.product(*sets):
        number += 1
        weight = math.prod(w for _, w in choice)
        one = tree(data, x, [parents for parents, _ in choice], smoothing)
        total = [t + weight * p for t, p in zip(total, one, strict=True)]
    return number, total


def marginalised(data, x, terms, smoothing=LAPLACE, class_parents=(), free=()):
    """P(y, observed part of x) of a network, every missing value summed out by brute force.

    ``free`` are the families (child, parents) without the class; one without a missing member is the same for all
    classes and left out.
    """
    free = [(i, parents) for i, parents in free if None in [x[j] for j in (i, *parents)]]
    choices = [range(data.n_values[i]) if v is None else [v] for i, v in enumerate(x)]
    total = [0.0] * data.k
    for full in itertools.product(*choices):
        shared = math.prod(
            conditional(data, i, full[i], None, [(j, full[j]) for j in parents], smoothing) for i, parents in free
        )
        one = product_of_terms(data, full, terms, class_parents, smoothing)
        total = [t + shared * p for t, p in zip(total, one, strict=True)]
    return total


# --- information --------------------------------------------------------------------------------------------


def class_information(data, i):
    """I(X_i; Y) over the rows with x_i present."""
    m = present(data, [i])
    total = 0.0
    for y in range(data.k):
        for v in range(data.n_values[i]):
            p = count(data, {i: v}, y)
            if p > 0:
                total += p / m * math.log(p * m / (count(data, {i: v}) * present(data, [i], y)))
    return max(round(total, 12), 0.0)


def conditional_information(data, i, j):
    """I(X_i; X_j | Y) over the rows with both present."""
    m = present(data, [i, j])
    total = 0.0
    for y in range(data.k):
        for v, w in itertools.product(range(data.n_values[i]), range(data.n_values[j])):
            p = count(data, {i: v, j: w}, y)
            if p > 0:
                vy, wy = subtotal(data, j, {i: v}, y), subtotal(data, i, {j: w}, y)
                total += p / m * math.log(p * present(data, [i, j], y) / (vy * wy))
    return max(round(total, 12), 0.0)


def class_information_given(data, i, j):
    """I(X_i; Y | X_j) over the rows with both present."""
    m = present(data, [i, j])
    total = 0.0
    for y in range(data.k):
        for v, w in itertools.product(range(data.n_values[i]), range(data.n_values[j])):
            p = count(data, {i: v, j: w}, y)
            if p > 0:
                both = sum(count(data, {i: v, j: w}, c) for c in range(data.k))
                wy = subtotal(data, i, {j: w}, y)
                of_w = sum(subtotal(data, i, {j: w}, c) for c in range(data.k))
                total += p / m * math.log(p * of_w / (both * wy))
    return max(round(total, 12), 0.0)


# --- structures ---------------------------------------------------------------------------------------------


def tan_parents(data, root=None):
    """The tree of largest conditional information (ties to the smaller pair), hung from its root."""
    edges = sorted(itertools.combinations(range(data.n), 2), key=lambda e: (-conditional_information(data, *e), e))
    return hang(kruskal(edges, data.n), data, root)


def kruskal(edges, n):
    group = list(range(n))
    chosen = []
    for a, b in edges:
        if group[a] != group[b]:
            chosen.append((a, b))
            group = [group[a] if g == group[b] else g for g in group]
    return chosen


def hang(edges, data, root=None):
    score = [class_information(data, i) for i in range(data.n)]
    parents, reached = [()] * data.n, set()
    for start in sorted(range(data.n), key=lambda i: (i != root, -score[i], i)):
        queue = [] if start in reached else [start]
        reached.add(start)
        for a in queue:
            for b in range(data.n):
                if ((a, b) in edges or (b, a) in edges) and b not in reached:
                    parents[b] = (a,)
                    reached.add(b)
                    queue.append(b)
    return parents


def fan_parents(data):
    """The forest of edges whose BIC gain is positive."""
    gain = {}
    for i, j in itertools.combinations(range(data.n), 2):
        m = present(data, [i, j])
        free = (data.n_values[i] - 1) * (data.n_values[j] - 1) * data.k
        gain[i, j] = m * conditional_information(data, i, j) - 0.5 * math.log(max(m, 1)) * max(free, 0)
    edges = sorted((e for e in gain if gain[e] > 0), key=lambda e: (-gain[e], e))
    return hang(kruskal(edges, data.n), data)


def dirichlet_score(data, j, contexts, prior):
    """The Bayesian score of column j, ``prior`` in each cell (K2: 1); ``contexts`` are values of others and a class."""
    total = 0.0
    for values, y in contexts:
        cells = [count(data, values | {j: v}, y) for v in range(data.n_values[j])]
        whole = prior * len(cells)
        total += math.lgamma(whole) - math.lgamma(sum(cells) + whole)
        total += sum(math.lgamma(cell + prior) - math.lgamma(prior) for cell in cells)
    return total


def arc_gains(data, prior):
    """The gain of every arc in the score of its child; rows with both columns present."""
    gain = {}
    for i, j in itertools.permutations(range(data.n), 2):
        both = [r for r, row in enumerate(data.rows) if row[i] is not None and row[j] is not None]
        parts = (tuple(part[r] for r in both) for part in (data.rows, data.labels, data.weights))
        part = Data(*parts, data.n_values, data.k)
        if 0 in (data.n_values[i], data.n_values[j]):
            gain[i, j] = 0.0
            continue
        alone = dirichlet_score(part, j, [({}, y) for y in range(data.k)], prior)
        contexts = [({i: v}, y) for y in range(data.k) for v in range(data.n_values[i])]
        gain[i, j] = round(dirichlet_score(part, j, contexts, prior) - alone, 9)
    return gain


def tan_jeffreys_parents(data):
    """The tree that grows by the best arc between inside and outside, each link hung against its arc if it can be."""
    gain, parents, inside = arc_gains(data, 0.5), [()] * data.n, set()
    for _ in range(data.n - 1):
        free = [arc for arc in gain if not inside or len(inside & set(arc)) == 1]
        i, j = min(free, key=lambda arc: (-gain[arc], arc[1], arc[0]))
        if parents[i]:
            parents[j] = (i,)
        else:
            parents[i] = (j,)
        inside |= {i, j}
    return parents


def fan_k2_parents(data):
    """The forest of arcs whose K2 gain is positive, the best first."""
    gain, parents = arc_gains(data, 1.0), [()] * data.n
    for i, j in sorted((arc for arc in gain if gain[arc] > 0), key=lambda arc: (-gain[arc], arc)):
        above = [i]
        while parents[above[-1]]:
            above.append(parents[above[-1]][0])
        if not parents[j] and j not in above:
            parents[j] = (i,)
    return parents


def kdb_parents(data, k):
    score = [class_information(data, i) for i in range(data.n)]
    order = sorted(range(data.n), key=lambda i: (-score[i], i))
    parents = [()] * data.n
    for place, i in enumerate(order):
        ranked = sorted(order[:place], key=lambda j: (-conditional_information(data, i, j), j))
        parents[i] = tuple(ranked[:k])
    return parents


def resolve(data, x, crit, gaps="skip"):
    """The row without values that only repeat a more special one of it (subsumption resolution)."""
    out = list(x)
    for i in range(data.n):
        for j in range(data.n):
            if i == j or x[i] is None or x[j] is None:
                continue
            both = count(data, {i: x[i], j: x[j]})
            of_j, of_i = both_present(data, j, x[j], i), both_present(data, i, x[i], j)
            if gaps == "differ":
                of_j, of_i = count(data, {j: x[j]}), count(data, {i: x[i]})
            if of_j > crit and both == of_j and (both != of_i or j < i):
                out[i] = None
    return tuple(out)


def both_present(data, i, v, j):
    """N(x_i = v) over the rows with x_j present too."""
    pairs = zip(data.rows, data.weights, strict=True)
    return sum(weight for row, weight in pairs if row[i] == v and row[j] is not None)


def cheapest(posterior_: Sequence[float], costs, class_counts):
    """The answer of least expected loss; ties go to the class with more rows, then to the smaller code."""
    k = len(posterior_)
    loss = [sum(posterior_[t] * costs[t][a] for t in range(k)) for a in range(k)]
    return min(range(k), key=lambda a: (round(loss[a], 9), -class_counts[a], a))
