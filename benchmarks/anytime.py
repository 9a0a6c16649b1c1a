"""Do questions with a budget end in time? What do all members cost next to AODE, and learning with them judged?"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator

import numpy as np

from benchmarks.harness import Line, best_times
from tanager import AODE, AnytimeAODE, generate

BUDGETS = (50e-6, 200e-6, 1e-3, 5e-3)
CALLS = 1000


def asked(model: AnytimeAODE, X: np.ndarray, budget: float) -> tuple[float, float]:
    """Medians over many questions: seconds, and members used on average."""
    seconds, members = [], []
    for _ in range(CALLS):
        start = time.perf_counter()
        answer = model.answer(X, budget=budget)
        seconds.append(time.perf_counter() - start)
        members.append(float(answer.members.mean()))
    return statistics.median(seconds), statistics.median(members)


def budget_lines(model: AnytimeAODE, X: np.ndarray) -> Iterator[Line]:
    rows = "1 row" if len(X) == 1 else f"{len(X):,} rows"
    least, _ = asked(model, X, 0.0)
    for budget in BUDGETS:
        seconds, members = asked(model, X, budget)
        allowed = max(budget + 200e-6, 1.2 * budget)
        what = f"{rows}, budget {budget * 1e6:,.0f} us: time / allowed ({members:.1f} members)"
        if members == 0 and seconds > allowed:  # no time for more than naive Bayes, which takes what it takes
            allowed = 1.3 * least
            what = f"{rows}, budget {budget * 1e6:,.0f} us: time / 1.3 naive Bayes alone (0 members)"
        yield Line(what, f"{seconds * 1e6:,.0f} us / {allowed * 1e6:,.0f} us", seconds / allowed, 1.0)


def lines() -> Iterator[Line]:
    X, y = generate.tan(20, n_values=3, n_classes=2, random_state=1).take(110_000)
    model = AnytimeAODE(stop="all").fit(X[:100_000], y[:100_000])
    for n_rows in (1, 10_000):
        yield from budget_lines(model, X[100_000 : 100_000 + n_rows])

    whole = AODE().fit(X[:100_000], y[:100_000])
    times = best_times(
        {
            "AODE": lambda: whole.predict_proba(X),
            "anytime": lambda: model.predict_proba(X),
            "judged": lambda: AnytimeAODE(validation_rows=len(X)).fit(X, y),
        },
        repeats=5,
    )
    for ours, peer, what, bar in (
        ("anytime", "AODE", "all members of 110,000 rows / AODE", 1.5),
        ("judged", "AODE", "learning, all rows judge order and stopping point / answers of AODE", 20.0),
    ):
        figures = f"{times[ours] * 1e3:.0f} ms / {times[peer] * 1e3:.0f} ms"
        yield Line(what, figures, times[ours] / times[peer], bar)
