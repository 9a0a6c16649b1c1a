"""Number columns as normal distributions given class and parents: the formulas, laws, and what is refused."""

import copy
import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import density_twin
import oracle
from profiles import examples, spread
from tanager import (
    AODE,
    FAN,
    FANC,
    SPC,
    TAN,
    TC,
    BackOff,
    BestOf,
    Collection,
    DriftAware,
    Lidstone,
    MEstimate,
    NaiveBayes,
    PriorCounts,
    Selective,
    load,
)
from tanager.counts.context_moments import PSEUDO_ROWS
from tanager.errors import MemoryBudgetError, ModelFileError, OptionError, SchemaMismatch

CUTS = [-0.5, 0.4]
LETTERS = "abc"


@dataclass(frozen=True)
class Mixed:
    """Columns of numbers with given cut points (the first ones) and of letters; None is missing."""

    rows: tuple
    y: tuple
    weights: tuple
    n_numbers: int
    queries: tuple

    @property
    def n(self):
        return len(self.rows[0])

    @property
    def options(self):
        """Of a classifier that is to read this table."""
        return {"bins": {f"x{i}": CUTS for i in range(self.n_numbers)}, "gaussian": list(range(self.n_numbers))}

    def fit(self, model, rows=slice(None)):
        some = [list(row) for row in self.rows[rows]]
        return model.set_params(**self.options).fit(some, self.y[rows], sample_weight=self.weights[rows])

    def coded(self, row):
        seen = [list(dict.fromkeys(r[i] for r in self.rows if r[i] is not None)) for i in range(self.n)]
        out = []
        for i, cell in enumerate(row):
            if cell is None or (i >= self.n_numbers and cell not in seen[i]):
                out.append(None)
            else:
                out.append(sum(t < cell for t in CUTS) if i < self.n_numbers else seen[i].index(cell))
        return tuple(out)

    def numbers(self, row):
        return tuple(cell if i < self.n_numbers else None for i, cell in enumerate(row))

    def twin(self):
        n_values = [len(CUTS) + 1] * self.n_numbers
        n_values += [len({r[i] for r in self.rows} - {None}) for i in range(self.n_numbers, self.n)]
        classes = sorted(set(self.y))
        labels = [classes.index(label) for label in self.y]
        data = oracle.make([self.coded(r) for r in self.rows], labels, self.weights, n_values, len(classes))
        return density_twin.make(data, [self.numbers(r) for r in self.rows], range(self.n_numbers))


@st.composite
def mixed_tables(draw, min_rows=1, max_rows=20):
    """Few rows, so that contexts are thin or empty; numbers may be constant, and cells are missing."""
    n_numbers, n_letters = draw(st.integers(1, 3)), draw(st.integers(0, 2))
    m, k = draw(st.integers(min_rows, max_rows)), draw(st.integers(1, 3))
    holes, constant = draw(st.booleans()), draw(st.booleans())
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    y = rng.integers(0, k, m)

    def row(c, spread):
        numbers = (rng.normal(size=n_numbers) * spread + c * 0.5).round(3).tolist()
        if constant:
            numbers[-1] = 0.25
        cells = [*numbers, *(LETTERS[(c + v) % 3] for v in rng.integers(0, 2, n_letters))]
        return tuple(None if holes and rng.random() < 0.25 else cell for cell in cells)

    rows = tuple(row(c, 1.0) for c in y)
    queries = (*(row(int(c), 2.0) for c in rng.integers(0, 3, 5)), (None,) * (n_numbers + n_letters))
    weights = tuple((rng.integers(1, 9, m) / 4).tolist())
    return Mixed(rows, tuple(f"c{c}" for c in y), weights, n_numbers, queries)


def _chain(n):
    return {i: [[], [i - 1], *([[i - 2, i - 1]] if i > 1 else [])] for i in range(1, n)}


def _twice(n):
    """One set of two parents for the last column, so that one of them may be missing."""
    return {n - 1: [[0, 1]]} if n > 2 else {}


