"""Strengths of a learned back-off: examples worked by hand, a plain optimiser, and what holds for any table."""

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

import oracle
from profiles import examples
from strategies import tables
from tanager import (
    A2DE,
    AODE,
    BAN,
    KDB,
    LBR,
    SPC,
    TAN,
    GeneralNetwork,
    LearnedBackOff,
    NaiveBayes,
    OptionError,
    SelectiveKDB,
)
from tanager._kernels import back_off_strengths
from tanager.persist import from_bytes, to_bytes

LOW, HIGH = 1e-3, 1e6


def levels_of(cells):
    """The tables of all levels of one family, from that of the last: (groups, parents ..., child)."""
    levels = [cells]
    while levels[0].ndim > 2:
        levels.insert(0, np.ascontiguousarray(levels[0].sum(axis=-2)))
    return levels


def left_out_likelihood(levels, strengths):
    """The log likelihood as printed: every cell that occurs, one row (or all that is left of one) less on its path."""
    total, r = 0.0, levels[0].shape[-1]
    for place in itertools.product(*(range(size) for size in levels[-1].shape)):
        weight = levels[-1][place]
        if weight <= 0:
            continue
        row, theta = min(1.0, weight), 1 / r
        for level, (cells, c) in enumerate(zip(levels, strengths, strict=True)):
            context = place[: level + 1]
            own, seen = cells[(*context, place[-1])] - row, cells[context].sum() - row
            theta = (max(own, 0) + c * theta) / (max(seen, 0) + c)
        total += weight * np.log(theta)
    return total


def held_likelihood(levels, strengths, start, prior):
    """The log likelihood, less what the prior takes off for the distance of each strength from the start."""
    return left_out_likelihood(levels, strengths) - prior / 2 * (np.log(np.array(strengths) / start) ** 2).sum()


def by_plain_search(levels, start=0.0, prior=0.0, center=1.0):
    found = minimize(
        lambda x: -held_likelihood(levels, np.exp(x), center, prior),
        np.broadcast_to(start, len(levels)),
        bounds=[(np.log(LOW), np.log(HIGH))] * len(levels),
        method="L-BFGS-B",
        options={"ftol": 1e-14, "gtol": 1e-9},
    )
    return -found.fun


# --- by hand -----------------------------------------------------------------------------------------------------


def test_nine_to_one_leans_on_uniform_by_eight_thirds():
    """L = 9 log((8 + c/2) / (9 + c)) + log((c/2) / (9 + c)), and dL/dc = 0 where 54 c = 144."""
    (c,) = back_off_strengths([np.array([[9.0, 1.0]])])
    assert c == pytest.approx(8 / 3, rel=1e-6)
    model = NaiveBayes(smoothing=LearnedBackOff()).fit(
        [["a"]] * 9 + [["b"]] + [["a"]] * 9 + [["b"]], [0] * 10 + [1] * 10
    )
    assert model.view_.strengths == {(0, ()): (pytest.approx(8 / 3, rel=1e-6),)}
    np.testing.assert_allclose(model.network_.tables["x0"][0], [31 / 38, 7 / 38], rtol=1e-6)


def test_three_to_one_tells_nothing():
    """dL/dc has the sign of +12 for every c."""
    assert back_off_strengths([np.array([[3.0, 1.0]])]) == [HIGH]


def test_four_to_none_trusts_the_counts():
    assert back_off_strengths([np.array([[4.0, 0.0]])]) == [LOW]


def test_two_levels():
    """Under the first value of the parent (9, 1), under the second (1, 9); without the parent (10, 10).

    Every cell less one row has 9 of 19 on the level below, so theta'_0 = (9 + c_0/2) / (19 + c_0), which is the same
    for all cells, and L grows with it: c_0 runs to its upper bound, where theta'_0 = 1/2. Then L is twice that of
    (9, 1) above, and c_1 = 8/3: theta_1 = (9 + 8/3 1/2) / (10 + 8/3) = 31/38.
    """
    cells = np.array([[[9.0, 1.0], [1.0, 9.0]]])
    first, second = back_off_strengths(levels_of(cells))
    assert first == HIGH
    assert second == pytest.approx(8 / 3, rel=1e-5)


