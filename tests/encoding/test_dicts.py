"""Rows that are dicts: float columns are read by one kernel, all others cell by cell, with the same result."""

from __future__ import annotations

import math
from collections import OrderedDict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tanager import Encoder, NaiveBayes
from tanager.encoding.arrays import read_objects
from tanager.encoding.tables import read_table
from tanager.encoding.values import Numbers

FLOATS = st.floats(width=32)
CELLS = st.one_of(st.none(), FLOATS, st.integers(-3, 3), st.booleans(), st.sampled_from(["a", "b"]))
ROWS = st.lists(st.dictionaries(st.sampled_from("pqr"), st.one_of(FLOATS, CELLS)), min_size=1, max_size=6)


@given(ROWS.filter(lambda rows: any(rows)))
def test_columns_of_dicts_are_those_of_their_cells(rows):
    table = read_table(rows)
    for i, name in enumerate(table.names):
        cells, expected = table.column(i), read_objects([row.get(name) for row in rows], name)
        assert type(cells) is type(expected)
        if isinstance(cells, Numbers):
            assert cells.values.dtype == expected.values.dtype
            np.testing.assert_array_equal(cells.values, expected.values)
        else:
            assert cells.values == expected.values
            np.testing.assert_array_equal(cells.index, expected.index)


@pytest.mark.parametrize("numbers", [[1.0, 2.5], [1.0, math.inf], [1.0, -(2.0**53) - 2], [math.nan, 0.5]])
def test_numbers_with_a_fraction_or_beyond_all_whole_ones(numbers):
    assert Numbers(np.array(numbers)).has_fractions
    assert Numbers(np.array(numbers)).whole is None


@pytest.mark.parametrize("numbers", [[1.0, -2.0], [math.nan, 2.0**53], [math.nan], []])
def test_whole_numbers_as_floats(numbers):
    assert not Numbers(np.array(numbers, dtype=float)).has_fractions
    assert Numbers(np.array(numbers, dtype=float)).whole.tolist() == [int(x) for x in numbers if x == x]


def test_a_class_that_comes_between_a_doubling_and_an_answer_does_not_meet_old_cut_points():
    """Columns that were tried before the class was known are learned again with it."""
    rng = np.random.default_rng(0)
    rows = [{"a": x, "b": z} for x, z in rng.normal(size=(40, 2)).tolist()]
    labels = ["m" if row["a"] > 0 else "z" for row in rows[:33]] + ["a"] * 7  # codes of the others move
    whole, single = NaiveBayes(), NaiveBayes()
    whole.partial_fit(rows, labels)
    for row, label in zip(rows, labels, strict=True):
        single.learn_one(row, label)
    assert single.predict_proba_one(rows[0]) == whole.predict_proba_one(rows[0])
    assert single.schema_.columns == whole.schema_.columns


def test_codes_of_a_known_row_are_bytes_and_a_further_name_is_new_where_it_is_learned():
    encoder = Encoder(dates={"day": ["month", "weekday"]}).fit(
        {
            "sky": ["sun", "rain", None] * 20,
            "day": ["2024-01-05", "2024-02-06", "2024-03-08"] * 20,
        },
        ["no", "yes", "yes"] * 20,
    )
    assert len(set(encoder.schema.sources)) < len(encoder.schema)  # parts of a date are read from one cell
    for row in ({"sky": "rain"}, {"sky": None}, {"sky": "sun", "day": None}, {}):
        codes = encoder.found_row(row)
        assert isinstance(codes, bytes)
        assert list(codes) == encoder.encode_row(row).tolist()
        assert encoder.found_row(row, alone=True) == codes
        assert encoder.found_row(row | {"wind": 3}) == codes
        assert encoder.found_row(row | {"wind": 3}, alone=True) is None
    for odd in ({"sky": "snow"}, {"day": "2024-02-06"}, OrderedDict(sky="sun")):  # looked at in Python
        assert encoder.found_row(odd) is None


def test_codes_of_a_known_row_are_an_array_where_a_column_has_many_values():
    encoder = Encoder().fit({"town": [f"t{i}" for i in range(300)], "sky": ["sun"] * 299 + ["rain"]})
    row = {"town": "t299", "sky": "rain"}
    codes = encoder.found_row(row, alone=True)
    assert codes is not None
    assert codes.tolist() == encoder.encode_row(row).tolist() == [299, 1]
    assert encoder.found_row({"town": "t1"}).tolist() == [1, 65535]
    assert encoder.found_row(row | {"wind": 1}, alone=True) is None
