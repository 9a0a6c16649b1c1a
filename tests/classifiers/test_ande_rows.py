"""ANDE that keeps rows answers as ANDE with tables of all sets does, whatever happens to the rows."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpu import cpu_levels
from profiles import examples
from registry import small_table
from strategies import cuts, tables
from tanager import (
    A2DE,
    ANDE,
    AODE,
    TAN,
    BackOff,
    BestOf,
    DataError,
    Lidstone,
    MEstimate,
    ModelFileError,
    NBTree,
    SchemaMismatch,
    _kernels,
    archive,
    load,
)
from tanager.errors import MemoryBudgetError, OptionError
from tanager.learning.sets_of_columns import SetsOfColumns
from tanager.learning.shared_counts import joint_shape
from tanager.scoring.sum_over_rows import SumOverRows
from tanager.scoring.view import View


def both(**options):
    """The same model with rows, and with tables."""
    return ANDE(lazy=True, **options), ANDE(lazy=False, **options)


def assert_alike(rows, tables, X, y=None):
    assert isinstance(rows.uncalibrated(), SumOverRows)
    assert isinstance(tables.uncalibrated(), View)
    np.testing.assert_allclose(rows.predict_proba(X), tables.predict_proba(X), rtol=1e-9, atol=1e-300)
    np.testing.assert_allclose(rows.predict_log_proba(X), tables.predict_log_proba(X), rtol=1e-9, atol=1e-9)
    if y is not None:
        np.testing.assert_allclose(rows.leave_one_out(X, y), tables.leave_one_out(X, y), rtol=1e-9, atol=1e-300)


def codes_and_labels(m, n=6, k=3, r=3, gaps=0.0, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, m)
    X = np.where(rng.random((m, n)) < 0.5, (y[:, None] + np.arange(n)) % r, rng.integers(0, r, (m, n)))
    return np.where(rng.random((m, n)) < gaps, 255, X).astype(np.uint8), y


@examples(60)
@given(
    table=tables(min_columns=4, max_columns=7, max_rows=40, weighted=True),
    n=st.sampled_from([3, 4, 5]),
    smoothing=st.sampled_from([Lidstone(1.0), Lidstone(0.01), MEstimate(1.0), MEstimate(20.0)]),
    min_count=st.sampled_from([0, 1.0, 2.0, 30.0]),
    unseen=st.sampled_from(["ignore", "smooth"]),
    weighted=st.booleans(),
)
def test_rows_answer_as_tables_do(table, n, smoothing, min_count, unseen, weighted):
    table = table.without_weightless_rows()
    options = {"n": n, "smoothing": smoothing, "min_count": min_count, "unseen": unseen}
    w = table.w if weighted else None
    rows, wide = (model.fit(table.X, table.y, sample_weight=w) for model in both(**options))
    np.testing.assert_allclose(rows.predict_proba(table.Q), wide.predict_proba(table.Q), rtol=1e-9, atol=1e-300)
    left_out = [model.leave_one_out(table.X, table.y, w) for model in (rows, wide)]
    np.testing.assert_allclose(*left_out, rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("gaps", [0.0, 0.2])
@pytest.mark.parametrize("k", [2, 7])
def test_classes_of_many_words_are_counted_whole(k, gaps):
    X, y = codes_and_labels(700, k=k, gaps=gaps)
    rows, wide = (model.fit(X[:600], y[:600]) for model in both(n=3))
    assert_alike(rows, wide, X[500:])
    assert_alike(rows, wide, X[:80], y[:80])


def test_priors_and_weights_of_classes_are_those_of_tables():
    X, y = codes_and_labels(200)
    for options in (
        {"priors": [0.2, 0.3, 0.5]},
        {"class_weight": {0: 3.0, 1: 0.5, 2: 1.0}},
        {"class_weight": "balanced"},
        {"priors": [0.0, 0.5, 0.5]},
        {"calibrate": True},
    ):
        assert_alike(*(model.fit(X, y) for model in both(n=3, **options)), X[:40])


def test_columns_of_more_values_than_a_byte_holds():
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.integers(0, 300, 400), *rng.integers(0, 3, (4, 400))]).astype(np.uint16)
    y = (X[:, 0] + X[:, 1]) % 2
    rows, wide = (model.fit(X, y) for model in both(n=3, max_memory=None))
    assert_alike(rows, wide, X[:60], y[:60])


@pytest.mark.long
def test_products_too_small_for_a_float_are_added_up_as_logs():
    """A hundred and fifty columns, 40 rows and tiny pseudo-counts: some factors are below 2^-10."""
    X, y = codes_and_labels(80, n=150)
    model = A2DE(smoothing=0.01, max_memory=None).fit(X, y)
    query = model.encode(X[:6])
    kernel = _kernels.SumOverRows(
        query_codes(model, X),
        y.astype(np.uint8),
        None,
        model.counts_.schema.n_values.tolist(),
        3,
        "lidstone",
        0.01,
        False,
    )
    for labels in (None, y[:6].astype(np.uint8)):
        got = np.empty((6, 3))
        kernel.score(query.codes, got, 2, 1.0, log_joint=True, labels=labels)
        block = None if labels is None else model.known_rows(X[:6], y[:6])
        view = model.view_
        expected = view.score(query, log_joint=True) if block is None else view.leave_one_out(block, log_joint=True)
        np.testing.assert_allclose(got, expected, rtol=1e-11)


def query_codes(model, X):
    return np.ascontiguousarray(model.encode(X).codes)


def test_every_instruction_set_gives_the_same_answers_bit_for_bit():
    X, y = codes_and_labels(900, n=9, k=3, gaps=0.05)
    model = ANDE(n=3, lazy=True).fit(X, y)
    answers = []
    try:
        for level in cpu_levels():
            _kernels.set_cpu_level(level)
            answers.append((model.predict_proba(X[:50]), model.leave_one_out(X[:50], y[:50])))
    finally:
        _kernels.set_cpu_level("auto")
    for own in answers[1:]:
        np.testing.assert_array_equal(own, answers[0])


def test_threads_and_the_rows_asked_together_change_nothing():
    X, y = codes_and_labels(300, gaps=0.1)
    one, two = (ANDE(n=3, lazy=True, n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    together = one.predict_proba(X[:40])
    np.testing.assert_array_equal(together, two.predict_proba(X[:40]))
    np.testing.assert_array_equal(together[::-1], one.predict_proba(X[:40][::-1]))
    np.testing.assert_array_equal(together, np.vstack([one.predict_proba(X[r : r + 1]) for r in range(40)]))


@examples(20)
@given(data=st.data(), table=tables(min_columns=4, max_columns=5, min_rows=4, max_rows=25))
def test_chunks_unlearning_and_merging_are_followed(data, table):
    half = len(table.rows) // 2
    models = []
    for model in both(n=3, categorical=True, warm_up=1):
        other = copy.deepcopy(model)
        for begin, end in [(0, half)]:
            model.partial_fit(table.X[begin:end], table.y[begin:end], np.unique(table.y))
        other.partial_fit(table.X[half:], table.y[half:], np.unique(table.y))
        models.append(model.merge(other).unlearn(table.X[:1], table.y[:1]))
    for begin, end in cuts(data.draw, len(table.rows)):
        for model in models:
            if end > begin:
                model.partial_fit(table.X[begin:end], table.y[begin:end])
    assert_alike(*models, table.Q)


@pytest.mark.parametrize("options", [{"decay": 0.9}, {"decay": 20}, {"window": 25}, {"window": 25, "decay": 0.95}, {}])
def test_streams_that_forget_answer_as_tables_do(options):
    X, y = small_table(120)
    rows, wide = both(n=3, **options)
    np.testing.assert_allclose(rows.test_then_train(X, y), wide.test_then_train(X, y), rtol=1e-8, atol=1e-12)
    assert_alike(rows, wide, X[:20])
    for model in (rows, wide):
        model.fade(0.5)
        model.learn_one({f"x{i}": value for i, value in enumerate(X[0])}, y[0])
    assert_alike(rows, wide, X[:20])


def test_a_model_that_has_unlearned_everything_answers_as_tables_do():
    X, y = codes_and_labels(20)
    assert_alike(*(model.fit(X, y).unlearn(X, y) for model in both(n=3)), X)


def test_rows_that_were_never_learned_are_not_unlearned():
    X, y = small_table(60)
    model = ANDE(n=3, lazy=True).fit(X, y)
    before = model.predict_proba(X)
    with pytest.raises(DataError, match="never learned"):
        model.unlearn([[0.1, 1, "blue", 1, "yes"]] * 3, ["low"] * 3)
    np.testing.assert_array_equal(before, model.predict_proba(X))


@pytest.mark.parametrize("lazy", [(True, True), (True, False), (False, True)])
def test_models_with_rows_and_with_tables_are_merged(lazy):
    X, y = codes_and_labels(200, gaps=0.1)
    one, other = (
        ANDE(n=3, lazy=own).fit(X[part], y[part]) for own, part in zip(lazy, (slice(90), slice(90, 200)), strict=True)
    )
    whole, kept = ANDE(n=3, lazy=False).fit(X, y), other.predict_proba(X)
    merged = one.merge(other)
    np.testing.assert_allclose(merged.predict_proba(X), whole.predict_proba(X), rtol=1e-9)
    np.testing.assert_array_equal(other.predict_proba(X), kept)
    assert merged.partial_fit(X[:5], y[:5]).class_count_.sum() == 205


def test_explanations_are_those_of_tables():
    X, y = codes_and_labels(150, gaps=0.1)
    for row in (X[:1], np.full((1, 6), 255, np.uint8), np.array([[0, 1, 255, 255, 255, 255]], np.uint8)):
        told, same = (model.fit(X, y).explain(row, 0, 2) for model in both(n=3))
        assert (told.prior, told.log_odds) == pytest.approx((same.prior, same.log_odds), abs=1e-9)
        parts = {(part.column, part.parents): part.log_odds for part in told.parts}
        assert parts == pytest.approx({(part.column, part.parents): part.log_odds for part in same.parts}, abs=1e-9)


def test_an_explanation_of_a_class_that_priors_rule_out_is_infinite_as_with_tables():
    X, y = codes_and_labels(150)
    told, same = (model.fit(X, y).explain(X[:1], 1, 0) for model in both(n=3, priors=[0.0, 0.5, 0.5]))
    assert told.log_odds == same.log_odds == np.inf
    assert told.prior == same.prior == np.inf


# --- files ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"decay": 50}, {"window": 30}, {"calibrate": True}])
def test_a_saved_model_with_rows_is_the_loaded_one(tmp_path, options):
    X, y = small_table(90)
    model = ANDE(n=3, lazy=True, **options).fit(X, y)
    model.save(tmp_path / "model.tanager")
    for again in (load(tmp_path / "model.tanager"), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
        if not options:
            again.unlearn(X[:1], y[:1]).partial_fit(X[:1], y[:1])
            np.testing.assert_allclose(again.predict_proba(X), model.predict_proba(X), rtol=1e-12)


def test_a_file_without_the_rows_is_refused(tmp_path):
    X, y = small_table(60)
    path = tmp_path / "model.tanager"
    ANDE(n=3, lazy=True).fit(X, y).save(path)
    header, arrays = archive.unpack(path.read_bytes(), "model.tanager")
    for lost in (slice(0, 0), slice(0, 59)):
        part = {name: cells[lost] if name.startswith("rows-") else cells for name, cells in arrays.items()}
        path.write_bytes(archive.pack(header, part))
        with pytest.raises(ModelFileError, match="neither tables of all sets of columns nor the rows"):
            load(path)


# --- the choice -----------------------------------------------------------------------------------------------------


def test_rows_are_kept_while_tables_would_take_long_and_tables_are_made_when_answers_would():
    wide = SetsOfColumns((4,) * 36, 4, 2)
    assert [wide.prefers_rows(m) for m in (0, 3000, 15_000, 100_000)] == [True, True, True, False]
    narrow = SetsOfColumns((4,) * 12, 4, 2)
    assert not any(narrow.prefers_rows(m) for m in (0, 3000, 1_000_000))


def test_few_columns_are_counted_in_tables_and_many_are_not():
    few, many = codes_and_labels(100, n=6), codes_and_labels(100, n=30)
    assert ANDE(n=3).fit(*few).memory.rows is None
    model = ANDE(n=3).fit(*many)
    assert isinstance(model.scorer_, SumOverRows)
    assert (model.counts_.order, model.counts_.families) == (2, ())
    assert TAN.from_counts(model.counts_).predict(many[0]).shape == (100,)


def test_tables_are_made_from_the_rows_when_these_become_many(monkeypatch):
    monkeypatch.setattr(SetsOfColumns, "prefers_rows", lambda self, n_rows: n_rows < 50)
    X, y = small_table(90)
    rows = [{f"x{i}": value for i, value in enumerate(row)} for row in X]
    whole = ANDE(n=3, lazy=False).fit(X, y)
    chunks, single, stream, faded = ANDE(n=3), ANDE(n=3, warm_up=40), ANDE(n=3), ANDE(n=3, window=200)
    chunks.fit(X, y)
    assert chunks.memory.rows is None
    schema = chunks.encoder_.schema
    for model in (single, stream, faded):
        model.set_params(schema=schema)
    for row, label in zip(rows, y, strict=True):
        single.learn_one(row, label)
    stream.test_then_train(X, y)
    faded.partial_fit(X[:40], y[:40])
    assert isinstance(faded.scorer_, SumOverRows)
    faded.partial_fit(X[40:], y[40:])
    for model in (chunks, single, stream, faded):
        assert isinstance(model.scorer_, View)
        assert model.counts_ == whole.counts_
        np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X), rtol=1e-9)
    assert len(faded.memory.rows) == 90


def test_rows_stay_where_tables_have_become_too_large(monkeypatch):
    X, y = codes_and_labels(40)
    monkeypatch.setattr(SetsOfColumns, "prefers_rows", lambda self, n_rows: n_rows < 100)
    model = ANDE(n=3, max_memory="1 MB").fit(X, y)
    for _ in range(2):
        model.partial_fit(X + np.arange(0, 24, 4, dtype=np.uint8), y)
    assert isinstance(model.scorer_, SumOverRows)
    assert model.predict(X).shape == (40,)


@pytest.mark.parametrize(("n_values", "max_memory"), [(24, "2 GB"), (4, "100 kB")])
def test_rows_are_kept_where_tables_would_be_too_large(n_values, max_memory):
    """Whether tables would take long to make, or would be quick and are too large all the same."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, n_values, (60, 12)).astype(np.uint8), np.arange(60) % 2
    model = ANDE(n=3, max_memory=max_memory).fit(X, y)
    assert isinstance(model.scorer_, SumOverRows)
    np.testing.assert_allclose(model.predict_proba(X), ANDE(n=3, lazy=True).fit(X, y).predict_proba(X))
    with pytest.raises(MemoryBudgetError, match="all sets of 4 of 12 columns needs"):
        ANDE(n=3, max_memory=max_memory, lazy=False).fit(X, y)


