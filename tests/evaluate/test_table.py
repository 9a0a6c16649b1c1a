"""A table prints the same numbers everywhere, without noise."""

import csv
import io
import math
import re

import pytest

from tanager.errors import DataError
from tanager.evaluate import Table

ODD = Table(
    ["name", "a_b", "p", "n"],
    [("x|y & z_1", 0.1 + 0.2, 0.00001, 12345), ("50%", -0.00001, 0.5, 7), ("<none>", None, math.nan, 0)],
    {"a_b": ".2f", "p": "p"},
    note="a note & more",
)


def test_text_is_aligned_and_numbers_are_to_the_right():
    assert str(ODD).splitlines() == [
        "name        a_b        p       n",
        "x|y & z_1  0.30  <0.0001  12,345",
        "50%        0.00   0.5000       7",
        "<none>        -        -       0",
        "a note & more",
    ]


def test_markdown_keeps_bars_inside_cells():
    assert ODD.to_markdown().splitlines() == [
        "| name | a_b | p | n |",
        "| --- | ---: | ---: | ---: |",
        "| x\\|y & z_1 | 0.30 | <0.0001 | 12,345 |",
        "| 50% | 0.00 | 0.5000 | 7 |",
        "| <none> | - | - | 0 |",
        "",
        "a note & more",
    ]


def test_latex_is_escaped_and_has_rules():
    assert ODD.to_latex().splitlines() == [
        r"\begin{tabular}{lrrr}",
        r"\toprule",
        r"name & a\_b & p & n \\",
        r"\midrule",
        r"x\textbar{}y \& z\_1 & 0.30 & \textless{}0.0001 & 12,345 \\",
        r"50\% & 0.00 & 0.5000 & 7 \\",
        r"\textless{}none\textgreater{} & - & - & 0 \\",
        r"\bottomrule",
        r"\end{tabular}",
        "% a note & more",
    ]


def test_html_is_escaped():
    page = ODD._repr_html_()
    assert re.search('<td style="[^"]*text-align: left[^"]*">&lt;none&gt;</td>', page)
    assert re.search('<td style="[^"]*text-align: right[^"]*">12,345</td>', page)
    assert page.endswith(">a note &amp; more</div>")


def test_a_table_shows_itself_where_it_is_not_printed():
    assert repr(ODD) == str(ODD)


def test_csv_can_be_read_back_and_nothing_is_empty(tmp_path):
    text = ODD.to_csv(tmp_path / "odd.csv")
    assert (tmp_path / "odd.csv").read_text() == text
    assert list(csv.reader(io.StringIO(text)))[1:] == [
        ["x|y & z_1", "0.3", "1e-05", "12345"],
        ["50%", "-1e-05", "0.5", "7"],
        ["<none>", "", "", "0"],
    ]


def test_rows_become_dicts_columns_lists_and_frames():
    assert ODD.to_dicts()[1] == {"name": "50%", "a_b": -0.00001, "p": 0.5, "n": 7}
    assert ODD["n"] == [12345, 7, 0]
    assert len(ODD) == 3
    pytest.importorskip("pandas", reason="a frame needs pandas")
    assert ODD.to_pandas()["n"].tolist() == [12345, 7, 0]


def test_a_table_without_rows_is_its_heading():
    assert str(Table(["a", "bc"], [])) == "a  bc"


def test_rows_of_another_length_and_unknown_columns_are_refused():
    with pytest.raises(DataError, match="row 1 has 1 cells, the table has 2 columns"):
        Table(["a", "b"], [(1, 2), (1,)])
    with pytest.raises(DataError, match=r"no column 'nmae'.*Did you mean 'name'"):
        ODD["nmae"]
