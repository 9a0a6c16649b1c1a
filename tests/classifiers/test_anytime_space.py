"""Anytime models in little memory: as many members as fit, chosen by their worth, and nothing else changes."""

import re
import warnings
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles import examples
from registry import small_table
from strategies import tables
from tanager import AnytimeA2DE, AnytimeAODE, DataWarning, JointCounts, MemoryBudgetError, load, save
from tanager.counts.memory import as_bytes
from tanager.scoring.forms import StagedSum
from tanager.structure.measures import class_information

BOTH = [AnytimeAODE, AnytimeA2DE]
FITS = r"super-parents fit into the memory of max_memory"


def coded(n_rows=300, n=6, seed=0):
    """Columns of three values; the later ones tell more about the class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n_rows)
    X = np.where(rng.random((n_rows, n)) < 0.1 * (1 + np.arange(n)), (y[:, None] + np.arange(n)) % 3, 7)
    X = np.where(X == 7, rng.integers(0, 3, (n_rows, n)), X).astype(np.uint8)
    X[rng.random(X.shape) < 0.03] = 255
    return X, y


def size_of(cls, X, y):
    return cls(member_order="given", stop="all").fit(X, y).counts_.nbytes


def room_for(cls, X, y, share):
    """What there is without members, and a share of all that members read."""
    counts = cls(member_order="given", stop="all").fit(X, y).counts_
    n, n_values, k = counts.n_features, counts.schema.n_values, counts.n_classes
    base = JointCounts.estimate_bytes(n_values, k, cls.order - 1)
    sets = list(combinations(range(n), cls.order))
    return base + share * (JointCounts.estimate_bytes(n_values, k, cls.order - 1, families=sets) - base)


def restricted(model):
    """A model of the same options that has the kept members only, and all counts."""
    kept = model.kept_members
    cls = type("Restricted", (type(model),), {"members_of": lambda self, n: kept})
    cls.__module__ = type(model).__module__
    options = {name: value for name, value in model.get_params(deep=False).items() if name != "max_memory"}
    twin = cls(**options)
    information = type(model)._information

    def of_kept(self, counts):
        every = type(model).members_of(model, counts.n_features)
        found = dict(zip(every, information(model, counts), strict=True))
        return np.array([found[member] for member in kept])

    cls._information = of_kept
    return twin


@pytest.mark.parametrize("cls", BOTH)
def test_a_budget_that_fits_all_changes_nothing(cls):
    X, y = coded()
    free, exact = cls().fit(X, y), cls(max_memory=size_of(cls, X, y)).fit(X, y)
    assert exact.counts_ == free.counts_
    assert exact.order_ == free.order_
    assert exact.members_ == free.members_
    np.testing.assert_array_equal(exact.predict_proba(X), free.predict_proba(X))


OPTIONS = [
    (0.5, {}),
    (0.7, {"stop": "all", "mix": "replace"}),
    (0.9, {"member_order": "mi", "weights": "mi", "stop": "all"}),
    (0.6, {"member_order": "given", "weights": "loo", "mix": "posterior"}),
    (0.8, {"member_order": "random", "random_state": 3, "stop": "margin", "odds": 5.0}),
    (0.7, {"smoothing": 0, "stop": "budget", "members": 2, "unseen": "smooth"}),
]


@pytest.mark.parametrize(("share", "options"), OPTIONS, ids=str)
@pytest.mark.parametrize("cls", BOTH)
def test_less_memory_is_the_model_restricted_to_the_members_that_fit(cls, share, options):
    """To the last digit but for the order of sums; the same members, in the same order, with the same weights."""
    X, y = coded()
    budget = room_for(cls, X, y, share)
    with pytest.warns(DataWarning, match=FITS):
        model = cls(max_memory=budget, **options).fit(X, y)
    everything = cls(**options).fit(X, y)
    assert model.counts_.nbytes <= budget
    assert 0 < len(model.members_) < len(everything.members_)
    twin = restricted(model).fit(X, y)
    assert model.order_ == twin.order_
    assert model.n_members_ == twin.n_members_
    np.testing.assert_allclose(model.predict_proba(X), twin.predict_proba(X), rtol=1e-9)
    np.testing.assert_allclose(model.predict_proba(X[:3]), twin.predict_proba(X[:3]), rtol=1e-9)
    np.testing.assert_allclose(model.leave_one_out(X, y), twin.leave_one_out(X, y), rtol=1e-9)
    told = model.explain(X[:1])
    if "posterior" not in options.values():
        assert told.prior + sum(part.log_odds for part in told.parts) == pytest.approx(told.log_odds, abs=1e-9)


@examples(16)
@given(table=tables(min_columns=3, max_columns=5, weighted=True), share=st.floats(0, 1.2), cls=st.sampled_from(BOTH))
def test_any_budget_on_any_table_is_the_restricted_model(table, share, cls):
    table = table.without_weightless_rows()
    options = {"member_order": "given", "stop": "all", "mix": "joint"}
    rows = table.X, table.y, table.w
    whole = cls(**options).fit(*rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        model = cls(max_memory=max(1, room_for(cls, table.X, table.y, share)), **options).fit(*rows)
    assert model.counts_.nbytes <= as_bytes(model.max_memory)
    form = replace(whole.structure_, members=model.kept_members, weight=(1.0,) * len(model.kept_members))
    expected = whole.view_of(form)
    same = {"rtol": 1e-9, "atol": 1e-12}
    np.testing.assert_allclose(model.predict_proba(table.Q), expected.score(whole.encode(table.Q)), **same)
    block = whole.known_rows(*rows)
    np.testing.assert_allclose(model.leave_one_out(*rows), expected.leave_one_out(block), **same)


def test_the_members_that_tell_most_about_the_class_are_kept():
    X, y = coded()
    with pytest.warns(DataWarning, match=FITS):
        model = AnytimeAODE(max_memory=room_for(AnytimeAODE, X, y, 0.6)).fit(X, y)
    n = len(model.members_)
    worth = class_information(AnytimeAODE().fit(X, y).counts_)
    assert model.members_ == [f"x{i}" for i in sorted(np.argsort(-worth)[:n])]
    assert set(model.order_) == set(model.members_)


def test_a_member_whose_sets_are_there_anyway_costs_nothing():
    """All pairs one by one take less than the table of pairs, which holds each of them twice."""
    X, y = coded()
    singles = JointCounts.estimate_bytes([3] * 6, 3, order=1)
    pairs = 15 * 4 * 4 * 3 * 8
    assert singles + pairs < size_of(AnytimeAODE, X, y)
    model = AnytimeAODE(max_memory=singles + pairs).fit(X, y)  # without a warning
    assert len(model.members_) == 6
    np.testing.assert_allclose(model.predict_proba(X), AnytimeAODE().fit(X, y).predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize("cls", BOTH)
def test_without_room_for_any_member_the_rest_answers(cls):
    X, y = coded()
    budget = JointCounts.estimate_bytes([3] * 6, 3, order=cls.order - 1)
    with pytest.warns(DataWarning, match="0 of"):
        model = cls(max_memory=budget).fit(X, y)
    assert model.members_ == []
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    if cls is AnytimeAODE:
        np.testing.assert_allclose(proba, AnytimeAODE().fit(X, y).predict_proba(X, members=0), rtol=1e-9)
    with pytest.raises(MemoryBudgetError, match="the budget is"):
        cls(max_memory=budget - 1).fit(X, y)


# --- streams ----------------------------------------------------------------------------------------------------


def words(n_rows, seed=0, first=0):
    """Text with ever new words."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_rows)
    rows = []
    for r, label in enumerate(y.tolist()):
        newest = 2 + (first + r) // 12
        rows.append([f"w{label if rng.random() < 0.3 + 0.1 * i else rng.integers(0, newest)}" for i in range(5)])
    return rows, y


