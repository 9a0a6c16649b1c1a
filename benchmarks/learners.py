"""Learning time of every classifier, next to scikit-learn's random forest on the same table.

The forest gets columns of numbers as they are, as ours do, and codes in place of text, which it does not take.

``python -m benchmarks.learners [part of a name]`` prints one line for each classifier, the ratios side by side;
``TANAGER_DATA`` names the folder with the real data sets, without which there are the generated tables alone.
"""

from __future__ import annotations

import math
import os
import signal
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.ensemble import RandomForestClassifier

from benchmarks.harness import Line, best_times, seconds
from tanager import (
    A2DE,
    ANDE,
    AODE,
    BAN,
    BSEJ,
    CBL,
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
    DataWarning,
    DriftAware,
    EvolvingNaiveBayes,
    GeneralNetwork,
    GSquared,
    HillClimb,
    HoeffdingTree,
    MemoryBudgetError,
    MultiNet,
    NaiveBayes,
    NBTree,
    NetworkClassifier,
    NetworkForest,
    OptionError,
    PDAGSearch,
    RecursiveBayes,
    Selective,
    SelectiveKDB,
    SelectiveNaiveBayes,
    SemiNaiveBayes,
    SuperParentTAN,
    Wrapped,
)
from tanager.datasets import load as load_dataset

MODELS = (
    NaiveBayes(),
    AdjustedNaiveBayes(),
    SelectiveNaiveBayes(),
    SelectiveNaiveBayes(direction="backward"),
    SelectiveNaiveBayes(direction="best_first"),
    Selective(TAN()),
    Selective(KDB()),
    FSSJ(),
    BSEJ(),
    SemiNaiveBayes(),
    LBR(),
    TAN(),
    FAN(),
    SuperParentTAN(),
    SuperParentTAN(search="arcs"),
    TBMATAN(),
    KDB(),
    SelectiveKDB(),
    SPODE(),
    AODE(),
    WAODE(),
    HNB(),
    AnytimeAODE(),
    A2DE(),
    AnytimeA2DE(),
    ANDE(n=3),
    FANC(),
    SPC(),
    SPC(super_parent="refined"),
    TC(),
    Collection(),
    GeneralNetwork(),
    GeneralNetwork(learner=CBL(test=GSquared())),
    GeneralNetwork(learner=HillClimb()),
    GeneralNetwork(learner=PDAGSearch()),
    BAN(),
    BAN(learner=HillClimb(score="cll")),
    MultiNet(),
    ChowLiuMultiNet(),
    NetworkClassifier(),
    Wrapped(GeneralNetwork()),
    BestOf(),
    NBTree(),
    NBTree(leaf=AODE()),
    NetworkForest(),
    RecursiveBayes(),
    HoeffdingTree(),
    DriftAware(AODE()),
    EvolvingNaiveBayes(),
)
SHAPES = ((300, 13, 3, 4), (3000, 36, 2, 3), (20_000, 16, 10, 8))  # rows, columns, classes, values
FOREST = repr(RandomForestClassifier())
REAL = ("soybean", "kr-vs-kp", "letter", "adult", "waveform-5000", "spam")
QUICK = 0.5  # seconds of the forest, below which it learns again beside each classifier
NEAR = 0.7  # of the forest's time, beyond which both learn again in turns
MOST_SECONDS = 30  # of the processor, for all runs of a fit; what takes longer is stopped


@dataclass(frozen=True)
class Data:
    """A table for our classifiers, and the same as an array of numbers for the forest."""

    name: str
    X: Any
    y: np.ndarray
    numbers: np.ndarray


