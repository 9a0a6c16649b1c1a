"""Classifiers whose network is learned, given, or learned once per class."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry import small_table
from strategies import tables
from tanager import (
    BAN,
    CBL,
    FAN,
    K2,
    KDB,
    TAN,
    BackOff,
    ChowLiu,
    ChowLiuMultiNet,
    GeneralNetwork,
    HillClimb,
    MultiNet,
    NaiveBayes,
    Network,
    NetworkClassifier,
    OptionError,
    SchemaMismatch,
    Wrapped,
    load,
)
from tanager.counts.sample import Sample
from tanager.scoring.forms import ProductOfSums

NAMES = tuple(f"x{i}" for i in range(5))


def chained(n_rows=2000, seed=1):
    """y -> a -> b, (y, c) -> d, and noise: what a general network should find."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_rows)
    a = np.where(rng.random(n_rows) < 0.85, y, 1 - y)
    b = np.where(rng.random(n_rows) < 0.9, a, 1 - a)
    c = rng.integers(0, 2, n_rows)
    d = np.where(rng.random(n_rows) < 0.9, y ^ c, rng.integers(0, 2, n_rows))
    table = {"a": a, "b": b, "c": c, "d": d, "noise": rng.integers(0, 3, n_rows)}
    return {name: column.astype(str) for name, column in table.items()}, np.array(["no", "yes"])[y]


# --- what is learned ---------------------------------------------------------------------------------------------


def test_only_columns_that_say_something_beside_the_rest_are_in_the_blanket():
    X, y = chained()
    model = GeneralNetwork(learner=CBL(threshold=0.005)).fit(X, y)
    assert set(model.blanket_) >= {"a"}
    assert "b" not in model.blanket_
    assert "noise" not in model.blanket_


def test_a_column_that_matters_only_with_another_is_kept_as_its_parent():
    X, y = chained()
    model = GeneralNetwork(learner=HillClimb(score="bic", required=(("class", "d"), ("c", "d")))).fit(X, y)
    assert set(model.parents_["d"]) == {"c"}
    assert set(model.blanket_) == {"a", "c", "d"}


def test_the_class_may_have_parents():
    X, y = chained()
    learner = HillClimb(required=(("a", "class"), ("c", "class")), forbidden=(("class", "d"),))
    model = GeneralNetwork(learner=learner, class_root=False).fit(X, y)
    assert set(model.network_.parents("class")) >= {"a", "c"}
    assert model.score(X, y) > 0.8


def test_with_the_class_as_root_it_has_no_parents():
    X, y = chained()
    for learner in (CBL(), HillClimb(), ChowLiu()):
        network = GeneralNetwork(learner=learner).fit(X, y).network_
        assert network.parents("class") == ()


def test_nothing_to_tell_leaves_the_prior():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (3000, 4)).astype(str)
    y = np.array(["rare"] * 1000 + ["often"] * 2000)
    model = GeneralNetwork(learner=HillClimb()).fit(X, y)
    assert model.blanket_ == ()
    np.testing.assert_allclose(model.predict_proba(X[:3]), [[2 / 3, 1 / 3]] * 3, rtol=1e-3)


def test_a_ban_has_an_arc_from_the_class_to_every_column():
    X, y = chained()
    network = BAN().fit(X, y).network_
    assert set(network.children("class")) == set(X)
    assert "a" in network.parents("b") or "b" in network.parents("a")


def test_a_ban_by_tests_conditions_on_the_class():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 4000)
    X = (y[:, None] ^ (rng.random((4000, 3)) < 0.1)).astype(str)  # copies of the class, independent given it
    assert BAN(learner=CBL()).fit(X, y).parents_ == {"x0": (), "x1": (), "x2": ()}


def test_classes_have_networks_of_their_own():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, (2, 4000))
    y = np.array(["same"] * 2000 + ["apart"] * 2000)
    b = np.where(y == "same", a, b)
    model = MultiNet().fit({"a": a, "b": b}, y)
    assert model.networks_["same"].arcs == [("a", "b")]
    assert model.networks_["apart"].arcs == []
    with_threshold = MultiNet(thresholds={"same": 1.0}).fit({"a": a, "b": b}, y)
    assert with_threshold.networks_["same"].arcs == []


