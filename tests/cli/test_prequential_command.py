"""tanager prequential: a stream in, a table out, and every slip of the pen has its sentence."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from csv_files import read_rows, write_rows

from tanager import AODE, NaiveBayes
from tanager.evaluate import prequential

LEAVES_OUT = True


@pytest.fixture
def stream(run):
    """stream.csv in the folder: 400 rows, whose classes change their meaning in the middle."""
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 2, 400)
    rows = []
    for r, c in enumerate(labels.tolist()):
        shown = c if r < 200 else 1 - c
        cells = ["ab"[shown if rng.random() < 0.85 else 1 - shown] for _ in range(4)]
        rows.append([f"name{r}", *cells, r, ["no", "yes"][c]])
    write_rows("stream.csv", ["id", "x1", "x2", "x3", "x4", "second", "class"], rows)
    return "stream.csv"


def test_models_are_measured_along_a_file(run, stream):
    options = ("--drop", "id,second", "--last", 50, "--every", 25)
    document = run("prequential", stream, "--model", "nb,aode", *options, "--json").document
    rows = read_rows(stream)
    X = [[row[f"x{i}"] for i in range(1, 5)] for row in rows]
    pairs = [({f"x{i + 1}": v for i, v in enumerate(x)}, row["class"]) for x, row in zip(X, rows, strict=True)]
    expected = prequential({"nb": NaiveBayes(), "aode": AODE()}, iter(pairs), window=50, every=25)
    assert document["rows"] == 400
    assert document["classes"] == ["no", "yes"]
    for line in document["models"]:
        name = line["model"]
        np.testing.assert_allclose(line["accuracy"], expected.curve(name)[-1])
        np.testing.assert_allclose(line["log_loss"], expected.curve(name, "log_loss")[-1])
        assert line["lowest"] == dict(zip(["row", "accuracy"], expected.lowest(name), strict=True))
        assert line["lowest"]["row"] > 200
    assert list(document["dropped"]) == ["id", "second"]


def test_the_table_says_where_it_was_worst(run, stream):
    done = run("prequential", stream, "--model", "aode", "--drop", "second", "--last", 50)
    assert "stream.csv: 400 rows, 2 classes in 'class'" in done.out
    assert "Dropped: second (asked for), id (every row has its own value)" in done.out
    head, line = done.out.splitlines()[3:5]
    assert head.split() == ["accuracy", "kappa-t", "log", "loss", "recent", "lowest", "at", "row", "speed"]
    assert [line.split("  ")[0] for line in done.out.splitlines()[4:7]] == ["aode", "no change", "majority"]
    assert line.split()[0] == "aode"
    assert max(map(len, done.out.splitlines())) <= 90


def test_options_of_one_model_follow_its_name(run, stream):
    document = run("prequential", stream, "--model", "nb,nb:smoothing=5:unseen=smooth", "--json").document
    plain, other = document["models"]
    assert other["model"] == "nb:smoothing=5:unseen=smooth"
    assert plain["log_loss"] != other["log_loss"]


def test_rows_late_labels_and_batches_are_passed_on(run, stream):
    def accuracy(*words):
        document = run("prequential", stream, "--model", "nb", "--drop", "second,id", *words, "--json").document
        assert document["rows"] == 300
        return document["models"][0]["log_loss"]

    values = [accuracy("--rows", "0.3k"), accuracy("--rows", 300, "--batch", 20)]
    assert len(set(values)) == 2


def test_curves_become_files(run, stream):
    pytest.importorskip("matplotlib", reason="plots need matplotlib, the extra 'plot'")
    done = run(
        "prequential", stream, "--every", 100, "--csv", "curves.csv", "--plot", "curves.png", "--measure", "kappa"
    )
    assert "Curves written to curves.csv\nPicture written to curves.png" in done.out
    lines = read_rows("curves.csv")
    assert [(line["model"], line["row"]) for line in lines] == [
        *itertools.product(["nb", "aode", "no change", "majority"], ["100", "200", "300", "400"])
    ]
    assert Path("curves.png").read_bytes().startswith(b"\x89PNG")


def test_rows_can_be_made_up(run):
    document = run("prequential", "generate:tan", "--rows", "2k", "--model", "tan", "--json").document
    assert document["rows"] == 2000
    other = run("prequential", "generate:tan", "--rows", "2k", "--model", "tan", "--seed", 4, "--json").document
    assert document["models"][0]["accuracy"] != other["models"][0]["accuracy"]
    assert "19 columns, 2 classes" in run("prequential", "generate:tan", "--rows", 100, "--model", "nb").out


def test_river_runs_beside_ours(run, stream):
    pytest.importorskip("river", reason="needs the extra 'river'")
    words = ("--model", "nb", "--against", "river-nb,river-last", "--rows", 200, "--drop", "id")
    document = run("prequential", stream, *words, "--json").document
    assert [line["model"] for line in document["models"]] == ["nb", "river-nb", "river-last"]


def test_without_river_there_is_a_kind_sentence(refused, stream, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "river", None)
    assert refused("prequential", stream, "--against", "river-nb") == (
        "tanager prequential: river is not installed. Install it with: pip install 'tanager[river]'"
    )


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["stream.csv", "--target", "clas"], "stream.csv has no column 'clas'. Did you mean 'class'?"),
        (["stream.cvs"], "there is no file 'stream.cvs'. Check the name and the folder. Did you mean 'stream.csv'?"),
        (["stream.csv", "--model", "aod"], "unknown model 'aod'. Did you mean 'aode'?"),
        (["stream.csv", "--model", ","], "--model: give at least one model"),
        (["stream.csv", "--model", "nb:smothing=2"], "has no option 'smothing'. Did you mean 'smoothing'?"),
        (["stream.csv", "--against", "river-nn"], "unknown classifier 'river-nn'. Did you mean 'river-nb'?"),
        (["stream.csv", "--rows", "0"], "n_rows=0: give a whole number of rows of at least 1."),
        (["stream.csv", "--rows", "many"], "'many' is not a number of rows; write 10000"),
        (["stream.csv", "--delay", "-1"], "'-1' is not a number of rows"),
        (["stream.csv", "--fade", "2"], "fade=2.0 must be above 0 and at most 1."),
        (["stream.csv", "--times", "secnd"], "has no column 'secnd'. Did you mean 'second'?"),
        (["stream.csv", "--csv", "no/curves.csv"], "there is no folder 'no'"),
        (["generate:tna", "--rows", "100"], "unknown generator 'tna'. Did you mean 'tan'?"),
        (["generate:tan"], "a generator is endless; give the number of rows, for example --rows 1e6"),
    ],
)
def test_slips_of_the_pen_get_one_sentence(refused, stream, words, sentence):
    assert sentence in refused("prequential", *words)


def test_the_last_labels_are_columns_of_half_lives(run, stream):
    options = ("--model", "half-lives,half-lives:lag=0", "--drop", "id,second", "--rows", "120", "--json")
    document = run("prequential", stream, *options, "--lag", 1).document
    lagged, plain = document["models"]
    assert lagged["log_loss"] != plain["log_loss"]
    assert [line["model"] for line in document["baselines"]] == ["no change", "majority"]
    assert lagged["kappa_temporal"] == pytest.approx(
        (lagged["accuracy"] - document["baselines"][0]["accuracy"]) / (1 - document["baselines"][0]["accuracy"])
    )
    late = run("prequential", stream, *options, "--lag", 1, "--delay", 20).document
    assert late["models"][0]["log_loss"] != lagged["log_loss"]


def test_last_labels_are_for_half_lives_alone(refused, stream):
    assert "--model half-lives" in refused("prequential", stream, "--model", "nb", "--lag", 1)
