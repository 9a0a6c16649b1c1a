"""ValueTree: which rows go where by the values of their columns. A small immutable value; it holds no counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from tanager import saved
from tanager.errors import ModelFileError

_MISSING, _CHILDLESS = -1, -2  # where a row goes that goes to no child


class Reached(NamedTuple):
    """A node that some rows reach: its number, these rows, what share of each comes here, and which go no further."""

    at: int
    rows: np.ndarray
    shares: np.ndarray
    stay: np.ndarray


@dataclass(frozen=True)
class ValueTree:
    """A leaf, or a split by the values of a column.

    ``codes`` are the values that have a child, in the order of ``children``. A row without a value goes to all of them,
    shared out by ``shares``. A value that has no child goes no further: the node itself answers. Nodes are
    numbered from 0 on, each before its children.
    """

    column: int = -1
    codes: tuple[int, ...] = ()
    shares: tuple[float, ...] = ()
    children: tuple[ValueTree, ...] = ()

    @property
    def is_leaf(self) -> bool:
        """Whether rows go no further."""
        return not self.children

    @cached_property
    def size(self) -> int:
        """How many nodes there are."""
        return 1 + sum(child.size for child in self.children)

    @cached_property
    def n_leaves(self) -> int:
        """How many leaves there are."""
        return 1 if self.is_leaf else sum(child.n_leaves for child in self.children)

    @cached_property
    def _places(self) -> np.ndarray:
        """The child of every code; the last one stands for all codes beyond."""
        places = np.full(max(self.codes) + 2, _CHILDLESS, dtype=np.int64)
        places[list(self.codes)] = np.arange(len(self.codes))
        return places

    def child_places(self, at: int) -> list[int]:
        """The numbers of the children of this node, which has the number ``at``."""
        before = [0, *accumulate(child.size for child in self.children)]
        return [at + 1 + n for n in before[:-1]]

    def nodes(self, at: int = 0) -> Iterator[tuple[int, ValueTree]]:
        """Every node with its number."""
        yield at, self
        for place, child in zip(self.child_places(at), self.children, strict=True):
            yield from child.nodes(place)

    def reached(self, codes: np.ndarray, n_values: np.ndarray) -> Iterator[Reached]:
        """Every node that rows reach, from the root on. Codes beyond ``n_values`` are missing."""
        waiting = [(0, self, np.arange(len(codes)), np.ones(len(codes)))]
        while waiting:
            at, node, rows, shares = waiting.pop()
            if node.is_leaf:
                yield Reached(at, rows, shares, np.ones(len(rows), dtype=bool))
                continue
            cells = codes[rows, node.column]
            to = node._places[np.minimum(cells, len(node._places) - 1)]
            gone = cells >= n_values[node.column]
            to[gone] = _MISSING
            yield Reached(at, rows, shares, to == _CHILDLESS)
            for c, (place, child) in enumerate(zip(node.child_places(at), node.children, strict=True)):
                own, weights = to == c, shares
                if node.shares[c] > 0 and gone.any():
                    own, weights = own | gone, np.where(gone, shares * node.shares[c], shares)
                if own.any():
                    waiting.append((place, child, rows[own], weights[own]))

    def to_plain(self) -> dict[str, Any]:
        """Plain data for a model file."""
        if self.is_leaf:
            return {}
        children = [child.to_plain() for child in self.children]
        return {"column": self.column, "codes": list(self.codes), "shares": list(self.shares), "children": children}

    @classmethod
    def from_plain(cls, data: Mapping[str, Any], n_values: Sequence[int] | np.ndarray) -> ValueTree:
        """The tree that ``to_plain`` wrote, for columns with so many values; unsound data are refused."""
        if not data:
            return cls()
        what, children = "nodes of its tree", data["children"]
        column = saved.field(what, data, "column", saved.whole(0, len(n_values) - 1))
        expected = {
            "codes": saved.items(saved.whole(0, int(n_values[column]) - 1), len(children), distinct=True),
            "shares": saved.items(saved.number(0.0, 1.0), len(children)),
        }
        codes, shares = saved.read(what, data, expected).values()
        if not children or abs(sum(shares) - 1.0) > 1e-6 < sum(shares):
            raise ModelFileError(f"a node of its tree has the shares {list(shares)}, expected some that sum to one")
        return cls(column, codes, shares, tuple(cls.from_plain(child, n_values) for child in children))
