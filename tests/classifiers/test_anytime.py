"""Anytime classifiers as users meet them: budgets, orders, stopping, learning with a budget, streams and files."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import clone

import tanager
from registry import small_table
from tanager import (
    A2DE,
    AODE,
    AnytimeA2DE,
    AnytimeAODE,
    DataError,
    ModelFileError,
    NaiveBayes,
    OptionError,
    SchemaMismatch,
)

BOTH = [AnytimeAODE, AnytimeA2DE]


def big_table(n_rows=3000, n_columns=8, n_classes=3, seed=1):
    """Codes whose neighbours depend on each other and on the class; the last columns say less than the first."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n_rows)
    X = np.empty((n_rows, n_columns), dtype=np.uint8)
    before = y
    for i in range(n_columns):
        noise = rng.integers(0, 4, n_rows)
        X[:, i] = np.where(rng.random(n_rows) < 0.75 - 0.06 * i, (before + i * y) % 4, noise)
        before = X[:, i]
    return X, y


@pytest.fixture(scope="module")
def table():
    return big_table()


# --- questions --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", BOTH)
def test_no_time_gives_naive_bayes_to_every_row(cls, table):
    X, y = table
    model = cls(stop="all").fit(X, y)
    answer = model.answer(X, budget=0)
    np.testing.assert_allclose(answer.proba, NaiveBayes().fit(X, y).predict_proba(X), atol=1e-12)
    assert (answer.members == 0).all()
    assert not answer.complete


@pytest.mark.parametrize("cls", BOTH)
def test_much_time_gives_all_members_to_every_row(cls, table):
    X, y = table
    model = cls(mix="replace", stop="all").fit(X, y)
    answer = model.answer(X, budget=60)
    whole = (AODE if cls is AnytimeAODE else A2DE)().fit(X, y).predict_proba(X)
    np.testing.assert_allclose(answer.proba, whole, atol=1e-12)
    assert answer.complete
    assert (answer.members == (8 if cls is AnytimeAODE else 28)).all()
    assert answer.seconds < 60


def test_a_question_leaves_behind_how_many_members_it_used(table):
    X, y = table
    model = AnytimeAODE(stop="all").fit(X, y)
    model.predict(X[:5], members=3)
    assert model.members_used_.tolist() == [3] * 5
    model.predict_proba_one({f"x{i}": int(v) for i, v in enumerate(X[0])}, members=2)
    assert model.members_used_.tolist() == [2]


def test_rows_of_a_batch_differ_by_few_members_when_the_time_is_up(table):
    X, y = table
    model = AnytimeAODE(member_order="given", stop="all").fit(X, y)
    many = np.tile(X, (20, 1))
    for budget in (1e-4, 1e-3, 3e-3, 1e-2):
        answer = model.answer(many, budget=budget)
        assert np.ptp(answer.members) <= 4  # that many at a visit, while there is much time
        t = int(answer.members.max())
        np.testing.assert_allclose(answer.proba[0], model.predict_proba(many[:1], members=t)[0], atol=1e-12)
        last = int(answer.members[-1])  # whatever it has, the answer is that of so many members
        np.testing.assert_allclose(answer.proba[-1], model.predict_proba(many[-1:], members=last)[0], atol=1e-12)


@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.parametrize("mix", ["joint", "posterior", "replace"])
def test_answers_after_every_step_are_probabilities(cls, mix):
    X, y = small_table()
    steps = list(cls(mix=mix, stop="all").fit(X, y).staged_answers(X))
    assert len(steps) == (6 if cls is AnytimeAODE else 11)
    assert [answer.complete for answer in steps] == [False] * (len(steps) - 1) + [True]
    for answer in steps:
        np.testing.assert_allclose(answer.proba.sum(axis=1), 1.0)
        assert (answer.proba >= 0).all()


def test_a_batch_answers_as_its_rows_do_alone():
    X, y = small_table()
    model = AnytimeAODE(min_count=4, stop="all").fit(X, y)
    for members in (0, 1, 3, None):
        whole = model.predict_proba(X, members=members)
        alone = np.vstack([model.predict_proba(X[r : r + 1], members=members) for r in range(len(X))])
        np.testing.assert_allclose(whole, alone, atol=1e-12)


