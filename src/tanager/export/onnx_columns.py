"""From the raw cells of rows to slots, in an ONNX graph."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tanager.export.columns import Reading, thresholds
from tanager.export.graph import Graph

BUCKETS = (8, 32, 128, 512, 2048)  # columns with about as many cut points are compared together


class Cells:
    """The raw cells of rows: a name per kind of tensor, and which columns lie in it."""

    def __init__(self, graph: Graph, columns: Sequence[Reading], text: str | None, numbers: str | None) -> None:
        self.graph, self.columns, self.text, self.numbers = graph, columns, text, numbers
        self.words = [i for i, column in enumerate(columns) if column.is_text]
        self.of_numbers = [i for i, column in enumerate(columns) if not column.is_text]

    def slots(self) -> str:
        """The slots of all columns, (rows, columns)."""
        parts = [(self.words, self._words()), *self._compared(), *self._codes()]
        parts = [(columns, name) for columns, name in parts if columns]
        graph = self.graph
        together = parts[0][1] if len(parts) == 1 else graph("Concat", *(name for _, name in parts), axis=1)
        places = [i for columns, _ in parts for i in columns]
        if places == sorted(places):
            return together
        return graph("Gather", together, np.argsort(places), axis=1)

    def _words(self) -> str:
        """Words of all columns are numbered, then each column has a slot for every word."""
        if not self.words:
            return ""
        graph, assert_text = self.graph, self.text
        assert assert_text is not None
        columns = [self.columns[i] for i in self.words]
        every = list(dict.fromkeys(word for c in columns for word in (*c.words, c.missing_word)))
        place = {word: at for at, word in enumerate(every)}
        table = np.array([[c.unseen] * (len(every) + 1) for c in columns], dtype=np.int32)
        for own, column in zip(table, columns, strict=True):
            for word, slot in {column.missing_word: column.missing, **column.words}.items():
                own[place[word]] = slot
        found = graph(
            "LabelEncoder",
            assert_text,
            domain="ai.onnx.ml",
            keys_strings=every,
            values_int64s=list(range(len(every))),
            default_int64=len(every),
        )
        first = np.arange(len(columns)) * (len(every) + 1)
        return graph("Gather", table.ravel(), graph("Add", found, first))

    def numbers_of(self, columns: Sequence[int]) -> str:
        """The numbers of some columns, (rows, columns)."""
        assert self.numbers is not None
        if list(columns) == self.of_numbers:
            return self.numbers
        return self.graph("Gather", self.numbers, np.array([self.of_numbers.index(i) for i in columns]), axis=1)

    def _compared(self) -> list[tuple[list[int], str]]:
        """Columns that are compared with cut points or values, those with about as many of them together."""
        found = {i: thresholds(c) for i, c in enumerate(self.columns) if c.kind in ("bins", "values") and not c.is_text}
        parts, least = [], 0
        for most in (*BUCKETS, 2**31):
            some = [i for i, (ends, _) in found.items() if least < len(ends) <= most]
            if some:
                parts.append((some, self._by_ends(some, [found[i] for i in some])))
            least = most
        return parts

    def _by_ends(self, columns: list[int], found: Sequence[tuple[np.ndarray, np.ndarray]]) -> str:
        graph, most = self.graph, max(len(ends) for ends, _ in found)
        ends = np.full((len(found), most), np.nan)  # nothing is at most NaN
        table = np.zeros((len(found), most + 1), dtype=np.int32)
        for at, (own, slots) in enumerate(found):
            ends[at, : len(own)] = own
            table[at, : len(slots)] = slots
        x = graph("Unsqueeze", self.numbers_of(columns), np.array([2]))
        above = graph.sum(graph.cast(graph("LessOrEqual", x, ends), np.int32), 2)
        return graph(
            "Gather", table.ravel(), graph("Add", above, (np.arange(len(found)) * (most + 1)).astype(np.int32))
        )

    def _codes(self) -> list[tuple[list[int], str]]:
        """Columns of codes; a continuous column, which has no slot but missing, is one without codes."""
        columns = [i for i, c in enumerate(self.columns) if c.kind in ("codes", "number")]
        if not columns:
            return []
        graph = self.graph
        own = [self.columns[i] for i in columns]
        limit, unseen, missing = (
            np.array([getattr(c, name) for c in own], dtype=kind)
            for name, kind in (("n_codes", np.float64), ("unseen", np.int32), ("missing", np.int32))
        )
        x = self.numbers_of(columns)
        known = graph("And", graph("GreaterOrEqual", x, 0.0), graph("Less", x, limit))
        safe = graph.cast(graph("Where", known, x, 0.0), np.int32)
        new = graph("GreaterOrEqual", x, np.where(np.array([c.kind == "codes" for c in own]), limit, np.nan))
        return [(columns, graph("Where", known, safe, graph("Where", new, unseen, missing)))]
