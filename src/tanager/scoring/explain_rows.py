"""Many rows explained at once: the log-odds of pairs of classes, shared out over columns as for one row.

A column's parts (``tanager.scoring.explain``) are added up: of a product of sums that is the log of the column's sum,
for one class less the other; of a sum of products the log-odds of all its factors, each times its member's share. Rows
in which a class is impossible go the way of single rows.
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from tanager.counts.block import Query
from tanager.scoring.explain import PartList, explain_row
from tanager.scoring.forms import ParentSet, ProductOfSums, SumOfProducts

if TYPE_CHECKING:
    from tanager.scoring.view import View

AT_ONCE = 1 << 17  # numbers that parts of rows may take in one step, about: they should stay in the cache

Explained = tuple[np.ndarray, np.ndarray]  # prior (rows, pairs), and what each column adds (rows, columns, pairs)


class ExplainsOne(Protocol):
    """What explains one row."""

    def explain(self, query: Query, answer: int, against: int) -> tuple[float, PartList]:
        """For one row: log-odds of the prior, and of every column with its parents."""
        ...


@runtime_checkable
class ExplainsMany(Protocol):
    """A scorer that explains many rows together."""

    def explain_rows(self, query: Query, answer: np.ndarray, against: np.ndarray) -> Explained:
        """Log-odds of the prior and of every column, for each row and its pairs of classes (rows, pairs)."""
        ...


def explain_rows(scorer: Any, query: Query, answer: np.ndarray, against: np.ndarray) -> Explained:
    """Log-odds of the prior (rows, pairs) and of every column (rows, columns, pairs), between pairs of classes.

    NaN where both classes are impossible. Scorers that cannot take rows together are asked row by row.
    """
    if isinstance(scorer, ExplainsMany):
        return scorer.explain_rows(query, answer, against)
    return one_by_one(scorer, query, answer, against)


def one_by_one(scorer: ExplainsOne, query: Query, answer: np.ndarray, against: np.ndarray) -> Explained:
    """The same from the explanations of single rows."""
    prior, columns = np.zeros(answer.shape), np.zeros((len(query), query.codes.shape[1], answer.shape[1]))
    for r in range(len(query)):
        row = query.part(slice(r, r + 1))
        for p, pair in enumerate(zip(answer[r].tolist(), against[r].tolist(), strict=True)):
            prior[r, p], parts = scorer.explain(row, *pair)
            for i, _, value in parts:
                columns[r, i, p] += value
    return prior, columns


def differences(logs: np.ndarray, answer: np.ndarray, against: np.ndarray) -> np.ndarray:
    """Logs of the classes, on the last axis of an array of rows, to differences between pairs of them."""
    shape = (len(logs), *(1,) * (logs.ndim - 2), answer.shape[1])
    ours = np.take_along_axis(logs, answer.reshape(shape), axis=-1)
    return np.asarray(ours - np.take_along_axis(logs, against.reshape(shape), axis=-1))


def explain_view(view: View, query: Query, answer: np.ndarray, against: np.ndarray) -> Explained:
    """The rows of a view, in steps of as many as the cache holds."""
    with np.errstate(all="ignore"):
        total = differences(view.score(query, log_joint=True), answer, against)
        terms = _InTerms(view.in_terms())
        columns = np.zeros((len(query), view.counts.n_features, answer.shape[1]))
        for start in range(0, len(query), terms.n_rows_at_once):
            rows = slice(start, start + terms.n_rows_at_once)
            columns[rows] = terms.columns(query.part(rows), answer[rows], against[rows])
        prior = total - columns.sum(axis=1)
    for r in np.flatnonzero(~np.isfinite(prior).all(axis=1)).tolist():  # a class is impossible
        one = slice(r, r + 1)
        prior[one], columns[one] = one_by_one(terms, query.part(one), answer[one], against[one])
    return prior, columns


class _InTerms:
    """A view whose every P(x_i | y, parents) is a term of its own, and the places of its terms."""

    def __init__(self, view: View) -> None:
        self.view, self.n, self.k = view, view.counts.n_features, view.counts.n_classes
        form = self.form = view.form
        self.n_members = len(form.members) if isinstance(form, SumOfProducts) else 0
        self.places = {(child, tuple(parents)): t for t, (child, parents) in enumerate(view.plan.terms())}
        self.n_rows_at_once = max(1, AT_ONCE // max(1, len(self.places) * self.k))

    def explain(self, query: Query, answer: int, against: int) -> tuple[float, PartList]:
        """A single row."""
        return explain_row(self.view, query, answer, against)

    def columns(self, query: Query, answer: np.ndarray, against: np.ndarray) -> np.ndarray:
        """What every column adds; not finite for rows in which a class is impossible."""
        values = np.empty((len(query), self.n_members + len(self.places), self.k))
        self.view.plan.parts(query.codes, values)
        if isinstance(self.form, SumOfProducts):
            return self._of_sum(self.form, query, values, answer, against)
        columns = differences(self._logs(self.form, values), answer, against)
        self._add_class_parents(self.form.class_parents, query, columns, answer, against)
        return columns

    # --- products of sums ---------------------------------------------------------------------------------------

    def _add_class_parents(
        self, parents: ParentSet, query: Query, columns: np.ndarray, answer: np.ndarray, against: np.ndarray
    ) -> None:
        """What each parent of the class adds to those before it."""
        prefixes = [parents[:size] for size in range(len(parents) + 1)] if parents else []
        views = [self.view.with_form(ProductOfSums((), (), (), prefix)) for prefix in prefixes]
        totals = [differences(v.score(query, log_joint=True), answer, against) for v in views]
        for i, (before, after) in zip(parents, pairwise(totals), strict=False):
            columns[:, i] += after - before

    def _logs(self, form: ProductOfSums, values: np.ndarray) -> np.ndarray:
        """The log of every column's sum, for all classes; 0 where a column says nothing."""
        logs = np.zeros((len(values), self.n, self.k))
        groups: dict[tuple[int, tuple[int, ...]], list[int]] = {}
        for t, (child, only) in enumerate(zip(form.child, form.only or ((),) * len(form.child), strict=True)):
            groups.setdefault((child, only), []).append(t)
        for (child, only), terms in groups.items():
            which = list(only) if only else slice(None)
            logs[:, child, which] = np.log(self._sum(form, child, terms, values))[:, which]
        return logs

    def _sum(self, form: ProductOfSums, child: int, terms: list[int], values: np.ndarray) -> np.ndarray:
        """The sum over the parent sets of a column that speak, (rows, classes); 1 where none does.

        Where the parents of the only set are missing, the longest family that is there answers, down to the class
        alone.
        """
        voting = [t for t in terms if form.weight[t] > 0]
        own = values[:, [self.places[child, form.parents[t]] for t in voting]]
        speaks = ~np.isnan(own)
        weights = np.array([form.weight[t] for t in voting])
        sums = np.asarray(np.einsum("rtc,t->rc", np.where(speaks, own, 0.0), weights))
        silent = ~speaks.any(axis=1)
        if silent.any():
            first = form.parents[voting[0]] if len(voting) == 1 else ()
            for shorter in (first[:size] for size in range(len(first), -1, -1)):
                value = values[:, self.places[child, shorter]]
                there = silent & ~np.isnan(value)
                sums, silent = np.where(there, value, sums), silent & ~there
        return np.where(silent, 1.0, sums)

    # --- sums of products ---------------------------------------------------------------------------------------

    def _of_sum(
        self, form: SumOfProducts, query: Query, values: np.ndarray, answer: np.ndarray, against: np.ndarray
    ) -> np.ndarray:
        """The log-odds of a sum of products, shared out over its members and theirs over columns."""
        rows = np.arange(len(values))
        factors = self._factors(form, values)
        silent = np.isnan(values[:, : self.n_members]).transpose(2, 0, 1) | (np.array(form.weight) <= 0)
        own = np.where(silent, -np.inf, factors.sum(axis=3))
        whole = np.logaddexp.reduce(own, axis=2)
        columns = np.empty((len(values), self.n, answer.shape[1]))
        for p in range(answer.shape[1]):
            ours, theirs = (answer[:, p], rows), (against[:, p], rows)
            shares = _shares((own[ours], own[theirs]), (whole[ours][:, None], whole[theirs][:, None]))
            columns[:, :, p] = (shares[:, None, :] @ (factors[ours] - factors[theirs]))[:, 0]
        nobody = np.asarray(np.isneginf(whole).all(axis=0))
        if form.otherwise is not None and nobody.any():
            other = _InTerms(self.view.with_form(form.otherwise))
            columns[nobody] = other.columns(query.part(nobody), answer[nobody], against[nobody])
        return columns

    def _factors(self, form: SumOfProducts, values: np.ndarray) -> np.ndarray:
        """The logs of all factors, (classes, rows, members, columns), 0 where there is none.

        P(y, x_s) times its weight is at the first super-parent.
        """
        n_rows, n_parts, _ = values.shape
        logs = np.zeros((self.k, n_rows, n_parts + 1))  # the last stands for all that is not there
        np.log(values.transpose(2, 0, 1), out=logs[:, :, :-1])
        np.copyto(logs, 0.0, where=np.isnan(logs))
        logs[:, :, : self.n_members] += np.log([weight if weight > 0 else 1.0 for weight in form.weight])
        found = np.take(logs, self._read, axis=2, mode="clip")
        return found.reshape(self.k, n_rows, self.n_members, self.n)

    @cached_property
    def _read(self) -> np.ndarray:
        """For every member and column of a sum, the place of their factor among the values; the last where none is."""
        form = self.form
        assert isinstance(form, SumOfProducts)
        place = np.full((self.n_members, self.n), self.n_members + len(self.places), dtype=np.intp)
        for q, s in enumerate(form.members):
            place[q, s[0]] = q
            for j in range(self.n) if form.children is None else form.children:
                if j not in s:
                    place[q, j] = self.n_members + self.places[j, s]
        return place.ravel()


def _shares(own: tuple[np.ndarray, np.ndarray], whole: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """The logarithmic mean of each member's joint for two classes, over that of the sum; all are given as logs."""
    gap, all_gap = (np.abs(a - b) for a, b in (own, whole))
    mean, all_mean = (np.where(d > 1e-12, -np.expm1(-d) / d, 1.0) for d in (gap, all_gap))
    top = np.maximum(*own)
    return np.where(np.isneginf(top), 0.0, np.exp(top - np.maximum(*whole)) * mean / all_mean)
