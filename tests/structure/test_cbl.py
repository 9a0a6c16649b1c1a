"""CBL against its plain twin, and its laws."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from plain_cbl import Cbl2, cbl1
from plain_search import is_acyclic
from random_samples import samples, tangled, tangled_samples

from exact_samples import asia, diamond, five
from profiles import examples
from tanager.errors import OptionError
from tanager.structure.cbl import CBL
from tanager.structure.independence_tests import GSquared, Pearson, Threshold

thresholds = st.sampled_from([0.0, 0.003, 0.02, 0.1])
limits = st.sampled_from([8, 2, 1])


def questions(sample, given=()):
    return lambda a, b, cut: sample.information(a, b, (*cut, *given)).value


def arcs_of(learned, sample):
    return {(sample.index(u), sample.index(v)) for u, v in learned.network.arcs}


tables = st.one_of(samples(max_rows=200, max_variables=6), tangled_samples(), tangled_samples())


@examples(60)
@given(tables, thresholds, limits, st.booleans())
@example(tangled(7, 40, 0), 0.02, 8, True)  # here the only other parent lies on paths that are closed without it
def test_along_an_order_the_arcs_are_those_of_the_plain_algorithm(sample, threshold, limit, shrink):
    order = list(reversed(range(len(sample.names))))
    names = [sample.names[i] for i in order]
    learned = CBL(threshold=threshold, order=names, max_cond=limit, shrink=shrink).learn(sample)
    parents = cbl1(order, questions(sample), threshold, limit, shrink)
    assert arcs_of(learned, sample) == {(u, v) for v in order for u in parents[v]}


@examples(100)
@given(tables, thresholds, limits)
@example(tangled(6, 150, 53), 0.003, 8)  # here it matters which side is tried, and when a side is given up
def test_without_an_order_edges_and_directions_are_those_of_the_plain_algorithm(sample, threshold, limit):
    learned = CBL(threshold=threshold, max_cond=limit).learn(sample)
    plain = Cbl2(range(len(sample.names)), questions(sample), threshold, limit)
    arcs = arcs_of(learned, sample)
    assert {frozenset(arc) for arc in arcs} == plain.edges
    free = {(sample.index(u), sample.index(v)) for u, v in learned.undirected}
    assert arcs - free == plain.directed()


@given(tangled_samples(), thresholds, st.integers(0, 3))
@example(tangled(7, 600, 9), 0.02, 0)  # here neighbours of the root would separate
def test_what_a_root_points_at_does_not_separate_it_from_others(sample, threshold, root):
    """Its neighbours are its children: only those of the other end are tried."""
    learned = CBL(threshold=threshold).learn(sample, root=root)
    plain = Cbl2(range(len(sample.names)), questions(sample), threshold, 8, root=root)
    assert {frozenset(arc) for arc in arcs_of(learned, sample)} == plain.edges


@given(samples(max_rows=200, min_variables=2, max_variables=5), thresholds)
def test_what_is_given_is_a_condition_of_every_test(sample, threshold):
    last = len(sample.names) - 1
    learned = CBL(threshold=threshold).learn(sample, given=[last])
    plain = Cbl2(range(last), questions(sample, (last,)), threshold, 8)
    assert {frozenset(arc) for arc in arcs_of(learned, sample)} == plain.edges


@given(samples(max_variables=5), thresholds, st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(sample, threshold, chance):
    rows = list(range(len(sample.codes)))
    chance.shuffle(rows)
    shuffled = sample.take(np.array(rows, dtype=int))
    for order in (None, "given"):
        learner = CBL(threshold=threshold, order=order)
        assert learner.learn(shuffled).steps == learner.learn(sample).steps


@given(tables, thresholds)
def test_a_consistent_extension_keeps_the_directions_and_makes_no_cycle(sample, threshold):
    ordered, consistent = (CBL(threshold=threshold, extend=how).learn(sample) for how in ("order", "pdag"))
    known = set(ordered.network.arcs) - set(ordered.undirected)
    assert known == set(consistent.network.arcs) - set(consistent.undirected)
    assert is_acyclic({name: consistent.network.parents(name) for name in consistent.network.names})


def test_an_extension_without_new_colliders_where_the_order_of_the_table_makes_one():
    """Data of the chain B <- A -> C, in a table that has B and C before A."""
    from exact_samples import exact_sample

    sample = exact_sample({"B": "A", "C": "A"}, {"B": [0.1, 0.8], "C": [0.2, 0.7], "A": [0.5]})
    ordered, consistent = (CBL(extend=how).learn(sample) for how in ("order", "pdag"))
    assert set(ordered.network.arcs) == {("B", "A"), ("C", "A")}
    assert len(consistent.network.parents("A")) < 2


@pytest.mark.parametrize("root", ["A", "D"])
def test_the_root_points_at_all_its_neighbours(root):
    sample = diamond()
    for order in (None, "given"):
        learned = CBL(threshold=0.001, order=order).learn(sample, root=sample.index(root))
        assert learned.network.parents(root) == ()
        assert learned.network.children(root)


def test_the_steps_are_dicts_for_programs():
    first = CBL(threshold=0.001).learn(diamond()).to_dicts()[0]
    assert first["value"] == pytest.approx(0.275396, abs=1e-6)
    assert {key: first[key] for key in ("phase", "action", "arc", "given")} == {
        "phase": "draft",
        "action": "add",
        "arc": ("A", "B"),
        "given": (),
    }


def test_a_test_with_too_many_conditions_is_not_asked_and_the_edge_stays():
    learned = CBL(threshold=0.001, max_cond=1).learn(diamond())
    assert ("A", "D") in learned.network.arcs
    notes = [step.note for step in learned.steps if step.phase == "thin" and step.arc == ("A", "D")]
    assert notes == ["a test would have more than 1 conditions"]


@pytest.mark.parametrize("order", [None, "given"])
def test_the_weakest_arcs_go_where_there_are_too_many_parents(order):
    learned = CBL(threshold=0.001, order=order, max_parents=1).learn(diamond())
    assert ("B", "D") in learned.network.arcs
    assert ("C", "D") not in learned.network.arcs
    assert any("1 parent" in step.note for step in learned.steps)


def test_all_sets_of_neighbours_are_tried_where_asked_for():
    sample = tangled(6, 150, 104)
    plain, exhaustive = (CBL(threshold=0.02, exhaustive=how).learn(sample) for how in (False, True))
    edges, fewer = ({frozenset(arc) for arc in learned.network.arcs} for learned in (plain, exhaustive))
    assert fewer < edges
    for u, v in edges - fewer:
        (step,) = (step for step in exhaustive.steps if step.action == "remove" and set(step.arc) == {u, v})
        given = [sample.index(name) for name in step.given]
        assert sample.information(sample.index(u), sample.index(v), given).value == step.value <= 0.02


def test_sets_that_separate_are_looked_for_once_more_where_asked_for():
    """The edges stay; directions are read from the sets that separate in the final graph."""
    sample = tangled(6, 150, 2)
    plain, again = (CBL(threshold=0.02, recheck=how).learn(sample) for how in (False, True))
    assert again.n_tests > plain.n_tests
    assert {frozenset(arc) for arc in again.network.arcs} == {frozenset(arc) for arc in plain.network.arcs}
    assert set(again.network.arcs) != set(plain.network.arcs)


@pytest.mark.parametrize("test", [GSquared(0.001), Pearson(0.001), Threshold(0.005)])
@pytest.mark.parametrize("order", [None, "given"])
def test_other_tests_find_the_skeleton_of_sampled_rows(test, order):
    exact = five()
    rng = np.random.default_rng(0)
    rows = rng.choice(len(exact.codes), 5000, p=exact.weights)
    sample = type(exact)(exact.codes[rows], exact.values, exact.names)
    learned = CBL(test=test, order=order).learn(sample)
    assert {frozenset(arc) for arc in learned.network.arcs} == {frozenset(p) for p in ("AB", "BC", "BD", "CE", "DE")}
    assert learned.steps[0].note


def test_progress_is_told():
    told = []
    CBL(threshold=1e-5).learn(asia(), progress=lambda what, done, of: told.append((what, done, of)))
    assert told[0] == ("comparing pairs", 0, 28)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"threshold": -0.1}, "threshold=-0.1: give a number of at least 0"),
        ({"max_cond": 1.5}, "max_cond=1.5: give a whole number"),
        ({"max_parents": "3"}, "max_parents='3': give a whole number"),
        ({"extend": "dag"}, "extend='dag' is not an option"),
        ({"test": "x"}, "test='x'"),
        ({"test": 3}, "test=3"),
        ({"shrink": True}, "shrink=True is for a known order.*Give order=, or leave it out"),
    ],
)
def test_options_that_mean_nothing_are_refused(options, words):
    with pytest.raises(OptionError, match=words):
        CBL(**options)
