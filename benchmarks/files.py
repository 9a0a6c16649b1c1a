"""`tanager fit` on a CSV file of ten million rows, next to a process that only reads it with pyarrow.dataset."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

from benchmarks.harness import Line, seconds

ROWS = 10_000_000
PART = 1_000_000

# A peak is at least what the process was forked from, so a small one stands between.
WATCH = """
import os, subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
print(usage.ru_maxrss / 1000)
sys.exit(status != 0)
"""

PEER = """
import sys
import pyarrow as pa
from pyarrow import csv, dataset
names = csv.open_csv(sys.argv[1]).schema.names
kinds = {name: pa.float64() if name.startswith("number") else pa.dictionary(pa.int32(), pa.string()) for name in names}
format = dataset.CsvFileFormat(convert_options=csv.ConvertOptions(column_types=kinds))
n_rows = sum(batch.num_rows for batch in dataset.dataset(sys.argv[1], format=format).to_batches())
assert n_rows == int(sys.argv[2]), n_rows
"""


def table(n_rows: int, n_numbers: int, rng: np.random.Generator) -> pa.Table:
    """Three classes, and 19 columns that tell a little about them: numbers, and text with 2 to 10 values."""
    words = pa.array([f"value{w}" for w in range(10)])
    y = rng.integers(0, 3, n_rows)
    columns = {f"number{i}": np.round(rng.normal(y, 2.0), 4) for i in range(n_numbers)}
    for i in range(19 - n_numbers):
        n_values = 2 + i % 9
        hint = rng.random(n_rows) < 0.2
        columns[f"text{i}"] = words.take(pa.array(np.where(hint, y % n_values, rng.integers(0, n_values, n_rows))))
    return pa.table(columns | {"class": words.take(pa.array(y))})


def write(path: Path, n_numbers: int) -> None:
    rng = np.random.default_rng(0)
    first = table(PART, n_numbers, rng)
    with csv.CSVWriter(path, first.schema, write_options=csv.WriteOptions(quoting_style="none")) as writer:
        writer.write_table(first)
        for _ in range(ROWS // PART - 1):
            writer.write_table(table(PART, n_numbers, rng))


def run(command: list[str]) -> tuple[float, float]:
    """Seconds by the wall, and megabytes at the peak, of a fresh process."""
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-S", "-c", WATCH, *command], capture_output=True, check=True)
    return time.perf_counter() - start, float(done.stdout)


def compare(path: Path, rounds: int = 3) -> tuple[float, float, float]:
    """Best seconds of both, taking turns, and our peak in megabytes."""
    peer = [sys.executable, "-c", PEER, str(path), str(ROWS)]
    command = str(Path(sys.executable).with_name("tanager"))
    ours = [command, "fit", str(path), "--target", "class", "-o", str(path.with_suffix(".tanager"))]
    pairs = [(run(peer), run(ours)) for _ in range(rounds)]
    return min(ours[0] for _, ours in pairs), min(peer[0] for peer, _ in pairs), max(ours[1] for _, ours in pairs)


def lines() -> Iterator[Line]:
    for n_numbers, what, bar in ((0, "20 text columns", 1.3), (10, "10 numbers, 10 text", 1.5)):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "data.csv"
            write(path, n_numbers)
            ours, peer, megabytes = compare(path)
        figures = f"{seconds(ours)} / {seconds(peer)}"
        yield Line(f"tanager fit, CSV 10M x {what} / pyarrow.dataset reads", figures, ours / peer, bar)
        yield Line(f"tanager fit, CSV 10M x {what}: peak MB / 1000", f"{megabytes:.0f} MB", megabytes / 1000, 1.0)
