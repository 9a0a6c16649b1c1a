"""``tanager predict``: answers in the order of the file, in every format, and how good they are."""

import json
import math
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest
from csv_files import read_rows, write_rows

import tanager
from tanager.files import Source, open_table


def answers_of_python(model, data):
    """The slow, obvious twin: the whole table at once."""
    model = tanager.load(model)
    X = open_table(data).match(model).read(columns=model.encoder_.schema.names)
    return model.predict(X).tolist(), model.predict_proba(X)


def test_answers_are_those_of_python_in_the_order_of_the_file(run, fitted):
    done = run("predict", fitted, "iris.csv", "-o", "answers.csv", "--proba")
    assert done.code == 0
    assert done.out == "150 predictions written to answers.csv\naccuracy 0.9533, log loss 0.1041\n"
    rows = read_rows("answers.csv")
    labels, proba = answers_of_python(fitted, "iris.csv")
    assert [row["prediction"] for row in rows] == labels
    assert [float(row["probability"]) for row in rows] == pytest.approx(proba.max(axis=1), abs=1e-6)
    for c, name in enumerate(["setosa", "versicolor", "virginica"]):
        assert [float(row[f"probability_{name}"]) for row in rows] == pytest.approx(proba[:, c], abs=1e-6)


def test_accuracy_and_log_loss_are_what_their_names_say(run, mixed):
    run("fit", mixed, "-t", "outcome", "-o", "m.tanager")
    report = run("predict", "m.tanager", mixed, "--json", "-o", "answers.csv").document
    labels, proba = answers_of_python("m.tanager", mixed)
    true = [row["outcome"] for row in read_rows(mixed)]
    classes = tanager.load("m.tanager").classes_.tolist()
    assert report["accuracy"] == pytest.approx(np.mean([a == b for a, b in zip(labels, true, strict=True)]))
    own = [proba[r, classes.index(label)] for r, label in enumerate(true)]
    assert report["log_loss"] == pytest.approx(-np.mean(np.log(own)))


@pytest.mark.parametrize("rows", [1, 7, 149, 150, 1000])
def test_the_size_of_chunks_makes_no_difference(run, fitted, monkeypatch, rows):
    whole = run("predict", fitted, "iris.csv", "--proba", "--keep", "class")
    chunks = Source.chunks
    monkeypatch.setattr(Source, "chunks", lambda self, columns=None: chunks(self, columns, rows))
    assert run("predict", fitted, "iris.csv", "--proba", "--keep", "class").out == whole.out


def test_all_formats_hold_the_same_answers(run, fitted):
    for ending in ("csv", "tsv", "parquet", "jsonl"):
        assert run("predict", fitted, "iris.csv", "--keep", "class", "-o", f"a.{ending}").code == 0
    rows = read_rows("a.csv")
    assert [line.split("\t") for line in Path("a.tsv").read_text().splitlines()[1:]] == [list(r.values()) for r in rows]
    lines = [json.loads(line) for line in Path("a.jsonl").read_text().splitlines()]
    assert pyarrow.parquet.read_table("a.parquet").to_pylist() == lines
    for line, row in zip(lines, rows, strict=True):
        assert (line["class"], line["prediction"]) == (row["class"], row["prediction"])
        assert line["probability"] == pytest.approx(float(row["probability"]), abs=1e-6)


def test_stdout_holds_the_table_and_nothing_else(run, fitted):
    done = run("predict", fitted, "iris.csv")
    assert done.out.splitlines()[:2] == ["prediction,probability", "setosa,0.997814"]
    assert done.out.count("\n") == 151
    assert done.err == "accuracy 0.9533, log loss 0.1041\n"


def test_the_document_holds_the_answers_where_no_file_does(run, fitted):
    report = run("predict", fitted, "iris.csv", "--json").document
    assert len(report["predictions"]) == report["rows"] == 150
    assert report["predictions"][0]["prediction"] == "setosa"


def test_stdin_gives_the_same_answers(run, fitted):
    assert run("predict", fitted, "-", text=Path("iris.csv").read_text()).out == run("predict", fitted, "iris.csv").out


