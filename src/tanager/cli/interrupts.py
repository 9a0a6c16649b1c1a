"""Ctrl-C in commands: it is remembered, what was done until then is printed, and the exit code says how it ended."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from tanager.errors import Interrupted

_heard = False


def listen() -> None:
    """Remember from now on that Ctrl-C was pressed, which raises KeyboardInterrupt as before.

    Other libraries turn KeyboardInterrupt into errors of their own: Arrow while it reads, NumPy while it is imported.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    global _heard
    _heard = True
    raise KeyboardInterrupt


def is_interrupt(error: BaseException) -> bool:
    """Whether an error means that Ctrl-C was pressed, whatever it has been turned into since."""
    return _heard or isinstance(error, KeyboardInterrupt)


def so_far(evaluate: Callable[[], Any]) -> tuple[Any, bool]:
    """The results of an evaluation, and whether it was interrupted.

    >>> so_far(lambda: "all of it")
    ('all of it', False)
    """
    try:
        return evaluate(), False
    except Interrupted as stop:
        return stop.results, True
