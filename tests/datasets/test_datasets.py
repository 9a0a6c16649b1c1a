"""Data sets by name, from a folder that is made here, from scikit-learn, and not from OpenML unless asked for."""

from __future__ import annotations

import gzip
import json
import os

import numpy as np
import pytest

from tanager import AODE, DataError
from tanager.datasets import load, names


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.delenv("TANAGER_DATA", raising=False)
    attributes = [{"name": "code", "kind": "categorical"}, {"name": "size", "kind": "numeric"}]
    common = {"attributes": attributes, "classes": {"0": 2, "1": 2}, "rows": 4, "note": "made up"}
    parts = [{"file": f"split-{part}.csv.gz", "part": part} for part in ("train", "test")]
    index = {"small": {**common, "files": [{"file": "small.csv", "part": "all"}]}, "split": {**common, "files": parts}}
    (tmp_path / "datasets.json").write_text(json.dumps(index))
    text = "code,size,class\n01,1.5,0\n02,,1\n,2.5,0\n?,3.5,1\n"
    (tmp_path / "small.csv").write_text(text)
    for part in parts:
        (tmp_path / part["file"]).write_bytes(gzip.compress(text.encode()))
    return tmp_path


def test_a_set_from_a_folder_keeps_digits_as_text_and_empty_cells_as_missing(folder):
    data = load("small", folder)
    assert data.X.to_pydict() == {"code": ["01", "02", None, "?"], "size": [1.5, None, 2.5, 3.5]}
    assert data.y.tolist() == ["0", "1", "0", "1"]
    assert data.options == {"categorical": ["code"], "numeric": ["size"]}
    assert data.test is None
    assert data.about["note"] == "made up"
    assert AODE(**data.options).fit(data.X, data.y).classes_.tolist() == ["0", "1"]


def test_a_set_with_an_official_split_has_a_test_part(folder):
    data = load("split", folder)
    assert (len(data.y), len(data.test.y), data.test.name) == (4, 4, "split-test")
    assert repr(data) == "<Dataset 'split': 4 rows and 4 to test, 1 categorical and 1 numeric columns, 2 classes>"


def test_complete_rows_have_no_missing_cells(folder):
    data = load("split", folder).complete()
    assert data.X.to_pydict() == {"code": ["01", "?"], "size": [1.5, 3.5]}
    assert data.y.tolist() == data.test.y.tolist() == ["0", "1"]


def test_the_folder_may_be_named_by_the_environment(folder, monkeypatch):
    assert [entry.name for entry in names()] == ["breast_cancer", "digits", "iris", "wine"]
    monkeypatch.setenv("TANAGER_DATA", str(folder))
    entries = {entry.name: entry for entry in names()}
    assert set(entries) == {"breast_cancer", "digits", "iris", "small", "split", "wine"}
    assert (entries["small"].n_rows, entries["small"].n_columns, entries["small"].n_classes) == (4, 2, 2)
    assert (entries["small"].where, entries["iris"].where) == (str(folder), "scikit-learn")
    assert load("small").name == "small"


@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer", "digits"])
def test_what_scikit_learn_brings_needs_no_folder(folder, name):
    data = load(name, folder)
    entry = next(entry for entry in names() if entry.name == name)
    assert (data.X.num_rows, data.X.num_columns) == (entry.n_rows, entry.n_columns)
    assert len(np.unique(data.y)) == entry.n_classes
    assert data.y.dtype.kind == "U"


def test_unknown_names_are_refused_with_the_nearest_ones_and_where_was_looked(folder):
    with pytest.raises(
        DataError, match=r"'smal' \(looked in .* and scikit-learn\). Did you mean 'small'\?.*openml:smal"
    ):
        load("smal", folder)
    with pytest.raises(DataError, match="TANAGER_DATA is not set"):
        load("small")
    with pytest.raises(FileNotFoundError, match=r"folder= .* does not contain datasets.json"):
        load("small", folder / "none")
    (folder / "datasets.json").write_text("{,")
    with pytest.raises(DataError, match=r"datasets.json, line 1: this is not JSON"):
        names(folder)


def openml(monkeypatch, answer):
    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda name, **options: answer())


def test_openml_is_asked_only_by_its_name(monkeypatch):
    from sklearn.utils import Bunch

    bunch = Bunch(
        data=np.array([[0.0, 1.5], [1.0, np.nan], [np.nan, 2.5]]),
        target=np.array(["p", "q", "p"], dtype=object),
        feature_names=["sky", "size"],
        categories={"sky": ["sun", "rain"]},
        DESCR="a set",
        details={"version": "1"},
    )
    openml(monkeypatch, lambda: bunch)
    data = load("openml:weather")
    assert data.X.to_pydict() == {"sky": ["sun", "rain", None], "size": [1.5, None, 2.5]}
    assert data.options == {"categorical": ["sky"], "numeric": ["size"]}
    assert data.y.tolist() == ["p", "q", "p"]


def test_without_a_network_openml_is_refused_in_one_sentence(monkeypatch):
    def fail():
        raise OSError("no route")

    openml(monkeypatch, fail)
    with pytest.raises(DataError, match=r"openml:weather cannot be downloaded from openml.org: no route. Check"):
        load("openml:weather")


@pytest.mark.skipif("TANAGER_DATA" not in os.environ, reason="TANAGER_DATA is not set of data sets")
def test_every_set_of_the_shelf_has_the_size_that_its_index_says():
    for entry in names():
        data = load(entry.name)
        n_rows = len(data.y) + (0 if data.test is None else len(data.test.y))
        assert (n_rows, data.X.num_columns) == (entry.n_rows, entry.n_columns), entry.name
