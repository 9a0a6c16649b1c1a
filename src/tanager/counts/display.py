"""What a notebook shows of joint counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tanager.counts.memory import readable
from tanager.display import Html, counted, facts, first, folded, heading, listed, more, note, page, table
from tanager.encoding.display import kinds_of

if TYPE_CHECKING:
    from tanager.counts.joint import JointCounts

MOST_TABLES = 12  # columns whose counts are shown


def counts_html(counts: JointCounts) -> Html:
    """How much was counted, and for those who click, how often each value of a column came with each class."""
    what = {1: "single columns", 2: "pairs of columns", 3: "triples of columns"}[counts.order]
    pairs = [
        ("rows", weight_text(counts.n_rows)),
        ("columns", kinds_of(counts.schema)),
        ("classes", class_shares(counts.classes.tolist(), counts.class_counts)),
        ("counted", f"{what}, each with the class{_wider(counts)}"),
        ("memory", readable(counts.nbytes)),
    ]
    shown, n_more = first(range(counts.n_features), MOST_TABLES)
    tables = [page(heading(counts.schema.names[i]), _column_table(counts, i)) for i in shown]
    values = folded("Values by class", *tables, note(more(n_more, "columns"))) if tables else Html("")
    return page(heading("JointCounts"), facts(pairs), values)


def class_shares(classes: list[object], weights: np.ndarray) -> str:
    """Classes with the weight of their rows and their shares.

    >>> class_shares(["no", "yes"], np.array([30.0, 10.0]))
    'no 30 (75 %), yes 10 (25 %)'
    """
    total = float(weights.sum()) or 1.0
    pairs = zip(classes, weights.tolist(), strict=True)
    return listed([f"{label} {weight_text(n)} ({100 * n / total:.0f} %)" for label, n in pairs])


def weight_text(weight: float) -> str:
    """The weight of rows, most often their number.

    >>> weight_text(1234567.0), weight_text(0.5)
    ('1,234,567', '0.50')
    """
    return f"{weight:,.0f}" if weight == round(weight) else f"{weight:,.2f}"


def _wider(counts: JointCounts) -> str:
    families = len(counts.families)
    return f", and {counted(families, 'wider family', 'wider families')}" if families else ""


def _column_table(counts: JointCounts, i: int) -> Html:
    """A line for each value of a column, and for missing ones, with the weight in each class."""
    column, cells = counts.schema[i], counts.joint(i).T
    lines = [(str(column.describe(v)), *map(weight_text, cells[v].tolist())) for v in range(column.n_values)]
    missing = counts.class_counts - cells.sum(axis=0)
    if missing.any():
        lines.append(("missing", *map(weight_text, missing.tolist())))
    return table(["", *map(str, counts.classes.tolist())], lines, right=[False, *[True] * counts.n_classes])
