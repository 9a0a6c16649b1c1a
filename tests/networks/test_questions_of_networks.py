"""Most probable explanations, next questions and sensitivities against plain enumeration and changed tables."""

from itertools import pairwise

import numpy as np
import pytest
from benchmarks.alarm import alarm
from hypothesis import assume, given
from hypothesis import strategies as st
from known import DIAMOND, joint
from test_marginals import observations

from profiles import examples
from strategies import networks
from tanager import DataError, MemoryBudgetError, Network, OptionError, SchemaMismatch
from tanager.networks import inference, propagation


def weighted_joint(network, evidence, soft):
    """P(cell, evidence) of every cell; soft evidence multiplies by its likelihoods."""
    cells = joint(network)
    for i, name in enumerate(network):
        weight = np.array(soft.get(name, np.ones(cells.shape[i])), dtype=float)
        if name in evidence:
            weight = weight * (np.arange(cells.shape[i]) == network.code(name, evidence[name]))
        cells = cells * weight.reshape([-1 if j == i else 1 for j in range(cells.ndim)])
    return cells


def possible_observations(data, network):
    evidence, soft = data.draw(observations(network))
    cells = weighted_joint(network, evidence, soft)
    assume(cells.sum() > 0)
    return evidence, soft, cells


# --- the most probable explanation ------------------------------------------------------------------------------------


def first_largest(cells):
    """The first cell, in counting order, that is as large as any, rounding apart."""
    return next(cell for cell in np.ndindex(cells.shape) if cells[cell] >= cells.max() * (1 - 1e-10))


@examples(200)
@given(networks(max_variables=5, zeros=True), st.data(), st.booleans())
def test_the_most_probable_explanation_is_the_largest_cell(network, data, inserted):
    evidence, soft, cells = possible_observations(data, network)
    if inserted:
        network.junction = None
    found = network.most_probable(evidence, soft=soft)
    best = dict(zip(network, first_largest(cells), strict=True))
    assert found.values == {name: network.values(name)[v] for name, v in best.items() if name not in evidence}
    assert found.log_probability == pytest.approx(np.log(cells.max()), abs=1e-10)
    assert found.probability_given_evidence == pytest.approx(cells.max() / cells.sum(), abs=1e-12)


@examples(120)
@given(networks(max_variables=5, zeros=True), st.data())
def test_the_most_probable_values_of_some_have_the_others_summed_out(network, data):
    evidence, soft, cells = possible_observations(data, network)
    names = sorted(data.draw(st.lists(st.sampled_from(network.names), unique=True, min_size=1)), key=network.index)
    found = network.most_probable(evidence, soft=soft, names=names)
    left = cells.sum(axis=tuple(i for i, name in enumerate(network) if name not in names))
    assert found.values == {n: network.values(n)[v] for n, v in zip(names, first_largest(left), strict=True)}
    assert found.log_probability == pytest.approx(np.log(left.max()), abs=1e-10)
    assert found.probability_given_evidence == pytest.approx(left.max() / left.sum(), abs=1e-12)


def test_of_equally_probable_explanations_the_first_is_taken():
    """A chain whose tree has its root at the far end, and in which neighbours differ: two explanations in all."""
    names = ["d", "c", "b", "a"]
    network = Network(dict.fromkeys(names, ("x", "y")), pairwise(names))
    flip = [[0.2, 0.8], [0.8, 0.2]]
    network = network.with_tables({"d": [0.5, 0.5], **dict.fromkeys(names[1:], flip)})
    assert network.most_probable().values == {"d": "x", "c": "y", "b": "x", "a": "y"}
    assert network.most_probable({"a": "x"}).values == {"d": "y", "c": "x", "b": "y"}
    even = Network(dict.fromkeys("ab", ("x", "y")), [], dict.fromkeys("ab", (0.5, 0.5)))
    assert even.most_probable() == ({"a": "x", "b": "x"}, pytest.approx(np.log(0.25)), pytest.approx(0.25))
    rounded = Network(dict.fromkeys("abc", ("x", "y")), [("a", "b"), ("a", "c")])
    rounded = rounded.with_tables({"a": [0.1, 0.9], "b": [[0.9, 0.1], [0.6, 0.4]], "c": [[0.6, 0.4], [0.1, 0.9]]})
    assert rounded.most_probable({"b": "x", "c": "x"}).values == {"a": "x"}  # 0.1 * 0.9 * 0.6 in two orders