def interacting_rows(n_rows: int, n_columns: int, n_classes: int, n_values: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns that tell about the class by themselves, in pairs, or not at all."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, n_values, (n_rows, n_columns)).astype(np.uint8)
    y = (X[:, 0].astype(int) + X[:, 1] + (X[:, 2] * X[:, 3])) % n_classes
    y = np.where(rng.random(n_rows) < 0.9, y, rng.integers(0, n_classes, n_rows))
    for i in range(4, n_columns // 2):
        X[:, i] = np.where(rng.random(n_rows) < 0.3, y % n_values, X[:, i])
    return X, y


def tables() -> Iterator[Data]:
    """The generated tables, and the real ones if they are there."""
    for shape in SHAPES:
        X, y = interacting_rows(*shape)
        yield Data(f"{shape[0]:,} x {shape[1]}", X, y, X)
    for name in REAL if os.environ.get("TANAGER_DATA") else ():
        data = load_dataset(name)
        yield Data(name, data.X, data.y, as_numbers(data.X))


def as_numbers(table: pa.Table) -> np.ndarray:
    """Numbers as they are, and the codes of text; NaN where a cell is missing."""
    columns = []
    for column in table.columns:
        if pa.types.is_dictionary(column.type):
            column = pa.chunked_array([chunk.indices for chunk in column.unify_dictionaries().chunks])
        columns.append(column.cast(pa.float64()).to_numpy())
    return np.column_stack(columns)


def learn(model: Any, data: Data) -> None:
    """Fit and answer one row: what a model puts off until its first answer belongs to learning.

    LBR learns a rule for each row that it answers; that is not what it learns from a table.
    """
    model.fit(data.X, data.y)
    if not isinstance(model, LBR):
        model.predict_proba(data.X[:1])


def learning_times(data: Data, wanted: str = "") -> Iterator[tuple[str, float, float]]:
    """Each classifier by name, its seconds and those of the forest beside it; infinite where it was stopped.

    NaN where it refuses: too much memory, or too long by its own measure. Where the forest is quick, both take turns,
    as the speed of a machine changes by more than it takes; where it is slow, it learns once for all, and again beside
    those that come near it.
    """
    # Long tables are read by several threads; of other times the clock of one thread is the more exact.
    best = partial(best_times, clock=time.process_time if data.numbers.size > 500_000 else time.thread_time)
    forest = partial(RandomForestClassifier(random_state=0).fit, data.numbers, data.y)
    once = best({FOREST: forest}, 2)
    signal.signal(signal.SIGPROF, _stop)
    for model in (model for model in MODELS if wanted in repr(model)):
        name, own = repr(model), {"own": partial(learn, model, data)}
        signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS)
        try:
            if once[FOREST] < QUICK:
                times = best({FOREST: forest, **own}, 5, most_seconds=5.0)
            else:
                times = once | best(own, 2, most_seconds=5.0)
                if times["own"] > NEAR * times[FOREST]:
                    times = best({FOREST: forest, **own}, 3)
        except TimeoutError:
            times = once | {"own": math.inf}
        except (MemoryBudgetError, OptionError):
            times = once | {"own": math.nan}
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        yield name, times["own"], times[FOREST]


def _stop(*_: Any) -> None:
    raise TimeoutError


def lines() -> Iterator[Line]:
    for data in tables():
        for name, own, forest in learning_times(data):
            if not math.isnan(own):
                figures = f"{seconds(own)} / {seconds(forest)}"
                yield Line(f"{name}.fit {data.name} / forest", figures, own / forest, 1.0)


def main(wanted: str) -> None:
    """A table with one line for each classifier: its time as a share of the forest's, a column for each data set."""
    shares: dict[str, dict[str, float]] = {}
    forests: dict[str, float] = {}
    for data in tables():
        own_shares = shares[data.name] = {}
        for name, own, forest in learning_times(data, wanted):
            own_shares[name], forests[data.name] = own / forest, min(forest, forests.get(data.name, math.inf))
            print(f"{data.name} {name} {own:.4f} {forest:.4f}", file=sys.stderr, flush=True)
    print(f"{'':<50}" + "".join(f"{name:>14}" for name in forests))
    print(f"{'forest: seconds':<50}" + "".join(f"{own:>14.3f}" for own in forests.values()))
    for name in (repr(model) for model in MODELS if wanted in repr(model)):
        print(f"{name:<50}" + "".join(f"{_share(shares[data][name]):>14}" for data in forests))


def _share(share: float) -> str:
    return "refused" if math.isnan(share) else "stopped" if math.isinf(share) else f"{share:.3f}"


if __name__ == "__main__":
    warnings.simplefilter("ignore", DataWarning)
    main(" ".join(sys.argv[1:]))
