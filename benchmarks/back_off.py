"""Learning the strengths of a back-off, next to counting the pairs and families that it reads."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.harness import Line, best_times, seconds
from tanager import KDB, JointCounts, LearnedBackOff, _kernels


def lines() -> Iterator[Line]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 20_000).astype(np.uint8)
    own, shifted = rng.random((20_000, 20)) < 0.7, rng.random((20_000, 20)) < 0.3
    X = ((rng.integers(0, 5, (20_000, 20)) * own + y[:, None] * shifted) % 5).astype(np.uint8)
    model = KDB(k=2, smoothing=LearnedBackOff()).fit(X, y)
    view, known = model.view_, model.counts_
    counts = JointCounts(known.schema, known.classes, families=known.families)
    plan = view.plan
    times = best_times(
        {"learn": lambda: _kernels.learn_strengths(plan), "count": lambda: counts.update(X, y)}, repeats=7
    )
    figures = f"{seconds(times['learn'])} / {seconds(times['count'])}"
    yield Line(
        "KDB 20k x 20, 5 values: learn strengths / count pairs, triples", figures, times["learn"] / times["count"], 3.0
    )
