"""Results: what tables say agrees with doing it by hand, and gaps break nothing."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tanager import TAN, NaiveBayes
from tanager.errors import DataError, OptionError
from tanager.evaluate import (
    Results,
    calibration_error,
    corrected_t,
    cross_validate,
    friedman,
    geometric_mean_ratio,
    measure,
    nemenyi,
    reliability,
    sign_test,
    win_draw_loss,
)

SKILL = {"good": 2.0, "fair": 1.2, "poor": 0.4}
SECONDS = {"good": 1.0, "fair": 0.9, "poor": 0.01}


def answers(skill, seed, n=40, k=3):
    """Labels and probabilities, the better the more skill."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, k, n)
    scores = np.exp(rng.normal(size=(n, k)) + skill * np.eye(k)[labels])
    return labels, scores / scores.sum(axis=1, keepdims=True)


def record(dataset, classifier, fold, repeat=0, n_train=360, skill=None):
    labels, proba = answers(
        SKILL[classifier] if skill is None else skill, [fold, repeat, len(dataset), ord(dataset[0])]
    )
    return {
        "dataset": dataset,
        "classifier": classifier,
        "repeat": repeat,
        "fold": fold,
        "n_train": n_train,
        "n_test": len(labels),
        **measure(labels, proba),
        "fit_seconds": SECONDS[classifier] * (1 + fold),
        "predict_seconds": 0.0,
        "reliability": reliability(labels, proba).tolist(),
    }


def some(datasets=("d",), classifiers=tuple(SKILL), folds=6):
    return Results(record(d, c, i) for d in datasets for c in classifiers for i in range(folds))


ONE = some()
MANY = some(["anneal", "balance", "car", "diabetes", "ecoli", "flare", "glass"], folds=2)


def constant(values, seconds=None, spread=0.001, folds=5):
    """Made to measure: per classifier a log loss with a little spread, and the same accuracy for all."""
    return Results(
        {
            "dataset": "d",
            "classifier": name,
            "repeat": 0,
            "fold": i,
            "n_train": 80,
            "n_test": 20,
            "accuracy": 0.9,
            "log_loss": value + spread * (-1) ** i * (1 + at),
            **({} if seconds is None else {"fit_seconds": seconds[name], "predict_seconds": 0.0}),
        }
        for at, (name, value) in enumerate(values.items())
        for i in range(folds)
    )


# --- one data set -------------------------------------------------------------------------------------------------


def test_a_summary_is_the_mean_over_folds_and_its_calibration_that_of_all_rows():
    line = ONE.summary().to_dicts()[0]
    folds = [record("d", "good", i) for i in range(6)]
    assert line["classifier"] == "good"
    assert line["folds"] == 6
    for name in ("accuracy", "log_loss", "rmse", "auc"):
        assert line[name] == pytest.approx(np.mean([fold[name] for fold in folds]))
    assert line["sd"] == pytest.approx(np.std([fold["accuracy"] for fold in folds], ddof=1))
    assert line["fit_seconds"] == 3.5
    labels, proba = zip(*[answers(2.0, [i, 0, 1, ord("d")]) for i in range(6)], strict=True)
    pooled = calibration_error(np.concatenate(labels), np.concatenate(proba))
    assert line["calibration_error"] == pytest.approx(pooled)


def test_a_comparison_is_the_corrected_test_of_the_folds():
    table = ONE.compare("fair", measure="log_loss")
    assert table["classifier"] == ["good", "fair", "poor"]
    d = [record("d", "poor", i)["log_loss"] - record("d", "fair", i)["log_loss"] for i in range(6)]
    poor = table.to_dicts()[-1]
    assert (poor["t"], poor["p"]) == pytest.approx(corrected_t(d, 40 / 360))
    assert poor["difference"] == pytest.approx(np.mean(d))
    assert table["verdict"] == ["better +", "baseline", "worse -"]


def test_by_default_the_best_is_the_baseline_whichever_way_the_measure_points():
    for name in ("accuracy", "error", "auc", "log_loss", "brier"):
        table = ONE.compare(measure=name)
        assert table["classifier"] == ["good", "fair", "poor"]
        assert table["verdict"][0] == "baseline"
        assert table["verdict"][2] == "worse -"


@given(st.permutations(range(18)))
def test_the_order_of_records_changes_no_number(order):
    shuffled = Results(ONE.records[i] for i in order).select(list(SKILL))
    for name in ("summary", "compare"):
        for a, b in zip(getattr(ONE, name)().rows, getattr(shuffled, name)().rows, strict=True):
            assert a[0] == b[0]
            for left, right in zip(a, b, strict=True):
                assert left == right if isinstance(left, str | None) else left == pytest.approx(right, nan_ok=True)


