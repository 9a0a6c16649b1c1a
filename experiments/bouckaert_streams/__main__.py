"""``python -m experiments.bouckaert_streams``: learning curves over ten million rows, and the page with its tables."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from joblib import Parallel, delayed

from experiments.bouckaert_streams import page
from experiments.bouckaert_streams.run import CLASSIFIERS, DENSITY, MORE_SEEDS, RESULTS, TIMES, run, tasks
from experiments.common import BUILD, HOME, ProgressLine, write_page
from tanager.evaluate import Table

N_ROWS, N_SHORT = 10_000_000, 200_000
NAME = "bouckaert_streams"


def main(argv: Sequence[str] | None = None) -> int:
    """Run all of it; takes some minutes."""
    parser = argparse.ArgumentParser(f"python -m experiments.{NAME}", description="Votes of networks over streams.")
    parser.add_argument("--rows", type=float, help=f"of the long streams; {N_ROWS:,} if not said")
    parser.add_argument("--quick", action="store_true", help="a few thousand rows only")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes; by default one per core")
    parser.add_argument("--out", type=Path, help="folder for the page, its figures and its pictures")
    chosen = parser.parse_args(argv)
    out = chosen.out or (BUILD if chosen.quick or chosen.rows else HOME) / NAME
    out.mkdir(parents=True, exist_ok=True)
    long, density = (10_000, 2) if chosen.quick else (int(chosen.rows or N_ROWS), DENSITY)
    todo = tasks(long, density, *((1_000, MORE_SEEDS[:1]) if chosen.quick else (N_SHORT, MORE_SEEDS)))
    start = time.monotonic()
    progress = ProgressLine()
    progress(0, len(todo), str(todo[0]))
    found = {}
    for task, *figures in Parallel(chosen.jobs, return_as="generator_unordered")(delayed(run)(task) for task in todo):
        found[task] = figures
        progress(len(found), len(todo), str(task))
    seconds = time.monotonic() - start
    Table(RESULTS, [line for task in todo for line in found[task][0]]).to_csv(out / "results.csv")
    Table(TIMES, [line for task in todo for line in found[task][1]]).to_csv(out / "times.csv")
    tables = page.tables(out)
    write_page(NAME, out, tables)
    page.pictures(out)
    n_rows = sum(task.n_rows for task in todo)
    n_answers = n_rows * len(CLASSIFIERS)
    print("\n\n".join(f"{name}\n{table}" for name, table in tables.items()))
    print(f"\n{n_rows:,} rows learned and {n_answers:,} answers in {seconds:,.0f} s with {chosen.jobs} processes:")
    print(f"{n_rows / seconds:,.0f} rows and {n_answers / seconds:,.0f} answers a second. The page is {out}/README.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