@pytest.mark.parametrize("cls", BOTH)
def test_a_growing_vocabulary_drops_the_members_with_the_most_errors(cls):
    X, y = words(400)
    budget = room_for(cls, X, y, 0.7)
    model = cls(max_memory=budget, warm_up=1)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for start in range(0, 400, 40):
            model.partial_fit(X[start : start + 40], y[start : start + 40], classes=[0, 1])
            assert model.counts_.nbytes <= budget
            assert set(model.member_errors_) == {None, *model.members_}  # validated by what has come so far
    assert [bool(re.search(FITS, str(one.message))) for one in told] == [True]
    assert 0 < len(model.members_) < len(model.members_of(5))
    members = model.kept_members
    form = StagedSum(members, (1.0,) * len(members), 1.0, model.structure_.otherwise)
    whole = cls(member_order="given", stop="all").fit(X, y).view_of(form)
    np.testing.assert_allclose(model.view_of(form).score(model.encode(X)), whole.score(model.encode(X)), rtol=1e-9)


def test_validated_members_are_dropped_by_their_errors():
    """Whatever they tell about the class: here the columns that tell least make the fewest errors."""
    X, y = coded()
    model = AnytimeAODE().fit(X, y)
    model.validation.scores.alone[0, 1:] = np.arange(6)
    model.set_params(max_memory=room_for(AnytimeAODE, X, y, 0.9))  # for three classes; four come
    with pytest.warns(DataWarning, match=FITS):
        model.partial_fit(X[:1], [3])
    assert model.members_ == ["x0", "x1"]


