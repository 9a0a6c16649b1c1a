"""Sparse tables of families: whatever is done to counts, they hold what tables of all cells hold."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles import examples
from tanager import (
    BAN,
    KDB,
    BackOff,
    BDeu,
    GeneralNetwork,
    LearnedBackOff,
    Lidstone,
    MemoryBudgetError,
    MultiNet,
    PriorCounts,
    SelectiveKDB,
    _kernels,
)
from tanager.counts import joint
from tanager.counts.block import Block, Query
from tanager.counts.forgetting import Steps
from tanager.counts.joint import JointCounts, sparse_families
from tanager.encoding.schema import Column, Schema
from tanager.errors import DataError, ModelFileError
from tanager.persist import from_bytes, to_bytes
from tanager.scoring.forms import ProductOfSums
from tanager.scoring.view import View

FORM = ProductOfSums.one_each([(), (0,), (1, 0), (2, 0, 1), (3, 1, 0, 2)])
CLASSES = ["a", "b", "c"]
SMOOTHINGS = [Lidstone(1.0), Lidstone(0.0), BDeu(2.0), PriorCounts(2.0), BackOff(2.0), LearnedBackOff()]


def schema_of(sizes):
    return Schema(tuple(Column(f"x{i}", "codes", n_codes=size) for i, size in enumerate(sizes)))


@st.composite
def coded_rows(draw, least=1, most=40):
    """Sizes of five columns, codes with gaps, labels and weights."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=5, max_size=5))
    n, seed = draw(st.integers(least, most)), draw(st.integers(0, 9999))
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(0, size, n) for size in sizes]).astype(np.uint8)
    codes[rng.random(codes.shape) < 0.1] = 255
    weights = draw(st.sampled_from([None, rng.uniform(0.2, 2, n)]))
    return sizes, codes, rng.integers(0, 3, n).astype(np.uint8), weights


def both(sizes, spare=0):
    """The same empty counts with tables of all cells, and with sparse ones."""
    families = FORM.families()
    return [
        JointCounts(schema_of(sizes), CLASSES, families=families, sparse=own, spare=spare) for own in ((), families)
    ]


