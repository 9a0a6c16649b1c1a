"""Cut points that follow a stream: when they move, what becomes of the counts, and that every way to learn agrees."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tanager
from profiles import spread
from registry import COUNTING
from tanager import Decay, NaiveBayes, Recut, Window
from tanager.encoding.bins import find_cuts
from tanager.errors import ModelFileError, OptionError, SchemaMismatch
from tanager.learning.number_watch import NumberWatch, moved

HALF = 500


def drifting(seed=0, m=2 * HALF, by=10.0, n_columns=2):
    """Numbers with the class in them, all of which move by so much halfway."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, m)
    X = rng.normal(size=(m, n_columns)) + 2.0 * y[:, None]
    X[m // 2 :] += by
    return X, y


def accuracy(proba, y):
    return np.mean(proba.argmax(axis=1) == y)


def quick(**options):
    """By class entropy, as the slow twin cuts."""
    return NaiveBayes(**{"warm_up": 100, "recut": Recut("sketch", every=50), "bins": "mdl"} | options)


FORGETTING = [{}, {"decay": 100}, {"window": 150}, {"decay": Decay(half_life=100, per_class=True)}]


# When rows have moved


def slow_moved(before, now):
    total = sum(map(sum, now))
    far = 0.0
    for c in range(len(now[0])):
        a, b = sum(row[c] for row in before), sum(row[c] for row in now)
        if b == 0:
            continue
        share = 0.0
        for p, q in zip(before, now, strict=True):
            if a:
                both = (p[c] + q[c]) / (a + b)
                share += abs(p[c] / a - q[c] / b) - math.sqrt(2 / math.pi * both * (1 - both) * (1 / a + 1 / b))
        far += b / total * (max(0.0, share / 2) if a else 1.0)
    return far


tables = st.integers(1, 4).flatmap(
    lambda n: st.tuples(*[st.lists(st.lists(st.integers(0, 300), min_size=2, max_size=2), min_size=n, max_size=n)] * 2)
)


@given(tables)
def test_how_far_rows_have_moved_equals_its_slow_twin(pair):
    before, now = pair
    found = moved(np.array(before, dtype=float), np.array(now, dtype=float))
    assert found == pytest.approx(slow_moved(before, now) if sum(map(sum, now)) else 0.0)
    assert 0 <= found <= 1


def test_chance_alone_moves_hardly_a_row_however_small_the_samples():
    rng = np.random.default_rng(0)
    for n in (30, 200, 5000):
        shares = rng.dirichlet(np.ones(12))
        found = [moved(*(rng.multinomial(n, shares).reshape(6, 2).astype(float) for _ in range(2))) for _ in range(200)]
        assert np.mean(found) < 0.05


def test_a_class_that_becomes_more_frequent_moves_no_row_and_a_new_class_all_of_its_own():
    before = np.array([[300.0, 0.0], [100.0, 0.0]])
    assert moved(before, before / 4) == 0
    assert moved(before, np.array([[75.0, 25.0], [25.0, 0.0]])) == pytest.approx(25 / 125)


# What users see


@pytest.mark.parametrize("by", ["grid", "sketch"])
@pytest.mark.parametrize("options", [*FORGETTING, {"bins": "frequency"}, {"bins": "width", "decay": 100}])
def test_frozen_cut_points_lose_a_stream_that_drifts_and_moving_ones_find_it_again(by, options):
    X, y = drifting()
    recut = Recut(by, every=100, distance=0.15)
    frozen, model = (NaiveBayes(warm_up=100, recut=own, **options) for own in (None, recut))
    later = slice(-100, None)
    for one in (frozen, model):
        one.partial_fit(X[:-100], y[:-100])
    assert accuracy(frozen.predict_proba(X[later]), y[later]) < 0.7
    assert accuracy(model.predict_proba(X[later]), y[later]) > 0.8
    assert {moves.column for moves in model.events_} == {"x0", "x1"}
    assert all(HALF < moves.row <= HALF + 500 and moves.distance > 0.15 for moves in model.events_)
    assert model.events_[-1].after == len(model.encoder_.schema[model.events_[-1].column].cuts)


@pytest.mark.parametrize("by", ["grid", "sketch"])
@pytest.mark.parametrize("options", [{}, {"decay": 1000}, {"window": 600}])
def test_a_stream_that_stays_as_it_is_is_learned_as_if_cut_points_were_frozen(by, options):
    X, y = drifting(by=0.0)
    model, frozen = (NaiveBayes(warm_up=300, recut=recut, **options) for recut in (Recut(by, every=300), None))
    np.testing.assert_allclose(model.partial_fit(X, y).predict_proba(X), frozen.partial_fit(X, y).predict_proba(X))
    assert model.events_ == []


def test_a_class_boundary_that_moves_is_found_though_the_numbers_stay():
    rng = np.random.default_rng(1)
    X = rng.uniform(0, 10, (4000, 1))
    y = np.where(np.arange(4000) < 2000, X[:, 0] > 3, X[:, 0] > 7).astype(int)
    model = NaiveBayes(recut=Recut(every=500), warm_up=500)
    proba = model.test_then_train(X, y)
    assert accuracy(proba[3000:], y[3000:]) > 0.95
    assert min(abs(t - 7) for t in model.encoder_.schema["x0"].cuts) < 0.2


def test_a_column_without_cuts_gets_some_when_it_begins_to_tell_something():
    rng = np.random.default_rng(2)
    X = rng.uniform(0, 10, (4000, 1))
    y = np.where(np.arange(4000) < 2000, rng.random(4000) < 0.5, X[:, 0] > 5).astype(int)
    model = NaiveBayes(recut=Recut(every=500), warm_up=500, bins="mdl").partial_fit(X[:2000], y[:2000])
    assert model.encoder_.schema["x0"].cuts == ()
    model.partial_fit(X[2000:], y[2000:])
    assert len(model.encoder_.schema["x0"].cuts) >= 1


@pytest.mark.parametrize("by", ["grid", "sketch"])
@pytest.mark.parametrize("options", [{}, {"decay": 500}, {"window": 500}])
def test_a_column_that_is_constant_in_the_warm_up_is_cut_when_it_begins_to_vary(by, options):
    rng = np.random.default_rng(0)
    z, first = rng.normal(size=4000), np.arange(4000) < 1200
    X, y = {"a": np.where(first, 0.5, z), "b": rng.normal(size=4000)}, (z > 0).astype(int)
    model = NaiveBayes(recut=by, **options)
    right = model.test_then_train(X, y).argmax(axis=1) == y
    assert model.events_[0].column == "a"
    assert right[2500:].mean() > 0.95


@pytest.mark.parametrize(
    "options", [{"bins": {"x0": [1.0], "x1": [0.5, 2.0]}}, {"categorical": "all", "max_values": 50}]
)
def test_cut_points_that_were_given_and_categories_do_not_move(options):
    X, y = drifting()
    model = quick(**options)
    before = NaiveBayes(warm_up=100, **options)
    np.testing.assert_array_equal(model.test_then_train(X.round(), y), before.test_then_train(X.round(), y))
    assert model.events_ == []


def test_a_given_schema_does_not_move():
    X, y = drifting()
    schema = NaiveBayes().fit(X[:200], y[:200]).encoder_.schema
    model = quick(schema=schema).partial_fit(X, y)
    assert model.encoder_.schema == schema.close()


@spread("cls", COUNTING)
@pytest.mark.parametrize("options", [{}, {"window": 150}])
def test_every_classifier_goes_on_after_cut_points_have_moved(cls, options):
    X, y = drifting(m=400, n_columns=4)
    entropy = {} if cls.bins else {"bins": "mdl"}  # a hundred rows are too few for ten bins
    model = cls(warm_up=100, recut=Recut(every=50), **entropy, **options).partial_fit(X[:-100], y[:-100])
    assert model.events_
    assert accuracy(model.predict_proba(X[-100:]), y[-100:]) > 0.85


def test_gaussian_columns_go_on_beside_columns_that_are_cut_anew():
    X, y = drifting()
    for options in ({}, {"window": 200}):
        model = quick(gaussian=["x1"], **options)
        model.partial_fit(X, y)
        assert {moves.column for moves in model.events_} == {"x0"}
        assert model.moments_.weight.sum() == pytest.approx(200 if options else len(y))


# The slow twin: all rows are remembered, every table is counted with loops, cut points come from the rows themselves.


def slow_stream(X, y, warm_up, every, distance, window=None):
    """Cut points of each column after every row, from the first that has some; a list of lists."""
    cuts, marks, history = [], [], []
    for m in range(warm_up, len(X) + 1):
        at_hand = slice(max(0, m - (window or warm_up)), m)
        if m == warm_up:
            cuts = [find_cuts(X[:m, i], "mdl", 5, "n-1", y[:m], None).tolist() for i in range(X.shape[1])]
            marks = [slow_mark(X[:m, i], y[:m], cuts[i]) for i in range(X.shape[1])]
        elif (m - warm_up) % every == 0:
            now = at_hand if window else slice(m - every, m)
            for i in range(X.shape[1]):
                probes, before = marks[i]
                if slow_moved(before, slow_table(X[now, i], y[now], probes)) > distance:
                    cuts[i] = find_cuts(X[at_hand, i], "mdl", 5, "n-1", y[at_hand], None).tolist()
                    marks[i] = slow_mark(X[at_hand, i], y[at_hand], cuts[i])
        history.append([list(own) for own in cuts])
    return history


def slow_mark(x, y, cuts):
    probes = sorted({*cuts, *find_cuts(x, "frequency", 5, "n-1", None, None).tolist()})
    return probes, slow_table(x, y, probes)


def slow_table(x, y, cuts):
    table = [[0, 0] for _ in range(len(cuts) + 1)]
    for value, label in zip(x, y, strict=True):
        table[sum(value > t for t in cuts)][label] += 1
    return table


@pytest.mark.parametrize("window", [None, 150])
@pytest.mark.parametrize("seed", range(3))
def test_cut_points_move_when_those_of_the_slow_twin_do(window, seed):
    X, y = drifting(seed, by=3.0)
    model = quick(window=window)
    history = slow_stream(X, y, 100, 50, 0.1, window)
    assert history[0] != history[-1]
    model.partial_fit(X[:100], y[:100])
    for m in range(100, len(X), 25):
        assert [list(column.cuts) for column in model.encoder_.schema.columns] == history[m - 100]
        model.partial_fit(X[m : m + 25], y[m : m + 25])


# All ways to learn agree


def same(one, other):
    assert one.events_ == other.events_
    assert one.encoder_.schema == other.encoder_.schema
    assert one.counts_ == other.counts_


@pytest.mark.parametrize("by", ["grid", "sketch"])
@pytest.mark.parametrize("options", FORGETTING)
def test_rows_chunks_and_test_then_train_agree(by, options):
    X, y = drifting(m=500, by=4.0)
    y[450:] += 1  # a third class
    w = np.random.default_rng(1).integers(0, 3, 500).astype(float)
    make = lambda: NaiveBayes(warm_up=100, recut=Recut(by, every=60), **options)  # noqa: E731
    rows, chunks, tested = make(), make(), make()
    answers = []
    for r in range(500):
        row = {"x0": X[r, 0], "x1": X[r, 1]}
        answers.append(rows.predict_proba_one(row))
        rows.learn_one(row, int(y[r]), float(w[r]))
    counted = w > 0
    for part in np.array_split(np.flatnonzero(counted), 7):
        chunks.partial_fit(X[part], y[part], sample_weight=w[part])
    proba = tested.test_then_train(X, y, w)
    assert rows.events_
    same(rows, chunks)
    same(rows, tested)
    expected = np.array([[answer.get(c, 0.0) if answer else 1 / 3 for c in range(3)] for answer in answers])
    np.testing.assert_allclose(proba, expected, rtol=1e-9, atol=1e-12)


def test_times_fade_and_leave_in_what_is_summed_up_as_in_the_counts():
    X, y = drifting()
    times = np.cumsum(np.random.default_rng(3).exponential(1.0, len(y)))
    for options in ({"decay": "100 s"}, {"window": Window(rows=300, time="150 s")}):
        rows, chunks = quick(**options), quick(**options)
        for r in range(len(y)):
            rows.learn_one({"x0": X[r, 0], "x1": X[r, 1]}, int(y[r]), time=times[r])
        for part in np.array_split(np.arange(len(y)), 5):
            chunks.partial_fit(X[part], y[part], times=times[part])
        assert rows.events_
        same(rows, chunks)


@pytest.mark.parametrize("options", FORGETTING)
def test_after_a_move_the_counts_are_those_of_the_rows_at_hand_with_what_is_left_of_them(options):
    X, y = drifting()
    model = quick(**options)
    model.partial_fit(X, y)
    row = model.events_[-1].row
    start = row - (150 if "window" in options else 100)
    fresh = NaiveBayes(schema=model.encoder_.schema, **options).partial_fit(X[start:], y[start:])
    assert model.counts_ == fresh.counts_


def test_new_columns_and_a_new_class_join_rows_that_are_kept():
    X, y = drifting()
    model = quick()
    for r in range(len(y)):
        row = {"x0": X[r, 0], "x1": X[r, 1]} | ({"sky": "blue" if y[r] else "grey"} if r > HALF - 20 else {})
        model.learn_one(row, ["no", "yes", "maybe"][2 if r > 900 else y[r]])
    assert model.events_[-1].row > 900
    assert model.counts_.n_rows == pytest.approx(100 + len(y) - model.events_[-1].row)
    assert model.predict_one({"sky": "blue"}) in ("yes", "maybe")


def test_a_rare_new_class_moves_no_cut_point_wherever_its_name_is_sorted():
    X, y = drifting(by=0.0, m=1500)
    labels = np.where(y == 0, "mild", "warm").astype(object)
    labels[700::50] = "cold"
    for by in ("grid", "sketch"):
        model = NaiveBayes(warm_up=300, recut=Recut(by, every=200), decay=1000).partial_fit(X, labels)
        assert model.classes_.tolist() == ["cold", "mild", "warm"]
        assert model.events_ == []


def test_a_table_learned_as_a_whole_is_where_the_stream_goes_on():
    X, y = drifting()
    model = quick().fit(X[:HALF], y[:HALF])
    assert model.encoder_.schema == NaiveBayes().fit(X[:HALF], y[:HALF]).encoder_.schema
    model.partial_fit(X[HALF:], y[HALF:])
    assert model.events_
    assert model.fit(X[:HALF], y[:HALF]).events_ == []


# Corners


def test_missing_labels_and_cells_are_left_out():
    X, y = drifting()
    X[::7, 0] = np.nan
    labels = [None if r > 100 and r % 5 == 0 else int(label) for r, label in enumerate(y)]
    known = [r for r, label in enumerate(labels) if label is not None]
    model = quick()
    with pytest.warns(tanager.DataWarning, match="no label"):
        model.partial_fit(X, labels)
    assert model.events_
    same(model, quick().partial_fit(X[known], y[known]))


def test_labels_of_any_kind_can_be_learned_in_chunks():
    import pandas as pd

    X, y = drifting()
    one, two = quick(), quick()
    one.partial_fit(pd.DataFrame(X, columns=["x0", "x1"]), pd.Series(y, name="target", index=range(5, 5 + len(y))))
    two.partial_fit(X.tolist(), y.tolist())
    assert one.events_ == two.events_
    assert one.target_name_ == "target"


def test_what_cannot_be_learned_is_refused_as_without_recut():
    X, y = drifting()
    model = quick().partial_fit(X[:200], y[:200])
    with pytest.raises(tanager.errors.DataError, match="X has 100 rows, y has 99"):
        model.partial_fit(X[:100], y[:99])
    with pytest.raises(tanager.errors.DataError, match="requires y to be passed"):
        model.partial_fit(X[:100])
    with pytest.raises(tanager.errors.DataError, match="column 'x0'"):
        model.learn_one({"x0": "high", "x1": 1.0}, 1)
    broken = X[:100].astype(object)
    broken[90, 1] = "high"
    with pytest.raises(tanager.errors.DataError, match="column 'x1', row 90"):
        model.partial_fit(broken, y[:100])
    assert model.counts_.n_rows == 200


def test_a_column_of_labels_is_taken_with_one_warning():
    X, y = drifting()
    for learn in (quick().fit, quick().partial_fit):
        with pytest.warns(Warning, match="A column-vector y was passed") as told:
            model = learn(X, y[:, None])
        assert len(told) == 1
        assert model.recutting.n_watched == len(y)


def test_unlearning_ends_the_moving_of_cut_points():
    X, y = drifting()
    model = quick().partial_fit(X[:130], y[:130]).unlearn(X[:50], y[:50]).partial_fit(X[130:], y[130:])
    assert model.events_ == []


def test_fading_by_hand_fades_what_is_summed_up():
    X, y = drifting()
    model = quick(decay=10_000).partial_fit(X[:HALF], y[:HALF]).fade(1e-6)
    model.partial_fit(X[HALF : HALF + 50], y[HALF : HALF + 50])
    assert all(moves.distance > 0.6 for moves in model.events_)
    assert model.events_


def test_models_whose_cut_points_have_moved_apart_are_not_merged():
    X, y = drifting()
    start = quick().partial_fit(X[:100], y[:100])
    here, there = (_copy(start) for _ in range(2))
    here.partial_fit(X[100:200], y[100:200])
    there.partial_fit(X[200:300], y[200:300])
    weight = here.counts_.n_rows + there.counts_.n_rows
    assert here.merge(there).counts_.n_rows == weight
    there.partial_fit(X[HALF:], y[HALF:])
    with pytest.raises(SchemaMismatch, match="cut points"):
        here.merge(there)
    windowed = quick(window=100).partial_fit(X[:200], y[:200])
    with pytest.raises(SchemaMismatch, match=r"into a window whose cut points follow.*Use recut=None, or decay"):
        windowed.merge(_copy(windowed))


def _copy(model):
    import copy

    return copy.deepcopy(model)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("gird", "recut='gird' is not an option.*Did you mean 'grid'"),
        (1000, 'recut=1000: give "grid", "sketch", a Recut, or None'),
    ],
)
def test_an_option_that_means_nothing_is_refused_before_anything_is_learned(value, message):
    with pytest.raises(OptionError, match=message):
        NaiveBayes(recut=value).partial_fit([[1.0]], [0])


