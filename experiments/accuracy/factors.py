"""``python -m experiments.accuracy.factors``: how many factors a forest draws, judged on the development half alone."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from experiments.accuracy.run import FOLDS, dataset, developed_on, names
from experiments.common import ProgressLine, arguments
from tanager import NetworkForest
from tanager.evaluate import Results, Table
from tanager.evaluate.checkpoint import Checkpoint
from tanager.evaluate.plan import Folds, make_plan
from tanager.evaluate.run import run
from tanager.learning.forest_learner import of_categories

CHOICES = {"1,000": 1000, "2,000": 2000, "4,000": 4000}
MEASURES = ("accuracy", "log_loss", "fit_seconds")


def forests(data: Any) -> dict[str, NetworkForest]:
    """A forest for each number of factors; 1,000 are tried where the columns have no bins to differ in."""
    few = of_categories(NetworkForest(n_members=1, **data.options).fit(data.X, data.y).schema_)
    return {
        name: NetworkForest(max_factors=most, **data.options) for name, most in CHOICES.items() if few or most > 1000
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Run all of it, write the means of every data set, and print what each choice gains over 2,000."""
    chosen = arguments("accuracy", "How many factors NetworkForest draws.", argv)
    sets = [name for name in chosen.sets or names() if developed_on(name)]
    work = [make_plan(name, forests, dataset(name), Folds(FOLDS, seed=1), FOLDS, None) for name in sets]
    ledger = Checkpoint(chosen.ledger.with_name("accuracy-factors.jsonl"))
    results = Results(run(work, chosen.jobs, ProgressLine(), ledger, timing=True))
    rows = []
    for name in results.datasets:
        for choice in (choice for choice in results.classifiers if results.folds(name, choice)):
            rows.append([name, choice, *(results.mean(name, choice, measure) for measure in MEASURES)])
    Table(["dataset", "factors", *MEASURES], rows).to_csv(chosen.out / "factors.csv")
    for title, tried in (("categories alone", True), ("others", False)):
        own = [name for name in results.datasets if bool(results.folds(name, "1,000")) == tried]
        for choice in (choice for choice in CHOICES if choice != "2,000" and (tried or choice != "1,000")):
            print(f"{title}, {len(own)} sets, {choice} against 2,000: {_against(results, own, choice)}")
    return 0


def _against(results: Results, sets: Sequence[str], choice: str) -> str:
    """Differences of errors and log losses, in the mean and as wins, draws and losses; and the ratio of times."""
    told = []
    for measure, sign in (("accuracy", -1), ("log_loss", 1)):
        own, other = (np.array([results.mean(name, k, measure) for name in sets]) for k in (choice, "2,000"))
        gaps = sign * (own - other)
        wins, losses = int((gaps < -1e-9).sum()), int((gaps > 1e-9).sum())
        error = gaps.std(ddof=1) / np.sqrt(len(gaps)) if len(gaps) > 1 else np.nan
        name = "error" if measure == "accuracy" else "log loss"
        told.append(f"{name} {gaps.mean():+.4f} ({error:.4f}), {wins}-{len(gaps) - wins - losses}-{losses}")
    times = [
        np.log(results.mean(name, choice, "fit_seconds") / results.mean(name, "2,000", "fit_seconds")) for name in sets
    ]
    return f"{'; '.join(told)}; time {np.exp(np.mean(times)):.2f}"


if __name__ == "__main__":
    sys.exit(main())