def test_many_columns_are_refused_for_what_an_answer_takes():
    X, y = codes_and_labels(4, n=400)
    with pytest.raises(MemoryBudgetError, match=r"all sets of 3 of 400 columns, needs 254 MB.*Use a smaller n"):
        ANDE(n=3, lazy=True, max_memory="100 MB").fit(X, y)


def test_others_share_counts_with_it_and_leaves_keep_their_own_rows():
    X, y = codes_and_labels(120)
    tree = NBTree(leaf=ANDE(n=3, lazy=True), min_rows=20).fit(X, y)
    same = NBTree(leaf=ANDE(n=3, lazy=False), min_rows=20).fit(X, y)
    np.testing.assert_allclose(tree.predict_proba(X), same.predict_proba(X), rtol=1e-9)
    best = BestOf([ANDE(n=3, lazy=True)]).fit(X, y)
    np.testing.assert_allclose(best.predict_proba(X), ANDE(n=3, lazy=False).fit(X, y).predict_proba(X), rtol=1e-9)
    schema = best.encoder_.schema
    assert joint_shape([ANDE(n=3, lazy=True), AODE()], schema) == {"order": 2, "anchors": (), "families": []}


def test_counts_of_pairs_are_not_enough_without_rows():
    counts = ANDE(n=3, lazy=True).fit(*codes_and_labels(60)).counts_
    with pytest.raises(SchemaMismatch, match="needs joint counts of 4 columns"):
        ANDE.from_counts(counts, n=3)
    whole = ANDE(n=3, lazy=False).fit(*codes_and_labels(60)).counts_
    assert isinstance(ANDE.from_counts(whole, n=3).scorer_, View)


