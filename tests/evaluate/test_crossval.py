"""Cross-validation is honest, the same however it is run, and goes on where it was stopped."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.naive_bayes import GaussianNB

from profiles import spread
from registry import ALL, name_of, small_table
from tanager import A2DE, AODE, KDB, SPC, TAN, TBMATAN, BestOf, DataError, NaiveBayes, OptionError
from tanager.evaluate import TimeLimit, cross_validate, cross_validate_all, fold_runner, holdout, leave_one_out, run
from tanager.evaluate.folds import stratified_folds, stratified_holdout
from tanager.evaluate.peers import AsNumbers, peers
from tanager.evaluate.plan import Folds, make_plan
from tanager.learning.part_scorer import PartScorer
from tanager.scoring.calibration import calibrated
from tanager.scoring.forest import ForestScorer
from tanager.scoring.view import View
from waiting import PATIENCE, wait_for

SOME = {"nb": NaiveBayes(), "tan": TAN(), "kdb": KDB(), "a2de": A2DE(), "spcr": SPC(super_parent="refined")}
FEW = {name: SOME[name] for name in ("nb", "kdb")}


def without_times(results):
    return [{k: v for k, v in record.items() if not k.endswith("seconds")} for record in results.records]


def text_table(n_rows=120, seed=0):
    """Categories only, all of them frequent: nothing has to be learned about columns."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n_rows)
    X = np.array([[f"v{(a + c) % 3}" for a in row] for row, c in zip(rng.integers(0, 2, (n_rows, 4)), y, strict=True)])
    return X, np.array(["a", "b", "c"])[y]


# --- folds -------------------------------------------------------------------------------------------------------


@given(labels=st.lists(st.integers(0, 3), min_size=2, max_size=60), folds=st.integers(2, 10), seed=st.integers(0, 99))
def test_folds_are_of_one_size_and_have_their_share_of_every_class(labels, folds, seed):
    labels = np.array(labels)
    if folds > len(labels):
        with pytest.raises(OptionError, match="needs at least"):
            stratified_folds(labels, folds, seed)
        return
    fold = stratified_folds(labels, folds, seed)
    sizes = np.bincount(fold, minlength=folds)
    assert sizes.max() - sizes.min() <= 1
    for c in range(4):
        share = np.bincount(fold[labels == c], minlength=folds)
        assert share.max() - share.min() <= 1
    np.testing.assert_array_equal(fold, stratified_folds(labels, folds, seed))


def test_another_seed_gives_other_folds():
    labels = np.repeat([0, 1], 50)
    assert (stratified_folds(labels, 10, 1) != stratified_folds(labels, 10, 2)).any()


@given(labels=st.lists(st.integers(0, 3), min_size=4, max_size=60), share=st.floats(0.25, 0.9))
def test_a_holdout_has_its_share_of_every_class(labels, share):
    labels = np.array(labels)
    held = stratified_holdout(labels, share)
    assert held.sum() == int(np.floor(len(labels) * share + 1e-9))
    for c in range(4):
        assert abs(held[labels == c].sum() - share * (labels == c).sum()) < 1 + 1e-6


# --- honesty -----------------------------------------------------------------------------------------------------


@spread("model", ALL, ids=name_of)
def test_shared_counts_answer_as_a_fit_on_the_learned_rows_does(model):
    """The slow way: fit on the rows of the other folds, ask about these."""
    X, y = small_table(90)
    if model.priors is not None:
        return  # a given prior fits three classes in any fold; nothing new to see
    labels = np.unique(y, return_inverse=True)[1]
    plan = make_plan("small", {"it": model}, (X, y), Folds(5, 3), 5, None)
    folds = stratified_folds(labels, 5, 3)
    for part in (0, 3):
        test = folds == part
        got = fold_runner.FoldRunner(plan).part(part, ["it"])[0]
        alone = clone(model).fit(X[~test], y[~test])
        proba = alone.predict_proba(X[test])
        assert got["accuracy"] == pytest.approx(np.mean(alone.predict(X[test]) == y[test]))
        own = proba[np.arange(test.sum()), labels[test]]
        assert got["log_loss"] == pytest.approx(-np.log(np.maximum(own, 1e-15)).mean(), rel=1e-9)
        assert (got["n_train"], got["n_test"]) == ((~test).sum(), test.sum())


