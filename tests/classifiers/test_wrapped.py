"""Wrapped: settings of a learner tried on rows that were held out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_network_classifiers import chained

from tanager import BAN, CBL, GeneralNetwork, GSquared, HillClimb, MultiNet, OptionError, Threshold, Wrapped, load
from tanager.classifiers.wrapped import THRESHOLDS
from tanager.counts.block import Query
from tanager.counts.sample import Sample
from tanager.learning.dealing import deal
from tanager.learning.network_learner import sample_of
from tanager.scoring.view import View


def a_sample(n_rows, seed, weights=None):
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(0, 2, n_rows), rng.integers(0, 3, n_rows)]).astype(np.uint8)
    return Sample(codes, [("a", "b"), ("u", "v", "w")], ["x", "class"], weights)


@given(n_rows=st.integers(1, 60), seed=st.integers(0, 99), n_parts=st.integers(2, 5))
def test_rows_are_dealt_out_in_turn(n_rows, seed, n_parts):
    sample = a_sample(n_rows, seed)
    dealt = deal(sample, n_parts, seed)
    assert set(np.unique(dealt)) <= {0.0, 1.0}
    assert (dealt.sum(axis=0) == 1).all()
    sizes = dealt.sum(axis=1)
    assert sizes.max() - sizes.min() <= 1
    for c in range(3):
        of_class = dealt[:, sample.codes[:, 1] == c].sum(axis=1)
        assert of_class.max() - of_class.min() <= 1


@given(seed=st.integers(0, 99), n_parts=st.integers(2, 4))
def test_a_weight_of_two_is_dealt_like_two_rows_in_any_order(seed, n_parts):
    rng = np.random.default_rng(seed)
    once = a_sample(20, seed)
    weights = rng.integers(1, 4, 20)
    twice = np.repeat(np.arange(20), weights)
    rng.shuffle(twice)
    weighted = deal(Sample(once.codes, once.values, once.names, weights.astype(float)), n_parts, seed)
    repeated = deal(once.take(twice), n_parts, seed)
    kinds = once.codes[:, 0] * 3 + once.codes[:, 1]
    for part in range(n_parts):
        by_weight = np.bincount(kinds, weighted[part], minlength=6)
        by_rows = np.bincount(kinds[twice], repeated[part], minlength=6)
        np.testing.assert_allclose(by_weight, by_rows, atol=1e-9)


def test_the_setting_that_does_best_on_rows_held_out_is_kept():
    X, y = chained(3000)
    model = Wrapped(GeneralNetwork()).fit(X, y)
    assert [line["setting"] for line in model.table_] == [f"threshold = {tau}" for tau in THRESHOLDS]
    best = max(line["accuracy"] for line in model.table_)
    (chosen,) = [line for line in model.table_ if line["note"] == "* chosen"]
    assert chosen["accuracy"] == best
    assert "* chosen" in model.table()
    assert model.best_.blanket_


def test_a_holdout_equals_learning_two_thirds_and_asking_the_rest():
    X, y = chained(3000)
    model = Wrapped(GeneralNetwork(), grid=[0.01]).fit(X, y)
    sample = sample_of(model.memory.rows, model.counts_, model.class_name)
    held = deal(sample, 3, 0)[0] > 0
    schema = model.counts_.schema
    learned = GeneralNetwork(learner=CBL(threshold=0.01), schema=schema)
    learned.fit({name: column[~held] for name, column in X.items()}, y[~held])
    asked = {name: column[held] for name, column in X.items()}
    assert model.table_[0]["accuracy"] == pytest.approx(learned.score(asked, y[held]), abs=1e-12)
    proba = learned.predict_proba(asked)[np.arange(held.sum()), np.searchsorted(learned.classes_, y[held])]
    assert model.table_[0]["log_loss"] == pytest.approx(-np.log(proba).mean(), abs=1e-12)
    assert model.structure_ == learned.structure_  # its structure, all rows' tables
    again = View(model.counts_, model.structure_, model.best_.estimate)
    codes = model.encoder_.transform(X)
    assert (model.predict_proba(X) == again.score(Query(codes))).all()


def test_the_chosen_classifier_answers_the_same_by_itself():
    X, y = chained(3000)
    for wrapped in (GeneralNetwork(), MultiNet(), BAN()):
        model = Wrapped(wrapped).fit(X, y)
        assert (model.best_.predict_proba(X) == model.predict_proba(X)).all()
        (chosen,) = [line for line in model.table_ if line["note"] == "* chosen"]
        features = model.best_.features_ if isinstance(wrapped, MultiNet) else model.best_.blanket_
        assert len(features) == chosen["columns"]


def test_few_rows_are_cross_validated_and_the_structure_follows_all_rows():
    X, y = chained(300)
    model = Wrapped(GeneralNetwork(), grid=[0.01, 0.05]).fit(X, y)
    chosen = 0.01 if model.table_[0]["note"] else 0.05
    alone = GeneralNetwork(learner=CBL(threshold=chosen)).fit(X, y)
    assert model.structure_ == alone.structure_
    assert (model.predict_proba(X) == alone.predict_proba(X)).all()


def test_with_few_rows_the_better_half_of_the_settings_goes_on_after_each_of_two_folds():
    X, y = chained(300)
    grid = [0.0001, 0.001, 0.01, 0.02, 0.05, 0.1, 0.3]
    model = Wrapped(GeneralNetwork(), grid=grid).fit(X, y)
    sample = sample_of(model.memory.rows, model.counts_, model.class_name)
    sizes = deal(sample, 5, 0).sum(axis=1)
    asked = {len(grid): sizes[0], 4: sizes[:2].sum(), 2: sizes.sum()}  # how far the last of so many settings came
    assert sorted(line["asked"] for line in model.table_) == sorted([asked[7]] * 3 + [asked[4]] * 2 + [asked[2]] * 2)
    notes = [line["note"] for line in model.table_]
    assert (notes.count("behind after 1 of 5 folds"), notes.count("behind after 2 of 5 folds")) == (3, 2)
    # Those that went on are no worse on the first fold than those that did not, as a run of that fold alone says.
    held = deal(sample, 5, 0)[0] > 0
    right = {}
    for line, tau in zip(model.table_, grid, strict=True):
        learned = GeneralNetwork(learner=CBL(threshold=tau), schema=model.counts_.schema)
        learned.fit({name: column[~held] for name, column in X.items()}, y[~held])
        right[line["setting"]] = learned.score({name: column[held] for name, column in X.items()}, y[held])
    went_on = {line["setting"] for line in model.table_ if line["asked"] > asked[7]}
    assert min(right[setting] for setting in went_on) >= max(right[setting] for setting in right.keys() - went_on)


def test_folds_that_are_asked_for_try_every_setting_in_all_of_them():
    X, y = chained(300)
    model = Wrapped(GeneralNetwork(), grid=[0.001, 0.01, 0.02, 0.05, 0.1], folds=4).fit(X, y)
    assert {line["asked"] for line in model.table_} == {300.0}


@pytest.mark.parametrize("n_rows", [300, 1500])
def test_the_steps_of_the_chosen_network_are_those_of_its_rows(n_rows):
    X, y = chained(n_rows)
    model = Wrapped(GeneralNetwork(), grid=[0.01, 0.05]).fit(X, y)
    sample = sample_of(model.memory.rows, model.counts_, model.class_name)
    learned = np.flatnonzero(deal(sample, 3, 0)[0] == 0) if n_rows >= 1000 else np.arange(n_rows)
    expected = model.best_.find(sample.take(learned), model.best_.learner)
    assert model.best_.learned_.trace() == expected.learned[0].trace()
    assert model.structure_ == expected.form


def test_a_general_network_over_many_columns_is_learned_over_those_that_tell_most(monkeypatch):
    X, y = chained(1500)
    names = list(X)
    sample = Sample.of(X, y)
    telling = sorted(names, key=lambda name: -sample.information(name, "class").value)[:2]
    few = GeneralNetwork(max_columns=2).fit(X, y)
    assert set(few.learned_.network.names) == {*telling, "class"}
    assert set(GeneralNetwork(max_columns=len(names)).fit(X, y).learned_.network.names) == {*names, "class"}
    left = next(name for name in names if name not in telling)
    named = GeneralNetwork(max_columns=2, learner=CBL(forbidden=[(left, telling[0])])).fit(X, y)
    assert set(named.learned_.network.names) == {*telling, left, "class"}
    monkeypatch.setattr("tanager.classifiers.wrapped.MANY_COLUMNS", 2)
    assert set(Wrapped(GeneralNetwork()).fit(X, y).best_.learned_.network.names) == {*telling, "class"}
    whole = Wrapped(GeneralNetwork(max_columns=99)).fit(X, y)
    assert set(whole.best_.learned_.network.names) == {*names, "class"}
    with pytest.raises(OptionError, match="max_columns=0"):
        GeneralNetwork(max_columns=0).fit(X, y)


def test_the_blanket_of_a_wrapped_general_network_gives_the_columns_of_a_multi_net():
    X, y = chained(3000)
    general = Wrapped(GeneralNetwork()).fit(X, y)
    model = Wrapped(MultiNet(features="blanket")).fit(X, y)
    assert model.best_.features_ == general.best_.blanket_
    assert [line["setting"] for line in model.features_table_] == [line["setting"] for line in general.table_]


def test_with_an_empty_blanket_all_columns_are_naive():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (2000, 3)).astype(str), rng.integers(0, 2, 2000)
    X[:, 1] = X[:, 0]  # which a multi-net would see
    model = Wrapped(MultiNet(features="blanket"), grid=[0.05, 0.1]).fit(X, y)
    assert model.best_.features_ == ("x0", "x1", "x2")
    assert all(not network.arcs for network in model.best_.networks_.values())


def test_any_setting_of_a_learner_can_be_tried():
    X, y = chained(500)
    model = Wrapped(BAN(), grid={"max_parents": [0, 2], "score": ["bic", "aic"]}).fit(X, y)
    assert [line["setting"] for line in model.table_][:2] == [
        "max_parents = 0, score = bic",
        "max_parents = 0, score = aic",
    ]
    assert isinstance(model.best_.learner, HillClimb)


def test_levels_of_significance_are_tried_where_the_test_has_them():
    X, y = chained(1500)
    model = Wrapped(GeneralNetwork(learner=CBL(test=GSquared()))).fit(X, y)
    assert len(model.table_) == 7
    assert isinstance(model.best_.learner.test, GSquared)
    assert "b" not in model.best_.blanket_


def test_a_threshold_given_as_a_test_is_tried_like_any_other():
    X, y = chained(1500)
    as_test = Wrapped(
        GeneralNetwork(learner=CBL(test=Threshold(0.3))), grid={"test": [Threshold(t) for t in (0.01, 0.1)]}
    )
    plain = Wrapped(GeneralNetwork(), grid=[0.01, 0.1]).fit(X, y)
    assert (as_test.fit(X, y).predict_proba(X) == plain.predict_proba(X)).all()
    assert len(Wrapped(GeneralNetwork(learner=CBL(test=Threshold(0.3)))).fit(X, y).table_) == len(THRESHOLDS)


def test_tests_are_worked_out_once_for_all_thresholds(monkeypatch):
    X, y = chained(3000)
    made = []
    original = Sample.__init__

    def noted(self, *args, **options):
        original(self, *args, **options)
        made.append(self)

    monkeypatch.setattr(Sample, "__init__", noted)
    Wrapped(MultiNet()).fit(X, y)
    assert sum(sample.n_counted for sample in made) < sum(sample.n_asked for sample in made) / 3


def test_a_loaded_model_answers_and_tells_the_same(tmp_path):
    X, y = chained(1500)
    for wrapped in (GeneralNetwork(), MultiNet(features="blanket")):
        model = Wrapped(wrapped, grid=[0.005, 0.05]).fit(X, y)
        model.save(tmp_path / "m.tanager")
        loaded = load(tmp_path / "m.tanager")
        assert (loaded.predict_proba(X) == model.predict_proba(X)).all()
        assert loaded.table() == model.table()
        assert loaded.best_.learner == model.best_.learner


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (Wrapped(3), "learns no network"),
        (Wrapped(GeneralNetwork(), grid=[]), "give a list of thresholds"),
        (Wrapped(GeneralNetwork(), grid={"thresold": [1]}), "no setting thresold"),
        (Wrapped(BAN(), grid=[0.1]), "no setting threshold"),
        (Wrapped(GeneralNetwork(learner=CBL(test=GSquared())), grid=[0.1]), "a test of its own"),
        (Wrapped(BAN(fit_by="elr")), "counted parameters"),
        (Wrapped(GeneralNetwork(), folds=1), "at least 2"),
        (Wrapped(GeneralNetwork(), criterion="auc"), "criterion"),
    ],
    ids=repr,
)
def test_options_that_mean_nothing_are_refused(model, words):
    X, y = chained(100)
    with pytest.raises(OptionError, match=words):
        model.fit(X, y)


@pytest.mark.parametrize("fitting", ["one by one", "none"])
def test_structures_whose_tables_do_not_fit_together_are_judged_one_by_one(monkeypatch, fitting):
    X, y = chained(300, seed=2)
    together = Wrapped(GeneralNetwork(), grid=[0.001, 0.01, 0.1]).fit(X, y)
    count = Wrapped._counts_for

    def only_one(self, forms, learned, counts):
        return None if len(forms) > 1 or fitting == "none" else count(self, forms, learned, counts)

    monkeypatch.setattr(Wrapped, "_counts_for", only_one)
    apart = Wrapped(GeneralNetwork(), grid=[0.001, 0.01, 0.1]).fit(X, y)
    if fitting == "none":
        assert {line["note"] for line in apart.table_} == {"tables too large", "* chosen"}
    else:
        assert len({line["log_loss"] for line in together.table_}) > 1
        assert apart.table() == together.table()


def test_more_folds_than_rows_leave_one_row_out_each():
    """Two billion folds, as a damaged file had them, would take 800 GB."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (70, 2)).astype(np.uint8), rng.integers(0, 2, 70)
    many, few = (Wrapped(GeneralNetwork(), folds=folds).fit(X, y) for folds in (2**31, 70))
    np.testing.assert_array_equal(many.predict_proba(X), few.predict_proba(X))


