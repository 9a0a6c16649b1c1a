"""``tanager show``, ``explain``, ``schema`` and ``datasets``: commands that look and say."""

import json
from pathlib import Path

import pandas as pd
import pytest
from csv_files import read_rows, write_rows

import tanager
from tanager.datasets import available
from tanager.encoding import Schema


def test_show_says_what_was_learned(run, fitted):
    assert (
        run("show", fitted).out
        == """\
AODE in iris.tanager (9.4 kB)
learned from 150 rows: 4 columns, 3 classes in 'class'

class       rows  share
setosa        50  33.3%
versicolor    50  33.3%
virginica     50  33.3%

column        kind      nats  mutual information
petal_width   numeric  0.955  ████████████████████
petal_length  numeric  0.940  ████████████████████
sepal_length  numeric  0.452  █████████
sepal_width   numeric  0.267  ██████

column        other column   nats  information given the class
sepal_length  sepal_width   0.059  ████████████████████
sepal_length  petal_length  0.050  █████████████████
petal_length  petal_width   0.031  ██████████
sepal_length  petal_width   0.028  █████████
sepal_width   petal_width   0.021  ███████
sepal_width   petal_length  0.011  ████
"""
    )


def test_show_draws_a_tree_in_text(run, iris):
    run("fit", iris, "--model", "tan")
    assert run("show", "iris.tanager").out.endswith("""
class: a parent of all
└─ petal_width
   └─ petal_length (0.031)
      └─ sepal_length (0.050)
         └─ sepal_width (0.059)
""")


def test_show_counts_the_networks_of_a_forest(run, iris):
    run("fit", iris, "--model", "network-forest", "--set", "n_members=5")
    shown = run("show", "iris.tanager").out
    assert "5 networks, " in shown
    assert "of the weight of all factors" in shown or "all factors weigh the same" in shown
    assert json.loads(run("show", "iris.tanager", "--json").out)["forest"]["networks"] == 5


def test_show_lists_several_parents_and_candidates(run, iris):
    run("fit", iris, "--model", "kdb")
    assert "└─ sepal_length (0.037) ← petal_width (0.015)" in run("show", "iris.tanager").out
    run("fit", iris, "--model", "best", "--set", 'candidates=["nb", "tan"]')
    shown = run("show", "iris.tanager").out
    assert "* chosen" in shown
    assert "\nTAN()           0.9" in shown


def test_the_document_of_show_holds_arcs_pairs_and_options(run, iris):
    run("fit", iris, "--model", "tan", "--smoothing", "bdeu:3")
    report = run("show", "iris.tanager", "--json").document
    assert report["classifier"] == "TAN"
    assert report["options"] == {"smoothing": "BDeu(strength=3.0)"}
    arcs = {arc["child"]: (arc["parent"],) for arc in report["arcs"]}
    assert arcs == {child: own for child, own in tanager.load("iris.tanager").parents_.items() if own}
    run("fit", iris)
    assert len(run("show", "iris.tanager", "--json").document["pairs"]) == 6


@pytest.mark.parametrize("model", ["gaussian-nb", "tan"])
def test_show_says_which_columns_are_normal_distributions(run, iris, model):
    import pandas as pd

    options = [] if model == "gaussian-nb" else ["--set", 'gaussian=["sepal_width"]']
    data = pd.read_csv(iris)
    column = next(name for name in data.columns if "sepal" in name and "width" in name)
    options = [option.replace("sepal_width", column) for option in options]
    run("fit", iris, "--model", model, *options, "-o", "normal.tanager")
    mean, deviation = (getattr(data.groupby("class")[column], how)() for how in ("mean", "std"))
    done = run("show", "normal.tanager")
    assert "normal distributions given the class" in done.out
    assert f"{mean.iloc[0]:.4g} ± " in done.out
    found = run("show", "normal.tanager", "--json").document["normal_distributions"]
    assert len(found) == (4 if model == "gaussian-nb" else 1)
    (line,) = [line for line in found if line["column"] == column]
    assert [entry["mean"] for entry in line["by_class"]] == pytest.approx(mean.tolist())
    plain = [entry["deviation"] * (entry["rows"] / (entry["rows"] - 1)) ** 0.5 for entry in line["by_class"]]
    assert plain == pytest.approx(deviation.tolist())


