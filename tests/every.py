"""Every public classifier, found by itself, and instances that show its options."""

from __future__ import annotations

from typing import Any

import numpy as np

import tanager
from tanager import (
    AODE,
    BAN,
    CBL,
    FAN,
    FANC,
    K2,
    KDB,
    SPC,
    SPODE,
    TAN,
    TC,
    AnytimeA2DE,
    AnytimeAODE,
    BackOff,
    BestOf,
    Collection,
    GeneralNetwork,
    GSquared,
    HillClimb,
    MEstimate,
    MultiNet,
    NaiveBayes,
    Network,
    NetworkClassifier,
    PriorCounts,
    Wrapped,
)
from tanager.learning.counts_classifier import CountsClassifier

CLASSES: list[type[CountsClassifier]] = [
    item
    for item in (getattr(tanager, name) for name in tanager.__all__)
    if isinstance(item, type) and issubclass(item, CountsClassifier)
]

# Classifiers that mean little, or need an argument, as they are: an instance each.
ARGUMENTS: dict[str, dict[str, Any]] = {
    "BestOf": {"candidates": [NaiveBayes(), TAN(), AODE()]},
}

PLAIN: list[CountsClassifier] = [cls(**ARGUMENTS.get(cls.__name__, {})) for cls in CLASSES]

OPTIONS: list[CountsClassifier] = [
    NaiveBayes(gaussian=True),
    NaiveBayes(subsumption=5, class_weight="balanced"),
    NaiveBayes(unseen="smooth", smoothing=0.5, bins="width", n_bins=3),
    TAN(missing="marginal", smoothing=PriorCounts(2)),
    FAN(criterion="g2"),
    KDB(k=3, smoothing=BackOff(2)),
    AODE(min_count=3, subsumption=10),
    SPODE(super_parent="mi"),
    AnytimeAODE(member_order="mi", mix="posterior", stop="margin", odds=5.0),
    AnytimeAODE(member_order=["x2", "x0", "x1", "x4", "x3"], stop="budget", members=2, priors=[0.2, 0.3, 0.5]),
    AnytimeA2DE(member_order="random", mix="replace", weights="mi", random_state=1),
    SPC(super_parent="refined"),
    SPC(column_order="mi"),
    FANC(weights={("x1", "x0"): 2.0, ("x1", None): 0.5}, max_parents_from=2),
    FANC(column_order="random", random_state=3),
    TC(order_weights=(1, 2, 3), priors=[0.2, 0.3, 0.5]),
    Collection({"x1": [[], ["x0"], ["x0", "x2"]]}, {"x1": [1, 2, 3]}),
    BestOf([NaiveBayes(), KDB(k=2), AODE(smoothing=MEstimate(2))], criterion="rmse"),
    GeneralNetwork(learner=HillClimb(score="aic"), class_root=False, missing="marginal"),
    BAN(learner=CBL(test=GSquared(0.1), order="given"), smoothing=1.0),
    MultiNet(learner=CBL(threshold=0.05), features=["x1", "x0", "x3"], thresholds={"low": 0.1}),
    NetworkClassifier(
        Network({"x0": (), "x2": (), "class": ()}, [("class", "x0"), ("x2", "class")]), missing="marginal"
    ),
    Wrapped(MultiNet(features="blanket"), grid=[0.02, 0.1], folds=2, criterion="log_loss"),
    Wrapped(BAN(learner=K2(order="given")), grid={"max_parents": [1, 2]}),
]

ALL = PLAIN + OPTIONS


def small_table(n_rows: int = 90, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Numbers, text and missing cells in columns x0..x4, with three classes that depend on pairs of columns."""
    rng = np.random.default_rng(seed)
    X = np.empty((n_rows, 5), dtype=object)
    X[:, 0] = rng.normal(size=n_rows)
    X[:, 1] = rng.integers(0, 3, n_rows)
    X[:, 2] = rng.choice(["red", "green", "blue"], n_rows)
    X[:, 3] = np.where(rng.random(n_rows) < 0.8, (X[:, 0] > 0).astype(int) + X[:, 1], 7)
    X[:, 4] = rng.choice(["yes", "no"], n_rows)
    hidden = (X[:, 0] > 0).astype(int) + (X[:, 2] == "red") * (X[:, 1] > 0)
    y = np.where(rng.random(n_rows) < 0.85, hidden, rng.integers(0, 3, n_rows)).astype(int)
    X[rng.random(X.shape) < 0.05] = None
    return X, np.array(["low", "mid", "top"])[y]


def name_of(model: Any) -> str:
    """A short name for a test's id, the same in every process; a repr sorts the keys of dicts by their addresses."""
    if isinstance(model, list) and model and isinstance(model[0], CountsClassifier):
        return f"[{', '.join(name_of(part) for part in model)}]"
    if not isinstance(model, CountsClassifier):
        return repr(model)
    defaults = type(model)().get_params(deep=False)
    named = {name: name_of(value) for name, value in model.get_params(deep=False).items()}
    changed = [f"{name}={text}" for name, text in named.items() if text != name_of(defaults[name])]
    return f"{type(model).__name__}({', '.join(changed)})"
