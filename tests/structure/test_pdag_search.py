"""The search over partially directed graphs against a plain one that scores every network anew, and its invariants."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_pdag import network, plain_moves, plain_pdag_search
from random_samples import samples, tangled_samples

from profiles import examples
from tanager import BAN, GeneralNetwork, MultiNet, PDAGSearch, Threshold, learn_network
from tanager.counts.sample import Sample
from tanager.errors import OptionError
from tanager.structure import scores
from tanager.structure.constraints import Constraints
from tanager.structure.learner import Task
from tanager.structure.pdag_search import Search

SCORES = ["bdeu", "bic", "aic", "k2"]
whole = st.one_of(samples(min_variables=2, max_variables=5, missing=False), tangled_samples(4, 5))


def parents_of(learned, sample):
    return {sample.index(v): frozenset(map(sample.index, learned.network.parents(v))) for v in learned.network.names}


def arcs_of(learned, sample):
    return [(step.action, *map(sample.index, step.arc)) for step in learned.steps]


@examples(60)
@given(whole, st.sampled_from(SCORES), st.sampled_from(["empty", "naive"]), st.integers(0, 3), st.integers(0, 4))
def test_the_search_takes_the_way_of_a_plain_one(sample, score, start, most, at):
    y = at % len(sample.names)
    learned = PDAGSearch(score=score, start=start, max_parents=most).learn(sample, target=y)
    state, made = plain_pdag_search(sample, score, y, most, start)
    assert arcs_of(learned, sample) == [move[:3] for move in made]
    assert [step.value for step in learned.steps] == pytest.approx([move[3] for move in made], abs=1e-7)
    assert parents_of(learned, sample) == network(state, y, len(sample.names))
    assert {sample.index(x) for _, x in learned.undirected} == state[1]


@given(tangled_samples(4, 5), st.sampled_from(["bdeu", "aic"]))
def test_forbidden_arcs_and_a_root_are_respected(sample, score):
    y, last = 0, len(sample.names) - 1
    forbidden = {(1, y), (last, 2), (y, last)}
    names = [tuple(sample.names[i] for i in arc) for arc in forbidden]
    learned = PDAGSearch(score=score, forbidden=names).learn(sample, target=y)
    state, _ = plain_pdag_search(sample, score, y, 3, forbidden=forbidden)
    assert parents_of(learned, sample) == network(state, y, len(sample.names))
    below = PDAGSearch(score=score).learn(sample, root=y)
    state, _ = plain_pdag_search(sample, score, y, 3, forbidden={(i, y) for i in range(1, last + 1)})
    assert parents_of(below, sample) == network(state, y, len(sample.names))
    assert below.undirected == ()


@given(tangled_samples(4, 5), st.sampled_from([0.0, 0.01, 0.05]))
def test_what_is_joined_passes_the_test(sample, threshold):
    learned = PDAGSearch(score="aic", test=Threshold(threshold)).learn(sample, target=0)

    def dependent(u, v, others):
        return sample.information(u, v, others).value > threshold

    state, _ = plain_pdag_search(sample, "aic", 0, 3, dependent=dependent)
    assert parents_of(learned, sample) == network(state, 0, len(sample.names))


@examples(60)
@given(st.one_of(samples(min_variables=1, max_variables=6), tangled_samples(4, 7)), st.sampled_from(SCORES), st.data())
def test_the_invariants_hold_and_the_trace_ends_with_the_score(sample, score, data):
    y = data.draw(st.integers(0, len(sample.names) - 1))
    learned = PDAGSearch(score=score, start=data.draw(st.sampled_from(["empty", "naive"]))).learn(sample, target=y)
    parents = parents_of(learned, sample)
    siblings = {sample.index(x) for _, x in learned.undirected}
    assert len(parents[y]) != 1
    assert not (parents[y] and siblings)
    for i, own in parents.items():
        assert i == y or not own or y in own  # arcs among columns lead to children of the class
        if own == {y} and i != y:
            assert parents[y] or i in siblings
    assert all(step.value > 0 for step in learned.steps)
    if learned.steps:
        end = float(re.search(r"to (\S+?);?( |$)", learned.steps[-1].note)[1])
        assert getattr(scores, score)(learned.network, sample.filled()) == pytest.approx(end, abs=2e-4)


def test_two_causes_meet_in_the_class_and_a_consequence_is_a_child():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, (2000, 5)).astype(np.uint8)
    codes[:, 2] = (codes[:, 0] & codes[:, 1]) ^ (rng.random(2000) < 0.05)
    codes[:, 3] = codes[:, 2] ^ (rng.random(2000) < 0.1)
    sample = Sample(codes, [(0, 1)] * 5, ["cause", "other", "class", "effect", "noise"])
    learned = PDAGSearch().learn(sample, target=2)
    assert set(learned.network.arcs) == {("cause", "class"), ("other", "class"), ("class", "effect")}
    assert learned.undirected == ()
    assert any("meets" in step.note for step in learned.steps)


@examples(40)
@given(st.integers(1, 6), st.integers(0, 3), st.randoms(use_true_random=False))
def test_wherever_a_search_may_get_its_moves_are_those_of_the_plain_one(n, most, chance):
    """A walk at random, which also goes where no search does: most removals are rare on the way up."""
    sample = Sample(np.zeros((1, n), np.uint8), [(0, 1)] * n, [f"x{i}" for i in range(n)])
    y = chance.randrange(n)
    rules = Constraints(sample, range(n))
    search = Search(Task(sample, tuple(range(n)), (), None, rules, target=y), PDAGSearch(max_parents=most))
    state, around = (frozenset(), frozenset(), {}), search.start()
    for _ in range(12):
        plain = {(move, *sorted(network(option, y, n).items())) for move, option in plain_moves(state, y, n, most)}
        found = [((move.action, *move.arc), around.changed(move.families)) for move in search.moves(around)]
        assert {(move, *enumerate(option.parents)) for move, option in found} == plain
        assert len(found) == len(plain)
        if not found:
            break
        at = chance.randrange(len(found))
        state, around = list(plain_moves(state, y, n, most))[at][1], found[at][1]
        assert network(state, y, n) == dict(enumerate(around.parents))
        assert set(around.siblings) == set(state[1])


def test_general_networks_take_it_and_show_how_it_went():
    rng = np.random.default_rng(1)
    X = rng.integers(0, 2, (400, 4)).astype(str)
    y = np.where((X[:, 0] == "1") & (X[:, 1] == "1"), "yes", "no")
    free = GeneralNetwork(learner=PDAGSearch(), class_root=False).fit(X, y)
    assert free.blanket_ == ("x0", "x1")
    assert free.learned_.network.parents("class") == ("x0", "x1")
    assert free.score(X, y) == 1.0
    rooted = GeneralNetwork(learner=PDAGSearch()).fit(X, y)
    assert rooted.learned_.network.parents("class") == ()
    assert rooted.score(X, y) == 1.0


@pytest.mark.parametrize("model", [BAN(learner=PDAGSearch()), MultiNet(learner=PDAGSearch())], ids=repr)
def test_without_a_class_to_surround_there_is_an_error_with_a_way_out(model):
    X = [["a", "b"], ["b", "a"]] * 20
    with pytest.raises(OptionError, match=r"no class among these variables.*with GeneralNetwork"):
        model.fit(X, ["p", "q"] * 20).predict(X)
    with pytest.raises(OptionError, match="use HillClimb"):
        learn_network(X, learner=PDAGSearch())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"score": "mdl"}, "score='mdl' is not an option"),
        ({"start": "full"}, "start='full' is not an option"),
        ({"max_parents": -1}, "max_parents=-1"),
        ({"required": [("a", "b")]}, r"takes no required arcs. Use HillClimb\(required"),
    ],
)
def test_options_that_mean_nothing_are_refused(options, words):
    with pytest.raises(OptionError, match=words):
        PDAGSearch(**options)
