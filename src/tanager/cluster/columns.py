"""The first run: every part sums up its columns, and all of them together say what the schema of the table is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from tanager.cluster.gathering import check_rows, gathers_all, may_stay_apart
from tanager.cluster.plan import Plan, Rows, filled
from tanager.cluster.wire import pack, unpack
from tanager.encoding import summary as summaries
from tanager.encoding.encoder import Encoder
from tanager.encoding.policy import tell_columns
from tanager.encoding.summary import Summary
from tanager.errors import DataError, warn_user


def summarize_part(plan: Plan, rows: Iterable[Rows]) -> bytes:
    """The summary of a part; no bytes where it has no row."""
    parts = [_summary(plan, *chunk) for chunk in filled(rows)]
    return pack(summaries.merge(parts)) if parts else b""


def _summary(plan: Plan, X: Any, y: Any, weights: Any) -> Summary:
    return summaries.summarize(X, y, weights, most=plan.most, options=Encoder(**plan.model.encoder_options()))


def merge_summaries(parts: list[bytes]) -> bytes:
    """The summary of several parts, in order."""
    return pack(summaries.merge([unpack(part) for part in parts]))


def with_schema(plan: Plan, found: bytes | None) -> Plan:
    """The plan with the schema of the table. What would take too much memory is refused before it is counted."""
    if found is None:
        raise DataError("no part of the table has a row. At least one row needs a class.")
    summary: Summary = unpack(found)
    if len(summary.classes) == 0:
        raise DataError("y has no label: every entry is missing. At least one row needs a class.")
    if summary.weight == 0:
        raise DataError("every sample weight is zero; at least one row must count.")
    encoder = Encoder(**plan.model.encoder_options())
    schema = summaries.learn_schema(summary, encoder) if plan.schema is None else plan.schema
    plan = replace(plan, schema=schema, classes=summary.classes, named=summary.named, weight=summary.weight)
    _warn(plan, summary)
    model = plan.empty_model()  # refuses counts beyond the budget
    if gathers_all(plan):
        check_rows(plan, model, summary.n_rows)
    return replace(plan, apart=may_stay_apart(plan, summary.n_rows))


def _warn(plan: Plan, summary: Summary) -> None:
    """Say what of the table is left out."""
    if plan.schema is not None:
        tell_columns(plan.schema)
    if summary.n_unlabelled:
        warn_user(f"{summary.n_unlabelled:,} rows have no label and are left out.")