def test_super_parents_that_cannot_speak_are_skipped_and_cost_no_step():
    X, y = small_table()
    model = AnytimeAODE(member_order="given", mix="replace", stop="all").fit(X, y)
    gap = [[None, *X[0, 1:]]]
    model.predict_proba(gap, members=2)
    assert model.members_used_.tolist() == [2]  # x1 and x2
    rest = AnytimeAODE(member_order=["x1", "x2", "x3", "x4", "x0"], mix="replace", stop="all").fit(X, y)
    np.testing.assert_allclose(model.predict_proba(gap, members=2), rest.predict_proba(gap, members=2), atol=1e-12)


def test_threads_that_ask_at_the_same_time_do_not_disturb_each_other(table):
    X, y = table
    model = AnytimeAODE(member_order="mi", stop="all").fit(X, y)
    rows = np.tile(X, (4, 1))
    expected = {members: model.predict_proba(rows, members=members) for members in (0, 2, 5, None)}

    def ask(members):
        return all(np.array_equal(model.answer(rows, members=members).proba, expected[members]) for _ in range(15))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(ask, expected))


# --- orders, stopping, weights ----------------------------------------------------------------------------------


def test_orders_name_every_super_parent_once(table):
    X, y = table
    names = [f"x{i}" for i in range(8)]
    orders = {how: AnytimeAODE(member_order=how).fit(X, y).order_ for how in ("cv", "mi", "random", "given")}
    assert all(sorted(order) == names for order in orders.values())
    assert orders["given"] == names
    assert AnytimeAODE(member_order="random", random_state=5).fit(X, y).order_ != orders["random"]
    assert AnytimeAODE(member_order=names[::-1]).fit(X, y).order_ == names[::-1]
    pairs = AnytimeA2DE().fit(X, y).order_
    assert len(set(pairs)) == 28


def test_stopping_by_left_out_rows_uses_no_more_members_than_are_good(table):
    X, y = table
    model = AnytimeAODE().fit(X, y)
    errors = model.prefix_errors_
    assert model.n_members_ == int(np.argmin(np.round(errors, 12)))
    model.predict(X)
    assert (model.members_used_ <= model.n_members_).all()
    model.predict(X[:3], members=1)
    assert (model.members_used_ == min(1, model.n_members_)).all()
    assert model.n_members_ < 8
    model.predict(X, members=8)
    assert model.members_used_.max() == model.n_members_  # more are not good, however many are asked for


def test_without_a_budget_the_order_follows_the_last_row(table):
    X, y = table
    model = AnytimeAODE().fit(X[:2000], y[:2000])
    model.partial_fit(X[2000:2003], y[2000:2003])
    before = model.validation.scores.weight
    model.predict(X[:1], budget=1.0)
    assert model.validation.scores.weight == before  # a percent of new rows may wait where time is short
    model.predict(X[:1])
    assert model.validation.scores.weight > before


def test_stopping_by_margin_asks_fewer_members_where_the_answer_is_clear(table):
    X, y = table
    everyone = AnytimeAODE(member_order="mi", stop="all").fit(X, y)
    model = AnytimeAODE(member_order="mi", stop="margin", odds=20.0).fit(X, y)
    steps = np.stack([answer.proba for answer in everyone.staged_answers(X)])
    model.predict_proba(X)
    for r in range(0, len(X), 97):
        expected, held, leader = len(steps) - 1, 0, -1
        for t, proba in enumerate(steps[:, r]):
            second, first = np.sort(proba)[-2:]
            if np.log(first) - np.log(second) > np.log(20.0):
                held = held + 1 if proba.argmax() == leader else 1
                leader = proba.argmax()
            else:
                held, leader = 0, -1
            if held == 2:
                expected = t
                break
        assert model.members_used_[r] == expected
    assert model.members_used_.mean() < 8


