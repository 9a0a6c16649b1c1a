"""What each of the seven classifiers costs: bytes while learning and after it, seconds to learn and to answer.

Rows are encoded once; learning and answering start from the codes. Seconds are those of the processor, medians of
rounds in which the classifiers take turns, so that a busy machine disturbs all alike. Small data sets show little but
fixed costs, so the largest is taken a second time with its rows repeated.
"""

from __future__ import annotations

import math
import os
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from experiments.bouckaert_uci.run import BINS, seven
from tanager import NaiveBayes
from tanager.datasets import Dataset
from tanager.encoding import Encoder, encode_labels
from tanager.evaluate import Table

ROUNDS = 5
TIMES = 4  # how often the rows of the largest data set are repeated
SIZES = ("times", "n_rows", "n_columns", "n_classes", "load", "store_bytes", "model_bytes")
SECONDS = ("fit_seconds", "first_seconds", "predict_seconds")


def measure(datasets: dict[str, Dataset], progress: Callable[[int, int, str], None], rounds: int = ROUNDS) -> Table:
    """A line per data set and classifier, and lines for the largest data set with its rows repeated."""
    largest = max(datasets, key=lambda name: len(datasets[name].y))
    rows: list[list[Any]] = []
    for at, (name, times) in enumerate([*((name, 1) for name in datasets), (largest, TIMES)]):
        progress(at, len(datasets) + 1, f"costs of {name}")
        rows += [[name, classifier, times, *line] for classifier, *line in _lines(datasets[name], times, rounds)]
    progress(len(datasets) + 1, len(datasets) + 1, "costs")
    return Table(["dataset", "classifier", *SIZES, *SECONDS], rows)


def _lines(data: Dataset, times: int, rounds: int) -> Iterator[list[Any]]:
    labels, classes = encode_labels(data.y)
    options: dict[str, Any] = {**data.options, **BINS}
    codes = Encoder(**options).learn(data.X, labels, None, len(classes)).transform(data.X)
    codes, labels = np.tile(codes, (times, 1)), np.tile(labels, times)
    models = seven({})
    load = round(os.getloadavg()[0], 2)
    runs = [{name: _timed(model, codes, labels) for name, model in models.items()} for _ in range(rounds)]
    for name, model in models.items():
        medians = map(statistics.median, zip(*(run[name] for run in runs), strict=True))
        sizes = [len(codes), codes.shape[1], len(classes), load, store_bytes(model), model_bytes(model)]
        yield [name, *sizes, *medians]


def _timed(model: Any, codes: np.ndarray, labels: np.ndarray) -> tuple[float, ...]:
    """Seconds to learn, structure included; to answer all rows for the first time; and to answer them again."""
    NaiveBayes().fit(codes, labels)  # what the classifier before has left in the caches is gone
    start = time.process_time()
    model.fit(codes, labels)
    model.predict_proba(codes[:1])  # structure is learned when the first answer is asked for
    learned = time.process_time()
    model.predict_proba(codes)  # makes tables of probabilities where that is worth it
    answered = time.process_time()
    model.predict_proba(codes)
    return learned - start, answered - learned, time.process_time() - answered


def store_bytes(model: Any) -> int:
    """What is held while learning: the counts, and the rows where these are kept."""
    rows = model.memory.rows
    kept = [] if rows is None else [rows.block.codes, rows.block.labels, *filter(None, [rows.block.weights])]
    return int(model.counts_.nbytes + sum(part.nbytes for part in kept))


def model_bytes(model: Any) -> int:
    """What answering needs: a count of eight bytes per class and joint value of every family, each family once."""
    sizes = model.counts_.schema.n_values
    cells = 1 + sum(math.prod(sizes[i] for i in family) for family in _families(model))
    return 8 * len(model.classes_) * int(cells)


def _families(model: Any) -> set[frozenset[int]]:
    """Columns whose joint counts are read; the class is in all of them."""
    form = model.structure_
    n = model.counts_.n_features
    if hasattr(form, "members"):
        return {frozenset({*member, j}) for member in form.members for j in range(n)}
    return {frozenset({child, *parents}) for child, parents in zip(form.child, form.parents, strict=True)}
