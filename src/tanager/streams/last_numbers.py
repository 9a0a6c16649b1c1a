"""LastNumbers: the last rows of a stream, by which number columns are cut anew for a model that begins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tanager import saved
from tanager.counts.align import class_map
from tanager.encoding import Column, Encoder, Schema
from tanager.encoding.bins import cut, find_cuts
from tanager.encoding.codes import code_type, widened
from tanager.encoding.kinds import settled
from tanager.errors import ModelFileError
from tanager.learning.counts_classifier import CountsClassifier

UNKNOWN = 65535


class LastNumbers:
    """Numbers and class codes of the last ``warm_up`` rows, and the newest cut points.

    Cut points are learned again when a model begins, unless fewer rows have come since they were learned last: new ones
    would rest on the same rows, and a fresh start is to cost little.
    """

    def __init__(self, model: CountsClassifier) -> None:
        self._how = _how_to_cut(model)
        schema = model.encoder_.schema
        self.columns = [
            i for i, column in enumerate(schema.columns) if _is_cut(column)
        ]  # those that are cut later stay
        self.size = int(model.warm_up)
        self.since = 0  # rows since cut points were learned
        self._cuts: dict[int, tuple[float, ...]] = {}
        self._moved: tuple[Schema, Schema] | None = None  # a schema, and the same with the newest cut points
        self._classes = model.classes_
        self._numbers: list[np.ndarray] = []
        self._labels: list[np.ndarray] = []  # class codes; UNKNOWN where a row has no label or no weight

    def follow(self, classes: np.ndarray) -> None:
        """Class codes are now those of these classes: the same as before, and perhaps more."""
        if classes is not self._classes and len(classes) > len(self._classes):
            places = np.append(class_map(self._classes, classes), UNKNOWN).astype(np.uint16)
            self._labels = [places[np.minimum(codes, len(places) - 1)] for codes in self._labels]
        self._classes = classes

    def read(self, model: CountsClassifier, X: Any) -> np.ndarray:
        """The numbers of a table."""
        return model.encoder_.numbers(X, self.columns, type(model).__name__)

    def read_row(self, model: CountsClassifier, row: Mapping[str, Any]) -> np.ndarray:
        """The numbers of one row."""
        return model.encoder_.numbers_row(row, self.columns)[None, :]

    def add(self, numbers: np.ndarray, labels: np.ndarray, weights: np.ndarray | None) -> None:
        """Rows were learned, with these class codes; those without a label or weight do not matter."""
        self._numbers.append(numbers)
        shown = widened(labels)
        self._labels.append(shown if weights is None else np.where(weights > 0, shown, UNKNOWN))
        self.since += len(labels)
        if len(self._labels) > self.size + 64:
            self._trim()

    def _trim(self) -> None:
        numbers, labels = np.concatenate(self._numbers), np.concatenate(self._labels)
        self._numbers, self._labels = [numbers[-self.size :]], [labels[-self.size :]]

    def schema_for_fresh(self, schema: Schema) -> Schema:
        """The same columns, cut by the last rows where it is time for that, else as they were cut last."""
        if self.columns and self.since >= self.size:
            self._cut(schema)
        if self._moved is None or self._moved[0] is not schema:
            moved = {i: schema[i].with_cuts(own) for i, own in self._cuts.items() if own != schema[i].cuts}
            self._moved = schema, schema.with_columns(moved) if moved else schema
        return self._moved[1]

    def recode(self, codes: np.ndarray, before: Schema, after: Schema, numbers: np.ndarray) -> np.ndarray | None:
        """Codes of rows under a schema with other cut points; None where more than cut points differs.

        ``codes`` are those of the same rows under the schema ``before``, and ``numbers`` what ``read`` gave of them.
        """
        moved = [i for i, (old, new) in enumerate(zip(before.columns, after.columns, strict=True)) if old is not new]
        place = {i: j for j, i in enumerate(self.columns)}
        plain = all(i in place and not after[i].by_value for i in moved)
        if not plain or codes.dtype != code_type(int(after.n_values.max()), "ignore"):
            return None
        out = codes.copy(order="F")
        for i in moved:
            cut(numbers[:, place[i]], np.array(after[i].cuts), out[:, i])
        return out

    def _cut(self, schema: Schema) -> None:
        self._trim()
        self.since, self._moved = 0, None
        counted = self._labels[0] != UNKNOWN
        labels, numbers = self._labels[0][counted], np.asfortranarray(self._numbers[0][counted])
        for j, i in enumerate(self.columns):
            cuts = tuple(find_cuts(numbers[:, j], *self._how[i], labels, None).tolist()) if len(labels) else ()
            self._cuts[i] = cuts or schema[i].cuts  # a column without cut points would be lost

    # --- files --------------------------------------------------------------------------------------------------

    def to_state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Plain data, and arrays."""
        arrays: dict[str, np.ndarray] = {
            "last-numbers": np.zeros((0, len(self.columns))),
            "last-labels": np.zeros(0, dtype=np.uint16),
        }
        if self._labels:
            self._trim()
            arrays = {"last-numbers": np.ascontiguousarray(self._numbers[0]), "last-labels": self._labels[0]}
        cuts = [[i, list(own)] for i, own in self._cuts.items()]
        return {"since": self.since, "cuts": cuts, "columns": self.columns}, arrays

    def take_state(self, state: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        """Take back what ``to_state`` gave."""
        cuts = saved.items(saved.row(saved.whole(), saved.items(saved.figure())))
        columns = saved.items(saved.whole(0, len(self._how) - 1), distinct=True)
        kinds = {"since": saved.whole(), "cuts": cuts, "columns": columns}
        numeric = set(self.columns)  # by now
        given = {"columns": self.columns} | dict(state)  # which older files do not have
        self.since, found, self.columns = saved.read("rows of its stream", given, kinds).values()
        self._cuts = {i: tuple(own) for i, own in found}
        numbers = saved.field(
            "rows of its stream", arrays, "last-numbers", saved.numbers(None, len(self.columns), gaps=True)
        )
        labels = saved.field("rows of its stream", arrays, "last-labels", saved.array("u2", len(numbers)))
        known = set(self._cuts) <= set(self.columns) <= numeric
        if not known or (labels[labels != UNKNOWN] >= len(self._classes)).any():
            raise ModelFileError("the last rows of its stream have classes or columns that it does not know")
        if len(numbers):
            self._numbers, self._labels = [numbers], [labels]


def _is_cut(column: Column) -> bool:
    """Whether it is a number column with bins, whose cut points nobody has given."""
    return column.kind == "numeric" and not column.by_value and not column.closed and not settled(column)


def _how_to_cut(model: CountsClassifier) -> list[tuple[str, int, str]]:
    """Method, bins and price of cuts for every column."""
    rules, keys = Encoder(**model.encoder_options()).rules_of(model.encoder_.schema)
    return [(str(rules.bins.get(key, rules.default_bins)), rules.n_bins, rules.mdl_encoding) for key in keys]
