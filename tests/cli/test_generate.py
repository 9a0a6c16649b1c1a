"""tanager generate: from words to rows in a file, and what it says of them."""

import pyarrow.parquet
import pytest
from csv_files import read_rows

from tanager import generate


def test_rows_of_a_file_are_those_of_the_library(run):
    words = "tan --rows 1e3 --drift abrupt --at 500 --noise 0.05 --missing 0.1 --seed 3 -o out.parquet"
    done = run("generate", *words.split())
    assert done.code == 0
    stream = generate.drift(generate.tan(random_state=3), generate.tan(random_state=4), 500).noise(0.05).missing(0.1)
    table = pyarrow.parquet.read_table("out.parquet")
    assert table.equals(next(stream.tables(1000)))
    assert "1,000 rows of TAN, then TAN from row 500 on, with 5 % noise, 10 % missing" in done.out
    assert "19 columns: x1, x2" in done.out
    assert "1 drift at row 500" in done.out
    assert f"accuracy of the Bayes-optimal classifier: {stream.accuracy(1000):.4f}" in done.out
    assert "Next: tanager fit out.parquet" in done.out


def test_without_a_file_rows_go_to_stdout_and_words_elsewhere(run):
    done = run("generate", "stagger", "-n", 5)
    assert done.out.splitlines()[:2] == ["size,colour,shape,class", "medium,red,triangle,0"]
    assert len(done.out.splitlines()) == 6
    assert "5 rows of STAGGER" in done.err


WAYS = {
    "gradual": (
        "nb --drift gradual --at 30 --width 10",
        lambda: generate.drift(generate.naive_bayes(), generate.naive_bayes(random_state=1), 30, 10),
    ),
    "recurring": (
        "nb --drift recurring --every 20",
        lambda: generate.recurring(generate.naive_bayes(), generate.naive_bayes(random_state=1), every=20),
    ),
    "incremental": (
        "tan --drift incremental",
        lambda: generate.incremental(generate.tan(), generate.redrawn(generate.tan(), 1), 50, 60),
    ),
    "options": (
        "ban --columns 5 --values 3 --classes 4 --set n_arcs=8 --set dirichlet=0.5",
        lambda: generate.ban(8, n_columns=5, n_values=3, n_classes=4, dirichlet=0.5),
    ),
    "effects": (
        "nb --irrelevant 2 --imbalance 0.9,0.1 --noise 0.1 --flip --class-noise 0.1 --missing 0.2 --by-class",
        lambda: (
            generate.naive_bayes()
            .irrelevant(2)
            .imbalanced([0.9, 0.1])
            .noise(0.1, flip=True)
            .class_noise(0.1)
            .missing(0.2, how="mar")
        ),
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_words_mean_what_the_library_means(run, way):
    words, make = WAYS[way]
    assert run("generate", *words.split(), "--rows", 100, "-o", "x.parquet").code == 0
    assert pyarrow.parquet.read_table("x.parquet").equals(next(make().tables(100)))


@pytest.mark.parametrize("text", ["2000", "2_000", "2e3", "2k", "2K", "0.002M"])
def test_numbers_of_rows_are_written_in_many_ways(run, text):
    assert run("generate", "xor", "--rows", text, "-o", "x.csv").code == 0
    assert len(read_rows("x.csv")) == 2000


def test_all_models_are_listed_and_can_be_made(run):
    listed = run("generate", "--list", "--json").document["models"]
    assert run("generate").out == run("generate", "--list").out
    for entry in listed:
        assert entry["model"] in run("generate").out
        assert run("generate", entry["model"], "-n", 2).code == 0
    functions = set(generate.__all__) - {"Stream", "drift", "recurring", "incremental", "redrawn", "from_network"}
    assert len(listed) == len(functions)


def test_the_options_of_a_model_are_listed(run):
    assert "max_parents  4" in run("generate", "ban", "--list").out
    assert run("generate", "sea", "--list", "--json").document["options"]["every"] == 12_500


def test_programs_get_a_document(run):
    document = run("generate", "sea", "-n", "30k", "-o", "x.csv", "--json").document
    assert document["rows"] == 30_000
    assert document["drifts"] == [12_500, 25_000]
    assert document["best_accuracy"] == pytest.approx(0.9)
    assert document["columns"] == ["x1", "x2", "x3"]


def test_no_rows_are_rows_too(run):
    assert run("generate", "xor", "-n", 0).out == "x1,x2,class\n"


MISTAKES = {
    "model": ("tn", "unknown model 'tn'. Did you mean 'tan'?"),
    "rows": ("tan --rows ten", "'ten' is not a number of rows; write 10000, 10_000, 1e4 or 10k."),
    "half a row": ("tan --rows 2.5", "'2.5' is not a number of rows"),
    "percent": ("tan --noise 5", "noise=5.0 is not an option; give a number from 0 to 1. For 5 % write 0.05."),
    "option": ("ban --set arcs=60", "ban has no option 'arcs'. Did you mean 'n_arcs'?"),
    "no such choice": ("xor --columns 5", "xor has no option 'n_columns'. Its options: spread."),
    "nothing to drift to": ("sea --drift abrupt", "--drift is not available for sea. It is for nb, tan"),
    "no tables": ("gaussians --drift incremental", "incremental drift is available for nb, tan and ban only."),
    "at without drift": ("tan --at 5", "--at needs --drift abrupt, gradual, incremental."),
    "at of recurring": ("tan --drift recurring --at 5", "--at needs --drift abrupt, gradual, incremental."),
    "width of abrupt": ("tan --drift abrupt --width 5", "--width needs --drift gradual, incremental."),
    "flip alone": ("tan --flip", "--flip needs --noise."),
    "shares": ("tan --imbalance 0.9", "give 2 shares that sum to 1, one per class."),
    "no shares": ("tan --imbalance a,b", "--imbalance a,b: give one proportion per class, such as 0.9,0.1."),
    "ending": ("tan -o x.xls", "unknown extension"),
    "json on stdout": ("tan --json", "Write the rows to a file with -o."),
    "seed": ("tan --seed -1", "random_state=-1 is not an option"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_gets_one_line(refused, name):
    words, sentence = MISTAKES[name]
    assert sentence in refused("generate", *words.split())
