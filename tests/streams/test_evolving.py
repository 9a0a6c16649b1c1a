"""EvolvingNaiveBayes through its door: tables, rows, streams, files, rules, events and what it refuses."""

import copy
import pickle
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.utils.estimator_checks import parametrize_with_checks

import tanager
from tanager import DataError, DataWarning, EvolvingNaiveBayes, ModelFileError, NaiveBayes, OptionError
from tanager.streams.fuzzy_sets import about, one_of

ORDER_MATTERS = "a repeated row is answered before it is learned again, and the check deals rows in another order"


@parametrize_with_checks(
    [EvolvingNaiveBayes(), EvolvingNaiveBayes(join="min", window=40), EvolvingNaiveBayes(alpha=0.1, step="constant")],
    expected_failed_checks=lambda model: {
        "check_sample_weight_equivalence_on_dense_data": ORDER_MATTERS,
        "check_sample_weight_equivalence_on_sparse_data": ORDER_MATTERS,
    },
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def xor(m=1500, seed=0, spread=0.6):
    """Two classes of two clusters each, on crossed corners; no column alone tells them apart."""
    rng = np.random.default_rng(seed)
    corner = rng.choice([-2.0, 2.0], (m, 2))
    y = np.where(corner[:, 0] == corner[:, 1], "same", "other")
    return corner + spread * rng.normal(size=(m, 2)), y


def mixed(m=300, seed=0):
    """Rows as dicts: numbers, text, whole numbers, gaps, and a class that comes late."""
    rng = np.random.default_rng(seed)
    y = rng.choice(["a", "b"], m)
    y[m // 2 :: 3] = "c"
    rows = []
    for label in y:
        row = {"size": float(rng.normal(ord(label))), "colour": str(rng.choice(["red", "blue", label])), "bits": 1.5}
        row["whole"] = int(rng.integers(0, 3 + len(rows) // 20))
        row["text"] = str(rng.choice(list("xyz"))) + ("!" if rng.random() < 0.02 else "")
        for name in list(row):
            if rng.random() < 0.1:
                row[name] = None
        rows.append(row)
    return rows, y


def of_densities(rows, density):
    """The rows with numbers that these densities can have."""

    def cell(name, value):
        return float(round(value)) if density.get(name) == "poisson" and value is not None else value

    return [{name: cell(name, value) for name, value in row.items()} for row in rows]


QUICK = {"wait": 20, "min_hidden": 5, "eta": 0.05}
EVERY_WAY = [
    {},
    {"alpha": 0.05},
    {"window": 80},
    {"scale": "unit", "unseen": "smooth"},
    {"unlabelled": 0.1, "similarity": "test"},
    {"unseen": "error"},
    {"alpha": 0.05, "step": "constant"},
    {"join": "min", "window": 80},
    {"density": {"size": "exponential", "late": "poisson"}, "alpha": 0.02, "step": "constant", "scale": "unit"},
    {"density": {"size": "poisson", "whole": "poisson"}, "join": "min"},
]


@pytest.mark.parametrize("options", EVERY_WAY, ids=str)
def test_rows_chunks_streams_and_tables_give_one_model(options):
    rows, y = mixed()
    if options.get("unseen") == "error":
        rows = [{name: cell for name, cell in row.items() if name in ("size", "bits")} for row in rows]
    rows = of_densities(rows, options.get("density", {}))
    if "late" in options.get("density", {}):
        options = options | {"density": {"size": "exponential"}}  # fit refuses names that it does not find
    labels = [None if options.get("unlabelled") and r % 7 == 3 else label for r, label in enumerate(y)]
    models = [EvolvingNaiveBayes(**QUICK, **options, keep="all") for _ in range(4)]  # fit leaves out what is constant
    one_by_one = []
    for row, label in zip(rows, labels, strict=True):
        one_by_one.append(models[0].predict_proba_one(row))
        models[0].learn_one(row, label)
    stream = models[1].test_then_train(rows, labels)
    for start in range(0, len(rows), 37):
        models[2].partial_fit(rows[start : start + 37], labels[start : start + 37])
    models[3].fit(rows, labels)
    for answer, proba in zip(one_by_one[1:], stream[1:], strict=True):
        assert [answer.get(label, 0.0) for label in models[1].classes_.tolist()] == proba.tolist()
    assert stream[0].tolist() == [1 / 3] * 3
    for other in models[1:]:
        assert_alike(models[0], other)
    np.testing.assert_array_equal(models[0].predict_proba(rows), models[3].predict_proba(rows))


def assert_alike(model, other):
    for each in (model, other):
        each.check_fitted()  # learns the last rows of a warm-up
    ours, theirs = model._kernel.state(), other._kernel.state()
    assert model.encoder_.schema == other.encoder_.schema
    for name in ours:
        np.testing.assert_array_equal(ours[name], theirs[name], err_msg=name)


def test_tables_of_any_type_teach_the_same():
    X, y = xor(400)
    frame = pd.DataFrame(X, columns=["u", "v"])
    models = [EvolvingNaiveBayes().fit(table, y) for table in (frame, frame.to_dict("records"), frame.to_dict("list"))]
    for other in models[1:]:
        assert_alike(models[0], other)


def test_naive_bayes_cannot_do_xor_and_this_one_can():
    X, y = xor()
    plain, evolving = NaiveBayes(gaussian=True), EvolvingNaiveBayes()
    right = []
    for model in (plain, evolving):
        proba = model.test_then_train(X, y)
        right.append((model.classes_[proba.argmax(axis=1)] == y)[1000:].mean())
    assert right[0] < 0.85
    assert right[1] > 0.95
    assert len(evolving.pseudo_classes_) > 2


def test_without_promotions_it_is_gaussian_naive_bayes():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 500)
    X = rng.normal(size=(500, 3)) + 3 * y[:, None]
    for ddof in (0, 1):
        model = EvolvingNaiveBayes(max_pseudo=1, prior_weight=0, ddof=ddof).fit(X, y)
        naive = NaiveBayes(gaussian=True, ddof=ddof).fit(X, y).moments_.by_class.deviation
        for pseudo, c in zip(model.pseudo_classes_, (0, 1), strict=True):
            own = X[y == c]
            assert list(pseudo.means.values()) == pytest.approx(own.mean(axis=0).tolist())
            assert list(pseudo.spreads.values()) == pytest.approx(own.std(axis=0, ddof=ddof).tolist())
            assert list(pseudo.spreads.values()) == pytest.approx(naive[c].tolist())
            assert pseudo.prior == pytest.approx((len(own) + 1) / 502)


def test_late_labels_are_answered_from_what_is_known():
    X, y = xor(600)
    late, check = EvolvingNaiveBayes(), EvolvingNaiveBayes()
    out = late.test_then_train(X[:-50], y[:-50], answered=X[50:])
    for r in range(len(out)):
        if r % 100 == 99:
            np.testing.assert_array_equal(check.predict_proba(X[50 + r : 51 + r])[0], out[r])
        check.partial_fit(X[r : r + 1], y[r : r + 1])


def test_announced_classes_take_part_before_their_first_row():
    model = EvolvingNaiveBayes().partial_fit([[0.5], [1.5]], ["a", "a"], classes=["a", "b"])
    assert model.predict_proba([[1.0]])[0, 1] > 0.1
    other = EvolvingNaiveBayes().partial_fit([[0.5], [1.5]], ["a", "a"])
    other.partial_fit([[3.0]], ["b"], sample_weight=[0.0])  # such a row teaches its class, and nothing about it
    assert other.classes_.tolist() == ["a", "b"]
    assert other.predict_proba([[1.0]])[0].tolist() == [1.0, 0.0]


def test_new_columns_of_a_stream_are_numbers_where_their_first_value_is_one():
    model = EvolvingNaiveBayes().learn_one({"a": 1.5}, "u").learn_one({"a": 2.5, "b": 0.25, "c": "x"}, "v")
    kinds = {column.name: column.kind for column in model.encoder_.schema.columns}
    assert kinds == {"a": "continuous", "b": "continuous", "c": "categorical"}
    model.learn_one({"b": 0.75, "c": "y"}, "u")
    assert sum(model.predict_proba_one({"b": 0.5, "c": "z", "unknown": 3}).values()) == pytest.approx(1)


def test_rows_without_a_label_are_left_out_unless_wanted():
    X, y = xor(500)
    half = np.where(np.arange(500) % 2, y.astype(object), None)
    with pytest.warns(DataWarning, match="250 rows have no label"):
        without = EvolvingNaiveBayes().fit(X, half)
    assert_alike(without, EvolvingNaiveBayes().fit(X[1::2], y[1::2]))
    used = EvolvingNaiveBayes(unlabelled=0.1).fit(X, half)
    assert sum(p.weight for p in used.pseudo_classes_) > sum(p.weight for p in without.pseudo_classes_)


def test_costs_turn_answers_and_promotion():
    X, y = xor(1500, spread=1.5)
    cautious = EvolvingNaiveBayes(cost_matrix=[[0, 1], [10, 0]], max_loss=0.3).fit(X, y)
    plain = EvolvingNaiveBayes().fit(X, y)
    share = [(model.predict(X) == "same").mean() for model in (cautious, plain)]
    assert share[0] > share[1]
    assert any("loss" in event.why for event in cautious.events_)


# --- rules, events, pictures ---------------------------------------------------------------------------------------


@given(
    st.integers(0, 2**16),
    st.sampled_from([{}, {"window": 100}, {"alpha": 0.02}, {"alpha": 0.02, "step": "constant"}]),
    st.sampled_from([{}, {"join": "min"}]),
    st.sampled_from([{}, {"density": {"whole": "poisson", "size": "exponential"}}, {"density": {"size": "poisson"}}]),
)
def test_rules_decide_as_the_model_does(seed, options, join, density):
    options = options | join | density
    rows, y = mixed(200, seed)
    rows = of_densities(rows, options.get("density", {}))
    model = EvolvingNaiveBayes(**QUICK, **options).fit(rows, y)
    rules = model.rules()
    assert sum(rule.weight for rule in rules) == pytest.approx(1)
    for row in [*rows[:20], {}, {"size": 98.0}, {"colour": "never seen", "text": "x"}]:
        assert rules.shares(row) == pytest.approx(model.predict_proba_one(row), abs=1e-9)
        assert all(0 <= rule.degree(row) <= 1 for rule in rules)


@pytest.mark.parametrize("scale", ["unit", ([0.0], [1.0])])
def test_a_column_that_has_not_varied_yet_is_told_where_the_start_is_given(scale):
    """It tells classes apart then: one has moved away from the start, the other has not."""
    model = EvolvingNaiveBayes(alpha=0.1, step="constant", scale=scale)
    model.partial_fit([[10.5], [10.5]], ["a", "a"], classes=["a", "b"])
    first, second = model.pseudo_classes_
    assert first.means == pytest.approx({"x0": 1.995})
    assert second.means == {"x0": 0.0}
    for cell in (10.5, 0.0):
        assert model.rules().shares({"x0": cell}) == pytest.approx(model.predict_proba_one({"x0": cell}))


def test_rules_read_as_sentences():
    X, y = [[1.4, "red"], [1.5, "red"], [1.6, "blue"], [4.5, "blue"], [4.7, "blue"]], ["a", "a", "a", "b", "b"]
    model = EvolvingNaiveBayes(prior_weight=0, ddof=1).fit(pd.DataFrame(X, columns=["length", "colour"]), y)
    first = str(model.rules()[0])
    assert first.startswith("IF length is about 1.50 (±0.10) AND colour is red (1) or blue (0.67) THEN a   weight")
    assert first.endswith("(57% of the rows)")
    assert len(str(model.rules()).splitlines()) == 2


def test_numbers_have_as_many_digits_as_they_mean_something():
    assert about("x", 0.00012345, 0.0000456) == "x is about 0.000123 (±0.000046)"
    assert about("x", -3.0, 1e-9) == "x is about -3 (±1e-09)"
    assert about("x", 5e12, 2e11) == "x is about 5e+12 (±2e+11)"
    assert one_of("x", dict.fromkeys("abcdefgh", 0.125)).endswith("f (1) or ...")


def test_columns_that_never_varied_say_nothing():
    model = EvolvingNaiveBayes().fit([[1.5, 0.5, None], [2.5, 0.5, None], [7.5, 0.5, None]], ["a", "a", "b"])
    assert "x1" not in str(model.rules())
    assert "x2" not in str(model.rules())
    with pytest.raises(OptionError, match="no column has two different values"):
        EvolvingNaiveBayes().fit([[1.5], [1.5]], ["a", "b"]).plot()
    assert str(EvolvingNaiveBayes().fit([[1.5], [1.5]], ["a", "b"]).rules()[0]).startswith("IF anything THEN a")


def test_events_tell_what_happened_when_and_why():
    X, y = xor()
    model = EvolvingNaiveBayes(wait=30).fit(X, y)
    assert {event.what for event in model.events_} >= {"promoted"}
    first = model.events_[0]
    assert first.row >= 30
    assert "is above 0.1" in first.why
    assert "2 pseudo-classes now" in first.why
    assert str(first).startswith(f"row {first.row}: promoted {first.label}: its error of")


def test_the_log_of_events_stays_short():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(120_000, 1))
    y = rng.integers(0, 2, 120_000)
    model = EvolvingNaiveBayes(wait=1, min_hidden=1, max_error=0.45, eta=0.5, p_min=1.0).fit(noise, y)
    assert model._kernel.state()["counters"][3] > 20_000
    assert 10_000 <= len(model.events_) <= 20_000


@pytest.mark.parametrize("kind", ["fuzzy", "density"])
def test_pictures_have_a_panel_per_column(tmp_path, kind):
    rows, y = mixed(200)
    model = EvolvingNaiveBayes(**QUICK).fit(rows, y)
    figure = model.plot(tmp_path / "sets.png", kind=kind, title="Fuzzy sets")
    *panels, _key = figure.axes
    assert [axes.get_xlabel() for axes in panels] == ["size", "colour", "whole", "text"]
    assert (tmp_path / "sets.png").stat().st_size > 1000
    bells = figure.axes[0].lines
    assert len(bells) == len(model.pseudo_classes_)
    if kind == "fuzzy":
        assert max(line.get_ydata().max() for line in bells) == pytest.approx(1)
    assert len(model.plot(columns=["size"]).axes) == 2  # and the key
    with pytest.raises(OptionError, match="Did you mean 'colour'"):
        model.plot(columns=["color"])
    with pytest.raises(OptionError, match="NaiveBayes"):
        tanager.plot_fuzzy_sets(NaiveBayes())


# --- copies and files ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", EVERY_WAY, ids=str)
def test_copies_and_files_go_on_exactly(tmp_path, options):
    rows, y = mixed()
    rows = [{name: cell for name, cell in row.items() if name not in ("text", "whole")} for row in rows]
    rows = of_densities(rows, options.get("density", {}))
    model = EvolvingNaiveBayes(**QUICK, **options).partial_fit(rows[:200], y[:200], classes=["a", "d"])
    model.save(tmp_path / "model.tanager")
    copies = [EvolvingNaiveBayes.load(tmp_path / "model.tanager"), pickle.loads(pickle.dumps(model))]
    copies.append(copy.deepcopy(model))
    rest = model.test_then_train(rows[200:], y[200:])
    for other in copies:
        np.testing.assert_array_equal(other.test_then_train(rows[200:], y[200:]), rest)
        assert_alike(model, other)
        assert other.get_params() == model.get_params()


def test_a_model_is_saved_at_any_time(tmp_path):
    model = EvolvingNaiveBayes()
    for row, label in [({"n": 1}, "a"), ({"n": 2}, "b"), ({"n": 1}, "a")]:
        model.save(tmp_path / "model.tanager")
        again = tanager.load(tmp_path / "model.tanager")
        assert again.predict_proba_one(row) == model.predict_proba_one(row)
        model.learn_one(row, label)


def test_a_damaged_file_is_refused(tmp_path):
    from tanager import archive

    X, y = xor(100)
    path = tmp_path / "model.tanager"
    EvolvingNaiveBayes().fit(X, y).save(path)
    header, arrays = archive.unpack(path.read_bytes(), "it")
    arrays["evolving-label"][0] = 9
    path.write_bytes(archive.pack(header, arrays))
    with pytest.raises(ModelFileError, match="damaged"):
        tanager.load(path)


# --- what is refused ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"alpha": 1.5}, "alpha=1.5: give a number from 0 to 1"),
        ({"alpha": 1}, "forget all but the last row"),
        ({"alpha": 0.1, "window": 5}, "both forget"),
        ({"window": 0}, "window=0: give a whole number"),
        ({"wait": 2.5}, "wait=2.5"),
        ({"max_pseudo": 0}, "max_pseudo=0"),
        ({"max_error": -1}, "max_error=-1"),
        ({"max_loss": "high"}, "max_loss='high'"),
        ({"var_floor": 0}, "var_floor=0"),
        ({"similarity": "tests"}, "Did you mean 'test'"),
        ({"scale": "runing"}, "Did you mean 'running'"),
        ({"scale": 3}, "scale=3"),
        ({"scale": ([0.0], [1.0])}, "each of the 2 number columns"),
        ({"scale": ({"x0": 0}, {"x0": 1})}, "say nothing about column 'x1'"),
        ({"scale": ([0.0, 0.0], [1.0, -1.0])}, "at least 0"),
        ({"unseen": "skip"}, "unseen='skip'"),
        ({"step": "fixed"}, "step='fixed'"),
        ({"step": "constant"}, "alpha is 0"),
        ({"join": "minimum"}, "Did you mean 'min'"),
        ({"density": "Poisson"}, "Did you mean 'poisson'"),
        ({"density": {"x0": "gamma"}}, "density['x0']='gamma'"),
        ({"density": {"x01": "normal"}}, "no column 'x01'. Did you mean 'x1'"),
        ({"density": 3}, 'or a dict such as {"calls": "poisson"}'),
        ({"cost_matrix": [[0, 1, 2]] * 3}, "cost_matrix has shape"),
    ],
)
def test_options_that_mean_nothing_are_refused(options, sentence):
    X, y = xor(50)
    with pytest.raises(OptionError, match=re.escape(sentence)):
        EvolvingNaiveBayes(**options).fit(X, y)


