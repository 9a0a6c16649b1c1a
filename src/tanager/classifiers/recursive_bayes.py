"""RecursiveBayes: naive Bayes whose answers deal the rows out to further naive Bayes classifiers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tanager import saved
from tanager.classifiers.naive_bayes import NaiveBayes
from tanager.counts.block import Block, Query
from tanager.counts.joint import JointCounts
from tanager.encoding.typing import RowOfCodes
from tanager.errors import ModelFileError
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.leaves import LeafMaker
from tanager.learning.memory import Memory
from tanager.learning.part_scorer import PartScorer, Portion
from tanager.learning.rows import KeptRows
from tanager.learning.tree_classifier import TreeClassifier
from tanager.learning.tree_node import TreeNode
from tanager.scoring.decision import TIE, decide
from tanager.scoring.view import View

HAIR = 1e-9  # of the weight of rows that rounding may add or take


@dataclass(frozen=True)
class AnswerTree:
    """Which answers of a classifier are asked again, of another one that has learned the rows with this answer."""

    classes: tuple[int, ...] = ()
    children: tuple[AnswerTree, ...] = ()

    @property
    def is_leaf(self) -> bool:
        """Whether every answer stands."""
        return not self.children

    @cached_property
    def size(self) -> int:
        """How many classifiers there are."""
        return 1 + sum(child.size for child in self.children)

    def below(self, at: int) -> Iterator[tuple[int, int, AnswerTree]]:
        """For every child of this node, which has the number ``at``: the answer, its number, and the child."""
        at += 1
        for c, child in zip(self.classes, self.children, strict=True):
            yield c, at, child
            at += child.size

    def nodes(self, at: int = 0) -> Iterator[tuple[int, AnswerTree]]:
        """Every node with its number, each before its children."""
        yield at, self
        for _, place, child in self.below(at):
            yield from child.nodes(place)

    def to_plain(self) -> dict[str, Any]:
        """Plain data for a model file."""
        children = [child.to_plain() for child in self.children]
        return {"classes": list(self.classes), "children": children} if children else {}

    @classmethod
    def from_plain(cls, data: dict[str, Any], n_classes: int) -> AnswerTree:
        """The tree that ``to_plain`` wrote; unsound data are refused."""
        expected = saved.items(saved.whole(0, n_classes - 1), distinct=True)
        classes = saved.field("nodes of its tree", {"classes": []} | data, "classes", expected)
        children = tuple(cls.from_plain(child, n_classes) for child in data.get("children", ()))
        if len(classes) != len(children):
            raise ModelFileError(f"a node of its tree has {len(children)} children for {len(classes)} classes")
        return cls(classes, children)


class AnswerScorer(PartScorer):
    """Answers of the last classifier that a row comes to.

    The first ``n_first`` rows (None: all that are kept now) are dealt out together: each goes the way that classifiers
    which have learned all of them say. Rows that come later go one after the other, and the ways of all others stay
    until the tree is grown again. Where old rows are forgotten, all are dealt out again for every answer.
    """

    def __init__(
        self, tree: AnswerTree, view: View, memory: Memory, maker: LeafMaker, n_first: int | None = None
    ) -> None:
        super().__init__(view, memory, maker)
        self.tree = tree
        self._next = [{c: place for c, place, _ in node.below(at)} for at, node in tree.nodes()]
        self.models: dict[int, CountsClassifier] = {}
        rows = memory.rows
        assert rows is not None
        self.n_first = len(rows) if n_first is None else n_first
        self._changes = rows.changes  # that the first rows are from

    def _build(self, block: Block) -> None:
        rows = self.memory.rows
        assert rows is not None
        if self.memory.clock is not None or rows.changes != self._changes or self.n_first > len(block):
            self.n_first, self._changes = len(block), rows.changes
        waiting = [(0, self.tree, block.part(slice(self.n_first)))]
        while waiting:
            at, node, part = waiting.pop()
            model = self.models[at] = self.maker(part)
            answers = answers_of(model, part.query) if node.children else np.zeros(0)
            waiting += [(place, child, part.part(answers == c)) for c, place, child in node.below(at)]
        if self.n_first < len(block):
            self._add(block.part(slice(self.n_first, None)))

    def _add(self, block: Block) -> bool:
        if self.memory.clock is not None:
            return False
        weights = np.ones(len(block)) if block.weights is None else block.weights
        for r in range(len(block)):
            self._add_row(block.codes[r], block.labels.item(r), weights.item(r))
        return True

    def _add_row(self, codes: RowOfCodes, label: int, weight: float) -> bool:
        if self.memory.clock is not None:
            return False
        self._way(codes, (label, weight))
        return True

    def _row_proba(self, codes: RowOfCodes) -> list[float]:
        return self._way(codes)[1]

    def _way(self, codes: RowOfCodes, learn: tuple[int, float] | None = None) -> tuple[list[int], list[float]]:
        """The answers of one row that lead on to another classifier, and what the last one says.

        Every classifier on the way learns the row first, where that is asked for; the last one is not asked then.
        """
        at, answers = 0, list[int]()
        while True:
            model, after = self.models[at], self._next[at]
            row = self.row_plan(model)
            if learn is not None:
                row.learn(codes, *learn)
                if not after:
                    return answers, []
            proba = row.answer(codes)
            if not after or (answer := _answer_of(model, proba)) not in after:
                return answers, proba
            answers.append(answer)
            at = after[answer]

    def _route(self, rows: Query | Block) -> Iterable[Portion]:
        everything = np.arange(len(rows))
        waiting = [(0, self.tree, everything, np.ones(len(rows), dtype=bool))]
        while waiting:
            at, node, which, learned = waiting.pop()
            model, stay = self.models[at], np.ones(len(which), dtype=bool)
            if node.children:
                query = rows.query if isinstance(rows, Block) else rows
                told = answers_of(model, query.part(which))  # where a row was learned, this is the way it went
                answers = told if isinstance(rows, Query) else _left_out_answers(model, rows.part(which), told, learned)
                for c, place, child in node.below(at):
                    own = answers == c
                    stay &= ~own
                    if own.any():
                        waiting.append((place, child, which[own], (learned & (told == c))[own]))
            if stay.any():
                yield Portion(model, which[stay], np.ones(int(stay.sum())), learned[stay])

    def path(self, query: Query) -> list[int]:
        """The answers of one row that are asked again."""
        self.follow()
        return self._way(query.codes[0])[0]


def _answer_of(model: CountsClassifier, proba: list[float]) -> int:
    """The class that a classifier answers with that gives these probabilities to a row."""
    most = max(proba)
    tied = [c for c, p in enumerate(proba) if p >= most - TIE]
    if len(tied) == 1:
        return tied[0]
    weights = model.class_count_.tolist()
    return max(tied, key=lambda c: (weights[c], -c))


def answers_of(model: CountsClassifier, query: Query) -> np.ndarray:
    """The classes that a classifier answers with."""
    if not len(query):
        return np.zeros(0, dtype=np.int64)
    return decide(model.scorer_.score(query), model.class_count_, None)


def _left_out_answers(model: CountsClassifier, block: Block, told: np.ndarray, learned: np.ndarray) -> np.ndarray:
    """The answers to rows as if those that were learned had not been."""
    answers = told.copy()
    if learned.any():
        answers[learned] = decide(model.leave_out(block.part(learned)), model.class_count_, None)
    return answers


@dataclass(eq=False, repr=False, kw_only=True)
class RecursiveBayes(TreeClassifier):
    """Naive Bayes whose answers are asked again: the rows that get one answer have a naive Bayes of their own.

    Where naive Bayes goes wrong, it often does so in the same way for many rows; among the rows with one
    answer a second classifier finds those that are of another class. Choose it where classes lie in several separate
    regions. Keeps the rows it has learned, a byte or two per cell.

    Parameters
    ----------
    leaf : classifier, default=None
        What answers at every step: any classifier over counts. None is ``NaiveBayes()``.
    min_rows : float, default=30
        Answers that fewer rows get are not asked again.
    min_gain : float, default=0.05
        Share of the errors among the rows with one answer that a classifier for these must take away.
    smoothing : float, Estimate or None, default=None
        Of all classifiers; None is that of ``leaf`` itself.

    Attributes
    ----------
    tree_ : TreeNode
        The tree in words: which answers are asked again, and the rows that get them.

    Notes
    -----
    After Langley (1993). Errors are those of rows left out, so a step costs O(n m k). A row that is left out goes the
    way it would go if the classifiers on it had not learned it; the ways of all others stay. In a stream a new row goes
    its way through the classifiers and is learned by them; all rows are dealt out again when the tree is grown again.

    Examples
    --------
    Whether exactly two of three switches are on. Naive Bayes is right in four of the eight cases.

    >>> from itertools import product
    >>> from tanager import RecursiveBayes
    >>> X = [list(row) for row in product(["on", "off"], repeat=3)] * 40
    >>> model = RecursiveBayes().fit(X, ["two" if row.count("on") == 2 else "not two" for row in X])
    >>> print(model.tree_)
    answer = not two: NaiveBayes, 280 rows, not two 57%, two 43%
    answer = two: NaiveBayes, 40 rows, not two 100%
    >>> model.predict([["on", "on", "off"], ["on", "on", "on"]])
    array(['two', 'not two'], dtype='<U7')
    """

    def default_leaf(self) -> CountsClassifier:
        """Naive Bayes."""
        return NaiveBayes()

    def grow(self, maker: LeafMaker, counts: JointCounts, rows: KeptRows) -> AnswerTree:
        """Ask answers again as long as fewer rows that are left out go wrong."""
        if rows.weight < self.min_rows - HAIR:  # as at every look at the first rows of a stream
            return AnswerTree()
        block = rows.block
        # Rows that count once each add up to the same numbers in any order, so that they need not be counted again.
        counted = block.weights is None and counts.scale == 1.0
        return self._grown(maker, block, maker.over(counts, rows) if counted else maker(block))

    def _grown(self, maker: LeafMaker, block: Block, model: CountsClassifier) -> AnswerTree:
        answers, found = answers_of(model, block.query), dict[int, AnswerTree]()
        weights = np.ones(len(block)) if block.weights is None else block.weights
        if (answers == answers[0]).all():
            return AnswerTree()
        wrong: np.ndarray | None = None
        for c in np.unique(answers).tolist():
            own = answers == c
            if weights[own].sum() < self.min_rows or not (block.labels[own & (weights > 0)] != c).any():
                continue
            if wrong is None:
                wrong = _wrong(model, block)
            part = block.part(own)
            child = maker(part)
            before, after = float(wrong[own].sum()), float(_wrong(child, part).sum())
            if after < before - 1e-9 and before - after >= self.min_gain * before - 1e-12:
                found[c] = self._grown(maker, part, child)
        return AnswerTree(tuple(found), tuple(found.values()))

    def one_leaf(self) -> AnswerTree:
        """Every answer stands."""
        return AnswerTree()

    def tree_from_plain(self, data: dict[str, Any]) -> AnswerTree:
        """The tree of a model file."""
        return AnswerTree.from_plain(data, len(self.classes_))

    def part_scorer(self, tree: AnswerTree, view: View, maker: LeafMaker) -> AnswerScorer:
        """The last classifier answers."""
        return AnswerScorer(tree, view, self.memory, maker, self.__dict__.pop("_n_first", None))

    def _choice(self) -> dict[str, Any]:
        scorer = self.chosen_scorer
        if not isinstance(scorer, AnswerScorer):
            return super()._choice()
        scorer.follow()
        return super()._choice() | {"n_first": scorer.n_first}

    def _take_choice(self, data: dict[str, Any]) -> None:
        super()._take_choice(data)
        if "n_first" in data:  # which older files do not have
            self._n_first = saved.field("rows of its tree", data, "n_first", saved.whole())

    def described(self, tree: AnswerTree, block: Block, weights: np.ndarray) -> TreeNode:
        """The tree in words: answers that stand, and classifiers for those that do not."""
        maker = LeafMaker(self.own_leaf(), self.encoder_, self.counts_.schema, self.counts_.classes, self.unseen)

        def node(own: AnswerTree, rows: np.ndarray) -> TreeNode:
            part = block.part(rows)
            counts = self.by_class(part, weights[rows])
            if own.is_leaf:
                return TreeNode(counts, type(maker.model).__name__)
            answers, branches = answers_of(maker(part), part.query), list[tuple[str, TreeNode]]()
            children = dict(zip(own.classes, own.children, strict=True))
            for c, label in enumerate(self.classes_.tolist()):
                among = rows[answers == c]
                if c in children:
                    branches.append((str(label), node(children[c], among)))
                elif len(among):
                    stands = TreeNode(self.by_class(block.part(among), weights[among]), "as answered")
                    branches.append((str(label), stands))
            return TreeNode(counts, "", "answer", tuple(branches))

        return node(tree, np.arange(len(block)))

    def path_of(self, tree: AnswerTree, query: Query) -> tuple[str, ...]:
        """The answers that were asked again."""
        scorer = self.uncalibrated()
        if not isinstance(scorer, AnswerScorer):
            return ()
        return tuple(f"answer = {self.classes_.tolist()[c]}" for c in scorer.path(query))


def _wrong(model: CountsClassifier, block: Block) -> np.ndarray:
    """The weight of every row that goes wrong where it is left out."""
    weights = np.ones(len(block)) if block.weights is None else block.weights
    return np.where(decide(model.leave_out(block.once), model.class_count_, None) == block.labels, 0.0, weights)