def test_levels_without_news_keep_the_strength_to_start_with():
    once = np.ones((1, 2, 1))  # a column of one value is certain whatever the strengths
    assert back_off_strengths(levels_of(once), 3.0) == pytest.approx([3.0, 3.0], rel=1e-6)
    contexts = np.eye(6)[None]  # every context was seen once: without its row it says what the level below says
    assert back_off_strengths(levels_of(contexts), 3.0)[1] == pytest.approx(3.0, rel=1e-6)


def test_a_prior_holds_strengths_to_where_the_search_begins():
    """Of (4, 0), dL/d(log c) is 4 (c/2 / (3 + c/2) - c / (3 + c)); the prior takes half of log c off."""
    (c,) = back_off_strengths([np.array([[4.0, 0.0]])], 1.0, 0, 0.5)
    assert 4 * (c / 2 / (3 + c / 2) - c / (3 + c)) == pytest.approx(0.5 * np.log(c), abs=1e-5)
    assert LOW < c < 1 < back_off_strengths([np.array([[3.0, 1.0]])], 1.0, 0, 0.5)[0] < HIGH
    assert back_off_strengths([np.array([[9.0, 1.0]])], 2.0, 0, 1e9) == pytest.approx([2.0], rel=1e-5)
    assert back_off_strengths(levels_of(np.array([[[9.0, 1.0], [1.0, 9.0]]])), 3.0, 1, 0.5)[0] == 3.0


def test_the_prior_of_a_model_is_that_of_its_strengths():
    X, y = [["a"]] * 4 + [["a"]] * 3 + [["b"]], [0] * 4 + [1] * 4
    model = NaiveBayes(smoothing=LearnedBackOff(2.0, prior=0.5)).fit(X, y)
    expected = back_off_strengths([np.array([[4.0, 0.0], [3.0, 1.0]])], 2.0, 0, 0.5)
    assert model.view_.strengths == {(0, ()): tuple(expected)}
    again = from_bytes(to_bytes(model))
    assert again.smoothing == LearnedBackOff(2.0, prior=0.5)
    assert again.predict_proba(X).tolist() == model.predict_proba(X).tolist()
    with pytest.raises(
        OptionError, match=r"LearnedBackOff\(prior=-1\): the prior must be a finite number of at least 0"
    ):
        LearnedBackOff(prior=-1)


# --- against a plain search --------------------------------------------------------------------------------------


def random_levels(shape, rows, seed, weight=1.0):
    rng = np.random.default_rng(seed)
    skew = rng.dirichlet(np.full(int(np.prod(shape)), 0.3))
    return levels_of(np.ascontiguousarray(rng.multinomial(rows, skew).reshape(shape) * weight))


@examples(30)
@given(
    shape=st.lists(st.integers(1, 4), min_size=2, max_size=4),
    seed=st.integers(0, 10_000),
    rows=st.integers(0, 60),
    weight=st.sampled_from([1.0, 0.3, 1.7]),
)
def test_a_plain_search_finds_nothing_better_close_by(shape, seed, rows, weight):
    levels = random_levels(shape, rows, seed, weight)
    strengths = back_off_strengths(levels)
    assert all(LOW <= c <= HIGH for c in strengths)
    close = by_plain_search(levels, np.log(strengths))
    assert left_out_likelihood(levels, strengths) >= close - 1e-6 * max(rows, 1)
    held = back_off_strengths(levels, 2.0, 0, 0.5)
    close = by_plain_search(levels, np.log(held), 0.5, 2.0)
    assert held_likelihood(levels, held, 2.0, 0.5) >= close - 1e-6 * max(rows, 1)


def test_a_plain_search_from_the_same_start_finds_nothing_better():
    """Nearly always: there may be several maxima, and the two can come to different ones."""
    worse = 0
    for seed in range(15):
        rng = np.random.default_rng(seed)
        levels = random_levels(rng.integers(1, 5, rng.integers(2, 5)), int(rng.integers(60)), seed)
        worse += left_out_likelihood(levels, back_off_strengths(levels)) < by_plain_search(levels) - 1e-4
    assert worse <= 1


