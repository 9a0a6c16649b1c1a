"""Columns of dates: read from any cell, cut as numbers, or taken apart."""

from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tanager import AODE, Column, DataError, DataWarning, Encoder, NaiveBayes, OptionError, Schema
from tanager.encoding import many_dates
from tanager.encoding.categories import codec
from tanager.encoding.dates import NAMED, date_cell, part_cell, part_cells
from tanager.encoding.iso_dates import MANY, read_date, read_dates
from tanager.encoding.many_dates import dates_of
from tanager.encoding.marks import MARKS
from tanager.encoding.row_order import LabelRuns, row_order
from tanager.encoding.values import Numbers

N = 60
DAYS = [datetime(2024, 1, 1, 6) + timedelta(days=6 * i, minutes=7 * i) for i in range(N)]
Y = ["yes" if day.month > 6 else "no" for day in DAYS]
SIZE = ["S", "M", "L"] * (N // 3)
moments = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30))
zones = st.one_of(st.none(), st.integers(-14 * 60, 14 * 60).map(lambda m: timezone(timedelta(minutes=m))))


@given(moments, zones, st.sampled_from("T "))
def test_iso_text_is_the_moment_it_stands_for(moment, zone, between):
    moment = moment.replace(tzinfo=zone)
    wanted = (moment if zone else moment.replace(tzinfo=UTC)).timestamp()
    assert read_date(moment.isoformat(between)) == wanted
    assert date_cell(moment, "x") == wanted


@pytest.mark.parametrize(
    "text",
    [
        *("soon", "2024", "2024-05", "20240531", "2024-02-30", "2024-13-01", "2024-05-31T25:00", "2024-05-31x10:00"),
        *("12:30", "2024-W01-1", "0000-01-01", "31.05.2024", "2024-05-31T10", "2024-05-31+02:00"),
        "2024-05-3\N{ARABIC-INDIC DIGIT ONE}",
    ],
)
def test_other_text_is_no_date(text):
    assert read_date(text) is None
    assert read_dates([text] * MANY)[1].all()
    assert dates_of(pa.array([text])) is None


texts = st.one_of(
    st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31)).map(lambda d: d.isoformat()[:19]),
    st.dates().map(str),
    st.from_regex(r"[12]\d{3}-[01]\d-[0-3]\d([T ][0-2]\d:[0-6]\d(:[0-6]\d)?)?Z?", fullmatch=True),
    st.text(max_size=20),
)


@given(st.lists(texts, min_size=MANY, max_size=MANY + 20))
def test_many_texts_are_read_as_single_ones(values):
    seconds, wrong = read_dates(values)
    single = [read_date(value) for value in values]
    np.testing.assert_array_equal(wrong, [second is None for second in single])
    np.testing.assert_array_equal(seconds, [np.nan if second is None else second for second in single])


@given(st.lists(texts | st.none() | st.sampled_from(MARKS), min_size=1, max_size=12))
def test_arrow_reads_what_is_read_one_by_one(values):
    """Or it leaves that to others."""
    found = dates_of(pa.array(values, pa.string()))
    singles = [np.nan if value is None else read_date(value) for value in values]
    if found is None:
        return
    assert None not in singles
    np.testing.assert_array_equal(found[0], np.array(singles, dtype=float))
    assert set(found[1]) == {value for value in values if value in MARKS and value}


@pytest.mark.parametrize("write", [str, lambda day: f"{day} 14:30", lambda day: f"{day}T14:30:15.25+02:00"])
@pytest.mark.parametrize("gap", [None, "?", ""])
def test_arrow_reads_the_usual_dates(write, gap):
    values = [gap, *(write(day) for day in np.datetime64("1899-12-30") + np.arange(50) * 977), gap]
    seconds, marks = dates_of(pa.array(values, pa.string()))
    np.testing.assert_array_equal(seconds, [np.nan if value is None else read_date(value) for value in values])
    assert marks == (("?",) if gap == "?" else ())


