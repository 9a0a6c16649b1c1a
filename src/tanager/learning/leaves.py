"""Classifiers that learn part of the rows of another one: the leaves of a tree."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from tanager.counts.block import Block
from tanager.counts.joint import JointCounts
from tanager.counts.memory import check_budget
from tanager.encoding import Encoder, Schema
from tanager.errors import OptionError
from tanager.estimator import clone
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.rows import KeptRows

# What a leaf does not do by itself: the tree forgets, weighs classes and cuts columns.
_OF_THE_TREE = {"priors": None, "class_weight": None, "decay": None, "window": None, "recut": None, "schema": None}


def check_leaf(leaf: Any) -> None:
    """Refuse an option ``leaf`` that cannot learn part of the rows of a tree."""
    if isinstance(leaf, type) or not isinstance(leaf, CountsClassifier):
        raise OptionError(f"leaf={leaf!r} is no classifier over counts. Give one, such as NaiveBayes() or AODE().")
    leaf.check_options()
    if leaf.reads_numbers:
        raise OptionError(
            f"leaf={leaf!r}: a tree keeps codes alone, and Gaussian columns need their numbers. Leave out gaussian=."
        )
    if leaf.calibrate:
        raise OptionError(f"leaf={leaf!r}: the answers of the whole tree are calibrated. Give calibrate= to the tree.")
    if getattr(leaf, "fit_by", "likelihood") != "likelihood":
        raise OptionError(f"leaf={leaf!r}: the leaves of a tree have counted parameters. Leave out fit_by=.")


class LeafMaker:
    """Makes leaves: classifiers with one encoder in common, each over counts of its own rows."""

    _blank: JointCounts | None

    def __init__(
        self, leaf: CountsClassifier, encoder: Encoder, schema: Schema, classes: np.ndarray, unseen: str
    ) -> None:
        self.model: CountsClassifier = clone(leaf).set_params(**_OF_THE_TREE, unseen=unseen)
        self.encoder, self.unseen, self.spare = encoder, unseen, int(unseen == "smooth")
        self.follow(schema, classes)

    def again(self, encoder: Encoder, schema: Schema, classes: np.ndarray) -> LeafMaker:
        """One for other columns, whose leaves have the same options."""
        other = copy(self)
        other.encoder = encoder
        other.follow(schema, classes)
        return other

    def follow(self, schema: Schema, classes: np.ndarray) -> None:
        """Leaves to come have these columns and classes."""
        self.schema, self.classes = schema, classes
        self.shape = self.model.counts_shape(schema)
        self._made, self._blank = False, None  # whether there is such a leaf, and what the next ones are copied from

    def __call__(self, block: Block) -> CountsClassifier:
        """A leaf that has learned these rows."""
        counts = self._empty()
        if len(block):
            counts.update(block.codes, block.labels, block.weights)
        return self.over(counts, KeptRows.of(block) if self.model.looks_at_rows else None)

    def _empty(self) -> JointCounts:
        """Counts without rows. To copy a layout takes a fraction of what it takes to work it out."""
        if self._blank is not None:
            return self._blank.blank()
        counts = JointCounts(self.schema, self.classes, spare=self.spare, **self.shape)
        if self._made:
            self._blank = counts
            return counts.blank()
        self._made = True
        return counts

    def over(self, counts: JointCounts, rows: KeptRows | None) -> CountsClassifier:
        """A leaf over counts that are there already."""
        leaf: CountsClassifier = copy(self.model)
        vars(leaf)["_checked"] = True  # its options, by the tree
        return leaf.attach(counts, self.encoder, rows)

    def check_budget(self, n_leaves: int, max_memory: Any, name: str) -> None:
        """Refuse so many leaves where their counts would take too much memory."""
        one = JointCounts.estimate_bytes(self.schema.n_values + self.spare, len(self.classes), **self.shape)
        what = f"{name} has {n_leaves:,} leaves whose counts"
        check_budget(one * n_leaves, max_memory, what, "Raise min_rows or max_memory, or use NaiveBayes() as the leaf.")
