"""HalfLives over many columns: naive Bayes sees them all, the model those that tell most about the class."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

import tanager
from tanager import AODE, TAN, HalfLives, ModelFileError, NaiveBayes, OptionError
from tanager.streams import few_columns

HALF_LIVES = (5, 50, math.inf)


@pytest.fixture(autouse=True)
def _early_looks(monkeypatch):
    monkeypatch.setattr(few_columns, "LOOKS", (4, 16, 40))


def stream(n: int = 90, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Six columns of text, some of which tell about the class, and some gaps."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    told = np.array([0.0, 0.7, 0.2, 0.0, 0.9, 0.5])
    X = np.where(rng.random((n, 6)) < told, y[:, None], rng.integers(0, 3, (n, 6)))
    cells = np.array(["a", "b", "c"], dtype=object)[X]
    cells[rng.random(cells.shape) < 0.05] = None
    return cells, np.array(["low", "mid", "top"])[y]


def model(**options) -> HalfLives:
    return HalfLives(**{"half_lives": HALF_LIVES, "max_columns": 2} | options)


def information(column, y) -> float:
    """What a column tells about the class, by plain loops over what occurs."""
    known = [(x, c) for x, c in zip(column, y, strict=True) if x is not None]
    n = len(known)
    return sum(
        (both := known.count((x, c)))
        / n
        * math.log(both * n / (sum(a == x for a, _ in known) * sum(b == c for _, b in known)))
        for x, c in set(known)
    )


@pytest.mark.parametrize("n", [16, 40, 90])
def test_the_model_sees_the_columns_that_tell_most(n):
    X, y = stream()
    found = model().partial_fit(X[:n], y[:n])
    look = max(look for look in (4, 16, 40) if look <= n)
    worth = [information(X[:look, i], y[:look]) for i in range(6)]
    expected = sorted(sorted(range(6), key=lambda i: -round(worth[i], 12))[:2])
    assert found.columns_ == tuple(f"x{i}" for i in expected)
    assert found.n_features_in_ == 6


def test_members_are_what_they_are_alone_on_these_columns():
    X, y = stream()
    found = model().partial_fit(X, y)
    places = [int(name[1:]) for name in found.columns_]
    naive, few = found.members_[:3], found.members_[3:]
    np.testing.assert_allclose(naive[-1].predict_proba(X), NaiveBayes().partial_fit(X, y).predict_proba(X), rtol=1e-9)
    for member, half_life in zip(few, HALF_LIVES, strict=True):
        alone = AODE(decay=None if half_life == math.inf else half_life)
        part = {f"x{i}": X[:, i] for i in places}
        expected = alone.partial_fit(part, y).predict_proba(part)
        np.testing.assert_allclose(member.predict_proba(part), expected, rtol=1e-9)
    names = ("5 rows", "50 rows", "all rows")
    assert [*found.weights_] == [f"{name}, {what}" for what in ("naive Bayes", "few columns") for name in names]


@pytest.mark.parametrize("size", [1, 7, 33])
@pytest.mark.parametrize("numbers", [False, True])
def test_parts_of_a_stream_give_the_same_answers_as_all_of_it(size, numbers):
    X, y = stream()
    if numbers:
        X = np.array([[np.nan if x is None else "abc".index(x) + 0.1 * r for r, x in enumerate(row)] for row in X])
    whole = model().test_then_train(X, y)
    one = model()
    for at in range(0, len(y), size):
        proba = one.test_then_train(X[at : at + size], y[at : at + size])
        np.testing.assert_allclose(proba[-1, : len(one.classes_)].sum(), 1.0 if at else proba[-1].sum())
    np.testing.assert_allclose(one.predict_proba(X), model().partial_fit(X, y).predict_proba(X), rtol=1e-9)
    assert whole.shape == (len(y), 3)


def test_single_rows_are_learned_as_tables_are():
    X, y = stream()
    one = model()
    for row, label in zip(X, y.tolist(), strict=True):
        one.learn_one({f"x{i}": x for i, x in enumerate(row) if x is not None}, label)
    assert one.columns_ == model().partial_fit(X, y).columns_


@pytest.mark.parametrize("n", [2, 10, 30, 60])
def test_a_saved_model_goes_on_as_if_nothing_had_happened(n, tmp_path):
    X, y = stream()
    own = model().partial_fit(X[:n], y[:n])
    own.save(tmp_path / "m.tanager")
    loaded, copied = tanager.load(tmp_path / "m.tanager"), pickle.loads(pickle.dumps(own))
    expected = own.partial_fit(X[n:], y[n:]).predict_proba(X)
    for other in (loaded, copied):
        np.testing.assert_allclose(other.partial_fit(X[n:], y[n:]).predict_proba(X), expected, rtol=1e-9)
        assert other.columns_ == own.columns_


def test_a_whole_table_says_which_columns_tell_most():
    X, y = stream()
    assert model().fit(X, y).columns_ == ("x1", "x4")


def test_a_class_that_comes_late_and_rows_without_a_label():
    X, y = stream()
    order = np.argsort(y == "low", kind="stable")
    X, y = X[order], y[order].astype(object)
    y[3] = None
    found = model().partial_fit(X, y)
    assert found.classes_.tolist() == ["low", "mid", "top"]
    assert found.score(X[y != None], y[y != None].astype(str)) > 0.7  # noqa: E711


@pytest.mark.parametrize(
    ("options", "columns", "limited"),
    [
        ({}, 101, True),
        ({}, 100, False),
        ({"max_columns": None}, 101, False),
        ({"model": AODE()}, 101, False),
        ({"subspaces": 1}, 101, False),
        ({"max_columns": 7, "model": TAN()}, 8, True),
        ({"max_columns": 7}, 7, False),
    ],
)
def test_hundreds_of_columns_are_too_many(options, columns, limited):
    X = np.random.default_rng(0).integers(0, 2, (6, columns)).astype(np.uint8)
    found = HalfLives(half_lives=(5, math.inf), **options).partial_fit(X, [0, 1, 0, 1, 1, 0])
    assert (len(found.columns_) < columns) == limited


@pytest.mark.parametrize("options", [{"max_columns": 0}, {"max_columns": "few"}, {"max_columns": 3, "more_bins": (5,)}])
def test_options_that_mean_nothing_are_refused(options):
    with pytest.raises(OptionError, match="max_columns"):
        HalfLives(**options).partial_fit([["a"]], ["b"])


def test_columns_that_a_file_does_not_know_are_refused():
    few = few_columns.FewColumns(2, True)
    with pytest.raises(ModelFileError, match="does not know"):
        few.go_on(few_columns.Subspace(("x",), ("y",)), None)


def words(n: int = 120, grow: int = 60, seed: int = 3) -> tuple[list[dict], list[str]]:
    """Rows that name the words they have: new ones come all along, and two of them tell about the class."""
    rng = np.random.default_rng(seed)
    rows, labels = [], []
    for r in range(n):
        y = int(rng.integers(2))
        known = rng.integers(0, max(2, 12 * (r + 1) // grow), 3)
        rows.append({f"w{i}": "yes" for i in known.tolist()} | {f"told {y}": "yes"})
        labels.append("ab"[y])
    return rows, labels


def ways(make, rows, labels, tmp_path):
    """Models that have learned the same rows whole, in chunks with files in between, one by one, and unasked."""
    n = len(rows)
    whole, chunks, single, unasked = make(), make(), make(), make()
    answers = [whole.test_then_train(rows, labels)]
    parts = []
    for at in range(0, n, 13):
        parts.append(chunks.test_then_train(rows[at : at + 13], labels[at : at + 13]))
        chunks.save(tmp_path / "m.tanager")
        chunks = tanager.load(tmp_path / "m.tanager")
        unasked.partial_fit(rows[at : at + 13], labels[at : at + 13])
    one = []
    for row, label in zip(rows, labels, strict=True):
        one.append([single.predict_proba_one(row).get(c, 0.0) for c in whole.classes_.tolist()])
        single.learn_one(row, label)
    late = [p for p in parts if p.shape[1] == len(whole.classes_)]
    answers += [np.concatenate(late)[-n // 2 :], np.array(one)]
    return (whole, chunks, single, unasked), answers


@pytest.mark.parametrize("grow", [10, 40, 100])
@pytest.mark.parametrize("options", [{}, {"lag": 1}, {"mix": "fixed-share"}, {"model": NaiveBayes()}])
def test_columns_of_dicts_become_too_many_at_the_same_row_however_rows_come(grow, options, tmp_path):
    rows, labels = words(grow=grow)
    models, (whole, chunks, single) = ways(lambda: model(max_columns=4, **options), rows, labels, tmp_path)
    assert len(models[0].columns_) == 4
    np.testing.assert_allclose(chunks, whole[-len(chunks) :], rtol=1e-9)
    np.testing.assert_allclose(single[5:], whole[5:], rtol=1e-9)
    for other in models[1:]:
        assert other.columns_ == models[0].columns_
        assert other.weights_ == pytest.approx(models[0].weights_, rel=1e-9)
        np.testing.assert_allclose(other.predict_proba(rows), models[0].predict_proba(rows), rtol=1e-9)


def test_columns_that_come_after_the_last_look_are_all_seen():
    rows, labels = words(grow=20)
    for row in rows[:40]:
        row.pop("late", None)
    early = [{name: value for name, value in row.items() if name.startswith("told")} for row in rows[:40]]
    found = model(max_columns=4).partial_fit(early + rows[40:], labels)
    assert len(found.columns_) > 4
    assert len(found.members_) == len(HALF_LIVES)


def test_members_after_too_many_columns_have_learned_all_rows():
    rows, labels = words(grow=60)
    found = model(max_columns=4).partial_fit(rows, labels)
    naive = NaiveBayes().partial_fit(rows, labels)
    np.testing.assert_allclose(found.members_[2].predict_proba(rows), naive.predict_proba(rows), rtol=1e-9)
    assert found.n_rows_ == len(rows)
    assert found.members_[-1].counts_.n_rows == len(rows)


def test_rows_that_do_not_count_are_not_among_those_that_choose_columns():
    X, y = stream()
    labels, weights = y.astype(object), np.ones(len(y))
    odd = np.arange(len(y)) % 4 == 3
    labels[odd & (np.arange(len(y)) % 8 == 3)] = None
    weights[odd] = 0.0
    rows = [{f"x{i}": x for i, x in enumerate(row)} for row in X]
    given = model().partial_fit(rows[:54], labels[:54], sample_weight=weights[:54])
    kept = [r for r in range(54) if not odd[r]]
    alone = model().partial_fit([rows[r] for r in kept], y[kept])
    assert given.columns_ == alone.columns_
    np.testing.assert_allclose(given.predict_proba(rows), alone.predict_proba(rows), rtol=1e-9)
