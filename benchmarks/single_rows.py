"""Single rows as dicts, answered and then learned, beside river's classifiers of the same kind.

python -m benchmarks single_rows                        # all lines, more than half an hour
python -m benchmarks.single_rows TAN HNB --turns 2      # those of some of our classifiers
"""

from __future__ import annotations

import argparse
import itertools
import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from river.drift import ADWIN, DriftRetrainingClassifier
from river.forest import ARFClassifier
from river.naive_bayes import BernoulliNB, GaussianNB
from river.neighbors import KNNClassifier
from river.tree import HoeffdingTreeClassifier

from benchmarks.drift import wandering
from benchmarks.harness import Line, rate
from tanager import (
    A2DE,
    ANDE,
    AODE,
    BAN,
    BSEJ,
    FAN,
    FANC,
    FSSJ,
    HNB,
    KDB,
    LBR,
    SPC,
    SPODE,
    TAN,
    TBMATAN,
    TC,
    WAODE,
    AdjustedNaiveBayes,
    AnytimeA2DE,
    AnytimeAODE,
    BestOf,
    ChowLiuMultiNet,
    Collection,
    DriftAware,
    EvolvingNaiveBayes,
    GeneralNetwork,
    HalfLives,
    HoeffdingTree,
    MultiNet,
    NaiveBayes,
    NBTree,
    NetworkForest,
    RecursiveBayes,
    Selective,
    SelectiveKDB,
    SelectiveNaiveBayes,
    SemiNaiveBayes,
    SuperParentTAN,
    Wrapped,
)
from tanager.errors import DataWarning

BAR = 3.0
N_ROWS = 4_000
LONGER = {"BestOf / BernoulliNB": 20_000}  # choices at doublings are most of its time over few rows
TURNS = 4

Rows = tuple[list[dict[str, Any]], list[Any]]
Make = Callable[[], Any]


def of_numbers(n_columns: int, n_rows: int) -> Rows:
    X, y = wandering(n_rows, n_columns)
    return [{f"x{i}": v for i, v in enumerate(row)} for row in X.tolist()], y.tolist()