def same(dense, sparse):
    assert not dense.sparse
    assert sparse.sparse == frozenset(sparse.families)
    for family in dense.families:
        np.testing.assert_allclose(sparse.joint(*family), dense.joint(*family), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(sparse.joint(*family[::-1]), dense.joint(*family[::-1]), rtol=1e-12, atol=1e-12)


@examples(40)
@given(rows=coded_rows(), other=coded_rows())
def test_sparse_counts_are_the_dense_counts(rows, other):
    sizes, codes, labels, weights = rows
    more_sizes, more, more_labels, _ = other
    results = []
    for counts in both(sizes):
        counts.update(codes, labels, weights)
        counts.decay(0.5).update(codes[::2], labels[::2])
        counts.subtract(codes[::2], labels[::2])
        counts.decay_classes([1.0, 0.5, 0.25])
        counts.learn_rows(codes[:3], labels[:3])
        counts.forget_rows(codes[:2], labels[:2], np.full(len(codes[:2]), counts.scale))
        copy = pickle.loads(pickle.dumps(counts.copy()))
        assert copy == counts
        assert JointCounts.from_bytes(counts.to_bytes()) == counts
        merged = copy.merge(
            JointCounts(schema_of(more_sizes), ["c", "d"], families=counts.families).update(
                more, (more_labels % 2).astype(np.uint8)
            )
        )
        results.append([counts, merged, merged.project(["x3", "x1", "x0", "x2"])])
    for dense, sparse in zip(*results, strict=True):
        same(dense, sparse)


@examples(40)
@given(rows=coded_rows(), asked=coded_rows(), smoothing=st.sampled_from(SMOOTHINGS), smooth=st.booleans())
def test_answers_from_sparse_tables_are_those_from_tables_of_all_cells(rows, asked, smoothing, smooth):
    sizes, codes, labels, weights = rows
    query = Query(np.minimum(asked[1], np.array(sizes, dtype=np.uint8) + smooth))
    got = []
    for counts in both(sizes, spare=int(smooth)):
        counts.update(codes, labels, weights)
        view = View(counts, FORM, smoothing, smooth_unseen=smooth)
        block = Block(codes, labels, weights)
        stream = np.empty((len(codes), 3))
        answers = [view.score(query), view.score(query, log_joint=True), view.leave_one_out(block)]
        assert view.stream(block, stream, Steps(np.full(len(codes), 0.9), None, None)) == len(codes)
        got.append([*answers, stream, view.score(query)])
        same_counts = counts
    for dense, sparse in zip(*got, strict=True):
        np.testing.assert_allclose(sparse, dense, rtol=1e-12, atol=1e-12)
    assert same_counts.sparse


def test_rows_that_were_never_added_are_refused_and_contexts_that_are_left_go():
    _, sparse = both([2, 2, 2, 2, 2])
    codes = np.array([[0, 0, 0, 0, 0], [1, 1, 1, 1, 1]], dtype=np.uint8)
    sparse.update(codes, np.array([0, 1], dtype=np.uint8))
    with pytest.raises(DataError, match="never added"):
        sparse.subtract(1 - codes, np.array([0, 0], dtype=np.uint8))
    sparse.subtract(codes[:1], np.array([0], dtype=np.uint8))
    tables = sparse._sparse_tables()
    assert [len(table.occupied()[0]) for table in tables] == [1] * len(tables)


@pytest.mark.parametrize("sparse", [(), [(0, 1, 2)]], ids=["all cells", "sparse"])
def test_a_row_whose_pairs_alone_have_occurred_was_never_added(sparse):
    counts = JointCounts(schema_of([2, 2, 2]), ["a"], families=[(0, 1, 2)], sparse=sparse)
    counts.update(np.array([[0, 0, 1], [0, 1, 0], [1, 0, 0]], dtype=np.uint8), np.zeros(3, dtype=np.uint8))
    before = counts.copy()
    with pytest.raises(DataError, match="never added"):
        counts.subtract(np.zeros((1, 3), dtype=np.uint8), np.zeros(1, dtype=np.uint8))
    assert counts == before


def test_a_window_does_not_keep_the_contexts_of_rows_that_have_left():
    rng = np.random.default_rng(0)
    _, sparse = both([40] * 5)
    codes = rng.integers(0, 40, (4000, 5)).astype(np.uint8)
    for r, row in enumerate(codes):
        sparse.learn_row(row, 0)
        if r >= 100:
            sparse.forget_row(codes[r - 100], 0, 1.0)
    assert all(table.n_contexts < 500 for table in sparse._sparse_tables())


def test_damaged_contexts_in_a_file_are_refused():
    _, sparse = both([2, 2, 2, 2, 2])
    sparse.update(np.array([[0, 1, 0, 1, 0], [1, 1, 1, 1, 1]], dtype=np.uint8), np.array([0, 1], dtype=np.uint8))
    header, arrays = sparse.to_header()
    for change in (lambda keys: keys[::-1].copy(), lambda keys: keys + 10**6, lambda keys: keys[:1], lambda _: None):
        damaged = arrays | {"family-0-contexts": change(arrays["family-0-contexts"])}
        with pytest.raises(ModelFileError):
            JointCounts.from_header(header, {name: cells for name, cells in damaged.items() if cells is not None})


# --- classifiers -------------------------------------------------------------------------------------------------


def wide_rows(n=540, columns=12, values=12, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = rng.integers(0, values, (n, columns))
    X[:, ::2] = np.where(rng.random((n, (columns + 1) // 2)) < 0.5, y[:, None] + X[:, :1] // 3, X[:, ::2])
    return X.astype(str), y


@pytest.mark.parametrize("cls", [KDB, SelectiveKDB])
def test_five_parents_fit_into_little_memory(cls):
    X, y = wide_rows()
    model = cls(k=5, max_memory="300 MB").fit(X, y)
    proba = model.predict_proba(X)
    assert np.isfinite(proba).all()
    assert model.counts_.sparse
    assert model.counts_.nbytes < 50e6
    np.testing.assert_array_equal(from_bytes(to_bytes(model)).predict_proba(X), proba)
    halves = cls(k=5).fit(X[:270], y[:270]).merge(cls(k=5).fit(X[270:], y[270:]))
    np.testing.assert_allclose(halves.predict_proba(X), proba, rtol=1e-9)


@pytest.mark.parametrize(
    "model",
    [KDB(k=3), SelectiveKDB(k=3), KDB(k=3, smoothing=LearnedBackOff()), BAN(), GeneralNetwork(), MultiNet()],
    ids=lambda model: type(model).__name__,
)
def test_classifiers_answer_alike_either_way(model, monkeypatch):
    X, y = wide_rows(200, 6, 4)
    X[::17, 2] = ""
    dense = type(model)(**model.get_params()).fit(X, y).predict_proba(X)
    monkeypatch.setattr(joint, "_SMALL_TABLE", 0)
    monkeypatch.setattr("tanager.learning.memory.sparse_families", lambda families, *_: families)
    sparse = type(model)(**model.get_params()).fit(X, y)
    np.testing.assert_allclose(sparse.predict_proba(X), dense, rtol=1e-12, atol=1e-12)
    assert sparse.counts_.sparse == frozenset(sparse.counts_.families)
    sparse.partial_fit(X[:50], y[:50])
    assert np.isfinite(sparse.predict_proba(X)).all()


def test_parents_of_many_values_cost_what_occurs_and_not_all_combinations():
    rng = np.random.default_rng(0)
    X = np.char.add("v", np.stack([rng.integers(0, size, 1_000) for size in (400, 450, 500)], axis=1).astype(str))
    model = KDB().fit(X, rng.integers(0, 3, 1_000))
    before = _kernels.interrupt_checks()  # at every 64th context whose cells are read, of 1,000 rows at most
    model.predict(X)
    assert model.counts_.sparse
    assert _kernels.interrupt_checks() - before < 100  # 180,000 combinations of parents would be 2,800


def test_families_are_sparse_where_that_is_smaller():
    slots = np.array([100, 100, 100, 2])
    families = [(0, 1, 2), (0, 3), (3, 0)]
    assert sparse_families(families, slots, 2, 500) == [(0, 1, 2)]
    assert sparse_families(families, slots, 2, 20_000) == []


def test_the_message_speaks_of_families():
    with pytest.raises(MemoryBudgetError, match="counting 2 families of up to 4 of 5 columns"):
        JointCounts(schema_of([200] * 5), CLASSES, families=[(0, 1, 2), (0, 1, 2, 3)], max_memory="1 GB")


def test_the_message_speaks_of_triples_with_one_column():
    with pytest.raises(MemoryBudgetError, match=r"counting triples of 3 columns .*\(AODE counts pairs"):
        JointCounts(schema_of([200] * 3), CLASSES, order=2, anchors=[0], max_memory="1 GB")


def varied_rows(n_rows, seed=0):
    """Rows of five columns of 250 values each: nearly every row brings a new combination of parents."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, 250, (n_rows, 5)).astype(np.uint8), rng.integers(0, 3, n_rows).astype(np.uint8)


def test_rows_that_would_outgrow_the_budget_are_refused_and_change_nothing():
    families = [(0, 1, 2), (1, 2, 3)]
    counts = JointCounts(
        schema_of([250] * 5), CLASSES, order=1, families=families, sparse=families, max_memory=5_000_000
    )
    codes, labels = varied_rows(300)
    counts.update(codes, labels)
    with pytest.raises(MemoryBudgetError, match=r"counting 1,000 more rows, with .* new combinations of parents"):
        counts.update(*varied_rows(1000, seed=1))
    assert counts.n_rows == 300
    counts.update(codes, labels)  # the same combinations again need no room
    for row, label in zip(codes, labels, strict=True):
        counts.learn_row(row, int(label))
    assert counts.n_rows == 900
    more, its_labels = varied_rows(1000, seed=2)
    refused = 0
    for row, label in zip(more, its_labels, strict=True):
        try:
            counts.learn_row(row, int(label))
        except MemoryBudgetError:
            refused += 1
    assert 0 < refused < 1000
    assert counts.nbytes <= 5_000_000


def test_a_stream_of_rows_is_refused_at_the_budget_as_well():
    codes, labels = varied_rows(300)
    codes[:, 2:] %= 3
    form = ProductOfSums.one_each([(), (), (0, 1), (), ()])
    families = form.families()
    counts = JointCounts(schema_of([250, 250, 3, 3, 3]), CLASSES, order=2, families=families, sparse=families)
    counts.max_memory = counts.nbytes + 50_000
    view = View(counts, form, Lidstone(1.0))
    view.stream(Block(codes, labels, None), np.empty((300, 3)), Steps(None, None, None))
    more, its_labels = varied_rows(1000, seed=1)
    more[:, 2:] %= 3
    with pytest.raises(MemoryBudgetError, match="raise max_memory"):
        view.stream(Block(more, its_labels, None), np.empty((1000, 3)), Steps(None, None, None))
    assert counts.n_rows == 300


@examples(15)
@given(seed=st.integers(0, 999), weighted=st.booleans())
def test_families_that_are_counted_later_stand_beside_the_pairs_of_the_same_rows(seed, weighted):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (60, 5)).astype(np.uint8)
    X[rng.random(X.shape) < 0.1] = 255
    y, weights = rng.integers(0, 2, 60), rng.choice([0.5, 1.0, 2.0], 60) if weighted else None
    model = KDB(k=2).fit(X, y, sample_weight=weights)
    counts, rows = model.counts_, model.memory.rows.block
    options = {"order": counts.order, "families": counts.families, "sparse": counts.sparse, "spare": counts.spare}
    anew = JointCounts(counts.schema, counts.classes, **options).update(rows.codes, rows.labels, rows.weights)
    assert counts.families
    assert counts.order == 2
    for name, cells in anew.raw_cells().items():
        np.testing.assert_array_equal(counts.raw_cells()[name], cells, err_msg=name)
    more = rng.integers(0, 3, (20, 5)).astype(np.uint8)
    model.partial_fit(more, y[:20])  # the joined tables are counted on
    assert model.counts_.n_rows == anew.n_rows + 20
    assert model.counts_.joint(0, 1).sum() <= model.counts_.n_rows
