"""JointCounts.move_cuts: counts by other cut points, beside a twin in plain loops over all cells."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tanager import JointCounts, NaiveBayes, _kernels
from tanager.counts.joint import SpareMemory
from tanager.encoding.bins import cut
from tanager.encoding.schema import Column, Schema
from tanager.errors import MemoryBudgetError, SchemaMismatch

POINTS = [float(point) for point in range(1, 8)]
cut_points = st.lists(st.sampled_from(POINTS), unique=True, max_size=5).map(sorted)


def schema_of(*cuts: list[float]) -> Schema:
    numbers = [Column(f"x{i}", "numeric", cuts=tuple(own)) for i, own in enumerate(cuts)]
    return Schema((*numbers, Column("sky", "categorical", ("sun", "rain"))))


def counted(schema: Schema, X: np.ndarray, sky: np.ndarray, labels: np.ndarray, order: int, spare: int) -> JointCounts:
    codes = [cut(x, np.array(column.cuts)) for x, column in zip(X.T, schema.columns, strict=False)]
    counts = JointCounts(schema, ["no", "yes", "perhaps"], order=order, spare=spare)
    return counts.update(np.column_stack([*codes, sky]).astype(np.uint8), labels)


def intervals(before: list[float], now: list[float]) -> list[tuple[int, int]]:
    """The old and the new bin of every interval between cut points."""
    ends = [*sorted({*before, *now}), np.inf]
    return [(sum(c < end for c in before), sum(c < end for c in now)) for end in ends]


@given(
    cuts=st.tuples(cut_points, cut_points),
    other=st.tuples(cut_points, cut_points),
    order=st.sampled_from([1, 2]),
    spare=st.sampled_from([0, 2]),
    seed=st.integers(0, 99),
)
def test_bins_go_to_their_parts_by_shares_as_in_plain_loops(
    cuts: tuple[list[float], list[float]], other: tuple[list[float], list[float]], order: int, spare: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((40, 2)) < 0.1, np.nan, rng.uniform(0, 9, (40, 2)))
    sky, labels = rng.choice([0, 1, 255], 40).astype(np.uint8), rng.integers(0, 3, 40).astype(np.uint8)
    before, now = schema_of(*cuts), schema_of(*other)
    counts = counted(before, X, sky, labels, order, spare)
    old = counts.copy()
    maps, shares = [intervals(*pair) for pair in zip(cuts, other, strict=True)], {}
    for i, own in enumerate(maps):
        drawn = rng.uniform(0.1, 1, (len(own), 3))
        sums = np.zeros((len(cuts[i]) + 1, 3))
        for (bin_, _), share in zip(own, drawn, strict=True):
            sums[bin_] += share
        shares[i] = drawn / sums[[bin_ for bin_, _ in own]]
    counts.move_cuts(now, shares)
    assert counts.schema == now
    assert counts.n_rows == old.n_rows
    for i in range(2):
        expected = np.zeros((3, now[i].n_values))
        for (bin_, to), share in zip(maps[i], shares[i], strict=True):
            expected[:, to] += old.joint(i)[:, bin_] * share
        np.testing.assert_allclose(counts.joint(i), expected, rtol=1e-12)
    assert (counts.joint(2) == old.joint(2)).all()
    if order == 2:
        expected = np.zeros((3, now[0].n_values, now[1].n_values))
        for (a, to_a), share_a in zip(maps[0], shares[0], strict=True):
            for (b, to_b), share_b in zip(maps[1], shares[1], strict=True):
                expected[:, to_a, to_b] += old.joint(0, 1)[:, a, b] * share_a * share_b
        np.testing.assert_allclose(counts.joint(0, 1), expected, rtol=1e-12)
        expected = np.zeros((3, now[0].n_values, 2))
        for (a, to_a), share_a in zip(maps[0], shares[0], strict=True):
            expected[:, to_a] += old.joint(0, 2)[:, a] * share_a[:, None]
        np.testing.assert_allclose(counts.joint(0, 2), expected, rtol=1e-12)
        counts.copy()._check_sums()


@given(cuts=cut_points, kept=st.lists(st.booleans(), min_size=5, max_size=5), seed=st.integers(0, 99))
def test_bins_brought_together_are_the_counts_of_fewer_cut_points(
    cuts: list[float], kept: list[bool], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    X, sky = rng.uniform(0, 9, (60, 2)), rng.choice([0, 1, 255], 60).astype(np.uint8)
    labels = rng.integers(0, 3, 60).astype(np.uint8)
    fewer = [point for point, keep in zip(cuts, kept, strict=False) if keep]
    before, now = schema_of(cuts, [4.0]), schema_of(fewer, [4.0])
    found = counted(before, X, sky, labels, 2, 0).move_cuts(now, {0: np.ones((len(cuts) + 1, 3))})
    assert found == counted(now, X, sky, labels, 2, 0)
    assert found.update(np.zeros((1, 3), dtype=np.uint8), np.zeros(1, dtype=np.uint8)).n_rows == 61


def test_faded_counts_stay_faded() -> None:
    before, now = schema_of([1.0], [1.0]), schema_of([1.0, 5.0], [1.0])
    counts = counted(before, np.full((8, 2), 3.0), np.zeros(8, np.uint8), np.zeros(8, np.uint8), 2, 0).decay(0.25)
    counts.move_cuts(now, {0: np.array([[1.0] * 3, [0.5] * 3, [0.5] * 3])})
    assert counts.n_rows == pytest.approx(2.0)
    assert counts.joint("x0")[0].tolist() == pytest.approx([0, 1, 1])


def test_what_would_not_fit_is_refused_and_nothing_is_lost() -> None:
    before, now = schema_of([1.0], [1.0]), schema_of(POINTS, [1.0])
    counts = JointCounts(before, ["no", "yes"], max_memory=2_000)
    counts.update(np.zeros((3, 3), dtype=np.uint8), np.zeros(3, dtype=np.uint8))
    with pytest.raises(MemoryBudgetError):
        counts.move_cuts(now, {0: np.ones((8, 2))})
    assert counts.schema == before
    assert counts.n_rows == 3
    triples = JointCounts(before, ["no", "yes"], order=3)
    with pytest.raises(SchemaMismatch, match="single columns and pairs"):
        triples.move_cuts(now, {0: np.ones((8, 2))})


def test_the_other_views_of_a_model_answer_from_counts_that_have_moved() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 9, (50, 2))
    model = NaiveBayes(bins={"x0": [3.0], "x1": [3.0]}).fit({"x0": X[:, 0], "x1": X[:, 1]}, X[:, 0] > 5)
    schema = model.encoder_.schema
    now = schema.with_columns({0: schema[0].with_cuts((3.0, 5.0))})
    inside = X[:, 0] > 3
    above = X[inside, 0] > 5
    rows = np.array(
        [[np.count_nonzero((above == part) & ((X[inside, 0] > 5) == label)) for label in (0, 1)] for part in (0, 1)]
    )
    counts = model.counts_.copy().move_cuts(now, {0: np.vstack([np.ones(2), rows / rows.sum(axis=0)])})
    again = NaiveBayes(bins={"x0": [3.0, 5.0], "x1": [3.0]}).fit({"x0": X[:, 0], "x1": X[:, 1]}, X[:, 0] > 5)
    np.testing.assert_allclose(NaiveBayes.from_counts(counts).predict_proba(X), again.predict_proba(X), rtol=1e-12)


def test_tables_in_spare_memory_are_those_in_new_memory() -> None:
    rng = np.random.default_rng(0)
    cuts = [[1.0, 4.0], [2.0]]
    X, sky = rng.uniform(0, 9, (40, 2)), rng.choice([0, 1, 255], 40).astype(np.uint8)
    labels = rng.integers(0, 3, 40).astype(np.uint8)
    ours, twin = (counted(schema_of(*cuts), X, sky, labels, 2, 1) for _ in range(2))
    memory = SpareMemory()
    for step in range(6):
        i = step % 2
        now = [own.copy() for own in cuts]
        now[i] = sorted({*cuts[i], 2.5 + step} if step < 4 else {cuts[i][0]})  # bins become one at the end
        bins = [bin_ for bin_, _ in intervals(cuts[i], now[i])]
        shares = {i: np.array([[1 / bins.count(bin_)] * 3 for bin_ in bins])}
        ours.move_cuts(schema_of(*now), shares, memory=memory)
        twin.move_cuts(schema_of(*now), shares)
        cuts = now
        assert (np.tril(ours.pairs.sum(axis=2)) == np.tril(twin.pairs.sum(axis=2))).all()
        assert (ours.singles == twin.singles).all()
        _kernels.mirror_pairs(ours.store)
        assert (ours.pairs == twin.pairs).all()
