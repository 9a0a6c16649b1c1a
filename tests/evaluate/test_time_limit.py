"""TimeLimit: cheap classifiers first, nothing begun that would not be done in time, and forecasts that learn."""

import math
from dataclasses import replace

import numpy as np
import pytest

from tanager import A2DE, AODE, TAN, NaiveBayes, OptionError
from tanager.classifiers.names import MODELS
from tanager.cli.models import make_model
from tanager.evaluate import TimeLimit, cross_validate, cross_validate_all, peers, run
from tanager.evaluate.forecast import _UNKNOWN, TableSize, fold_seconds
from tanager.evaluate.plan import Folds, make_plan

COSTS = {"NaiveBayes": 0.1, "TAN": 1.0, "AODE": 10.0}
FOLDS = 4


def table(m=60, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 3, (m, 4)).astype(str), rng.integers(0, 2, m)


class Watch:
    """A clock that is moved by hand."""

    now = 0.0

    def __call__(self):
        return self.now


class Simulated(TimeLimit):
    """Every fold takes its forecast times `pace`, and moves the watch by that."""

    def __init__(self, seconds=math.inf, pace=1.0, costs=None):
        self.watch, self.pace, self.order = Watch(), pace, []
        costs = COSTS if costs is None else costs
        super().__init__(seconds, clock=self.watch, forecast=lambda model, size: costs[type(model).__name__])

    def finished(self, stage, plan, seconds):
        seconds = self.pace * stage.forecasts[plan]
        self.watch.now += seconds
        self.order.append(stage.names)
        super().finished(stage, plan, seconds)


def compared(limit, **options):
    models = {"aode": AODE(), "tan": TAN(), "nb": NaiveBayes()}
    return cross_validate(models, *table(), folds=FOLDS, n_jobs=1, timing=False, time_limit=limit, **options)


def test_cheap_classifiers_come_first():
    limit = Simulated(seconds=100)
    assert compared(limit).classifiers == ["aode", "tan", "nb"]  # results are in the order that was given
    assert limit.order == [("nb", "tan")] * 4 + [("aode",)] * 4
    assert limit.left_out == {}


def test_without_a_limit_all_share_their_counts():
    limit = Simulated()
    compared(limit)
    assert limit.order == [("aode", "tan", "nb")] * 4


def test_a_limit_changes_no_figure():
    expected = compared(None)
    assert compared(Simulated(seconds=100)).records == expected.records
    assert compared(Simulated(seconds=20)).records == [r for r in expected.records if r["classifier"] != "aode"]


def test_what_would_not_be_done_in_time_does_not_begin():
    limit = Simulated(seconds=30)
    results = compared(limit)
    assert results.classifiers == ["tan", "nb"]
    assert limit.order == [("nb",)] * 4 + [("tan",)] * 4
    assert limit.left_out == pytest.approx({"aode": 40})
    assert results.notes == ("left out for time: aode (about 40 s). For these as well: time_limit=54",)


def test_what_was_measured_corrects_the_forecast():
    limit = Simulated(seconds=50, pace=3)  # aode fits by the forecast of 40 seconds
    assert compared(limit).classifiers == ["tan", "nb"]
    assert 40 < limit.left_out["aode"] < 3 * 40


def test_the_first_stage_is_always_run():
    limit = Simulated(seconds=1e-3)
    assert compared(limit).classifiers == ["nb"]
    assert list(limit.left_out) == ["tan", "aode"]


def test_a_stage_that_takes_much_longer_than_thought_is_given_up():
    limit = Simulated(seconds=60)
    limit.pace = {("nb",): 1, ("tan",): 1, ("aode",): 4}

    def finished(stage, plan, seconds):
        taken = limit.pace[stage.names] * stage.forecasts[plan]
        limit.watch.now += taken
        limit.order.append(stage.names)
        TimeLimit.finished(limit, stage, plan, taken)

    limit.finished = finished
    assert compared(limit).classifiers == ["tan", "nb"]
    assert limit.order.count(("aode",)) == 1
    assert "aode" in limit.left_out


def test_finished_folds_of_an_earlier_run_cost_nothing(tmp_path):
    path = tmp_path / "run.jsonl"
    compared(None, resume=path)
    limit = Simulated(seconds=1e-3)
    assert compared(limit, resume=path).classifiers == ["aode", "tan", "nb"]
    assert limit.order == []


def test_a_classifier_is_left_out_on_all_data_sets_or_on_none():
    limit = Simulated(seconds=60)  # enough for aode on one of them
    models = {"aode": AODE(), "nb": NaiveBayes()}
    sets = {"a": table(60, 1), "b": table(80, 2)}
    results = cross_validate_all(models, sets, folds=FOLDS, n_jobs=1, timing=False, time_limit=limit)
    assert results.classifiers == ["nb"]
    assert results.datasets == ["a", "b"]


