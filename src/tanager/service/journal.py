"""An append-only log in segments: what was synced is there after a crash, in order, each entry once.

A segment is a file named after its first entry. All numbers are little-endian.

    head    "tanlog", version (2 bytes), sequence number of the first entry (8), CRC-32 of these (4)
    entry   mark (4 bytes), length (4), sequence number (8), number of the last entry that was synced before (8),
            CRC-32 of these three and the payload (4), payload

The file ``synced`` beside them has the number of the last synced entry (8) and its CRC-32 (4). It is written after
every sync of the log and not synced itself: after a power cut its number may be too low, but never too high.

A crash leaves a torn tail: entries that were never synced, whole or in parts, in whatever order the disk wrote their
blocks. It is cut off at the first bad entry when the log is opened. Anything else that does not fit (a bad or missing
entry that was synced, by what ``synced`` or a later entry says; a gap between entries; a missing segment) is damage and
is refused.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import struct
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path

from tanager.errors import TanagerError
from tanager.writing import sync_folder

MAGIC, VERSION = b"tanlog", 1
MARK = b"\xff\xfeTE"  # cannot occur in UTF-8 text, so a search for entries seldom stops inside a payload
_HEAD = struct.Struct("<6sHQI")
_ENTRY = struct.Struct("<4sIQQI")
_NUMBERS = struct.Struct("<IQQ")
_SYNCED = struct.Struct("<QI")


class JournalError(TanagerError):
    """A log is damaged, in use, or cannot be written."""


class FolderLock:
    """One process at a time: a file that stays locked until it is released or its process ends, however it ends."""

    def __init__(self, folder: Path) -> None:
        self._file = open(folder / "lock", "a+")  # noqa: SIM115 - open as long as the lock holds
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.seek(0)
            owner = self._file.read().strip() or "another one"
            self._file.close()
            raise JournalError(
                f"{str(folder)!r} is in use by process {owner}, and only one process at a time can write there. Stop "
                "that one first, or use another folder."
            ) from None
        self._file.truncate(0)
        self._file.write(str(os.getpid()))
        self._file.flush()

    def release(self) -> None:
        """Let other processes lock the folder."""
        self._file.close()


class Journal:
    """Entries of bytes, numbered from 1. They last once ``sync`` has returned; all since the last sync or none do.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     log = Journal(folder)
    ...     log.append(b"first"), log.append(b"second")
    ...     log.sync()
    ...     log.close()
    ...     again = Journal(folder)
    ...     list(again.replay(after=1))
    ...     again.close()
    (1, 2)
    [(2, b'second')]

    Parameters
    ----------
    folder : path
        Made where it does not exist yet.
    segment_bytes : int, default=64 MiB
        A segment that has grown to this size is followed by a new one.
    """

    def __init__(self, folder: str | os.PathLike[str], segment_bytes: int = 64 << 20) -> None:
        self.folder, self.segment_bytes = Path(folder), segment_bytes
        self.folder.mkdir(parents=True, exist_ok=True)
        self._lock = FolderLock(self.folder)
        self._mutex = threading.Lock()
        self._file = self._synced_file = -1  # the last segment; the file that says what was synced
        self._size = self._synced_size = self._last = self._synced_last = 0
        self._torn = False  # whether the file may be longer than what counts
        self.bytes_cut = 0  # of a torn tail, at opening
        try:
            self._firsts = sorted(int(path.stem) for path in self.folder.glob("*.log"))
            self._open_synced()
            if self._firsts:
                self._open_last()
            else:
                self._begin_segment(1)
            self._note_synced()
        except BaseException:
            self._release()
            raise

    @property
    def last(self) -> int:
        """The number of the last entry; 0 before the first."""
        return self._last

    # --- writing ------------------------------------------------------------------------------------------------

    def append(self, payload: bytes) -> int:
        """Write an entry and return its number. It does not last before ``sync``."""
        with self._mutex, self._writing():
            self._cut_back()
            if self._is_full():
                self._begin_segment(self._last + 1)
            data = _pack(self._last + 1, self._synced_last, payload)
            _write(self._file, data, self._size)
            self._size += len(data)
            self._last += 1
            return self._last

    def sync(self) -> None:
        """Make all entries last that were written so far."""
        with self._mutex, self._writing():
            if self._size != self._synced_size:
                os.fsync(self._file)
                self._note_synced()

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """Where writing fails, nothing is left of the entries since the last sync.

        After a failed fsync the kernel may have dropped the pages and would report success the next time. So the
        entries are given up and cut off, never synced again.
        """
        try:
            yield
        except OSError as error:
            self._size, self._last, self._torn = self._synced_size, self._synced_last, True
            with contextlib.suppress(OSError):  # then it is cut before the next entry
                self._cut_back()
            raise JournalError(
                f"cannot write to {str(self._path(self._firsts[-1]))!r}: {error.strerror or error}. Nothing was kept "
                "of what came since the last sync; make room (or repair the disk) and send it again."
            ) from error

    def _is_full(self) -> bool:
        """Whether it is time for a new segment: this one is large, not empty, and all of it is synced.

        A segment must not end with entries that may be torn: only the last segment is searched for a torn tail.
        """
        settled = self._firsts[-1] <= self._last == self._synced_last
        return self._size >= self.segment_bytes and settled

    def _cut_back(self) -> None:
        if self._torn:
            os.ftruncate(self._file, self._size)
            self._torn = False

    def _note_synced(self) -> None:
        self._synced_size, self._synced_last = self._size, self._last
        number = self._last.to_bytes(8, "little")
        with contextlib.suppress(OSError):  # the entries are on disk in any case, and must not be reported as lost
            os.pwrite(self._synced_file, number + zlib.crc32(number).to_bytes(4, "little"), 0)

    def _begin_segment(self, first: int) -> None:
        """Make a new segment; it is on disk, with its name, when this returns."""
        file = os.open(self._path(first), os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
        try:
            _write(file, _head(first), 0)
            os.fsync(file)
            sync_folder(self.folder)
        except BaseException:
            os.close(file)  # a part of a head is begun again at the next opening
            raise
        if self._file >= 0:
            os.close(self._file)
        self._firsts.append(first)
        self._file, self._size, self._last = file, _HEAD.size, first - 1
        self._note_synced()

    def drop(self, upto: int) -> None:
        """Delete the segments that hold no entry after this one; the last segment stays."""
        with self._mutex:
            while len(self._firsts) > 1 and self._firsts[1] <= upto + 1:
                self._path(self._firsts[0]).unlink(missing_ok=True)
                del self._firsts[0]

    def close(self) -> None:
        """Sync, and let other processes open the log."""
        try:
            self.sync()
        finally:
            self._release()

    def _release(self) -> None:
        for file in (self._file, self._synced_file):
            if file >= 0:
                os.close(file)
        self._lock.release()

    # --- reading ------------------------------------------------------------------------------------------------

    def replay(self, after: int = 0) -> Iterator[tuple[int, bytes]]:
        """All entries after a number, in order; damage is refused where it is met."""
        if self._firsts[0] > after + 1:
            raise JournalError(
                f"the log in {str(self.folder)!r} begins with entry {self._firsts[0]}, and entry {after + 1} is "
                "needed: a segment is missing. Put it back."
            )
        for first, following in zip(self._firsts, [*self._firsts[1:], self._last + 1], strict=True):
            if following > after + 1:
                yield from (entry for entry in self._read(first, following) if entry[0] > after)

    def _read(self, first: int, following: int) -> Iterator[tuple[int, bytes]]:
        """The entries of a segment, up to the first one of the next."""
        path = self._path(first)
        data = path.read_bytes()
        _check_head(path, data, first)
        at, sequence = _HEAD.size, first
        while (payload := _payload(data, at, sequence)) is not None:
            yield sequence, payload
            at, sequence = at + _ENTRY.size + len(payload), sequence + 1
        if at != len(data):
            raise _damage(path, at, sequence)
        if sequence != following:
            raise JournalError(
                f"{str(path)!r} ends with entry {sequence - 1}, and the next segment begins with entry {following}: "
                "a segment is missing or was cut. Put it back."
            )

    def _open_synced(self) -> None:
        """Read which entry was synced last. A file that is absent or torn says nothing: logs once had none."""
        self._synced_file = os.open(self.folder / "synced", os.O_RDWR | os.O_CREAT, 0o644)
        data = os.pread(self._synced_file, _SYNCED.size, 0)
        whole = len(data) == _SYNCED.size and zlib.crc32(data[:8]) == _SYNCED.unpack(data)[1]
        self._expected_last = _SYNCED.unpack(data)[0] if whole else 0

    def _open_last(self) -> None:
        """Find the end of the log, and cut off what a crash has left behind it."""
        first = self._firsts[-1]
        path = self._path(first)
        data = path.read_bytes()
        if len(data) <= _HEAD.size and data != _head(first):  # what a crash leaves of a new segment
            self._check_end(path, 0, first)
            del self._firsts[-1]
            return self._begin_segment(first)
        _check_head(path, data, first)
        end, sequence = _HEAD.size, first
        while (payload := _payload(data, end, sequence)) is not None:
            end, sequence = end + _ENTRY.size + len(payload), sequence + 1
        if _synced_after(data, end) >= sequence:
            raise _damage(path, end, sequence)
        self._check_end(path, end, sequence)
        self._file = os.open(path, os.O_RDWR)
        self._size, self._last, self.bytes_cut = end, sequence - 1, len(data) - end
        if self.bytes_cut:
            os.ftruncate(self._file, end)
        os.fsync(self._file)  # entries that were written and not synced count from now on
        self._synced_size, self._synced_last = self._size, self._last

    def _check_end(self, path: Path, at: int, sequence: int) -> None:
        """Refuse a log that ends before the last entry that was synced."""
        if self._expected_last >= sequence:
            raise JournalError(
                f"the log in {str(self.folder)!r} ends at byte {at} of {path.name!r}, before entry {sequence}, but "
                f"entries up to {self._expected_last} were synced: the last segment is missing or was cut. Put back a "
                f"good copy of it. To go on without these entries, delete {str(self.folder / 'synced')!r}."
            )

    def _path(self, first: int) -> Path:
        return self.folder / f"{first:020d}.log"


# --- the bytes of a segment -----------------------------------------------------------------------------------------


def _head(first: int) -> bytes:
    plain = _HEAD.pack(MAGIC, VERSION, first, 0)[:-4]
    return plain + zlib.crc32(plain).to_bytes(4, "little")


def _check_head(path: Path, data: bytes, first: int) -> None:
    sound = data[:6] == MAGIC and len(data) >= _HEAD.size
    _, version, begins, crc = _HEAD.unpack_from(data) if sound else (MAGIC, 0, 0, -1)
    if crc != zlib.crc32(data[: _HEAD.size - 4]):
        raise JournalError(
            f"{str(path)!r} is damaged at byte 0: it does not begin like a log. Put back a good copy of it."
        )
    if version > VERSION:
        raise JournalError(
            f"{str(path)!r} was written by a newer tanager (format {version}, this one reads up to {VERSION}). "
            "Upgrade tanager to read it."
        )
    if begins != first:
        raise JournalError(f"{str(path)!r} begins with entry {begins}: it was renamed. Give it back its name.")


def _pack(sequence: int, synced: int, payload: bytes) -> bytes:
    return _ENTRY.pack(MARK, len(payload), sequence, synced, _checksum(sequence, synced, payload)) + payload


def _checksum(sequence: int, synced: int, payload: bytes) -> int:
    return zlib.crc32(payload, zlib.crc32(_NUMBERS.pack(len(payload), sequence, synced)))


def _payload(data: bytes, at: int, sequence: int | None) -> bytes | None:
    """What the entry at this byte holds; None where there is no good entry (of that number)."""
    if at + _ENTRY.size > len(data):
        return None
    mark, length, number, synced, crc = _ENTRY.unpack_from(data, at)
    start = at + _ENTRY.size
    if mark != MARK or start + length > len(data) or (sequence is not None and number != sequence):
        return None
    payload = data[start : start + length]
    return payload if _checksum(number, synced, payload) == crc else None


def _synced_after(data: bytes, at: int) -> int:
    """The last entry that was synced, by what good entries from this byte on say; 0 where there are none."""
    synced = 0
    while (at := data.find(MARK, at)) >= 0:
        if _payload(data, at, None) is not None:
            synced = max(synced, int(_ENTRY.unpack_from(data, at)[3]))
        at += 1
    return synced


def _damage(path: Path, at: int, sequence: int) -> JournalError:
    return JournalError(
        f"{str(path)!r} is damaged at byte {at}, where entry {sequence} should be; the entries before it are good. Put "
        "back a good copy of the file. To go on without this entry and all after it, cut the file there "
        f"(truncate -s {at}) and delete the .log files after it and the file 'synced'."
    )


def _write(file: int, data: bytes, at: int) -> None:
    """Write all of it at that offset; the system may write less at once."""
    while data:
        n = os.pwrite(file, data, at)
        data, at = data[n:], at + n
