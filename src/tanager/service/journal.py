"""An append-only log in segments: what was synced is there after a crash, in order, each entry once.

A segment is a file named after its first entry. All numbers are little-endian.

    head    "tanlog", version (2 bytes), sequence number of the first entry (8), CRC-32 of these (4)
    entry   mark (4 bytes), length (4), sequence number (8), number of the last entry that was synced before (8),
            CRC-32 of these three and the payload (4), payload

The file ``synced`` beside them has the number of the last synced entry (see ``watermark``).

A crash leaves a torn tail: entries that were never synced, whole or in parts, in whatever order the disk wrote their
blocks. It is cut off at the first bad entry when the log is opened. Anything else that does not fit (a bad or missing
entry that was synced, by what the watermark or a later entry says; a gap between entries; a missing segment; no
watermark) is damage and is refused; ``log_survey`` says how much of it is good, and ``loss`` goes on without the rest.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import struct
import threading
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

from tanager.errors import TanagerError
from tanager.service.watermark import Mark, Watermark, read_first_format, read_mark, write_mark
from tanager.writing import sync_folder

WATERMARK_SECONDS = 1.0  # for which the watermark on disk may lag behind
MAGIC, VERSION = b"tanlog", 1
MARK = b"\xff\xfeTE"  # cannot occur in UTF-8 text, so a search for entries seldom stops inside a payload
_HEAD = struct.Struct("<6sHQI")
HEAD_BYTES = _HEAD.size
_ENTRY = struct.Struct("<4sIQQI")
_NUMBERS = struct.Struct("<IQQ")
SEGMENT_NAME = re.compile(r"(\d{20})\.log")


class JournalError(TanagerError):
    """A log is damaged, in use, or cannot be written."""


class FolderLock:
    """One process at a time: a file that stays locked until it is released or its process ends, however it ends.

    What is locked may be a file too; then ``lock`` is a file beside it.
    """

    def __init__(self, folder: Path, lock: Path | None = None) -> None:
        self._file = open(lock or folder / "lock", "a+")  # noqa: SIM115 - open as long as the lock holds
        if not self._taken():
            self._file.seek(0)
            owner = self._file.read().strip() or "another one"
            self._file.close()
            raise JournalError(
                f"{str(folder)!r} is in use by process {owner}, and only one process at a time can write there. Stop "
                "that one first, or use another one."
            ) from None
        self._file.truncate(0)
        self._file.write(str(os.getpid()))
        self._file.flush()

    def _taken(self) -> bool:
        for pause in (0.02, 0.1, None):  # `tanager check` asks for a moment whether the folder is locked
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except OSError:
                if pause is not None:
                    time.sleep(pause)
        return False

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
    may_lack_watermark : bool, default=False
        Whether the log may be one of an earlier version, in which the watermark was absent or of another format.
    """

    def __init__(
        self, folder: str | os.PathLike[str], segment_bytes: int = 64 << 20, *, may_lack_watermark: bool = False
    ) -> None:
        self.folder, self.segment_bytes = Path(folder), segment_bytes
        self.folder.mkdir(parents=True, exist_ok=True)
        self._lock = FolderLock(self.folder)
        self._mutex = threading.Lock()
        self._file = -1  # the last segment
        self._watermark: Watermark | None = None
        self._size = self._synced_size = self._last = self._synced_last = 0
        self._torn = False  # whether the file may be longer than what counts
        self._watermark_time = time.monotonic()  # when it was last synced
        self.bytes_cut = 0  # of a torn tail, at opening
        self.damaged_slots = 0  # of the watermark
        try:
            self._firsts = [first for first, _ in segments(self.folder)]
            self._open_watermark(may_lack_watermark)
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
                begun = self._synced_last < self._firsts[-1]
                self._note_synced()
                if begun:  # so that a segment with entries cannot be lost without notice
                    self._sync_watermark()

    def sync_watermark(self, older_than: float = 0.0) -> None:
        """Let the disk have the watermark, where it lags and was not synced for so many seconds.

        Not part of ``sync``, which would take twice as long.
        """
        with self._mutex:
            if self.watermark_lags and time.monotonic() - self._watermark_time >= older_than:
                self._sync_watermark()

    @property
    def watermark_lags(self) -> bool:
        """Whether a power cut could leave a watermark before the last synced entry."""
        return self._watermark is not None and self._watermark.lags

    def _sync_watermark(self) -> None:
        if self._watermark is not None:
            self._watermark.sync()
            self._watermark_time = time.monotonic()

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
            kept = (
                "What came since the last sync could not be removed either, and may be found again after a crash"
                if self._torn
                else "Nothing was kept of what came since the last sync"
            )
            raise JournalError(
                f"cannot write to {str(self._path(self._firsts[-1]))!r}: {error.strerror or error}. {kept}; make room "
                "(or repair the disk) and send it again."
            ) from error

    def _is_full(self) -> bool:
        """Whether it is time for a new segment: this one is large, not empty, and all of it is synced.

        A segment must not end with entries that may be torn: only the last segment is searched for a torn tail.
        """
        settled = self._firsts[-1] <= self._last == self._synced_last
        return self._size >= self.segment_bytes and settled

    def _cut_back(self) -> None:
        """Cut off entries that were given up, for good: a power cut must not bring them back behind new ones."""
        if self._torn:
            os.ftruncate(self._file, self._size)
            os.fsync(self._file)
            self._torn = False

    def _note_synced(self) -> None:
        self._synced_size, self._synced_last = self._size, self._last
        if self._watermark is not None and self._watermark.number != self._last:
            self._watermark.note(self._last)

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
        self._file, self._size, self._last = file, HEAD_BYTES, first - 1
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
            self.sync_watermark()
        finally:
            self._release()

    def _release(self) -> None:
        if self._file >= 0:
            os.close(self._file)
        if self._watermark is not None:
            self._watermark.close()
        self._lock.release()

    # --- reading ------------------------------------------------------------------------------------------------

    def replay(self, after: int = 0) -> Iterator[tuple[int, bytes]]:
        """All entries after a number, in order; damage is refused where it is met."""
        if self._firsts[0] > after + 1:
            raise JournalError(late_begin(self.folder, self._firsts[0], after + 1))
        for first, following in zip(self._firsts, [*self._firsts[1:], self._last + 1], strict=True):
            if following > after + 1:
                yield from (entry for entry in self._read(first, following) if entry[0] > after)

    def _read(self, first: int, following: int) -> Iterator[tuple[int, bytes]]:
        """The entries of a segment, up to the first one of the next."""
        path = self._path(first)
        data = path.read_bytes()
        check_head(path, data, first)
        last, end = first - 1, HEAD_BYTES
        for sequence, payload, at in entries(data, first):
            yield sequence, payload
            last, end = sequence, at
        if end != len(data):
            raise JournalError(damage(path, end, last + 1))
        if last != following - 1:
            raise JournalError(gap(path, last, following))

    def _open_watermark(self, may_be_absent: bool) -> None:
        mark = read_mark(self.folder)
        if mark is None:
            if self._firsts and not may_be_absent:
                raise JournalError(no_watermark(self.folder))
            mark = Mark(1, read_first_format(self.folder) if may_be_absent else 0)
            write_mark(self.folder, mark.number)
        if mark.number and not self._firsts:
            raise JournalError(
                f"{str(self.folder)!r} holds no log, and entries up to {mark.number} were synced: it was deleted. Put "
                "it back."
            )
        self._watermark, self.damaged_slots = Watermark(self.folder, mark), mark.damaged

    def _open_last(self) -> None:
        """Find the end of the log, and cut off what a crash has left behind it."""
        first = self._firsts[-1]
        path = self._path(first)
        data = path.read_bytes()
        if torn_head(data, first):
            self._check_end(path, 0, first)
            del self._firsts[-1]
            return self._begin_segment(first)
        check_head(path, data, first)
        last, end, synced_end = first - 1, HEAD_BYTES, 0
        for sequence, _, at in entries(data, first):
            last, end = sequence, at
            synced_end = end if sequence <= self._synced_by_watermark else synced_end
        if synced_after(data, end) > last:
            raise JournalError(damage(path, end, last + 1))
        self._check_end(path, end, last + 1)
        self._file = os.open(path, os.O_RDWR)
        self._size, self._last, self.bytes_cut = end, last, len(data) - end
        if self.bytes_cut:
            os.ftruncate(self._file, end)
        # Whoever was killed between a write and its sync has left entries and a name that only the system's memory
        # may hold. They count from now on. They are written again: where a sync has failed, the system may take them
        # for written, and sync nothing.
        _write(self._file, data[synced_end:end], synced_end)
        os.fsync(self._file)
        sync_folder(self.folder)
        self._synced_size, self._synced_last = self._size, self._last

    @property
    def _synced_by_watermark(self) -> int:
        return 0 if self._watermark is None else self._watermark.number

    def _check_end(self, path: Path, at: int, sequence: int) -> None:
        """Refuse a log that ends before the last entry that was synced."""
        if self._synced_by_watermark >= sequence:
            raise JournalError(lost_end(self.folder, path.name, at, sequence, self._synced_by_watermark))

    def _path(self, first: int) -> Path:
        return segment_path(self.folder, first)


