"""One served model: answers, learning, labels that come later, and what it says of itself."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

import tanager
from tanager.encoding import Schema
from tanager.errors import DataError, TanagerError
from tanager.learning.classifier import Classifier
from tanager.plain import to_plain
from tanager.scoring.decision import TIE
from tanager.service.errors import ServiceError, short
from tanager.service.rows import Batch, Remembered, batch_of, ids_of, refuse_many, same_length
from tanager.service.wire import Anytime, Column, Learn, Learned, ModelInfo, ModelLine, Predicted, Reloaded
from tanager.streams.drift import DriftAware


class Store(Protocol):
    """Where a served model lives; see ``tanager.service.durable``."""

    model: Classifier
    lock: Any
    sequence: int

    async def learn(
        self,
        rows: list[dict[str, Any]],
        labels: list[Any],
        weights: list[float] | None = None,
        times: list[float] | None = None,
    ) -> int:
        """Learn rows for good, and say under which number."""

    def changed(self) -> bool:
        """Whether the model file is another one than the one we serve."""

    def reload(self) -> None:
        """Take over the model file."""

    def close(self) -> None:
        """Write down what is not yet."""

    def status(self) -> dict[str, Any]:
        """What is where on disk."""


class Fixed:
    """A model file that is served as it is: nothing is learned, and nothing written."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.lock = threading.RLock()
        self.sequence = 0
        self.reload()

    async def learn(self, rows: Any, labels: Any, weights: Any = None, times: Any = None) -> int:
        """Refused."""
        raise ServiceError("read_only", "this service learns nothing. Start it without --read-only.")

    def changed(self) -> bool:
        """Whether the file has another time or size than when it was loaded; a file that is gone has not changed."""
        try:
            return self._seen != self._look()
        except OSError:
            return False

    def reload(self) -> None:
        """Load the file again; where it cannot be used, the old model goes on."""
        seen = self._look()
        model = tanager.load(self.path)
        with self.lock:
            self.model, self._seen = model, seen

    def _look(self) -> tuple[int, int]:
        found = self.path.stat()
        return found.st_mtime_ns, found.st_size

    def close(self) -> None:
        """Nothing is open."""

    def status(self) -> dict[str, Any]:
        """Nothing is on disk but the file."""
        return {}


