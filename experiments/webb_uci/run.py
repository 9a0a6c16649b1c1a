"""What is run: the data sets of the source that can be had, seven classifiers, and how long these take."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

from experiments.common import whole, worded
from tanager import A2DE, AODE, LBR, TAN, NaiveBayes
from tanager.datasets import Dataset
from tanager.errors import MemoryBudgetError
from tanager.evaluate import Table, peers
from tanager.learning.counts_classifier import CountsClassifier

SETS = (
    *("abalone", "adult", "anneal", "audiology", "autos", "balance-scale", "bands", "breast-w", "bupa", "cmc"),
    *("credit-a", "credit-g", "diabetes", "echocardiogram", "glass", "heart-c", "heart-h", "heart-statlog"),
    *("hepatitis", "horse-colic", "hypothyroid", "ionosphere", "iris", "kr-vs-kp", "labor", "led", "letter"),
    *("lung-cancer", "lymph", "mfeat-mor", "mushroom", "new-thyroid", "post-operative", "primary-tumor"),
    *("promoters", "satimage", "segment", "sick", "sign", "sonar", "soybean", "splice", "syncon", "thyroid"),
    *("vehicle", "vote", "vowel", "waveform-5000", "wine", "yeast", "zoo"),
)
MEANT_EMPTY = ("anneal", "vote")  # an empty cell is a value there: "not applicable", "did not vote"


def dataset(name: str) -> Dataset:
    """A data set with all its rows; where an empty cell carries meaning, it gets a word."""
    data = whole(name)
    return worded(data) if name in MEANT_EMPTY else data


def models(data: Any) -> dict[str, Any]:
    """The classifiers for one data set; numbers are cut by class entropy (MDL) for those of tanager."""
    others = peers(**data.options)
    return {
        "AODE": AODE(**data.options),
        "NB": NaiveBayes(**data.options),
        "TAN": TAN(**data.options),
        "A2DE": A2DE(**data.options),
        "LBR": LBR(**data.options),
        "tree": others["tree"],
        "boosted": others["boosted"],
    }


def times(datasets: Mapping[str, Dataset], progress: Callable[[int, int, str], None]) -> Table:
    """Seconds of the processor to learn all rows and to answer all of them, from the table on."""
    rows = []
    for at, (name, data) in enumerate(datasets.items()):
        progress(at, len(datasets), f"times of {name}")
        for classifier, model in models(data).items():
            load = round(os.getloadavg()[0], 2)
            try:
                rows.append([name, classifier, load, *_seconds(model, data)])
            except MemoryBudgetError:  # as in the cross-validation: no answer there
                continue
    progress(len(datasets), len(datasets), "times")
    return Table(["dataset", "classifier", "load", "fit_seconds", "predict_seconds"], rows)


def _seconds(model: Any, data: Dataset) -> tuple[float, float]:
    """Medians of five runs, or of as many as a second allows."""
    fits: list[float] = []
    answers: list[float] = []
    while len(fits) < 5 and sum(fits) + sum(answers) < 1:
        start = time.process_time()
        model.fit(data.X, data.y)
        if isinstance(model, CountsClassifier):
            model.predict_proba(data.X.slice(0, 1))  # structure is learned when the first answer is asked for
        learned = time.process_time()
        model.predict_proba(data.X)
        fits.append(learned - start)
        answers.append(time.process_time() - learned)
    return statistics.median(fits), statistics.median(answers)
