"""TreeNode: a tree of classifiers in words, to print, to draw and to look at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class TreeNode:
    """A node: what the rows that reach it weigh, by class; the classifier of a leaf, or the column and its branches.

    ``print(model.tree_)`` shows the whole tree.
    """

    counts: dict[Any, float]
    leaf: str = ""
    column: str = ""
    branches: tuple[tuple[str, TreeNode], ...] = ()

    @property
    def n_rows(self) -> float:
        """What all rows that reach this node weigh."""
        return sum(self.counts.values())

    @property
    def n_leaves(self) -> int:
        """How many leaves there are from here on."""
        return sum(child.n_leaves for _, child in self.branches) if self.branches else 1

    @property
    def depth(self) -> int:
        """How many columns are tested at most from here on."""
        return 1 + max(child.depth for _, child in self.branches) if self.branches else 0

    @property
    def summary(self) -> str:
        """The rows of this node and the shares of the classes in them."""
        rows = f"{self.n_rows:,.6g} row{'' if self.n_rows == 1 else 's'}"
        most = sorted(((n, c) for c, n in self.counts.items() if n > 0), key=lambda pair: -pair[0])
        shares = [f"{c} {n / self.n_rows:.0%}" for n, c in most[:3]]
        return ", ".join([rows, *shares, *(["..."] if len(most) > 3 else [])])

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        own: dict[str, Any] = {"rows": self.n_rows, "counts": [[c, n] for c, n in self.counts.items()]}
        if not self.branches:
            return own | {"leaf": self.leaf}
        return own | {
            "column": self.column,
            "branches": [{"value": value, **child.to_dict()} for value, child in self.branches],
        }

    def __str__(self) -> str:
        return "\n".join(self._lines("")) if self.branches else f"{self.leaf}: {self.summary}"

    def _lines(self, lead: str) -> Iterator[str]:
        for value, child in self.branches:
            test = f"{lead}{self.column} = {value}"
            if child.branches:
                yield test
                yield from child._lines(f"{lead}|  ")
            else:
                yield f"{test}: {child.leaf}, {child.summary}"
