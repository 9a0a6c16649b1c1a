"""Document: all that a person has decided in a session, as plain immutable data.

Everything else (codes, counts, figures, pictures) is derived from it. So undoing is going back to an earlier document,
and a session in a file is a list of documents.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

Arc = tuple[str, str]


class DataChoice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which table, and which of its columns is the class; or a model or network file, which have no rows."""

    kind: Literal["file", "dataset", "upload", "model", "network"]
    name: str  # the path of a file, the name of a data set, or the name of an uploaded file of any kind
    target: str = ""
    kept: tuple[str, ...] = ()  # columns that reading would drop because every row has a value of its own

    @property
    def has_rows(self) -> bool:
        """Whether it is a table."""
        return self.kind not in ("model", "network")


class ColumnChoices(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was decided about columns beyond what the encoder decides by itself."""

    left_out: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    ordinal: dict[str, tuple[str | int | float | bool, ...]] = {}
    cuts: dict[str, tuple[float, ...]] = {}  # by hand; of an ordinal column, between positions in its order
    bins: Literal["mdl", "refined", "width", "frequency"] = "mdl"
    n_bins: int = 5


class Constraints(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a learner of networks must keep to."""

    required: tuple[Arc, ...] = ()
    forbidden: tuple[Arc, ...] = ()
    tiers: tuple[tuple[str, ...], ...] = ()


class LearnerChoice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which learner the arcs came from, before they were edited by hand."""

    name: str
    options: dict[str, Any] = {}


class LockedRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Numbers of a table that a person has set: P(child | these values of the parents)."""

    given: tuple[str | int | float | bool, ...]  # one value for each parent, in the order of the parents
    probabilities: tuple[float, ...]


class ModelChoice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The classifier that answers; "network" is the one that is drawn."""

    name: str = "network"
    options: dict[str, Any] = {}


class Document(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All decisions of a session at one moment."""

    data: DataChoice | None = None
    columns: ColumnChoices = ColumnChoices()
    constraints: Constraints = Constraints()
    learner: LearnerChoice | None = None
    arcs: tuple[Arc, ...] | None = None  # None: no network yet
    learned: tuple[Arc, ...] | None = None  # as the learner left them, before edits by hand
    undirected: tuple[Arc, ...] = ()  # those whose direction the data do not say
    locked: dict[str, tuple[LockedRow, ...]] = {}
    positions: dict[str, tuple[float, float]] = {}  # of nodes that were moved by hand or stay where they are
    model: ModelChoice = ModelChoice()
    costs: tuple[tuple[float, ...], ...] | None = None  # of answers: one row per true class, one column per answer
    prices: dict[str, float] = {}  # of asking for the value of a column
    diagram: dict[str, Any] | None = None  # a decision network, as it is in files