def test_a_single_fold_is_shown_and_not_tested():
    table = some(folds=1).compare()
    assert all(map(math.isnan, table["p"][1:]))
    assert table["verdict"] == ["baseline", "", ""]
    assert "nothing can be tested" in table.note
    assert math.isnan(some(folds=1).summary()["sd"][0])


def test_a_classifier_that_lacks_folds_is_compared_on_those_it_has():
    ragged = Results([r for r in ONE.records if not (r["classifier"] == "poor" and r["fold"] > 3)])
    poor = ragged.compare("good").to_dicts()[-1]
    d = [record("d", "poor", i)["accuracy"] - record("d", "good", i)["accuracy"] for i in range(4)]
    assert poor["t"] == pytest.approx(corrected_t(d, 40 / 360)[0])
    assert "Folds of d: poor has 4 of 6" in ragged.compare().note
    assert "Folds of d: poor has 4 of 6" in ragged.summary().note


def test_folds_without_an_auc_are_skipped():
    holes = [{**r, "auc": math.nan if r["fold"] < 2 else r["auc"]} for r in ONE.records]
    expected = np.mean([record("d", "good", i)["auc"] for i in range(2, 6)])
    assert Results(holes).summary()["auc"][0] == pytest.approx(expected)
    assert not math.isnan(Results(holes).compare(measure="auc")["p"][1])
    nowhere = Results([{**r, "auc": math.nan} for r in ONE.records])
    assert all(map(math.isnan, nowhere.summary()["auc"]))
    assert all(map(math.isnan, nowhere.compare(measure="auc")["p"][1:]))


def test_a_comparison_of_one_of_several_data_sets_names_it():
    with pytest.raises(OptionError, match=r"there are 7: anneal.*over_datasets"):
        MANY.compare()
    assert MANY.compare(dataset="car")["classifier"][0] == "good"
    assert set(MANY.summary(dataset="car")["dataset"]) == {"car"}


# --- several data sets --------------------------------------------------------------------------------------------


def losses(results, measure, higher):
    grid = np.array([[results.mean(d, c, measure) for c in results.classifiers] for d in results.datasets])
    return 1 - grid if higher else grid


@pytest.mark.parametrize(("name", "higher"), [("error", False), ("accuracy", True), ("log_loss", False), ("auc", True)])
def test_tables_over_data_sets_agree_with_the_tests_they_print(name, higher):
    grid = losses(MANY, name, higher)
    over = {line["classifier"]: line for line in MANY.over_datasets(name).to_dicts()}
    places = friedman(grid).mean_ranks
    for c, own in enumerate(MANY.classifiers):
        assert over[own]["mean rank"] == pytest.approx(places[c])
        assert over[own][f"mean {name}"] == pytest.approx(1 - grid[:, c].mean() if higher else grid[:, c].mean())
        assert over[own]["ratio"] == pytest.approx(geometric_mean_ratio(grid[:, c], grid[:, 0], [80] * 7))
    for line in MANY.pairs(name).to_dicts():
        a, b = (MANY.classifiers.index(line[side]) for side in ("first", "second"))
        won, drawn, lost = win_draw_loss(grid[:, a], grid[:, b])
        assert (line["wins"], line["draws"], line["losses"]) == (won, drawn, lost)
        assert line["p"] == sign_test(won, lost)[1]
    (line,) = MANY.friedman(name).to_dicts()
    assert (line["chi2"], line["p"]) == pytest.approx((friedman(grid).chi2, friedman(grid).p))
    assert line["critical difference"] == nemenyi(3, 7)


def test_the_matrix_of_wins_is_its_own_mirror_image():
    cells = {line[""]: line for line in MANY.win_draw_loss().to_dicts()}
    won = cells["good"]["poor"].split(" ")[0].split("-")
    assert cells["poor"]["good"].split(" ")[0].split("-") == won[::-1]
    assert cells["good"]["good"] == ""
    assert sum(map(int, won)) == 7


def test_data_sets_that_a_classifier_lacks_are_left_out_and_named():
    ragged = Results(
        [r for r in MANY.records if (r["dataset"], r["classifier"]) not in {("car", "poor"), ("ecoli", "fair")}]
    )
    table = ragged.over_datasets()
    assert "Over 5 data sets." in table.note
    assert "not every classifier has error there: car, ecoli" in table.note
    assert ragged.by_dataset()["poor"][2] is None
    assert ragged.recommend().classifier == "good"
    assert "Folds of car: poor has 0 of 2" in ragged.summary().note
    assert ragged.friedman()["data sets"] == [5]


