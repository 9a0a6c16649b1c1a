"""Parameters of a form by conditional likelihood: they make the classes of the rows probable, not the rows themselves.

    log P(y, x) = prior[y] + sum_i cells[x_i, parents of i, y]         over the columns i that are present

The numbers start at the logs of the estimates from counts, and L-BFGS takes them to the largest

    sum_r w_r log P(y_r | x_r) - penalty / 2 |numbers - start|²

There are three sorts of numbers to choose from: every cell by itself, which is logistic regression (``Cells``); logs
of probabilities that sum to one (``Probabilities``); and one exponent per column (``Exponents``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from graphlib import TopologicalSorter
from typing import Any

import numpy as np

from tanager import _kernels
from tanager.counts.block import Block, Query
from tanager.counts.memory import check_budget
from tanager.scoring.forms import ProductOfSums
from tanager.scoring.view import View

LEAST = 1e-9  # a probability of zero has no logarithm to start from; this stands for it
GAIN, SLOPE = 1e-12, 1e-9  # the search ends where a step gains less per row, or no number slopes more
MOST_STEPS = 1000  # without a penalty there may be no largest value, and the numbers would grow for ever
NOTHING = 1e-9  # numbers nearer to 0 than this are rounding
_COPIES = 40  # of all numbers, that the search holds: ten steps and ten gradients, and what NumPy makes in passing


class Tables:
    """Where the numbers of a form are: a place per value of a column and slot of its parents, a number per class.

    A parent has one slot more than values, for missing. With ``smooth_unseen`` a value that was never seen has a place
    of its own.
    """

    def __init__(self, view: View) -> None:
        form, counts = view.form, view.counts
        assert isinstance(form, ProductOfSums)
        self.form, self.n_values, self.n_classes = form, counts.schema.n_values, counts.n_classes
        self.n_codes = self.n_values + int(view.smooth_unseen)
        families = zip(form.child, form.parents, strict=True)
        self.shapes = [(*(int(self.n_codes[p]) + 1 for p in ps), int(self.n_codes[i])) for i, ps in families]
        self.starts = np.cumsum([0, *map(math.prod, self.shapes)])  # first place of every term

    @cached_property
    def kernel(self) -> _kernels.LogLinear:
        """The compiled side."""
        return _kernels.LogLinear(self.n_codes.tolist(), self.form.child, self.form.parents, self.n_classes)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "kernel"}

    def check_memory(self, n_rows: int, max_memory: Any) -> None:
        """Refuse a search, before it begins, that takes more memory than allowed."""
        needed = 8.0 * _COPIES * self.n_places * self.n_classes + n_rows * (4.0 * len(self.shapes) + 34)
        way_out = 'Use fewer bins or parents, fit_by="likelihood", or raise max_memory.'
        check_budget(needed, max_memory, "learning parameters by conditional likelihood", way_out)

    @property
    def n_places(self) -> int:
        return int(self.starts[-1])

    def of_term(self, cells: np.ndarray, t: int) -> np.ndarray:
        """The numbers of one term: (slots of each parent, values of the child, classes)."""
        return cells[self.starts[t] : self.starts[t + 1]].reshape(*self.shapes[t], self.n_classes)

    def generative(self, view: View) -> tuple[np.ndarray, np.ndarray]:
        """Prior and cells by likelihood: the logs of what the view answers with, before given priors and weights."""
        plain = View(view.counts, view.form, view.estimate, smooth_unseen=view.smooth_unseen)
        number = {(child, tuple(parents)): at for at, (child, parents) in enumerate(plain.plan.terms())}
        cells = np.empty((self.n_places, self.n_classes))
        for t, (child, parents) in enumerate(zip(self.form.child, self.form.parents, strict=True)):
            rows = self._all_rows(t)
            value = self.of_term(cells, t).reshape(-1, self.n_classes)
            value[:] = np.nan
            for size in range(len(parents), -1, -1):  # where a parent is missing, those before it
                shorter = np.empty_like(value)
                plain.plan.term(number[child, parents[:size]], rows, shorter)
                np.copyto(value, shorter, where=np.isnan(value))
        nothing = np.full((1, len(self.n_values)), 255, dtype=np.uint8)
        return np.log(np.maximum(plain.score(Query(nothing))[0], LEAST)), np.log(np.maximum(cells, LEAST))

    def _all_rows(self, t: int) -> np.ndarray:
        """A row for every place of a term, in order; the other columns are missing."""
        columns = [*self.form.parents[t], self.form.child[t]]
        rows = np.full((self.starts[t + 1] - self.starts[t], len(self.n_values)), 65535, dtype=np.uint16)
        for i, slots in zip(columns, np.indices(self.shapes[t]), strict=True):
            rows[:, i] = np.where(slots.ravel() < self.n_codes[i], slots.ravel(), 65535)
        return rows


# --- which numbers are learned -----------------------------------------------------------------------------------


class Numbers:
    """What the search moves: a vector from which prior and cells follow."""

    start: np.ndarray
    bounds: tuple[float, float] | None = None

    def __init__(self, tables: Tables, prior: np.ndarray, cells: np.ndarray) -> None:
        raise NotImplementedError

    def tables(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Prior and cells."""
        raise NotImplementedError

    def pull(self, numbers: np.ndarray, d_prior: np.ndarray, d_cells: np.ndarray) -> np.ndarray:
        """Derivatives by prior and cells as derivatives by the numbers."""
        raise NotImplementedError


