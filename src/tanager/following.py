"""Model files that learn from sources which keep their rows: topics of Kafka, the log of a service.

    source --rows from a position on--> model --now and then--> file with model and positions --> source may forget

The file always has a model and the positions up to which it has learned, of one moment. Whoever is killed loads it, and
reads the rows since then again: no row is lost, and none counts twice.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tanager.errors import DataError
from tanager.persist import load, save
from tanager.service.journal import FolderLock, JournalError, check_head, entries, late_begin, segments, torn_head
from tanager.service.log_entries import LogEntry, check_entry, decode_entry, learn_entry
from tanager.service.state_folder import read_manifest
from tanager.service.watermark import read_mark

log = logging.getLogger("tanager.following")
Progress = Callable[[int, float | None], None]
PAUSE = 0.5  # seconds between two looks at a log without new entries


@dataclass
class Followed:
    """What came of following a source: rows learned, rows left out, and the positions up to which the file has them."""

    n_rows: int = 0
    n_left_out: int = 0
    positions: dict[str, int] = field(default_factory=dict)


class FollowingModel:
    """A model file that one process at a time lets learn.

    Parameters
    ----------
    path : path
        The model file; it is replaced at every save. A file beside it, with ".lock" added to its name, is locked.
    save_rows, save_seconds : int, float
        The file is written when so many rows were learned or so many seconds have passed since it was written last.
    """

    def __init__(self, path: str | os.PathLike[str], save_rows: int = 100_000, save_seconds: float = 60.0) -> None:
        self.path, self.save_rows, self.save_seconds = Path(path), save_rows, save_seconds
        self.model = load(path)
        self._lock = FolderLock(self.path, Path(f"{path}.lock"))
        try:
            self.model = load(path)  # another process may have written it since
        except BaseException:
            self._lock.release()
            raise
        self.followed = Followed(positions=self.model.read_up_to)
        self._slices = threading.RLock()  # of a model that nobody else uses
        self._positions: dict[str, int] = {}  # since the last save
        self._rows_since, self._saved = 0, time.monotonic()
        self._whole = True

    def position(self, source: str) -> int | None:
        """The position up to which a source was learned; None where it is new."""
        return self._positions.get(source, self.followed.positions.get(source))

    def check(self, entry: LogEntry) -> None:
        """Refuse rows that the model cannot learn; nothing changes."""
        check_entry(self.model, entry)

    def learn(self, entry: LogEntry, positions: dict[str, int]) -> None:
        """Learn rows that were checked, and note how far their sources are learned with them."""
        self._whole = False  # an interrupt can come at any moment
        if entry.rows:
            learn_entry(self.model, entry, self._slices)
        self._positions |= positions
        self.followed.n_rows += len(entry.rows)
        self._rows_since += len(entry.rows)
        self._whole = True

    @property
    def due(self) -> bool:
        """Whether it is time to save."""
        return bool(self._positions) and (
            self._rows_since >= self.save_rows or time.monotonic() - self._saved >= self.save_seconds
        )

    def save(self) -> None:
        """Write the model with all positions; returns when the file is on disk.

        A model that was interrupted while it learned is not written: the file stays as it was.
        """
        self._saved = time.monotonic()
        if not self._positions or not self.model.started or not self._whole:
            return
        self.model.note_read_up_to(self._positions)
        save(self.model, self.path)
        self.followed.positions |= self._positions
        self._positions, self._rows_since = {}, 0

    def close(self) -> None:
        """Let other processes use the file. What was learned since the last save is not written."""
        self._lock.release()


# --- the log of a service -------------------------------------------------------------------------------------------


def learn_log(
    path: str | os.PathLike[str],
    state: str | os.PathLike[str],
    *,
    after: int = 0,
    stop_at_end: bool = False,
    save_rows: int = 100_000,
    save_seconds: float = 60.0,
    progress: Progress = lambda n_rows, share: None,
    stopped: Callable[[], bool] = lambda: False,
) -> Followed:
    """Let a model file learn all that a service learns, from the log in its state folder.

    The service may be running. Only entries that are safe on disk are read. An entry that the model cannot learn, such
    as rows with columns that it does not know, is an error that names the entry.

    Parameters
    ----------
    path : path
        The model file that learns; not the one that is served.
    state : path
        The state folder of the served model, "MODEL.state".
    after : int, default=0
        Where the model has learned nothing of this log yet: begin after this entry. For a copy of a snapshot, which
        has learned all entries up to the one in its name.
    stop_at_end : bool, default=False
        Stop at the end of the log, instead of waiting for more.
    save_rows, save_seconds : int, float
        When to write the file.
    progress : function, optional
        Called with the rows learned so far and None.
    stopped : function, optional
        Asked now and then whether to stop.
    """
    folder = Path(state) / "current"
    if not folder.is_dir():
        raise DataError(f"{str(state)!r} is not the state of a service: it has no folder 'current'. Name MODEL.state.")
    following = FollowingModel(path, save_rows, save_seconds)
    try:
        while True:
            n_new = 0
            for source, sequence, entry in _new_entries(folder, following, after):
                try:
                    following.check(entry)
                except DataError as error:
                    raise DataError(f"{str(folder)!r}, entry {sequence}: {error}") from None
                following.learn(entry, {source: sequence})
                n_new += 1
                if following.due:
                    following.save()
                    progress(following.followed.n_rows, None)
                if stopped():
                    return following.followed
            progress(following.followed.n_rows, None)
            if following.due:
                following.save()
            if stop_at_end or stopped():
                return following.followed
            if not n_new:
                time.sleep(PAUSE)
    finally:
        following.save()
        following.close()


def _new_entries(folder: Path, following: FollowingModel, start: int) -> Iterator[tuple[str, int, LogEntry]]:
    """The entries of a log that were not learned yet, up to the last one that is known to be on disk."""
    manifest = read_manifest(folder)
    if manifest is None:
        raise JournalError(f"{str(folder / 'manifest.json')!r} is missing, so it is not known whose log this is.")
    source = f"log:{manifest.digest[:16]}"  # a service that takes over a new model file begins a new log
    mark = read_mark(folder)
    position = following.position(source)
    last, after = 0 if mark is None else mark.number, start if position is None else position
    if last <= after:
        return
    for first, path in _needed(folder, after):
        data = path.read_bytes()
        if torn_head(data, first):
            continue
        check_head(path, data, first)
        for sequence, payload, _ in entries(data, first):
            if after < sequence <= last:
                if sequence != after + 1:
                    raise JournalError(late_begin(folder, sequence, after + 1))
                yield source, sequence, decode_entry(payload)
                after = sequence


def _needed(folder: Path, after: int) -> list[tuple[int, Path]]:
    """The segments that may have entries after this one."""
    found = segments(folder)
    if found and found[0][0] > after + 1:
        raise JournalError(
            f"the log in {str(folder)!r} begins with entry {found[0][0]}; entries {after + 1} to {found[0][0] - 1} are "
            "in its snapshots only. Begin with a copy of a snapshot, and the log after the entry in its name (--after)."
        )
    return [one for at, one in enumerate(found) if at + 1 == len(found) or found[at + 1][0] > after + 1]
