"""What is run: five data sets split as in the source, its six classifiers, and two yardsticks."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from experiments.common import ENTROPY, MARGIN, Given, whole, worded
from experiments.published import COUNTED
from tanager import CBL, TAN, BackOff, GeneralNetwork, MultiNet, NaiveBayes, Wrapped
from tanager.datasets import Dataset
from tanager.encoding.chunks import rows_at
from tanager.errors import MemoryBudgetError
from tanager.evaluate import Table, equivalence
from tanager.evaluate.checkpoint import Checkpoint
from tanager.evaluate.plan import EvaluationPlan, Holdout, LabelledTable, make_plan

SETS = {"adult": "adult", "nursery": "nursery", "mushroom": "mushroom", "chess": "kr-vs-kp", "dna": "dna"}
GIVEN = {"adult": 32561, "dna": 2000}  # rows to learn; the others are asked
DRAWN = {"nursery": 4320, "mushroom": 2708, "chess": 1066}  # rows to ask, drawn anew each time
DRAWS = 3
SEEDS = 3  # of the rows that the wrapper holds out
LEFT_OUT = {"adult": "fnlwgt"}  # the weight of a row in the census; the source has 13 attributes of the 14
SIX = ("W-GBN", "W-GBN-O", "W-MN", "W-MN-O", "W-MN-FS", "W-MN-FS-O")
WRONG = ("W-GBN-R", "W-MN-R")  # the order turned round
YARDSTICKS = ("NB", "TAN")
SETTINGS = ("ours", "published")
RULES: dict[str, Any] = {  # other ways from counts to probabilities
    "back-off 50": BackOff(50, first=1.0),
    "back-off 100": BackOff(100, first=1.0),
    "back-off 300": BackOff(300, first=1.0),
    "Laplace": 1.0,
}
PAIRS = [  # which the source says hardly differ: without and with an order, right and wrong order, all and few columns
    *((kind, f"{kind}-O") for kind in ("W-GBN", "W-MN", "W-MN-FS")),
    *((f"{kind}-O", f"{kind}-R") for kind in ("W-GBN", "W-MN")),
    *((f"W-MN{mark}", f"W-MN-FS{mark}") for mark in ("", "-O")),
]

Progress = Callable[[int, int, str], None]
Lines = list[dict[str, Any]]


def dataset(name: str) -> Dataset:
    """A data set with all its rows, those to ask behind those to learn; an empty cell is a value, as in the source."""
    data = worded(whole(SETS.get(name, name)))
    out = [column for column in data.X.column_names if column == LEFT_OUT.get(name)]
    options = {kind: [column for column in own if column not in out] for kind, own in data.options.items()}
    return replace(data, name=name, X=data.X.drop_columns(out), options=options)


def order(data: Dataset) -> tuple[str, ...]:
    """The columns in the order in which one may depend on another: that of the table, for chess from the end."""
    names = tuple(data.X.column_names)
    return names[::-1] if data.name == "chess" else names


def named(classifier: str, setting: str, seed: int = 0) -> str:
    """The name of a line: what is learned, how, and with which rows held out by the wrapper."""
    return f"{classifier} | {setting} | {seed}"


def learners(data: Any) -> dict[str, CBL]:
    """Without an order, with the source's, and with an obviously wrong one: the source's turned round."""
    right = order(data)
    return {"": CBL(), "-O": CBL(order=right), "-R": CBL(order=right[::-1])}


def kinds(options: dict[str, Any], setting: str) -> dict[str, Any]:
    """General networks and multi-nets, as the library has them or as the source prints them."""
    counted = COUNTED if setting == "published" else {}
    same = {"thresholds": "same"} if setting == "published" else {}
    return {
        "W-GBN": GeneralNetwork(**options, **counted),
        "W-MN": MultiNet(**options, **counted, **same),
        "W-MN-FS": MultiNet(features="blanket", **options, **counted, **same),
    }


def models(data: Any, seeds: int = SEEDS, rules: Mapping[str, Any] = RULES) -> dict[str, Any]:
    """Yardsticks, the source's six and their wrong orders in both settings and with some seeds, and other smoothing."""
    columns = {**data.options, **ENTROPY}
    made: dict[str, Any] = {}
    for setting in SETTINGS:
        counted = {"smoothing": 0.0} if setting == "published" else {}
        made[named("NB", setting)] = NaiveBayes(**columns, **counted)
        made[named("TAN", setting)] = TAN(**columns, **counted)
    for seed, setting, (mark, learner) in itertools.product(range(seeds), SETTINGS, learners(data).items()):
        for kind, model in kinds({"learner": learner, **columns}, setting).items():
            if f"{kind}{mark}" in (*SIX, *WRONG):
                made[named(f"{kind}{mark}", setting, seed)] = Wrapped(model, random_state=seed)
    for rule, estimate in rules.items():
        for mark in ("", "-O"):
            options = {"learner": learners(data)[mark], "smoothing": estimate, **columns}
            made[named(f"W-GBN{mark}", rule)] = Wrapped(GeneralNetwork(**options), random_state=0)
            made[named(f"W-MN{mark}", rule)] = Wrapped(MultiNet(**options), random_state=0)
    return made


