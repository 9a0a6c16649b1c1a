"""Where bytes come from: a path, gzipped or not, or standard input. Mistakes in names get one sentence each."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from tanager.errors import DataError, nearest

GZIP = b"\x1f\x8b"


class Place:
    """A path as the user wrote it, or "-" for standard input, which can be read only once."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        written = os.fspath(path)
        self.stdin = written == "-"
        self.name = "<stdin>" if self.stdin else written
        self.path = Path(written)
        self.size = None if self.stdin else self._size()
        self._raw: Any = None
        self._stream = self._open_stdin() if self.stdin else None
        self.gzipped = self.peek(2) == GZIP

    def _size(self) -> int:
        try:
            if self.path.is_dir():
                raise DataError(f"{self.name!r} is a folder, not a table. Name a file in it.")
            return self.path.stat().st_size
        except (FileNotFoundError, NotADirectoryError):
            raise FileNotFoundError(_not_there(self.name, self.path)) from None

    def _open_stdin(self) -> io.BufferedReader:
        stream: Any = getattr(sys.stdin, "buffer", sys.stdin)
        return stream if hasattr(stream, "peek") else io.BufferedReader(stream)

    def peek(self, n: int) -> bytes:
        """The first bytes, as they are on disk."""
        if self._stream is not None:
            return self._stream.peek(n)[:n]
        with self._open_path() as file:
            return file.read(n)

    def _open_path(self) -> IO[bytes]:
        try:
            return self.path.open("rb")
        except PermissionError:
            raise PermissionError(f"{self.name!r} may not be read by you. Ask for permission, or copy it.") from None

    def open(self) -> IO[bytes]:
        """The bytes from the beginning, unpacked."""
        if not self.stdin:
            self._raw = self._open_path()
        elif self._stream is None:
            raise DataError("<stdin> can be read only once. Write it to a file first.")
        else:
            self._raw, self._stream = self._stream, None
        stream: Any = _Unpacked(self._raw) if self.gzipped else self._raw
        return stream

    @property
    def done(self) -> float | None:
        """The fraction of bytes that was read so far; None for standard input."""
        if self.size is None:
            return None
        if self._raw is None or self.size == 0:
            return 0.0
        return 1.0 if self._raw.closed else min(1.0, self._raw.tell() / self.size)

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """A damaged gzip file is said to be one."""
        try:
            yield
        except (EOFError, gzip.BadGzipFile, zlib.error):
            raise DataError(
                f"{self.name}: the gzip file is damaged or ends too early. Check that it was copied whole (gzip -t)."
            ) from None


class _Unpacked(gzip.GzipFile):
    """A gzip file that is closed with what it reads from."""

    def __init__(self, packed: IO[bytes]) -> None:
        super().__init__(fileobj=packed)
        self.packed = packed

    def close(self) -> None:
        super().close()
        self.packed.close()


def _not_there(name: str, path: Path) -> str:
    folder = path.parent
    if not folder.is_dir():
        return f"there is no file {name!r}: the folder {str(folder)!r} does not exist."
    return f"there is no file {name!r}. Check the name and the folder.{nearest(path.name, os.listdir(folder))}"
