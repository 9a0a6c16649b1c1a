"""The messages of the service: one Struct for every request and every response.

The JSON decoder checks bodies against these, ``openapi`` describes the service by them, and clients may decode
responses with them.
"""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

Whole = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Cell = Whole | float | str | bool | None
Label = Whole | float | str | bool
Id = Annotated[str, Meta(min_length=1, max_length=200)]
Weight = Annotated[float, Meta(ge=0)]
Row = dict[str, Cell]
Rows = list[Row | list[Cell]]
StoreStatus = dict[str, int | float | str]


class PredictRequest(Struct, forbid_unknown_fields=True):
    """Rows to predict: one ``row``, ``rows`` of objects, or ``rows`` of lists with the names of their ``columns``.

    ``budget_us`` is how many microseconds the model may take at most, ``members`` how many members of the ensemble to
    use. Rows with an ``id`` (or ``ids``) are remembered, so that their labels can be learned later.
    """

    row: Row | None = None
    rows: Rows | None = None
    columns: list[str] | None = None
    budget_us: Annotated[float, Meta(ge=0)] | None = None
    members: Annotated[int, Meta(ge=0, le=2**31 - 1)] | None = None
    id: Id | None = None
    ids: list[Id] | None = None


class WhatIf(Struct, forbid_unknown_fields=True):
    """Ask which other values would turn the answer at the least cost.

    ``wanted`` is the class to reach (any other where it is absent), ``columns`` those that may change (all of them),
    ``fixed`` those that may not. ``costs`` says what it costs to change a column, instead of 1.
    """

    wanted: Label | None = None
    columns: list[str] | None = None
    fixed: list[str] = []
    costs: dict[str, Annotated[float, Meta(gt=0)]] = {}
    max_columns: Annotated[int, Meta(ge=1, le=4)] = 2


class ExplainRequest(Struct, forbid_unknown_fields=True):
    """Rows to explain, as in a prediction: the log-odds of ``answer`` against another class, shared out over columns.

    ``answer`` is the predicted class where it is absent, ``against`` the most probable other.
    """

    row: Row | None = None
    rows: Rows | None = None
    columns: list[str] | None = None
    answer: Label | None = None
    against: Label | None = None
    what_if: WhatIf | None = None


class LearnRequest(Struct, forbid_unknown_fields=True):
    """Rows with their labels, or labels of remembered rows.

    One ``row`` (or ``id``) and its ``label``, or ``rows`` (or ``ids``) and their ``labels``. ``weights`` are the
    weights of the rows, ``times`` (in seconds) when they happened.
    """

    row: Row | None = None
    rows: Rows | None = None
    columns: list[str] | None = None
    label: Label | None = None
    labels: list[Label] | None = None
    weights: list[Weight] | None = None
    times: list[float] | None = None
    id: Id | None = None
    ids: list[Id] | None = None


class PredictResponse(Struct):
    """One label, one list of probabilities and one number of members for every row.

    ``members`` counts the members used in addition to naive Bayes, and is null where a model has none. ``sequence`` is
    the number of the last request that the model had learned. ``budget_us`` is the time that the model was given, null
    where it takes no budget; ``time_us`` is the time that it took. ``complete``: nothing was left out for lack of time.
    ``warnings`` says which columns were ignored or missing, and which values were never seen in training.
    """

    model: str
    sequence: int
    classes: list[Label]
    labels: list[Label]
    probabilities: list[list[float]]
    members: list[int] | None
    budget_us: float | None
    time_us: float
    complete: bool
    warnings: list[str] = []


class ColumnEffect(Struct):
    """What a column of a row adds to the log-odds; ``value`` is its value or bin. Null: infinite."""

    column: str
    value: Cell
    log_odds: float | None


class ChangeInfo(Struct):
    """Other values for a row, and what the model then answers: ``values`` to send, ``shown`` for people.

    ``gain`` is by how much the change raises the ``probability`` of its ``answer``, ``cost`` what all its columns cost.
    """

    values: Row
    shown: dict[str, str]
    answer: Label
    probability: float
    gain: float
    cost: float


class ExplainedRow(Struct, omit_defaults=True):
    """Why a row gets its answer: ``prior`` and ``columns``, the largest first, add up to ``log_odds``.

    ``changes``, where they were asked for, cost the same, and none that costs less turns the answer.
    """

    answer: Label
    against: Label
    probability: float
    log_odds: float | None
    prior: float | None
    columns: list[ColumnEffect]
    changes: list[ChangeInfo] | None = None


class ExplainResponse(Struct):
    """One explanation for every row.

    ``warnings`` says which columns were ignored or missing, and which values were never seen in training.
    """

    model: str
    sequence: int
    explanations: list[ExplainedRow]
    warnings: list[str] = []


