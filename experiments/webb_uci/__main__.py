"""``python -m experiments.webb_uci``: ten-fold cross-validation, and the page with its tables."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from experiments.common import ProgressLine, arguments, means, write_page
from experiments.webb_uci import page
from experiments.webb_uci.run import SETS, dataset, models, times
from tanager.evaluate import cross_validate_all


def main(argv: Sequence[str] | None = None) -> int:
    """Run all of it; what an earlier run has finished is taken from the ledger."""
    chosen = arguments("webb_uci", "AODE beside naive Bayes, TAN, LBR and others.", argv)
    datasets = {name: dataset(name) for name in chosen.sets or SETS}
    results = cross_validate_all(
        models, datasets, n_jobs=chosen.jobs, resume=chosen.ledger, progress=ProgressLine(), timing=False
    )
    means(results, against=["AODE"]).to_csv(chosen.out / "results.csv")
    times(datasets, ProgressLine()).to_csv(chosen.out / "times.csv")
    tables = page.tables(chosen.out)
    write_page("webb_uci", chosen.out, tables)
    page.pictures(chosen.out)
    print(f"{tables['beside']}\n\n{tables['ranks']}\n\nThe page is {chosen.out}/README.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
