"""Keys of requests to learn: a request that is sent again under its key is learned once.

    file    "tankey", version (2 bytes), CRC-32 of the rest (4), MessagePack: digests of keys, what was learned

The keys of the last 100,000 requests are kept, in memory (some 30 MB) and beside every snapshot; the log has those
since. Of a key only a digest is kept, and of the request another one: a key that comes back with other rows is a
mistake.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections import OrderedDict
from collections.abc import Iterable

import msgspec

from tanager.errors import DataError
from tanager.service.journal import JournalError

WINDOW = 100_000  # requests whose keys are remembered
MAGIC, VERSION = b"tankey", 1
_HEAD = struct.Struct("<6sHI")
_KEY_BYTES, _REQUEST_BYTES = 16, 8


class KeyReused(DataError):
    """The key of a request was used for another one before."""


class RequestKey(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """The key of a request, as digests of the key and of what was sent; and which of its ids were unknown, in bits."""

    digest: bytes
    request: bytes
    unknown: bytes = b""


class Learned(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """What became of a request with a key."""

    request: bytes
    sequence: int
    n_rows: int
    unknown: bytes = b""


KeyList = tuple[list[bytes], list[Learned]]


def request_key(key: str, request: bytes) -> RequestKey:
    """The key of a request with this content."""
    digest = hashlib.blake2b(key.encode(), digest_size=_KEY_BYTES).digest()
    return RequestKey(digest, hashlib.blake2b(request, digest_size=_REQUEST_BYTES).digest())


def pack_bits(chosen: list[str], ids: list[str]) -> bytes:
    """Which of some ids were chosen, a bit for each; nothing where none was.

    >>> unpack_bits(pack_bits(["c"], ["a", "b", "c"]), ["a", "b", "c"])
    ['c']
    """
    among = set(chosen)
    bits = sum(1 << place for place, one in enumerate(ids) if one in among)
    return bits.to_bytes((bits.bit_length() + 7) // 8, "little")


def unpack_bits(packed: bytes, ids: list[str]) -> list[str]:
    """The ids that were chosen."""
    bits = int.from_bytes(packed, "little")
    return [one for place, one in enumerate(ids) if bits >> place & 1]


class LearnedKeys:
    """The requests that were learned last, by their keys. The oldest is forgotten where there are too many."""

    def __init__(self, learned: Iterable[tuple[bytes, Learned]] = (), window: int = WINDOW) -> None:
        self.window = window
        self._learned = OrderedDict(learned)

    def __len__(self) -> int:
        return len(self._learned)

    def add(self, key: RequestKey, sequence: int, n_rows: int) -> None:
        """Remember that a request was learned."""
        self._learned[key.digest] = Learned(key.request, sequence, n_rows, key.unknown)
        if len(self._learned) > self.window:
            self._learned.popitem(last=False)

    def find(self, key: RequestKey) -> Learned | None:
        """What became of an earlier request with this key; raises KeyReused where that was another request."""
        found = self._learned.get(key.digest)
        if found is not None and found.request != key.request:
            raise KeyReused(
                f"the key was used before, for other content (entry {found.sequence}). A key belongs to one request; "
                "send this one under a new key."
            )
        return found

    def copy(self) -> KeyList:
        """All of them, oldest first. Quick: learning waits for it."""
        return list(self._learned), list(self._learned.values())


def keys_to_bytes(learned: KeyList) -> bytes:
    """Keys as the content of a file."""
    body = msgspec.msgpack.encode(learned)
    return _HEAD.pack(MAGIC, VERSION, zlib.crc32(body)) + body


def keys_from_bytes(data: bytes, source: str) -> LearnedKeys:
    """The keys in the content of a file; errors name `source`."""
    magic, version, crc = _HEAD.unpack_from(data) if len(data) >= _HEAD.size else (b"", 0, 0)
    if magic == MAGIC and version > VERSION:
        raise JournalError(f"{source} was written by a newer tanager (format {version}). Upgrade tanager to read it.")
    body = data[_HEAD.size :]
    if magic != MAGIC or version != VERSION or zlib.crc32(body) != crc:
        raise JournalError(f"{source} is damaged: its checksum does not match.")
    try:
        return LearnedKeys(zip(*msgspec.msgpack.decode(body, type=KeyList), strict=True))
    except (msgspec.MsgspecError, ValueError) as error:
        raise JournalError(f"{source} is damaged: {error}.") from None
