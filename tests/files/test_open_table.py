"""Files of every format become the same chunks; what cannot be read gets one sentence with its place."""

from __future__ import annotations

import csv
import gzip
import io
import re
from itertools import islice

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles import examples
from tanager import AODE, DataError, OptionError, SchemaMismatch
from tanager.files import delimited, open_table
from tanager.files.columnar import arrow_errors
from tanager.files.delimited import line_end

WEATHER = "sky,wind,class\nsun,1.5,play\nrain,?,stay\n,3,play\n"
ROWS = [
    {"sky": "sun", "wind": 1.5, "class": "play"},
    {"sky": "rain", "wind": None, "class": "stay"},
    {"sky": None, "wind": 3.0, "class": "play"},
]


def refused(kind, sentence, act):
    """The act is refused with one line that has all of this."""
    with pytest.raises(kind) as caught:
        act()
    assert re.search(sentence, str(caught.value)), str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.fixture
def write(tmp_path):
    def write(text, name="data.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(delimited, "BLOCK", 50)


def stdin(monkeypatch, data):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))


# --- formats -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found_in_the_header(write, delimiter):
    assert open_table(write(WEATHER.replace(",", delimiter))).read().to_pylist() == ROWS


def test_a_delimiter_can_be_given(write):
    assert open_table(write("a,b;c\n1,2;3\n"), delimiter=";").columns == ("a,b", "c")
    refused(OptionError, "delimiter=', ' must be one character", lambda: open_table(write(WEATHER), delimiter=", "))


@pytest.mark.parametrize("name", ["data.csv", "data.csv.gz", "data.txt", "data.tsv", "data.tsv.gz", "data"])
def test_text_may_be_gzipped_and_have_any_ending(write, name):
    text = WEATHER.replace(",", "\t") if "tsv" in name else WEATHER
    assert (
        open_table(write(gzip.compress(text.encode()) if name.endswith("gz") else text, name)).read().to_pylist()
        == ROWS
    )


def test_a_byte_order_mark_and_the_line_ends_of_windows_are_no_part_of_cells(write):
    path = write(b"\xef\xbb\xbf" + WEATHER.replace("\n", "\r\n").encode())
    assert open_table(path).read().to_pylist() == ROWS


def write_columnar(table, path):
    if path.suffix == ".parquet":
        pa.parquet.write_table(table, path, row_group_size=2)
    elif path.suffix == ".feather":
        pa.feather.write_feather(table, path, chunksize=2)
    else:
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
            writer.write_table(table, 2)
    return path


COLUMNAR = pytest.mark.parametrize("ending", [".parquet", ".feather", ".arrows"])


@COLUMNAR
def test_columnar_files_give_the_same_rows_as_text(write, tmp_path, ending):
    table = open_table(write(WEATHER)).read()
    source = open_table(write_columnar(table, tmp_path / f"data{ending}"))
    assert source.read().to_pylist() == ROWS
    assert source.n_rows == (None if ending == ".arrows" else 3)
    assert source.read().schema.equals(table.schema, check_metadata=True)
    assert sorted(row["class"] for row in source.sample(3).to_pylist()) == ["play", "play", "stay"]
    assert [chunk.num_rows for chunk in source.chunks(rows=2)] == [2, 1]
    assert open_table(source.name, categorical=["wind"]).read()["wind"].to_pylist() == ["1.5", None, "3"]


