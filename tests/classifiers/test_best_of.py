"""BestOf: what judging costs, who is preferred, who is not tried, pools, files."""

import numpy as np
import pytest
from sklearn.base import clone

from registry import small_table
from tanager import A2DE, AODE, FANC, KDB, SPODE, TAN, WAODE, BestOf, NaiveBayes, NBTree, OptionError, load
from tanager.learning.held_out import HeldOut, asked_once, folded
from tanager.learning.judging import Judged, Work, forecast, mean_and_error, preferred, rows_within
from tanager.learning.pooling import linear_pooled, log_pool, log_pooled
from tanager.persist import from_bytes, to_bytes

X, y = small_table(150)


def as_dicts(table):
    """The same rows as single ones, all cells as words: cut points that move would make streams begin again."""
    return [{f"x{i}": f"v {cell!s:.2}" for i, cell in enumerate(row)} for row in table]


def judged(name, losses, weights=None):
    """A candidate whose log losses on rows of the first of two classes are these; NaN: not asked."""
    own = np.exp(-np.asarray(losses, dtype=float))
    line = Judged(name)
    line.proba, line.labels = np.column_stack([own, 1 - own]), np.zeros(len(own), dtype=int)
    line.weights = np.ones(len(own)) if weights is None else np.asarray(weights, dtype=float)
    return line


def test_the_first_is_preferred_unless_it_is_clearly_worse():
    # Differences 0.1 more or less than d have a standard error of 0.1 / sqrt(99) over 100 rows: half of it is 0.005.
    first = judged("first", np.tile([0.5, 0.7], 50))
    close = judged("close", np.full(100, 0.6 - 0.004))
    better = judged("better", np.full(100, 0.6 - 0.006))
    assert preferred([first, close], "log_loss") == 0
    assert preferred([first, better], "log_loss") == 1
    assert preferred([close, first], "log_loss") == 0
    assert preferred([Judged("not tried"), first], "log_loss") == 1
    assert preferred([Judged("not tried"), Judged("nor this")], "log_loss") == 0


def test_differences_are_taken_over_rows_that_both_have_answered():
    all_rows = judged("all", [0.1] * 50 + [2.0] * 50)
    easy = judged("easy rows only", [0.2] * 50 + [np.nan] * 50)
    assert easy.mean("log_loss") < all_rows.mean("log_loss")
    assert preferred([all_rows, easy], "log_loss") == 0


def test_a_row_of_weight_two_counts_as_two():
    values, weights = np.array([1.0, 2.0, 5.0]), np.array([1.0, 2.0, 1.0])
    twice = np.repeat(values, [1, 2, 1])
    assert mean_and_error(values, weights) == pytest.approx(mean_and_error(twice, np.ones(4)))
    assert mean_and_error(twice, np.ones(4))[1] == pytest.approx(np.std(twice, ddof=1) / 2)


def test_work_grows_with_columns_and_classes_and_decides_how_many_rows_are_asked():
    counts = AODE().fit(X, y).counts_
    naive, averaged, pairs = (forecast(m, counts, 150, 5).per_row for m in (NaiveBayes(), AODE(), A2DE()))
    assert naive < averaged == 5**2 * 3 < pairs
    assert forecast(TAN(fit_by="weights"), counts, 150, 5).once > forecast(TAN(), counts, 150, 5).once > 0
    assert forecast(AODE(), counts, 150, 5).once == 0
    assert rows_within(Work(100.0, 10.0), 1000, 600.0) == 50
    assert rows_within(Work(100.0, 10.0), 1000, None) == 1000
    assert rows_within(Work(100.0, 10.0), 1000, 50.0) == 0


