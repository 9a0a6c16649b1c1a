"""``python -m experiments.back_off.prior``: learned back-off with a prior on its strengths, on development data."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from experiments.accuracy.run import dataset, developed_on, names
from experiments.back_off.run import MOST_ROWS, smoothed
from experiments.common import ProgressLine, arguments, means
from tanager import LearnedBackOff
from tanager.evaluate import cross_validate_all

MOST_COLUMNS = 20  # A2DE with learned strengths takes long
SMOOTHINGS: dict[str, Any] = {
    "fixed": None,
    "learned": LearnedBackOff(),
    "prior 0.25 at 1": LearnedBackOff(prior=0.25),
    "prior 0.5 at 1": LearnedBackOff(prior=0.5),
    "prior 0.5 at 2": LearnedBackOff(2.0, prior=0.5),
    "prior 1 at 2": LearnedBackOff(2.0, prior=1.0),
}


def models(data: Any) -> dict[str, Any]:
    """Every classifier with every smoothing."""
    return smoothed(data, SMOOTHINGS)


def main(argv: Sequence[str] | None = None) -> int:
    """All development sets but the largest; the page is made anew by ``python -m experiments.back_off``."""
    chosen = arguments("back_off", "Learned back-off with a prior.", argv)
    sets = {name: dataset(name) for name in chosen.sets or names() if developed_on(name)}
    small = {
        name: data for name, data in sets.items() if len(data.y) <= MOST_ROWS and data.X.num_columns <= MOST_COLUMNS
    }
    ledger = chosen.ledger.with_name("back_off_prior.jsonl")
    results = cross_validate_all(
        models, small, folds=5, n_jobs=chosen.jobs, resume=ledger, progress=ProgressLine(), timing=False
    )
    means(results).to_csv(chosen.out / "prior.csv")
    return 0


if __name__ == "__main__":
    sys.exit(main())
