"""Comma-, semicolon-, tab- and bar-separated text: cut into blocks at line ends, which threads parse side by side.

Whether a column holds numbers is decided from blocks that are spread over the file, before anything is learned. When a
block cannot be read after all, a second, slow look at it finds the line to speak of.
"""

from __future__ import annotations

import contextlib
import csv
import io
import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import IO, NamedTuple, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from tanager.errors import DataError, OptionError
from tanager.files.places import Place
from tanager.files.source import NUMBER, TEXT, Source, open_dictionaries

BLOCK = 4_000_000
SPREAD = 32  # blocks of a sample
LOOK = 4_000_000  # bytes that kinds are decided from
BOM = b"\xef\xbb\xbf"
DELIMITERS = ",;\t|"


class Parsed(NamedTuple):
    """A block after parsing: its rows, or None where it cannot be read, and how many lines it has."""

    table: pa.Table | None
    n_lines: int


class Delimited(Source):
    """Text with one row per line, and names in the first line."""

    def __init__(self, place: Place, delimiter: str | None, missing: Sequence[str], encoding: str) -> None:
        if delimiter is not None and len(delimiter.encode()) != 1:
            raise OptionError(f"delimiter={delimiter!r}: give one character, such as ',' or ';'.")
        self._place = place
        self._missing = list(missing)
        self._encoding = encoding
        stream = place.open()
        n_bytes = BLOCK if place.gzipped or place.stdin else LOOK // SPREAD
        with place.reading(), contextlib.nullcontext() if place.stdin else stream:
            self._head = stream.read(n_bytes)
        self._ended = len(self._head) < n_bytes
        self._rest = stream if place.stdin else None
        start = self._refuse_other_files()
        end = line_end(self._head, DELIMITERS.encode(), first=True, start=start)
        self._start = end or len(self._head)
        header = decode(self._head[start : self._start], encoding, place.name, 1)
        if "\r" in header.rstrip("\r\n"):
            raise DataError(f"{place.name} has the line ends of an old Mac (CR). Save it with LF or CRLF.")
        self._delimiter = delimiter or sniff(header)
        names = next(csv.reader(io.StringIO(header.lstrip("\r\n"), newline=""), delimiter=self._delimiter))
        super().__init__(place.name, place.size, [name.strip() for name in names])
        self._header_lines = header.count("\n")
        self._guessed: dict[str, pa.DataType] = {}

    @property
    def repeatable(self) -> bool:  # type: ignore[override]
        return not self._place.stdin

    @property
    def done(self) -> float | None:
        return self._place.done

    def _refuse_other_files(self) -> int:
        """Where the text begins, behind a byte order mark."""
        name, head = self._place.name, self._head
        if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise DataError(f"{name} is UTF-16 text. Save it as UTF-8 (iconv -f UTF-16 -t UTF-8).")
        if b"\0" in head[:4096]:
            raise DataError(
                f"{name} is not text. Files can be CSV, TSV, Parquet, Arrow (Feather) or ARFF; CSV may be gzipped."
            )
        if not head.strip():
            raise DataError(f"{name} is empty. A table needs a line of column names, and rows.")
        start = len(BOM) if head.startswith(BOM) else 0
        return start + len(head[start:]) - len(head[start:].lstrip(b"\r\n"))

    # --- blocks -------------------------------------------------------------------------------------------------

    def _open(self) -> tuple[IO[bytes], bytes]:
        """A stream, and the bytes behind the header that were read from it already."""
        rest, self._rest = self._rest, None
        if rest is not None:
            return rest, self._head[self._start :]
        stream = self._place.open()
        stream.read(self._start)
        return stream, b""

    def _blocks(self) -> Iterator[bytes]:
        """The bytes behind the header, cut at line ends."""
        stream, rest = self._open()
        with stream, self._place.reading():
            while data := stream.read(BLOCK):
                if b'"' in rest or b'"' in data:  # a line may have begun in the rest
                    rest, data = b"", rest + data
                if end := line_end(data, self._delimiter.encode()):
                    yield b"".join([rest, memoryview(data)[:end]])
                    rest = data[end:]
                else:
                    rest += data
        if rest.strip():
            yield rest

    def _tables(self, columns: list[str]) -> Iterator[pa.Table]:
        parse = self._parser(columns)
        line = self._header_lines + 1
        for block, (table, n_lines) in ahead(parse, self._blocks()):
            if table is None:
                self._explain(block, line, columns)
            line += n_lines
            if table.num_rows:
                yield table

    def _parser(self, columns: list[str]) -> Callable[[bytes], Parsed]:
        kinds = {name: self._kind(name) for name in columns}

        def parse(block: bytes) -> Parsed:
            n_lines = _count(block, b"\n", 0, len(block))
            try:
                return Parsed(self._parse(block, kinds), n_lines)
            except (pa.ArrowInvalid, UnicodeDecodeError):
                return Parsed(None, n_lines)

        return parse

    def _parse(self, block: bytes, kinds: dict[str, pa.DataType] | None, *, skip_bad: bool = False) -> pa.Table:
        """The rows of a block; without kinds all columns, of such kinds as Arrow finds."""
        if self._encoding != "utf-8":
            block = block.decode(self._encoding).encode()
        table = arrow_csv.read_csv(
            pa.BufferReader(block),
            arrow_csv.ReadOptions(use_threads=False, column_names=self.columns, block_size=len(block) + 1),
            arrow_csv.ParseOptions(
                delimiter=self._delimiter,
                newlines_in_values=True,
                invalid_row_handler=(lambda row: "skip") if skip_bad else None,
            ),
            arrow_csv.ConvertOptions(
                column_types=kinds,
                include_columns=list(kinds or ()),
                null_values=self._missing,
                strings_can_be_null=True,
            ),
        )
        return table if kinds is None else open_dictionaries(table)

    # --- kinds --------------------------------------------------------------------------------------------------

    def _kind(self, name: str) -> pa.DataType:
        if name in self.kinds:
            return self.kinds[name]
        if not self._guessed:
            self._guessed = self._guess()
        return self._guessed[name]

    def _guess(self) -> dict[str, pa.DataType]:
        """Numbers where every cell of a sample is one, else text."""
        block = b"".join(self._spread(LOOK))
        try:
            schema = self._parse(block, None, skip_bad=True).schema if block.strip() else None
        except (pa.ArrowInvalid, UnicodeDecodeError):
            schema = None  # the pass over all rows says what is wrong
        if schema is None:
            return dict.fromkeys(self.columns, TEXT)
        return {field.name: NUMBER if _is_number(field.type) else TEXT for field in schema}

    def _spread(self, n_bytes: int) -> Iterator[bytes]:
        """Blocks from all over the file, or its first bytes where it cannot be read from any place."""
        head = self._head[self._start :]
        size = (self.size or 0) - self._start
        each = max(n_bytes // SPREAD, 65536)
        if self._place.stdin or self._place.gzipped or size <= len(head):
            end = line_end(head, self._delimiter.encode())
            yield head[:end] if end and not self._ended else head
            return
        starts = [0] if size <= each * SPREAD else [i * size // SPREAD for i in range(SPREAD)]
        each = size if len(starts) == 1 else each
        with self._place.path.open("rb") as file:
            for start in starts:
                file.seek(self._start + start - bool(start))
                if start:
                    file.readline()
                data = file.read(each)
                yield data[: data.rfind(b"\n") + 1] or data

    def _sample(self, columns: list[str], n_rows: int) -> Iterator[pa.Table]:
        if self._place.stdin or self._place.gzipped:
            return super()._sample(columns, n_rows)
        kinds = {name: self._kind(name) for name in columns}
        head = self._head[self._start :]
        per_row = len(head) / max(1, head.count(b"\n"))
        blocks = [block for block in self._spread(int(per_row * n_rows * 1.1)) if block.strip()]
        try:
            tables = [self._parse(block, kinds, skip_bad=True) for block in blocks]
            return iter([table for table in tables if table.num_rows])
        except (pa.ArrowInvalid, UnicodeDecodeError):
            return self._tables(columns)  # which says what is wrong, and where

    # --- what is wrong ------------------------------------------------------------------------------------------

    def _explain(self, block: bytes, line: int, columns: list[str]) -> NoReturn:
        """Find the first line of a block that cannot be read, and refuse it."""
        reader = csv.reader(
            io.StringIO(decode(block, self._encoding, self.name, line), newline=""), delimiter=self._delimiter
        )
        rows, lines = [], []
        try:
            for row in reader:
                if row:
                    rows.append(row)
                    lines.append(line + reader.line_num - 1)
                    self._check_length(
                        row, lines[-1], last=not block.endswith(b"\n") and reader.line_num > block.count(b"\n")
                    )
        except csv.Error as error:
            raise DataError(f"{self.name}, line {line + reader.line_num - 1:,}: {error}.") from None
        wrong = [(at, name) for name in columns if (at := self._first_wrong(name, rows)) is not None]
        if wrong:
            at, name = min(wrong)
            raise DataError(self._not_a_number(lines[at], name, rows[at][self.columns.index(name)]))
        raise DataError(f"{self.name}, lines {line:,} to {line + block.count(10):,}: the cells cannot be read.")

    def _check_length(self, row: list[str], line: int, *, last: bool) -> None:
        if len(row) == len(self.columns):
            return
        cells = "1 cell" if len(row) == 1 else f"{len(row):,} cells"
        if len(row) < len(self.columns) and last:
            way_out = "The file ends in the middle of a line: copy it again, or delete that line."
        else:
            way_out = f"Cells are separated by {self._delimiter!r}; put cells that contain it into double quotes."
        raise DataError(
            f"{self.name}, line {line:,}: found {cells}, expected {len(self.columns):,} as in the header. {way_out}"
        )

    def _first_wrong(self, name: str, rows: list[list[str]]) -> int | None:
        """The first row whose cell is no number, in a column that should have them."""
        if self._kind(name) != NUMBER:
            return None
        i = self.columns.index(name)
        cells = pa.array([None if row[i] in self._missing else row[i].strip() for row in rows], pa.string())
        low, high = 0, len(cells)
        if _all_numbers(cells):
            return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if _all_numbers(cells[low:middle]) else (low, middle)
        return low

    def _not_a_number(self, line: int, name: str, cell: str) -> str:
        why = "numeric= asks for numbers" if name in self.kinds else "the rows that were looked at first hold numbers"
        return (
            f"{self.name}, line {line:,}, column {name!r}: {cell!r} is not a number ({why}). "
            f"Read the column as text with categorical=[{name!r}] (--categorical {name}), "
            f"or mark such cells as missing (--missing {cell})."
        )


def ahead(work: Callable[[bytes], Parsed], blocks: Iterator[bytes]) -> Iterator[tuple[bytes, Parsed]]:
    """Blocks and what became of them, in order; threads work on the next ones meanwhile."""
    n_threads = pa.cpu_count()
    waiting: deque[tuple[bytes, Future[Parsed]]] = deque()
    with ThreadPoolExecutor(n_threads) as pool:
        try:
            for block in blocks:
                waiting.append((block, pool.submit(work, block)))
                if len(waiting) > n_threads + 1:
                    block, future = waiting.popleft()
                    yield block, future.result()
            while waiting:
                block, future = waiting.popleft()
                yield block, future.result()
        finally:
            for _, future in waiting:
                future.cancel()


def line_end(data: bytes, delimiters: bytes, *, first: bool = False, start: int = 0) -> int:
    """Behind the last (or the first) line that is complete; 0 where there is none. Quoted cells may hold line ends.

    >>> line_end(b'a,b\\n1,"x\\ny",2\\n3,"p\\nq', b",")
    14
    """
    end = (data.find(b"\n", start) if first else data.rfind(b"\n")) + 1
    if data.find(b'"', start, end) < 0 or _count(data, b'"', start, end) % 2 == 0:
        return end
    # An odd number: either the line end is in a quoted cell, or a quote stands in the middle of some text.
    separators = re.escape(delimiters) + b"\r\n"
    cells = re.compile(rb"(?:^|(?<=[" + separators + rb']))"(?:[^"]|"")*(?:"|\Z)')
    hidden = [(match.start(), match.end()) for match in cells.finditer(data, start) if b"\n" in match.group()]
    ends = (match.end() for match in re.finditer(rb"\n", data[start:]))
    outside = [start + at for at in ends if not any(a < start + at <= b for a, b in hidden)]
    return (outside[0] if first else outside[-1]) if outside else 0


def _count(data: bytes, byte: bytes, start: int, end: int) -> int:
    """As ``data.count``, without holding up other threads."""
    return int(np.count_nonzero(np.frombuffer(data, np.uint8, end - start, start) == byte[0]))


def sniff(header: str) -> str:
    """The delimiter that a line of column names has most of, quoted names left out."""
    plain = re.sub(r'"[^"]*"', "", header)
    return max(DELIMITERS, key=plain.count)


def decode(data: bytes, encoding: str, name: str, line: int) -> str:
    """Bytes as text; a byte that is none is refused with its line."""
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        at = line + data[: error.start].count(b"\n")
        raise DataError(
            f"{name}, line {at:,}: the byte 0x{data[error.start]:02x} is not {encoding} text. "
            'Save the file as UTF-8, or say how it is encoded, for example encoding="latin-1".'
        ) from None


def _is_number(kind: pa.DataType) -> bool:
    return pa.types.is_integer(kind) or pa.types.is_floating(kind)


def _all_numbers(cells: pa.Array) -> bool:
    try:
        pc.cast(cells, NUMBER)
    except pa.ArrowInvalid:
        return False
    return True
