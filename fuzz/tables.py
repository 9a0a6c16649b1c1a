"""Odd tables: files of every format, whole or damaged, frames, arrays, lists and dicts, with odd options.

A table is refused with one sentence, or it is learned, and then its own rows get probabilities.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import math
import random
import sys
import tempfile
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

from fuzz import harness, zoo
from tanager import AODE, KDB, TAN, EvolvingNaiveBayes, HoeffdingTree, NaiveBayes
from tanager.errors import TanagerError
from tanager.files import learn, open_table, unlearn, update

NUMBERS = [
    0,
    1,
    -1,
    2.5,
    1e308,
    -1e308,
    1e155,
    5e-324,
    math.inf,
    -math.inf,
    math.nan,
    2**53,
    2**63,
    2**64,
    10**25,
    -0.0,
]
TEXTS = [
    "",
    " ",
    "a",
    "b",
    "red",
    "?",
    "NA",
    "nan",
    "1",
    "1.0",
    "0x10",
    "1e5",
    "1_000",
    "é",
    "日本",
    "a,b",
    'q"q',
    "l\nl",
]
TEXTS += [
    "\t",
    "'",
    "\\",
    "{",
    "}",
    "%",
    "@data",
    "\ufeff",
    "\u2028",
    "x" * 300,
    "true",
    "2020-01-01",
    "\x7f",
    "\uff11",
]
OBJECTS: list[Any] = [
    None,
    True,
    False,
    "a",
    1,
    2.5,
    math.nan,
    (1, 2),
    b"by",
    b"\xff",
    Decimal("1.5"),
    10**30,
    [1],
    {"k": 1},
]
OBJECTS += [
    date(2020, 1, 1),
    datetime(1, 1, 1),
    timedelta(days=10**6),
    np.float32(1),
    np.datetime64("NaT", "ns"),
    pd.NA,
    1j,
]
OBJECTS += [pd.NaT, object(), "\ud800", frozenset(), Ellipsis, float, np.array([1, 2]), pd.Timestamp("2262-01-01")]
NAMES = [
    "a",
    "b",
    "c",
    "x0",
    "x1",
    "class",
    "é",
    "a b",
    "a,b",
    'a"b',
    "l\nl",
    "1",
    "n" * 200,
    " a",
    "@x",
    "%x",
    "{x}",
    "'",
]
ENCODINGS = [
    "utf-8",
    "utf-8",
    "utf-8",
    "latin-1",
    "utf-16",
    "cp1252",
    "ascii",
    "utf-8-sig",
    "shift_jis",
    "nosuch",
    "hex",
    "",
]


def case(number: int, folder: Path) -> str:
    """Make a table, and learn it from a file or from memory."""
    rng = random.Random(number)
    make = rng.choice([_from_file] * 6 + [_from_memory] * 4)
    try:
        make(rng, folder)
    except TanagerError:
        return "refused"
    return "learned"


# --- files -------------------------------------------------------------------------------------------------------


def _from_file(rng: random.Random, folder: Path) -> None:
    form = rng.choice(["csv"] * 5 + ["arff"] * 2 + ["arrow", "arrows", "parquet", "feather"])
    names, columns = _columns(rng, plain=True)
    data = WRITERS[form](rng, names, columns)
    if rng.random() < (0.8 if form in ("arrow", "arrows", "feather", "parquet") else 0.4):
        data = _damaged(
            rng, data, b"\",;\t\n\r\\'?{}@%\x00\xff\xef\xbb\xbf\xc3" if form in ("csv", "arff") else b"\x00\xff\x7f\x80"
        )
    if form in ("csv", "arff") and rng.random() < 0.1:
        data = gzip.compress(data)
        data = _damaged(rng, data, b"\x00\xff") if rng.random() < 0.5 else data
    path = folder / f"t.{form if rng.random() < 0.9 else 'txt'}"
    path.write_bytes(data)
    options: dict[str, Any] = {}
    if rng.random() < 0.3:
        options["encoding"] = rng.choice(ENCODINGS)
    if rng.random() < 0.2:
        options["delimiter"] = rng.choice([",", ";", "\t", "|", "a", '"', "\n", "ab", "", "é", "\0"])
    if rng.random() < 0.2:
        options["missing"] = rng.sample(TEXTS, 2)
    if rng.random() < 0.1:
        options["format"] = rng.choice(["csv", "tsv", "parquet", "arrow", "arff", "xls"])
    if rng.random() < 0.3:
        options[rng.choice(["categorical", "numeric"])] = [rng.choice(names)]
    source = open_table(path, **options)
    target = source.columns[-1] if rng.random() < 0.9 else rng.choice(names)
    model = _model(rng)
    times = rng.choice(source.columns) if rng.random() < 0.1 else None
    learn(model, source, target, leave_one_out=rng.random() < 0.3, times=times)
    _check(model, open_table(path, **options).match(model).read(model.encoder_.schema.names))
    if rng.random() < 0.4:
        update(model, open_table(path, **options), times=times)
        if rng.random() < 0.5 and hasattr(model, "unlearn"):
            unlearn(model, open_table(path, **options), times=times)
        _check(model, open_table(path, **options).match(model).read(model.encoder_.schema.names))


def _csv(rng: random.Random, names: list[str], columns: list[list[Any]]) -> bytes:
    out = io.StringIO(newline="")
    ends = rng.choice(["\n", "\n", "\r\n", "\r"])
    quoting = rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
    writer = csv.writer(out, delimiter=rng.choice(",,,;\t|"), lineterminator=ends, quoting=quoting)
    writer.writerow(names)
    writer.writerows(zip(*columns, strict=True))
    text = out.getvalue()
    if rng.random() < 0.2:
        lines = text.split("\n")
        lines[rng.randrange(len(lines))] += rng.choice([",1", '"', ",,,", "\n\n", '"\n', 'x"y'])
        text = "\n".join(lines)
    mark = rng.choice([b"", b"", b"", b"\xef\xbb\xbf", b"\n\n"])
    return mark + text.encode(rng.choice(["utf-8", "utf-8", "utf-8", "utf-16", "latin-1"]), errors="replace")


def _arff(rng: random.Random, names: list[str], columns: list[list[Any]]) -> bytes:
    def quoted(cell: Any) -> str:
        text = "?" if cell is None else str(cell)
        return repr(text) if rng.random() < 0.3 or not text.isalnum() else text

    lines = ["@relation r"]
    for name, column in zip(names, columns, strict=True):
        if all(isinstance(cell, int | float) for cell in column):
            kind = rng.choice(["numeric", "real", "INTEGER", "string"])
        else:
            kind = rng.choice(["{" + ",".join(sorted({quoted(cell) for cell in column})) + "}", "string", "date"])
        lines.append(f"@attribute {quoted(name)} {kind}")
    lines.append("@data")
    for row in zip(*columns, strict=True):
        if rng.random() < 0.1:
            lines.append(
                "{" + ",".join(f"{i} {quoted(cell)}" for i, cell in enumerate(row) if rng.random() < 0.5) + "}"
            )
        else:
            lines.append(",".join(quoted(cell) for cell in row))
    return "\n".join(lines).encode(errors="replace")


def _arrow_table(rng: random.Random, names: list[str], columns: list[list[Any]]) -> pa.Table:
    arrays = []
    for column in columns:
        numbers = all(isinstance(cell, int | float) for cell in column)
        cells = [float(cell) for cell in column] if numbers else [None if c is None else str(c) for c in column]
        array = pa.array(cells, from_pandas=False)
        kinds = (
            [pa.float32(), pa.float64()] if numbers else [pa.large_string(), pa.string(), pa.string_view(), None, None]
        )
        kind = rng.choice(kinds)
        arrays.append(array.dictionary_encode() if kind is None else array.cast(kind))
    if rng.random() < 0.2:
        odd = [
            pa.array([date(2020, 1, 1)] * len(arrays[0])),
            pa.array([[1]] * len(arrays[0])),
            pa.nulls(len(arrays[0])),
        ]
        odd += [
            pa.array([Decimal("1.5")] * len(arrays[0])),
            pa.array([b"\xff"] * len(arrays[0])),
            pa.array([{"k": 1}] * len(arrays[0])),
        ]
        odd += [pa.array([True] * len(arrays[0])), pa.array([timedelta(1)] * len(arrays[0]))]
        arrays[rng.randrange(len(arrays))] = rng.choice(odd)
    return pa.Table.from_arrays(arrays, names)


def _arrow(rng: random.Random, names: list[str], columns: list[list[Any]], *, stream: bool = False) -> bytes:
    table, sink = _arrow_table(rng, names, columns), io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression=rng.choice([None, None, "lz4", "zstd"]), emit_dictionary_deltas=stream)
    with (pa.ipc.new_stream if stream else pa.ipc.new_file)(sink, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=rng.choice([5, 100]))
    return sink.getvalue()


def _parquet(rng: random.Random, names: list[str], columns: list[list[Any]]) -> bytes:
    sink = io.BytesIO()
    table = _arrow_table(rng, names, columns)
    try:
        pa.parquet.write_table(
            table, sink, row_group_size=rng.choice([5, 100]), compression=rng.choice(["none", "snappy"])
        )
    except pa.ArrowException:  # string views are not written by all versions
        return b"PAR1"
    return sink.getvalue()


WRITERS: dict[str, Callable[..., bytes]] = {
    "csv": _csv,
    "arff": _arff,
    "arrow": _arrow,
    "feather": _arrow,
    "arrows": lambda *args: _arrow(*args, stream=True),
    "parquet": _parquet,
}


def _damaged(rng: random.Random, data: bytes, odd: bytes) -> bytes:
    cells = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 6])):
        at = rng.randrange(len(cells) + 1)
        how = rng.randrange(4)
        if how == 0:
            cells[at : at + 1] = bytes([rng.choice(odd)])
        elif how == 1:
            cells[at:at] = bytes([rng.choice(odd)]) * rng.choice([1, 2, 3])
        elif how == 2:
            del cells[at : at + rng.choice([1, 1, 5, 50, 10**6])]
        elif at < len(cells):
            cells[at] ^= 1 << rng.randrange(8)
    return bytes(cells)


# --- tables in memory --------------------------------------------------------------------------------------------


def _from_memory(rng: random.Random, folder: Path) -> None:
    form = rng.choice(["pandas", "pandas", "polars", "columns", "dicts", "dicts", "lists", "array", "codes", "arrow"])
    names, columns = _columns(rng, plain=form in ("polars", "arrow"))
    m = len(columns[0])
    y: Any = [rng.choice(["u", "v", "w"]) for _ in range(m)] if rng.random() < 0.8 else _labels(rng, m)
    try:
        X = _table(rng, form, names, columns)
    except UnicodeError:  # half of a character, which frames do not take
        return
    model = _model(rng)
    beside = _beside(rng, m)
    if rng.random() < 0.5:
        model.fit(X, y, **beside)
    else:
        half = _table(rng, form, names, [column[: m // 2] for column in columns]) if m > 1 else X
        model.partial_fit(half, y[: m // 2] if m > 1 and isinstance(y, list) else y)
        model.partial_fit(X, y, **beside)
    _check(model, X)
    if rng.random() < 0.1:  # other columns, or other cells
        other = _table(rng, form, *_columns(rng, plain=form in ("polars", "arrow")))
        with contextlib.suppress(TanagerError):
            _check(model, other)
    if form == "dicts":
        for row in X[:3]:
            answer = model.predict_proba_one(row)
            assert all(math.isfinite(p) for p in answer.values()), answer
            model.learn_one(row, y[0] if isinstance(y, list) else y)
            model.predict_proba_one({name: rng.choice(OBJECTS[:7]) for name in names})
    _check(model, X)


def _labels(rng: random.Random, m: int) -> Any:
    """Odd labels: any cells, too few or too many of them, a table, or none."""
    cells = _cells(rng, m, plain=False)
    shapes = [[[cell] for cell in cells], [cells], pd.DataFrame({"y": pd.Series(cells, dtype=object)}), {"y": cells}]
    odd = [cells[1:], [*cells, "u"], "uvw"[: min(m, 3)], 3, None, pl.Series(["u"] * m), pa.array(["u"] * m), *shapes]
    return cells if rng.random() < 0.6 else rng.choice(odd)


def _beside(rng: random.Random, m: int) -> dict[str, Any]:
    """Weights and times, some of them odd."""
    beside: dict[str, Any] = {}
    if rng.random() < 0.2:
        odd = [math.nan, math.inf, -1, None, "1", 1e300] if rng.random() < 0.3 else []
        beside["sample_weight"] = [rng.choice([0, 1, 2.5, 1e-300, 1e100, *odd]) for _ in range(m)]
    if rng.random() < 0.1:
        odd = [math.nan, math.inf, None, "x", 1e308, pd.NaT] if rng.random() < 0.5 else []
        beside["times"] = [rng.choice([0, 1, 2.5, datetime(2020, 1, 1), *odd]) for _ in range(m)]
    return beside


def _table(rng: random.Random, form: str, names: list[str], columns: list[list[Any]]) -> Any:
    if form == "pandas":
        frame = pd.DataFrame(
            {name: pd.Series(column, dtype=object) for name, column in zip(names, columns, strict=True)}
        )
        if rng.random() < 0.5:
            frame = frame.infer_objects()
        if rng.random() < 0.2:
            frame.columns = [rng.choice([name, 1, None, ("a", "b")]) for name in names]
        return frame
    if form == "polars":
        return pl.DataFrame(
            {name: pl.Series(column, strict=False) for name, column in zip(names, columns, strict=True)}
        )
    if form == "arrow":
        return _arrow_table(rng, names, columns)
    if form == "columns":
        return dict(zip(names, columns, strict=True))
    rows = [list(row) for row in zip(*columns, strict=True)]
    if form == "dicts":
        return [
            {name: cell for name, cell in zip(names, row, strict=True) if rng.random() < 0.9 or len(names) < 2}
            for row in rows
        ]
    if form == "codes":
        kind = rng.choice([np.uint8, np.uint16, np.int8, np.int64, bool, np.float32, np.float16])
        return np.array([[rng.choice([0, 1, 2, 127]) for _ in row] for row in rows]).astype(kind)
    if form == "array":
        cells = np.empty((len(rows), len(names)), dtype=object)
        for i, row in enumerate(rows):
            for j, cell in enumerate(row):
                cells[i, j] = cell
        return cells
    return rows


def _columns(rng: random.Random, *, plain: bool) -> tuple[list[str], list[list[Any]]]:
    n, m = rng.choice([1, 2, 3, 4]), rng.choice([1, 2, 5, 12, 30])
    names = rng.sample(NAMES, n + 1) if rng.random() < 0.5 else [*"abcd"[:n], "class"]
    columns = [_cells(rng, m, plain=plain) for _ in range(n)]
    return names, [*columns, [rng.choice(["u", "v", "w"]) for _ in range(m)]]


def _cells(rng: random.Random, m: int, *, plain: bool) -> list[Any]:
    kind = rng.choice(["numbers", "numbers", "texts", "few", "mixed"] + ([] if plain else ["objects"]))
    if kind == "numbers":
        odd = rng.random() < 0.4
        return [rng.choice(NUMBERS) if odd and rng.random() < 0.5 else rng.gauss(0, 1) for _ in range(m)]
    if kind == "few":
        return [rng.choice(["p", "q", None]) for _ in range(m)]
    pool = {"texts": TEXTS, "mixed": [*TEXTS, *(str(x) for x in NUMBERS)], "objects": [*OBJECTS, *NUMBERS]}[kind]
    own = rng.sample(pool, rng.choice([1, 2, 4, 8]))
    return [rng.choice(own) for _ in range(m)]


def _model(rng: random.Random) -> Any:
    options: dict[str, Any] = {}
    if rng.random() < 0.4:
        options["bins"] = rng.choice(
            ["mdl", "refined", "width", "frequency", "frequency", {"a": [1.0, 2.0]}, {"a": "width"}, "x"]
        )
    if rng.random() < 0.1:
        options["n_bins"] = rng.choice([1, 2, 65534, 0, 10**30, -1, 1.5])
    if rng.random() < 0.1:
        options["max_values"] = rng.choice([2, 3, 65534, 1, 10**30])
    if rng.random() < 0.1:
        options["warm_up"] = rng.choice([1, 3, 2**40, 10**30, 0])
    if rng.random() < 0.1:
        options["window"] = rng.choice([1, 3, "1 h", 10**20, 1e300, 10**400, "x"])
    elif rng.random() < 0.1:
        options["decay"] = rng.choice([0.5, 1e-300, 3, "2 h", 10**400, 0, math.nan])
    if rng.random() < 0.1:
        options["unseen"] = rng.choice(["smooth", "error"])
    if rng.random() < 0.1:
        options["smoothing"] = rng.choice([0, 1e-300, 1e300, math.inf, -1, "x"])
    if rng.random() < 0.2:
        options["categorical"] = rng.choice(["all", ["a"], [0], [-1], ["nosuch"]])
    if rng.random() < 0.1:
        options["numeric"] = rng.choice([["a"], [0], ["class"], "all", 3, "a"])
    if rng.random() < 0.1:
        options["ordinal"] = rng.choice(
            [{"a": ["p", "q"]}, {"a": []}, {"a": "pq"}, {"nosuch": ["p"]}, ["a"], {0: [1, 1]}]
        )
    if rng.random() < 0.1:
        options["gaussian"] = rng.choice([["a"], ["typo"], [0], [-1], "a", 3, [None], True])
    if rng.random() < 0.1:
        options["class_weight"] = rng.choice(["balanced", {"u": 2}, {"u": math.nan}, {"u": -1}, {"x": 1}, [1], "x"])
    if rng.random() < 0.1:
        options["priors"] = rng.choice([[0.5, 0.5], [1, 0, 0], {"u": 1}, [math.nan, 1, 1], "x", [1e300, 1e300, 1]])
    if rng.random() < 0.1:
        options["cost_matrix"] = rng.choice([[[0, 1], [1, 0]], [[0, 1, 1]] * 3, [[math.nan] * 3] * 3, "x", [[]]])
    if rng.random() < 0.05:
        options["max_memory"] = rng.choice(["1 KB", "1.2.3", "", 0, -1, 1e400, None, "9" * 400])
    if rng.random() < 0.05:
        options["random_state"] = rng.choice([0, -1, "x", 1.5, 2**70, None])
    kind = rng.choice([NaiveBayes, NaiveBayes, AODE, TAN, KDB, EvolvingNaiveBayes, HoeffdingTree, "gaussian"])
    if kind == "gaussian":
        kind, options = NaiveBayes, {"gaussian": True} | options
    known = kind().get_params()
    return kind(**{name: value for name, value in options.items() if name in known})


def _check(model: Any, X: Any) -> None:
    n_rows = len(X) if not isinstance(X, dict) else len(next(iter(X.values())))
    zoo.check_answers(model, model.predict_proba(X), n_rows)


def scene(batch: int) -> Path:
    """A folder of its own."""
    return Path(tempfile.mkdtemp(prefix="tanager-fuzz-"))


if __name__ == "__main__":
    sys.exit(harness.main("tables", case, scene))