@pytest.mark.parametrize(
    "options", [{"by": "tree"}, {"every": 0}, {"every": 1.5}, {"size": 1}, {"distance": 1}, {"distance": -1}]
)
def test_a_recut_that_means_nothing_is_refused(options):
    with pytest.raises(OptionError, match=next(iter(options))):
        Recut(**options)


# Files


@pytest.mark.parametrize("by", ["grid", "sketch"])
@pytest.mark.parametrize("options", [{}, {"decay": 100}, {"window": 150}, {"decay": "100 s"}])
def test_a_saved_model_goes_on_as_if_it_had_not_been_saved(by, options, tmp_path):
    X, y = drifting()
    times = np.arange(len(y)) * 1.5
    model = NaiveBayes(warm_up=100, recut=Recut(by, every=70), **options)
    for end in (130, 590, 900):  # before the first look, between two, after a move
        start = model.recutting.n_watched if hasattr(model, "counts_") else 0
        model.partial_fit(X[start:end], y[start:end], times=times[start:end])
        model.save(tmp_path / "model.tanager")
        loaded = tanager.load(tmp_path / "model.tanager")
        assert loaded.events_ == model.events_
        whole = _copy(model).partial_fit(X[end:], y[end:], times=times[end:])
        same(loaded.partial_fit(X[end:], y[end:], times=times[end:]), whole)


