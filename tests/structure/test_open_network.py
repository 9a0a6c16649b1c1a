"""Networks learned by the kernels alone: those of the learner that writes every step down."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_samples import constraints, samples, tangled, tangled_samples

from profiles import examples
from tanager import CBL, GSquared, Pearson, Sample, Threshold, _kernels

TESTS = st.sampled_from([Threshold(0.0), Threshold(0.005), Threshold(0.05), GSquared(0.1), Pearson(0.05, guard=False)])


def check_same(learner, sample, **options):
    traced = learner.learn(again(sample), **options)
    plain = learner.learn(sample, **options, traced=False)
    assert plain.network == traced.network
    assert plain.network.parent_indices == traced.network.parent_indices
    assert plain.undirected == traced.undirected
    assert plain.n_tests == traced.n_tests
    assert plain.steps == ()


def again(sample):
    """The same rows, nothing remembered."""
    return Sample(sample.codes, sample.values, sample.names, sample.weights)


def with_weights(sample, seed):
    weights = np.random.default_rng(seed).choice([0.0, 0.5, 1.0, 3.0], len(sample.codes))
    return Sample(sample.codes, sample.values, sample.names, weights)


@examples(40)
@given(
    sample=samples(max_variables=8) | tangled_samples(5, 9),
    test=TESTS,
    limit=st.sampled_from([None, 1, 2]),
    extend=st.sampled_from(["pdag", "order"]),
    max_cond=st.sampled_from([1, 3, 8]),
    weigh=st.booleans(),
)
def test_the_network_is_that_of_the_traced_learner(sample, test, limit, extend, max_cond, weigh):
    learner = CBL(test=test, max_parents=limit, extend=extend, max_cond=max_cond)
    check_same(learner, with_weights(sample, 0) if weigh else sample)


@examples(25)
@given(data=st.data(), test=TESTS)
def test_constraints_hold_there_as_well(data, test):
    sample = data.draw(samples(min_variables=3))
    check_same(CBL(test=test, **data.draw(constraints(len(sample.names)))), sample)


@examples(15)
@given(sample=tangled_samples(5, 8), test=TESTS, root=st.integers(0, 4))
def test_a_root_and_what_is_given_are_those_of_the_traced_learner(sample, test, root):
    check_same(CBL(test=test), sample, root=root)
    check_same(CBL(test=test), sample, given=[root])


def test_what_was_asked_at_one_threshold_serves_the_next():
    sample = tangled(9, 600, 1)
    for threshold in (0.05, 0.01, 0.002):
        check_same(CBL(threshold=threshold), sample)
    assert sample.n_counted < sample.n_asked


def test_wide_variables_are_tested_one_set_at_a_time():
    """Configurations that fit into no number of 64 bits are counted as any other."""
    narrow = tangled(9, 300, 3)
    sample = Sample(narrow.codes.astype(np.uint16) * 250, [range(700)] * 9, narrow.names)
    check_same(CBL(threshold=0.002), sample)
    wide, same = (CBL(threshold=0.002).learn(s, traced=False).network for s in (sample, narrow))
    assert wide.arcs == same.arcs


@examples(40)
@given(sample=samples(max_rows=200, min_variables=5, max_variables=8), seed=st.integers(0, 10**6), weigh=st.booleans())
def test_what_a_search_remembers_is_what_counting_says(sample, seed, weigh):
    sample = with_weights(sample, seed) if weigh else sample
    test = Threshold(0.0) if seed % 2 else Pearson(0.2)
    CBL(test=test).learn(sample, traced=False)
    rng = np.random.default_rng(seed)
    for _ in range(20):
        x, z, *rest = rng.permutation(len(sample.names)).tolist()
        rest = rest[: rng.integers(0, len(rest) + 1)]
        counted = sample._rows.information(x, z, rest, "increments")
        np.testing.assert_allclose(sample.information_at(x, z, rest), counted, rtol=1e-9, atol=1e-11)


def drop_one_by_one(sample, given, tau):
    """What is left of a set that shall separate the first two variables, and their information: all tests counted."""

    def value(conditions):
        return again(sample).information_at(0, 1, conditions).value

    now = value(given)
    while now > tau and len(given) > 1:
        left = [value(given[:k] + given[k + 1 :]) for k in range(len(given))]
        if min(left) > now:
            break
        now, k = min(left), left.index(min(left))
        given = given[:k] + given[k + 1 :]
    return now <= tau, given, now


@examples(40)
@given(
    sample=tangled_samples(4, 8),
    taus=st.lists(st.sampled_from([0.0, 0.002, 0.01, 0.03, 0.1]), min_size=1, max_size=4),
    weigh=st.booleans(),
)
def test_variables_are_dropped_from_a_separating_set_as_if_all_tests_were_counted(sample, taus, weigh):
    """Thresholds share the steps of a search, in any order, and tests stop where they cannot be the least any more."""
    sample = with_weights(sample, 1) if weigh else sample
    n = len(sample.names)
    allowed = [[u != v for v in range(n)] for u in range(n)]
    for tau in taus:
        own = sample.separation(range(n), (), allowed, Threshold(tau).figures, n)
        for c in range(2, n):
            own.join(0, c)
            own.join(1, c)
        separated, too_many, given, figures = own.by_neighbours(0, 1, True, False)
        expected = drop_one_by_one(sample, list(range(2, n)), tau)
        assert (separated, given, too_many) == (*expected[:2], False)
        assert figures[0] == pytest.approx(expected[2], abs=2e-12)


def test_what_the_kernel_cannot_learn_is_refused():
    sample = tangled(3, 40, 0)
    allowed = [[u != v for v in range(3)] for u in range(3)]

    def separation() -> _kernels.Separation:
        return sample.separation((0, 1, 2), (), allowed, Threshold(0.01).figures, 8)

    for required, words in ([(0, 3)], "two of the nodes"), ([(0, 1), (1, 0)], "once"):
        with pytest.raises(ValueError, match=words):
            separation().learn(required, False, None)
    joined = separation()
    joined.join(0, 1)
    with pytest.raises(ValueError, match="without edges"):
        joined.learn([], False, None)


@examples(20)
@given(sample=samples(min_variables=3, max_variables=7) | tangled_samples(4, 7), weigh=st.booleans())
def test_informations_that_are_counted_together_are_those_of_each_alone(sample, weigh):
    sample = with_weights(sample, 1) if weigh else sample
    n = len(sample.names)
    for given_too in ((), (0,)):
        places = range(len(given_too), n)
        single = {(a, b): again(sample).information_at(a, b, given_too) for a in places for b in places if a != b}
        pairs = again(sample).pair_informations(places, given_too)
        assert pairs == [single[a, b] for a in places for b in places if a < b]
        for a in places:
            others = [b for b in places if b != a]
            assert again(sample).informations_at(a, others, given_too) == [single[a, b].value for b in others]


@pytest.mark.parametrize("missing", [False, True])
def test_conditions_given_up_leave_the_information_of_fewer(missing):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, (500, 8)).astype(np.uint8)
    codes[:, 7] = codes[:, :4].sum(1) % 2
    if missing:  # rows that lack a condition count again when it is given up
        codes[rng.random(codes.shape) < 0.2] = 255
    sample = Sample(codes, [range(2)] * 8, [f"x{i}" for i in range(8)])
    nodes, allowed = range(8), [[u != v for v in range(8)] for u in range(8)]
    separation = again(sample).separation(nodes, (), allowed, ("threshold", 0.0, False, False), 8)
    for v in (1, 2, 3, 4, 5):
        separation.join(0, v)
        separation.join(v, 7)
    _, too_many, left, figures = separation.by_neighbours(0, 7, True, False)
    assert not too_many
    assert 0 < len(left) < 4  # two or more were given up, one after the other
    assert figures[:3] == pytest.approx(sample._rows.information(0, 7, left, "hash")[:3], abs=1e-11)