@pytest.mark.parametrize("made", ["frame", "array", "text array", "arrow", "large", "polars", "dict"])
def test_many_dates_are_the_same_however_they_come(monkeypatch, made):
    """Also where they are asked for as text."""
    n, rng = 60, np.random.default_rng(0)
    texts = [str(day) for day in np.datetime64("2024-01-01") + rng.integers(0, 90, n)]
    ways = {
        "frame": lambda: pd.DataFrame({"x0": texts}),
        "array": lambda: np.array(texts, dtype=object)[:, None],
        "text array": lambda: np.array(texts)[:, None],
        "arrow": lambda: pa.table({"x0": texts}),
        "large": lambda: pa.table({"x0": pa.array(texts, pa.large_string())}),
        "polars": lambda: pytest.importorskip("polars").DataFrame({"x0": texts}),
        "dict": lambda: {"x0": texts},
    }
    y = rng.integers(0, 2, n)
    for options in ({"dates": "parts"}, {"categorical": ["x0"]}, {"ordinal": {"x0": sorted(set(texts))}}):
        plain = NaiveBayes(**options).fit(ways[made](), y)
        with monkeypatch.context() as patch:
            patch.setattr(many_dates, "MANY", 1)
            patch.setattr(many_dates, "MANY_OBJECTS", 1)
            many = NaiveBayes(**options).fit(ways[made](), y)
            np.testing.assert_array_equal(many.predict_proba(ways[made]()), plain.predict_proba(ways[made]()))
        assert many.schema_ == plain.schema_


@given(st.lists(moments, min_size=1, max_size=20))
def test_parts_are_those_of_the_calendar(days):
    seconds = np.array([day.replace(tzinfo=UTC).timestamp() for day in days])
    wanted = {
        "year": [day.year for day in days],
        "month": [day.strftime("%B") for day in days],
        "day": [day.day for day in days],
        "weekday": [day.strftime("%A") for day in days],
        "hour": [day.hour for day in days],
    }
    for part, values in wanted.items():
        cells = part_cells(Numbers(seconds), part).categories
        assert [cells.values[v] for v in cells.index] == values
        assert [part_cell(second, part) for second in seconds.tolist()] == values
    since = part_cells(Numbers(seconds), "since 2000-01-01").values
    np.testing.assert_allclose(since, [(day - datetime(2000, 1, 1)) / timedelta(days=1) for day in days])
    assert [part_cell(second, "since 2000-01-01") for second in seconds.tolist()] == since.tolist()


def test_missing_and_far_dates_have_no_parts():
    seconds = np.array([np.nan, np.inf, -np.inf, 1e18])
    for part in NAMED:
        assert (part_cells(Numbers(seconds), part).index == -1).all()
        assert all(part_cell(second, part) != part_cell(second, part) for second in seconds.tolist())
    assert np.isnan(part_cells(Numbers(seconds), "year").values).all()
    beyond = np.datetime64("20240-05-31T10:00", "s").astype(np.int64)  # a calendar has years beyond those of Python
    assert [part_cell(float(beyond), part) for part in ("year", "month", "hour")] == [20240, "May", 10]


WRITTEN = {
    "datetime64": np.array(DAYS, dtype="datetime64[us]"),
    "datetime64[m]": np.array(DAYS, dtype="datetime64[m]"),
    "objects": DAYS,
    "objects in an array": np.array(DAYS, dtype=object),
    "pandas": pd.Series(DAYS),
    "pandas, of a zone": pd.Series(DAYS).dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"),
    "arrow": pa.array(DAYS, pa.timestamp("ms")),
    "polars": pl.Series(DAYS),
    "text": [str(day) for day in DAYS],
    "text with a T": [day.isoformat() for day in DAYS],
    "text of a zone": [day.replace(tzinfo=UTC).astimezone(timezone(timedelta(hours=9))).isoformat() for day in DAYS],
    "text in an array": np.array([str(day) for day in DAYS]),
    "text of pandas": pd.Series(DAYS).astype(str),
    "text of arrow": pa.array([str(day) for day in DAYS]),
    "text of polars": pl.Series([str(day) for day in DAYS]),
}


