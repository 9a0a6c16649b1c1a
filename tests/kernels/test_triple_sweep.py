"""All pairs of super-parents at once, each triple read for three of them: as pair after pair says."""

import itertools

import numpy as np
import pytest
from test_member_rows import learned

from tanager import Column, JointCounts, Lidstone, MEstimate, Schema
from tanager.counts.block import Query
from tanager.scoring.forms import SumOfProducts, averaged
from tanager.scoring.view import View


def one_by_one(answer, block):
    return np.concatenate([answer(block.part(slice(r, r + 1))) for r in range(len(block))])


def pair_after_pair(n, min_count):
    """The same sum with its first pair in two halves, which no short cut for all pairs knows."""
    pairs = tuple(itertools.combinations(range(n), 2))
    rest = averaged(n, 1, min_count)
    return SumOfProducts((pairs[0], *pairs), (0.5, 0.5, *[1.0] * (len(pairs) - 1)), min_count, rest)


@pytest.mark.parametrize("k", [1, 2, 3, 5, 19])
@pytest.mark.parametrize("estimate", [Lidstone(1.0), MEstimate(0.5), Lidstone(1e-7)], ids=repr)
@pytest.mark.parametrize("holes", [0.0, 0.05])
def test_a_row_is_answered_as_pair_after_pair_answers_it(k, estimate, holes):
    n = 7 if k > 3 else 24
    counts, block = learned(n, k, holes=holes, weights=True, m=60)
    given = {"factors": [0.5] + [1.0] * (k - 1)}
    at_once = View(counts, averaged(n, 2, 2.0), estimate, **given)
    in_turn = View(counts, pair_after_pair(n, 2.0), estimate, **given)
    for log_joint in (False, True):
        for way in ("score", "leave_one_out"):
            rows = block.part(slice(0, 25))
            one, other = (
                one_by_one(lambda part, v=v: getattr(v, way)(_rows(part, way), log_joint=log_joint), rows)  # noqa: B023
                for v in (at_once, in_turn)
            )
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def _rows(part, way):
    return part if way == "leave_one_out" else Query(part.codes)


def test_products_of_many_columns_stay_in_range():
    """Each product takes factors in three roles; none may overflow before its exponent is looked at."""
    n = 70
    counts, block = learned(n, 2, a=2, m=400, holes=0.0)
    counts.update(np.repeat(block.codes, 50, axis=0), np.repeat(block.labels, 50))
    at_once, in_turn = (View(counts, form, Lidstone(1e-9)) for form in (averaged(n, 2, 1.0), pair_after_pair(n, 1.0)))
    query = Query(block.codes[:2])
    np.testing.assert_allclose(at_once.score(query, log_joint=True), in_turn.score(query, log_joint=True), rtol=1e-9)


def test_columns_of_many_sizes_have_denominators_of_their_own():
    rng = np.random.default_rng(3)
    sizes = [2, 3, 2, 9, 40, 5]
    schema = Schema(tuple(Column(f"x{i}", "codes", n_codes=size) for i, size in enumerate(sizes)))
    rows = np.stack([rng.integers(0, size, 200) for size in sizes], axis=1).astype(np.uint8)
    rows[rng.random(rows.shape) < 0.02] = 255
    counts = JointCounts(schema, [0, 1], order=3)
    counts.update(rows, rng.integers(0, 2, 200).astype(np.uint8))
    at_once, in_turn = (View(counts, form, Lidstone(0.5)) for form in (averaged(6, 2, 1.0), pair_after_pair(6, 1.0)))
    for r in range(30):
        query = Query(rows[r : r + 1])
        np.testing.assert_allclose(at_once.score(query), in_turn.score(query), rtol=1e-9)


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("holes", [0.0, 0.05])
@pytest.mark.parametrize("times", [1, 40, 400])
def test_whole_counts_of_any_size_are_answered_as_pair_after_pair_answers_them(k, holes, times):
    """Denominators of whole counts are remembered: of small ones, of larger ones once they come, not of the largest."""
    n = 9
    counts, block = learned(n, k, a=2, holes=holes, weights=False, m=90)
    for _ in range(times - 1):
        counts.update(block.codes, block.labels)
    forms = averaged(n, 2, 3.0), pair_after_pair(n, 3.0)
    at_once, in_turn = (View(counts, form, MEstimate(1.0)) for form in forms)
    for way in ("score", "leave_one_out", "score"):  # the first rows are asked again when larger counts are known
        one, other = (
            one_by_one(lambda part, v=v: getattr(v, way)(_rows(part, way), log_joint=True), block)  # noqa: B023
            for v in (at_once, in_turn)
        )
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("k", [2, 3, 4])
def test_a_plan_that_is_kept_answers_single_rows_as_counts_grow(k):
    """What it remembers of one row holds for the next, whatever was learned, is missing or unseen by then."""
    n = 8
    counts, block = learned(n, k, a=3, holes=0.0, weights=False, m=120)
    at_once, in_turn = (View(counts, form, Lidstone(1.0)) for form in (averaged(n, 2, 2.0), pair_after_pair(n, 2.0)))
    rng = np.random.default_rng(0)
    for r in range(0, 120, 3):
        codes = block.codes[r].copy()
        codes[rng.random(n) < (0.3 if r % 2 else 0.0)] = 255
        codes[0] = 77 if r % 5 == 0 else codes[0]
        np.testing.assert_allclose(at_once.plan.one(codes), in_turn.score(Query(codes[None]))[0], rtol=1e-9)
        again = slice(0, 1 + 7 * r)
        counts.update(block.codes[again], block.labels[again])
        if r == 60:  # a column that was never missing is from now on
            counts.update(np.full((1, n), 255, dtype=np.uint8), block.labels[:1])


@pytest.mark.parametrize("n", [20, 45, 50, 55])
def test_sums_of_as_many_columns_as_just_need_no_look_at_exponents(n):
    """And of somewhat more, which do."""
    counts, block = learned(n, 2, a=2, holes=0.02, weights=False, m=300)
    for strength in (1.0, 1e-4, 1e7):
        forms = averaged(n, 2, 1.0), pair_after_pair(n, 1.0)
        at_once, in_turn = (View(counts, form, Lidstone(strength)) for form in forms)
        for r in range(3):
            query = Query(block.codes[r : r + 1])
            joints = [view.score(query, log_joint=True) for view in (at_once, in_turn)]
            np.testing.assert_allclose(*joints, rtol=1e-9)


def test_as_many_members_as_pairs_of_which_one_is_there_twice_are_not_all_pairs():
    counts, block = learned(3, 2)
    twice = SumOfProducts(((0, 1), (0, 1), (1, 2)), (1.0, 1.0, 1.0), 1.0, averaged(3, 1, 1.0))
    once = SumOfProducts(((0, 1), (1, 2)), (2.0, 1.0), 1.0, averaged(3, 1, 1.0))
    one, other = (View(counts, form, Lidstone(1.0)) for form in (twice, once))
    for r in range(20):
        query = Query(block.codes[r : r + 1])
        np.testing.assert_allclose(one.score(query), other.score(query), rtol=1e-9)
