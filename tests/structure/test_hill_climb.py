"""Hill climbing and K2 against plain searches that score every network anew."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_search import family_score, is_acyclic, moves, network_score, plain_hill_climb, plain_k2
from random_samples import samples, tangled_samples

from tanager.counts.sample import Sample
from tanager.errors import OptionError
from tanager.structure.hill_climb import HillClimb
from tanager.structure.k2 import K2

KINDS = ["bic", "aic", "bdeu", "k2", "ll"]


def parents_of(learned, sample):
    network = learned.network
    return {sample.index(v): frozenset(sample.index(u) for u in network.parents(v)) for v in network.names}


whole_samples = st.one_of(samples(min_variables=2, max_variables=5, missing=False), tangled_samples(4, 5))


@given(whole_samples, st.sampled_from(KINDS), st.integers(0, 3))
def test_hill_climbing_takes_the_way_of_a_plain_search(sample, kind, most):
    learned = HillClimb(score=kind, max_parents=most).learn(sample)
    parents, score = plain_hill_climb(sample, kind, most)
    found = parents_of(learned, sample)
    assert network_score(sample, kind, found) == pytest.approx(score, rel=1e-9, abs=1e-8)
    assert found == parents


@given(whole_samples, st.sampled_from(KINDS))
def test_given_variables_are_parents_of_all_and_not_counted(sample, kind):
    last = len(sample.names) - 1
    learned = HillClimb(score=kind, max_parents=1).learn(sample, given=[last])
    parents, _ = plain_hill_climb(sample, kind, 1, given=(last,))
    assert parents_of(learned, sample) == parents


@given(whole_samples, st.sampled_from(KINDS), st.sampled_from([0, 4]), st.sampled_from([0, 2]))
def test_no_single_move_makes_what_was_found_better(sample, kind, tabu, restarts):
    learner = HillClimb(score=kind, max_parents=2, tabu=tabu, restarts=restarts)
    found = parents_of(learner.learn(sample), sample)
    score = network_score(sample, kind, found)
    for option in moves(found).values():
        if is_acyclic(option) and max(map(len, option.values())) <= 2:
            assert network_score(sample, kind, option) <= score + 1e-8


@given(whole_samples, st.sampled_from(KINDS))
def test_looking_further_never_finds_less(sample, kind):
    plain = network_score(sample, kind, parents_of(HillClimb(score=kind).learn(sample), sample))
    for further in (HillClimb(score=kind, tabu=5), HillClimb(score=kind, restarts=3)):
        assert network_score(sample, kind, parents_of(further.learn(sample), sample)) >= plain - 1e-8


@given(whole_samples, st.sampled_from(KINDS))
def test_the_trace_leads_to_the_network_and_its_gains_add_up(sample, kind):
    learned = HillClimb(score=kind, tabu=3, restarts=2).learn(sample)
    arcs = set()
    for step in learned.steps:
        u, v = step.arc
        arcs ^= {(u, v)} if step.action != "reverse" else {(u, v), (v, u)}
    assert arcs == set(learned.network.arcs)
    empty = network_score(sample, kind, dict.fromkeys(range(len(sample.names)), frozenset()))
    gained = network_score(sample, kind, parents_of(learned, sample)) - empty
    assert sum(step.value for step in learned.steps) == pytest.approx(gained, abs=1e-6)


@given(tangled_samples(4, 5), st.sampled_from([1, 3, 10]), st.sampled_from([2, 10]))
def test_with_tabu_the_way_is_that_of_a_plain_search(sample, tabu, patience):
    learned = HillClimb(tabu=tabu, patience=patience, max_parents=2).learn(sample)
    parents, _ = plain_hill_climb(sample, "bic", 2, tabu=tabu, patience=patience)
    assert parents_of(learned, sample) == parents


def two_hills():
    """Rows of an exclusive or, which no arc on its own shows."""
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 2, (500, 6)).astype(np.uint8)
    codes[:, 5] = codes[:, 0] ^ codes[:, 1]
    codes[:, 4] = (codes[:, 0] & codes[:, 2]) ^ (rng.random(500) < 0.1)
    codes[:, 3] = (codes[:, 5] | codes[:, 4]) ^ (rng.random(500) < 0.1)
    return Sample(codes, [(0, 1)] * 6, [f"x{i}" for i in range(6)])


def test_tabu_and_restarts_leave_a_hill_that_plain_climbing_stays_on():
    sample = two_hills()

    def score(learner):
        return network_score(sample, "bic", parents_of(learner.learn(sample), sample))

    low = score(HillClimb())
    assert score(HillClimb(tabu=10)) > low + 100
    assert score(HillClimb(restarts=5)) > low + 100


def test_chance_enters_by_the_seed_alone():
    sample = two_hills()
    first, again = (HillClimb(restarts=3, random_state=7).learn(sample).steps for _ in range(2))
    assert first == again


@given(samples(min_variables=2, max_variables=4), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(sample, chance):
    rows = list(range(len(sample.codes)))
    chance.shuffle(rows)
    shuffled = sample.take(np.array(rows, dtype=int))
    for learner in (HillClimb(), HillClimb(score="bdeu", restarts=1), K2()):
        assert learner.learn(shuffled).network.arcs == learner.learn(sample).network.arcs


@given(whole_samples, st.sampled_from(KINDS), st.integers(0, 3))
def test_k2_takes_the_way_of_a_plain_search(sample, kind, most):
    order = list(reversed(range(len(sample.names))))
    learned = K2(order=[sample.names[i] for i in order], score=kind, max_parents=most).learn(sample)
    assert parents_of(learned, sample) == plain_k2(sample, kind, order, most)


@given(whole_samples, st.sampled_from(["aic", "bic", "bdeu", "ll"]))
def test_both_directions_of_an_arc_score_the_same(sample, kind):
    there = family_score(sample, kind, 0, ()) + family_score(sample, kind, 1, (0,))
    back = family_score(sample, kind, 1, ()) + family_score(sample, kind, 0, (1,))
    assert there == pytest.approx(back, abs=1e-8)
    kernel = [sample.scores(kind, v, [()], 1.0)[0] + sample.scores(kind, 1 - v, [(v,)], 1.0)[0] for v in (0, 1)]
    assert kernel == pytest.approx([there, there], abs=1e-8)


def test_missing_cells_do_not_attract_arcs():
    """Over fewer rows every score is larger; a column that is mostly missing must not gain by that."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, (400, 3)).astype(np.uint8)
    codes[rng.random(400) < 0.8, 2] = 255
    sample = Sample(codes, [(0, 1)] * 3, ["a", "b", "gaps"])
    assert HillClimb().learn(sample).network.arcs == []
    assert K2(order=["gaps", "a", "b"], score="bic").learn(sample).network.arcs == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"score": "mdl"}, "score='mdl' is not an option"),
        ({"max_parents": -1}, "max_parents=-1: give a whole number"),
        ({"max_parents": 1.5}, "max_parents=1.5: give a whole number"),
        ({"ess": 0}, "ess=0: give a number above 0"),
        ({"tabu": -1}, "tabu=-1"),
        ({"patience": True}, "patience=True"),
        ({"restarts": None}, "restarts=None"),
    ],
)
def test_options_that_mean_nothing_are_refused(options, words):
    with pytest.raises(OptionError, match=words):
        HillClimb(**options)
