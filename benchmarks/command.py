"""The command: how soon it answers, and how long comparing all classifiers takes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.harness import Line, seconds

TANAGER = str(Path(sys.executable).with_name("tanager"))


def best_of(rounds: int, *words: str) -> float:
    """Seconds by the wall, best of several runs."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        subprocess.run([TANAGER, *words], capture_output=True, check=True)
        times.append(time.perf_counter() - start)
    return min(times)


def lines() -> Iterator[Line]:
    for words in (["--help"], ["compare", "--help"]):
        spent = best_of(5, *words)
        yield Line(f"tanager {' '.join(words)}: seconds / 0.5", seconds(spent), spent / 0.5, 1.0)
    data = Path(os.environ.get("TANAGER_DATA", "."), "kr-vs-kp.csv")
    if not data.exists():
        print("tanager compare kr-vs-kp.csv: left out, TANAGER_DATA names no folder with it")
        return
    spent = best_of(2, "compare", str(data), "--target", "class")
    yield Line("tanager compare kr-vs-kp.csv, all models: seconds / 15", seconds(spent), spent / 15, 1.0)