# --- the files of a log ---------------------------------------------------------------------------------------------


def segments(folder: Path) -> list[tuple[int, Path]]:
    """The segments of the log in a folder with their first entries, in order. Files of other names are none of them."""
    found = ((SEGMENT_NAME.fullmatch(path.name), path) for path in folder.iterdir())
    return sorted((int(name[1]), path) for name, path in found if name is not None)


def segment_path(folder: Path, first: int) -> Path:
    """The segment that begins with this entry."""
    return folder / f"{first:020d}.log"


def no_watermark(folder: Path) -> str:
    """The sentence for a log without a watermark."""
    return (
        f"{str(folder / 'synced')!r} is missing or damaged, so it is not known whether the end of the log is there. "
        "Put back a good copy of it."
    )


def damage(path: Path, at: int, sequence: int) -> str:
    """The sentence for a segment in which a synced entry cannot be read."""
    return (
        f"{str(path)!r} is damaged at byte {at}, where entry {sequence} should be; the entries before it are good. Put "
        "back a good copy of the file."
    )


def gap(path: Path, last: int, following: int) -> str:
    """The sentence for a segment that does not reach the next one."""
    return (
        f"{str(path)!r} ends with entry {last}, and the next segment begins with entry {following}: a segment is "
        "missing or was cut. Put it back."
    )