@pytest.mark.parametrize("learner", [HillClimb(), HillClimb(score="bdeu", tabu=5), K2(score="bic")], ids=repr)
def test_a_score_finds_a_network_for_every_class_in_its_own_rows(learner):
    rng = np.random.default_rng(0)
    a, b, c = rng.integers(0, 2, (3, 600))
    y = np.array(["same"] * 200 + ["turned"] * 300 + ["apart"] * 100)
    b = np.where(y == "same", a, b)
    c = np.where(y == "turned", 1 - b, c)
    X = {"a": a, "b": b, "c": c}
    model = MultiNet(learner=learner).fit(X, y)
    found = {label: network.arcs for label, network in model.networks_.items()}
    assert found == {"same": [("a", "b")], "turned": [("b", "c")], "apart": []}
    for label in found:
        rows = {name: values[y == label] for name, values in X.items()}
        alone = learner.learn(Sample.of(rows))
        assert alone.network.arcs == found[label]
        assert [step.note for step in model.learned_[label].steps] == [step.note for step in alone.steps]
    assert model.score(X, y) > NaiveBayes().fit(X, y).score(X, y) + 0.1


def test_the_threshold_of_a_class_follows_its_rows():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (400, 5)), np.repeat(["many", "few"], [320, 80])
    plain = MultiNet(learner=CBL(threshold=0.02)).fit(X, y)
    told = MultiNet(thresholds={"many": 0.02 * 200 / 320, "few": 0.02 * 200 / 80}).fit(X, y)
    assert plain.networks_ == told.networks_
    assert len(plain.networks_["few"].arcs) < len(MultiNet(thresholds={"few": 0.02}).fit(X, y).networks_["few"].arcs)


def test_a_multi_net_may_use_some_columns_only():
    X, y = chained()
    assert MultiNet(features=["d", "a"]).fit(X, y).features_ == ("a", "d")
    assert "noise" not in MultiNet(features="blanket", learner=CBL(threshold=0.005)).fit(X, y).features_


# --- the answers are those of the network ------------------------------------------------------------------------

LEARNED = [
    GeneralNetwork(learner=CBL(threshold=0.02)),
    GeneralNetwork(learner=HillClimb(score="aic"), class_root=False),
    GeneralNetwork(learner=CBL(threshold=0.05, order="given"), smoothing=1.0),
    BAN(learner=HillClimb(score="aic")),
    BAN(learner=CBL(threshold=0.05), smoothing=0.5),
    TAN(),
    FAN(criterion="aic"),
    KDB(k=2),
    NaiveBayes(),
]


def row_evidence(row):
    return {f"x{i}": value for i, value in enumerate(row) if value is not None}


@pytest.mark.parametrize("model", LEARNED, ids=repr)
@given(table=tables(min_rows=12))
def test_complete_rows_are_answered_as_by_inference_in_the_network(model, table):
    from sklearn.base import clone

    model = clone(model).fit(table.X, table.y)
    network, target = model.network_, model.class_name
    seen = table.seen()
    for row in table.Q:
        if any(value not in known for value, known in zip(row, seen, strict=True)):
            continue
        evidence = {name: value for name, value in row_evidence(row).items() if name in network.names}
        np.testing.assert_allclose(model.predict_proba([row])[0], network.posterior(target, evidence), rtol=1e-9)


@pytest.mark.parametrize(
    "model",
    [
        GeneralNetwork(learner=CBL(threshold=0.02), missing="marginal"),
        GeneralNetwork(learner=HillClimb(score="aic"), class_root=False, missing="marginal"),
        BAN(learner=HillClimb(score="aic"), missing="marginal"),
    ],
    ids=repr,
)
@given(table=tables(min_rows=12))
def test_missing_cells_are_summed_out_as_by_inference_in_the_network(model, table):
    from sklearn.base import clone

    model = clone(model).fit(table.X, table.y)
    network, target = model.network_, model.class_name
    seen = table.seen()
    for row in table.Q:
        known = [value if value in values else None for value, values in zip(row, seen, strict=True)]
        evidence = {name: value for name, value in row_evidence(known).items() if name in network.names}
        np.testing.assert_allclose(model.predict_proba([known])[0], network.posterior(target, evidence), rtol=1e-8)


