"""What looking for Ctrl-C costs: kernels in the main thread look at the clock, and ask Python now and then.

How often they look is counted, and what a look costs is measured by itself. Both hardly depend on what else the machine
does. To time the same work with and without looking would not do: two runs of the same code differ by more than the
looks cost, and in another thread, where nobody looks, memory comes from another place.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from benchmarks.harness import Line, binary_rows, seconds
from tanager import A2DE, AODE, GeneralNetwork, NetworkForest, _kernels

ROUNDS = 7
LOOKS = 1_000_000


def time_of(work: Callable[[], object]) -> float:
    """Seconds of the processor, the best of some rounds."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.thread_time()
        work()
        best = min(best, time.thread_time() - start)
    return best


def looks_of(work: Callable[[], object]) -> int:
    """How often some work looks."""
    before = _kernels.interrupt_checks()
    work()
    return _kernels.interrupt_checks() - before


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
    look = time_of(lambda: _kernels.check_interrupts(LOOKS)) / LOOKS
    for name, work in works.items():
        looks, all_of_it = looks_of(work), time_of(work)
        figures = f"{looks:,} looks of {1e9 * look:.0f} ns in {seconds(all_of_it)}"
        yield Line(f"{name}, looking for Ctrl-C / not", figures, all_of_it / (all_of_it - looks * look), 1.02)
