"""The order of rows in which Weka deals them out; its trees themselves are in tests/golden."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tanager import NBTree
from tanager.learning.weka_folds import JavaRandom, consecutive, shuffled, stratified

EXPECTED = [5, 8, 7, 0, 3, 0, 34, 1414906606, 13136569]


def test_the_generator_is_that_of_java():
    random = JavaRandom(1)  # printed by new java.util.Random(1).nextInt(bound)
    assert [random.below(bound) for bound in (10, 10, 10, 7, 16, 16, 100, 1_500_000_000, 1_500_000_000)] == EXPECTED


def test_a_shuffle_goes_down_from_the_last_row():
    random, expected = JavaRandom(1), list(range(6))
    for at in (5, 4, 3, 2, 1):
        other = random.below(at + 1)
        expected[at], expected[other] = expected[other], expected[at]
    assert shuffled(6, JavaRandom(1)) == expected
    assert sorted(expected) == list(range(6))


@given(st.lists(st.integers(0, 3), max_size=40), st.randoms(use_true_random=False))
def test_parts_that_follow_each_other_have_about_the_same_classes(labels, random):
    order = list(range(len(labels)))
    random.shuffle(order)
    dealt = stratified(order, np.array(labels, dtype=int))
    assert sorted(dealt.tolist()) == list(range(len(labels)))
    fold = consecutive(len(labels))
    for label in set(labels):
        counts = np.bincount(fold[np.array(labels)[dealt] == label], minlength=5)
        assert counts.max() - counts.min() <= 1


def test_folds_are_consecutive_and_the_first_ones_longer():
    assert consecutive(7).tolist() == [0, 0, 1, 1, 2, 3, 4]


def test_a_row_of_weight_two_is_learned():
    X = [["heads", "heads"], ["heads", "tails"], ["tails", "heads"], ["tails", "tails"]] * 10
    y = ["yes", "no", "no", "yes"] * 10
    model = NBTree(folds="weka", min_child=5).fit(X, y, sample_weight=[2.0] * 40)
    assert model.tree_.n_rows == 80
    assert model.score(X, y) == 1


def test_a_table_that_naive_bayes_answers_is_one_leaf():
    X = [["heads"], ["tails"]] * 20
    model = NBTree(folds="weka").fit(X, ["yes", "no"] * 20)
    assert not model.tree_.branches


def test_rows_of_one_class_are_a_leaf_though_naive_bayes_may_err_on_them():
    rows = np.random.default_rng(2).integers(0, 6, (60, 4)).astype(str).tolist()  # many values, each of them rare
    X, y = [["a", *row] for row in rows] + [["b", *row] for row in rows], ["yes"] * 60 + ["no"] * 60
    model = NBTree(folds="weka", min_child=5).fit(X, y)
    assert model.tree_.depth <= 1
