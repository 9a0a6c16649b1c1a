"""``python -m experiments.klawonn_angelov``: evolving naive Bayes on the streams of README.md, and the page itself."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from experiments.common import BUILD, HOME, ProgressLine, write_page
from experiments.klawonn_angelov import page
from experiments.klawonn_angelov.run import (
    FEWER_SEEDS,
    LENGTHS,
    ROWS,
    SEEDS,
    choice_lines,
    given_lines,
    iris_lines,
    stream_lines,
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run all of it; takes a few minutes."""
    parser = argparse.ArgumentParser("python -m experiments.klawonn_angelov", description="Evolving naive Bayes.")
    parser.add_argument("--quick", action="store_true", help="one seed and short streams only")
    parser.add_argument("--out", type=Path, help="folder for the page, its figures and its pictures")
    chosen = parser.parse_args(argv)
    out = chosen.out or (BUILD if chosen.quick else HOME) / "klawonn_angelov"
    out.mkdir(parents=True, exist_ok=True)
    seeds, lengths, rows = (1, LENGTHS[:1], 1_000) if chosen.quick else (SEEDS, LENGTHS, ROWS)
    iris_lines(seeds, lengths, ProgressLine()).to_csv(out / "results.csv")
    stream_lines(min(seeds, FEWER_SEEDS), rows, ProgressLine()).to_csv(out / "streams.csv")
    choice_lines(min(seeds, FEWER_SEEDS), rows, ProgressLine()).to_csv(out / "choices.csv")
    given_lines().to_csv(out / "given.csv")
    tables = page.tables(out)
    write_page("klawonn_angelov", out, tables)
    page.pictures(out, rows)
    print(f"{tables['iris']}\n\n{tables['streams']}\n\n{tables['overlap']}\n\nThe page is {out}/README.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
