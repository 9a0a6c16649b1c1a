"""``tanager compare``: which classifier for this file, and over several."""

import json
from pathlib import Path

import pytest
from csv_files import write_rows

from tanager.cli.models import MODELS
from tanager.evaluate import TimeLimit

PEERS = ("forest", "gradient", "logistic")


def test_all_classifiers_are_compared_and_one_is_recommended(run, iris):
    done = run("compare", iris, "--time-limit", "inf", "--folds", 2)
    lines = done.out.splitlines()
    assert lines[0] == "iris: 150 rows, 4 columns, 2-fold cross-validation"
    every = {name for name, entry in MODELS.items() if entry.compared}
    shown = {line.split()[0] for line in lines[3 : 3 + len(every) + len(PEERS)]}
    assert shown == every | set(PEERS)
    assert "  gradient: numbers as they are, gaps too; categories as codes" in lines
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


def test_values_that_only_one_fold_has_are_no_news(run):
    rows = [[f"v{n}" if n % 3 == 0 else "often", n + 0.5, "ab"[n % 2]] for n in range(60)]
    write_rows("rare.csv", ["note", "size", "class"], rows)
    done = run("compare", "rare.csv", "--models", "gaussian-nb,nb", "--folds", 3, "--jobs", 1)
    assert done.code == 0
    assert "never seen" not in done.err


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


def test_an_arff_file_declares_its_classes_too(run, tmp_path):
    rows = "\n".join(f"{i % 7},{'yes' if i % 7 > 3 else 'no'}" for i in range(40))
    path = tmp_path / "data.arff"
    path.write_text(f"@relation r\n@attribute a numeric\n@attribute kind {{yes,no}}\n@data\n{rows}\n")
    found = run("compare", path, "--target", "kind", "--models", "nb", "--folds", 2, "--json").document
    assert found["classifiers"][0]["accuracy"] == 1.0


def test_classifiers_of_scikit_learn_stand_beside_ours(run, iris):
    found = run("compare", iris, "--models", "nb", "--with", "tree,logistic", "--folds", 3, "--json").document
    assert {line["classifier"] for line in found["classifiers"]} == {"nb", "tree", "logistic"}


def test_the_names_decide_which_of_scikit_learn_are_there(run, iris):
    def names(*words):
        found = run("compare", iris, "--folds", 2, "--json", *words).document
        return {line["classifier"] for line in found["classifiers"]}

    assert names("--models", "nb") == {"nb"}
    assert names("--models", "nb,tree") == {"nb", "tree"}
    assert names("--models", "nb,tree", "--with", "logistic") == {"nb", "tree", "logistic"}
    assert names("--models", "nb,tree", "--no-peers") == {"nb"}
    ours = {name for name, entry in MODELS.items() if entry.compared}
    assert names("--no-peers", "--time-limit", "inf") == ours


def test_where_one_of_scikit_learn_is_best_the_best_of_ours_is_named_as_well(run):
    lines = ["a,b,class"] + [
        f"{i % 97},{(i * 37) % 89},{'in' if i % 97 > (i * 37) % 89 else 'out'}" for i in range(400)
    ]
    Path("line.csv").write_text("\n".join(lines))  # a line that no bins can draw
    words = ("compare", "line.csv", "--models", "nb,aode,logistic", "--folds", 3)
    found = run(*words, "--json").document["recommended"]
    assert found["classifier"] == "logistic"
    assert found["own"] in ("nb", "aode")
    assert f"\nOf tanager's own, take {found['own']}: " in run(*words).out
    assert "tanager's own" not in run("compare", "line.csv", "--models", "nb,aode", "--folds", 3).out
    assert "tanager's own" not in run("compare", "line.csv", "--models", "nb,logistic", "--folds", 3).out


def fixed_costs(monkeypatch, **seconds):
    """Every fold takes what is given here for its classifier, and the clock stands still."""

    class Fixed(TimeLimit):
        def __init__(self, *args, **options):
            forecast = lambda model, size: seconds.get(type(model).__name__, 0.0)  # noqa: E731
            super().__init__(*args, clock=lambda: 0.0, forecast=forecast, **options)

        def finished(self, stage, plan, taken):
            super().finished(stage, plan, stage.forecasts[plan])

    monkeypatch.setattr("tanager.evaluate.TimeLimit", Fixed)


def test_what_would_take_too_long_is_left_out_and_said(run, iris, monkeypatch):
    fixed_costs(monkeypatch, NaiveBayes=0.001, TAN=1.0, AODE=500.0)
    words = ("compare", iris, "--models", "aode,nb,tan", "--folds", 3, "--jobs", 1)
    done = run(*words, "--time-limit", 20)
    assert {line.split()[0] for line in done.out.splitlines()[3:5]} == {"nb", "tan"}
    assert "note: left out for time: aode (about 1500 s). For these as well: --time-limit 1800\n" in done.err
    found = run(*words, "--time-limit", 20, "--json").document
    assert list(found["left_out"]) == ["aode"]
    assert {line["classifier"] for line in run(*words, "--json").document["classifiers"]} == {"aode", "nb", "tan"}


def test_all_models_have_a_limit_for_each_file(run, iris, monkeypatch):
    fixed_costs(monkeypatch, AODE=21, SPC=24, KDB=22)  # of two folds: 42, 48 and 44 seconds
    found = run("compare", iris, "--no-peers", "--folds", 2, "--jobs", 1, "--json").document
    assert found["left_out"] == {"spc": 48, "spcr": 48}


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
    "no model of scikit-learn": (
        ["iris.csv", "--with", "aode"],
        "--with: 'aode' is no classifier of scikit-learn. Name it with --models.",
    ),
    "with and without": (["iris.csv", "--with", "tree", "--no-peers"], "--with and --no-peers exclude each other."),
    "no models": (
        ["iris.csv", "--models", ","],
        "--models: no classifier is named. Use all, or names such as nb,aode.",
    ),
    "blanks": (
        ["iris.csv", "--models", "nb", "aode"],
        "there is no file 'aode'. Separate classifiers by commas: --models nb,aode",
    ),
    "all and more": (["iris.csv", "--models", "all,lbr"], "--models: all stands by itself."),
    "no time": (["iris.csv", "--time-limit", "0"], "--time-limit 0: give a number of seconds above 0."),
    "less than no time": (["iris.csv", "--time-limit", "-3"], "--time-limit -3: give a number of seconds above 0."),
    "time in words": (["iris.csv", "--time-limit", "1min"], "'1min' is not a valid float"),
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
