"""Known answers of anytime AODE on D12: every step of every rule, leave-one-out of members, and the order they give."""

from fractions import Fraction

import numpy as np
import pytest
from golden_data import QUERIES, X12, Y12

from tanager import A2DE, AODE, SPODE, AnytimeA2DE, AnytimeAODE, NaiveBayes
from view_calls import leave_one_out

N_VALUES = [2, 2, 3, 2, 2]
STEPS = {
    "joint": [0.842200, 0.894643, 0.833117, 0.818866, 0.808754, 0.808898],
    "posterior": [0.842200, 0.893216, 0.833029, 0.816317, 0.806616, 0.807116],
    "replace": [0.842200, 0.944231, 0.828809, 0.810955, 0.800233, 0.802112],
}


@pytest.mark.parametrize("mix", STEPS)
def test_the_answer_to_the_first_query_after_every_member(mix):
    model = AnytimeAODE(member_order="given", mix=mix, stop="all").fit(X12, Y12)
    steps = [answer.proba[0, 1] for answer in model.staged_answers(QUERIES[:1])]
    np.testing.assert_allclose(steps, STEPS[mix], rtol=0, atol=1e-6)
    asked = [model.predict_proba(QUERIES[:1], members=t)[0, 1] for t in range(6)]
    np.testing.assert_allclose(asked, STEPS[mix], rtol=0, atol=1e-6)
    one = [model.predict_proba_one({f"x{i}": v for i, v in enumerate(QUERIES[0])}, members=t)[1] for t in range(6)]
    np.testing.assert_allclose(one, STEPS[mix], rtol=0, atol=1e-6)


@pytest.mark.parametrize("member_order", ["cv", "mi", "random", "given", [4, 2, 0, 1, 3]])
def test_all_members_without_naive_bayes_are_aode(member_order):
    model = AnytimeAODE(member_order=member_order, mix="replace", stop="all").fit(X12, Y12)
    np.testing.assert_allclose(
        model.predict_proba(QUERIES), AODE().fit(X12, Y12).predict_proba(QUERIES), rtol=0, atol=1e-12
    )


def test_all_pairs_without_naive_bayes_are_a2de():
    model = AnytimeA2DE(mix="replace", stop="all").fit(X12, Y12)
    np.testing.assert_allclose(
        model.predict_proba(QUERIES), A2DE().fit(X12, Y12).predict_proba(QUERIES), rtol=0, atol=1e-12
    )


def left_out_joints(s, r):
    """The joint probabilities of row r and both classes under super-parent s, as fractions, row r left out."""
    rest = [t for t in range(12) if t != r]
    joints = []
    for y in (0, 1):
        like = [t for t in rest if Y12[t] == y and X12[t, s] == X12[r, s]]
        joint = Fraction(len(like) + 1, 11 + 2 * N_VALUES[s])
        for j in {0, 1, 2, 3, 4} - {s}:
            joint *= Fraction(sum(bool(X12[t, j] == X12[r, j]) for t in like) + 1, len(like) + N_VALUES[j])
        joints.append(joint)
    return joints


def test_the_errors_of_three_super_parents_depend_on_ties_which_go_to_the_class_with_more_rows():
    """In exact arithmetic, five left-out answers are ties, all of rows of the rarer class.

    Errors of 8, 4 and 6 for the second to fourth super-parent, as they were once written down, follow from no rule:
    they take the first four ties as right and the fifth as wrong.
    """
    wrong, ties = [], []
    for s in range(5):
        pairs = [(left_out_joints(s, r)[y], left_out_joints(s, r)[1 - y]) for r, y in enumerate(Y12)]
        wrong.append(sum(own < other for own, other in pairs))
        ties.append([r for r, (own, other) in enumerate(pairs) if own == other])
    assert wrong == [5, 8, 4, 5, 7]
    assert ties == [[], [7, 11], [8, 11], [8], []]
    assert {int(Y12[r]) for rows in ties for r in rows} == {1}
    assert np.bincount(Y12).tolist() == [7, 5]


def test_super_parents_are_ordered_by_their_errors_on_left_out_rows():
    model = AnytimeAODE().fit(X12, Y12)
    errors = {None: 5, "x0": 5, "x1": 8 + 2, "x2": 4 + 2, "x3": 5 + 1, "x4": 7}
    assert model.member_errors_ == pytest.approx({name: wrong / 12 for name, wrong in errors.items()})
    sums = [6.619758, 6.598704, 5.159545, 6.480405, 6.657727, 5.533120]
    np.testing.assert_allclose(model.validation.scores.alone[1], sums, rtol=0, atol=1e-6)
    assert model.order_ == ["x0", "x3", "x2", "x4", "x1"]
    assert model.super_parent_ == "x0"


def test_members_alone_are_judged_as_single_super_parents_are():
    model = AnytimeAODE(stop="loo").fit(X12, Y12)
    own = np.arange(12), Y12
    for s in range(5):
        single = SPODE(super_parent=s).fit(X12, Y12).leave_one_out(X12, Y12)
        np.testing.assert_allclose(model.validation.scores.alone[1, 1 + s], single[own].sum(), rtol=1e-12)
    naive = NaiveBayes().fit(X12, Y12).leave_one_out(X12, Y12)
    np.testing.assert_allclose(model.validation.scores.alone[1, 0], naive[own].sum(), rtol=1e-12)


def test_the_stopping_point_is_the_prefix_with_fewest_errors_on_left_out_rows():
    model = AnytimeAODE(stop="loo").fit(X12, Y12)
    wrong = []
    for t in range(6):
        some = AnytimeAODE(member_order=model.order_, stop="budget", members=t).fit(X12, Y12)
        form = some._in_turn(some._order(), t, np.inf)
        left_out = leave_one_out(some.view_of(form), X12, Y12.astype(np.uint8))
        wrong.append(int((left_out.argmax(axis=1) != Y12).sum()))
    np.testing.assert_allclose(model.prefix_errors_ * 12, wrong)
    assert model.n_members_ == int(np.argmin(wrong))
