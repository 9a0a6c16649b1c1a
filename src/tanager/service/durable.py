"""DurableModel: one served model with all that it has learned, safe on disk.

    learn --check--> queue --append, sync--> log --learn--> model --snapshot--> file
                       one thread, in groups              every so many rows

An entry is acknowledged when it is synced to the log and learned by the model. Opening loads the newest snapshot and
learns the entries of the log that came after it. An entry with the key of an earlier one is acknowledged with the
number of that one, and not learned again. Whatever is repaired, taken over or left out is logged with its size.

Locks are taken in this order: ``_snapshot_lock``, ``_entry_lock``, ``lock``.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import os
import queue
import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote
from typing import Any

from tanager.errors import DataError, TanagerError
from tanager.learning.classifier import Classifier
from tanager.persist import from_bytes, load, to_bytes
from tanager.service.journal import WATERMARK_SECONDS, Journal, JournalError
from tanager.service.keys import Learned, LearnedKeys, RequestKey
from tanager.service.log_entries import FEW_ROWS, LogEntry, check_entry, choose, decode_entry, encode_entry, learn_entry
from tanager.service.log_survey import survey_log
from tanager.service.loss import accept_loss
from tanager.service.model_queries import choice_is_open, class_sizes
from tanager.service.state_folder import MANIFEST_VERSION, Manifest, StateFolder, removing, strays
from tanager.writing import sync_folder

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
    accept_loss : bool, default=False
        Where a part of the log is lost or damaged, go on with all that came before it. Otherwise this is an error.

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
        accept_loss: bool = False,
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
        self._accept_loss = accept_loss
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
            _make_lasting(self.path)
            state.prepare(data, digest)
            state.switch()
        manifest = state.manifest()
        if manifest is None:
            log.warning("%s: its manifest was deleted; it is assumed to belong to %s.", state.current, self.path)
            state.set_manifest(digest)
            manifest = Manifest(digest)
        self._recover(manifest)
        self._digest = manifest.digest
        if self._digest != digest:
            try:
                model = self._load(data)
            except TanagerError as error:
                log.warning("the new model file was not loaded: %s The old model stays in use.", error)
            else:
                self._replace_model(model, data, digest)

    def _load(self, data: bytes) -> Classifier:
        return from_bytes(data, repr(str(self.path)))

    def _recover(self, manifest: Manifest) -> None:
        """Load the newest snapshot and learn all entries of the log after it."""
        earlier = manifest.version < MANIFEST_VERSION
        self._warn_of_strays()
        self.model, self.sequence, self._keys = self._newest_snapshot(earlier)
        self._reset_counters()
        if self._accept_loss:
            self._leave_out_what_is_lost(earlier)
        elif not any(self._state.current.glob("*.log")):
            raise self._unrecoverable(f"{str(self._state.current)!r} holds no log: it was deleted. Put it back.")
        try:
            self._journal = Journal(self._state.current, self.segment_bytes, may_lack_watermark=earlier)
        except JournalError as error:
            raise self._unrecoverable(str(error)) from None
        try:
            self._replay()
            if earlier:
                self._upgrade(manifest)
        except BaseException:
            self._journal.close()
            raise
        # Whoever was killed between a new snapshot and the end of the oldest has left one too many.
        self._remove_what_is_old()

    def _remove_what_is_old(self) -> None:
        """Remove snapshots and parts of the log that no start needs; where they are read now, the next time."""
        with removing(self._state.current) as alone:
            if alone:
                self._journal.drop(self._state.drop_old_snapshots())

    def _newest_snapshot(self, earlier: bool) -> tuple[Classifier, int, LearnedKeys]:
        """The newest snapshot that can be read, with its keys; newer ones are set aside."""
        bad: list[Path] = []
        for sequence, path in self._state.snapshots():
            try:
                model = load(path)
                keys = self._keys_of(sequence, earlier)
            except TanagerError as error:
                log.warning(
                    "%s The snapshot of entry %d is set aside, and an older one and the log are used.", error, sequence
                )
                bad.append(path)
            else:
                for one in bad:
                    self._state.set_aside(one)
                return model, sequence, keys
        raise JournalError(
            f"{str(self._state.current)!r} holds no snapshot that can be read. Put one back from a copy, or move the "
            "folder away to start over with the model file."
        )

    def _keys_of(self, sequence: int, earlier: bool) -> LearnedKeys:
        """The keys beside a snapshot. Those that are lost can be gone without, where the operator says so."""
        try:
            return self._state.read_keys(sequence)
        except JournalError as error:
            if earlier:
                return LearnedKeys()
            if not self._accept_loss:
                raise
            log.warning(
                "%s Requests of before entry %d that are sent again will be learned again.", error, sequence + 1
            )
            self._state.write_keys(sequence)
            return LearnedKeys()

    def _warn_of_strays(self) -> None:
        found = [path.name for path in strays(self._state.current)]
        if found:
            some = ", ".join(found[:5])
            log.warning(
                "%s holds %d files that are no part of it and are not read: %s", self._state.current, len(found), some
            )

    def _leave_out_what_is_lost(self, earlier: bool) -> None:
        """Where a part of the log is lost, let it end before that part."""
        found = survey_log(self._state.current, self.sequence, may_lack_watermark=earlier)
        if found.problem is None:
            return
        aside = self._state.free_name("lost")
        accept_loss(found, aside)
        log.warning(
            "%s The loss is accepted: %d entries after entry %d are left out, and the model goes on from there. What "
            "was there is kept in %s.",
            found.problem,
            found.n_lost,
            found.end,
            aside,
        )

    def _upgrade(self, manifest: Manifest) -> None:
        """Make a state of an earlier version one of this version; the log has its watermark by now."""
        for sequence, _ in self._state.snapshots():
            self._state.write_keys(sequence)
        self._state.set_manifest(manifest.digest)
        log.warning(
            "%s was written by an earlier version (format %d) and is now of format %d: %d entries.",
            self._state.current,
            manifest.version,
            MANIFEST_VERSION,
            self.sequence,
        )

    def _reset_counters(self) -> None:
        """Count entries, rows and bytes from the newest snapshot on."""
        self._choice_logged = (
            False  # where the snapshot has it, the next entry has it again: an older one may be needed
        )
        self._choice_failed = -1  # the entry at which the model could not choose
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
        self._report_repairs()

    def _report_repairs(self) -> None:
        where = self._state.current
        if self._journal.damaged_slots:
            log.warning("%s: one of the two slots of the watermark was damaged; the other one is used.", where)
        if self._journal.bytes_cut:
            log.warning(
                "%s: %d bytes behind entry %d were cut off, of entries that were not acknowledged.",
                where,
                self._journal.bytes_cut,
                self._journal.last,
            )
        if self.replayed:
            log.warning(
                "%s was not closed: %d entries (%d rows) of the log after the snapshot of entry %d were learned again.",
                where,
                self.replayed,
                self._rows_since,
                self._snapshot_sequence,
            )

    def _unrecoverable(self, finding: str) -> JournalError:
        """An error with the way out that is always open: go on with what came before the damage."""
        return JournalError(
            f"{finding} To see what is there, run: tanager check {quote(str(self.folder))}. To go on without the "
            "entries that are lost, start with --accept-loss; what is left of them is copied first."
        )

    # --- learning -----------------------------------------------------------------------------------------------

    async def learn(
        self,
        rows: list[dict[str, Any]],
        labels: list[Any],
        weights: list[float] | None = None,
        times: list[float] | None = None,
        key: RequestKey | None = None,
    ) -> int:
        """Learn labelled rows; returns their number in the log once they are synced to it and learned.

        Rows that the model could not learn are refused, and nothing is written. Where rows were learned under the same
        key before, nothing is learned, and the number is that of then.
        """
        entry = LogEntry(rows, labels, weights, times, key)
        if len(rows) <= FEW_ROWS and self.lock.acquire(blocking=False):
            try:
                done = self._submit(entry)
            finally:
                self.lock.release()
        else:  # the event loop must not wait, neither for the lock nor for many rows to be checked
            done = await asyncio.to_thread(self._submit, entry)
        return await asyncio.wrap_future(done)

    @property
    def choice_is_open(self) -> bool:
        """Whether the next answer would choose a structure that later ones keep; not where that just failed."""
        return choice_is_open(self.model) and self._choice_failed != self.sequence

    async def choose(self) -> None:
        """Let the model choose its structure, and the log say when: another moment would give another model."""
        pending = _PendingEntry(LogEntry.choice(), encode_entry(LogEntry.choice()), self.model)
        if self._closed:
            raise self._is_closed()
        self._queue.put(pending)
        await asyncio.wrap_future(pending.done)

    def learned_before(self, key: RequestKey) -> Learned | None:
        """What was learned under a key; raises KeyReused where the key was that of another request."""
        return self._keys.find(key)

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
            group = [self._next_pending()]
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

    def _next_pending(self) -> _PendingEntry | None:
        """The next entry of the queue; while there is none, the watermark is brought up to date."""
        while True:
            try:
                return self._queue.get(timeout=WATERMARK_SECONDS if self._journal.watermark_lags else None)
            except queue.Empty:
                with self._entry_lock:
                    self._journal.sync_watermark()

    def _learn_group(self, group: list[_PendingEntry]) -> None:
        running = [pending for pending in group if pending.done.set_running_or_notify_cancel()]
        ready, repeats = self._without_repeats([pending for pending in running if self._fits(pending)])
        with self._no_choice_meanwhile():
            ready = self._with_choice(ready)
            try:
                numbers = [self._journal.append(pending.payload) for pending in ready]
                self._journal.sync()
            except Exception as error:  # the log has dropped all of them
                return _fail([*ready, *repeats], error)
            for pending, sequence in zip(ready, numbers, strict=True):
                failure = self._learn(sequence, pending.entry, len(pending.payload))
                if failure is None:
                    pending.done.set_result(sequence)
                else:
                    pending.done.set_exception(failure)
        _fail(self._without_repeats(repeats)[0], DataError("the first request with this key failed. Send it again."))
        self._journal.sync_watermark(older_than=WATERMARK_SECONDS)
        self._snapshot_if_due()

    def _no_choice_meanwhile(self) -> contextlib.AbstractContextManager[object]:
        """Keep answers out between writing and learning, while one of them could choose a structure: the log would not
        know between which entries."""
        return self.lock if self.model.keeps_choice and not self.model.has_chosen else contextlib.nullcontext()

    def _with_choice(self, group: list[_PendingEntry]) -> list[_PendingEntry]:
        """Let the first entry tell of a choice that the log does not know of; entries for a choice that is made go."""
        made = self.model.has_chosen
        for pending in group:
            if pending.entry.is_choice and made:
                pending.done.set_result(self.sequence)
            made |= pending.entry.chosen
        group = [pending for pending in group if not pending.done.done()]
        if group and self.model.has_chosen and not self._choice_logged:
            first = group[0]
            first.entry.chosen = True
            first.payload = encode_entry(first.entry)
        return group

    def _without_repeats(self, group: list[_PendingEntry]) -> tuple[list[_PendingEntry], list[_PendingEntry]]:
        """Answer entries whose keys were learned before; returns those to learn, and those that repeat one of these."""
        ready: dict[object, _PendingEntry] = {}
        repeats: list[_PendingEntry] = []
        for pending in group:
            key = pending.entry.key
            try:
                found = None if key is None else self._keys.find(key)
            except TanagerError as error:
                pending.done.set_exception(error)
                continue
            if found is not None:
                pending.done.set_result(found.sequence)
            elif key is not None and key.digest in ready:
                repeats.append(pending)  # answered when that one is learned
            else:
                ready[pending if key is None else key.digest] = pending
        return list(ready.values()), repeats

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
        if entry.chosen:
            self._choose(sequence)
        try:
            learn_entry(self.model, entry, self.lock)
        except Exception as error:
            self.failed += 1
            log.warning("entry %d in %s could not be learned: %s", sequence, self._state.current, error)
            failure = error
        else:
            if entry.key is not None:
                self._keys.add(entry.key, sequence, len(entry.rows))
        with self.lock:
            self.sequence = sequence
        self._entries_since += 1
        self._rows_since += len(entry.rows)
        self._bytes_since += n_bytes
        return failure

    def _choose(self, sequence: int) -> None:
        """Choose a structure as the log says."""
        self._choice_logged = True
        with self.lock:
            if choice_is_open(self.model):
                choose(self.model)
                self._choice_failed = sequence if choice_is_open(self.model) else -1

    # --- snapshots ----------------------------------------------------------------------------------------------

    def snapshot(self) -> Path:
        """Write the model as it is now into the state folder; drop old snapshots and the log before them."""
        with self._snapshot_lock:
            with self._entry_lock:
                with self.lock:
                    data, sequence = to_bytes(self.model), self.sequence
                keys = self._keys.copy()
                since = self._entries_since, self._rows_since, self._bytes_since
            path = self._state.write_snapshot(sequence, data, keys)  # without locks: learning goes on meanwhile
            with self._entry_lock:
                self._entries_since -= since[0]
                self._rows_since -= since[1]
                self._bytes_since -= since[2]
                self._snapshot_at = self.snapshot_rows
                self._snapshot_sequence, self._snapshot_time = sequence, time.time()
            self._remove_what_is_old()
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
        """Retire the state, and begin a new one; keys stay, so that what is sent again is not learned a second time."""
        if self.sequence != self._snapshot_sequence:
            self.snapshot()
        _make_lasting(self.path)
        self._state.prepare(data, digest, self._keys.copy())
        self._journal.close()
        try:
            retired = self._state.switch()
        finally:  # the new log, or the old one again
            self._journal = Journal(self._state.current, self.segment_bytes)
        log.warning(
            "%s is a new model file and is served from now on. The old model, of %.0f rows with %d entries that were "
            "learned here, is kept in %s.",
            self.path,
            sum(class_sizes(self.model)),
            self.sequence,
            retired,
        )
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
            "keys": len(self._keys),
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


def _make_lasting(path: Path) -> None:
    """Sync the model file and its name before a state is made for it.

    After a power cut an older file under the name would look like a new one, and retire what was learned. The file may
    be on a disk that cannot be written; then it does not change either.
    """
    with contextlib.suppress(OSError):
        file = os.open(path, os.O_RDONLY)
        try:
            os.fsync(file)
        finally:
            os.close(file)
        sync_folder(path.absolute().parent)


def _fail(group: list[_PendingEntry], error: Exception) -> None:
    for pending in group:
        if not pending.done.done():
            pending.done.set_exception(error)
