"""What EvolvingNaiveBayes can be told: windows and their priors, given pseudo-classes, densities, the minimum."""

import copy

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tanager
from tanager import DataError, EvolvingNaiveBayes, NaiveBayes, OptionError
from tanager.streams.fuzzy_sets import CountAbout, NearZero

# --- the priors of a window -----------------------------------------------------------------------------------------


def priors(model):
    """The prior of every class."""
    found = {}
    for pseudo in model.pseudo_classes_:
        found[pseudo.label] = found.get(pseudo.label, 0.0) + pseudo.prior
    return found


def test_a_class_whose_rows_have_left_the_window_has_its_start_alone():
    """Ten rows "a" and ten "b" gave "a" a prior of .32 in a window of ten, where no "a" is left."""
    model = EvolvingNaiveBayes(window=10).fit(np.arange(20.0)[:, None], ["a"] * 10 + ["b"] * 10)
    assert priors(model) == pytest.approx({"a": 1 / 12, "b": 11 / 12})
    one_more = model.learn_one({"x0": 3.0}, "a")
    assert priors(one_more) == pytest.approx({"a": 2 / 12, "b": 10 / 12})


def test_a_class_whose_rows_have_left_the_window_is_as_wide_as_all_rows_of_it():
    """The first class went back to what its first row began with, which was next to nothing wide."""
    model = EvolvingNaiveBayes(window=10, numeric=["x0"])
    model.fit(np.append(np.full(10, 3.0), np.arange(50.0, 60.0))[:, None], ["a"] * 10 + ["b"] * 10)
    model.check_fitted()
    state = model._kernel.state()
    assert state["weight"][0] == 0  # the active pseudo-class of "a" has learned nothing
    np.testing.assert_allclose([state["mean"][0], state["variance"][0]], [54.5, 8.25])
    for x in (50.0, 51.0):
        model.learn_one({"x0": x}, "a")
    state = model._kernel.state()
    assert state["weight"][0] == 3  # and the base of now
    assert 50 < state["mean"][0] < 53


def rows_of_window(state):
    """Weight, class, target and hidden pseudo-class of the rows in a kernel's state."""
    names = ("kept_weights", "kept_label", "kept_target", "kept_hidden")
    return list(zip(*(state[name].tolist() for name in names), strict=True))


def expected_priors(state):
    """Priors from the rows of the window alone, one by one."""
    rows, known = rows_of_window(state), int(state["known"].sum())
    total = known + sum(row[0] for row in rows)
    learned = [sum(w * ((t == p) + (h == p)) for w, _, t, h in rows) for p in range(len(state["label"]))]
    out = []
    for p, c in enumerate(state["label"]):
        if state["hidden"][p]:
            out.append(learned[p] / total)
            continue
        own = [q for q in range(len(learned)) if state["label"][q] == c and not state["hidden"][q]]
        of_class = 1 + sum(w for w, label, *_ in rows if label == c)
        parts = sum(state["start"][q] + learned[q] for q in own)
        out.append(of_class / total * (state["start"][p] + learned[p]) / parts)
    return out


@given(
    st.integers(0, 2**16),
    st.integers(1, 80),
    st.sampled_from([(1.0,), (0.5, 1.0, 3.0), (1e-6, 1.0, 1e12)]),
    st.sampled_from([{}, {"p_min": 0.1, "max_error": 0.4}, {"unlabelled": 0.5, "confidence": 0.5}]),
)
def test_priors_follow_the_rows_of_the_window_exactly(seed, window, weights, options):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(300) < 0.5, "a", "b").astype(object)
    X = rng.normal(size=(300, 2)) + np.where(y == "a", rng.choice([-2.0, 2.0], 300), 0.0)[:, None]
    y[rng.random(300) < 0.1] = "c"
    if options.get("unlabelled"):
        y[50::9] = None
    model = EvolvingNaiveBayes(window=window, wait=10, min_hidden=2, eta=0.1, **options)
    w = rng.choice(weights, 300)
    for start in range(0, 300, 60):
        part = slice(start, start + 60)
        model.partial_fit(X[part], y[part], sample_weight=w[part])
        model.check_fitted()
        state = model._kernel.state()
        np.testing.assert_allclose(state["prior"], expected_priors(state), rtol=1e-9, atol=1e-12)
        assert state["prior"][state["hidden"] == 0].sum() == pytest.approx(1.0, abs=1e-12)
        np.testing.assert_allclose([sum(state["start"][state["label"] == c]) for c in range(3)], state["known"])


