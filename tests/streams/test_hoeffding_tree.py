"""HoeffdingTree: whole blocks are learned as single rows are, leaves split when plain loops say so, and files go on."""

import copy
import itertools
import math
import pickle

import numpy as np
import pytest
from hoeffding_twin import SlowHoeffdingTree
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from profiles import THOROUGH, examples
from tanager import (
    AODE,
    KDB,
    TAN,
    DataError,
    DriftAware,
    HoeffdingTree,
    ModelFileError,
    NaiveBayes,
    OptionError,
    load,
    persist,
    plot_tree,
)
from tanager.evaluate import prequential

QUICK = {"grace": 12, "delta": 0.3, "tie": 0.4}


def stream(m, seed, n=4, classes=3, missing=0.1, late=True):
    """Text cells whose class depends on two columns; some values, and a class, come late."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (m, n))
    if late:
        X[: m // 2][X[: m // 2] == 2] = 0
    y = np.where(X[:, 0] == 1, X[:, 1], (X[:, 0] + X[:, 2]) % 2)
    y = np.where(rng.random(m) < 0.15, rng.integers(0, classes, m), y)
    if late:
        y[: m // 3][y[: m // 3] == 2] = 0
    cells = np.array(["a", "b", "c"], dtype=object)[X]
    cells[rng.random(X.shape) < missing] = None
    return cells, np.array(["low", "mid", "top"])[y]


def dicts(X):
    return [{f"x{i}": cell for i, cell in enumerate(row)} for row in X]


def accuracy(model, X, y, start=0):
    answers = model.test_then_train(X, y).argmax(axis=1)
    return np.mean(model.classes_[answers][start:] == y[start:])


def one_by_one(model, X, y, w=None):
    answers = []
    for r, (row, label) in enumerate(zip(dicts(X), y.tolist(), strict=True)):
        answers.append(model.predict_proba_one(row))
        model.learn_one(row, label, 1.0 if w is None else float(w[r]))
    known = model.classes_.tolist()
    return np.array([[a.get(c, 0.0 if a else 1 / len(known)) for c in known] for a in answers])


def test_the_first_split_is_that_of_the_formula():
    """The twin counts every row by itself, and looks after every `grace` rows."""
    X, y = stream(400, 1, missing=0.0, late=False)
    model = HoeffdingTree(grace=50, delta=1e-3)
    found = None
    for r in range(400):
        model.partial_fit(X[r : r + 1], y[r : r + 1], classes=["low", "mid", "top"])
        if r % 50 == 49 and found is None:
            gains = sorted(((information(X[: r + 1, i], y[: r + 1]), -i) for i in range(4)), reverse=True)
            bound = math.log2(3) * math.sqrt(math.log(1000) / (2 * (r + 1)))
            if gains[0][0] - gains[1][0] > bound or bound < 0.05:
                found = r, -gains[0][1]
        assert (model.n_leaves_ > 1) == (found is not None), f"row {r}"
    assert model.tree_.column == f"x{found[1]}"


def information(column, labels):
    def entropy(part):
        shares = [np.mean(part == c) for c in set(part.tolist())]
        return -sum(s * math.log2(s) for s in shares)

    return entropy(labels) - sum(np.mean(column == v) * entropy(labels[column == v]) for v in set(column.tolist()))


def plain_structure(node):
    """A tree as the twin gives it: columns by number, leaves as the weights of their classes."""
    if not node.branches:
        return node.counts
    return int(node.column[1:]), {value: plain_structure(child) for value, child in node.branches}


def assert_same_tree(got, expected):
    assert type(got) is type(expected)
    if isinstance(expected, dict):
        assert {c: n for c, n in got.items() if n > 0} == pytest.approx({c: n for c, n in expected.items() if n > 0})
        return
    assert got[0] == expected[0]
    assert list(got[1]) == list(expected[1])
    for value, child in expected[1].items():
        assert_same_tree(got[1][value], child)


@examples(60)
@given(
    answers=st.sampled_from(["adaptive", "classifier", "majority"]),
    seed=st.integers(0, 10_000),
    grace=st.sampled_from([3, 12, 25.5]),
    delta=st.sampled_from([1e-7, 0.05, 0.3]),
    tie=st.sampled_from([0.0, 0.05, 0.4]),
    max_leaves=st.sampled_from([1, 5, 1000]),
    weighted=st.booleans(),
    late=st.booleans(),
)
def test_structure_and_answers_are_those_of_plain_loops_over_rows(
    answers, seed, grace, delta, tie, max_leaves, weighted, late
):
    m = 150
    X, y = stream(m, seed, missing=0.1 * (seed % 3), late=late)
    rng = np.random.default_rng(seed)
    w = rng.choice([0.0, 0.5, 1.0, 2.0], m) if weighted else np.ones(m)
    labels = y.astype(object)
    labels[rng.random(m) < 0.05] = None
    options = {"grace": grace, "delta": delta, "tie": tie, "max_leaves": max_leaves, "leaf_answers": answers}
    twin, expected = SlowHoeffdingTree(**options), []
    for row, label, weight in zip(X.tolist(), labels.tolist(), w.tolist(), strict=True):
        expected.append(twin.answer(row))
        twin.learn(row, label, weight)
    model = HoeffdingTree(warm_up=1, **options)  # in a warm-up rows are learned again, with all values known
    got = model.test_then_train(X, labels, w)
    classes = model.classes_.tolist()
    even = {c: 1 / len(classes) for c in classes}  # before the first row nothing is known
    wanted = [[(a or even).get(c, 0.0) for c in classes] for a in expected]
    np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-12)
    assert_same_tree(plain_structure(model.tree_), twin.structure())
    unseen = [*X.tolist(), ["zzz", "a", None, "b"], [None] * 4]
    np.testing.assert_allclose(
        model.predict_proba(unseen), [[twin.answer(row)[c] for c in classes] for row in unseen], rtol=1e-9
    )


@examples(12)
@given(
    leaf=st.sampled_from([None, AODE(), TAN(), KDB(smoothing=1)]),
    answers=st.sampled_from(["adaptive", "classifier", "majority"]),
    seed=st.integers(0, 99),
    weighted=st.booleans(),
)
def test_a_block_is_answered_and_learned_as_single_rows_are(leaf, answers, seed, weighted):
    m = 120 if THOROUGH else 70
    X, y = stream(m, seed)
    w = np.random.default_rng(seed).choice([0.0, 0.5, 1.0, 1.7], m) if weighted else None
    single = HoeffdingTree(leaf=leaf, leaf_answers=answers, max_leaves=9, **QUICK)
    expected = one_by_one(single, X, y, w)
    for cuts in ([0, m], [0, 7, 50, 51, m]):
        blocks = HoeffdingTree(leaf=leaf, leaf_answers=answers, max_leaves=9, **QUICK)
        got = [
            blocks.test_then_train(X[a:b], y[a:b], None if w is None else w[a:b]) for a, b in itertools.pairwise(cuts)
        ]
        width = len(single.classes_)
        got = np.vstack([np.pad(part, ((0, 0), (0, width - part.shape[1]))) for part in got])
        if len(cuts) == 2:  # with the whole at once no column is added to earlier answers
            np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12)
        assert str(blocks.tree_) == str(single.tree_)
        np.testing.assert_allclose(blocks.predict_proba(X), single.predict_proba(X), rtol=1e-9, atol=1e-12)
    assert single.n_leaves_ <= 9


def test_numbers_in_a_warm_up_are_answered_alike():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 3))
    y = np.where((X[:, 0] > 0) ^ (X[:, 1] > 0.3), "in", "out")
    one, whole = (HoeffdingTree(warm_up=60, **QUICK) for _ in range(2))
    expected = one_by_one(one, X.tolist(), y)
    np.testing.assert_allclose(whole.test_then_train(X, y), expected, rtol=1e-9, atol=1e-12)
    assert str(one.tree_) == str(whole.tree_)
    batch = HoeffdingTree(warm_up=60, **QUICK).partial_fit(X, y)
    np.testing.assert_allclose(batch.predict_proba(X), whole.predict_proba(X), rtol=1e-9)


def test_a_stream_that_has_grown_is_more_accurate_than_its_leaf():
    X, y = stream(6000, 3, late=False)
    tree, naive = HoeffdingTree(), NaiveBayes()
    right = [accuracy(m, X, y) for m in (tree, naive)]
    assert right[0] > right[1] + 0.03
    assert tree.n_leaves_ > 2


@pytest.mark.parametrize("leaf", [None, AODE(), TAN()], ids=repr)
def test_copies_and_files_go_on_alike(leaf, tmp_path):
    X, y = stream(240, 4)
    model = HoeffdingTree(leaf=leaf, **QUICK)
    model.test_then_train(X[:150], y[:150])
    model.save(tmp_path / "tree.tanager")
    again = [load(tmp_path / "tree.tanager"), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]
    expected = model.test_then_train(X[150:], y[150:])
    assert model.n_leaves_ > 1
    for other in again:
        np.testing.assert_allclose(other.test_then_train(X[150:], y[150:]), expected, rtol=1e-12)
        assert str(other.tree_) == str(model.tree_)
    assert persist.to_bytes(again[0]) == persist.to_bytes(model)


def test_a_damaged_tree_is_refused():
    X, y = stream(240, 4)
    model = HoeffdingTree(**QUICK).fit(X, y)
    for change in ({"column": 9}, {"heaviest": 7}, {"children": []}):
        state = model.to_state()
        state["state"]["tree"] |= change
        with pytest.raises(ModelFileError):
            HoeffdingTree().from_state(state)


def test_it_runs_inside_drift_aware_and_prequential():
    X, y = stream(1500, 5, late=False)
    flipped = np.where(y == "low", "mid", np.where(y == "mid", "low", y))
    X, y = np.vstack([X, X]), np.concatenate([y, flipped])
    aware, plain = DriftAware(HoeffdingTree(grace=50)), HoeffdingTree(grace=50)
    right = [accuracy(m, X, y, 2000) for m in (aware, plain)]
    assert any(event.what == "drift" for event in aware.events_)
    assert right[0] > right[1]
    results = prequential({"tree": HoeffdingTree(), "nb": NaiveBayes()}, (X, y))
    assert "tree" in str(results)


def test_late_labels_and_rows_without_one():
    X, y = stream(200, 6, late=False)
    labels = y.astype(object)
    labels[::7] = None
    one, whole = HoeffdingTree(**QUICK), HoeffdingTree(**QUICK)
    np.testing.assert_allclose(whole.test_then_train(X, labels), one_by_one(one, X, labels), rtol=1e-9, atol=1e-12)
    late = HoeffdingTree(**QUICK).fit(X[:100], y[:100])
    got = late.test_then_train(X[:50], y[:50], answered=X[100:150])
    twin = HoeffdingTree(**QUICK).fit(X[:100], y[:100])
    for r in range(50):
        np.testing.assert_allclose(got[r], list(twin.predict_proba_one(dicts(X[100 + r : 101 + r])[0]).values()))
        twin.learn_one(dicts(X[r : r + 1])[0], y[r])


def test_new_columns_and_unseen_values():
    X, y = stream(150, 7, late=False)
    model = HoeffdingTree(**QUICK)
    for row, label in zip(dicts(X), y.tolist(), strict=True):
        model.learn_one(row, label)
    before = model.predict_proba_one({"x0": "a"})
    assert model.predict_proba_one({"x0": "a", "x1": "never"}) == before
    model.learn_one({"x0": "a", "wind": "north"}, "top")
    assert "wind" in model.encoder_.schema
    assert set(model.predict_proba_one({"wind": "north"})) == {"low", "mid", "top"}
    strict = HoeffdingTree(unseen="error", **QUICK).fit(X, y)
    with pytest.raises(DataError, match="was not seen"):
        strict.predict([["zzz", "a", "a", "a"]])
    strict.partial_fit([["zzz", "a", "a", "a"]], ["low"])
    smooth = HoeffdingTree(unseen="smooth", **QUICK).fit(X, y)
    assert np.isfinite(smooth.predict_log_joint([["zzz", "a", None, "a"]])).all()


def test_single_rows_that_bring_new_values_are_learned_as_tables_are():
    """Words and numbers whose values keep coming, in a warm-up and after it; ``partial_fit`` takes the long way."""
    rng = np.random.default_rng(5)
    rows = [
        {"word": f"w{int(v)}", "few": int(v) % 3, "x": float(x), "late": 0 if r < 250 else int(x * 900)}
        for r, (v, x) in enumerate(zip(rng.exponential(8, 600), rng.normal(size=600), strict=True))
    ]
    y = ["a" if row["x"] + row["few"] > 1 else "b" for row in rows]
    for warm_up in (40, 1000):
        one, table = (HoeffdingTree(warm_up=warm_up, grace=30, tie=0.5) for _ in range(2))
        for row, label in zip(rows, y, strict=True):
            assert one.predict_proba_one(row) == table.predict_proba_one(row)
            one.learn_one(row, label)
            table.partial_fit([row], [label])
        assert one.events_ == table.events_
        assert one.tree_ == table.tree_
        assert one.n_leaves_ > 1
        assert one.schema_ == table.schema_
    assert {event.column for event in HoeffdingTree(warm_up=40).fit(rows, y).events_} <= {"late"}


def test_a_cell_that_does_not_fit_a_column_of_the_warm_up_may_fit_it_later():
    model, table = HoeffdingTree(), HoeffdingTree()
    rows = [{"x": r / 7} for r in range(20)] + [{"x": "unknown"}] + [{"x": r / 7} for r in range(12)]
    for r, row in enumerate(rows):
        model.learn_one(row, "ab"[r % 2])
        table.partial_fit([row], ["ab"[r % 2]])
    assert model.schema_ == table.schema_
    assert model.predict_proba_one({"x": "unknown"}) == table.predict_proba_one({"x": "unknown"})


def test_leaves_are_bounded():
    X, y = stream(3000, 8, late=False)
    sizes = {most: HoeffdingTree(max_leaves=most, grace=20, delta=0.3, tie=0.5).fit(X, y).n_leaves_ for most in (1, 5)}
    assert sizes[1] == 1
    assert 3 <= sizes[5] <= 5


def test_a_tree_in_words_in_a_picture_and_as_reasons():
    X, y = stream(800, 9, late=False, missing=0.0)
    model = HoeffdingTree(**QUICK).fit(X, y)
    tree = model.tree_
    assert tree.n_leaves == model.n_leaves_ > 1
    assert tree.n_rows == pytest.approx(800)
    for row, answers in zip(X[:20], model.predict_proba(X[:20]), strict=True):
        told, proba = model.explain([row]), dict(zip(model.classes_.tolist(), answers, strict=True))
        assert proba[told.answer] == pytest.approx(told.probability) == max(answers)
        assert told.log_odds == pytest.approx(np.log(proba[told.answer] / proba[told.against]))
        assert told.prior + sum(part.log_odds for part in told.parts) == pytest.approx(told.log_odds)
    told = model.explain(X[:1])
    assert told.path[0] == f"{tree.column} = {X[0, int(tree.column[1:])]}"
    assert len(plot_tree(model).axes) == 1
    for act in (lambda: model.unlearn(X, y), lambda: model.leave_one_out(X, y), lambda: model.merge(model)):
        with pytest.raises(DataError, match="depends on the order"):
            act()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"leaf": "nb"}, "no classifier over counts"),
        ({"leaf": NaiveBayes(gaussian=True)}, "Gaussian"),
        ({"grace": 0}, "grace=0"),
        ({"delta": 1}, "delta=1"),
        ({"tie": -1}, "tie=-1"),
        ({"leaf_answers": "nb"}, "leaf_answers"),
        ({"max_leaves": 0}, "max_leaves=0"),
        ({"unseen": "what"}, "unseen"),
    ],
    ids=str,
)
def test_options_that_mean_nothing_are_refused(options, sentence):
    with pytest.raises(OptionError, match=sentence):
        clone(HoeffdingTree(**options)).fit([["a"], ["b"]], [0, 1])


def test_few_rows_one_class_one_column():
    model = HoeffdingTree().fit([["a"]], ["only"])
    np.testing.assert_array_equal(model.predict_proba([["a"], [None], ["b"]]), [[1.0]] * 3)
    assert HoeffdingTree(grace=1).fit([["a"]] * 9, ["only"] * 9).n_leaves_ == 1
    empty = HoeffdingTree().partial_fit([["a"], ["b"]], [0, 1], classes=[0, 1, 2])
    assert empty.predict_proba([["a"]]).shape == (1, 3)


@pytest.mark.parametrize("seed", [1, 3, 10])
def test_a_part_in_which_classes_and_columns_come_late_grows_the_tree_that_its_rows_grow(seed):
    rng = np.random.default_rng(seed)
    rows, labels = [], []
    for r in range(150):
        y = int(rng.integers(4 if r > 100 else 2))
        row = {"a": "pqr"[(y + int(rng.integers(2))) % 3], "b": "st"[int(rng.random() < 0.3 + 0.2 * y)]}
        rows.append(row | ({"late": "uvw"[(y + r % 2) % 3]} if r > 60 else {}))
        labels.append("abcd"[y])
    options = {"warm_up": 30, "grace": 15, "delta": 0.2, "tie": 0.0}
    single, whole, unasked = (HoeffdingTree(**options) for _ in range(3))
    for row, label in zip(rows, labels, strict=True):
        single.learn_one(row, label)
    whole.test_then_train(rows, labels)
    unasked.partial_fit(rows[:50], labels[:50]).partial_fit(rows[50:], labels[50:])
    for other in (whole, unasked):
        assert other.tree_ == single.tree_
        np.testing.assert_allclose(other.predict_proba(rows), single.predict_proba(rows), rtol=1e-9)