def test_a_long_list_is_cut_short(run, fitted):
    out = run("show", fitted, "--top", 2).out
    assert "... and 1 more\n" in out
    assert "... and 4 more\n" in out


@pytest.mark.parametrize("model", ["aode", "nb", "tan", "best", "network-forest"])
@pytest.mark.parametrize("ending", ["png", "svg"])
def test_show_draws_a_picture(run, iris, model, ending):
    pytest.importorskip("matplotlib", reason="pictures need the extra 'plot'")
    run("fit", iris, "--model", model)
    done = run("show", "iris.tanager", "-o", f"x.{ending}")
    assert done.code == 0
    assert done.out.endswith(f"Picture written to x.{ending}\n")
    assert Path(f"x.{ending}").read_bytes()[:5] in (b"\x89PNG\r", b"<?xml")
    assert ("averages over many networks" in done.err) == (model in ("aode", "best", "network-forest"))


ROW = '{"petal_length": 4.9, "petal_width": 1.7}'


def test_explain_gives_reasons_that_add_up(run, fitted):
    done = run("explain", fitted, ROW)
    assert (
        done.out
        == """\
'versicolor' rather than 'virginica': probability 0.5308, log-odds +0.1984
  petal_width = (0.8, 1.75]    +2.0189
  petal_length = (4.75, inf)   -1.8205

class       probability
versicolor       0.5308
virginica        0.4353
setosa           0.0339
"""
    )
    report = run("explain", fitted, ROW, "--json").document
    assert report["prior"] + sum(c["log_odds"] for c in report["columns"]) == pytest.approx(report["log_odds"])
    assert sum(report["probabilities"].values()) == pytest.approx(1)


def test_a_row_comes_inline_from_a_file_from_stdin_or_from_a_table(run, fitted):
    said = run("explain", fitted, ROW).out
    Path("row.json").write_text(ROW)
    assert run("explain", fitted, "row.json").out == said
    assert run("explain", fitted, "-", text=ROW).out == said
    row = {key: float(value) for key, value in read_rows("iris.csv")[106].items() if key != "class"}
    assert run("explain", fitted, json.dumps(row)).out == run("explain", fitted, "--data", "iris.csv", "--row", 107).out


def test_classes_to_explain_can_be_chosen(run, fitted):
    out = run("explain", fitted, ROW, "--answer", "setosa", "--against", "virginica").out
    assert out.startswith("'setosa' rather than 'virginica': probability 0.0339")


def test_a_misspelt_column_of_a_row_is_noted(run, fitted):
    err = run("explain", fitted, '{"petal_lenght": 4.9, "petal_width": 1.7, "class": "setosa"}').err
    assert err == "note: ignored 'petal_lenght', which is not a column of the model. Did you mean 'petal_length'?\n"


def test_a_row_without_a_known_column_is_refused(refused, fitted):
    said = refused("explain", fitted, '{"petal_lenght": 4.9}')
    assert "has none of the columns of this row, such as 'petal_lenght'. Did you mean 'petal_length'?" in said


def test_schema_says_what_fit_would_decide(run, mixed):
    done = run("schema", mixed, "--target", "outcome")
    assert done.code == 0
    run("fit", mixed, "--target", "outcome")
    learned = tanager.load("mixed.tanager").encoder_.schema
    assert Schema.from_dict(run("schema", mixed, "--target", "outcome", "--json").document) == learned
    table = done.out.split("\n\n")[1]
    assert table in run("fit", mixed, "--target", "outcome").out


def test_without_a_target_numbers_are_cut_by_frequency(run, mixed):
    done = run("schema", mixed)
    assert "No target (--target)" in done.out
    schema = Schema.from_dict(run("schema", mixed, "--n-bins", 3, "--drop", "id", "--json").document)
    assert schema.names == ("a", "b", "outcome", "c", "d", "e")
    assert schema["a"].n_values == 3


def test_a_table_fits_into_80_columns(run):
    names_ = [f"a_rather_long_name_of_a_column_{i}" for i in range(3)]
    rows = [[f"a long value {(r * i) % 9}" for i in range(3)] + ["yn"[r % 2]] for r in range(90)]
    write_rows("x.csv", [*names_, "class"], rows)
    for words in (["fit", "x.csv"], ["schema", "x.csv"], ["show", "x.tanager"]):
        lines = run(*words).out.splitlines()
        assert max(map(len, lines)) <= 80
        assert any(line.startswith(names_[0]) for line in lines)