FORMULAS = {
    "aode": (lambda n: AODE(), None),
    "aode-2": (lambda n: AODE(min_count=2.5), None),
    "tan": (lambda n: TAN(), lambda m, n: oracle.one_each(tuple(int(p[1:]) for p in v) for v in m.parents_.values())),
    "fanc": (lambda n: FANC(), lambda m, n: oracle.fanc_sets(range(n))),
    "spc": (lambda n: SPC(), lambda m, n: oracle.spc_sets(range(n), 0)),
    "tc": (lambda n: TC(), lambda m, n: oracle.tc_sets(range(n))),
    "chain": (
        lambda n: Collection(_chain(n)),
        lambda m, n: [[(tuple(p), 1.0) for p in _chain(n).get(i, [[]])] for i in range(n)],
    ),
    "twice": (
        lambda n: Collection(_twice(n)),
        lambda m, n: [[(tuple(p), 1.0) for p in _twice(n).get(i, [[]])] for i in range(n)],
    ),
}


def expected(name, model, twin, codes, numbers, smoothing):
    sets = FORMULAS[name][1]
    if sets is None:
        return density_twin.aode(twin, codes, numbers, smoothing, model.min_count)
    return density_twin.product_of_sums(twin, codes, numbers, sets(model, twin.data.n), smoothing)


SMOOTHINGS = [Lidstone(1.0), Lidstone(0.0), MEstimate(2.0), PriorCounts(3.0), BackOff(2.0)]