def test_levels_with_the_same_counts_do_not_stay_on_a_saddle():
    """The second parent has one value, so that levels 1 and 2 are exchangeable; equal strengths are no maximum here."""
    cells = np.array([[[[7.0, 3.0, 0.0]], [[3.0, 0.0, 0.0]]], [[[2.0, 0.0, 0.0]], [[1.0, 13.0, 1.0]]]])
    levels = levels_of(cells)
    first, second, third = back_off_strengths(levels)
    assert second != third
    equal = max(left_out_likelihood(levels, (first, c, c)) for c in np.geomspace(0.1, 100, 60))
    assert left_out_likelihood(levels, (first, second, third)) > equal + 0.9


@examples(30)
@given(table=tables(min_rows=4, weighted=True), k=st.integers(0, 2))
def test_a_model_has_the_strengths_of_its_tables(table, k):
    """Also where values are missing: each level counts the rows in which all that it reads is present."""
    model = KDB(k=k, smoothing=LearnedBackOff()).fit(table.X, table.y, sample_weight=table.w)
    joint = model.counts_.joint
    for (child, parents), strengths in model.view_.strengths.items():
        levels = [np.ascontiguousarray(joint(*parents[:size], child)) for size in range(len(parents) + 1)]
        if levels[0].shape[-1]:
            assert list(strengths) == back_off_strengths(levels)


# --- answers -----------------------------------------------------------------------------------------------------

VIEWS = {
    "nb": (NaiveBayes(), oracle.nb),
    "tan": (TAN(), lambda d, x, s: oracle.tree(d, x, oracle.tan_parents(d), s)),
    "kdb": (KDB(k=3), lambda d, x, s: oracle.tree(d, x, oracle.kdb_parents(d, 3), s)),
    "aode": (AODE(), oracle.aode),
    "a2de": (A2DE(), oracle.a2de),
    "spc": (SPC(), lambda d, x, s: oracle.product_of_sums(d, x, oracle.spc_sets(range(d.n), 0), s)),
}


def rule_of(model):
    """The rule of the oracle, with the strengths of all plans of a model."""
    view = model.view_
    known = {}
    while view is not None:
        known = view.strengths | known
        form = getattr(view.form, "otherwise", None)
        view = None if form is None else view.with_form(form)
    return ("learned", 1.0, known)


@pytest.mark.parametrize("name", VIEWS)
@examples(12)
@given(table=tables(weighted=True), smooth=st.booleans())
def test_answers_are_those_of_the_formula(name, table, smooth):
    model, formula = VIEWS[name]
    model.set_params(smoothing=LearnedBackOff(), unseen="smooth" if smooth else "ignore")
    model.fit(table.X, table.y, sample_weight=table.w)
    classes, asked = sorted(set(table.labels)), table.Q
    table = table.without_weightless_rows()
    data = table.data(classes)
    queries = table.coded_queries(oracle.UNSEEN if smooth else None)
    for x, got in zip(queries, model.predict_proba(asked), strict=True):
        expected = oracle.posterior(data, formula(data, x, rule_of(model)))
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", VIEWS)
@examples(6)
@given(table=tables(min_rows=2, max_rows=10))
def test_left_out_is_learned_again_without_the_row_with_strengths_held(name, table):
    model, formula = VIEWS[name]
    model.set_params(smoothing=LearnedBackOff(), unseen="ignore").fit(table.X, table.y)
    got, rule = model.leave_one_out(table.X, table.y), rule_of(model)
    data = table.data()
    for r, row in enumerate(data.rows):
        if name in ("tan", "kdb"):  # their structure is held as well
            expected = oracle.tree(data.without(r), row, model.structure_.parents, rule)
        else:
            expected = formula(data.without(r), row, rule)
        np.testing.assert_allclose(got[r], oracle.posterior(data.without(r), expected), rtol=1e-9, atol=1e-12)


def test_a_context_that_never_occurred_is_answered_by_the_shorter_one():
    X = [["a", "p"], ["a", "p"], ["a", "q"], ["b", "q"], ["b", "p"], ["b", "q"]]
    model = KDB(k=1, smoothing=LearnedBackOff()).fit([*X, *X, ["c", None]], [*[0] * 6, *[1] * 6, 1])
    assert model.parents_["x1"] == ("x0",)
    first, _ = model.view_.strengths[1, (0,)]
    got = model.view_.term(1, (0,), model.encode([["c", "p"]]))
    np.testing.assert_allclose(got[0], (3 + first / 2) / (6 + first), rtol=1e-12)