def test_heavy_rows_leave_no_trace_when_they_leave_the_window():
    model = EvolvingNaiveBayes(window=4)
    weights = [1e100, 1e80, 1e60, 1e40, 1e20, 1.0, 1.0, 2.0, 1.0]
    model.fit(np.arange(9.0)[:, None], list("aaabababa"), sample_weight=weights)
    assert priors(model) == pytest.approx({"a": 3 / 7, "b": 4 / 7})


def test_a_window_in_a_file_from_before_takes_up_its_rows():
    """Its priors were running means: they answer as they did, and follow the rows from the next one on."""
    path = __file__.replace("streams/test_evolving_choices.py", "formats/v1/EvolvingNaiveBayes-window.tanager")
    model = tanager.load(path)
    before = [pseudo.prior for pseudo in model.pseudo_classes_]
    state = model._kernel.state()
    assert before == state["prior"][state["hidden"] == 0].tolist()
    model.learn_one({"sky": "sun", "wind": False, "warmth": 20.0}, "play")
    state = model._kernel.state()
    np.testing.assert_allclose(state["prior"], expected_priors(state), rtol=1e-12)
    assert len(state["kept_weights"]) == 20


# --- given pseudo-classes -------------------------------------------------------------------------------------------

LINE = np.array([[1.0], [3.0], [10.0], [12.0], [5.0], [7.0]])
OF_LINE = ["a"] * 4 + ["b"] * 2


def test_given_pseudo_classes_do_not_depend_on_the_order():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), rng.choice(["a", "b"], 200)
    given_ones, w = rng.integers(0, 3, 200), rng.choice([0.0, 0.5, 1.0], 200)
    turned = rng.permutation(200)
    models = [
        EvolvingNaiveBayes().fit(X[o], y[o], sample_weight=w[o], pseudo_classes=given_ones[o])
        for o in (np.arange(200), turned)
    ]
    np.testing.assert_allclose(models[0].predict_proba(X), models[1].predict_proba(X), rtol=1e-9)
    assert len(models[0].pseudo_classes_) == 6


def test_one_given_pseudo_class_each_is_naive_bayes():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    X = rng.normal(size=(300, 2)) + 2 * y[:, None]
    as_given = EvolvingNaiveBayes(prior_weight=0).fit(X, y, pseudo_classes=["all"] * 300)
    naive = NaiveBayes(gaussian=True).fit(X, y).moments_.by_class
    for pseudo, c in zip(as_given.pseudo_classes_, (0, 1), strict=True):
        assert list(pseudo.means.values()) == pytest.approx(naive.mean[c].tolist())
        assert list(pseudo.spreads.values()) == pytest.approx(naive.deviation[c].tolist())
        assert pseudo.prior == pytest.approx(((y == c).sum() + 1) / 302)


@pytest.mark.parametrize("options", [{}, {"alpha": 0.1}, {"window": 50}, {"join": "min"}], ids=str)
def test_a_model_of_given_pseudo_classes_goes_on(options, tmp_path):
    rng = np.random.default_rng(1)
    X, y, clusters = rng.normal(size=(200, 2)), rng.choice(["a", "b"], 200), rng.choice(["u", "v"], 200)
    model = EvolvingNaiveBayes(**options).fit(X, y, pseudo_classes=clusters)
    model.save(tmp_path / "model.tanager")
    again = tanager.load(tmp_path / "model.tanager")
    for other in (model, again):
        other.partial_fit(X[:100], y[:100])
    np.testing.assert_array_equal(model.predict_proba(X), again.predict_proba(X))
    assert sum(pseudo.prior for pseudo in model.pseudo_classes_) == pytest.approx(1)


