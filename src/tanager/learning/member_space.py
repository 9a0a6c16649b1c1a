"""Which members of a sum fit into a budget of memory.

A member reads its super-parents together with every other column. Counted one by one, as families, these sets take what
their cells take, and members share them: the pair of two super-parents serves both.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import combinations

import numpy as np

from tanager.counts.joint import JointCounts
from tanager.scoring.forms import ParentSet


def member_families(members: Iterable[ParentSet], n: int) -> list[tuple[int, ...]]:
    """The sets of columns that members read, each once and in ascending order."""
    return sorted({family for member in members for family in _families(member, n)})


def _families(member: ParentSet, n: int) -> list[tuple[int, ...]]:
    return [tuple(sorted((*member, j))) for j in range(n) if j not in member]


def members_that_fit(
    ranked: Sequence[ParentSet], n_values: np.ndarray, n_classes: int, order: int, budget: float
) -> tuple[ParentSet, ...]:
    """As many members as fit beside counts of this order, the first of them first; in ascending order.

    A member that does not fit any more is passed over for later ones that do.
    """
    n, n_slots = len(n_values), (n_values + 1).tolist()
    left = budget - JointCounts.estimate_bytes(n_values, n_classes, order)
    held: set[tuple[int, ...]] = set()
    for member in ranked:
        new = [family for family in _families(member, n) if family not in held]
        needed = 8 * n_classes * sum(math.prod(n_slots[i] for i in family) for family in new)
        if needed <= left:
            left -= needed
            held.update(new)
    return tuple(sorted(member for member in ranked if held.issuperset(_families(member, n))))


@lru_cache(maxsize=8)  # asked for at every row
def single_columns(n: int) -> tuple[ParentSet, ...]:
    """The columns, one by one."""
    return tuple((i,) for i in range(n))


@lru_cache(maxsize=8)
def pairs_of_columns(n: int) -> tuple[ParentSet, ...]:
    """The columns, two by two."""
    return tuple(combinations(range(n), 2))