@pytest.mark.parametrize("dates", [None, "parts", {"sold": ["since", "month", "hour", "year", "day"]}], ids=str)
@pytest.mark.parametrize("how", WRITTEN)
def test_dates_are_the_same_however_they_are_written(how, dates):
    first = AODE(dates=dates).fit({"sold": WRITTEN["datetime64"], "size": SIZE}, Y)
    model = AODE(dates=dates).fit({"sold": WRITTEN[how], "size": SIZE}, Y)
    assert model.schema_ == first.schema_
    for other in WRITTEN.values():
        np.testing.assert_array_equal(
            first.predict_proba({"sold": other, "size": SIZE}),
            model.predict_proba({"sold": WRITTEN[how], "size": SIZE}),
        )


def test_days_are_dates():
    days = [day.date() for day in DAYS]
    for written in (days, pa.array(days), pl.Series(days), [str(day) for day in days], np.array(days, "datetime64[D]")):
        model = NaiveBayes(dates="parts").fit({"sold": written}, Y)
        assert model.schema_.names == ("sold", "sold month", "sold weekday")  # all at midnight: hours tell nothing
    assert NaiveBayes(dates=["hour"]).fit({"sold": days}, Y).schema_.names == ("sold hour",)  # asked for


def test_durations_and_times_of_day_are_numbers_and_no_dates():
    lengths = pd.Series([day - DAYS[0] for day in DAYS])
    for cells in (lengths, lengths.tolist(), pa.array(lengths), [day.time() for day in DAYS]):
        column = NaiveBayes(dates="parts").fit({"x": cells}, Y).schema_[0]
        assert (column.kind, column.part) == ("numeric", "")
        with pytest.raises(OptionError, match=r"dates: column 'x' holds (durations|times of day), not dates"):
            NaiveBayes(dates={"x": "month"}).fit({"x": cells}, Y)


def test_missing_dates():
    gaps = [None if i % 7 == 0 else day for i, day in enumerate(DAYS)]
    first = NaiveBayes(dates="parts").fit({"sold": pd.Series(gaps), "size": SIZE}, Y)
    for blank in (None, "", "  "):
        text = [blank if day is None else str(day) for day in gaps]
        model = NaiveBayes(dates="parts").fit({"sold": text, "size": SIZE}, Y)
        np.testing.assert_array_equal(
            model.predict_proba({"sold": text, "size": SIZE})[:8], first.predict_proba({"sold": gaps, "size": SIZE})[:8]
        )
    for blank in (None, "", pd.NaT, np.datetime64("NaT", "D"), float("nan")):
        assert first.predict_proba_one({"sold": blank, "size": "S"}) == first.predict_proba_one({"size": "S"})
    assert NaiveBayes().fit({"sold": ["", ""] * 30, "size": SIZE}, Y).schema_["sold"].kind == "categorical"


def test_dates_beyond_those_of_training_are_in_the_outer_bins():
    model = NaiveBayes(bins="frequency").fit({"sold": DAYS}, Y)
    n = model.schema_["sold"].n_values
    codes = model.encoder_.encode({"sold": ["0001-01-01", "9999-12-31", "2500-01-01T10:00Z"]})
    assert codes[:, 0].tolist() == [0, n - 1, n - 1]


