"""``python -m benchmarks.forecast [data set ...]``: forecast and measured seconds of one fold, for each classifier.

The data sets are those of ``tanager.datasets``; by default four that come with scikit-learn.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

from tanager.cli.models import MODELS, make_model
from tanager.datasets import load
from tanager.evaluate import peers
from tanager.evaluate.fold_runner import FoldRunner
from tanager.evaluate.forecast import TableSize, fold_seconds
from tanager.evaluate.plan import Folds, make_plan


def main(names: Sequence[str]) -> int:
    for name in names or ("iris", "wine", "breast_cancer", "digits"):
        data = load(name)
        models = {n: make_model(n, data.options) for n, entry in MODELS.items() if entry.compared}
        models |= peers(**data.options)
        plan = make_plan(name, models, data, Folds(10, 1), 10, None)
        size = TableSize.of(plan)
        print(f"\n{name}: {size}\n{'':<14}{'forecast':>10}{'measured':>10}{'ratio':>8}")
        for model, classifier in models.items():
            runner = FoldRunner(make_plan(name, {model: classifier}, data, Folds(10, 1), 10, None))
            start = time.process_time()
            runner.part(0, [model])
            taken, forecast = time.process_time() - start, fold_seconds(classifier, size)
            print(f"{model:<14}{forecast:>10.3f}{taken:>10.3f}{taken / forecast:>8.2f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
