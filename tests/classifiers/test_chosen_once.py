"""KDB and SelectiveKDB whose structure is chosen once: its families learn on without rows, as if they had them."""

import copy
import pickle
import sys
from collections import Counter
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import oracle
from profiles import examples
from strategies import tables
from tanager import KDB, BestOf, DataError, MemoryBudgetError, NBTree, SchemaMismatch, SelectiveKDB
from tanager.errors import ModelFileError
from tanager.files import delimited, learn, open_table, unlearn, update
from tanager.persist import from_bytes, to_bytes

ONCE = float("inf")
BOTH = pytest.mark.parametrize("cls", [KDB, SelectiveKDB])
module = sys.modules["tanager.files.learn"]  # its name leads to the function


def made(cls, k=2, **options):
    return cls(k=k, refresh=ONCE, categorical="all", **options)


def parts_of(table, cuts):
    """The rows in some chunks."""
    edges = sorted({0, len(table.rows), *(min(cut, len(table.rows)) for cut in cuts)})
    return [(table.X[a:b], table.y[a:b]) for a, b in pairwise(edges)]


def assert_families_are_counted(model, rows, labels, weights=None):
    """The slow twin: every cell of every family from a dictionary of the rows."""
    columns, weights = model.encoder_.schema.columns, [1.0] * len(rows) if weights is None else weights
    form = model.structure_
    families = {(*parents[:size], i) for i, parents in zip(form.child, form.parents, strict=True) for size in range(5)}
    for family in families:
        seen = Counter()
        for row, label, weight in zip(rows, labels, weights, strict=True):
            seen[(label, *(row[i] for i in family))] += weight
        joint = model.counts_.joint(*family)
        for c, label in enumerate(model.classes_.tolist()):
            for cell in product(*(range(columns[i].n_values) for i in family)):
                values = tuple(columns[i].values[v] for i, v in zip(family, cell, strict=True))
                assert joint[(c, *cell)] == pytest.approx(seen[(label, *values)], rel=1e-12, abs=1e-12)


def oracle_answers(model, table, queries):
    """P(y | row) from all rows by the formula as printed, with the structure that the model holds."""
    columns, form = model.encoder_.schema.columns, model.structure_
    place = [{value: v for v, value in enumerate(column.values)} for column in columns]

    def coded(rows):
        return [tuple(place[i].get(value) for i, value in enumerate(row)) for row in rows]

    labels = [model.classes_.tolist().index(label) for label in table.y]
    data = oracle.make(coded(table.rows), labels, None, [len(p) for p in place], len(model.classes_))
    terms = [(i, parents, 1.0, ()) for i, parents in zip(form.child, form.parents, strict=True)]
    return [oracle.posterior(data, oracle.product_of_terms(data, x, terms, (), oracle.LAPLACE)) for x in coded(queries)]


# --- laws --------------------------------------------------------------------------------------------------------


@BOTH
@examples(60)
@given(table=tables(min_rows=4), k=st.integers(0, 3), first=st.integers(2, 12), cuts=st.lists(st.integers(1, 25)))
def test_families_go_on_learning_whatever_comes_and_no_row_is_kept(cls, table, k, first, cuts):
    """New values, new classes and gaps come in chunks after the choice; counts and answers are those of all rows."""
    (X, y), *later = parts_of(table, [first, *cuts])
    model = made(cls, k, smoothing=1).fit(X, y)
    chosen = model.structure_
    for X, y in later:
        model.partial_fit(X, y)
    assert model.memory.rows is None
    assert model.structure_ == chosen
    assert_families_are_counted(model, table.rows, table.y.tolist())
    np.testing.assert_allclose(model.predict_proba(table.Q), oracle_answers(model, table, table.queries), rtol=1e-9)


