"""Answers to learned rows by a model that has not learned them.

Where nothing is chosen by the rows, each is left out of the counts alone, which costs one prediction. A structure that
was chosen with a row is too good for it: there the rows are dealt out to folds, each fold is subtracted from what was
learned, and the structure is chosen again from the rest. Cut points of number columns stay in either case: rows are
kept as codes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import clone

from tanager.counts.sample import Sample
from tanager.learning.dealing import deal
from tanager.learning.memory import Memory

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
        n_parts = max(n_folds, int(np.ceil(n_folds * len(block) / most)))
        parts = deal(sample, n_parts, seed=0)[:n_folds]
        fold, rows = np.nonzero(parts > 0.0)
        return cls(rows, parts[fold, rows], fold, len(block))

    def __len__(self) -> int:
        return len(self.rows)

    def evenly(self, n: int) -> np.ndarray:
        """The places of about n rows, spread over all that are asked about."""
        return np.arange(len(self)) if n >= len(self) else np.linspace(0, len(self) - 1, n).round().astype(np.intp)

    def part(self, which: np.ndarray) -> HeldOut:
        """Some of the rows asked about."""
        return HeldOut(self.rows[which], self.weights[which], self.fold[which], self.n_kept)


def chooses_by_rows(model: CountsClassifier) -> bool:
    """Whether what a classifier answers with was chosen by the rows, and not only counted."""
    return model._adaptive() or getattr(model, "fit_by", "likelihood") != "likelihood"


def held_out_answers(model: CountsClassifier, held: HeldOut) -> np.ndarray:
    """Probabilities (rows asked about, classes) by a model that has not learned them."""
    if chooses_by_rows(model):
        return folded([model], model.memory, held, model.n_threads)[0]
    return left_out(model, held)


def left_out(model: CountsClassifier, held: HeldOut) -> np.ndarray:
    """The rows asked about, each left out of the counts alone; nothing is chosen again."""
    assert model.memory.rows is not None
    asked, place = np.unique(held.rows, return_inverse=True)
    rows = model.memory.rows.block.part(asked)
    # a row of weight two is two rows, one of which is left out
    once = rows if rows.weights is None else rows.weighing(np.minimum(rows.weights, 1.0))
    return model.uncalibrated().leave_one_out(once, n_jobs=model.n_threads)[place]


def folded(models: Sequence[CountsClassifier], memory: Memory, held: HeldOut, n_jobs: int = 1) -> list[np.ndarray]:
    """The rows asked about by several models, each fold by ones that have learned all rows but its own."""
    assert memory.rows is not None
    block = memory.rows.block
    out = [np.empty((len(held), memory.counts.n_classes)) for _ in models]
    for fold in np.unique(held.fold).tolist():
        own = np.flatnonzero(held.fold == fold)
        taken = np.zeros(held.n_kept)
        taken[held.rows[own]] = held.weights[own]
        rest, query = memory.without(taken, n_jobs), block.part(held.rows[own]).query
        for model, answers in zip(models, out, strict=True):
            answers[own] = learned_again(model, rest).uncalibrated().score(query, n_jobs=n_jobs)
    return out


def learned_again(model: CountsClassifier, memory: Memory) -> CountsClassifier:
    """A model with the same options that has learned what this memory holds, and nothing else."""
    again: CountsClassifier = clone(model)
    if memory.moments is None:
        again.attach(memory.counts, model.encoder_, memory.rows)
    else:
        again.start()
        again.classes_, again.encoder_ = memory.counts.classes, model.encoder_
        again._memory = memory
    again.target_name_ = model.target_name_
    return again
