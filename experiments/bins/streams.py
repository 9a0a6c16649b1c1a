"""The same in a stream: columns are cut once, after a thousand rows, and then many more rows come."""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.accuracy.run import dataset
from experiments.bins.rules import REPORTED
from experiments.bins.run import CLASSIFIERS
from tanager.evaluate import prequential

LEAST_ROWS = 4000
IN_ORDER = ("eeg-eye-state", "outdoor", "spam", "weather")  # their rows have an order in time; others are shuffled


def run_stream(name: str) -> list[dict[str, Any]]:
    """Every row is answered, then learned: log loss and error of three classifiers with both rules."""
    data = dataset(name)
    order = np.arange(len(data.y)) if name in IN_ORDER else np.random.default_rng(0).permutation(len(data.y))
    kinds = {key: data.options[key] for key in ("categorical", "numeric") if key in data.options}
    models = {
        (rule, classifier): CLASSIFIERS[classifier](bins=rule, **kinds)
        for rule in REPORTED
        for classifier in CLASSIFIERS
        if classifier != "A2DE"
    }
    named = {f"{rule} {classifier}": model for (rule, classifier), model in models.items()}
    found = prequential(named, (data.X.take(order), np.asarray(data.y)[order]))
    lines = []
    for (rule, classifier), name_ in zip(models, named, strict=True):
        log_loss, accuracy = (float(found.curve(name_, measure)[-1]) for measure in ("log_loss", "accuracy"))
        figures = {"log_loss": log_loss, "error": 1 - accuracy}
        lines.append({"dataset": name, "rule": rule, "classifier": classifier, "n_rows": len(order)} | figures)
    return lines