def test_candidates_beyond_the_budget_are_not_tried_and_the_table_says_so():
    limit = forecast(AODE(), AODE().fit(X, y).counts_, 150, 5).total(150) + 1
    model = BestOf([A2DE(), AODE(), NaiveBayes()], max_work=limit).fit(X, y)
    assert "A2DE()" in model.table().splitlines()[-1]
    assert "not tried" in model.table().splitlines()[-1]
    assert model.counts_.order == 2  # its triples were not even counted
    nothing = BestOf([AODE(), NaiveBayes()], max_work=1).fit(X, y)
    np.testing.assert_array_equal(nothing.predict_proba(X), AODE().fit(X, y).predict_proba(X))


def test_a_candidate_that_reads_more_than_pairs_is_counted_when_it_is_tried():
    rng = np.random.default_rng(0)
    Z = rng.integers(0, 2, (400, 4))
    label = (Z[:, 0] ^ Z[:, 1] ^ Z[:, 2]) ^ (rng.random(400) < 0.05)  # only two parents together tell about the class
    model = BestOf([AODE(), A2DE()]).fit(Z, label)
    assert isinstance(model.best_, A2DE)
    np.testing.assert_allclose(model.predict_proba(Z), A2DE().fit(Z, label).predict_proba(Z))
    model.partial_fit(Z[:50], label[:50])
    again = A2DE().fit(np.vstack([Z, Z[:50]]), np.concatenate([label, label[:50]]))
    np.testing.assert_allclose(model.predict_proba(Z), again.predict_proba(Z))


def test_structure_is_learned_again_inside_the_folds():
    rng = np.random.default_rng(1)
    Z, label = rng.integers(0, 8, (60, 6)), rng.integers(0, 2, 60)  # nothing to be learned
    model = BestOf([NaiveBayes(), KDB(k=3, smoothing=None)]).fit(Z, label)
    lines = {line["candidate"]: line for line in model.table_}
    seen = KDB(k=3, smoothing=None).fit(Z, label)
    flattered = -np.log(seen.leave_one_out(Z, label)[np.arange(60), label]).mean()
    assert lines["KDB(k=3, smoothing=None)"]["log_loss"] > flattered
    assert isinstance(model.best_, NaiveBayes)


@pytest.mark.parametrize("pool", ["log", "linear"])
def test_a_pool_answers_with_all_candidates(pool, tmp_path):
    members = [NaiveBayes(), AODE(), KDB(), A2DE()]
    model = BestOf(members, pool=pool).fit(X, y)
    weights = [w for _, w in model._members]
    answers = np.array([members[place].fit(X, y).predict_proba(X) for place, _ in model._members])
    expected = linear_pooled(answers, np.array(weights)) if pool == "linear" else log_pooled(np.log(answers), weights)
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-9)
    assert "weight" in model.table().splitlines()[0]
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.table() == model.table()
    why = model.explain(X[:1])
    proba = dict(zip(model.classes_.tolist(), model.predict_proba(X[:1])[0].tolist(), strict=True))
    assert why.log_odds == pytest.approx(np.log(proba[why.answer] / proba[why.against]))
    factors = {"low": 3.0, "mid": 1.0, "top": 0.5}
    weighted = BestOf(members, pool=pool, class_weight=factors).fit(X, y).predict_proba(X)
    odds = model.predict_proba(X) * list(factors.values())
    np.testing.assert_allclose(weighted, odds / odds.sum(axis=1, keepdims=True), rtol=1e-9)


def test_the_weights_of_a_pool_come_from_left_out_answers():
    model = BestOf([NaiveBayes(), AODE(), FANC()], pool="log").fit(X, y)
    held = HeldOut.deal(model.memory, 5, 5000)
    labels = model.memory.rows.block.labels[held.rows]
    logs = np.log([m.fit(X, y).leave_one_out(X, y)[held.rows] for m in (NaiveBayes(), AODE(), FANC())])
    weights = log_pool(logs, labels)
    found = {line["candidate"]: line["weight"] for line in model.table_}
    np.testing.assert_allclose([found["NaiveBayes()"], found["AODE()"], found["FANC()"]], weights, atol=1e-9)


