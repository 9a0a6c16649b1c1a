"""What the library says to who writes Python, in the words of who writes commands: options instead of arguments."""

from __future__ import annotations

import ast
import csv
import io
import re
from collections.abc import Callable, Iterable
from shlex import quote
from typing import Any

_TEXT = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_OF_COLUMNS = re.compile(rf"\b(categorical|numeric|keep)=(\[(?:{_TEXT}|[^\]'\"])*\])(?: \(--\1 [^()]*\))?")
_OF_ONE = re.compile(rf"\b(encoding|delimiter)=({_TEXT})")


def as_options(message: str) -> str:
    """A message with the arguments of Python that it speaks of as options, ready for a shell.

    >>> as_options("Keep them with keep=['id', 'the zip', ...], or drop them.")
    "Keep them with --keep 'id,the zip,...', or drop them."
    >>> as_options('give its encoding, for example encoding="latin-1".')
    'give its encoding, for example --encoding latin-1.'
    >>> as_options("Read it as text with categorical=['age'] (--categorical age).")
    'Read it as text with --categorical age.'
    """
    message = _OF_COLUMNS.sub(lambda found: _option(found, _comma_separated), message)
    return _OF_ONE.sub(lambda found: _option(found, str), message)


def _option(found: re.Match[str], written: Callable[[Any], str]) -> str:
    """The argument that was found as an option; as it is where it is no Python."""
    try:
        value = ast.literal_eval(found[2])
    except (ValueError, SyntaxError):
        return found[0]
    return f"--{found[1]} {quote(written(value))}"


def _comma_separated(names: Iterable[object]) -> str:
    """Names as an option takes them: those with a comma in quotes."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow("..." if name is Ellipsis else str(name) for name in names)
    return line.getvalue()
