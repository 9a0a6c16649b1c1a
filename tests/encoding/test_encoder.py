"""The encoder: laws over random tables, every kind of table, codes, rows, and what it refuses."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from profiles import examples
from tanager import NaiveBayes
from tanager.encoding import Column, Encoder, Schema
from tanager.errors import DataError, DataWarning, OptionError, SchemaMismatch

COLUMNS = ("sky", "grade", "size")
skies = st.sampled_from(["sun", "rain", "snow", "fog", None])
grades = st.sampled_from([1, 2, 3, None])
sizes = st.sampled_from([0.5, 1.25, 2.0, 7.75, None])
tables = st.lists(st.tuples(skies, grades, sizes), min_size=1, max_size=25)


def columns_of(rows):
    return {name: [row[i] for row in rows] for i, name in enumerate(COLUMNS)}


def dicts_of(rows):
    return [dict(zip(COLUMNS, row, strict=True)) for row in rows]


def new_encoder():
    return Encoder(bins={"size": [1.0, 2.0]}, categorical=["grade"])


# Laws


@given(tables, st.lists(st.integers(1, 24), max_size=3))
def test_chunks_give_the_codes_and_the_schema_of_the_whole(rows, cuts):
    whole = new_encoder()
    codes = whole.fit_transform(columns_of(rows))
    edges = sorted({0, *(cut for cut in cuts if cut < len(rows)), len(rows)})
    parts = [columns_of(rows[a:b]) for a, b in pairwise(edges)]
    chunked = new_encoder().fit(parts[0])
    assert np.concatenate([chunked.update(part) for part in parts]).tolist() == codes.tolist()
    assert chunked.schema == whole.schema


@given(tables, tables)
def test_a_row_gets_the_codes_it_has_in_a_table(rows, others):
    encoder = new_encoder().fit(columns_of(rows))
    for unseen in ("ignore", "smooth"):
        by_row = [encoder.encode_row(row, unseen).tolist() for row in dicts_of(others)]
        assert by_row == encoder.transform(columns_of(others), unseen).tolist()


@given(tables)
def test_row_by_row_grows_as_a_table_does(rows):
    by_row, whole = new_encoder().fit(columns_of(rows[:1])), new_encoder().fit(columns_of(rows[:1]))
    codes = [by_row.update_row(row).tolist() for row in dicts_of(rows)]
    assert codes == whole.update(columns_of(rows)).tolist()
    assert by_row.schema == whole.schema


@examples(30)
@given(tables)
def test_every_kind_of_table_gives_the_same_codes(rows):
    columns = columns_of(rows)
    arrow = pa.table(
        {
            "sky": pa.array(columns["sky"], pa.string()),
            "grade": pa.array(columns["grade"], pa.int32()),
            "size": pa.array(columns["size"], pa.float64()),
        }
    )
    expected = new_encoder().fit_transform(columns)
    tables = [
        arrow,
        pa.concat_tables([arrow[:1], arrow[1:]]),
        arrow.combine_chunks().to_batches()[0],
        pl.from_arrow(arrow),
        pl.from_arrow(arrow).with_columns(pl.col("sky").cast(pl.Categorical)),
        arrow.to_pandas(),
        pd.DataFrame(columns, dtype=object),
        pd.DataFrame(columns).astype({"grade": "Int64", "size": "Float64"}),
        dicts_of(rows),
    ]
    for table in tables:
        encoder = new_encoder()
        assert encoder.fit_transform(table).tolist() == expected.tolist()
        assert encoder.schema == new_encoder().fit(columns).schema
    by_place = Encoder(bins={"x2": [1.0, 2.0]}, categorical=[1])
    for unnamed in (rows, [list(row) for row in rows], np.array(rows, dtype=object)):
        assert by_place.fit_transform(unnamed).tolist() == expected.tolist()


@given(tables)
def test_a_schema_from_json_encodes_alike(rows):
    encoder = new_encoder().fit(columns_of(rows))
    schema = Schema.from_dict(json.loads(json.dumps(encoder.schema.to_dict())))
    again = Encoder.from_schema(schema)
    assert again.schema == encoder.schema
    assert again.transform(columns_of(rows)).tolist() == encoder.transform(columns_of(rows)).tolist()


@given(tables, tables)
def test_rows_without_weight_or_class_leave_no_trace(rows, ghosts):
    weights = np.array([1.0] * len(rows) + [0.0] * len(ghosts))
    y = np.array([0] * len(rows) + [255] * len(ghosts), dtype=np.uint8)
    expected = Encoder().fit(columns_of(rows), np.zeros(len(rows), np.uint8)).schema
    assert Encoder().fit(columns_of(rows + ghosts), y * 0, weights).schema == expected
    assert Encoder().learn(columns_of(rows + ghosts), y).schema == expected
    labels = ["yes"] * len(rows) + [None] * len(ghosts)
    assert Encoder().fit(columns_of(rows + ghosts), labels).schema == expected
    streamed = new_encoder().fit(columns_of(rows))
    streamed.update(columns_of(rows + ghosts), weights)
    assert streamed.schema == new_encoder().fit(columns_of(rows)).schema


# Unseen values


@pytest.fixture
def colours():
    return Encoder().fit({"colour": ["red", "green", "blue"]})


def test_unseen_values_are_missing_or_have_a_code_of_their_own(colours):
    table = {"colour": ["teal", "green", None]}
    assert colours.transform(table)[:, 0].tolist() == [255, 1, 255]
    assert colours.transform(table, unseen="smooth")[:, 0].tolist() == [3, 1, 255]
    assert colours.schema["colour"].n_values == 3


def test_unseen_values_can_be_refused(colours):
    sentence = (
        r"column 'colour', row 17: 'teal' was not seen in training \(seen: 'blue', 'green', 'red'\)\. Use unseen="
    )
    with pytest.raises(DataError, match=sentence):
        colours.transform({"colour": ["red"] * 17 + ["teal", "pink"]}, unseen="error")
    with pytest.raises(DataError, match=r"column 'colour': 'teal' was not seen"):
        colours.encode_row({"colour": "teal"}, unseen="error")
    unused = pd.DataFrame({"colour": pd.Categorical(["red"], ["red", "teal"])})
    assert colours.transform(unused, unseen="error").tolist() == [[0]]
    with pytest.raises(OptionError, match="unseen='new' is not an option"):
        colours.transform({"colour": ["red"]}, unseen="new")


def test_unseen_values_take_wide_codes_when_255_is_needed():
    encoder = Encoder().fit({"a": [f"v{i}" for i in range(255)]})
    table = {"a": ["v254", "new", None]}
    assert encoder.transform(table).dtype == encoder.encode_row({}).dtype == np.uint8
    assert encoder.transform(table, unseen="smooth").dtype == np.uint16
    assert encoder.transform(table, unseen="smooth")[:, 0].tolist() == [254, 255, 65535]
    assert encoder.encode_row({"a": "new"}, unseen="smooth").tolist() == [255]
    encoder.update_row({"a": "new"})
    assert encoder.transform(table)[:, 0].tolist() == [254, 255, 65535]


def test_new_values_of_declared_columns_are_missing_with_a_warning():
    encoder = Encoder().fit(pd.DataFrame({"c": pd.Categorical(["a"], ["a", "b"])}))
    with pytest.warns(DataWarning, match="column 'c': 'z' is not among the declared values"):
        assert encoder.update({"c": ["b", "z", "y"]})[:, 0].tolist() == [1, 255, 255]
    with pytest.warns(DataWarning, match="'z' is not among the declared values"):
        assert encoder.update_row({"c": "z"}).tolist() == [255]
    assert encoder.schema["c"].n_values == 2


def test_a_given_schema_is_closed_and_nothing_is_learned():
    schema = Schema((Column("c", "categorical", ("a", "b")), Column("n", "numeric", cuts=(1.0,))))
    encoder = Encoder(schema=schema).fit({"n": [5.0, 9.0], "c": ["a", "z"]})
    assert encoder.schema == schema.close()
    assert encoder.transform({"c": ["a", "z"], "n": [1, 2]}).tolist() == [[0, 0], [255, 1]]
    with pytest.raises(SchemaMismatch, match="X has none of the 2 columns"):
        Encoder(schema=schema).fit({"d": ["a"]})


def test_a_stream_reaches_the_cap_and_goes_on():
    encoder = Encoder(max_values=3).fit({"a": ["x"]})
    with pytest.warns(DataWarning, match="'a' has had 2 different values; all further ones count as one"):
        codes = [encoder.update_row({"a": value})[0] for value in ("x", "y", "z", "w", "y", None)]
    assert codes == [0, 1, 2, 2, 1, 255]
    assert encoder.schema["a"] == Column("a", "categorical", ("x", "y"), other=True)
    chunked = Encoder(max_values=3).fit({"a": ["x"]})
    with pytest.warns(DataWarning, match="<other>"):
        assert chunked.update({"a": ["x", "y", "z", "w", "y", None]})[:, 0].tolist() == codes
    assert chunked.schema == encoder.schema


# Arrays of codes


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int8, np.int16])
def test_arrays_of_codes_are_taken_as_they_are(dtype, order):
    codes = np.array([[0, 3], [1, -1], [0, 2]], dtype=np.int16).astype(dtype, order=order)
    encoder = Encoder()
    out = encoder.fit_transform(codes)
    assert np.shares_memory(out, codes)
    assert encoder.schema.n_values.tolist() == [2, 4]
    assert [column.kind for column in encoder.schema.columns] == ["codes", "codes"]
    assert out[1, 1] == np.iinfo(out.dtype).max
    assert np.shares_memory(encoder.update(codes), codes)


@given(
    st.integers(1, 40),
    st.integers(1, 30),
    st.integers(0, 2**32 - 1),
    st.sampled_from("CF"),
    st.sampled_from(["u1", "u2"]),
)
def test_limits_of_codes_are_those_of_a_plain_loop(n_rows, n_features, seed, order, dtype):
    missing = np.iinfo(dtype).max
    codes = np.random.default_rng(seed).choice([0, 1, 7, 200, missing], (n_rows, n_features)).astype(dtype, order=order)
    expected = [max((int(v) + 1 for v in column if v != missing), default=0) for column in codes.T]
    assert Encoder().fit(codes).schema.n_values.tolist() == expected


def test_new_codes_are_unseen_or_grow():
    encoder = Encoder().fit(np.array([[0, 1], [1, 1]], dtype=np.uint8))
    new = np.array([[5, 1], [255, 0]], dtype=np.uint8)
    assert encoder.transform(new).tolist() == [[255, 1], [255, 0]]
    assert encoder.transform(new, unseen="smooth").tolist() == [[2, 1], [255, 0]]
    with pytest.raises(DataError, match=r"column 'x0', row 0: 5 was not seen in training \(seen: codes 0 to 1\)"):
        encoder.transform(new, unseen="error")
    assert encoder.encode_row({"x0": 5, "x1": 1}).tolist() == [255, 1]
    assert encoder.encode_row({"x0": np.int64(1), "x1": None}).tolist() == [1, 255]
    assert encoder.encode_row({"x0": 5}, unseen="smooth").tolist() == [2, 255]
    assert encoder.update(new) is not None
    assert encoder.schema.n_values.tolist() == [6, 2]
    assert encoder.update_row({"x0": 7, "x1": -1}).tolist() == [7, 255]
    assert encoder.schema.n_values.tolist() == [8, 2]
    assert new[0, 0] == 5


def test_codes_may_come_in_other_tables_later():
    encoder = Encoder().fit(np.array([[0, 1], [1, 1]], dtype=np.uint8))
    for table in ([[1, 0], [None, 9]], np.array([[1, 0], [-1, 9]]), np.array([[1, 0], [65535, 9]], dtype=np.uint16)):
        codes = encoder.transform(table)
        missing = np.iinfo(codes.dtype).max
        assert codes.tolist() == [[1, 0], [missing, missing]]
    with pytest.raises(DataError, match=r"column 'x1', row 0: 0.5 is not a code"):
        encoder.transform([[1, 0.5]])
    with pytest.raises(DataError, match="column 'x1': -3 is not a code"):
        encoder.encode_row({"x1": -3})
    with pytest.raises(DataError, match=r"row 0: 5 was not seen"):
        encoder.transform([[5, 0]], unseen="error")


def test_a_smooth_code_of_255_widens_an_array_of_codes():
    encoder = Encoder().fit(np.arange(255, dtype=np.uint8)[:, None])
    codes = encoder.transform(np.array([[254], [255]], dtype=np.uint8), unseen="smooth")
    assert codes.dtype == np.uint16
    assert codes[:, 0].tolist() == [254, 65535]


def test_codes_can_be_asked_to_be_numeric():
    X = np.arange(40, dtype=np.uint8).reshape(20, 2)
    encoder = Encoder(bins="width", n_bins=2, numeric=[1]).fit(X)
    assert [column.kind for column in encoder.schema.columns] == ["codes", "numeric"]
    assert encoder.transform(X)[:, 1].tolist() == [0] * 10 + [1] * 10
    assert encoder.update(X)[:, 0].tolist() == X[:, 0].tolist()


def test_codes_without_room_for_missing_are_refused():
    with pytest.raises(DataError, match=r"all 256 values of uint8 are in use.*Pass X.astype\(np.uint16\)"):
        Encoder().fit(np.array([[254], [255]], dtype=np.uint8))
    with pytest.raises(DataError, match=r"all 65,536 values of uint16 are in use.*Give rare values one code"):
        Encoder().fit(np.array([[65534], [65535]], dtype=np.uint16))
    Encoder().fit(np.array([[254, 0], [0, 255]], dtype=np.uint8))  # another column lacks a cell
    with pytest.raises(DataError, match="column 'x1', row 0: -2 is not a code"):
        Encoder().fit(np.array([[0, -2]], dtype=np.int8))


def test_slices_of_codes_are_welcome():
    X = np.arange(24, dtype=np.uint8).reshape(4, 6)
    assert Encoder().fit_transform(X[:, ::2]).tolist() == X[:, ::2].tolist()


# Numbers


def test_infinite_numbers_fall_into_the_outer_bins():
    x = np.array([-np.inf, 1.5, 2.5, 3.5, np.inf, np.nan])
    encoder = Encoder(bins="width", n_bins=2).fit(x[:, None])
    assert encoder.schema["x0"].cuts == (2.5,)
    assert encoder.transform(x[:, None])[:, 0].tolist() == [0, 0, 0, 1, 1, 255]
    assert encoder.encode_row({"x0": np.inf}).tolist() == [1]
    assert encoder.encode_row({"x0": np.float32("nan")}).tolist() == [255]


def test_continuous_columns_keep_their_numbers_and_have_no_codes():
    encoder = Encoder(continuous=["h"]).fit({"c": ["a", "b"], "h": [1.5, None]})
    codes = encoder.transform({"c": ["b"], "h": [2.5]})
    assert codes.tolist() == [[1, 255]]
    assert encoder.continuous_values({"h": [2.5, None], "c": ["b", "b"]})[0].tolist() == [2.5]
    assert encoder.continuous_row({"h": 3}).tolist() == [3.0]
    assert np.isnan(encoder.continuous_row({})).all()
    assert encoder.encode_row({"c": "b", "h": 2.5}).tolist() == [1, 255]
    assert encoder.update_row({"c": "new", "h": 2.5}).tolist() == [2, 255]


@pytest.mark.parametrize("cell", [2.5, None, 3, "4.5", float("nan"), np.float32(0.5)])
def test_numbers_of_many_rows_are_those_of_each(cell):
    encoder = Encoder(continuous=["h", "k"]).fit({"c": ["a", "b"], "h": [1.5, None], "k": [0.5, 1.0]})
    rows = [{"h": 1.5, "c": "a", "k": 2.5}, {"k": cell, "h": 0.5}, {"h": cell}][: 2 if cell == 2.5 else 3]
    expected = [encoder.numbers_row(row, [2, 1]) for row in rows]
    np.testing.assert_array_equal(encoder.numbers_of(rows, [2, 1]), expected)
    assert encoder.numbers_of([], [2, 1]).shape == (0, 2)


def test_text_where_numbers_were_is_refused_and_nothing_grows():
    encoder = Encoder(bins="width").fit({"c": ["a"] * 3, "n": [1.5, 2.5, 3.5]})
    with pytest.raises(DataError, match=r"column 'n', row 1: 'old' is not a number.*fit with categorical=\['n'\]"):
        encoder.update({"c": ["new", "b"], "n": ["2.5", "old"]})
    with pytest.raises(DataError, match="column 'n': 'old' is not a number"):
        encoder.update_row({"c": "new", "n": "old"})
    assert encoder.schema["c"].values == ("a",)
    assert encoder.transform({"c": ["a"], "n": ["2.5"]}).tolist() == [[0, encoder.encode_row({"n": "2.5"})[1]]]


# Rows


def test_a_row_may_lack_names_and_have_others(colours):
    assert colours.encode_row({}).tolist() == [255]
    assert colours.encode_row({"colour": "red", "shape": "round"}).tolist() == [0]
    assert colours.new_names({"colour": "red", "shape": "round"}) == ["shape"]
    colours.extend([Column("shape", "categorical")])
    assert colours.update_row({"colour": "red", "shape": "round"}).tolist() == [0, 0]


def test_odd_cells_in_rows(colours):
    for missing in (None, float("nan"), np.nan, pd.NA, pd.NaT):
        assert colours.update_row({"colour": missing}).tolist() == [255]
    assert colours.encode_row({"colour": np.str_("green")}).tolist() == [1]
    assert colours.update_row({"colour": ("a", 1)}).tolist() == [3]
    assert colours.encode_row({"colour": ("a", 1)}).tolist() == [3]
    for call in (colours.encode_row, colours.update_row):
        with pytest.raises(DataError, match=r"column 'colour': \['red'\] is a list"):
            call({"colour": ["red"]})
    with pytest.raises(DataError, match=r"column 'colour', row 1: \['red'\] is a list"):
        colours.transform({"colour": ["red", ["red"]]})


# Matching columns


def test_columns_are_matched_by_name_when_both_sides_have_names():
    encoder = Encoder().fit({"a": ["x", "y"], "b": ["p", "q"]})
    assert encoder.transform({"b": ["q"], "a": ["x"]}).tolist() == [[0, 1]]
    assert encoder.transform([["x", "q"]]).tolist() == [[0, 1]]
    unnamed = Encoder().fit([["x", "p"], ["y", "q"]])
    assert unnamed.schema.names == ("x0", "x1")
    assert unnamed.transform({"a": ["x"], "b": ["q"]}).tolist() == [[0, 1]]
    assert unnamed.transform({"x1": ["q"], "x0": ["x"]}).tolist() == [[0, 1]]


def test_other_columns_than_in_training_are_told_once_and_do_no_harm():
    encoder = Encoder().fit({"income": ["x"], "age": ["p"]})
    with (
        pytest.warns(DataWarning, match=r"1 column that Encoder was not fitted on \('incom'\): ignored"),
        pytest.warns(DataWarning, match=r"1 of 2 columns is missing \('income'\): answered without it.*'incom'\?"),
    ):
        assert encoder.transform({"incom": ["x"], "age": ["p"]}).tolist() == [[255, 0]]
    assert encoder.transform({"incom": ["x"], "age": ["p"]}).tolist() == [[255, 0]]
    with pytest.warns(DataWarning, match=r"1 column that TAN was not fitted on \('more'\): ignored"):
        assert encoder.encode({"more": [1], "age": ["p"], "income": ["x"]}, name="TAN").tolist() == [[0, 0]]
    with pytest.raises(SchemaMismatch, match=r"none of the 2 columns that TAN was fitted on: it has 'a', expected"):
        encoder.encode({"a": ["x"]}, name="TAN")
    with pytest.raises(SchemaMismatch, match="X has 3 features, but TAN is expecting 2 features as input"):
        encoder.encode([["x", "p", "z"]], name="TAN")


def test_frames_with_numbers_for_names_are_matched_by_place():
    encoder = Encoder().fit(pd.DataFrame([["x", "p"], ["y", "q"]]))
    assert encoder.schema.names == ("x0", "x1")
    assert encoder.transform([["y", "p"]]).tolist() == [[1, 0]]


# Tables that cannot be used


@pytest.mark.parametrize(
    ("X", "sentence"),
    [
        (sparse.csr_array(np.eye(2)), r"sparse matrix.*X.toarray\(\)"),
        (np.arange(3.0), "Expected 2D array.*Reshape your data"),
        ([1, 2, 3], "Expected 2D array.*row 0 is 1.*Reshape your data"),
        ("text", "Expected 2D array, got a str"),
        (5, "Expected 2D array, got a int"),
        (pd.Series([1, 2]), "Expected 2D array.*to_frame"),
        (np.ones((2, 2, 2)), "Expected 2D array, got 3D array"),
        (np.ones((2, 2)) * 1j, "Complex data not supported"),
        (np.empty((0, 3)), r"0 sample\(s\) \(shape=\(0, 3\)\) while a minimum of 1 is required"),
        ([], r"0 sample\(s\)"),
        (np.empty((12, 0)), r"0 feature\(s\) \(shape=\(12, 0\)\) while a minimum of 1 is required\."),
        ([[1, 2], [3]], "row 1 has 1 cells, row 0 has 2"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "'a' is the name of more than one column"),
        ({"a": [1, 2], "b": [1]}, "column 'b' has 1 rows, column 'a' has 2"),
        ({"a": "red"}, "column 'a' is 'red', not a column of cells"),
        ({3: [1]}, r"column names must be text, found 3 \(int\)"),
        (pa.table({"a": [[1], [2]]}), "column 'a' has cells of type list"),
        (np.zeros((2, 1), dtype="V3"), "cells of type"),
    ],
    ids=str,
)
def test_tables_that_cannot_be_used_are_refused_with_the_way_out(X, sentence):
    with pytest.raises(DataError, match=f"(?s){sentence}"):
        Encoder(bins="width").fit(X)


def test_labels_and_weights_must_fit_the_rows():
    with pytest.raises(DataError, match=r"X has 2 rows, y has shape \(3,\)"):
        Encoder().learn([["a"], ["b"]], np.zeros(3, np.uint8))
    with pytest.raises(DataError, match="X has 2 rows, sample_weight has shape"):
        Encoder().learn([["a"], ["b"]], weights=np.ones(1))
    for call in (lambda: Encoder().transform([["a"]]), lambda: Encoder().encode_row({"a": 1})):
        with pytest.raises(DataError, match=r"no schema yet. Call fit first"):
            call()


# Odd sources


def test_threads_change_nothing(monkeypatch):
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"a": rng.choice(["x", "y"], 50), "b": rng.normal(size=50), "c": rng.integers(0, 4, 50)})
    y = rng.integers(0, 2, 50).astype(np.uint8)
    alone = Encoder().fit(X, y)
    monkeypatch.setattr("tanager.encoding.encoder.MANY_CELLS", 1)
    monkeypatch.setattr("tanager.encoding.encoder.LONG_COLUMN", 1)
    together = Encoder().fit(X, y)
    assert together.schema == alone.schema
    assert together.update(X).tolist() == alone.transform(X).tolist()


def test_an_encoder_survives_pickle_and_copy(colours):
    for again in (pickle.loads(pickle.dumps(colours)), copy.deepcopy(colours)):
        assert again.schema == colours.schema
        assert again.update_row({"colour": "teal"}).tolist() == [3]
    assert colours.schema["colour"].n_values == 3
    with pytest.raises(DataError, match="no schema yet"):
        pickle.loads(pickle.dumps(Encoder())).transform([["a"]])


def test_structured_arrays_and_array_likes():
    X = np.array([("a", 1.5), ("b", 2.5)], dtype=[("c", "U1"), ("n", float)])
    assert Encoder(bins="width", n_bins=2).fit_transform(X).tolist() == [[0, 0], [1, 1]]

    class Like:
        def __array__(self, dtype=None, copy=None):
            return np.array([["a"], ["b"]])

    assert Encoder().fit_transform(Like()).tolist() == [[0], [1]]


def test_chunks_of_arrow_may_bring_dictionaries_of_their_own():
    first = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["a", "b"]))
    second = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 2]), pa.array(["c", "a", None]))
    table = pa.table({"x": pa.chunked_array([first, second])})
    encoder = Encoder()
    assert encoder.fit_transform(table)[:, 0].tolist() == [0, 1, 2, 0, 255, 255]
    assert encoder.schema["x"].values == ("a", "b", "c")


def test_a_dictionary_may_hold_nan():
    cells = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), pa.array([1.5, float("nan"), 2.0]))
    encoder = Encoder()
    assert encoder.fit_transform(pa.table({"x": cells}))[:, 0].tolist() == [0, 255, 1]
    assert encoder.schema["x"].values == (1.5, 2)


def test_a_table_whose_rows_all_weigh_nothing_has_columns_without_values():
    X = pd.DataFrame({"a": ["x"], "b": [1.5], "c": [1], "d": pd.Categorical(["p"])})
    schema = Encoder().learn(X, np.zeros(1, np.uint8), np.zeros(1)).schema
    assert schema.n_values.tolist() == [0, 0, 0, 1]


def test_values_that_become_the_same_text_share_a_code():
    assert Encoder().fit_transform({"a": [("t",), "('t',)", "u"]})[:, 0].tolist() == [0, 0, 1]


def test_a_value_in_rows_without_weight_alone_is_not_learned():
    """It was looked for among the new values, of which there were none."""
    model = NaiveBayes(categorical=["a"]).fit({"a": [None, "x"]}, [0, 0], sample_weight=[1.0, 0.0])
    assert model.encoder_.schema["a"].n_values == 0


def test_numpy_tables_import_neither_pandas_nor_arrow_nor_polars():
    script = """
