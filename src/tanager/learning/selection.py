"""Choosing a column by an option: named, by information, or by looking at the rows again."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tanager.counts.joint import JointCounts
from tanager.encoding import Schema
from tanager.errors import OptionError, SchemaMismatch, nearest
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.rows import KeptRows
from tanager.learning.search_rows import search_rows
from tanager.learning.structure_change import BITS, Lead
from tanager.scoring.forms import Form, StagedSum, naive
from tanager.structure.measures import class_information
from tanager.structure.orders import descending

SELECTIONS = ("mi", "loo", "resub")


Sums = Callable[[KeptRows, bool], np.ndarray]  # of rows, each left out or not: one number for every super-parent


def best_by_rows(model: CountsClassifier, how: Any, sums: Sums, counts: JointCounts, rows: KeptRows | None) -> int:
    """The column a super-parent option stands for: given, or the best by information or by the rows."""
    if isinstance(how, str) and how in SELECTIONS and how not in counts.schema.names:
        if how == "mi":
            return descending(class_information(counts))[0]
        if rows is None:
            raise SchemaMismatch(
                f'{type(model).__name__} chooses by "{how}" over the rows, and counts alone do not hold them. '
                'Name the column, choose by "mi", or fit on the rows.'
            )
        return descending(sums(rows, how == "loo"))[0]
    return column_place("super_parent", how, counts.schema)


def super_parent_lead(
    how: str, new: int, old: int, counts: JointCounts, sums: Callable[[bool], tuple[np.ndarray, float]]
) -> Lead:
    """How much better a column is than another by what ``best_by_rows`` chooses by.

    Bits about the class ("mi"), or the mean probability of the true class: ``sums`` gives its sum over rows, each left
    out or not, for every column, and how much these rows weigh.
    """
    if how == "mi":
        found = BITS * class_information(counts)
        return Lead(float(found[new] - found[old]), math.log2(max(2, counts.n_classes)), counts.n_rows)
    found, weight = sums(how == "loo")
    return Lead(round(float(found[new] - found[old]) / max(weight, 1e-9), 12), 1.0, weight)


def column_place(option: str, name: Any, schema: Schema) -> int:
    """The place of a column that an option names."""
    if name in schema:
        return schema.index(name)
    if isinstance(name, int | np.integer) and 0 <= name < len(schema):
        return int(name)
    raise OptionError(f"{option}: there is no column {name!r} among the {len(schema)}.{nearest(name, schema.names)}")


def one_dependence_sums(
    model: CountsClassifier, counts: JointCounts, rows: KeptRows, min_count: float, *, leave_out: bool
) -> np.ndarray:
    """The sum of ``true_class_sum`` for each column as the super-parent of all others (SPODE), all at once.

    A row is answered by every column, O(columns² classes): of many columns some rows say which is best.
    """
    n = counts.n_features
    block, found = search_rows(rows, counts, n * n * counts.n_classes), np.zeros((6, n + 1))
    view = model.view_of(StagedSum(tuple((s,) for s in range(n)), (1.0,) * n, min_count, naive(n)))
    view.validate(block, found, leave_out=leave_out, judged="alone", n_jobs=model.n_threads)
    return found[1, 1:]


def true_class_sum(model: CountsClassifier, form: Form, rows: KeptRows, *, leave_out: bool) -> float:
    """Sum over the rows of the probability that the form gives to their own class, each row left out or not."""
    block, view, n_jobs = rows.block, model.view_of(form), model.n_threads
    proba = view.leave_one_out(block.once, n_jobs=n_jobs) if leave_out else view.score(block.query, n_jobs=n_jobs)
    own = proba[np.arange(len(block)), block.labels]
    return float(own.sum() if block.weights is None else own @ block.weights)
