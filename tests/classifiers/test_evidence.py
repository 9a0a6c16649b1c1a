"""Sums over rows that have judged members, by hand."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tanager.learning.member_scores import MemberScores

MEMBERS = ((0,), (1,), (2,), (3,))


def judged(draw, order):
    """What some rows say, members in this order: sums of errors, of probabilities, of weights."""
    weight = draw(st.integers(1, 50))
    shares = np.array([[draw(st.integers(0, 10)) / 10 for _ in range(5)] for _ in range(4)])
    alone = np.vstack([shares[:2], np.ones(5)]) * weight
    first = np.vstack([shares[2:], np.ones(5)]) * weight
    return np.vstack([alone, first])


@given(st.data())
def test_sums_over_first_members_stay_where_these_are_the_same_and_start_again_where_not(data):
    orders = [data.draw(st.permutations(range(4))) for _ in range(4)]
    sums = MemberScores(MEMBERS)
    alone, first = np.zeros((3, 5)), {}
    for order in orders:
        said = judged(data.draw, order)
        sums.take(said, order)
        alone[:, 0] += said[:3, 0]
        for t, j in enumerate(order):
            alone[:, 1 + j] += said[:3, 1 + t]
        sets = [frozenset(order[:t]) for t in range(5)]
        first = {which: first.get(which, np.zeros(3)) + said[3:, t] for t, which in enumerate(sets)}
    np.testing.assert_allclose(sums.alone, alone)
    np.testing.assert_allclose(sums.first, np.column_stack([first[which] for which in sets]))


@given(st.data())
def test_rows_that_are_given_back_leave_what_others_have_said(data):
    order = data.draw(st.permutations(range(4)))
    ours, theirs = (judged(data.draw, order) for _ in range(2))
    sums = MemberScores(MEMBERS)
    sums.take(ours, order)
    before = sums.alone.copy(), sums.first.copy()
    sums.take(theirs, order)
    sums.give_back(theirs)
    np.testing.assert_allclose(sums.alone, before[0], atol=1e-9)
    np.testing.assert_allclose(sums.first, before[1], atol=1e-9)


def test_more_may_be_given_back_than_was_said_and_nothing_is_known_then():
    sums = MemberScores(MEMBERS)
    said = np.ones((6, 5))
    sums.take(said, [0, 1, 2, 3])
    sums.give_back(np.vstack([said[:1] * 0.5, said[1:] * 2]))
    assert not sums.alone.any()
    assert sums.best() is None or sums.first[2, sums.best()] > 0
    assert sums.ranking() == [0, 1, 2, 3]


def test_the_best_number_of_members_is_the_smallest_with_the_fewest_errors():
    sums = MemberScores(MEMBERS)
    said = np.ones((6, 5)) * 100
    said[3] = [30, 20, 10, 10, 15]
    sums.take(said, [3, 1, 0, 2])
    assert sums.best() == 2
    sums.reorder([3, 0, 1, 2])  # the first two are others now
    assert sums.best() == 3
    sums.grow((*MEMBERS, (4,)))
    assert sums.best() == 0
    assert sums.ranking()[-1] == 4
