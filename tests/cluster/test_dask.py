"""Dask gives the schema, counts and answers of one machine, whatever the partitions are."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pytest

pytest.importorskip("dask.dataframe", reason="the extra 'dask' is not installed")

import dask.array as da
import dask.dataframe as dd
import pandas as pd
from hypothesis import given
from part_tables import once, parted, table_for

from profiles import examples
from registry import NAMES, make
from tanager import AODE, KDB, TAN, DataError, DataWarning, NaiveBayes, OptionError, SchemaMismatch, load, save
from tanager.dask import fit, predict, predict_proba


@pytest.fixture(autouse=True)
def quiet():
    """Rows without a label are spoken of; these tests know."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        yield


def as_frames(table):
    """The whole as a pandas frame, and as a Dask frame of its parts."""
    whole = table.frame().to_pandas()
    edges = [0, *table.ends, len(whole)]
    parts = [whole.iloc[a:b] for a, b in pairwise(edges)]
    frame = dd.from_map(lambda part: part, parts, meta=whole.iloc[:0])
    return frame.compute(scheduler="sync"), frame  # Dask makes text of objects


def assert_same(ours, one, whole, frame):
    assert ours.encoder_.schema == one.encoder_.schema
    assert ours.counts_ == one.counts_
    proba = predict_proba(ours, frame).compute(scheduler="sync")
    assert proba.columns.tolist() == one.classes_.tolist()
    X = whole[list(one.encoder_.schema.names)]
    np.testing.assert_array_equal(ours.predict_proba(X), one.predict_proba(X))
    # Partitions are smaller batches, which can be read from other tables: they agree to the last bit but one.
    np.testing.assert_allclose(proba.to_numpy(), one.predict_proba(X), rtol=1e-14)
    assert predict(ours, frame).compute(scheduler="sync").tolist() == one.predict(X).tolist()


def in_blocks(model, X, size):
    """Answers block by block: many rows at once are read from other tables, which can differ in the last bit."""
    return np.concatenate([model.predict_proba(X[at : at + size]) for at in range(0, len(X), size)])


@given(parted())
@examples(40)
def test_any_partitions_give_the_model_of_one_machine(table):
    whole, frame = as_frames(table)
    one = AODE().fit(whole.drop(columns="class"), whole["class"])
    assert_same(fit(AODE(), frame, target="class", scheduler="sync"), one, whole, frame)


@given(parted(weighted=True))
@examples(15)
def test_a_column_of_weights(table):
    whole, frame = as_frames(table)
    one = TAN().fit(whole.drop(columns=["class", "weight"]), whole["class"], whole["weight"])
    assert_same(fit(TAN(), frame, target="class", sample_weight="weight", scheduler="sync"), one, whole, frame)


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_every_classifier_that_counts_is_that_of_one_machine(name):
    whole, frame = as_frames(table_for(name))
    one = once(make(name, 5)).fit(whole.drop(columns=["class", "weight"]), whole["class"], whole["weight"])
    ours = fit(make(name, 5), frame, target="class", sample_weight="weight", scheduler="sync")
    X = whole[list(one.encoder_.schema.names)]
    assert ours.encoder_.schema == one.encoder_.schema
    assert ours.counts_ == one.counts_
    np.testing.assert_array_equal(ours.predict_proba(X), one.predict_proba(X))