@BOTH
@examples(40)
@given(
    table=tables(min_rows=4),
    k=st.integers(0, 3),
    cuts=st.lists(st.integers(1, 25), max_size=3),
    seed=st.integers(0, 9999),
)
def test_chunks_and_order_do_not_matter_before_the_choice_nor_after_it(cls, table, k, cuts, seed):
    whole, parts = made(cls, k).fit(table.X, table.y), made(cls, k)
    for X, y in parts_of(table, cuts):
        parts.partial_fit(X, y)
    assert parts.structure_ == whole.structure_ == cls(k=k, categorical="all").fit(table.X, table.y).structure_
    assert parts.counts_ == whole.counts_
    order = np.random.default_rng(seed).permutation(len(table.rows))
    whole.partial_fit(table.X, table.y)
    for r in order.tolist():
        parts.partial_fit([table.X[r]], table.y[[r]])
    assert parts.counts_ == whole.counts_
    np.testing.assert_array_equal(parts.predict_proba(table.Q), whole.predict_proba(table.Q))


@BOTH
@examples(40)
@given(table=tables(min_rows=6), k=st.integers(0, 3), first=st.integers(2, 6))
def test_merging_is_learning_the_rows_of_the_other_and_unlearning_takes_them_away(cls, table, k, first):
    (X, y), *later = parts_of(table, [first])
    assume(later)
    chosen = made(cls, k).fit(X, y)
    expected = copy.deepcopy(chosen).partial_fit(*later[0])
    waiting = made(cls, k).partial_fit(*later[0])  # has kept its rows, and chosen nothing yet
    merged = copy.deepcopy(chosen).merge(waiting)
    assert merged.structure_ == chosen.structure_
    assert merged.counts_ == expected.counts_
    assert waiting.memory.rows is not None or k < 2

    halves = [copy.deepcopy(chosen).partial_fit(*part) for part in ((X, y), later[0])]
    both = halves[0].merge(halves[1])  # the first rows three times, the others once
    assert both.counts_ == copy.deepcopy(expected).partial_fit(X, y).partial_fit(X, y).counts_
    both.unlearn(X, y).unlearn(X, y)
    assert both.counts_ == expected.counts_
    np.testing.assert_array_equal(both.predict_proba(table.Q), expected.predict_proba(table.Q))


@BOTH
@examples(30)
@given(table=tables(min_rows=4), k=st.integers(0, 3), first=st.integers(2, 12), smooth=st.booleans())
def test_a_saved_model_goes_on_as_the_one_that_was_saved(cls, table, k, first, smooth):
    (X, y), *later = parts_of(table, [first])
    model = made(cls, k, unseen="smooth" if smooth else "ignore").fit(X, y)
    for X, y in later:
        model.partial_fit(X, y)  # which may bring values, so that the structure is bound to counts of another layout
    again, copied = from_bytes(to_bytes(model)), pickle.loads(pickle.dumps(model))
    for other in (again, copied):
        assert other.memory.rows is None
        assert other.structure_ == model.structure_
        np.testing.assert_array_equal(other.predict_proba(table.Q), model.predict_proba(table.Q))
    for one in (model, again, copied):
        one.partial_fit([["z"] * table.n, *table.X], ["new", *table.y])
    for other in (again, copied):
        assert other.structure_ == model.structure_
        assert other.counts_ == model.counts_


@BOTH
@examples(30)
@given(table=tables(min_rows=4), first=st.integers(2, 8), seed=st.integers(0, 9999))
def test_fading_families_are_those_of_faded_rows(cls, table, first, seed):
    (X, y), *later = parts_of(table, [first])
    model = made(cls, decay=0.9).fit(X, y)
    model.structure_  # noqa: B018  the choice
    for X, y in later:
        model.test_then_train(X, y)
    assert model.memory.rows is None
    age = len(table.rows) - 1 - np.arange(len(table.rows))
    assert_families_are_counted(model, table.rows, table.y.tolist(), 0.9**age)
    r = int(np.random.default_rng(seed).integers(len(table.rows)))
    model.unlearn([table.X[r]], table.y[[r]], times=[r + 1])
    weights = np.where(np.arange(len(table.rows)) == r, 0.0, 0.9**age)
    assert_families_are_counted(model, table.rows, table.y.tolist(), weights)


