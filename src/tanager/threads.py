"""Threads that calculate: parts of some work side by side, and nobody waits for them after Ctrl-C."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

CALCULATING = "tanager-calculating"  # how the names of these threads begin


def side_by_side(work: Callable[[Item], Result], parts: Sequence[Sequence[Item]], n_threads: int) -> Iterator[Result]:
    """The results for the items of all parts, in order; a thread takes one part after the other.

    After an error, Ctrl-C above all, no thread begins another item, and those that are begun are not waited for.

    >>> list(side_by_side(abs, [[-1, 2], [-3]], n_threads=2))
    [1, 2, 3]
    """
    from concurrent.futures import ThreadPoolExecutor  # which a command that starts need not import

    ended = threading.Event()
    pool = ThreadPoolExecutor(n_threads, thread_name_prefix=CALCULATING)
    try:
        for results in pool.map(lambda part: [work(item) for item in part if not ended.is_set()], parts):
            yield from results
    except BaseException:
        ended.set()
        raise
    finally:
        pool.shutdown(wait=not ended.is_set(), cancel_futures=True)


def others_only_calculate() -> bool:
    """Whether the process may end without waiting for any thread."""
    others = (thread for thread in threading.enumerate() if thread is not threading.main_thread())
    return all(thread.name.startswith(CALCULATING) for thread in others)
