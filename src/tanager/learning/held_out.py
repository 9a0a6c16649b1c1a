"""Answers to learned rows by a model that has not learned them.

Where nothing is chosen by the rows, each is left out of the counts alone, which costs one prediction. A structure that
was chosen with a row is too good for it: there the rows are dealt out to folds, each fold is subtracted from what was
learned, and the structure is chosen again from the rest. Cut points of number columns stay in either case: rows are
kept as codes.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from tanager.counts.block import Block, Query
from tanager.counts.sample import Sample
from tanager.estimator import clone
from tanager.learning.dealing import deal
from tanager.learning.memory import Memory
from tanager.scoring.forms import Form
from tanager.scoring.scorer import Scorer
from tanager.scoring.view import View
from tanager.stages import steps

if TYPE_CHECKING:
    from tanager.learning.counts_classifier import CountsClassifier

MOST_ROWS = 10_000  # are answered; more would change the second digit of nothing
N_FOLDS = 10


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Learned rows that are asked about: which of the kept rows, how much of it, and in which fold it is held out.

    A row of weight two may be there twice, in two folds. Folds depend on what the rows are, not on the order in which
    they came.
    """

    rows: np.ndarray
    weights: np.ndarray
    fold: np.ndarray
    n_kept: int  # rows that there are to ask about

    @classmethod
    def deal(cls, memory: Memory, n_folds: int = N_FOLDS, most: int = MOST_ROWS) -> HeldOut:
        """Deal out the rows of a memory to folds; of many rows, a part is in any of them."""
        assert memory.rows is not None
        block, counts = memory.rows.block, memory.counts
        sample = Sample.of_rows(block.codes, block.labels, block.weights, counts.schema, counts.classes, "class")
        if len(block) == 0:
            return cls(np.zeros(0, dtype=np.intp), np.zeros(0), np.zeros(0, dtype=np.intp), 0)
        n_parts = max(n_folds, int(np.ceil(n_folds * float(memory.rows.weight) / most)))
        parts = deal(sample, n_parts, seed=0, numbers=block.numbers, first=n_folds)
        fold, rows = np.nonzero(parts > 0.0)
        return cls(rows, parts[fold, rows], fold, len(block))

    def __len__(self) -> int:
        return len(self.rows)

    def evenly(self, n: int) -> np.ndarray:
        """The places of about n rows, spread over all that are asked about."""
        return self.all_places if n >= len(self) else np.linspace(0, len(self) - 1, n).round().astype(np.intp)

    @cached_property
    def all_places(self) -> np.ndarray:
        """The places of all rows that are asked about."""
        return np.arange(len(self))

    @cached_property
    def total(self) -> float:
        """What all rows asked about weigh together."""
        return float(self.weights.sum())

    @cached_property
    def distinct(self) -> tuple[np.ndarray, np.ndarray]:
        """The kept rows asked about, each once, and the place of each row among them."""
        rows, place = np.unique(self.rows, return_inverse=True)
        return rows, place

    def part(self, which: np.ndarray) -> HeldOut:
        """Some of the rows asked about."""
        if len(which) == len(self):
            return self
        return HeldOut(self.rows[which], self.weights[which], self.fold[which], self.n_kept)


def chooses_by_rows(model: CountsClassifier) -> bool:
    """Whether what a classifier answers with was chosen by the rows, and not only counted."""
    return model._adaptive() or getattr(model, "fit_by", "likelihood") != "likelihood"


def held_out_answers(model: CountsClassifier, held: HeldOut) -> np.ndarray:
    """Probabilities (rows asked about, classes) by a model that has not learned them."""
    if chooses_by_rows(model):
        return folded([model], model.memory, held, model.n_threads)[0]
    assert model.memory.rows is not None
    return left_out(model, model.memory.rows.block, held)


def left_out(model: CountsClassifier, block: Block, held: HeldOut) -> np.ndarray:
    """The rows of a block asked about, each left out of the counts alone; nothing is chosen again."""
    asked, place = held.distinct
    return model.uncalibrated().leave_one_out(block.part(asked).once, n_jobs=model.n_threads)[place]


def asked_once(model: CountsClassifier) -> Scorer:
    """What answers for a model attached to counts, before it is calibrated; nothing is kept for further answers."""
    if not model._attaches_again:  # there is more to it than counts and rows
        return model.uncalibrated()
    memory = model.memory
    form = model._structure(memory.counts, memory.rows)
    memory.count_families(form.families(), model.counts_shape(memory.counts.schema), model.n_threads)
    return model.scorer_over(model.view_of(form))


def structure_once(model: CountsClassifier) -> Form:
    """The structure of a model attached to counts, of which nothing else is made: another one answers with it."""
    if model.refresh is not None or not model._attaches_again:
        return model.structure_
    return model._structure(model.memory.counts, model.memory.rows)


def folded(
    models: Sequence[CountsClassifier],
    memory: Memory,
    held: HeldOut,
    n_jobs: int = 1,
    asked: Sequence[np.ndarray] | None = None,
    *,
    reuse: bool = False,
) -> list[np.ndarray]:
    """The rows asked about by several models, each fold by ones that have learned all rows but its own.

    ``asked`` are the places of the rows that each model is asked about, where these are not all. With ``reuse`` nobody
    needs the models afterwards.
    """
    assert memory.rows is not None
    block = memory.rows.block
    asked = [held.all_places] * len(models) if asked is None else asked
    makers = [LearnedAgain(model, reuse=reuse) for model in models]
    out = [np.empty((len(places), memory.counts.n_classes)) for places in asked]
    for fold in steps("learning again without a fold", np.unique(held.fold).tolist()):
        own = np.flatnonzero(held.fold == fold)
        taken = np.zeros(held.n_kept)
        taken[held.rows[own]] = held.weights[own]
        rest = memory.without(taken, n_jobs)
        queries: dict[int, tuple[np.ndarray, Query]] = {}  # most models are asked about the same rows
        for maker, places, answers in zip(makers, asked, out, strict=True):
            if id(places) not in queries:
                mine = np.flatnonzero(held.fold[places] == fold)
                queries[id(places)] = mine, block.part(held.rows[places[mine]]).query
            mine, query = queries[id(places)]
            scorer = maker.scorer(rest)
            answers[mine] = (scorer.score_once if isinstance(scorer, View) else scorer.score)(query, n_jobs=n_jobs)
    return out


class LearnedAgain:
    """Makes models with the options of one that have learned what a memory holds, and nothing else.

    Each is to be asked before the next one is made: it may be the same object.
    """

    def __init__(self, model: CountsClassifier, *, reuse: bool = False) -> None:
        self.model = model
        self._attached = model if reuse and not model.reads_numbers and model._attaches_again else None
        if self._attached is None:
            self.blank = clone(model)
            self.blank.options_hold()

    def scorer(self, memory: Memory) -> Scorer:
        """What answers for a model with this memory, before it is calibrated."""
        model = self(memory)
        return model.uncalibrated() if self._attached is None else asked_once(model)

    def __call__(self, memory: Memory) -> CountsClassifier:
        """A model with this memory."""
        if self._attached is not None:
            self._attached._attach_again(memory.counts, memory.rows)
            return self._attached
        model: CountsClassifier = copy.copy(self.blank)
        if not model.reads_numbers:
            model.attach(memory.counts, self.model.encoder_, memory.rows)
            self._attached = model if model._attaches_again else None
        else:  # counts alone do not hold them, though the table may have no column of numbers (yet)
            model.start()
            model.classes_, model.encoder_ = memory.counts.classes, self.model.encoder_
            model._memory = memory
        model.target_name_ = self.model.target_name_
        return model