def test_cut_points_are_learned_without_the_rows_that_are_asked():
    """Noise that looks like a pattern: cut points that had seen the test rows would fit them."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 40)), rng.integers(0, 2, 60)
    counted = fold_runner.SharedCountsGroup(
        {"nb": NaiveBayes()}, make_plan("noise", SOME, (X, y), Folds(5, 1), 5, None).data
    )
    test = np.arange(60) < 12
    with counted.without(test, ["nb"]) as (_, models):
        inside = models["nb"].encoder_.schema
    assert inside == NaiveBayes().fit(X[12:], y[12:]).encoder_.schema
    assert inside != NaiveBayes().fit(X, y).encoder_.schema


def test_a_fold_left_out_by_subtraction_equals_counting_the_others():
    X, y = text_table()
    plan = make_plan("text", SOME, (X, y), Folds(10, 1), 10, None)
    quick, slow = fold_runner.FoldRunner(plan), fold_runner.FoldRunner(plan)
    assert all(counted.fixed for counted in quick.groups)
    for counted in slow.groups:
        counted.fixed = False
    for part in range(10):
        for a, b in zip(quick.part(part, list(SOME)), slow.part(part, list(SOME)), strict=True):
            assert a == pytest.approx(b, nan_ok=True) if "reliability" not in a else a["log_loss"] == b["log_loss"]


def test_a_value_that_only_the_asked_rows_have_is_unseen():
    X, y = text_table(40)
    X[0, 0] = "rare"
    plan = make_plan("text", {"nb": NaiveBayes()}, (X, y), Folds(4, 1), 4, None)
    counted = fold_runner.FoldRunner(plan).groups[0]
    test = np.arange(40) < 10
    with counted.without(test, ["nb"]) as (codes, models):
        assert "rare" not in models["nb"].encoder_.schema["x0"].values
        assert codes[0, 0] == 255
    with counted.without(~test, ["nb"]) as (codes, models):  # the whole is as it was
        assert models["nb"].counts_.n_rows == 10


def test_parts_of_leave_one_out_together_say_what_the_whole_says():
    X, y = load_wine(return_X_y=True)
    models = {"nb": NaiveBayes(), "tan": TAN(), "gaussian": NaiveBayes(gaussian=True)}
    whole, parts = leave_one_out(models, X, y), leave_one_out(models, X, y, parts=7, timing=True)
    for name in models:
        (one,), some = whole.folds("data", name), parts.folds("data", name)
        assert [record["fold"] for record in some] == list(range(7))
        assert sum(record["n_test"] for record in some) == one["n_test"] == len(y)
        assert {record["n_train"] for record in some} == {len(y) - 1}
        for measure in ("accuracy", "log_loss", "brier"):
            mean = sum(record["n_test"] * record[measure] for record in some) / len(y)
            assert mean == pytest.approx(one[measure], abs=1e-12)
        assert all(record["fit_seconds"] >= 0 for record in some)
        assert "fit_seconds" not in one


def test_what_is_done_so_far_is_told_and_grows_to_the_whole():
    X, y = text_table()
    told = []
    limit = TimeLimit(1e6, forecast=lambda model, size: 1e5 if isinstance(model, A2DE) else 1e-3)
    got = cross_validate(
        {"a2de": A2DE(), "nb": NaiveBayes(), "tan": TAN()},
        X,
        y,
        folds=3,
        n_jobs=1,
        time_limit=limit,
        so_far=told.append,
    )
    assert [results.classifiers for results in told] == [["nb", "tan"], ["a2de", "nb", "tan"]]
    assert without_times(told[-1]) == without_times(got)
    assert all(len(results.folds("data", name)) == 3 for results in told for name in results.classifiers)


def test_what_so_far_raises_ends_the_evaluation():
    def stop(results):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cross_validate({"nb": NaiveBayes()}, *text_table(), n_jobs=1, so_far=stop)


@spread("model", ALL, ids=name_of)
def test_leave_one_out_equals_learning_the_other_rows(model):
    """Kinds, cuts, structure and strengths are those of all rows; everything else is learned again for every row."""
    if getattr(model, "missing", None) == "marginal":
        return  # reads its own tree; tests/laws leaves rows out of it by the formula
    X, y = small_table(40)
    whole = clone(model).fit(X, y)
    if isinstance(whole.scorer_, PartScorer | ForestScorer):
        return  # they count for themselves: see tests/classifiers/test_trees.py and test_network_forest.py
    view = whole.view_
    form, estimate, factor = view.form, view.estimate, view.factors
    got = leave_one_out({"it": model}, X, y).records[0]
    own = []
    for r in range(len(y)):
        rest = clone(model).set_params(schema=whole.encoder_.schema)
        rest.partial_fit(np.delete(X, r, axis=0), np.delete(y, r), classes=whole.classes_)
        rest.check_fitted()
        rest.memory.count_families(form.families(), rest.counts_shape(rest.counts_.schema))
        answering = clone(whole.best_) if isinstance(rest, BestOf) else rest
        if answering is not rest:
            answering.attach(rest.counts_, rest.encoder_, rest.memory.rows)
        held = View(rest.counts_, form, estimate, smooth_unseen=view.smooth_unseen, priors=view.priors, factors=factor)
        if view.learned:
            view.score(whole.encode(X))  # learns the strengths
            held.take_strengths(view.given_strengths())
        own_moments = rest if rest.memory.moments is not None else whole
        scorer = rest.scorer_ if isinstance(rest, TBMATAN) else own_moments.scorer_over(held)
        proba = scorer.score(rest.encode(X[r : r + 1]))
        if model.calibrate:  # by one calibration, that of all rows
            proba = calibrated(proba, whole.calibration_.power, np.array(whole.calibration_.offsets))
        own.append(proba[0, whole.classes_.tolist().index(y[r])])
    if model.class_weight == "balanced":
        return  # the weights follow the class counts; each row changes them a little
    assert got["log_loss"] == pytest.approx(-np.log(np.maximum(own, 1e-15)).mean(), rel=1e-9)


# --- running -----------------------------------------------------------------------------------------------------


def test_peers_take_columns_without_any_value():
    X = pa.table(
        {"a": pa.array([None] * 40, pa.float64()), "b": pa.array([None] * 40, pa.string()), "c": [0.5, 1.5] * 20}
    )
    for one_hot in (True, False):
        assert np.isfinite(AsNumbers(one_hot=one_hot).fit_transform(X)).all()
    results = cross_validate({"gradient": peers()["gradient"]}, X, ["x", "y"] * 20, folds=2, timing=False)
    assert results.mean("data", "gradient", "accuracy") >= 0.5


def test_processes_give_the_same_as_one_process(monkeypatch):
    X, y = text_table()
    one = cross_validate(SOME, X, y, folds=5, repeats=2, n_jobs=1, timing=False)
    monkeypatch.setattr(run, "_WORTH_PROCESSES", 0.0)
    two = cross_validate(SOME, X, y, folds=5, repeats=2, n_jobs=2, timing=False)
    assert without_times(one) == without_times(two)
    assert len(one.records) == 5 * 2 * len(SOME)


class Stop(Exception):
    pass


def test_processes_leave_no_thread_that_a_command_would_wait_for(monkeypatch):
    monkeypatch.setattr(run, "_WORTH_PROCESSES", 0.0)
    X, y = text_table()
    before = set(threading.enumerate())
    cross_validate(SOME, X, y, folds=3, n_jobs=2, timing=False)
    left = set(threading.enumerate()) - before
    for thread in left:  # one that was told to end may be about to
        thread.join(PATIENCE)
    assert not any(thread.is_alive() for thread in left)


WORKER = """
import os, subprocess, sys, time
if len(sys.argv) == 1:
    child = subprocess.Popen([sys.executable, "-c", os.environ["WORKER"], str(os.getpid())], stdout=subprocess.PIPE)
    print(child.pid, child.stdout.readline().decode(), flush=True)
    time.sleep(3600)