def test_a_calibrated_choice_uses_the_answers_it_was_chosen_by():
    model = BestOf([NaiveBayes(), AODE()], calibrate=True).fit(X, y)
    assert model.calibration_.n_rows == 150
    pooled = BestOf([NaiveBayes(), AODE()], pool="log", calibrate=True).fit(X, y)
    assert 0.7 < pooled.calibration_.power < 1.5  # the weights have seen to it already


def test_a_saved_choice_is_not_made_again(tmp_path, monkeypatch):
    model = BestOf().fit(X, y)
    model.save(tmp_path / "model")
    monkeypatch.setattr(BestOf, "_judge", None)
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.table() == model.table()


def test_options_that_mean_nothing_are_refused():
    for options, words in (({"pool": "max"}, "pool="), ({"max_work": "much"}, "cells to be read")):
        with pytest.raises(OptionError, match=words):
            BestOf(**options).fit(X, y)


def test_a_pool_whose_structure_is_of_other_rows_than_its_counts_is_loaded(tmp_path):
    """Rows went away, and the structure is not due to be learned again: the file holds the one of all rows."""
    rng = np.random.default_rng(3)
    table, label = rng.integers(0, 3, (80, 5)), rng.integers(0, 2, 80)
    table[40:, 1], table[:40, 2] = table[40:, 0], table[:40, 0]
    model = BestOf([NaiveBayes(), KDB()], pool="log", refresh=10_000).fit(table, label)
    model.predict_proba(table)
    model.unlearn(table[40:75], label[40:75])
    model.save(tmp_path / "model")  # members learn their structure again from the counts when it is loaded
    np.testing.assert_allclose(load(tmp_path / "model").predict_proba(table).sum(axis=1), 1.0)


@pytest.mark.parametrize(
    "member", [KDB(), TAN(), NaiveBayes(fit_by="weights"), NBTree(min_rows=2, min_gain=0)], ids=repr
)
def test_a_pool_whose_structure_lags_behind_answers_from_a_file_as_before(member):
    """Members of a loaded pool chose their structures again, by rows that had come since."""
    rng = np.random.default_rng(3)
    table = rng.integers(0, 2, (160, 5))
    label = table[:, 0] ^ np.where(np.arange(160) < 60, table[:, 2], table[:, 1])
    model = BestOf([NaiveBayes(), member], pool="log", refresh=1000).fit(table[:60], label[:60])
    model.predict_proba(table)
    model.partial_fit(table[60:], label[60:])
    loaded = from_bytes(to_bytes(model))
    np.testing.assert_allclose(loaded.predict_proba(table), model.predict_proba(table), rtol=1e-12)
    again = from_bytes(to_bytes(loaded))
    np.testing.assert_allclose(again.predict_proba(table), model.predict_proba(table), rtol=1e-12)


@pytest.mark.parametrize("pool", [None, "log", "linear"])
def test_wider_counts_of_a_candidate_go_on_after_rows_have_faded(pool):
    """Kept rows have weights times the scale of the counts, also of counts that a candidate brings."""
    X, y = small_table(60)
    options = {"candidates": [NaiveBayes(), TAN(), A2DE()], "pool": pool, "unseen": "smooth"}
    model = BestOf(**options).fit(X[:40], y[:40]).fade(0.5)
    model.predict_proba(X)
    model.partial_fit(X[40:], y[40:])
    twin = BestOf(**options, schema=model.counts_.schema)
    twin.fit(X, y, sample_weight=np.where(np.arange(60) < 40, 0.5, 1.0))
    np.testing.assert_allclose(model.predict_proba(X), twin.predict_proba(X), atol=1e-6)


def test_weights_of_a_pool_do_not_depend_on_the_order_of_rows_that_are_the_same():
    X, y = small_table(40)
    rows = np.concatenate([np.arange(40), np.arange(40)])
    light = np.where(np.arange(80) < 40, 0.5, 1.0)
    model = BestOf([NaiveBayes(), KDB(), AODE()], pool="log", schema=AODE().fit(X, y).encoder_.schema)
    one, other = (clone(model).fit(X[o], y[o], sample_weight=w) for o, w in ((rows, light), (rows, light[::-1])))
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-6)