class Served:
    """A model under its name."""

    def __init__(
        self, name: str, store: Store, *, remember: int, remember_seconds: float, read_only: bool = False
    ) -> None:
        self.name, self.store, self.read_only = name, store, read_only
        self.remembered = Remembered(remember, remember_seconds)
        self._improved: tuple[int, int] | None = None  # what there was when nothing was left to improve

    @property
    def model(self) -> Any:
        """The live model; hold the lock of the store."""
        return self.store.model

    @property
    def n_columns(self) -> int:
        """How many columns the model has; a guess where it has learned nothing yet."""
        return getattr(self.model, "n_features_in_", 1)

    # --- answers ------------------------------------------------------------------------------------------------

    def predict(self, batch: Batch, budget: float | None, members: int | None) -> Predicted:
        """Answer all rows, within so many seconds where the model knows budgets."""
        start = time.perf_counter()
        with self.store.lock:
            model, sequence = self.model, self.store.sequence
            schema = self._schema()
            batch.check_names(schema.name_set)
            try:
                proba, used, complete = _answer(model, batch, schema.names, budget, members)
            except DataError:
                batch.check_cells(schema, getattr(model, "unseen", "ignore"))
                raise
            labels = _decide(model, proba)
            classes = model.classes_.tolist()
        return Predicted(
            model=self.name,
            sequence=sequence,
            classes=classes,
            labels=labels,
            probabilities=proba.tolist(),
            members=used,
            budget_us=None if used is None or budget is None else round(budget * 1e6, 1),
            time_us=round((time.perf_counter() - start) * 1e6, 1),
            complete=complete,
        )

    def _schema(self) -> Schema:
        """What the model knows of its columns."""
        if not self.model.has_learned:
            raise ServiceError("nothing_learned", f"{self.name} has learned nothing yet. POST rows to its learn path.")
        return self.model.encoder_.schema

    # --- learning -----------------------------------------------------------------------------------------------

    async def learn(self, request: Learn, max_rows: int) -> Learned:
        """Learn rows and labels, or labels of rows that were answered before; returns when they are safe."""
        if self.read_only:
            raise ServiceError("read_only", "this service learns nothing. Start it without --read-only.")
        batch, ids = batch_of(request, max_rows), ids_of(request)
        if (batch is None) == (ids is None):
            raise ServiceError("wrong_shape", 'give rows ("row" or "rows") or ids ("id" or "ids"), one of the two.')
        refuse_many("ids", ids or (), max_rows)
        labels = _labels(request, single=request.row is not None or request.id is not None)
        if batch is not None:
            return await self._learn_rows(batch, labels, request.weights, request.times)
        assert ids is not None
        return await self._learn_ids(ids, labels, request)

    async def _learn_rows(
        self, batch: Batch, labels: list[Any], weights: list[float] | None, times: list[float] | None
    ) -> Learned:
        for name, given in (("labels", labels), ("weights", weights), ("times", times)):
            same_length(name, given, len(batch))
        schema = self._check_rows(batch, labels)
        try:
            sequence = await self.store.learn(batch.dicts(), labels, weights, times)
        except DataError:
            if schema is not None:
                batch.check_cells(schema, "ignore")
            raise
        return Learned(self.name, len(batch), sequence, [])

    def _check_rows(self, batch: Batch, labels: list[Any]) -> Schema | None:
        """Refuse columns and labels that cannot be right, with their place; None where the model has no columns yet.

        Without the lock: classes and schema are replaced, never changed, and the store checks again.
        """
        _check_labels(labels, _classes(self.model))
        if not self.model.columns_fixed:
            return None
        schema = self.model.encoder_.schema
        batch.check_names(schema.name_set)
        return schema

    async def _learn_ids(self, ids: list[str], labels: list[Any], request: Learn) -> Learned:
        """Labels of remembered rows; where they cannot be learned, the rows are remembered on."""
        for name, given in (("labels", labels), ("weights", request.weights), ("times", request.times)):
            same_length(name, given, len(ids), "ids")
        found, unknown = self.remembered.take(ids, time.monotonic())
        if not found:
            return Learned(self.name, 0, self.store.sequence, unknown)
        places = {one: r for r, one in enumerate(ids)}
        kept = [places[one] for one, _ in found]
        rows = [row for _, row in found]
        of = [None if part is None else [part[r] for r in kept] for part in (labels, request.weights, request.times)]
        try:
            learned = await self._learn_rows(Batch(rows), of[0] or [], of[1], of[2])
        except BaseException:
            self.remembered.add([one for one, _ in found], rows, time.monotonic())
            raise
        return Learned(self.name, learned.learned, learned.sequence, unknown)

    # --- idle time and files ------------------------------------------------------------------------------------

    def improve(self, seconds: float) -> bool:
        """Spend so many seconds on a better model; says whether there is more to do."""
        with self.store.lock:
            state = (id(self.model), self.store.sequence)
            if state == self._improved or not hasattr(self.model, "improve"):
                return False
            more = bool(self.model.improve(seconds))
            self._improved = None if more else state
            return more

    def reload(self) -> Reloaded:
        """Take over the model file where it is another one."""
        found = self.store.changed()
        if found:
            try:
                self.store.reload()
            except (TanagerError, OSError) as error:
                sentence = f"the model file cannot be used, and the old model goes on: {error}"
                raise ServiceError("bad_model_file", sentence) from None
        return Reloaded(self.name, found, self.store.sequence)

    # --- what it says of itself ---------------------------------------------------------------------------------

    def line(self) -> ModelLine:
        """A line in the list of models."""
        with self.store.lock:
            model = self.model
            rows = float(np.sum(_class_rows(model)))
            return ModelLine(self.name, type(model).__name__, _classes(model), rows, self.store.sequence)

    def info(self) -> ModelInfo:
        """All about the model."""
        with self.store.lock:
            model = self.model
            known = model.encoder_.schema.to_dict()["columns"] if hasattr(model, "encoder_") else []
            rows = _class_rows(model)
            return ModelInfo(
                name=self.name,
                kind=type(model).__name__,
                options={name: to_plain(value, name) for name, value in model.get_params(deep=False).items()},
                target=getattr(model, "target_name_", None),
                classes=_classes(model),
                class_rows=rows,
                columns=[Column(**column) for column in known],
                rows=float(np.sum(rows)),
                sequence=self.store.sequence,
                learns=not self.read_only,
                remembered=len(self.remembered),
                anytime=_anytime(model),
                state=self.store.status(),
            )