def test_what_is_no_date_in_a_column_of_dates_is_refused_with_its_place():
    model = NaiveBayes(dates="parts").fit({"sold": DAYS, "size": SIZE}, Y)
    with pytest.raises(DataError, match="column 'sold', row 1: 'soon' is not a date, and the column holds dates"):
        model.predict({"sold": ["2024-01-01", "soon"], "size": ["S", "S"]})
    with pytest.raises(DataError, match="column 'sold': 'soon' is not a date"):
        model.predict_proba_one({"sold": "soon"})
    with pytest.raises(DataError, match="column 'sold', row 2: '2024-02-30' is not a date"):
        NaiveBayes(dates={"sold": "month"}).fit({"sold": ["2024-01-01", "", "2024-02-30"]}, ["a", "b", "a"])
    with pytest.raises(OptionError, match="dates: column 'sold' holds numbers, not dates"):
        NaiveBayes(dates={"sold": "month"}).fit({"sold": [1, 2, 3]}, ["a", "b", "a"])
    before = model.predict_proba({"sold": DAYS, "size": SIZE})
    with pytest.raises(DataError, match="is not a date"):
        model.partial_fit({"sold": ["2024-01-01", "soon"], "size": ["S", "new"]}, ["yes", "no"])
    np.testing.assert_array_equal(model.predict_proba({"sold": DAYS, "size": SIZE}), before)


def test_text_among_dates_is_text():
    text = [str(day) for day in DAYS[:-1]] + ["soon"]
    with pytest.warns(DataWarning, match="'sold' .looks like dates but for 'soon'.*give None"):
        model = NaiveBayes(keep="all").fit({"sold": text}, Y)
    assert model.schema_["sold"].reason.startswith("text")
    as_text = NaiveBayes(categorical=["sold"]).fit({"sold": [str(day) for day in DAYS]}, Y)
    assert as_text.schema_["sold"].values[0] == str(DAYS[0])


def test_options_speak_of_parts_by_their_names():
    X = {"sold": DAYS, "size": SIZE}
    dates = {"sold": ["date", "month", "hour", "since 2024-01-01"]}
    model = NaiveBayes(
        dates=dates,
        ordinal=["sold month"],
        numeric=["sold hour"],
        bins={"sold": ["2024-07-01"], "sold since": [100, 200]},
    ).fit(X, Y)
    schema = model.schema_
    assert schema["sold month"].kind == "ordinal"
    assert schema["sold month"].describe(0) == "January to June"
    assert schema["sold hour"].kind == "numeric"
    assert schema["sold since"].cuts == (100.0, 200.0)
    assert schema["sold"].describe(1) == "(2024-07-01, inf)"
    assert NaiveBayes(dates=dates, gaussian=["sold since"]).fit(X, Y).schema_["sold since"].kind == "continuous"
    with pytest.raises(OptionError, match=r"dates: X has no column 'sol'.*Did you mean 'sold'"):
        NaiveBayes(dates={"sol": "month"}).fit(X, Y)
    with pytest.raises(OptionError, match=r"numeric: X has no column 'colour month'"):
        NaiveBayes(numeric=["colour month"]).fit(X, Y)
    with pytest.raises(OptionError, match=r"an option speaks of 'size month', .* dates= says which are learned"):
        NaiveBayes(numeric=["size month"]).fit(X, Y)


@pytest.mark.parametrize("dates", ["moon", [], ["month", "moon"], {"sold": 3}, "since tomorrow", {"sold": []}, 7])
def test_parts_that_there_are_not_are_refused(dates):
    with pytest.raises(OptionError, match=r'dates.*give "parts", or some of date, since, year, month'):
        NaiveBayes(dates=dates).fit({"sold": DAYS}, Y)


def test_a_part_that_another_column_is_named_after_is_refused():
    with pytest.raises(DataError, match="'sold month' is the name of more than one column"):
        NaiveBayes(dates="month").fit({"sold": DAYS, "sold month": SIZE}, Y)


