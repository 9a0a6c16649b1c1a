"""Files are written whole or not at all, and tables come back as they were written."""

import gzip
import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from csv_files import read_rows
from hypothesis import given
from hypothesis import strategies as st

from tanager.cli.output import check_output, open_output
from tanager.cli.screen import counted, file_size, listed
from tanager.errors import OptionError
from tanager.writing import TableWriter, table_format

CELLS = st.none() | st.text(st.characters(codec="utf-8", exclude_characters="\r\0"), min_size=1)


def test_a_file_appears_when_all_is_open_output(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with open_output("x.txt") as file:
        file.write(b"some")
        assert not Path("x.txt").exists()
    assert Path("x.txt").read_bytes() == b"some"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_what_goes_wrong_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, error):
    monkeypatch.chdir(tmp_path)
    Path("x.txt").write_text("old")

    def fail():
        with open_output("x.txt") as file:
            file.write(b"half")
            raise error

    with pytest.raises(error):
        fail()
    assert [(path.name, path.read_text()) for path in Path().iterdir()] == [("x.txt", "old")]


def test_a_file_keeps_its_permissions_and_links_stay_links(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("x.txt").write_text("old")
    Path("x.txt").chmod(0o640)
    Path("link").symlink_to("x.txt")
    with open_output("link") as file:
        file.write(b"new")
    assert Path("link").is_symlink()
    assert Path("x.txt").read_text() == "new"
    assert Path("x.txt").stat().st_mode & 0o777 == 0o640


def test_the_input_is_recognised_under_any_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("x.csv").write_text("")
    Path("link.csv").symlink_to("x.csv")
    for name in ("x.csv", "./x.csv", str(tmp_path / "x.csv"), "link.csv"):
        with pytest.raises(OptionError, match="would overwrite an input file"):
            check_output(name, "x.csv")
    check_output("y.csv", "x.csv", "-", None)


@given(st.lists(st.tuples(CELLS, st.integers(-(2**53), 2**53)), min_size=1), st.integers(1, 5))
def test_text_comes_back_as_it_was_open_output(tmp_path_factory, rows, size):
    path = tmp_path_factory.mktemp("rows") / "x.csv"
    with path.open("wb") as file:
        writer = TableWriter(file, "csv")
        for start in range(0, len(rows), size):
            part = rows[start : start + size]
            writer.write(pa.table({"a, b": pa.array([r[0] for r in part], pa.string()), "n": [r[1] for r in part]}))
        writer.close()
    assert [(row["a, b"], int(row["n"])) for row in read_rows(path)] == [(a or "", n) for a, n in rows]


def test_parquet_is_written_in_parts():
    file = io.BytesIO()
    writer = TableWriter(file, "parquet")
    for part in ([1, 2], [3]):
        writer.write(pa.table({"n": part}))
    writer.close()
    assert pyarrow.parquet.read_table(io.BytesIO(file.getvalue())).column("n").to_pylist() == [1, 2, 3]


def test_text_can_be_packed_and_the_same_rows_make_the_same_file():
    packed = []
    for _ in range(2):
        file = io.BytesIO()
        writer = TableWriter(file, table_format("some.rows.CSV.gz"))
        for part in ([1, 2], [3]):
            writer.write(pa.table({"n": part}))
        writer.close()
        packed.append(file.getvalue())
    assert gzip.decompress(packed[0]) == b"n\n1\n2\n3\n"
    assert packed[0] == packed[1]
    with pytest.raises(OptionError, match="unknown extension"):
        table_format("rows.gz")


def test_numbers_and_names_are_written_for_people():
    assert [counted(n, "row") for n in (0, 1, 2000)] == ["0 rows", "1 row", "2,000 rows"]
    assert [file_size(n) for n in (999, 1234, 5e6, 7.25e12)] == ["999 bytes", "1.2 kB", "5.0 MB", "7,250.0 GB"]
    assert listed("abc", 2) == "a, b, c"
    assert listed("abcd", 2) == "a, b and 2 more"