class ImportanceRequest(Struct, forbid_unknown_fields=True):
    """Rows with their labels: how much does each column matter to the model?

    ``learned``: the model has learned these rows, and each is answered as if it had not. Send false for other rows.
    """

    rows: Rows
    labels: list[Label]
    columns: list[str] | None = None
    weights: list[Weight] | None = None
    learned: bool = True


class ColumnImportance(Struct):
    """By how much the log loss rises where a column is not known, its standard error, and an interval."""

    column: str
    increase: float
    error: float
    low: float
    high: float


class ImportanceResponse(Struct):
    """The columns, the one that matters most first; ``log_loss`` is that of the rows as they are.

    Intervals have the level ``confidence``; ``rows`` is the sum of the weights. ``warnings`` says which columns were
    ignored or missing, and which values were never seen in training.
    """

    model: str
    sequence: int
    log_loss: float
    rows: float
    confidence: float
    columns: list[ColumnImportance]
    warnings: list[str] = []


class NomogramRequest(Struct, forbid_unknown_fields=True):
    """What does each value of each column add to the log-odds of ``answer`` against another class?

    ``row`` is the row whose values are marked; those of columns on which others depend hold for these. Where it is
    absent, all is missing. ``answer`` is the predicted class where it is absent, ``against`` the most probable other.
    """

    row: Row | None = None
    answer: Label | None = None
    against: Label | None = None


class NomogramAxis(Struct):
    """One column: what each of its ``values`` (or bins) adds, and the place of the row's own value among them.

    ``given`` are the values of the columns that it depends on, "?" where they are missing. Null: infinite.
    """

    column: str
    values: list[Cell]
    points: list[float | None]
    given: Row
    at: int | None


class NomogramResponse(Struct):
    """``prior`` and one point from every axis add up to log-odds; for the row itself to ``log_odds``.

    The axis that can matter most comes first. ``warnings`` says which columns were ignored, and which values were never
    seen in training.
    """

    model: str
    sequence: int
    answer: Label
    against: Label
    prior: float | None
    log_odds: float | None
    axes: list[NomogramAxis]
    warnings: list[str] = []


class LearnResponse(Struct):
    """How many rows were learned and are safe on disk; rows of ``unknown_ids`` are not remembered (any more).

    ``repeated``: the request was learned before under its Idempotency-Key, and this says what was learned then.
    ``warnings`` says which columns were ignored, or missing.
    """

    model: str
    learned: int
    sequence: int
    unknown_ids: list[str]
    repeated: bool = False
    warnings: list[str] = []


class ModelSummary(Struct):
    """A model in the list of models."""

    name: str
    kind: str
    classes: list[Label]
    rows: float
    sequence: int


class ModelList(Struct):
    """The models that are served."""

    models: list[ModelSummary]


class ColumnInfo(Struct, omit_defaults=True):
    """A column of the model: its values in their order, or the cut points of a numeric one; an ordinal one has both.

    One of dates has a ``part``, and a ``source`` where rows name it otherwise.
    """

    name: str
    kind: str
    values: list[Label] = []
    cuts: list[float] = []
    closed: bool = False
    other: bool = False
    reason: str = ""
    n_codes: int = 0
    cut_after: int = 0
    part: str = ""
    source: str = ""


class AnytimeInfo(Struct):
    """The members of an anytime model by their super-parents, in the order of use, and how many are used at most."""

    order: list[list[str]]
    stop_after: int


class LeftOutInfo(Struct):
    """A column that is not learned."""

    name: str
    place: int
    reason: str


class ModelInfo(Struct):
    """One model: its options, columns and classes, what it has learned, and what of that is where on disk.

    ``left_out`` are columns that it does not learn, with the reasons; ``unseen`` counts cells of requests, by column,
    with values that training never had, since the model was loaded.
    """

    name: str
    kind: str
    options: dict[str, Any]
    target: str | None
    classes: list[Label]
    class_rows: list[float]
    columns: list[ColumnInfo]
    rows: float
    sequence: int
    learns: bool
    remembered: int
    anytime: AnytimeInfo | None
    state: StoreStatus
    left_out: list[LeftOutInfo] = []
    unseen: dict[str, int] = {}


class ReloadResponse(Struct):
    """Whether a new model file was found and loaded."""

    model: str
    reloaded: bool
    sequence: int


class HealthResponse(Struct):
    """``status`` is "ok" or "stopping". Anybody may ask, so it says no more."""

    status: str


class ErrorDetail(Struct):
    """What was wrong: a code for programs, a sentence for people, and the place in the request."""

    code: str
    message: str
    where: str | None


class ErrorResponse(Struct):
    """The form of every error."""

    error: ErrorDetail
