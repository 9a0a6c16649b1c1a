"""What a look at a model or a network costs in a notebook: ``python -m benchmarks.displays`` (a minute).

Processor milliseconds of one display, best of three, beside those of ``fit``. A look learns nothing and leaves out what
would take long, so it should stay below some 200 ms whatever is looked at. The data are random: 20,000 rows of two
classes, columns of four values of which every fifth follows the class.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from tanager import AODE, KDB, LBR, TAN, BestOf, MultiNet, NaiveBayes, NBTree, NetworkForest

ROWS = 20_000
MODELS: dict[str, tuple[Callable[[], Any], int]] = {
    "NaiveBayes, 300 columns": (NaiveBayes, 300),
    "TAN, 30 columns": (TAN, 30),
    "TAN, 99 columns": (TAN, 99),
    "TAN, 300 columns": (TAN, 300),
    "KDB, 18 columns": (KDB, 18),
    "KDB, 60 columns": (KDB, 60),
    "AODE, 100 columns": (AODE, 100),
    "MultiNet, 12 columns": (MultiNet, 12),
    "NBTree, 20 columns": (NBTree, 20),
    "LBR, 20 columns": (LBR, 20),
    "BestOf, 20 columns": (BestOf, 20),
    "NetworkForest, 20 columns": (lambda: NetworkForest(n_members=10), 20),
}


def rows_of(n_columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of text and their classes."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, ROWS)
    codes = rng.integers(0, 4, (ROWS, n_columns))
    follows = rng.random((ROWS, n_columns)) < 0.3
    codes[:, ::5] = np.where(follows, y[:, None], codes)[:, ::5]
    return np.array(["a", "b", "c", "d"], dtype=object)[codes], y


def milliseconds(work: Callable[[], object], times: int = 3) -> float:
    """Of the processor, best of several."""
    best = float("inf")
    for _ in range(times):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return 1000 * best


def main() -> None:
    """The table."""
    print(f"{'model':<28} {'fit':>9} {'look':>7}   kB")
    for name, (make, n_columns) in MODELS.items():
        X, y = rows_of(n_columns)
        model = make()
        fitted = milliseconds(lambda model=model, X=X, y=y: model.fit(X, y), 1)  # type: ignore[misc]
        look = milliseconds(lambda model=model: model._repr_html_())  # type: ignore[misc]
        print(f"{name:<28} {fitted:>6.0f} ms {look:>4.0f} ms  {len(model._repr_html_()) / 1000:>3.0f}", flush=True)


if __name__ == "__main__":
    main()