@COLUMNAR
def test_columnar_files_that_were_cut_off_are_refused(write, tmp_path, ending):
    whole = write_columnar(open_table(write(WEATHER)).read(), tmp_path / f"data{ending}").read_bytes()
    path = write(whole[: len(whole) // 2], f"cut{ending}")
    refused(DataError, "cannot be read: .* Check that the file is complete", lambda: open_table(path).read())


def damaged(data, place, byte):
    return data[:place] + bytes([byte]) + data[place + 1 :]


@pytest.mark.parametrize("ending", ["feather", "arrows"])
def test_places_in_dictionaries_and_offsets_of_text_that_lead_nowhere_are_refused(write, tmp_path, ending):
    rows = pa.table({"a": pa.array(["p", "q"] * 40).dictionary_encode(), "class": ["yes", "no"] * 40})
    path = tmp_path / f"data.{ending}"
    with (pa.ipc.new_stream if ending == "arrows" else pa.ipc.new_file)(str(path), rows.schema) as writer:
        writer.write_table(rows)
    data = path.read_bytes()
    places = data.index(b"\0\0\0\0\1\0\0\0" * 3) + 3  # the highest byte of a place in the dictionary
    offsets = data.index(b"\0\0\0\0\3\0\0\0\5\0\0\0") + 6  # of the first text in the other column
    for place in (places, offsets):
        source = open_table(write(damaged(data, place, 0x7F), f"bad.{ending}"))
        refused(DataError, r"bad\.\w+ cannot be read: .*Check that the file is complete", source.read)


@COLUMNAR
def test_columnar_files_come_through_standard_input(write, tmp_path, monkeypatch, ending):
    data = write_columnar(open_table(write(WEATHER)).read(), tmp_path / f"data{ending}").read_bytes()
    stdin(monkeypatch, data)
    source = open_table("-", format="parquet" if ending == ".parquet" else "arrow")
    assert (source.name, source.repeatable) == ("<stdin>", False)
    assert source.read().to_pylist() == ROWS


def test_text_in_a_parquet_column_that_should_be_numbers_is_refused(tmp_path):
    path = tmp_path / "data.parquet"
    pa.parquet.write_table(pa.table({"x": ["1", "two"], "y": ["1", "2"]}), path)
    assert open_table(path, numeric=["y"]).read(["y"])["y"].to_pylist() == [1.0, 2.0]
    refused(DataError, "column 'x' contains text that is not a number", lambda: open_table(path, numeric=["x"]).read())


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_standard_input_is_read_once(monkeypatch, pack):
    stdin(monkeypatch, pack(WEATHER.encode()))
    source = open_table("-")
    assert (source.name, source.size, source.done, source.repeatable) == ("<stdin>", None, None, False)
    assert source.read().to_pylist() == ROWS
    refused(DataError, "<stdin> can be read only once", source.read)


def test_the_format_can_be_said(write, monkeypatch):
    stdin(monkeypatch, b"a,b\tc\n1,2\t3\n")
    assert open_table("-", format="tsv").columns == ("a,b", "c")
    refused(OptionError, "format='cvs' is not an option.*Did you mean 'csv'", lambda: open_table("-", format="cvs"))


# --- chunks ------------------------------------------------------------------------------------------------------

CELLS = st.text(st.sampled_from('ab,;"\n é'), max_size=6).filter(lambda cell: cell == cell.strip())


def slow_reader(text):
    """The obvious twin: Python's own reader, empty cells missing."""
    rows = list(csv.reader(io.StringIO(text, newline="")))
    return [dict(zip(rows[0], [cell or None for cell in row], strict=True)) for row in rows[1:]]


@given(
    st.lists(st.tuples(CELLS, CELLS, st.sampled_from("pq")), min_size=1, max_size=30), st.integers(1, 7), st.booleans()
)
def test_chunks_of_any_size_hold_what_a_plain_reader_finds(tmp_path_factory, rows, size, gzipped):
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\n").writerows([("a", "b", "class"), *rows])
    path = tmp_path_factory.mktemp("files") / "data.csv"
    data = out.getvalue().encode()
    path.write_bytes(gzip.compress(data) if gzipped else data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "BLOCK", 40)
        source = open_table(path, missing=("",), categorical=["a", "b", "class"])
        chunks = list(source.chunks(rows=size))
    assert all(chunk.num_rows == size for chunk in chunks[:-1])
    assert [row for chunk in chunks for row in chunk.to_pylist()] == slow_reader(out.getvalue())
    assert source.done == 1.0


def test_line_ends_in_quoted_cells_are_no_line_ends():
    assert line_end(b'1,"a\nb"\n2,"c\nd', b",") == 8
    assert line_end(b'5" pipe,1\n6,2\n7', b",") == 14
    assert line_end(b'"a\nb', b",") == 0
    assert line_end(b'x"y,"p\nq",1\n', b",") == 12  # a stray quote and one that opens: even, and yet in a cell


def slow_line_ends(data, delimiters, start):
    """The obvious twin: byte by byte, a quote opens a cell at its beginning alone, and two quotes in it are one."""
    ends, quoted, fresh, at = [], False, True, start
    while at < len(data):
        byte = data[at : at + 1]
        if quoted and byte == b'"' and data[at + 1 : at + 2] == b'"':
            at += 1
        elif byte == b'"' and (quoted or fresh):
            quoted = not quoted
        elif byte == b"\n" and not quoted:
            ends.append(at + 1)
        fresh = not quoted and byte in (*(bytes([d]) for d in delimiters), b"\r", b"\n")
        at += 1
    return ends


@given(st.lists(st.sampled_from(b'a,;"\n\r"'), max_size=30).map(bytes), st.integers(0, 3))
@examples(300)
def test_line_ends_are_those_that_a_reader_of_single_bytes_finds(data, start):
    start = min(start, len(data))
    ends = slow_line_ends(data, b",;", start)
    assert line_end(data, b",;", start=start) == (ends[-1] if ends else 0)
    assert line_end(data, b",;", start=start, first=True) == (ends[0] if ends else 0)


def test_quoted_line_ends_beside_a_stray_quote_are_looked_at_once(write, monkeypatch):
    looked = []
    monkeypatch.setattr(
        delimited, "line_end", lambda data, *a, **o: looked.append(len(data)) or line_end(data, *a, **o)
    )
    text = "a,b,class\n" + '"x\ny",1,u\n"p\nq",2,v\n' * 20_000 + 'st"ray,1,u\n'
    assert open_table(write(text)).read().num_rows == 40_001
    assert sum(looked) < 4 * len(text)


def test_columns_can_be_chosen_and_come_in_the_order_asked_for(write):
    source = open_table(write(WEATHER))
    assert source.read(["class", "sky"]).column_names == ["class", "sky"]
    refused(SchemaMismatch, "has no column 'clas'. Did you mean 'class'", lambda: source.chunks(["clas"]))


def test_a_pass_may_be_left_half_way_and_started_again(write, small_blocks):
    source = open_table(write("a,b\n" + "1,x\n" * 1000))
    next(source.chunks(rows=3))
    assert source.read().num_rows == 1000


# --- kinds -------------------------------------------------------------------------------------------------------


def test_numbers_are_floats_and_text_is_a_dictionary_that_declares_nothing(write):
    table = open_table(write("n,w,t,empty\n1.5,1,a,\n2,2,b,\n")).read()
    text = pa.dictionary(pa.int32(), pa.string())
    assert table.schema.types == [pa.float64(), pa.float64(), text, text]
    column = AODE().fit(table, [0, 1]).encoder_.schema.columns[2]
    assert (column.values, column.closed) == (("a", "b"), False)


def test_markers_of_missing_cells_can_be_chosen(write):
    path = write("a,b\n-,1\n?,-9\n")
    assert open_table(path, missing=("-", "-9")).read().to_pylist() == [{"a": None, "b": 1.0}, {"a": "?", "b": None}]


def test_kinds_can_be_forced(write):
    path = write("zip,grade\n01234,1\n99999,?\n")
    assert open_table(path).read()["zip"].to_pylist() == ["01234", "99999"]
    assert open_table(path, numeric=["zip"]).read()["zip"].to_pylist() == [1234.0, 99999.0]
    assert open_table(path, categorical=["grade"]).read()["grade"].to_pylist() == ["1", None]
    refused(
        OptionError, "numeric: .* has no column 'zap'. Did you mean 'zip'", lambda: open_table(path, numeric=["zap"])
    )
    both = {"categorical": ["zip"], "numeric": ["zip"]}
    refused(OptionError, "both categorical and numeric", lambda: open_table(path, **both))


def test_a_column_that_turns_to_text_late_is_read_as_text(write):
    """Numbers for three quarters of the file; kinds come from blocks all over it."""
    source = open_table(write("a,b\n" + "1,2.5\n" * 750_000 + "1,late\n" * 250_000))
    first = next(source.chunks(["b"]))
    assert first["b"].type == pa.dictionary(pa.int32(), pa.string())


def test_a_sample_is_spread_over_the_file(write):
    n = 1_000_000
    source = open_table(write("a,class\n" + "".join(f"{i},{i * 10 // n}\n" for i in range(n))))
    sample = source.sample(50_000)
    assert 50_000 <= sample.num_rows < 500_000
    assert set(sample["class"].to_pylist()) == set(map(float, range(10)))
    assert np.all(np.diff(sample["a"].to_numpy()) > 0)


def test_a_source_reads_columns_as_a_model_has_learned_them(write):
    source = open_table(write("a,b,class\n1,x,0\n2,y,1\n"), categorical=["a"])
    table = source.read()
    model = AODE(numeric=["b"], bins={"b": [1.0]}).fit({"a": ["1", "2"], "b": [1.0, 2.0]}, ["0", "1"])
    model.target_name_ = "class"
    other = open_table(write("a,b,class\n2,1,1\n", "more.csv")).match(model).read()
    assert other.to_pylist() == [{"a": "2", "b": 1.0, "class": "1"}]
    assert table["a"].to_pylist() == ["1", "2"]


# --- what is refused ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "data.csv is empty"),
        ("\n\n", "data.csv is empty"),
        ("\ufeff", "data.csv is empty"),
        ("\ufeff\n\n", "data.csv is empty"),
        ("a" * 140_000 + ",b\n1,2\n", "the header line cannot be read.*column names of at most 131,072 characters"),
        ("\n\na,b\n1,2\n3\n", "data.csv, line 5: found 1 cell"),
        ("a,b\n", "data.csv has a header but no rows"),
        ("a,,b\n1,2,3\n", "column 2 of 3 has no name"),
        ("a,b,a\n1,2,3\n", "columns 1 and 3 are both named 'a'"),
        (
            "a,b\n1,2\n3\n4,5\n",
            "data.csv, line 3: found 1 cell, expected 2 as in the header. Cells are separated by ','",
        ),
        ("a,b\n1,2\n\n3,4,5\n", "data.csv, line 4: found 3 cells, expected 2"),
        ('a,b\n"1\n1",2\n3\n', "data.csv, line 4: found 1 cell, expected 2"),
        ("a,b\n1,2\n3", "line 3: .* The file ends in the middle of a line"),
        ("a,b\r1,2\r", "CR line endings"),
        ("a,b\nä,2\n".encode("latin-1"), "line 2: the byte 0xe4 is not utf-8 text.*encoding="),
        ("ä,b\n1,2\n".encode("latin-1"), "line 1: the byte 0xe4 is not utf-8 text"),
        ("a,b\n1,2\n".encode("utf-16"), "is UTF-16 text. Save it as UTF-8"),
        (b"PK\x03\x04\0\0", "is not text. Files can be CSV"),
        (gzip.compress(b"a,b\n1,2\n", mtime=0)[:-9], "the gzip file is damaged"),
    ],
)
def test_files_that_are_no_tables_are_refused_in_one_sentence(write, text, sentence):
    refused(DataError, sentence, lambda: open_table(write(text)).read())