def test_classifiers_without_a_common_data_set_are_refused_with_a_way_out():
    apart = some(["a"], ["good"]) + some(["b"], ["fair"])
    with pytest.raises(DataError, match=r"no data set on which all of good, fair have a value of error.*select"):
        apart.over_datasets()


def test_folds_that_only_some_have_do_not_count_over_data_sets():
    ragged = Results(
        [r for r in MANY.records if not (r["dataset"] == "car" and r["classifier"] == "poor" and r["fold"])]
    )
    without = Results([r for r in MANY.records if not (r["dataset"] == "car" and r["fold"])])
    assert ragged.over_datasets().rows == without.over_datasets().rows


# --- advice -------------------------------------------------------------------------------------------------------


def test_the_cheaper_of_equals_is_recommended():
    close = constant({"slow": 0.30, "quick": 0.3001, "bad": 0.9}, {"slow": 5.0, "quick": 1.0, "bad": 0.1}, spread=0.01)
    advice = close.recommend()
    assert advice.classifier == "quick"
    assert str(advice) == (
        "Take quick: its log loss of 0.3041 is within one standard error of the best (slow, 0.3020), and it takes 20% "
        "of the time."
    )


def test_a_little_faster_is_no_reason():
    close = constant({"slow": 0.30, "quick": 0.3001}, {"slow": 1.9, "quick": 1.0}, spread=0.01)
    assert close.recommend().classifier == "slow"
    assert "not significantly better than quick" in str(close.recommend())


def test_the_best_is_recommended_where_it_is_better_for_sure_or_times_are_unknown():
    assert "significantly better than all others" in str(constant({"a": 0.3, "b": 0.9}).recommend())
    assert constant({"a": 0.30, "b": 0.3001}, spread=0.01).recommend().classifier == "a"


def test_the_best_probabilities_are_not_recommended_where_they_cost_accuracy():
    records = constant({"sharp": 0.31, "vague": 0.30}).records
    for r in records:
        r["accuracy"] = (0.9 if r["classifier"] == "sharp" else 0.7) + 0.01 * r["fold"]
        r["log_loss"] += 0.04 * (-1) ** r["fold"] * (r["classifier"] == "vague")
    assert str(Results(records).recommend()).startswith("Take sharp: with a log loss of 0.31")


def test_much_faster_is_no_reason_where_two_folds_are_too_few_to_tell():
    two = constant({"good": 0.3, "poor": 0.9}, {"good": 10.0, "poor": 0.1}, spread=0.05, folds=2)
    assert two.compare(measure="log_loss")["verdict"] == ["baseline", ""]
    assert two.recommend().classifier == "good"


def beside_shares(losses, shares, **options):
    records = constant(losses, **options).records
    for r in records:
        r |= {"accuracy": 0.5, "class_shares": {"log_loss": shares, "accuracy": 0.5}}
    return Results(records)


def test_nothing_is_recommended_where_the_class_shares_alone_do_as_well():
    advice = beside_shares({"a": 0.70, "b": 0.75}, shares=0.6931, spread=0.01).recommend()
    assert not advice.useful
    assert str(advice).startswith(
        "None of these 2 classifiers is significantly better than the shares of the classes alone, without any column: "
        "their log loss is 0.6931, and that of a, the best of them, 0.7"
    )
    assert beside_shares({"a": 0.60, "b": 0.75}, shares=0.6931, spread=0.01).recommend().useful
    alone = beside_shares({"a": 0.70}, shares=0.6931, spread=0.01).recommend()
    assert str(alone).startswith("a is not significantly better than the shares of the classes alone")


def test_a_classifier_that_is_better_in_nearly_all_folds_may_have_found_something():
    results = beside_shares({"a": 0.45, "b": 0.75}, shares=0.6931)
    for r in results.records:
        r["log_loss"] = 1.2 if r["classifier"] == "a" and r["fold"] == 0 else r["log_loss"]
    advice = Results(results.records).recommend()
    assert not advice.useful
    assert advice.reason.endswith(
        "That is better in 4 of 5 folds, which differ too much to be sure: more rows would tell."
    )
    worse = beside_shares({"a": 0.70, "b": 0.75}, shares=0.6931, spread=0.01).recommend()
    assert worse.reason.endswith("Other columns are needed here, more than another classifier.")


def test_a_classifier_that_is_right_more_often_than_the_largest_class_is_useful():
    records = beside_shares({"a": 0.70, "b": 0.75}, shares=0.6931, spread=0.01).records
    for r in records:
        r["accuracy"] = 0.8 + 0.01 * r["fold"]
    assert Results(records).recommend().useful