@pytest.mark.parametrize("name", FORMULAS)
@examples(40)
@given(table=mixed_tables(), smoothing=st.sampled_from(SMOOTHINGS))
def test_answers_are_those_of_the_formula(name, table, smoothing):
    model = table.fit(FORMULAS[name][0](table.n).set_params(smoothing=smoothing))
    twin = table.twin()
    got = model.predict_log_joint([list(q) for q in table.queries])
    for query, logs in zip(table.queries, got, strict=True):
        scores = expected(name, model, twin, table.coded(query), table.numbers(query), oracle.rule_of(smoothing))
        np.testing.assert_allclose(logs, scores, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", FORMULAS)
@examples(20)
@given(table=mixed_tables(min_rows=2, max_rows=12), smoothing=st.sampled_from(SMOOTHINGS))
def test_a_row_left_out_is_answered_by_the_others(name, table, smoothing):
    model = table.fit(FORMULAS[name][0](table.n).set_params(smoothing=smoothing))
    twin = table.twin()
    got = model.leave_one_out([list(row) for row in table.rows], table.y, table.weights)
    for r, (row, proba) in enumerate(zip(table.rows, got, strict=True)):
        rest = twin.without(r)
        scores = expected(name, model, rest, table.coded(row), table.numbers(row), oracle.rule_of(smoothing))
        np.testing.assert_allclose(proba, density_twin.posterior(scores), rtol=1e-5, atol=1e-9)


def test_a_missing_parent_leaves_those_before_it():
    rng = np.random.default_rng(5)
    rows = tuple(tuple(row) for row in rng.normal(size=(30, 3)).round(2).tolist())
    queries = ((0.1, None, 0.3), (None, 0.2, 0.3), (None, None, 0.3), (0.1, 0.2, None))
    table = Mixed(rows, ("c0", "c1") * 15, (1.0,) * 30, 3, queries)
    for name in ("twice", "tan"):
        model, twin = table.fit(FORMULAS[name][0](3)), table.twin()
        for query, logs in zip(queries, model.predict_log_joint([list(q) for q in queries]), strict=True):
            want = expected(name, model, twin, table.coded(query), table.numbers(query), oracle.LAPLACE)
            np.testing.assert_allclose(logs, want, rtol=1e-9)


def test_the_answer_on_paper():
    """One number, class a at 0 and 2, class b at 4 and 8, cut at 1 and 6; the query is 1.5 and "u".

    By FANC the letter counts for itself, since it comes first: P(u | a) = 3/4 and P(u | b) = 1/4. The number has the
    class alone, N(1, 1) and N(6, 4), and rows with "u": both of a, so the same again; none of b, so the class's own.
    """
    X, y = [["u", 0.0], ["u", 2.0], ["v", 4.0], ["v", 8.0]], ["a", "a", "b", "b"]
    model = FANC(gaussian=True, bins={"x1": [1.0, 6.0]}).fit(X, y)

    def normal(x, mean, variance):
        return math.exp(-((x - mean) ** 2) / (2 * variance)) / math.sqrt(2 * math.pi * variance)

    a, b = 0.5 * 3 / 4 * 2 * normal(1.5, 1, 1), 0.5 * 1 / 4 * 2 * normal(1.5, 6, 4)
    np.testing.assert_allclose(np.exp(model.predict_log_joint([["u", 1.5]])), [[a, b]])
    # By AODE x0 is one super-parent; x1 in (1, 6] is the other, with one row of each class, at 2 and at 4. They are met
    # by one row like all rows, of mean 3.5 and variance 8.75.
    assert PSEUDO_ROWS == 1
    first = np.array([3 / 8 * normal(1.5, 1, 1), 1 / 8 * normal(1.5, 6, 4)])
    mean = 9.5 / 3
    inside = normal(1.5, mean, (8.75 + (2 - mean) ** 2 + (4 - mean) ** 2 + (3.5 - mean) ** 2) / 3)
    second = inside * np.array([2 / 10 * 2 / 3, 2 / 10 * 1 / 3])
    both = AODE(gaussian=True, bins={"x1": [1.0, 6.0]}).fit(X, y)
    np.testing.assert_allclose(np.exp(both.predict_log_joint([["u", 1.5]]))[0], (first + second) / 2)


# --- laws -----------------------------------------------------------------------------------------------------------


def people(m=120, seed=0):
    """Three numbers that depend on each other, a category and gaps; two classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, m)
    a = rng.normal(size=m) + y
    b = np.where(a > 0, a * 0.5, -a) + 0.3 * rng.normal(size=m)
    c = rng.normal(size=m) * (1 + y)
    X = np.empty((m, 4), dtype=object)
    X[:, 0], X[:, 1], X[:, 2] = a, b, c
    X[:, 3] = np.where(rng.random(m) < 0.3 + 0.4 * y, "red", "blue")
    X[rng.random(X.shape) < 0.05] = None
    return X, np.array(["no", "yes"])[y]


MODELS = {
    "aode": AODE(gaussian=True),
    "tan": TAN(gaussian=True),
    "fan": FAN(gaussian=["x0", "x2"]),
    "fanc": FANC(gaussian=True, column_order="ig_sum"),
    "spc": SPC(gaussian=True),
    "spc-mi": SPC(gaussian=True, super_parent="mi"),
    "spc-refined": SPC(gaussian=True, super_parent="refined"),
    "tc": TC(gaussian=["x1"]),
    "collection": Collection(_chain(4), gaussian=True),
}
every_model = spread("name", list(MODELS))


def made(name, **options):
    return copy.deepcopy(MODELS[name]).set_params(**options)


def same(got, want):
    np.testing.assert_allclose(got, want, rtol=1e-7, atol=1e-10)


def as_dict(row):
    return {f"x{i}": cell for i, cell in enumerate(row) if cell is not None}


@every_model
def test_chunks_single_rows_and_parts_equal_the_batch(name):
    X, y = people()
    w = np.random.default_rng(1).integers(1, 4, len(y)) / 2
    model = made(name).fit(X, y, sample_weight=w)
    schema = model.encoder_.schema
    want = model.predict_proba(X)
    chunks, single = made(name, schema=schema), made(name, schema=schema)
    for start, stop in ((0, 1), (1, 40), (40, 120)):
        chunks.partial_fit(X[start:stop], y[start:stop], sample_weight=w[start:stop])
    for row, label, weight in zip(X.tolist(), y.tolist(), w.tolist(), strict=True):
        single.learn_one(as_dict(row), label, weight)
    same(chunks.predict_proba(X), want)
    same(single.predict_proba(X), want)
    same(list(single.predict_proba_one(as_dict(X[3])).values()), want[3])
    parts = [
        made(name, schema=schema).fit(X[part], y[part], sample_weight=w[part]) for part in (slice(50), slice(50, 120))
    ]
    same(parts[0].merge(parts[1]).predict_proba(X), want)
    model.unlearn(X[:30], y[:30], w[:30])
    same(model.predict_proba(X), made(name, schema=schema).fit(X[30:], y[30:], sample_weight=w[30:]).predict_proba(X))


@every_model
def test_a_window_and_a_decay_weigh_the_rows(name):
    X, y = people()
    schema = made(name).fit(X, y).encoder_.schema
    window = made(name, schema=schema, window=50, refresh=1)
    got = window.test_then_train(X, y)
    assert got.shape == (120, 2)
    assert np.isfinite(got).all()
    fresh = made(name, schema=schema).fit(X[-50:], y[-50:])
    same(window.predict_proba(X), fresh.predict_proba(X))
    if name == "spc-refined":
        return  # kept rows fade as well, and "refined" would look at all of them for every row
    faded = made(name, schema=schema, decay=0.95).partial_fit(X[:70], y[:70]).partial_fit(X[70:], y[70:])
    weights = 0.95 ** np.arange(len(y))[::-1]
    same(faded.predict_proba(X), made(name, schema=schema).fit(X, y, sample_weight=weights).predict_proba(X))


def test_a_row_leaves_a_window_with_its_own_numbers_though_another_has_the_same_codes():
    X, y = [[1.5], [2.0], [3.0], [10.0]], ["a", "a", "a", "b"]
    for model in (AODE(gaussian=True, bins={"x0": [5.0]}), NaiveBayes(gaussian=True)):
        model.set_params(window=10).fit(X, y).unlearn([[1.5]], ["a"])
        moments = model.memory.moments
        assert moments.mean[0, 0] == pytest.approx(2.5)


@every_model
def test_a_stream_answers_as_single_rows_do(name):
    X, y = people(40)
    whole, single = (made(name, warm_up=15, refresh=1) for _ in range(2))
    got = whole.test_then_train(X, y)
    for r, (row, label) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
        answer = single.predict_proba_one(as_dict(row))
        for c, proba in answer.items():
            assert got[r, list(whole.classes_).index(c)] == pytest.approx(proba, abs=1e-9)
        single.partial_fit(np.array([row], dtype=object), [label])
    same(whole.predict_proba(X), single.predict_proba(X))


@pytest.mark.parametrize("name", ["aode", "tan", "fanc", "spc", "tc"])
def test_units_of_a_column_change_no_answer(name):
    X, y = people()
    other = X.copy()
    known = np.array([cell is not None for cell in X[:, 1]])
    other[known, 1] = X[known, 1].astype(float) * 1024 + 4096  # powers of two: cut points are scaled without rounding
    plain, scaled = (made(name).fit(data, y) for data in (X, other))
    assert len(plain.encoder_.schema.columns[1].cuts) == len(scaled.encoder_.schema.columns[1].cuts)
    np.testing.assert_allclose(scaled.predict_proba(other), plain.predict_proba(X), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(scaled.leave_one_out(other, y), plain.leave_one_out(X, y), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("model", [Collection(), FANC(max_parents_from=0), FAN(criterion="g2", bins="width", n_bins=1)])
def test_without_arcs_it_is_gaussian_naive_bayes(model):
    X, y = people()
    ours = copy.deepcopy(model).set_params(gaussian=True).fit(X, y)
    naive = NaiveBayes(gaussian=True).fit(X, y)
    np.testing.assert_allclose(ours.predict_log_joint(X), naive.predict_log_joint(X), rtol=1e-9)
    np.testing.assert_allclose(ours.leave_one_out(X, y), naive.leave_one_out(X, y), rtol=1e-7, atol=1e-12)


@every_model
def test_a_saved_model_answers_and_learns_the_same(name, tmp_path):
    X, y = people()
    model = made(name, window=80).fit(X[:100], y[:100])
    model.save(tmp_path / "model.tanager")
    again = load(tmp_path / "model.tanager")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    for each in (model, again):
        each.partial_fit(X[100:], y[100:])
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_moments_that_do_not_fit_a_file_are_refused():
    X, y = people()
    model = AODE(gaussian=True).fit(X, y)
    moments = model.memory.moments
    for name, cells in (
        ("digits", moments.sums.digits[1:]),
        ("n_values", moments.n_values - 1),
        ("windows", moments.sums.windows[1:]),
    ):
        with pytest.raises(ModelFileError):
            moments.with_arrays(moments.to_arrays() | {f"contexts-{name}": cells})


@every_model
def test_explanations_add_up(name):
    X, y = people()
    model = made(name, class_weight={"yes": 3.0, "no": 1.0}).fit(X, y)
    far = [50.0, -80.0, 400.0, "red"]
    for row in (X[0], [0.1, None, 0.3, "red"], [None, 0.2, None, "blue"], far, [None] * 4):
        table = np.array([row], dtype=object)
        told = model.explain(table, answer="yes", against="no")
        joint = model.predict_log_joint(table)[0]
        assert told.log_odds == pytest.approx(joint[1] - joint[0], rel=1e-9, abs=1e-9)
        assert told.prior + sum(part.log_odds for part in told.parts) == pytest.approx(told.log_odds)


def test_balanced_class_weights_follow_the_rows():
    X, y = people()
    for name in ("aode", "tan"):
        balanced = made(name, class_weight="balanced").fit(X[:60], y[:60])
        balanced.predict_proba(X)
        balanced.partial_fit(X[60:], y[60:])
        schema = balanced.encoder_.schema
        same(balanced.predict_proba(X), made(name, class_weight="balanced", schema=schema).fit(X, y).predict_proba(X))


def test_new_values_classes_and_columns_find_room():
    X, y = people()
    rows = [as_dict(row) | {"x3": f"v{r // 8}"} for r, row in enumerate(X.tolist())]
    rows[60:] = [row | {"x4": "new"} for row in rows[60:]]
    labels = np.where(np.arange(120) < 90, y, "later")
    for name in ("aode", "tan", "fanc", "spc", "tc"):
        model = made(name, warm_up=20, bins={f"x{i}": [0.0, 1.0] for i in range(3)})
        for row, label in zip(rows, labels.tolist(), strict=True):
            model.learn_one(row, label)
        fields = [f"x{i}" for i in range(5)]
        whole = made(name, bins={f"x{i}": [0.0, 1.0] for i in range(3)})
        whole.fit({n: [row.get(n) for row in rows] for n in fields}, labels)
        queries = {n: [row.get(n) for row in rows] for n in fields}
        same(model.predict_proba(queries), whole.predict_proba(queries))
        unseen = made(name, unseen="smooth", bins={f"x{i}": [0.0, 1.0] for i in range(3)}).fit(X, y)
        odd = unseen.predict_proba(np.array([[0.1, 0.2, 0.3, "never seen"]], dtype=object))
        assert np.isfinite(odd).all()


@every_model
def test_huge_numbers_leave_no_nan(name):
    X, y = people()
    X[0, 0], X[1, 1], X[2, 2], X[3, 0] = 1e155, -1e200, 1e308, np.inf
    model = made(name, bins="frequency").fit(X, y)
    queries = np.array(
        [[1e155, 1e200, -1e300, "red"], [np.inf, -np.inf, 0.0, "blue"], [0.1, 0.2, 0.3, "red"]], dtype=object
    )
    for answers in (model.predict_proba(queries), model.predict_log_joint(queries), model.leave_one_out(X, y)):
        assert np.isfinite(answers).all()
    assert all(np.isfinite(part).all() for part in model.memory.moments.cells)
    model.unlearn(X[:4], y[:4])
    assert np.isfinite(model.predict_proba(queries)).all()


def test_numbers_that_only_gaussians_can_tell_apart():
    """Two classes with the same mean and other spreads, and a sign of the correlation that is the class."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 2000)
    a = rng.normal(size=2000)
    b = np.where(y == 1, a, -a) + 0.4 * rng.normal(size=2000)
    X = np.column_stack([a, b])
    for model in (AODE(gaussian=True, bins="frequency"), TAN(gaussian=True, bins="frequency")):
        model.fit(X[:1500], y[:1500])
        assert model.score(X[1500:], y[1500:]) > 0.82
    assert NaiveBayes(gaussian=True).fit(X[:1500], y[:1500]).score(X[1500:], y[1500:]) < 0.6


# --- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (AODE(gaussian=True, subsumption=5), "subsumption"),
        (AODE(gaussian=True, recut="grid"), "recut"),
        (AODE(gaussian=1.5), "gaussian=1.5"),
        (AODE(gaussian=["x9"]), "x9"),
        (TAN(gaussian=True, missing="marginal"), "marginal"),
        (FAN(gaussian=True, missing="mode"), "mode"),
        (TAN(gaussian=True, fit_by="weights"), "fit_by"),
        (FANC(gaussian=True, recut="sketch"), "recut"),
        (Collection(gaussian=True, recut="grid"), "recut"),
        (TC(gaussian=["x3"]), "x3"),
        (BestOf([AODE(gaussian=True), NaiveBayes()]), "gaussian"),
        (Selective(TAN(gaussian=True)), "gaussian"),
    ],
)
def test_what_does_not_go_with_gaussian_columns_is_refused(model, message):
    X, y = people()
    with pytest.raises((OptionError, ValueError), match=message):
        model.fit(X, y)