from tanager.evaluate.run import _end_with
_end_with(int(sys.argv[1]))
print("ready", flush=True)
time.sleep(3600)  # far longer than the test waits: it must not end by itself
"""


@pytest.mark.skipif(os.name == "nt", reason="processes of POSIX")
def test_a_worker_ends_with_the_process_that_has_started_it():
    env = {**os.environ, "WORKER": WORKER}
    with subprocess.Popen([sys.executable, "-c", WORKER], stdout=subprocess.PIPE, env=env) as parent:
        worker = int(parent.stdout.readline().split()[0])
        assert is_alive(worker)
        parent.kill()
    try:
        wait_for(lambda: not is_alive(worker))
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(worker, signal.SIGKILL)


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path):
    X, y = text_table()
    ledger = tmp_path / "run.jsonl"

    def stop(done, total, what):
        if done == 4:
            raise Stop

    with pytest.raises(Stop):
        cross_validate(FEW, X, y, folds=10, resume=ledger, progress=stop, timing=False, n_jobs=1)
    ledger.write_bytes(ledger.read_bytes() + b'{"key": "cut off in the mid')
    seen = []
    results = cross_validate(FEW, X, y, resume=ledger, progress=lambda *p: seen.append(p[:2]), timing=False, n_jobs=1)
    assert seen[0] == (4, 10)
    assert without_times(results) == without_times(cross_validate(FEW, X, y, timing=False, n_jobs=1))
    again = cross_validate(FEW, X, y, resume=ledger, progress=lambda *p: seen.append(p[:2]), timing=False, n_jobs=1)
    assert seen[-1] == (10, 10)
    assert len(again.records) == 10 * len(FEW)
    assert all(json.loads(line) for line in ledger.read_text().splitlines() if "cut off" not in line)


def test_folds_of_other_data_or_options_are_not_taken_for_these(tmp_path):
    X, y = text_table()
    ledger = tmp_path / "run.jsonl"
    cross_validate({"nb": NaiveBayes()}, X, y, folds=3, resume=ledger, timing=False)
    for models, table, seed in [
        ({"nb": NaiveBayes(smoothing=2)}, X, 1),
        ({"nb": NaiveBayes()}, X[:, ::-1], 1),
        ({"nb": NaiveBayes()}, X, 2),
    ]:
        again = cross_validate(models, table, y, folds=3, seed=seed, timing=False)
        resumed = cross_validate(models, table, y, folds=3, seed=seed, resume=ledger, timing=False)
        assert without_times(resumed) == without_times(again)
    (tmp_path / "other.txt").write_text("no ledger")
    with pytest.raises(DataError, match="no finished folds"):
        cross_validate({"nb": NaiveBayes()}, X, y, resume=tmp_path / "other.txt")


def test_classifiers_of_scikit_learn_take_part():
    X, y = load_wine(return_X_y=True)
    models = {"aode": AODE(), "gaussian": GaussianNB(), "ours": NaiveBayes(gaussian=True)} | peers()
    results = cross_validate(models, X, y, folds=3, n_jobs=1)
    means = {name: np.mean([r["accuracy"] for r in results.records if r["classifier"] == name]) for name in models}
    assert min(means.values()) > 0.8
    assert means["gaussian"] == pytest.approx(means["ours"], abs=0.02)
    assert all(record["fit_seconds"] > 0 and record["predict_seconds"] > 0 for record in results.records)


def test_peers_take_text_and_missing_cells():
    X, y = small_table(90)
    results = cross_validate(peers(), X, y, folds=3, n_jobs=1, timing=False)
    assert {record["classifier"] for record in results.records} == set(peers())
    numbers = AsNumbers(one_hot=False, fill=True).fit(X)
    assert numbers.transform(X).shape == (90, 5)


def test_a_category_of_many_values_becomes_few_columns():
    names = [f"v{i}" for i in range(300)] + ["often"] * 50
    wide = AsNumbers(max_values=20).fit({"name": names})
    assert wide.transform({"name": ["often", "v7", None, "new"]}).shape == (4, 20)
    assert AsNumbers().fit_transform({"name": names}).shape[1] == 100
    assert AsNumbers(one_hot=False).fit_transform({"name": names}).shape[1] == 1


def test_a_class_that_a_fold_has_not_learned_gets_a_probability_too():
    X, y = [["a"], ["b"]] * 10 + [["c"]], ["p", "q"] * 10 + ["rare"]
    models = {"nb": NaiveBayes(), "peer": peers()["tree"]}
    results = cross_validate(models, X, y, folds=5, n_jobs=1, timing=False)
    assert len(results.records) == 10


def test_costs_are_measured_and_decide():
    X, y = small_table(90)
    costs = [[0, 1, 1], [9, 0, 9], [1, 1, 0]]
    plain = cross_validate({"nb": NaiveBayes(cost_matrix=costs)}, X, y, folds=3, n_jobs=1, timing=False)
    given = cross_validate({"nb": NaiveBayes()}, X, y, folds=3, n_jobs=1, costs=costs, timing=False)
    assert without_times(plain) == without_times(given)
    ignored = cross_validate({"nb": NaiveBayes()}, X, y, folds=3, n_jobs=1, timing=False)
    assert np.mean([r["accuracy"] for r in ignored.records]) > np.mean([r["accuracy"] for r in given.records])


def test_a_classifier_whose_counts_do_not_fit_into_memory_is_left_out():
    X, y = text_table()
    models = {"nb": NaiveBayes(), "a2de": A2DE(max_memory="10 kB")}
    results = cross_validate(models, X, y, folds=3, n_jobs=1)
    assert {record["classifier"] for record in results.records} == {"nb"}
    assert "'a2de' was left out on 'data'" in str(results)


def test_a_holdout_measures_the_rows_held_out():
    X, y = small_table(90)
    results = holdout({"nb": NaiveBayes(), "tan": TAN()}, X, y, share=0.2, repeats=3, n_jobs=1)
    assert [record["n_test"] for record in results.records] == [18] * 6


def test_several_data_sets_with_classifiers_made_for_each():
    X, y = text_table()
    wine = load_wine(return_X_y=True)
    results = cross_validate_all(
        lambda data: {"nb": NaiveBayes(numeric=[0] if data[0] is wine[0] else None)},
        {"text": (X, y), "wine": wine},
        folds=3,
        n_jobs=1,
        timing=False,
    )
    assert [record["dataset"] for record in results.records] == ["text"] * 3 + ["wine"] * 3


def test_what_is_left_out_is_told_once_at_the_line_of_the_user():
    """In another process: where the tests run, random tables keep all columns."""
    code = """