@given(table=tables(min_rows=12), threshold=st.sampled_from([0.01, 0.05]))
def test_a_multi_net_answers_with_the_product_of_each_class_s_network(table, threshold):
    model = MultiNet(learner=CBL(threshold=threshold)).fit(table.X, table.y)
    prior = np.array([network_log(model, label) for label in model.classes_.tolist()])
    seen = table.seen()
    for row in table.Q:
        if any(value not in known for value, known in zip(row, seen, strict=True)):
            continue
        joint = prior.copy()
        for c, network in enumerate(model.networks_.values()):
            joint[c] += sum(
                np.log(
                    network.tables[name][
                        tuple(network.values(p).index(row[int(p[1:])]) for p in (*network.parents(name), name))
                    ]
                )
                for name in network.names
            )
        expected = np.exp(joint - joint.max())
        np.testing.assert_allclose(model.predict_proba([row])[0], expected / expected.sum(), rtol=1e-9)


def network_log(model, label):
    empty = [[None] * model.counts_.n_features]
    return float(np.log(model.predict_proba(empty)[0][model.classes_.tolist().index(label)]))


# --- networks that are given -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model", [TAN(), KDB(k=2), BAN(), GeneralNetwork(), GeneralNetwork(class_root=False)], ids=repr
)
def test_the_network_of_a_classifier_answers_the_same_when_given(model):
    X, y = small_table(200)
    fitted = model.fit(X, y)
    drawn = NetworkClassifier(fitted.network_, smoothing=fitted.estimate).fit(X, y)
    np.testing.assert_allclose(drawn.predict_proba(X), fitted.predict_proba(X), rtol=1e-12)
    assert drawn.network_ == fitted.network_


def test_without_a_network_it_is_naive_bayes():
    X, y = small_table()
    given_none = NetworkClassifier(smoothing=1.0).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(given_none, NaiveBayes().fit(X, y).predict_proba(X), rtol=1e-12)


def test_the_class_of_a_given_network_is_found():
    X, y = chained(200)
    variables = {name: ["0", "1"] for name in "abcd"} | {"answer": ["no", "yes"]}
    network = Network(variables, [("answer", "a"), ("answer", "d"), ("c", "d")])
    assert NetworkClassifier(network).fit(X, y).blanket_ == ("a", "c", "d")
    with pytest.raises(OptionError, match="no variable of the network"):
        NetworkClassifier(network, target="anser").fit(X, y)
    with pytest.raises(OptionError, match="Name it: target="):
        NetworkClassifier(Network(variables | {"other": ["u"]})).fit(X, y)


def test_a_variable_of_the_blanket_that_is_no_column_is_named():
    X, y = chained(200)
    network = Network({"aa": ["0", "1"], "class": ["no", "yes"]}, [("class", "aa")])
    with pytest.raises(OptionError, match="'aa', which is no column"):
        NetworkClassifier(network, target="class").fit(X, y)


def test_an_edited_network_is_learned_as_a_stream_without_rows():
    X, y = small_table(200)
    network = GeneralNetwork(learner=HillClimb(score="aic")).fit(X, y).network_
    model = NetworkClassifier(network)
    schema = NaiveBayes().fit(X, y).counts_.schema
    whole = NetworkClassifier(network, schema=schema).fit(X, y)
    model = NetworkClassifier(network, schema=schema)
    for start in range(0, 200, 50):
        model.partial_fit(X[start : start + 50], y[start : start + 50])
    assert model.memory.rows is None
    assert (model.predict_proba(X) == whole.predict_proba(X)).all()


# --- structure, streams and files --------------------------------------------------------------------------------


def test_no_family_has_more_contexts_than_there_are_rows():
    rng = np.random.default_rng(3)
    X = rng.integers(0, 12, (400, 8)).astype(str)
    y = rng.integers(0, 2, 400)
    model = BAN(learner=K2(score="ll", max_parents=4)).fit(X, y)  # every parent is welcome
    contexts = [2 * 13 ** len(parents) for parents in model.parents_.values()]  # 12 values, and missing
    assert max(contexts) == 338
    assert model.predict_proba(X).shape == (400, 2)


