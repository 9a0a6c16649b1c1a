"""``tanager update``, ``unlearn`` and ``merge``: models that learn more, forget, and join."""

from pathlib import Path

import pyarrow as pa
import pytest
from csv_files import write_rows

import tanager


def test_updating_with_a_part_equals_merging_it(run, shuffled):
    one, two = shuffled
    run("fit", one, "-o", "one.tanager")
    run("fit", two, "-o", "two.tanager", "--schema-from", "one.tanager")
    done = run("merge", "one.tanager", "two.tanager", "-o", "merged.tanager")
    assert (
        done.out
        == """\
model                 rows
one.tanager             75
two.tanager             75
merged.tanager (new)   150
"""
    )
    done = run("update", "one.tanager", two)
    assert done.out == "75 rows of part2.csv learned: 75 before, 150 now\nWritten to one.tanager\n"
    assert tanager.load("one.tanager").counts_ == tanager.load("merged.tanager").counts_


def test_unlearning_what_was_learned_gives_the_old_counts(run, shuffled):
    one, two = shuffled
    run("fit", one, "-o", "one.tanager")
    run("update", "one.tanager", two, "-o", "both.tanager")
    assert tanager.load("one.tanager").counts_.n_rows == 75
    done = run("unlearn", "both.tanager", two)
    assert done.out == "75 rows of part2.csv unlearned: 150 before, 75 now\nWritten to both.tanager\n"
    assert tanager.load("both.tanager").counts_ == tanager.load("one.tanager").counts_


def test_values_and_classes_that_are_new_in_a_part_are_merged_by_name(run):
    write_rows("one.csv", ["a", "b", "class"], [["uv"[r % 2], r / 7, "yn"[r % 2]] for r in range(40)])
    write_rows("two.csv", ["extra", "b", "a", "class"], [["z", r / 5, "wv"[r % 2], "mn"[r % 2]] for r in range(40)])
    run("fit", "one.csv")
    report = run("fit", "two.csv", "--schema-from", "one.tanager", "--json").document
    assert list(report["dropped"]) == ["extra"]
    run("merge", "one.tanager", "two.tanager", "-o", "both.tanager")
    model = tanager.load("both.tanager")
    assert model.classes_.tolist() == ["m", "n", "y"]
    assert model.encoder_.schema["a"].values == ("u", "v", "w")
    assert model.counts_.class_counts.tolist() == [20, 40, 20]
    run("update", "one.tanager", "two.csv")
    assert tanager.load("one.tanager").counts_ == model.counts_


@pytest.mark.parametrize("name", ["nb", "gaussian-nb", "tan", "kdb", "a2de", "best"])
def test_all_kinds_of_models_are_merged_and_updated(run, shuffled, name):
    one, two = shuffled
    run("fit", one, "-m", name, "-o", "one.tanager")
    assert run("fit", two, "-m", name, "-o", "two.tanager", "--schema-from", "one.tanager").code == 0
    assert run("merge", "one.tanager", "two.tanager", "-o", "both.tanager").code == 0
    assert run("update", "one.tanager", two).code == 0
    both = run("predict", "both.tanager", "iris.csv").out
    assert both == run("predict", "one.tanager", "iris.csv").out


def test_models_with_gaussian_columns_are_merged_and_updated(run, shuffled):
    one, two = shuffled
    learn = ["-m", "aode", "--set", "gaussian=true"]
    run("fit", one, *learn, "-o", "one.tanager")
    assert run("fit", two, *learn, "-o", "two.tanager", "--schema-from", "one.tanager").code == 0
    assert run("merge", "one.tanager", "two.tanager", "-o", "both.tanager").code == 0
    assert run("update", "one.tanager", two).code == 0
    assert run("predict", "both.tanager", "iris.csv").out == run("predict", "one.tanager", "iris.csv").out


def test_documents_hold_the_numbers_of_rows(run, shuffled):
    one, two = shuffled
    run("fit", one, "-o", "one.tanager")
    report = run("update", "one.tanager", two, "--json").document
    assert (report["learned"], report["before"], report["rows"]) == (75, 75, 150)
    report = run("merge", "one.tanager", "one.tanager", "-o", "m.tanager", "--json").document
    assert report["rows"] == 300
    assert report["models"] == [{"model": "one.tanager", "rows": 150}] * 2


