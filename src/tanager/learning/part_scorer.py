"""Scorers whose answers come from several classifiers, each of which has learned part of the rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from tanager import _kernels
from tanager.counts.block import Block, Query
from tanager.encoding.codes import row_array
from tanager.encoding.typing import RowOfCodes
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.leaves import LeafMaker
from tanager.learning.memory import Memory
from tanager.learning.rows import KeptRows
from tanager.learning.stream import plain_view
from tanager.learning.value_tree import ValueTree
from tanager.scoring.explain import PartList, share_out
from tanager.scoring.forms import ParentSet, ProductOfSums
from tanager.scoring.scorer import AnswersRows
from tanager.scoring.view import View


class Portion(NamedTuple):
    """Rows that a classifier answers, the share that its answer has in that of each row, and which it has learned."""

    model: CountsClassifier
    rows: np.ndarray
    shares: np.ndarray
    learned: np.ndarray | None = None  # None: all, where they were learned at all


class RowPlan(NamedTuple):
    """How a classifier of a part answers and learns single rows; with a plan of the kernels where these do it alone."""

    model: CountsClassifier
    plan: _kernels.ScoringPlan | None

    @classmethod
    def of(cls, model: CountsClassifier) -> RowPlan:
        """The plan of a classifier that has but counts and one structure."""
        view = plain_view(model)
        return cls(model, None if view is None else view.plan)

    def answer(self, codes: RowOfCodes) -> list[float]:
        """The probabilities of one row; a structure follows all rows of the part."""
        if self.plan is not None:
            return self.plan.one(codes)
        proba: list[float] = self.model.scorer_.score(Query(row_array(codes)[None, :]))[0].tolist()
        return proba

    def learn(self, codes: RowOfCodes, label: int, weight: float) -> None:
        """Let the classifier learn one row."""
        memory = self.model.memory
        if self.plan is not None:
            memory.counts.learn_row(codes, label, weight)
        elif memory.codes_only:
            memory.add_codes(codes, label, weight)
        else:
            weights = None if weight == 1.0 else np.array([weight])
            memory.add(Block(row_array(codes)[None, :], np.array([label], dtype=np.uint16), weights))


def kept_block(memory: Memory) -> Block:
    """All rows that are kept, also where there are none."""
    if memory.rows is not None and len(memory.rows):
        return memory.rows.block
    return Block(np.zeros((0, memory.counts.n_features), dtype=np.uint8), np.zeros(0, dtype=np.uint8))


class PartScorer(AnswersRows):
    """The mixture of what several classifiers say, with priors and class weights laid over it.

    Given priors take the place of those of all rows; the classifiers keep those of their parts, which say how the
    parts differ. The classifiers follow the kept rows: what is appended is added to theirs, and where rows have left or
    faded, they are made again.
    """

    compiled = None  # no form says all that is done here

    def __init__(self, view: View, memory: Memory, maker: LeafMaker) -> None:
        self.view, self.memory, self.maker = view, memory, maker
        self._seen: tuple[KeptRows, int, int] | None = None  # the rows in the parts: their changes, and how many
        self._plans: dict[int, RowPlan] = {}  # of classifiers that single rows have come to, by their ids

    # --- what a subclass says -----------------------------------------------------------------------------------

    def _build(self, block: Block) -> None:
        """Make the classifiers of all parts from these rows."""
        raise NotImplementedError

    def _add(self, block: Block) -> bool:
        """Add rows to the parts; False where all must be made again."""
        return False

    def _route(self, rows: Query | Block) -> Iterable[Portion]:
        """Which classifiers answer which rows; those of a block are answered as if they had not been learned."""
        raise NotImplementedError

    def _add_row(self, codes: RowOfCodes, label: int, weight: float) -> bool:
        """``_add`` of one row, by the shortest way; False where there is none."""
        return False

    def _row_proba(self, codes: RowOfCodes) -> list[float] | None:
        """The answer of the classifier that alone answers a row; None where there may be several."""
        return None

    # --- answers ------------------------------------------------------------------------------------------------

    def follow(self) -> None:
        """Let the parts have learned all rows that are kept now."""
        rows = self.memory.rows
        assert rows is not None
        seen, now = self._seen, (rows, rows.changes, len(rows))
        if seen == now:
            return
        appended = seen is not None and seen[0] is rows and seen[1] == rows.changes and seen[2] < len(rows)
        if seen is None or not appended or not self._append(rows, seen[2]):
            self._plans = {}
            self._build(kept_block(self.memory))
        self._seen = now

    def _append(self, rows: KeptRows, first: int) -> bool:
        """Add the kept rows from one on to the parts; False where all must be made again."""
        if first + 1 == len(rows) and rows.numbers is None and self._add_row(*rows.row(first)):
            return True
        return self._add(rows.since(first))

    def row_plan(self, model: CountsClassifier) -> RowPlan:
        """How one of the classifiers takes single rows; worked out once, as none of them changes but by rows."""
        found = self._plans.get(id(model))
        if found is None:
            found = self._plans[id(model)] = RowPlan.of(model)
        return found

    def route(self, rows: Query | Block) -> list[Portion]:
        """Which classifiers answer which rows."""
        self.follow()
        return list(self._route(rows))

    def score(self, query: Query, *, log_joint: bool = False, n_jobs: int = 1) -> np.ndarray:
        """Posterior probabilities, or logs of the joint (up to what all classes share)."""
        if len(query) == 1 and not log_joint and (row := self.answer_row(query.codes[0])) is not None:
            return np.array([row])
        out = np.zeros((len(query), self.view.counts.n_classes))
        whole = []
        for portion in self.route(query):
            part = query.part(portion.rows)
            out[portion.rows] += portion.model.scorer_.score(part, n_jobs=n_jobs) * portion.shares[:, None]
            if log_joint and (alone := portion.shares == 1.0).any():
                whole.append((portion.rows[alone], portion.model.scorer_.score(part.part(alone), log_joint=True)))
        factors = self.factors()
        if not log_joint:
            return _weighed(out, factors)
        with np.errstate(divide="ignore"):
            out = np.log(out)
            for rows, joint in whole:  # which does not vanish where probabilities do
                out[rows] = joint
            return out if factors is None else out + np.log(factors)

    def answer_row(self, codes: RowOfCodes) -> list[float] | None:
        """The answer to one row by the shortest way, as a stream asks for one after the other; None: there is none."""
        self.follow()
        proba = self._row_proba(codes)
        if proba is None:
            return None
        factors, total = self.factors(), sum(proba)
        if factors is not None or not total > 0:
            weighed: list[float] = _weighed(np.array([proba]), factors)[0].tolist()
            return weighed
        return [p / total for p in proba]

    def leave_one_out(self, block: Block, *, n_jobs: int = 1) -> np.ndarray:
        """Posterior probabilities of learned rows, each as if its parts had not learned it."""
        out = np.zeros((len(block), self.view.counts.n_classes))
        weights = np.ones(len(block)) if block.weights is None else block.weights
        for model, rows, shares, learned in self.route(block):
            proba = np.empty((len(rows), out.shape[1]))
            known = np.ones(len(rows), dtype=bool) if learned is None else learned
            if known.any():
                own = block.part(rows[known]).weighing((weights[rows] * shares)[known])
                proba[known] = model.leave_out(_unit(own))
            if not known.all():
                proba[~known] = model.scorer_.score(block.query.part(rows[~known]), n_jobs=n_jobs)
            out[rows] += proba * shares[:, None]
        return _weighed(out, self.factors(block))

    def explain(self, query: Query, answer: int, against: int) -> tuple[float, PartList]:
        """The log-odds of the mixture, shared out over its classifiers, and theirs over prior and columns."""
        pair = [answer, against]
        portions = self.route(query)
        own = np.array([p.model.scorer_.score(query)[0, pair] * p.shares[0] for p in portions])
        with np.errstate(divide="ignore"):
            logs, whole = np.log(own), np.log(own.sum(axis=0))
        prior, parts = 0.0, dict[tuple[int, ParentSet], float]()
        for portion, mine in zip(portions, logs, strict=True):
            first, terms = portion.model.scorer_.explain(query, answer, against)
            values = [first, *(value for _, _, value in terms)]
            first, *values = values if len(portions) == 1 else share_out(values, mine, whole)
            prior += first
            for (column, parents, _), value in zip(terms, values, strict=True):
                parts[column, parents] = parts.get((column, parents), 0.0) + value
        factors = self.factors()
        if factors is not None:
            prior += float(np.log(factors[answer]) - np.log(factors[against]))
        return prior, [(column, parents, value) for (column, parents), value in parts.items()]

    def factors(self, left_out: Block | None = None) -> np.ndarray | None:
        """What probabilities are multiplied with: class weights, and given priors over those of all rows."""
        view, factors = self.view, None
        if view.priors:
            learned = View(view.counts, ProductOfSums((), (), ()), view.estimate)
            empty = Query(np.full((1, view.counts.n_features), 255, dtype=np.uint8))
            prior = learned.score(empty)[0] if left_out is None else learned.leave_one_out(left_out)
            factors = np.array(view.priors) / prior
        if view.factors:
            factors = np.array(view.factors) * (1.0 if factors is None else factors)
        return factors


class TreeScorer(PartScorer):
    """Answers of the leaves of a ``ValueTree``; a node with a value that has no child answers itself."""

    def __init__(self, tree: ValueTree, view: View, memory: Memory, maker: LeafMaker) -> None:
        super().__init__(view, memory, maker)
        self.tree = tree
        self._leaf = np.array([node.is_leaf for _, node in tree.nodes()])
        # Of every node: its column (-1 of a leaf), and the number of the child for each code.
        self._steps = [
            (-1 if node.is_leaf else node.column, dict(zip(node.codes, node.child_places(at), strict=True)))
            for at, node in tree.nodes()
        ]
        self._models: dict[int, CountsClassifier] = {}
        self._sizes: list[int] = self._n_values.tolist()

    @property
    def _n_values(self) -> np.ndarray:
        return self.view.counts.schema.n_values

    def _build(self, block: Block) -> None:
        reached = self.tree.reached(block.codes, self._n_values)
        self._models = {r.at: self.maker(_shared(block, r.rows, r.shares)) for r in reached if self._leaf[r.at]}

    def _path(self, codes: RowOfCodes) -> list[int] | None:
        """The nodes that a row comes to; None where a value is missing, so that it goes several ways."""
        n_values, at, path = self._sizes, 0, [0]
        while True:
            column, children = self._steps[at]
            if column < 0:
                return path
            code = codes[column]
            if code >= n_values[column]:
                return None
            if code not in children:
                return path
            at = children[code]
            path.append(at)

    def _row_proba(self, codes: RowOfCodes) -> list[float] | None:
        path = self._path(codes)
        return None if path is None else self.row_plan(self.model_of(path[-1])).answer(codes)

    def _add_row(self, codes: RowOfCodes, label: int, weight: float) -> bool:
        path = self._path(codes)
        if path is None:
            return False
        for at in path:
            if at in self._models:
                self.row_plan(self._models[at]).learn(codes, label, weight)
        return True

    def _add(self, block: Block) -> bool:
        for at, rows, shares, _ in self.tree.reached(block.codes, self._n_values):
            if at in self._models:
                self._models[at].memory.add(_shared(block, rows, shares))
        return True

    def model_of(self, at: int) -> CountsClassifier:
        """The classifier of a node. Those that are no leaves, or have no rows, are made when they are first needed."""
        if at not in self._models:
            block = kept_block(self.memory)
            reached = [(r.rows, r.shares) for r in self.tree.reached(block.codes, self._n_values) if r.at == at]
            rows, shares = reached[0] if reached else (np.zeros(0, dtype=np.int64), np.zeros(0))
            self._models[at] = self.maker(_shared(block, rows, shares))
        return self._models[at]

    def _route(self, rows: Query | Block) -> Iterable[Portion]:
        for at, which, shares, stay in self.tree.reached(rows.codes, self._n_values):
            if stay.any():
                yield Portion(self.model_of(at), which[stay], shares[stay])


def _shared(block: Block, rows: np.ndarray, shares: np.ndarray) -> Block:
    """Some rows, each with a share of its weight."""
    part = block.part(rows)
    return _unit(part.weighing(shares if part.weights is None else part.weights * shares))


def _unit(block: Block) -> Block:
    """The same rows, without weights where all of them are 1: these are counted and left out more quickly."""
    return block.weighing(None) if block.weights is not None and (block.weights == 1.0).all() else block


def _weighed(proba: np.ndarray, factors: np.ndarray | None) -> np.ndarray:
    """Probabilities times factors, summing to 1 again."""
    if factors is None:
        factors = np.ones(proba.shape[1])
    out = proba * factors
    total = out.sum(axis=1, keepdims=True)
    even = np.broadcast_to(factors / factors.sum(axis=-1, keepdims=True), out.shape)
    return np.where(total > 0, out / np.where(total > 0, total, 1.0), even)
