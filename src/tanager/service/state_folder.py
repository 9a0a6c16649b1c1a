"""The folder beside a served model: its log, its snapshots, and which model file they belong to.

    lock                            held by the process that learns
    current/manifest.json           the SHA-256 of the model file that all this was learned on
    current/00000000000000000001.log            the log, in segments, and ``synced``, its watermark (see ``journal``)
    current/snapshot-00000000000000000000.tanager   model files with what was learned up to that entry
    current/keys-00000000000000000000.bin       the keys of requests up to that entry (see ``keys``)
    new/                            a state that is being made
    retired-20261116T093000Z/       the same as ``current``, of a model file that has been replaced since
    lost-20261116T093000Z/          parts of a log that the operator chose to go on without

A folder is made under another name, synced and then renamed, so that ``current`` is always whole. A name lasts when its
folder is synced; whoever opens a state syncs all names that count, since a killed process may not have done it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tanager.errors import TanagerError
from tanager.service.journal import SEGMENT_NAME, FolderLock, Journal, JournalError
from tanager.service.keys import KeyList, LearnedKeys, keys_from_bytes, keys_to_bytes
from tanager.service.watermark import NAME as WATERMARK
from tanager.writing import sync_folder, whole_file

KEPT_SNAPSHOTS = 2  # where the newest cannot be read, the one before it and a longer part of the log take its place
MANIFEST_VERSION = 3  # since 3 there is a watermark with two slots, and every snapshot has a file of keys
_SNAPSHOT = re.compile(r"snapshot-(\d{20})\.tanager")
_KEYS = re.compile(r"keys-(\d{20})\.bin")


@dataclass(frozen=True)
class Manifest:
    """Which model file a state belongs to, by its SHA-256, and the version of the state."""

    digest: str
    version: int = MANIFEST_VERSION


class StateFolder:
    """What is on disk for one served model; one process at a time."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.current = folder, folder / "current"
        _make_folder(folder)
        self._lock = FolderLock(folder)
        self._finish_switch()
        shutil.rmtree(self._new, ignore_errors=True)  # what a crash has left
        if self.exists():
            for path in self.current.glob(".*.tmp"):
                path.unlink()
            sync_folder(self.current)
        sync_folder(folder)

    @property
    def _new(self) -> Path:
        return self.folder / "new"

    @property
    def _manifest(self) -> Path:
        return self.current / "manifest.json"

    def exists(self) -> bool:
        """Whether something was learned, or at least begun, in this folder."""
        return self.current.is_dir()

    def manifest(self) -> Manifest | None:
        """Which model file the state belongs to; None where the manifest was deleted."""
        return read_manifest(self.current)

    def set_manifest(self, digest: str) -> None:
        """From now on the state is of this version and belongs to this model file."""
        _write(self._manifest, _packed(Manifest(digest)))

    def prepare(self, data: bytes, digest: str, keys: KeyList = ([], [])) -> None:
        """Make a new state for a model file; it is not used before ``switch``."""
        shutil.rmtree(self._new, ignore_errors=True)
        self._new.mkdir()
        Journal(self._new).close()
        _write(self._new / _keys_name(0), keys_to_bytes(keys))
        _write(self._new / _snapshot_name(0), data)
        _write(self._new / "manifest.json", _packed(Manifest(digest)))  # last: with a manifest, it is whole
        sync_folder(self.folder)  # its name must last before the present state is renamed

    def switch(self) -> Path | None:
        """Retire the present state, and use the prepared one; returns where the old one is.

        A crash between the two renames leaves no current state, and a whole new one: ``_finish_switch`` goes on. Each
        lasts before the next step, or a power cut could leave the second without the first.
        """
        retired = self.free_name("retired") if self.exists() else None
        if retired is not None:
            os.rename(self.current, retired)
        try:
            sync_folder(self.folder)
            os.rename(self._new, self.current)
        except OSError:
            if retired is not None:
                os.rename(retired, self.current)
                sync_folder(self.folder)
            raise
        sync_folder(self.folder)
        return retired

    def _finish_switch(self) -> None:
        if not self.exists() and self._new.is_dir():
            with contextlib.suppress(TanagerError):
                if read_manifest(self._new) is not None:
                    os.rename(self._new, self.current)

    def free_name(self, kind: str) -> Path:
        """A new name for a folder of this kind, with the time in it."""
        name, n = time.strftime(f"{kind}-%Y%m%dT%H%M%SZ", time.gmtime()), 1
        while (path := self.folder / (name if n == 1 else f"{name}-{n}")).exists():
            n += 1
        return path

    # --- snapshots ----------------------------------------------------------------------------------------------

    def snapshots(self) -> list[tuple[int, Path]]:
        """The snapshots, each with the number of the last entry in it, newest first."""
        return snapshots(self.current)

    def read_keys(self, sequence: int) -> LearnedKeys:
        """The keys beside a snapshot."""
        return read_keys(self.current, sequence)

    def write_snapshot(self, sequence: int, data: bytes, keys: KeyList) -> Path:
        """Write a snapshot and its keys; they are on disk, with their names, when this returns. The keys come first,
        so that a snapshot is never without them."""
        self.write_keys(sequence, keys)
        path = self.current / _snapshot_name(sequence)
        _write(path, data)
        return path

    def write_keys(self, sequence: int, keys: KeyList = ([], [])) -> None:
        """Write the keys of a snapshot."""
        _write(self.current / _keys_name(sequence), keys_to_bytes(keys))

    def drop_old_snapshots(self) -> int:
        """Keep the newest snapshots only; returns the last entry that the oldest of these holds.

        The log must keep all entries after that one, or a damaged newest snapshot could not be replaced.
        """
        found = self.snapshots()
        for _, path in found[KEPT_SNAPSHOTS:]:
            path.unlink()
        kept = {sequence for sequence, _ in found[:KEPT_SNAPSHOTS]}
        for sequence, path in _numbered(self.current, _KEYS):
            if sequence not in kept and sequence < max(kept):  # a later one may be of a snapshot that comes
                path.unlink()
        return min(kept)

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


