"""Rows for a search that looks at each of them many times: all, or a part of them where that would take too long."""

from __future__ import annotations

import math

from tanager.counts.block import Block
from tanager.counts.joint import JointCounts
from tanager.learning.dealing import deal
from tanager.learning.network_learner import sample_of
from tanager.learning.rows import KeptRows

MOST_STEPS = 1e9  # probabilities that a search reads, at most: about a second
FEWEST_ROWS = 500


def rows_within(steps_per_row: float, most: float = MOST_STEPS) -> int:
    """How many rows a search can look at.

    It is work, not time: what is found does not depend on the machine.

    >>> rows_within(1e5), rows_within(1e9)
    (10000, 500)
    """
    return max(FEWEST_ROWS, int(most / max(steps_per_row, 1.0)))


def weight_of_search(rows: KeptRows, steps_per_row: float) -> float:
    """How much the rows weigh that ``search_rows`` gives, about: it deals them out evenly."""
    return rows.weight / max(1, math.ceil(rows.weight / rows_within(steps_per_row)))


def search_rows(rows: KeptRows, counts: JointCounts, steps_per_row: float) -> Block:
    """All rows, or as many of each class as can be looked at, chosen by what they are and not by their order."""
    most = rows_within(steps_per_row)
    if rows.weight <= most:
        return rows.block
    n_parts = math.ceil(rows.weight / most)
    weights = deal(sample_of(rows, counts, "class"), n_parts, seed=0, first=1)[0]
    chosen = weights > 1e-12
    return rows.block.part(chosen).weighing(weights[chosen])