class Cells(Numbers):
    """Every cell is free. The problem is concave: one maximum, which is logistic regression's."""

    def __init__(self, tables: Tables, prior: np.ndarray, cells: np.ndarray) -> None:
        self.k = len(prior)
        self.start = np.concatenate([prior, cells.ravel()])

    def tables(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return numbers[: self.k], numbers[self.k :].reshape(-1, self.k)

    def pull(self, numbers: np.ndarray, d_prior: np.ndarray, d_cells: np.ndarray) -> np.ndarray:
        return np.concatenate([d_prior, d_cells.ravel()])


class Probabilities(Cells):
    """Cells are logs of P(x_i | parents, y), which sum to one over the values of x_i: the network stays one (ELR).

    The place of unseen values is outside this sum and stays as it is.
    """

    def __init__(self, tables: Tables, prior: np.ndarray, cells: np.ndarray) -> None:
        super().__init__(tables, prior, cells)
        child = np.asarray(tables.form.child)
        sizes = np.repeat(tables.n_codes[child], np.diff(tables.starts) // np.maximum(tables.n_codes[child], 1))
        values = np.repeat(tables.n_values[child], np.diff(tables.starts) // np.maximum(tables.n_codes[child], 1))
        first = np.cumsum(sizes) - sizes  # of every context
        place = np.arange(tables.n_places) - np.repeat(first, sizes)
        self.known = np.flatnonzero(place < np.repeat(values, sizes))
        self.sizes = values[values > 0]
        self.first = np.cumsum(self.sizes) - self.sizes  # of every context, among the known places
        self.cells = cells

    def tables(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        prior, free = super().tables(numbers)
        cells = self.cells.copy()
        cells[self.known] = free[self.known] - self._over_values(np.logaddexp, free[self.known])
        return prior - np.logaddexp.reduce(prior), cells

    def pull(self, numbers: np.ndarray, d_prior: np.ndarray, d_cells: np.ndarray) -> np.ndarray:
        prior, cells = self.tables(numbers)
        d_free = np.zeros_like(d_cells)
        d_known = d_cells[self.known]
        d_free[self.known] = d_known - np.exp(cells[self.known]) * self._over_values(np.add, d_known)
        return super().pull(numbers, d_prior - np.exp(prior) * d_prior.sum(), d_free)

    def _over_values(self, reduce: np.ufunc, x: np.ndarray) -> np.ndarray:
        """A reduction over the values of each context, repeated for each of them."""
        if not len(self.first):
            return x
        return np.repeat(reduce.reduceat(x, self.first, axis=0), self.sizes, axis=0)


class Exponents(Numbers):
    """One exponent per column, between 0 and 1; probabilities stay as they were estimated (WANBIA)."""

    bounds = (0.0, 1.0)

    def __init__(self, tables: Tables, prior: np.ndarray, cells: np.ndarray) -> None:
        self.prior, self.cells = prior, cells
        self.term = np.repeat(np.arange(len(tables.shapes)), np.diff(tables.starts))
        self.start = np.ones(len(tables.shapes))

    def tables(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.prior, self.cells * numbers[self.term, None]

    def pull(self, numbers: np.ndarray, d_prior: np.ndarray, d_cells: np.ndarray) -> np.ndarray:
        return np.bincount(self.term, (d_cells * self.cells).sum(axis=1), minlength=len(numbers))


# --- the search --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fitting:
    """How the search went: the conditional log-likelihood of the learned rows before and after, and its steps.

    Where ``converged`` is False the search was ended after so many steps: without a penalty there may be no maximum.
    """

    before: float
    after: float
    n_steps: int
    converged: bool


@dataclass(frozen=True, eq=False)
class Parameters:
    """Prior and cells of a form, and what they come from: the log prior at the start, and exponents where learned."""

    tables: Tables
    prior: np.ndarray
    cells: np.ndarray
    start_prior: np.ndarray
    exponents: np.ndarray  # one per term, or none
    fitting: Fitting

    def score(self, codes: np.ndarray, view: View, *, log_joint: bool, n_jobs: int) -> np.ndarray:
        """Posteriors or log joints; the view says which priors and class weights were given."""
        out = np.empty((len(codes), len(self.prior)))
        self.tables.kernel.score(codes, self.prior_of(view), self.cells, out, log_joint, n_jobs)
        return out

    def prior_of(self, view: View) -> np.ndarray:
        """The prior; given priors take the place of the estimated ones in it, and class weights are factors."""
        with np.errstate(divide="ignore"):
            priors = np.log(view.priors) - self.start_prior if view.priors else 0.0
            return self.prior + priors + (np.log(view.factors) if view.factors else 0.0)

    def parts(self, codes: np.ndarray, answer: int, against: int) -> list[tuple[int, tuple[int, ...], float]]:
        """What every column of a row says, seen with the parents that are present: log-odds for the answer."""
        tables, out = self.tables, []
        slot = np.minimum(codes, tables.n_codes)
        missing = slot == tables.n_codes
        for t, (child, parents) in enumerate(zip(tables.form.child, tables.form.parents, strict=True)):
            if not missing[child]:
                numbers = tables.of_term(self.cells, t)[tuple(slot[[*parents, child]])]
                present = tuple(p for p in parents if not missing[p])
                out.append((child, present, float(numbers[answer] - numbers[against])))
        return out

    def logs_by_column(self, codes: np.ndarray) -> np.ndarray:
        """What every column of every row adds to the log of every class; 0 where it is missing."""
        tables = self.tables
        slot = np.minimum(codes, tables.n_codes)
        out = np.zeros((*codes.shape, len(self.prior)))
        for t, (child, parents) in enumerate(zip(tables.form.child, tables.form.parents, strict=True)):
            there = slot[:, child] < tables.n_codes[child]
            out[there, child] += tables.of_term(self.cells, t)[tuple(slot[there][:, [*parents, child]].T)]
        return out

    def probabilities(self) -> tuple[np.ndarray, dict[int, np.ndarray]]:
        """P(y), and P(x_i | parents, y) as (parents, values, classes) per column, with the same answers to full rows.

        What the numbers of a column sum to, in each context, moves to the latest of its parents, which has all others
        as parents in turn; what those of a column without parents sum to moves to the classes. Nothing where there
        is no such parent.
        """
        form, prior = self.tables.form, self.prior.copy()
        parents = dict(zip(form.child, form.parents, strict=True))
        logs = {i: self._values_only(t) for t, i in enumerate(form.child)}
        for i in reversed(list(TopologicalSorter(parents).static_order())):
            total = np.logaddexp.reduce(logs[i], axis=-2) if logs[i].shape[-2] else np.zeros(logs[i].shape[:-2])
            logs[i] = logs[i] - total[..., None, :]
            if not parents[i]:
                prior += total
            elif np.abs(total).max(initial=0.0) > NOTHING:  # of probabilities, nothing is left to move
                heirs = [p for p in parents[i] if {*parents[i]} <= {p, *parents[p]}]
                if not heirs:
                    return np.exp(prior), {}
                logs[heirs[0]] += _along(total, parents[i], (*parents[heirs[0]], heirs[0]))
        return np.exp(prior - np.logaddexp.reduce(prior)), {i: np.exp(cells) for i, cells in logs.items()}

    def _values_only(self, t: int) -> np.ndarray:
        """A copy of the numbers of a term, without missing parents and unseen values."""
        columns = (*self.tables.form.parents[t], self.tables.form.child[t])
        return self.tables.of_term(self.cells, t)[tuple(slice(int(self.tables.n_values[i])) for i in columns)].copy()


def _along(table: np.ndarray, own: tuple[int, ...], axes: tuple[int, ...]) -> np.ndarray:
    """A table over some columns (and classes), ready to be added to one over more of them."""
    order = sorted(range(len(own)), key=lambda at: axes.index(own[at]))
    sizes = dict(zip(own, table.shape, strict=False))
    return table.transpose([*order, len(own)]).reshape([*(sizes.get(i, 1) for i in axes), table.shape[-1]])


def fit_parameters(
    tables: Tables,
    view: View,
    rows: Block,
    kind: type[Numbers],
    penalty: float,
    n_jobs: int = 1,
) -> Parameters:
    """Those of largest conditional likelihood, less the penalty, for labelled rows."""
    prior, cells = tables.generative(view)
    model = kind(tables, prior, cells)
    total = len(rows) if rows.weights is None else rows.weights.sum()
    kernel_rows = tables.kernel.rows(rows.codes, rows.labels, rows.weights)
    best, fitting = maximise(model, kernel_rows, penalty, float(total) or 1.0, n_jobs)
    exponents = best if kind is Exponents else np.empty(0)
    return Parameters(tables, *model.tables(best), prior, exponents, fitting)


def maximise(
    model: Numbers, rows: _kernels.LabelledRows, penalty: float, weight: float, n_jobs: int = 1
) -> tuple[np.ndarray, Fitting]:
    """L-BFGS from the start. Losses are divided by the weight of all rows, to stop alike for few and many."""
    from scipy.optimize import minimize
    from threadpoolctl import threadpool_limits  # comes with scikit-learn

    start, seen = model.start, []
    d_prior, d_cells = (np.empty_like(table) for table in model.tables(start))

    def loss(numbers: np.ndarray) -> tuple[float, np.ndarray]:
        value = rows.gradient(*model.tables(numbers), d_prior, d_cells, n_jobs)
        seen.append(value)
        away = numbers - start
        slope = model.pull(numbers, d_prior, d_cells) - penalty * away
        return (penalty / 2 * float(away @ away) - value) / weight, -slope / weight

    bounds = None if model.bounds is None else [model.bounds] * len(start)
    options = {"maxiter": MOST_STEPS, "maxfun": 2 * MOST_STEPS, "ftol": GAIN, "gtol": SLOPE}
    with threadpool_limits(1):  # its vectors are short, and threads would wait for each other
        found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    after = rows.gradient(*model.tables(found.x), d_prior, d_cells, n_jobs)
    return found.x, Fitting(seen[0], after, int(found.nit), bool(found.success))
