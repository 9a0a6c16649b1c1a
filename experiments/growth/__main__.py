"""``python -m experiments.growth``: measure all classifiers at growing sizes, and write the page with its tables."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from experiments.common import BUILD, HOME, ProgressLine, write_page
from experiments.growth import page
from experiments.growth.run import measure
from experiments.growth.theory import SUBJECTS


def main(argv: Sequence[str] | None = None) -> int:
    """Run all of it; takes some ten minutes."""
    parser = argparse.ArgumentParser("python -m experiments.growth", description="How costs grow with sizes.")
    parser.add_argument("--quick", action="store_true", help="the three smallest sizes only")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these classifiers only")
    parser.add_argument("--out", type=Path, help="folder for the page, its figures and its pictures")
    chosen = parser.parse_args(argv)
    part = chosen.quick or chosen.only
    out = chosen.out or (BUILD if part else HOME) / "growth"
    out.mkdir(parents=True, exist_ok=True)
    subjects = [subject for subject in SUBJECTS if subject.name in (chosen.only or [subject.name])]
    measure(subjects, 3 if chosen.quick else None, ProgressLine()).to_csv(out / "points.csv")
    tables = page.tables(out)
    write_page("growth", out, tables)
    page.pictures(out)
    print("\n\n".join(f"{name}\n{table}" for name, table in tables.items()) + f"\n\nThe page is {out}/README.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
