"""``tanager rules``, and what the other commands say about a model without counts."""

import pytest


@pytest.fixture
def evolving(run, iris):
    """iris.tanager, an evolving model."""
    run("fit", iris, "--model", "evolving")
    return "iris.tanager"


def test_rules_are_sentences_that_fit_the_screen(run, evolving):
    out = run("rules", evolving).out
    assert out.startswith("3 rules for 3 classes, from 150 rows\n\nIF sepal_length is about 5.01 (±0.35) AND")
    assert "THEN setosa   weight 0.878 (33% of the rows)" in out
    assert max(map(len, out.splitlines())) <= 80


def test_rules_are_a_table_or_data(run, evolving):
    out = run("rules", evolving, "--table", "--events").out
    assert "   1  setosa       0.878  33.3%  sepal_length  about 5.01 (±0.35)" in out
    assert "none: every class is one cluster" in out
    document = run("rules", evolving, "--json").document
    assert [rule["class"] for rule in document["rules"]] == ["setosa", "versicolor", "virginica"]
    assert document["rules"][0]["if"][0] == {
        "column": "sepal_length",
        "about": pytest.approx(5.006, abs=0.01),
        "spread": pytest.approx(0.3525, abs=0.01),
        "density": "normal",
    }
    assert document["events"] == []


def test_rules_name_what_is_cut_off(run, evolving):
    assert "... and 2 more rules (--top)" in run("rules", evolving, "--top", 1).out


def test_fuzzy_sets_are_drawn(run, evolving, tmp_path):
    assert run("rules", evolving, "--plot", "sets.png", "--columns", "petal_length").out.endswith(
        "\nPicture written to sets.png\n"
    )
    assert run("show", evolving, "-o", "show.svg", "--top", 2).out.endswith("Picture written to show.svg\n")
    assert (tmp_path / "sets.png").exists()


def test_a_model_without_rules_is_refused_with_the_way_out(run, refused, fitted):
    said = refused("rules", fitted)
    assert "iris.tanager contains AODE, which has no rules" in said
    assert "--model evolving" in said


def test_slips_are_refused(refused, evolving):
    assert "Did you mean 'iris.tanager'" in refused("rules", "iris.tanger")
    assert "unknown extension" in refused("rules", evolving, "--plot", "sets.txt")
    assert "Did you mean 'petal_width'" in refused("rules", evolving, "--plot", "sets.png", "--columns", "petal_wide")


def test_commands_that_need_counts_say_why_not(run, refused, evolving, iris):
    assert "depends on the order" in refused("unlearn", evolving, iris)
    assert "depends on the order" in refused("merge", evolving, evolving, "-o", "both.tanager")
    assert "its rules say why" in refused("explain", evolving, '{"petal_length": 4.0}')
    assert "has rules, not a network" in refused("convert", evolving, "iris.bif")
    assert "not a network to compare" in refused("show", evolving, "--compare-to", evolving)


def test_an_evolving_model_is_shown_updated_and_answers(run, evolving, iris):
    assert "THEN virginica" in run("show", evolving).out
    assert "150 rows of iris.csv learned: 150 before, 300 now" in run("update", evolving, iris).out
    assert "accuracy 0.9" in run("predict", evolving, iris, "-o", "answers.csv").out
    assert "depends on the order of the rows" in run("fit", iris, "--model", "evolving").err
    assert run("fit", iris, "--schema-from", evolving, "--model", "evolving", "-o", "b.tanager").code == 0