def some_rows(n=2000, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    colour = np.array(["red", "green", "blue", "grey"], dtype=object)[(y + rng.integers(0, 3, n)) % 4]
    return pd.DataFrame({"x": rng.normal(size=n) + y, "n": rng.integers(0, 50, n) + y, "colour": colour, "class": y})


def test_arrays_and_their_blocks():
    table = some_rows()
    X, y = table[["x", "n"]].to_numpy(), table["class"].to_numpy()
    rows, labels = da.from_array(X, chunks=(300, 1)), da.from_array(y, chunks=700)
    weights = da.from_array(np.arange(2000) % 3 * 1.0, chunks=2000)
    ours = fit(AODE(), rows, labels, sample_weight=weights, scheduler="threads")
    one = AODE().fit(X, y, np.arange(2000) % 3)
    assert ours.counts_ == one.counts_
    np.testing.assert_array_equal(predict_proba(ours, rows).compute(), in_blocks(one, X, 300))
    np.testing.assert_array_equal(predict(ours, rows).compute(), one.predict(X))


def test_labels_beside_the_frame_and_columns_that_are_dropped():
    table = some_rows()
    frame = dd.from_pandas(table, npartitions=4)
    ours = fit(AODE(), frame, frame["class"], drop=["class", "n"], scheduler="threads")
    assert ours.counts_ == AODE().fit(table[["x", "colour"]], table["class"]).counts_
    assert ours.target_name_ == "class"


def test_a_folder_of_parquet_files_and_a_saved_model(tmp_path):
    table = some_rows(3000)
    dd.from_pandas(table, npartitions=5).to_parquet(tmp_path / "rows")
    frame = dd.read_parquet(tmp_path / "rows")
    ours = fit(KDB(), frame, target="class", scheduler="threads")
    whole = frame.compute()
    one = KDB(refresh=float("inf")).fit(whole.drop(columns="class"), whole["class"])
    save(ours, tmp_path / "model.tanager")
    again = load(tmp_path / "model.tanager")
    X = whole.drop(columns="class")
    np.testing.assert_array_equal(again.predict_proba(X), one.predict_proba(X))
    predict_proba(again, frame).rename(columns=str).to_parquet(tmp_path / "answers")
    answers = pd.read_parquet(tmp_path / "answers").to_numpy()
    np.testing.assert_array_equal(answers, in_blocks(one, X, 600))


def test_what_cannot_be_used_is_refused():
    frame = dd.from_pandas(some_rows(50), npartitions=2)
    with pytest.raises(OptionError, match="give the labels as y, or the column"):
        fit(AODE(), frame)
    with pytest.raises(SchemaMismatch, match=r"no column 'clas'\. Did you mean 'class'"):
        fit(AODE(), frame, target="clas")
    with pytest.raises(DataError, match="give a Dask frame or array"):
        fit(AODE(), some_rows(50), target="class")
    with pytest.raises(DataError, match="with the 2 partitions of X"):
        fit(AODE(), frame, some_rows(50)["class"])
    model = fit(NaiveBayes(), frame, target="class", scheduler="sync")
    with pytest.raises(SchemaMismatch, match="none of the 3 columns"):
        predict(model, frame[["class"]]).compute()


def test_a_column_that_a_frame_to_answer_lacks_is_missing_and_told():
    table = some_rows(50)
    model = fit(NaiveBayes(), dd.from_pandas(table, npartitions=2), target="class", scheduler="sync")
    lacking = table[["x", "n"]]
    with pytest.warns(DataWarning, match="1 of 3 columns is missing"):
        found = predict(model, dd.from_pandas(lacking, npartitions=2)).compute(scheduler="sync")
    assert list(found) == list(model.predict(lacking))  # which was told already


@pytest.mark.long
def test_workers_in_other_processes_and_tasks_that_fail_once(tmp_path):
    """A task that dies is done again: no row is counted twice, and none is lost."""
    distributed = pytest.importorskip("distributed", reason="the extra 'dask' is not installed")
    table = some_rows(4000)
    frame = dd.from_pandas(table, npartitions=6)

    def fragile(part, folder):
        number = int(part.index[0])
        mark = folder / f"{number}-{len(list(folder.glob(f'{number}-*')))}"
        mark.touch()
        if mark.name.endswith("-0"):
            raise OSError("this worker has lost its disk")
        return part

    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster),
    ):
        shaky = frame.map_partitions(fragile, tmp_path, meta=table.iloc[:0])
        ours = fit(AODE(), shaky, target="class", retries=3)
    one = AODE().fit(table.drop(columns="class"), table["class"])
    assert len(list(tmp_path.glob("*-0"))) == 6
    assert ours.counts_ == one.counts_