# --- reading while a service learns ---------------------------------------------------------------------------------


@contextlib.contextmanager
def reading(current: Path) -> Iterator[None]:
    """While this is open, a service that learns removes no file of the state."""
    folder = os.open(current, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with contextlib.suppress(OSError):  # a file system without such locks: whoever reads tries again
            fcntl.flock(folder, fcntl.LOCK_SH)
        yield
    finally:
        os.close(folder)


@contextlib.contextmanager
def removing(current: Path) -> Iterator[bool]:
    """Whether files of the state may be removed now: while this is open and true, nobody begins to read."""
    folder = os.open(current, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        except OSError:  # a file system without such locks
            pass
        yield True
    finally:
        os.close(folder)


# --- what is in a state ---------------------------------------------------------------------------------------------


def snapshots(current: Path) -> list[tuple[int, Path]]:
    """The snapshots of a state, each with the number of the last entry in it, newest first."""
    return sorted(_numbered(current, _SNAPSHOT), reverse=True)


def read_keys(current: Path, sequence: int) -> LearnedKeys:
    """The keys beside a snapshot of a state."""
    path = current / _keys_name(sequence)
    try:
        return keys_from_bytes(path.read_bytes(), repr(str(path)))
    except FileNotFoundError:
        raise JournalError(f"{str(path)!r} is missing.") from None


def is_part(path: Path) -> bool:
    """Whether a file in a state is a part of it, by its name."""
    patterns = (SEGMENT_NAME, _SNAPSHOT, _KEYS)
    return path.name in (WATERMARK, "manifest.json") or any(pattern.fullmatch(path.name) for pattern in patterns)


def strays(current: Path) -> list[Path]:
    """Files that are no part of a state; they are never read."""
    return sorted(path for path in current.iterdir() if path.name != "lock" and not is_part(path))


def _numbered(folder: Path, name: re.Pattern[str]) -> list[tuple[int, Path]]:
    found = ((name.fullmatch(path.name), path) for path in folder.iterdir())
    return [(int(match[1]), path) for match, path in found if match is not None]


def _snapshot_name(sequence: int) -> str:
    return f"snapshot-{sequence:020d}.tanager"


def _keys_name(sequence: int) -> str:
    return f"keys-{sequence:020d}.bin"


def _write(path: Path, data: bytes) -> None:
    """Write a file; it is on disk, with its name, when this returns."""
    with whole_file(path) as file:
        file.write(data)
    sync_folder(path.parent)


def _make_folder(folder: Path) -> None:
    """Make a folder, with those above it, so that it lasts.

    What is there already may have been made by a process that was killed before it could sync; so the two names that
    the service itself makes (``--state`` and a folder of a model in it) are synced in any case.
    """
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for path in {folder, folder.absolute().parent, *made}:
        try:
            sync_folder(path.absolute().parent)
        except PermissionError:  # a folder that we may not read was not made by us
            if path in made:
                raise


# --- the manifest ---------------------------------------------------------------------------------------------------


def _packed(manifest: Manifest) -> bytes:
    """The manifest as it is written; version 1 had no checksum."""
    data = {"format": "tanager state", "version": manifest.version, "model": {"sha256": manifest.digest}}
    if manifest.version > 1:
        data["checksum"] = zlib.crc32(json.dumps(data).encode())
    return json.dumps(data).encode()


def read_manifest(current: Path) -> Manifest | None:
    """The manifest of a state; None where there is none.

    A changed digest would look like a new model file, and all that was learned would be retired. So the manifest must
    be byte for byte what would be written for its digest.
    """
    path = current / "manifest.json"
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    try:
        found = json.loads(data)
        manifest = Manifest(str(found["model"]["sha256"]), int(found["version"]))
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError):
        manifest = Manifest("", 0)
    if manifest.version > MANIFEST_VERSION:
        raise JournalError(
            f"{str(path)!r} was written by a newer tanager (format {manifest.version}, this one reads up to "
            f"{MANIFEST_VERSION}). Upgrade tanager to read it."
        )
    if len(manifest.digest) != 64 or data != _packed(manifest):
        raise JournalError(
            f"{str(path)!r} is damaged, so it is not known which model file the log beside it belongs to. Put back a "
            "good copy; or delete it, if the model file has not been replaced since."
        )
    return manifest