def test_columns_of_other_kinds_are_refused_under_a_given_schema():
    X, y = people()
    schema = AODE().fit(X, y).encoder_.schema
    with pytest.raises(OptionError, match="column 'x3' is categorical"):
        AODE(gaussian=["x3"], schema=schema).fit(X, y)


def test_counts_and_networks_do_not_hold_numbers():
    X, y = people()
    with pytest.raises(OptionError, match="Fit on the rows"):
        AODE.from_counts(AODE().fit(X, y).counts_, gaussian=True)
    with pytest.raises(OptionError, match="is Gaussian"):
        _ = TAN(gaussian=True).fit(X, y).network_


def test_models_with_other_gaussian_columns_are_not_merged():
    X, y = people()
    schema = AODE().fit(X, y).encoder_.schema
    one, two, none = (AODE(gaussian=g, schema=schema).fit(X, y) for g in (["x0"], ["x1"], False))
    for other in (two, none):
        with pytest.raises(SchemaMismatch, match="same gaussian="):
            one.merge(other)


def test_too_much_memory_is_refused_beforehand():
    X, y = people()
    wide = np.random.default_rng(0).normal(size=(60, 40))
    with pytest.raises(MemoryBudgetError, match="normal distributions of 40 columns"):
        TC(gaussian=True, bins="frequency", max_memory="100 MB").fit(wide, np.arange(60) % 2)
    model = AODE(gaussian=True, max_memory="40 KB").fit(X, y)
    before = model.predict_proba(X)
    with pytest.raises(MemoryBudgetError):
        model.partial_fit(np.array([[0.1, 0.2, 0.3, f"v{r}"] for r in range(300)], dtype=object), y[:1].tolist() * 300)
    same(model.predict_proba(X), before)


