"""What looking for Ctrl-C costs: kernels in the main thread, where they look at the clock and ask Python now and then.

The peer is the same call in another thread, where signals are never handled and nobody is asked.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

from benchmarks.harness import Line, binary_rows, seconds
from tanager import A2DE, AODE, GeneralNetwork, NetworkForest

ROUNDS = 40


def in_a_thread(work: Callable[[], object]) -> float:
    """Seconds of the processor that some work takes in a thread of its own."""
    spent = []

    def run() -> None:
        start = time.thread_time()
        work()
        spent.append(time.thread_time() - start)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return spent[0]


def here(work: Callable[[], object]) -> float:
    """The same in the main thread."""
    start = time.thread_time()
    work()
    return time.thread_time() - start


def lines() -> Iterator[Line]:
    X, y = binary_rows(200_000)
    aode, a2de = AODE().fit(X, y), A2DE().fit(X[:20_000], y[:20_000])
    works: dict[str, Callable[[], object]] = {
        "AODE.fit 200k x 19": lambda: AODE().fit(X, y),
        "AODE.predict_proba 200k x 19": lambda: aode.predict_proba(X),
        "A2DE.predict_proba 20k x 19": lambda: a2de.predict_proba(X[:20_000]),
        "GeneralNetwork.fit 50k x 19": lambda: GeneralNetwork().fit(X[:50_000], y[:50_000]).predict(X[:1]),
        "NetworkForest.fit 2k x 19, 20 members": lambda: (
            NetworkForest(n_members=20).fit(X[:2000], y[:2000]).predict(X[:1])
        ),
    }
    for name, work in works.items():
        work()
        times = [(here(work), in_a_thread(work)) for _ in range(ROUNDS)]
        asking, deaf = (min(own) for own in zip(*times, strict=True))
        yield Line(f"{name}, looking for Ctrl-C / not", f"{seconds(asking)} / {seconds(deaf)}", asking / deaf, 1.02)
