"""``python -m experiments.stream_bins``: all rules on one half of the streams, what was chosen on the other."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from experiments.bins.__main__ import run_jobs, write_lines
from experiments.common import arguments, write_page
from experiments.stream_bins import page
from experiments.stream_bins.run import STREAMS, jobs, run_stream


def main(argv: Sequence[str] | None = None) -> int:
    """Run all of it; what an earlier run has finished is taken from the ledger."""
    chosen = arguments("stream_bins", "How number columns are cut in streams.", argv)
    wanted = [(run_stream, job) for job in jobs(chosen.sets or STREAMS)]
    found = run_jobs(wanted, chosen.jobs, chosen.ledger)
    write_lines(found, "run_stream", Path(chosen.out) / "results.csv")
    tables = page.tables(chosen.out)
    write_page("stream_bins", chosen.out, tables)
    print(f"{tables['development']}\n\n{tables['reported']}\n\nThe page is {chosen.out}/README.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