import sys, numpy as np
from tanager.encoding import Encoder, encode_labels
y, _ = encode_labels(np.array(["a", "b"] * 10))
Encoder().fit_transform(np.random.default_rng(0).normal(size=(20, 3)), y)
Encoder().fit_transform([["a", 1.5]] * 20, y)
assert not {"pandas", "pyarrow", "polars"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", script], check=True)


@given(
    st.lists(
        st.fixed_dictionaries(
            {},
            optional={
                "sky": st.sampled_from(["sun", "rain", "snow", None]),
                "age": st.sampled_from([1, 2.5, 4, "3", None, float("nan")]),
                "on": st.booleans(),
            },
        ),
        min_size=1,
        max_size=6,
    )
)
def test_rows_of_dicts_get_the_codes_of_their_columns(rows):
    encoder = Encoder().fit({"sky": ["sun", "rain"], "age": [1.5, 3.5], "on": [True, False]}, [0, 1])
    for unseen in ("ignore", "smooth"):
        columns = {name: [row.get(name) for row in rows] for name in encoder.schema.names}
        np.testing.assert_array_equal(encoder.encode_rows(rows, unseen), encoder.transform(columns, unseen))


def test_rows_that_need_a_word_are_left_to_the_table():
    encoder = Encoder().fit({"sky": ["sun", "rain"], "age": [1.5, 3.5]}, [0, 1])
    for rows in ([{"sky": "sun"}, {"wind": 1}], [{"age": "old"}], [{"sky": []}], [{"sky": "sun"}, ["rain"]]):
        assert encoder.encode_rows(rows) is None
    assert encoder.encode_rows([{"sky": "snow"}], "error") is None
