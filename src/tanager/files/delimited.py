"""Comma-, semicolon-, tab- and bar-separated text: split into blocks at line ends, which threads parse in parallel.

Whether a column holds numbers is decided from blocks spread over the file, before anything is learned. Where a block
cannot be parsed after all, ``diagnosis`` finds the line to name in the error.
"""

from __future__ import annotations

import contextlib
import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from typing import IO, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from tanager.delimiters import DELIMITERS, sniff_delimiter
from tanager.errors import DataError, OptionError
from tanager.files.diagnosis import Diagnosis
from tanager.files.input_file import InputFile
from tanager.files.source import NUMBER, TEXT, Source, open_dictionaries
from tanager.files.text_blocks import (
    check_encoding,
    count_byte,
    decode,
    line_end,
    map_ahead,
)

BLOCK = 4_000_000  # bytes parsed at a time: enough to keep a thread busy, small enough to hold a few of them
SPREAD = 32  # blocks of a sample
SAMPLE_BYTES = 4_000_000  # from which the kinds of columns are decided
LONGEST = 64_000_000  # bytes of a line; a quote that is never closed must not make a line of the whole file
BOM = b"\xef\xbb\xbf"
HEXADECIMAL = re.compile(rb"0[xX]")
CODES = re.compile(rb"(?<![0-9.])0[0-9]|[0-9]{16}")  # a leading zero, or a number that a float may round


class Parsed(NamedTuple):
    """A parsed block: its rows, or None where it cannot be parsed, and its number of lines."""

    table: pa.Table | None
    n_lines: int


