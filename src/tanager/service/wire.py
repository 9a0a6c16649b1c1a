"""What goes over the wire: one Struct for every request and every answer.

The JSON decoder checks bodies against these, ``openapi`` describes the service by them, and clients may decode answers
with them.
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


class Predict(Struct, forbid_unknown_fields=True):
    """Rows to answer: one ``row``, ``rows`` of objects, or ``rows`` of lists with the names of their ``columns``.

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


class Learn(Struct, forbid_unknown_fields=True):
    """Rows with their labels, or labels of remembered rows.

    One ``row`` (or ``id``) and its ``label``, or ``rows`` (or ``ids``) and their ``labels``. ``weights`` say how much
    rows count, ``times`` (in seconds) when they happened.
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


class Predicted(Struct):
    """One label, one list of probabilities and one number of members for every row.

    ``members`` counts what was used beside naive Bayes, and is null where a model has no members. ``sequence`` is the
    last learned entry that the answer knows of. ``budget_us`` is what the model was given, null where it takes none;
    ``time_us`` what it took. ``complete``: nothing was left out for lack of time.
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


class Learned(Struct):
    """So many rows are learned, and will be after a crash; ``unknown_ids`` were not remembered (any more)."""

    model: str
    learned: int
    sequence: int
    unknown_ids: list[str]


class ModelLine(Struct):
    """A model in the list of all."""

    name: str
    kind: str
    classes: list[Label]
    rows: float
    sequence: int


class Models(Struct):
    """All models that are served."""

    models: list[ModelLine]


class Column(Struct, omit_defaults=True):
    """How a column is read: a categorical one by its values, a numeric one by its cut points."""

    name: str
    kind: str
    values: list[Label] = []
    cuts: list[float] = []
    closed: bool = False
    other: bool = False
    reason: str = ""
    n_codes: int = 0


class Anytime(Struct):
    """The members of an anytime model by their super-parents, first come first, and how many are used at most."""

    order: list[list[str]]
    stop_after: int


class ModelInfo(Struct):
    """All about one model: what it is, what it has learned, and how safe that is on disk."""

    name: str
    kind: str
    options: dict[str, Any]
    target: str | None
    classes: list[Label]
    class_rows: list[float]
    columns: list[Column]
    rows: float
    sequence: int
    learns: bool
    remembered: int
    anytime: Anytime | None
    state: dict[str, Any]


class Reloaded(Struct):
    """Whether another model file was found and taken over."""

    model: str
    reloaded: bool
    sequence: int


class Health(Struct):
    """``status`` is "ok", or "stopping"; ``load`` is what the controller sees."""

    status: str
    version: str
    uptime: float
    models: list[str]
    queued: int
    load: dict[str, float]


class Failure(Struct):
    """What was wrong: a code for programs, a sentence for people, and the place in the request."""

    code: str
    message: str
    where: str | None


class Failed(Struct):
    """The one shape of all errors."""

    error: Failure
