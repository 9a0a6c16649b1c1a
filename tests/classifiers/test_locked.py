"""Numbers of tables that a person has set stay, whatever is learned."""

import itertools

import numpy as np
import pytest

from tanager import Network, NetworkClassifier, load, save
from tanager.errors import DataError, OptionError

VALUES = {"sky": ("sun", "rain"), "ground": ("dry", "wet"), "mood": ("low", "high"), "plan": ("play", "stay")}
ARCS = [("sky", "plan"), ("plan", "ground"), ("sky", "ground"), ("plan", "mood")]
LOCKED = {
    "ground": {("play", "rain"): [0.25, 0.75], ("stay", "sun"): [1.0, 0.0]},
    "plan": {("rain",): [0.1, 0.9]},
    "sky": {(): [0.3, 0.7]},  # no answer depends on it
}


def table(n=60, seed=0, gaps=False):
    rng = np.random.default_rng(seed)
    X = {name: rng.choice(VALUES[name], n).astype(object) for name in ("sky", "ground", "mood")}
    for column in X.values() if gaps else ():
        column[rng.random(n) < 0.2] = None
    return X, rng.choice(VALUES["plan"], n, p=[0.3, 0.7])


def fitted(locked=LOCKED, **options):
    network = Network(VALUES, ARCS)
    return NetworkClassifier(network, "plan", locked=locked, **options).fit(*table())


def test_answers_are_those_of_the_tables_with_the_locked_numbers():
    model = fitted()
    network = model.network_
    assert network.parents("ground") == ("plan", "sky")
    np.testing.assert_allclose(network.tables["ground"][0, network.code("sky", "rain")].sum(), 1)
    rows = list(itertools.product(*(VALUES[name] for name in ("sky", "ground", "mood"))))
    X = {name: [row[i] for row in rows] for i, name in enumerate(("sky", "ground", "mood"))}
    proba = model.predict_proba(X)
    for row, answer in zip(rows, proba, strict=True):
        evidence = dict(zip(("sky", "ground", "mood"), row, strict=True))
        np.testing.assert_allclose(
            answer, network.posterior("plan", evidence), rtol=1e-12, atol=1e-200, err_msg=str(row)
        )
    by_hand = network.table_in_order("ground", ("plan", "sky"))
    ground, sky, plan = (network.values(name) for name in ("ground", "sky", "plan"))
    assert by_hand[plan.index("play"), sky.index("rain"), ground.index("dry")] == 0.25
    assert by_hand[plan.index("stay"), sky.index("sun"), ground.index("wet")] == 0.0
    assert network.tables["plan"][sky.index("rain"), plan.index("stay")] == 0.9
    assert network.tables["sky"].tolist() == [0.3, 0.7] if sky == VALUES["sky"] else [0.7, 0.3]


def test_without_locked_rows_nothing_changes():
    X, _ = table(gaps=True)
    plain, none = fitted(None), fitted({})
    assert (plain.predict_proba(X) == none.predict_proba(X)).all()
    one = fitted({"ground": {("play", "rain"): [0.25, 0.75]}})
    away = np.array([s != "rain" or g is None for s, g in zip(X["sky"], X["ground"], strict=True)])
    np.testing.assert_allclose(one.predict_proba(X)[away], plain.predict_proba(X)[away], rtol=1e-12)
    assert abs(one.predict_proba(X)[~away] - plain.predict_proba(X)[~away]).max() > 0.01


def test_locked_numbers_stay_in_files_streams_merges_and_when_rows_are_unlearned(tmp_path):
    X, y = table(gaps=True)
    model = fitted()
    save(model, tmp_path / "locked.tanager")
    again = load(tmp_path / "locked.tanager")
    assert (again.predict_proba(X) == model.predict_proba(X)).all()
    assert again.locked == LOCKED
    other = NetworkClassifier(Network(VALUES, ARCS), "plan", locked=LOCKED, schema=model.encoder_.schema)
    other.fit(X, y)
    expected = NetworkClassifier(Network(VALUES, ARCS), "plan", locked=LOCKED, schema=model.encoder_.schema)
    expected.fit(*table()).partial_fit(X, y)
    merged = fitted(schema=model.encoder_.schema).merge(other)
    np.testing.assert_allclose(merged.predict_proba(X), expected.predict_proba(X), rtol=1e-12)
    merged.unlearn(X, y)
    np.testing.assert_allclose(merged.predict_proba(X), model.predict_proba(X), rtol=1e-12)


def test_an_explanation_adds_up():
    model = fitted()
    X, _ = table(gaps=True)
    for r in range(20):
        row = {name: column[r] for name, column in X.items()}
        why = model.explain(row)
        assert why.prior + sum(part.log_odds for part in why.parts) == pytest.approx(why.log_odds)
        joint = model.predict_log_joint([row])[0]
        assert why.log_odds == pytest.approx(abs(joint[0] - joint[1]))


def test_values_that_only_one_side_knows():
    values = VALUES | {"ground": ("dry", "wet", "ice"), "sky": ("sun", "rain", "snow")}
    network = Network(values, ARCS)
    locked = {"ground": {("play", "sun"): [0.2, 0.4, 0.4], ("play", "snow"): [0.1, 0.1, 0.8]}}
    X, y = table()
    X["ground"][:3] = "mud"  # which the network does not know
    model = NetworkClassifier(network, "plan", locked=locked).fit(X, y)
    found = model.network_
    row = found.table_in_order("ground", ("plan", "sky"))[found.code("plan", "play"), found.code("sky", "sun")]
    mud, dry = found.code("ground", "mud"), found.code("ground", "dry")
    assert (row[mud], row[dry]) == (0.0, pytest.approx(1 / 3))  # of the values that were seen
    assert model.predict({"sky": ["sun"], "ground": ["mud"], "mood": ["low"]}) == ["stay"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"locked": {"ground": {("play",): [0.5, 0.5]}}}, "one value for each of plan, sky"),
        ({"locked": {"ground": {("play", "fog"): [0.5, 0.5]}}}, "no value 'fog'"),
        ({"locked": {"ground": {("play", "sun"): [0.5, 0.6]}}}, "sum to 1.1"),
        ({"locked": {"ground": {("play", "sun"): [0.5]}}}, "shape"),
        ({"locked": {"grund": {(): [0.5, 0.5]}}}, "Did you mean 'ground'"),
        ({"locked": {"ground": [0.5, 0.5]}}, "mapping"),
        ({"locked": LOCKED, "missing": "marginal"}, "missing"),
        ({"locked": LOCKED, "smoothing": 0}, "smoothing"),
        ({"locked": LOCKED, "priors": [0.5, 0.5]}, "priors"),
    ],
)
def test_locked_rows_that_make_no_sense_are_refused(options, words):
    with pytest.raises((OptionError, DataError), match=words):
        fitted(**options).predict(table()[0])


def test_locked_rows_need_a_network():
    with pytest.raises(OptionError, match="give the network"):
        NetworkClassifier(locked=LOCKED).fit(*table())