def test_a_model_with_a_budget_of_its_own_needs_no_budget_in_a_question(table):
    X, y = table
    model = AnytimeAODE(stop="budget", members=2).fit(X, y)
    model.predict(X)
    assert (model.members_used_ == 2).all()
    model.predict(X[:4], members=5)
    assert (model.members_used_ == 5).all()
    assert (AnytimeAODE(stop="budget", budget=0.0).fit(X, y).answer(X).members == 0).all()


@pytest.mark.parametrize("cls", BOTH)
def test_members_are_validated_by_a_row_of_weight_three_as_by_three_rows(cls):
    X, y = big_table(60, 5)
    times = np.arange(60) % 4
    many = np.repeat(np.arange(60), times)
    for weights in (None, "loo"):
        model = cls(weights=weights).fit(X, y, sample_weight=times)
        rows = cls(weights=weights).fit(X[many], y[many])
        ours, theirs = model.validation.scores, rows.validation.scores
        np.testing.assert_allclose(ours.alone, theirs.alone, rtol=1e-9)
        np.testing.assert_allclose(ours.first, theirs.first, rtol=1e-9)
        np.testing.assert_allclose(model.predict_proba(X), rows.predict_proba(X), rtol=1e-6)


def test_learned_weights_make_left_out_rows_more_probable(table):
    X, y = table
    for mix in ("joint", "posterior", "replace"):
        plain, weighted = (AnytimeAODE(mix=mix, stop="all", weights=weights).fit(X, y) for weights in (None, "loo"))
        own = np.arange(len(y)), y
        loss = [-np.log(model.leave_one_out(X, y)[own]).sum() for model in (plain, weighted)]
        assert loss[1] < loss[0]
    assert len(set(AnytimeAODE(weights="mi").fit(X, y).structure_.weight)) > 1


@pytest.mark.parametrize("cls", BOTH)
def test_a_member_is_eligible_for_rows_whose_values_were_seen_in_other_rows(cls, table):
    X, y = table[0][:60, :4], table[1][:60]  # four values and three classes
    model = cls(weights="loo").fit(X, y)
    for member in model.members_of(4):
        same = (X[:, None, list(member)] == X[None, :, list(member)]).all(axis=2).sum(axis=1)
        np.testing.assert_array_equal(model.validation.eligible(member, model.known_rows(X, y)), same > 1)


# --- anytime learning -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"stop": "all"}, {"weights": "loo"}], ids=str)
def test_learning_piece_by_piece_ends_where_learning_at_once_does(options, table):
    X, y = table
    whole = AnytimeAODE(**options).fit(X, y)
    pieces = AnytimeAODE(**options).fit(X, y, budget=0)
    assert pieces.order_ == AnytimeAODE(member_order="mi").fit(X, y).order_  # what the counts alone can say
    np.testing.assert_allclose(pieces.predict_proba(X).sum(axis=1), 1.0)
    for _ in range(10_000):
        more = pieces.improve(0.0005)
        np.testing.assert_allclose(pieces.predict_proba(X[:3]).sum(axis=1), 1.0)
        if not more:
            break
    assert not pieces.improve(0.001)
    assert pieces.order_ == whole.order_
    assert pieces.n_members_ == whole.n_members_
    np.testing.assert_allclose(pieces.predict_proba(X), whole.predict_proba(X), atol=1e-9)


def test_learning_keeps_to_its_budget(table):
    X, y = table
    many = np.tile(X, (40, 1)), np.tile(y, 40)
    model = AnytimeAODE(validation_rows=10**6).fit(*many, budget=1e-4)  # of 0.1 s, so that no machine is so fast
    assert model.improve(0.0)  # there is work left
    assert not model.improve()


def test_rows_learned_later_wait_for_improve_once_it_was_called(table):
    X, y = table
    model = AnytimeAODE().fit(X[:1000], y[:1000])
    assert not model.improve()
    before = model.validation.scores.weight
    model.partial_fit(X[1000:], y[1000:])
    model.predict(X)
    assert model.validation.scores.weight == before
    assert not model.improve()
    assert model.validation.scores.weight > before


