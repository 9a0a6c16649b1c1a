"""Progress is a bar in a terminal, a line in a notebook, and a line now and then in a pipe."""

import io
import sys
import types

import pytest
from rich.console import Console

from tanager.evaluate import cross_validate, prequential
from tanager.progress import LINE_EVERY, ProgressReport


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def report(text="learning", terminal=False, **options):
    clock, out = Clock(), io.StringIO()
    console = Console(file=out, force_terminal=terminal, width=150, highlight=False)
    return ProgressReport(text, console=console, clock=clock, **options), clock, out


def test_short_work_in_a_pipe_says_nothing():
    shown, clock, out = report()
    with shown:
        for step in range(4):
            clock.now = step
            shown.rows(1000 * step, step / 4)
    assert out.getvalue() == ""


def test_long_work_in_a_pipe_says_its_forecast_at_once_and_then_a_line_now_and_then():
    shown, clock, out = report()
    with shown:
        for step in range(1, 100):
            clock.now = step
            shown.rows(1000 * step, step / 100)
    lines = out.getvalue().splitlines()
    assert lines[0] == "learning: 1,000 rows (1%), 1,000 rows/s, about 2 min left"
    assert lines[-1] == "learning: 91,000 rows (91%), 1,000 rows/s, about 9 s left"
    assert len(lines) == 1 + 90 // LINE_EVERY
    assert "\r" not in out.getvalue()


def test_rows_of_a_stream_without_an_end_have_a_rate_and_no_time_left():
    shown, clock, out = report()
    with shown:
        clock.now = 20
        shown.rows(3000, None)
    assert out.getvalue() == "learning: 3,000 rows, 150 rows/s\n"


def test_parts_are_counted_and_what_runs_is_named():
    shown, _, out = report("comparing", forecast=lambda: (3.0, 9.0))
    with shown:
        shown.parts(1, 4, "nb, tan")
    assert out.getvalue() == "comparing: 1 of 4 folds (25%), about 9 s left; nb, tan\n"


def test_a_terminal_gets_a_bar():
    shown, _, out = report("comparing", terminal=True, forecast=lambda: (3.0, 200.0))
    with shown:
        shown.parts(1, 40, "nb, tan")
    assert "1 of 40 folds (1%), about 4 min left; nb, tan" in out.getvalue()


def test_a_notebook_gets_one_line_that_is_written_again(monkeypatch):
    written = []
    handle = types.SimpleNamespace(update=lambda line: written.append(("again", line)))

    def display(line, display_id):
        written.append(("new", line))
        return handle

    monkeypatch.setitem(sys.modules, "IPython", types.ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", types.SimpleNamespace(Pretty=str, display=display))
    clock = Clock()
    with ProgressReport("learning", console=Console(force_jupyter=True), clock=clock) as shown:
        for step in range(1, 4):
            clock.now = step
            shown.rows(1000 * step, step / 4)
    assert written[0] == ("new", "learning: 1,000 rows (25%), 1,000 rows/s, about 3 s left")
    assert [how for how, _ in written] == ["new", "again", "again", "again"]
    assert written[-1] == ("again", "")


@pytest.mark.parametrize("progress", [True, False, None])
def test_functions_take_true_false_or_nothing(progress, monkeypatch):
    seen = []
    monkeypatch.setattr(ProgressReport, "rows", lambda self, *done: seen.append(done))
    monkeypatch.setattr(ProgressReport, "parts", lambda self, *done: seen.append(done))
    from tanager import NaiveBayes

    X, y = [["a"], ["b"]] * 20, [0, 1] * 20
    cross_validate({"nb": NaiveBayes()}, X, y, folds=2, progress=progress, n_jobs=1, timing=False)
    prequential({"nb": NaiveBayes()}, X, y, progress=progress)
    assert bool(seen) == (progress is True)
