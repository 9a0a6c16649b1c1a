"""What is run: five data sets split as in the source, its six classifiers, and two yardsticks."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from experiments.common import Given, whole, worded
from tanager import CBL, TAN, BackOff, GeneralNetwork, MultiNet, NaiveBayes, Wrapped
from tanager.datasets import Dataset
from tanager.encoding.chunks import rows_at
from tanager.evaluate import Table
from tanager.evaluate.checkpoint import Checkpoint
from tanager.evaluate.plan import EvaluationPlan, Holdout, make_plan

SETS = {"adult": "adult", "nursery": "nursery", "mushroom": "mushroom", "chess": "kr-vs-kp", "dna": "dna"}
GIVEN = {"adult": 32561, "dna": 2000}  # rows to learn; the others are asked
DRAWN = {"nursery": 4320, "mushroom": 2708, "chess": 1066}  # rows to ask, drawn anew each time
DRAWS = 3
LEFT_OUT = {"adult": "fnlwgt"}  # the weight of a row in the census; the source has 13 attributes of the 14
SIX = ("W-GBN", "W-GBN-O", "W-MN", "W-MN-O", "W-MN-FS", "W-MN-FS-O")
YARDSTICKS = ("NB", "TAN")
RULES: dict[str, Any] = {  # other ways from counts to probabilities
    "back-off 50": BackOff(50, first=1.0),
    "back-off 100": BackOff(100, first=1.0),
    "back-off 300": BackOff(300, first=1.0),
    "Laplace": 1.0,
    "as counted": 0.0,
}

Progress = Callable[[int, int, str], None]


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


def models(data: Any, rules: Mapping[str, Any] = RULES) -> dict[str, Any]:
    """The classifiers for one data set: NB, TAN, the six of the source (O: order given), and variants of smoothing."""
    columns = data.options
    made: dict[str, Any] = {"NB": NaiveBayes(**columns), "TAN": TAN(**columns)}
    for mark, learner in (("", CBL()), ("-O", CBL(order=order(data)))):
        options = {"learner": learner, **columns}
        made[f"W-GBN{mark}"] = Wrapped(GeneralNetwork(**options))
        made[f"W-MN{mark}"] = Wrapped(MultiNet(**options))
        made[f"W-MN-FS{mark}"] = Wrapped(MultiNet(features="blanket", **options))
        for rule, smoothing in rules.items():
            made[f"W-GBN{mark}, {rule}"] = Wrapped(GeneralNetwork(smoothing=smoothing, **options))
            made[f"W-MN{mark}, {rule}"] = Wrapped(MultiNet(smoothing=smoothing, **options))
    return made


def plans(names: Sequence[str], draws: int, rules: Mapping[str, Any] = RULES) -> list[EvaluationPlan]:
    """All the work. Other data sets than the source's are drawn as nursery is, a third to ask."""
    made = []
    some = partial(models, rules=rules)
    for name in names:
        data = dataset(name)
        n_rows = len(data.y)
        given = name in GIVEN
        splits = Given(GIVEN[name]) if given else Holdout(DRAWN.get(name, n_rows // 3) / n_rows, seed=1)
        made.append(make_plan(name, some, data, splits, 1 if given else draws, None))
    return made


def results(plans: Sequence[EvaluationPlan], ledger: Checkpoint, progress: Progress) -> Table:
    """A line per data set, draw and classifier; what an earlier run has finished is taken from the ledger."""
    parts = [(plan, part, name) for plan in plans for part in range(plan.n_parts) for name in plan.models]
    found = {at: line for at, (plan, part, name) in enumerate(parts) if (line := ledger.find(plan, name, part))}
    progress(len(found), len(parts), plans[0].name)
    for at, (plan, part, name) in enumerate(parts):
        if at not in found:
            found[at] = one(plan, part, name)
            ledger.add(plan, part, [found[at]])
            progress(len(found), len(parts), f"{name} on {plan.name}")
    lines = [found[at] for at in range(len(parts))]
    return Table(list(lines[0]), [list(line.values()) for line in lines])


def one(plan: EvaluationPlan, part: int, name: str) -> dict[str, Any]:
    """Learn once and ask once: how right, how quick, and what was chosen."""
    data = plan.data
    test = plan.splits.test(data.labels, part)
    learn, ask = (rows_at(data.X, np.flatnonzero(some)) for some in (~test, test))
    model = clone(plan.models[name])
    load = round(os.getloadavg()[0], 2)
    start = time.process_time()
    model.fit(learn, data.labels[~test])
    model.predict(ask.slice(0, 1))  # structure is learned when the first answer is asked for
    learned = time.process_time()
    right = model.predict(ask) == data.labels[test]
    done = time.process_time()
    return {
        "dataset": plan.name,
        "classifier": name,
        "draw": part,
        "n_train": int((~test).sum()),
        "n_test": int(test.sum()),
        "accuracy": float(right.mean()),
        "attributes": len(data.cells),
        **chosen(model),
        "fit_seconds": learned - start,
        "predict_seconds": done - learned,
        "load": load,
    }


def chosen(model: Any) -> dict[str, Any]:
    """What the wrapper took: the threshold, how many attributes answers depend on, and how many arcs."""
    if not isinstance(model, Wrapped):
        return {"threshold": None, "features": None, "arcs": None}
    line = next(line for line in model.table_ if line["note"] == "* chosen")
    return {"threshold": model.best_.learner.threshold, "features": line["columns"], "arcs": line["arcs"]}
