"""Climbing by the conditional likelihood of the class, against a plain search that answers every row anew."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_search import is_acyclic, moves
from random_samples import samples, tangled_samples

from profiles import examples
from tanager import BAN, BDeu, GeneralNetwork, HillClimb, MultiNet, learn_network
from tanager.counts.sample import Sample
from tanager.errors import OptionError
from tanager.structure import conditional_climb
from tanager.structure.scores import conditional_log_likelihood


def chance(sample, child, value, parents, row, ess):
    """P(child = value | parents as in the row), counted row by row, with a prior of ess rows spread evenly."""
    n_cells = math.prod(int(sample.n_values[i]) for i in (child, *parents))
    weights = np.ones(len(sample.codes)) if sample.weights is None else sample.weights
    alike = [
        w * (other[child] == value)
        for other, w in zip(sample.codes, weights, strict=True)
        if all(other[p] == row[p] for p in parents)
    ]
    total = sum(w for other, w in zip(sample.codes, weights, strict=True) if all(other[p] == row[p] for p in parents))
    return (sum(alike) + ess / n_cells) / (total + ess / n_cells * int(sample.n_values[child]))


def plain_score(sample, parents, target, penalty, ess=1.0, given=()):
    """sum of log P(class | rest) under the network, less what its free parameters cost."""
    families = {v: (*sorted(own), *given) for v, own in parents.items()}
    if target in given:
        families[target] = ()
    known, total = {}, 0.0
    for r, row in enumerate(sample.codes.tolist()):
        joint = []
        for y in range(int(sample.n_values[target])):
            row[target] = y
            product = 1.0
            for v, own in families.items():
                key = (v, *((i, row[i]) for i in (v, *own)))
                if key not in known:
                    known[key] = chance(sample, v, row[v], own, row, ess)
                product *= known[key]
            joint.append(product)
        weight = 1.0 if sample.weights is None else sample.weights[r]
        total += weight * math.log(joint[sample.codes[r, target]] / sum(joint))
    sizes = sample.n_values.tolist()
    free = sum((sizes[v] - 1) * math.prod(sizes[p] for p in families[v]) for v in parents)
    return total - penalty * free


def plain_climb(sample, target, most, penalty, given=()):
    nodes = [i for i in range(len(sample.names)) if i not in given]
    parents = {i: frozenset() for i in nodes}
    score, steps = plain_score(sample, parents, target, penalty, given=given), []
    while True:
        options = {
            move: (option, plain_score(sample, option, target, penalty, given=given))
            for move, option in moves(parents).items()
            if max(map(len, option.values())) <= most and is_acyclic(option)
        }
        top = max((new for _, new in options.values()), default=-math.inf)
        if top <= score + 1e-8:
            return parents, steps
        made = next(move for move, (_, new) in options.items() if new >= top - 1e-8)
        steps.append((*made, options[made][1] - score))
        parents, score = options[made]


def weighted(sample, chance):
    return Sample(
        sample.codes, sample.values, sample.names, np.array([chance.randrange(1, 9) / 4 for _ in sample.codes])
    )


def parents_of(learned, sample):
    return {sample.index(v): frozenset(map(sample.index, learned.network.parents(v))) for v in learned.network.names}


small = st.one_of(
    samples(max_rows=25, min_variables=1, max_variables=4, missing=False),
    st.builds(lambda s: s.take(np.arange(40)), tangled_samples(4, 4)),
)


@examples(24)
@given(
    small,
    st.integers(0, 2),
    st.sampled_from([None, 0.0, 0.3]),
    st.booleans(),
    st.booleans(),
    st.randoms(use_true_random=False),
)
def test_the_climb_takes_the_way_of_a_plain_one(sample, most, penalty, augmented, uneven, chance):
    sample = weighted(sample, chance) if uneven else sample
    target = len(sample.names) - 1
    given = (target,) if augmented else ()
    learned = HillClimb(score="cll", max_parents=most, penalty=penalty).learn(sample, given=given, target=target)
    cost = 0.5 * math.log(max(sample.n_rows, 1)) if penalty is None else penalty
    parents, steps = plain_climb(sample, target, most, cost, given)
    assert [(step.action, *map(sample.index, step.arc)) for step in learned.steps] == [step[:3] for step in steps]
    assert [step.value for step in learned.steps] == pytest.approx([step[3] for step in steps], abs=1e-7)
    assert parents_of(learned, sample) == parents


@given(tangled_samples(4, 5), st.booleans())
def test_the_score_is_that_of_the_network_with_its_tables(sample, rooted):
    learner = HillClimb(score="cll", penalty=0.5)
    learned = learner.learn(sample, root=0) if rooted else learner.learn(sample, target=0)
    network = learned.network.estimate(sample, BDeu(1.0))
    name = sample.names[0]
    free = sum(
        (len(network.values(v)) - 1) * math.prod(len(network.values(u)) for u in network.parents(v))
        for v in network.names
    )
    found = conditional_log_likelihood(network, sample, name) - 0.5 * free
    empty = type(network)({v: network.values(v) for v in network.names}).estimate(sample, BDeu(1.0))
    sizes = sum(len(network.values(v)) - 1 for v in network.names)
    start = conditional_log_likelihood(empty, sample, name) - 0.5 * sizes
    assert found - start == pytest.approx(sum(step.value for step in learned.steps), abs=1e-6)


@given(samples(max_rows=30, max_variables=4), st.sampled_from([0, 3]), st.sampled_from([0, 2]))
def test_any_table_can_be_learned(sample, tabu, restarts):
    learned = HillClimb(score="cll", tabu=tabu, restarts=restarts).learn(sample, target=0)
    assert is_acyclic({v: learned.network.parents(v) for v in learned.network.names})


def test_a_column_in_which_nothing_was_seen_is_no_matter():
    table, y = [[None, "a"], [None, "b"], [None, "a"], [None, "a"]], ["x", "y", "x", "y"]
    whole, empty = (
        BAN(learner=HillClimb(score="cll", penalty=0.1)).partial_fit(rows, y) for rows in (table, [[None] for _ in y])
    )
    alone = BAN(learner=HillClimb(score="cll", penalty=0.1)).partial_fit([row[1:] for row in table], y)
    np.testing.assert_allclose(whole.predict_proba(table), alone.predict_proba([row[1:] for row in table]))
    np.testing.assert_allclose(empty.predict_proba([["new"]]), [[0.5, 0.5]])


def test_a_parameter_that_costs_nothing_gets_more_arcs_and_a_dear_one_none():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (80, 5)).astype(str)
    y = rng.integers(0, 2, 80)

    def arcs(penalty):
        return len(learn_network(X, y, HillClimb(score="cll", penalty=penalty)).network.arcs)

    assert arcs(0.0) > arcs(1.0) >= arcs(10.0) == 0


def test_what_the_columns_have_to_do_with_each_other_is_no_matter():
    """Two columns repeat each other and say nothing about the class: the joint likelihood alone joins them."""
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, 500)
    y = a ^ (rng.random(500) < 0.1)
    b, c = rng.integers(0, 2, (2, 500))
    X = np.c_[a, b, b, c].astype(str)
    assert ("x1", "x2") in learn_network(X, y, HillClimb()).network.arcs
    learned = learn_network(X, y, HillClimb(score="cll"))
    assert {frozenset(arc) for arc in learned.network.arcs} == {frozenset(("x0", "class"))}


@pytest.mark.parametrize(
    "model",
    [
        BAN(learner=HillClimb(score="cll")),
        GeneralNetwork(learner=HillClimb(score="cll")),
        GeneralNetwork(learner=HillClimb(score="cll"), class_root=False),
    ],
    ids=repr,
)
def test_classifiers_take_it_and_see_what_the_class_depends_on(model):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (600, 4))
    y = X[:, 0] ^ (X[:, 1] & X[:, 2])
    model.fit(X.astype(str), y)
    assert model.score(X.astype(str), y) >= (0.95 if isinstance(model, BAN) else 0.7)
    assert all(step.note.startswith("cll") for step in model.learned_.steps)


def test_a_class_is_needed():
    X = [["a", "b"], ["b", "a"]] * 20
    with pytest.raises(OptionError, match=r'no class among these variables. Use "bic"'):
        learn_network(X, learner=HillClimb(score="cll"))
    with pytest.raises(OptionError, match="no class among these variables"):
        MultiNet(learner=HillClimb(score="cll")).fit(X, ["p", "q"] * 20).predict(X)


def test_large_tables_are_refused_with_their_size_and_a_way_out(monkeypatch):
    monkeypatch.setattr(conditional_climb, "MOST_NUMBERS", 50)
    rows = list(itertools.product((0, 1), repeat=3))
    with pytest.raises(OptionError, match=r'8 rows that differ, 2 classes and 4 columns .* Use score="bic", fewer'):
        learn_network(rows, [0, 1] * 4, HillClimb(score="cll"))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"penalty": 1.0}, r'penalty=1.0 is for score="cll"'),
        ({"penalty": -1.0, "score": "cll"}, "penalty=-1.0: give a number of at least 0, or None"),
    ],
)
def test_a_penalty_that_means_nothing_is_refused(options, words):
    with pytest.raises(OptionError, match=words):
        HillClimb(**options)
