"""Members with several super-parents are read member by member for many rows, and row by row for few: all the same."""

import itertools

import numpy as np
import pytest

from cpu import cpu_levels
from tanager import Column, JointCounts, Lidstone, MEstimate, Schema, _kernels
from tanager.counts.block import Block
from tanager.scoring.forms import StagedSum, SumOfProducts, averaged
from tanager.scoring.view import View


def learned(n, k, *, a=3, m=90, holes=0.05, weights=False, order=3, seed=0):
    """Counts, and the rows that are in them; some values are rare, and one is in a single row."""
    rng = np.random.default_rng(seed)
    rows = np.minimum(rng.geometric(0.5, (m, n)) - 1, a - 1).astype(np.uint8)
    rows[rng.random(rows.shape) < holes] = 255
    rows[5, 0] = a
    labels = rng.integers(0, k, m).astype(np.uint8)
    counts = JointCounts(
        Schema(tuple(Column(f"x{i}", "codes", n_codes=a + 1) for i in range(n))), list(range(k)), order=order
    )
    block = Block(rows, labels, rng.choice([0.5, 1.0, 2.0], m) if weights else None)
    counts.update(block.codes, block.labels, block.weights)
    return counts, block


def in_parts(answer, block, size):
    """The answers to so few rows at a time that each is read by itself."""
    return np.concatenate([answer(block.part(slice(at, at + size))) for at in range(0, len(block), size)])


@pytest.mark.parametrize("k", [1, 2, 3, 5, 19])
@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("estimate", [Lidstone(1.0), MEstimate(0.5), Lidstone(1e-7)], ids=repr)
def test_many_rows_left_out_are_answered_as_few_are(k, weights, estimate):
    counts, block = learned(7 if k > 3 else 24, k, weights=weights)
    view = View(counts, averaged(counts.n_features, 2, 2.0), estimate, factors=[0.5] + [1.0] * (k - 1))
    for log_joint in (False, True):
        whole = view.leave_one_out(block, log_joint=log_joint, n_jobs=2)
        few = in_parts(lambda part, log=log_joint: view.leave_one_out(part, log_joint=log), block, 20)
        np.testing.assert_allclose(whole, few, rtol=1e-9)


@pytest.mark.parametrize("k", [2, 5, 19])
@pytest.mark.parametrize("holes", [0.0, 0.05])
@pytest.mark.parametrize("weights", [False, True])
def test_single_super_parents_are_read_from_pairs_as_they_are_row_by_row(k, holes, weights):
    n = 9
    counts, block = learned(n, k, m=150, holes=holes, weights=weights, order=2)
    rest = SumOfProducts(tuple((i,) for i in range(n)), (1.0,) * n, 3.0)
    view = View(counts, rest, Lidstone(1.0), factors=[0.5] + [1.0] * (k - 1))
    for plan in (view.plan, view.in_terms().plan):  # the other has no short cut
        whole, few = np.empty((150, k)), np.empty((150, k))
        plan.score(block.codes, whole, labels=block.labels, weights=block.weights)
        for at in range(0, 150, 25):
            part = block.part(slice(at, at + 25))
            plan.score(part.codes, few[at : at + 25], labels=part.labels, weights=part.weights)
        np.testing.assert_allclose(whole, few, rtol=1e-9)


@pytest.mark.parametrize("k", [2, 5])
@pytest.mark.parametrize("mix", ["joint", "posterior", "replace"])
def test_single_super_parents_are_judged_in_blocks_as_they_are_row_by_row(k, mix):
    n = 8
    counts, block = learned(n, k, m=150, weights=True, order=2)
    form = StagedSum(tuple((i,) for i in range(n)), (1.0,) * n, 3.0, None, mix)
    view = View(counts, form, Lidstone(1.0))
    whole, rows = np.zeros((6, n + 1)), np.zeros((6, n + 1))
    view.validate(block, whole)
    for at in range(0, 150, 25):
        view.validate(block.part(slice(at, at + 25)), rows)
    np.testing.assert_allclose(whole, rows, rtol=1e-9)


def test_sets_of_three_columns_are_read_in_the_same_way():
    n = 6
    counts, block = learned(n, 2, order=3)
    wide = JointCounts(counts.schema, [0, 1], order=3, families=tuple(itertools.combinations(range(n), 4)))
    wide.update(block.codes, block.labels)
    view = View(wide, averaged(n, 3, 1.0), Lidstone(1.0))
    few = in_parts(view.leave_one_out, block, 20)
    np.testing.assert_allclose(view.leave_one_out(block), few, rtol=1e-9)


@pytest.mark.parametrize("k", [2, 6])
@pytest.mark.parametrize("weights", [False, True])
def test_members_are_judged_alone_and_together_as_their_answers_say(k, weights):
    n = 6
    counts, block = learned(n, k, weights=weights)
    pairs = tuple(itertools.combinations(range(n), 2))
    rest = averaged(n, 1, 1.0)
    staged = View(counts, StagedSum(pairs, (1.0,) * len(pairs), 1.0, rest, "replace"), Lidstone(1.0))
    both, alone, together = (np.zeros((6, len(pairs) + 1)) for _ in range(3))
    staged.validate(block, both)
    staged.validate(block, alone, judged="alone")
    staged.validate(block, together, judged="together")
    np.testing.assert_allclose(alone[:3], both[:3])
    np.testing.assert_allclose(together[3:], both[3:])
    weight = np.ones(len(block)) if weights is False else block.weights

    def true_class(form):
        proba = View(counts, form, Lidstone(1.0)).leave_one_out(block.once)
        return float(weight @ proba[np.arange(len(block)), block.labels])

    assert both[4, -1] == pytest.approx(true_class(SumOfProducts(pairs, (1.0,) * len(pairs), 1.0, rest)), rel=1e-9)
    assert both[5, -1] == pytest.approx(weight.sum())


