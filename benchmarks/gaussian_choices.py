"""The choices behind ``gaussian=``, and others that were tried: ``python -m benchmarks.gaussian_choices``.

Log loss of AODE with number columns as normal distributions, by five-fold cross-validation on the data of
``benchmarks.gaussian_columns``: with a super-parent that is a number read in three ways, and with contexts that have
more or fewer rows of their class beside their own.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator

import numpy as np
from sklearn.model_selection import StratifiedKFold

from benchmarks.gaussian_columns import data
from tanager import AODE
from tanager.counts import context_moments
from tanager.counts.block import Query
from tanager.errors import DataWarning
from tanager.scoring.densities import SumOfDensities, _Numbers
from tanager.scoring.forms import ProductOfSums
from tanager.scoring.gaussian import normalised

WAYS = ("P(y, bin) f(x given bin)", "P(y, bin) f(x given y, bin)", "P(y) f(x given y)")
PSEUDO_ROWS = (0.1, 0.3, 1.0, 3.0, 10.0)


def members(scorer: SumOfDensities, query: Query, way: str) -> np.ndarray:
    """Log joints of all members (first axis), each with its super-parent read in one of the ways."""
    form, moments = scorer.form, scorer.moments
    numbers = _Numbers(moments, query, [*scorer.places, moments.place[()]])
    alone = scorer.view.with_form(ProductOfSums((), (), ())).score(query, log_joint=True)  # log P(y)
    out = []
    for s, (i,) in enumerate(form.members):
        logs = scorer._coded(s, query, 1)
        numbers.add_densities(s, moments.child_of(i), logs, 1)
        if s in scorer.inside:
            g = moments.child_of(i)
            if way == WAYS[0]:
                logs += numbers.inside([s])
            elif way == WAYS[1]:
                logs += numbers.log_density((i,))[:, :, g]
            else:
                only = np.full_like(query.codes, np.iinfo(query.codes.dtype).max)
                only[:, i] = query.codes[:, i]
                logs += alone - scorer.members[s].score(Query(only), log_joint=True) + numbers.log_density(())[:, :, g]
        out.append(np.where(scorer._eligible(query)[:, [s]], logs, -np.inf))
    return np.array(out)


def by_way(way: str) -> Callable[[AODE, np.ndarray], np.ndarray]:
    """Posteriors of AODE with super-parents read in this way."""

    def posteriors(model: AODE, X: np.ndarray) -> np.ndarray:
        scorer, query = model.scorer_, model.encode(X)
        assert isinstance(scorer, SumOfDensities)
        return normalised(np.logaddexp.reduce(members(scorer, query, way), axis=0))

    return posteriors


def losses(answer: Callable[[AODE, np.ndarray], np.ndarray]) -> Iterator[float]:
    """The log loss on every data set."""
    for X, y in data().values():
        loss = 0.0
        for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
            model = AODE(gaussian=True).fit(X[train], y[train])
            own = answer(model, X[test])[np.arange(len(test)), np.searchsorted(model.classes_, y[test])]
            loss -= float(np.log(np.maximum(own, 1e-12)).sum())
        yield loss / len(y)


def with_pseudo_rows(rows: float) -> list[float]:
    """Log losses where every context is read with so many rows of its class."""
    kept, context_moments.PSEUDO_ROWS = context_moments.PSEUDO_ROWS, rows
    try:
        return list(losses(lambda model, X: model.predict_proba(X)))
    finally:
        context_moments.PSEUDO_ROWS = kept


def print_table(found: dict[str, list[float]], chosen: str) -> None:
    """A line for every choice: log losses, and the geometric mean of their ratios to the one that was chosen."""
    print("\n| choice | " + " | ".join(data()) + " | ratio |\n| --- |" + " --- |" * (len(data()) + 1))
    for name, own in found.items():
        ratio = np.exp(np.mean(np.log(own) - np.log(found[chosen])))
        print(f"| {name} | " + " | ".join(f"{loss:.3f}" for loss in own) + f" | {ratio:.3f} |")


if __name__ == "__main__":
    warnings.simplefilter("ignore", DataWarning)
    print_table({way: list(losses(by_way(way))) for way in WAYS}, WAYS[0])
    print_table({f"{rows:g} rows": with_pseudo_rows(rows) for rows in PSEUDO_ROWS}, "1 rows")
