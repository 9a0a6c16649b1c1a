"""A folder to work in, with files to start from, and ``run`` to call the command in it."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from csv_files import write_rows
from sklearn.datasets import load_iris

from registry import small_table
from tanager.cli.main import main


class Done:
    """What a command said and how it ended."""

    def __init__(self, result):
        self.code, self.out, self.err = result.exit_code, result.stdout, result.stderr
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception

    @property
    def document(self):
        return json.loads(self.out)


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Calls ``tanager`` in an empty folder; bugs come out as they are."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("TANAGER_DATA", raising=False)
    return lambda *words, text=None: Done(CliRunner().invoke(main, [str(word) for word in words], input=text))


@pytest.fixture
def refused(run):
    """Calls ``tanager`` with a mistake in it, and gives the one line that it says."""

    def call(*words, text=None):
        before = snapshot()
        done = run(*words, text=text)
        assert done.code == 2, done.out + done.err
        assert done.out == ""
        assert done.err.count("\n") == 1
        assert snapshot() == before, "a refused command leaves no file behind"
        return done.err.strip()

    return call


def snapshot():
    return {path.name: path.read_bytes() for path in Path().iterdir() if path.is_file()}


@pytest.fixture
def iris(run):
    """iris.csv in the folder: 150 rows, four number columns, and the class."""
    data = load_iris()
    names = ["sepal_length", "sepal_width", "petal_length", "petal_width", "class"]
    write_rows("iris.csv", names, [[*row, data.target_names[c]] for row, c in zip(data.data, data.target, strict=True)])
    return "iris.csv"


@pytest.fixture
def mixed(run):
    """mixed.csv in the folder: numbers, text, gaps, an id, and the target in the middle."""
    X, y = small_table(120)
    rows = [[f"row{r}", *X[r, :2], y[r], *X[r, 2:]] for r in range(len(X))]
    write_rows(
        "mixed.csv", ["id", "a", "b", "outcome", "c", "d", "e"], [["" if v is None else v for v in row] for row in rows]
    )
    return "mixed.csv"


@pytest.fixture
def fitted(run, iris):
    """iris.tanager in the folder, an AODE."""
    assert run("fit", iris, "--no-loo").code == 0
    return "iris.tanager"


@pytest.fixture
def shuffled(iris):
    """Two halves of iris.csv, with all classes in both."""
    lines = Path(iris).read_text().splitlines()
    order = np.random.default_rng(0).permutation(np.arange(1, 151))
    for name, places in (("part1.csv", order[:75]), ("part2.csv", order[75:])):
        Path(name).write_text("\n".join([lines[0], *(lines[i] for i in places)]) + "\n")
    return "part1.csv", "part2.csv"
