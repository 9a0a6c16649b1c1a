"""Choosing a super-parent by looking at the rows again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tanager.counts.joint import JointCounts
from tanager.encoding import Schema
from tanager.errors import OptionError, SchemaMismatch, nearest
from tanager.learning.rows import Rows
from tanager.scoring.forms import Form
from tanager.structure.measures import class_information
from tanager.structure.orders import descending

SELECTIONS = ("mi", "loo", "resub")


def best_by_rows(model: Any, how: Any, form: Callable[[int], Form], counts: JointCounts, rows: Rows | None) -> int:
    """The column a super-parent option stands for: given, or the best by information or by the rows."""
    if isinstance(how, str) and how in SELECTIONS and how not in counts.schema.names:
        if how == "mi":
            return descending(class_information(counts))[0]
        if rows is None:
            raise SchemaMismatch(
                f'{type(model).__name__} chooses by "{how}" over the rows, and counts alone do not hold them. '
                'Name the column, choose by "mi", or fit on the rows.'
            )
        sums = [true_class_sum(model, form(s), rows, leave_out=how == "loo") for s in range(counts.n_features)]
        return descending(np.array(sums))[0]
    return column_place("super_parent", how, counts.schema)


def column_place(option: str, name: Any, schema: Schema) -> int:
    """The place of a column that an option names."""
    if name in schema:
        return schema.index(name)
    if isinstance(name, int | np.integer) and 0 <= name < len(schema):
        return int(name)
    raise OptionError(f"{option}: there is no column {name!r} among the {len(schema)}.{nearest(name, schema.names)}")


def true_class_sum(model: Any, form: Form, rows: Rows, *, leave_out: bool) -> float:
    """Sum over the rows of the probability that the form gives to their own class."""
    proba, labels, weights = row_probabilities(model, form, rows, leave_out=leave_out)
    own = proba[np.arange(len(labels)), labels]
    return float(own.sum() if weights is None else own @ weights)


def row_probabilities(
    model: Any, form: Form, rows: Rows, *, leave_out: bool = True
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Probabilities of the kept rows under a form, each left out or not, with labels and weights."""
    codes, labels, weights = rows.all()
    view = model._view_of(form)
    n_jobs = model._threads()
    if leave_out:
        return view.leave_one_out(codes, labels, weights, n_jobs=n_jobs), labels, weights
    return view.score(codes, n_jobs=n_jobs), labels, weights
