"""What contradicts itself is refused before anything is learned; what does not, every learner honours."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_search import is_acyclic
from random_samples import constraints, honoured, samples, tangled_samples

from tanager.counts.sample import Sample
from tanager.errors import OptionError, SchemaMismatch
from tanager.structure.cbl import CBL
from tanager.structure.chow_liu import ChowLiu
from tanager.structure.hill_climb import HillClimb
from tanager.structure.k2 import K2

NAMES = ["age", "job", "pay", "class"]
LEARNERS = [ChowLiu, CBL, HillClimb, K2]


@pytest.fixture
def sample():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, (50, 4)).astype(np.uint8)
    codes[:, 1] = codes[:, 0] ^ (rng.random(50) < 0.2)
    return Sample(codes, [(0, 1)] * 4, NAMES)


CONTRADICTIONS = {
    "both required and forbidden": (
        {"required": [("age", "job")], "forbidden": [("age", "job")]},
        "the arc 'age' -> 'job' is required and forbidden",
    ),
    "a cycle, shown": (
        {"required": [("age", "job"), ("job", "pay"), ("pay", "age")]},
        "the required arcs form a cycle: age -> job -> pay -> age",
    ),
    "both ways": ({"required": [("age", "job"), ("job", "age")]}, "age -> job -> age"),
    "against the tiers": (
        {"required": [("job", "age")], "tiers": [["age"], ["job"]]},
        "'job' is in tier 2 and 'age' in tier 1; no arc leads back",
    ),
    "twice in the tiers": ({"tiers": [["age"], ["job", "age"]]}, "'age' is in tier 1 and in tier 2"),
    "a name as a tier": ({"tiers": ["age"]}, "tiers must be lists of names, got 'age'"),
    "no pair": ({"forbidden": [("age", "job", "pay")]}, "forbidden must be pairs (parent, child)"),
    "text for a pair": ({"required": ["ab"]}, "required must be pairs (parent, child), got 'ab'"),
    "no list of arcs": ({"required": 3}, "required"),
    "a name for arcs": ({"forbidden": "age"}, "forbidden"),
    "no list of tiers": ({"tiers": 3}, "tiers"),
    "no names in tiers": ({"tiers": [3]}, "tiers"),
    "from itself": ({"forbidden": [("age", "age")]}, "cannot lead from 'age' to itself"),
}


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize(("options", "words"), CONTRADICTIONS.values(), ids=CONTRADICTIONS)
def test_a_contradiction_is_refused(sample, learner, options, words):
    with pytest.raises(OptionError, match=re.escape(words)):
        learner(**options).learn(sample)


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("option", ["required", "forbidden", "tiers"])
def test_a_name_that_is_not_there_is_refused_with_the_nearest(sample, learner, option):
    arcs = [("age", "jobb")]
    with pytest.raises(SchemaMismatch, match=rf"{option}: there is no variable 'jobb'. Did you mean 'job'\?"):
        learner(**{option: arcs}).learn(sample)


@pytest.mark.parametrize("learner", LEARNERS)
def test_the_root_has_no_parents_and_none_can_be_required(sample, learner):
    assert learner().learn(sample, root=3).network.parents("class") == ()
    with pytest.raises(OptionError, match="'class' is the root here and cannot have parents"):
        learner(required=[("age", "class")]).learn(sample, root=3)


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_given_variable_is_a_parent_of_all_and_this_cannot_be_forbidden(sample, learner):
    assert "class" not in learner().learn(sample, given=[3]).network.names
    learner(required=[("class", "age")], forbidden=[("age", "class")]).learn(sample, given=[3])
    with pytest.raises(OptionError, match="'class' is a parent of every variable here"):
        learner(forbidden=[("class", "age")]).learn(sample, given=[3])
    with pytest.raises(OptionError, match="'class' is a parent of every variable here"):
        learner(tiers=[["age"], ["class"]]).learn(sample, given=[3])


@pytest.mark.parametrize("learner", LEARNERS)
def test_an_arc_to_a_variable_outside_cannot_be_required(sample, learner):
    with pytest.raises(OptionError, match="'pay' is not among the variables of this network"):
        learner(required=[("age", "pay")]).learn(sample, nodes=[0, 1])
    learner(forbidden=[("age", "pay")]).learn(sample, nodes=[0, 1])


@pytest.mark.parametrize("learner", [CBL(order="given"), K2()])
def test_an_order_and_what_contradicts_it(sample, learner):
    def with_(**options):
        return type(learner)(**{"order": learner.order, **options})

    with pytest.raises(OptionError, match="'job' -> 'age' is required, but in the order 'age' comes first"):
        with_(required=[("job", "age")]).learn(sample)
    with pytest.raises(OptionError, match="the order has 'age' before 'job', but the tiers have 'job' first"):
        with_(tiers=[["job"], ["age"]]).learn(sample)
    with pytest.raises(OptionError, match="each variable once; 'pay' is not in it"):
        with_(order=["age", "job", "class"]).learn(sample)
    with pytest.raises(OptionError, match="each variable once; 'age' is more than once in it"):
        with_(order=["age", "job", "class", "pay", "age"]).learn(sample)
    with pytest.raises(SchemaMismatch, match=r"order: there is no variable 'clas'. Did you mean 'class'\?"):
        with_(order=["age", "job", "pay", "clas"]).learn(sample)
    with pytest.raises(OptionError, match="the order starts with 'age', but 'class' is the root and must come first"):
        with_(order=NAMES).learn(sample, root=3)
    with pytest.raises(OptionError, match="order='mi' is not an option"):
        with_(order="mi").learn(sample)
    with_(order=["pay", "job", "age"]).learn(sample, root=3)  # the root may be left out
    with_(order=NAMES).learn(sample, nodes=[0, 1])  # and others be in it


@pytest.mark.parametrize("learner", [CBL, HillClimb, K2])
def test_more_required_parents_than_the_limit_are_refused(sample, learner):
    with pytest.raises(OptionError, match="'pay' has 2 required parents, and max_parents=1"):
        learner(max_parents=1, required=[("age", "pay"), ("job", "pay")]).learn(sample)


def test_a_tree_holds_only_what_a_tree_can(sample):
    with pytest.raises(OptionError, match="'pay' has two required parents"):
        ChowLiu(required=[("age", "pay"), ("job", "pay")]).learn(sample)
    with pytest.raises(OptionError, match="join 'age' and 'pay' by two paths"):
        ChowLiu(required=[("age", "job"), ("job", "pay"), ("age", "pay")]).learn(sample)


@given(st.data())
def test_every_learner_honours_the_constraints_and_closes_no_cycle(data):
    sample = data.draw(st.one_of(samples(min_variables=2), tangled_samples()))
    known = data.draw(constraints(len(sample.names)))
    threshold = data.draw(st.sampled_from([0.0, 0.001, 0.02, 0.3]))
    most = data.draw(st.sampled_from([None, 3, 1]))
    for learner in (
        ChowLiu(threshold=threshold, **known),
        CBL(threshold=threshold, max_parents=most, **known),
        CBL(threshold=threshold, extend="pdag", exhaustive=True, recheck=True, **known),
        CBL(threshold=threshold, max_parents=most, order="given", **known),
        HillClimb(max_parents=most, **known),
        HillClimb(max_parents=most, tabu=3, restarts=1, score="aic", **known),
        K2(max_parents=most, **known),
    ):
        try:
            learned = learner.learn(sample)
        except OptionError:  # what this learner cannot hold: against the order, no tree, too many parents
            continue
        network = learned.network
        assert honoured(network, **known)
        assert is_acyclic({child: set(network.parents(child)) for child in network.names})
        limit = getattr(learner, "max_parents", 1 if isinstance(learner, ChowLiu) else None)
        assert limit is None or max(len(network.parents(name)) for name in network.names) <= limit
        assert set(learned.undirected) <= set(network.arcs)
        assert not set(learned.undirected) & set(known["required"])


@pytest.mark.parametrize("learner", LEARNERS)
def test_without_nodes_there_is_nothing_to_learn(sample, learner):
    assert learner().learn(sample, nodes=[]).network.names == ()
