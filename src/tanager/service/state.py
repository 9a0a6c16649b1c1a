"""The folder beside a served model: its log, its snapshots, and which model file they belong to.

    lock                            held by the process that learns
    current/manifest.json           the SHA-256 of the model file that all this was learned on
    current/00000000000000000001.log            the log, in segments (see ``journal``)
    current/snapshot-00000000000000000000.tanager   model files with what was learned up to that entry
    retired-20261116T093000Z/       the same, of a model file that has been replaced since

A folder is made under another name and then renamed, so that ``current`` is always whole.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import time
from pathlib import Path

from tanager.service.journal import FolderLock, Journal, JournalError
from tanager.writing import sync_folder, whole_file

KEEP = 2  # snapshots


class State:
    """What is on disk for one served model; one process at a time."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.current = folder, folder / "current"
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = FolderLock(folder)
        shutil.rmtree(self._new, ignore_errors=True)  # what a crash has left
        for path in self.current.glob(".*.tmp"):
            path.unlink()

    @property
    def _new(self) -> Path:
        return self.folder / "new"

    @property
    def _manifest(self) -> Path:
        return self.current / "manifest.json"

    def begun(self) -> bool:
        """Whether something is there."""
        return self.current.is_dir()

    def owner(self) -> str | None:
        """The SHA-256 of the model file that the state belongs to; None where somebody has deleted the manifest."""
        try:
            return str(json.loads(self._manifest.read_bytes())["model"]["sha256"])
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError):
            raise JournalError(
                f"{str(self._manifest)!r} is damaged, so that nobody knows which model file the log beside it belongs "
                "to. Put back a good copy; or delete it, if the model file has not been replaced since."
            ) from None

    def adopt(self, digest: str) -> None:
        """From now on the state belongs to this model file."""
        _write_manifest(self._manifest, digest)

    def prepare(self, data: bytes, digest: str) -> None:
        """Make a new state for a model file; it does not count before ``switch``."""
        shutil.rmtree(self._new, ignore_errors=True)
        self._new.mkdir()
        with whole_file(self._new / _snapshot_name(0)) as file:
            file.write(data)
        _write_manifest(self._new / "manifest.json", digest)
        Journal(self._new).close()
        sync_folder(self._new)

    def switch(self) -> None:
        """Retire the state that is there and begin with the prepared one.

        A crash between the two renames leaves no current state: the model file, which is the new one by then, is
        begun with.
        """
        retired = self._retired_name()
        if self.begun():
            os.rename(self.current, retired)
        try:
            os.rename(self._new, self.current)
        except OSError:
            if retired.exists():
                os.rename(retired, self.current)
            raise
        sync_folder(self.folder)

    def _retired_name(self) -> Path:
        name, n = time.strftime("retired-%Y%m%dT%H%M%SZ", time.gmtime()), 1
        while (path := self.folder / (name if n == 1 else f"{name}-{n}")).exists():
            n += 1
        return path

    # --- snapshots ----------------------------------------------------------------------------------------------

    def snapshots(self) -> list[tuple[int, Path]]:
        """The snapshots with the entries they hold, newest first."""
        paths = self.current.glob("snapshot-*.tanager")
        return sorted(((int(path.stem.removeprefix("snapshot-")), path) for path in paths), reverse=True)

    def write_snapshot(self, sequence: int, data: bytes) -> Path:
        """A snapshot that is there, for good, when this returns."""
        path = self.current / _snapshot_name(sequence)
        with whole_file(path) as file:
            file.write(data)
        sync_folder(self.current)
        return path

    def thin(self) -> int:
        """Keep the newest snapshots only; returns up to which entry the log is no longer needed."""
        snapshots = self.snapshots()
        for _, path in snapshots[KEEP:]:
            path.unlink()
        return snapshots[:KEEP][-1][0]

    def set_aside(self, path: Path) -> Path:
        """A file that cannot be read gets another ending."""
        return path.rename(path.with_name(f"{path.name}.damaged"))

    def release(self) -> None:
        """Let other processes in."""
        if not self.begun():  # a model file that was refused leaves no folder behind
            with contextlib.suppress(OSError):
                (self.folder / "lock").unlink()
                self.folder.rmdir()
        self._lock.release()


def _snapshot_name(sequence: int) -> str:
    return f"snapshot-{sequence:020d}.tanager"


def _write_manifest(path: Path, digest: str) -> None:
    with whole_file(path) as file:
        file.write(json.dumps({"format": "tanager state", "version": 1, "model": {"sha256": digest}}).encode())
