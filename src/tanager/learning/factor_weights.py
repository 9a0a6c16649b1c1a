"""``fit_by="factor_weights"``: an exponent for P(y) and for every factor, by rows that are left out of the estimates.

    z_y(x) = w_0 log P(y) + sum_i w_i log P(x_i | y, parents of i)

w >= 0 maximise the likelihood of the classes, each row answered by terms that have not counted it, less a penalty on
the distance from 1. There are as many numbers as columns, and one more. In contrast to ``fit_by="weights"``, P(y) has
an exponent, too, exponents may exceed 1, and rows that are left out do not flatter columns with many values.
"""

from __future__ import annotations

import numpy as np

from tanager.counts.block import Block
from tanager.learning.pooling import log_pool
from tanager.scoring.discriminative import Discriminative
from tanager.scoring.forms import ProductOfSums
from tanager.scoring.parameters import LEAST, Fitting, Parameters, Tables
from tanager.scoring.view import View

MOST_ROWS = 3000  # are asked about, spread over all: so few numbers need no more
PENALTY = 2.0  # times the squared distance from 1, for a penalty of 1


def with_factor_weights(view: View, rows: Block, penalty: float, max_memory: object) -> Discriminative:
    """The scorer of a view with an exponent for every factor."""
    tables = Tables(view)
    tables.check_memory(len(rows), max_memory)
    prior, cells = tables.generative(view)
    asked = rows.part(evenly(len(rows), MOST_ROWS))
    logs, labels = left_out_factors(view, asked), asked.labels.astype(np.intp)
    weights = np.ones(len(asked)) if asked.weights is None else asked.weights
    w = log_pool(logs, labels, weights, penalty=PENALTY * penalty, centre=1.0)
    before, after = (likelihood(np.tensordot(at, logs, axes=1), labels, weights) for at in (np.ones(len(w)), w))
    powers = np.repeat(w[1:], np.diff(tables.starts))
    found = Parameters(tables, w[0] * prior, powers[:, None] * cells, prior, w[1:], Fitting(before, after, 0, True))
    return Discriminative(view, "factor_weights", found)


def evenly(n: int, most: int) -> np.ndarray:
    """So many places of n at most, spread evenly."""
    return np.arange(n) if n <= most else np.linspace(0, n - 1, most).round().astype(np.intp)


def left_out_factors(view: View, rows: Block) -> np.ndarray:
    """Logs (1 + terms, rows, classes) of P(y) and of every term, each row left out; 0 where a column is missing.

    Where a parent is missing, the parents before it count, as in answers.
    """
    form = view.form
    assert isinstance(form, ProductOfSums)
    once = rows.once
    plain = View(view.counts, form, view.estimate, smooth_unseen=view.smooth_unseen).in_terms()
    out = np.zeros((1 + len(form.child), len(rows), view.counts.n_classes))
    out[0] = plain.with_form(ProductOfSums((), (), ())).leave_one_out(once)
    for t, (child, parents) in enumerate(zip(form.child, form.parents, strict=True), start=1):
        out[t] = np.nan
        for size in range(len(parents), -1, -1):
            np.copyto(out[t], plain.term(child, parents[:size], once), where=np.isnan(out[t]))
    return np.asarray(np.log(np.maximum(np.where(np.isnan(out), 1.0, out), LEAST)))


def likelihood(z: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> float:
    """The conditional log likelihood of the classes, from logs of the joint."""
    own = z[np.arange(len(labels)), labels] - np.logaddexp.reduce(z, axis=1)
    return float(weights @ own)
