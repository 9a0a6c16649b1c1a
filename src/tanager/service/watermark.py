"""The watermark of a log: the number of the last entry that was synced, so that a lost end is noticed.

    slot    generation (8 bytes), number of the entry (8), CRC-32 of these (4); little-endian

The file has two slots, a block apart, which are written in turn: a power cut during a write can spoil one of them, and
the other still counts. The slot of the higher generation is valid. It is written after every sync of the log, and
synced itself now and then (see ``Journal.sync_watermark``): after a power cut its number may be too low, but never too
high.
"""

from __future__ import annotations

import contextlib
import os
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

from tanager.writing import sync_folder, whole_file

NAME = "synced"
_SLOT, _FIRST_FORMAT = struct.Struct("<QQI"), struct.Struct("<QI")
_PLACES = (0, 4096)  # blocks of their own: a disk writes whole sectors


@dataclass(frozen=True)
class Mark:
    """What a file says: the generation and number of its newest slot, and how many slots are damaged."""

    generation: int
    number: int
    damaged: int = 0


def read_mark(folder: Path) -> Mark | None:
    """The watermark of the log in a folder; None where there is none that can be read."""
    try:
        data = (folder / NAME).read_bytes()
    except FileNotFoundError:
        return None
    slots = [slot for at in _PLACES if (slot := _slot(data[at : at + _SLOT.size])) is not None]
    return Mark(*max(slots), damaged=len(_PLACES) - len(slots)) if slots else None


def read_first_format(folder: Path) -> int:
    """The number in a file of the first format, which had one slot; 0 where it is absent or says nothing."""
    try:
        data = (folder / NAME).read_bytes()
    except FileNotFoundError:
        return 0
    whole = len(data) == _FIRST_FORMAT.size and zlib.crc32(data[:8]) == _FIRST_FORMAT.unpack(data)[1]
    return int(_FIRST_FORMAT.unpack(data)[0]) if whole else 0


def write_mark(folder: Path, number: int) -> None:
    """Make or replace the watermark; it is on disk when this returns."""
    with whole_file(folder / NAME) as file:
        for at in _PLACES:
            file.seek(at)
            file.write(_packed(1, number))
    sync_folder(folder)


class Watermark:
    """The watermark of an open log."""

    def __init__(self, folder: Path, mark: Mark) -> None:
        self.number, self._generation = mark.number, mark.generation
        self._file = os.open(folder / NAME, os.O_RDWR)
        self.lags = False  # whether the disk may have an older number

    def note(self, number: int) -> None:
        """Raise the number; it is not synced. An error is no harm: the entries are on disk in any case."""
        self.number, self._generation, self.lags = number, self._generation + 1, True
        with contextlib.suppress(OSError):
            os.pwrite(self._file, _packed(self._generation, number), _PLACES[self._generation % 2])

    def sync(self) -> None:
        """Let the disk have the number; where that fails, it lags on."""
        if self.lags:
            with contextlib.suppress(OSError):
                os.fsync(self._file)
                self.lags = False

    def close(self) -> None:
        """Close the file, without a sync."""
        os.close(self._file)


def _packed(generation: int, number: int) -> bytes:
    plain = _SLOT.pack(generation, number, 0)[:-4]
    return plain + zlib.crc32(plain).to_bytes(4, "little")


def _slot(data: bytes) -> tuple[int, int] | None:
    if len(data) < _SLOT.size or zlib.crc32(data[:-4]) != _SLOT.unpack(data)[2]:
        return None
    generation, number, _ = _SLOT.unpack(data)
    return generation, number
