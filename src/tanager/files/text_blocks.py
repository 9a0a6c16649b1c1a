"""Delimited text as bytes: line ends, delimiters, decoding, and parsing in threads."""

from __future__ import annotations

import codecs
import re
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import numpy as np
import pyarrow as pa

from tanager.errors import DataError, OptionError

QUOTE, NEWLINE = b'"\n'
PROBE = 'az,AZ;09\t+1|-2.5"\r\n'  # what must be the same in every encoding: all that tells cells and numbers apart

Result = TypeVar("Result")


def map_ahead(work: Callable[[bytes], Result], blocks: Iterator[bytes]) -> Iterator[tuple[bytes, Result]]:
    """Blocks and their results, in order, while threads work on the next blocks.

    Only a few blocks are in flight, so that a fast reader does not fill the memory ahead of a slow consumer.
    """
    n_threads = pa.cpu_count()
    waiting: deque[tuple[bytes, Future[Result]]] = deque()
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
    """The position after the last (or the first) complete line; 0 where there is none. Quoted cells may hold newlines.

    >>> line_end(b'a,b\\n1,"x\\ny",2\\n3,"p\\nq', b",")
    14
    """
    end = (data.find(b"\n", start) if first else data.rfind(b"\n")) + 1
    if end <= start or data.find(b'"', start, end) < 0:  # almost all blocks are done here
        return end if end > start else 0
    cells = np.frombuffer(data, np.uint8)[start:]
    newlines = np.flatnonzero(cells == NEWLINE)
    outside = newlines[~_quoted(data, cells, newlines, delimiters + b"\r\n", start)]
    return start + int(outside[0 if first else -1]) + 1 if len(outside) else 0


def _quoted(data: bytes, cells: np.ndarray, places: np.ndarray, separators: bytes, start: int) -> np.ndarray:
    """Which of the places in ``cells``, the bytes from ``start``, are inside of quoted cells."""
    quotes = np.flatnonzero(cells == QUOTE)
    # Every second quote opens a cell, or is the second of two that stand for one in a cell: then their number tells.
    opening = quotes[::2]
    before = np.where(opening > 0, cells[opening - 1], NEWLINE)
    if np.isin(before, np.frombuffer(separators + b'"', np.uint8)).all():
        return np.searchsorted(quotes, places) % 2 == 1
    # Elsewhere there is a quote in the middle of a cell, which is part of its text.
    pattern = re.compile(rb"(?:(?<=[" + re.escape(separators) + rb'])|\A)"[^"]*(?:""[^"]*)*(?:"|\Z)')
    spans = [match.span() for match in pattern.finditer(data[start:])]
    begins, ends = np.array(spans, dtype=np.int64).reshape(-1, 2).T
    return np.searchsorted(begins, places) > np.searchsorted(ends, places, side="right")


def count_byte(data: bytes, byte: bytes, start: int, end: int) -> int:
    """Like ``data.count``, but without holding the GIL, which other threads need to parse."""
    return int(np.count_nonzero(np.frombuffer(data, np.uint8, end - start, start) == byte[0]))


def check_encoding(encoding: str) -> str:
    """The name of an encoding by which bytes are split into lines and cells before they are decoded; else an error."""
    try:
        name = codecs.lookup(encoding).name
        plain = PROBE.encode("ascii").decode(name) == PROBE
    except UnicodeError:
        plain = False
    except (LookupError, TypeError, ValueError):
        raise OptionError(
            f"encoding={encoding!r} is not the name of a text encoding. Give one, such as 'utf-8' or 'latin-1'."
        ) from None
    if not plain:
        raise OptionError(
            f"encoding={encoding!r}: such text is not read, because commas and line ends have other bytes in it. Save "
            f"the file as UTF-8 (iconv -f {encoding} -t UTF-8)."
        )
    return name


def decode(data: bytes, encoding: str, name: str, line: int) -> str:
    """Bytes as text. Raises DataError with the line of the first byte that cannot be decoded."""
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        at = line + data[: error.start].count(b"\n")
        raise DataError(
            f"{name}, line {at:,}: the byte 0x{data[error.start]:02x} is not {encoding} text. "
            'Save the file as UTF-8, or give its encoding, for example encoding="latin-1".'
        ) from None
