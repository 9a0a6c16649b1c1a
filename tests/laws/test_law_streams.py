"""Test, then train: the same numbers as single rows in turn, whatever values and classes appear on the way."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles import examples, later
from registry import NAMES, make
from strategies import tables
from tanager import A2DE, AODE, HNB, KDB, SPODE, TAN, BestOf, NaiveBayes
from tanager.errors import DataError

every = pytest.mark.parametrize("name", NAMES)


def one_by_one(model, rows, labels, weights=None):
    """Answers of predict_proba_one before each learn_one, and the model."""
    answers = []
    for r, (row, y) in enumerate(zip(rows, labels, strict=True)):
        answers.append(model.predict_proba_one(row))
        model.learn_one(row, y, 1.0 if weights is None else float(weights[r]))
    return answers


def agree(model, X, y, weights, expected):
    got = model.test_then_train(X, y, sample_weight=weights)
    k = len(model.classes_)
    for r, answer in enumerate(expected):
        wanted = [answer.get(label, 0.0) for label in model.classes_.tolist()] if answer else [1 / k] * k
        np.testing.assert_allclose(got[r], wanted, rtol=1e-9, atol=1e-12, err_msg=f"row {r}")


def dicts(X):
    return [{f"x{i}": v for i, v in enumerate(row)} for row in X]


@every
@examples(8)
@given(table=tables(), weighted=st.booleans())
def test_a_stream_is_answered_as_single_rows_are(name, table, weighted):
    w = np.arange(len(table.rows)) % 3 / 2 if weighted and len(table.rows) > 1 else None
    single, stream = make(name, table.n), make(name, table.n)
    expected = one_by_one(single, table.dicts(), table.y.tolist(), w)
    agree(stream, table.X, table.y, w, expected)
    np.testing.assert_allclose(stream.predict_proba(table.Q), single.predict_proba(table.Q), rtol=1e-9, atol=1e-12)
    assert stream.counts_.n_rows == single.counts_.n_rows


@pytest.mark.parametrize("name", ["tan", "kdb", "kdb-3", "hnb", "waode", "spode", "best-some", "fanc-2", "nb-balanced"])
def test_a_structure_that_follows_the_counts_is_learned_again_at_the_same_rows(name):
    rng = np.random.default_rng(5)
    X = rng.integers(0, 3, (330, 4))
    X[:, 1] = np.where(rng.random(330) < 0.7, X[:, 0], X[:, 1])
    X[200:, 3] = np.where(rng.random(130) < 0.8, X[200:, 2], 3)
    y = np.where(rng.random(330) < 0.8, X[:, 2], 1)
    rows = [[f"v{v}" for v in row] for row in X]
    w = rng.integers(1, 4, 330) / 2
    start = 180
    single, stream = make(name, 4), make(name, 4)
    single.fit(rows[:start], y[:start])
    stream.fit(rows[:start], y[:start])
    expected = one_by_one(single, dicts(rows[start:]), y[start:].tolist(), w[start:])
    agree(stream, rows[start:], y[start:], w[start:], expected)


@pytest.mark.parametrize("model", [NaiveBayes, AODE, KDB, TAN])
def test_rows_without_a_label_are_answered_and_teach_nothing(model):
    X = [["a", "p"], ["b", "q"], ["a", "q"], ["c", "p"], ["a", "p"]]
    for y in (["s", "t", None, None, "s"], [None, "t", "s", "s", None]):
        expected = one_by_one(model(), dicts(X), y)
        agree(model(), X, y, None, expected)
    expected = one_by_one(model(), dicts(X), [0.0, 1.0, float("nan"), 0.0, 1.0])
    agree(model(), X, np.array([0.0, 1.0, np.nan, 0.0, 1.0]), None, expected)


def test_labels_of_several_types_keep_their_types():
    X, y = [["a"], ["b"], ["a"], ["b"]], [1, "one", 1, "one"]
    model = NaiveBayes()
    expected = one_by_one(NaiveBayes(), dicts(X), y)
    agree(model, X, y, None, expected)
    assert model.classes_.tolist() == [1, "one"]


@pytest.mark.parametrize("model", [NaiveBayes(), TAN(), HNB(), SPODE(), KDB(), NaiveBayes(gaussian=True)], ids=repr)
def test_numbers_are_answered_alike_during_the_warm_up(model):
    from sklearn.base import clone

    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 3))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    model.set_params(warm_up=40)
    expected = one_by_one(clone(model), dicts(X.tolist()), y.tolist())
    agree(clone(model), X, y, None, expected)


@pytest.mark.filterwarnings("ignore:column .* all further ones count as one")
@pytest.mark.parametrize("unseen", ["ignore", "smooth"])
def test_values_beyond_the_cap_are_one_value(unseen):
    rng = np.random.default_rng(3)
    X = [[f"v{v}", f"w{v % 3}"] for v in rng.integers(0, 9, 80)]
    y = rng.integers(0, 3, 80)
    for model in (NaiveBayes, AODE, A2DE):
        expected = one_by_one(model(max_values=4, unseen=unseen), dicts(X), y.tolist())
        agree(model(max_values=4, unseen=unseen), X, y, None, expected)


@pytest.mark.parametrize("model", [NaiveBayes(unseen="error"), BestOf([AODE()], unseen="error")], ids=repr)
def test_an_unseen_value_is_refused_in_a_stream_as_in_a_single_row(model):
    model.fit([["a"], ["b"], ["a"]], [0, 1, 1])
    model.test_then_train([["a"], ["b"]], [0, 1])
    with pytest.raises(DataError, match="was not seen"):
        model.test_then_train([["a"], ["zzz"]], [0, 1])


@pytest.mark.parametrize("model", [NaiveBayes, AODE, *later(KDB, TAN)])
def test_more_values_and_classes_than_a_byte_holds(model):
    if model is not NaiveBayes:
        sizes, m = (300, 2), 400
    else:
        sizes, m = (300, 280), 700
    rng = np.random.default_rng(7)
    X = [[f"v{r % sizes[0] if r > 100 else r % 5}", None if r % 7 == 0 else f"w{r % 3}"] for r in range(m)]
    y = [f"c{v}" for v in np.concatenate([rng.integers(0, 2, 120), rng.integers(0, sizes[1], m - 120)])]
    single, stream = model(), model()
    expected = one_by_one(single, dicts(X[:320]), y[:320])
    agree(stream, X[:320], np.array(y[:320]), None, expected)
    stream.partial_fit(X[320:], y[320:])
    whole = model().fit(X, y)
    np.testing.assert_allclose(stream.predict_proba(X), whole.predict_proba(X), rtol=1e-9, atol=1e-12)
    assert len(whole.classes_) == len(stream.classes_)
    stream.unlearn(X[:50], y[:50]).partial_fit(X[:50], y[:50])
    np.testing.assert_allclose(stream.predict_proba(X), whole.predict_proba(X), rtol=1e-9, atol=1e-12)


def test_codes_that_appear_out_of_order_are_answered_alike():
    X = np.array([[5, 0], [1, 3], [0, 7], [5, 2], [7, 7], [2, 1]] * 3, dtype=np.uint8)
    y = np.array([0, 1, 0, 2, 1, 0] * 3)
    for model in (NaiveBayes, AODE, TAN):
        single, stream = model().fit(X[:1], y[:1]), model().fit(X[:1], y[:1])
        expected = one_by_one(single, dicts(X[1:].tolist()), y[1:].tolist())
        agree(stream, X[1:], y[1:], None, expected)


@pytest.mark.parametrize("name", ["kdb", "spode", "sptan", "best-some", "spcr"])
def test_rows_streamed_are_rows_kept(name):
    rng = np.random.default_rng(4)
    X = [[f"v{v}" for v in row] for row in rng.integers(0, 3, (150, 4))]
    y = rng.integers(0, 2, 150)
    stream = make(name, 4)
    stream.test_then_train(X, y)
    whole = make(name, 4).fit(X, y)
    np.testing.assert_allclose(stream.predict_proba(X), whole.predict_proba(X), rtol=1e-9)
    assert stream.counts_.n_rows == 150


@pytest.mark.parametrize("model", [NaiveBayes(), AODE(), TAN(), KDB(), BestOf([AODE(), KDB()])], ids=repr)
def test_a_stream_goes_on_after_decay(model):
    from sklearn.base import clone

    rng = np.random.default_rng(6)
    X = [[f"v{v}" for v in row] for row in rng.integers(0, 3, (60, 3))]
    y = rng.integers(0, 2, 60)
    single, stream = clone(model).fit(X[:30], y[:30]), clone(model).fit(X[:30], y[:30])
    if single.memory.rows is not None:
        pytest.skip("kept rows do not fade")
    for m in (single, stream):
        m.predict(X[:2])
        m.counts_.decay(0.5)
    expected = one_by_one(single, dicts(X[30:]), y[30:].tolist())
    agree(stream, X[30:], y[30:], None, expected)


@pytest.mark.parametrize("unseen", ["ignore", "smooth"])
def test_a_row_without_a_label_teaches_no_new_value(unseen):
    X = [["a", "u"], ["b", "u"], ["new", "u"], ["a", "v"], ["new", "v"], ["b", "newer"], ["new", "u"]]
    y = ["yes", "no", None, "yes", "no", None, "yes"]
    single, stream = NaiveBayes(unseen=unseen), NaiveBayes(unseen=unseen)
    agree(stream, X, y, None, one_by_one(single, dicts(X), y))
    assert stream.encoder_.schema == single.encoder_.schema
    assert "newer" not in stream.encoder_.schema["x1"].values


@pytest.mark.parametrize("unseen", ["ignore", "smooth"])
@pytest.mark.parametrize("model", [NaiveBayes, AODE, TAN])
def test_rows_to_answer_with_values_that_are_yet_to_be_learned(model, unseen):
    X = [["a", "u"], ["b", "v"], ["a", "v"], ["b", "u"], ["a", "u"], ["b", "u"], ["c", "w"], ["d", "v"], ["a", "v"]]
    y = ["n", "p", "n", "p", "p", "n", "p", "n", "p"]
    asked = [["d", "u"], ["never", "w"], ["c", "w"], ["d", "never"], ["d", "w"]]
    whole, single = (model(unseen=unseen).partial_fit(X[:4], y[:4]) for _ in range(2))
    proba = whole.test_then_train(X[4:], y[4:], answered=asked)
    for r, (row, question) in enumerate(zip(dicts(X[4:]), dicts(asked), strict=True)):
        np.testing.assert_allclose(proba[r], list(single.predict_proba_one(question).values()), rtol=1e-9)
        single.learn_one(row, y[4 + r])
