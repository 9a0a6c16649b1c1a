"""KDB and SelectiveKDB from a large file, rows kept or read again: peak memory and time of ``tanager fit``.

``python -m benchmarks.passes [millions of rows ...]`` prints the table. The peak is that of the whole process;
0.1 million rows, which are read whole, show what Python and the reader of files take.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
from pyarrow import csv

from benchmarks.files import run, table

PART = 100_000


def write(path: Path, n_rows: int) -> None:
    """19 columns of text with 2 to 10 values, and three classes."""
    rng = np.random.default_rng(0)
    first = table(PART, 0, rng)
    with csv.CSVWriter(path, first.schema, write_options=csv.WriteOptions(quoting_style="none")) as writer:
        writer.write_table(first)
        for _ in range(n_rows // PART - 1):
            writer.write_table(table(PART, 0, rng))


def fit(path: Path, model: str, refresh: str) -> tuple[float, float, int]:
    """Megabytes at the peak, seconds, and bytes of the model file."""
    output = path.with_suffix(".tanager")
    options = ["--target", "class", "--model", model, "--set", f"refresh={refresh}", "--no-loo", "-o", str(output)]
    seconds, peak = run([str(Path(sys.executable).with_name("tanager")), "fit", str(path), *options])
    return peak, seconds, output.stat().st_size


def main(sizes: list[float]) -> None:
    print("| model | rows | rows are | peak | time | model file |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        for millions in sizes:
            write(path, round(millions * 1e6))
            for model in ("kdb", "skdb"):
                for refresh, rows in (("null", "kept"), ("inf", "read again")):
                    peak, seconds, size = fit(path, model, refresh)
                    cells = f"{millions:g} million | {rows} | {peak:.0f} MB | {seconds:.0f} s | {size / 1e6:.1f} MB |"
                    print(f"| {model} | {cells}", flush=True)


if __name__ == "__main__":
    main([float(size) for size in sys.argv[1:]] or [2, 4, 8])
