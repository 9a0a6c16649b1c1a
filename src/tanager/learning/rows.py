"""Rows that are kept, as codes: those of a window, and those that a structure is chosen by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from tanager.counts.block import Block
from tanager.counts.joint import JointCounts
from tanager.counts.memory import check_budget
from tanager.encoding.codes import widened
from tanager.encoding.typing import RowOfCodes
from tanager.errors import DataError

_NOTHING = 1e-9  # less weight than this is rounding

# Arrays of codes and labels, and the memory of the codes (where they are bytes), of the labels and of the weights; the
# first label that does not fit.
_Near = tuple[np.ndarray, np.ndarray, memoryview | None, memoryview, "memoryview[float]", int]


class KeptRows:
    """Encoded rows, oldest first, in arrays that grow at the end and are dropped at the front.

    ``scale`` is that of the counts they are in: the array of weights holds true weights times it, as cells do. Times
    and numbers (of Gaussian columns) are kept where they come with the first rows.
    """

    def __init__(self) -> None:
        self._start = self._end = 0
        self._arrays: dict[str, np.ndarray] = {}
        self._none: dict[str, np.ndarray] = {}  # what there is before the first rows
        self.scale, self.halvings = 1.0, 0
        self.changes = 0  # goes up with whatever else happens to rows than that more are appended
        self._look_at = 1000
        self._near: _Near | None = None  # see ``_memory_of``

    def __getstate__(self) -> dict[str, Any]:
        """All but what can be made again."""
        return self.__dict__ | {"_near": None}

    @classmethod
    def of(cls, block: Block) -> KeptRows:
        """These rows, and no others."""
        rows = cls()
        rows.append(block)
        return rows

    @classmethod
    def none(cls, n_columns: int, n_numbers: int) -> KeptRows:
        """No rows, of so many columns; those that come say whether rows have times."""
        rows = cls()
        rows._none = {
            "codes": np.zeros((0, n_columns), np.uint8),
            "labels": np.zeros(0, np.uint8),
            "weights": np.zeros(0),
            **({"numbers": np.zeros((0, n_numbers))} if n_numbers else {}),
        }
        return rows

    def append(self, block: Block) -> None:
        """Keep a copy of the rows that count; their weights are true ones.

        A row without weight would still be one that a structure or a threshold is chosen by.
        """
        block = block.counted()
        raw = np.full(len(block), self.scale) if block.weights is None else block.weights * self.scale
        new = {"codes": block.codes, "labels": block.labels, "weights": raw}
        beside = {"times": block.times, "numbers": block.numbers}
        self._put(new | {name: cells for name, cells in beside.items() if cells is not None})

    def append_row(self, codes: RowOfCodes, label: int, weight: float) -> bool:
        """``append`` for one row that counts, without time or numbers; False where there is no room for it yet."""
        arrays, at, near = self._arrays, self._end, self._near
        if near is None or near[0] is not arrays["codes"] or near[1] is not arrays["labels"]:
            if len(arrays) != 3:
                return False
            near = self._near = self._memory_of(arrays["codes"], arrays["labels"], arrays["weights"])
        kept, own, flat, labels, raw, most = near
        if at == len(own) or label >= most:
            return False
        if isinstance(codes, bytes):
            if flat is None:
                return False
            n = len(codes)
            flat[at * n : at * n + n] = codes
        elif codes.dtype == kept.dtype:
            kept[at] = codes
        else:
            return False
        labels[at], raw[at] = label, weight * self.scale
        self._end = at + 1
        return True

    @staticmethod
    def _memory_of(codes: np.ndarray, labels: np.ndarray, raw: np.ndarray) -> _Near:
        """What a single row is written to: memory takes a number in less time than an array does."""
        in_bytes = codes.dtype == np.uint8 and codes.size > 0 and codes.flags.c_contiguous
        most = int(np.iinfo(labels.dtype).max)
        weights = cast("memoryview[float]", raw.data)
        return codes, labels, codes.data.cast("B") if in_bytes else None, labels.data, weights, most

    def _put(self, new: dict[str, np.ndarray]) -> None:
        m = len(new["labels"])
        if not self._arrays:
            self._arrays = {name: array[:0].copy() for name, array in new.items()}
        for name in ("codes", "labels"):
            if new[name].dtype != self._arrays[name].dtype:
                new[name] = widened(new[name])
                self._arrays[name] = widened(self._arrays[name])
        if self._end + m > len(self._arrays["labels"]):
            self._make_room(len(self) + m)
        for name, array in self._arrays.items():
            array[self._end : self._end + m] = new[name]
        self._end += m

    def _make_room(self, n: int) -> None:
        """Move to larger arrays; views of the old ones stay as they are."""
        capacity = n if len(self) == 0 and n > 16 else max(16, n + n // 2)
        for name, array in self._arrays.items():
            larger = np.empty((capacity, *array.shape[1:]), dtype=array.dtype)
            larger[: len(self)] = array[self._start : self._end]
            self._arrays[name] = larger
        self._start, self._end = 0, len(self)

    def __len__(self) -> int:
        return self._end - self._start

    def part(self, name: str) -> np.ndarray:
        """One of the arrays, by name: "codes", "labels", "weights" (times the scale), "times", "numbers"; a view."""
        return (self._arrays or self._none)[name][self._start : self._end]

    @property
    def block(self) -> Block:
        """All rows with their true weights (None where all are 1); views where nothing has faded."""
        return self.since(0)

    def since(self, first: int) -> Block:
        """The same of the rows from one on."""
        raw = self.raw[first:]
        weights = raw if self.scale == 1.0 else raw / self.scale
        codes, labels = self.part("codes")[first:], self.part("labels")[first:]
        times, numbers = (None if cells is None else cells[first:] for cells in (self.times, self.numbers))
        return Block(codes, labels, None if (weights == 1.0).all() else weights, times, numbers)

    @property
    def raw(self) -> np.ndarray:
        """Weights times the scale of the counts; a view."""
        return self.part("weights")

    @property
    def times(self) -> np.ndarray | None:
        """When the rows happened, where they have times; a view."""
        return self.part("times") if "times" in self._arrays else None

    @property
    def numbers(self) -> np.ndarray | None:
        """Cells of Gaussian columns, where they are kept; a view."""
        return self.part("numbers") if "numbers" in (self._arrays or self._none) else None

    @property
    def weight(self) -> float:
        """Total weight of the rows kept."""
        return float(self.raw.sum()) / self.scale if self._arrays else 0.0

    def follow(self, counts: JointCounts) -> None:
        """The counts have faded: weights are what they were when all fade alike."""
        if self._arrays and counts.halvings != self.halvings:
            self.raw[:] = counts.raw_now(self.raw, self.halvings)
        self.changes += counts.scale != self.scale
        self.scale, self.halvings = counts.scale, counts.halvings

    @property
    def queue(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Codes, labels and raw weights, oldest first; views."""
        return self.part("codes"), self.part("labels"), self.raw

    def row(self, at: int) -> tuple[RowOfCodes, int, float]:
        """Codes, label and true weight of one row."""
        arrays, at = self._arrays, self._start + at
        codes = arrays["codes"][at]
        return (
            codes.tobytes() if codes.dtype == np.uint8 else codes,
            arrays["labels"].item(at),
            arrays["weights"].item(at) / self.scale,
        )

    @property
    def oldest(self) -> tuple[np.ndarray, int, float]:
        """Codes, label and raw weight of the oldest row."""
        arrays, at = self._arrays, self._start
        return arrays["codes"][at], arrays["labels"].item(at), arrays["weights"].item(at)

    def fade_classes(self, factors: np.ndarray) -> None:
        """The rows of class c fade by factors[c]."""
        self.changes += 1
        if self._arrays:
            self.raw[:] *= factors[self.part("labels")]

    def sort(self) -> None:
        """Oldest first, where rows have times."""
        if self.times is not None:
            self.keep(np.argsort(self.times, kind="stable"))

    def prune(self, least: float) -> None:
        """Drop the oldest rows that weigh nothing any more; looked at only now and then."""
        if len(self) > self._look_at:
            heavy = self.raw > least * self.scale
            self.drop(int(np.argmax(heavy)) if heavy.any() else len(self))
            self._look_at = 2 * len(self) + 1000

    def drop(self, n: int) -> None:
        """Drop the oldest rows."""
        self.changes += n > 0
        self._start += n

    def drop_last(self, n: int) -> None:
        """Drop the newest rows."""
        self.changes += n > 0
        self._end -= n

    def keep(self, which: np.ndarray) -> None:
        """Keep some rows only."""
        self.changes += 1
        self._arrays = {name: self.part(name)[which] for name in self._arrays}
        self._start, self._end = 0, len(self._arrays["labels"])

    def without(self, block: Block) -> np.ndarray:
        """What is left of the raw weights when these rows are taken off the kept rows of the same values and class.

        The newest go first. Without weights whole rows go, whatever they weigh now.
        """
        left = self.raw.copy() if self._arrays else np.zeros(0)
        places: dict[bytes, list[int]] = {}
        for at in range(len(self)):
            places.setdefault(_key(self.part("codes")[at], self.part("labels")[at], self.numbers, at), []).append(at)
        for r, (row, label) in enumerate(zip(block.codes, block.labels, strict=True)):
            kept = places.get(_key(row, label, block.numbers, r), [])
            if block.weights is None and kept:
                left[kept.pop()] = 0.0
                continue
            rest = 1.0 if block.weights is None else float(block.weights[r]) * self.scale
            while rest > _NOTHING * self.scale:
                if not kept:
                    raise DataError(f"row {r} was never learned with this class and weight; nothing was changed.")
                taken = min(rest, left[kept[-1]])
                left[kept[-1]] -= taken
                rest -= taken
                if left[kept[-1]] <= _NOTHING * self.scale:
                    kept.pop()
        return left

    def weigh(self, raw: np.ndarray) -> None:
        """Give the rows other raw weights; those that weigh nothing are dropped."""
        if self._arrays:
            self.raw[:] = raw
            self.keep(raw > _NOTHING * self.scale)

    def move_classes(self, places: np.ndarray) -> None:
        """Class codes have moved: code c is now places[c]."""
        if self._arrays:
            dtype = np.uint8 if len(places) and places.max() < 255 else np.uint16
            self.keep(np.arange(len(self)))
            self._arrays["labels"] = places[self._arrays["labels"]].astype(dtype)

    def map_codes(self, maps: Mapping[int, np.ndarray]) -> None:
        """Columns were cut: code c of column i is now maps[i][c]."""
        if not self._arrays or not maps:
            return
        codes = self.part("codes").copy()
        for i, known in maps.items():
            table = np.full(np.iinfo(codes.dtype).max + 1, np.iinfo(codes.dtype).max, dtype=codes.dtype)
            table[: len(known)] = known
            codes[:, i] = table[codes[:, i]]
        self.recode(codes)

    def recode(self, codes: np.ndarray) -> None:
        """The same rows have other codes."""
        self.keep(np.arange(len(self)))
        self._arrays["codes"] = codes

    def add_columns(self, n_new: int) -> None:
        """Further columns have come; they are missing in all rows so far."""
        if self._arrays:
            self.keep(np.arange(len(self)))
            codes = self._arrays["codes"]
            missing = np.full((len(codes), n_new), np.iinfo(codes.dtype).max, dtype=codes.dtype)
            self._arrays["codes"] = np.hstack([codes, missing])

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays, room for rows to come included."""
        return sum(array.nbytes for array in self._arrays.values())

    def check_budget(self, max_memory: Any, name: str, way_out: str = "Raise max_memory.") -> None:
        """Refuse to keep more rows than the budget allows."""
        check_budget(self.nbytes, max_memory, f"{name} keeps the rows it chooses its structure by, which", way_out)


def _key(row: np.ndarray, label: Any, numbers: np.ndarray | None, r: int) -> bytes:
    """What rows have in common that are the same: values, class, and the numbers (row r) of Gaussian columns."""
    exact = b"" if numbers is None else np.where(np.isnan(numbers[r]), np.nan, numbers[r] + 0.0).tobytes()
    return widened(row).tobytes() + int(label).to_bytes(4, "little") + exact
