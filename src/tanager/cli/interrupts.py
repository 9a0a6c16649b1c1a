"""Ctrl-C in commands that evaluate: what was done until then is printed, and the exit code says how it ended."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tanager.errors import Interrupted


def so_far(evaluate: Callable[[], Any]) -> tuple[Any, bool]:
    """The results of an evaluation, and whether it was interrupted.

    >>> so_far(lambda: "all of it")
    ('all of it', False)
    """
    try:
        return evaluate(), False
    except Interrupted as stop:
        return stop.results, True
