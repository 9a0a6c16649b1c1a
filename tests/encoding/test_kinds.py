"""Which columns count as what, and how to overrule it."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles import examples
from tanager.encoding import Encoder
from tanager.encoding.values import Categories
from tanager.errors import DataError, OptionError

NUMBERS = np.linspace(0, 1, 20)


def learned(cells, **options):
    """The one column of a table."""
    return Encoder(**{"bins": "frequency", **options}).fit({"a": cells}).schema["a"]


@pytest.mark.parametrize(
    ("cells", "values", "reason"),
    [
        (["x", "y", "x"], ("x", "y"), "text"),
        (["1", "2"], ("1", "2"), "text"),
        (["01.5", "2.5"], ("01.5", "2.5"), "text"),
        ([True, False, None], (True, False), "booleans"),
        (np.array([True, False]), (True, False), "booleans"),
        ([3, 1, 3, 2], (3, 1, 2), "whole numbers, 3 distinct"),
        ([3.0, np.nan, 1.0], (3, 1), "whole numbers, 2 distinct"),
        (np.array([3, 1], dtype=np.uint8), (3, 1), "whole numbers, 2 distinct"),
        (["x", 1, None, 2.5, True], ("x", 1, 2.5), "mixed values"),
        ([None, None], (), "all missing"),
        ([np.nan, np.nan], (), "all missing"),
        (pd.Series([pd.NA, pd.NA], dtype="Int64"), (), "all missing"),
        (pa.array([None, None]), (), "all missing"),
        (np.array(["x", "y"]), ("x", "y"), "text"),
        (np.array([b"x", b"y"]), ("x", "y"), "mixed values"),
        ([("a", 1), ("b", 2)], ("('a', 1)", "('b', 2)"), "mixed values"),
        (pd.Series(["x", "y"]), ("x", "y"), "text"),
        (pd.Series(["x", None], dtype=object), ("x",), "text"),
        (pd.Series([True, None], dtype="boolean"), (True,), "booleans"),
        (pl.Series(["y", "x"]), ("y", "x"), "text"),
        (pl.Series(["y", "x"], dtype=pl.Categorical), ("y", "x"), "text"),
        (pa.array([True, None, False]), (True, False), "booleans"),
        (pa.array([b"x"]), ("x",), "mixed values"),
    ],
    ids=str,
)
def test_these_are_categories(cells, values, reason):
    column = learned(cells)
    assert column.kind == "categorical"
    assert column.values == values
    assert not column.closed
    assert column.reason == reason


@pytest.mark.parametrize(
    "cells",
    [
        NUMBERS,
        NUMBERS.astype(np.float32),
        NUMBERS.astype(np.float16),
        NUMBERS.tolist(),
        np.arange(20),
        list(range(20)),
        [*range(20), None],
        [*range(20), 2**80],
        [Decimal(i) / 7 for i in range(20)],
        pd.Series(range(20), dtype="Int64"),
        pd.Series([*range(20), None], dtype="Int64"),
        pd.Series([*NUMBERS, None], dtype="Float64"),
        pd.Series([*NUMBERS], dtype=object),
        pd.Series(NUMBERS, dtype="float64[pyarrow]"),
        [str(number) for number in NUMBERS],
        pl.Series(NUMBERS),
        pl.Series([*range(20), None]),
        pa.array(NUMBERS),
        pa.array([Decimal(i) for i in range(20)]),
    ],
    ids=lambda cells: str(getattr(cells, "dtype", type(cells))),
)
def test_these_are_numeric(cells):
    column = learned(cells)
    assert column.kind == "numeric"
    assert column.n_values == 5


START = datetime(2024, 5, 1, 12, tzinfo=UTC)
DAYS = [START + timedelta(days=i) for i in range(5)]
NAIVE = [day.replace(tzinfo=None) for day in DAYS]
NOONS = [day.timestamp() + 43200 for day in DAYS[:-1]]


@pytest.mark.parametrize(
    "cells",
    [
        DAYS,
        NAIVE,
        [*NAIVE, None],
        np.array(NAIVE, dtype="datetime64[s]"),
        pd.Series(NAIVE),
        pd.Series(DAYS),
        pd.Series([*NAIVE, pd.NaT]),
        pl.Series(NAIVE),
        pa.array(NAIVE),
        pa.array(NAIVE, type=pa.timestamp("ns")),
        pa.array(DAYS, type=pa.timestamp("ms", "Europe/Paris")),
    ],
    ids=lambda cells: str(getattr(cells, "dtype", getattr(cells, "type", type(cells[0])))),
)
def test_dates_are_seconds(cells):
    column = learned(cells, bins="frequency")
    assert column.kind == "numeric"
    assert column.cuts == pytest.approx(NOONS, abs=1e-5)
    encoder = Encoder(bins="frequency").fit({"a": cells})
    assert encoder.encode_row({"a": DAYS[3]}).tolist() == encoder.encode_row({"a": NAIVE[3]}).tolist() == [3]
    assert encoder.encode_row({"a": np.datetime64(NAIVE[3])}).tolist() == [3]


def test_dates_asked_to_be_categories_are_found_again_in_rows():
    encoder = Encoder(categorical=["a"]).fit({"a": NAIVE})
    assert [encoder.encode_row({"a": day})[0] for day in NAIVE] == [0, 1, 2, 3, 4]
    assert encoder.transform({"a": [NAIVE[2], None]})[:, 0].tolist() == [2, 255]
    mixed = Encoder().fit({"a": [*NAIVE, "never", Decimal("0.5")]})
    assert mixed.transform({"a": NAIVE[1:3]})[:, 0].tolist() == [1, 2]
    assert mixed.encode_row({"a": Decimal("0.5")}).tolist() == [6]


def test_days_durations_and_times_of_day_are_numeric():
    assert learned([date(2024, 1, d) for d in range(1, 5)]).cuts[0] == datetime(2024, 1, 1, 12, tzinfo=UTC).timestamp()
    assert learned([timedelta(seconds=s) for s in range(4)]).cuts == (0.5, 1.5, 2.5)
    assert learned(np.arange(4).astype("timedelta64[s]")).cuts == (0.5, 1.5, 2.5)
    assert learned(pa.array([0, 1, 2, None], pa.time32("s"))).cuts == (0.5, 1.5)
    assert learned([time(0, 0, s) for s in range(3)]).cuts == (0.5, 1.5)
    assert learned(pa.array([0, 2, 4], pa.date32())).cuts == (86400.0, 3 * 86400.0)


@pytest.mark.parametrize(
    "cells",
    [
        pd.Series(["b", "a"], dtype=pd.CategoricalDtype(["a", "b", "c"])),
        pa.DictionaryArray.from_arrays(pa.array([1, 0]), pa.array(["a", "b", "c"])),
        pl.Series(["b", "a"], dtype=pl.Enum(["a", "b", "c"])),
    ],
    ids=["pandas", "arrow", "polars"],
)
def test_declared_values_are_all_kept_in_their_order(cells):
    column = learned(cells)
    assert (column.values, column.closed, column.reason) == (("a", "b", "c"), True, "values declared")


def test_intervals_from_pandas_become_text():
    cells = pd.cut(pd.Series([1.0, 5.0, 9.0]), [0, 4, 10])
    assert learned(cells).values == ("(0, 4]", "(4, 10]")


def test_the_number_of_distinct_whole_numbers_decides():
    assert learned(np.arange(12)).kind == "categorical"
    assert learned(np.arange(13)).kind == "numeric"
    assert learned(np.arange(13), max_whole=13).kind == "categorical"
    assert learned(np.arange(2), max_whole=0).kind == "numeric"
    assert learned(np.array([0, 10**12])).kind == "categorical"
    assert learned(np.array([1.0, np.inf])).kind == "numeric"


def test_kinds_can_be_asked_for():
    table = {"a": [1, 2, 3], "b": [0.5, 1.5, 2.5], "c": ["1", "2", "x"]}
    schema = Encoder(bins="width", n_bins=2, numeric=["a"], categorical=[1]).fit(table).schema
    assert [column.kind for column in schema.columns] == ["numeric", "categorical", "categorical"]
    assert schema["b"].values == (0.5, 1.5, 2.5)
    assert schema["a"].reason == "requested"
    assert Encoder(categorical="all").fit({"a": NUMBERS}).schema["a"].n_values == 20
    assert Encoder(continuous=True).fit(table).schema["b"].kind == "continuous"
    assert Encoder(continuous=["a"], categorical=["b"]).fit(table).schema["a"].kind == "continuous"
    assert Encoder(bins="width", numeric=["a"]).fit({"a": ["1", "2.5", None]}).schema["a"].kind == "numeric"


def test_all_numbers_are_kept_as_numbers_also_where_columns_are_asked_to_be_numeric():
    table = {"a": [1, 2, 3], "b": [0.5, 1.5, 2.5], "c": ["1", "2", "x"]}
    schema = Encoder(continuous=True, numeric=["a"], bins={"b": [1.0]}).fit(table).schema
    assert [column.kind for column in schema.columns] == ["continuous", "numeric", "categorical"]


def test_cut_points_can_be_given():
    table = {"a": NUMBERS, "b": NUMBERS, "c": NUMBERS}
    schema = Encoder(bins={"a": [0.25, 0.75], "b": "width"}, n_bins=2).fit(table, np.repeat([0, 1], 10)).schema
    assert schema["a"].cuts == (0.25, 0.75)
    assert schema["b"].cuts == (0.5,)
    assert schema["c"].cuts == pytest.approx((0.5,))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"categorical": ["agee"]}, r"categorical: X has no column 'agee' \(it has 2\). Did you mean 'age'\?"),
        ({"numeric": [7]}, "numeric: X has no column 7"),
        ({"bins": {"agee": [1]}}, "bins: X has no column 'agee'"),
        ({"bins": "mdlp"}, "bins='mdlp' is not an option"),
        ({"bins": {"age": "widht"}}, "Did you mean 'width'"),
        ({"bins": {"age": [2, 1]}}, "must be ascending"),
        ({"bins": {"age": ["x"]}}, "expected cut points"),
        ({"categorical": ["age"], "numeric": ["age"]}, "column 'age' is requested as both categorical and numeric"),
        ({"n_bins": 0}, "n_bins=0 must be a whole number from 1 to 65534"),
        ({"max_values": 1}, "max_values=1 must be"),
        ({"max_whole": 1.5}, "max_whole=1.5 must be"),
        ({"mdl_encoding": "n"}, "mdl_encoding='n' is not an option"),
        ({}, "needs class labels"),
    ],
    ids=str,
)
def test_wrong_options_are_refused_with_the_way_out(options, sentence):
    with pytest.raises(OptionError, match=sentence):
        Encoder(**options).fit({"age": NUMBERS, "sky": ["x"] * 20})


def test_text_in_a_numeric_column_is_refused():
    with pytest.raises(DataError, match=r"column 'a', row 1: 'x' is not a number"):
        Encoder(bins="width", numeric=["a"]).fit({"a": ["1", "x"]})


def test_of_too_many_values_the_most_frequent_stay_and_the_rest_is_other():
    cells = [*"abcd", *"cdd", *"bb"]
    encoder = Encoder(max_values=3).fit({"a": cells})
    column = encoder.schema["a"]
    assert (column.values, column.other, column.n_values) == (("b", "d"), True, 3)
    assert column.reason == "text; 4 distinct, the 2 most frequent kept"
    assert encoder.transform({"a": [*"abcd", "new", None]})[:, 0].tolist() == [2, 0, 2, 1, 2, 255]
    assert encoder.encode_row({"a": "new"}).tolist() == [2]
    assert encoder.update({"a": ["new"]})[:, 0].tolist() == [2]
    assert encoder.schema["a"] == column
    weighted = Encoder(max_values=3).fit({"a": list("abcd")}, sample_weight=np.array([1, 3, 2, 3])).schema["a"]
    assert weighted.values == ("b", "d")


def test_a_million_distinct_values_stay_within_the_cap():
    ids = np.arange(100_000).astype(str)
    assert Encoder(categorical=["id"]).fit({"id": ids}).schema["id"].n_values == 1000


@examples(50)
@given(
    index=st.lists(st.integers(-1, 5), max_size=12),
    gap=st.sampled_from([0, 300, 5000]),  # rows of one value before the others: not all are seen in the first few
)
def test_values_in_order_of_first_appearance(index, gap):
    rows = [*([5] * gap), *index]
    ordered = Categories([*"abcdef"], np.array(rows, dtype=np.int32), exact=False).in_order
    seen = list(dict.fromkeys("abcdef"[v] for v in rows if v >= 0))
    assert ordered.values == seen
    assert ordered.index.tolist() == [seen.index("abcdef"[v]) if v >= 0 else -1 for v in rows]
