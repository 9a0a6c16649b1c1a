"""Made-up rows: a million per second of every model, and next to the generators of river and scikit-learn."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator

from river.datasets import synth
from sklearn.datasets import make_classification

from benchmarks.harness import Line, best_times, rate
from tanager import generate

N_ROWS = 262_144  # four blocks
FEW = 5_000  # of a generator that makes one row after the other


def models() -> dict[str, generate.Stream]:
    """Every kind of stream over 19 columns, before noise and missing cells; the rules have columns of their own."""
    a, b = generate.tan(random_state=1), generate.tan(random_state=2)
    return {
        "naive_bayes": generate.naive_bayes(),
        "tan": a,
        "ban": generate.ban(),
        "tan, 10 irrelevant columns": a.irrelevant(10),
        "tan, gradual drift": generate.drift(a, b, at=N_ROWS // 2, width=N_ROWS // 4),
        "tan, recurring drift": generate.recurring(a, b, every=1000),
        "tan, incremental drift": generate.incremental(a, generate.redrawn(a), 0, N_ROWS),
        "gaussians, 4 columns": generate.gaussians(),
        "moving_gaussians, 4 columns": generate.moving_gaussians(),
        "sea": generate.sea(),
        "hyperplane, 10 columns": generate.hyperplane(),
        "stagger": generate.stagger(),
        "led": generate.led(),
    }


def lines() -> Iterator[Line]:
    ways = {name: _taking(stream.noise(0.05).missing(0.05)) for name, stream in models().items()}
    for name, seconds in best_times(ways, repeats=3).items():
        rows = N_ROWS / seconds
        yield Line(f"{name}, 5 % noise, 5 % missing: rows/s / 1M", rate(rows), rows / 1e6, 1.0, at_most=False)
    yield from _peers()


def _taking(stream: generate.Stream) -> Callable[[], object]:
    return lambda: stream.take(N_ROWS)


def _look(rows: Iterable[object], n_rows: int) -> None:
    """Make so many rows, and keep none."""
    deque(itertools.islice(rows, n_rows), maxlen=0)


def _peers() -> Iterator[Line]:
    times = best_times(
        {
            "SEA": lambda: _look(synth.SEA(seed=0, noise=0.1), FEW),
            "LED": lambda: _look(synth.LED(seed=0, noise_percentage=0.1), FEW),
            "sea": _taking(generate.sea()),
            "led": _taking(generate.led()),
            "rows": lambda: _look(generate.led(), 65_536),
            "make_classification": lambda: make_classification(N_ROWS, 19, random_state=0),
            "gaussians": _taking(generate.gaussians(19, n_clusters=2)),
        },
        repeats=3,
    )
    for ours, theirs, n_rows, bar in (
        ("sea", "SEA", N_ROWS, 10),
        ("led", "LED", N_ROWS, 10),
        ("rows", "LED", 65_536, 1),
    ):
        mine, peer = n_rows / times[ours], FEW / times[theirs]
        what = f"{'led, as dicts' if ours == 'rows' else ours} / river's {theirs}"
        yield Line(what, f"{rate(mine)} / {rate(peer)}", mine / peer, float(bar), at_most=False)
    mine, peer = N_ROWS / times["gaussians"], N_ROWS / times["make_classification"]
    what = "gaussians, 19 columns / make_classification"
    yield Line(what, f"{rate(mine)} / {rate(peer)}", mine / peer, 1.0, at_most=False)
