"""The average over all trees the slow way: every tree by itself, in plain Python.

Two versions. ``every_tree`` works for any rows: each tree is naive Bayes times the lifts of its edges, weighed by the
Bayes factors of its edges. ``marginal_likelihoods`` looks at complete rows only and knows no edges: the posterior
odds of a class are those of the rows and the query together, under all trees with arcs and Dirichlet priors.
"""

import itertools
import math

import numpy as np


def trees(nodes):
    """All spanning trees, as lists of edges, by Pruefer's codes."""
    nodes = list(nodes)
    n = len(nodes)
    if n < 3:
        yield [tuple(nodes)] if n == 2 else []
        return
    for code in itertools.product(range(n), repeat=n - 2):
        degree = [1 + code.count(i) for i in range(n)]
        edges = []
        for i in code:
            leaf = degree.index(1)
            edges.append((nodes[min(leaf, i)], nodes[max(leaf, i)]))
            degree[leaf] -= 1
            degree[i] -= 1
        last = [i for i in range(n) if degree[i] == 1]
        edges.append((nodes[last[0]], nodes[last[1]]))
        yield edges


class Plain:
    """Weighted rows (None is missing) of n_values, labels below k."""

    def __init__(self, rows, labels, n_values, k, weights=None, ess=10.0, most_range=math.inf):
        weights = [1.0] * len(rows) if weights is None else weights
        self.rows = list(zip(rows, labels, weights, strict=True))
        self.n_values, self.k, self.ess, self.most_range = n_values, k, ess, most_range

    def count(self, y, values, present=()):
        """Weight of the rows of a class with these values, and with a value in these columns."""
        return sum(
            w
            for row, label, w in self.rows
            if label == y and all(row[i] == v for i, v in values.items()) and all(row[i] is not None for i in present)
        )

    def pseudo(self, *columns):
        """The pseudo-count of a cell of these columns and the class."""
        return self.ess / self.k / math.prod(max(1, self.n_values[i]) for i in columns)

    def log_weight(self, u, v):
        total = 0.0
        for y in range(self.k):
            for columns, sign in (((u, v), 1), ((u,), -1), ((v,), -1), ((), 1)):
                for cell in itertools.product(*(range(self.n_values[i]) for i in columns)):
                    count = self.count(y, dict(zip(columns, cell, strict=True)), (u, v))
                    total += sign * (math.lgamma(count + self.pseudo(*columns)) - math.lgamma(self.pseudo(*columns)))
        return total

    def log_weights(self):
        n = len(self.n_values)
        logs = {(u, v): self.log_weight(u, v) for u, v in itertools.combinations(range(n), 2)}
        low, high = min(logs.values(), default=0.0), max(logs.values(), default=0.0)
        if high - low > self.most_range:
            logs = {edge: (log - high) * self.most_range / (high - low) for edge, log in logs.items()}
        return logs

    def lift(self, x, u, v, y):
        present = (u, v)
        both = self.count(y, {u: x[u], v: x[v]}) + self.pseudo(u, v)
        alone = [self.count(y, {i: x[i]}, present) + self.pseudo(i) for i in present]
        return both * (self.count(y, {}, present) + self.pseudo()) / (alone[0] * alone[1])

    def every_tree(self, x):
        """log P(y, x), each tree with its posterior probability among the trees of the columns that x has."""
        here = [i for i, value in enumerate(x) if value is not None]
        logs = self.log_weights()
        total = sum(w for _, _, w in self.rows)
        out = []
        for y in range(self.k):
            naive = (self.count(y, {}) + self.pseudo()) / (total + self.ess)
            for i in here:
                naive *= (self.count(y, {i: x[i]}) + self.pseudo(i)) / (self.count(y, {}, (i,)) + self.pseudo())
            weighed = [(sum(logs[edge] for edge in tree), tree) for tree in trees(here)]
            top = max(log for log, _ in weighed)
            shares = [math.exp(log - top) for log, _ in weighed]
            lifts = [math.prod(self.lift(x, u, v, y) for u, v in tree) for _, tree in weighed]
            mean = sum(s * lift for s, lift in zip(shares, lifts, strict=True)) / sum(shares)
            out.append(math.log(naive) + math.log(mean))
        return np.array(out)

    def marginal_likelihoods(self, x):
        """log of the sum over all trees of P(rows, x, y | tree), with arcs away from the first column."""
        out = []
        for y in range(self.k):
            more = Plain(
                [row for row, _, _ in self.rows] + [x],
                [label for _, label, _ in self.rows] + [y],
                self.n_values,
                self.k,
                [w for _, _, w in self.rows] + [1.0],
                self.ess,
            )
            logs = [more._log_likelihood(tree) for tree in trees(range(len(self.n_values)))]
            top = max(logs)
            out.append(top + math.log(sum(math.exp(log - top) for log in logs)))
        return np.array(out)

    def _log_likelihood(self, tree):
        parent, order = {0: None}, [0]
        for u in order:
            for edge in tree:
                if u in edge and (v := edge[0] if edge[1] == u else edge[1]) not in parent:
                    parent[v] = u
                    order.append(v)
        total = self._family(None, [self.count(y, {}) for y in range(self.k)], self.ess / self.k)
        for v, u in parent.items():
            contexts = [{}] if u is None else [{u: value} for value in range(self.n_values[u])]
            cell = self.pseudo(v) if u is None else self.pseudo(u, v)
            for y, context in itertools.product(range(self.k), contexts):
                counts = [self.count(y, {**context, v: value}) for value in range(self.n_values[v])]
                total += self._family(v, counts, cell)
        return total

    def _family(self, _, counts, cell):
        """Log of the Dirichlet-multinomial likelihood of counts."""
        whole = math.lgamma(cell * len(counts)) - math.lgamma(sum(counts) + cell * len(counts))
        return whole + sum(math.lgamma(count + cell) - math.lgamma(cell) for count in counts)
