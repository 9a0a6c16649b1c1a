"""NBTree: a decision tree with a naive Bayes classifier, or another one, in every leaf."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from tanager import _kernels
from tanager.classifiers.naive_bayes import NaiveBayes
from tanager.counts.block import Block, Query
from tanager.counts.joint import JointCounts
from tanager.errors import OptionError, check_number, check_option
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.dealing import deal
from tanager.learning.held_out import chooses_by_rows
from tanager.learning.leaves import LeafMaker
from tanager.learning.network_learner import sample_of
from tanager.learning.part_scorer import TreeScorer
from tanager.learning.rows import KeptRows
from tanager.learning.search_rows import MOST_STEPS
from tanager.learning.tree_classifier import TreeClassifier
from tanager.learning.tree_node import TreeNode
from tanager.learning.value_tree import ValueTree
from tanager.learning.weka_folds import WekaGrower
from tanager.scoring.decision import decide
from tanager.scoring.view import View

HAIR = 1e-9  # of the weight of rows that rounding may add or take
MANY_COLUMNS = 100  # beyond, leaves that count pairs of columns are judged by as many folds as take MOST_STEPS
MOST_TRIED = 200  # columns, for each split
FEWEST_JUDGES = 200  # rows, if there are as many


class Known(NamedTuple):
    """What a leaf for some rows gets right, and in how many folds; with one, the counts it has answered from."""

    right: float
    n_folds: int
    counts: JointCounts | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class NBTree(TreeClassifier):
    """A decision tree that splits as long as naive Bayes gets better by it; its leaves are naive Bayes classifiers.

    A column that naive Bayes cannot do justice to, because what others say depends on it, becomes a split; where
    columns add up, a leaf takes them all in. Choose it for large tables in which a few columns decide how the others
    are to be read, and for a picture of that. Keeps the rows it has learned, a byte or two per cell.

    Parameters
    ----------
    leaf : classifier, default=None
        What answers in the leaves, and what the splits are chosen for: any classifier over counts. None is
        ``NaiveBayes()``; others, such as ``AODE()``, take longer to learn (see ``judge``).
    min_rows : float, default=30
        Nodes with fewer rows are leaves.
    min_child : float, default=10
        At least two children of a split have so many rows.
    min_gain : float, default=0.05
        Share of the errors of a node that a split must take away.
    folds : int or "weka", default=5
        Errors are those of cross-validation in so many folds. With "weka" the tree is that of Weka, whose five folds
        follow the order of the rows, and parts of a split with fewer than ``min_child`` rows count as wrong.
    missing : {"share", "heaviest"}, default="share"
        Where a row goes that has no value in the column of a split, in learning and in answers: to all children, shared
        out by their rows, or to the one with the most rows.
    judge : {"leaf"} or None, default=None
        Whose errors choose the column of a split. None: those of naive Bayes, whatever answers in the leaves; whether
        to split by that column is then decided by the errors of the leaves themselves. "leaf": those of the leaves in
        both cases, which takes as many times longer as there are columns. For leaves of naive Bayes both are one.
    smoothing : float, Estimate or None, default=None
        Of the leaves; None is that of ``leaf`` itself.
    random_state : int or None, default=None
        For the folds; None is a fixed seed.

    Attributes
    ----------
    tree_ : TreeNode
        The tree in words, with the rows of every node; ``print(model.tree_)`` shows it.

    Notes
    -----
    Kohavi (1996). A node costs one cross-validation of naive Bayes for every column, O(n² m k), in compiled code; other
    leaves are cross-validated twice more, for the node and for its best split. Rows are dealt out to folds once, by
    what they are: neither their order nor chunks change the tree. A row left out leaves its leaf; the tree stays.
    With more than 200 columns, a node tries to split by the 200 that tell most about the class of its rows. With more
    than 100, leaves that count pairs of columns (AODE), and the columns that naive Bayes proposes for them, are judged
    by as many of the folds as take 1e9 steps (rows columns² classes), by 200 rows at least, and parts with fewer than
    two rows for each column are leaves.

    Examples
    --------
    Whether two coins agree: no single column tells anything, and naive Bayes cannot tell, either.

    >>> from tanager import NBTree
    >>> X = [["heads", "heads"], ["heads", "tails"], ["tails", "heads"], ["tails", "tails"]] * 20
    >>> model = NBTree().fit(X, ["yes", "no", "no", "yes"] * 20)
    >>> print(model.tree_)
    x0 = heads: NaiveBayes, 40 rows, no 50%, yes 50%
    x0 = tails: NaiveBayes, 40 rows, no 50%, yes 50%
    >>> model.predict_proba([["heads", "heads"]]).round(4)  # 21/22 to 1/22
    array([[0.0455, 0.9545]])
    """

    min_child: float = 10
    folds: int | str = 5
    missing: str = "share"
    judge: str | None = None
    random_state: int | None = None

    def check_options(self) -> None:
        super().check_options()
        check_number("min_child", self.min_child, "a number of rows")
        check_option("missing", self.missing, ("share", "heaviest"))
        check_option("judge", self.judge, (None, "leaf"))
        if self.folds == "weka":
            leaf = self.own_leaf()
            if _pseudo_counts(leaf, np.ones(1), 2) is None:
                raise OptionError(f'folds="weka" is for leaves of NaiveBayes that smooth, not {leaf!r}. Give a number.')
        elif isinstance(self.folds, bool) or not isinstance(self.folds, int | np.integer) or self.folds < 2:
            raise OptionError(f'folds={self.folds!r}: give a whole number of folds of at least 2, or "weka".')
        if isinstance(self.random_state, bool) or not isinstance(self.random_state, int | np.integer | None):
            raise OptionError(f"random_state={self.random_state!r}: give a whole number, or None.")

    def default_leaf(self) -> CountsClassifier:
        """Naive Bayes."""
        return NaiveBayes()

    def grow(self, maker: LeafMaker, counts: JointCounts, rows: KeptRows) -> ValueTree:
        """Split as long as the leaves make fewer errors."""
        if self.folds == "weka":
            return self._as_weka(maker, counts, rows.block)
        if rows.weight < self.min_rows - 2 * HAIR:  # as at every look at the first rows of a stream
            return ValueTree()
        return _Grower(self, maker, counts, rows).tree()

    def _as_weka(self, maker: LeafMaker, counts: JointCounts, block: Block) -> ValueTree:
        n_values, pseudo = counts.schema.n_values, _pseudo_counts(maker.model, counts.schema.n_values, counts.n_classes)
        assert pseudo is not None
        least = float(self.min_rows), float(self.min_child), float(self.min_gain)
        grower = WekaGrower(n_values, counts.n_classes, *pseudo, *least, self.missing == "heaviest")
        weights = np.ones(len(block)) if block.weights is None else block.weights
        return grower.tree(block.codes, block.labels, weights)

    def one_leaf(self) -> ValueTree:
        """No split."""
        return ValueTree()

    def tree_from_plain(self, data: dict[str, Any]) -> ValueTree:
        """The tree of a model file."""
        return ValueTree.from_plain(data, self.counts_.schema.n_values)

    def part_scorer(self, tree: ValueTree, view: View, maker: LeafMaker) -> TreeScorer:
        """The leaves answer."""
        return TreeScorer(tree, view, self.memory, maker)

    def described(self, tree: ValueTree, block: Block, weights: np.ndarray) -> TreeNode:
        """The tree in words."""
        reached = {r.at: r for r in tree.reached(block.codes, self.counts_.schema.n_values)}
        leaf = type(self.own_leaf()).__name__

        def node(own: ValueTree, at: int) -> TreeNode:
            rows, shares = (reached[at].rows, reached[at].shares) if at in reached else (slice(0), 1.0)
            counts = self.by_class(block.part(rows), weights[rows] * shares)
            if own.is_leaf:
                return TreeNode(counts, leaf)
            column, places = self.counts_.schema.columns[own.column], own.child_places(at)
            children = zip(own.codes, own.children, places, strict=True)
            branches = tuple((str(column.describe(code)), node(child, place)) for code, child, place in children)
            return TreeNode(counts, "", column.name, branches)

        return node(tree, 0)

    def path_of(self, tree: ValueTree, query: Query) -> tuple[str, ...]:
        """The values that lead a row to its leaf, up to one that is missing."""
        path, codes = list[str](), query.codes[0].tolist()
        while not tree.is_leaf:
            column, code = self.counts_.schema.columns[tree.column], codes[tree.column]
            path.append(f"{column.name} = {column.describe(code) if code < column.n_values else '?'}")
            if code not in tree.codes:
                break
            tree = tree.children[tree.codes.index(code)]
        return tuple(path)


class _Grower:
    """Grows a tree from rows that are dealt out to folds once."""

    def __init__(self, model: NBTree, maker: LeafMaker, counts: JointCounts, rows: KeptRows) -> None:
        self.model, self.maker, self.leaf = model, maker, maker.model
        self.n_values, self.n_classes = counts.schema.n_values, counts.n_classes
        self.column_of = np.repeat(np.arange(len(self.n_values)), self.n_values)  # of every value
        self.block = rows.block
        seed = 0 if model.random_state is None else int(model.random_state)
        dealt = deal(sample_of(rows, counts, model.class_name), int(model.folds), seed)
        self.dealt = np.where(dealt < HAIR, 0.0, dealt)
        self.pseudo = _pseudo_counts(self.leaf, self.n_values, self.n_classes)
        self.stand_in = self.pseudo  # what the kernel judges columns by, None where the leaves do that
        if self.pseudo is None and model.judge is None:
            alike = NaiveBayes(smoothing=self.leaf.estimate)
            laplace = _pseudo_counts(NaiveBayes(), self.n_values, self.n_classes)
            self.stand_in = _pseudo_counts(alike, self.n_values, self.n_classes) or laplace
        self.many = len(self.n_values) > MANY_COLUMNS and maker.shape["order"] > 1
        self.keeps_counts = self._keeps_counts()

    def tree(self) -> ValueTree:
        return self._grow(np.arange(len(self.block)), np.ones(len(self.block)))

    def _grow(self, rows: np.ndarray, shares: np.ndarray, known: Known | None = None) -> ValueTree:
        """The tree of these rows; ``known`` is what a leaf for all of them gets right, where that was tried already."""
        block, dealt = self.block.part(rows), self.dealt[:, rows] * shares
        weights = dealt.sum(axis=0)
        total = weights.sum()
        classes = np.bincount(block.labels, weights, minlength=self.n_classes)
        if total < self._least_rows() - HAIR or np.count_nonzero(classes) < 2:
            return ValueTree()
        masses = np.zeros(int(self.n_values.sum()))
        _kernels.value_weights(block.codes, weights, self.n_values.tolist(), masses)
        heavy = (masses > 0) & (masses >= self.model.min_child - HAIR)
        wanted = self._promising(block, weights, np.bincount(self.column_of[heavy], minlength=len(self.n_values)) > 1)
        self.tried = dict[tuple[int, int], Known]()
        best = self._best(block, dealt, total, wanted, known)
        if best is None:
            return ValueTree()
        masses = masses[self.column_of == best]
        codes = np.flatnonzero(masses)
        mass = masses[codes]
        share = mass / mass.sum() if self.model.missing == "share" else np.arange(len(mass)) == np.argmax(mass)
        split = ValueTree(best, tuple(codes.tolist()), tuple(share.astype(float).tolist()), (ValueTree(),) * len(codes))
        parts = {r.at: (rows[r.rows], shares[r.rows] * r.shares) for r in split.reached(block.codes, self.n_values)}
        right = [self.tried.get((best, code)) for code in reversed(split.codes)]  # every part takes its counts along
        self.tried = {}
        return replace(split, children=tuple(self._grow(*parts[1 + c], right.pop()) for c in range(len(codes))))

    def _promising(self, block: Block, weights: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """The columns to try: all, or of hundreds those that tell most about the class of these rows."""
        if np.count_nonzero(wanted) <= MOST_TRIED:
            return wanted
        cells = np.zeros((self.n_classes, int(self.n_values.sum())))
        for label, own in enumerate(cells):
            _kernels.value_weights(block.codes, weights * (block.labels == label), self.n_values.tolist(), own)
        worth = np.where(wanted, self._information(cells), -np.inf)
        best = np.zeros_like(wanted)
        best[np.argsort(-np.round(worth, 9), kind="stable")[:MOST_TRIED]] = True
        return best

    def _information(self, cells: np.ndarray) -> np.ndarray:
        """What every column tells about the class, times the rows: ``cells`` (classes, values of all columns)."""

        def each(weights: np.ndarray) -> np.ndarray:
            return weights * np.log(np.maximum(weights, HAIR))

        def of_columns(values: np.ndarray) -> np.ndarray:
            return np.bincount(self.column_of, values, minlength=len(self.n_values))

        classes = np.array([of_columns(own) for own in cells])  # of the rows that have the column
        inside = of_columns(each(cells).sum(axis=0)) - of_columns(each(cells.sum(axis=0)))
        return inside - each(classes).sum(axis=0) + each(classes.sum(axis=0))

    def _least_rows(self) -> float:
        """With hundreds of columns, pairs of them are not counted again for parts of few rows."""
        return max(float(self.model.min_rows), float(2 * len(self.n_values)) if self.many else 0.0)

    def _masses(self, cells: np.ndarray, weights: np.ndarray, i: int) -> np.ndarray:
        known = cells < self.n_values[i]
        return np.bincount(cells[known], weights[known], minlength=int(self.n_values[i]))

    def _best(
        self, block: Block, dealt: np.ndarray, total: float, wanted: np.ndarray, known: Known | None
    ) -> int | None:
        """The column whose split leaves the fewest errors, where that is few enough."""
        if not wanted.any():
            return None
        right = np.zeros(len(wanted) + 1)
        if self.pseudo is None:
            total = float(dealt[: self._n_asked(len(block))].sum())
            if not total > 0:  # none of these rows is in a fold that judges
                return None
        if self.stand_in is None:
            self._try(block, dealt, wanted, right, known)
        else:
            self._try_quickly(block, dealt, wanted, right)
        errors = np.where(wanted, np.round((total - right[:-1]) / total, 12), np.inf)
        best = int(np.argmin(errors))
        if self.stand_in is not self.pseudo:  # whether to split is for the leaves to say
            self._try(block, dealt, np.arange(len(wanted)) == best, right, known)
        node, split = np.round((total - right[[-1, best]]) / total, 12)
        return best if split < node and node - split >= self.model.min_gain * node - 1e-12 else None

    def _try_quickly(self, block: Block, dealt: np.ndarray, wanted: np.ndarray, right: np.ndarray) -> None:
        """Cross-validate naive Bayes for every value of the columns that are wanted, and for all rows."""
        assert self.stand_in is not None
        cells, of_class = self.stand_in
        n_values, heaviest = self.n_values.tolist(), self.model.missing == "heaviest"
        given = n_values, cells, self.n_classes, of_class, wanted.tolist(), right, heaviest, self.model.n_threads
        n_asked = len(dealt)
        if self.stand_in is not self.pseudo:
            # As many folds as judge the leaves, from the other end: rows that have chosen a column flatter its split.
            n_asked, dealt = self._n_asked(len(block)), dealt[::-1]
        _kernels.fold_right(block.codes, block.labels, np.ascontiguousarray(dealt), *given, n_asked)

    # --- leaves that the kernel does not know -------------------------------------------------------------------

    def _try(self, block: Block, dealt: np.ndarray, wanted: np.ndarray, right: np.ndarray, known: Known | None) -> None:
        """Cross-validate a leaf for every value of the columns that are wanted, and one for all rows."""
        n_asked = self._n_asked(len(block))
        whole = known if known is not None and known.n_folds == n_asked else self._judged(block, dealt, n_asked)
        right[-1] = whole.right
        for i in np.flatnonzero(wanted).tolist():
            right[i] = self._try_column(i, block, dealt, n_asked, whole.counts)

    def _try_column(self, i: int, block: Block, dealt: np.ndarray, n_asked: int, counts: JointCounts | None) -> float:
        """Cross-validate a leaf for every value of a column. ``counts`` of all rows lose those of one value after the
        other, until they are those of the most frequent one."""
        mass = self._masses(block.codes[:, i], dealt.sum(axis=0), i)
        gone = block.codes[:, i] >= self.n_values[i]
        rest, right = None if gone.any() else counts, 0.0
        codes = np.argsort(mass, kind="stable")[np.count_nonzero(mass == 0) :].tolist()
        for code in codes:
            share = mass[code] / mass.sum() if self.model.missing == "share" else float(code == np.argmax(mass))
            part = (block.codes[:, i] == code) | (gone & (share > 0))
            left = rest if code == codes[-1] else None
            own = self._judged(block.part(part), np.where(gone, dealt * share, dealt)[:, part], n_asked, left)
            if rest is not None and left is None:
                rest = rest.take_away(own.counts) if own.counts is not None else None
            splits = mass[code] >= self._least_rows() - HAIR
            self.tried[i, code] = own if splits else Known(own.right, own.n_folds)
            right += own.right
        return right

    def _n_asked(self, n_rows: int) -> int:
        """In how many of the folds leaves of so many rows are asked: with hundreds of columns a row takes long."""
        n_folds = len(self.dealt)
        if not self.many:
            return n_folds
        steps = len(self.block) * float(len(self.n_values)) ** self.maker.shape["order"] * self.n_classes
        share = max(MOST_STEPS / steps, FEWEST_JUDGES / max(1, n_rows))
        return int(np.clip(share * n_folds + HAIR, 1, n_folds))

    @cached_property
    def blank(self) -> View | None:
        """A leaf without rows that answers from whatever is counted: all folds of a part are tried in one call.

        None where what a leaf answers with depends on its rows.
        """
        if chooses_by_rows(self.leaf) or self.leaf.looks_at_rows:
            return None
        scorer = self.maker(self.block.part(slice(0))).scorer_
        return scorer if type(scorer) is View and not scorer.learned else None

    def _keeps_counts(self) -> bool:
        """Whether what parts of a node have counted is told by the counts of the node, which are kept for that.

        Where one column is tried in one fold, of rows that count once each.
        """
        one_column = self.stand_in is not None and self.stand_in is not self.pseudo
        plain = not self.leaf.looks_at_rows and not self.maker.shape.get("families")
        return self.many and one_column and plain and bool(np.isin(self.dealt, (0.0, 1.0)).all())

    def _judged(self, block: Block, dealt: np.ndarray, n_asked: int, counts: JointCounts | None = None) -> Known:
        """What leaves get right of the rows of some folds that have not learned their fold.

        ``counts`` are those of the rows of all folds but the one that is asked, where they are known.
        """
        if self.blank is not None and not self.many:
            return Known(self.blank.right_in_folds(block, dealt, n_jobs=self.model.n_threads), n_asked)
        weights, right = dealt.sum(axis=0), 0.0
        # Which rows are left may matter, not only what they count; and many are counted sooner than a few forgotten.
        learns_rest = self.leaf.looks_at_rows or self.many
        if not learns_rest:
            leaf = self.maker(_weighed(block, weights))
        for fold in dealt[:n_asked]:
            asked = fold > 0
            if not asked.any():
                continue
            held, own = block.part(asked), fold[asked]
            if counts is not None:
                leaf = self.maker.over(counts, None)
            elif learns_rest:
                rest = weights - fold > 1e-12
                leaf = self.maker(_weighed(block.part(rest), (weights - fold)[rest]))
            else:  # rows that are known to be there: no other cell needs a look
                leaf.counts_.forget_rows(held.codes, held.labels, own)
            scorer = leaf.scorer_
            proba = scorer.score(held.query, may_compile=False) if type(scorer) is View else scorer.score(held.query)
            right += float(own[decide(proba, leaf.class_count_, None) == held.labels].sum())
            if not learns_rest:
                leaf.counts_.learn_rows(held.codes, held.labels, own)
            counts = leaf.counts_ if self.keeps_counts and n_asked == 1 else None
        return Known(right, n_asked, counts)


def _weighed(block: Block, weights: np.ndarray) -> Block:
    """Rows with these weights; without any, which is counted more quickly, where all are 1."""
    return block.weighing(None if (weights == 1.0).all() else weights)


def _pseudo_counts(leaf: CountsClassifier, n_values: np.ndarray, n_classes: int) -> tuple[list[float], float] | None:
    """What the kernel adds to every cell of each column, and of the class; None where a leaf is not for the kernel."""
    rule = leaf.estimate
    if type(leaf) is not NaiveBayes or leaf.subsumption is not None or rule.strength <= 0:
        return None
    r = np.maximum(n_values, 1.0)
    if rule.kind == "lidstone":
        return [rule.strength] * len(r), rule.strength
    if rule.kind in ("m", "bdeu"):
        return (rule.strength / r / (n_classes if rule.kind == "bdeu" else 1)).tolist(), rule.strength / n_classes
    return None
