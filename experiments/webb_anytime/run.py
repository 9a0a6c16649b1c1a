"""What is run: orders, ways to average, weights and stopping rules on the data sets of the source."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import comb
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone

from experiments.common import ENTROPY
from experiments.webb_uci.run import SETS as SETS
from experiments.webb_uci.run import dataset
from tanager import A2DE, AODE, AnytimeA2DE, AnytimeAODE
from tanager.datasets import Dataset
from tanager.encoding import Column, Encoder, Schema
from tanager.evaluate import Table
from tanager.evaluate.checkpoint import Checkpoint
from tanager.evaluate.folds import stratified_holdout
from tanager.evaluate.measures import SMALLEST
from tanager.evaluate.plan import EvaluationPlan, Folds, make_plan
from tanager.scoring.decision import decide

FOLDS = 10
REPEATS, FEW_ROWS = 3, 1_000  # data sets of few rows are folded several times
MOST_ROWS = {"AODE": 5_000, "A2DE": 1_500}  # of a data set; more are thinned out, class by class
MOST_COLUMNS = 30  # of a data set that pairs of super-parents are tried on
SEEDS = 5  # of random orders
ORDERS, MIXES = ("random", "cv", "mi"), ("joint", "posterior", "replace")

Progress = Callable[[int, int, str], None]
Record = dict[str, Any]

# --- the classifiers -----------------------------------------------------------------------------------------------


def ways(kind: str) -> dict[str, dict[str, Any]]:
    """Options of the anytime classifiers, by a name that tells them: order, averaging, weights, stopping rule."""
    orders = [("random", seed) for seed in range(SEEDS)] + [("cv", None), ("mi", None)]
    mixes = MIXES if kind == "AODE" else ("joint",)
    chosen = [_way(order, seed, mix) for order, seed in orders for mix in mixes]
    stopped = ("cv",) if kind == "A2DE" else ORDERS
    chosen += [
        _way(order, 0 if order == "random" else None, mix, stop=stop)
        for order in stopped
        for mix in mixes
        for stop in (("loo", "margin") if kind == "AODE" else ("loo",))
    ]
    if kind == "AODE":
        weighted = [(mix, weights) for mix in MIXES for weights in ("mi", "loo")]
        chosen += [_way("cv", None, mix, weights, stop) for mix, weights in weighted for stop in ("all", "loo")]
    return {" ".join(map(str, options.values())): options for options in chosen}


def _way(order: str, seed: int | None, mix: str, weights: str | None = None, stop: str = "all") -> dict[str, Any]:
    return {"member_order": order, "random_state": seed, "mix": mix, "weights": weights, "stop": stop}


def models(kind: str, data: Any) -> dict[str, Any]:
    """The anytime classifiers, and the one that they become."""
    anytime, plain = {"AODE": (AnytimeAODE, AODE), "A2DE": (AnytimeA2DE, A2DE)}[kind]
    made = {name: anytime(**options, **data.options, **ENTROPY) for name, options in ways(kind).items()}
    return made | {kind: plain(**data.options, **ENTROPY)}


# --- folds ---------------------------------------------------------------------------------------------------------


def plans(names: Sequence[str], repeats: int) -> list[EvaluationPlan]:
    """All the work: each data set for single super-parents, and those of few columns for pairs of them."""
    made = []
    for kind in MOST_ROWS:
        for name in names:
            data = thinned(dataset(name), MOST_ROWS[kind])
            if kind == "AODE" or data.X.num_columns <= MOST_COLUMNS:
                n_parts = FOLDS * (repeats if len(data.y) <= FEW_ROWS else 1)
                made.append(make_plan(f"{kind} {name}", models(kind, data), data, Folds(FOLDS, seed=1), n_parts, None))
    return made


def thinned(data: Dataset, most: int) -> Dataset:
    """At most so many rows, of each class its share."""
    if len(data.y) <= most:
        return data
    kept = stratified_holdout(data.y, most / len(data.y))
    return replace(data, X=data.X.filter(kept), y=data.y[kept])


def run(work: Sequence[EvaluationPlan], n_jobs: int, progress: Progress, ledger: Checkpoint) -> list[Record]:
    """Records of all parts of all plans; those that the ledger knows are not made again."""
    found: dict[tuple[int, int], list[Record]] = {}
    todo = []
    total = sum(plan.n_parts for plan in work)
    for at, plan in enumerate(work):
        for part in range(plan.n_parts):
            known = [ledger.find(plan, name, part) for name in plan.models]
            whole = [record | {"dataset": plan.name} for record in known if record is not None]
            if len(whole) == len(known):
                found[at, part] = whole
            else:
                todo.append((at, part))
    progress(len(found), total, work[0].name)
    jobs = (delayed(_part)(at, work[at], part) for at, part in todo)
    for at, part, records in Parallel(n_jobs, return_as="generator_unordered", max_nbytes=None)(jobs):
        ledger.add(work[at], part, records)
        found[at, part] = records
        progress(len(found), total, work[at].name)
    return [record for place in sorted(found) for record in found[place]]


def _part(at: int, plan: EvaluationPlan, part: int) -> tuple[int, int, list[Record]]:
    return at, part, list(records(plan, part))


def records(plan: EvaluationPlan, part: int) -> Iterator[Record]:
    """How each classifier answers the rows of one part, all of them over the same cut points."""
    data, test = plan.data, plan.splits.test(plan.data.labels, part)
    codes, schema = encoded(plan, ~test)
    labels = data.labels.astype(np.int64)
    learned = np.bincount(labels[~test], minlength=len(data.classes)).astype(float)
    for name, model in plan.models.items():
        own = clone(model).set_params(schema=schema, categorical=None, numeric=None)
        own.partial_fit(codes[~test], labels[~test], classes=np.arange(len(data.classes)))
        place = {"dataset": plan.name, "classifier": name, "part": part, "n_test": int(test.sum())}
        yield place | figures(own, codes[test], labels[test], learned)


def encoded(plan: EvaluationPlan, learned: np.ndarray) -> tuple[np.ndarray, Schema]:
    """Codes of all rows, with values and cut points of the learned ones, and a schema that takes them as they are."""
    data = plan.data
    options = next(iter(plan.models.values())).encoder_options()
    labels = np.where(learned, data.labels, np.uint16(65535))
    encoder = Encoder(**options).learn(data.table, labels, None, len(data.classes))
    columns = (Column(c.name, "codes", n_codes=c.n_values) for c in encoder.schema.columns)
    return encoder.transform(data.table, "ignore"), Schema(tuple(columns))


def figures(model: Any, codes: np.ndarray, labels: np.ndarray, learned: np.ndarray) -> Record:
    """Wrong answers and log loss, summed over the rows: after every member where all are asked, else at the end."""
    if not hasattr(model, "staged_answers"):
        steps = [(model.predict_proba(codes), 0)]
    elif model.stop == "all":
        steps = [(answer.proba, int(answer.members.sum())) for answer in model.staged_answers(codes)]
    else:
        answer = model.answer(codes)
        steps = [(answer.proba, int(answer.members.sum()))]
    own = np.arange(len(labels)), labels
    wrong = [int((decide(proba, learned, None) != labels).sum()) for proba, _ in steps]
    losses = [float(-np.log(np.maximum(proba[own], SMALLEST)).sum()) for proba, _ in steps]
    return {"wrong": wrong, "log_loss": [round(loss, 4) for loss in losses], "members": steps[-1][1]}


RESULTS = ("kind", "dataset", "n_rows", "n_members", "n_answers", "order", "seed", "mix", "weights", "stop")
SUMS = ("members", "wrong", "log_loss")  # per answer; then sums by number of members, separated by blanks
FEW = 5  # members, after each of which the log loss is kept; and after the last


def results(work: Sequence[EvaluationPlan], found: Sequence[Record]) -> Table:
    """A line per data set and classifier, summed over its folds and repetitions."""
    folds: dict[tuple[str, str], list[Record]] = {}
    for record in found:
        folds.setdefault((record["dataset"], record["classifier"]), []).append(record)
    rows = []
    for plan in work:
        kind, name = plan.name.split(maxsplit=1)
        n_members = comb(len(plan.data.cells), 1 if kind == "AODE" else 2)
        for classifier in plan.models:
            own = folds[plan.name, classifier]
            n_answers = sum(record["n_test"] for record in own)
            options = ways(kind).get(classifier, dict.fromkeys(("member_order", *"1234")))
            members = sum(record["members"] for record in own) / n_answers
            wrong, losses = (summed([record[what] for record in own]) for what in ("wrong", "log_loss"))
            kept = losses if len(losses) <= FEW + 1 else [*losses[: FEW + 1], losses[-1]]
            curves = [" ".join(map(str, wrong)), " ".join(f"{loss:.2f}" for loss in kept)]
            rows.append([kind, name, len(plan.data.labels), n_members, n_answers, *options.values(), members, *curves])
    return Table([*RESULTS, *SUMS], rows)


def summed(curves: Sequence[Sequence[float]]) -> list[Any]:
    """The sum of curves; one that ends early, since no row had a further member, stays as it is."""
    longest = max(map(len, curves))
    return [sum(curve[min(t, len(curve) - 1)] for curve in curves) for t in range(longest)]
