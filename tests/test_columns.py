"""One policy for columns: every row of the tables in docs/columns.md, through every door into the library."""

import contextlib
import io
import json
import os
import re
import sys
import warnings
from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from tanager import (
    AODE,
    Column,
    DataError,
    DataWarning,
    EvolvingNaiveBayes,
    HalfLives,
    NaiveBayes,
    OptionError,
    Schema,
    SchemaMismatch,
    load,
)
from tanager.cli.main import main
from tanager.cluster import fit as fit_in_parts
from tanager.cluster import run_here
from tanager.encoding.marks import MARKS
from tanager.encoding.policy import Run
from tanager.evaluate.plan import LabelledTable, order_of
from tanager.files import open_table, read_labelled
from tanager.service.models import ServedModel

LEAVES_OUT = True
N = 48
Y = ["no", "yes"] * (N // 2)
USEFUL = {"size": ["S", "M", "M", "L"] * (N // 4), "age": [20.5 + (7 * i) % 31 for i in range(N)]}
LEFT_OUT = "ignore:.* left out:tanager.errors.DataWarning"
UNSEEN = "ignore:.* never seen in training:tanager.errors.DataWarning"
pytestmark = pytest.mark.filterwarnings(LEFT_OUT)


# --- doors to learn by: all take columns by name and give a model ----------------------------------------------------


def by_frame(X, options, folder):
    return AODE(**options).fit(pd.DataFrame(X), Y)


def by_dict(X, options, folder):
    return AODE(**options).fit(X, Y)


def by_array(X, options, folder):
    array = np.array([np.array(cells, dtype=object) for cells in X.values()], dtype=object).T
    return AODE(**options).fit(array, Y)


def by_command(X, options, folder):
    pd.DataFrame(X).assign(**{"class": Y}).to_csv(folder / "train.csv", index=False)
    flags = ["--keep", ",".join(options["keep"])] if "keep" in options else []
    for column, parts in options.get("dates", {}).items():
        flags += ["--dates", f"{column}={','.join(parts)}"]
    done = CliRunner().invoke(main, ["fit", str(folder / "train.csv"), "-o", str(folder / "m.tanager"), *flags])
    assert done.exit_code == 0, done.output + done.stderr
    return load(folder / "m.tanager")


def by_chunks(X, options, folder):
    model, frame = AODE(**options, warm_up=40), pd.DataFrame(X)
    for start in range(0, N, 16):
        model.partial_fit(frame[start : start + 16], Y[start : start + 16])
    return model


def by_rows(X, options, folder):
    model = AODE(**options, warm_up=40)
    for r, label in enumerate(Y):
        model.learn_one({name: cells[r] for name, cells in X.items()}, label)
    return model


def by_parts(X, options, folder):
    frame = pd.DataFrame(X)
    parts = [[(frame[start : start + 16], Y[start : start + 16], None)] for start in range(0, N, 16)]
    return fit_in_parts(AODE(**options), run_here(parts))


def by_dask(X, options, folder):
    frame = pytest.importorskip("dask.dataframe", reason="the extra 'dask' is not installed")
    from tanager.dask import fit

    table = frame.from_pandas(pd.DataFrame(X).assign(**{"class": Y}), npartitions=3)
    return fit(AODE(**options), table, target="class", scheduler="sync")


def by_spark(X, options, folder):
    sql = pytest.importorskip("pyspark.sql", reason="the extra 'spark' is not installed")
    from tanager.spark import fit

    os.environ["PYSPARK_PYTHON"] = sys.executable  # else workers take another Python
    table = pd.DataFrame(X).assign(**{"class": Y})
    with contextlib.suppress(pa.ArrowException):  # cells of mixed types, of which Spark itself makes text
        table = pa.Table.from_pandas(table)
    session = sql.SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "createDataFrame attempted Arrow optimization", UserWarning)
        rows = session.createDataFrame(table)
    return fit(AODE(**options), rows, target="class")


STREAMS = (by_chunks, by_rows)
ENGINES = [pytest.param(door, marks=pytest.mark.long) for door in (by_dask, by_spark)]  # they take seconds to start
DOORS = (by_frame, by_dict, by_array, by_command, *STREAMS, by_parts, *ENGINES)

USELESS = {
    "an id": ([f"n-{i}" for i in range(N)], "every row has its own value", True),
    "almost an id": (["n-1", *(f"n-{i}" for i in range(1, N))], "almost every row has its own value", True),
    "an id with gaps": ([f"n-{i}" if i % 3 else None for i in range(N)], "every row has its own value", True),
    "row numbers": (list(range(1, N + 1)), f"row numbers: every number from 1 to {N} once", True),
    "row numbers, mixed": ([(5 * i) % 48 - 3 for i in range(N)], "row numbers: every number from -3 to 44 once", True),
    "one value": (["same"] * N, "one value only", False),
    "one number and gaps": ([2.5 if i % 5 else None for i in range(N)], "one value only", False),
}


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
@pytest.mark.parametrize("what", USELESS)
def test_useless_columns_are_left_out_by_every_door(tmp_path, door, what):
    cells, reason, of_streams = USELESS[what]
    schema = door({"odd": cells, **USEFUL}, {}, tmp_path).schema_
    if door in STREAMS and what == "almost an id":
        reason = "almost every row has its own value"
    if door in STREAMS and "row numbers" in what:  # those of the warm-up
        reason = "row numbers: every number from 1 to 40 once" if what == "row numbers" else None
    left_out = {gone.name: gone.reason for gone in schema.left_out}
    name = "x0" if door is by_array else "odd"
    if door in STREAMS and not (of_streams and reason):
        assert left_out == {}
    else:
        assert left_out == {name: reason}
        assert schema.left_out[0].place == 0
    kept = door({"odd": cells, **USEFUL}, {"keep": ["x0" if door is by_array else "odd"]}, tmp_path).schema_
    assert kept.left_out == ()
    assert len(kept) == 3


USEFUL_TOO = {
    "categories": (["a", "b", "c", "a"] * 12, "categorical"),
    "distinct numbers": ([i * i / 7 for i in range(N)], "numeric"),
    "numbers with holes": ([3 * i for i in range(N)], "numeric"),
    "numbers twice": ([i // 2 for i in range(N)], "numeric"),
    "numbers as text": ([f"{i % 24}.5" for i in range(N)], "numeric"),
    "zip codes": ([f"0{i % 24}" for i in range(N)], "categorical"),
}


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
@pytest.mark.parametrize("what", USEFUL_TOO)
def test_useful_columns_are_of_the_same_kind_by_every_door(tmp_path, door, what):
    cells, kind = USEFUL_TOO[what]
    schema = door({"odd": cells, **USEFUL}, {}, tmp_path).schema_
    assert schema.left_out == ()
    assert schema.columns[0].kind == kind


DAYS = [datetime(2024, 1, 1, 8) + timedelta(days=7 * i, hours=i % 5) for i in range(N)]
DATES = {
    "objects": DAYS,
    "datetime64": np.array(DAYS, dtype="datetime64[s]").astype(object).tolist(),
    "text": [str(day) for day in DAYS],
    "text with gaps": [None if i % 9 == 4 else day.isoformat() for i, day in enumerate(DAYS)],
    "days": [day.date() for day in DAYS],
    "days as text": [str(day.date()) for day in DAYS],
}


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
@pytest.mark.parametrize("what", DATES)
def test_dates_are_dates_by_every_door(tmp_path, door, what):
    schema = door({"odd": DATES[what], **USEFUL}, {}, tmp_path).schema_
    assert (schema[0].kind, schema[0].part) == ("numeric", "date")
    name = "x0" if door is by_array else "odd"
    options = {"dates": {name: ["month", "weekday", "since"]}}
    schema = door({"odd": DATES[what], **USEFUL}, options, tmp_path).schema_
    assert schema.names[:3] == (f"{name} month", f"{name} weekday", f"{name} since")
    assert [column.part for column in schema.columns[:3]] == ["month", "weekday", "since 2024-01-01"]
    assert len(schema.table_names) == 3


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_one_date_only_is_left_out_like_any_constant(tmp_path, door):
    schema = door({"odd": ["2024-05-31"] * N, **USEFUL}, {}, tmp_path).schema_
    assert [gone.reason for gone in schema.left_out] == ([] if door in STREAMS else ["one value only"])


MIXED = {
    "mixed types": ([1, "a", 2.5, "b"] * 12, "categorical", (1, "a", 2.5, "b"), ("1", "a", "2.5", "b")),
    "numbers and numbers as text": ([1, "1", 2, "x"] * 12, "categorical", (1, "1", 2, "x"), ("1", "2", "x")),
    "text as few numbers": (["1", "2", "3", "2"] * 12, "categorical", ("1", "2", "3"), (1, 2, 3)),
    "huge whole numbers": (
        [2**60 + i % 2 for i in range(N)],
        "categorical",
        (2**60, 2**60 + 1),
        (str(2**60), str(2**60 + 1)),
    ),
    "dates among text": (["2024-05-31", "soon", "2024-06-01", "later"] * 12, "categorical", None, None),
}


def is_text(door, cells):
    """Whether a column becomes text at a door: those of an engine have one type, and mixed ones are written as text."""
    return door in (by_dask, by_spark) and len(set(map(type, cells))) > 1


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
@pytest.mark.parametrize("what", MIXED)
def test_odd_columns_are_of_the_same_kind_by_every_door(tmp_path, door, what):
    cells, kind, values, in_a_file = MIXED[what]
    column = door({"odd": cells, **USEFUL}, {}, tmp_path).schema_[0]
    wanted = in_a_file if door is by_command or is_text(door, cells) else values
    assert column.kind == kind
    assert set(column.values) == set(cells if wanted is None else wanted)
    assert column.part == ""


def marks_among(cells, every=7):
    """Cells, of which some are marks of missing ones, each of them somewhere."""
    return [MARKS[(r // every) % len(MARKS)] if r % every == 3 else cell for r, cell in enumerate(cells)]


TAKEN_AS_MISSING = "ignore:.* stands for missing cells:tanager.errors.DataWarning"
MARKED = {
    "numbers as text": [f"{(5 * i) % 24}.5" for i in range(N)],
    "numbers": [(5 * i) % 24 + 0.5 for i in range(N)],
    "few numbers as text": [str(i % 4) for i in range(N)],
    "few numbers": [i % 4 for i in range(N)],
    "dates": [str(day.date()) for day in DAYS],
}


@pytest.mark.filterwarnings(TAKEN_AS_MISSING, UNSEEN)
@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
@pytest.mark.parametrize("what", MARKED)
def test_marks_of_missing_cells_among_numbers_are_missing_by_every_door(tmp_path, door, what):
    cells = marks_among(MARKED[what])
    gaps = [None if cell in MARKS else str(cell) if is_text(door, cells) else cell for cell in cells]
    model, twin = (door({"odd": own, **USEFUL}, {}, tmp_path) for own in (cells, gaps))
    assert model.schema_ == twin.schema_
    assert not set(MARKS) & set(model.schema_[0].values)
    np.testing.assert_array_equal(model.counts_.class_counts, twin.counts_.class_counts)
    asked = {
        "odd": [str(cell) for cell in cells[:12]] if is_text(door, cells) else cells[:12],
        **{name: own[:12] for name, own in USEFUL.items()},
    }
    empty = {**asked, "odd": gaps[:12]}
    if door is by_array:
        asked, empty = (pd.DataFrame(X).to_numpy() for X in (asked, empty))
    np.testing.assert_array_equal(model.predict_proba(asked), twin.predict_proba(empty))


def test_marks_of_missing_cells_are_told_once():
    X = {"age": marks_among(MARKED["numbers as text"]), "sold": ["?", *MARKED["dates"][1:]], "kind": ["?", "a"] * 24}
    sentence = (
        "2 columns have text among numbers or dates that stands for missing cells: 'age' ('?', 'NA', 'N/A', 'n/a', "
        "'#N/A', ...), 'sold' ('?'). Give None there; or learn the text as values, with categorical=['age', 'sold']."
    )
    with pytest.warns(DataWarning) as told:
        model = NaiveBayes().fit(X, Y)
    assert [str(word.message) for word in told] == [sentence]
    assert model.schema_["kind"].values == ("?", "a")  # text: a value as any other
    model.predict(X)
    model.partial_fit(X, Y)
    as_values = NaiveBayes(categorical=["age", "sold"]).fit(X, Y)
    assert "?" in as_values.schema_["age"].values


@pytest.mark.filterwarnings(TAKEN_AS_MISSING, UNSEEN)
def test_marks_of_missing_cells_come_late_in_a_stream():
    """Chunks and single rows agree, whatever came first."""
    firsts = {"whole": [i % 3 for i in range(8)], "text": [str(i % 3) for i in range(8)], "mark": ["?", "1"] * 4}
    later = [("?", "x", "?"), ("x", "?"), ("NA", "7", "?")]
    for first, cells in ((cells, more) for cells in firsts.values() for more in later):
        rows = [{"a": cell, "b": "uv"[r % 2]} for r, cell in enumerate(first * 3)]
        start = NaiveBayes(warm_up=24).partial_fit(rows, Y[: len(rows)])
        more = [{"a": cell, "b": "u"} for cell in cells]
        whole, single = fresh(start).partial_fit(more, Y[: len(more)]), fresh(start)
        for row, label in zip(more, Y, strict=False):
            single.learn_one(row, label)
        assert whole.schema_ == single.schema_, first
        np.testing.assert_array_equal(whole.predict_proba(more), single.predict_proba(more))


@pytest.mark.parametrize(
    "door", [by_frame, by_chunks, by_parts, "command", "service"], ids=lambda door: getattr(door, "__name__", door)
)
def test_names_given_twice_are_refused_by_every_door(tmp_path, door):
    twice = pd.DataFrame([[i % 3, i % 5, i % 7] for i in range(N)], columns=["a", "b", "a"])
    if door == "command":
        (tmp_path / "twice.csv").write_text("a,b,a,class\n" + "1,2,3,x\n2,3,4,y\n" * 20)
        done = CliRunner().invoke(main, ["fit", str(tmp_path / "twice.csv")])
        assert done.exit_code != 0
        assert "columns 1 and 3 are both named 'a'. Rename one of them." in done.stderr
    elif door == "service":
        from tanager.service.errors import ServiceError
        from tanager.service.messages import PredictRequest
        from tanager.service.rows import request_rows

        with pytest.raises(ServiceError, match=r"columns has 'a' twice. Give every name once"):
            request_rows(PredictRequest(columns=["a", "a"], rows=[[1, 2]]), 10)
    else:
        with pytest.raises(DataError, match="'a' is the name of more than one column"):
            door(twice, {}, tmp_path)


def test_one_warning_names_all_columns_at_the_line_of_the_caller():
    with pytest.warns(DataWarning) as told:
        NaiveBayes().fit({"id": [f"n{i}" for i in range(N)], "k": [1] * N, **USEFUL}, Y)
    (word,) = told
    assert str(word.message) == (
        "2 columns are left out: 'id' (every row has its own value), 'k' (one value only). "
        "Keep them with keep=['id', 'k'], or drop them from the table."
    )
    assert word.filename == __file__


def test_few_rows_and_columns_that_are_named_stay():
    few = {"id": [f"n{i}" for i in range(19)], "k": [1] * 19, "r": list(range(19))}
    assert NaiveBayes().fit(few, Y[:19]).schema_.left_out == ()
    X = {"id": [f"n{i}" for i in range(N)], "k": [1.5] * N, "r": list(range(N)), "s": ["S"] * N}
    named = NaiveBayes(categorical=["id"], numeric=["k"], bins={"r": [9.5]}, ordinal={"s": ["S", "M"]})
    assert named.fit(X, Y).schema_.left_out == ()
    assert NaiveBayes(keep="all").fit(X, Y).schema_.left_out == ()
    assert NaiveBayes(keep=[0, "r", -1]).fit(X, Y).schema_.names == ("id", "r", "s")
    with pytest.raises(OptionError, match=r"keep: X has no column 'idd'.*Did you mean 'id'"):
        NaiveBayes(keep=["idd"]).fit(X, Y)
    codes = np.zeros((N, 2), dtype=np.uint8)
    assert NaiveBayes().fit(codes, Y).schema_.left_out == ()
    declared = pd.DataFrame({"a": pd.Categorical(["u"] * N, ["u", "v"]), **USEFUL})
    assert NaiveBayes().fit(declared, Y).schema_.left_out == ()


def test_where_nothing_would_remain_all_stays_with_a_word():
    with pytest.warns(DataWarning, match="no column tells anything: 'id', text; every row has its own value; kept"):
        model = NaiveBayes().fit({"id": [f"n{i}" for i in range(N)]}, Y)
    assert model.schema_.names == ("id",)


def test_arrays_are_matched_by_place_with_the_columns_that_are_left_out():
    array = np.array([[i, i % 3, (7 * i) % 11] for i in range(N)], dtype=float)
    model = AODE().fit(array, Y)
    assert [gone.name for gone in model.schema_.left_out] == ["x0"]
    assert model.n_features_in_ == 3
    own = AODE().fit(array[:, 1:], Y)
    np.testing.assert_array_equal(model.predict_proba(array), own.predict_proba(array[:, 1:]))
    with pytest.raises(SchemaMismatch, match="X has 2 features, but AODE is expecting 3"):
        model.predict(array[:, 1:])
    model.partial_fit(array, Y)
    np.testing.assert_array_equal(
        model.predict_proba(array), own.partial_fit(array[:, 1:], Y).predict_proba(array[:, 1:])
    )


def test_rows_of_a_stream_may_go_on_naming_what_is_left_out():
    model = by_rows({"id": [f"n-{i}" for i in range(N)], **USEFUL}, {}, None)
    row = {"id": "another", "size": "S", "age": 30.0}
    model.learn_one(row, "yes")
    assert model.schema_.names == ("size", "age")
    assert model.predict_proba_one(row) == model.predict_proba_one({"size": "S", "age": 30.0})


def test_a_stream_of_text_waits_until_ids_can_be_told():
    model = NaiveBayes()
    for r in range(1000):
        model.learn_one({"id": f"n{r}", "sky": "sun" if r % 2 else "rain"}, "ab"[r % 2])
    assert [gone.name for gone in model.schema_.left_out] == ["id"]
    soon = NaiveBayes()
    for r in range(4):
        soon.learn_one({"sky": "sun" if r % 2 else "rain"}, "ab"[r % 2])
    assert soon.columns_fixed


# --- doors to answer by: all take a table of columns and give probabilities ------------------------------------------


def ask_frame(model, X, folder):
    return model.predict_proba(pd.DataFrame(X))


def ask_dict(model, X, folder):
    return model.predict_proba(X)


def ask_rows(model, X, folder):
    return model.predict_proba([dict(zip(X, cells, strict=True)) for cells in zip(*X.values(), strict=True)])


def ask_one_by_one(model, X, folder):
    rows = [dict(zip(X, cells, strict=True)) for cells in zip(*X.values(), strict=True)]
    return np.array([list(model.predict_proba_one(row).values()) for row in rows])


def ask_command(model, X, folder):
    model.save(folder / "asked.tanager")
    pd.DataFrame(X).to_csv(folder / "asked.csv", index=False)
    out = folder / "out.parquet"
    words = ["predict", folder / "asked.tanager", folder / "asked.csv", "--proba", "-o", out]
    done = CliRunner().invoke(main, [str(word) for word in words])
    assert done.exit_code == 0, done.output + done.stderr
    return pd.read_parquet(out)[[f"probability_{label}" for label in model.classes_]].to_numpy()


def ask_service(model, X, folder):
    import msgspec

    from tanager.service.messages import PredictRequest
    from tanager.service.rows import request_rows

    store = ReadOnly(model)
    one = ServedModel("m", store, remember=10, remember_seconds=10, read_only=True)
    cells = [[None if cell != cell else cell for cell in row] for row in zip(*X.values(), strict=True)]
    sent = json.dumps({"columns": list(X), "rows": cells})
    rows = request_rows(msgspec.json.decode(sent, type=PredictRequest), 10_000)
    return np.array(json.loads(msgspec.json.encode(one.predict(rows, None, None)))["probabilities"])


class ReadOnly:
    """A model that is served as it is."""

    def __init__(self, model):
        import threading

        self.model, self.lock, self.sequence = model, threading.RLock(), 0


ASKING = (ask_frame, ask_dict, ask_rows, ask_one_by_one, ask_command, ask_service)


@pytest.fixture(scope="module")
def model():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return AODE().fit(
            pd.DataFrame({"id": [f"n{i}" for i in range(N)], **USEFUL, "on": [True, True, False] * 16}), Y
        )


ROWS = {"size": ["S", "M", "L"], "age": [22.0, 40.0, None], "on": [True, False, None]}
ASKED = {
    "as learned": {"id": ["x", "y", "z"], **ROWS},
    "without what is left out": ROWS,
    "reordered": {name: ROWS[name] for name in ("on", "age", "size")},
    "with further columns": {"more": [1, 2, 3], **ROWS, "note": ["u", "v", "w"]},
    "without a column": {"size": ROWS["size"], "on": ROWS["on"]},
    "with values never seen": {**ROWS, "size": ["XL", "M", "XXL"]},
    "with numbers as text": {**ROWS, "age": ["22", "40.0", None]},
    "with marks of missing cells": {**ROWS, "age": ["22", "40.0", "?"]},
}


@pytest.mark.filterwarnings("ignore::tanager.errors.DataWarning")
@pytest.mark.parametrize("ask", ASKING, ids=lambda ask: ask.__name__)
@pytest.mark.parametrize("what", ASKED)
def test_every_door_answers_alike(tmp_path, model, ask, what):
    X = ASKED[what]
    plain = {name: list(ROWS[name]) if name in X else [None] * 3 for name in ROWS}
    if what == "with values never seen":
        plain["size"] = [None, "M", None]
    wanted = np.array(
        [
            list(model.predict_proba_one(dict(zip(plain, row, strict=True))).values())
            for row in zip(*plain.values(), strict=True)
        ]
    )
    np.testing.assert_allclose(ask(model, X, tmp_path), wanted, rtol=0, atol=1e-12)


def fresh(model):
    """The same model, which has told nothing yet."""
    file = io.BytesIO()
    from tanager.persist import from_bytes, to_bytes

    file.write(to_bytes(model))
    return from_bytes(file.getvalue())


def test_what_is_missing_or_ignored_is_told_once(model):
    asked = fresh(model)
    with pytest.warns(DataWarning, match=r"2 of 3 columns are missing \('age', 'on'\): answered without them."):
        asked.predict({"size": ["S"]})
    asked.predict({"size": ["S"]})
    with pytest.warns(DataWarning, match=r"1 column that AODE was not fitted on \('more'\): ignored."):
        asked.predict(pd.DataFrame({"more": [1], "size": ["S"], "age": [20.0], "on": [True]}))
    asked.predict(pd.DataFrame({"more": [1], "size": ["S"], "age": [20.0], "on": [True]}))
    with pytest.raises(
        SchemaMismatch, match=r"none of the 3 columns that AODE was fitted on: it has 'sizes', expected"
    ):
        asked.predict(pd.DataFrame({"sizes": ["S"]}))


@pytest.mark.filterwarnings("error::UserWarning")
@pytest.mark.parametrize("kind", [AODE, EvolvingNaiveBayes, HalfLives])
@pytest.mark.parametrize("way", ["columns", "rows", "stream"])
def test_frames_are_matched_by_name_after_dicts_were_learned(way, kind):
    """As after a frame: a column is missing, another one is new, and the rest is found wherever it stands."""
    X = {"size": USEFUL["size"], "on": [True, True, False] * 16}
    rows = [dict(zip(X, cells, strict=True)) for cells in zip(*X.values(), strict=True)]
    model = kind().partial_fit(rows, Y) if way == "stream" else kind().fit(rows if way == "rows" else X, Y)
    frame = pd.DataFrame(X)[:3]
    wanted = model.predict_proba(rows[:3])
    np.testing.assert_array_equal(model.predict_proba(frame), wanted)
    with pytest.warns(DataWarning, match=r"not fitted on \('more'\): ignored"):
        np.testing.assert_array_equal(model.predict_proba(frame[["on", "size"]].assign(more=1)), wanted)
    with pytest.warns(DataWarning, match=r"1 of 2 columns is missing \('size'\): answered without it"):
        np.testing.assert_array_equal(
            model.predict_proba(frame[["on"]]), model.predict_proba([{"on": row["on"]} for row in rows[:3]])
        )


def test_values_never_seen_are_told_once_with_their_number(model):
    asked = fresh(model)
    sentence = "column 'size': 3 cells hold 2 values never seen in training ('XL', 'XXL'): treated as missing."
    with pytest.warns(DataWarning, match=re.escape(sentence)) as told:
        asked.predict({**ROWS, "size": ["XL", "XXL", "XL"]})
    assert told[0].filename == __file__
    asked.predict({**ROWS, "size": ["XL", "XXL", "XL"]})
    assert asked.encoder_.unseen_values.n_cells == {"size": 6}


def test_text_in_a_number_column_is_refused_with_its_place(model):
    with pytest.raises(DataError, match="column 'age', row 1: 'old' is not a number, and the column is numeric"):
        model.predict({**ROWS, "age": ["20", "old", "30"]})


DATED = {
    "objects": [datetime(2024, 2, 5, 9), None, datetime(2024, 9, 9)],
    "text": ["2024-02-05 09:00", None, "2024-09-09"],
    "text of a zone": ["2024-02-05T18:00+09:00", None, "2024-09-09T00:00:00Z"],
    "seconds": [1707123600, None, 1725840000.0],
}


@pytest.mark.parametrize("ask", ASKING, ids=lambda ask: ask.__name__)
@pytest.mark.parametrize("what", DATED)
@pytest.mark.parametrize("dates", [None, "parts"])
def test_every_door_answers_dates_alike(tmp_path, ask, what, dates):
    model = AODE(dates=dates).fit(pd.DataFrame({"sold": DAYS, **USEFUL}), Y)
    if what == "seconds" and ask is ask_command:
        pytest.skip("in a file dates are text")
    if what == "objects" and ask is ask_service:
        pytest.skip("in JSON dates are text")
    X = {"sold": DATED[what], "size": ["S", "M", "L"], "age": [22.0, 40.0, 21.0]}
    wanted = model.predict_proba({**X, "sold": np.array(["2024-02-05T09", "NaT", "2024-09-09"], "datetime64[s]")})
    np.testing.assert_allclose(ask(model, X, tmp_path), wanted, rtol=0, atol=1e-12)


def test_what_is_no_date_is_refused_with_its_place(tmp_path):
    from tanager.service.errors import ServiceError

    model = AODE(dates="parts").fit(pd.DataFrame({"sold": DAYS, **USEFUL}), Y)
    X = {"sold": ["2024-02-05", "soon"], "size": ["S", "M"], "age": [22.0, 40.0]}
    for ask in (ask_frame, ask_dict, ask_rows):
        with pytest.raises(DataError, match="column 'sold', row 1: 'soon' is not a date, and the column holds dates"):
            ask(model, X, tmp_path)
    with pytest.raises(ServiceError, match=r"rows\[1\].sold is 'soon'; the column takes dates, such as"):
        ask_service(model, X, tmp_path)
    model.save(tmp_path / "m.tanager")
    pd.DataFrame(X).to_csv(tmp_path / "asked.csv", index=False)
    done = CliRunner().invoke(main, ["predict", str(tmp_path / "m.tanager"), str(tmp_path / "asked.csv")])
    assert done.exit_code != 0
    assert "row 1: 'soon' is not a date" in done.stderr


def test_a_file_in_the_order_of_its_dates_is_told(tmp_path):
    frame = pd.DataFrame({"sold": [str(day) for day in DAYS], **USEFUL, "class": Y})
    frame.to_csv(tmp_path / "dated.csv", index=False)
    sentence = "rows are in the order of 'sold': random folds and leave-one-out flatter"
    fitted = CliRunner().invoke(main, ["fit", str(tmp_path / "dated.csv"), "-o", str(tmp_path / "d.tanager")])
    assert fitted.exit_code == 0, fitted.stderr
    assert sentence in " ".join(fitted.stderr.split())
    labelled = read_labelled(open_table(tmp_path / "dated.csv"), "class")
    assert order_of(LabelledTable.of(labelled.X, labelled.y)).column == "sold"
    frame.sample(frac=1, random_state=0).to_csv(tmp_path / "mixed.csv", index=False)
    mixed = CliRunner().invoke(main, ["fit", str(tmp_path / "mixed.csv"), "-o", str(tmp_path / "d.tanager")])
    assert sentence not in " ".join(mixed.stderr.split())


def test_columns_of_another_model_come_with_its_dates(tmp_path):
    by_command({"sold": DATES["text"], **USEFUL}, {"dates": {"sold": ["month", "since"]}}, tmp_path)
    words = ["fit", tmp_path / "train.csv", "--schema-from", tmp_path / "m.tanager", "-o", tmp_path / "like.tanager"]
    done = CliRunner().invoke(main, [str(word) for word in words])
    assert done.exit_code == 0, done.stderr
    assert load(tmp_path / "like.tanager").schema_ == load(tmp_path / "m.tanager").schema_


def test_more_rows_are_learned_by_name():
    X = pd.DataFrame({**USEFUL, "on": [True, True, False] * 16})
    for start in (AODE().fit(X, Y), AODE().partial_fit(X, Y)):  # columns fixed, and still warming up
        twin = fresh(start).partial_fit(X.assign(on=None), Y)
        with pytest.warns(DataWarning) as told:
            start.partial_fit(X[["age", "size"]].assign(more=1), Y)
        assert sorted(str(word.message) for word in told)[0].startswith("1 column that AODE was not fitted on ('more')")
        assert "1 of 3 columns is missing ('on'): learned without it." in {str(word.message) for word in told}
        np.testing.assert_allclose(start.predict_proba(X), twin.predict_proba(X), rtol=0, atol=1e-12)


def test_huge_whole_numbers_are_told_apart():
    for base in (2**60, 2**63, 2**70):
        for gap in ([], [None]):
            cells = [base + i % 2 for i in range(N - len(gap))] + gap
            model = NaiveBayes().fit({"key": cells}, Y)
            proba = model.predict_proba({"key": [base, base + 1]})
            assert proba[0, 0] > 0.9 > 0.1 > proba[1, 0]
            assert model.predict_proba_one({"key": base + 1})["no"] == proba[1, 0]
    cells = [2**60 + i % 2 for i in range(N - 2)] + [None, None]
    for key in (pd.Series(cells, dtype="Int64"), pa.array(cells, pa.int64())):
        assert NaiveBayes().fit({"key": key}, Y).schema_["key"].values == (2**60, 2**60 + 1)


def test_huge_whole_numbers_in_a_file_are_told_apart(tmp_path):
    model = by_command({"key": [2**60 + i % 2 for i in range(N)], **USEFUL}, {}, tmp_path)
    assert model.schema_["key"].values == (str(2**60), str(2**60 + 1))


def test_names_given_twice_are_refused():
    with pytest.raises(DataError, match=r"'a' is the name of more than one column. Rename or drop the duplicates"):
        AODE().fit(pd.DataFrame([[1, 2]] * N, columns=["a", "a"]), Y)


def test_a_row_of_a_frame_is_a_row(model):
    X = pd.DataFrame({**USEFUL, "on": [True, True, False] * 16})
    asked = fresh(model)
    assert str(asked.explain(X.iloc[3])) == str(asked.explain(X.iloc[3].to_dict()))
    assert asked.predict_proba_one(X.iloc[3]) == asked.predict_proba_one(X.iloc[3].to_dict())
    asked.learn_one(X.iloc[3], "yes")
    unnamed = NaiveBayes().fit(X.to_numpy(), Y)
    assert unnamed.explain(X.set_axis([0, 1, 2], axis=1).iloc[3]).values["x0"] == "L"


# --- what was decided -------------------------------------------------------------------------------------------------


def test_a_schema_is_printed_changed_saved_and_given_again(tmp_path, model):
    schema = model.schema_
    assert "id      left out" in str(schema)
    schema.save(tmp_path / "schema.json")
    again = Schema.load(tmp_path / "schema.json")
    assert (again, again.left_out) == (schema, schema.left_out)
    assert again.table_names == ("id", "size", "age", "on")
    less = schema.without("age")
    assert [gone.name for gone in less.left_out] == ["id", "age"]
    assert less.places == (1, 3)
    back = less.change("age", kind="numeric", cuts=(30.0,))
    assert back["age"] == Column("age", "numeric", cuts=(30.0,))
    assert back.table_names == schema.table_names
    X = {"id": [f"n{i}" for i in range(N)], **USEFUL, "on": [True, True, False] * 16}
    assert AODE(schema=less).fit(X, Y).schema_.names == ("size", "on")
    assert AODE(schema=back).fit(X, Y).schema_["age"].cuts == (30.0,)
    with pytest.raises(DataError, match=r"no column 'agee' to leave out. Did you mean 'age'"):
        schema.without("agee")
    (tmp_path / "bad.json").write_text("[1]")
    with pytest.raises(DataError, match="holds no schema"):
        Schema.load(tmp_path / "bad.json")


def test_a_saved_model_knows_what_it_leaves_out(model):
    loaded = fresh(model)
    assert loaded.schema_.left_out == model.schema_.left_out
    assert loaded.n_features_in_ == 4
    assert loaded.feature_names_in_.tolist() == ["id", "size", "age", "on"]


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=12), st.integers(0, 11))
def test_sums_tell_whether_numbers_run_through_a_range(numbers, at):
    whole = np.array(numbers)
    parts = [Run.of(part) for part in (whole[:at], whole[at:])]
    run = parts[0] + parts[1] if None not in parts else parts[0] or parts[1]
    assert run.through_a_range == (sorted(numbers) == list(range(min(numbers), max(numbers) + 1)))


def test_row_numbers_are_found_by_sums():
    for low in (-7, 0, 2**62):
        numbers = np.random.default_rng(0).permutation(1000) + low
        assert Run.of(numbers).through_a_range
        numbers[5] = numbers[6]
        assert not Run.of(numbers).through_a_range


# --- the law: one table, the same answers -----------------------------------------------------------------------------


@st.composite
def tables(draw):
    """Categories, numbers, dates, gaps, an id and a constant, in any order; the last rows are to be answered."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = 60
    gaps = draw(st.booleans())
    start = np.datetime64("2023-11-05T03:10", "m") + rng.integers(0, 10**6)
    moments = start + rng.integers(0, draw(st.sampled_from([5000, 800_000])), n)
    columns = {
        "when": np.array([str(moment).replace("T", " ") for moment in moments], dtype=object),
        "colour": rng.choice(["red", "green", "blue"], n).astype(object),
        "size": rng.normal(size=n).round(3).astype(object),
        "grade": rng.integers(1, 6, n).astype(float).astype(object),
        "id": np.array([f"key {i}" for i in rng.permutation(n)], dtype=object),
        "same": np.full(n, "k", dtype=object),
    }
    if gaps:
        for name in ("colour", "size", "grade", "when"):
            columns[name][rng.random(n) < 0.2] = None
    order = draw(st.permutations(sorted(columns)))
    y = np.where(rng.random(n) < 0.3, "yes", np.where(columns["colour"] == "red", "yes", "no"))
    dates = draw(st.sampled_from([None, "parts", ["month", "hour"], ["date", "since", "year", "weekday", "day"]]))
    return {name: columns[name].tolist() for name in order}, y.tolist(), dates


@pytest.mark.filterwarnings(UNSEEN)
@given(tables())
def test_one_table_gives_the_same_answers_by_every_door(tmp_path_factory, table):
    folder = tmp_path_factory.mktemp("law")
    X, y, dates = table
    train, test = ({name: cells[part] for name, cells in X.items()} for part in (slice(0, 50), slice(50, None)))
    frame = pd.DataFrame(train)
    model = AODE(dates=dates).fit(frame, y[:50])
    np.testing.assert_array_equal(
        model.predict_proba(pd.DataFrame(test)),
        AODE(dates=dates)
        .fit(frame.assign(when=pd.to_datetime(frame["when"], format="ISO8601")), y[:50])
        .predict_proba(pd.DataFrame(test)),
    )
    assert {gone.name for gone in model.schema_.left_out} == {"id", "same"}
    wanted = model.predict_proba(pd.DataFrame(test))
    frame.assign(**{"class": y[:50]}).to_csv(folder / "train.csv", index=False)
    flags = [] if dates is None else ["--dates", dates if isinstance(dates, str) else ",".join(dates)]
    words = ["fit", str(folder / "train.csv"), "-o", str(folder / "m.tanager"), "--no-loo", *flags]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output
    learned = load(folder / "m.tanager")
    for ask in (ask_frame, ask_dict, ask_rows, ask_command, ask_service):
        np.testing.assert_array_equal(ask(learned, test, folder), wanted)
    given_again = AODE(schema=model.schema_)
    for start in range(0, 50, 7):
        given_again.partial_fit(frame[start : start + 7], y[start : min(50, start + 7)])
    np.testing.assert_allclose(given_again.predict_proba(pd.DataFrame(test)), wanted, rtol=0, atol=1e-12)
    again = AODE(schema=model.schema_).fit(frame, y[:50])
    np.testing.assert_allclose(again.predict_proba(pd.DataFrame(test)), wanted, rtol=0, atol=1e-12)