def test_datasets_are_listed_and_written(run):
    out = run("datasets").out
    assert "iris             150        4        3  scikit-learn\n" in out
    assert run("datasets", "--json").document["datasets"] == [vars(entry) for entry in available()]
    assert run("datasets", "iris", "-o", "iris.csv").out.endswith("Next: tanager fit iris.csv\n")
    assert len(read_rows("iris.csv")) == 150
    assert run("fit", "iris.csv").code == 0
    done = run("datasets", "wine", "-o", "-")
    assert done.out.count("\n") == 179
    assert done.err.startswith("wine: 178 rows, 13 columns and the class")


MISTAKES = {
    "unknown data set": (["datasets", "irs"], "Did you mean 'iris'?"),
    "no test rows": (["datasets", "iris", "--test"], "'iris' has no test part"),
    "unknown picture": (["show", "iris.tanager", "-o", "x.gif"], "unknown extension. Use one of .png"),
    "no row": (["explain", "iris.tanager"], "give a row as JSON, or a data file"),
    "half a place": (["explain", "iris.tanager", ROW, "--rows", "3"], "give a row as JSON, or a data file"),
    "no numbers": (["explain", "iris.tanager", "--data", "iris.csv", "--rows", "x"], "for example 107 or 1-10,17"),
    "a range down": (["explain", "iris.tanager", "--data", "iris.csv", "--rows", "9-3"], "a range goes up"),
    "two ways to say it": (
        ["explain", "iris.tanager", ROW, "--contrast", "setosa", "virginica", "--answer", "setosa"],
        "--contrast names both classes",
    ),
    "no what-if": (["explain", "iris.tanager", ROW, "--wanted", "setosa"], "are for --what-if"),
    "no cost": (["explain", "iris.tanager", ROW, "--what-if", "--cost", "petal_width"], "write COLUMN=NUMBER"),
    "one row as a table": (["explain", "iris.tanager", ROW, "-o", "x.csv"], "one row is written as a picture"),
    "nomogram of two": (["show", "iris.tanager", "--nomogram", "--compare-to", "iris.tanager"], "shows one model"),
    "no nomogram": (["show", "iris.tanager", "--answer", "setosa"], "are for --nomogram"),
    "row beyond the end": (
        ["explain", "iris.tanager", "--data", "iris.csv", "--row", 151],
        "iris.csv has 150 rows; there is no row 151.",
    ),
    "no JSON": (["explain", "iris.tanager", "{petal_width: 1}"], "the row is not valid JSON"),
    "a list": (["explain", "iris.tanager", "[1, 2]"], "the row is not a JSON object"),
    "neither": (["explain", "iris.tanager", "petal_width=1"], "'petal_width=1' is neither a file nor JSON"),
    "unknown class": (
        ["explain", "iris.tanager", ROW, "--answer", "setose"],
        "--answer setose: unknown class. Did",
    ),
    "no file": (["schema", "irs.csv"], "there is no file 'irs.csv'"),
    "text as a number": (["explain", "iris.tanager", '{"petal_width": "wide"}'], "'wide'"),
}


@pytest.mark.parametrize(("words", "sentence"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_of_a_new_user_gets_a_sentence_with_the_way_out(refused, fitted, words, sentence):
    assert sentence in refused(*words)


def test_a_model_that_watches_for_drift_is_shown_asked_and_updated_like_others(run, iris):
    X = pd.read_csv(iris)
    y = X.pop("class")
    model = tanager.DriftAware(tanager.NaiveBayes()).fit(X, y)
    model.save("watchful.tanager")
    shown = run("show", "watchful.tanager").out
    assert "DriftAware in watchful.tanager" in shown
    assert "learned from 150 rows: 4 columns, 3 classes" in shown
    run("predict", "watchful.tanager", iris, "-o", "answers.csv")
    assert [row["prediction"] for row in read_rows("answers.csv")] == model.predict(X).tolist()
    run("update", "watchful.tanager", iris, "--target", "class")
    assert tanager.load("watchful.tanager").class_count_.sum() == 300