def test_what_order_forbids_is_refused_with_the_reason():
    X, y = xor(50)
    model = EvolvingNaiveBayes().fit(X, y)
    for call in (lambda: model.unlearn(X, y), lambda: model.leave_one_out(X, y), lambda: model.merge(model)):
        with pytest.raises(DataError, match="depends on the order"):
            call()


def test_a_given_start_is_taken_by_name_or_by_place():
    X, y = xor(200)
    by_place = EvolvingNaiveBayes(scale=([0.0, 1.0], [4.0, 9.0]), prior_weight=3).fit(X, y)
    by_name = EvolvingNaiveBayes(scale=({"x1": 1.0, "x0": 0.0}, {"x0": 4.0, "x1": 9.0}), prior_weight=3).fit(X, y)
    np.testing.assert_array_equal(by_place.predict_proba(X), by_name.predict_proba(X))


def test_a_cell_that_cannot_be_used_leaves_the_model_as_it_was():
    rows, y = mixed(50)
    model = EvolvingNaiveBayes().fit(rows, y)
    before = model._kernel.state()
    for refused in (
        lambda: model.partial_fit([{"size": "tall"}], ["z"]),
        lambda: model.learn_one({"size": "tall"}, "a"),
    ):
        with pytest.raises(DataError, match="size"):
            refused()
    after = model._kernel.state()
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert all(np.array_equal(before[name], after[name]) for name in before)