def test_arcs_among_the_other_parents_of_a_child_stay_in_the_blanket():
    X, y = chained()
    arcs = (("class", "d"), ("c", "d"), ("noise", "d"), ("noise", "c"))
    model = GeneralNetwork(learner=HillClimb(required=arcs)).fit(X, y)
    assert ("noise", "c") in model.network_.arcs


def test_the_structure_in_a_file_is_taken_as_it_is(tmp_path, monkeypatch):
    X, y = chained()
    model = GeneralNetwork().fit(X, y)
    model.save(tmp_path / "m.tanager")
    monkeypatch.setattr(GeneralNetwork, "find", lambda *a, **k: pytest.fail("learned again"))
    loaded = load(tmp_path / "m.tanager")
    assert (loaded.predict_proba(X) == model.predict_proba(X)).all()


def test_how_a_loaded_network_came_about_can_be_told(tmp_path):
    X, y = chained()
    model = GeneralNetwork().fit(X, y)
    model.save(tmp_path / "m.tanager")
    assert load(tmp_path / "m.tanager").learned_ == model.learned_


def test_single_rows_use_a_structure_until_the_rows_have_doubled(monkeypatch):
    X, y = chained(400)
    rows = [dict(zip(X, cells, strict=True)) for cells in zip(*X.values(), strict=True)]
    model = GeneralNetwork(learner=HillClimb(score="aic")).partial_fit(rows[:100], y[:100].tolist())
    model.predict_proba_one(rows[0])
    found = []
    original = GeneralNetwork.find
    monkeypatch.setattr(GeneralNetwork, "find", lambda self, *a, **k: found.append(1) or original(self, *a, **k))
    for row, label in zip(rows[100:], y[100:].tolist(), strict=True):
        model.predict_proba_one(row)
        model.learn_one(row, label)
    assert len(found) == 1  # at 201 rows


def test_counts_without_rows_are_refused():
    X, y = small_table()
    with pytest.raises(SchemaMismatch, match="from the rows"):
        GeneralNetwork.from_counts(TAN().fit(X, y).counts_)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (GeneralNetwork(learner="cbl"), "give CBL"),
        (GeneralNetwork(class_root="yes"), "class_root"),
        (MultiNet(features="blankt"), 'give "blanket"'),
        (MultiNet(features=["q"]), "'q'"),
        (MultiNet(thresholds={"none": 0.1}), "none of the classes"),
        (MultiNet(thresholds=0.1), "dict from class"),
        (MultiNet(learner=HillClimb(), thresholds={"yes": 0.1}), "has no threshold"),
        (NetworkClassifier("expert.bif"), "read_network"),
    ],
    ids=repr,
)
def test_options_that_mean_nothing_are_refused(model, words):
    X, y = chained(100)
    with pytest.raises((OptionError, SchemaMismatch), match=words):
        model.fit(X, y)


def test_classes_with_few_rows_have_no_arcs():
    X, y = chained(300)
    y = y.astype(object)
    y[:5] = "rare"
    assert MultiNet(learner=CBL(threshold=0.0)).fit(X, y).networks_["rare"].arcs == []


def test_terms_shared_by_all_classes_are_counted_once():
    X, y = chained(300)
    form = ChowLiuMultiNet().fit(X, y).structure_
    assert isinstance(form, ProductOfSums)
    assert len(form.child) < 2 * len(X)
    for i in range(len(X)):
        spoken = [only or (0, 1) for child, only in zip(form.child, form.only, strict=True) if child == i]
        assert sorted(itertools.chain(*spoken)) == [0, 1]


def test_back_off_is_the_default_smoothing():
    X, y = small_table()
    given = BAN(smoothing=BackOff(5.0, first=1.0)).fit(X, y)
    assert (BAN().fit(X, y).predict_proba(X) == given.predict_proba(X)).all()


