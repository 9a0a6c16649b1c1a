"""``python -m experiments.accuracy``: five-fold cross-validation on all data sets, and the page."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from experiments.accuracy import page
from experiments.accuracy.run import FOLDS, names, plans
from experiments.common import ProgressLine, arguments, write_page
from tanager.evaluate import Results, Table
from tanager.evaluate.checkpoint import Checkpoint
from tanager.evaluate.run import run

MEASURES = ("accuracy", "log_loss", "brier", "calibration_error")


def main(argv: Sequence[str] | None = None) -> int:
    """Run all of it; what an earlier run has finished is taken from the ledger."""
    chosen = arguments("accuracy", "NetworkForest beside forests of trees and boosting.", argv)
    work = plans(chosen.sets or names(), 1 if chosen.quick else FOLDS)
    results = Results(run(work, chosen.jobs, ProgressLine(), Checkpoint(chosen.ledger), timing=False))
    rows = []
    for dataset in results.datasets:
        for name in results.classifiers:
            folds = results.folds(dataset, name)
            if folds:
                numbers = [results.mean(dataset, name, measure) for measure in MEASURES]
                rows.append([dataset, name, folds[0]["n_train"] + folds[0]["n_test"], len(folds), *numbers])
    Table(["dataset", "classifier", "n_rows", "n_folds", *MEASURES], rows).to_csv(chosen.out / "results.csv")
    tables = page.tables(chosen.out)
    write_page("accuracy", chosen.out, tables)
    print(f"{tables['bars']}\n\n{tables['means']}\n\nThe page is {chosen.out}/README.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
