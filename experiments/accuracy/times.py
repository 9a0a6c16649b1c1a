"""``python -m experiments.accuracy.times``: processor seconds to learn and to answer, one fold of every data set."""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Sequence

from experiments.accuracy.run import FOLDS, dataset, models, names
from experiments.common import HOME, ProgressLine
from tanager.evaluate.plan import Folds, make_plan

HEADS = ("dataset", "classifier", "fit_seconds", "predict_seconds")


def main(argv: Sequence[str] | None = None) -> int:
    """Measure all classifiers on the training and test rows of the first fold, one after the other.

    Processor time, and one thread each (set OMP_NUM_THREADS=1): other work on the machine matters little.
    """
    path = HOME / "accuracy" / "times.csv"
    chosen = list(sys.argv[1:] if argv is None else argv) or names()
    done = list(csv.reader(path.open())) if path.exists() else []
    known = {(line[0], line[1]) for line in done}
    progress = ProgressLine()
    with path.open("a", newline="") as file:
        write = csv.writer(file, lineterminator="\n")
        if not done:
            write.writerow(HEADS)
        for at, name in enumerate(chosen):
            progress(at, len(chosen), name)
            plan = make_plan(name, models, dataset(name), Folds(FOLDS, seed=1), 1, None)
            test = plan.splits.test(plan.data.labels, 0)
            X, y = plan.data.X, plan.data.labels
            for label, model in plan.models.items():
                if (name, label) not in known:
                    start = time.process_time()
                    model.fit(X.filter(~test), y[~test])
                    middle = time.process_time()
                    model.predict_proba(X.filter(test))
                    end = time.process_time()
                    write.writerow([name, label, f"{middle - start:.4f}", f"{end - middle:.4f}"])
            file.flush()
    progress(len(chosen), len(chosen), "done")
    return 0


if __name__ == "__main__":
    sys.exit(main())