@BOTH
@examples(20)
@given(table=tables(min_rows=4), first=st.integers(2, 8), size=st.integers(2, 9))
def test_a_window_keeps_its_own_rows_and_the_structure_is_held_as_well(cls, table, first, size):
    (X, y), *later = parts_of(table, [first])
    model = made(cls, window=size).fit(X, y)
    chosen = model.structure_
    for X, y in later:
        model.partial_fit(X, y)
    assert model.structure_ == chosen
    assert len(model.memory.rows) == min(size, len(table.rows))
    assert_families_are_counted(model, table.rows[-size:], table.y.tolist()[-size:])
    assert from_bytes(to_bytes(model)).structure_ == chosen


@BOTH
@examples(20)
@given(table=tables(min_rows=4), first=st.integers(1, 8))
def test_a_stream_in_compiled_code_is_the_stream_row_by_row(cls, table, first):
    (X, y), *later = parts_of(table, [first])
    fast, slow = (made(cls).fit(X, y) for _ in range(2))
    for X, y in later:
        answers = fast.test_then_train(X, y)
        for row, label, got in zip(X, y.tolist(), answers, strict=True):
            row = {f"x{i}": value for i, value in enumerate(row)}
            expected = slow.predict_proba_one(row)
            given = dict(zip(fast.classes_.tolist(), got.tolist(), strict=True))
            assert all(given[c] == pytest.approx(p, rel=1e-12) for c, p in expected.items())
            slow.learn_one(row, label)
    assert fast.counts_ == slow.counts_
    assert fast.memory.rows is slow.memory.rows is None