def test_many_values_and_many_rows_take_several_blocks():
    """More rows than a block holds, and combinations of values that only few of them share."""
    rng = np.random.default_rng(1)
    rows, labels = rng.integers(0, 12, (2500, 3)).astype(np.uint8), rng.integers(0, 3, 2500).astype(np.uint8)
    counts = JointCounts(Schema(tuple(Column(f"x{i}", "codes", n_codes=12) for i in range(3))), [0, 1, 2], order=3)
    counts.update(rows, labels)
    view, block = View(counts, averaged(3, 2, 1.0), Lidstone(1.0)), Block(rows, labels, None)
    some = block.part(slice(2480, 2500))
    np.testing.assert_allclose(view.leave_one_out(block)[2480:], view.leave_one_out(some), rtol=1e-9)


@pytest.mark.parametrize("k", [2, 5])
@pytest.mark.parametrize("most_bytes", [0, 1 << 30])
@pytest.mark.parametrize("mix", ["joint", "posterior", "replace"])
def test_joints_kept_from_members_alone_serve_them_together_in_another_order(k, most_bytes, mix):
    n = 6
    counts, block = learned(n, k, weights=True)
    pairs = tuple(itertools.combinations(range(n), 2))

    def staged(members):
        form = StagedSum(members, (1.0,) * len(members), 3.0, averaged(n, 1, 1.0), mix)
        return View(counts, form, Lidstone(1.0), factors=[0.5] + [1.0] * (k - 1))

    joints = _kernels.KeptJoints(most_bytes)
    alone, plain_alone, together, plain_together = (np.zeros((6, len(pairs) + 1)) for _ in range(4))
    staged(pairs).validate(block, alone, judged="alone", joints=joints, n_jobs=2)
    staged(pairs).validate(block, plain_alone, judged="alone", n_jobs=2)
    staged(pairs[::-1]).validate(block, together, judged="together", joints=joints, n_jobs=2)
    staged(pairs[::-1]).validate(block, plain_together, judged="together", n_jobs=2)
    np.testing.assert_array_equal(alone, plain_alone)
    np.testing.assert_allclose(together, plain_together, rtol=1e-12)


def test_joints_of_other_members_or_weights_are_not_used():
    n = 5
    counts, block = learned(n, 3)
    pairs = tuple(itertools.combinations(range(n), 2))
    rest, joints = averaged(n, 1, 1.0), _kernels.KeptJoints(1 << 30)

    def together(members, weight, kept):
        scores = np.zeros((6, len(members) + 1))
        form = StagedSum(members, (weight,) * len(members), 1.0, rest, "joint")
        View(counts, form, Lidstone(1.0)).validate(block, scores, judged="together", joints=kept)
        return scores

    first = View(counts, StagedSum(pairs[:4], (1.0,) * 4, 1.0, rest, "joint"), Lidstone(1.0))
    first.validate(block, np.zeros((6, 5)), judged="alone", joints=joints)
    for members, weight in ((pairs, 1.0), (pairs[:4], 2.0), (pairs[1:3], 1.0)):
        np.testing.assert_allclose(together(members, weight, joints), together(members, weight, None), rtol=1e-12)


@pytest.mark.parametrize("level", cpu_levels())
@pytest.mark.parametrize("k", [1, 2, 3, 4, 7, 8, 30, 40])
def test_columns_with_one_value_and_any_number_of_classes(k, level):
    """Columns that say nothing are passed over; lanes are as many as the classes and one more, padded."""
    _kernels.set_cpu_level(level)
    rng = np.random.default_rng(k)
    rows, labels = rng.integers(0, 3, (200, 6)).astype(np.uint8), rng.integers(0, k, 200).astype(np.uint8)
    rows[:, [1, 4]] = 0
    rows[rng.random(rows.shape) < 0.1] = 255
    sizes = [1 if i in (1, 4) else 3 for i in range(6)]
    schema = Schema(tuple(Column(f"x{i}", "codes", n_codes=size) for i, size in enumerate(sizes)))
    counts = JointCounts(schema, list(range(k)), order=3)
    counts.update(rows, labels)
    view, block = View(counts, averaged(6, 2, 1.0), Lidstone(1.0)), Block(rows, labels, None)
    few = in_parts(view.leave_one_out, block, 20)
    np.testing.assert_allclose(view.leave_one_out(block), few, rtol=1e-9)


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("n_super", [1, 2, 3])
def test_long_runs_of_rows_alike_and_members_of_any_weight_are_read_as_row_by_row(k, n_super):
    """Several blocks, runs of one row and of hundreds, members that many rows lack, and weights that are not whole."""
    n = 6
    counts, block = learned(n, k, a=2, m=2500, holes=0.02)
    families = tuple(itertools.combinations(range(n), 4)) if n_super == 3 else ()
    wide = JointCounts(counts.schema, list(range(k)), order=3, families=families)
    wide.update(block.codes, block.labels)
    members = tuple(itertools.combinations(range(n), n_super))
    weight = tuple([1.0, 0.0, 2.0, 0.3, 1e6, 2.0**30][place % 6] for place in range(len(members)))
    view = View(wide, SumOfProducts(members, weight, 150.0, averaged(n, 0, 1.0)), Lidstone(1.0))
    whole = np.empty((len(block), k))
    view.plan.score(block.codes, whole, labels=block.labels)
    for at in range(0, len(block), 500):
        part, few = block.part(slice(at, at + 25)), np.empty((25, k))
        view.plan.score(part.codes, few, labels=part.labels)
        np.testing.assert_allclose(whole[at : at + 25], few, rtol=1e-9)