def test_with_fewer_rows_than_folds_nothing_is_tried_and_the_last_setting_taken():
    rows, labels = [["a", "x"], ["b", "x"], ["a", "y"], ["b", "y"]], ["no", "yes", "no", "yes"]
    model = Wrapped(grid=[0.01, 0.1]).fit(rows, labels)
    assert [(line["asked"], line["note"]) for line in model.table_] == [(0, ""), (0, "* chosen")]
    assert model.predict(rows).tolist() == labels
    again = Wrapped(grid=[0.01, 0.1]).fit(rows * 2, labels * 2)
    assert all(line["asked"] for line in again.table_)


def test_a_stream_tries_settings_less_often_than_it_learns_the_structure_again(monkeypatch, tmp_path):
    table, labels = chained(180)
    rows = [dict(zip(table, cells, strict=True)) for cells in zip(*table.values(), strict=True)]
    tried, found = [], []
    choose, find = Wrapped._choose, GeneralNetwork.find

    def noted_choice(model, *args):
        tried.append(round(model.memory.n_learned))
        return choose(model, *args)

    def noted(model, sample, learner, **options):
        found.append((len(tried), round(sample.n_rows)))
        return find(model, sample, learner, **options)

    monkeypatch.setattr(Wrapped, "_choose", noted_choice)
    monkeypatch.setattr(GeneralNetwork, "find", noted)
    model = Wrapped(GeneralNetwork(), grid=[0.001, 0.05])
    for row, label in zip(rows[:160], labels[:160], strict=True):
        model.predict_proba_one(row)
        model.learn_one(row, label)
    first, second = [n for n in tried if n >= 5]  # with fewer rows nothing is tried
    assert second > 3 * first
    assert any(trials == len(tried) and n > second for trials, n in found)  # the structure has followed since
    model.save(tmp_path / "model")
    again, n_tried = load(tmp_path / "model"), len(tried)
    for each in (model, again):
        for row, label in zip(rows[160:], labels[160:], strict=True):
            each.predict_proba_one(row)
            each.learn_one(row, label)
    assert len(tried) == n_tried
    assert again.predict_proba_one(rows[0]) == model.predict_proba_one(rows[0])
    model.predict_proba(table)
    assert tried[-1] == 180  # a batch tries all