def of_flags(n_columns: int, n_rows: int) -> Rows:
    """Truths that depend on the class, which river's BernoulliNB counts."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n_rows)
    X = rng.random((n_rows, n_columns)) < rng.uniform(0.2, 0.8, (2, n_columns))[y]
    return [{f"x{i}": v for i, v in enumerate(row)} for row in X.tolist()], y.tolist()


def rows_per_second(model: Any, rows: list[dict[str, Any]], labels: list[Any]) -> float:
    """Answer, then learn, one dict after the other."""
    start = time.thread_time()
    for row, label in zip(rows, labels, strict=True):
        model.predict_proba_one(row)
        model.learn_one(row, label)
    return len(rows) / (time.thread_time() - start)


def best_in_turns(
    ours: Make, theirs: Make, rows: list[dict[str, Any]], labels: list[Any], turns: int
) -> tuple[float, float]:
    """The best of several runs of both over the same rows, one after the other: the machine is noisy."""
    fast = slow = 0.0
    for _ in range(turns):
        fast = max(fast, rows_per_second(ours(), rows, labels))
        slow = max(slow, rows_per_second(theirs(), rows, labels))
    return fast, slow


def retrained() -> Any:
    return DriftRetrainingClassifier(GaussianNB(), ADWIN(), train_in_background=False)


PEERS: dict[str, tuple[Callable[[int, int], Rows], Make, Make]] = {
    "NaiveBayes(gaussian=True) / GaussianNB": (of_numbers, lambda: NaiveBayes(gaussian=True), GaussianNB),
    "EvolvingNaiveBayes / GaussianNB": (of_numbers, EvolvingNaiveBayes, GaussianNB),
    "NaiveBayes / GaussianNB": (of_numbers, NaiveBayes, GaussianNB),
    "AODE / GaussianNB": (of_numbers, AODE, GaussianNB),
    "HalfLives / GaussianNB": (of_numbers, HalfLives, GaussianNB),
    "HoeffdingTree / HoeffdingTreeClassifier": (of_numbers, HoeffdingTree, HoeffdingTreeClassifier),
    "DriftAware / DriftRetrainingClassifier of GaussianNB": (of_numbers, DriftAware, retrained),
    "DriftAware(AODE) / DriftRetrainingClassifier of GaussianNB": (of_numbers, lambda: DriftAware(AODE()), retrained),
    "NaiveBayes / BernoulliNB": (of_flags, NaiveBayes, BernoulliNB),
    "AODE / BernoulliNB": (of_flags, AODE, BernoulliNB),
    "FANC / BernoulliNB": (of_flags, FANC, BernoulliNB),
    "TAN / BernoulliNB": (of_flags, TAN, BernoulliNB),
    "FAN / BernoulliNB": (of_flags, FAN, BernoulliNB),
    **{
        f"{ours.__name__} / BernoulliNB": (of_flags, ours, BernoulliNB)
        for ours in (KDB, SPODE, WAODE, TC, SPC, A2DE, ANDE, HNB, TBMATAN, Collection, AnytimeAODE, AnytimeA2DE)
    },
    **{
        f"{ours.__name__} / BernoulliNB": (of_flags, ours, BernoulliNB)
        for ours in (BAN, GeneralNetwork, MultiNet, ChowLiuMultiNet, AdjustedNaiveBayes, SelectiveNaiveBayes, Selective)
    },
    **{
        f"{ours.__name__} / BernoulliNB": (of_flags, ours, BernoulliNB)
        for ours in (SelectiveKDB, SuperParentTAN, SemiNaiveBayes, BSEJ, FSSJ, Wrapped, BestOf)
    },
    "NBTree / HoeffdingTreeClassifier": (of_flags, NBTree, HoeffdingTreeClassifier),
    "RecursiveBayes / HoeffdingTreeClassifier": (of_flags, RecursiveBayes, HoeffdingTreeClassifier),
    "NetworkForest / ARFClassifier": (of_flags, NetworkForest, ARFClassifier),
    "LBR / KNNClassifier": (of_flags, LBR, KNNClassifier),
    "NaiveBayes(decay=0.999) / BernoulliNB": (of_flags, lambda: NaiveBayes(decay=0.999), BernoulliNB),
    "NaiveBayes(window=1000) / BernoulliNB": (of_flags, lambda: NaiveBayes(window=1000), BernoulliNB),
    "AODE(decay=0.999) / BernoulliNB": (of_flags, lambda: AODE(decay=0.999), BernoulliNB),
    "AODE(window=1000) / BernoulliNB": (of_flags, lambda: AODE(window=1000), BernoulliNB),
    "HalfLives / BernoulliNB": (of_flags, HalfLives, BernoulliNB),
}


def lines(wanted: Sequence[str] = (), turns: int = TURNS) -> Iterator[Line]:
    """All lines, or those of the classifiers that are named."""
    for what, (make_rows, ours, theirs) in PEERS.items():
        if wanted and what.split(" / ")[0].split("(")[0] not in wanted:
            continue
        sizes = [N_ROWS, *([LONGER[what]] if what in LONGER else [])]
        for n_rows, n_columns in itertools.product(sizes, (8, 20)):
            rows, labels = make_rows(n_columns, n_rows)
            fast, slow = best_in_turns(ours, theirs, rows, labels, turns)
            many = "" if n_rows == N_ROWS else f", {n_rows:,} rows"
            name = f"one dict at a time, {n_columns} columns{many}: {what}"
            yield Line(name, f"{rate(fast)} / {rate(slow)}", fast / slow, BAR, at_most=False)


def main() -> None:
    """Print the lines of some classifiers."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.single_rows", description=__doc__)
    parser.add_argument("wanted", nargs="*", help="classifiers of ours")
    parser.add_argument("--turns", type=int, default=TURNS, help="runs of both, of which the best count")
    given = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f}")
    for line in lines(given.wanted, given.turns):
        mark = "" if line.holds else "  MISSED"
        print(f"{line.what:<88}{line.figures:>24}{line.ratio:>7.2f}{mark}", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore", DataWarning)
    main()
