"""TreeClassifier: what trees of classifiers share, however they deal rows out."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tanager.counts.block import Block, Query
from tanager.counts.estimates import Estimate
from tanager.counts.joint import JointCounts
from tanager.encoding import Schema
from tanager.errors import OptionError, SchemaMismatch, check_number, is_number
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.delegate import Delegating
from tanager.learning.leaves import LeafMaker, check_leaf
from tanager.learning.part_scorer import PartScorer, kept_block
from tanager.learning.rows import KeptRows
from tanager.learning.tree_node import TreeNode
from tanager.listed import names_in
from tanager.scoring.forms import Form, naive
from tanager.scoring.scorer import Scorer
from tanager.scoring.view import View
from tanager.shortcuts import public

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Tree(Protocol):
    """How rows are dealt out, as a small immutable value."""

    @property
    def is_leaf(self) -> bool:
        """Whether one classifier answers all rows."""
        ...

    @property
    def size(self) -> int:
        """How many nodes there are."""
        ...

    def to_plain(self) -> dict[str, Any]:
        """Plain data for a model file."""
        ...


@dataclass(eq=False, repr=False, kw_only=True)
class TreeClassifier(CountsClassifier):
    """A tree whose nodes are classifiers, each over counts of the rows that reach it.

    Parameters
    ----------
    leaf : classifier, default=None
        What answers in the leaves: any classifier over counts. None is ``NaiveBayes()``.
    min_rows : float, default=30
        Nodes with fewer rows are leaves.
    min_gain : float, default=0.05
        Share of the errors of a node that a split must take away.
    smoothing : float, Estimate or None, default=None
        Of the leaves; None is that of ``leaf`` itself.
    """

    unlisted = names_in("""
        by_class chosen_scorer default_leaf described grow one_leaf own_leaf part_scorer part_tree path_of
        tree_from_plain
    """)

    leaf: CountsClassifier | None = None
    min_rows: float = 30
    min_gain: float = 0.05
    smoothing: float | Estimate | None = None

    _answers_side_by_side = False  # models of leaves are derived when a row first reaches them
    saves_structure = True
    form_is_all = False
    refresh_ratio = 2.0

    # --- what a subclass says -----------------------------------------------------------------------------------

    def default_leaf(self) -> CountsClassifier:
        """What ``leaf=None`` stands for."""
        raise NotImplementedError

    def grow(self, maker: LeafMaker, counts: JointCounts, rows: KeptRows) -> Tree:
        """The tree that these rows ask for."""
        raise NotImplementedError

    def one_leaf(self) -> Tree:
        """The tree that does not deal rows out."""
        raise NotImplementedError

    def tree_from_plain(self, data: dict[str, Any]) -> Tree:
        """The tree of a model file."""
        raise NotImplementedError

    def part_scorer(self, tree: Any, view: View, maker: LeafMaker) -> PartScorer:
        """What answers where there is more than one leaf."""
        raise NotImplementedError

    def described(self, tree: Any, block: Block, weights: np.ndarray) -> TreeNode:
        """The tree in words, for rows with these weights."""
        raise NotImplementedError

    def path_of(self, tree: Any, query: Query) -> tuple[str, ...]:
        """The tests that lead one row to its leaf, in words."""
        raise NotImplementedError

    # --- what they share ----------------------------------------------------------------------------------------

    def check_options(self) -> None:
        super().check_options()
        check_leaf(self.own_leaf())
        check_number("min_rows", self.min_rows, "a number of rows")
        if not is_number(self.min_gain, 0) or self.min_gain > 1:
            raise OptionError(f"min_gain={self.min_gain!r}: give a share of the errors, from 0 to 1.")

    def own_leaf(self) -> CountsClassifier:
        """The classifier of the leaves, with our smoothing where that is given."""
        leaf: CountsClassifier = self.default_leaf() if self.leaf is None else self.leaf
        if self.smoothing is None or not isinstance(leaf, CountsClassifier):
            return leaf
        return type(leaf)(**leaf.get_params(deep=False) | {"smoothing": self.smoothing})

    @property
    def estimate(self) -> Estimate:
        """The estimate of the leaves."""
        return self.own_leaf().estimate

    def counts_shape(self, schema: Schema) -> dict[str, Any]:
        """What a leaf needs: a tree may be one."""
        return self.own_leaf().counts_shape(schema)

    def _needs_rows(self) -> bool:
        return True

    def _maker(self, counts: JointCounts) -> LeafMaker:
        return LeafMaker(self.own_leaf(), self.encoder_, counts.schema, counts.classes, self.unseen)

    def _structure(self, counts: JointCounts, rows: KeptRows | None) -> Form:
        name = type(self).__name__
        if rows is None:
            raise SchemaMismatch(
                f"{name} looks at the rows to grow its tree, and counts alone do not hold them. Use fit."
            )
        maker = self._maker(counts)
        self._tree = self.grow(maker, counts, rows) if len(rows) else self.one_leaf()
        if not self._tree.is_leaf:
            maker.check_budget(self._tree.size, self.max_memory, name)
            return naive(counts.n_features)  # the form of the counts alone
        leaf = maker.over(counts, rows)  # answers in place of the tree, from our own counts
        return leaf.structure_ if leaf._adaptive() else leaf._structure(counts, rows)

    def _scorer(self, view: View) -> Scorer:
        maker = self._maker(view.counts)
        if self._tree.is_leaf and not isinstance(maker.model, Delegating):
            return maker.over(view.counts, self.memory.rows).scorer_over(view)
        return self.part_scorer(self._tree, view, maker)

    def _choice(self) -> dict[str, Any]:
        return {"tree": self._tree.to_plain()}

    def _take_choice(self, data: dict[str, Any]) -> None:
        self._tree = self.tree_from_plain(data["tree"])

    @property
    def chosen_scorer(self) -> Scorer | None:
        """What answers with the tree as it was grown last; None where none was."""
        return None if self._answering.current is None else self._answering.current.scorer

    @property
    def part_tree(self) -> Tree:
        """The tree as it was grown last, in codes; ``tree_`` says it in words."""
        return self._tree

    @property
    def tree_(self) -> TreeNode:
        """The tree in words, with what the rows that reach every node weigh."""
        _ = self.structure_  # which follows all rows
        block = kept_block(self.memory)
        return self.described(self._tree, block, np.ones(len(block)) if block.weights is None else block.weights)

    def by_class(self, block: Block, weights: np.ndarray) -> dict[Any, float]:
        """What the rows of each class weigh."""
        sums = np.bincount(block.labels, weights, minlength=len(self.classes_))
        return dict(zip(self.classes_.tolist(), sums.tolist(), strict=True))

    def reasons_of(self, query: Query) -> dict[str, Any]:
        """The path of a row that is explained to its leaf.

        Where it goes to several leaves, because a value is missing, their log-odds are shared out by what each has to
        say in the answer.
        """
        return {"path": self.path_of(self._tree, query)}

    def plot(self, path: str | os.PathLike[str] | None = None, **options: Any) -> Figure:
        """Draw the tree; see ``tanager.plot_tree``."""
        figure: Figure = public("plot_tree")(self, path, **options)
        return figure
