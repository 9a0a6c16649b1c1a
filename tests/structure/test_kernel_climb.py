"""Greedy searches by the kernels alone: the networks of the searches that write every step down."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_samples import constraints, samples, tangled_samples

from profiles import examples
from tanager import BAN, GeneralNetwork, HillClimb, PDAGSearch, Sample

KINDS = st.sampled_from(["bic", "aic", "bdeu", "k2", "ll"])
SAMPLES = samples(max_variables=8) | tangled_samples(5, 9)


def check_same(learner, sample, **options):
    traced = learner.learn(sample, **options)
    plain = learner.learn(sample, **options, traced=False)
    assert plain.network.parent_indices == traced.network.parent_indices
    assert plain.undirected == traced.undirected
    assert plain.steps == ()
    return traced, plain


def with_weights(sample, seed=0):
    weights = np.random.default_rng(seed).choice([0.0, 0.5, 1.0, 3.0], len(sample.codes))
    return Sample(sample.codes, sample.values, sample.names, weights)


def wide_sample(n_columns, n_values=2, n_rows=300, seed=0):
    """Columns that follow earlier ones, more of them than a word has bits."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_values, (n_rows, n_columns)).astype(np.uint8)
    for i in range(1, n_columns):
        copied = codes[:, rng.integers(0, i, 2)].sum(1) % n_values
        codes[:, i] = np.where(rng.random(n_rows) < 0.7, copied, codes[:, i])
    return Sample(codes, [range(n_values)] * n_columns, [f"x{i}" for i in range(n_columns)])


@examples(40)
@given(SAMPLES, KINDS, st.sampled_from([None, 0, 1, 3]), st.booleans())
def test_a_climb_ends_where_the_traced_one_does(sample, kind, most, weigh):
    sample = with_weights(sample) if weigh else sample
    learner = HillClimb(score=kind, max_parents=most)
    for options in ({}, {"root": 0}, {"given": [len(sample.names) - 1]}):
        traced, plain = check_same(learner, sample, **options)
        assert plain.n_tests == traced.n_tests


@examples(25)
@given(st.data(), KINDS)
def test_constraints_hold_there_as_well(data, kind):
    sample = data.draw(samples(min_variables=3))
    check_same(HillClimb(score=kind, max_parents=None, **data.draw(constraints(len(sample.names)))), sample)


@examples(40)
@given(SAMPLES, KINDS, st.sampled_from(["empty", "naive"]), st.sampled_from([None, 0, 1, 2]), st.booleans())
def test_a_search_around_a_root_ends_where_the_traced_one_does(sample, kind, start, most, forbid):
    names = sample.names
    forbidden = [(names[0], names[1]), (names[-1], names[1])] if forbid and len(names) > 2 else []
    learner = PDAGSearch(score=kind, start=start, max_parents=most, forbidden=forbidden)
    check_same(learner, sample, root=0, target=0)
    check_same(learner, sample, target=0)  # where the class may have parents, one search serves both


@pytest.mark.parametrize("n_values", [2, 3, 20])
def test_many_columns_are_climbed_alike(n_values):
    sample = wide_sample(70, n_values)
    for learner in (HillClimb(), HillClimb(score="bdeu", max_parents=2)):
        traced, _ = check_same(learner, sample)
        assert n_values == 20 or len(traced.network.arcs) > 30
    check_same(PDAGSearch(), sample, root=3, target=3)


def test_classifiers_learn_by_the_kernels_and_show_every_step_when_asked():
    sample = wide_sample(12)
    X, y = sample.codes[:, :-1], sample.codes[:, -1]
    for model in (BAN(), GeneralNetwork(learner=HillClimb()), GeneralNetwork(learner=PDAGSearch())):
        model.fit(X, y)
        assert len(model.learned_.steps) > 0
        found = {(u, v) for v, own in model.parents_.items() for u in own}
        assert found <= set(model.learned_.network.arcs)


@pytest.mark.parametrize(
    ("required", "target", "words"),
    [([(0, 0)], None, "two of the nodes"), ([(0, 1), (0, 1)], None, "once"), ([], 9, "one of the nodes")],
)
def test_what_a_climb_cannot_mean_is_refused(required, target, words):
    sample = wide_sample(3)
    allowed = [[u != v for v in range(3)] for u in range(3)]
    with pytest.raises(ValueError, match=words):
        sample.climb("bic", 1.0, range(3), (), allowed, required, 3, 1e-11, target=target)