def test_text_among_numbers_is_refused_with_its_line(write, monkeypatch):
    monkeypatch.setattr(delimited, "BLOCK", 3000)
    monkeypatch.setattr(delimited, "SAMPLE_BYTES", 32 * 100)
    lines = ["a,x 7"] + ["1,2.5"] * 5000
    lines[777] = '"multi\nline",1'
    lines[4321] = "1,to do"
    path = write("\n".join(lines), "data.csv")
    source = open_table(path, categorical=["a"], numeric=["x 7"])
    refused(
        DataError,
        r"data.csv, line 4,323, column 'x 7': 'to do' is not a number.*\(--categorical 'x 7'\).*--missing 'to do'",
        source.read,
    )
    assert open_table(path, missing=("to do",), categorical=["a"], numeric=["x 7"]).read()["x 7"].null_count == 1


def test_other_encodings_can_be_named(write):
    assert open_table(write("a\nä\nö\n".encode("latin-1")), encoding="latin-1").read()["a"].to_pylist() == ["ä", "ö"]


@pytest.mark.parametrize("encoding", ["nosuch", "base64", "", "rot13", "a\0b", None])
def test_names_that_are_no_encodings_are_refused(write, encoding):
    refused(
        OptionError, "is not the name of a text encoding. Give one", lambda: open_table(write("a\n"), encoding=encoding)
    )


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-7", "cp037", "punycode"])
def test_encodings_in_which_commas_have_other_bytes_are_refused(write, encoding):
    refused(
        OptionError,
        "such text is not read.*Save the file as UTF-8",
        lambda: open_table(write("a\n"), encoding=encoding),
    )


