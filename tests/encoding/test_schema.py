"""Schema and Column: plain data, printed for people, saved as JSON."""

from __future__ import annotations

import copy
import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tanager.encoding import OTHER, Column, Schema
from tanager.errors import DataError, OptionError

values = st.lists(
    st.one_of(st.text(max_size=4), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.booleans()),
    unique=True,
    max_size=6,
).map(tuple)
cuts = st.lists(st.floats(allow_nan=False, allow_infinity=False), unique=True, max_size=6).map(sorted).map(tuple)
columns = st.one_of(
    st.builds(Column, st.just("a"), st.just("categorical"), values, closed=st.booleans(), other=st.booleans()),
    st.builds(Column, st.just("a"), st.just("numeric"), cuts=cuts, reason=st.text(max_size=5)),
    st.builds(Column, st.just("a"), st.just("codes"), n_codes=st.integers(0, 65535)),
    st.just(Column("a", "continuous")),
)


@given(columns)
def test_json_gives_back_the_same_schema_with_the_same_types(column):
    schema = Schema((column,))
    back = Schema.from_dict(json.loads(json.dumps(schema.to_dict())))
    assert back == schema
    assert hash(back) == hash(schema)
    assert back["a"].reason == column.reason
    assert [type(v) for v in back["a"].values] == [type(v) for v in column.values]


def test_the_number_of_values_follows_the_kind():
    assert Column("a", "categorical", ("x", "y")).n_values == 2
    assert Column("a", "categorical", ("x", "y"), other=True).n_values == 3
    assert Column("a", "categorical").n_values == 0
    assert Column("a", "numeric", cuts=(1.0,)).n_values == 2
    assert Column("a", "codes", n_codes=7).n_values == 7
    assert Column("a", "continuous").n_values == 0


def test_a_code_can_be_described():
    assert Column("a", "categorical", ("x",), other=True).describe(0) == "x"
    assert Column("a", "categorical", ("x",), other=True).describe(1) is OTHER
    assert [Column("a", "numeric", cuts=(1.5, 3.0)).describe(v) for v in range(3)] == [
        "(-inf, 1.5]",
        "(1.5, 3]",
        "(3, inf)",
    ]
    assert Column("a", "numeric").describe(0) == "(-inf, inf)"
    assert Column("a", "codes", n_codes=4).describe(3) == 3


def test_other_is_one_object_and_equals_no_text():
    assert repr(OTHER) == "<other>"
    assert OTHER != "<other>"
    assert pickle.loads(pickle.dumps(OTHER)) is copy.deepcopy(OTHER) is OTHER


def test_a_schema_prints_as_a_table_that_says_why():
    schema = Schema(
        (
            Column("colour", "categorical", tuple("abcdefgh"), other=True, reason="text"),
            Column("age", "numeric", cuts=(18.5,), reason="numbers with fractions"),
            Column("pixel", "codes", n_codes=4),
            Column("height", "continuous", reason="asked for"),
        )
    )
    assert str(schema).splitlines() == [
        "column  kind         values or cut points                           reason",
        "colour  categorical  9: 'a', 'b', 'c', 'd', 'e', 'f', ..., <other>  text",
        "age     numeric      2: 18.5                                        numbers with fractions",
        "pixel   codes        4",
        "height  continuous                                                  asked for",
    ]


def test_columns_are_found_by_name_and_by_place():
    schema = Schema([Column("a", "categorical"), Column("b", "numeric")])
    assert schema["b"] is schema[1]
    assert schema.index("b") == 1
    assert "a" in schema
    assert "c" not in schema
    assert len(schema) == 2
    assert schema.names == ("a", "b")
    assert schema.close()["a"].closed


def test_growing_leaves_the_old_schema_as_it_was():
    old = Schema((Column("a", "categorical", ("x",)), Column("b", "numeric")))
    new = old.with_columns({0: Column("a", "categorical", ("x", "y"))})
    assert old.n_values.tolist() == [1, 1]
    assert new.n_values.tolist() == [2, 1]


def test_wrong_columns_are_refused():
    with pytest.raises(DataError, match="cut points must be in ascending order"):
        Column("a", "numeric", cuts=(2.0, 1.0))
    with pytest.raises(DataError, match="duplicate values"):
        Column("a", "categorical", ("x", "x"))
    with pytest.raises(OptionError, match="Did you mean 'numeric'"):
        Column("a", "numerical")
    with pytest.raises(DataError, match="'a' is the name of more than one column"):
        Schema((Column("a", "numeric"), Column("a", "codes")))
