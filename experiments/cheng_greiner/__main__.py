"""``python -m experiments.cheng_greiner``: learn, ask, and the page with its tables."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from experiments.cheng_greiner import page
from experiments.cheng_greiner.run import DRAWS, SETS, pairs, plans, results, table
from experiments.common import ProgressLine, arguments, write_page
from tanager.evaluate.checkpoint import Checkpoint


def main(argv: Sequence[str] | None = None) -> int:
    """Run all of it; what an earlier run has finished is taken from the ledger."""
    chosen = arguments("cheng_greiner", "Networks learned by tests, wrapped by a holdout, on five data sets.", argv)
    names = chosen.sets or list(SETS)
    work = plans(names, 1, seeds=1, rules={}) if chosen.quick else plans(names, DRAWS)
    lines = results(work, Checkpoint(chosen.ledger), ProgressLine())
    table(lines).to_csv(chosen.out / "results.csv")
    pairs(work, lines).to_csv(chosen.out / "pairs.csv")
    tables = page.tables(chosen.out)
    write_page("cheng_greiner", chosen.out, tables)
    page.pictures(chosen.out)
    print(f"{tables['best']}\n\n{tables['accuracy']}\n\nThe page is {chosen.out}/README.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