def test_a_long_header_is_read_to_its_end(write):
    names = [f"column_{i}" for i in range(30_000)]
    assert open_table(write(",".join(names) + "\n" + ",".join("1" for _ in names) + "\n")).columns == tuple(names)


def test_a_quoted_name_with_a_line_end_is_read_after_a_byte_order_mark(write):
    source = open_table(write('\ufeff"a\nb",c\n1,x\n2,y\n'))
    assert source.columns == ("a\nb", "c")
    assert source.read().num_rows == 2


def test_a_ragged_row_that_is_not_utf_8_says_nothing_but_its_sentence(write, capfd):
    text = b"a,b\n" + b"1,2\n" * 10 + b"1,2,\xff\n"
    refused(DataError, "line 12: the byte 0xff is not utf-8 text", lambda: open_table(write(text)).read())
    assert capfd.readouterr().err == ""


def test_hexadecimal_cells_are_text(write):
    table = open_table(write("a,b\n0x10,1\n0x11,0\n")).read()
    assert table["a"].to_pylist() == ["0x10", "0x11"]
    assert table["b"].to_pylist() == [1.0, 0.0]


def test_a_quote_that_is_never_closed_does_not_make_a_line_of_the_whole_file(write, monkeypatch):
    monkeypatch.setattr(delimited, "BLOCK", 50)
    monkeypatch.setattr(delimited, "LONGEST", 200)
    text = 'a,b\n1,2\n"x,1\n' + "1,2\n" * 200
    refused(DataError, "a line has more than 200 bytes.*Is a quote not closed there", open_table(write(text)).read)


