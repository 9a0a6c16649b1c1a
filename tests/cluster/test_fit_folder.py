"""``tanager fit FOLDER --engine dask``: a folder of files is learned as one table."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from sklearn.datasets import load_iris

import tanager
from tanager.cli.main import main

NAMES = ["sepal_length", "sepal_width", "petal_length", "petal_width"]


@pytest.fixture
def iris():
    data = load_iris()
    columns = dict(zip(NAMES, data.data.T, strict=True))
    return pa.table(columns | {"class": data.target_names[data.target].tolist()})


def run(*args):
    done = CliRunner().invoke(main, [str(arg) for arg in args])
    return done.exit_code, done.output


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_a_folder_is_learned_as_one_table(tmp_path, monkeypatch, iris, ending):
    pytest.importorskip("dask.dataframe", reason="the extra 'dask' is not installed")
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "rows"
    folder.mkdir()
    for at in range(0, 150, 40):
        write = pq.write_table if ending == "parquet" else pa.csv.write_csv
        write(iris.slice(at, 40), folder / f"part-{at:03d}.{ending}")
    code, output = run("fit", "rows", "--engine", "dask", "--model", "tan", "--drop", "sepal_width")
    assert code == 0, output
    assert "rows: 150 rows, 3 columns, 3 classes in 'class'" in output
    model = tanager.load("rows.tanager")
    one = tanager.TAN().fit(iris.drop_columns(["sepal_width", "class"]), iris["class"])
    assert model.counts_ == one.counts_
    if ending == "parquet":
        code, output = run("fit", folder.as_uri(), "--engine", "dask", "--model", "tan", "--drop", "sepal_width")
        assert code == 0, output
        assert tanager.load("rows.tanager").counts_ == one.counts_
    np.testing.assert_array_equal(model.predict_proba(iris.select(model.encoder_.schema.names)).shape, (150, 3))


def test_what_an_engine_cannot_read_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    for args, words in (
        (("fit", "empty", "--engine", "dusk"), "--engine='dusk' is not an option"),
        (("fit", "empty", "--engine", "dask"), "a folder of .parquet files or of .csv files; there is no such file"),
        (("fit", "empty"), "or learn all its files with --engine dask"),
    ):
        code, output = run(*args)
        assert code == 2
        assert words in output.replace("\n", " ")
