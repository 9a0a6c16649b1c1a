"""``python -m experiments.bins.others``: other classifiers with both rules on development data, into others.csv."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from os import cpu_count
from pathlib import Path
from typing import Any

import numpy as np

import tanager
from experiments.accuracy.run import dataset, developed_on
from experiments.bins.rules import REPORTED
from experiments.bins.run import with_numbers
from tanager import KDB, BackOff
from tanager.encoding.chunks import rows_at
from tanager.evaluate import Table
from tanager.evaluate.measures import measure
from tanager.evaluate.plan import Folds

NAMES = (
    *(
        "BestOf",
        "FAN",
        "WAODE",
        "HNB",
        "FANC",
        "SPC",
        "BAN",
        "ChowLiuMultiNet",
        "RecursiveBayes",
        "SelectiveNaiveBayes",
    ),
    *("AdjustedNaiveBayes", "SemiNaiveBayes", "SelectiveKDB", "KDB", "GeneralNetwork", "MultiNet", "NBTree"),
)
MAKERS: dict[str, Callable[..., Any]] = {name: getattr(tanager, name) for name in NAMES}
MAKERS["BestOf, pooled"] = lambda **options: tanager.BestOf(pool="log", **options)
MAKERS["KDB, fixed back-off"] = lambda **options: KDB(smoothing=BackOff(1), **options)
MAKERS["AODE, Gaussian"] = lambda **options: tanager.AODE(gaussian=True, **options)
MAKERS["TAN, Gaussian"] = lambda **options: tanager.TAN(gaussian=True, **options)
ASKED = 2  # of the five folds
MOST_CELLS = 250_000  # rows times columns


def sets() -> list[str]:
    """The smaller development sets."""
    return [
        name
        for name in with_numbers()
        if developed_on(name) and len(dataset(name).y) * dataset(name).X.num_columns <= MOST_CELLS
    ]


def run_other(name: str, classifier: str) -> list[dict[str, Any]]:
    """Log loss and error of one classifier on one data set, by both rules."""
    warnings.simplefilter("ignore")
    data = dataset(name)
    labels = np.unique(np.asarray(data.y).astype(str), return_inverse=True)[1].astype(np.uint16)
    kinds = {key: data.options[key] for key in ("categorical", "numeric") if key in data.options}
    lines = []
    for rule in REPORTED:
        folds = []
        for part in range(ASKED):
            test = Folds(5, seed=1).test(labels, part)
            learned, asked = np.flatnonzero(~test), np.flatnonzero(test)
            model = MAKERS[classifier](bins=rule, **kinds).fit(rows_at(data.X, learned), labels[learned])
            proba = model.predict_proba(rows_at(data.X, asked))
            own = measure(labels[asked].astype(np.int64), proba, proba.argmax(axis=1))
            folds.append((own["log_loss"], 1 - own["accuracy"]))
        log_loss, error = np.mean(folds, axis=0).tolist()
        figures = {"log_loss": log_loss, "error": error}
        lines.append({"dataset": name, "rule": rule, "classifier": classifier, "n_rows": len(labels)} | figures)
    return lines


def main() -> int:
    """All of them; the page is made anew by ``python -m experiments.bins``."""
    work = [(name, classifier) for name in sets() for classifier in MAKERS]
    with ProcessPoolExecutor(cpu_count()) as pool:
        lines = [line for own in pool.map(run_other, *zip(*work, strict=True)) for line in own]
    names = list(lines[0])
    Table(names, [[line[name] for name in names] for line in lines]).to_csv(Path(__file__).parent / "others.csv")
    return 0


if __name__ == "__main__":
    sys.exit(main())