@pytest.mark.parametrize("smoothing", [0, BackOff(1)])
def test_rows_need_pseudo_counts_that_are_the_same_everywhere(smoothing):
    X, y = codes_and_labels(60)
    with pytest.raises(OptionError, match="lazy=True does not go with smoothing"):
        ANDE(n=3, lazy=True, smoothing=smoothing).fit(X, y)
    with pytest.raises(OptionError, match="lazy='yes': give True, False or None"):
        ANDE(n=3, lazy="yes").fit(X, y)


# --- the boundary ---------------------------------------------------------------------------------------------------


def kernel_with(**changes):
    codes, y = codes_and_labels(30, n=4)
    named = {
        "codes": codes,
        "labels": y.astype(np.uint8),
        "weights": None,
        "n_values": [3] * 4,
        "n_classes": 3,
        "kind": "lidstone",
        "strength": 1.0,
        "smooth_unseen": False,
    }
    return _kernels.SumOverRows(**(named | changes))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"n_values": [3] * 3}, "columns"),
        ({"n_values": [3, 3, 3, -1]}, "less than no values"),
        ({"n_classes": 2}, "a label is none of the classes"),
        ({"n_classes": 0}, "there must be classes"),
        ({"kind": "bdeu"}, "the same in all contexts"),
        ({"strength": 0.0}, "must be positive"),
        ({"weights": np.full(30, -1.0)}, "at least 0"),
        ({"weights": np.full(29, 1.0)}, "weights"),
    ],
)
def test_rows_that_do_not_fit_are_refused(changes, sentence):
    with pytest.raises(ValueError, match=sentence):
        kernel_with(**changes)