def test_labels_that_have_nothing_to_do_with_the_columns_are_found_out():
    rng = np.random.default_rng(5)
    X, y = rng.integers(0, 3, (600, 4)), rng.integers(0, 2, 600)
    for order in ("random", "forward"):
        results = cross_validate({"nb": NaiveBayes(), "tan": TAN()}, X, y, fold_order=order, n_jobs=1)
        assert not results.recommend().useful
    learnable = cross_validate({"nb": NaiveBayes(), "tan": TAN()}, X, X[:, 0] > 0, n_jobs=1)
    assert learnable.recommend().useful


def test_one_fold_and_one_classifier_have_advice_too():
    assert "nothing could be tested" in str(some(folds=1).recommend())
    assert str(some(classifiers=["good"]).recommend()) == "good is the only classifier here."
    assert str(some(["a", "b"], ["good"]).recommend()) == "good is the only classifier here."


def test_over_data_sets_the_best_rank_is_recommended_with_what_it_is_worth():
    assert str(MANY.recommend()) == (
        "Take good: it has the best mean rank by log loss (1.00 of 3, over 7 data sets); Nemenyi's test separates it "
        "from poor, not from fair."
    )
    assert "may be chance" in str(MANY.select(["good", "poor"], ["car", "ecoli"]).recommend())
    twelve = some([f"{chr(97 + i)}{'x' * i}" for i in range(12)], ["good", "poor"], folds=1)
    assert "separates it from all others" in str(twelve.recommend())


# --- records ------------------------------------------------------------------------------------------------------


def test_results_are_joined_and_selected():
    both = some(["a"]) + some(["b"])
    assert both.datasets == ["a", "b"]
    assert both.classifiers == list(SKILL)
    assert len(both) == 36
    assert repr(both) == "Results(3 classifiers, 2 data sets, 36 folds)"
    assert both.select(["poor", "good"], ["b"]).summary().rows[::-1] == [
        row for row in some(["b"]).summary().rows if row[1] != "fair"
    ]


def test_notes_travel_with_the_results():
    noted = Results(ONE.records, ["A2DE was left out: it needs 35 GB."])
    assert "35 GB" in noted.summary().note
    assert (noted + some(["x"])).notes == noted.notes
    assert (noted.select(["good"]) + Results([], noted.notes)).notes == noted.notes
    assert str(noted).endswith("35 GB.")


def test_every_fold_is_a_line(tmp_path):
    table = ONE.to_table()
    assert len(table) == 18
    assert table.names[:6] == ("dataset", "classifier", "repeat", "fold", "n_train", "n_test")
    assert "reliability" not in table.names
    assert ONE.to_csv(tmp_path / "folds.csv").splitlines()[0].startswith("dataset,classifier,repeat,fold")
    assert (tmp_path / "folds.csv").read_text().count("\n") == 19
    pytest.importorskip("pandas", reason="a frame needs pandas")
    assert ONE.to_pandas()["n_test"].sum() == 18 * 40


def test_records_without_most_measures_still_make_tables():
    bare = Results(
        [{"dataset": "d", "classifier": "a", "repeat": 0, "fold": 0, "n_train": 9, "n_test": 1, "accuracy": 1.0}]
    )
    assert bare.measures == ["accuracy", "error"]
    assert bare.summary().names == ("dataset", "classifier", "folds", "accuracy", "sd")
    assert len(Results([]).summary()) == 0


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: Results([{"dataset": "d"}]), DataError, "record 0 has no 'classifier'"),
        (lambda: ONE + ONE, DataError, "two records of dataset 'd', classifier 'good', repeat 0, fold 0"),
        (lambda: ONE.compare("god"), OptionError, "no classifier 'god'.*Did you mean 'good'"),
        (lambda: ONE.compare(measure="acuracy"), OptionError, "no measure 'acuracy'.*Did you mean 'accuracy'"),
        (lambda: MANY.summary(dataset="cars"), OptionError, "no data set 'cars'.*Did you mean 'car'"),
        (lambda: ONE.plot(kind="rank"), OptionError, "Did you mean 'ranks'"),
        (lambda: ONE.mean("d", "good", "acuracy"), OptionError, "no measure 'acuracy'.*Did you mean 'accuracy'"),
        (lambda: ONE.mean("d", "god", "accuracy"), OptionError, "no classifier 'god'.*Did you mean 'good'"),
        (lambda: ONE.mean("e", "good", "accuracy"), OptionError, "no data set 'e'"),
    ],
)
def test_what_is_not_there_is_refused_by_name(call, error, message):
    with pytest.raises(error, match=message):
        call()