def _answer(
    model: Any, batch: Batch, names: Sequence[str], budget: float | None, members: int | None
) -> tuple[np.ndarray, list[int] | None, bool]:
    """Probabilities, members used per row, and whether nothing was left out."""
    X = batch.table(names)
    if hasattr(model, "answer"):
        answer = model.answer(X, budget=budget, members=members)
        return answer.proba, answer.members.tolist(), bool(answer.complete)
    if members is not None:
        name = type(model).__name__
        raise ServiceError("bad_option", f'{name} has no members to choose from; leave "members" out.', "members")
    if batch.single:
        return np.array([list(model.predict_proba_one(X[0]).values())]), None, True
    return model.predict_proba(X), None, True


def _decide(model: Any, proba: np.ndarray) -> list[Any]:
    """The labels; a single row with a clear winner takes a short cut."""
    if len(proba) == 1 and getattr(model, "cost_matrix", "of another model") is None:
        *others, best = sorted(row := proba[0].tolist())
        if not others or best - others[-1] > TIE:
            return [model.classes_.item(row.index(best))]
    return model.decide(proba).tolist()


def _labels(request: Learn, *, single: bool) -> list[Any]:
    """The labels of a request, in the form that goes with its rows."""
    given, other = ("label", "labels") if single else ("labels", "label")
    if getattr(request, given) is None or getattr(request, other) is not None:
        these = 'one row goes with one "label"' if single else 'several rows go with "labels"'
        raise ServiceError("wrong_shape", f"{these}.", given)
    return [request.label] if single else list(request.labels or [])


def _check_labels(labels: list[Any], classes: list[Any]) -> None:
    """A slip that would make a new class: numbers as text, or text as numbers."""
    texts = {isinstance(label, str) for label in classes}
    for r, label in enumerate(labels):
        if texts and isinstance(label, str) not in texts:
            where = f"labels[{r}]" if len(labels) > 1 else "label"
            some = ", ".join(map(short, classes[:5]))
            sentence = f"{where} is {short(label)}, and the classes are of another type: {some}."
            raise ServiceError("bad_value", sentence, where)


def _classes(model: Any) -> list[Any]:
    return model.classes_.tolist() if hasattr(model, "classes_") else []


def _class_rows(model: Any) -> list[float]:
    """How much each class weighs; of a model that watches for drift, in the model that answers now."""
    counting = model.model_ if isinstance(model, DriftAware) and hasattr(model, "classes_") else model
    return counting.class_count_.tolist() if hasattr(counting, "encoder_") else []


def _anytime(model: Any) -> Anytime | None:
    """The members as they stand; nothing is validated for this."""
    if not hasattr(model, "answer") or not model.has_learned:
        return None
    form, names = model.current_structure, model.encoder_.schema.names
    order = [[names[i] for i in member] for member in form.members]
    return Anytime(order, len(order) if form.limit < 0 else form.limit)
