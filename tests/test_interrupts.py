"""Ctrl-C ends long work at once, and what was done until then is kept."""

import contextlib
import itertools
import signal
import threading

import numpy as np
import pytest

from tanager import (
    A2DE,
    ANDE,
    AODE,
    LBR,
    TAN,
    GeneralNetwork,
    HalfLives,
    NaiveBayes,
    NBTree,
    NetworkForest,
    _kernels,
)
from tanager.counts.joint import JointCounts
from tanager.errors import Interrupted
from tanager.evaluate import cross_validate, prequential

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs signals of a Unix system")


def table(n_rows, n_columns, n_values=6):
    rng = np.random.default_rng(0)
    return rng.integers(0, n_values, (n_rows, n_columns)).astype(np.uint8), rng.integers(0, 3, n_rows)


class Heard(Exception):
    """Raised by a signal's handler, as KeyboardInterrupt is by that of Ctrl-C."""


@contextlib.contextmanager
def signal_soon():
    """A signal once long work has begun: its handler raises.

    By the clock of the processor: on a busy machine the signal would else come before the work begins.
    """

    def handler(number, frame):
        raise Heard

    before = signal.signal(signal.SIGPROF, handler)
    signal.setitimer(signal.ITIMER_PROF, 0.05)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_kernel_that_answers_for_a_minute_hears_a_signal(n_jobs):
    codes, labels = table(2000, 30)
    model = A2DE(n_jobs=n_jobs).fit(codes, labels)
    before = model.predict_proba(codes[:10])
    many = np.repeat(codes, 500, axis=0)
    with pytest.raises(Heard), signal_soon():
        model.predict_proba(many)
    np.testing.assert_array_equal(model.predict_proba(codes[:10]), before)


def count_until_heard(blank, codes, labels):
    """Count rows into copies, again and again until a signal comes, however fast the machine is; the last copy."""
    counts = [blank]

    def count_again_and_again():
        while True:
            counts[0] = blank.copy()
            counts[0].update(codes, labels)

    with pytest.raises(Heard), signal_soon():
        count_again_and_again()
    return counts[0]


def test_counting_that_is_interrupted_has_counted_nothing():
    codes, labels = table(2000, 16, 4)
    before = A2DE().fit(codes, labels).counts_
    many, of_many = np.repeat(codes, 2000, axis=0), np.repeat(labels, 2000).astype(np.uint16)
    assert count_until_heard(before, many, of_many) in (before, before.copy().update(many, of_many))


def test_a_stream_that_is_interrupted_is_heard_between_rows():
    codes, labels = table(200_000, 30)
    with pytest.raises(Heard), signal_soon():
        HalfLives().fit(codes, labels)


def test_a_kernel_on_another_thread_ends_undisturbed():
    """Python handles signals in the main thread alone: there work goes on."""
    codes, labels = table(20_000, 20)
    model = AODE().fit(codes, labels)
    answers = []
    work = threading.Thread(target=lambda: answers.append(model.predict_proba(codes)))
    work.start()
    work.join()
    np.testing.assert_array_equal(answers[0], model.predict_proba(codes))


def test_counting_row_by_row_that_is_interrupted_has_counted_nothing():
    """Tables with more cells than there are rows are counted row by row, straight into the store."""
    codes, labels = table(40_000, 10, 12)
    known = ANDE(n=3).fit(codes[:2000], labels[:2000]).counts_
    blank = JointCounts(known.schema, known.classes, order=known.order, families=known.families)
    own = labels.astype(np.uint16)
    assert count_until_heard(blank, codes, own) in (blank, blank.copy().update(codes, own))


def checks_of(work):
    before = _kernels.interrupt_checks()
    work()
    return _kernels.interrupt_checks() - before


LONG_WORK = {
    "counting": lambda X, y: AODE().fit(X, y),
    "triples": lambda X, y: A2DE().fit(X, y),
    "families": lambda X, y: ANDE(n=3).fit(X, y),
    "answers": lambda X, y: AODE().fit(X[:50], y[:50]).predict_proba(X),
    "leave-one-out": lambda X, y: TAN().fit(X, y).leave_one_out(X, y),
    "networks": lambda X, y: GeneralNetwork().fit(X, y),
    "forest": lambda X, y: NetworkForest(n_members=20).fit(X, y).predict(X[:1]),
    "trees": lambda X, y: NBTree().fit(X, y).predict(X[:1]),
    "rules": lambda X, y: LBR().fit(X[:200], y[:200]).predict(X[:50]),
}


@pytest.mark.parametrize("work", LONG_WORK.values(), ids=LONG_WORK)
def test_kernels_look_for_signals_all_the_time(work):
    """The clock decides how often Python is asked; how often kernels look is a matter of the work alone."""
    X, y = table(3000, 12, 5)
    assert checks_of(lambda: work(X, y)) >= 10


def test_families_are_interrupted_only_while_counts_are_empty():
    """Those of few rows go to the counts one by one, and what had been counted before could not be told apart."""
    X, y = table(1500, 9, 2)
    labels = y.astype(np.uint16)
    columns = AODE().fit(X, y).counts_
    families = list(itertools.combinations(range(9), 4))
    counts = JointCounts(columns.schema, columns.classes, order=1, families=families)
    assert checks_of(lambda: counts.update(X, labels)) > len(families)
    assert checks_of(lambda: counts.update(X, labels)) == 0