def test_a_window_of_given_pseudo_classes_has_its_last_rows():
    model = EvolvingNaiveBayes(window=3, prior_weight=0, numeric=["x0"]).fit(
        LINE, OF_LINE, pseudo_classes=list("uuvvww")
    )
    assert [p.prior for p in model.pseudo_classes_] == pytest.approx([1 / 5 * 2 * 0.5 / 2, 2 / 5 * 1.5 / 2, 3 / 5])
    assert model.pseudo_classes_[1].means == {"x0": 12.0}


def test_given_pseudo_classes_that_do_not_fit_are_refused():
    with pytest.raises(DataError, match="X has 6 rows, and 2 pseudo_classes are given"):
        EvolvingNaiveBayes().fit(LINE, OF_LINE, pseudo_classes=["u", "v"])
    with pytest.raises(DataError, match="pseudo_classes: row 3 has none"):
        EvolvingNaiveBayes().fit(LINE, OF_LINE, pseudo_classes=["u", "u", "v", None, "w", "w"])


# --- densities ------------------------------------------------------------------------------------------------------


def calls(m=400, seed=0):
    """Counts and waiting times of two classes; the second comes in two clusters."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(m) < 0.5, "quiet", "busy")
    rate = np.where(y == "quiet", 2.0, rng.choice([0.3, 9.0], m))
    frame = pd.DataFrame({"calls": rng.poisson(rate), "wait": rng.exponential(1 / rate), "day": rng.normal(size=m)})
    return frame, y


BOTH = {"calls": "poisson", "wait": "exponential"}


def test_counts_and_waits_are_learned_with_their_own_densities():
    X, y = calls(3000)
    plain, own = EvolvingNaiveBayes(), EvolvingNaiveBayes(density=BOTH)
    losses = []
    for model in (plain, own):
        proba = model.test_then_train(X, y)[500:]
        place = {label: c for c, label in enumerate(model.classes_)}
        losses.append(-np.log(proba[np.arange(len(proba)), [place[label] for label in y[500:]]]).mean())
    assert losses[1] < losses[0]
    kinds = {column.name: column.kind for column in own.encoder_.schema.columns}
    assert kinds == dict.fromkeys(X.columns, "continuous")
    sentence = str(own.rules()[0])
    assert "calls is a count of about" in sentence
    assert "wait is small (mean" in sentence
    assert "day is about" in sentence


def test_one_density_for_all_takes_columns_of_few_whole_numbers_as_numbers():
    X = pd.DataFrame({"n": [0, 1, 2, 1, 4, 5, 6, 4], "text": list("uvuvuvuv")})
    model = EvolvingNaiveBayes(density="poisson").fit(X, list("aaaabbbb"))
    assert {column.name: column.kind for column in model.encoder_.schema.columns} == {
        "n": "continuous",
        "text": "categorical",
    }
    assert model.predict(X).tolist() == list("aaaabbbb")


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("calls", -1, "column 'calls', row 0: -1 cannot be where density is 'poisson'"),
        ("calls", 1.5, "row 0: 1.5 cannot be"),
        ("wait", -0.5, "column 'wait', row 0: -0.5 cannot be where density is 'exponential'"),
    ],
)
def test_numbers_that_a_density_cannot_have_are_refused_and_change_nothing(name, value, sentence):
    X, y = calls(50)
    model, young = EvolvingNaiveBayes(density=BOTH).fit(X, y), EvolvingNaiveBayes(density=BOTH)
    young.learn_one({"calls": 3, "wait": 0.5}, "busy")
    row = {"calls": 1, "wait": 0.25} | {name: value}
    for one in (model, young):
        before = one.predict_proba_one({"calls": 2})
        for refused in (
            lambda one=one: one.learn_one(row, "busy"),
            lambda one=one: one.learn_one(row | {"new": 2.5}, "busy"),
            lambda one=one: one.partial_fit([row], ["busy"]),
            lambda one=one: one.test_then_train([row], ["busy"]),
            lambda one=one: one.predict_proba_one(row),
            lambda one=one: one.predict_proba([row | {"day": 0.0}]),
        ):
            with pytest.raises(DataError, match=sentence):
                refused()
        assert one.predict_proba_one({"calls": 2}) == before
        assert "new" not in one.encoder_.schema
    assert sum(model.predict_proba_one({"calls": None, "wait": float("nan")}).values()) == pytest.approx(1)


def test_the_row_of_a_number_that_cannot_be_is_counted_from_the_beginning_of_the_stream():
    X, y = calls(2500)
    X.loc[2100, "calls"] = -2
    with pytest.raises(DataError, match="row 2100: -2"):
        EvolvingNaiveBayes(density=BOTH).test_then_train(X, y)


def test_a_column_of_counts_may_come_late():
    model = EvolvingNaiveBayes(density={"calls": "poisson"}, scale="unit")
    for r in range(30):
        row = {"size": 0.5 + r % 3} | ({"calls": r % 4 + 5 * (r % 2)} if r > 10 else {})
        model.learn_one(row, "ab"[r % 2])
    model.check_fitted()
    assert isinstance(model.rules()[0].conditions[1], CountAbout)
    assert model.predict_one({"calls": 8}) == "b"


def test_a_copy_of_a_model_with_a_late_column_starts_as_it_did():
    """Copies were refused where the start was given and a number column had come later."""
    model = EvolvingNaiveBayes(scale="unit").learn_one({"a": 1.5}, "u").learn_one({"a": 2.5, "b": 0.25}, "v")
    assert copy.deepcopy(model).predict_proba_one({"b": 1.0}) == model.predict_proba_one({"b": 1.0})


def test_columns_of_zeros_say_nothing():
    model = EvolvingNaiveBayes(density={"n": "poisson", "t": "exponential"})
    model.fit(pd.DataFrame({"n": [0, 0, 0], "t": [0.0, 0.0, 0.0]}), ["a", "a", "b"])
    assert model.predict_proba_one({"n": 7, "t": 3.0}) == pytest.approx({"a": 0.6, "b": 0.4})


@pytest.mark.parametrize("join", ["product", "min"])
def test_every_number_that_can_be_has_a_finite_answer(join):
    X, y = calls(100)
    model = EvolvingNaiveBayes(density=BOTH, join=join).fit(X, y)
    far = pd.DataFrame({"calls": [0, 1e15, 1e300], "wait": [1e300, 0.0, 5e-324], "day": [1e300, -1e300, 0.0]})
    assert np.isfinite(model.predict_proba(far)).all()
    assert np.isfinite(model.predict_log_joint(far)).all()


def test_a_start_below_zero_is_refused_where_the_density_has_none():
    with pytest.raises(OptionError, match="the mean of column 'x0' is 0"):
        EvolvingNaiveBayes(density={"x0": "exponential"}, scale=([0.0], [1.0])).fit([[1.5], [2.5]], ["a", "b"])


def test_fuzzy_sets_have_their_peak_at_one():
    for own in (CountAbout("n", 3.7), CountAbout("n", 0.2), NearZero("t", 2.5)):
        degrees = [np.exp(own.log_degree(x)) for x in range(30)]
        assert max(degrees) == pytest.approx(1)
        assert min(degrees) >= 0


# --- the minimum ----------------------------------------------------------------------------------------------------


def test_with_one_column_of_one_spread_minimum_and_product_decide_alike():
    X = np.array([[0.0], [2.0], [10.0], [12.0]])
    for join in ("product", "min"):
        model = EvolvingNaiveBayes(join=join, prior_weight=0, max_pseudo=1, numeric=["x0"]).fit(X, ["a", "a", "b", "b"])
        assert model.predict_proba([[5.0]])[0, 0] == pytest.approx(1 / (1 + np.exp((4.0**2 - 6.0**2) / 2)))


def test_the_rules_say_that_they_are_joined_by_the_minimum():
    model = EvolvingNaiveBayes(join="min").fit(LINE, OF_LINE)
    text = str(model.rules())
    assert text.splitlines()[-1] == "AND is the minimum: a rule counts its weight times the least of its degrees."
    assert [rule.weight for rule in model.rules()] == pytest.approx([rule.prior for rule in model.rules()])
    assert "minimum" not in str(EvolvingNaiveBayes().fit(LINE, OF_LINE).rules())
