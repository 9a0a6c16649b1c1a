"""The command: how soon it answers, and how long comparing all classifiers takes."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
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


def processor_seconds(rounds: int, *words: str, fails: bool = False, command: str = TANAGER) -> float:
    """Seconds of the processor, user and system, best of several runs; ``command`` may be that of another checkout."""
    times = []
    for _ in range(rounds):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([command, *words], capture_output=True, check=not fails)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(times)


def small_file(folder: str) -> str:
    """A table of a thousand rows."""
    path = Path(folder, "small.csv")
    path.write_text("a,b,class\n" + "".join(f"{r % 7},{'xyz'[r % 3]},{'pq'[r % 7 > r % 3]}\n" for r in range(1000)))
    return str(path)


@dataclass(frozen=True)
class Common:
    """A common command on a small file: what it is called here, its words, and its bar in seconds."""

    what: str
    words: list[str]
    bar: float = 1.0
    fails: bool = False


def common_commands(folder: str) -> list[Common]:
    """Ten of them; the first writes the model that others read."""
    data, model, out = small_file(folder), str(Path(folder, "small.tanager")), str(Path(folder, "out.csv"))
    row = '{"a": 3, "b": "x"}'
    return [
        Common("fit small.csv", ["fit", data, "-o", model]),
        Common("fit small.csv --target clas", ["fit", data, "--target", "clas"], 0.3, fails=True),
        Common("predict MODEL small.csv", ["predict", model, data, "-o", out]),
        Common("show MODEL", ["show", model]),
        Common("explain MODEL ROW", ["explain", model, row]),
        Common("schema small.csv", ["schema", data]),
        Common("update MODEL small.csv", ["update", model, data]),
        Common("datasets", ["datasets"]),
        Common("prequential small.csv", ["prequential", data, "--model", "nb"]),
        Common("compare small.csv, nb and tan", ["compare", data, "--models", "nb,tan", "--jobs", "1"], 2.0),
    ]


def starting() -> Iterator[Line]:
    """What the commonest commands take on a small file, which is what they take to start."""
    with tempfile.TemporaryDirectory() as folder:
        for command in common_commands(folder):
            spent = processor_seconds(5, *command.words, fails=command.fails)
            yield Line(f"tanager {command.what}: seconds / {command.bar:g}", seconds(spent), spent / command.bar, 1.0)


def before_and_after(other: str) -> None:
    """Processor seconds of the same commands by another installation, whose command is given, and by this one."""
    print(f"load {os.getloadavg()[0]:.1f}\n{'tanager ...':<32}{'before':>10}{'now':>10}{'share':>8}")
    with tempfile.TemporaryDirectory() as old, tempfile.TemporaryDirectory() as new:
        for before, now in zip(common_commands(old), common_commands(new), strict=True):
            was = processor_seconds(3, *before.words, fails=before.fails, command=other)
            spent = processor_seconds(3, *now.words, fails=now.fails)
            print(f"{now.what:<32}{seconds(was):>10}{seconds(spent):>10}{spent / was:>8.2f}", flush=True)


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


def main(words: list[str]) -> str | None:
    """Compare with another installation; what is wrong, where something is."""
    if len(words) != 1:
        return (
            "usage: python -m benchmarks.command OTHER/.venv/bin/tanager: seconds of common commands, by it and by "
            "this one. Without another: python -m benchmarks command."
        )
    if not os.access(words[0], os.X_OK) or Path(words[0]).is_dir():
        return f"{words[0]} is no command. Build another checkout, and give its .venv/bin/tanager."
    before_and_after(words[0])
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