def test_what_is_most_probable_together_need_not_be_so_alone():
    network = Network({"a": (0, 1), "b": (0, 1, 2)}, [("a", "b")])
    network = network.with_tables({"a": [0.4, 0.6], "b": [[1, 0, 0], [0.2, 0.4, 0.4]]})
    assert network.most_probable().values == {"a": 0, "b": 0}
    assert network.most_probable(names="a").values == {"a": 1}


def test_explanations_of_long_chains_are_those_of_viterbi():
    names = [f"x{i}" for i in range(300)]
    network = Network(dict.fromkeys(names, range(3)), pairwise(names))
    rng = np.random.default_rng(0)
    tables = {name: rng.dirichlet([1, 1, 1], network.shape(name)[:-1]) for name in names}
    network = network.with_tables(tables)
    best = np.log(tables["x0"])
    for name in names[1:]:
        best = (best[:, None] + np.log(tables[name])).max(axis=0)
    assert network.most_probable().log_probability == pytest.approx(best.max())
    assert network.most_probable({"x299": 2}).log_probability == pytest.approx(best[2])


def test_explanations_of_what_cannot_be_or_is_too_large_are_refused(monkeypatch):
    network = DIAMOND.with_tables({"D": np.broadcast_to([1.0, 0.0], (2, 2, 2))})
    for names in (None, ["A"]):
        with pytest.raises(DataError, match="the evidence D = 1 has probability 0"):
            network.most_probable({"D": 1}, names=names)
    apart = Network({"a": (0, 1), "b": (0, 1)}, [], {"a": [1.0, 0.0], "b": [0.4, 0.6]})
    with pytest.raises(DataError, match="the evidence a = 1 has probability 0"):
        apart.most_probable({"a": 1}, names="b")
    monkeypatch.setattr(inference, "MAX_CELLS", 4)
    monkeypatch.setattr(propagation, "QUICK_CELLS", 4)
    with pytest.raises(MemoryBudgetError, match="4 variables at once need tables of 16 cells"):
        DIAMOND.with_tables({}).most_probable()


def test_nothing_to_explain_is_certain():
    everything = {"A": 0, "B": 0, "C": 0, "D": 0}
    assert DIAMOND.most_probable(everything) == ({}, pytest.approx(DIAMOND.log_evidence(everything)), 1)
    assert DIAMOND.most_probable({"D": 1}, names=[]) == ({}, pytest.approx(np.log(0.503)), 1)
    assert DIAMOND.most_probable({"D": 1}, names=["D", "D"]).values == {"D": 1}


# --- the next question ------------------------------------------------------------------------------------------------


def entropy(p):
    p = p[p > 0]
    return float(-(p * np.log2(p)).sum())


@examples(150)
@given(networks(min_variables=2, max_variables=5, zeros=True), st.data(), st.booleans())
def test_a_question_lowers_the_entropy_by_its_information(network, data, inserted):
    evidence, soft, cells = possible_observations(data, network)
    target = data.draw(st.sampled_from(network.names))
    assume(target not in evidence)
    if inserted:
        network.junction = None
    candidates = [name for name in network if name != target]
    found = network.next_question(target, evidence, soft=soft, candidates=candidates)
    assert sorted(question.name for question in found) == sorted(set(candidates) - set(evidence))
    assert all(a.bits >= b.bits for a, b in pairwise(found))
    t = network.index(target)
    before = entropy(cells.sum(axis=tuple(i for i in range(cells.ndim) if i != t)) / cells.sum())
    for question in found:
        i = network.index(question.name)
        both = cells.sum(axis=tuple(j for j in range(cells.ndim) if j not in (i, t))) / cells.sum()
        both = both if i < t else both.T  # the answer, then the target
        after = sum(row.sum() * entropy(row / row.sum()) for row in both if row.sum() > 0)
        assert question.expected_entropy == pytest.approx(after, abs=1e-9)
        assert question.bits == pytest.approx(before - after, abs=1e-9)
        assert question.price == 1
        assert question.bits == question.bits_per_price


def test_what_is_separated_from_the_target_tells_nothing():
    network, evidence = alarm(), {"HR": 1, "VENTLUNG": 2}
    bits = {question.name: question.bits for question in network.next_question("CO", evidence)}
    apart = {name for name in bits if network.separated("CO", name, evidence)}
    assert len(apart) > 5
    assert {name for name, own in bits.items() if own == 0} == apart


