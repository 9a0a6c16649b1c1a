"""HalfLives: the laws of a ladder of half-lives, beside a slow twin made of single models and plain loops."""

from __future__ import annotations

import itertools
import math
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

import tanager
from tanager import AODE, TAN, DataError, HalfLives, HoeffdingTree, ModelFileError, NaiveBayes, OptionError
from tanager.errors import SchemaMismatch
from tanager.streams.aode_side_by_side import AodesSideBySide
from tanager.streams.pool import KEEP, LEAST, SHARE, STEP
from tanager.streams.weight_history import WeightHistory

INF = math.inf
SHORT = (3, 20, INF)


def stream(n: int = 300, seed: int = 0, gaps: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Numbers, text and gaps, three classes, and a change in the middle."""
    rng = np.random.default_rng(seed)
    X = np.empty((n, 4), dtype=object)
    X[:, 0] = rng.normal(size=n)
    X[:, 1] = rng.choice(["a", "b", "c"], n)
    X[:, 2] = rng.integers(0, 4, n)
    X[:, 3] = rng.normal(size=n)
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] == "a")
    y[n // 2 :] = 2 - y[n // 2 :]
    if gaps:
        X[rng.random(X.shape) < 0.05] = None
    return X, np.array(["low", "mid", "top"])[y]


def slow_twin(answers: list[np.ndarray], labels: list[int | None], mix: str) -> np.ndarray:
    """The pool by plain loops: answers of the members (rows, classes), class codes (None: nothing to learn)."""
    m, k = len(answers), answers[0].shape[1]
    weights, square, out = [1 / m] * m, 0.0, []
    for r, y in enumerate(labels):
        said = [[max(float(p), LEAST) for p in own[r]] for own in answers]
        if mix == "stacking":
            score = [sum(w * math.log(own[c]) for w, own in zip(weights, said, strict=True)) for c in range(k)]
            top = max(score)
            odds = [math.exp(s - top) for s in score]
            proba = [x / sum(odds) for x in odds]
            if y is not None:
                gradient = [
                    sum(p * math.log(x) for p, x in zip(proba, own, strict=True)) - math.log(own[y]) for own in said
                ]
                square = KEEP * square + sum(g * g for g in gradient)
                weights = [w - STEP / math.sqrt(square + 1) * g for w, g in zip(weights, gradient, strict=True)]
        else:
            proba = [sum(w * own[r][c] for w, own in zip(weights, answers, strict=True)) for c in range(k)]
            if y is not None:
                weights = [w * own[y] for w, own in zip(weights, said, strict=True)]
                weights = [(1 - SHARE) * w / sum(weights) + SHARE / m for w in weights]
        out.append(proba)
    return np.array(out)


BASES = {
    "aode": AODE(warm_up=40),
    "aode-min-count": AODE(warm_up=40, min_count=5, smoothing=0.3),
    "nb": NaiveBayes(warm_up=40),
    "nb-gaussian": NaiveBayes(gaussian=True, numeric=["x0", "x3"], warm_up=40),
    "tan": TAN(warm_up=40, refresh=20),
    "recut": NaiveBayes(warm_up=40, recut="grid"),
}


@pytest.mark.parametrize("mix", ["stacking", "fixed-share"])
@pytest.mark.parametrize("name", ["aode", "aode-min-count", "nb", "tan", "recut"])
@pytest.mark.parametrize("gaps", [False, True])
def test_answers_are_those_of_single_models_pooled_by_plain_loops(name: str, mix: str, gaps: bool) -> None:
    X, y = stream(gaps=gaps)
    base = BASES[name]
    classes = np.unique(y)
    model = HalfLives(base, half_lives=SHORT, mix=mix).start(classes)
    singles = [tanager_clone(base, decay=half_life).start(classes) for half_life in SHORT]
    alone = [single.test_then_train(X, y) for single in singles]
    found = model.test_then_train(X, y)
    codes = np.searchsorted(classes, y).tolist()
    expected = slow_twin([own[1:] for own in alone], codes[1:], mix)
    np.testing.assert_allclose(found[1:], expected, rtol=1e-7, atol=1e-12)
    for member, single in zip(model.members_, singles, strict=True):
        np.testing.assert_allclose(member.predict_proba(X[:50]), single.predict_proba(X[:50]), rtol=1e-9)
        assert member.counts_ == single.counts_


def tanager_clone(base, decay):  # type: ignore[no-untyped-def]
    """The base with a half-life."""
    from sklearn.base import clone

    return clone(base).set_params(decay=None if decay == INF else decay)


@pytest.mark.parametrize("name", sorted(BASES))
@pytest.mark.parametrize("mix", ["stacking", "fixed-share"])
def test_one_member_without_forgetting_is_the_base_bit_for_bit(name: str, mix: str) -> None:
    X, y = stream()
    base = BASES[name]
    model = HalfLives(base, half_lives=(INF,), mix=mix)
    assert (model.test_then_train(X, y) == tanager_clone(base, INF).test_then_train(X, y)).all()
    assert (model.predict_proba(X) == tanager_clone(base, INF).partial_fit(X, y).predict_proba(X)).all()
    fitted, plain = model.fit(X, y), tanager_clone(base, INF).fit(X, y)
    if name != "recut":  # which follows a stream, and has none in fit
        assert (fitted.predict_proba(X) == plain.predict_proba(X)).all()


@given(cuts=st.lists(st.integers(1, 299), max_size=4), name=st.sampled_from(["aode", "nb", "nb-gaussian"]))
def test_chunks_and_rows_give_the_same_answers(cuts: list[int], name: str) -> None:
    X, y = stream()
    whole = HalfLives(BASES[name], half_lives=SHORT).start(np.unique(y))
    parts = HalfLives(BASES[name], half_lives=SHORT).start(np.unique(y))
    bounds = [0, *sorted(set(cuts)), len(y)]
    expected = whole.test_then_train(X, y)
    found = [parts.test_then_train(X[a:b], y[a:b]) for a, b in itertools.pairwise(bounds)]
    np.testing.assert_allclose(np.concatenate(found), expected, rtol=1e-9, atol=1e-300)
    assert parts.n_rows_ == whole.n_rows_ == len(y)
    for mine, theirs in zip(parts.weight_history_, whole.weight_history_, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9)


@pytest.mark.parametrize("name", ["aode", "nb", "tan"])
def test_single_rows_as_dicts_give_the_same_answers(name: str) -> None:
    X, y = stream(160)
    rows = [{f"x{i}": cell for i, cell in enumerate(row) if cell is not None} for row in X.tolist()]
    one, whole = (HalfLives(BASES[name], half_lives=SHORT) for _ in range(2))
    found = []
    for row, label in zip(rows, y.tolist(), strict=True):
        found.append(one.predict_proba_one(row))
        one.learn_one(row, label)
    expected = whole.test_then_train(rows, y)
    for r, proba in enumerate(found[1:], 1):
        for label, p in proba.items():
            assert p == pytest.approx(expected[r, whole.class_codes[label]], rel=1e-9)
    assert list(one.weights_.values()) == pytest.approx(list(whole.weights_.values()))


@pytest.mark.parametrize("base", [AODE(warm_up=40), NaiveBayes(warm_up=40)], ids=["aode", "nb"])
@pytest.mark.parametrize("row", [10, 100, 250])
def test_an_answer_never_sees_the_label_of_its_own_row(base: AODE, row: int) -> None:
    X, y = stream()
    other = y.copy()
    other[row] = "top" if y[row] != "top" else "low"
    found, changed = (
        HalfLives(base, half_lives=SHORT).start(np.unique(y)).test_then_train(X, labels) for labels in (y, other)
    )
    assert (found[: row + 1] == changed[: row + 1]).all()
    assert (found[row + 1 :] != changed[row + 1 :]).any()


@pytest.mark.parametrize("name", ["aode", "nb"])
def test_late_labels_are_learned_when_they_come(name: str) -> None:
    X, y = stream(200)
    delay = 15
    rows = [{f"x{i}": cell for i, cell in enumerate(row) if cell is not None} for row in X.tolist()]
    late, twin = (HalfLives(BASES[name], half_lives=SHORT).partial_fit(rows[:60], y[:60]) for _ in range(2))
    found = late.test_then_train(rows[60:-delay], y[60:-delay], answered=rows[60 + delay :])
    for r in range(60, len(y) - delay):
        expected = twin.predict_proba_one(rows[r + delay])
        assert found[r - 60].tolist() == pytest.approx([expected[label] for label in late.classes_.tolist()], rel=1e-9)
        twin.learn_one(rows[r], y[r])


@pytest.mark.parametrize("base", [AODE(warm_up=40), NaiveBayes(warm_up=40)], ids=["aode", "nb"])
@pytest.mark.parametrize("stop", [20, 200])
def test_a_saved_model_goes_on_as_if_nothing_had_happened(base: AODE, stop: int, tmp_path) -> None:  # type: ignore[no-untyped-def]
    X, y = stream()
    model = HalfLives(base, half_lives=SHORT, more_bins=(3,))
    model.test_then_train(X[:stop], y[:stop])
    model.save(tmp_path / "model.tanager")
    copies = tanager.load(tmp_path / "model.tanager"), pickle.loads(pickle.dumps(model))
    expected = model.test_then_train(X[stop:], y[stop:])
    for copy in copies:
        np.testing.assert_array_equal(copy.test_then_train(X[stop:], y[stop:]), expected)
        assert copy.weights_ == model.weights_
        for mine, theirs in zip(copy.weight_history_, model.weight_history_, strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_rows_without_label_are_answered_and_teach_nothing() -> None:
    X, y = stream(200)
    labels = y.astype(object)
    labels[100:150] = None
    with_gap, without = (HalfLives(half_lives=SHORT).start(np.unique(y)) for _ in range(2))
    found = with_gap.test_then_train(X, labels)
    kept = np.r_[:100, 150:200]
    expected = without.test_then_train(X[kept], y[kept])
    np.testing.assert_allclose(found[kept], expected, rtol=1e-9)
    assert with_gap.weights_ == pytest.approx(without.weights_)


def test_classes_values_and_columns_may_come_late() -> None:
    rng = np.random.default_rng(1)
    rows = [
        {"a": str(rng.integers(0, 2 + r // 50))} | ({"b": str(rng.integers(3))} if r > 120 else {}) for r in range(200)
    ]
    y = [f"c{rng.integers(0, 2 + r // 80)}" for r in range(200)]
    model = HalfLives(half_lives=SHORT)
    singles = [AODE(decay=None if half_life == INF else half_life) for half_life in SHORT]
    model.test_then_train(rows, y)
    for member, single in zip(model.members_, singles, strict=True):
        single.test_then_train(rows, y)
        assert member.counts_ == single.counts_


@pytest.mark.parametrize("base", [AODE(), NaiveBayes()], ids=["aode", "nb"])
@pytest.mark.parametrize("delay", [0, 4])
def test_values_that_are_yet_to_come_change_no_answer(base: AODE, delay: int) -> None:
    rng = np.random.default_rng(0)
    rows = [{"a": str(rng.integers(0, 2 + r // 20)), "b": str(rng.integers(3))} for r in range(120)]
    y = rng.choice(["p", "q"], 120)
    whole, one = (HalfLives(base, half_lives=SHORT).start(np.array(["p", "q"])) for _ in range(2))
    found = whole.test_then_train(rows[: 120 - delay], y[: 120 - delay], answered=rows[delay:] if delay else None)
    for r in range(120 - delay):
        expected = one.predict_proba_one(rows[r + delay])
        assert r == 0 or found[r].tolist() == pytest.approx(list(expected.values()), rel=1e-9)
        one.learn_one(rows[r], y[r])


@pytest.mark.parametrize("stop", [2, 7, 30, 41, 90])
@pytest.mark.parametrize("way", ["whole", "rows", "partial_fit"])
def test_members_share_a_warm_up_and_learn_what_single_models_learn(stop: int, way: str) -> None:
    X, y = stream(90)
    model = HalfLives(AODE(warm_up=40), half_lives=SHORT)
    if way == "whole":
        model.test_then_train(X[:stop], y[:stop])
    elif way == "partial_fit":
        model.partial_fit(X[:stop], y[:stop])
    else:
        for r in range(stop):
            model.test_then_train(X[r : r + 1], y[r : r + 1])
    for member, half_life in zip(model.members_, SHORT, strict=True):
        single = tanager_clone(AODE(warm_up=40), half_life).partial_fit(X[:stop], y[:stop])
        np.testing.assert_allclose(member.predict_proba(X), single.predict_proba(X), rtol=1e-9)
        assert member.counts_ == single.counts_


def test_weights_of_rows_reach_members_and_pool() -> None:
    X, y = stream(200)
    weights = np.random.default_rng(0).choice([0.0, 0.5, 2.0], 200)
    one, parts = (HalfLives(half_lives=SHORT).start(np.unique(y)) for _ in range(2))
    expected = one.test_then_train(X, y, sample_weight=weights)
    found = [parts.test_then_train(X[r : r + 1], y[r : r + 1], sample_weight=weights[r : r + 1]) for r in range(200)]
    np.testing.assert_allclose(np.concatenate(found), expected, rtol=1e-9)
    assert one.weights_ == pytest.approx(parts.weights_)


def test_half_lives_in_time_need_times_and_use_them() -> None:
    X, y = stream(200)
    base = AODE(warm_up=40)
    with pytest.raises(DataError, match="times"):
        HalfLives(base, half_lives=("1 min", INF)).partial_fit(X, y)
    times = np.cumsum(np.random.default_rng(0).exponential(5, 200))
    late = times - np.where(np.arange(200) % 7 == 3, 20, 0)  # some rows come after newer ones
    for seconds in (times, late):
        model = HalfLives(base, half_lives=("1 min", "1 h", INF)).partial_fit(X, y, times=seconds)
        for member, half_life in zip(model.members_, ("1 min", "1 h", INF), strict=True):
            assert member.counts_ == tanager_clone(base, half_life).partial_fit(X, y, times=seconds).counts_


def test_many_columns_and_long_streams_do_not_leave_the_range_of_numbers() -> None:
    rng = np.random.default_rng(3)
    X = rng.integers(0, 9, (1500, 60)).astype(np.uint8)
    y = (X[:, 0] > 4).astype(int)
    model, single = HalfLives(half_lives=(2, INF)), AODE(decay=2)
    found = model.test_then_train(X, y)
    single.test_then_train(X, y)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(model.members_[0].predict_proba(X[:20]), single.predict_proba(X[:20]), rtol=1e-6)
    np.testing.assert_allclose(model._ladders.all[0].answer(X[:20])[:, 0], single.predict_proba(X[:20]), rtol=1e-6)


@pytest.mark.parametrize("name", ["weights_", "weight_history_", "columns_", "subspaces_"])
def test_what_is_not_there_before_the_first_row_says_so(name: str) -> None:
    with pytest.raises(NotFittedError, match="not fitted yet"):
        getattr(HalfLives(), name)
    assert not hasattr(HalfLives(), name)


def test_weights_go_to_the_memory_that_fits_the_stream() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (4000, 3)).astype(str)
    flips = (np.arange(4000) // 100) % 2
    y = (X[:, 0] == "1") ^ (flips == 1)
    model = HalfLives(half_lives=(20, INF))
    proba = model.test_then_train(X, y)
    right = (model.classes_[proba.argmax(axis=1)] == y)[1000:].mean()
    assert right > 0.75 > (AODE().test_then_train(X, y).argmax(axis=1) == y)[1000:].mean()
    assert model.weights_["20 rows"] > abs(model.weights_["all rows"])


def test_a_row_that_changes_after_its_answer_is_learned_as_it_is_then() -> None:
    X, y = stream(gaps=False)
    asked, unasked = (HalfLives(AODE(warm_up=40), half_lives=SHORT) for _ in range(2))
    for cells, label in zip(X.tolist(), y.tolist(), strict=True):
        row = {f"x{i}": cell for i, cell in enumerate(cells)}
        asked.predict_proba_one(row)
        row["x1"], row["x0"] = "b", row["x3"]
        asked.learn_one(row, label)
        unasked.learn_one(dict(row), label)
    np.testing.assert_array_equal(asked.predict_proba(X), unasked.predict_proba(X))
    for one, other in zip(asked.members_, unasked.members_, strict=True):
        assert one.counts_ == other.counts_


@pytest.mark.parametrize("sizes", [[1] * 1500, [700, 1, 1, 1, 500, 1, 296], [1500]])
def test_the_history_of_weights_has_every_so_many_rows_however_they_come(sizes: list[int]) -> None:
    path = np.random.default_rng(0).random((1500, 3))
    history, seen = WeightHistory(3), 0
    for size in sizes:
        history.add(seen, path[seen : seen + size])
        seen += size
        if size == 500:
            history = pickle.loads(pickle.dumps(history))
    assert history.rows.tolist() == list(range(4, 1501, 4))
    np.testing.assert_array_equal(history.weights, path[3::4])


def test_an_explanation_adds_up_and_names_the_weights() -> None:
    X, y = stream(gaps=False)
    model = HalfLives(half_lives=SHORT).fit(X, y)
    reason = model.explain(X[:1])
    assert reason.prior + sum(part.log_odds for part in reason.parts) == pytest.approx(reason.log_odds)
    proba = model.predict_proba(X[:1])[0]
    odds = math.log(proba[model.class_codes[reason.answer]] / proba[model.class_codes[reason.against]])
    assert reason.log_odds == pytest.approx(odds, rel=1e-6)
    assert reason.rule.startswith("weights: 3 rows ")
    shared = HalfLives(half_lives=SHORT, mix="fixed-share").fit(X, y)
    assert shared.explain(X[:1]).probability == pytest.approx(shared.predict_proba(X[:1]).max())


def test_the_picture_has_a_curve_per_half_life(tmp_path) -> None:  # type: ignore[no-untyped-def]
    pytest.importorskip("matplotlib")
    X, y = stream(gaps=False)
    figure = HalfLives(half_lives=SHORT).fit(X, y).plot(tmp_path / "weights.png")
    assert {text.get_text().split("  ")[0] for text in figure.axes[0].texts} == {"3 rows", "20 rows", "all rows"}
    with pytest.raises(OptionError, match="no half-lives"):
        tanager.plot_half_lives(AODE().fit(X, y))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"model": AODE(decay=10)}, "Leave out decay="),
        ({"model": AODE(window=10)}, "Leave out window="),
        ({"model": HoeffdingTree()}, "no option decay"),
        ({"model": AODE}, "no classifier"),
        ({"half_lives": ()}, "give a sequence"),
        ({"half_lives": (0.5,)}, "no half-life"),
        ({"half_lives": (5, 5)}, "twice"),
        ({"half_lives": ("soon",)}, "soon"),
        ({"mix": "vote"}, "mix"),
        ({"more_bins": (1,)}, "no number of bins"),
        ({"more_bins": 5}, "sequence of numbers"),
    ],
)
def test_options_that_mean_nothing_are_refused(options: dict, sentence: str) -> None:  # type: ignore[type-arg]
    with pytest.raises(OptionError, match=sentence):
        HalfLives(**options).fit([["a"]], ["b"])


def test_merging_is_refused_with_a_sentence() -> None:
    X, y = stream()
    with pytest.raises(SchemaMismatch, match="depends on the order of rows"):
        HalfLives().fit(X, y).merge(HalfLives().fit(X, y))


def test_files_with_other_members_are_refused(tmp_path) -> None:  # type: ignore[no-untyped-def]
    X, y = stream()
    model = HalfLives(half_lives=SHORT).fit(X, y)
    state = model.to_state()
    state["models"] = state["models"][:2]
    with pytest.raises(ModelFileError, match="its members are AODE, AODE"):
        HalfLives(half_lives=SHORT).from_state(state)


# --- subspaces ----------------------------------------------------------------------------------------------------


def wide(n: int = 200, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    return X, np.where(X[:, 0] + X[:, 3] * X[:, 4] > 0, "p", "q")


@pytest.mark.parametrize("base", [AODE(warm_up=40), NaiveBayes(warm_up=40)], ids=["aode", "nb"])
@pytest.mark.parametrize("lag", [0, 1])
def test_subspaces_are_ladders_over_some_columns(base: AODE, lag: int) -> None:
    X, y = wide()
    classes = np.array(["p", "q"])
    model = HalfLives(base, half_lives=SHORT, subspaces=2, lag=lag).start(classes)
    found = model.test_then_train(X, y)
    alone = [HalfLives(base, half_lives=(h,)).start(classes) for h in SHORT]
    last = np.array([None, *y[:-1]], dtype=object)
    full = {f"x{i}": X[:, i] for i in range(6)} | ({"last class": last} if lag else {})
    answers = [single.test_then_train(full, y)[1:] for single in alone]
    for columns, bins in zip(model.subspaces_, (5, 20), strict=True):
        assert len(columns) == 4 + lag
        for h in SHORT:
            own = tanager_clone(base, h).set_params(bins="frequency", n_bins=bins).start(classes)
            answers.append(own.test_then_train({name: full[name] for name in columns}, y)[1:])
    expected = slow_twin(answers, np.searchsorted(classes, y).tolist()[1:], "stacking")
    np.testing.assert_allclose(found[1:], expected, rtol=1e-6, atol=1e-10)
    assert list(model.weights_)[3:6] == ["3 rows, subspace 1", "20 rows, subspace 1", "all rows, subspace 1"]


def test_subspaces_follow_the_seed() -> None:
    X, y = wide()
    drawn = [HalfLives(subspaces=3, random_state=seed).partial_fit(X, y).subspaces_ for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]


@pytest.mark.parametrize("stop", [10, 150])
def test_subspaces_are_saved_and_rows_are_chunks(stop: int, tmp_path) -> None:  # type: ignore[no-untyped-def]
    X, y = wide()
    rows = [{f"x{i}": cell for i, cell in enumerate(row)} for row in X.tolist()]
    whole, model = (
        HalfLives(AODE(warm_up=40), half_lives=SHORT, subspaces=1, lag=1).start(np.array(["p", "q"])) for _ in range(2)
    )
    expected = whole.test_then_train(rows, y)
    for row, label in zip(rows[:stop], y[:stop].tolist(), strict=True):
        model.learn_one(row, label)
    model.save(tmp_path / "model.tanager")
    copy = tanager.load(tmp_path / "model.tanager")
    np.testing.assert_allclose(copy.test_then_train(rows[stop:], y[stop:]), expected[stop:], rtol=1e-8)
    assert copy.subspaces_ == whole.subspaces_
    reason = copy.explain(rows[0])
    assert reason.prior + sum(part.log_odds for part in reason.parts) == pytest.approx(reason.log_odds)
    assert set(reason.values) == {*rows[0], "last class"}
    assert copy.explain(X[:1]).log_odds == pytest.approx(reason.log_odds)
    assert whole.fit(X, y).predict_proba(X).shape == (200, 2)


def test_options_of_columns_that_a_subspace_lacks_are_left_out() -> None:
    X, y = wide()
    names = [f"x{i}" for i in range(6)]
    base = AODE(warm_up=40, numeric=names, bins={"x1": [0.0], 2: "width"})
    model = HalfLives(base, half_lives=SHORT, subspaces=3).partial_fit(X, y)
    for member in model.members_[3:]:
        assert set(member.numeric) == set(member.encoder_.schema.names) < set(names)


@pytest.mark.parametrize("options", [{"subspaces": -1}, {"subspaces": 1.5}, {"random_state": "a"}])
def test_subspaces_that_mean_nothing_are_refused(options: dict) -> None:  # type: ignore[type-arg]
    with pytest.raises(OptionError, match="whole number"):
        HalfLives(**options).fit([["a"]], ["b"])


def test_new_values_that_keep_coming_do_not_lay_counts_side_by_side_again_and_again(monkeypatch):
    """All cells are copied each time: a stream of towns took eleven times as long as one AODE."""
    laid, make = [], AodesSideBySide.__init__

    def count(self, models):
        if models[0].counts_.class_counts.any():  # else there are no cells to copy
            laid.append(models[0].counts_.nbytes)
        make(self, models)

    monkeypatch.setattr(AodesSideBySide, "__init__", count)
    rng = np.random.default_rng(0)
    towns = np.minimum(rng.zipf(1.4, (9000, 2)), 400)  # values that few rows have keep coming
    X = {name: [f"t{town}" for town in towns[:, i]] for i, name in enumerate(("from", "to"))}
    X |= {f"x{i}": rng.normal(size=9000) for i in range(4)}
    HalfLives().test_then_train(X, rng.integers(0, 2, 9000))
    assert sum(nbytes > 2**18 for nbytes in laid) <= 2  # of each of five models


def late_columns(n: int = 90) -> tuple[list[dict[str, Any]], list[str]]:
    """Dicts whose first row has three columns; others come in rows 1, 20 and 50."""
    rng = np.random.default_rng(5)
    rows, labels = [], []
    for r in range(n):
        y = int(rng.integers(2))
        row: dict[str, Any] = {"a": "pq"[y ^ int(rng.random() < 0.3)], "b": float(rng.normal(y)), "c": "st"[r % 2]}
        row |= {f"late {at}": "uv"[y ^ int(rng.random() < 0.2)] for at in (1, 20, 50) if r >= at}
        rows.append(row)
        labels.append("ab"[y])
    return rows, labels


@pytest.mark.parametrize("base", [AODE(warm_up=30), NaiveBayes(warm_up=30)], ids=repr)
def test_subspaces_take_in_columns_that_come_late_at_the_same_row(base: Any, tmp_path: Any) -> None:
    rows, labels = late_columns()
    make = lambda: HalfLives(base, half_lives=(10, math.inf), subspaces=3)  # noqa: E731
    whole, chunks, single = make(), make(), make()
    expected = whole.test_then_train(rows, labels)
    parts = []
    for at in range(0, len(rows), 11):
        parts.append(chunks.test_then_train(rows[at : at + 11], labels[at : at + 11]))
        chunks.save(tmp_path / "m.tanager")
        chunks = tanager.load(tmp_path / "m.tanager")
    for row, label in zip(rows, labels, strict=True):
        single.learn_one(row, label)
    np.testing.assert_allclose(np.concatenate(parts), expected, rtol=1e-9)
    for other in (chunks, single):
        assert other.subspaces_ == whole.subspaces_
        np.testing.assert_allclose(other.predict_proba(rows), whole.predict_proba(rows), rtol=1e-9)
    seen = [name for own in whole.subspaces_ for name in own]
    assert {name for name in seen if name.startswith("late")} == {"late 1", "late 20", "late 50"}
    assert all(
        "late 50" in own.encoder_.schema
        for own, names in zip(whole.members_[2::2], whole.subspaces_, strict=True)
        if "late 50" in names
    )


@pytest.mark.parametrize("options", [{"subspaces": 1}, {"more_bins": (5,)}, {"max_columns": 2}])
def test_late_labels_of_which_some_never_come_are_judged_by_all_ladders(options: dict[str, Any]) -> None:
    rows, labels = late_columns()
    known = np.array([None if r % 7 == 3 else label for r, label in enumerate(labels)], dtype=object)
    whole, parts = (HalfLives(half_lives=(10, math.inf), **options).partial_fit(rows[:5], labels[:5]) for _ in range(2))
    expected = whole.test_then_train(rows[5:-5], known[5:-5], answered=rows[10:])
    found = [
        parts.test_then_train(rows[at : at + 8], known[at : at + 8], answered=rows[at + 5 : at + 13])
        for at in range(5, len(rows) - 5, 8)
    ]
    np.testing.assert_allclose(np.concatenate(found), expected, rtol=1e-9)
    assert parts.weights_ == pytest.approx(whole.weights_, rel=1e-9)


@pytest.mark.parametrize("mix", ["stacking", "fixed-share"])
def test_a_row_without_weight_moves_no_weight_of_a_member(mix: str) -> None:
    rows, labels = late_columns()
    weights = np.where(np.arange(len(rows)) % 5 == 4, 0.0, 1.0)
    given, alone = (HalfLives(half_lives=(10, math.inf), mix=mix) for _ in range(2))
    given.test_then_train(rows, labels, weights)
    counted = np.flatnonzero(weights).tolist()
    alone.test_then_train([rows[r] for r in counted], [labels[r] for r in counted])
    assert given.weights_ == pytest.approx(alone.weights_, rel=1e-12)


def test_columns_of_subspaces_are_those_of_rows_that_count() -> None:
    rows, labels = late_columns()
    own = HalfLives(half_lives=(10, math.inf), subspaces=2)
    own.test_then_train([{"z": 1, "c": "s"}, *rows], [None, *labels])
    other = HalfLives(half_lives=(10, math.inf), subspaces=2).partial_fit(rows, labels)
    assert own.subspaces_ == other.subspaces_
    np.testing.assert_allclose(own.predict_proba(rows), other.predict_proba(rows), rtol=1e-9)


def test_a_subspace_that_was_drawn_without_a_seed_goes_on_by_it_from_a_file(tmp_path: Any) -> None:
    rows, labels = late_columns()
    own = HalfLives(half_lives=(10, math.inf), subspaces=3, random_state=None).partial_fit(rows[:15], labels[:15])
    own.save(tmp_path / "m.tanager")
    other = tanager.load(tmp_path / "m.tanager")
    assert own.partial_fit(rows, labels).subspaces_ == other.partial_fit(rows, labels).subspaces_


@pytest.mark.parametrize("options", [{}, {"subspaces": 2}, {"max_columns": 3}])
@pytest.mark.filterwarnings("ignore:.* of 6 columns .* missing")
def test_a_frame_without_some_columns_is_answered_as_rows_without_them(options: dict[str, Any]) -> None:
    X = pd.DataFrame(np.random.default_rng(0).integers(0, 3, (60, 6)).astype(str), columns=list("abcdef"))
    y = np.random.default_rng(1).integers(0, 2, 60)
    model = HalfLives(half_lives=(5, math.inf), **options).partial_fit(X, y)
    for name in "abcdef":
        frame = X.drop(columns=name)[:5]
        rows = frame.to_dict("records")
        for table in (frame, frame.to_dict("list")):
            np.testing.assert_allclose(model.predict_proba(table), model.predict_proba(rows), rtol=1e-9)
