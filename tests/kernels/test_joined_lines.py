"""Where many rows have few values, lines of several columns are multiplied at once: answers stay as they were."""

import numpy as np
import pytest
from test_member_rows import in_parts

from cpu import cpu_levels
from tanager import Column, JointCounts, Lidstone, Schema, _kernels
from tanager.counts.block import Block
from tanager.scoring.forms import SumOfProducts, averaged
from tanager.scoring.view import View


def learned(n, k, sizes, *, m=600, holes=0.0, order=3, weights=False):
    """Counts of rows whose columns have so many values in turn, and the rows."""
    rng = np.random.default_rng(n)
    n_values = np.resize(sizes, n)
    rows = (rng.random((m, n)) * n_values).astype(np.uint8)
    rows[rng.random(rows.shape) < holes] = 255
    labels = rng.integers(0, k, m).astype(np.uint8)
    schema = Schema(tuple(Column(f"x{i}", "codes", n_codes=int(r)) for i, r in enumerate(n_values)))
    block = Block(rows, labels, rng.choice([0.5, 1.0, 2.0], m) if weights else None)
    counts = JointCounts(schema, list(range(k)), order=order)
    return counts.update(block.codes, block.labels, block.weights), block


def slow_leave_one_out(block, r, n_values, k, min_count):
    """A2DE for row r by its formula, straight from the other rows; all pseudo-counts are 1."""
    others = np.arange(len(block)) != r
    codes, labels, row = block.codes[others], block.labels[others], block.codes[r]
    n, joint = len(row), np.zeros(k)
    for a in range(n):
        for b in range(a + 1, n):
            same = (codes[:, a] == row[a]) & (codes[:, b] == row[b])
            if same.sum() < min_count:
                continue
            for c in range(k):
                own = same & (labels == c)
                p = (own.sum() + 1) / (len(codes) + k * n_values[a] * n_values[b])
                for i in range(n):
                    if i not in (a, b):
                        p *= ((own & (codes[:, i] == row[i])).sum() + 1) / (own.sum() + n_values[i])
                joint[c] += p
    return joint / joint.sum()


@pytest.mark.parametrize("n", [4, 5, 6, 7])
def test_rows_left_out_are_answered_by_the_formula(n):
    counts, block = learned(n, 2, [2, 2, 3], m=300)
    answers = View(counts, averaged(n, 2, 3.0), Lidstone(1.0)).leave_one_out(block)
    for r in range(0, 300, 60):
        expected = slow_leave_one_out(block, r, counts.schema.n_values, 2, 3.0)
        np.testing.assert_allclose(answers[r], expected, rtol=1e-9)


@pytest.mark.parametrize("sizes", [[2], [1, 2], [2, 3, 40], [30]], ids=str)
@pytest.mark.parametrize("holes", [0.0, 0.1])
@pytest.mark.parametrize("k", [2, 3, 9])
def test_no_bit_depends_on_how_many_rows_come_at_a_time(sizes, holes, k):
    n = 9
    counts, block = learned(n, k, sizes, holes=holes, weights=k == 3)
    view = View(counts, averaged(n, 2, 1.0), Lidstone(0.5))
    whole = view.leave_one_out(block)
    np.testing.assert_array_equal(whole, in_parts(view.leave_one_out, block, 40))
    np.testing.assert_allclose(whole, in_parts(view.leave_one_out, block, 25), rtol=1e-9)  # row by row


@pytest.mark.parametrize("strength", [1.0, 1e-12, 1e-90, 1e-100])
def test_many_columns_and_small_factors_are_multiplied_with_their_powers_of_two(strength):
    n, k = 70, 2
    counts, block = learned(n, k, [2], m=400, order=2)
    form = SumOfProducts(tuple((i,) for i in range(0, n, 9)), (1.0,) * 8, 1.0)
    plan = View(counts, form, Lidstone(strength)).in_terms().plan  # which has no short cut
    whole, few = np.empty((400, k)), np.empty((400, k))
    plan.score(block.codes, whole, True, labels=block.labels)
    for at in range(0, 400, 25):
        part = block.part(slice(at, at + 25))
        plan.score(part.codes, few[at : at + 25], True, labels=part.labels)
    np.testing.assert_allclose(whole, few, rtol=1e-9)


def test_all_instruction_sets_give_the_same_products():
    counts, block = learned(8, 5, [2, 3])
    view, answers = View(counts, averaged(8, 2, 1.0), Lidstone(1.0)), []
    try:
        for level in cpu_levels():
            _kernels.set_cpu_level(level)
            answers.append(view.leave_one_out(block))
    finally:
        _kernels.set_cpu_level("auto")
    for other in answers[1:]:
        np.testing.assert_array_equal(answers[0], other)
