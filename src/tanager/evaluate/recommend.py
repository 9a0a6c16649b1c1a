"""Which classifier to use, and why, in one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tanager.evaluate.aggregate import HIGHER, median_of, value_of
from tanager.evaluate.significance import average_ranks, friedman, nemenyi

if TYPE_CHECKING:
    from tanager.evaluate.results import Results


_ENOUGH_FOLDS = 5  # for a test; of fewer the means decide
_MOST_FOLDS = 0.75  # of the folds: a classifier that is better in so many has probably found something


@dataclass(frozen=True)
class Recommendation:
    """The classifier to use, and the sentence that says why; made by ``Results.recommend``.

    Parameters
    ----------
    classifier : str
        The name of the classifier.
    reason : str
        The sentence, which is also what ``print`` shows.
    useful : bool
        False where no classifier is better than the shares of the classes alone.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tanager import AODE, NaiveBayes
    >>> from tanager.evaluate import leave_one_out
    >>> results = leave_one_out({"nb": NaiveBayes(), "aode": AODE()}, *load_iris(return_X_y=True), parts=10)
    >>> advice = results.recommend("accuracy")
    >>> advice.classifier
    'nb'
    >>> print(advice)
    Take nb: it has the best accuracy (0.9467) of 2 classifiers, not significantly better than aode.
    """

    classifier: str
    reason: str
    useful: bool = True

    def __str__(self) -> str:
        return self.reason


def over_one(results: Results, measure: str, alpha: float) -> Recommendation:
    """On one data set; ``Results.recommend`` describes the rule."""
    (dataset,) = results.datasets
    order = results.best_first(dataset, measure)
    best = order[0]
    if _no_better_than_shares(results, best, measure, alpha):
        return Recommendation(best, _without_columns(results, order, measure), useful=False)
    if len(order) == 1:
        return Recommendation(best, f"{best} is the only classifier here.")
    equals = [name for name in order if name == best or abs(results.difference(dataset, name, best, measure)[1]) <= 1]
    if "accuracy" in results.measures:
        most = results.best_first(dataset, "accuracy")[0]
        equals = [name for name in equals if not _worse(results, name, most, "accuracy", alpha)] or equals
    chosen = _cheapest(results, equals)
    word = measure.replace("_", " ")
    value, top = (f"{results.mean(dataset, name, measure):.4f}" for name in (chosen, best))
    if chosen == best:
        reason = (
            f"it has the best {word} ({value}) of {len(order)} classifiers, {_margin(results, order, measure, alpha)}"
        )
    elif best not in equals:
        reason = f"with a {word} of {value}, while the best ({best}, {top}) is significantly less accurate than {most}"
    else:
        price = f"{_seconds(results, chosen) / _seconds(results, best):.0%} of the time"
        reason = f"its {word} of {value} is within one standard error of the best ({best}, {top}), and it takes {price}"
    return Recommendation(chosen, f"Take {chosen}: {reason}.")


def _no_better_than_shares(results: Results, best: str, measure: str, alpha: float) -> bool:
    """Whether nothing shows that the best is better than the class shares alone, neither the measure nor accuracy.

    A classifier that is too sure of itself has log losses that vary much, and may still be right far more often.
    """
    return not any(_beats_shares(results, best, name, alpha) for name in (measure, "accuracy"))


def _beats_shares(results: Results, name: str, measure: str, alpha: float) -> bool:
    """Whether it is better, significantly where there are folds enough to test; also where it is not known."""
    (dataset,) = results.datasets
    difference, _, p = results.beyond_shares(dataset, name, measure)
    if np.isnan(difference):
        return True
    better = (difference > 0) == (measure in HIGHER) and difference != 0
    return bool(better and (p < alpha or len(results.folds(dataset, name)) < _ENOUGH_FOLDS))


def _without_columns(results: Results, order: Sequence[str], measure: str) -> str:
    """The sentence where no classifier has found anything in the columns."""
    (dataset,) = results.datasets
    best, word = order[0], measure.replace("_", " ")
    value = results.mean(dataset, best, measure)
    shares = value - results.beyond_shares(dataset, best, measure)[0]
    them = "its own" if len(order) == 1 else f"that of {best}, the best of them,"
    who = (
        f"{best} is not significantly"
        if len(order) == 1
        else f"None of these {len(order)} classifiers is significantly"
    )
    n_better, n_folds = _folds_better_than_shares(results, best, measure)
    advice = "Other columns are needed here, more than another classifier."
    if n_better >= _MOST_FOLDS * n_folds:
        advice = (
            f"That is better in {n_better} of {n_folds} folds, which differ too much to be sure: more rows would tell."
        )
    return (
        f"{who} better than the shares of the classes alone, without any column: their {word} is {shares:.4f}, and "
        f"{them} {value:.4f}. {advice}"
    )


def _folds_better_than_shares(results: Results, name: str, measure: str) -> tuple[int, int]:
    """In how many folds a classifier is better than the shares of the classes alone, and how many folds there are."""
    (dataset,) = results.datasets
    folds = results.folds(dataset, name)
    sign = 1 if measure in HIGHER else -1
    better = [sign * (value_of(fold, measure) - value_of(fold["class_shares"], measure)) > 0 for fold in folds]
    return sum(better), len(folds)


def _margin(results: Results, order: Sequence[str], measure: str, alpha: float) -> str:
    """From which classifiers the first is significantly different."""
    if len(results.folds(results.datasets[0], order[0])) < 2:
        return "though a single fold has no variance, so that nothing could be tested"
    close = [name for name in order[1:] if not _worse(results, name, order[0], measure, alpha)]
    return f"not significantly better than {_listed(close)}" if close else "significantly better than all others"


def over_many(names: Sequence[str], losses: np.ndarray, measure: str, alpha: float) -> Recommendation:
    """Over several data sets: the best mean rank, and from which others it is separated."""
    n, q = losses.shape
    if q == 1:
        return Recommendation(names[0], f"{names[0]} is the only classifier here.")
    places = average_ranks(losses)
    best = int(places.argmin())
    chosen = names[best]
    word = measure.replace("_", " ")
    head = f"Take {chosen}: it has the best mean rank by {word} ({places[best]:.2f} of {q}, over {n} data sets)"
    if n < 2:
        return Recommendation(chosen, f"{head}, though one data set says little about others.")
    p = friedman(losses).p
    if not p < alpha:
        return Recommendation(chosen, f"{head}, but the ranks may be chance (Friedman's test: p = {p:.2g}).")
    apart = nemenyi(q, n, alpha)
    beaten = [names[i] for i in np.argsort(places) if places[i] - places[best] > apart]
    close = [names[i] for i in np.argsort(places) if i != best and places[i] - places[best] <= apart]
    if not close:
        return Recommendation(chosen, f"{head}, and Nemenyi's test separates it from all others.")
    beaten_by = f"separates it from {_listed(beaten)}, not from" if beaten else "does not separate it from"
    return Recommendation(chosen, f"{head}; Nemenyi's test {beaten_by} {_listed(close)}.")


def _worse(results: Results, name: str, best: str, measure: str, alpha: float) -> bool:
    """Whether a classifier is significantly worse than the best of them, by the folds that both have."""
    return name != best and results.difference(results.datasets[0], name, best, measure)[2] < alpha


def _cheapest(results: Results, names: Sequence[str]) -> str:
    """The first of those that take at most twice as long as the fastest; names come best first."""
    seconds = [_seconds(results, name) for name in names]
    if np.isnan(seconds).any():  # not measured
        return names[0]
    return next(name for name, own in zip(names, seconds, strict=True) if own <= 2 * min(seconds))


def _seconds(results: Results, name: str) -> float:
    """The median time that a fold takes, to learn and to answer."""
    folds = results.folds(results.datasets[0], name)
    return median_of(folds, "fit_seconds") + median_of(folds, "predict_seconds")


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