def plans(
    names: Sequence[str], draws: int, seeds: int = SEEDS, rules: Mapping[str, Any] = RULES
) -> list[EvaluationPlan]:
    """All the work. Other data sets than the source's are drawn as nursery is, a third to ask."""
    made = []
    some = partial(models, seeds=seeds, rules=rules)
    for name in names:
        data = dataset(name)
        n_rows = len(data.y)
        given = name in GIVEN
        splits = Given(GIVEN[name]) if given else Holdout(DRAWN.get(name, n_rows // 3) / n_rows, seed=1)
        made.append(make_plan(name, some, data, splits, 1 if given else draws, None))
    return made


def results(plans: Sequence[EvaluationPlan], ledger: Checkpoint, progress: Progress) -> Lines:
    """A line per data set, draw and model; what an earlier run has finished is taken from the ledger."""
    parts = [(plan, part, name) for plan in plans for part in range(plan.n_parts) for name in plan.models]
    found = {at: line for at, (plan, part, name) in enumerate(parts) if (line := ledger.find(plan, name, part))}
    progress(len(found), len(parts), plans[0].name)
    for at, (plan, part, name) in enumerate(parts):
        if at not in found:
            found[at] = one(plan, part, name)
            ledger.add(plan, part, [found[at]])
            progress(len(found), len(parts), f"{name} on {plan.name}")
    return [found[at] for at in range(len(parts))]


def one(plan: EvaluationPlan, part: int, name: str) -> dict[str, Any]:
    """Learn once and ask once: how right, how quick, and what was chosen; nothing where tables do not fit."""
    data = plan.data
    test = plan.splits.test(data.labels, part)
    place = {"dataset": plan.name, "classifier": name, "draw": part}
    sizes = {"n_train": int((~test).sum()), "n_test": int(test.sum()), "attributes": len(data.cells)}
    load = round(os.getloadavg()[0], 2)
    try:
        found = asked(clone(plan.models[name]), data, test)
    except MemoryBudgetError:  # all parents that were found, in a table of all their values
        found = dict.fromkeys(MEASURED)
    return {**place, **sizes, **found, "load": load}


CHOSEN = ("threshold", "features", "arcs", "tried")
MEASURED = ("accuracy", *CHOSEN, "fit_seconds", "alone_seconds", "predict_seconds", "right")


def asked(model: Any, data: LabelledTable, test: np.ndarray) -> dict[str, Any]:
    """All that is measured of a model, which rows were right included, as hexadecimal digits."""
    learn, ask = (rows_at(data.X, np.flatnonzero(some)) for some in (~test, test))
    fitted = fit_seconds(model, learn, data.labels[~test])
    start = time.process_time()
    right = model.predict(ask) == data.labels[test]
    answered = time.process_time() - start
    alone = alone_seconds(model, learn, data.labels[~test])
    digits = np.packbits(right).tobytes().hex()
    values = (float(right.mean()), *chosen(model), fitted, alone, answered, digits)
    return dict(zip(MEASURED, values, strict=True))


def fit_seconds(model: Any, X: Any, labels: np.ndarray) -> float:
    """Seconds of the processor to learn, the structure too, which is learned when the first answer is asked for."""
    start = time.process_time()
    model.fit(X, labels).predict(X.slice(0, 1))
    return time.process_time() - start


def alone_seconds(model: Any, X: Any, labels: np.ndarray) -> float | None:
    """The same without the wrapper, at the threshold that it chose; for the first seed, and without an order."""
    if not isinstance(model, Wrapped) or model.random_state or model.best_.learner.order is not None:
        return None
    return fit_seconds(clone(model.model).set_params(learner=model.best_.learner), X, labels)


def chosen(model: Any) -> tuple[Any, ...]:
    """What the wrapper took: the threshold, how many attributes answers depend on, how many arcs; and what it tried."""
    if not isinstance(model, Wrapped):
        return (None,) * len(CHOSEN)
    line = next(line for line in model.table_ if line["note"] == "* chosen")
    tried = sum(line["asked"] > 0 for line in model.table_)
    return model.best_.learner.threshold, line["columns"], line["arcs"], tried


# --- what is kept --------------------------------------------------------------------------------------------------


COLUMNS = ("draw", "n_train", "n_test", "attributes", *MEASURED[:-1], "load")


def table(lines: Lines) -> Table:
    """All lines, without the single rows: classifier, setting and seed in columns of their own."""
    rows = []
    for line in lines:
        kind, setting, seed = line["classifier"].split(" | ")
        rows.append([line["dataset"], kind, setting, int(seed), *(line[name] for name in COLUMNS)])
    return Table(["dataset", "classifier", "setting", "seed", *COLUMNS], rows)


def pairs(plans: Sequence[EvaluationPlan], lines: Lines) -> Table:
    """Two classifiers on the same rows: the gain of the second, and whether it is surely below the margin either way.

    A row that was asked in several draws, or with several seeds, counts once, with the mean of its differences.
    """
    right = {(line["dataset"], line["classifier"], line["draw"]): line["right"] for line in lines}
    rows = []
    for plan, setting, (first, second) in itertools.product(plans, SETTINGS, PAIRS):
        gains = row_gains(plan, right, [(named(first, setting, s), named(second, setting, s)) for s in range(SEEDS)])
        if len(gains):
            found = equivalence(gains, MARGIN)
            rows.append([plan.name, setting, first, second, len(gains), found.mean, found.low, found.high, found.p])
    return Table(["dataset", "setting", "first", "second", "n_rows", "gain", "low", "high", "p"], rows)


def row_gains(plan: EvaluationPlan, right: Mapping[Any, str | None], names: Sequence[tuple[str, str]]) -> np.ndarray:
    """For each row that was asked: how much more often the second is right about it than the first."""
    total, times = np.zeros(len(plan.data.labels)), np.zeros(len(plan.data.labels))
    for part in range(plan.n_parts):
        test = np.flatnonzero(plan.splits.test(plan.data.labels, part))
        for first, second in names:
            a, b = (right.get((plan.name, name, part)) for name in (first, second))
            if a is not None and b is not None:
                total[test] += bits(b, len(test)) - bits(a, len(test))
                times[test] += 1
    return total[times > 0] / times[times > 0]


def bits(digits: str, n: int) -> np.ndarray:
    """Hexadecimal digits as zeros and ones."""
    return np.unpackbits(np.frombuffer(bytes.fromhex(digits), np.uint8), count=n).astype(float)
