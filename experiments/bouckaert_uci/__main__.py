"""``python -m experiments.bouckaert_uci``: ten times ten-fold cross-validation, and the page with its tables."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from experiments.bouckaert_uci import costs, page
from experiments.bouckaert_uci.run import SETS, models
from experiments.common import ProgressLine, arguments, means, write_page
from tanager.datasets import load
from tanager.evaluate import cross_validate_all


def main(argv: Sequence[str] | None = None) -> int:
    """Run all of it; what an earlier run has finished is taken from the ledger."""
    chosen = arguments("bouckaert_uci", "Voted collections of networks on 28 data sets.", argv)
    datasets = {name: load(name) for name in chosen.sets or SETS.values()}
    results = cross_validate_all(
        models,
        datasets,
        repeats=1 if chosen.quick else 10,
        n_jobs=chosen.jobs,
        resume=chosen.ledger,
        progress=ProgressLine(),
        timing=False,
    )
    means(results, against=["NB", "AODE"]).to_csv(chosen.out / "results.csv")
    print(f"load {os.getloadavg()[0]:.1f} before timing", file=sys.stderr)
    costs.measure(datasets, ProgressLine(), rounds=1 if chosen.quick else costs.ROUNDS).to_csv(chosen.out / "costs.csv")
    tables = page.tables(chosen.out)
    write_page("bouckaert_uci", chosen.out, tables)
    page.pictures(chosen.out)
    print(f"{tables['ranks']}\n\n{tables['steps']}\n\n{tables['cost-steps']}\n\nThe page is {chosen.out}/README.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
