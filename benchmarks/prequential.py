"""Prequential evaluation: what measuring costs beside learning, rows per second next to river, and flat memory."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator

from river.naive_bayes import BernoulliNB

from benchmarks.harness import Line, best_times, binary_rows, rate
from tanager import AODE, NaiveBayes
from tanager.evaluate import prequential

SCRIPT = """
from pathlib import Path
from tanager import AODE, NaiveBayes, generate
from tanager.evaluate import prequential

def peak():
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1000

stream = generate.tan(random_state=0).noise(0.05).missing(0.05)
prequential([NaiveBayes(), AODE()], stream, n_rows=100_000)  # imports and first calls
for n_rows in (1_000_000, {n_rows}):
    prequential([NaiveBayes(), AODE()], stream, n_rows=n_rows, every=1000)
    print(peak())
"""


def peaks(n_rows: int) -> list[float]:
    """Peak of a process in MB, after a million rows and after so many."""
    script = SCRIPT.format(n_rows=n_rows)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return [float(line) for line in done.stdout.splitlines()]


def lines() -> Iterator[Line]:
    X, y = binary_rows(500_000)
    times = best_times(
        {
            "NaiveBayes alone": lambda: NaiveBayes().test_then_train(X, y),
            "NaiveBayes": lambda: prequential(NaiveBayes(), X, y),
            "AODE alone": lambda: AODE().test_then_train(X, y),
            "AODE": lambda: prequential(AODE(), X, y),
        }
    )
    for name, bar in (("NaiveBayes", 2.5), ("AODE", 2.0)):
        figures = f"{rate(len(X) / times[name])} / {rate(len(X) / times[f'{name} alone'])}"
        yield Line(
            f"prequential {name}: seconds / test_then_train's", figures, times[name] / times[f"{name} alone"], bar
        )

    few = [{f"x{i}": bool(v) for i, v in enumerate(row)} for row in X[:2000]]
    start = time.thread_time()
    prequential(BernoulliNB(), zip(few, y[:2000].tolist(), strict=True))
    river = 2000 / (time.thread_time() - start)
    ours = len(X) / times["AODE"]
    yield Line(
        "prequential AODE / river's BernoulliNB", f"{rate(ours)} / {rate(river)}", ours / river, 50.0, at_most=False
    )

    short, long = peaks(10_000_000)
    figures = f"{long:.0f} MB / {short:.0f} MB"
    yield Line("prequential, two models, 10M rows: peak MB / at 1M rows", figures, long / short, 1.05)
