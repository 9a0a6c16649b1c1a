"""Pairs that sets of variables separate: paths, cached tests, and what does not fit is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles import examples
from tanager import GSquared, Pearson, Sample, _kernels
from tanager.networks import graph


def sample_of(n, seed=0, rows=60):
    codes = np.asfortranarray(np.random.default_rng(seed).integers(0, 3, (rows, n)), dtype=np.uint8)
    return _kernels.Sample(codes, [3] * n, None)


def separation(n, sample=None, **changes):
    options = {
        "nodes": list(range(n)),
        "given": [],
        "allowed": [[u != v for v in range(n)] for u in range(n)],
        "test": "threshold",
        "bound": 0.01,
        "guard": True,
        "naive": False,
        "max_cond": 8,
    }
    return _kernels.Separation(sample or sample_of(n), **options | changes)


@examples(30)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 8))
def test_the_nodes_between_two_others_are_those_on_paths_as_edges_come_and_go(seed, n):
    rng = np.random.default_rng(seed)
    own, neighbours = separation(n), [set() for _ in range(n)]
    for _ in range(3 * n):
        a, b = rng.choice(n, 2, replace=False).tolist()
        (own.part if b in neighbours[a] else own.join)(a, b)
        neighbours[a] ^= {b}
        neighbours[b] ^= {a}
        u, v = rng.choice(n, 2, replace=False).tolist()
        assert set(own.between(u, v)) == graph.nodes_between(neighbours, u, v)


@examples(10)
@given(seed=st.integers(0, 10**6))
@pytest.mark.parametrize("test", [GSquared(), Pearson(0.2), GSquared(guard=False, naive=True)], ids=repr)
def test_the_kernel_decides_as_the_tests_do(test, seed):
    sample = Sample(np.random.default_rng(seed).integers(0, 3, (60, 3)).astype(np.uint8), [range(3)] * 3, "abc")
    allowed = [[u != v for v in range(3)] for u in range(3)]
    own = sample.separation((0, 1, 2), (), allowed, test.figures, 8)
    for a, b in ((0, 2), (2, 1), (0, 1)):
        own.join(a, b)
    separated, too_many, given, _ = own.by_neighbours(0, 1, True, False)
    assert (separated, too_many, given) == (test.independent(sample.information(0, 1, [2])), False, [2])


def test_a_test_is_counted_once_and_asked_for_by_every_pair():
    sample = sample_of(3)
    assert len(sample.pairs([0, 1, 2], [])) == 3
    assert (sample.n_asked, sample.n_counted) == (3, 3)
    own = separation(3, sample)
    assert own.by_neighbours(0, 1, False, False) is None
    assert own.by_neighbours(0, 1, True, False)[-1] == sample.information(1, 0, [])
    assert (sample.n_counted, own.n_tests) == (3, 0)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"nodes": [0, 1, 3]}, "does not exist"),
        ({"given": [0]}, "named twice"),
        ({"allowed": [[True] * 3] * 2}, "one line"),
        ({"allowed": [[True] * 2] * 3}, "one allowed arc"),
        ({"test": "other"}, "a test must be"),
    ],
)
def test_a_graph_that_does_not_fit_the_sample_is_refused(changes, words):
    with pytest.raises(ValueError, match=words):
        separation(3, **changes)


def test_pairs_that_are_none_are_refused():
    own = separation(3)
    own.join(0, 1)
    for call in (lambda: own.join(1, 0), lambda: own.part(0, 2), lambda: own.between(0, 3), lambda: own.join(1, 1)):
        with pytest.raises(ValueError, match="node"):
            call()
