"""``python -m experiments.bins``: all rules on one half of the data sets, the chosen one on the other, and the page."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from os import cpu_count
from pathlib import Path
from typing import Any

from experiments.accuracy.run import dataset
from experiments.bins import page
from experiments.bins.run import rules_for, run_set, with_numbers
from experiments.bins.streams import LEAST_ROWS, run_stream
from experiments.common import ProgressLine, arguments, write_page
from tanager.evaluate import Table

Line = dict[str, Any]


def main(argv: Sequence[str] | None = None) -> int:
    """Run all of it; what an earlier run has finished is taken from the ledger."""
    chosen = arguments("bins", "How number columns are cut.", argv)
    sets = chosen.sets or with_numbers()
    long = [name for name in sets if len(dataset(name).y) >= LEAST_ROWS]
    jobs: list[tuple[Callable[..., list[Line]], tuple[str, ...]]] = [
        *((run_set, (name, rule)) for name in sets for rule in rules_for(name)),
        *((run_stream, (name,)) for name in long),
    ]
    found = run_jobs(jobs, chosen.jobs, chosen.ledger)
    write_lines(found, "run_set", chosen.out / "results.csv")
    write_lines(found, "run_stream", chosen.out / "streams.csv")
    tables = page.tables(chosen.out)
    write_page("bins", chosen.out, tables)
    print(f"{tables['development']}\n\n{tables['reported']}\n\nThe page is {chosen.out}/README.md")
    return 0


def run_jobs(
    jobs: Sequence[tuple[Callable[..., list[Line]], tuple[str, ...]]], n_jobs: int, ledger: Path
) -> list[Line]:
    """The lines of all jobs in their order; each is written down as soon as it is done."""
    known = [json.loads(text) for text in ledger.read_text().splitlines()] if ledger.exists() else []
    done = {(entry["what"], *entry["of"]): entry for entry in known}
    progress = ProgressLine()
    with ProcessPoolExecutor(cpu_count() if n_jobs < 0 else n_jobs) as pool, ledger.open("a") as file:
        waiting = [(work, of, pool.submit(work, *of)) for work, of in jobs if (work.__name__, *of) not in done]
        for n, (work, of, result) in enumerate(waiting, 1):
            entry = {"what": work.__name__, "of": of, "lines": result.result()}
            done[work.__name__, *of] = entry
            print(json.dumps(entry), file=file, flush=True)
            progress(len(jobs) - len(waiting) + n, len(jobs), " ".join(of))
    return [done[work.__name__, *of] for work, of in jobs]


def write_lines(found: Sequence[Line], what: str, path: Path) -> None:
    lines = [line for entry in found if entry["what"] == what for line in entry["lines"]]
    names = list(lines[0]) if lines else []
    Table(names, [[line[name] for name in names] for line in lines]).to_csv(path)


if __name__ == "__main__":
    sys.exit(main())
