"""The bytes of an input: a file, gzipped or not, or standard input."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, cast

from tanager.errors import DataError, nearest

GZIP = b"\x1f\x8b"


class InputFile:
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
                raise DataError(f"{self.name!r} is a folder. Give the path of a file.")
            return self.path.stat().st_size
        except (FileNotFoundError, NotADirectoryError):
            raise FileNotFoundError(_no_such_file(self.name, self.path)) from None

    def _open_stdin(self) -> io.BufferedReader:
        stream: Any = getattr(sys.stdin, "buffer", sys.stdin)
        return stream if hasattr(stream, "peek") else io.BufferedReader(stream)

    def peek(self, n: int) -> bytes:
        """The first bytes, as they are stored."""
        if self._stream is not None:
            return self._stream.peek(n)[:n]
        with self._open_path() as file:
            return file.read(n)

    def _open_path(self) -> IO[bytes]:
        try:
            return self.path.open("rb")
        except PermissionError:
            raise PermissionError(f"no permission to read {self.name!r}. Check the permissions of the file.") from None

    def open(self) -> IO[bytes]:
        """The bytes from the beginning, decompressed."""
        if not self.stdin:
            self._raw = self._open_path()
        elif self._stream is None:
            raise DataError("<stdin> can be read only once. Save it to a file first.")
        else:
            self._raw, self._stream = self._stream, None
        stream: IO[bytes] = self._raw
        return cast(IO[bytes], _Gunzipped(stream)) if self.gzipped else stream

    @property
    def done(self) -> float | None:
        """The fraction of bytes read so far; None for standard input."""
        if self.size is None:
            return None
        if self._raw is None or self.size == 0:
            return 0.0
        return 1.0 if self._raw.closed else min(1.0, self._raw.tell() / self.size)

    @contextlib.contextmanager
    def gzip_errors(self) -> Iterator[None]:
        """Raise DataError, with the name of the file, where a gzip file is damaged."""
        try:
            yield
        except (EOFError, gzip.BadGzipFile, zlib.error):
            raise DataError(
                f"{self.name}: the gzip file is damaged or truncated. Check it with gzip -t, and copy it again."
            ) from None


class _Gunzipped(gzip.GzipFile):
    """A gzip file that closes the file it reads from."""

    def __init__(self, packed: IO[bytes]) -> None:
        super().__init__(fileobj=packed)
        self.packed = packed

    def close(self) -> None:
        super().close()
        self.packed.close()


def _no_such_file(name: str, path: Path) -> str:
    folder = path.parent
    if not folder.is_dir():
        return f"there is no file {name!r}: the folder {str(folder)!r} does not exist."
    return f"there is no file {name!r}. Check the name and the folder.{nearest(path.name, os.listdir(folder))}"