# --- what else comes ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def dependent():
    """Three columns that belong together and two of noise."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 4, (400, 5)), rng.integers(0, 2, 400)
    X[:, 1], X[:, 2] = (X[:, 0] + y) % 4, (X[:, 0] + X[:, 1] + (rng.random(400) < 0.1)) % 4
    return X.astype(str), y


def test_memory_does_not_grow_with_rows(dependent):
    model = made(KDB).fit(*dependent)
    size, saved = model.counts_.nbytes, len(to_bytes(model))
    for _ in range(20):
        model.partial_fit(*dependent)
    assert model.counts_.nbytes == size
    assert len(to_bytes(model)) < saved * 1.1
    assert model.memory.rows is None


def test_only_the_families_of_the_structure_stay(dependent):
    model = made(SelectiveKDB, k=3).fit(*dependent)
    assert model.k_ < 3
    assert set(model.counts_.families) == set(model.structure_.families())


@BOTH
def test_sparse_families_go_on_learning_too(cls, dependent, monkeypatch):
    X, y = dependent
    dense = made(cls, k=3).fit(X[:200], y[:200]).partial_fit(X[200:], y[200:])
    monkeypatch.setattr("tanager.learning.memory.sparse_families", lambda families, *_: families)
    sparse = made(cls, k=3).fit(X[:200], y[:200]).partial_fit(X[200:], y[200:])
    assert sparse.counts_.sparse == frozenset(sparse.counts_.families)
    assert_families_are_counted(sparse, X.tolist(), y.tolist())
    np.testing.assert_allclose(sparse.predict_proba(X), dense.predict_proba(X), rtol=1e-12)
    again = from_bytes(to_bytes(sparse)).merge(sparse).unlearn(X, y)
    assert again.counts_ == sparse.counts_


def test_columns_that_come_later_depend_on_the_class_alone(dependent):
    X, y = dependent
    rows = [{f"x{i}": value for i, value in enumerate(row)} for row in X.tolist()]
    model, selective = made(KDB).fit(rows, y), made(SelectiveKDB).fit(rows, y)
    before = model.parents_
    for one in (model, selective):
        chosen = one.parents_
        for row, label in zip(rows[:50], y.tolist(), strict=False):
            one.learn_one(row | {"late": f"l{label}"}, label)
        assert {name: parents for name, parents in one.parents_.items() if name != "late"} == chosen
        assert from_bytes(to_bytes(one)).parents_ == one.parents_
    assert model.parents_ == before | {"late": ()}
    assert "late" not in selective.parents_  # it was not judged
    late = model.predict_proba([{"late": "l0"}, {"late": "l1"}])
    assert late[0, 0] > 0.9 > 0.1 > late[1, 0]


def test_rows_are_kept_until_the_first_answer_and_cut_points_are_fixed_first():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 3))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    model = KDB(refresh=ONCE, warm_up=100)
    model.partial_fit(X[:40], y[:40]).predict(X)  # provisional: cut points are learned again
    model.partial_fit(X[40:200], y[40:200])
    assert len(model.memory.rows) == 200
    chosen = model.structure_
    assert model.memory.rows is None
    assert chosen == KDB(schema=model.encoder_.schema).fit(X[:200], y[:200]).structure_
    assert model.partial_fit(X[200:], y[200:]).structure_ == chosen


def test_rows_are_kept_where_they_are_needed_later(dependent):
    X, y = dependent
    for options in ({"refresh": None}, {"refresh": 10**9}, {"calibrate": True}, {"recut": "grid"}):
        model = KDB(**{"refresh": ONCE, **options}).fit(X, y)
        assert len(model.memory.rows) == len(y)
    assert KDB(k=1).fit(X, y).memory.rows is None


def test_parts_of_other_models_leave_shared_rows_alone(dependent):
    X, y = dependent
    for model in (BestOf([KDB(refresh=ONCE), SelectiveKDB(refresh=ONCE)]), NBTree(leaf=KDB(refresh=ONCE))):
        model.fit(X[:300], y[:300]).partial_fit(X[300:], y[300:])
        assert len(model.memory.rows) == len(y)
        assert np.isfinite(model.predict_proba(X)).all()


# --- what is refused ---------------------------------------------------------------------------------------------


def refused(kind, words, act, model):
    before, rows = model.counts_.copy(), model.memory.rows
    with pytest.raises(kind, match=words):
        act()
    assert model.counts_ == before
    assert model.memory.rows is rows


def test_models_that_cannot_be_merged_are_told_so_and_stay_as_they_are(dependent):
    X, y = dependent
    chosen, other = made(KDB).fit(X, y), made(KDB).fit(X[:, ::-1], y)
    assert chosen.structure_ != other.structure_
    refused(SchemaMismatch, "has not counted the families of it", lambda: chosen.merge(other), chosen)
    waiting = made(KDB).partial_fit(X, y)
    refused(SchemaMismatch, "Merge this one into the other", lambda: waiting.merge(chosen), waiting)
    assert chosen.merge(waiting).counts_.n_rows == 2 * len(y)
    wide, narrow = made(KDB, k=3).fit(X, y), made(KDB, k=2).fit(X, y)
    assert set(narrow.counts_.families) < set(wide.counts_.families)
    assert narrow.merge(wide).counts_ == made(KDB, k=2).fit(X, y).partial_fit(X, y).counts_


def test_rows_that_were_never_learned_cannot_be_unlearned(dependent):
    X, y = dependent
    model = made(KDB).fit(X[:20], y[:20])
    refused(DataError, "never added", lambda: model.unlearn(X, y), model)


def test_a_file_without_the_families_of_its_structure_is_refused(dependent):
    model, other = made(KDB).fit(*dependent), made(KDB, k=1).fit(*dependent)
    state, poor = model.to_state(), other.to_state()
    poor["view"] = state["view"]
    with pytest.raises(ModelFileError, match="families of its structure"):
        made(KDB).from_state(poor)


def test_rows_beyond_the_budget_are_refused_with_a_way_out(dependent):
    X, y = dependent
    with pytest.raises(MemoryBudgetError, match=r"chosen once \(refresh=inf\), after which no rows are kept"):
        KDB(max_memory=30_000).fit(np.repeat(X, 10, axis=0), np.repeat(y, 10))
    waiting = KDB(max_memory=30_000, refresh=ONCE)
    with pytest.raises(MemoryBudgetError, match="Ask for structure_ earlier"):
        waiting.fit(np.repeat(X, 10, axis=0), np.repeat(y, 10))
    model = KDB(max_memory=30_000, refresh=ONCE).fit(X, y)
    for _ in range(20):
        model.partial_fit(X, y)
    assert model.counts_.n_rows == 21 * len(y)


# --- files -------------------------------------------------------------------------------------------------------


def csv_of(X, y, path):
    lines = [",".join(f"c{i}" for i in range(X.shape[1])) + ",class"]
    lines += [",".join([*row, label]) for row, label in zip(X.tolist(), y.tolist(), strict=True)]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def file(tmp_path, monkeypatch):
    """Too large to be read whole; gaps, rows without a label, and values and a class that only its last rows have."""
    rng = np.random.default_rng(1)
    X, y = rng.integers(0, 4, (900, 6)), rng.integers(0, 3, 900)
    X[:, 1], X[:, 2] = (X[:, 0] + y) % 4, (X[:, 0] + X[:, 1] + (rng.random(900) < 0.2)) % 4
    X, y = np.char.add("v", X.astype(str)).astype("U9"), np.char.add("k", y.astype(str)).astype("U9")
    X[rng.random(X.shape) < 0.05], y[::50] = "", ""
    X[-5:, 3], y[-3:] = "late", "rare"
    monkeypatch.setattr(module, "WHOLE", 0)
    monkeypatch.setattr(module, "SAMPLE", 50)
    monkeypatch.setattr(module, "CHUNK", 37)
    monkeypatch.setattr(delimited, "BLOCK", 500)
    monkeypatch.setattr("tanager.learning.memory.ROWS_AT_ONCE", 100)
    return csv_of(X, y, tmp_path / "data.csv")


def whole(model, path):
    """Read the file, leave out rows without a label, fit."""
    table = open_table(path).read()
    table = table.filter(table["class"].is_valid())
    return model.fit(table.drop_columns(["class"]), table["class"].to_pylist())


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("cls", "passes"), [(KDB, 2), (SelectiveKDB, 3)])
def test_a_large_file_is_read_in_passes_and_learned_as_a_whole_table(cls, passes, sparse, file, monkeypatch):
    if sparse:
        monkeypatch.setattr("tanager.learning.memory.sparse_families", lambda families, *_: families)
    source, read = open_table(file), []
    chunks = source.chunks
    monkeypatch.setattr(source, "chunks", lambda *args: read.append(0) or chunks(*args))
    model = learn(cls(k=3, refresh=ONCE), source, "class").model
    assert len(read) == passes
    assert model.memory.rows is model.memory.read is None
    asked = open_table(file).read().drop_columns(["class"])
    for refresh in (ONCE, None):  # of which the second keeps its rows
        twin = whole(cls(k=3, refresh=refresh), file)
        assert model.structure_ == twin.structure_
        np.testing.assert_array_equal(model.predict_proba(asked), twin.predict_proba(asked))
        if cls is SelectiveKDB:
            np.testing.assert_array_equal(model.losses_, twin.losses_)
            assert (model.columns_, model.k_) == (twin.columns_, twin.k_)
    assert model.counts_ == whole(cls(k=3, refresh=ONCE), file).counts_


@BOTH
def test_no_row_of_a_large_file_is_kept_on_the_way(cls, file, monkeypatch):
    monkeypatch.setattr("tanager.learning.rows.KeptRows.append", lambda *_: pytest.fail("a row was kept"))
    model = learn(cls(refresh=ONCE), open_table(file), "class").model
    more = update(model, open_table(file))
    assert unlearn(model, open_table(file)) == more == model.counts_.n_rows


def test_where_a_file_cannot_be_read_again_rows_are_kept_until_the_choice(file):
    source = open_table(file)
    source.repeatable = False
    once = learn(KDB(refresh=ONCE), source, "class").model
    assert once.memory.rows is None
    kept = learn(KDB(), open_table(file), "class").model
    assert len(kept.memory.rows) == kept.counts_.n_rows
    assert once.structure_ == kept.structure_
    faded = learn(KDB(refresh=ONCE, decay=0.99), open_table(file), "class").model  # what rows weigh, passes do not know
    assert faded.memory.rows is None
    assert faded.structure_ == learn(KDB(decay=0.99), open_table(file), "class").model.structure_


def test_a_file_that_changes_while_it_is_read_is_refused(file, monkeypatch):
    source = open_table(file)
    chunks, passes = source.chunks, []

    def changing(*args):
        passes.append(0)
        tables = list(chunks(*args))
        return iter(tables if len(passes) == 1 else tables[:-1])

    monkeypatch.setattr(source, "chunks", changing)
    with pytest.raises(DataError, match=r"data.csv has changed while it was read: 882 labelled rows at first, and"):
        learn(KDB(refresh=ONCE), source, "class")
