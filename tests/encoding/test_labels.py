"""Class labels: sorted codes, kept types, missing and new labels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tanager.encoding import encode_labels, encode_more_labels
from tanager.errors import DataError


@pytest.mark.parametrize(
    "dtype", ["int64", "int8", "uint8", "uint16", "int32", "uint64", "float64", "float32", "bool", "<U2", "O"]
)
def test_codes_and_classes_are_those_of_np_unique(dtype):
    y = np.array([3, 1, 1, 7, 3]).astype(dtype)
    codes, classes = encode_labels(y)
    expected, inverse = np.unique(y, return_inverse=True)
    assert codes.dtype == np.uint8
    assert codes.tolist() == inverse.tolist()
    assert classes.tolist() == expected.tolist()
    assert classes.dtype == expected.dtype or dtype == "O"


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=30))
def test_whole_numbers_of_any_size_are_told_apart(labels):
    y = np.array(labels, dtype=np.int64)
    codes, classes = encode_labels(y)
    assert classes[codes].tolist() == labels
    assert classes.tolist() == sorted(set(labels))


def test_a_late_small_number_is_seen():
    y = np.full(30_000, 5)
    y[20_000] = -3
    codes, classes = encode_labels(y)
    assert classes.tolist() == [-3, 5]
    assert (classes[codes] == y).all()


@pytest.mark.parametrize(
    "y",
    [
        ["b", "a", None, "b"],
        np.array(["b", "a", None, "b"], dtype=object),
        pd.Series(["b", "a", None, "b"]),
        pd.Series(["b", "a", None, "b"], dtype="category"),
        pd.Series(["b", "a", pd.NA, "b"], dtype=object),
        pl.Series(["b", "a", None, "b"]),
        pa.array(["b", "a", None, "b"]),
        pa.chunked_array([["b"], ["a", None, "b"]]),
    ],
    ids=lambda y: type(y).__name__,
)
def test_every_kind_of_column_gives_the_same_codes(y):
    codes, classes = encode_labels(y)
    assert codes.tolist() == [1, 0, 255, 1]
    assert classes.tolist() == ["a", "b"]


def test_missing_numbers_keep_the_type_of_the_rest():
    codes, classes = encode_labels([1, None, 0])
    assert codes.tolist() == [1, 255, 0]
    codes, classes = encode_labels(np.array([2.0, np.nan, 1.0]))
    assert (codes.tolist(), classes.tolist(), classes.dtype) == ([1, 255, 0], [1.0, 2.0], np.float64)
    codes, classes = encode_labels(np.array([0.5, 0.25]))
    assert (codes.tolist(), classes.tolist()) == ([1, 0], [0.25, 0.5])


def test_unused_declared_labels_are_no_classes():
    assert encode_labels(pd.Series(["x"], dtype=pd.CategoricalDtype(["a", "x", "z"])))[1].tolist() == ["x"]


def test_labels_of_mixed_types_are_sorted_by_type_first():
    codes, classes = encode_labels(np.array(["b", 2, "a", 1.5, None], dtype=object))
    assert classes.tolist() == [1.5, 2, "a", "b"]
    assert codes.tolist() == [3, 1, 2, 0, 255]


def test_many_classes_need_wide_codes():
    codes, classes = encode_labels(np.arange(300))
    assert codes.dtype == np.uint16
    assert (classes[codes] == np.arange(300)).all()
    assert encode_labels(np.arange(255))[0].dtype == np.uint16  # 255 is missing, 254 is kept for safety
    assert encode_labels(np.arange(254))[0].dtype == np.uint8


def test_infinite_and_absent_labels_are_refused():
    with pytest.raises(DataError, match="Input y contains infinity"):
        encode_labels([1.0, np.inf])
    for y in ([None, None], [np.nan], []):
        with pytest.raises(DataError, match="every entry is missing"):
            encode_labels(y)
    with pytest.raises(DataError, match=r"one column of labels, got an array of shape \(2, 2\)"):
        encode_labels(np.ones((2, 2)))
    with pytest.raises(DataError, match="70,000 distinct labels"):
        encode_labels(np.arange(70_000))


def test_new_labels_move_the_old_codes():
    codes, classes, moved = encode_more_labels(np.array(["maybe", "yes", "zero"]), np.array(["no", "yes"]))
    assert classes.tolist() == ["maybe", "no", "yes", "zero"]
    assert codes.tolist() == [0, 2, 3]
    assert moved.tolist() == [1, 2]
    assert classes.dtype.kind == "U"


def test_known_labels_move_nothing_and_missing_stays_missing():
    old = np.array([1, 2, 3])
    codes, classes, moved = encode_more_labels([3, None, 1], old)
    assert classes is old
    assert codes.tolist() == [2, 255, 0]
    assert moved.tolist() == [0, 1, 2]


def test_joined_classes_keep_their_type():
    assert encode_more_labels(np.array([True]), np.array([False]))[1].dtype == bool
    assert encode_more_labels(np.array([5], dtype=np.uint8), np.array([300]))[1].tolist() == [5, 300]
    assert encode_more_labels(np.array(["a"]), np.array([1]))[1].tolist() == [1, "a"]


@given(st.lists(st.sampled_from("abcd"), min_size=1), st.lists(st.sampled_from("cdef"), min_size=1))
def test_two_parts_end_with_the_classes_of_the_whole(first, second):
    codes, classes = encode_labels(first)
    more, everything, moved = encode_more_labels(second, classes)
    whole, whole_classes = encode_labels(first + second)
    assert everything.tolist() == whole_classes.tolist()
    assert [*moved[codes].tolist(), *more.tolist()] == whole.tolist()
