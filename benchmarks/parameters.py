"""Parameters by conditional likelihood, next to scikit-learn's logistic regression over the same values."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import OneHotEncoder
from threadpoolctl import threadpool_limits

from benchmarks.harness import Line, best_times, seconds
from tanager import NaiveBayes

PRECISE = 1e-6  # scikit-learn's own 1e-4 ends a little before the maximum, ours at it


def dependent_rows(n_rows: int, n_classes: int, n_columns: int = 20) -> tuple[np.ndarray, np.ndarray]:
    """Columns of four values in pairs, the second of which repeats the first every other time."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, n_classes, n_rows)
    X = np.empty((n_rows, n_columns), dtype=np.uint8)
    for i in range(n_columns):
        chance = rng.dirichlet(np.full(4, 3.0), n_classes).cumsum(axis=1)
        X[:, i] = (rng.random(n_rows)[:, None] > chance[y, :3]).sum(axis=1)
    X[:, 1::2] = np.where(rng.random((n_rows, n_columns // 2)) < 0.5, X[:, ::2], X[:, 1::2])
    return X, y


def lines() -> Iterator[Line]:
    for n_classes in (2, 5):
        X, y = dependent_rows(100_000, n_classes)
        hot = OneHotEncoder().fit_transform(X)
        peer = LogisticRegression(max_iter=1000, tol=PRECISE)
        with threadpool_limits(1):
            ours, theirs = best_times(
                {
                    "ours": lambda X=X, y=y: NaiveBayes(fit_by="conditional_likelihood").fit(X, y),
                    "theirs": lambda hot=hot, y=y, peer=peer: peer.fit(hot, y),
                },
                repeats=3,
            ).values()
        what = f"conditional likelihood, 100k x 20, {n_classes} classes / logistic"
        yield Line(what, f"{seconds(ours)} / {seconds(theirs)}", ours / theirs, 1.2)
