"""DurableModel: one served model with all that it has learned, safe on disk.

    learn --check--> queue --append, sync--> log --learn--> model --snapshot--> file
                       one thread, in groups              every so many rows

An entry is acknowledged when it is synced to the log and learned by the model. Opening loads the newest snapshot and
learns the entries of the log that came after it.

Locks are taken in this order: ``_snapshot_lock``, ``_entry_lock``, ``lock``.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import queue
import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tanager.errors import TanagerError
from tanager.learning.classifier import Classifier
from tanager.persist import from_bytes, load, to_bytes
from tanager.service.journal import Journal, JournalError
from tanager.service.log_entries import FEW_ROWS, LogEntry, check_entry, decode_entry, encode_entry, learn_entry
from tanager.service.state_folder import StateFolder

log = logging.getLogger("tanager.service")


@dataclass(eq=False)
class _PendingEntry:
    """An entry on its way to the log; it was checked against this model."""

    entry: LogEntry
    payload: bytes
    model: Classifier
    done: Future[int] = field(default_factory=Future)


class DurableModel:
    """A model file that is served and learns. The file itself is never written.

    Parameters
    ----------
    path : path
        The model file.
    folder : path, default=None
        Where the log and snapshots are kept. None: beside the model file, with ".state" added to its name.
    sync_every : float, default=0.002
        Seconds to wait for further entries before the log is synced; all of them share the sync.
    snapshot_rows : int, default=100_000
        Rows after which a snapshot is written.
    segment_bytes : int, default=64 MiB
        Size of the files of the log.

    Attributes
    ----------
    model : Classifier
        The model as it is now. Whoever reads or changes it holds ``lock``.
    sequence : int
        Entries learned so far, on top of the model file.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        folder: str | os.PathLike[str] | None = None,
        *,
        sync_every: float = 0.002,
        snapshot_rows: int = 100_000,
        segment_bytes: int = 64 << 20,
    ) -> None:
        self.path = Path(path)
        self.folder = Path(f"{path}.state" if folder is None else folder)
        self.sync_every, self.snapshot_rows, self.segment_bytes = sync_every, snapshot_rows, segment_bytes
        self.lock = threading.RLock()
        # Predictions take `lock` between the slices of a long entry. A snapshot must not hold half an entry, which
        # would be learned again from the log; so the whole of an entry is learned under a lock of its own.
        self._entry_lock = threading.RLock()
        self._snapshot_lock = threading.RLock()
        self._queue: queue.SimpleQueue[_PendingEntry | None] = queue.SimpleQueue()
        self._closed = False
        self.failed = self.replayed = 0
        self._open()
        self._writer = threading.Thread(target=self._write, name=f"learn {self.path.name}", daemon=True)
        self._writer.start()

    # --- opening ------------------------------------------------------------------------------------------------

    def _open(self) -> None:
        stamp, data = _read(self.path)
        digest = hashlib.sha256(data).hexdigest()
        self._state = StateFolder(self.folder)
        try:
            self._open_state(data, digest)
        except BaseException:
            self._state.release()
            raise
        self._stamp = stamp

    def _open_state(self, data: bytes, digest: str) -> None:
        """Continue with the state on disk; where the model file was replaced since, start over with the new file."""
        state = self._state
        if not state.exists():
            self._load(data)  # a file that cannot be loaded is refused before a state is made for it
            state.prepare(data, digest)
            state.switch()
        owner = state.model_digest()
        if owner is None:
            log.warning("%s: its manifest was deleted; it is assumed to belong to %s.", state.current, self.path)
            state.set_model_digest(digest)
        self._recover()
        self._digest = owner or digest
        if self._digest != digest:
            try:
                model = self._load(data)
            except TanagerError as error:
                log.warning("the new model file was not loaded: %s The old model stays in use.", error)
            else:
                self._replace_model(model, data, digest)

    def _load(self, data: bytes) -> Classifier:
        return from_bytes(data, repr(str(self.path)))

    def _recover(self) -> None:
        """Load the newest snapshot and learn all entries of the log after it."""
        if not any(self._state.current.glob("*.log")):
            raise self._unrecoverable(f"{str(self._state.current)!r} holds no log: it was deleted. Put it back.")
        self.model, self.sequence = self._newest_snapshot()
        self._reset_counters()
        try:
            self._journal = Journal(self._state.current, self.segment_bytes)
        except JournalError as error:
            raise self._unrecoverable(str(error)) from None
        try:
            self._replay()
        except BaseException:
            self._journal.close()
            raise
        # Whoever was killed between a new snapshot and the end of the oldest has left one too many.
        self._journal.drop(self._state.drop_old_snapshots())

    def _newest_snapshot(self) -> tuple[Classifier, int]:
        for sequence, path in self._state.snapshots():
            try:
                return load(path), sequence
            except TanagerError as error:
                log.warning("%s It is set aside, and an older snapshot and the log are used.", error)
                self._state.set_aside(path)
        raise JournalError(
            f"{str(self._state.current)!r} holds no snapshot that can be read. Put one back from a copy, or move the "
            "folder away to start over with the model file."
        )

    def _reset_counters(self) -> None:
        """Count entries, rows and bytes from the newest snapshot on."""
        self._snapshot_sequence, path = self._state.snapshots()[0]
        self._snapshot_time = path.stat().st_mtime
        self._entries_since = self._rows_since = self._bytes_since = 0
        self._snapshot_at = self.snapshot_rows  # the next one is due at so many rows

    def _replay(self) -> None:
        if self._journal.last < self.sequence:
            raise self._unrecoverable(
                f"the log in {str(self._state.current)!r} ends with entry {self._journal.last}, and a snapshot holds "
                f"{self.sequence}: a segment is missing or was cut. Put it back."
            )
        try:
            for sequence, payload in self._journal.replay(self.sequence):
                self._learn(sequence, decode_entry(payload), len(payload))
                self.replayed += 1
        except JournalError as error:
            raise self._unrecoverable(str(error)) from None

    def _unrecoverable(self, finding: str) -> JournalError:
        """An error with the way out that is always open: go on from the newest snapshot."""
        sequence, path = (self._state.snapshots() or [(0, self.path)])[0]
        return JournalError(
            f"{finding} To go on from the newest snapshot, which holds {sequence} entries, copy {str(path)!r} over the "
            f"model file and move {str(self.folder)!r} away."
        )

    # --- learning -----------------------------------------------------------------------------------------------

    async def learn(
        self,
        rows: list[dict[str, Any]],
        labels: list[Any],
        weights: list[float] | None = None,
        times: list[float] | None = None,
    ) -> int:
        """Learn labelled rows; returns their number in the log once they are synced to it and learned.

        Rows that the model could not learn are refused, and nothing is written.
        """
        entry = LogEntry(rows, labels, weights, times)
        if len(rows) <= FEW_ROWS and self.lock.acquire(blocking=False):
            try:
                done = self._submit(entry)
            finally:
                self.lock.release()
        else:  # the event loop must not wait, neither for the lock nor for many rows to be checked
            done = await asyncio.to_thread(self._submit, entry)
        return await asyncio.wrap_future(done)

    def _submit(self, entry: LogEntry) -> Future[int]:
        if self._closed:
            raise self._is_closed()
        with self.lock:
            model = self.model
            check_entry(model, entry)
        pending = _PendingEntry(entry, encode_entry(entry), model)
        self._queue.put(pending)
        return pending.done

    def _is_closed(self) -> JournalError:
        return JournalError(f"{str(self.path)!r} is closed and does not learn any more. Open it again.")

    def _write(self) -> None:
        """The thread that writes and learns: entries that come close together share one sync."""
        stopped = False
        while not stopped:
            group = [self._queue.get()]
            if group[0] is not None:
                time.sleep(self.sync_every)
            while not self._queue.empty():
                group.append(self._queue.get())
            stopped = None in group
            entries = [pending for pending in group if pending is not None]
            with self._entry_lock:
                try:
                    self._learn_group(entries)
                except Exception as error:  # nobody must wait for ever for an answer
                    log.exception("learning into %s failed", self._state.current)
                    _fail(entries, error)

    def _learn_group(self, group: list[_PendingEntry]) -> None:
        ready = [pending for pending in group if pending.done.set_running_or_notify_cancel() and self._fits(pending)]
        try:
            numbers = [self._journal.append(pending.payload) for pending in ready]
            self._journal.sync()
        except Exception as error:  # the log has dropped all of them
            return _fail(ready, error)
        for pending, sequence in zip(ready, numbers, strict=True):
            failure = self._learn(sequence, pending.entry, len(pending.payload))
            if failure is None:
                pending.done.set_result(sequence)
            else:
                pending.done.set_exception(failure)
        self._snapshot_if_due()

    def _fits(self, pending: _PendingEntry) -> bool:
        """Whether an entry still fits: a new model file may have been loaded since the entry was checked."""
        if pending.model is self.model:
            return True
        try:
            with self.lock:
                check_entry(self.model, pending.entry)
        except TanagerError as error:
            pending.done.set_exception(error)
            return False
        return True

    def _learn(self, sequence: int, entry: LogEntry, n_bytes: int) -> Exception | None:
        """Let the model learn an entry of the log; returns the error where it could not.

        The check before writing lets no such entry through that we know of. One that fails all the same keeps its
        number and is skipped, now and in every replay: the entries after it must give the same model each time.
        """
        failure: Exception | None = None
        try:
            learn_entry(self.model, entry, self.lock)
        except Exception as error:
            self.failed += 1
            log.warning("entry %d in %s could not be learned: %s", sequence, self._state.current, error)
            failure = error
        with self.lock:
            self.sequence = sequence
        self._entries_since += 1
        self._rows_since += len(entry.rows)
        self._bytes_since += n_bytes
        return failure

    # --- snapshots ----------------------------------------------------------------------------------------------

    def snapshot(self) -> Path:
        """Write the model as it is now into the state folder; drop old snapshots and the log before them."""
        with self._snapshot_lock:
            with self._entry_lock:
                with self.lock:
                    data, sequence = to_bytes(self.model), self.sequence
                since = self._entries_since, self._rows_since, self._bytes_since
            path = self._state.write_snapshot(sequence, data)  # without locks: learning goes on meanwhile
            with self._entry_lock:
                self._entries_since -= since[0]
                self._rows_since -= since[1]
                self._bytes_since -= since[2]
                self._snapshot_at = self.snapshot_rows
                self._snapshot_sequence, self._snapshot_time = sequence, time.time()
            self._journal.drop(self._state.drop_old_snapshots())
            return path

    def _snapshot_if_due(self) -> None:
        if self._rows_since >= self._snapshot_at:
            self._snapshot_at = (
                self._rows_since + self.snapshot_rows
            )  # where this one fails, not before so many more rows
            threading.Thread(target=self._snapshot_in_background, name="snapshot", daemon=True).start()

    def _snapshot_in_background(self) -> None:
        with self._snapshot_lock:
            if not self._closed:
                self._try_snapshot()

    def _try_snapshot(self) -> None:
        """Write a snapshot if possible; it only saves time at the next start, since the log has everything."""
        try:
            self.snapshot()
        except Exception as error:
            log.warning("no snapshot of %s was written: %s. Nothing is lost, the log has everything.", self.path, error)

    # --- another model file -------------------------------------------------------------------------------------

    def changed(self) -> bool:
        """Whether the model file differs from the one that is served and from the last one that was refused."""
        try:
            stamp = _stamp(self.path)
            if stamp == self._stamp:
                return False
            digest = hashlib.sha256(self.path.read_bytes()).hexdigest()
        except OSError:
            return False  # it is probably being replaced at this moment
        if digest == self._digest:
            self._stamp = stamp
        return digest != self._digest

    def reload(self) -> None:
        """Serve the model file where it has changed. What was learned on the old one is retired, not deleted.

        A file that cannot be loaded is refused, and the old model stays in use.
        """
        with self._snapshot_lock:
            self._stamp, data = _read(self.path)
            digest = hashlib.sha256(data).hexdigest()
            if digest != self._digest:
                model = self._load(data)
                with self._entry_lock:
                    self._replace_model(model, data, digest)

    def _replace_model(self, model: Classifier, data: bytes, digest: str) -> None:
        if self.sequence != self._snapshot_sequence:
            self.snapshot()
        self._state.prepare(data, digest)
        self._journal.close()
        try:
            self._state.switch()
        finally:  # the new log, or the old one again
            self._journal = Journal(self._state.current, self.segment_bytes)
        with self.lock:
            self.model, self.sequence = model, 0
        self._digest = digest
        self._reset_counters()

    # --- the rest -----------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Learn what is waiting, write a snapshot if anything was learned since the last, and unlock the folder."""
        if self._closed:
            return
        self._closed = True
        self._queue.put(None)
        self._writer.join()
        while not self._queue.empty():  # entries submitted after the writer had stopped
            late = self._queue.get()
            if late is not None:
                _fail([late], self._is_closed())
        with self._snapshot_lock:
            if self.sequence != self._snapshot_sequence:
                self._try_snapshot()
            try:
                self._journal.close()
            finally:
                self._state.release()

    def status(self) -> dict[str, Any]:
        """Figures for monitoring."""
        return {
            "sequence": self.sequence,
            "snapshot_sequence": self._snapshot_sequence,
            "snapshot_time": self._snapshot_time,
            "entries_since_snapshot": self._entries_since,
            "rows_since_snapshot": self._rows_since,
            "bytes_since_snapshot": self._bytes_since,
            "waiting": self._queue.qsize(),
            "replayed": self.replayed,
            "failed": self.failed,
            "folder": str(self.folder),
        }


def _stamp(path: Path) -> tuple[int, int, int]:
    """Time, size and inode: a file where these are the same is taken as unchanged, without reading it."""
    stat = path.stat()
    return stat.st_mtime_ns, stat.st_size, stat.st_ino


def _read(path: Path) -> tuple[tuple[int, int, int], bytes]:
    """Time, size and inode of a file, and its bytes."""
    if not path.is_file():
        load(path)  # raises the same error as for any other missing model file
    return _stamp(path), path.read_bytes()


def _fail(group: list[_PendingEntry], error: Exception) -> None:
    for pending in group:
        if not pending.done.done():
            pending.done.set_exception(error)
