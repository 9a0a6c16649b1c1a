"""The folder beside a served model: its log, its snapshots, and which model file they belong to.

    lock                            held by the process that learns
    current/manifest.json           the SHA-256 of the model file that all this was learned on
    current/00000000000000000001.log            the log, in segments, and ``synced`` (see ``journal``)
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
import zlib
from pathlib import Path

from tanager.service.journal import FolderLock, Journal, JournalError
from tanager.writing import sync_folder, whole_file

KEPT_SNAPSHOTS = 2  # where the newest cannot be read, the one before it and a longer part of the log take its place
MANIFEST_VERSION = 2


class StateFolder:
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

    def exists(self) -> bool:
        """Whether something was learned, or at least begun, in this folder."""
        return self.current.is_dir()

    def model_digest(self) -> str | None:
        """The SHA-256 of the model file that the state belongs to; None where the manifest was deleted."""
        try:
            return _read_manifest(self._manifest)
        except FileNotFoundError:
            return None

    def set_model_digest(self, digest: str) -> None:
        """From now on the state belongs to this model file."""
        _write_manifest(self._manifest, digest)

    def prepare(self, data: bytes, digest: str) -> None:
        """Make a new state for a model file; it is not used before ``switch``."""
        shutil.rmtree(self._new, ignore_errors=True)
        self._new.mkdir()
        with whole_file(self._new / _snapshot_name(0)) as file:
            file.write(data)
        _write_manifest(self._new / "manifest.json", digest)
        Journal(self._new).close()
        sync_folder(self._new)

    def switch(self) -> None:
        """Retire the present state and use the prepared one.

        A crash between the two renames leaves no current state. Then the next start makes one from the model file,
        which is the new one by then; so the two renames together need not be atomic.
        """
        retired = self._retired_name()
        if self.exists():
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
        """The snapshots, each with the number of the last entry in it, newest first."""
        paths = self.current.glob("snapshot-*.tanager")
        return sorted(((int(path.stem.removeprefix("snapshot-")), path) for path in paths), reverse=True)

    def write_snapshot(self, sequence: int, data: bytes) -> Path:
        """Write a snapshot; it is on disk, with its name, when this returns."""
        path = self.current / _snapshot_name(sequence)
        with whole_file(path) as file:
            file.write(data)
        sync_folder(self.current)
        return path

    def drop_old_snapshots(self) -> int:
        """Keep the newest snapshots only; returns the last entry that the oldest of these holds.

        The log must keep all entries after that one, or a damaged newest snapshot could not be replaced.
        """
        snapshots = self.snapshots()
        for _, path in snapshots[KEPT_SNAPSHOTS:]:
            path.unlink()
        return snapshots[:KEPT_SNAPSHOTS][-1][0]

    def set_aside(self, path: Path) -> Path:
        """Rename a file that cannot be read, so that it is not tried again."""
        return path.rename(path.with_name(f"{path.name}.damaged"))

    def release(self) -> None:
        """Let other processes use the folder."""
        if not self.exists():  # a model file that was refused leaves no folder behind
            with contextlib.suppress(OSError):
                (self.folder / "lock").unlink()
                self.folder.rmdir()
        self._lock.release()


def _snapshot_name(sequence: int) -> str:
    return f"snapshot-{sequence:020d}.tanager"


# --- the manifest ---------------------------------------------------------------------------------------------------


def _manifest(digest: str, version: int) -> bytes:
    """The manifest as it is written; version 1 had no checksum."""
    data = {"format": "tanager state", "version": version, "model": {"sha256": digest}}
    if version > 1:
        data["checksum"] = zlib.crc32(json.dumps(data).encode())
    return json.dumps(data).encode()


def _write_manifest(path: Path, digest: str) -> None:
    with whole_file(path) as file:
        file.write(_manifest(digest, MANIFEST_VERSION))


def _read_manifest(path: Path) -> str:
    """The digest in a manifest.

    A changed digest would look like a new model file, and all that was learned would be retired. So the manifest must
    be byte for byte what would be written for its digest.
    """
    data = path.read_bytes()
    try:
        found = json.loads(data)
        digest, version = str(found["model"]["sha256"]), int(found["version"])
    except (ValueError, KeyError, TypeError):
        digest, version = "", 0
    if version > MANIFEST_VERSION:
        raise JournalError(
            f"{str(path)!r} was written by a newer tanager (format {version}, this one reads up to {MANIFEST_VERSION})."
            " Upgrade tanager to read it."
        )
    if len(digest) != 64 or data != _manifest(digest, version):
        raise JournalError(
            f"{str(path)!r} is damaged, so it is not known which model file the log beside it belongs to. Put back a "
            "good copy; or delete it, if the model file has not been replaced since."
        )
    return digest
