"""Delimited text as bytes: line ends, delimiters, decoding, and parsing in threads."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import numpy as np
import pyarrow as pa

from tanager.errors import DataError

DELIMITERS = ",;\t|"

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
    # Almost all blocks are done here: no quotes, or all of them closed before the newline.
    if data.find(b'"', start, end) < 0 or count_byte(data, b'"', start, end) % 2 == 0:
        return end
    # An odd number: either the newline is in a quoted cell, or a quote in the middle of a cell is part of its text.
    separators = re.escape(delimiters) + b"\r\n"
    cells = re.compile(rb"(?:^|(?<=[" + separators + rb']))"(?:[^"]|"")*(?:"|\Z)')
    hidden = [(match.start(), match.end()) for match in cells.finditer(data, start) if b"\n" in match.group()]
    ends = (match.end() for match in re.finditer(rb"\n", data[start:]))
    outside = [start + at for at in ends if not any(a < start + at <= b for a, b in hidden)]
    return (outside[0] if first else outside[-1]) if outside else 0


def count_byte(data: bytes, byte: bytes, start: int, end: int) -> int:
    """Like ``data.count``, but without holding the GIL, which other threads need to parse."""
    return int(np.count_nonzero(np.frombuffer(data, np.uint8, end - start, start) == byte[0]))


def sniff_delimiter(header: str) -> str:
    """The most frequent delimiter of a header line, outside of quoted names."""
    plain = re.sub(r'"[^"]*"', "", header)
    return max(DELIMITERS, key=plain.count)


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
