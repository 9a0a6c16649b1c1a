"""Anytime models in little memory: how many members fit, what they take, and how well they answer.

``python -m benchmarks.space`` prints the table; ``TANAGER_DATA`` names the folder with the data sets. Accuracies are
those of a tenth of the rows, learned from the others, over five random splits.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np

from tanager import AnytimeA2DE, AnytimeAODE, DataWarning
from tanager.counts.memory import readable
from tanager.datasets import load as load_dataset

SHARES = (1.0, 0.4, 0.2, 0.1, 0.05, 0.02)


def table(cls: type[AnytimeAODE | AnytimeA2DE], name: str, n_splits: int = 5) -> None:
    """One line for each share of the memory that all members take."""
    data = load_dataset(name)
    X, y = data.X.to_pandas(), np.asarray(data.y)
    whole = cls(member_order="given", stop="all").fit(X, y)
    n_all, full = len(whole.members_), whole.counts_.nbytes
    for share in SHARES:
        sizes, members, right = [], [], []
        for seed in range(n_splits):
            test = np.random.default_rng(seed).random(len(y)) < 0.1
            try:
                model = cls(max_memory=share * full).fit(X[~test], y[~test])
            except MemoryError:
                continue
            sizes.append(model.counts_.nbytes)
            members.append(len(model.members_))
            right.append(float((model.predict(X[test]) == y[test]).mean()))
        cells = f"{cls.__name__:<12} {name:<9} {readable(share * full):>7}"
        if right:
            print(f"{cells} {readable(np.mean(sizes)):>7} {np.mean(members):6.1f} of {n_all:<5} {np.mean(right):.4f}")
        else:
            print(f"{cells} refused")


if __name__ == "__main__":
    warnings.simplefilter("ignore", DataWarning)
    print(f"{'model':<12} {'data':<9} {'budget':>7} {'used':>7} {'members':>12}    accuracy")
    for name in sys.argv[1:] or ("kr-vs-kp", "waveform-5000", "splice"):
        table(AnytimeAODE, name)
    for name in sys.argv[1:] or ("kr-vs-kp",):
        table(AnytimeA2DE, name)
