"""Gaussian columns and hostile numbers: what is taken back is gone to the last bit, and every answer is finite."""

import copy

import numpy as np
import pytest

import exact_twin
from tanager import AODE, FANC, SPC, TAN, DataError, EvolvingNaiveBayes, NaiveBayes, OptionError, load
from tanager.counts.forgetting import as_decay, as_window
from tanager.counts.joint import JointCounts

KINDS = ("mixed", "huge", "tiny", "constant", "near", "usual", "all sizes")
QUERIES = [0.0, 1.0, -1.0, 1e155, -1e200, 1.7e308, -1.7e308, 5e-324, 1e-150, 1e9, np.nan]
MODELS = {
    "nb": NaiveBayes(gaussian=True),
    "nb-1": NaiveBayes(gaussian=True, ddof=1),
    "aode": AODE(gaussian=True),
    "tan": TAN(gaussian=True),
}


def numbers(kind, m, rng):
    if kind == "mixed":  # ordinary numbers, and a few that are not
        return np.where(rng.random(m) < 0.2, rng.choice([1e150, -1e150, 1e200, 1e-150], m), rng.normal(size=m))
    if kind == "all sizes":
        return rng.normal(size=m) * 10.0 ** rng.integers(-300, 300, m)
    scale = {"huge": 1e150, "tiny": 1e-150, "usual": 1.0, "near": 1.0, "constant": 0.0}[kind]
    return rng.normal(size=m).round(2) * scale + {"near": 1e9, "constant": 0.1}.get(kind, 0.0)