def test_a_log_pool_in_which_no_member_has_a_weight_comes_back_from_a_file():
    """Members that are wrong about left-out rows get none, and all classes are even."""
    X = np.array([["a"], ["b"], ["a"], ["b"]], dtype=object)
    model = BestOf([NaiveBayes(), AODE()], pool="log").fit(X, ["u", "u", "v", "v"])
    model._members = tuple((place, 0.0) for place, _ in model._members)
    model._answering.current = None
    model._answering._take(model, model.best_.structure_)
    again = from_bytes(to_bytes(model))
    np.testing.assert_array_equal(again.stream_proba(X), np.full((4, 2), 0.5))


def test_candidates_whose_turn_comes_after_the_time_limit_are_not_tried(monkeypatch):
    from tanager.classifiers import best_of

    seconds = iter([0.0, 1.0, 11.0, 12.0])  # when the choice begins, then when the second candidate's turn comes, ...
    monkeypatch.setattr(best_of, "CLOCK", lambda: next(seconds))
    X, y = np.random.default_rng(0).integers(0, 3, (60, 3)), np.arange(60) % 2
    model = BestOf([NaiveBayes(), TAN(), AODE(), WAODE()], time_limit=10).fit(X, y)
    notes = {line["candidate"].partition("(")[0]: line["note"] for line in model.table_}
    assert notes["AODE"] == notes["WAODE"] == "not tried: the time was over"
    assert "time" not in notes["NaiveBayes"] + notes["TAN"]
    with pytest.raises(OptionError, match="time_limit=0"):
        BestOf(time_limit=0).fit(X, y)


def test_fewer_than_25_rows_judge_nobody():
    few = BestOf().fit(X[:24], y[:24])
    assert isinstance(few.best_, AODE)
    assert {line["note"] for line in few.table_} == {"* chosen", "not tried: fewer than 25 rows"}
    wide = BestOf([A2DE(), NaiveBayes()], pool="log").fit(X[:24], y[:24])
    np.testing.assert_allclose(wide.predict_proba(X), A2DE(bins="refined").fit(X[:24], y[:24]).predict_proba(X))
    assert any(line["rows"] for line in BestOf().fit(X[:25], y[:25]).table_)


@pytest.mark.parametrize("model", [TAN(), WAODE(), KDB(k=2), NBTree(), SPODE()], ids=repr)
def test_a_model_that_is_used_again_for_every_fold_answers_as_fresh_ones_do(model):
    asked = BestOf([model]).fit(X, y)  # whose memory keeps the rows
    held = HeldOut.deal(asked.memory)

    def attached():
        return clone(model).attach(asked.counts_, asked.encoder_, asked.memory.rows)

    fresh = np.empty((len(held), 3))
    for fold in np.unique(held.fold):
        own = np.flatnonzero(held.fold == fold)
        fresh[own] = folded([attached()], asked.memory, held.part(own))[0]
    assert (folded([attached()], asked.memory, held)[0] == fresh).all()
    assert (folded([attached()], asked.memory, held, reuse=True)[0] == fresh).all()


def test_single_rows_are_answered_as_a_batch_is_whatever_the_chosen_one_is_told():
    rows = [{f"x{i}": cell for i, cell in enumerate(row)} for row in X.tolist()]
    model = BestOf([NaiveBayes(), TAN()], refresh=1000)
    for row, label in zip(rows, y.tolist(), strict=True):
        model.predict_proba_one(row)
        model.learn_one(row, label)

    def both():
        return list(model.predict_proba_one(rows[0]).values()), model.predict_proba([rows[0]])[0].tolist()

    plain, batch = both()
    assert plain == pytest.approx(batch)
    model.best_.set_params(class_weight="balanced")
    balanced, batch = both()
    assert balanced == pytest.approx(batch)
    assert balanced != pytest.approx(plain)


