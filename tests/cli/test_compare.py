"""``tanager compare``: which classifier for this file, and over several."""

import json
from pathlib import Path

import pytest

from tanager.cli.models import MODELS


def test_all_classifiers_are_compared_and_one_is_recommended(run, iris):
    done = run("compare", iris)
    lines = done.out.splitlines()
    assert lines[0] == "iris: 150 rows, 4 columns, 10-fold cross-validation"
    every = {name for name, entry in MODELS.items() if entry.compared}
    assert {line.split()[0] for line in lines[3 : 3 + len(every)]} == every
    assert set(MODELS) - every >= {
        "anytime",
        "anytime2",
        "gbn",
        "mn",
        "w-gbn",
        "w-mn",
        "w-mn-fs",
        "evolving",
        "network",
    }
    assert any(line.startswith("Take ") for line in lines)
    assert max(map(len, lines[:21])) <= 80


def test_the_figures_for_programs_are_those_of_the_library(run, iris):
    from sklearn.datasets import load_iris

    from tanager import TAN, NaiveBayes
    from tanager.evaluate import cross_validate

    found = run("compare", iris, "--models", "nb,tan", "--folds", 5, "--seed", 3, "--json").document
    data = load_iris(return_X_y=True)
    expected = cross_validate({"nb": NaiveBayes(), "tan": TAN()}, *data, folds=5, seed=3, timing=False, n_jobs=1)
    for line in found["classifiers"]:
        for measure in ("accuracy", "log_loss", "rmse", "auc", "calibration_error"):
            mean = expected.mean("data", line["classifier"], measure)
            assert line[measure] == pytest.approx(mean)
    assert found["recommended"]["classifier"] in ("nb", "tan")


def test_classifiers_of_scikit_learn_stand_beside_ours(run, iris):
    found = run("compare", iris, "--models", "nb", "--with", "tree,logistic", "--folds", 3, "--json").document
    assert {line["classifier"] for line in found["classifiers"]} == {"nb", "tree", "logistic"}


def test_several_files_give_ranks_and_tests(run, iris):
    run("datasets", "wine", "-o", "wine.csv")
    done = run("compare", iris, "wine.csv", "--models", "nb,tan,aode", "--folds", 3, "-o", "errors.csv")
    assert "Over 2 files" in done.out
    assert "Friedman" in done.out
    assert Path("errors.csv").read_text().splitlines()[0] == "dataset,nb,tan,aode"
    found = run("compare", iris, "wine.csv", "--models", "nb,tan", "--folds", 3, "--by", "log_loss", "--json").document
    assert [line["dataset"] for line in found["log_loss"]] == ["iris", "wine"]
    assert found["friedman"]["classifiers"] == 2


@pytest.mark.parametrize("ending", ["csv", "md", "tex"])
def test_the_table_is_written_in_the_format_of_its_ending(run, iris, ending):
    run("compare", iris, "--models", "nb,tan", "--folds", 3, "-o", f"table.{ending}")
    text = Path(f"table.{ending}").read_text()
    assert "nb" in text
    assert {"csv": "dataset,classifier", "md": "| dataset |", "tex": r"\toprule"}[ending] in text


def test_a_picture_is_drawn(run, iris):
    pytest.importorskip("matplotlib")
    run("compare", iris, "--models", "nb,tan", "--folds", 3, "--plot", "compared.png")
    assert Path("compared.png").read_bytes().startswith(b"\x89PNG")


def test_finished_folds_are_kept_and_found_again(run, iris):
    run("compare", iris, "--models", "nb", "--folds", 3, "--resume", "run.jsonl")
    assert len(Path("run.jsonl").read_text().splitlines()) == 3
    run("compare", iris, "--models", "nb,tan", "--folds", 3, "--resume", "run.jsonl")
    names = [json.loads(line)["record"]["classifier"] for line in Path("run.jsonl").read_text().splitlines()]
    assert sorted(names) == ["nb"] * 3 + ["tan"] * 3


def test_a_target_of_ids_is_doubted(run):
    Path("ids.csv").write_text("v,name\n" + "".join(f"{i % 3},person {i}\n" for i in range(30)))
    for command in ("fit", "compare"):
        done = run(command, "ids.csv", "--target", "name", *(["--models", "nb"] if command == "compare" else []))
        assert "'name' has 30 classes in 30 rows. Is it the right target (--target)?" in done.err


MISTAKES = {
    "no file": (["irs.csv"], "there is no file 'irs.csv'. Check the name and the folder. Did you mean 'iris.csv'?"),
    "no column": (["iris.csv", "--target", "clas"], "iris.csv has no column 'clas'. Did you mean 'class'?"),
    "no model": (["iris.csv", "--models", "nb,taan"], "--models: unknown classifier 'taan'. Did you mean 'tan'?"),
    "no peer": (["iris.csv", "--with", "forst"], "--with: unknown classifier 'forst'. Did you mean 'forest'?"),
    "many folds": (
        ["iris.csv", "--folds", "200"],
        "folds=200 needs at least 200 rows, and there are 150. Use fewer folds.",
    ),
    "one fold": (["iris.csv", "--folds", "1"], "folds=1: give a whole number of at least 2."),
    "no format": (["iris.csv", "-o", "x.xlsx"], "cannot write 'x.xlsx': unknown extension."),
    "own input": (["iris.csv", "-o", "iris.csv"], "would overwrite an input file"),
    "no folder": (["iris.csv", "--plot", "no/x.png"], "there is no folder 'no'"),
    "no ledger": (["iris.csv", "--resume", "iris.csv"], "'iris.csv' holds no finished folds"),
    "no measure": (["iris.csv", "--by", "logloss"], "'logloss' is not one of"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_line_with_the_way_out(refused, iris, mistake):
    words, sentence = MISTAKES[mistake]
    said = refused("compare", *words)
    assert said.startswith("tanager compare: ")
    assert sentence in said