def test_a_stream_goes_through_the_kernel_in_parts(monkeypatch):
    from tanager.learning import stream
    from tanager.scoring.view import View

    X, y = table(3000, 8)
    whole = AODE().test_then_train(X, y)
    lengths, run = [], View.stream
    monkeypatch.setattr(
        View,
        "stream",
        lambda self, block, *more, **options: lengths.append(len(block)) or run(self, block, *more, **options),
    )
    monkeypatch.setattr(stream, "WORK_AT_ONCE", 64 * (8**2 * 3 + 200))
    np.testing.assert_array_equal(AODE().test_then_train(X, y), whole)
    assert max(lengths) == 64


def interrupt_at(step):
    """A callable for ``progress=`` that raises KeyboardInterrupt when it is called for the step-th time."""
    calls = []

    def progress(*done):
        calls.append(done)
        if len(calls) == step:
            raise KeyboardInterrupt

    return progress


def test_cross_validation_keeps_the_folds_that_all_classifiers_have_done():
    X, y = table(200, 4)
    models = {"nb": NaiveBayes(), "aode": AODE()}
    everything = cross_validate(models, X, y, folds=5, n_jobs=1, timing=False)
    with pytest.raises(KeyboardInterrupt) as stop:
        cross_validate(models, X, y, folds=5, n_jobs=1, timing=False, progress=interrupt_at(4))
    assert isinstance(stop.value, Interrupted)
    results = stop.value.results
    assert results.notes == ("interrupted: 3 of 5 folds were done by all classifiers.",)
    assert results.records == [record for record in everything.records if record["fold"] < 3]


def test_cross_validation_under_a_limit_keeps_the_classifiers_that_are_done():
    from tanager.evaluate import TimeLimit

    X, y = table(200, 4)
    models = {"aode": AODE(), "nb": NaiveBayes()}
    limit = TimeLimit(1e6, forecast=lambda model, size: 1e5 if isinstance(model, AODE) else 1e-3)
    with pytest.raises(Interrupted) as stop:
        cross_validate(models, X, y, folds=5, n_jobs=1, timing=False, time_limit=limit, progress=interrupt_at(8))
    assert stop.value.results.classifiers == ["nb"]
    assert stop.value.results.notes == ("interrupted: 1 of 2 classifiers were done.",)


def test_nothing_done_yet_is_a_plain_interrupt():
    X, y = table(200, 4)
    with pytest.raises(KeyboardInterrupt) as stop:
        cross_validate({"nb": NaiveBayes()}, X, y, folds=5, n_jobs=1, progress=interrupt_at(1))
    assert not isinstance(stop.value, Interrupted)


@pytest.fixture
def whole_slices(monkeypatch):
    """Models get as many rows at once as there are, and not as many as take a moment."""
    monkeypatch.setattr("tanager.evaluate.model_run.FIRST_SLICE", 10**9)
    monkeypatch.setattr("tanager.evaluate.model_run.SLICE_SECONDS", float("inf"))


@pytest.mark.usefixtures("whole_slices")
def test_prequential_keeps_the_reports_that_all_models_have_made():
    X, y = table(40_000, 3)
    whole = prequential({"nb": NaiveBayes(), "aode": AODE()}, X, y, every=1000)
    with pytest.raises(Interrupted) as stop:
        prequential({"nb": NaiveBayes(), "aode": AODE()}, X, y, every=1000, progress=interrupt_at(2))
    some = stop.value.results
    assert some.rows.tolist() == whole.rows.tolist()[: len(some.rows)]
    assert len(some.rows) == 32
    for name in ("nb", "aode"):
        np.testing.assert_array_equal(some.curve(name), whole.curve(name)[:32])


def test_prequential_in_the_middle_of_a_block_ends_with_the_rows_that_all_models_have_done(monkeypatch):
    from tanager.evaluate.model_run import ModelRun

    X, y = table(20_000, 3)
    models = {"nb": NaiveBayes(), "aode": AODE()}
    whole = prequential({"nb": NaiveBayes(), "aode": AODE()}, X, y, every=100)
    step, rows = ModelRun._step, dict.fromkeys(models, 0)

    def interrupted(self, part):
        if self.name == "aode" and rows["aode"] >= 1000:
            raise KeyboardInterrupt
        rows[self.name] += part.n_rows
        return step(self, part)

    monkeypatch.setattr(ModelRun, "_step", interrupted)
    with pytest.raises(Interrupted) as stop:
        prequential(models, X, y, every=100)
    some = stop.value.results
    assert some.rows.tolist() == whole.rows.tolist()[: min(rows.values()) // 100]
    for name in models:
        np.testing.assert_array_equal(some.curve(name), whole.curve(name)[: len(some.rows)])


def test_prequential_before_the_first_report_has_no_results():
    X, y = table(2_000, 3)
    with pytest.raises(KeyboardInterrupt) as stop:
        prequential(NaiveBayes(), X, y, every=1000, progress=interrupt_at(1))
    assert not isinstance(stop.value, Interrupted)