def test_a_schema_with_parts_is_changed_saved_and_given_again(tmp_path):
    X = {"id": [f"n{i}" for i in range(N)], "sold": DAYS, "size": SIZE}
    schema = AODE(dates="parts").fit(X, Y).schema_
    assert schema.names == ("id", "sold", "sold month", "sold weekday", "sold hour", "size")
    assert schema.table_names == ("id", "sold", "size")
    assert schema.places == (0, 1, 1, 1, 1, 2)
    less = schema.without("sold hour", "sold")
    assert less.table_names == schema.table_names
    none = less.without("sold month", "sold weekday")
    assert [gone.name for gone in none.left_out] == ["sold"]
    assert none.table_names == schema.table_names
    back = none.change("sold", kind="numeric", cuts=(DAYS[30].replace(tzinfo=UTC).timestamp(),), part="date")
    assert back.places == (0, 1, 2)
    less.save(tmp_path / "schema.json")
    for given_again in (less, back, Schema.load(tmp_path / "schema.json")):
        model = AODE(schema=given_again).fit({**X, "sold": [str(day) for day in DAYS]}, Y)
        assert model.schema_.names == given_again.names
        array = np.array([X["id"], DAYS, SIZE], dtype=object).T
        np.testing.assert_array_equal(model.predict_proba(array), model.predict_proba(X))
    assert "2024-06-29 09:30" in str(back)
    changed = schema.change("sold month", kind="ordinal", values=NAMED["month"], cuts=(5.5,))
    assert AODE(schema=changed).fit(X, Y).schema_["sold month"].n_values == 2
    with pytest.raises(DataError, match="'moon' is no part of a date"):
        Column("x", "numeric", part="moon")


@pytest.mark.parametrize("dates", [None, "parts", ["since", "weekday"]], ids=str)
def test_a_date_that_appears_in_a_stream_is_a_date(dates):
    model = NaiveBayes(dates=dates, warm_up=10)
    for r, day in enumerate(DAYS):
        row = {"size": SIZE[r], "price": r / 7} | ({"sold": str(day)} if r >= 20 else {})
        model.learn_one(row, Y[r])
    names = {None: ("sold",), "parts": ("sold", "sold month", "sold weekday", "sold hour")}
    assert model.schema_.names[2:] == names.get(dates if dates is None else str(dates), ("sold since", "sold weekday"))
    assert model.schema_.table_names == ("size", "price", "sold")
    rows = [{"size": s, "price": 1.0, "sold": day} for s, day in zip(SIZE, DAYS, strict=True)]
    single = [list(model.predict_proba_one(row).values()) for row in rows]
    np.testing.assert_allclose(model.predict_proba(rows), single, rtol=0, atol=1e-12)


def test_codecs_grow_by_dates():
    waiting = codec(Column("sold", "numeric", cut_after=3, part="date"))
    for day in ("2024-01-01", date(2024, 1, 2)):
        waiting = waiting.with_value(day, 1000)
    assert waiting.column.values == (1704067200, 1704153600)
    cut = waiting.with_value("2024-01-03", 1000)
    assert cut.column.part == "date"
    assert cut.find("2024-01-01", -1) == 0


def test_an_encoder_names_parts_in_what_comes_out():
    encoder = Encoder(dates={"when": "month"}).fit(pd.DataFrame({"when": DAYS, "size": SIZE}), Y)
    assert encoder.get_feature_names_out().tolist() == ["when month", "size"]
    assert encoder.transform({"when": ["2024-05-31"], "size": ["M"]}).tolist() == [[4, 1]]
    array = Encoder(dates={0: "month"}).fit(np.array([DAYS, SIZE], dtype=object).T, Y)
    assert array.get_feature_names_out(["a", "b"]).tolist() == ["a month", "b"]


def test_rows_in_the_order_of_dates_are_noticed_whatever_their_name():
    runs = LabelRuns()
    runs.add(np.arange(N) % 2, ["a", "b"])
    rising = [("sold", lambda: np.arange(N))]
    assert row_order(runs, rising).kind == "none"
    assert row_order(runs, rising, {"sold"}).kind == "time"