def test_a_stream_chooses_by_fewer_folds_and_a_batch_as_fit_does(monkeypatch):
    n_folds = []

    def noted(models, memory, held, *args, **options):
        n_folds.append(len(np.unique(held.fold)))
        return folded(models, memory, held, *args, **options)

    monkeypatch.setattr("tanager.classifiers.best_of.folded", noted)
    model = BestOf([NaiveBayes(), TAN()])
    for row, label in zip(as_dicts(X)[:100], y[:100], strict=True):
        model.predict_proba_one(row)
        model.learn_one(row, label)
    assert n_folds == [5, 3]  # by fewer than 20 rows of each of three classes, and by more
    n_folds.clear()
    proba = model.predict_proba(as_dicts(X)[100:])
    assert n_folds == [5]
    table = model.table()
    fitted = BestOf([NaiveBayes(), TAN()], schema=model.schema_).fit(as_dicts(X)[:100], y[:100])
    np.testing.assert_array_equal(proba, fitted.predict_proba(as_dicts(X)[100:]))
    assert table == fitted.table()


def test_many_rows_of_a_stream_are_judged_by_some_of_them(monkeypatch):
    monkeypatch.setattr("tanager.classifiers.best_of.ROWS_IN_STREAM", 60)
    model = BestOf([NaiveBayes(), AODE()])
    for row, label in zip(as_dicts(X), y, strict=True):
        model.predict_proba_one(row)
        model.learn_one(row, label)
    assert 50 <= model.table_[0]["rows"] <= 70
    model.predict_proba(as_dicts(X))
    assert model.table_[0]["rows"] == 150


def test_who_is_asked_once_answers_as_who_is_asked_again():
    model = BestOf().fit(X, y)
    for candidate in model._blank_candidates():
        candidate.attach(candidate.fit(X, y).counts_, candidate.encoder_, candidate.memory.rows)
        query = candidate.encode(X)
        np.testing.assert_array_equal(asked_once(candidate).score(query), candidate.uncalibrated().score(query))


def test_all_rows_are_judged_as_some_of_them_are():
    rng = np.random.default_rng(0)
    proba, labels = rng.dirichlet(np.ones(3), 40), rng.integers(0, 3, 40)
    held = HeldOut(np.arange(40), rng.choice([0.5, 1.0, 2.0], 40), np.zeros(40, dtype=int), 40)
    whole, part = Judged("whole"), Judged("part")
    whole.take(held.evenly(40), proba, held, labels)
    part.take(np.arange(10), proba[:10], held, labels)
    own = proba[np.arange(40), labels]
    expected = {"log_loss": -np.log(own), "rmse": (1 - own) ** 2, "accuracy": (own < proba.max(axis=1)).astype(float)}
    for criterion, losses in expected.items():
        assert whole.mean(criterion) == pytest.approx(losses @ held.weights / held.weights.sum(), rel=1e-12)
        some = losses[:10] @ held.weights[:10] / held.weights[:10].sum()
        assert part.mean(criterion) == pytest.approx(some, rel=1e-12)
        np.testing.assert_array_equal(part.losses(criterion)[:10], whole.losses(criterion)[:10])
        assert np.isnan(part.losses(criterion)[10:]).all()


@pytest.mark.parametrize("refresh", [None, float("inf")])
@pytest.mark.parametrize("candidate", [AODE(), TAN(), KDB(), KDB(k=3, smoothing=1.0), NBTree()], ids=repr)
def test_what_answers_is_the_structure_of_the_chosen_one(candidate, refresh):
    candidate = clone(candidate)
    if refresh is not None and hasattr(candidate, "refresh"):
        candidate.set_params(refresh=refresh)
    model, alone = BestOf([candidate]).fit(X, y), clone(candidate).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), alone.predict_proba(X))
    np.testing.assert_array_equal(model.best_.predict_proba(X), alone.predict_proba(X))
    assert model.structure_ == model.best_.structure_
