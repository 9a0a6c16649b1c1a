"""Files that are there whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write to, which takes its name when all is written and synced, and leaves no trace otherwise.

    Other readers see the old file or the new one. A link stays a link, and a file that is replaced hands on its
    permissions.
    """
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        missing = str(target.parent)
        raise FileNotFoundError(f"cannot write {os.fspath(path)!r}: there is no folder {missing!r}. Make it first.")
    if target.is_dir():
        raise IsADirectoryError(f"cannot write {os.fspath(path)!r}: this is a folder. Name a file in it.")
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(6)}.tmp")
    try:
        with open(temporary, "xb") as file:
            if target.exists():
                os.chmod(temporary, target.stat().st_mode & 0o7777)
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()
        raise
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Make the new name last; not every system lets a folder be opened."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