def test_the_time_left_is_that_of_all_that_will_be_run():
    limit, left = Simulated(seconds=30), []
    compared(limit, progress=lambda done, total, what: left.append((done, total, round(limit.seconds_left(), 1))))
    assert left[0] == (0, 12, 4.4)  # nb and tan; aode will not fit
    assert [seconds for _, _, seconds in left] == sorted((seconds for _, _, seconds in left), reverse=True)
    assert left[-1][0] == left[-1][1] == 12
    assert left[-1][2] == 0


def test_several_processes_share_the_work():
    limit = Simulated(seconds=30)
    plan = make_plan("d", {"aode": AODE(), "nb": NaiveBayes()}, table(), Folds(FOLDS, 1), FOLDS, None)
    stages = limit.begin([plan], [(0, ("aode", "nb"))] * FOLDS, n_jobs=2)
    for stage in stages:
        stage.waiting[0] = FOLDS
    assert [limit.admits(stage) for stage in stages] == [True, True]  # 40 seconds of aode are 20 for two
    assert limit.work_left() == pytest.approx(40.4)


def test_slow_classifiers_are_not_timed_once_more():
    limit = Simulated(seconds=100)
    compared(limit)
    assert [limit.quick(name) for name in ("nb", "tan", "aode")] == [True, False, False]
    timed = cross_validate({"nb": NaiveBayes(), "tan": TAN()}, *table(), folds=3, n_jobs=1, time_limit=Simulated(100))
    assert all(record["fit_seconds"] > 0 and record["predict_seconds"] > 0 for record in timed.records)


@pytest.mark.parametrize("seconds", [0, -1, math.nan, "60", True])
def test_a_limit_that_means_nothing_is_refused(seconds):
    with pytest.raises(OptionError, match="give a number of seconds above 0"):
        TimeLimit(seconds)


def classifiers():
    return {name: make_model(name, {}) for name in MODELS if name != "network"} | peers()


@pytest.mark.parametrize("name", sorted(classifiers()))
def test_a_forecast_grows_with_the_table(name):
    model = classifiers()[name]
    small = TableSize(n_rows=500, n_columns=10, n_values=50, n_classes=2, width=10)
    assert fold_seconds(model, small) != _UNKNOWN(small), "the forecast does not know this classifier"
    rows = TableSize(n_rows=5000, n_columns=10, n_values=50, n_classes=2, width=10)
    large = TableSize(n_rows=5000, n_columns=40, n_values=200, n_classes=5, width=40)
    assert 0 < fold_seconds(model, small) < fold_seconds(model, rows) <= fold_seconds(model, large)


def test_refined_bins_are_more_where_rows_are_many():
    few = TableSize(n_rows=500, n_columns=10, n_values=50, n_classes=2, width=10, n_numbers=10)
    many = replace(few, n_rows=5000)
    assert few.cut_for(A2DE()) == few  # sqrt(500 / 2 / 25) < 5
    assert many.cut_for(A2DE()).n_values == 100  # sqrt(5000 / 2 / 25) = 10 bins
    assert many.cut_for(A2DE(bins="mdl")) == many.cut_for(NaiveBayes()) == many


def test_the_size_of_a_table_is_read_from_its_cells():
    X = {"sky": ["sun", "rain", None] * 20, "degrees": np.linspace(0, 1, 60)}
    plan = make_plan("d", {"nb": NaiveBayes()}, (X, ["a", "b"] * 30), Folds(2, 1), 2, None)
    assert TableSize.of(plan) == TableSize(n_rows=60, n_columns=2, n_values=7, n_classes=2, width=3, n_numbers=1)
    codes = np.array([[0, 1], [2, 0]] * 5, dtype=np.uint8)
    plan = make_plan("d", {"nb": NaiveBayes()}, (codes, ["a", "b"] * 5), Folds(2, 1), 2, None)
    assert TableSize.of(plan).n_columns == 2


@pytest.mark.long  # starting processes takes seconds
def test_processes_keep_to_the_order_and_the_limit(monkeypatch):
    monkeypatch.setattr(run, "_WORTH_PROCESSES", 0.0)
    limit, models = Simulated(seconds=15), {"aode": AODE(), "tan": TAN(), "nb": NaiveBayes()}
    results = cross_validate(models, *table(), folds=FOLDS, n_jobs=2, timing=False, time_limit=limit)
    assert results.classifiers == ["tan", "nb"]
    assert sorted(limit.order) == [("nb",)] * 4 + [("tan",)] * 4
    assert results.records == [r for r in compared(None).records if r["classifier"] != "aode"]