def state():
    X, y = drifting(m=230)
    model = quick().partial_fit(X, y)
    return {name.removeprefix("recut-"): array for name, array in model.recutting.to_arrays(model).items()}


GOOD = state()


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("state", GOOD["state"][:2]),
        ("state", np.array([230.0, np.nan, 500.0])),
        ("state", np.array([-1.0, np.nan, 10.0])),
        ("ages", GOOD["ages"][:1]),
        ("aged", GOOD["aged"] * np.nan),
        ("rows-codes", GOOD["rows-codes"][:5]),
        ("rows-codes", GOOD["rows-codes"] + 100),
        ("rows-codes", GOOD["rows-codes"].astype(float)),
        ("rows-labels", GOOD["rows-labels"] + 2),
        ("rows-weights", GOOD["rows-weights"] * np.nan),
        ("rows-times", GOOD["rows-times"][:5]),
        ("rows-numbers", GOOD["rows-numbers"][:, :1]),
        ("0-mark", GOOD["0-mark"][:1]),
        ("0-mark", GOOD["0-mark"] - 1e6),
        ("0-probes", GOOD["0-probes"][::-1].copy()),
        ("0-0-kept", GOOD["0-0-kept"][:1]),
    ],
)
def test_a_file_with_a_damaged_state_is_refused(name, bad):
    cutters = {0: ("mdl", 5, "n-1"), 1: ("mdl", 5, "n-1")}
    with pytest.raises(ModelFileError):
        NumberWatch(Recut("sketch"), cutters, 2, None).take_arrays(GOOD | {name: bad}, np.array([20, 20]))
    NumberWatch(Recut("sketch"), cutters, 2, None).take_arrays(GOOD, np.array([20, 20]))
