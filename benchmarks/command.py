"""The command: how soon it answers, and how long comparing all classifiers takes."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
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


def processor_seconds(rounds: int, *words: str, fails: bool = False) -> float:
    """Seconds of the processor, user and system, best of several runs."""
    times = []
    for _ in range(rounds):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([TANAGER, *words], capture_output=True, check=not fails)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(times)


def small_file(folder: str) -> str:
    """A table of a thousand rows."""
    path = Path(folder, "small.csv")
    path.write_text("a,b,class\n" + "".join(f"{r % 7},{'xyz'[r % 3]},{'pq'[r % 7 > r % 3]}\n" for r in range(1000)))
    return str(path)


def starting() -> Iterator[Line]:
    """What the commonest commands take on a small file, which is what they take to start."""
    with tempfile.TemporaryDirectory() as folder:
        data, model = small_file(folder), str(Path(folder, "small.tanager"))
        for words, bar, fails in (
            (["fit", data, "-o", model], 1.0, False),
            (["fit", data, "--target", "clas"], 0.3, True),
            (["predict", model, data, "-o", str(Path(folder, "out.csv"))], 1.0, False),
            (["show", model], 1.0, False),
        ):
            spent = processor_seconds(5, *words, fails=fails)
            shown = "fit --target clas" if fails else f"{words[0]} small.csv"
            yield Line(f"tanager {shown}: seconds / {bar:g}", seconds(spent), spent / bar, 1.0)


def lines() -> Iterator[Line]:
    yield from starting()
    for words in (["--help"], ["compare", "--help"]):
        spent = best_of(5, *words)
        yield Line(f"tanager {' '.join(words)}: seconds / 0.5", seconds(spent), spent / 0.5, 1.0)
    data = Path(os.environ.get("TANAGER_DATA", "."), "kr-vs-kp.csv")
    if not data.exists():
        print("tanager compare kr-vs-kp.csv: left out, TANAGER_DATA names no folder with it")
        return
    spent = best_of(2, "compare", str(data), "--target", "class")
    yield Line("tanager compare kr-vs-kp.csv, all models: seconds / 15", seconds(spent), spent / 15, 1.0)