def test_questions_that_do_not_fit_are_refused():
    kernel, codes = kernel_with(), np.zeros((2, 4), np.uint8)
    out = np.empty((2, 3))
    kernel.score(codes, out, 3, 1.0)
    for call, sentence in (
        (lambda: kernel.score(codes, out, 1, 1.0), "2 to 7 columns"),
        (lambda: kernel.score(codes, out, 8, 1.0), "2 to 7 columns"),
        (lambda: kernel.score(codes, out, 3, -1.0), "min_count"),
        (lambda: kernel.score(codes[:, :3], out, 3, 1.0), "columns"),
        (lambda: kernel.score(codes, out[:1], 3, 1.0), "row"),
        (lambda: kernel.score(codes, out, 3, 1.0, priors=[1.0]), "one prior per class"),
        (lambda: kernel.score(codes, out, 3, 1.0, factors=[1.0]), "one factor per class"),
        (lambda: kernel.parts(codes, np.empty((4, 5, 3)), 3, 1.0), "one row"),
        (lambda: kernel.parts(codes[:1], np.empty((4, 4, 3)), 3, 1.0), "one line per set"),
    ):
        with pytest.raises(ValueError, match=sentence):
            call()


def test_more_columns_in_a_set_than_there_are_answer_nothing():
    out = np.empty((1, 3))
    kernel_with().score(np.zeros((1, 4), np.uint8), out, 6, 1.0)
    assert np.isnan(out).all()


def test_rows_with_odd_codes_and_labels_are_read_as_missing():
    X, y = codes_and_labels(30, n=4)
    X[3, 1], labels = 77, y.astype(np.uint8)
    labels[5] = 255
    got, expected = np.empty((4, 3)), np.empty((4, 3))
    kernel_with(codes=X, labels=labels).score(X[:4], got, 3, 1.0)
    keep = np.arange(30) != 5
    plain = np.where(X == 77, 255, X).astype(np.uint16)
    plain[plain == 255] = 65535
    kernel_with(codes=plain[keep], labels=labels[keep]).score(X[:4], expected, 3, 1.0)
    np.testing.assert_array_equal(got, expected)