def test_prices_change_what_is_asked_first():
    plain = DIAMOND.next_question("D")
    assert [question.name for question in plain] == ["B", "C", "A"]
    dear = DIAMOND.next_question("D", prices={"B": 100, "C": 0.5})
    assert [question.name for question in dear] == ["C", "A", "B"]
    assert dear[-1].bits == plain[0].bits
    assert dear[-1].bits_per_price == pytest.approx(plain[0].bits / 100)


def test_only_what_is_open_is_asked():
    network = Network({"t": (0, 1), "one": ("x",), "a": (0, 1)}, [("t", "a")])
    network = network.with_tables({"t": [0.5, 0.5], "one": [1.0], "a": [[0.9, 0.1], [0.1, 0.9]]})
    assert [question.name for question in network.next_question("t")] == ["a"]
    assert network.next_question("t", {"a": 1}, candidates="a") == []
    assert network.next_question("t", candidates=["one"])[0].bits == 0


def test_questions_about_what_is_known_or_unknown_are_refused():
    with pytest.raises(DataError, match="the target 'A' is in the evidence, so its value is known"):
        DIAMOND.next_question("A", {"A": 1})
    with pytest.raises(DataError, match="the price of 'B' is 0; give a positive number"):
        DIAMOND.next_question("A", prices={"B": 0})
    with pytest.raises(DataError, match="the price of 'B' is nan"):
        DIAMOND.next_question("A", prices={"B": float("nan")})
    with pytest.raises(SchemaMismatch, match="there is no variable 'E'"):
        DIAMOND.next_question("A", prices={"E": 1})
    with pytest.raises(SchemaMismatch, match="there is no variable 'E'"):
        DIAMOND.next_question("A", candidates=["E"])


# --- sensitivity ------------------------------------------------------------------------------------------------------


def changed(network, entry, number):
    """The network with another number in place of one, and the others of its row in proportion."""
    table = np.array(network.tables[entry.variable])
    at = tuple(network.code(parent, value) for parent, value in entry.given.items())
    v = network.code(entry.variable, entry.value)
    others = np.arange(table.shape[-1]) != v
    row = table[at]
    left = row[others].sum()
    row[others] = row[others] * (1 - number) / left if left > 0 else (1 - number) / others.sum()
    row[v] = number
    return network.with_tables({entry.variable: table})


@examples(90)
@given(networks(min_variables=2, max_variables=4, zeros=True), st.data(), st.booleans())
def test_a_sensitivity_is_what_a_changed_table_does(network, data, inserted):
    evidence, soft, _ = possible_observations(data, network)
    target = data.draw(st.sampled_from(network.names))
    assume(target not in evidence)
    value = data.draw(st.sampled_from(network.values(target)))
    code = network.code(target, value)
    if inserted:
        network.junction = None
    found = network.sensitivity(target, value, evidence, soft=soft)
    assert all(abs(a.derivative) >= abs(b.derivative) for a, b in pairwise(found))
    relevant = {target, *evidence, *soft}.union(*(network.ancestors(name) for name in (target, *evidence, *soft)))
    shapes = [network.shape(name) for name in relevant]
    assert len(found) == sum(int(np.prod(shape)) for shape in shapes if shape[-1] > 1)
    posterior = network.posterior(target, evidence, soft=soft)[code]
    for entry in data.draw(st.lists(st.sampled_from(found), max_size=6, unique_by=lambda e: e.text())) if found else []:
        assert (entry.alpha * entry.number + entry.beta) == pytest.approx(posterior, abs=1e-11)
        assert (entry.gamma * entry.number + entry.delta) == pytest.approx(1, abs=1e-11)
        seen = []
        for number in (0.0, 0.15, 0.5, 1.0):
            cells = weighted_joint(changed(network, entry, number), evidence, soft)
            if cells.sum() < 1e-12:
                continue
            expected = cells.take(code, axis=network.index(target)).sum() / cells.sum()
            assert entry.posterior(number) == pytest.approx(expected, abs=1e-9)
            seen.append(expected)
        assert entry.low == pytest.approx(min(seen), abs=1e-9)
        assert entry.high == pytest.approx(max(seen), abs=1e-9)
        half = (entry.low + entry.high) / 2
        needed = entry.needed(half)
        assert needed is not None
        assert entry.posterior(needed) == pytest.approx(half, abs=1e-9)


