"""Durable: one served model with all it has learned, safe on disk.

    learn --check--> queue --append, sync--> log --teach--> model --snapshot--> file
                       one thread, in groups               now and then

An entry is acknowledged when it is in the log for good and in the model. Opening loads the newest snapshot and teaches
it the entries of the log that came later.
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
from tanager.service.entries import FEW, Entry, check, pack, teach, unpack
from tanager.service.journal import Journal, JournalError
from tanager.service.state import State

log = logging.getLogger("tanager.service")


@dataclass(eq=False)
class _Waiting:
    """An entry on its way to the log; it was checked against this model."""

    entry: Entry
    payload: bytes
    model: Classifier
    done: Future[int] = field(default_factory=Future)


class Durable:
    """A model file that is served and learns; the file itself is never written.

    Parameters
    ----------
    path : path
        The model file.
    folder : path, default=None
        Where the log and snapshots are kept; None: beside the model file, with ".state" added to its name.
    sync_every : float, default=0.002
        Seconds in which further entries are waited for before the log is synced.
    snapshot_rows : int, default=100_000
        Rows after which a snapshot is made.
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
        self._busy = threading.RLock()  # taken before `lock`: entries are whole in the model
        self._snapshotting = threading.RLock()  # taken before `_busy`
        self._queue: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        self._closed = False
        self.failed = self.replayed = 0
        self._open()
        self._writer = threading.Thread(target=self._write, name=f"learn {self.path.name}", daemon=True)
        self._writer.start()

    # --- opening ------------------------------------------------------------------------------------------------

    def _open(self) -> None:
        seen, data = _read(self.path)
        digest = hashlib.sha256(data).hexdigest()
        self._state = State(self.folder)
        try:
            self._open_state(data, digest)
        except BaseException:
            self._state.release()
            raise
        self._seen = seen

    def _open_state(self, data: bytes, digest: str) -> None:
        """Go on with the state that is there; where the model file is another one by now, begin anew with that."""
        state = self._state
        if not state.begun():
            self._load(data)  # or refuse it
            state.prepare(data, digest)
            state.switch()
        owner = state.owner()
        if owner is None:
            log.warning("%s: its manifest was deleted; it is taken to belong to %s.", state.current, self.path)
            state.adopt(digest)
        self._recover()
        self._digest = owner or digest
        if self._digest != digest:
            try:
                model = self._load(data)
            except TanagerError as error:
                log.warning("the model file was replaced, but not taken over: %s The old model goes on.", error)
            else:
                self._take_over(model, data, digest)

    def _load(self, data: bytes) -> Classifier:
        return from_bytes(data, repr(str(self.path)))

    def _recover(self) -> None:
        """The newest snapshot, and all that the log has after it."""
        if not any(self._state.current.glob("*.log")):
            raise self._stuck(f"{str(self._state.current)!r} holds no log: it was deleted. Put it back.")
        self.model, self.sequence = self._newest()
        self._start_counting()
        try:
            self._journal = Journal(self._state.current, self.segment_bytes)
        except JournalError as error:
            raise self._stuck(str(error)) from None
        try:
            self._replay()
        except BaseException:
            self._journal.close()
            raise

    def _newest(self) -> tuple[Classifier, int]:
        for sequence, path in self._state.snapshots():
            try:
                return load(path), sequence
            except TanagerError as error:
                log.warning("%s It is set aside, and an older snapshot and the log are used.", error)
                self._state.set_aside(path)
        raise JournalError(
            f"{str(self._state.current)!r} holds no snapshot that can be read. Put one back from a copy, or move the "
            "folder away to begin anew with the model file."
        )

    def _start_counting(self) -> None:
        """From the newest snapshot on."""
        self._snapshot_sequence, path = self._state.snapshots()[0]
        self._snapshot_time = path.stat().st_mtime
        self._entries_since = self._rows_since = self._bytes_since = 0
        self._due = self.snapshot_rows

    def _replay(self) -> None:
        if self._journal.last < self.sequence:
            raise self._stuck(
                f"the log in {str(self._state.current)!r} ends with entry {self._journal.last}, and a snapshot holds "
                f"{self.sequence}: a segment is missing or was cut. Put it back."
            )
        try:
            for sequence, payload in self._journal.replay(self.sequence):
                self._teach(sequence, unpack(payload), len(payload))
                self.replayed += 1
        except JournalError as error:
            raise self._stuck(str(error)) from None

    def _stuck(self, finding: str) -> JournalError:
        """The way out that is always there."""
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
        """Learn labelled rows; returns their number in the log when they are there for good, and in the model.

        Rows that the model could not learn are refused, and nothing is written.
        """
        entry = Entry(rows, labels, weights, times)
        if len(rows) <= FEW and self.lock.acquire(blocking=False):
            try:
                done = self._submit(entry)
            finally:
                self.lock.release()
        else:  # the event loop must not wait, neither for the lock nor for many rows to be checked
            done = await asyncio.to_thread(self._submit, entry)
        return await asyncio.wrap_future(done)

    def _submit(self, entry: Entry) -> Future[int]:
        if self._closed:
            raise self._is_closed()
        with self.lock:
            model = self.model
            check(model, entry)
        waiting = _Waiting(entry, pack(entry), model)
        self._queue.put(waiting)
        return waiting.done

    def _is_closed(self) -> JournalError:
        return JournalError(f"{str(self.path)!r} is closed and learns no more. Open it again.")

    def _write(self) -> None:
        """The thread that writes and teaches: what comes within a moment goes together."""
        stopped = False
        while not stopped:
            group = [self._queue.get()]
            if group[0] is not None:
                time.sleep(self.sync_every)
            while not self._queue.empty():
                group.append(self._queue.get())
            stopped = None in group
            entries = [waiting for waiting in group if waiting is not None]
            with self._busy:
                try:
                    self._learn_group(entries)
                except Exception as error:  # nobody must wait for ever
                    log.exception("learning into %s failed", self._state.current)
                    _fail(entries, error)

    def _learn_group(self, group: list[_Waiting]) -> None:
        ready = [waiting for waiting in group if waiting.done.set_running_or_notify_cancel() and self._fits(waiting)]
        try:
            numbers = [self._journal.append(waiting.payload) for waiting in ready]
            self._journal.sync()
        except Exception as error:
            return _fail(ready, error)
        for waiting, sequence in zip(ready, numbers, strict=True):
            failure = self._teach(sequence, waiting.entry, len(waiting.payload))
            if failure is None:
                waiting.done.set_result(sequence)
            else:
                waiting.done.set_exception(failure)
        self._snapshot_if_due()

    def _fits(self, waiting: _Waiting) -> bool:
        """Whether an entry still fits where another model file was taken over meanwhile."""
        if waiting.model is self.model:
            return True
        try:
            with self.lock:
                check(self.model, waiting.entry)
        except TanagerError as error:
            waiting.done.set_exception(error)
            return False
        return True

    def _teach(self, sequence: int, entry: Entry, n_bytes: int) -> Exception | None:
        """Teach the model an entry of the log. One that fails all the same is passed over, here and in a replay."""
        failure: Exception | None = None
        try:
            teach(self.model, entry, self.lock)
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
        """Write the model as it is now into the state folder; older snapshots and what they cover of the log go."""
        with self._snapshotting:
            with self._busy:
                with self.lock:
                    data, sequence = to_bytes(self.model), self.sequence
                since = self._entries_since, self._rows_since, self._bytes_since
            path = self._state.write_snapshot(sequence, data)
            with self._busy:
                self._entries_since -= since[0]
                self._rows_since -= since[1]
                self._bytes_since -= since[2]
                self._due = self.snapshot_rows
                self._snapshot_sequence, self._snapshot_time = sequence, time.time()
            self._journal.drop(self._state.thin())
            return path

    def _snapshot_if_due(self) -> None:
        if self._rows_since >= self._due:
            self._due = self._rows_since + self.snapshot_rows  # also where this one fails
            threading.Thread(target=self._snapshot_aside, name="snapshot", daemon=True).start()

    def _snapshot_aside(self) -> None:
        with self._snapshotting:
            if not self._closed:
                self._try_snapshot()

    def _try_snapshot(self) -> None:
        """A snapshot saves time at the next start; without it the log has everything."""
        try:
            self.snapshot()
        except Exception as error:
            log.warning("no snapshot of %s: %s. Nothing is lost, the log has it all.", self.path, error)

    # --- another model file -------------------------------------------------------------------------------------

    def changed(self) -> bool:
        """Whether the model file is another one than the one that is served, or than the last one that was refused."""
        try:
            seen = _seen(self.path)
            if seen == self._seen:
                return False
            digest = hashlib.sha256(self.path.read_bytes()).hexdigest()
        except OSError:
            return False  # somebody is about to replace it
        if digest == self._digest:
            self._seen = seen
        return digest != self._digest

    def reload(self) -> None:
        """Take over the model file, where it is another one. What was learned on the old one is retired, not deleted.

        A file that cannot be loaded is refused, and the old model goes on.
        """
        with self._snapshotting:
            self._seen, data = _read(self.path)
            digest = hashlib.sha256(data).hexdigest()
            if digest != self._digest:
                model = self._load(data)
                with self._busy:
                    self._take_over(model, data, digest)

    def _take_over(self, model: Classifier, data: bytes, digest: str) -> None:
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
        self._start_counting()

    # --- the rest -----------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Learn what is waiting, write a snapshot if anything was learned since the last, and let go of the folder."""
        if self._closed:
            return
        self._closed = True
        self._queue.put(None)
        self._writer.join()
        while not self._queue.empty():  # those that came at the last moment
            late = self._queue.get()
            if late is not None:
                _fail([late], self._is_closed())
        with self._snapshotting:
            if self.sequence != self._snapshot_sequence:
                self._try_snapshot()
            try:
                self._journal.close()
            finally:
                self._state.release()

    def status(self) -> dict[str, Any]:
        """How things stand, for monitoring."""
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


def _seen(path: Path) -> tuple[int, int, int]:
    """What tells without reading that a file is another one."""
    stat = path.stat()
    return stat.st_mtime_ns, stat.st_size, stat.st_ino


def _read(path: Path) -> tuple[tuple[int, int, int], bytes]:
    """What a file looks like from outside, and what is in it."""
    if not path.is_file():
        load(path)  # has the sentence for it
    return _seen(path), path.read_bytes()


def _fail(group: list[_Waiting], error: Exception) -> None:
    for waiting in group:
        if not waiting.done.done():
            waiting.done.set_exception(error)
