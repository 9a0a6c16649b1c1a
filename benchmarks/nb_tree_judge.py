"""NBTree with AODE in its leaves: who is to propose the column of a split, naive Bayes or the leaves themselves.

``python -m benchmarks.nb_tree_judge [names of data sets]`` prints errors on rows held out, and seconds of the
processor; ``TANAGER_DATA`` names the folder with the data sets.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
from sklearn.model_selection import StratifiedKFold

from tanager import AODE, DataWarning, NBTree
from tanager.datasets import load as load_dataset

SETS = [
    "vote",
    "credit-a",
    "credit-g",
    "vehicle",
    "cmc",
    "lymph",
    "glass",
    "heart-c",
    "breast-cancer",
    "diabetes",
    "balance-scale",
    "monks-1",
    "monks-2",
    "corral",
    "yeast",
    "segment",
    "vowel",
    "led",
    "primary-tumor",
    "flare",
    "nursery",
    "mushroom",
]
MODELS = {"naive Bayes": NBTree(leaf=AODE()), "leaves": NBTree(leaf=AODE(), judge="leaf"), "AODE alone": AODE()}
MOST_ROWS = 3000


def main(names: list[str]) -> None:
    """A line for each data set: errors and seconds of each way."""
    print(f"{'':<15}" + "".join(f"{name:>20}" for name in MODELS))
    for name in names:
        data = load_dataset(name)
        X, y = data.X.to_pandas(), np.asarray(data.y)
        if len(y) > MOST_ROWS:
            some = np.sort(np.random.default_rng(0).choice(len(y), MOST_ROWS, replace=False))
            X, y = X.iloc[some], y[some]
        folds = list(StratifiedKFold(5, shuffle=True, random_state=1).split(X, y))
        line = f"{name:<15}"
        for model in MODELS.values():
            began = time.process_time()
            wrong = sum(int((model.fit(X.iloc[a], y[a]).predict(X.iloc[b]) != y[b]).sum()) for a, b in folds)
            line += f"{wrong / len(y):>12.4f}{time.process_time() - began:>7.2f}s"
        print(line, flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore", DataWarning)
    main(sys.argv[1:] or SETS)
