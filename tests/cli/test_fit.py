"""``tanager fit``: what it says, what it writes, and what it refuses."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from csv_files import write_rows
from sklearn.datasets import load_iris

import tanager
from tanager.cli.models import MODELS

LEAVES_OUT = True
NAMES = ["sepal_length", "sepal_width", "petal_length", "petal_width"]


def test_probabilities_worse_than_the_class_shares_are_told_with_what_to_try(run):
    random = np.random.default_rng(0)
    names = [*(f"c{i}" for i in range(60)), "class"]
    write_rows("noise.csv", names, [[*map(str, random.integers(0, 4, 60)), "ab"[n % 2]] for n in range(40)])
    told = "Its probabilities are worse than the shares of the classes alone."
    assert f"{told}\nTry --set calibrate=true, or tanager compare." in run("fit", "noise.csv").out
    assert "Its probabilities are worse" not in run("fit", "noise.csv", "--no-loo").out


def test_a_first_fit_says_what_was_decided_and_how_well_it_answers(run, iris):
    done = run("fit", iris)
    assert done.code == 0
    assert done.err == ""
    assert (
        done.out
        == """\
iris.csv: 150 rows, 4 columns, 3 classes in 'class'
Rows are sorted by class. Shuffle them before they are learned as a stream (tanager prequential).

class       rows  share
setosa        50  33.3%
versicolor    50  33.3%
virginica     50  33.3%

column        kind     values              reason
sepal_length  numeric  3 bins: 5.55, 6.15  numbers with fractions
sepal_width   numeric  3 bins: 2.95, 3.35  numbers with fractions
petal_length  numeric  3 bins: 2.45, 4.75  numbers with fractions
petal_width   numeric  3 bins: 0.8, 1.75   numbers with fractions

leave-one-out   accuracy  log loss
aode              0.9333    0.1398
majority class    0.3333    1.0986

Written to iris.tanager (9.4 kB). Next:
  tanager show iris.tanager
  tanager predict iris.tanager NEW.csv
