"""Rows that are brought together as codes, because a classifier looks at them again and no further run would do.

Where rows that are the same may be one row of their weight (``repeats_as_weights``), that is what travels, and is far
less than all rows where columns have few values. How many there will be is not known beforehand: whoever holds more
than ``max_memory`` allows stops.
"""

from __future__ import annotations

from collections.abc import Iterable

from tanager.cluster.plan import Plan, Rows
from tanager.cluster.wire import pack, unpack
from tanager.counts.block import Block, distinct, joined
from tanager.counts.memory import as_bytes, check_budget
from tanager.learning.counts_classifier import CountsClassifier


def gathers(plan: Plan) -> bool:
    """Whether rows are brought together: whoever chooses once is served by further runs."""
    model = plan.empty_model()
    return model.looks_at_rows and not model.memory.until_chosen and not plan.apart


def gathers_all(plan: Plan) -> bool:
    """Whether every row travels: sums over rows, as a calibration has, are of all rows in order."""
    model = plan.empty_model()
    return gathers(plan) and not (model.repeats_as_weights and not model.memory.number_columns)


def rows_part(plan: Plan, rows: Iterable[Rows]) -> bytes:
    """The rows of a part as codes; no bytes where there are none."""
    if gathers_all(plan):
        blocks = list(plan.blocks(rows))
        return pack(joined(blocks)) if blocks else b""
    found: Block | None = None
    for block in plan.blocks(rows):
        found = _distinct(plan, [block] if found is None else [found, distinct(block)])
    return b"" if found is None else pack(found)


def merge_rows(plan: Plan, parts: list[bytes]) -> bytes:
    """The rows of several parts, in order, or those of them that differ."""
    if gathers_all(plan):
        return pack(joined([unpack(part) for part in parts]))
    found: Block = unpack(parts[0])
    for part in parts[1:]:
        found = _distinct(plan, [found, unpack(part)])
    return pack(found)


def _distinct(plan: Plan, blocks: list[Block]) -> Block:
    rows = distinct(joined(blocks))
    check_rows(plan, plan.model, len(rows), " that differ")
    return rows


def may_stay_apart(plan: Plan, n: float) -> bool:
    """Whether so many rows are beyond the budget, and a model learns from them where they are."""
    model = plan.empty_model()
    return (
        gathers(plan)
        and not gathers_all(plan)
        and model.learns_elsewhere
        and _size(plan, n) > as_bytes(model.max_memory)
    )


def _size(plan: Plan, n: float, n_numbers: int = 0) -> float:
    """Bytes of rows as codes, with their classes and weights."""
    assert plan.schema is not None
    width = 2 if int(plan.schema.n_values.max(initial=0)) > 254 else 1
    return n * (width * len(plan.schema) + 10.0 + 8 * n_numbers)


def check_rows(plan: Plan, model: CountsClassifier, n: float, which: str = "") -> None:
    """Refuse rows that take too much memory together."""
    n_numbers = 0 if which else len(model.memory.number_columns)
    name = type(model).__name__
    check_budget(
        _size(plan, n, n_numbers),
        model.max_memory,
        f"bringing {n:,.0f} rows{which} together, which {name} looks at again,",
        "Use a classifier that counts alone (AODE, or KDB in further runs), fit to a sample, or raise max_memory.",
    )
