"""What it costs in accuracy that searches among more than a hundred columns do not try everything.

``python -m benchmarks.many_columns`` prints errors and seconds with and without the limits; it takes minutes. Two
thirds of the rows are learned, the others answered. With ``TANAGER_DATA`` the data set dna180 is among the tables.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from tanager import AODE, BSEJ, FSSJ, AnytimeA2DE, DataWarning, NBTree, SuperParentTAN
from tanager.classifiers import joining, nb_tree, super_parent_tan
from tanager.datasets import load
from tanager.learning import anytime

Rows = tuple[Any, np.ndarray]


def tree_table(n_rows: int = 3000, n: int = 300, seed: int = 1) -> Rows:
    """A tree over the columns; some of its tables depend on the class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_rows)
    X = np.zeros((n_rows, n), np.uint8)
    for i in range(n):
        parent = rng.integers(max(0, i - 20), i) if i and rng.random() < 0.7 else None
        logits = rng.normal(0, 1.2, (2, 2, 2)) - 1.5 * np.arange(2)
        if rng.random() > 0.3:
            logits[:] = logits[0]
        p = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
        above = np.zeros(n_rows, int) if parent is None else X[:, parent]
        X[:, i] = (rng.random(n_rows)[:, None] > p[y, above].cumsum(-1)).sum(1).clip(0, 1)
    return X, np.where(rng.random(n_rows) < 0.02, rng.integers(0, 2, n_rows), y)


def topic_table(n_rows: int = 4000, n: int = 250, seed: int = 4, n_topics: int = 12) -> Rows:
    """Words: classes have topics, and topics switch words on."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_rows)
    of_class, rate = rng.random((2, n_topics)) < 0.35, rng.beta(0.6, 5, n)
    words = rng.random((n_topics, n)) < 0.08
    topics = np.zeros((n_rows, n_topics), bool)
    for t in range(n_topics):
        topics[:, t] = rng.random(n_rows) < np.where(of_class[y, t], 0.45, 0.2)
    p = 1 - (1 - rate) * np.prod(1 - 0.45 * topics[:, :, None] * words[None], axis=1)
    return (rng.random((n_rows, n)) < p).astype(np.uint8), y


def parity_table(n_rows: int = 4000, n: int = 200, seed: int = 6) -> Rows:
    """A parity and a conjunction, some columns that repeat the class, and noise."""
    rng = np.random.default_rng(seed)
    X = (rng.random((n_rows, n)) < rng.uniform(0.1, 0.5, n)).astype(np.uint8)
    y = (X[:, 0] ^ X[:, 1]) | (X[:, 2] & X[:, 3])
    y = np.where(rng.random(n_rows) < 0.92, y, 1 - y)
    for i in range(4, 60):
        X[:, i] = np.where(rng.random(n_rows) < 0.12, y, X[:, i])
    return X, y


def digits_table() -> Rows:
    """Three thresholds for every pixel of the handwritten digits."""
    data = load_digits()
    return np.concatenate([data.data > 3, data.data > 8, data.data > 12], axis=1).astype(np.uint8), data.target


def dna_table() -> Rows:
    """Real columns."""
    data = load("dna180")
    return data.X, data.y


TABLES: dict[str, Callable[[], Rows]] = {
    "300, tree": tree_table,
    "250, topics": topic_table,
    "200, parity": parity_table,
    "digits": digits_table,
    **({"dna180": dna_table} if os.environ.get("TANAGER_DATA") else {}),
}
WIDER: dict[str, Callable[[], Rows]] = {  # on which the others would take hours without their limits
    "500, tree": partial(tree_table, 4000, 500, 12),
    "600, topics": partial(topic_table, 4000, 600, 9),
    "400, parity": partial(parity_table, 6000, 400, 11),
}
MODELS = (SuperParentTAN(), SuperParentTAN(search="arcs"), BSEJ(), FSSJ(), AnytimeA2DE(), NBTree(leaf=AODE()))


@contextmanager
def without_limits() -> Iterator[None]:
    """Everything is tried, however many columns there are."""
    modules = (joining, super_parent_tan, anytime, nb_tree)
    known = [module.MANY_COLUMNS for module in modules]
    try:
        for module in modules:
            module.MANY_COLUMNS = 10**9
        yield
    finally:
        for module, many in zip(modules, known, strict=True):
            module.MANY_COLUMNS = many


def errors(model: Any, rows: Rows) -> tuple[float, float]:
    """Share of the answered rows that are wrong, and the seconds that learning took."""
    X, y = rows
    order = np.random.default_rng(0).permutation(len(y))
    learned, asked = np.split(order, [len(y) * 2 // 3])
    start = time.process_time()
    model.fit(_take(X, learned), y[learned]).predict_proba(_take(X, asked[:1]))
    seconds = time.process_time() - start
    return float(np.mean(model.predict(_take(X, asked)) != y[asked])), seconds


def _take(X: Any, rows: np.ndarray) -> Any:
    return X[rows] if isinstance(X, np.ndarray) else X.take(rows)


def main() -> None:
    for model in MODELS:
        for name, table in (TABLES | (WIDER if isinstance(model, NBTree) else {})).items():
            rows = table()
            limited, seconds = errors(model, rows)
            with without_limits():
                full, longer = errors(model, rows)
            print(
                f"{model!r:32}{name:14}{full:.4f} {longer:6.1f} s   limited {limited:.4f} {seconds:6.1f} s", flush=True
            )


if __name__ == "__main__":
    warnings.simplefilter("ignore", DataWarning)
    main()
