"""One served model: predictions, learning, labels that come later, and its description."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import msgspec
import numpy as np

import tanager
from tanager.encoding import Schema
from tanager.errors import DataError, TanagerError
from tanager.learning.classifier import Classifier
from tanager.plain import to_plain
from tanager.service.errors import ServiceError, quoted, without_folders
from tanager.service.keys import Learned, RequestKey, pack_bits, request_key, unpack_bits
from tanager.service.messages import (
    ColumnInfo,
    Label,
    LearnRequest,
    LearnResponse,
    LeftOutInfo,
    ModelInfo,
    ModelSummary,
    PredictResponse,
    ReloadResponse,
    StoreStatus,
)
from tanager.service.model_queries import (
    Probabilities,
    anytime_info,
    class_sizes,
    classes_of,
    decide,
    fixed_schema,
    has_learned,
    is_anytime,
    is_improvable,
)
from tanager.service.rows import PendingRows, RequestRows, check_length, refuse_many, request_ids, request_rows

_encode = msgspec.msgpack.Encoder().encode


class ModelStore(Protocol):
    """Where a served model lives; see ``tanager.service.durable``."""

    model: Classifier
    lock: threading.RLock
    sequence: int

    async def learn(
        self,
        rows: list[dict[str, Any]],
        labels: list[Any],
        weights: list[float] | None = None,
        times: list[float] | None = None,
        key: RequestKey | None = None,
    ) -> int:
        """Learn rows for good, and return their number."""

    def learned_before(self, key: RequestKey) -> Learned | None:
        """What was learned under a key."""

    @property
    def choice_is_open(self) -> bool:
        """Whether the next answer would choose a structure that later ones keep."""

    async def choose(self) -> None:
        """Choose it, and remember when."""

    def changed(self) -> bool:
        """Whether the model file differs from the one that is served."""

    def reload(self) -> None:
        """Serve the model file as it is now."""

    def close(self) -> None:
        """Write what is not on disk yet."""

    def status(self) -> StoreStatus:
        """What is where on disk."""


class ReadOnlyModel:
    """A model file that is served as it is: nothing is learned, and nothing written."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.lock = threading.RLock()
        self.sequence = 0
        self.reload()

    async def learn(
        self,
        rows: list[dict[str, Any]],
        labels: list[Any],
        weights: list[float] | None = None,
        times: list[float] | None = None,
        key: RequestKey | None = None,
    ) -> int:
        """Refused."""
        raise _read_only()

    def learned_before(self, key: RequestKey) -> Learned | None:
        """Nothing was."""

    @property
    def choice_is_open(self) -> bool:
        """No rows come, so all answers would choose the same."""
        return False

    async def choose(self) -> None:
        """It does not matter when."""

    def changed(self) -> bool:
        """Whether the file has another time or size than when it was loaded; a file that is gone has not changed."""
        try:
            return self._stamp != self._file_stamp()
        except OSError:
            return False

    def reload(self) -> None:
        """Load the file again; where it cannot be used, the old model stays in use."""
        stamp = self._file_stamp()
        model = tanager.load(self.path)
        with self.lock:
            self.model, self._stamp = model, stamp

    def _file_stamp(self) -> tuple[int, int]:
        found = self.path.stat()
        return found.st_mtime_ns, found.st_size

    def close(self) -> None:
        """Nothing is open."""

    def status(self) -> StoreStatus:
        """Nothing is on disk but the file."""
        return {}


