"""What is run: a dozen development data sets, five classifiers, a fixed smoothing and the learned one."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from experiments.common import ENTROPY, whole
from tanager import A2DE, AODE, KDB, TAN, BackOff, LearnedBackOff, NaiveBayes
from tanager.datasets import Dataset, available

N_SETS, MOST_ROWS, MOST_COLUMNS = 12, 10_000, 40
CLASSIFIERS = {"NaiveBayes": NaiveBayes, "TAN": TAN, "KDB": KDB, "AODE": AODE, "A2DE": A2DE}
SMOOTHINGS: Mapping[str, Any] = {"fixed": None, "learned": LearnedBackOff()}


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
    return smoothed(data, SMOOTHINGS)


def smoothed(data: Any, smoothings: Mapping[str, Any]) -> dict[str, Any]:
    """Every classifier with every smoothing; None is one of fixed strength, Laplace's rule or back-off."""
    fixed: dict[str, Any] = dict.fromkeys(CLASSIFIERS, 1.0) | {"KDB": BackOff(1)}
    return {
        f"{name}, {way}": kind(smoothing=fixed[name] if smoothing is None else smoothing, **data.options, **ENTROPY)
        for name, kind in CLASSIFIERS.items()
        for way, smoothing in smoothings.items()
    }
