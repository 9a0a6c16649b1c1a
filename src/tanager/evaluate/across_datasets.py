"""Classifiers compared over several data sets: ranks, wins and losses, Friedman's test."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tanager.errors import DataError
from tanager.evaluate.aggregate import as_loss, mean_of
from tanager.evaluate.significance import (
    average_ranks,
    friedman,
    geometric_mean_ratio,
    nemenyi,
    sign_test,
    win_draw_loss,
)
from tanager.evaluate.table import Table

if TYPE_CHECKING:
    from tanager.evaluate.results import Results


class CommonLosses(NamedTuple):
    """Losses on the data sets that all classifiers have, and notes on what was left out."""

    datasets: list[str]
    losses: NDArray[np.float64]  # (data sets, classifiers)
    n_rows: list[float]  # test rows of each data set, in one repeat
    notes: list[str]

    @property
    def note(self) -> str:
        """How many data sets are compared, then the notes."""
        n = len(self.datasets)
        return "\n".join([f"Over {n} data set{'s' * (n != 1)}.", *self.notes])


def common_losses(results: Results, measure: str) -> CommonLosses:
    """The losses of all classifiers on the data sets that all of them have."""
    results.check_measure(measure)
    names = results.classifiers
    whole = [d for d in results.datasets if all(results.by_fold(d, c) for c in names)]
    losses = np.array([_losses_on(results, d, measure) for d in whole]).reshape(len(whole), len(names))
    known = ~np.isnan(losses).any(axis=1)
    common = [d for d, is_known in zip(whole, known, strict=True) if is_known]
    if not common:
        raise DataError(
            f"there is no data set on which all of {', '.join(names)} have a value of {measure}. "
            "Use select(classifiers=[...]) to leave out those that have few."
        )
    left_out = [d for d in results.datasets if d not in common]
    note = [f"Left out, as not every classifier has {measure} there: {', '.join(left_out)}."] if left_out else []
    n_rows = [_rows_tested(results, d) for d in common]
    return CommonLosses(common, losses[known], n_rows, [*note, *results.missing_folds(common)])


def _losses_on(results: Results, dataset: str, measure: str) -> list[float]:
    """The losses of all classifiers over the folds that all of them have."""
    folds = [results.by_fold(dataset, name) for name in results.classifiers]
    common = [at for at in folds[0] if all(at in other for other in folds)]
    return [as_loss(mean_of([own[at] for at in common], measure), measure) for own in folds]


def _rows_tested(results: Results, dataset: str) -> float:
    folds = results.folds(dataset, results.classifiers[0])
    repeats = len({record["repeat"] for record in folds})
    return float(sum(record["n_test"] for record in folds) / repeats)


def ranking(results: Results, measure: str) -> Table:
    """See ``Results.over_datasets``."""
    common = common_losses(results, measure)
    losses = common.losses
    mean_ranks = average_ranks(losses)
    order = np.argsort(mean_ranks, kind="stable")
    best = np.isclose(losses, losses.min(axis=1, keepdims=True), rtol=0, atol=1e-9).sum(axis=0)
    rows = [
        [
            results.classifiers[c],
            float(as_loss(losses[:, c].mean(), measure)),
            float(mean_ranks[c]),
            int(best[c]),
            geometric_mean_ratio(losses[:, c], losses[:, order[0]], common.n_rows),
        ]
        for c in order
    ]
    names = ("classifier", f"mean {measure}", "mean rank", "best on", "ratio")
    return Table(names, rows, {"mean rank": ".2f", "ratio": ".3f"}, note=common.note)


def pairs(results: Results, measure: str) -> Table:
    """See ``Results.pairs``."""
    common = common_losses(results, measure)
    names, losses = results.classifiers, common.losses
    rows = []
    for a, b in combinations(range(losses.shape[1]), 2):
        won, drawn, lost = win_draw_loss(losses[:, a], losses[:, b])
        ratio = geometric_mean_ratio(losses[:, a], losses[:, b], common.n_rows)
        rows.append([names[a], names[b], won, drawn, lost, sign_test(won, lost)[1], ratio])
    heads = ("first", "second", "wins", "draws", "losses", "p", "ratio")
    return Table(heads, rows, {"p": "p", "ratio": ".3f"}, note=common.note)


def win_draw_loss_matrix(results: Results, measure: str) -> Table:
    """See ``Results.win_draw_loss``."""
    names: Sequence[str] = results.classifiers
    compared = pairs(results, measure)
    cells = {}
    for first, second, won, drawn, lost, p, _ in compared.rows:
        cells[first, second] = f"{won}-{drawn}-{lost} ({p:.3f})"
        cells[second, first] = f"{lost}-{drawn}-{won} ({p:.3f})"
    rows = [[a, *(cells.get((a, b), "") for b in names)] for a in names]
    note = f"Wins-draws-losses of the row against the column by {measure}, two-tailed p of the sign test.\n"
    return Table(["", *names], rows, note=note + compared.note)


def friedman_test(results: Results, measure: str, alpha: float) -> Table:
    """See ``Results.friedman``."""
    common = common_losses(results, measure)
    found = friedman(common.losses)
    n, q = common.losses.shape
    row = (n, q, found.chi2, found.f, found.p, nemenyi(q, n, alpha))
    names = ("data sets", "classifiers", "chi2", "F", "p", "critical difference")
    return Table(names, [row], {"p": "p"}, note=common.note)
