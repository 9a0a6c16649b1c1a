"""``python -m experiments.friedman``: five-fold cross-validation or a holdout as in the source, and the page."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from experiments.common import ProgressLine, arguments, means, write_page
from experiments.friedman import page, weka
from experiments.friedman.run import REPEATS, SETS, blankets, plans
from tanager.evaluate import Results
from tanager.evaluate.checkpoint import Checkpoint
from tanager.evaluate.run import run


def main(argv: Sequence[str] | None = None) -> int:
    """Run all of it; what an earlier run has finished is taken from the ledger."""
    chosen = arguments("friedman", "Naive Bayes, TAN, multi-nets and unrestricted networks on 25 data sets.", argv)
    names = chosen.sets or list(SETS)
    work = plans(names, 1 if chosen.quick else REPEATS)
    records = run(work, chosen.jobs, ProgressLine(), Checkpoint(chosen.ledger), timing=False)
    means(Results([*records, *weka.records(work)])).to_csv(chosen.out / "results.csv")
    blankets(names, ProgressLine()).to_csv(chosen.out / "blankets.csv")
    tables = page.tables(chosen.out)
    write_page("friedman", chosen.out, tables)
    page.pictures(chosen.out)
    print(f"{tables['over']}\n\n{tables['steps']}\n\nThe page is {chosen.out}/README.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