def test_half_of_the_work_survives_a_file(table, tmp_path):
    X, y = table
    model = AnytimeAODE(weights="loo").fit(X, y, budget=0)
    model.improve(0.0001)  # of 0.014 s
    model.save(tmp_path / "half.tanager")
    again = tanager.load(tmp_path / "half.tanager")
    np.testing.assert_allclose(again.predict_proba(X), model.predict_proba(X), atol=1e-12)
    assert again.improve(0.0)
    again.improve()
    model.improve()
    assert again.order_ == model.order_
    np.testing.assert_allclose(again.predict_proba(X), model.predict_proba(X), atol=1e-6)


def test_a_file_whose_member_scores_do_not_fit_is_refused(table):
    X, y = table
    model = AnytimeAODE().fit(X, y, budget=0)
    good = model.validation.to_arrays()
    for name, bad in {
        "anytime-order": np.zeros(8, dtype=np.int64),
        "anytime-alone": np.zeros((3, 4)),
        "anytime-first": np.zeros((3, 9), dtype=np.float32),
        "anytime-labels": np.full(3000, 9, dtype=np.uint16),
        "anytime-rows": np.full(3000, np.nan),
    }.items():
        fresh = clone(model).fit(X, y, budget=0)
        with pytest.raises(ModelFileError):
            fresh.validation.take_arrays({**good, name: bad})


# --- streams ----------------------------------------------------------------------------------------------------


def test_the_order_follows_a_stream_in_which_other_columns_become_good():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 40_000)
    X = rng.integers(0, 2, (40_000, 5)).astype(np.uint8)
    noise = rng.random(20_000) < 0.1
    X[:20_000, 0] = X[:20_000, 1] ^ y[:20_000] ^ noise  # a parent is needed to see the class
    X[20_000:, 4] = X[20_000:, 3] ^ y[20_000:] ^ noise
    model = AnytimeAODE(decay=0.999).partial_fit(X[:20_000], y[:20_000])
    assert set(model.order_[:2]) == {"x0", "x1"}
    streamed = AnytimeAODE(decay=0.999)
    streamed.test_then_train(X, y)
    assert set(streamed.order_[:2]) == {"x3", "x4"}
    for start in range(20_000, 40_000, 2_000):
        model.partial_fit(X[start : start + 2_000], y[start : start + 2_000])
        model.predict(X[:1])
    assert set(model.order_[:2]) == {"x3", "x4"}


def test_row_by_row_gives_the_answers_of_a_compiled_stream():
    X, y = big_table(600, 5)
    schema = AODE().fit(X, y).encoder_.schema
    fast, slow = (AnytimeAODE(member_order="mi", stop="all", refresh=50, schema=schema) for _ in range(2))
    answers = fast.test_then_train(X, y)
    names = [f"x{i}" for i in range(5)]
    for r in range(len(X)):
        row = dict(zip(names, X[r].tolist(), strict=True))
        proba = slow.predict_proba_one(row)
        if r > 20:
            np.testing.assert_allclose([proba[c] for c in fast.classes_], answers[r], atol=1e-9)
        slow.learn_one(row, int(y[r]))


def test_new_columns_and_classes_find_their_place_while_rows_wait():
    model = AnytimeAODE()
    rng = np.random.default_rng(0)
    for r in range(300):
        label = ("a", "b", "c")[r % (2 if r < 150 else 3)]
        row = {"one": rng.integers(3), "two": label if rng.random() < 0.8 else "z"}
        if r > 100:
            row["three"] = label
        model.learn_one({k: str(v) for k, v in row.items()}, label)
    assert sorted(model.order_) == ["one", "three", "two"]
    assert model.predict_one({"three": "c", "two": "c"}) == "c"


def test_rows_that_wait_follow_cut_points_that_move():
    rng = np.random.default_rng(0)
    model = AnytimeAODE(recut="grid", warm_up=200)
    model.fit(*moving(rng, 0)).improve()
    assert model.recutting.watches  # cut points are watched after fit, too
    for step in range(1, 12):
        before = model.counts_
        model.partial_fit(*moving(rng, step))
        codes = model.validation.to_arrays()["anytime-codes"]
        if model.counts_ is not before:
            np.testing.assert_array_equal(codes, model.recutting.kept_rows().codes)
        assert (codes < model.counts_.schema.n_values).all()
    assert model.events_
    assert not model.improve()
    np.testing.assert_allclose(model.predict_proba(moving(rng, 11)[0]).sum(axis=1), 1.0)


