"""What is run: a dozen development data sets, five classifiers, their default smoothing and the learned one."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from experiments.common import ENTROPY, whole
from tanager import A2DE, AODE, KDB, TAN, LearnedBackOff, NaiveBayes
from tanager.datasets import Dataset, available

N_SETS, MOST_ROWS, MOST_COLUMNS = 12, 10_000, 40
CLASSIFIERS = {"NaiveBayes": NaiveBayes, "TAN": TAN, "KDB": KDB, "AODE": AODE, "A2DE": A2DE}
SMOOTHINGS = {"default": {}, "learned": {"smoothing": LearnedBackOff()}}


def development_sets() -> dict[str, Dataset]:
    """The first dozen in the order of a hash of their names, but for the largest: chosen before anything was run."""
    chosen: dict[str, Dataset] = {}
    names = [entry.name for entry in available()]
    for name in sorted(names, key=lambda name: sha256(name.encode()).hexdigest()):
        data = whole(name)
        if len(data.y) <= MOST_ROWS and data.X.num_columns <= MOST_COLUMNS:
            chosen[name] = data
        if len(chosen) == N_SETS:
            break
    return chosen


def models(data: Any) -> dict[str, Any]:
    """Every classifier with every smoothing."""
    return {
        f"{name}, {smoothing}": kind(**data.options, **ENTROPY, **own)
        for name, kind in CLASSIFIERS.items()
        for smoothing, own in SMOOTHINGS.items()
    }