def odd_rows():
    """Rows of text and numbers, of which some have no label or no weight; these bring values that no other row has."""
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 60)
    rows = [{"word": "ab"[c], "number": float(v)} for c, v in zip(y, rng.normal(y), strict=True)]
    labels, weights = ["np"[c] for c in y], np.ones(60)
    for r in range(12, 60, 8):
        rows[r]["word"], labels[r] = f"new {r}", None
        rows[r + 3]["word"], weights[r + 3] = f"new {r + 3}", 0.0
    return rows, labels, weights


def test_rows_that_do_not_count_teach_no_value_however_they_come():
    rows, labels, weights = odd_rows()
    table = {name: [row[name] for row in rows] for name in ("word", "number")}
    single, whole, frame, parts = (EvolvingNaiveBayes(warm_up=10) for _ in range(4))
    for row, label, weight in zip(rows, labels, weights.tolist(), strict=True):
        single.learn_one(row, label, weight)
    whole.test_then_train(rows, labels, weights)
    frame.test_then_train(table, labels, weights)
    with pytest.warns(DataWarning, match="6 rows have no label"):
        parts.partial_fit(rows, labels, sample_weight=weights)
    for model in (single, whole, frame, parts):
        assert model.encoder_.schema["word"].values == ("a", "b") or model.encoder_.schema["word"].values == ("b", "a")
        np.testing.assert_array_equal(model.predict_proba(rows), single.predict_proba(rows))


def test_rows_to_answer_are_read_by_the_values_that_were_learned_meanwhile():
    rows = [{"word": word} for word in "aabbabababcacbcacbcb"]
    labels = ["y" if row["word"] in "ac" else "n" for row in rows]
    whole, single = EvolvingNaiveBayes(warm_up=5), EvolvingNaiveBayes(warm_up=5)
    for model in (whole, single):
        model.partial_fit(rows[:8], labels[:8])
    asked = [{"word": "c"}] * 12
    proba = whole.test_then_train(rows[8:], labels[8:], answered=asked)
    for r, (row, label) in enumerate(zip(rows[8:], labels[8:], strict=True)):
        np.testing.assert_allclose(proba[r], list(single.predict_proba_one(asked[r]).values()), rtol=1e-9)
        single.learn_one(row, label)
