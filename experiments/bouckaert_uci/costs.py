"""What each of the seven classifiers costs: bytes while learning and after it, seconds to learn and to answer.

Rows are encoded once; learning and answering start from the codes. Seconds are those of the processor, medians of
several rounds in which the classifiers take turns, so that a busy machine disturbs all of them alike.
"""

from __future__ import annotations

import math
import os
import statistics
import time
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

from experiments.bouckaert_uci.run import BINS, seven
from tanager.datasets import Dataset
from tanager.encoding import Encoder, encode_labels
from tanager.evaluate import Table

ROUNDS = 5
SIZES = ("n_rows", "n_columns", "n_classes", "load", "store_bytes", "model_bytes")
SECONDS = ("fit_seconds", "first_seconds", "predict_seconds")


def measure(datasets: dict[str, Dataset], progress: Callable[[int, int, str], None], rounds: int = ROUNDS) -> Table:
    """A line per data set and classifier."""
    rows = []
    for at, (name, data) in enumerate(datasets.items()):
        progress(at, len(datasets), f"costs of {name}")
        rows += [[name, *line] for line in _lines(data, rounds)]
    progress(len(datasets), len(datasets), "costs")
    return Table(["dataset", "classifier", *SIZES, *SECONDS], rows)


def _lines(data: Dataset, rounds: int) -> list[list[Any]]:
    labels, classes = encode_labels(data.y)
    options: dict[str, Any] = {**data.options, **BINS}
    encoder = Encoder(**options).fit(data.X, labels, None, len(classes))
    codes = encoder.transform(data.X)
    load = os.getloadavg()[0]
    models = seven({})
    seconds: dict[str, list[tuple[float, ...]]] = {name: [] for name in models}
    for _, (name, model) in product(range(rounds), models.items()):
        seconds[name].append(_timed(model, codes, labels))
    sizes = [len(codes), codes.shape[1], len(classes), round(load, 2)]
    return [
        [
            name,
            *sizes,
            store_bytes(model),
            model_bytes(model),
            *map(statistics.median, zip(*seconds[name], strict=True)),
        ]
        for name, model in models.items()
    ]


def _timed(model: Any, codes: np.ndarray, labels: np.ndarray) -> tuple[float, ...]:
    """Seconds to learn, structure included; to answer all rows for the first time; and to answer them again."""
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
    kept = [] if model._rows is None else [part for part in model._rows.all() if part is not None]
    return int(model.counts_.nbytes + sum(part.nbytes for part in kept))


def model_bytes(model: Any) -> int:
    """What answering needs: a count of eight bytes per class and joint value of every family, each family once."""
    sizes = model.counts_.schema.n_values
    cells = 1 + sum(math.prod(sizes[i] for i in family) for family in _families(model))
    return 8 * len(model.classes_) * int(cells)


def _families(model: Any) -> set[frozenset[int]]:
    """Columns whose joint counts are read; the class is in all of them."""
    form = model._structure(fresh=True).form
    n = model.counts_.n_features
    if hasattr(form, "members"):
        return {frozenset({*member, j}) for member in form.members for j in range(n)}
    return {frozenset({child, *parents}) for child, parents in zip(form.child, form.parents, strict=True)}
