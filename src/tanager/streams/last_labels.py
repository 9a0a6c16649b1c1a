"""LastLabels: the last labels of a stream as further columns of its rows, as far as they have arrived."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tanager import saved
from tanager.encoding.arrays import index_objects
from tanager.encoding.chunks import n_rows, take_rows
from tanager.encoding.values import plain
from tanager.errors import ModelFileError, OptionError, is_whole
from tanager.streams.table_columns import names_of, with_columns

_KINDS = {
    "names": saved.maybe(saved.items(saved.text())),
    "arrived": saved.items(saved.maybe(saved.text())),
    "waiting": saved.items(saved.maybe(saved.text())),
}


def check_lag(lag: Any, delay: Any, base: Any) -> None:
    """Refuse numbers that mean nothing, and columns that the schema of the model cannot have."""
    for name, given, what in (
        ("lag", lag, "how many of the last labels a row has as columns"),
        ("delay", delay, "rows"),
    ):
        if not is_whole(given, 0):
            raise OptionError(f"{name}={given!r}: give {what}, a whole number of at least 0.")
    if delay and not lag:
        raise OptionError(
            f"delay={delay} says how late labels are for lag=, which is 0. Give lag=1, or leave out delay=."
        )
    if lag and getattr(base, "schema", None) is not None:
        raise OptionError(
            "lag= adds columns, and the schema of the model does not have them. Leave out one of the two."
        )


class LastLabels:
    """The labels of the last rows, as text.

    A row that is answered gets the last ``n`` labels that have been learned. A row that is learned gets those that had
    arrived when it was answered: with ``delay``, not the ones of the ``delay`` rows before it. Rows without a label or
    weight leave none.

    ``arrived`` are the last n labels but for those of the rows in ``waiting``, the last ``delay`` ones that were
    learned (None: no label); the newest are last.
    """

    def __init__(self, n: int, delay: int) -> None:
        self.n, self.delay = n, delay
        self.names: tuple[str, ...] | None = None  # of the columns, once those of the rows are known
        self.arrived: list[str | None] = [None] * n
        self.waiting: list[str | None] = []

    def choose_names(self, X: Any, target: str | None) -> None:
        """Call the columns by what the class is called, and by no name that the first row has."""
        if self.names is not None:
            return
        taken = set(names_of(take_rows(X, 0, 1)))
        made = [f"last {target or 'class'}" + (f" {k}" if k > 1 else "") for k in range(1, self.n + 1)]
        while not taken.isdisjoint(made):
            made = [f"{name}_" for name in made]
        self.names = tuple(made)

    # --- columns ------------------------------------------------------------------------------------------------

    def for_answers(self, X: Any, known: Sequence[str] | None) -> Any:
        """Rows to answer now, with the labels that have arrived by now: the same for all."""
        m = n_rows(X)
        now = self._kept(np.array([*self.arrived, *self.waiting], dtype=object), self.n)
        cells = [np.full(m, label, dtype=object) for label in now[::-1]]
        return self._added(X, cells, known)

    def for_learning(self, X: Any, labels: np.ndarray, weights: np.ndarray | None, known: Sequence[str] | None) -> Any:
        """Rows to learn, each with the labels that had arrived when it was answered."""
        return self._added(X, self._before(labels, weights, self.delay), known)

    def for_late_answers(
        self, X: Any, labels: np.ndarray, weights: np.ndarray | None, known: Sequence[str] | None
    ) -> Any:
        """Rows to answer while others are learned: before row r of these, the first r of those are."""
        return self._added(X, self._before(labels, weights, 0), known)

    def _added(self, X: Any, cells: Sequence[np.ndarray], known: Sequence[str] | None) -> Any:
        assert self.names is not None
        return with_columns(X, dict(zip(self.names, cells, strict=True)), known)

    def _before(self, labels: np.ndarray, weights: np.ndarray | None, delay: int) -> list[np.ndarray]:
        """For each of these rows, which come next, the labels before it but for those of the last rows."""
        rows = np.array([*self.waiting, *_texts(labels, weights)], dtype=object)
        there = np.frompyfunc(_is_there, 1, 1)(rows).astype(bool)
        so_far = np.concatenate([[0], np.cumsum(there)])
        sequence = np.array([*self.arrived, *rows[there]], dtype=object)
        past = np.maximum(len(self.waiting) + np.arange(len(labels)) - delay, 0)
        return [sequence[self.n - k + so_far[past]] for k in range(1, self.n + 1)]

    @staticmethod
    def _kept(rows: np.ndarray, n: int) -> list[str | None]:
        """The last n labels among rows, the newest last; None before the first."""
        found = [label for label in rows.tolist() if label is not None][-n:]
        return [*[None] * (n - len(found)), *found]

    def note(self, labels: np.ndarray, weights: np.ndarray | None) -> None:
        """These rows have been learned."""
        rows = np.array([*self.waiting, *_texts(labels, weights)], dtype=object)
        first = max(0, len(rows) - self.delay)
        self.waiting = rows[first:].tolist()
        self.arrived = self._kept(np.array([*self.arrived, *rows[:first]], dtype=object), self.n)

    # --- files --------------------------------------------------------------------------------------------------

    def to_plain(self) -> dict[str, Any]:
        """All of it, as plain data."""
        names = None if self.names is None else list(self.names)
        return {"names": names, "arrived": list(self.arrived), "waiting": list(self.waiting)}

    def take_plain(self, data: Any) -> None:
        """Take back what ``to_plain`` gave."""
        names, arrived, waiting = saved.read("last labels", data, _KINDS).values()
        if len(arrived) != self.n or len(waiting) > self.delay or (names is not None and len(names) != self.n):
            raise ModelFileError(f"its last labels are not those of lag={self.n} and delay={self.delay}")
        self.names = None if names is None else tuple(names)
        self.arrived, self.waiting = list(arrived), list(waiting)


def _is_there(label: str | None) -> bool:
    return label is not None


def _texts(labels: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Labels as text; None where a row has no label or no weight."""
    cells = index_objects(labels.tolist(), "y")
    out = np.array([*(str(plain(value)) for value in cells.values), None], dtype=object)[cells.index]
    if weights is not None:
        out[weights == 0] = None
    return out
