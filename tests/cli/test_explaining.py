"""``tanager explain`` for many rows and for what would turn them, ``tanager importance`` and ``show --nomogram``."""

import json
from pathlib import Path

import numpy as np
import pytest

import tanager

ROW = '{"petal_length": 4.9, "petal_width": 1.7}'


@pytest.fixture
def naive(run, iris):
    run("fit", iris, "--model", "nb")
    return "iris.tanager"


def read(path):
    head, *lines = Path(path).read_text().splitlines()
    return [dict(zip(head.split(","), line.split(","), strict=True)) for line in lines]


def test_many_rows_are_listed_and_written(run, naive):
    out = run("explain", naive, "--data", "iris.csv").out
    assert out.splitlines()[0].split() == ["row", "answer", "probability", "log-odds", "main", "reasons"]
    assert "and 130 more. Write all with -o" in out
    run("explain", naive, "--data", "iris.csv", "-o", "reasons.csv")
    rows = read("reasons.csv")
    model = tanager.load(naive)
    assert len(rows) == 150
    for own in rows[::40]:
        columns = sum(float(own[name]) for name in model.encoder_.schema.names)
        assert float(own["prior"]) + columns == pytest.approx(float(own["log_odds"]))


def test_a_data_file_in_the_place_of_a_row_is_explained_as_one(run, naive):
    assert run("explain", naive, "iris.csv").out == run("explain", naive, "--data", "iris.csv").out
    assert (
        run("explain", naive, "iris.csv", "--rows", 7).out
        == run("explain", naive, "--data", "iris.csv", "--rows", 7).out
    )
    Path("one row.json").write_text(ROW)
    assert run("explain", naive, "one row.json").out == run("explain", naive, ROW).out


def test_rows_are_chosen_by_number_and_are_those_of_one(run, naive):
    found = run("explain", naive, "--data", "iris.csv", "--rows", "107,2-3", "--json").document["rows"]
    assert [own["row"] for own in found] == [2, 3, 107]
    alone = run("explain", naive, "--data", "iris.csv", "--rows", 107, "--json").document
    assert (alone["answer"], alone["against"]) == (found[2]["answer"], found[2]["against"])
    for own, other in zip(alone["columns"], found[2]["columns"], strict=True):
        assert own == {**other, "log_odds": pytest.approx(other["log_odds"])}


def test_a_contrast_is_that_of_answer_and_against(run, naive):
    one = run("explain", naive, ROW, "--contrast", "setosa", "virginica").out
    assert one == run("explain", naive, ROW, "--answer", "setosa", "--against", "virginica").out
    rows = run("explain", naive, "--data", "iris.csv", "--contrast", "setosa", "virginica", "--json").document["rows"]
    assert {(own["answer"], own["against"]) for own in rows} == {("setosa", "virginica")}


def test_what_would_turn_a_row_is_said(run, naive):
    words = ["--what-if", "--wanted", "virginica", "--fixed", "sepal_length,sepal_width"]
    report = run("explain", naive, ROW, *words, "--cost", "petal_width=2", "--json").document
    model = tanager.load(naive)
    found = tanager.nearest_changes(
        model, json.loads(ROW), "virginica", fixed=["sepal_length", "sepal_width"], costs={"petal_width": 2.0}
    )
    assert report["changes"] == [vars(change) for change in found]
    out = run("explain", naive, ROW, *words).out
    assert "it would take" in out
    assert f"{found[0].probability:.4f}" in out
    run("explain", naive, "--data", "iris.csv", "--rows", "1-5", "--what-if", "--wanted", "setosa", "-o", "x.jsonl")
    assert [json.loads(line)["what_if"] for line in Path("x.jsonl").read_text().splitlines()] == [""] * 5
    assert "what if" in run("explain", naive, "--data", "iris.csv", "--rows", "100-103", "--what-if").out


def test_pictures_of_one_row_of_many_of_importance_and_of_a_nomogram(run, naive):
    pytest.importorskip("matplotlib", reason="pictures need the extra 'plot'")
    for words in (
        ["explain", naive, ROW],
        ["explain", naive, "--data", "iris.csv"],
        ["importance", naive, "iris.csv"],
        ["show", naive, "--nomogram"],
    ):
        done = run(*words, "-o", "x.svg")
        assert done.code == 0, done.err
        assert "x.svg" in done.out
        assert Path("x.svg").read_bytes().startswith(b"<?xml")
        Path("x.svg").unlink()


def test_importance_is_that_of_the_library(run, naive):
    report = run("importance", naive, "iris.csv", "--json").document
    model = tanager.load(naive)
    rows = read("iris.csv")
    X = {name: [float(row[name]) for row in rows] for name in model.encoder_.schema.names}
    found = tanager.importance(model, X, [row["class"] for row in rows])
    assert [own["column"] for own in report["columns"]] == list(found.columns)
    np.testing.assert_allclose([own["low"] for own in report["columns"]], found.low, rtol=1e-12)
    out = run("importance", naive, "iris.csv", "--top", 2).out
    assert "and 2 more. See --top." in out
    assert f"log loss {found.log_loss:.4f} over 150 rows" in out
    run("importance", naive, "iris.csv", "-o", "i.csv")
    assert [row["column"] for row in read("i.csv")] == list(found.columns)


def test_importance_of_a_model_that_cannot_leave_rows_out_needs_others(run, refused, iris):
    run("fit", iris, "--model", "lbr")
    assert "learned=False" in refused("importance", "iris.tanager", "iris.csv")
    assert run("importance", "iris.tanager", "iris.csv", "--held-out").code == 0


def test_the_nomogram_says_what_it_does_not_know_of_parents(run, iris):
    run("fit", iris, "--model", "tan", "-o", "tree.tanager", "--no-loo")
    out = run("show", "tree.tanager", "--nomogram").out
    assert "(where petal" in out
    assert "Lines with (where ... = ?) hold while that value is missing" in out
    assert "(where" not in run("show", "tree.tanager").out


def test_the_nomogram_is_shown_for_two_classes(run, refused, naive):
    report = run("show", naive, "--nomogram", "--answer", "setosa", "--against", "virginica", "--json").document
    found = tanager.nomogram(tanager.load(naive), None, "setosa", "virginica")
    assert report["prior"] == found.prior
    assert [axis["column"] for axis in report["axes"]] == [axis.column for axis in found.axes]
    assert "Did you mean 'setosa'" in refused("show", naive, "--nomogram", "--answer", "setose")
