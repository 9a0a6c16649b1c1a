"""Files that a command writes: whole or not at all, and never over their own input."""

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
    """Refuse, before the work begins, a name that cannot be written or that would replace an input."""
    if path == "-":
        return
    target = Path(path)
    if target.is_dir():
        raise OptionError(f"cannot write {path!r}: this is a folder. Name a file in it.")
    if not target.absolute().parent.is_dir():
        raise OptionError(f"cannot write {path!r}: there is no folder {str(target.parent)!r}. Make it first.")
    if not os.access(target.absolute().parent, os.W_OK):
        raise OptionError(f"cannot write {path!r}: the folder {str(target.parent)!r} may not be written to.")
    for name in inputs:
        if name is not None and target.exists() and os.path.exists(name) and os.path.samefile(target, name):
            raise OptionError(f"writing {path!r} would replace the file that is read. Choose another name with -o.")


@contextlib.contextmanager
def written(path: str) -> Iterator[BinaryIO]:
    """A file to write to, which takes its name when all is written and leaves no trace otherwise; ``-`` is stdout."""
    if path == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with whole_file(path) as file:
        yield file
