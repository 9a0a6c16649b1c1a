"""What is run: every data set with number columns, every rule, and four classifiers on one count of each fold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from experiments.accuracy.run import dataset, developed_on, names
from experiments.bins.rules import REPORTED, RULES, Rule
from tanager import A2DE, AODE, TAN, NaiveBayes
from tanager.counts.block import Query
from tanager.counts.joint import JointCounts
from tanager.encoding import Encoder
from tanager.evaluate.measures import measure
from tanager.evaluate.plan import Folds
from tanager.learning.shared_counts import joint_shape

CLASSIFIERS = {"NaiveBayes": NaiveBayes, "TAN": TAN, "AODE": AODE, "A2DE": A2DE}
FOLDS = 5
MOST_A2DE = 20  # columns, for A2DE


def with_numbers() -> list[str]:
    """The data sets that have number columns, the smallest first."""
    return [name for name in names() if dataset(name).options.get("numeric")]


def rules_for(name: str) -> list[str]:
    """All rules where choices are made; elsewhere only what is reported."""
    return list(RULES) if developed_on(name) else list(REPORTED)


def run_set(name: str, rule: str) -> list[dict[str, Any]]:
    """The figures of all classifiers on one data set with one rule: means over the folds."""
    folds = [dict(fold) for fold in _folds(name, RULES[rule])]
    lines = []
    for classifier in folds[0]:
        means = {key: float(np.mean([fold[classifier][key] for fold in folds])) for key in folds[0][classifier]}
        lines.append({"dataset": name, "rule": rule, "classifier": classifier, "n_rows": len(dataset(name).y)} | means)
    return lines


def _folds(name: str, rule: Rule) -> Iterator[Iterator[tuple[str, dict[str, float]]]]:
    data = dataset(name)
    classes, labels = np.unique(np.asarray(data.y).astype(str), return_inverse=True)
    labels = labels.astype(np.uint16)
    for part in range(FOLDS):
        yield _fold(data, classes, labels, Folds(FOLDS, seed=1).test(labels, part), rule)


def _fold(
    data: Any, classes: np.ndarray, labels: np.ndarray, test: np.ndarray, rule: Rule
) -> Iterator[tuple[str, dict[str, float]]]:
    numeric = data.options["numeric"]
    columns = {column: np.asarray(data.X[column].to_numpy(), dtype=float)[~test] for column in numeric}
    bins = {column: rule(x, labels[~test]).tolist() for column, x in columns.items()}
    encoder = Encoder(bins=bins, categorical=data.options.get("categorical"))
    encoder.learn(data.X, np.where(test, np.uint16(65535), labels), None, len(classes))
    codes = encoder.transform(data.X)
    kinds = [kind for kind in CLASSIFIERS.values() if kind is not A2DE or data.X.num_columns <= MOST_A2DE]
    models = [kind() for kind in kinds]
    for model in models:
        model.start()
        model.classes_ = classes
    counts = JointCounts(encoder.schema, classes, max_memory=None, **joint_shape(models, encoder.schema))
    counts.update(codes[~test], labels[~test])
    n_bins = float(np.mean([len(cuts) + 1 for cuts in bins.values()]))
    for model in models:
        proba = model.attach(counts, encoder, None).scorer_.score(Query(codes[test]), n_jobs=1)
        own = measure(labels[test].astype(np.int64), proba, proba.argmax(axis=1))
        yield type(model).__name__, {"log_loss": own["log_loss"], "error": 1 - own["accuracy"], "n_bins": n_bins}
