"""The Hoeffding tree once more, slowly and as its documentation says: dicts, loops, one row at a time.

Leaves hold naive Bayes with Laplace's rule; rows are lists of texts, None where missing.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field

TIE = 1e-12


@dataclass
class Leaf:
    """What a leaf knows: weights of classes, weights of (column, value, class), and how it has done."""

    classes: dict = field(default_factory=lambda: defaultdict(float))
    cells: dict = field(default_factory=lambda: defaultdict(float))
    learned: float = 0.0
    waiting: float = 0.0
    right_by_bayes: float = 0.0
    right_by_majority: float = 0.0


@dataclass
class Split:
    """A column, the values that it had, a child for each, and the child for rows without such a value."""

    column: int
    values: list
    children: list
    heaviest: int


class SlowHoeffdingTree:
    """Every row is answered from the rows before it, and then learned."""

    def __init__(self, grace, delta, tie, max_leaves=1000, leaf_answers="adaptive"):
        self.grace, self.delta, self.tie = grace, delta, tie
        self.max_leaves, self.leaf_answers = max_leaves, leaf_answers
        self.root = Leaf()
        self.values = []  # of each column, in the order in which they came
        self.classes = []
        self.started = False

    def answer(self, row):
        """Probabilities by class; empty before the first row that weighs something."""
        return self._answer_of(self._leaf_of(row), row) if self.started else {}

    def learn(self, row, label, weight=1.0):
        self.values = self.values or [[] for _ in row]
        if label is not None and label not in self.classes:  # known from now on, also where the row weighs nothing
            self.classes.append(label)
        if label is None or weight == 0:
            return
        self.started = True
        self._take_in(row)
        leaf = self._leaf_of(row)
        leaf.right_by_bayes += weight * _right(self._bayes(leaf, row), label)
        leaf.right_by_majority += weight * _right(self._majority(leaf), label)
        leaf.classes[label] += weight
        for column, value in enumerate(row):
            if value is not None:
                leaf.cells[column, value, label] += weight
        leaf.learned += weight
        leaf.waiting += weight
        if leaf.waiting >= self.grace and self.n_leaves < self.max_leaves:
            leaf.waiting = 0.0
            self._look(leaf)

    def _take_in(self, row):
        """New values come after those that are known."""
        for column, value in enumerate(row):
            if value is not None and value not in self.values[column]:
                self.values[column].append(value)

    def _leaf_of(self, row):
        node = self.root
        while isinstance(node, Split):
            value = row[node.column]
            node = node.children[node.values.index(value) if value in node.values else node.heaviest]
        return node

    # --- answers ------------------------------------------------------------------------------------------------

    def _answer_of(self, leaf, row):
        adaptive = self.leaf_answers == "adaptive" and leaf.right_by_majority > leaf.right_by_bayes
        return self._majority(leaf) if self.leaf_answers == "majority" or adaptive else self._bayes(leaf, row)

    def _majority(self, leaf):
        total = sum(leaf.classes.values()) + len(self.classes)
        return {c: (leaf.classes[c] + 1) / total for c in self.classes}

    def _bayes(self, leaf, row):
        """P(y) times P(x | y) over the columns whose value is there and known."""
        scores = {}
        for c, prior in self._majority(leaf).items():
            score = prior
            for column, value in enumerate(row):
                if value in self.values[column]:
                    present = sum(leaf.cells[column, v, c] for v in self.values[column])
                    score *= (leaf.cells[column, value, c] + 1) / (present + len(self.values[column]))
            scores[c] = score
        total = sum(scores.values())
        return {c: score / total for c, score in scores.items()}

    # --- splits -------------------------------------------------------------------------------------------------

    def _look(self, leaf):
        if sum(n > 0 for n in leaf.classes.values()) < 2:
            return
        gains = [self._gain(leaf, column) for column in range(len(self.values))]
        for column, values in enumerate(self.values):
            if self.n_leaves - 1 + len(values) > self.max_leaves:
                gains[column] = 0.0
        best = gains.index(max(gains))
        second = max([gain for column, gain in enumerate(gains) if column != best], default=0.0)
        bound = math.log2(max(len(self.classes), 2)) * math.sqrt(math.log(1 / self.delta) / (2 * leaf.learned))
        if gains[best] > 0 and (gains[best] - second > bound or bound < self.tie):
            self._replace(leaf, self._split(leaf, best))

    def _gain(self, leaf, column):
        """H(class) - H(class | column), over the rows with a value, times the share of these rows."""
        by_value = {v: [leaf.cells[column, v, c] for c in self.classes] for v in self.values[column]}
        rows = sum(sum(part) for part in by_value.values())
        if rows == 0:
            return 0.0
        whole = [sum(part[c] for part in by_value.values()) for c in range(len(self.classes))]
        inside = sum(sum(part) / rows * _entropy(part) for part in by_value.values())
        return round(max((_entropy(whole) - inside) * min(rows / leaf.learned, 1.0), 0.0), 12)

    def _split(self, leaf, column):
        """A child knows the classes of the rows with its value; rows without one are dealt out likewise."""
        values = list(self.values[column])
        everywhere = sum(leaf.cells[column, v, c] for v in values for c in self.classes)
        children = []
        for v in values:
            child = Leaf()
            of_all = sum(leaf.cells[column, v, c] for c in self.classes) / everywhere
            for c in self.classes:
                known = sum(leaf.cells[column, w, c] for w in values)
                share = leaf.cells[column, v, c] / known if known > 0 else of_all
                child.classes[c] = child.cells[column, v, c] = share * leaf.classes[c]
            children.append(child)
        weights = [sum(child.classes.values()) for child in children]
        return Split(column, values, children, weights.index(max(weights)))

    def _replace(self, leaf, split):
        def replaced(node):
            if node is leaf:
                return split
            if isinstance(node, Split):
                node.children = [replaced(child) for child in node.children]
            return node

        self.root = replaced(self.root)

    @property
    def n_leaves(self):
        return _n_leaves(self.root)

    def structure(self, node=None):
        """The tree as plain data: a leaf is the weights of its classes, a split its column and children by value."""
        node = self.root if node is None else node
        if isinstance(node, Leaf):
            return {c: node.classes[c] for c in self.classes}
        children = zip(node.values, node.children, strict=True)
        return node.column, {value: self.structure(child) for value, child in children}


def _n_leaves(node):
    return 1 if isinstance(node, Leaf) else sum(_n_leaves(child) for child in node.children)


def _entropy(weights):
    total = sum(weights)
    return -sum(w / total * math.log2(w / total) for w in weights if w > 0)


def _right(answer, label):
    """Whether no other class was more probable than the true one."""
    return answer[label] >= max(answer.values()) - TIE
