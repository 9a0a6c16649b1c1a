"""``python -m experiments.webb_anytime``: ten-fold cross-validation, answers by the clock, and the page."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from experiments.common import ProgressLine, arguments
from experiments.webb_anytime import clock
from experiments.webb_anytime.run import REPEATS, SETS, plans, results, run
from tanager.evaluate.checkpoint import Checkpoint


def main(argv: Sequence[str] | None = None) -> int:
    """Run all of it; what an earlier run has finished is taken from the ledger."""
    chosen = arguments("webb_anytime", "Naive Bayes first, then one super-parent after the other.", argv)
    names = chosen.sets or list(SETS)
    work = plans(names, 1 if chosen.quick else REPEATS)
    results(work, run(work, chosen.jobs, ProgressLine(), Checkpoint(chosen.ledger))).to_csv(chosen.out / "results.csv")
    tables = clock.write(names, chosen.out)
    print(f"{tables['curves']}\n\n{tables['steps']}\n\n{tables['rules']}\n\nThe page is {chosen.out}/README.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
