"""Many rows are read by what sets them apart from the most common row, a few one by one: all the same."""

import numpy as np
import pytest
from test_member_rows import learned

from tanager import Column, JointCounts, Lidstone, MEstimate, Schema
from tanager.counts.block import Query
from tanager.scoring.forms import averaged
from tanager.scoring.view import View


def one_by_one(view, codes, *, log_joint):
    """The answers to single rows, which are never read by their departures."""
    return np.concatenate([view.score(Query(codes[r : r + 1]), log_joint=log_joint) for r in range(len(codes))])


def check(view, codes, rtol=1e-9):
    assert view.plan.beats_tables(len(codes))
    for log_joint in (False, True):
        whole = view.score(Query(codes), log_joint=log_joint, n_jobs=2)
        np.testing.assert_allclose(whole, one_by_one(view, codes, log_joint=log_joint), rtol=rtol, atol=1e-12)


@pytest.mark.parametrize("k", [1, 2, 3, 5, 10, 19])
@pytest.mark.parametrize("holes", [0.0, 0.05])
@pytest.mark.parametrize("estimate", [Lidstone(1.0), MEstimate(0.5), Lidstone(1e-7)], ids=repr)
def test_pairs_of_super_parents(k, holes, estimate):
    n = 6 if k > 3 else 20
    counts, block = learned(n, k, holes=holes, weights=True)
    given = {"factors": [0.5] + [1.0] * (k - 1), "priors": [1.0 / k] * k}
    check(View(counts, averaged(n, 2, 2.0), estimate, **given), block.codes)


@pytest.mark.parametrize("k", [2, 3, 9])
@pytest.mark.parametrize("holes", [0.0, 0.05])
def test_many_columns_with_one_super_parent_each(k, holes):
    n = 70
    counts, block = learned(n, k, holes=holes, order=2)
    check(View(counts, averaged(n, 1, 2.0), Lidstone(1.0)), block.codes)
    check(View(counts, averaged(n, 1, 2.0), MEstimate(1e-6)), block.codes)


def test_products_of_hundreds_of_columns_have_powers_of_their_own():
    """Improbable in every column: each joint is far below 2^-300, where exponents begin to be kept apart."""
    counts, block = learned(300, 2, a=3, m=60, order=2, holes=0.01)
    view = View(counts, averaged(300, 1, 1.0), Lidstone(1e-9))
    rows = np.where(block.codes[:30] == 255, 255, 2 - np.minimum(block.codes[:30], 2)).astype(
        np.uint8
    )  # the rarest values
    check(view, rows)
    assert view.score(Query(rows), log_joint=True).max() < -300


def test_unseen_values_are_smoothed_and_rows_without_a_member_fall_back():
    n = 12
    schema = Schema(tuple(Column(f"x{i}", "codes", n_codes=2) for i in range(n)))
    counts = JointCounts(schema, [0, 1], order=3, spare=1)
    rng = np.random.default_rng(4)
    counts.update(rng.integers(0, 2, (60, n)).astype(np.uint8), rng.integers(0, 2, 60).astype(np.uint8))
    rows = rng.integers(0, 3, (64, n)).astype(np.uint8)
    rows[3], rows[5] = 2, 255  # nothing known: no pair of values was ever seen
    for smooth in (False, True):
        view = View(counts, averaged(n, 2, 1.0), Lidstone(1.0), smooth_unseen=smooth)
        check(view, rows)
