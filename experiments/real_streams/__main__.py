"""``python -m experiments.real_streams``: real streams in the order of time, and the page with its tables."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from experiments.common import BUILD, HOME, ProgressLine, write_page
from experiments.real_streams import diversity, page, rivals
from experiments.real_streams.run import SETS, results


def main(argv: Sequence[str] | None = None) -> int:
    """Run all of it; takes some minutes."""
    parser = argparse.ArgumentParser("python -m experiments.real_streams", description="Real streams, prequentially.")
    parser.add_argument("--quick", action="store_true", help="the first 500 rows only")
    parser.add_argument("--sets", nargs="+", metavar="NAME", default=SETS, help="these data sets only")
    parser.add_argument("--rivals", nargs="*", metavar="MODEL", help="HalfLives beside river's (these models) instead")
    parser.add_argument("--diversity", action="store_true", help="what further ladders of HalfLives bring, instead")
    parser.add_argument("--out", type=Path, help="folder for the page, its figures and its picture")
    chosen = parser.parse_args(argv)
    if chosen.diversity:
        print(diversity.table(None, ProgressLine(), n_rows=500 if chosen.quick else None))
        return 0
    if chosen.rivals is not None:
        return _rivals(chosen)
    part = chosen.quick or tuple(chosen.sets) != SETS
    out = chosen.out or (BUILD if part else HOME) / "real_streams"
    out.mkdir(parents=True, exist_ok=True)
    found = results(tuple(chosen.sets), 500 if chosen.quick else None, ProgressLine())
    for name, table in zip(("results", "curves", "memories"), found, strict=True):
        table.to_csv(out / f"{name}.csv")
    tables = page.tables(out)
    write_page("real_streams", out, tables)
    page.pictures(out)
    print(f"{tables['accuracy']}\n\nThe page is {out}/README.md")
    return 0


def _rivals(chosen: argparse.Namespace) -> int:
    """The second part of the page. A run goes on where an earlier one has stopped: delete rivals.csv to begin anew."""
    out = chosen.out or HOME / "real_streams"
    names = None if tuple(chosen.sets) == SETS else chosen.sets
    rivals.run(out / "rivals.csv", names, chosen.rivals or None, ProgressLine())
    tables = page.tables(HOME / "real_streams") | rivals.tables(out / "rivals.csv")
    write_page("real_streams", out, tables)
    print(f"{tables['rivals-ranks']}\n\nThe page is {out}/README.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
