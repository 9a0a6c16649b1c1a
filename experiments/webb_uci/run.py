"""What is run: the data sets of the source that can be had, the classifiers, and how long these take."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from experiments.common import ENTROPY, whole, worded
from tanager import A2DE, AODE, BSEJ, LBR, TAN, NaiveBayes, NBTree, SelectiveNaiveBayes
from tanager.datasets import Dataset
from tanager.encoding import encode_labels
from tanager.errors import MemoryBudgetError
from tanager.evaluate import Table, stratified_folds

SETS = (
    *("abalone", "adult", "anneal", "audiology", "autos", "balance-scale", "bands", "breast-w", "bupa", "cmc"),
    *("credit-a", "credit-g", "diabetes", "echocardiogram", "glass", "heart-c", "heart-h", "heart-statlog"),
    *("hepatitis", "horse-colic", "hypothyroid", "ionosphere", "iris", "kr-vs-kp", "labor", "led", "letter"),
    *("lung-cancer", "lymph", "mfeat-mor", "mushroom", "new-thyroid", "post-operative", "primary-tumor"),
    *("promoters", "satimage", "segment", "sick", "sign", "sonar", "soybean", "splice", "syncon", "thyroid"),
    *("vehicle", "vote", "vowel", "waveform-5000", "wine", "yeast", "zoo"),
)
MEANT_EMPTY = ("anneal", "vote")  # an empty cell is a value there: "not applicable", "did not vote"
CLASSIFIERS = {
    "AODE": AODE,
    "NB": NaiveBayes,
    "TAN": TAN,
    "LBR": LBR,
    "A2DE": A2DE,
    "SNB": SelectiveNaiveBayes,
    "BSEJ": BSEJ,
    "NBTree": NBTree,
}
LIMITS = (5, 10, 30, 50, 100)  # a super-parent must have been seen as often; without a limit once


def limited(k: int) -> str:
    """The name of AODE with a frequency limit."""
    return f"AODE, {k}"


def dataset(name: str) -> Dataset:
    """A data set with all its rows; where an empty cell carries meaning, it gets a word."""
    data = whole(name)
    return worded(data) if name in MEANT_EMPTY else data


def models(data: Any) -> dict[str, Any]:
    """The classifiers for one data set; numbers are cut by class entropy (MDL)."""
    own = {name: kind(**data.options, **ENTROPY) for name, kind in CLASSIFIERS.items()}
    return own | {limited(k): AODE(min_count=k, **data.options, **ENTROPY) for k in LIMITS}


def times(datasets: Mapping[str, Dataset], progress: Callable[[int, int, str], None]) -> Table:
    """Seconds of the processor to learn a fold and to answer it, from the table on: means over the folds timed."""
    rows = []
    for at, (name, data) in enumerate(datasets.items()):
        progress(at, len(datasets), f"times of {name}")
        for classifier in CLASSIFIERS:
            load = round(os.getloadavg()[0], 2)
            try:
                rows.append([name, classifier, load, *_seconds(models(data)[classifier], data)])
            except MemoryBudgetError:  # as in the cross-validation: no answer there
                continue
    progress(len(datasets), len(datasets), "times")
    return Table(["dataset", "classifier", "load", "n_folds", "fit_seconds", "predict_seconds"], rows)


def _seconds(model: Any, data: Dataset) -> tuple[int, float, float]:
    """How many folds were timed, and the mean of learning and of answering: ten folds for LBR, else for two seconds."""
    fold = stratified_folds(encode_labels(data.y)[0].astype(np.uint16))
    learning, answering = list[float](), list[float]()
    for part in range(10):
        if not isinstance(model, LBR) and sum(learning) + sum(answering) > 2:
            break
        test = fold == part
        X, y, asked = data.X.filter(pa.array(~test)), np.asarray(data.y)[~test], data.X.filter(pa.array(test))
        start = time.process_time()
        model.fit(X, y).predict_proba(asked.slice(0, 1))  # structure is learned when the first answer is asked for
        learned = time.process_time()
        model.predict_proba(asked)
        learning.append(learned - start)
        answering.append(time.process_time() - learned)
    return len(learning), float(np.mean(learning)), float(np.mean(answering))
