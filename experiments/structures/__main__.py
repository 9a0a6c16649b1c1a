"""``python -m experiments.structures``: random networks learned again from their rows, and the page with its tables."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from experiments.common import BUILD, HOME, ProgressLine, fill, write_page
from experiments.structures import page
from experiments.structures.run import N_NETWORKS, SIZES, results

GUIDE = HOME.parent / "docs" / "structure-learning.md"


def main(argv: Sequence[str] | None = None) -> int:
    """Run all of it; takes a minute or two."""
    parser = argparse.ArgumentParser("python -m experiments.structures", description="Networks learned again.")
    parser.add_argument("--quick", action="store_true", help="two networks and few rows only")
    parser.add_argument("--out", type=Path, help="folder for the page, its figures and its picture")
    chosen = parser.parse_args(argv)
    out = chosen.out or (BUILD if chosen.quick else HOME) / "structures"
    out.mkdir(parents=True, exist_ok=True)
    found, times = results(2, SIZES[:1], ProgressLine()) if chosen.quick else results(N_NETWORKS, SIZES, ProgressLine())
    found.to_csv(out / "results.csv")
    times.to_csv(out / "times.csv")
    tables = page.tables(out)
    write_page("structures", out, tables)
    page.pictures(out)
    if out == HOME / "structures":
        GUIDE.write_text(fill(GUIDE.read_text(encoding="utf-8"), {"found": page.summary(out)}), encoding="utf-8")
    print(f"{tables['f1']}\n\n{tables['distance']}\n\nThe page is {out}/README.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
