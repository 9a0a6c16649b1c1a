"""``python -m experiments.bouckaert_streams``: learning curves over ten million rows, and the page with its tables."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed

from experiments.bouckaert_streams import page
from experiments.bouckaert_streams.run import (
    DENSITY,
    MORE_SEEDS,
    ORDERS,
    RESULTS,
    SEED,
    TIMES,
    Task,
    in_other_orders,
    run,
    tasks,
)
from experiments.bouckaert_streams.sources import IN_FRONT
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
    found = all_of(run, todo, chosen.jobs)
    ordered = all_of(in_other_orders, [task for task in todo if is_ordered(task)], chosen.jobs)
    seconds = time.monotonic() - start
    Table(RESULTS, [line for lines, _ in found for line in lines]).to_csv(out / "results.csv")
    whole = ["all", 0, "all", f"{chosen.jobs} processes", "elapsed", sum(task.n_rows for task in todo), seconds]
    Table(TIMES, [*(line for _, times in found for line in times), whole]).to_csv(out / "times.csv")
    Table(ORDERS, [line for (lines,) in ordered for line in lines]).to_csv(out / "orders.csv")
    tables = page.tables(out)
    write_page(NAME, out, tables)
    page.pictures(out)
    print("\n\n".join(f"{name}\n{table}" for name, table in tables.items()))
    print(f"\nThe page is {out}/README.md")
    return 0


def is_ordered(task: Task) -> bool:
    """Whether the order of the columns is looked at: short streams of sources in which columns depend on each other."""
    return task.source != "NB" and task.seed != SEED and task.stream in ("plain", IN_FRONT)


def all_of(work: Callable[[Task], tuple[Any, ...]], todo: Sequence[Task], n_jobs: int) -> list[list[Any]]:
    """What the work says about each task, in several processes, with a progress line."""
    progress = ProgressLine()
    progress(0, len(todo), str(todo[0]))
    found = {}
    for task, *figures in Parallel(n_jobs, return_as="generator_unordered")(delayed(work)(task) for task in todo):
        found[task] = figures
        progress(len(found), len(todo), str(task))
    return [found[task] for task in todo]


if __name__ == "__main__":
    sys.exit(main())