def test_names_of_files_that_are_not_there_are_refused_with_the_nearest(write, tmp_path):
    path = write(WEATHER)
    refused(FileNotFoundError, "there is no file .*Did you mean 'data.csv'", lambda: open_table(tmp_path / "dta.csv"))
    refused(FileNotFoundError, "the folder .* does not exist", lambda: open_table(tmp_path / "no" / "data.csv"))
    refused(FileNotFoundError, "there is no file", lambda: open_table(path / "data.csv"))
    refused(DataError, "is a folder. Give the path of a file", lambda: open_table(tmp_path))


def test_a_gzipped_parquet_file_is_refused(write):
    refused(
        DataError,
        "is not read when gzipped. Use gunzip",
        lambda: open_table(write(gzip.compress(b"PAR1"), "data.parquet.gz")),
    )


def test_a_table_that_is_too_large_is_refused_before_all_of_it_is_read(tmp_path):
    path = tmp_path / "bomb.csv.gz"
    with gzip.open(path, "wt") as file:
        file.write("a,b\n")
        for _ in range(300):
            file.write("1,2\n" * 10_000)
    source = open_table(path)
    with pytest.raises(DataError, match="more than 1,000 cells"):
        source.read(max_cells=1000)
    parsed = sum(1 for _ in islice(source.chunks(rows=None), 3))
    assert parsed == 3  # there was more to come
    assert source.read(["a"], max_cells=3_000_000).num_rows == 3_000_000


def test_ctrl_c_that_arrow_has_heard_while_it_reads_is_no_damaged_file():
    with pytest.raises(KeyboardInterrupt), arrow_errors("rows.csv"):
        raise pa.ArrowCancelled("Operation cancelled")
