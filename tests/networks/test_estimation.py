"""Tables from data against plain loops, the answers of the classifiers, and numbers from the slides."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from known import DIAMOND, conditional, joint

from strategies import networks, tables
from tanager import (
    KDB,
    TAN,
    BackOff,
    BDeu,
    DataError,
    Lidstone,
    MEstimate,
    NaiveBayes,
    Network,
    PriorCounts,
    SchemaMismatch,
)
from tanager.counts.sample import Sample

D10 = ["1111", "1111", "1121", "1221", "1222", "2112", "2123", "2123", "2223", "2213"]
RULES = [0, 1, Lidstone(0.5), MEstimate(2), BDeu(1), PriorCounts(5), BackOff(1), BackOff(3, first=0.5)]


def d10():
    return {f"X{i + 1}": [row[i] for row in D10] for i in range(4)}


def d10_network(arcs):
    return Network({"X1": ("1", "2"), "X2": ("1", "2"), "X3": ("1", "2"), "X4": ("1", "2", "3")}, arcs)


def slow_table(rows, network, child, rule):
    """One probability at a time, by the formula, from the rows (dicts without their gaps)."""
    parents = network.parents(child)
    r = len(network.values(child))

    def n(*wanted):
        return sum(all(row.get(name) == value for name, value in wanted) for row in rows)

    def total(context):
        return sum(n(*context, (child, v)) for v in network.values(child))

    def estimate(context, value):
        num, den = n(*context, (child, value)), total(context)
        if isinstance(rule, PriorCounts):
            counts = [n((child, v)) for v in network.values(child)]
            own, extra = n((child, value)), 0 if all(counts) else 1
            p0 = (own + extra) / (sum(counts) + extra * r) if sum(counts) + extra else 1 / r
            return (num + rule.strength * p0) / (den + rule.strength) if context else p0
        if isinstance(rule, BackOff):
            shorter, strength = (estimate(context[:-1], value), rule.strength) if context else (1 / r, rule.at_first)
            return (num + strength * shorter) / (den + strength)
        q = np.prod([len(network.values(p)) for p in parents])
        cell = {
            MEstimate: lambda: rule.strength / r,
            BDeu: lambda: rule.strength / (r * q),
            Lidstone: lambda: rule.strength,
        }[type(rule)]()
        return (num + cell) / (den + r * cell) if den + r * cell > 0 else 1 / r

    out = np.empty(network.shape(child))
    for cell in np.ndindex(*out.shape):
        context = tuple((p, network.values(p)[v]) for p, v in zip(parents, cell, strict=False))
        out[cell] = estimate(context, network.values(child)[cell[-1]])
    return out


@pytest.mark.parametrize(("rule", "expected"), [(0, 0), (PriorCounts(2), 0.2), (PriorCounts(5), 0.285714), (1, 0.25)])
def test_the_slides_have_these_four_estimates_of_one_cell(rule, expected):
    network = d10_network([("X1", "X3"), ("X2", "X3")]).estimate(d10(), rule)
    assert network.tables["X3"][0, 1, 0] == pytest.approx(expected, abs=5e-7)


@given(network=networks(), data=st.data())
@pytest.mark.parametrize("rule", [r if not isinstance(r, int) else Lidstone(float(r)) for r in RULES], ids=repr)
def test_tables_follow_the_formula_over_the_rows_in_which_the_family_is_present(network, data, rule):
    seed = data.draw(st.integers(0, 999))
    rng = np.random.default_rng(seed)
    columns = network.sample(12, seed)
    gaps = rng.random((12, len(network))) < 0.2
    rows = [{name: columns[name][r] for i, name in enumerate(network) if not gaps[r, i]} for r in range(12)]
    table = {name: [row.get(name) for row in rows] for name in network}
    found = network.estimate(table, rule)
    for name in network:
        np.testing.assert_allclose(found.tables[name], slow_table(rows, network, name, rule), atol=1e-12)


@given(table=tables(min_columns=2, min_rows=3))
@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_a_network_made_from_the_counts_of_a_classifier_answers_like_it(rule, table):
    for model in (NaiveBayes(smoothing=rule), TAN(smoothing=rule)):
        model.fit(table.X, table.y)
        network = network_of(model).estimate(model.counts_, rule)
        for row in table.X:
            if None in row:
                continue
            evidence = dict(zip(model.encoder_.schema.names, row, strict=True))
            try:
                found = network.posterior("class", evidence)
            except DataError:
                continue  # probability 0: the classifier answers with the prior
            np.testing.assert_allclose(found, model.predict_proba([row])[0], atol=1e-10)


def network_of(model):
    """The class first among the parents, as in the form of the classifier."""
    columns = {c.name: [c.describe(v) for v in range(c.n_values)] for c in model.encoder_.schema.columns}
    parents = getattr(model, "parents_", dict.fromkeys(columns, ()))
    arcs = [("class", name) for name in columns] + [(p, name) for name in columns for p in parents[name]]
    return Network({"class": model.classes_.tolist(), **columns}, arcs)


def test_back_off_keeps_the_class_wherever_it_stands_among_the_parents():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (40, 3)).astype(str), rng.integers(0, 2, 40)
    model = KDB(k=2, smoothing=BackOff(2)).fit(X, y)
    first = network_of(model)
    last = Network({name: first.values(name) for name in first}, sorted(first.arcs, key=lambda arc: arc[0] == "class"))
    assert last.parents("x2")[-1] == "class"
    counts = model.counts_
    assert last.estimate(counts, BackOff(2)) == first.estimate(counts, BackOff(2))
    evidence = {"x0": "1", "x1": "2", "x2": "0"}
    expected = model.predict_proba([["1", "2", "0"]])[0]
    np.testing.assert_allclose(first.estimate(counts, BackOff(2)).posterior("class", evidence), expected)


def test_values_are_found_whatever_their_order_or_type():
    """A file knows text alone, and data have their values in the order in which they came."""
    table = {"A": [1, 0, 1, 1], "B": ["y", "x", "x", "y"]}
    network = Network({"A": ("0", "1"), "B": ("x", "y", "z")}, [("A", "B")])
    expected = network.estimate({"A": ["1", "0", "1", "1"], "B": table["B"]}, 0)
    assert expected.tables["B"].tolist() == [[1, 0, 0], [1 / 3, 2 / 3, 0]]
    assert network.estimate(table, 0) == expected
    sample = Sample(np.array([[0, 1], [1, 0], [0, 0], [0, 1]], dtype=np.uint8), [(1, 0), ("x", "y")], ["A", "B"])
    assert network.estimate(sample, 0) == expected
    assert expected.log_likelihood(sample) == expected.log_likelihood(table)
    assert expected.conditional_log_likelihood(sample, "A") == expected.conditional_log_likelihood(table, "A")


def test_data_of_other_columns_or_values_are_refused():
    with pytest.raises(SchemaMismatch, match=r"the data have no column 'A', but the network has .* Did you mean 'AA'"):
        DIAMOND.estimate({"AA": [0], "B": [0], "C": [0], "D": [1]})
    with pytest.raises(DataError, match="variable 'D' has no value 'x'; it has 0, 1"):
        DIAMOND.estimate({"A": [0], "B": [0], "C": [0], "D": ["x"]})
    model = NaiveBayes().fit([["a"], ["b"]], ["p", "q"])
    with pytest.raises(SchemaMismatch, match=r"cannot be 'class', which is not a variable of the network"):
        Network({"x0": ("a", "b"), "y": ("p", "q")}).estimate(model.counts_)
    found = Network({"x0": ("a", "b"), "y": ("p", "q")}, [("y", "x0")]).estimate(model.counts_, target="y")
    assert found.tables["x0"].tolist() == [[2 / 3, 1 / 3], [1 / 3, 2 / 3]]
    with pytest.raises(SchemaMismatch, match="joint counts do not contain rows"):
        found.conditional_log_likelihood(model.counts_, "y")


@given(networks(max_variables=4), st.integers(0, 99))
def test_the_log_likelihood_is_that_of_the_joint(network, seed):
    codes = network.sample(20, seed, as_="codes")
    expected = np.log(joint(network)[tuple(codes.T)]).sum()
    table = network.sample(20, seed)
    assert network.log_likelihood(table) == pytest.approx(expected, abs=1e-9)
    for target in network:
        rows = [{name: table[name][r] for name in network if name != target} for r in range(20)]
        parts = [conditional(network, [target], row)[codes[r, network.index(target)]] for r, row in enumerate(rows)]
        found = network.conditional_log_likelihood(table, target)
        assert found == pytest.approx(np.log(parts).sum(), abs=1e-9)


def test_likelihoods_count_weights_and_leave_out_gaps():
    codes = np.array([[0, 0, 1, 1], [1, 255, 1, 0], [255, 1, 1, 1]], dtype=np.uint8)
    values = [(0, 1)] * 4
    twice = Sample(codes[[0, 0, 1, 2]], values, "ABCD")
    weighted = Sample(codes, values, "ABCD", np.array([2.0, 1.0, 1.0]))
    for ask in (DIAMOND.log_likelihood, lambda s: DIAMOND.conditional_log_likelihood(s, "D")):
        assert ask(weighted) == pytest.approx(ask(twice))
    # row 3 has no A: what is left of it are P(D | B, C) alone
    assert DIAMOND.log_likelihood(twice.take(np.array([3]))) == pytest.approx(np.log(0.95))
    # row 2 has no B: nothing is left that tells about D
    assert DIAMOND.conditional_log_likelihood(twice.take(np.array([2])), "D") == pytest.approx(np.log(0.5))


def test_what_cannot_be_has_no_likelihood():
    network = DIAMOND.with_tables({"A": [1.0, 0.0]})
    row = {"A": [1], "B": [1], "C": [1], "D": [1]}
    assert network.log_likelihood(row) == -np.inf
    assert network.conditional_log_likelihood(row, "A") == -np.inf
    assert network.log_likelihood({**row, "A": [0]}) > -np.inf