def test_a_model_around_it_learns_a_stream():
    X, y = people(200)
    model = DriftAware(AODE(gaussian=True, warm_up=30))
    assert np.isfinite(model.test_then_train(X, y)).all()


def test_a_gaussian_model_can_be_looked_at_with_dir():
    """scikit-learn asks for every attribute there, and a network of tables is none."""
    model = TAN(gaussian=True).fit([[0.5], [1.5], [2.5], [3.5]], [0, 0, 1, 1])
    assert "fit" in dir(model)
    assert not hasattr(model, "network_")


@pytest.mark.parametrize("model", [SPC(gaussian=True), NaiveBayes(gaussian=True), TAN(gaussian=True)], ids=repr)
def test_logs_are_those_of_the_probabilities_however_far_a_number_is(model):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), np.array(["u", "u", "u", "v", "w"] * 6)
    asked = np.array([[1e308, 0.0], [1e100, -1e308], [np.nan, 1e200], [1e9, 1.0], [0.0, 0.0]])
    fitted = copy.deepcopy(model).fit(X, y)
    np.testing.assert_allclose(np.exp(fitted.predict_log_proba(asked)), fitted.predict_proba(asked), atol=1e-9)


def test_a_named_column_may_be_absent_in_later_rows_of_a_warm_up():
    model = FANC(gaussian=["x"]).partial_fit([{"x": 0.5, "z": "a"}, {"x": 1.5, "z": "b"}], [0, 1])
    model.learn_one({"z": "a"}, 0)
    assert np.isfinite(model.predict_proba([{"x": 1.0, "z": "a"}])).all()


def test_a_named_column_of_a_given_schema_may_be_absent_in_the_first_rows():
    rows = [{"size": 0.5, "sky": "sun"}, {"size": 2.5, "sky": "rain"}, {"size": 1.5, "sky": "sun"}]
    schema = NaiveBayes().fit(rows, [0, 1, 0]).encoder_.schema
    model = NaiveBayes(gaussian=["size"], schema=schema).partial_fit([{"sky": "sun"}, {"sky": "rain"}], [0, 1])
    assert model.partial_fit(rows, [0, 1, 0]).predict([{"size": 0.5, "sky": "sun"}]) == [0]
    with pytest.raises(OptionError, match="no column 'sise'"):
        NaiveBayes(gaussian=["sise"], schema=schema).partial_fit(rows, [0, 1, 0])
