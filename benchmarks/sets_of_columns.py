"""ANDE(n=3) with rows and with tables of all sets: seconds to learn, and milliseconds for an answer.

``python -m benchmarks.sets_of_columns`` prints one line for each table and way; ``TANAGER_DATA`` names the folder with
the real data sets, without which there is the generated table alone.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

from benchmarks.learners import Data, tables
from tanager import ANDE, DataWarning

NAMES = ("3,000 x 36", "soybean", "kr-vs-kp")
MANY = 200  # rows that are asked about together


def best_of(work: Callable[[], Any], repeats: int = 3) -> float:
    """Seconds of the processor, the best of some runs."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def line(data: Data, lazy: bool) -> str:
    """What one way takes on one table."""
    model = ANDE(n=3, lazy=lazy)
    learning = best_of(lambda: model.fit(data.X, data.y), 3 if lazy else 1)
    codes = model.encode(data.X[:MANY])  # encoding is the same for both
    one, many = codes.part(slice(0, 1)), codes
    single = best_of(lambda: model.scorer_.score(one))
    together = best_of(lambda: model.scorer_.score(many), 2) / len(many)
    memory = model.counts_.nbytes + (model.memory.rows.part("codes").nbytes if model.memory.rows is not None else 0)
    way = "rows" if lazy else "tables"
    figures = f"{learning:>9.3f} s {single * 1e3:>9.2f} ms {together * 1e3:>9.2f} ms {memory / 1e6:>8.1f} MB"
    return f"{data.name:<12} {way:<7} {figures}"


def main() -> None:
    print(f"{'':<20} {'learning':>11} {'one answer':>12} {'of many':>12} {'memory':>11}")
    for data in tables():
        for lazy in (True, False) if data.name in NAMES else ():
            print(line(data, lazy), flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore", DataWarning)
    main()
