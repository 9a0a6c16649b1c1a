"""Summaries beyond their cap: how far cut points and values may be from those of all rows."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles import examples
from tanager import Encoder
from tanager.encoding.schema import LeftOut
from tanager.encoding.summary import learn_schema, merge, summarize

LEAVES_OUT = True
MOST = 1000


def summed_up(X, y, ends, most=MOST, encoder=None):
    edges = [0, *ends, len(y)]
    options = encoder or Encoder()
    parts = [
        summarize({name: cells[a:b] for name, cells in X.items()}, y[a:b], most=most, options=options)
        for a, b in pairwise(edges)
        if a < b
    ]
    while len(parts) > 1:
        parts = [merge(parts[i : i + 2]) for i in range(0, len(parts), 2)]
    return parts[0]


def numbers(kind, n, rng):
    y = rng.integers(0, 2, n)
    x = rng.normal(size=n) + 1.5 * y
    shapes = {
        "normal": x,
        "positive": np.exp(2 * x),
        "seconds": 1.7e9 + 1e6 * x,
        "outliers": np.where(rng.random(n) < 0.01, 1e12 * x, x),
        "whole": np.round(1e5 * x),
        "tiny": 1e-300 * x,
    }
    return shapes[kind], y


KINDS = ["normal", "positive", "seconds", "outliers", "whole", "tiny"]


@pytest.mark.parametrize("kind", KINDS)
@given(st.lists(st.integers(0, 4000), max_size=6), st.integers(0, 100))
@examples(20)
def test_any_parts_give_the_same_cut_points_beyond_the_cap(kind, ends, seed):
    x, y = numbers(kind, 4000, np.random.default_rng(seed))
    whole = summed_up({"x": x}, y, [])
    parts = summed_up({"x": x}, y, sorted(ends))
    assert not whole.columns[0].exact
    assert whole.columns[0].shift == parts.columns[0].shift
    assert whole.columns[0].n_distinct <= MOST
    for bins in ("mdl", "refined", "frequency", "width"):
        assert learn_schema(parts, Encoder(bins=bins)) == learn_schema(whole, Encoder(bins=bins))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_a_cut_by_frequency_is_off_by_less_than_the_heaviest_cell(kind, seed):
    x, y = numbers(kind, 6000, np.random.default_rng(seed))
    summary = summed_up({"x": x}, y, [1000, 1500])
    encoder = Encoder(bins="frequency", n_bins=7)
    (column,) = learn_schema(summary, encoder).columns
    exact = Encoder(bins="frequency", n_bins=7).fit({"x": x}, y).schema.columns[0]
    most = summary.columns[0].heaviest_cell
    assert 0 < most < 0.01
    ranks, exact_ranks = (np.searchsorted(np.sort(x), cuts.cuts) / len(x) for cuts in (column, exact))
    assert np.abs(ranks - exact_ranks).max() <= most


def information(x, y, cuts):
    """What the bins tell about the class, in bits."""
    joint = np.zeros((len(cuts) + 1, 2))
    np.add.at(joint, (np.searchsorted(cuts, x), y), 1 / len(x))
    independent = joint.sum(1, keepdims=True) * joint.sum(0)
    return float((joint * np.log2(np.where(joint > 0, joint, 1) / np.where(joint > 0, independent, 1))).sum())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bins", ["mdl", "refined"])
def test_bins_by_class_entropy_tell_as_much_about_the_class(kind, bins):
    """Where classes overlap, the best cut is one of many that are almost as good, and may be another one."""
    x, y = numbers(kind, 20_000, np.random.default_rng(5))
    summary = summed_up({"x": x}, y, [7000])
    ours = learn_schema(summary, Encoder(bins=bins)).columns[0].cuts
    exact = Encoder(bins=bins).fit({"x": x}, y).schema.columns[0].cuts
    told = information(x, y, exact)
    assert told > 0.2
    assert abs(information(x, y, ours) - told) < 0.003


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("share", [0.1, 0.5, 0.83])
def test_a_place_where_the_class_changes_is_found_to_within_a_cell(kind, share):
    x, _ = numbers(kind, 20_000, np.random.default_rng(5))
    y = (np.argsort(np.argsort(x, kind="stable"), kind="stable") >= share * len(x)).astype(int)
    summary = summed_up({"x": x}, y, [7000])
    cuts = np.array(learn_schema(summary, Encoder()).columns[0].cuts)
    ranks = np.searchsorted(np.sort(x), cuts) / len(x)
    assert np.abs(ranks - share).min() <= summary.columns[0].heaviest_cell


def test_equal_widths_are_exact_beyond_the_cap():
    x, y = numbers("normal", 5000, np.random.default_rng(0))
    schema = learn_schema(summed_up({"x": x}, y, [100]), Encoder(bins="width"))
    assert schema == Encoder(bins="width").fit({"x": x}, y).schema


def test_a_cut_between_cells_is_the_point_that_the_rows_give():
    """A gap at a power of two, where a cell ends whatever its width is."""
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.uniform(1, 1.9, 3000), rng.uniform(2.1, 4, 3000)])
    y = np.repeat([0, 1], 3000)
    order = rng.permutation(6000)
    schema = learn_schema(summed_up({"x": x[order]}, y[order], [2000, 2500]), Encoder())
    assert schema == Encoder().fit({"x": x[order]}, y[order]).schema


@given(st.lists(st.integers(0, 3000), max_size=6), st.integers(0, 100))
@examples(20)
def test_frequent_text_is_kept_and_rare_text_is_other_beyond_the_cap(ends, seed):
    rng = np.random.default_rng(seed)
    n = 6000
    rare = np.char.add("r", rng.integers(0, 3000, n).astype(str))
    frequent = np.char.add("f", rng.integers(0, 20, n).astype(str))
    X = {"x": pa.array(np.where(rng.random(n) < 0.5, rare, frequent))}
    y = rng.integers(0, 2, n)
    summary = summed_up(X, y, sorted(ends))
    (column,) = learn_schema(summary, Encoder(max_values=30)).columns
    assert {f"f{v}" for v in range(20)} <= set(column.values)
    assert column.other
    assert column.n_values == 30
    assert summary.columns[0].reason_to_leave_out(summary.n_learned) is None
    assert summary.columns[0].lost < 20


def test_text_with_a_value_of_its_own_in_every_row_is_a_name_beyond_the_cap():
    n = 3 * MOST
    X = {"id": pa.array([f"user-{r}" for r in range(n)]), "x": np.arange(n) % 2}
    schema = learn_schema(summed_up(X, np.arange(n) % 2, [10, 700, 1900]), Encoder())
    assert schema.left_out == (LeftOut("id", 0, "every row has its own value"),)
    assert schema.columns[0].values == (0, 1)


def test_infinite_numbers_and_negative_zeros_do_no_harm_beyond_the_cap():
    x = np.concatenate([[np.inf, -np.inf, np.nan, -0.0, 0.0], np.linspace(-1, 1, 2001)])
    y = (np.nan_to_num(x) > 0.25).astype(int)
    summary = summed_up({"x": x}, y, [3, 1000])
    (column,) = learn_schema(summary, Encoder()).columns
    assert len(column.cuts) == 1
    assert abs(column.cuts[0] - 0.25) < 0.002
    every = np.full(2 * MOST, np.inf)
    assert learn_schema(summed_up({"x": every}, np.zeros(2 * MOST, dtype=int), []), Encoder()).columns[0].cuts == ()