def moving(rng, step):
    y = rng.integers(0, 2, 500)
    return rng.normal(size=(500, 3)) + 2.0 * step + 1.5 * y[:, None], y


@pytest.mark.parametrize("cls", BOTH)
def test_merged_models_pool_the_scores_of_their_members(cls, table):
    X, y = table
    schema = cls().fit(X, y).encoder_.schema
    parts = [cls(schema=schema).fit(X[s], y[s]) for s in (slice(0, 1500), slice(1500, 3000))]
    weight = sum(part.validation.scores.weight for part in parts)
    merged = parts[0].merge(parts[1])
    assert merged.validation.scores.weight == pytest.approx(weight)
    np.testing.assert_allclose(merged.predict_proba(X).sum(axis=1), 1.0)


def test_unlearned_rows_take_back_what_they_add_to_the_scores(table):
    X, y = table
    model = AnytimeAODE().fit(X, y)
    model.unlearn(X[:2900], y[:2900])
    assert model.validation.scores.weight == pytest.approx(100)
    rest = AnytimeAODE(member_order=model.order_, mix="replace", stop="all").fit(X[2900:], y[2900:])
    ours = model.view_of(rest.structure_).score(model.encode(X[:50]))
    np.testing.assert_allclose(ours, rest.predict_proba(X[:50]), atol=1e-9)


# --- slips of the pen -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"member_order": "best"}, "member_order"),
        ({"member_order": 3}, "member_order"),
        ({"mix": "sum"}, "mix"),
        ({"stop": "never"}, "stop"),
        ({"stop": "budget"}, "names no limit"),
        ({"budget": 0.1}, 'stop="budget"'),
        ({"stop": "budget", "budget": -1}, "budget=-1"),
        ({"stop": "budget", "members": 1.5}, "members=1.5"),
        ({"odds": 0.5}, "odds=0.5"),
        ({"weights": "best"}, "weights"),
        ({"validation_rows": 0}, "validation_rows=0"),
        ({"member_order": ["x0", "x1"]}, "each of the 8 columns once"),
    ],
    ids=str,
)
def test_options_that_mean_nothing_are_refused(options, words, table):
    with pytest.raises(OptionError, match=words):
        AnytimeAODE(**options).fit(*table)


def test_questions_that_mean_nothing_are_refused(table):
    X, y = table
    model = AnytimeAODE(member_order="mi", stop="all").fit(X, y)
    for wrong in ({"budget": -1}, {"budget": "fast"}, {"members": -2}, {"members": 2.5}, {"budget": float("nan")}):
        with pytest.raises(OptionError):
            model.predict_proba(X, **wrong)
    with pytest.raises(OptionError):
        model.improve(-1)
    with pytest.raises(DataError, match="were not validated by any row"):
        model.member_errors_  # noqa: B018


def test_columns_that_come_later_are_last_in_an_order_that_does_not_name_them():
    rows = [{"a": a, "b": b} for a, b in ("uv", "uw", "xv", "xw") * 3]
    model = AnytimeAODE(member_order=["b", "a"], stop="all").fit(rows, [0, 1, 1, 0] * 3)
    model.learn_one({"a": "u", "b": "v", "c": "new"}, 0)
    assert list(model.structure_.members) == [(1,), (0,), (2,)]
    np.testing.assert_allclose(model.predict_proba(rows).sum(axis=1), 1.0)


def test_a_merge_with_other_columns_is_refused_and_changes_no_scores():
    rows = [{"a": a, "b": b} for a, b in ("uv", "uw", "xv", "xw") * 3]
    model, other = (AnytimeAODE().fit(rows, [0, 1, 1, 0] * 3) for _ in range(2))
    model.learn_one({"a": "u", "b": "v", "c": "new"}, 0)
    model.improve()
    before = model.validation.scores.alone.copy()
    with pytest.raises(SchemaMismatch, match="'c' is in one of them only"):
        model.merge(other)
    np.testing.assert_array_equal(model.validation.scores.alone, before)
