"""Output files of commands: written completely or not at all, and never over an input."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from tanager.errors import OptionError
from tanager.writing import whole_file


def check_output(path: str, *inputs: str | None) -> None:
    """Raise OptionError, before the work begins, for a path that cannot be written or would replace an input."""
    if path == "-":
        return
    target = Path(path)
    if target.is_dir():
        raise OptionError(f"cannot write {path!r}: it is a folder. Give the path of a file.")
    if not target.absolute().parent.is_dir():
        raise OptionError(f"cannot write {path!r}: there is no folder {str(target.parent)!r}. Create it first.")
    if not os.access(target.absolute().parent, os.W_OK):
        raise OptionError(f"cannot write {path!r}: no permission to write to the folder {str(target.parent)!r}.")
    for name in inputs:
        if name is not None and target.exists() and os.path.exists(name) and os.path.samefile(target, name):
            raise OptionError(f"writing {path!r} would overwrite an input file. Choose another name with -o.")


@contextlib.contextmanager
def open_output(path: str) -> Iterator[BinaryIO]:
    """A file to write to, which replaces ``path`` once it is complete and is removed on an error; ``-`` is stdout."""
    if path == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with whole_file(path) as file:
        yield file
