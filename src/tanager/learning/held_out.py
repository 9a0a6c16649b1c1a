"""Answers to learned rows by a model that has not learned them.

Where nothing is chosen by the rows, each is left out of the counts alone, which costs one prediction. A structure that
was chosen with a row is too good for it: there the rows are dealt out to folds, each fold is subtracted from what was
learned, and the structure is chosen again from the rest. Cut points of number columns stay in either case: rows are
kept as codes.
"""

from __future__ import annotations

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
    """Rows of a memory, and how much of each is asked about.

    ``parts`` are weights (parts, rows): what leaves together where folds are needed. They depend on what the rows are,
    not on the order in which they came.
    """

    parts: np.ndarray

    @classmethod
    def deal(cls, memory: Memory, n_folds: int = N_FOLDS, most: int = MOST_ROWS) -> HeldOut:
        """Deal out the rows of a memory to folds; of many rows, a part is in any of them."""
        assert memory.rows is not None
        block, counts = memory.rows.block, memory.counts
        sample = Sample.of_rows(block.codes, block.labels, block.weights, counts.schema, counts.classes, "class")
        n_parts = max(n_folds, int(np.ceil(n_folds * len(block) / most)))
        return cls(deal(sample, n_parts, seed=0)[:n_folds])

    @property
    def weights(self) -> np.ndarray:
        """How much of each row is asked about."""
        return np.asarray(self.parts.sum(axis=0))


def chooses_by_rows(model: CountsClassifier) -> bool:
    """Whether what a classifier answers with was chosen by the rows, and not only counted."""
    return model._adaptive() or getattr(model, "fit_by", "likelihood") != "likelihood"


@dataclass(frozen=True, eq=False)
class Answers:
    """Answers to rows that were held out: which row, how much of it, and probabilities of the classes.

    With folds, a row of weight two may be asked about twice, by two models.
    """

    rows: np.ndarray
    weights: np.ndarray
    proba: np.ndarray


def held_out_answers(model: CountsClassifier, held: HeldOut) -> Answers:
    """The rows asked about, answered as if they had not been learned."""
    return by_folds(model, held) if chooses_by_rows(model) else by_leaving_one_out(model, held)


def by_leaving_one_out(model: CountsClassifier, held: HeldOut) -> Answers:
    """Each row asked about is left out alone, and nothing is chosen again."""
    assert model.memory.rows is not None
    weights = held.weights
    asked = np.flatnonzero(weights > 0.0)
    rows = model.memory.rows.block.part(asked)
    # a row of weight two is two rows, one of which is left out
    once = rows if rows.weights is None else rows.weighing(np.minimum(rows.weights, 1.0))
    return Answers(asked, weights[asked], model.uncalibrated().leave_one_out(once, n_jobs=model.n_threads))


def by_folds(model: CountsClassifier, held: HeldOut) -> Answers:
    """Each fold is answered by a model that has learned all rows but its own."""
    memory = model.memory
    assert memory.rows is not None
    block = memory.rows.block
    parts = []
    for taken in held.parts:
        asked = np.flatnonzero(taken > 0.0)
        if len(asked):
            rest = learned_again(model, memory.without(taken, model.n_threads))
            proba = rest.uncalibrated().score(block.part(asked).query, n_jobs=model.n_threads)
            parts.append(Answers(asked, taken[asked], proba))
    return Answers(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("rows", "weights", "proba")))


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