def test_kept_columns_come_as_they_were_written(run, fitted):
    text = Path("iris.csv").read_text().splitlines()
    lines = [f"id,{text[0]},note", *(f'00{r},{line},"a, b"' for r, line in enumerate(text[1:]))]
    Path("more.csv").write_text("\n".join(lines) + "\n")
    run("predict", fitted, "more.csv", "--keep", "note,id", "-o", "a.csv")
    assert list(read_rows("a.csv")[7].values())[:2] == ["a, b", "007"]
    done = run("predict", fitted, "more.csv", "--keep", "all", "-o", "a.csv")
    assert Path("a.csv").read_text().startswith(f"id,{text[0]},note,prediction,probability\n")
    assert read_rows("a.csv")[7]["id"] == "007"
    assert done.err == ""


def test_reasons_are_those_of_explain_strongest_first(run, fitted):
    run("predict", fitted, "iris.csv", "--explain", "-o", "a.csv")
    reasons = run("explain", fitted, "--data", "iris.csv", "--row", 120, "--json").document["columns"][:3]
    assert read_rows("a.csv")[119]["reasons"] == "; ".join(
        f"{c['column']} = {c['value']} ({c['log_odds']:+.2f})" for c in reasons
    )


def test_columns_that_the_model_does_not_know_are_named_once(run, fitted):
    text = Path("iris.csv").read_text().replace("\n", ",1,2\n").replace("class,1,2", "class,id,more", 1)
    Path("more.csv").write_text(text)
    done = run("predict", fitted, "more.csv", "-o", "a.csv")
    assert done.err == "note: 2 columns that the model was not fitted on ('id', 'more'): ignored.\n"


def test_columns_that_are_not_there_are_missing_values_with_a_word(run, fitted):
    Path("typo.csv").write_text(Path("iris.csv").read_text().replace("petal_width", "petal_widht", 1))
    done = run("predict", fitted, "typo.csv", "-o", "a.csv")
    assert "note: 1 column that the model was not fitted on ('petal_widht'): ignored.\n" in done.err
    assert "1 of 4 columns is missing ('petal_width'): answered without it." in done.err
    X = open_table("iris.csv").read(columns=["sepal_length", "sepal_width", "petal_length"])
    with pytest.warns(tanager.DataWarning, match="'petal_width'"):
        answers = tanager.load(fitted).predict(X).tolist()
    assert [row["prediction"] for row in read_rows("a.csv")] == answers


def test_values_never_seen_are_counted_at_the_end(run):
    Path("train.csv").write_text("size,on,class\n" + "S,y,a\nM,n,b\n" * 20)
    Path("new.csv").write_text("size,on\n" + "XL,y\nS,n\n" * 3 + "XXL,y\n")
    run("fit", "train.csv", "-o", "m.tanager")
    done = run("predict", "m.tanager", "new.csv", "-o", "a.csv")
    assert done.err == (
        "note: column 'size': 4 cells hold 2 values never seen in training ('XL', 'XXL'): treated as missing.\n"
    )


def test_a_file_without_classes_gets_answers_and_no_figures(run, fitted):
    lines = [line.rpartition(",")[0] for line in Path("iris.csv").read_text().splitlines()]
    Path("new.csv").write_text("\n".join(lines) + "\n")
    done = run("predict", fitted, "new.csv")
    assert done.out == run("predict", fitted, "iris.csv").out
    assert done.err == ""


def test_digits_are_read_as_the_model_has_learned_them(run):
    write_rows("x.csv", ["code", "class"], [[("x1", "07", "12")[r % 3], "yn"[r % 2]] for r in range(60)])
    write_rows("new.csv", ["code"], [["07"], ["12"]])
    run("fit", "x.csv", "--set", "unseen=error")
    done = run("predict", "x.tanager", "new.csv")
    assert done.code == 0, done.err