import warnings
from tanager import AODE, NaiveBayes
from tanager.evaluate import cross_validate
X = {"id": [f"n{i}" for i in range(60)], "size": ["S", "M", "L"] * 20}
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    cross_validate({"nb": NaiveBayes(), "aode": AODE()}, X, ["no", "yes"] * 30, folds=2, n_jobs=1)
print([(one.lineno, str(one.message)[:29]) for one in told])
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said == "[(8, \"1 column is left out: 'id' (e\")]\n"


def test_rows_without_a_label_are_left_out():
    X, y = small_table(30)
    y = np.array([None if r % 10 == 0 else label for r, label in enumerate(y)], dtype=object)
    results = cross_validate({"nb": NaiveBayes()}, X, y, folds=3, n_jobs=1, timing=False)
    assert sum(record["n_test"] for record in results.records) == 27


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"models": {}}, "at least one"),
        ({"models": {"it": object()}}, "no predict_proba"),
        ({"folds": 1}, "at least 2"),
        ({"folds": 500}, "needs at least"),
        ({"repeats": 0}, "at least 1"),
        ({"y": ["one"] * 30}, "a single class"),
        ({"y": ["a", "b"]}, "30 rows, y has 2 labels"),
        ({"costs": [[0, 1]]}, "cost_matrix has shape"),
    ],
)
def test_mistakes_get_a_sentence(change, sentence):
    X, y = small_table(30)
    arguments = {"models": {"nb": NaiveBayes()}, "X": X, "y": y} | change
    with pytest.raises((DataError, OptionError), match=sentence):
        cross_validate(**arguments)


def test_leaving_one_out_needs_counts():
    X, y = small_table(30)
    with pytest.raises(OptionError, match="not a classifier that counts"):
        leave_one_out({"tree": peers()["tree"]}, X, y)


def test_times_are_those_of_a_classifier_alone():
    X, y = text_table()
    start = time.perf_counter()
    results = cross_validate({"nb": NaiveBayes()}, X, y, folds=3, n_jobs=1)
    assert 0 < results.records[0]["fit_seconds"] < time.perf_counter() - start
