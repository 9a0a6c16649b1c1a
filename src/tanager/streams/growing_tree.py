"""GrowingTree: leaves that learn rows in their order, and split where they have seen enough. It knows codes only.

A block of rows is routed column by column. Between two looks leaves do not depend on each other, so that each takes
all its rows up to its next look at once, in compiled code; looks happen in the order of the rows.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from tanager import _kernels, saved
from tanager.counts.align import class_map
from tanager.counts.block import Block, Query
from tanager.counts.joint import JointCounts
from tanager.encoding import Schema
from tanager.encoding.codes import row_array
from tanager.encoding.typing import RowOfCodes
from tanager.errors import DataError, ModelFileError
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.leaves import LeafMaker
from tanager.learning.stream import answer_and_learn_encoded, answer_row, plain_view
from tanager.scoring.decision import TIE


class Leaf:
    """A leaf: its classifier (None before the first row), and how it has done.

    ``learned`` is the weight of the rows that it has learned itself, ``waiting`` that since the last look, ``right``
    that of the rows which its classifier, and the majority of its rows, would have answered correctly. The kernels add
    to these four numbers (``tally``).
    """

    __slots__ = ("bound", "counts", "model", "plan", "tally")

    def __init__(
        self,
        model: CountsClassifier | None = None,
        learned: float = 0.0,
        waiting: float = 0.0,
        right: Sequence[float] = (0.0, 0.0),
    ) -> None:
        self.model = model
        self.tally = np.array([learned, waiting, *right])
        # Where ``bound`` is that of the tree: what answers single rows, and where they are counted.
        self.plan: _kernels.ScoringPlan | None = None
        self.counts: JointCounts | None = None
        self.bound: object = None

    def __getstate__(self) -> Any:
        """Without the kernels, which are bound again."""
        return None, {"model": self.model, "tally": self.tally, "plan": None, "counts": None, "bound": None}

    @property
    def learned(self) -> float:
        """The weight of the rows learned here."""
        return self.tally.item(0)

    @property
    def waiting(self) -> float:
        """The weight of those since the last look."""
        return self.tally.item(1)

    @property
    def right(self) -> tuple[float, float]:
        """The weight of rows that the classifier, and the majority, would have answered correctly."""
        return self.tally.item(2), self.tally.item(3)


@dataclass(eq=False)
class Split:
    """A node with a child for every value that its column had; a row without such a value goes to the heaviest."""

    column: int
    children: list[Leaf | Split]
    heaviest: int


@dataclass
class SplitRule:
    """When a leaf splits: see ``HoeffdingTree``."""

    grace: float
    delta: float
    tie: float
    max_leaves: int

    def bound(self, n_classes: int, n_rows: float) -> float:
        """How far the mean of so many rows may be from the truth, in bits of information about the class."""
        return math.log2(max(n_classes, 2)) * math.sqrt(math.log(1 / self.delta) / (2 * n_rows))


@dataclass(order=True)
class _Group:
    """Rows on their way to a leaf: all before `done` are learned, and the leaf is looked at after row `look`."""

    look: float
    number: int
    leaf: Leaf = field(compare=False)
    rows: np.ndarray = field(compare=False)
    done: int = field(compare=False, default=0)


@dataclass
class GrowingTree:
    """A tree of classifiers over codes."""

    maker: LeafMaker
    rule: SplitRule
    answers: str = "adaptive"
    root: Leaf | Split = field(default_factory=Leaf)
    n_leaves: int = 1
    bound: object = field(default_factory=object)  # another one where plans of leaves may be out of date

    def __getstate__(self) -> dict[str, Any]:
        """All but which leaves are bound."""
        return self.__dict__ | {"bound": object()}

    # --- columns and classes -------------------------------------------------------------------------------------

    def follow(self, schema: Schema, classes: np.ndarray) -> None:
        """The columns have these values now, and there are these classes; leaves follow when they are needed."""
        if schema is not self.maker.schema or classes is not self.maker.classes:
            self.maker.follow(schema, classes)
            self.bound = object()

    def add_columns(self, schema: Schema, n_new: int) -> None:
        """Columns have come at the end, missing in all rows so far."""
        known = len(schema) - n_new
        self.maker.follow(schema, self.maker.classes)
        self.bound = object()
        for leaf in self.leaves():
            if leaf.model is not None:
                wider = leaf.model.counts_shape(schema) if known < 3 else {}
                leaf.model.memory.add_columns(schema, n_new, **wider)
                leaf.model = self.maker.over(leaf.model.counts_, leaf.model.memory.rows)

    def model_of(self, leaf: Leaf) -> CountsClassifier:
        """The classifier of a leaf, which knows all values and classes."""
        schema, classes = self.maker.schema, self.maker.classes
        if leaf.model is None:
            n = len(schema)
            leaf.model = self.maker(Block(np.zeros((0, n), dtype=np.uint8), np.zeros(0, dtype=np.uint8)))
        model = leaf.model
        if len(model.classes_) != len(classes):
            model.memory.move_classes(class_map(model.classes_, classes), classes)
            model.classes_ = classes
        model.memory.follow(schema, classes)
        return model

    def leaves(self) -> Iterator[Leaf]:
        """All leaves, from left to right."""
        waiting: list[Leaf | Split] = [self.root]
        while waiting:
            node = waiting.pop()
            if isinstance(node, Leaf):
                yield node
            else:
                waiting += reversed(node.children)

    def split_columns(self) -> set[int]:
        """The columns that some node asks for."""
        found: set[int] = set()
        waiting: list[Leaf | Split] = [self.root]
        while waiting:
            node = waiting.pop()
            if isinstance(node, Split):
                found.add(node.column)
                waiting += node.children
        return found

    # --- answers ------------------------------------------------------------------------------------------------

    def reached(self, codes: np.ndarray, rows: np.ndarray, node: Leaf | Split) -> Iterator[tuple[Leaf, np.ndarray]]:
        """The leaves that some rows reach from a node on, each with its rows."""
        waiting = [(node, rows)]
        while waiting:
            node, rows = waiting.pop()
            if isinstance(node, Leaf):
                yield node, rows
                continue
            cells = codes[rows, node.column]
            to = np.where(cells < len(node.children), cells, node.heaviest)
            for v in np.unique(to).tolist():
                waiting.append((node.children[v], rows[to == v]))

    def score(self, codes: np.ndarray, *, log_joint: bool = False, fresh: bool = True, n_jobs: int = 1) -> np.ndarray:
        """Probabilities of the classes for every row; with ``fresh`` structures of leaves follow all their rows."""
        out = np.empty((len(codes), len(self.maker.classes)))
        for leaf, rows in self.reached(codes, np.arange(len(codes)), self.root):
            model = self.model_of(leaf)
            if self.by_majority(leaf):
                shares = _shares(model.counts_.class_counts)
                out[rows] = np.log(shares) if log_joint else shares
            else:
                scorer = model.scorer_ if fresh else model.stream_scorer
                out[rows] = scorer.score(Query(codes[rows]), log_joint=log_joint, n_jobs=n_jobs)
        return out

    def by_majority(self, leaf: Leaf) -> bool:
        """Whether a leaf answers with the shares of its classes."""
        return self.answers == "majority" or (self.answers == "adaptive" and leaf.tally.item(3) > leaf.tally.item(2))

    @cached_property
    def _judges(self) -> bool:
        """Whether leaves keep count of who would have been right."""
        return self.answers != "classifier"

    # --- one row ------------------------------------------------------------------------------------------------

    def leaf_of(self, codes: RowOfCodes) -> Leaf:
        """The leaf that one row reaches."""
        node = self.root
        while isinstance(node, Split):
            cell, children = codes[node.column], node.children
            node = children[cell if cell < len(children) else node.heaviest]
        return node

    def answer_row(self, codes: RowOfCodes) -> list[float]:
        """``score`` of one row, as a stream answers."""
        leaf = self.leaf_of(codes)
        plan = leaf.plan if leaf.bound is self.bound else self._bind(leaf)
        answers, tally = self.answers, leaf.tally
        if answers == "majority" or (answers == "adaptive" and tally.item(3) > tally.item(2)):  # as by_majority
            shares: list[float] = _shares(self.model_of(leaf).memory.counts.class_counts).tolist()
            return shares
        return answer_row(self.model_of(leaf), codes) if plan is None else plan.one(codes)

    def _bind(self, leaf: Leaf) -> _kernels.ScoringPlan | None:
        """What answers in a leaf whose classifier has but counts and one structure, with all values and classes."""
        view = plain_view(self.model_of(leaf))
        leaf.bound, leaf.plan, leaf.counts = self.bound, None, None
        if view is not None and not view.counts.sparse:
            leaf.plan, leaf.counts = view.plan, view.counts
        return leaf.plan

    def learn_row(self, codes: RowOfCodes, label: int, weight: float) -> None:
        """``learn`` of one row of known values, by the shortest way."""
        leaf = self.leaf_of(codes)
        plan = leaf.plan if leaf.bound is self.bound else self._bind(leaf)
        counts, waiting = leaf.counts, -1.0
        if plan is not None and counts is not None:
            waiting = plan.learn_judged(codes, label, weight, leaf.tally, self._judges)
        if counts is None or waiting < 0:
            weights = None if weight == 1.0 else np.array([float(weight)])
            self.learn(row_array(codes)[None, :], np.array([label], dtype=np.uint16), weights, answers=False)
            return
        counts.version += 1
        if waiting >= self.rule.grace and self.n_leaves < self.rule.max_leaves:
            split = self._look(leaf)
            if split is not None:
                self._replace(leaf, split)

    # --- learning -----------------------------------------------------------------------------------------------

    def learn(
        self, codes: np.ndarray, labels: np.ndarray, weights: np.ndarray | None, *, answers: bool = True
    ) -> np.ndarray | None:
        """Answer every row from the rows before it, then learn it; the numbers are those of single rows in turn.

        Without ``answers`` nobody wants to see them, which takes less time.
        """
        block = Block(codes, labels, weights)
        out = np.empty((len(block), len(self.maker.classes))) if answers else None
        groups: list[_Group] = []
        self._send(groups, block, np.arange(len(block)), self.root)
        while groups:
            group = heapq.heappop(groups)
            if group.look == math.inf:
                self._run(group, block, out, len(group.rows))
                continue
            end = int(np.searchsorted(group.rows, group.look, side="right"))
            self._run(group, block, out, end)
            split = self._look(group.leaf)
            if split is not None:
                self._replace(group.leaf, split)
                self._send(groups, block, group.rows[end:], split)
            elif end < len(group.rows):
                self._wait(groups, block, _Group(math.inf, len(groups), group.leaf, group.rows, end))
        return out

    def _send(self, groups: list[_Group], block: Block, rows: np.ndarray, node: Leaf | Split) -> None:
        """Route rows from a node on."""
        if len(rows):
            for leaf, own in self.reached(block.codes, rows, node):
                self._wait(groups, block, _Group(math.inf, len(groups), leaf, own))

    def _wait(self, groups: list[_Group], block: Block, group: _Group) -> None:
        """Find the row after which a leaf is looked at, and let its rows wait until then."""
        rest = group.rows[group.done :]
        if self.n_leaves < self.rule.max_leaves:
            weights = np.ones(len(rest)) if block.weights is None else block.weights[rest]
            enough = np.flatnonzero(_sums(group.leaf.waiting, weights)[1:] >= self.rule.grace)
            if len(enough):
                group.look = float(rest[enough[0]])
        heapq.heappush(groups, group)

    def _run(self, group: _Group, block: Block, out: np.ndarray | None, end: int) -> None:
        """Let a leaf answer and learn its rows up to `end`."""
        rows, leaf = group.rows[group.done : end], group.leaf
        group.done = end
        if not len(rows):
            return
        part = block if len(rows) == len(block) else block.part(rows)
        if out is None and self._learn_unasked(leaf, part):
            return
        model = self.model_of(leaf)
        before = model.counts_.class_counts
        proba = answer_and_learn_encoded(model, part)
        weights = np.ones(len(rows)) if part.weights is None else part.weights
        leaf.tally[:2] = _sums(leaf.learned, weights)[-1], _sums(leaf.waiting, weights)[-1]
        chosen = proba if self.answers == "classifier" else self._chosen(leaf, before, part, weights, proba)
        if out is not None:
            out[rows] = chosen

    def _learn_unasked(self, leaf: Leaf, part: Block) -> bool:
        """Let a leaf learn rows whose answers nobody wants in one call of the kernels; whether it was for them."""
        plan = leaf.plan if leaf.bound is self.bound else self._bind(leaf)
        if plan is None or leaf.counts is None:
            return False
        done = plan.learn_rows_judged(part.codes, part.labels, part.weights, leaf.tally, self._judges)
        if done < len(part):
            raise DataError(f"row {done} has a value or class that its leaf does not know.")
        leaf.counts.version += done
        return True

    def _chosen(
        self, leaf: Leaf, before: np.ndarray, part: Block, weights: np.ndarray, proba: np.ndarray
    ) -> np.ndarray:
        """For every row the answer of the classifier or of the majority, as each has done in the rows before it."""
        own = np.zeros((len(part) + 1, proba.shape[1]))
        own[0] = before
        own[np.arange(1, len(part) + 1), part.labels] = weights
        majority = _shares(np.cumsum(own, axis=0)[:-1])
        by_classifier = _sums(leaf.right[0], weights * _right(proba, part.labels))
        by_majority = _sums(leaf.right[1], weights * _right(majority, part.labels))
        leaf.tally[2:] = by_classifier[-1], by_majority[-1]
        if self.answers == "majority":
            return majority
        return np.where((by_majority > by_classifier)[:-1, None], majority, proba)

    # --- splits ---------------------------------------------------------------------------------------------------

    def _look(self, leaf: Leaf) -> Split | None:
        """Split a leaf where the best column is better than all others beyond chance, or hardly differs from them."""
        leaf.tally[1] = 0.0
        model = self.model_of(leaf)
        counts = model.counts_
        if np.count_nonzero(counts.class_counts) < 2:
            return None
        gains = _gains(counts, leaf.learned)
        sizes = counts.schema.n_values
        gains[self.n_leaves - 1 + sizes > self.rule.max_leaves] = 0.0
        single = [column.kind == "numeric" and column.by_value for column in counts.schema.columns]
        gains[single] = 0.0  # numbers that are yet to be cut, often a row for each
        best = int(np.argmax(gains))
        second = max(np.delete(gains, best).max(initial=0.0), 0.0)
        bound = self.rule.bound(counts.n_classes, leaf.learned)
        if gains[best] <= 0 or (gains[best] - second <= bound and bound >= self.rule.tie):
            return None
        return self._split(model, best, int(sizes[best]))

    def _split(self, model: CountsClassifier, column: int, n_values: int) -> Split:
        """A child for every value. What is known of the rows of a child are their classes, and this value.

        Rows whose value is unknown, those from before this leaf among them, are shared out as others of their class,
        or as all others where none of its class has a value.
        """
        table = model.counts_.joint(column)
        known = table.sum(axis=1, keepdims=True)
        of_all = table.sum(axis=0) / known.sum()  # where no row of a class has a value
        table = (
            np.where(known > 0, table / np.where(known > 0, known, 1.0), of_all) * model.counts_.class_counts[:, None]
        )
        children: list[Leaf | Split] = []
        for v in range(n_values):
            labels = np.flatnonzero(table[:, v] > 0)
            codes = np.full((len(labels), model.counts_.n_features), 65535, dtype=np.uint16)
            codes[:, column] = v
            rows = Block(codes, labels.astype(np.uint16), table[labels, v])
            children.append(Leaf(self.maker(rows)) if len(labels) else Leaf())
        return Split(column, children, int(np.argmax(table.sum(axis=0))))

    def _replace(self, leaf: Leaf, split: Split) -> None:
        self.n_leaves += len(split.children) - 1
        if self.root is leaf:
            self.root = split
            return
        waiting = [self.root]
        while waiting:
            node = waiting.pop()
            if isinstance(node, Split):
                for place, child in enumerate(node.children):
                    if child is leaf:
                        node.children[place] = split
                        return
                waiting += node.children

    # --- files --------------------------------------------------------------------------------------------------

    def to_plain(self) -> tuple[dict[str, Any], list[CountsClassifier]]:
        """Plain data, and the classifiers of the leaves."""
        models: list[CountsClassifier] = []

        def plain(node: Leaf | Split) -> dict[str, Any]:
            if isinstance(node, Split):
                children = [plain(child) for child in node.children]
                return {"column": node.column, "heaviest": node.heaviest, "children": children}
            if node.model is not None:
                models.append(self.model_of(node))
            place = None if node.model is None else len(models) - 1
            return {"model": place, "learned": node.learned, "waiting": node.waiting, "right": list(node.right)}

        return plain(self.root), models

    def take_plain(self, data: Mapping[str, Any], models: Sequence[CountsClassifier]) -> None:
        """Take back what ``to_plain`` gave; unsound data are refused."""
        n_features = len(self.maker.schema)

        def node(own: Mapping[str, Any]) -> Leaf | Split:
            if "column" in own:
                children = [node(child) for child in own["children"]]
                expected = {"column": saved.whole(0, n_features - 1), "heaviest": saved.whole(0, len(children) - 1)}
                column, heaviest = saved.read("nodes of its tree", own, expected).values()
                if len(children) > self.maker.schema.n_values[column]:
                    raise ModelFileError("a node of its tree has more children than its column has values")
                return Split(column, children, heaviest)
            place, learned, waiting, right = saved.read("leaves of its tree", own, leaf).values()
            if place is None:
                return Leaf(None, learned, waiting, right)
            taken.append(place)
            if models[place].counts_.n_features != n_features:
                raise ModelFileError("its leaves do not fit its columns")
            models[place].encoder_ = self.maker.encoder
            return Leaf(models[place], learned, waiting, right)

        weight, taken = saved.number(0.0), list[int]()
        leaf = {
            "model": saved.maybe(saved.whole(0, len(models) - 1)),
            "learned": weight,
            "waiting": weight,
            "right": saved.row(weight, weight),
        }
        self.root = node(data)
        if len(set(taken)) < len(taken):
            raise ModelFileError("two leaves of its tree are the same model")
        self.n_leaves = sum(1 for _ in self.leaves())


def _gains(counts: JointCounts, learned: float) -> np.ndarray:
    """I(column; class) in bits over the rows with the column present, times the share of these rows.

    The same as ``class_information``, for all columns at once: leaves are looked at often.
    """
    cells = counts.singles / counts.scale
    cells[counts.offsets[1:] - 1] = 0.0  # missing
    starts = counts.offsets[:-1]
    by_value, by_class = cells.sum(axis=1), np.add.reduceat(cells, starts)
    rows = np.add.reduceat(by_value, starts)
    of_cells = np.add.reduceat(_n_log_n(cells).sum(axis=1) - _n_log_n(by_value), starts)
    total = of_cells + _n_log_n(rows) - _n_log_n(by_class).sum(axis=1)
    gains = np.divide(total, rows, out=np.zeros_like(total), where=rows > 0) / math.log(2)
    return np.asarray(np.round(np.maximum(gains * np.minimum(rows / learned, 1.0), 0.0), 12))


def _n_log_n(n: np.ndarray) -> np.ndarray:
    return n * np.log(np.where(n > 0, n, 1.0))


def _sums(start: float, values: np.ndarray) -> np.ndarray:
    """The sums after 0, 1, 2... values, added one after the other as single rows would be."""
    return np.cumsum(np.concatenate([[start], values]))


def _shares(counts: np.ndarray) -> np.ndarray:
    """Shares of the classes by Laplace's rule."""
    shares: np.ndarray = (counts + 1) / (counts.sum(axis=-1, keepdims=True) + counts.shape[-1])
    return shares


def _right(proba: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Whether no other class was more probable than the true one."""
    right: np.ndarray = proba[np.arange(len(labels)), labels] >= proba.max(axis=1) - TIE
    return right