@dataclass
class _Turn:
    """Lets requests of one key come one after the other."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    n_users: int = 0


class ServedModel:
    """A model under its name."""

    def __init__(
        self, name: str, store: ModelStore, *, remember: int, remember_seconds: float, read_only: bool = False
    ) -> None:
        self.name, self.store, self.read_only = name, store, read_only
        self.pending = PendingRows(remember, remember_seconds)
        self._turns: dict[bytes, _Turn] = {}  # of requests with keys that are under way
        self._improved: tuple[int, int] | None = None  # the state of the model in which nothing was left to improve

    @property
    def model(self) -> Classifier:
        """The live model; hold the lock of the store."""
        return self.store.model

    @property
    def n_columns(self) -> int:
        """How many columns the model has; 1 before it has learned any."""
        return getattr(self.model, "n_features_in_", 1)

    # --- predictions --------------------------------------------------------------------------------------------

    def predict(self, rows: RequestRows, budget: float | None, members: int | None) -> PredictResponse:
        """Predict all rows, within so many seconds where the model takes a budget."""
        start = time.perf_counter()
        with self.store.lock:
            model, sequence = self.model, self.store.sequence
            schema = self.schema()
            rows, told = rows.of(schema, "answered")
            unseen_values, unseen = model.encoder_.unseen_values, getattr(model, "unseen", "ignore")
            unseen_values.quiet = True
            unseen_values.take_recent()  # of rows that were learned
            try:
                proba, used, complete = _predict(model, rows, schema.learned_names, budget, members)
            except DataError:
                rows.check_cells(schema, unseen)  # names the cell where it can
                raise
            told += unseen_values.take_recent(unseen)
            labels = decide(model, proba)
            classes = model.classes_.tolist()
        return PredictResponse(
            model=self.name,
            sequence=sequence,
            classes=classes,
            labels=labels,
            probabilities=proba.tolist(),
            members=used,
            budget_us=None if used is None or budget is None else round(budget * 1e6, 1),
            time_us=round((time.perf_counter() - start) * 1e6, 1),
            complete=complete,
            warnings=told,
        )

    def schema(self) -> Schema:
        """The columns of the model; refused before it has learned."""
        if not has_learned(self.model):
            raise ServiceError("nothing_learned", f"{self.name} has learned nothing yet. POST rows to its learn path.")
        return self.model.encoder_.schema

    async def settle(self) -> None:
        """Before an answer: where it would choose a structure for good, the choice goes to the log first.

        Predictions go on where the disk fails. The choice is then in the log before anything else is.
        """
        if self.store.choice_is_open:
            with contextlib.suppress(TanagerError):
                await self.store.choose()

    # --- learning -----------------------------------------------------------------------------------------------

    async def learn(self, request: LearnRequest, max_rows: int, key: str | None = None) -> LearnResponse:
        """Learn rows and labels, or labels of rows that were predicted before; returns when they are on disk.

        Under a key, the same request is learned once, however often it comes.
        """
        if self.read_only:
            raise _read_only()
        if key is None:
            return await self._learn(request, max_rows)
        whole = request_key(key, _encode(request))
        async with self._one_at_a_time(whole):
            before = self.store.learned_before(whole)
            return await self._learn(request, max_rows, whole) if before is None else self._repeated(request, before)

    @contextlib.asynccontextmanager
    async def _one_at_a_time(self, key: RequestKey) -> AsyncIterator[None]:
        """A request that comes again while the first is under way waits for its outcome."""
        turn = self._turns.setdefault(key.digest, _Turn())
        turn.n_users += 1
        try:
            async with turn.lock:
                yield
        finally:
            turn.n_users -= 1
            if not turn.n_users:
                del self._turns[key.digest]

    def _repeated(self, request: LearnRequest, before: Learned) -> LearnResponse:
        unknown = unpack_bits(before.unknown, request_ids(request) or [])
        return LearnResponse(self.name, before.n_rows, before.sequence, unknown, repeated=True)

    async def _learn(self, request: LearnRequest, max_rows: int, key: RequestKey | None = None) -> LearnResponse:
        rows, ids = request_rows(request, max_rows), request_ids(request)
        if (rows is None) == (ids is None):
            raise ServiceError("wrong_shape", 'give rows ("row" or "rows") or ids ("id" or "ids"), one of the two.')
        refuse_many("ids", ids or (), max_rows)
        labels = _labels(request, single=request.row is not None or request.id is not None)
        if rows is not None:
            return await self._learn_rows(rows, labels, request.weights, request.times, key)
        assert ids is not None
        return await self._learn_ids(ids, labels, request, key)

    async def _learn_rows(
        self,
        rows: RequestRows,
        labels: list[Label],
        weights: list[float] | None,
        times: list[float] | None,
        key: RequestKey | None,
    ) -> LearnResponse:
        for name, given in (("labels", labels), ("weights", weights), ("times", times)):
            check_length(name, given, len(rows))
        schema = self._check_labels(labels)
        told: list[str] = []
        if schema is not None:
            rows, told = rows.of(schema, "learned")
        try:
            sequence = await self.store.learn(rows.dicts(), labels, weights, times, key)
        except DataError:
            if schema is not None:
                rows.check_cells(schema, "ignore")
            raise
        return LearnResponse(self.name, len(rows), sequence, [], warnings=told)

    def _check_labels(self, labels: list[Label]) -> Schema | None:
        """Refuse labels of a wrong type, with their place; returns the schema where it is fixed.

        Without the lock: classes and schema are replaced, never changed, and the store checks again.
        """
        _check_labels(labels, classes_of(self.model))
        return fixed_schema(self.model)

    async def _learn_ids(
        self, ids: list[str], labels: list[Label], request: LearnRequest, key: RequestKey | None
    ) -> LearnResponse:
        """Labels of remembered rows; where they cannot be learned, the rows stay remembered."""
        for name, given in (("labels", labels), ("weights", request.weights), ("times", request.times)):
            check_length(name, given, len(ids), "ids")
        found, unknown = self.pending.take(ids, time.monotonic())
        if not found:
            return LearnResponse(self.name, 0, self.store.sequence, unknown)
        place = {one: r for r, one in enumerate(ids)}
        kept = [place[one] for one, _ in found]
        rows = [row for _, row in found]
        weights, times = (
            None if part is None else [part[r] for r in kept] for part in (request.weights, request.times)
        )
        if key is not None:
            key = msgspec.structs.replace(key, unknown=pack_bits(unknown, ids))
        try:
            learned = await self._learn_rows(RequestRows(rows), [labels[r] for r in kept], weights, times, key)
        except BaseException:
            self.pending.add([one for one, _ in found], rows, time.monotonic())
            raise
        return LearnResponse(self.name, learned.learned, learned.sequence, unknown, warnings=learned.warnings)

    # --- idle time and files ------------------------------------------------------------------------------------

    def improve(self, seconds: float) -> bool:
        """Spend so many seconds on improving the model; True where there is more to do."""
        with self.store.lock:
            model = self.model
            if self.fully_improved or not is_improvable(model):
                return False
            more = bool(model.improve(seconds))
            self._improved = None if more else self._model_state
            return more

    @property
    def fully_improved(self) -> bool:
        """Whether idle time has found nothing more to do since the model last changed."""
        return self._improved == self._model_state

    @property
    def _model_state(self) -> tuple[int, int]:
        return id(self.model), self.store.sequence

    def reload(self) -> ReloadResponse:
        """Serve the model file where it has changed."""
        found = self.store.changed()
        if found:
            try:
                self.store.reload()
            except (TanagerError, OSError) as error:
                why = error.strerror if isinstance(error, OSError) else without_folders(str(error))
                sentence = f"the model file cannot be used, and the old model stays in use: {why}"
                raise ServiceError("bad_model_file", sentence) from None
        return ReloadResponse(self.name, found, self.store.sequence)

    # --- description --------------------------------------------------------------------------------------------

    def summary(self) -> ModelSummary:
        """The model in the list of models."""
        with self.store.lock:
            model = self.model
            rows = float(np.sum(class_sizes(model)))
            return ModelSummary(self.name, type(model).__name__, classes_of(model), rows, self.store.sequence)

    def info(self) -> ModelInfo:
        """Everything about the model."""
        with self.store.lock:
            model = self.model
            known = model.encoder_ if hasattr(model, "encoder_") else None
            columns = [] if known is None else known.schema.to_dict()["columns"]
            sizes = class_sizes(model)
            return ModelInfo(
                name=self.name,
                kind=type(model).__name__,
                options={name: to_plain(value, name) for name, value in model.get_params(deep=False).items()},
                target=getattr(model, "target_name_", None),
                classes=classes_of(model),
                class_rows=sizes,
                columns=[ColumnInfo(**column) for column in columns],
                rows=float(np.sum(sizes)),
                sequence=self.store.sequence,
                learns=not self.read_only,
                remembered=len(self.pending),
                anytime=anytime_info(model),
                state={name: value for name, value in self.store.status().items() if not isinstance(value, str)},
                left_out=[] if known is None else [LeftOutInfo(**vars(gone)) for gone in known.schema.left_out],
                unseen={} if known is None else dict(known.unseen_values.n_cells),
            )


def _predict(
    model: Classifier, rows: RequestRows, names: Sequence[str], budget: float | None, members: int | None
) -> tuple[Probabilities, list[int] | None, bool]:
    """Probabilities, members used per row, and whether nothing was left out for lack of time."""
    X = rows.table(names)
    if is_anytime(model):
        answer = model.answer(X, budget=budget, members=members)
        return answer.proba, answer.members.tolist(), bool(answer.complete)
    if members is not None:
        name = type(model).__name__
        raise ServiceError("bad_option", f'{name} has no members to choose from; leave "members" out.', "members")
    if rows.single:
        return np.array([list(model.predict_proba_one(X[0]).values())]), None, True
    return model.predict_proba(X), None, True


def _read_only() -> ServiceError:
    return ServiceError("read_only", "this service does not learn. Start it without --read-only.")


def _labels(request: LearnRequest, *, single: bool) -> list[Label]:
    """The labels of a request, in the form that goes with its rows."""
    given, other = ("label", "labels") if single else ("labels", "label")
    if getattr(request, given) is None or getattr(request, other) is not None:
        these = 'one row goes with one "label"' if single else 'several rows go with "labels"'
        raise ServiceError("wrong_shape", f"{these}.", given)
    return [request.label] if single and request.label is not None else list(request.labels or [])


def _check_labels(labels: list[Label], classes: list[Label]) -> None:
    """Refuse numbers as text, or text as numbers: a mistake that would make a new class."""
    texts = {isinstance(label, str) for label in classes}
    for r, label in enumerate(labels):
        if texts and isinstance(label, str) not in texts:
            where = f"labels[{r}]" if len(labels) > 1 else "label"
            some = ", ".join(map(quoted, classes[:5]))
            sentence = f"{where} is {quoted(label)}, and the classes are of another type: {some}."
            raise ServiceError("bad_value", sentence, where)
