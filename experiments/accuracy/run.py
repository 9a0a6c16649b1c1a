"""What is run: all data sets up to 100,000 rows, in two halves, and the classifiers."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from experiments.common import whole
from tanager import A2DE, AODE, KDB, TAN, BestOf, NaiveBayes, NetworkForest
from tanager.datasets import Dataset, available
from tanager.evaluate import stratified_holdout
from tanager.evaluate.peers import AsNumbers
from tanager.evaluate.plan import EvaluationPlan, Folds, make_plan

FOLDS = 5
MOST_ROWS = 100_000  # of larger ones, so many are drawn
FEWEST = 10  # rows of a class; smaller classes are left out, because boosting refuses them
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
    if kept.sum() > MOST_ROWS:
        some = stratified_holdout(np.asarray(data.y)[kept], MOST_ROWS / int(kept.sum()))
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
    """Ours and others, all as they come but for 300 trees in each forest of trees and one thread for all."""
    return ours(data) | peers(data)


def ours(data: Any) -> dict[str, Any]:
    """The forest, the pool, and single classifiers."""
    kinds: dict[str, Any] = {"NetworkForest": NetworkForest, "NB": NaiveBayes, "TAN": TAN, "KDB": KDB, "AODE": AODE}
    if data.X.num_columns <= 40:
        kinds["A2DE"] = A2DE
    found = {name: kind(**data.options) for name, kind in kinds.items()}
    return found | {"BestOf, pooled": BestOf(pool="log", **data.options)}


def peers(data: Any) -> dict[str, Any]:
    """Forests of trees, boosting and logistic regression."""
    kinds = {name: data.options[name] for name in ("categorical", "numeric") if name in data.options}

    def peer(model: Any, **how: Any) -> Any:
        return make_pipeline(AsNumbers(**kinds, **how), model)

    return {
        "random forest": peer(RandomForest(300, random_state=0)),
        "extra trees": peer(ExtraTreesClassifier(300, random_state=0), fill=True),
        "gradient boosting": peer(HistGradientBoostingClassifier(random_state=0), one_hot=False),
        **{name: peer(model, one_hot=False) for name, model in boosters().items()},
        "logistic": make_pipeline(AsNumbers(fill=True, **kinds), StandardScaler(), LogisticRegression(max_iter=1000)),
    }


def boosters() -> dict[str, Any]:
    """Other libraries for boosted trees, where they are installed (``pip install 'tanager[experiments]'``)."""
    found: dict[str, Any] = {}
    with suppress(ImportError):
        from lightgbm import LGBMClassifier

        found["LightGBM"] = LGBMClassifier(n_jobs=1, verbose=-1, random_state=0)
    with suppress(ImportError):
        from xgboost import XGBClassifier

        found["XGBoost"] = XGBClassifier(n_jobs=1, random_state=0)
    return found