# --- laws --------------------------------------------------------------------------------------------------------

MODELS = [NaiveBayes, TAN, KDB, SelectiveKDB, AODE, A2DE, BAN, GeneralNetwork]


def _rows(n=300, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    X = np.column_stack([(y + rng.integers(0, 3, n)) % 4, rng.integers(0, 3, n), rng.integers(0, 5, n)]).astype(object)
    X[:, 2] = (X[:, 0] + X[:, 1] + (rng.random(n) < 0.2)) % 5
    X[rng.random(X.shape) < 0.05] = None
    return X, y


@pytest.mark.parametrize("cls", MODELS)
def test_weights_chunks_merges_and_files_change_nothing(cls):
    X, y = _rows()
    whole = cls(smoothing=LearnedBackOff()).fit(X, y)
    expected = whole.predict_proba(X)
    assert np.isfinite(expected).all()
    distinct, weights = {}, []
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        distinct[(*row, label)] = distinct.get((*row, label), 0) + 1
    table = [list(key) for key in distinct]
    weights = np.array(list(distinct.values()), dtype=float)
    weighted = cls(smoothing=LearnedBackOff()).fit(
        [row[:-1] for row in table], [row[-1] for row in table], sample_weight=weights
    )
    np.testing.assert_allclose(weighted.predict_proba(X), expected, rtol=1e-9)
    parts = cls(smoothing=LearnedBackOff())
    for start in range(0, len(X), 70):
        parts.partial_fit(X[start : start + 70], y[start : start + 70], classes=[0, 1, 2])
    np.testing.assert_allclose(parts.predict_proba(X), expected, rtol=1e-9)
    merged = (
        cls(smoothing=LearnedBackOff())
        .fit(X[:150], y[:150])
        .merge(cls(smoothing=LearnedBackOff()).fit(X[150:], y[150:]))
    )
    np.testing.assert_allclose(merged.predict_proba(X), expected, rtol=1e-9)
    for copy in (from_bytes(to_bytes(whole)), pickle.loads(pickle.dumps(whole))):
        np.testing.assert_array_equal(copy.predict_proba(X), expected)


@pytest.mark.parametrize("cls", [NaiveBayes, TAN, AODE])
def test_strengths_that_lag_behind_in_a_stream_are_saved(cls):
    X, y = _rows()
    rows = [dict(zip(("a", "b", "c"), row, strict=True)) for row in X.tolist()]
    model = cls(smoothing=LearnedBackOff())
    for row, label in zip(rows[:250], y[:250].tolist(), strict=True):
        model.predict_proba_one(row)
        model.learn_one(row, label)
    model.predict_proba_one(rows[250])
    model.learn_one(rows[250], int(y[250]))
    for copy in (from_bytes(to_bytes(model)), pickle.loads(pickle.dumps(model))):
        assert copy.predict_proba_one(rows[251]) == model.predict_proba_one(rows[251])


def test_counts_that_fade_have_the_strengths_of_weights_that_fade():
    X, y = _rows(60)
    model = KDB(smoothing=LearnedBackOff()).fit(X, y)
    half = KDB(smoothing=LearnedBackOff()).fit(X, y, sample_weight=np.full(60, 0.5))
    model.counts_.decay(0.5)
    np.testing.assert_allclose(model.predict_proba(X), half.predict_proba(X), rtol=1e-9)


def test_a_network_from_a_classifier_has_the_same_strengths():
    X, y = _rows()
    X = np.where(np.equal(X, None), 0, X)
    model = KDB(smoothing=LearnedBackOff()).fit(X, y)
    network, expected = model.network_, model.predict_proba(X[:20])
    for row, proba in zip(X[:20].tolist(), expected, strict=True):
        evidence = {f"x{i}": v for i, v in enumerate(row)}
        np.testing.assert_allclose(network.posterior("class", evidence), proba, rtol=1e-9)


def test_lazy_rules_refuse_it():
    with pytest.raises(OptionError, match="other rows"):
        LBR(smoothing=LearnedBackOff()).fit([["a"], ["b"]], [0, 1])
