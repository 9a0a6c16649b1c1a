"""HalfLives(lag=): the last labels as columns, beside a slow twin that adds them to the rows by hand."""

from __future__ import annotations

import itertools
import math
import pickle
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tanager
from tanager import AODE, DataError, HalfLives, NaiveBayes, OptionError, SchemaMismatch
from tanager.evaluate import prequential
from tanager.streams.last_labels import LastLabels

INF = math.inf
SHORT = (3, 20, INF)
long = partial(pytest.param, marks=pytest.mark.long)
BASES = {"aode": AODE(warm_up=40), "nb": NaiveBayes(warm_up=40)}


def stream(n: int = 200, seed: int = 0, gaps: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Numbers and text, three classes that stay for a while, the third one from the middle on."""
    rng = np.random.default_rng(seed)
    y = np.repeat(rng.integers(0, 3, n), 4)[:n]
    y[: n // 2] %= 2
    X = np.empty((n, 3), dtype=object)
    X[:, 0] = rng.normal(size=n) + 0.5 * y
    X[:, 1] = rng.choice(["a", "b"], n)
    X[:, 2] = rng.normal(size=n)
    labels = np.array(["low", "mid", "top"], dtype=object)[y]
    if gaps:
        labels[rng.random(n) < 0.1] = None
    return X, labels


def as_dicts(X: np.ndarray) -> list[dict[str, Any]]:
    return [dict(zip(("x0", "x1", "x2"), row, strict=True)) for row in X.tolist()]


def by_hand(base: Any, rows: list[dict[str, Any]], y: list[Any], lag: int, delay: int) -> list[dict[Any, float]]:
    """Every row is answered with the last labels that have arrived, and learned with these when its own comes."""
    model, arrived, answered, out = HalfLives(base, half_lives=SHORT), [], [], []
    for r, row in enumerate(rows):
        last = [None] * lag + [label for label in arrived if label is not None]
        names = ["last class", *(f"last class {k}" for k in range(2, lag + 1))]
        full = row | {name: last[-k] for k, name in enumerate(names, 1)}
        out.append(model.predict_proba_one(full))
        answered.append(full)
        if r >= delay:
            model.learn_one(answered[r - delay], y[r - delay])
            arrived.append(y[r - delay])
    return out


def same(found: dict[Any, float], expected: dict[Any, float]) -> bool:
    labels = found.keys() | expected.keys()
    return all(math.isclose(found.get(k, 0), expected.get(k, 0), rel_tol=1e-8, abs_tol=1e-12) for k in labels)


@pytest.mark.parametrize("name", sorted(BASES))
@pytest.mark.parametrize(("lag", "gaps"), [(1, False), (3, True), long(1, True), long(3, False)])
def test_rows_one_by_one_are_those_of_the_twin(name: str, lag: int, gaps: bool) -> None:
    X, y = stream(100, gaps=gaps)
    rows, model = as_dicts(X), HalfLives(BASES[name], half_lives=SHORT, lag=lag)
    expected = by_hand(BASES[name], rows, y.tolist(), lag, 0)
    for row, label, twin in zip(rows, y.tolist(), expected, strict=True):
        assert same(model.predict_proba_one(row), twin)
        model.learn_one(row, label)


@pytest.mark.parametrize("name", sorted(BASES))
@pytest.mark.parametrize(("lag", "delay", "gaps"), [(1, 1, True), (2, 7, False), long(1, 1, False), long(2, 7, True)])
def test_late_labels_are_those_of_the_twin(name: str, lag: int, delay: int, gaps: bool) -> None:
    X, y = stream(100, gaps=gaps)
    rows, model = as_dicts(X), HalfLives(BASES[name], half_lives=SHORT, lag=lag, delay=delay)
    expected = by_hand(BASES[name], rows, y.tolist(), lag, delay)
    found = model.start(np.array(["low", "mid", "top"])).test_then_train(
        rows[:-delay], y[:-delay], answered=rows[delay:]
    )
    started = by_hand_with_classes(BASES[name], rows, y.tolist(), lag, delay)
    for r in range(delay + 1, len(rows)):
        assert found[r - delay].tolist() == pytest.approx(started[r], rel=1e-8)
    one = HalfLives(BASES[name], half_lives=SHORT, lag=lag, delay=delay)
    for r, row in enumerate(rows):
        assert same(one.predict_proba_one(row), expected[r])
        if r >= delay:
            one.learn_one(rows[r - delay], y[r - delay])


def by_hand_with_classes(base: Any, rows: list[Any], y: list[Any], lag: int, delay: int) -> list[list[float]]:
    """The same as ``by_hand`` with all classes known beforehand."""
    classes = np.array(["low", "mid", "top"])
    model, arrived, answered, out = HalfLives(base, half_lives=SHORT).start(classes), [], [], []
    for r, row in enumerate(rows):
        last = [None] * lag + [label for label in arrived if label is not None]
        names = ["last class", *(f"last class {k}" for k in range(2, lag + 1))]
        full = row | {name: last[-k] for k, name in enumerate(names, 1)}
        out.append(list(model.predict_proba_one(full).values()))
        answered.append(full)
        if r >= delay:
            model.learn_one(answered[r - delay], y[r - delay])
            arrived.append(y[r - delay])
    return out


@given(cuts=st.lists(st.integers(1, 199), max_size=4), lag=st.integers(1, 3), delay=st.integers(0, 9))
def test_chunks_and_rows_give_the_same_answers(cuts: list[int], lag: int, delay: int) -> None:
    X, y = stream(gaps=True)
    options = {"half_lives": SHORT, "lag": lag, "delay": delay}
    whole, parts = (HalfLives(BASES["nb"], **options).start(np.array(["low", "mid", "top"])) for _ in range(2))
    bounds = [0, *sorted(set(cuts)), len(y)]
    found = [parts.test_then_train(X[a:b], y[a:b]) for a, b in itertools.pairwise(bounds)]
    np.testing.assert_allclose(np.concatenate(found), whole.test_then_train(X, y), rtol=1e-8)
    np.testing.assert_allclose(parts.predict_proba(X), whole.predict_proba(X), rtol=1e-8)


@pytest.mark.parametrize("row", [10, 100, 150])
@pytest.mark.parametrize("lag", [1, 2])
def test_an_answer_never_sees_the_label_of_its_own_row(row: int, lag: int) -> None:
    X, y = stream()
    other = y.copy()
    other[row] = "top" if y[row] != "top" else "low"
    found, changed = (
        HalfLives(BASES["aode"], half_lives=SHORT, lag=lag).start(np.array(["low", "mid", "top"])).test_then_train(X, t)
        for t in (y, other)
    )
    assert (found[: row + 1] == changed[: row + 1]).all()
    assert (found[row + 1] != changed[row + 1]).any()


@pytest.mark.parametrize("delay", [3, 20])
def test_with_late_labels_the_next_answers_do_not_see_a_label_either(delay: int) -> None:
    X, y = stream()
    other = y.copy()
    other[100] = "top" if y[100] != "top" else "low"
    models = [HalfLives(BASES["nb"], half_lives=SHORT, lag=1, delay=delay) for _ in range(2)]
    curves = [
        prequential(model, X, labels, delay=delay, every=1).curve(None, "log_loss", "whole") * np.arange(1, 201)
        for model, labels in zip(models, (y, other), strict=True)
    ]
    loss = [np.diff(curve) for curve in curves]  # of row r + 1
    same_label = np.r_[:99, 100:199]
    assert np.allclose(loss[0][same_label][: 99 + delay], loss[1][same_label][: 99 + delay])
    assert not np.allclose(loss[0][100 + delay :], loss[1][100 + delay :])


@pytest.mark.parametrize("stop", [0, 1, 20, 120])
@pytest.mark.parametrize("delay", [0, 5])
def test_a_saved_model_goes_on_as_if_nothing_had_happened(stop: int, delay: int, tmp_path) -> None:  # type: ignore[no-untyped-def]
    X, y = stream(gaps=True)
    model = HalfLives(BASES["aode"], half_lives=SHORT, lag=2, delay=delay).start(np.array(["low", "mid", "top"]))
    if stop:
        model.test_then_train(X[:stop], y[:stop])
    model.save(tmp_path / "model.tanager")
    copies = tanager.load(tmp_path / "model.tanager"), pickle.loads(pickle.dumps(model))
    expected = model.test_then_train(X[stop:], y[stop:])
    for copy in copies:
        np.testing.assert_array_equal(copy.test_then_train(X[stop:], y[stop:]), expected)
        np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))


def test_all_rows_of_a_batch_get_the_labels_that_have_arrived() -> None:
    X, y = stream()
    model = HalfLives(BASES["aode"], half_lives=SHORT, lag=1).partial_fit(X, y)
    batch = model.predict_proba(X[:5])
    alone = np.concatenate([model.predict_proba(X[r : r + 1]) for r in range(5)])
    np.testing.assert_array_equal(batch, alone)
    twin = HalfLives(BASES["aode"], half_lives=SHORT)
    with_last = np.column_stack([X, [None, *y[:-1]]])
    twin.partial_fit(with_last, y)
    asked = np.column_stack([X[:5], np.full(5, y[-1], dtype=object)])
    np.testing.assert_allclose(batch, twin.predict_proba(asked), rtol=1e-9)


def test_fit_takes_rows_in_the_order_given() -> None:
    X, y = stream(gaps=True)
    known = np.array([label is not None for label in y])
    model = HalfLives(AODE(), half_lives=SHORT, lag=1).fit(X, y)
    last = [None, *(next((y[s] for s in range(r - 1, -1, -1) if known[s]), None) for r in range(1, len(y)))]
    twin = HalfLives(AODE(), half_lives=SHORT).fit(np.column_stack([X, last])[known], y[known])
    for mine, theirs in zip(model.members_, twin.members_, strict=True):
        assert mine.counts_.n_rows == pytest.approx(theirs.counts_.n_rows)
        np.testing.assert_allclose(mine.counts_.singles, theirs.counts_.singles)
    assert model.weights_ == pytest.approx(twin.weights_)


def tables(X: np.ndarray) -> dict[str, Any]:
    """The same rows in every type of table."""
    pd, pl, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    columns = {f"x{i}": X[:, i].tolist() for i in range(3)}
    return {
        "array": X,
        "lists": X.tolist(),
        "columns": columns,
        "dicts": as_dicts(X),
        "pandas": pd.DataFrame(columns),
        "polars": pl.DataFrame(columns),
        "arrow": pa.table(columns),
    }


@pytest.mark.filterwarnings("ignore:X has feature names")
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_every_type_of_table_gives_the_same_answers() -> None:
    X, y = stream()
    classes = np.array(["low", "mid", "top"])
    given = tables(X)
    models = {kind: HalfLives(BASES["nb"], half_lives=SHORT, lag=2).start(classes) for kind in given}
    found = {kind: models[kind].test_then_train(table, y) for kind, table in given.items()}
    for kind, proba in found.items():
        np.testing.assert_allclose(proba, found["array"], rtol=1e-9, err_msg=kind)
        assert models[kind].n_features_in_ == 3
        assert models[kind].encoder_.schema.names == ("x0", "x1", "x2")
        for table in given.values():  # a model of one type may be asked about another
            np.testing.assert_allclose(
                models[kind].predict_proba(table), models["array"].predict_proba(X), rtol=1e-9, err_msg=kind
            )


@pytest.mark.filterwarnings("ignore:X has feature names")
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_columns_are_found_by_place_where_names_are_unlike() -> None:
    pd = pytest.importorskip("pandas")
    X, y = stream()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    named = HalfLives(BASES["nb"], half_lives=SHORT, lag=1).partial_fit(frame, y)
    plain = HalfLives(BASES["nb"], half_lives=SHORT, lag=1).partial_fit(X, y)
    assert named.feature_names_in_.tolist() == ["a", "b", "c"]
    np.testing.assert_allclose(named.predict_proba(X), plain.predict_proba(frame), rtol=1e-9)
    numbered = pd.DataFrame(X)  # whose columns are called 0, 1, 2
    np.testing.assert_allclose(plain.predict_proba(numbered), plain.predict_proba(X), rtol=1e-9)
    with pytest.raises(SchemaMismatch, match="features"):
        plain.predict(X[:, :2])


def test_codes_stay_values() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 30, (400, 2)).astype(np.uint8)
    X[rng.random(X.shape) < 0.1] = 255
    y = X[:, 0] % 2
    model = HalfLives(half_lives=SHORT, lag=1).partial_fit(X, y)
    assert [column.kind for column in model.encoder_.schema.columns] == ["categorical"] * 2
    assert model.encoder_.schema.n_values.max() <= 30


def test_numbers_as_classes_are_values_and_not_cut() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    y = np.repeat(rng.integers(0, 30, 60), 10)
    model = HalfLives(AODE(warm_up=200), half_lives=SHORT, lag=1).partial_fit(X, y)
    last = model.members_[0].encoder_.schema.columns[-1]
    assert last.kind == "categorical"
    assert set(last.values) <= {str(label) for label in range(30)}


def test_rows_without_label_or_weight_leave_none() -> None:
    labels = LastLabels(2, 0)
    labels.note(np.array(["a", None, "b", "c"], dtype=object), np.array([1.0, 1.0, 1.0, 0.0]))
    assert labels.arrived == ["a", "b"]
    late = LastLabels(1, 2)
    late.note(np.array(["a", "b"], dtype=object), None)
    assert (late.arrived, late.waiting) == ([None], ["a", "b"])
    late.note(np.array(["c"], dtype=object), None)
    assert (late.arrived, late.waiting) == (["a"], ["b", "c"])


def test_an_explanation_names_the_last_label() -> None:
    pd = pytest.importorskip("pandas")
    X, y = stream()
    model = HalfLives(BASES["aode"], half_lives=SHORT, lag=1).partial_fit(X, pd.Series(y, name="level"))
    reason = model.explain(X[:1])
    assert reason.values["last level"] == y[-1]
    assert "last level" in {part.column for part in reason.parts}
    assert reason.prior + sum(part.log_odds for part in reason.parts) == pytest.approx(reason.log_odds)
    assert model.explain(as_dicts(X[:1])[0]).log_odds == pytest.approx(reason.log_odds)


def test_a_column_of_that_name_stays() -> None:
    rows = [{"last class": str(r % 2)} for r in range(50)]
    model = HalfLives(half_lives=SHORT, lag=1).partial_fit(rows, [str(r % 2) for r in range(50)])
    assert model.members_[0].encoder_.schema.names == ("last class", "last class_")


def test_the_last_label_helps_where_neighbours_are_alike() -> None:
    rng = np.random.default_rng(1)
    y = np.repeat(rng.integers(0, 2, 100), 20)
    X = rng.normal(size=(2000, 3)) + 0.3 * y[:, None]
    plain, lagged = (HalfLives(lag=lag).test_then_train(X, y) for lag in (0, 1))
    assert (lagged.argmax(axis=1) == y).mean() > (plain.argmax(axis=1) == y).mean() + 0.05


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"lag": -1}, "how many of the last labels"),
        ({"lag": 1.5}, "how many of the last labels"),
        ({"lag": 1, "delay": -1}, "whole number"),
        ({"delay": 3}, "Give lag=1"),
    ],
)
def test_options_that_mean_nothing_are_refused(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(OptionError, match=sentence):
        HalfLives(**options).fit([["a"]], ["b"])


def test_a_schema_without_the_column_is_refused() -> None:
    schema = AODE().fit([["a"], ["b"]], ["p", "q"]).encoder_.schema
    with pytest.raises(OptionError, match="lag= adds columns"):
        HalfLives(AODE(schema=schema), lag=1).fit([["a"]], ["b"])


def test_what_order_forbids_is_refused_in_plain_words() -> None:
    X, y = stream()
    model = HalfLives(lag=1).fit(X, y)
    with pytest.raises(SchemaMismatch, match="order of rows"):
        model.merge(model)
    for act in (model.unlearn, model.leave_one_out):
        with pytest.raises(DataError, match="depends on their order"):
            act(X, y)


def test_late_classes_of_many_columns_are_counted_as_by_single_models() -> None:
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(300, 12)), rng.permutation(np.arange(300) // 25)
    y[:150] = np.sort(y[:150])[::-1]  # classes come one after the other, each before the others in their order
    model = HalfLives(AODE(warm_up=200), half_lives=SHORT)
    model.test_then_train(X, y)
    for member, half_life in zip(model.members_, SHORT, strict=True):
        single = AODE(warm_up=200, decay=None if half_life == INF else half_life)
        single.test_then_train(X, y)
        assert member.counts_ == single.counts_
