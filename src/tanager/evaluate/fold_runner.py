"""Runs one fold: classifiers predict its test rows, many of them from one count of its training rows."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from tanager.counts.block import Block, Query
from tanager.counts.joint import JointCounts
from tanager.encoding import Encoder, Schema
from tanager.encoding.chunks import rows_at
from tanager.encoding.kinds import settled
from tanager.errors import DataWarning
from tanager.estimator import clone
from tanager.evaluate.measures import accuracy, brier, log_loss, measure, reliability, rmse, rmse_full
from tanager.evaluate.plan import EvaluationPlan, LabelledTable
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.rows import KeptRows
from tanager.learning.shared_counts import joint_shape, within_budget
from tanager.scoring.decision import check_costs, decide

Record = dict[str, Any]


class FoldRunner:
    """Evaluates the classifiers of a plan on any of its parts."""

    def __init__(self, plan: EvaluationPlan) -> None:
        self.plan = plan
        self.groups = [SharedCountsGroup({key: plan.models[key] for key in group}, plan.data) for group in plan.groups]

    def part(self, part: int, wanted: Sequence[str]) -> list[Record]:
        """The records of one part, for the classifiers that are wanted."""
        plan = self.plan
        test, training = (split(plan.data.labels, part) for split in (plan.splits.test, plan.splits.train))
        records = {}
        for group in self.groups:
            names = [name for name in group.models if name in wanted]
            if names:
                start = time.perf_counter()
                with group.without(~training, names) as (codes, models):
                    counting = time.perf_counter() - start
                    for name, model in models.items():
                        start = time.perf_counter()
                        scorer = model.scorer_
                        learned = time.perf_counter()
                        proba = scorer.score(Query(codes[test]), n_jobs=model.n_threads)
                        seconds = _seconds(start - counting, learned, time.perf_counter())
                        records[name] = fold_record(plan, name, part, test, proba, model.cost_matrix) | seconds
        for name in plan.fitted:
            if name in wanted:
                records[name] = _fitted_record(plan, name, part, test, training)
        return [records[name] for name in wanted if name in records]


class SharedCountsGroup:
    """Classifiers that encode the columns alike, over one count of the training rows.

    Kinds, values and cut points of columns are learned from the training rows of each part. Where there is nothing to
    learn about the columns, all rows are counted once, and a part is left out by subtracting its counts.
    """

    def __init__(self, models: dict[str, CountsClassifier], data: LabelledTable) -> None:
        self.models = {name: clone(model) for name, model in models.items()}
        for model in self.models.values():
            model.start()
            model.classes_ = data.classes  # the number of classes decides how much some of them count
        self.data = data
        first = next(iter(models.values()))
        self.options, self.unseen = first.encoder_options(), first.unseen
        everything = self._encoder(np.ones(len(data.labels), dtype=bool))
        given = first.schema is not None
        self.fixed = all(given or (settled(c) and not c.other) for c in everything.schema.columns)
        self.everything = everything if self.fixed else None
        self.total: tuple[list[str], np.ndarray, JointCounts] | None = None  # for whom, codes, and counts of all rows

    @contextmanager
    def without(self, left_out: np.ndarray, names: Sequence[str]) -> Iterator[tuple[np.ndarray, dict[str, Any]]]:
        """The codes of all rows, and the named classifiers as if some rows had not been learned."""
        labels, training = self.data.labels, ~left_out
        reduced = self._subtracted(left_out, names) if self.fixed else None
        if reduced is not None:
            encoder, (codes, counts) = self.everything, reduced
        else:
            encoder = self._encoder(training)
            codes = encoder.encode(self.data.table, self.unseen)
            counts = self._empty(encoder, names).update(codes[training], labels[training])
        rows = KeptRows()
        if any(self.models[name].looks_at_rows for name in names):
            rows.append(Block(codes[training], labels[training]))
        assert encoder is not None
        own = {name: self.models[name] for name in names if self._fits(self.models[name], encoder.schema)}
        fitting = [name for name, model in own.items() if counts.holds(**model.counts_shape(encoder.schema))]
        try:
            yield codes, {name: clone(self.models[name]).attach(counts, encoder, rows) for name in fitting}
        finally:
            if reduced is not None:  # the counts are those of all parts: put the rows back
                counts.update(codes[left_out], labels[left_out])

    def _encoder(self, training: np.ndarray) -> Encoder:
        labels = np.where(training, self.data.labels, np.uint16(65535))
        return Encoder(**self.options).learn(self.data.table, labels, None, len(self.data.classes))

    def _empty(self, encoder: Encoder, names: Sequence[str]) -> JointCounts:
        """Counts as wide as the widest classifier needs, of those whose own counts are within their budget."""
        schema = encoder.schema
        fitting = [self.models[name] for name in names if self._fits(self.models[name], schema)]
        shape = joint_shape(fitting, schema) if fitting else {"order": 1}
        return JointCounts(schema, self.data.classes, max_memory=None, spare=int(self.unseen == "smooth"), **shape)

    def _fits(self, model: CountsClassifier, schema: Schema) -> bool:
        return within_budget(model, schema, len(self.data.classes))

    def _subtracted(self, left_out: np.ndarray, names: Sequence[str]) -> tuple[np.ndarray, JointCounts] | None:
        """Codes, and counts of all rows less some; None where some value occurs in these only.

        Then the columns would have one value too many: smoothing would differ from that of a model which has seen the
        training rows alone.
        """
        labels = self.data.labels
        assert self.everything is not None
        if self.total is None or self.total[0] != list(names):
            codes = self.everything.encode(self.data.table, self.unseen)
            self.total = list(names), codes, self._empty(self.everything, names).update(codes, labels)
        _, codes, counts = self.total
        counts.subtract(codes[left_out], labels[left_out])
        columns = enumerate(self.everything.schema.columns)
        if all(column.closed or counts.joint(i).sum(axis=0).all() for i, column in columns):
            return codes, counts
        counts.update(codes[left_out], labels[left_out])
        return None


def _fitted_record(plan: EvaluationPlan, name: str, part: int, test: np.ndarray, training: np.ndarray) -> Record:
    """A classifier that is fitted on its own: one of scikit-learn, or one with Gaussian columns."""
    from threadpoolctl import threadpool_limits  # comes with scikit-learn

    data = plan.data
    model = clone(plan.models[name])
    # The folds share the cores already; and that the rows of a fold have values or columns that the others have not is
    # the same for all classifiers, most of which are not asked by ``predict_proba``.
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        start = time.perf_counter()
        model.fit(rows_at(data.X, np.flatnonzero(training)), data.labels[training])
        fitted = time.perf_counter()
        answers = model.predict_proba(rows_at(data.X, np.flatnonzero(test)))
        done = time.perf_counter()
    proba = np.zeros((len(answers), len(data.classes)))
    proba[:, model.classes_.astype(np.int64)] = answers  # a class without training rows keeps a probability of 0
    own_costs = getattr(model, "cost_matrix", None)
    return fold_record(plan, name, part, test, proba, own_costs) | _seconds(start, fitted, done)


def _seconds(start: float, fitted: float, done: float) -> Record:
    return {"fit_seconds": fitted - start, "predict_seconds": done - fitted}


def fold_record(
    plan: EvaluationPlan,
    name: str,
    part: int,
    test: np.ndarray,
    proba: np.ndarray,
    own_costs: Any,
    n_train: int | None = None,
) -> Record:
    """The record of one classifier and fold: names, sizes, and all measures.

    ``n_train`` is given for leave-one-out, where every row is a test row and all others are training rows.
    """
    data = plan.data
    costs = plan.costs if plan.costs is not None else check_costs(own_costs, data.classes)
    training = data.labels[plan.splits.train(data.labels, part)] if n_train is None else data.labels
    class_counts = np.bincount(training, minlength=len(data.classes)).astype(float)
    labels = data.labels[test].astype(np.int64)
    predicted = decide(proba, class_counts, costs)
    repeat, fold = plan.splits.place(part)
    place = {"dataset": plan.name, "classifier": name, "repeat": repeat, "fold": fold}
    sizes = {"n_train": len(training) if n_train is None else n_train, "n_test": len(labels)}
    bins = np.asarray(reliability(labels, proba)).tolist()
    found = measure(labels, proba, predicted, costs=costs)
    return place | sizes | found | {"reliability": bins, "class_shares": shares_alone(labels, class_counts)}


def shares_alone(labels: np.ndarray, class_counts: np.ndarray) -> dict[str, float]:
    """The measures of who knows nothing but the classes of the training rows, and gives every row their shares.

    >>> shares_alone(np.array([0, 0, 1]), np.array([2.0, 0.0]))["accuracy"]
    0.6666666666666666
    """
    shares = (class_counts + 1) / (class_counts + 1).sum()  # a class without training rows is not impossible
    proba = np.broadcast_to(shares, (len(labels), len(shares)))
    same = {"log_loss": log_loss, "rmse": rmse, "rmse_full": rmse_full, "brier": brier}
    guessed = np.full(len(labels), class_counts.argmax())
    return {"accuracy": accuracy(labels, guessed)} | {name: of(labels, proba) for name, of in same.items()}