def test_all_parents_stay_where_that_is_asked_for():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (40, 5))
    y = (X.sum(axis=1) + rng.integers(0, 2, 40)) % 2
    table = [[f"v{v}" for v in row] for row in X]
    learner = HillClimb(score="ll", max_parents=4)
    thin, full = (BAN(learner=learner, thin_parents=how).fit(table, y) for how in ("drop", "keep"))
    assert thin.learned_.network.arcs == full.learned_.network.arcs
    n_parents = [sum(map(len, model.parents_.values())) for model in (thin, full)]
    assert n_parents[1] == len(full.learned_.network.arcs) > n_parents[0]
    for cls in (GeneralNetwork, MultiNet):
        model = cls(learner=HillClimb(score="ll", max_parents=4), thin_parents="keep").fit(table, y)
        np.testing.assert_allclose(model.predict_proba(table).sum(axis=1), 1.0)
    with pytest.raises(OptionError, match="thin_parents='all'"):
        BAN(thin_parents="all").fit(table, y)


def test_one_threshold_can_hold_for_all_classes_of_a_multi_net():
    """The columns share 0.02 nats in both classes: more than the threshold, less than four times as much."""
    cells = [("a", "p")] * 30 + [("a", "q")] * 20 + [("b", "p")] * 20 + [("b", "q")] * 30
    X, y = cells * 5, ["many"] * 400 + ["few"] * 100
    learner = CBL(threshold=0.01)
    fair, same = (MultiNet(learner=learner, thresholds=how).fit(X, y) for how in (None, "same"))
    assert [len(network.arcs) for network in fair.networks_.values()] == [0, 1]
    assert [len(network.arcs) for network in same.networks_.values()] == [1, 1]
    with pytest.raises(OptionError, match="thresholds='other'"):
        MultiNet(thresholds="other").fit(X, y)


# --- what an expert knows ----------------------------------------------------------------------------------------


def thin_families(n_rows=300, n_values=8):
    """Columns with so many values that contexts of three parents are thinner than one row."""
    rng = np.random.default_rng(5)
    table = {name: rng.integers(0, n_values, n_rows).astype(str) for name in ("p", "q", "r", "ch")}
    return table, np.array(["no", "yes"])[rng.integers(0, 2, n_rows)]


REQUIRED = [("p", "ch"), ("q", "ch"), ("r", "ch")]


@pytest.mark.parametrize("learner", [CBL(), HillClimb(max_parents=4)])
def test_required_arcs_stay_in_a_general_network_however_thin_its_contexts_are(learner):
    X, y = thin_families()
    learner = replace(learner, required=[*REQUIRED, ("class", "ch")])
    model = GeneralNetwork(learner=learner).fit(X, y)
    assert set(REQUIRED) <= set(model.network_.arcs)
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("learner", [CBL, HillClimb])
def test_required_arcs_stay_in_an_augmented_network(learner):
    X, y = thin_families()
    model = BAN(learner=learner(required=REQUIRED)).fit(X, y)
    assert set(model.parents_["ch"]) == {"p", "q", "r"}
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("features", [None, "blanket"])
def test_required_arcs_stay_in_the_network_of_every_class_also_of_a_rare_one(features):
    X, y = thin_families()
    y = np.where(np.arange(300) < 4, "rare", y)
    model = MultiNet(learner=CBL(required=REQUIRED), features=features).fit(X, y)
    for network in model.networks_.values():
        assert set(REQUIRED) <= set(network.arcs)


def test_required_arcs_stay_in_a_multi_net_that_is_wrapped():
    X, y = thin_families()
    model = Wrapped(MultiNet(learner=CBL(required=REQUIRED), features="blanket"), grid=[0.01, 0.1]).fit(X, y)
    for network in model.best_.networks_.values():
        assert set(REQUIRED) <= set(network.arcs)


def test_other_parents_give_way_to_required_ones_where_contexts_become_thin():
    X, y = chained(40)
    model = BAN(learner=HillClimb(required=[("noise", "b")])).fit(X, y)
    assert "noise" in model.parents_["b"]


def test_an_arc_of_a_column_that_a_multi_net_does_not_use_is_refused():
    X, y = thin_families()
    with pytest.raises(OptionError, match="'r' is not among the variables of this network"):
        MultiNet(learner=CBL(required=REQUIRED), features=["p", "q", "ch"]).fit(X, y)
