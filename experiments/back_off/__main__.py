"""``python -m experiments.back_off``: five-fold cross-validation, and the page with its tables."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from experiments.back_off import page
from experiments.back_off.run import development_sets, models
from experiments.common import ProgressLine, arguments, means, whole, write_page
from tanager.evaluate import cross_validate_all


def main(argv: Sequence[str] | None = None) -> int:
    """Run all of it; what an earlier run has finished is taken from the ledger."""
    chosen = arguments("back_off", "Learned back-off beside a fixed strength.", argv)
    datasets = {name: whole(name) for name in chosen.sets} if chosen.sets else development_sets()
    results = cross_validate_all(
        models, datasets, folds=5, n_jobs=chosen.jobs, resume=chosen.ledger, progress=ProgressLine(), timing=False
    )
    means(results).to_csv(chosen.out / "results.csv")
    tables = page.tables(chosen.out)
    write_page("back_off", chosen.out, tables)
    print(f"{tables['summary']}\n\nThe page is {chosen.out}/README.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