def late_begin(folder: Path, first: int, needed: int) -> str:
    """The sentence for a log without its beginning."""
    return (
        f"the log in {str(folder)!r} begins with entry {first}, and entry {needed} is needed: a segment is missing. "
        "Put it back."
    )


def lost_end(folder: Path, name: str, at: int, sequence: int, synced: int) -> str:
    """The sentence for a log that ends before its watermark."""
    return (
        f"the log in {str(folder)!r} ends at byte {at} of {name!r}, before entry {sequence}, but entries up to "
        f"{synced} were synced: the last segment is missing or was cut. Put back a good copy of it."
    )


# --- the bytes of a segment -----------------------------------------------------------------------------------------


def _head(first: int) -> bytes:
    plain = _HEAD.pack(MAGIC, VERSION, first, 0)[:-4]
    return plain + zlib.crc32(plain).to_bytes(4, "little")


def torn_head(data: bytes, first: int) -> bool:
    """Whether this is what a crash leaves of a new segment."""
    return len(data) <= HEAD_BYTES and data != _head(first)


def check_head(path: Path, data: bytes, first: int) -> None:
    """Refuse a segment whose head is not good."""
    sound = data[:6] == MAGIC and len(data) >= HEAD_BYTES
    _, version, begins, crc = _HEAD.unpack_from(data) if sound else (MAGIC, 0, 0, -1)
    if crc != zlib.crc32(data[: HEAD_BYTES - 4]):
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


def entries(data: bytes, first: int) -> Iterator[tuple[int, bytes, int]]:
    """The good entries at the beginning of a segment: their numbers, what they hold, and where they end."""
    at, sequence = HEAD_BYTES, first
    while (payload := _payload(data, at, sequence)) is not None:
        at += _ENTRY.size + len(payload)
        yield sequence, payload, at
        sequence += 1


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


def synced_after(data: bytes, at: int) -> int:
    """The last entry that was synced, by what good entries from this byte on say; 0 where there are none."""
    synced = 0
    while (at := data.find(MARK, at)) >= 0:
        if _payload(data, at, None) is not None:
            synced = max(synced, int(_ENTRY.unpack_from(data, at)[3]))
        at += 1
    return synced


def _write(file: int, data: bytes, at: int) -> None:
    """Write all of it at that offset; the system may write less at once."""
    while data:
        n = os.pwrite(file, data, at)
        data, at = data[n:], at + n
