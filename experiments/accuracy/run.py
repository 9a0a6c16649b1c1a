"""What is run: all data sets up to 100,000 rows, in two halves, and the classifiers."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from experiments.common import whole
from tanager import A2DE, AODE, TAN, NaiveBayes, NetworkForest
from tanager.datasets import Dataset, available
from tanager.evaluate import stratified_holdout
from tanager.evaluate.peers import AsNumbers
from tanager.evaluate.plan import EvaluationPlan, Folds, make_plan

FOLDS = 5
MOST_ROWS = 20_000  # of the larger ones, so many are drawn: forests of trees take long
FEWEST = 10  # rows of a class; smaller classes are left out, because boosting refuses them
MOST_CELLS = 5_000_000  # rows times columns
NAMED = "NetworkForest"  # the classifier that the bars are for, named beforehand


class RandomForest(RandomForestClassifier):
    """scikit-learn's, but that no class has probability zero: as if one more tree knew nothing."""

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities by the votes of all trees and of one that has no opinion."""
        proba = super().predict_proba(X)
        n = len(self.estimators_)
        return np.asarray((n * proba + 1 / proba.shape[1]) / (n + 1))


def developed_on(name: str) -> bool:
    """Whether choices were made on this data set; figures are reported on the others."""
    return zlib.crc32(name.encode()) % 2 == 0


@cache
def dataset(name: str) -> Dataset:
    """A data set without classes of a few rows, and with not too many rows."""
    data = whole(name)
    labels, counts = np.unique(np.asarray(data.y).astype(str), return_counts=True)
    kept = np.isin(np.asarray(data.y).astype(str), labels[counts >= FEWEST])
    most = min(MOST_ROWS, MOST_CELLS // data.X.num_columns)
    if kept.sum() > most:
        some = stratified_holdout(np.asarray(data.y)[kept], most / int(kept.sum()))
        kept[np.flatnonzero(kept)[~some]] = False
    return data if kept.all() else replace(data, X=data.X.filter(kept), y=data.y[kept])


def names() -> list[str]:
    """All data sets with two classes or more, the smallest first."""
    found = [info for info in available() if info.n_rows >= 50]
    return [info.name for info in sorted(found, key=lambda info: info.n_rows * info.n_columns)]


def plans(chosen: Sequence[str], n_folds: int) -> list[EvaluationPlan]:
    """All the work."""
    return [make_plan(name, models, dataset(name), Folds(FOLDS, seed=1), n_folds, None) for name in chosen]


def models(data: Any) -> dict[str, Any]:
    """Ours and scikit-learn's, all as they come but for 300 trees in each forest of trees."""
    kinds = {name: data.options[name] for name in ("categorical", "numeric") if name in data.options}

    def peer(model: Any, **how: Any) -> Any:
        return make_pipeline(AsNumbers(**kinds, **how), model)

    ours = {"NetworkForest": NetworkForest, "NB": NaiveBayes, "TAN": TAN, "AODE": AODE}
    if data.X.num_columns <= 40:
        ours["A2DE"] = A2DE
    return {name: kind(**data.options) for name, kind in ours.items()} | {
        "random forest": peer(RandomForest(300, random_state=0)),
        "extra trees": peer(ExtraTreesClassifier(300, random_state=0), fill=True),
        "gradient boosting": peer(HistGradientBoostingClassifier(random_state=0), one_hot=False),
        "logistic": make_pipeline(AsNumbers(fill=True, **kinds), StandardScaler(), LogisticRegression(max_iter=1000)),
    }