def test_derivatives_are_those_of_small_changes():
    network, evidence = alarm(), {"BP": 0, "HRSAT": 2}
    found = network.sensitivity("LVFAILURE", 1, evidence, top=12)
    assert len(found) == 12
    for entry in found:
        step = 1e-5
        a, b = (changed(network, entry, entry.number + d).posterior("LVFAILURE", evidence)[1] for d in (-step, step))
        assert entry.derivative == pytest.approx((b - a) / (2 * step), rel=1e-5)


def test_a_prior_has_the_sensitivity_of_the_rule_of_bayes():
    """P(ill | positive) = 0.9 t / (0.9 t + 0.2 (1 - t)) = 0.9 t / (0.7 t + 0.2), at t = 0.1: 1 / 3; over 0.27."""
    network = Network({"ill": ("no", "yes"), "test": ("negative", "positive")}, [("ill", "test")])
    network = network.with_tables({"ill": [0.9, 0.1], "test": [[0.8, 0.2], [0.1, 0.9]]})
    found = {entry.text(): entry for entry in network.sensitivity("ill", "yes", {"test": "positive"})}
    assert len(found) == 6
    prior = found["P(ill = yes)"]
    assert prior.number == 0.1
    assert np.array(prior[5:9]) * 0.27 == pytest.approx([0.9, 0, 0.7, 0.2])
    assert prior.derivative == pytest.approx(0.9 * 0.2 / 0.27**2)
    assert (prior.low, prior.high) == (0, pytest.approx(1))
    assert prior.needed(0.5) == pytest.approx(2 / 11)
    false_alarm = found["P(test = positive | ill = no)"]
    assert false_alarm.derivative < 0
    assert false_alarm.needed(0.5) == pytest.approx(0.1)
    assert (false_alarm.low, false_alarm.high) == pytest.approx((0.09 / 0.99, 1))
    assert false_alarm.needed(0.01) is None


def test_a_zero_that_hides_an_answer_is_found():
    network = Network({"ill": ("no", "yes"), "test": ("negative", "positive")}, [("ill", "test")])
    network = network.with_tables({"ill": [1.0, 0.0], "test": [[0.8, 0.2], [0.1, 0.9]]})
    first = network.sensitivity("ill", "yes", {"test": "positive"}, top=2)
    assert {entry.text() for entry in first} == {"P(ill = yes)", "P(ill = no)"}
    assert all(abs(entry.derivative) == pytest.approx(0.9 / 0.2) for entry in first)
    assert network.with_tables({"ill": [0.5, 0.5]}).posterior("ill", {"test": "positive"})[1] == pytest.approx(
        first[0].posterior(0.5)
    )


def test_sensitivities_of_what_is_known_or_strange_are_refused():
    with pytest.raises(DataError, match="the target 'A' is in the evidence"):
        DIAMOND.sensitivity("A", 1, {"A": 1})
    with pytest.raises(DataError, match="variable 'A' has no value 7"):
        DIAMOND.sensitivity("A", 7)
    with pytest.raises(OptionError, match="top=0"):
        DIAMOND.sensitivity("A", 1, top=0)
    entry = DIAMOND.sensitivity("A", 1, {"D": 1})[0]
    with pytest.raises(DataError, match=r"probability=1\.5: give a number from 0 to 1"):
        entry.needed(1.5)
    with pytest.raises(DataError, match="number=nan: give a number from 0 to 1"):
        entry.posterior(float("nan"))
    certain = Network({"a": (0, 1), "b": (0, 1)}, [("a", "b")], {"a": [0.0, 1.0], "b": [[0.5, 0.5], [0.5, 0.5]]})
    prior = next(entry for entry in certain.sensitivity("b", 1, {"a": 1}) if entry.text() == "P(a = 1)")
    with pytest.raises(DataError, match=r"with P\(a = 1\) = 0 the evidence has probability 0"):
        prior.posterior(0.0)
    assert prior.needed(0.5) == 1.0
    assert prior.needed(0.6) is None


def test_all_answers_are_cheap_at_the_size_of_alarm(monkeypatch):
    """Few propagations: one and one for each value of the target, or two."""
    network = alarm()
    calls = []
    propagate = propagation.Junction.propagate
    monkeypatch.setattr(propagation.Junction, "propagate", lambda *own: calls.append(1) or propagate(*own))
    assert len(network.next_question("INTUBATION", {"BP": 1})) == 35
    assert len(calls) == 4
    network.sensitivity("INTUBATION", 1, {"BP": 1})
    assert len(calls) == 6