class Delimited(Source):
    """Text with one row per line, and column names in the first line."""

    def __init__(self, file: InputFile, delimiter: str | None, missing: Sequence[str], encoding: str) -> None:
        if delimiter is not None and len(delimiter.encode()) != 1:
            raise OptionError(f"delimiter={delimiter!r} must be one character, such as ',' or ';'.")
        self._file = file
        self._missing = list(missing)
        self._encoding = encoding = check_encoding(encoding)
        stream = file.open()
        # Of streams that cannot seek the head is also the sample.
        n_bytes = BLOCK if file.gzipped or file.stdin else SAMPLE_BYTES // SPREAD
        with file.gzip_errors(), contextlib.nullcontext() if file.stdin else stream:
            self._head, self._ended = stream.read(n_bytes), False
            start = self._text_start()
            while not (end := line_end(self._head, DELIMITERS.encode(), first=True, start=start)) and not self._ended:
                more = stream.read(len(self._head)) if len(self._head) < LONGEST else b""
                self._head, self._ended = self._head + more, not more
        self._ended = self._ended or len(self._head) < n_bytes
        self._rest = stream if file.stdin else None  # standard input cannot be opened again
        self._start = end or len(self._head)
        header = decode(self._head[start : self._start], encoding, file.name, 1)
        if "\r" in re.sub(r'"[^"]*"', "", header).rstrip("\r\n"):
            raise DataError(f"{file.name} has CR line endings (classic Mac). Save it with LF or CRLF.")
        self._delimiter = delimiter or sniff_delimiter(header)
        super().__init__(file.name, file.size, self._names(header))
        self._header_lines = self._head.count(b"\n", 0, self._start)
        self.repeatable = not file.stdin
        self._detected: dict[str, pa.DataType] = {}
        self._n_read = self._n_handed_on = 0  # bytes of the blocks of the pass that is under way

    def _names(self, header: str) -> list[str]:
        """The names in the header line."""
        try:
            return [
                name.strip() for name in next(csv.reader(io.StringIO(header, newline=""), delimiter=self._delimiter))
            ]
        except (csv.Error, StopIteration):
            raise DataError(
                f"{self._file.name}: the header line cannot be read; it begins with {header[:40]!r}. Expected column "
                f"names of at most {csv.field_size_limit():,} characters each, and quotes that are closed."
            ) from None

    @property
    def done(self) -> float | None:
        """The fraction of the file whose rows were handed on: it is read and parsed some blocks ahead."""
        read = self._file.done
        return read if read is None or self._n_read == 0 else read * self._n_handed_on / self._n_read

    def _text_start(self) -> int:
        """Where the text begins, after a byte order mark. Raises DataError for files that are not text."""
        name, head = self._file.name, self._head
        if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise DataError(f"{name} is UTF-16 text. Save it as UTF-8 (iconv -f UTF-16 -t UTF-8).")
        if b"\0" in head[:4096]:
            raise DataError(
                f"{name} is not text. Files can be CSV, TSV, Parquet, Arrow (Feather) or ARFF; CSV may be gzipped."
            )
        start = len(BOM) if head.startswith(BOM) else 0
        if not head[start:].strip():
            raise DataError(f"{name} is empty. Expected a header line with column names, then rows.")
        return start + len(head[start:]) - len(head[start:].lstrip(b"\r\n"))

    # --- blocks -------------------------------------------------------------------------------------------------

    def _open(self) -> tuple[IO[bytes], bytes]:
        """A stream, and the bytes after the header that were read from it already."""
        rest, self._rest = self._rest, None
        if rest is not None:
            return rest, self._head[self._start :]
        stream = self._file.open()
        stream.read(self._start)
        return stream, b""

    def _blocks(self) -> Iterator[bytes]:
        """The bytes after the header, split at line ends."""
        stream, rest = self._open()
        self._n_read = self._n_handed_on = 0
        with stream, self._file.gzip_errors():
            while data := stream.read(BLOCK):
                if b'"' in rest or b'"' in data:  # a quoted cell may have begun in the rest
                    rest, data = b"", rest + data
                if end := line_end(data, self._delimiter.encode()):
                    block = b"".join([rest, memoryview(data)[:end]])
                    self._n_read += len(block)
                    yield block
                    rest = data[end:]
                else:
                    rest += data
                    if len(rest) > LONGEST:
                        raise DataError(
                            f"{self.name}: a line has more than {LONGEST:,} bytes; it begins with {rest[:40]!r}. "
                            "Is a quote not closed there?"
                        )
        if rest.strip():
            self._n_read += len(rest)
            yield rest

    def _tables(self, columns: list[str]) -> Iterator[pa.Table]:
        kinds = {name: self._kind(name) for name in columns}
        line = self._header_lines + 1
        for block, (table, n_lines) in map_ahead(self._parser(kinds), self._blocks()):
            if table is None:
                self._diagnosis(kinds).raise_error(block, line)
            line += n_lines
            self._n_handed_on += len(block)
            if table.num_rows:
                yield table

    def _parser(self, kinds: dict[str, pa.DataType]) -> Callable[[bytes], Parsed]:
        def parse(block: bytes) -> Parsed:
            n_lines = count_byte(block, b"\n", 0, len(block))
            try:
                return Parsed(self._parse(block, kinds), n_lines)
            except (pa.ArrowInvalid, UnicodeDecodeError):
                return Parsed(None, n_lines)

        return parse

    def _parse(self, block: bytes, kinds: dict[str, pa.DataType] | None, *, skip_bad: bool = False) -> pa.Table:
        """The rows of a block; without kinds all columns, of the types that Arrow infers."""
        if self._encoding != "utf-8" or skip_bad:  # Arrow cannot show a row to its handler that is not UTF-8
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
        if not self._detected:
            self._detected = self._detect()
        return self._detected[name]

    def _detect(self) -> dict[str, pa.DataType]:
        """Numbers where all cells of a sample are numbers, else text."""
        block = b"".join(self._spread(SAMPLE_BYTES))
        try:
            schema = self._parse(block, None, skip_bad=True).schema if block.strip() else None
        except (pa.ArrowInvalid, UnicodeDecodeError):
            schema = None  # the pass over all rows will raise the error
        if schema is None:
            return dict.fromkeys(self.columns, TEXT)
        numbers = [field.name for field in schema if _is_number(field.type)]
        if HEXADECIMAL.search(block):
            numbers = [name for name in numbers if self._holds_numbers(block, name)]
        if CODES.search(block):
            numbers = [name for name in numbers if not self._holds_codes(block, name)]
        return {name: NUMBER if name in numbers else TEXT for name in self.columns}

    def _holds_codes(self, block: bytes, name: str) -> bool:
        """Whether a whole number has a leading zero, as zip codes have, or is too large for a float to be exact."""
        cells = pc.unique(self._parse(block, {name: pa.string()}, skip_bad=True)[name]).drop_null()
        whole = cells.filter(pc.match_substring_regex(cells, r"^\s*[-+]?[0-9]+\s*$")).to_pylist()
        return any(re.match(r"\s*[-+]?0[0-9]", text) or abs(int(text)) > 2**53 for text in whole)

    def _holds_numbers(self, block: bytes, name: str) -> bool:
        """Whether all cells of a column are numbers with and without a fraction; 0x10 is taken for the latter alone."""
        try:
            self._parse(block, {name: NUMBER}, skip_bad=True)
        except pa.ArrowInvalid:
            return False
        return True

    def _spread(self, n_bytes: int) -> Iterator[bytes]:
        """Blocks from all over the file, or its first bytes where it cannot seek."""
        head = self._head[self._start :]
        size = (self.size or 0) - self._start
        each = max(n_bytes // SPREAD, 65536)
        if self._file.stdin or self._file.gzipped or size <= len(head):
            end = line_end(head, self._delimiter.encode())
            yield head[:end] if end and not self._ended else head
            return
        starts = [0] if size <= each * SPREAD else [i * size // SPREAD for i in range(SPREAD)]
        each = size if len(starts) == 1 else each
        with self._file.path.open("rb") as file:
            for start in starts:
                # One byte earlier, so that a block that begins right after a newline does not lose its first line.
                file.seek(self._start + start - bool(start))
                if start:
                    file.readline()
                data = file.read(each)
                yield data[: data.rfind(b"\n") + 1] or data

    def _sample(self, columns: list[str], n_rows: int) -> Iterator[pa.Table]:
        if self._file.stdin or self._file.gzipped:
            return super()._sample(columns, n_rows)
        kinds = {name: self._kind(name) for name in columns}
        head = self._head[self._start :]
        per_row = len(head) / max(1, head.count(b"\n"))
        blocks = [block for block in self._spread(int(per_row * n_rows * 1.1)) if block.strip()]
        try:
            tables = [self._parse(block, kinds, skip_bad=True) for block in blocks]
            return iter([table for table in tables if table.num_rows])
        except (pa.ArrowInvalid, UnicodeDecodeError):
            return self._tables(columns)  # which raises the error, with its line

    def _diagnosis(self, kinds: dict[str, pa.DataType]) -> Diagnosis:
        requested = frozenset(self.kinds)
        return Diagnosis(self.name, self.columns, self._delimiter, self._encoding, self._missing, kinds, requested)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))
