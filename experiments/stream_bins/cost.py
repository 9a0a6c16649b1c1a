"""``python -m experiments.stream_bins.cost``: what more bins take of memory and time."""

from __future__ import annotations

import time
from typing import Any

from experiments.stream_bins.page import BEFORE
from experiments.stream_bins.run import CLASSIFIERS, stream
from tanager.evaluate import Table

STREAMS = ("hyperplane", "rbf", "adult")
TRIES = 3


def main() -> None:
    """Ratios to the default of ``fit``: bytes of the counts, and processor time of a whole stream."""
    rows = []
    for name in STREAMS:
        for kind in CLASSIFIERS:
            before, now = (_cost(name, kind, rule) for rule in (BEFORE[kind], "stream"))
            rows.append([name, kind, now[0] / before[0], now[1] / before[1]])
    print(Table(["stream", "classifier", "memory", "time"], rows, {"memory": ".1f", "time": ".2f"}))


def _cost(name: str, kind: str, rule: str) -> tuple[float, float]:
    X, y, kinds = stream(name)
    seconds = []
    for _ in range(TRIES):
        model: Any = CLASSIFIERS[kind](bins=rule, **kinds)
        start = time.process_time()
        model.test_then_train(X, y)
        seconds.append(time.process_time() - start)
    return float(getattr(model, "model_", model).counts_.nbytes), min(seconds)


if __name__ == "__main__":
    main()