"""
    )


def test_the_next_steps_can_be_copied_whatever_the_path(run, iris):
    out = run("fit", iris, "-o", "my model.tanager").out
    assert out.endswith("Next:\n  tanager show 'my model.tanager'\n  tanager predict 'my model.tanager' NEW.csv\n")


def test_the_model_is_the_one_that_python_learns(run, iris, fitted):
    data = load_iris()
    X = dict(zip(NAMES, data.data.T, strict=True))
    model, same = tanager.load(fitted), tanager.AODE().fit(X, data.target_names[data.target])
    np.testing.assert_array_equal(model.predict_proba(X), same.predict_proba(X))
    assert model.target_name_ == "class"
    assert model.n_jobs is None


def test_the_document_holds_what_was_printed_as_numbers(run, iris):
    report = run("fit", iris, "--json").document
    assert report["rows"] == 150
    assert report["output"] == "iris.tanager"
    assert report["classes"][0] == {"class": "setosa", "rows": 50}
    assert report["columns"][3]["cuts"] == pytest.approx([0.8, 1.75])
    assert report["leave_one_out"]["accuracy"] == pytest.approx(0.9333, abs=1e-4)
    assert report["majority_class"] == pytest.approx({"accuracy": 1 / 3, "log_loss": np.log(3)})


def test_gaps_ids_and_silent_columns_are_spoken_of(run, mixed):
    out = run("fit", mixed, "--target", "outcome", "--bins", '{"a": []}').out
    assert "id       every row has its own value" in out
    assert "No information about the class on their own: a\n" in out
    report = run("fit", mixed, "--target", "outcome", "--json").document
    missing = {column["name"]: column["missing"] for column in report["columns"]}
    assert set(missing) == {"a", "b", "c", "d", "e"}
    assert missing["c"] == sum(line.split(",")[4] == "" for line in Path(mixed).read_text().splitlines())
    assert report["dropped"] == {"id": "every row has its own value"}


@pytest.mark.parametrize("name", MODELS)
def test_every_model_can_be_learned_and_shown_and_can_answer(run, mixed, name):
    Path("drawn.dot").write_text("digraph { outcome -> a; outcome -> c; a -> c; }")
    words = ["--network", "drawn.dot"] if name == "network" else []
    done = run("fit", mixed, "-t", "outcome", "--model", name, "-o", "m.tanager", "--drop", "id", *words)
    assert done.code == 0, done.err
    assert f"\n{name} " in done.out or name in (
        "evolving",
        "half-lives",
        "hoeffding",
    )  # no row can be left out of these
    assert type(tanager.load("m.tanager")).__name__ == MODELS[name].cls
    assert run("show", "m.tanager").code == 0
    assert run("predict", "m.tanager", mixed).out.count("\n") == 121


def test_half_lives_are_learned_from_files_with_the_options_of_the_model_inside(run, iris):
    words = ["--set", "half_lives=[10, 100]", "--set", "min_count=2", "--smoothing", "0.5", "-o", "m.tanager"]
    assert run("fit", iris, "--model", "half-lives", *words).code == 0
    model = tanager.load("m.tanager")
    assert (model.model.min_count, model.model.smoothing, list(model.half_lives)) == (2, 0.5, [10, 100])
    assert "weights: 10 rows " in run("show", "m.tanager").out
    assert set(run("show", "m.tanager", "--json").document["weights"]) == {"10 rows", "100 rows"}


@pytest.mark.parametrize("name", MODELS)
def test_every_model_lists_its_options(run, name):
    options = {o["option"]: o for o in run("fit", "--model", name, "--options", "--json").document["options"]}
    own = {"evolving": {"alpha", "max_error"}, "hoeffding": {"grace", "bins"}}
    assert own.get(name, {"smoothing", "bins", "max_memory"}) <= set(options)
    assert all(option["about"] for option in options.values())
    text = run("fit", "--model", name, "--options").out
    assert all(f"\n{option} " in text for option in options)


def test_options_are_set_by_flag_and_by_name(run, iris):
    words = ["--smoothing", "m:2", "--bins", '{"petal_width": [1, 2]}', "--set", "k=1", "--set", "threshold=0.1"]
    run("fit", iris, "--model", "kdb", *words)
    model = tanager.load("iris.tanager")
    assert (model.k, model.threshold, model.smoothing) == (1, 0.1, tanager.MEstimate(2))
    assert model.encoder_.schema["petal_width"].cuts == (1.0, 2.0)


def test_candidates_are_given_by_name(run, iris):
    run("fit", iris, "--model", "best", "--set", 'candidates=["nb", "tan"]')
    assert [type(model).__name__ for model in tanager.load("iris.tanager").candidates] == ["NaiveBayes", "TAN"]


def test_columns_are_named_between_commas(run, mixed):
    run("fit", mixed, "-t", "outcome", "--drop", "id,a", "--categorical", "b", "--numeric", "d", "-o", "m.tanager")
    schema = tanager.load("m.tanager").encoder_.schema
    assert schema.names == ("b", "c", "d", "e")
    assert (schema["b"].kind, schema["d"].kind) == ("categorical", "numeric")


def test_a_name_with_a_comma_is_quoted_as_in_the_file(run):
    write_rows("x.csv", ["a,b", "c", "class"], [["u", r % 3, "yn"[r % 2]] for r in range(30)])
    assert run("fit", "x.csv", "--drop", '"a,b"').code == 0
    assert tanager.load("x.tanager").encoder_.schema.names == ("c",)


def test_files_of_all_kinds_give_the_same_model(run, iris):
    text = Path(iris).read_text()
    Path("iris.tsv").write_text(text.replace(",", "\t"))
    Path("iris.csv.gz").write_bytes(gzip.compress(text.encode()))
    run("fit", iris, "-o", "csv.tanager")
    for name in ("iris.tsv", "iris.csv.gz"):
        run("fit", name, "-o", "other.tanager")
        assert tanager.load("other.tanager").counts_ == tanager.load("csv.tanager").counts_
    assert run("fit", "-", text=text).code == 0
    assert tanager.load("model.tanager").counts_ == tanager.load("csv.tanager").counts_


def test_another_text_can_stand_for_missing(run):
    write_rows("x.csv", ["a", "class"], [["none" if r % 5 == 0 else r / 7, "yn"[r % 2]] for r in range(50)])
    report = run("fit", "x.csv", "--missing", "none", "--json").document
    assert report["columns"][0]["kind"] == "numeric"
    assert report["columns"][0]["missing"] == 10


def test_without_leaving_out_nothing_is_measured(run, iris):
    done = run("fit", iris, "--no-loo")
    assert "accuracy" not in done.out
    assert run("fit", iris, "--no-loo", "--json").document["leave_one_out"] is None


def test_the_target_is_asked_for_unless_its_name_says_so(run, refused, mixed):
    assert refused("fit", mixed) == (
        "tanager fit: which column of mixed.csv is the target? Give it with --target. "
        "The columns are id, a, b, outcome, c, d, e."
    )


def test_a_calibrated_model_shows_what_calibration_changes(run, iris):
    report = run("fit", iris, "--model", "nb", "--set", "calibrate=true", "--json").document["calibration"]
    assert report["how"] == "leave-one-out"
    assert report["n_rows"] == 150
    assert report["log_loss"] < report["log_loss_before"]
    assert list(report["offsets"].values()) == [0, 0, 0]
    shown = run("fit", iris, "--model", "nb", "--set", "calibrate=true").out
    assert "calibration (leave-one-out, 150 rows)" in shown
    assert f"Probabilities are taken to the power {report['power']:.3f}." in shown


def test_a_failed_fit_leaves_the_old_model_as_it_was(run, refused, fitted):
    old = Path(fitted).read_bytes()
    refused("fit", "iris.csv", "--target", "clas", "-o", fitted)
    assert Path(fitted).read_bytes() == old


MISTAKES = {
    "no file": (["fit", "irs.csv"], "there is no file 'irs.csv'"),
    "unknown column": (["fit", "iris.csv", "-t", "clas"], "iris.csv has no column 'clas'. Did you mean 'class'?"),
    "unknown model": (["fit", "iris.csv", "-m", "aoed"], "unknown model 'aoed'. Did you mean 'aode'?"),
    "unknown option": (
        ["fit", "iris.csv", "--set", "smothing=1"],
        "the model 'aode' has no option 'smothing'. Did you mean 'smoothing'?",
    ),
    "option of another model": (
        ["fit", "iris.csv", "--set", "k=3"],
        "List them with: tanager fit --model aode --options",
    ),
    "no value": (["fit", "iris.csv", "--set", "k"], "--set k: write option=value, for example --set k=3"),
    "wrong value": (["fit", "iris.csv", "--set", "unseen=skip"], "unseen='skip' is not an option; choose one of"),
    "wrong smoothing": (["fit", "iris.csv", "--smoothing", "much"], "smoothing 'much' is not valid; give a number"),
    "negative smoothing": (["fit", "iris.csv", "--smoothing", "-1"], "the strength must be a finite number"),
    "wrong bins": (["fit", "iris.csv", "--bins", "entropy"], "bins='entropy' is not an option"),
    "wrong size": (["fit", "iris.csv", "--max-memory", "lots"], "max_memory"),
    "too small": (["fit", "iris.csv", "--max-memory", "1 kB"], "raise max_memory"),
    "dropped stranger": (["fit", "iris.csv", "--drop", "petal"], "iris.csv has no column 'petal' (--drop)."),
    "categorical stranger": (["fit", "iris.csv", "--categorical", "petl_width"], "Did you mean 'petal_width'?"),
    "folder as data": (["fit", "."], "is a folder. Give the path of a file"),
    "folder as output": (["fit", "iris.csv", "-o", "."], "cannot write '.': it is a folder. Give the path of a file."),
    "folder that is not there": (["fit", "iris.csv", "-o", "no/m"], "there is no folder 'no'. Create it first."),
    "output over input": (["fit", "iris.csv", "-o", "iris.csv"], "would overwrite an input file"),
    "no model to follow": (["fit", "iris.csv", "--schema-from", "x.tanager"], "there is no file 'x.tanager'"),
    "window beyond numbers": (["fit", "iris.csv", "--set", "window=99999999999999999999"], "indow"),
    "smoothing beyond numbers": (
        ["fit", "iris.csv", "--smoothing", "1e-300"],
        "from 1e-100 to 1e+100 where it is not 0",
    ),
    "no encoding": (["fit", "iris.csv", "--encoding", "nosuch"], "is not the name of a text encoding"),
    "no text encoding": (["fit", "iris.csv", "--encoding", "base64"], "is not the name of a text encoding"),
    "empty encoding": (["fit", "iris.csv", "--encoding", ""], "is not the name of a text encoding"),
    "no decay": (["fit", "iris.csv", "--set", "decay=0"], "decay=0"),
    "decay in words": (["fit", "iris.csv", "--set", "decay=2 q"], "decay='2 q'"),
    "unknown format": (["fit", "iris.csv", "--format", "xls"], "format='xls' is not an option"),
    "target dropped": (["fit", "iris.csv", "--drop", "class"], "'class' is the target"),
}


@pytest.mark.parametrize(("words", "sentence"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_of_a_new_user_gets_a_sentence_with_the_way_out(refused, iris, words, sentence):
    line = refused(*words)
    assert line.startswith("tanager fit: ")
    assert sentence in line


FILES = {
    "empty": ("", "x.csv is empty"),
    "a header": ("a,class\n", "x.csv"),
    "one class": ("a,class\n" + "1,y\n" * 30, "column 'class' has one value only, 'y'"),
    "no class": ("a,class\n" + "1,\n" * 30, "no row has a label in column 'class'"),
    "fractions": ("a,class\n" + "".join(f"1,{r}.5\n" for r in range(30)), "'class' holds numbers with fractions"),
    "cut in a line": ("a,b,class\n" + "1,2,y\n2,3,n\n" * 20 + "1,2", "line 42: found 2 cells, expected 3"),
    "a cell too many": ("a,class\n1,y\n2,n\n3,y,z\n", "line 4: found 3 cells, expected 2"),
    "a name twice": ("a,a,class\n1,2,y\n", "are both named 'a'"),
    "only a class": ("class\ny\nn\n", "has no column to learn from"),
    "binary": ("\0\1\2\3", "x.csv"),
}


@pytest.mark.parametrize(("text", "sentence"), FILES.values(), ids=FILES)
def test_a_file_that_cannot_be_learned_is_refused_with_its_place(refused, text, sentence):
    Path("x.csv").write_text(text)
    line = refused("fit", "x.csv", "-t", "class")
    assert sentence in line
    assert "x.csv" in line or "column 'class'" in line
