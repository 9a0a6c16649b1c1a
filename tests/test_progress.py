"""Progress is a bar in a terminal, a line in a notebook, and a line now and then in a pipe."""

import io
import sys
import types

import numpy as np
import pytest
from rich.console import Console

from tanager import TAN, BestOf, NaiveBayes, NetworkForest, show_progress
from tanager.evaluate import cross_validate, prequential
from tanager.files import learn, open_table
from tanager.progress import LINE_EVERY, ProgressReport
from tanager.stages import tell, told_to


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
    assert out.getvalue() == "comparing: 1 of 4 folds, 25% of the time, about 9 s left; nb, tan\n"


def test_a_stage_has_a_rate_and_the_time_left():
    shown, clock, out = report("learning iris.csv")
    with shown:
        shown.stage("learning families", 0, 2000)
        clock.now = 4
        shown.stage("learning families", 500, 2000)
    assert out.getvalue() == "learning iris.csv: learning families, 500 of 2,000, 125/s, about 12 s left\n"


def test_the_time_left_is_that_of_a_stage_since_it_began():
    shown, clock, out = report()
    with shown:
        shown.rows(1000, 1.0)
        clock.now = 100
        shown.stage("judging candidates", 0, 4)
        clock.now = 110
        shown.stage("judging candidates", 1, 4)
    assert out.getvalue().splitlines()[-1] == "learning: judging candidates, 1 of 4, 0.1/s, about 30 s left"


def test_of_stages_inside_a_stage_nothing_is_shown():
    shown, clock, out = report()
    with shown:
        for done in range(3):
            clock.now += LINE_EVERY
            shown.stage("learning again without a fold", done, 2)
            clock.now += LINE_EVERY
            shown.stage("weighing families", 0, None)
    lines = [line.split(":")[1].split(",")[0].strip() for line in out.getvalue().splitlines()]
    assert lines == 3 * ["learning again without a fold"] + ["weighing families"]


def stages_of(model, n_rows=300):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (n_rows, 5))
    told = []
    with told_to(lambda *stage: told.append(stage)):
        model.fit(X, X[:, 0] ^ rng.integers(0, 2, n_rows)).predict(X[:1])
    return told


def test_best_of_tells_candidates_and_folds():
    told = stages_of(BestOf([NaiveBayes(), TAN()]))
    assert told[:3] == [("judging candidates", done, 2) for done in range(3)]
    assert told[3:] == [("learning again without a fold", done, 5) for done in range(6)]


def test_a_forest_tells_its_stages():
    assert [what for what, *_ in stages_of(NetworkForest(n_members=5))] == ["learning families", "weighing families"]


def test_kernels_that_count_their_steps_are_watched():
    """By a forest that takes longer than the time between two looks at the signals."""
    told = stages_of(NetworkForest(n_members=200), 20_000)
    counted = [(done, total) for what, done, total in told if what == "learning families" and total is not None]
    assert counted == sorted(counted)
    assert {total for _, total in counted} <= {1000}


def test_nobody_who_listens_hears_nothing():
    with told_to(None):
        tell("working")


def test_learning_a_file_tells_its_stages(tmp_path):
    (tmp_path / "rows.csv").write_text("a,class\n" + 30 * "x,p\ny,q\n")
    told = []
    with told_to(lambda *stage: told.append(stage)):
        learn(NaiveBayes(), open_table(str(tmp_path / "rows.csv")), "class")
    assert told == [("learning 60 rows", 0, None), ("leaving rows out", 0, 1), ("leaving rows out", 1, 1)]


def test_a_context_shows_the_progress_of_what_is_learned_inside():
    out = io.StringIO()
    X, y = [["sun", "u"], ["rain", "v"]] * 20, ["play", "stay"] * 20
    with show_progress("choosing", console=Console(file=out, width=200)), pytest.MonkeyPatch.context() as patch:
        patch.setattr("tanager.progress.LINE_EVERY", 0.0)
        BestOf([NaiveBayes(), TAN()]).fit(X, y).predict(X[:1])
    assert "choosing: judging" in out.getvalue()
    before = out.getvalue()
    BestOf([NaiveBayes(), TAN()]).fit(X, y).predict(X[:1])
    assert out.getvalue() == before


def test_a_terminal_gets_a_bar():
    shown, _, out = report("comparing", terminal=True, forecast=lambda: (3.0, 200.0))
    with shown:
        shown.parts(1, 40, "nb, tan")
    assert "1 of 40 folds, 1% of the time, about 4 min left; nb, tan" in out.getvalue()


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
    X, y = [["a"], ["b"]] * 20, [0, 1] * 20
    cross_validate({"nb": NaiveBayes()}, X, y, folds=2, progress=progress, n_jobs=1, timing=False)
    prequential({"nb": NaiveBayes()}, X, y, progress=progress)
    assert bool(seen) == (progress is True)
