"""LastNumbers: the last rows of a stream, by which number columns are cut anew for a model that begins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tanager import saved
from tanager.encoding import Encoder, Schema
from tanager.encoding.bins import find_cuts
from tanager.encoding.kinds import settled
from tanager.errors import ModelFileError
from tanager.learning.counts_classifier import CountsClassifier


class LastNumbers:
    """Numbers and labels of the last ``warm_up`` rows, and the newest cut points.

    Cut points are learned again when a model begins, unless fewer rows have come since they were learned last: new ones
    would rest on the same rows, and a fresh start is to cost little.
    """

    def __init__(self, model: CountsClassifier) -> None:
        self._how = _how_to_cut(model)
        self.columns = list(self._how)
        self.size = int(model.warm_up)
        self.since = 0  # rows since cut points were learned
        self._cuts: dict[int, tuple[float, ...]] = {}
        self._numbers: list[np.ndarray] = []
        self._labels: list[list[Any]] = []

    def read(self, model: CountsClassifier, X: Any) -> np.ndarray:
        """The numbers of a table."""
        return model.encoder_.numbers(X, self.columns, type(model).__name__)

    def read_row(self, model: CountsClassifier, row: Mapping[str, Any]) -> np.ndarray:
        """The numbers of one row."""
        return model.encoder_.numbers_row(row, self.columns)[None, :]

    def add(self, numbers: np.ndarray, labels: Sequence[Any], weights: np.ndarray | None) -> None:
        """Rows were learned; those without a label or weight do not matter."""
        self._numbers.append(numbers)
        shown = list(labels)
        if weights is not None:
            shown = [label if weight > 0 else None for label, weight in zip(shown, weights.tolist(), strict=True)]
        self._labels.append(shown)
        self.since += len(labels)
        if len(self._labels) > self.size + 64:
            self._trim()

    def _trim(self) -> None:
        numbers, labels = np.concatenate(self._numbers), [label for some in self._labels for label in some]
        self._numbers, self._labels = [numbers[-self.size :]], [labels[-self.size :]]

    def schema_for_fresh(self, schema: Schema, codes: Mapping[Any, int]) -> Schema:
        """The same columns, cut by the last rows where it is time for that, else as they were cut last."""
        if self.columns and self.since >= self.size:
            self._cut(schema, codes)
        moved = {i: cuts for i, cuts in self._cuts.items() if cuts != schema[i].cuts}
        return schema.with_columns({i: replace(schema[i], cuts=cuts) for i, cuts in moved.items()}) if moved else schema

    def _cut(self, schema: Schema, codes: Mapping[Any, int]) -> None:
        self._trim()
        self.since = 0
        found = np.array([codes.get(label, 65535) for label in self._labels[0]], dtype=np.uint16)  # else: a missing one
        counted = found != 65535
        labels, numbers = found[counted], self._numbers[0][counted]
        for j, (i, how) in enumerate(self._how.items()):
            cuts = tuple(find_cuts(numbers[:, j], *how, labels, None).tolist()) if len(labels) else ()
            self._cuts[i] = cuts or schema[i].cuts  # a column without cut points would be lost

    # --- files --------------------------------------------------------------------------------------------------

    def to_state(self, codes: Mapping[Any, int]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Plain data, and arrays."""
        if self._labels:
            self._trim()
        labels = [codes.get(label, 65535) for some in self._labels for label in some]
        numbers = self._numbers[0] if self._numbers else np.zeros((0, len(self.columns)))
        arrays = {"last-numbers": np.ascontiguousarray(numbers), "last-labels": np.array(labels, dtype=np.uint16)}
        return {"since": self.since, "cuts": [[i, list(cuts)] for i, cuts in self._cuts.items()]}, arrays

    def take_state(self, state: Mapping[str, Any], arrays: Mapping[str, np.ndarray], classes: Sequence[Any]) -> None:
        """Take back what ``to_state`` gave."""
        cuts = saved.items(saved.row(saved.whole(), saved.items(saved.figure())))
        self.since, found = saved.read("rows of its stream", state, {"since": saved.whole(), "cuts": cuts}).values()
        self._cuts = {i: tuple(own) for i, own in found}
        numbers = saved.field(
            "rows of its stream", arrays, "last-numbers", saved.numbers(None, len(self.columns), gaps=True)
        )
        labels = saved.field("rows of its stream", arrays, "last-labels", saved.array("u2", len(numbers)))
        if not set(self._cuts) <= set(self.columns) or (labels[labels != 65535] >= len(classes)).any():
            raise ModelFileError("the last rows of its stream have classes or columns that it does not know")
        if len(numbers):
            self._numbers = [numbers]
            self._labels = [[None if code == 65535 else classes[code] for code in labels.tolist()]]


def _how_to_cut(model: CountsClassifier) -> dict[int, tuple[str, int, str]]:
    """Method, bins and price of cuts for each number column whose cut points nobody has given."""
    schema = model.encoder_.schema
    rules = Encoder(**model.encoder_options()).rules(schema.names)
    return {
        i: (str(rules.bins.get(i, rules.default_bins)), rules.n_bins, rules.mdl_encoding)
        for i, column in enumerate(schema.columns)
        if column.kind == "numeric" and not column.closed and not settled(column)
    }
