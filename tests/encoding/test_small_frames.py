"""Small frames of one type of number are read from one array, and columns that stay open are found by their kind."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tanager.encoding import Encoder
from tanager.encoding import frames as reading
from tanager.encoding.kinds import settled
from tanager.encoding.tables import read_table

FRAMES = {
    "numbers": pd.DataFrame({"a": [0.5, np.nan, 2.0], "b": [1.0, 2.0, 3.0]}),
    "whole numbers": pd.DataFrame({"a": [1, 2, 3], "b": [4, 4, 4]}),
    "of two types": pd.DataFrame({"a": [1, 2, 3], "b": [4.5, 4, 4]}),
    "truths": pd.DataFrame({"a": [True, False, True]}),
    "text": pd.DataFrame({"a": ["x", "y", "x"], "b": ["1", "2", "03"]}),
    "unnamed": pd.DataFrame(np.arange(6.0).reshape(3, 2) / 4),
}


@pytest.mark.parametrize("name", FRAMES)
def test_small_and_large_frames_are_read_alike(name, monkeypatch):
    small = read_table(FRAMES[name])
    columns = [small.column(i) for i in range(small.n_columns)]
    monkeypatch.setattr(reading, "SMALL", 0)
    large = read_table(FRAMES[name])
    assert small.names == large.names
    for i, cells in enumerate(columns):
        assert type(cells) is type(large.column(i))
        assert cells.what == large.column(i).what
        assert [str(v) for v in cells.categories.values] == [str(v) for v in large.column(i).categories.values]


@pytest.mark.parametrize("name", FRAMES)
def test_a_column_that_stays_open_is_not_settled(name):
    codes = np.array([0, 1, 0], dtype=np.uint8)
    encoder = Encoder(keep="all").learn(FRAMES[name], codes, None, 2, stream=True)
    is_open = not all(settled(column) for column in encoder.schema.columns)
    found = Encoder(keep="all").leaves_open(FRAMES[name], codes, None, 2)
    assert is_open or not found
    assert found == is_open or name == "text"  # text that may be numbers is looked at in full


def test_only_rows_that_count_keep_a_column_open():
    X = pd.DataFrame({"a": ["x", "y", 0.5]}, dtype=object)
    codes = np.array([0, 1, 255], dtype=np.uint8)  # the last row has no label
    assert not Encoder(keep="all").leaves_open(X[:2], codes[:2], None, 2)
    numbers = pd.DataFrame({"a": [np.nan, np.nan, 0.5]})
    assert Encoder(keep="all").leaves_open(numbers, codes, None, 2)  # all missing: it may become anything
