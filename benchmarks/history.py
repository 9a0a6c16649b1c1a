"""What earlier runs measured, and whether a line has become slower than they were.

One line of JSON for every run and line of the table. `reference.jsonl` is kept with the project: runs whose figures the
pages show. `history.jsonl` is your own, is added to by every run, and git ignores it. A line is judged by earlier runs
on the same kind of machine alone: ratios depend on the instruction set and on what memory costs.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.harness import Line
from tanager import _kernels

HERE = Path(__file__).parent
REFERENCE, OWN = HERE / "reference.jsonl", HERE / "history.jsonl"

FEWEST_RUNS = 3  # before these, nobody knows how much a line varies by itself
LEAST_MARGIN = 0.2  # ratios of a quiet machine differ by some ten percent
SPREADS = 4.0  # a line may lie this many spreads from the median


@dataclass(frozen=True)
class Record:
    """A line of the table in one run."""

    date: str
    commit: str
    machine: str
    load: float | None  # of the machine when the line was done; None where it was not written down
    group: str
    what: str
    figures: str
    ratio: float
    bar: float
    at_most: bool

    def as_json(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False)


@dataclass(frozen=True)
class Run:
    """What all records of a run share."""

    date: str
    commit: str
    machine: str

    @classmethod
    def now(cls) -> Run:
        return cls(datetime.now(UTC).strftime("%Y-%m-%d %H:%M"), commit(), machine())

    def record(self, group: str, line: Line) -> Record:
        load = round(os.getloadavg()[0], 1)
        values = (group, line.what, line.figures, round(line.ratio, 4), line.bar, line.at_most)
        return Record(self.date, self.commit, self.machine, load, *values)


def commit() -> str:
    """The commit that is checked out, with a plus where files differ from it."""
    command = ["git", "describe", "--always", "--dirty=+", "--exclude=*"]
    try:
        return subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def machine() -> str:
    """The kind of machine: processor, cores and the widest instruction set in use, and no name of its own."""
    features = _kernels.cpu_features()
    widest = (
        "AVX-512" if "avx512vpopcntdq" in features else "AVX2" if "avx2" in features else "neither AVX2 nor AVX-512"
    )
    return f"{processor()}, {os.cpu_count()} cores, {widest}"


def processor(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """What the processor calls itself, where the system tells."""
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names and names[0] else platform.processor() or platform.machine()


def read(*paths: Path) -> list[Record]:
    """The records of some files, as far as there are any."""
    return list(_records(path for path in paths if path.exists()))


def _records(paths: Iterable[Path]) -> Iterator[Record]:
    for path in paths:
        for number, text in enumerate(path.read_text().splitlines(), start=1):
            try:
                yield Record(**json.loads(text))
            except (ValueError, TypeError) as error:
                raise ValueError(
                    f"{path}, line {number}: not a record of a benchmark ({error}); delete the line, or the file"
                ) from error


def add(record: Record, path: Path) -> None:
    with path.open("a") as file:
        file.write(record.as_json() + "\n")


def slowdown(record: Record, earlier: Iterable[Record]) -> str:
    """In words by how much a line has become worse than in earlier runs on such machines; "" where it has not.

    The margin is a fifth, or four spreads of the earlier runs where they vary more. The spread is the median distance
    from the median, made comparable with a standard deviation: one odd run does not widen it.
    """
    same = [r.ratio for r in earlier if (r.what, r.machine, r.at_most) == (record.what, record.machine, record.at_most)]
    if len(same) < FEWEST_RUNS:
        return ""
    usual = statistics.median(same)
    spread = 1.4826 * statistics.median(abs(ratio - usual) for ratio in same)
    if min(usual, record.ratio) <= 0:
        return ""
    times = record.ratio / usual if record.at_most else usual / record.ratio
    margin = 1 + max(LEAST_MARGIN, SPREADS * spread / usual)
    if times <= margin:
        return ""
    usually = f"the median of {len(same)} earlier runs, {usual:.3f}"
    return f"{times:.2f} times worse than {usually}; up to {margin:.2f} times may be chance"