def table(seed, m=40, k=8):
    """Few rows, many classes, and a column of every kind."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([numbers(kind, m, rng) for kind in KINDS])
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, rng.integers(0, k, m), rng.choice([1.0, 0.5, 0.1, 2.7], m)


def queries(X):
    odd = np.repeat(np.array(QUERIES)[:, None], X.shape[1], axis=1)
    return np.vstack([X, odd, np.roll(X, 1, axis=0)])


def made(name, schema=None, **options):
    return copy.deepcopy(MODELS[name]).set_params(**({} if schema is None else {"schema": schema}), **options)


def sound(proba):
    assert np.isfinite(proba).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, atol=1e-9)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("seed", range(4))
def test_unlearned_rows_leave_no_trace(name, seed):
    X, y, w = table(seed)
    whole = made(name, bins="frequency").fit(X, y, sample_weight=w)
    schema = whole.encoder_.schema
    stay = np.random.default_rng(seed).random(len(y)) < 0.5
    stay[[np.flatnonzero(y == c)[0] for c in np.unique(y)]] = True  # a class that is gone would be known no more
    whole.unlearn(X[~stay], y[~stay], w[~stay])
    fresh = made(name, schema).fit(X[stay], y[stay], sample_weight=w[stay])
    for got, want in zip(whole.memory.moments.by_class, fresh.memory.moments.by_class, strict=True):
        np.testing.assert_array_equal(got, want)
    answers = whole.predict_proba(queries(X))
    sound(answers)
    np.testing.assert_allclose(answers, fresh.predict_proba(queries(X)), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("seed", range(3))
def test_parts_that_are_merged_are_the_whole(name, seed):
    X, y, w = table(seed)
    whole = made(name, bins="frequency").fit(X, y, sample_weight=w)
    schema = whole.encoder_.schema
    parts = [made(name, schema).fit(X[at], y[at], sample_weight=w[at]) for at in (slice(15), slice(15, None))]
    merged = parts[0].merge(parts[1])
    for got, want in zip(merged.memory.moments.by_class, whole.memory.moments.by_class, strict=True):
        np.testing.assert_array_equal(got, want)
    np.testing.assert_allclose(merged.predict_proba(queries(X)), whole.predict_proba(queries(X)), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("way", ["chunks", "rows", "stream"])
def test_a_window_is_its_rows(name, way):
    X, y, _ = table(5, m=60, k=4)
    schema = made(name, bins="frequency").fit(X, y).encoder_.schema
    window = made(name, schema, window=20)
    if way == "stream":
        sound(window.test_then_train(X, y))
    else:
        for part in (slice(r, r + (1 if way == "rows" else 13)) for r in range(0, 60, 1 if way == "rows" else 13)):
            window.partial_fit(X[part], y[part])
    fresh = made(name, schema).partial_fit(X[-20:], y[-20:], classes=window.classes_)
    for got, want in zip(window.memory.moments.by_class, fresh.memory.moments.by_class, strict=True):
        np.testing.assert_array_equal(got, want)
    np.testing.assert_allclose(window.predict_proba(queries(X)), fresh.predict_proba(queries(X)), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_a_decay_is_learning_with_smaller_weights(name):
    """Rows have other weights by some units in the last place: a relative bound of 1e-12 for all that follows."""
    X, y, _ = table(7, m=60, k=4)
    schema = made(name, bins="frequency").fit(X, y).encoder_.schema
    faded = made(name, schema, decay=0.9).partial_fit(X[:30], y[:30])
    sound(faded.test_then_train(X[30:], y[30:]))
    fresh = made(name, schema).fit(X, y, sample_weight=0.9 ** np.arange(60)[::-1])
    for got, want in zip(faded.memory.moments.by_class, fresh.memory.moments.by_class, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("name", MODELS)
def test_a_row_that_is_left_out_is_answered_by_the_others(name):
    X, y, w = table(3, m=30, k=4)
    model = made(name, bins="frequency").fit(X, y, sample_weight=w)
    got = model.leave_one_out(X, y, w)
    sound(got)
    if name.startswith("nb"):
        for r in range(0, 30, 5):
            rest = np.arange(30) != r
            fresh = made(name, model.encoder_.schema).partial_fit(
                X[rest], y[rest], classes=model.classes_, sample_weight=w[rest]
            )
            np.testing.assert_allclose(got[r], fresh.predict_proba(X[r : r + 1])[0], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("model", [*MODELS.values(), EvolvingNaiveBayes(), EvolvingNaiveBayes(window=15)])
@pytest.mark.parametrize("seed", range(3))
def test_every_finite_number_has_a_finite_answer(model, seed, tmp_path):
    X, y, w = table(seed, m=50, k=5)
    model = copy.deepcopy(model)
    if not isinstance(model, EvolvingNaiveBayes):
        model.set_params(bins="frequency")
    model.fit(X, y, sample_weight=w)
    sound(model.predict_proba(queries(X)))
    assert np.isfinite(model.predict_log_joint(queries(X))).all()
    model.partial_fit(np.full((1, X.shape[1]), 1.7e308), y[:1]).partial_fit(-X[:5], y[:5])
    sound(model.predict_proba(queries(X)))
    model.save(tmp_path / "model.tanager")
    np.testing.assert_array_equal(load(tmp_path / "model.tanager").predict_proba(X), model.predict_proba(X))


def test_one_number_does_not_ruin_naive_bayes():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 1)), np.arange(50) % 2
    model = NaiveBayes(gaussian=True).fit(X, y)
    before = model.predict_proba(X)
    sound(model.predict_proba([[1e155]]))
    model.partial_fit([[1e200]], [0])
    sound(model.predict_proba(X))
    model.unlearn([[1e200]], [0])
    np.testing.assert_array_equal(model.predict_proba(X), before)


def test_far_numbers_go_to_the_widest_class_and_then_to_the_nearest():
    wide = NaiveBayes(gaussian=True).fit([[-1.5], [1.5], [-3.5], [3.5]], ["narrow", "narrow", "wide", "wide"])
    near = NaiveBayes(gaussian=True).fit([[-1.5], [1.5], [8.5], [11.5]], ["low", "low", "high", "high"])
    for far in (1e3, 1e20, 1e100, 1e300, 1.7e308):
        assert wide.predict([[far]]) == wide.predict([[-far]]) == "wide"
        assert near.predict([[far]]) == "high"
        assert near.predict([[-far]]) == "low"


def test_a_far_number_in_one_column_does_not_drown_the_others():
    """The first column has the same distribution in both classes: whatever it holds, the second one decides."""
    X = [[0.5, 1.1], [2.5, 2.2], [0.5, 8.1], [2.5, 9.2]]
    model = NaiveBayes(gaussian=True).fit(X, ["a", "a", "b", "b"])
    usual = model.predict_proba([[1.0, 3.5]])
    np.testing.assert_allclose(model.predict_proba([[1e300, 3.5]]), usual)


def test_a_column_that_does_not_vary_says_nothing():
    X, y, _ = table(2)
    both = NaiveBayes(gaussian=True).fit(X[:, [3, 5]], y)
    alone = NaiveBayes(gaussian=True).fit(X[:, [5]], y)
    far = X[:, [3, 5]].copy()
    far[:, 0] = 1e300
    np.testing.assert_allclose(both.predict_proba(far), alone.predict_proba(X[:, [5]]), rtol=1e-12)


@pytest.mark.parametrize("model", [AODE(gaussian=True), TAN(gaussian=True), FANC(gaussian=True), SPC(gaussian=True)])
def test_one_far_number_leaves_answers_finite_and_sensible(model):
    """Each column in turn is far away: probabilities sum to one, and explanations are finite."""
    rng = np.random.default_rng(4)
    y = np.arange(120) % 3
    X = rng.normal(size=(120, 4)) + y[:, None]
    model = copy.deepcopy(model).set_params(bins="frequency").fit(X, y)
    for far in (1e3, -1e6, 1e12, -1e100, 1.7e308, 5e-324):
        for i in range(4):
            row = X[:3].copy()
            row[:, i] = far
            sound(model.predict_proba(row))
            assert np.isfinite(model.predict_log_joint(row)).all()
    sound(model.leave_one_out(X, y))


@pytest.mark.parametrize("model", [TAN(gaussian=True), FANC(gaussian=True)])
def test_a_far_number_does_not_drown_the_others_where_it_tells_nothing(model):
    """The first column has the same numbers in both classes and in every bin of the second one."""
    first, second = np.meshgrid([0.5, 2.5, 1.0, 2.0], [1.1, 2.2, 3.1, 8.1, 9.2, 7.4])
    X = np.column_stack([first.ravel(), second.ravel()])
    y = np.where(X[:, 1] < 5, "a", "b")
    model = copy.deepcopy(model).set_params(bins="frequency").fit(X, y)
    assert model.predict([[1e9, 2.0]]) == model.predict([[1.0, 2.0]]) == "a"
    assert model.predict([[1e9, 8.0]]) == model.predict([[1.0, 8.0]]) == "b"


@pytest.mark.parametrize("ratio", [0.1, 0.01, 0.003, 1e-6])
def test_a_window_of_evolving_naive_bayes_forgets_what_is_ever_smaller(ratio):
    """Every row takes nearly all squares with it, and none so many that one step would show it."""
    m, window = 40, 5
    x = np.maximum(ratio ** np.arange(m), 1e-120) * 1e60
    x[20:] = x[20] * np.random.default_rng(0).normal(size=20)
    state = EvolvingNaiveBayes(window=window).fit(x[:, None], np.arange(m) % 2)._kernel.state()
    mean, deviation = x[-window:].mean(), x[-window:].std()
    assert abs(state["base_mean"][0] - mean) <= 1e-9 * deviation
    np.testing.assert_allclose(state["base_squares"][0], window * deviation**2, rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_a_window_of_evolving_naive_bayes_has_the_moments_of_its_rows(kind):
    rng = np.random.default_rng(1)
    x, window = np.clip(numbers(kind, 80, rng), -1e90, 1e90), 15
    state = EvolvingNaiveBayes(window=window).fit(x[:, None], np.arange(80) % 3)._kernel.state()
    want = exact_twin.moments([(1.0, v) for v in x[-window:].tolist()])
    mean, deviation = float(want[1]), exact_twin.root(want[2])
    bound = 1e-9 * deviation + 80 * np.spacing(abs(mean))  # every row rounds the mean
    assert abs(state["base_mean"][0] - mean) <= bound
    if deviation > 1e-150:  # the square of a smaller one is 0
        np.testing.assert_allclose(state["base_squares"][0], window * deviation**2, rtol=4 * bound / deviation)


# --- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [NaiveBayes(gaussian=True), AODE(gaussian=True), EvolvingNaiveBayes(), NaiveBayes()])
@pytest.mark.parametrize("weight", [np.nan, np.inf, -1.0, 1e300])
def test_weights_that_mean_nothing_are_refused_and_change_nothing(model, weight):
    X, y, _ = table(1, m=30, k=2)
    model = copy.deepcopy(model).fit(X[:, [4, 5]], y)
    before = model.predict_proba(X[:, [4, 5]])
    with pytest.raises(DataError, match="sample_weight"):
        model.partial_fit(X[:2, [4, 5]], y[:2], sample_weight=[1.0, weight])
    with pytest.raises(DataError, match="sample_weight"):
        model.learn_one({"x0": 1.0, "x1": 2.0}, y[0], sample_weight=weight)
    np.testing.assert_array_equal(model.predict_proba(X[:, [4, 5]]), before)


def test_the_largest_weights_are_kept_in_files(tmp_path):
    X, y, _ = table(1, m=30, k=2)
    for model in (EvolvingNaiveBayes(), EvolvingNaiveBayes(window=9), NaiveBayes(gaussian=True)):
        model.fit(X, y, sample_weight=np.full(30, 1e100))
        sound(model.predict_proba(queries(X)))
        model.save(tmp_path / "model.tanager")
        np.testing.assert_array_equal(load(tmp_path / "model.tanager").predict_proba(X), model.predict_proba(X))


def test_counts_refuse_weights_that_mean_nothing():
    counts = JointCounts(NaiveBayes().fit([["u"], ["v"]], [0, 1]).counts_.schema, [0, 1])
    for weight in (np.nan, np.inf, -1.0):
        with pytest.raises(DataError, match="weight"):
            counts.update(np.zeros((1, 1), np.uint8), np.zeros(1, np.uint8), np.array([weight]))
        with pytest.raises(DataError, match="weight"):
            counts.subtract(np.zeros((1, 1), np.uint8), np.zeros(1, np.uint8), np.array([weight]))
    assert counts.n_rows == 0


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("row", [1e6, -30.0, 0.123])
def test_numbers_that_cannot_have_been_learned_are_not_unlearned(name, row):
    """Squares would be below 0, or left over where no row is."""
    X = np.array([[1.25, 2.5], [2.75, 1.5], [5.25, 6.5]])
    model = made(name, bins="width").fit(X, [0, 0, 1])
    before = [part.copy() for part in model.memory.moments.cells]
    with pytest.raises(DataError, match="never learned"):
        model.unlearn([[row, 6.5]], [1])
    for got, want in zip(model.memory.moments.cells, before, strict=True):
        np.testing.assert_array_equal(got, want)
    model.unlearn(X[2:], [1]).partial_fit(X[2:], [1])
    for got, want in zip(model.memory.moments.cells, before, strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("model", [NaiveBayes, AODE, TAN])
def test_a_column_that_is_not_there_is_reported_in_the_words_of_the_option(model):
    with pytest.raises(OptionError, match=r"^gaussian: X has no column 'typo'"):
        model(gaussian=["typo"]).fit([[1.0], [2.0]], [0, 1])


def test_spans_that_are_none_are_reported_in_the_words_of_the_option():
    with pytest.raises(OptionError, match=r"^decay='soon'"):
        as_decay("soon")
    with pytest.raises(OptionError, match=r"^window='soon'"):
        as_window("soon")


@pytest.mark.parametrize("ddof", [2, -1, True, "n", 0.5])
def test_variances_are_divided_by_n_or_by_one_less(ddof):
    for model in (NaiveBayes(gaussian=True, ddof=ddof), EvolvingNaiveBayes(ddof=ddof)):
        with pytest.raises(OptionError, match="ddof"):
            model.fit([[1.0], [2.0]], [0, 1])
