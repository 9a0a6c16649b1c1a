"""``python -m experiments.bouckaert_streams.trees``: Hoeffding trees beside votes, in accuracy and in memory.

The source names the Hoeffding tree as the algorithm that does as well on streams, at a price in memory.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments.bouckaert_streams.sources import SOURCES, Best
from tanager import AODE, FANC, TC, HoeffdingTree, NaiveBayes
from tanager.evaluate import Table

SEED, N_ROWS = 1, 300_000
COLUMNS = ["source", "classifier", "late", "behind", "leaves", "kilobytes"]


def classifiers() -> dict[str, Any]:
    """Votes, and trees with naive Bayes, AODE and a vote in their leaves."""
    return {
        "NB": NaiveBayes(),
        "AODE": AODE(),
        "FANC": FANC(),
        "TC": TC(),
        "tree, NB": HoeffdingTree(),
        "tree, AODE": HoeffdingTree(leaf=AODE()),
        "tree, FANC": HoeffdingTree(leaf=FANC()),
    }


def lines(source: str, n_rows: int) -> list[list[Any]]:
    """Accuracy in the second half of a stream, how far it is from the best possible, and what the counts take."""
    stream = SOURCES[source](random_state=SEED)
    X, y = stream.take(n_rows)
    codes, labels = np.asarray(X), np.asarray(y)
    half = slice(n_rows // 2, None)
    best = Best.of(stream.network).answers(codes[half])
    classes = np.unique(labels)
    most = float(np.mean(classes[best.astype(int)] == labels[half]))
    found: list[list[Any]] = [[source, "best", most, 0.0, "", ""]]
    for name, model in classifiers().items():
        proba = model.test_then_train(X, y)
        late = float(np.mean(model.classes_[proba.argmax(axis=1)][half] == labels[half]))
        leaves = model.n_leaves_ if isinstance(model, HoeffdingTree) else 1
        found.append([source, name, late, most - late, leaves, round(n_bytes(model) / 1000, 1)])
    return found


def n_bytes(model: Any) -> int:
    """What the counts take, of all leaves together."""
    return model.n_bytes_ if isinstance(model, HoeffdingTree) else model.counts_.nbytes


def main(argv: Sequence[str] | None = None) -> int:
    """Run it; takes some two minutes."""
    words = list(sys.argv[1:] if argv is None else argv)
    n_rows = int(words[0]) if words else N_ROWS
    table = Table(COLUMNS, [line for source in SOURCES for line in lines(source, n_rows)])
    table.to_csv(Path(words[1] if len(words) > 1 else Path(__file__).parent) / "trees.csv")
    print(table)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
