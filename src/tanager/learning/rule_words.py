"""Rules of lazy Bayesian rules in words: what is tested, which learned rows pass, and a tree to print or to draw."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tanager.learning.memory import Memory
from tanager.learning.part_scorer import kept_block
from tanager.learning.tree_node import TreeNode
from tanager.scoring.lazy_rules import FoundRule
from tanager.shortcuts import public

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Rule:
    """The rule that a row is answered by: the values that are tested, and how many learned rows have all of them.

    ``tree`` is the same to print or to draw: test after test, with the classes of the rows that pass and of the others.
    """

    tests: dict[str, Any]
    n_rows: float
    tree: TreeNode

    def plot(self, path: str | os.PathLike[str] | None = None, **options: Any) -> Figure:
        """Draw the rule: its tests from left to right, and the rows that pass and fail; see ``tanager.plot_tree``."""
        figure: Figure = public("plot_tree")(self.tree, path, **({"title": f"LBR: {self}"} | options))
        return figure

    def __str__(self) -> str:
        tests = " and ".join(f"{name} = {value}" for name, value in self.tests.items())
        rows = f"{self.n_rows:,.6g} row{'' if self.n_rows == 1 else 's'}"
        return f"{tests or 'no test'}: naive Bayes on {rows}"


def in_words(found: FoundRule, codes: np.ndarray, memory: Memory) -> Rule:
    """A rule that was found for a row with these codes, in the words of its table."""
    columns = memory.counts.schema.columns
    words = {i: str(columns[i].describe(int(codes[i]))) for i in found.columns}
    tests = {columns[i].name: columns[i].describe(int(codes[i])) for i in found.columns}
    block = kept_block(memory)
    weights = np.ones(len(block)) if block.weights is None else block.weights

    def classes(rows: np.ndarray) -> dict[Any, float]:
        sums = np.bincount(block.labels[rows], weights[rows], minlength=memory.counts.n_classes)
        return dict(zip(memory.counts.classes.tolist(), sums.tolist(), strict=True))

    def node(rest: tuple[int, ...], rows: np.ndarray) -> TreeNode:
        if not rest:
            return TreeNode(classes(rows), "naive Bayes")
        i, passes = rest[0], block.codes[rows, rest[0]] == codes[rest[0]]
        others = TreeNode(classes(rows[~passes]), "not asked")
        branches = ((words[i], node(rest[1:], rows[passes])), ("another value", others))
        return TreeNode(classes(rows), "", columns[i].name, branches)

    return Rule(tests, found.n_rows, node(found.columns, np.arange(len(block))))