@pytest.mark.parametrize("cls", BOTH)
def test_a_stream_in_little_memory_runs_along_as_one_by_one(cls):
    X, y = words(200)
    budget = room_for(cls, X[:150], y[:150], 0.7)
    options = {"max_memory": budget, "warm_up": 1, "member_order": "given", "stop": "all"}
    with pytest.warns(DataWarning, match=FITS):
        whole = cls(**options).partial_fit(X[:150], y[:150])
    single = cls(**options)
    with pytest.warns(DataWarning, match=FITS):
        single.partial_fit(X[:150], y[:150])
    answers = []
    for row, label in zip(X[150:], y[150:].tolist(), strict=True):
        one = {f"x{i}": cell for i, cell in enumerate(row)}
        answers.append(list(single.predict_proba_one(one).values()))
        single.learn_one(one, label)
    np.testing.assert_allclose(whole.test_then_train(X[150:], y[150:]), answers, rtol=1e-9)
    assert whole.members_ == single.members_
    assert whole.counts_ == single.counts_


def test_new_classes_and_columns_drop_members_too():
    X, y = words(150)
    budget = room_for(AnytimeAODE, X, y, 1.1)
    model = AnytimeAODE(max_memory=budget, warm_up=1).fit(X, y)
    assert len(model.members_) == 5
    with pytest.warns(DataWarning, match=FITS):
        model.partial_fit(X[:1], [2])
    kept = len(model.members_)
    assert 0 < kept < 5
    model.learn_one({f"x{i}": "0" for i in range(5)} | {"later": "yes"}, 0)
    model.learn_one({f"x{i}": "1" for i in range(5)} | {"later": "no"}, 1)
    assert len(model.members_) <= kept
    assert model.counts_.nbytes <= budget
    proba = model.predict_proba_one({"x0": "0", "later": "yes"})
    assert sum(proba.values()) == pytest.approx(1)


# --- the rest of a model's life ---------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", BOTH)
def test_files_unlearning_and_merging_know_the_members(cls, tmp_path):
    X, y = coded()
    budget = room_for(cls, X, y, 0.6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        schema = cls().fit(X, y).encoder_.schema
        make = lambda: cls(max_memory=budget, schema=schema, stop="all", member_order="given")  # noqa: E731
        model, first = make().fit(X, y), make().fit(X[:200], y[:200])
        second = make().fit(np.roll(X[200:], 1, axis=1), y[200:])  # where the first column tells most
    save(model, tmp_path / "model.tanager")
    again = load(tmp_path / "model.tanager")
    assert again.members_ == model.members_
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    again.unlearn(X[200:], y[200:])
    twin = restricted(model).fit(X[:200], y[:200])
    np.testing.assert_allclose(again.predict_proba(X), twin.predict_proba(X), rtol=1e-9)
    ours, theirs = set(first.members_), list(second.members_)
    first.merge(second)
    assert 0 < len(first.members_) < len(ours)
    assert set(first.members_) == ours & set(theirs)
    assert second.members_ == theirs
    twin = restricted(first).fit(np.concatenate([X[:200], np.roll(X[200:], 1, axis=1)]), y)
    np.testing.assert_allclose(first.predict_proba(X), twin.predict_proba(X), rtol=1e-9)


def test_mixed_tables_with_gaps_keep_members_and_can_be_asked_for_them():
    X, y = small_table(200)
    with pytest.warns(DataWarning, match=FITS):
        model = AnytimeAODE(max_memory=room_for(AnytimeAODE, X, y, 0.6)).fit(X, y)
    assert set(model.members_) < {f"x{i}" for i in range(5)}
    assert model.super_parent_ in model.members_
    assert (model.answer(X, members=1).members <= 1).all()
