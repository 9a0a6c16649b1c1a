"""ARFF: declared values are kept, and what the header does not allow is refused with its line."""

from __future__ import annotations

import gzip
import re

import pyarrow as pa
import pytest

from tanager import AODE, DataError
from tanager.files import arff, learn, open_table

WEATHER = """% from a book
@relation 'the weather'
@attribute outlook {sunny, overcast, 'very rainy', NA}
@ATTRIBUTE "temp f" real
@attribute note string
@attribute day date "yyyy-MM-dd"
@attribute class {yes,no}

@data
sunny, 85, 'a, b', 2020-01-01, yes
% a comment

'very rainy',?,"it\\"s",?,no
{1 5.5, 2 'q r', 3 2020-01-02, 4 no}
NA,1,it's,?,yes
{}
"""
ROWS = [
    ("sunny", 85.0, "a, b", "2020-01-01", "yes"),
    ("very rainy", None, 'it"s', None, "no"),
    ("sunny", 5.5, "q r", "2020-01-02", "no"),
    ("NA", 1.0, "it's", None, "yes"),
    ("sunny", 0.0, "0", "0", "yes"),
]


@pytest.fixture
def write(tmp_path):
    def write(text, name="data.arff"):
        path = tmp_path / name
        path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
        return path

    return write


@pytest.mark.parametrize("name", ["data.arff", "data.arff.gz"])
def test_all_kinds_of_columns_and_rows_are_read(write, name, monkeypatch):
    monkeypatch.setattr(arff, "LINES", 2)
    source = open_table(write(WEATHER, name))
    assert source.columns == ("outlook", "temp f", "note", "day", "class")
    for _ in range(2):
        assert [tuple(row.values()) for row in source.read().to_pylist()] == ROWS
    assert source.options == {"categorical": ["outlook", "class"], "numeric": ["temp f"]}


def test_declared_values_are_all_the_values_there_are(write):
    table = open_table(write(WEATHER)).read()
    assert table["outlook"].chunk(0).dictionary.to_pylist() == ["sunny", "overcast", "very rainy", "NA"]
    columns = AODE().fit(table.select(["outlook", "note"]), ["p", "q", "p", "q", "p"]).encoder_.schema.columns
    assert [(column.closed, column.n_values) for column in columns] == [(True, 4), (False, 5)]


def test_learning_takes_the_kinds_that_the_file_declares(write):
    head = "@relation r\n@attribute grade numeric\n@attribute sky {a,b}\n@attribute class {p,q}\n@data\n"
    model = AODE()
    learn(model, open_table(write(head + "1,a,p\n2,b,q\n1,a,p\n")), "class")
    assert [column.kind for column in model.encoder_.schema.columns] == ["numeric", "categorical"]
    assert (model.categorical, model.numeric) == (["sky"], ["grade"])


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("@data", "@date", "line 9: '@date' is not valid in an ARFF header"),
        ("@data\n", "", "not valid in an ARFF header"),
        ("real", "complex", "line 4: .* is not a valid declaration"),
        ("85", "warm", "line 10, column 'temp f': 'warm' is not a number"),
        ("sunny, 85", "Sunny, 85", "line 10, column 'outlook': 'Sunny' is not among the declared values"),
        (", yes\n", "\n", "line 10: found 4 cells, expected 5"),
        ("'a, b'", "'a, b", "line 10: found an unclosed quote"),
        ("4 no}", "5 no}", "line 14: .* is not a sparse row. Expected indices from 0 to 4"),
        ("4 no}", "4 no", "line 14: .* is not a sparse row"),
        ("note", "class", "columns 3 and 5 are both named 'class'"),
    ],
)
def test_mistakes_are_refused_with_their_line(write, old, new, sentence):
    with pytest.raises(DataError) as caught:
        open_table(write(WEATHER.replace(old, new, 1))).read()
    assert re.search(sentence, str(caught.value)), str(caught.value)


def test_a_file_without_rows_or_without_data_is_refused(write):
    with pytest.raises(DataError, match="has a header but no rows"):
        open_table(write(WEATHER[: WEATHER.index("@data") + 6])).read()
    with pytest.raises(DataError, match="has no @data line"):
        open_table(write("@relation x\n"))
    with pytest.raises(DataError, match="is not UTF-8 text"):
        open_table(write(WEATHER)).name and open_table(_latin(write)).read()


def _latin(write):
    path = write(WEATHER)
    path.write_bytes(WEATHER.replace("a, b", "ä").encode("latin-1"))
    return path


def test_kinds_can_be_forced(write):
    table = open_table(write(WEATHER), categorical=["temp f"]).read()
    assert table["temp f"].type == pa.dictionary(pa.int32(), pa.string())
    assert table["temp f"].to_pylist()[:2] == ["85", None]
