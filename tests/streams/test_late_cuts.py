"""Number columns that show nothing in the first rows of a stream are not lost: they are cut when they begin to vary."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from tanager import (
    A2DE,
    AODE,
    SPC,
    TAN,
    AnytimeAODE,
    DriftAware,
    EvolvingNaiveBayes,
    HalfLives,
    HoeffdingTree,
    NaiveBayes,
    NBTree,
    Recut,
)
from tanager.encoding import Column, Encoder
from tanager.encoding.bins import for_now, for_stream, mdl
from tanager.encoding.kinds import ENOUGH
from tanager.errors import DataError, DataWarning, SchemaMismatch
from tanager.persist import from_bytes, to_bytes

WARM = 60


def stream(m=600, start=100, first=0.5, seed=0):
    """Column a is one number up to row `start`, and then says what the class is; b says little."""
    rng = np.random.default_rng(seed)
    z = np.round(rng.normal(size=m), 3)
    a = np.where(np.arange(m) < start, first, z)
    return np.column_stack([a, rng.normal(size=m)]), (z > 0).astype(int)


def spc_in_contest(**options):
    """Columns compete for being its super-parent; it refused memory where one of them began to vary."""
    return SPC(super_parent="stream", **options)


def dicts(X):
    """Rows as dicts; missing cells are absent."""
    return [{f"x{i}": cell for i, cell in enumerate(row) if cell == cell} for row in X.tolist()]


def one_by_one(model, rows, y):
    """Answers before each row is learned."""
    answers = []
    for row, label in zip(rows, y.tolist(), strict=True):
        told = model.predict_proba_one(row)
        answers.append([told.get(c, 0.0 if told else 0.5) for c in (0, 1)])
        model.learn_one(row, label)
    return np.array(answers)


def same(a, b):
    assert a.encoder_.schema == b.encoder_.schema
    assert a.counts_ == b.counts_
    assert a.events_ == b.events_


# The first rows


def test_a_column_in_which_class_entropy_finds_nothing_keeps_bins_in_a_stream():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (4000, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)  # neither column tells anything alone
    model = AODE()
    right = model.test_then_train(X, y).argmax(axis=1) == y
    assert all(column.n_values == 10 for column in model.encoder_.schema.columns)
    assert right[2000:].mean() > 0.85


def test_fit_cuts_as_before_and_what_is_given_holds_for_streams():
    X, y = stream(start=0)
    assert NaiveBayes().fit(X, y).encoder_.schema == NaiveBayes(bins="mdl").fit(X, y).encoder_.schema
    assert AODE().fit(X, y).encoder_.schema == AODE(bins="refined").fit(X, y).encoder_.schema
    first = X[:WARM, 0]
    asked = AODE(warm_up=WARM, bins={"x0": "mdl"}).partial_fit(X, y)
    assert asked.encoder_.schema["x0"].cuts == tuple(mdl(first, y[:WARM]))
    assert asked.encoder_.schema["x1"].cuts == tuple(for_stream(X[:WARM, 1], y[:WARM]))


def test_provisional_bins_are_few_and_there_in_every_column():
    X, y = stream(start=0)
    model = NaiveBayes(warm_up=1000).partial_fit(X[:64], y[:64])
    cuts = {f"x{i}": for_now(X[:64, i], y[:64]).tolist() for i in range(2)}
    assert {name: len(own) for name, own in cuts.items()} == {"x0": 3, "x1": 3}  # class entropy finds none in x1
    assert model.predict_proba(X).tolist() == NaiveBayes(bins=cuts).fit(X[:64], y[:64]).predict_proba(X).tolist()
    asked = NaiveBayes(warm_up=1000, bins="mdl").partial_fit(X[:64], y[:64])
    assert asked.predict_proba(X).tolist() == NaiveBayes().fit(X[:64], y[:64]).predict_proba(X).tolist()


def test_a_column_that_is_cut_by_first_rows_for_now_is_no_event():
    """Else there would be one if somebody asked for an answer on the way, and none if nobody did."""
    rng = np.random.default_rng(0)
    rows = [
        {"a": "u"} | ({"late": float(x)} if r > 140 else {}) | {"b": float(x)}
        for r, x in enumerate(rng.normal(size=300))
    ]
    y = rng.integers(0, 2, 300).tolist()
    asked, silent = AODE(), AODE()
    for row, label in zip(rows, y, strict=True):
        asked.predict_proba_one(row)
        asked.learn_one(row, label)
        silent.learn_one(row, label)
    assert asked.predict_proba(rows).tolist() == silent.predict_proba(rows).tolist()
    assert len(asked.encoder_.schema["late"].cuts)
    assert asked.events_ == silent.events_ == []


def test_a_column_that_is_useless_by_the_bins_asked_for_is_named_once():
    X, y = stream(start=0)
    with pytest.warns(DataWarning, match="column 'x1' has one bin from now on") as told:
        NaiveBayes(warm_up=WARM, bins="mdl").partial_fit(X, y)
    assert len(told) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        NaiveBayes(warm_up=WARM).partial_fit(X, y)
        NaiveBayes(warm_up=WARM, bins="mdl", recut="grid").partial_fit(X, y)


# Columns that begin to vary


@pytest.mark.parametrize("first", [0.5, 0.0, 3.0, np.nan])
@pytest.mark.parametrize("cls", [NaiveBayes, AODE, TAN, spc_in_contest])
def test_a_column_that_did_not_vary_is_cut_when_it_does(first, cls):
    X, y = stream(m=1500, first=first)
    model = cls(warm_up=WARM)
    right = model.test_then_train(X, y).argmax(axis=1) == y
    column = model.encoder_.schema["x0"]
    assert column.kind == "numeric"
    assert 9 <= len(column.cuts) <= 11
    assert [event.column for event in model.events_] == ["x0"]
    assert 100 + ENOUGH <= model.events_[0].row <= 100 + ENOUGH + 5
    assert model.events_[0].what == "first cut points"
    assert right[300:].mean() > 0.93


@pytest.mark.parametrize("first", [0.5, np.nan])
def test_a_float_is_a_number_from_the_first_rows_on(first):
    X, y = stream(first=first)
    model = NaiveBayes(warm_up=WARM).partial_fit(X[:WARM], y[:WARM])
    known = () if first != first else (0.5,)
    assert model.encoder_.schema["x0"] == Column("x0", "numeric", known, cut_after=len(known) + ENOUGH)


GAUSSIAN = [
    NaiveBayes(gaussian=True, warm_up=WARM),
    EvolvingNaiveBayes(warm_up=WARM),
    DriftAware(NaiveBayes(gaussian=True, warm_up=WARM)),
    HalfLives(NaiveBayes(gaussian=True, warm_up=WARM)),
]


@pytest.mark.parametrize("model", GAUSSIAN, ids=repr)
def test_floats_that_are_missing_in_the_first_rows_have_a_normal_distribution_once_they_come(model):
    X, y = stream(m=1000, start=200, first=np.nan)
    whole, chunks, saved = (clone(model) for _ in range(3))
    whole.test_then_train(X, y)
    for start in range(0, len(y), 37):
        chunks.partial_fit(X[start : start + 37], y[start : start + 37])
    saved = from_bytes(to_bytes(saved.partial_fit(X[:150], y[:150]))).partial_fit(X[150:], y[150:])
    assert whole.encoder_.schema["x0"].kind == "continuous"
    assert (whole.predict(X[500:]) == y[500:]).mean() > 0.9
    for other in (chunks, saved):
        np.testing.assert_allclose(other.predict_proba(X), whole.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("first", [None, 3.0])
@pytest.mark.parametrize("model", GAUSSIAN, ids=repr)
def test_numbers_that_become_categories_are_told_at_once(model, first):
    X, y = stream(m=200, start=100)
    x0 = np.array([first] * 100 + X[100:, 0].tolist(), dtype=object)
    frame = pd.DataFrame({"x0": x0, "x1": X[:, 1]})
    model = clone(model).partial_fit(frame[:100], y[:100])
    with pytest.warns(
        DataWarning, match=r"column 'x0' holds numbers such as .*Give numeric=\['x0'\] beforehand"
    ) as told:
        model.partial_fit(frame[100:], y[100:])
    assert len({str(one.message) for one in told}) == 1


@pytest.mark.parametrize("model", GAUSSIAN, ids=repr)
def test_whole_numbers_that_become_others_among_the_first_rows_are_no_warning(model):
    X, y = stream(m=200, start=20, first=3.0)
    model = clone(model)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.test_then_train(X[:40], y[:40])
        one_by_one(model, dicts(X[40:80]), y[40:80])
        model.test_then_train(X[80:], y[80:])


def test_numbers_of_late_names_that_become_categories_are_told_at_once():
    X, y = stream(m=200, start=100, first=np.nan)
    with pytest.warns(DataWarning, match="column 'x0' holds numbers such as"):
        NaiveBayes(gaussian=True, warm_up=WARM).partial_fit(dicts(X), y)


def test_text_in_floats_that_were_all_missing_is_no_number_to_a_normal_distribution():
    X, y = stream(m=WARM, first=np.nan)
    model = NaiveBayes(gaussian=True, warm_up=WARM).partial_fit(X, y)
    with pytest.raises(DataError, match="'red' is not a number"):
        model.partial_fit([["red", 0.5]], [0])


WORDS = [
    NaiveBayes(warm_up=WARM),
    DriftAware(AODE(warm_up=WARM)),
    HalfLives(AODE(warm_up=WARM)),
    spc_in_contest(warm_up=WARM),
    NaiveBayes(warm_up=WARM, recut="grid"),
    HoeffdingTree(warm_up=WARM),
]


@pytest.mark.parametrize("model", WORDS, ids=repr)
def test_text_in_floats_that_were_all_missing_makes_categories(model):
    X, y = stream(m=300)
    words = np.array([["red", "blue"][label] for label in y], dtype=object)
    words[100] = "?"  # a missing cell, as long as there may be numbers
    frame = pd.DataFrame({"x0": np.full(300, np.nan), "x1": X[:, 1]})
    later = frame.assign(x0=words)
    chunks, rows = clone(model).partial_fit(frame[:100], y[:100]), clone(model).partial_fit(frame[:100], y[:100])
    chunks.partial_fit(later[100:200], y[100:200]).test_then_train(later[200:], y[200:])
    for row, label in zip(later[100:].to_dict("records"), y[100:].tolist(), strict=True):
        rows.learn_one(row, label)
    column = chunks.encoder_.schema["x0"]
    assert (column.kind, sorted(column.values)) == ("categorical", ["blue", "red"])
    assert rows.encoder_.schema["x0"] == column
    np.testing.assert_allclose(rows.predict_proba(later), chunks.predict_proba(later), atol=1e-9)
    assert (chunks.predict(later[200:]) == y[200:]).mean() > 0.95


def test_text_behind_numbers_is_refused():
    model = NaiveBayes(warm_up=WARM).partial_fit(*stream(m=WARM, first=np.nan))
    for rows in ([[0.5, 0.5], ["red", 0.5]], [["0.5", 0.5], ["red", 0.5]]):
        with pytest.raises(DataError, match="'red' is not a number"):
            model.partial_fit(rows, [0, 1])


def test_the_number_of_the_first_rows_has_a_bin_of_its_own():
    X, y = stream()
    column = NaiveBayes(warm_up=WARM).partial_fit(X, y).encoder_.schema["x0"]
    seen = np.unique(X[:, 0][: 100 + ENOUGH])
    at = int(np.searchsorted(seen, 0.5))
    assert (seen[at - 1] + 0.5) / 2 == pytest.approx(max(t for t in column.cuts if t < 0.5))
    assert (seen[at + 1] + 0.5) / 2 == pytest.approx(min(t for t in column.cuts if t >= 0.5))


def test_whole_numbers_that_become_many_are_cut_and_text_among_them_is_not():
    rng = np.random.default_rng(0)
    a = np.where(np.arange(1000) < 100, rng.integers(0, 5, 1000), rng.integers(0, 500, 1000))
    y = (a > 250).astype(int)
    model = NaiveBayes(warm_up=WARM).partial_fit(pd.DataFrame({"a": a}), y)
    assert model.encoder_.schema["a"].kind == "numeric"
    assert model.events_[0].column == "a"
    assert (model.predict(pd.DataFrame({"a": a[500:]})) == y[500:]).mean() > 0.9
    rows = [{"a": 1 + i % 2} for i in range(WARM)] + [{"a": "none"}] + [{"a": 100 + i} for i in range(300)]
    mixed = NaiveBayes(warm_up=WARM).partial_fit(rows, [i % 2 for i in range(len(rows))])
    assert mixed.encoder_.schema["a"].kind == "categorical"
    assert mixed.encoder_.schema["a"].n_values == 303


def test_categories_that_are_asked_for_stay():
    X, y = stream()
    with pytest.warns(DataWarning, match="give numeric"):
        model = NaiveBayes(warm_up=WARM, categorical=["x0"], max_values=200).partial_fit(X, y)
    assert model.encoder_.schema["x0"].other
    assert model.events_ == []


# The laws


FORGETTING = [{}, {"decay": 150}, {"window": 200}, {"window": 200, "decay": 300}]


@pytest.mark.parametrize("options", FORGETTING)
@pytest.mark.parametrize("cls", [NaiveBayes, AODE, TAN, A2DE, spc_in_contest])
def test_chunks_rows_frames_and_compiled_streams_agree(cls, options):
    X, y = stream(m=400, seed=1)
    compiled, whole, chunks, frames, rows = (cls(warm_up=WARM, **options) for _ in range(5))
    answers = compiled.test_then_train(X, y)
    whole.partial_fit(X, y)
    for start in range(0, len(y), 37):
        part = slice(start, start + 37)
        chunks.partial_fit(X[part], y[part])
        frames.partial_fit(pd.DataFrame(X[part], columns=["x0", "x1"]), y[part])
    told = one_by_one(rows, dicts(X), y)
    assert compiled.events_
    assert compiled.encoder_.schema["x0"].n_values > 5
    for other in (whole, chunks, frames, rows):
        same(compiled, other)
    np.testing.assert_allclose(answers, told, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("cls", [NaiveBayes, AODE, TAN, NBTree, AnytimeAODE])
def test_counts_are_those_of_all_rows_in_the_bins_of_now(cls):
    X, y = stream(m=400, seed=2)
    model = cls(warm_up=WARM).partial_fit(X[:230], y[:230])
    model.predict_proba(X[:5])
    model.partial_fit(X[230:], y[230:])
    again = cls(schema=model.encoder_.schema).fit(X, y)
    assert (model.counts_.joint("x0") == again.counts_.joint("x0")).all()
    if cls is not AnytimeAODE:  # validates by rows as they come
        np.testing.assert_allclose(model.predict_proba(X), again.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("options", FORGETTING)
@pytest.mark.parametrize("at", [30, 80, 150, 350])
@pytest.mark.parametrize("cls", [AODE, spc_in_contest])
def test_a_saved_model_goes_on_as_the_other(cls, options, at):
    X, y = stream(m=400, seed=3)
    one, other = (cls(warm_up=WARM, **options).partial_fit(X[:at], y[:at]) for _ in range(2))
    other = from_bytes(to_bytes(other))
    assert other.events_ == one.events_
    for model in (one, other):
        model.partial_fit(X[at:], y[at:])
    same(one, other)
    assert from_bytes(to_bytes(one)).events_ == one.events_ != []


def test_rows_leave_by_the_bins_of_now():
    X, y = stream(m=400, seed=4)
    model = AODE(warm_up=WARM).partial_fit(X, y).unlearn(X[50:300], y[50:300])
    rest = np.r_[0:50, 300:400]
    assert model.counts_ == AODE(schema=model.encoder_.schema).fit(X[rest], y[rest]).counts_


def test_models_merge_as_long_as_one_is_not_cut_and_else_refuse():
    X, y = stream(m=700, seed=5)
    cut = NaiveBayes(warm_up=WARM, bins={"x1": [0.0]}).partial_fit(X[150:], y[150:])
    part = NaiveBayes(warm_up=WARM, bins={"x1": [0.0]}).partial_fit(X[:150], y[:150])
    assert part.encoder_.schema["x0"].cut_after
    for one, other in ((part, cut), (cut, part)):
        both = from_bytes(to_bytes(one)).merge(other)
        assert both.counts_ == NaiveBayes(schema=cut.encoder_.schema).fit(X, y).counts_
    late = NaiveBayes(warm_up=WARM, bins={"x1": [0.0]}).partial_fit(X, y)
    with pytest.raises(SchemaMismatch, match="'x0' has 12 bins here and 10 there"):
        late.merge(cut)


def test_columns_that_come_late_in_dicts_are_numbers():
    rng = np.random.default_rng(0)
    z = rng.normal(size=700)
    rows = [{"b": float(i % 7), "c": "x"} | ({"a": float(v)} if i > 200 else {}) for i, v in enumerate(z)]
    y = (z > 0).astype(int)
    chunks, single = NaiveBayes(warm_up=WARM), NaiveBayes(warm_up=WARM)
    answers = chunks.test_then_train(rows, y)
    told = one_by_one(single, rows, y)
    same(chunks, single)
    np.testing.assert_allclose(answers, told, rtol=1e-9)
    assert chunks.encoder_.schema["a"].kind == "numeric"
    assert chunks.events_[0].row == 201 + ENOUGH
    assert (answers[350:].argmax(axis=1) == y[350:]).mean() > 0.9


@pytest.mark.parametrize("by", ["grid", "sketch"])
def test_with_recut_columns_without_any_number_are_cut_too(by):
    X, y = stream(m=1200, first=np.nan)
    X[:, 1] += np.where(np.arange(1200) < 600, 0, 9)
    made = [NaiveBayes(warm_up=WARM, recut=Recut(by, every=100)) for _ in range(3)]
    made[0].test_then_train(X, y)
    made[1].partial_fit(X, y)
    made[2].partial_fit(X[:450], y[:450])
    made[2] = from_bytes(to_bytes(made[2])).partial_fit(X[450:], y[450:])
    for other in made[1:]:
        same(made[0], other)
    assert {event.what for event in made[0].events_} == {"first cut points", "new cut points"}
    assert (made[0].predict(X[800:]) == y[800:]).mean() > 0.9


def test_half_lives_cut_all_members_alike():
    X, y = stream(m=700, seed=6)
    ladder, single = HalfLives(AODE(warm_up=WARM)), HalfLives(AODE(warm_up=WARM))
    answers = ladder.test_then_train(X, y)
    told = one_by_one(single, dicts(X), y)
    np.testing.assert_allclose(answers, told, rtol=1e-7, atol=1e-9)
    schemas = [model.encoder_.schema for model in ladder.members_]
    assert all(schema == schemas[0] for schema in schemas)
    assert schemas[0]["x0"].n_values > 5
    assert (answers[300:].argmax(axis=1) == y[300:]).mean() > 0.9
    alone = HalfLives(AODE(warm_up=WARM), half_lives=(float("inf"),)).test_then_train(X, y)
    np.testing.assert_allclose(alone, AODE(warm_up=WARM).test_then_train(X, y), rtol=1e-9)


@pytest.mark.parametrize("make", [HalfLives, lambda: HalfLives(TAN()), lambda: DriftAware(AODE())])
@pytest.mark.parametrize("first", [0.5, 0.0, np.nan])
def test_a_column_that_did_not_vary_in_a_table_is_cut_in_the_stream_after_it(first, make):
    """``fit`` with the past, then what comes: chunks, single rows and a saved model agree."""
    X, y = stream(start=300, first=first)
    models = [make().fit(X[:300], y[:300]) for _ in range(2)]
    models.append(from_bytes(to_bytes(models[0])))
    whole = models[0].test_then_train(X[300:], y[300:])
    chunks = [models[1].test_then_train(X[i : i + 37], y[i : i + 37]) for i in range(300, len(X), 37)]
    rows = one_by_one(models[2], [dict(zip(["x0", "x1"], row, strict=False)) for row in X[300:].tolist()], y[300:])
    np.testing.assert_allclose(np.concatenate(chunks), whole, atol=1e-12)
    np.testing.assert_allclose(rows, whole, atol=1e-12)
    for model in models:
        assert len(model.schema_["x0"].cuts) >= 8
    assert (whole[150:].argmax(axis=1) == y[450:]).mean() > 0.9


@pytest.mark.parametrize("first", [0.5, 2.0, np.nan])
def test_trees_and_drift_aware_models_cut_late_as_well(first):
    X, y = stream(m=700, first=first, seed=7)
    tree, single = HoeffdingTree(warm_up=WARM, grace=50), HoeffdingTree(warm_up=WARM, grace=50)
    answers = tree.test_then_train(X, y)
    told = one_by_one(single, dicts(X), y)
    np.testing.assert_allclose(answers, told, rtol=1e-9)
    assert [event.column for event in tree.events_] == ["x0"]
    assert tree.events_ == single.events_
    assert (answers[400:].argmax(axis=1) == y[400:]).mean() > 0.9
    aware = DriftAware(NaiveBayes(warm_up=WARM)).test_then_train(X, y)
    assert (aware[400:].argmax(axis=1) == y[400:]).mean() > 0.85


def test_a_column_that_a_tree_has_split_by_is_not_cut():
    rng = np.random.default_rng(0)
    a = np.where(np.arange(1200) < 800, rng.integers(0, 3, 1200), rng.integers(0, 400, 1200)).astype(float)
    y = np.where(a < 3, a == 1, a > 200).astype(int)
    tree = HoeffdingTree(warm_up=WARM, grace=50).partial_fit(a[:, None], y)
    assert tree.n_leaves_ > 1
    assert tree.encoder_.schema["x0"].kind == "categorical"
    assert tree.events_ == []


def test_a_number_that_was_not_seen_before_is_no_error():
    X, y = stream(m=WARM)
    model = NaiveBayes(warm_up=WARM, unseen="error").partial_fit(X, y)
    assert np.isfinite(model.predict_proba([[0.7, 0.0]])).all()


def test_the_encoder_cuts_at_the_same_row_whatever_the_chunks():
    X, y = stream(m=300)
    encoders = [Encoder(bins="frequency").learn(X[:WARM], y[:WARM], first=True) for _ in range(3)]
    encoders[0].update(X[WARM:])
    for start in range(WARM, 300, 7):
        encoders[1].update(X[start : start + 7])
    for row in dicts(X[WARM:]):
        encoders[2].update_row(row)
    assert encoders[0].schema == encoders[1].schema == encoders[2].schema
    again = Encoder(bins="frequency").learn(X[:WARM], y[:WARM], first=True)
    until = again.rows_until_cut(X[WARM:])
    again.update(X[WARM : WARM + until])
    assert again.schema["x0"].cut_after
    again.update(X[WARM + until : WARM + until + 1])
    assert again.schema == encoders[0].schema
    assert again.take_cuts() == {0: 0}
    assert again.take_cuts() == {}