def test_a_model_without_the_name_of_its_target_asks_for_it(run, refused, iris):
    X = pa.table({"sepal_length": [1.5, 2.5] * 10})
    tanager.AODE().fit(X, ["setosa", "virginica"] * 10).save("m.tanager")
    line = refused("update", "m.tanager", iris)
    assert "does not store the name of its target column. Give it with --target." in line
    assert run("update", "m.tanager", iris, "--target", "class").code == 0
    assert run("update", "m.tanager", iris).code == 0, "and remembers it"


MISTAKES = {
    "rows never learned": (["unlearn", "iris.tanager", "other.csv"], "other.csv, data rows 1 to 1: "),
    "a class never learned": (["unlearn", "iris.tanager", "rosa.csv"], "'rosa'"),
    "no target": (["update", "iris.tanager", "blind.csv"], "blind.csv has no column 'class'"),
    "a bad line late": (["update", "iris.tanager", "cut.csv"], "The file ends in the middle of a line"),
    "one model": (["merge", "iris.tanager", "-o", "m.tanager"], "at least two models are needed"),
    "two kinds": (
        ["merge", "iris.tanager", "tan.tanager", "-o", "m.tanager"],
        "iris.tanager contains AODE, tan.tanager TAN. Merge models of the same type.",
    ),
    "other cut points": (
        ["merge", "iris.tanager", "bins.tanager", "-o", "m.tanager"],
        "tanager fit ... -o bins.tanager --schema-from iris.tanager",
    ),
    "kinds said twice": (
        ["fit", "iris.csv", "--schema-from", "iris.tanager", "--bins", "width", "-o", "m.tanager"],
        "bins contradicts --schema-from",
    ),
    "a column less": (
        ["fit", "less.csv", "--schema-from", "iris.tanager"],
        "less.csv has no column 'sepal_length', which iris.tanager has.",
    ),
}


@pytest.mark.parametrize(("words", "sentence"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_changes_nothing_and_gets_a_sentence(run, refused, fitted, words, sentence):
    lines = Path("iris.csv").read_text().splitlines()
    Path("other.csv").write_text(f"{lines[0]}\n9,9,1,9,setosa\n")
    Path("rosa.csv").write_text(f"{lines[0]}\n{lines[1].replace('setosa', 'rosa')}\n")
    Path("blind.csv").write_text("\n".join(line.rpartition(",")[0] for line in lines))
    Path("less.csv").write_text("\n".join(line.partition(",")[2] for line in lines))
    Path("cut.csv").write_text("\n".join(lines)[:-15])
    run("fit", "iris.csv", "-m", "tan", "-o", "tan.tanager")
    run("fit", "iris.csv", "--bins", "width", "-o", "bins.tanager")
    assert sentence in refused(*words)


def test_models_that_forget_by_time_read_it_from_a_column(run):
    rows = [[f"2026-01-01T00:{r:02}:00", "uv"[r % 2], "yn"[r % 2]] for r in range(20)]
    write_rows("first.csv", ["when", "a", "class"], rows[:10])
    write_rows("then.csv", ["when", "a", "class"], rows[10:])
    write_rows("all.csv", ["when", "a", "class"], rows)
    fit = ("--times", "when", "--set", "window=5 min", "--target", "class")
    run("fit", "first.csv", *fit, "-o", "model.tanager")
    done = run("update", "model.tanager", "then.csv", "--times", "when")
    assert done.out == "10 rows of then.csv learned: 5 before, 5 now\nWritten to model.tanager\n"
    run("fit", "all.csv", *fit, "-o", "all.tanager")
    assert tanager.load("model.tanager").counts_ == tanager.load("all.tanager").counts_
    assert "when" not in tanager.load("model.tanager").encoder_.schema.names
    assert run("update", "model.tanager", "then.csv").code == 2
    assert "--times COLUMN" in run("update", "model.tanager", "then.csv").err
    assert "Did you mean 'when'?" in run("update", "model.tanager", "then.csv", "--times", "wen").err
