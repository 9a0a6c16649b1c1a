"""Progress of prequential evaluations: it moves with the rows that all models have done."""

from __future__ import annotations

import io

import numpy as np
import pytest
from rich.console import Console

from tanager import NaiveBayes
from tanager.evaluate import model_run, prequential
from tanager.progress import ProgressReport


class Clock:
    """Seconds that pass by rows, as somebody says."""

    def __init__(self):
        self.now = 0.0

    def perf_counter(self):
        return self.now


class Slow:
    """A classifier of one dict at a time that takes 10 ms for each; it answers with the last label."""

    def __init__(self, clock):
        self.clock, self.last, self.learned = clock, None, 0

    def learn_one(self, row, label):
        self.clock.now += 0.008
        self.last, self.learned = label, self.learned + 1

    def predict_proba_one(self, row):
        self.clock.now += 0.002
        return {} if self.last is None else {self.last: 1.0}


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(model_run, "time", clock)
    return clock


def rows(n):
    rng = np.random.default_rng(0)
    return [["sun", "rain"][v] for v in rng.integers(0, 2, n)], rng.integers(0, 2, n)


def watched(clock, models, X, y, **options):
    """Rows, fractions and seconds of all that was told."""
    told = []
    prequential(models, X, y, progress=lambda n, done: told.append((n, done, clock.now)), **options)
    return told


@pytest.mark.parametrize("options", [{}, {"delay": 300}, {"batch": 16}], ids=str)
@pytest.mark.parametrize("as_text", [False, True])
def test_it_moves_while_rows_are_answered_and_learned(clock, options, as_text):
    column, y = rows(2000)
    X = [[cell] for cell in column] if as_text else np.array([[float(len(cell))] for cell in column])
    told = watched(clock, {"ours": NaiveBayes(), "slow": Slow(clock)}, X, y, **options)
    n, done, seconds = (np.array(cells) for cells in zip(*told, strict=True))
    assert (np.diff(n) > 0).all()
    assert n[0] <= 64
    assert n[-1] == 2000
    np.testing.assert_allclose(done, n / 2000)
    assert np.diff(seconds, prepend=0.0).max() < 1.0  # of 20: never long without a word


def test_it_is_told_of_rows_that_all_models_have_done(clock):
    X, y = rows(1000)
    slow = Slow(clock)
    seen = []
    prequential(
        {"slow": slow, "ours": (ours := NaiveBayes())},
        [[cell] for cell in X],
        y,
        progress=lambda n, _: seen.append((n, slow.learned, int(ours.class_count_.sum()))),
    )
    assert all(n == min(learned) for n, *learned in seen)


def test_rate_and_time_left_are_those_of_the_slow_one(clock):
    X, y = rows(2000)
    out = io.StringIO()
    report = ProgressReport("evaluating", console=Console(file=out, width=200), clock=clock.perf_counter)
    with report:
        models = {"ours": NaiveBayes(), "slow": Slow(clock)}
        prequential(models, [[cell] for cell in X], y, progress=report.rows)
    lines = out.getvalue().splitlines()
    assert all("100 rows/s" in line for line in lines)
    assert "20 s left" in lines[0]
    assert len(lines) >= 2
