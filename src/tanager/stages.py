"""Stages of long work: what is being done now, and how far it is, told to whoever listens.

Learning tells its stages from wherever they are (``tell``, ``steps``, ``kernel_steps``); commands and ``progress=True``
listen (``told_to``). Where nobody listens, nothing happens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from tanager import _kernels

Item = TypeVar("Item")
StageDone = Callable[[str, int, int | None], object]  # what is done; how many parts of it; of how many, where known

_listener: ContextVar[StageDone | None] = ContextVar("_listener", default=None)


@contextmanager
def told_to(listener: StageDone | None) -> Iterator[None]:
    """Tell the stages of the work inside to a listener.

    >>> told = []
    >>> with told_to(lambda *stage: told.append(stage)):
    ...     for candidate in steps("judging candidates", ["nb", "tan"]):
    ...         pass
    >>> told
    [('judging candidates', 0, 2), ('judging candidates', 1, 2), ('judging candidates', 2, 2)]
    """
    before = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(before)


def tell(what: str, done: int = 0, total: int | None = None) -> None:
    """Say what is being done now: so many parts of all, where it is known how many there are."""
    listener = _listener.get()
    if listener is not None:
        listener(what, done, total)


def steps(what: str, items: Sequence[Item]) -> Iterator[Item]:
    """The items one after the other; how many are done is told before each, and after the last."""
    for done, item in enumerate(items):
        tell(what, done, len(items))
        yield item
    tell(what, len(items), len(items))


@contextmanager
def kernel_steps(what: str) -> Iterator[None]:
    """Tell how far a kernel is that counts its steps, some times a second."""
    tell(what)
    if _listener.get() is None:
        yield
        return
    _kernels.watch(lambda done, total: tell(what, done, total))
    try:
        yield
    finally:
        _kernels.watch(None)
