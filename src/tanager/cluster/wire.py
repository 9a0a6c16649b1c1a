"""What travels between the workers of one job: objects as compressed bytes, and how many are merged as a tree.

Bytes are pickled, so they are for workers that trust each other, as every engine pickles its work; a file that is kept
is written by ``tanager.save``, without code in it.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from typing import Any

FAN_IN = 16  # results merged together


def pack(thing: object) -> bytes:
    """An object as compressed bytes; counts of a part are mostly zeros."""
    import pyarrow as pa

    data = pickle.dumps(thing, protocol=5)
    packed: bytes = pa.compress(data, codec="zstd", asbytes=True)
    return len(data).to_bytes(8, "little") + packed


def unpack(data: bytes) -> Any:
    """The object in bytes that ``pack`` made."""
    import pyarrow as pa

    size = int.from_bytes(data[:8], "little")
    return pickle.loads(pa.decompress(data[8:], decompressed_size=size, codec="zstd"))


def merge_in_order(
    results: Iterable[bytes], merge: Callable[[list[bytes]], bytes], fan_in: int = FAN_IN
) -> bytes | None:
    """All results merged as a tree, neighbours with neighbours; None where there are none.

    Few are held at a time, however many come: less than ``fan_in`` of each level of the tree.

    >>> merge_in_order([b"a", b"b", b"c", b"d", b"e"], b"".join, fan_in=2)
    b'abcde'
    """
    levels: list[list[bytes]] = []
    for result in results:
        carried, level = result, 0
        while True:
            if level == len(levels):
                levels.append([])
            levels[level].append(carried)
            if len(levels[level]) < fan_in:
                break
            carried, levels[level] = merge(levels[level]), []
            level += 1
    rest: list[bytes] = []
    for waiting in levels:  # higher levels hold what came first
        rest = [*waiting, *rest]
        rest = [merge(rest)] if len(rest) > 1 else rest
    return rest[0] if rest else None