def test_rows_of_an_unknown_class_count_as_wrong_and_rows_without_one_do_not_count(run, fitted):
    lines = Path("iris.csv").read_text().splitlines()
    stranger, nobody = lines[1].replace("setosa", "rosa"), lines[2].replace("setosa", "")
    Path("new.csv").write_text("\n".join([lines[0], lines[3], stranger, nobody]) + "\n")
    done = run("predict", fitted, "new.csv", "--json")
    report = done.document
    assert report["rows_with_class"] == 2
    assert report["accuracy"] == 0.5
    own = report["predictions"][0]["probability"]
    assert report["log_loss"] == pytest.approx(-(math.log(own) + math.log(1e-15)) / 2)
    assert "1 row of a class that the model has never seen" in done.err


def test_whole_numbers_are_classes_too(run):
    write_rows("x.csv", ["a", "b", "y"], [["uv"[r % 2], r % 5, r % 2] for r in range(60)])
    run("fit", "x.csv")
    done = run("predict", "x.tanager", "x.csv")
    assert done.out.splitlines()[1].split(",")[0] == "0"
    assert done.err.startswith("accuracy 1.0000")


def test_no_rows_give_no_answers(run, fitted):
    Path("none.csv").write_text(Path("iris.csv").read_text().splitlines()[0] + "\n")
    for ending in ("csv", "parquet", "jsonl"):
        assert run("predict", fitted, "none.csv", "--proba", "--keep", "class", "-o", f"a.{ending}").code == 0
    head = "class,prediction,probability,probability_setosa,probability_versicolor,probability_virginica\n"
    assert Path("a.csv").read_text() == head
    assert run("predict", fitted, "none.csv", "--json").document["predictions"] == []


MISTAKES = {
    "no model": (
        ["irs.tanager", "iris.csv"],
        "there is no file 'irs.tanager'. Check the name and the folder. Did you mean",
    ),
    "no data": (["iris.tanager", "irs.csv"], "there is no file 'irs.csv'. Check the name and the folder. Did you mean"),
    "the wrong way round": (["iris.csv", "iris.tanager"], "'iris.csv' is not a tanager file"),
    "kept stranger": (["iris.tanager", "iris.csv", "--keep", "idd"], "iris.csv has no column 'idd' (--keep)"),
    "unknown ending": (["iris.tanager", "iris.csv", "-o", "a.xls"], "unknown extension. Use one of .csv"),
    "output over input": (["iris.tanager", "iris.csv", "-o", "./iris.csv"], "would overwrite an input file"),
    "output over model": (["iris.tanager", "iris.csv", "-o", "iris.tanager"], "would overwrite an input file"),
    "folder as output": (["iris.tanager", "iris.csv", "-o", "."], "it is a folder"),
    "a damaged model": (["bad.tanager", "iris.csv"], "bad.tanager"),
    "a cut model": (["cut.tanager", "iris.csv"], "cut.tanager"),
    "a file cut in a line": (["iris.tanager", "cut.csv", "-o", "a.csv"], "The file ends in the middle of a line"),
    "text among numbers": (["iris.tanager", "text.csv"], "line 101, column 'petal_width': 'wide' is not a number"),
}


@pytest.mark.parametrize(("words", "sentence"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_of_a_new_user_gets_a_sentence_with_the_way_out(refused, fitted, words, sentence):
    text, data = Path("iris.csv").read_text(), Path(fitted).read_bytes()
    Path("bad.tanager").write_bytes(data[:500] + b"?" + data[501:])
    Path("cut.tanager").write_bytes(data[:-50])
    Path("cut.csv").write_text(text[:-15])
    lines = text.splitlines()
    Path("text.csv").write_text("\n".join([*lines[:100], lines[100].replace("1.3", "wide"), *lines[101:]]) + "\n")
    line = refused("predict", *words)
    assert line.startswith("tanager predict: ")
    assert sentence in line


def test_a_column_of_the_answers_cannot_be_kept(refused, run):
    write_rows("x.csv", ["prediction", "class"], [["uv"[r % 2], "yn"[r % 2]] for r in range(30)])
    run("fit", "x.csv")
    assert "cannot keep 'prediction'" in refused("predict", "x.tanager", "x.csv", "--keep", "prediction")
