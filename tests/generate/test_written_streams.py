"""Streams in files: the rows themselves, in every format, whole or not at all."""

import gzip
import io
import itertools
from pathlib import Path

import pyarrow.parquet
import pytest

from tanager import Network, OptionError, files, generate

STREAM = generate.stagger(2).missing(0.2).irrelevant(1)
ROWS = [row | {"class": label} for row, label in itertools.islice(STREAM, 100)]


@pytest.mark.parametrize("name", ["x.csv", "x.tsv", "x.csv.gz", "x.parquet"])
def test_a_file_holds_the_rows_of_the_stream(tmp_path, name):
    STREAM.write(tmp_path / name, 100)
    assert files.open_table(tmp_path / name).read().to_pylist() == ROWS


def test_numbers_come_back_as_they_were(tmp_path):
    stream = generate.gaussians(3).missing(0.2)
    for name in ("x.csv", "x.parquet"):
        stream.write(str(tmp_path / name), 500)
        rows = files.open_table(tmp_path / name).read().to_pylist()
        assert rows == [row | {"class": label} for row, label in itertools.islice(stream, 500)]


def test_many_blocks_are_written_one_after_the_other(tmp_path):
    stream, told = generate.naive_bayes(3), []
    stream.write(tmp_path / "x.parquet", 150_000, lambda rows, share: told.append((rows, share)))
    table = pyarrow.parquet.read_table(tmp_path / "x.parquet")
    X, y = stream.take(150_000)
    assert table.column("x2").to_pylist() == X[:, 1].tolist()
    assert table.column("class").to_pylist() == y.tolist()
    assert [rows for rows, _ in told] == [65_536, 131_072, 150_000]
    assert told[-1][1] == 1


def test_an_open_file_gets_csv():
    file = io.BytesIO()
    STREAM.write(file, 3)
    assert file.getvalue().decode().splitlines()[0] == "size,colour,shape,irrelevant1,class"
    assert file.getvalue().count(b"\n") == 4


def test_no_rows_make_a_file_with_names_alone(tmp_path):
    STREAM.write(tmp_path / "x.csv.gz", 0)
    assert gzip.decompress((tmp_path / "x.csv.gz").read_bytes()) == b"size,colour,shape,irrelevant1,class\n"


def test_values_of_several_kinds_become_text(tmp_path):
    network = Network({"class": (1, "two"), "x": (0, 1)}, [("class", "x")])
    stream = generate.from_network(network.with_tables({"class": [0.5, 0.5], "x": [[1, 0], [0, 1]]}))
    stream.write(tmp_path / "x.csv", 50)
    assert set((tmp_path / "x.csv").read_text().splitlines()[1:]) == {"0,1", "1,two"}


def test_what_goes_wrong_leaves_no_file(tmp_path, monkeypatch):
    def stop(rows, share):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        STREAM.write(tmp_path / "x.csv", 10, stop)
    with pytest.raises(OptionError, match="unknown extension"):
        STREAM.write(tmp_path / "x.xls", 10)
    assert list(Path(tmp_path).iterdir()) == []
