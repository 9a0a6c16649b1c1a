"""Random schemas, tables with missing and unseen values, labels, weights and cuts."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np
from hypothesis import strategies as st

import oracle
from tanager import Network

LETTERS = "abcdefgh"


@dataclass(frozen=True)
class Table:
    """Labelled rows of text cells (None is missing), some queries, and the same as codes for the oracle."""

    rows: tuple
    labels: tuple
    queries: tuple
    n_values: tuple
    k: int
    weights: tuple | None = None

    @property
    def n(self):
        return len(self.n_values)

    @property
    def X(self):
        return [list(row) for row in self.rows]

    @property
    def y(self):
        return np.array([f"c{label}" for label in self.labels])

    @property
    def Q(self):
        return [list(row) for row in self.queries]

    @property
    def w(self):
        return None if self.weights is None else np.array(self.weights)

    def dicts(self, rows=None):
        return [{f"x{i}": v for i, v in enumerate(row)} for row in (self.rows if rows is None else rows)]

    def seen(self):
        """Values in order of first appearance, per column."""
        return [list(dict.fromkeys(row[i] for row in self.rows if row[i] is not None)) for i in range(self.n)]

    def data(self, classes=None):
        """The rows as the library's vocabulary has them, for the oracle."""
        seen = self.seen()
        classes = sorted(set(self.labels)) if classes is None else classes
        rows = [[None if v is None else seen[i].index(v) for i, v in enumerate(row)] for row in self.rows]
        labels = [classes.index(label) for label in self.labels]
        return oracle.make(rows, labels, self.weights, [len(values) for values in seen], len(classes))

    def without_weightless_rows(self):
        """Rows of weight 0 teach nothing but their class."""
        keep = [r for r, w in enumerate(self.weights) if w > 0]
        parts = (tuple(part[r] for r in keep) for part in (self.rows, self.labels, self.weights))
        rows, labels, weights = parts
        return replace(self, rows=rows, labels=labels, weights=weights)

    def coded_queries(self, unseen=None):
        seen = self.seen()
        return [
            tuple(None if v is None else seen[i].index(v) if v in seen[i] else unseen for i, v in enumerate(row))
            for row in self.queries
        ]


@st.composite
def tables(draw, min_rows=1, max_rows=25, min_columns=1, max_columns=4, max_values=3, missing=True, weighted=False):
    """Tables whose columns may be constant, empty or partly missing; queries may hold values never seen."""
    n = draw(st.integers(min_columns, max_columns))
    k = draw(st.integers(1, 3))
    m = draw(st.integers(min_rows, max_rows))
    n_values = [draw(st.integers(1, max_values)) for _ in range(n)]
    holes = draw(st.booleans()) if missing else False
    seed = draw(st.integers(0, 2**32 - 1))  # the cells themselves need no shrinking
    rng = np.random.default_rng(seed)
    hidden = rng.integers(0, 4, m)

    def cells(rows, extra):
        out = []
        for r in range(rows):
            row = []
            for i in range(n):
                value = (
                    (hidden[r % m] + i) % n_values[i] if rng.random() < 0.5 else rng.integers(0, n_values[i] + extra)
                )
                row.append(None if holes and rng.random() < 0.2 else LETTERS[int(value)])
            out.append(tuple(row))
        return tuple(out)

    rows = cells(m, 0)
    labels = tuple(int(c) for c in (hidden + rng.integers(0, 2, m)) % k)
    queries = (*cells(6, 1), tuple([None] * n))
    weights = tuple(float(w) for w in rng.integers(0, 9, m) / 4) if weighted else None
    if weights is not None and not any(weights):
        weights = (1.0, *weights[1:])
    return Table(rows, labels, queries, tuple(n_values), k, weights)


def cuts(draw, m):
    """Places at which m rows are cut into chunks."""
    places = sorted(draw(st.lists(st.integers(0, m), max_size=4)))
    edges = sorted({0, m, *places})
    return list(itertools.pairwise(edges))


@st.composite
def networks(draw, min_variables=1, max_variables=6, min_values=1, max_values=3, zeros=False):
    """Networks with tables; the order of the variables is not that of the arcs, and some variables may be constant."""
    n = draw(st.integers(min_variables, max_variables))
    values = {f"v{i}": tuple(LETTERS[: draw(st.integers(min_values, max_values))]) for i in range(n)}
    order = draw(st.permutations(list(values)))
    pairs = list(itertools.combinations(order, 2))
    arcs = [arc for arc in draw(st.permutations(pairs)) if draw(st.integers(0, 2)) == 0]
    network = Network(values, arcs)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    tables = {}
    for name in network:
        cells = rng.dirichlet(np.ones(network.shape(name)[-1]), network.shape(name)[:-1])
        if zeros and network.shape(name)[-1] > 1:
            cells[..., 0] *= rng.random(cells.shape[:-1]) < 0.7
        tables[name] = cells / cells.sum(-1, keepdims=True)
    return network.with_tables(tables)
