"""Dates through doors that are seldom used: logs of the service, topics, parts, the studio, what-if, ONNX and SQL."""

import asyncio
import json
import sqlite3
import threading
from datetime import datetime, timedelta
from pathlib import Path

import msgspec
import numpy as np
import pandas as pd
import pytest

from tanager import (
    AODE,
    Column,
    DataWarning,
    NaiveBayes,
    OptionError,
    Schema,
    load,
    nearest_changes,
    save,
    to_onnx,
    to_sql,
)
from tanager.persist import from_bytes, to_bytes
from tanager.service.durable import DurableModel
from tanager.service.log_entries import LogEntry, learn_entry

N = 60
DAYS = [datetime(2024, 1, 1, 8) + timedelta(days=6 * i, hours=i % 7) for i in range(N)]
Y = ["late" if day.month > 6 else "early" for day in DAYS]
ROWS = [{"sold": day.isoformat(), "size": "SML"[i % 3]} for i, day in enumerate(DAYS)]
ASKED = [
    {"sold": "2024-02-05 09:00", "size": "S"},
    {"sold": None, "size": "M"},
    {"sold": "2024-11-11T23:59:59Z", "size": "L"},
]
PARTS = [None, "parts", {"sold": ["month", "since"]}]


@pytest.mark.parametrize("dates", PARTS, ids=str)
def test_dates_come_back_from_the_log_of_the_service(tmp_path, dates):
    path = tmp_path / "model.tanager"
    save(AODE(dates=dates).fit(ROWS[:40], Y[:40]), path)
    twin = load(path)
    durable = DurableModel(path, sync_every=0.0)
    for at in range(40, N, 5):
        asyncio.run(durable.learn(ROWS[at : at + 5], Y[at : at + 5]))
        learn_entry(twin, LogEntry(ROWS[at : at + 5], Y[at : at + 5]), threading.RLock())
    durable.close()
    again = DurableModel(path, sync_every=0.0)
    assert to_bytes(again.model) == to_bytes(twin)
    np.testing.assert_array_equal(again.model.predict_proba(ASKED), twin.predict_proba(ASKED))
    again.close()


@pytest.mark.parametrize("dates", PARTS, ids=str)
def test_dates_are_learned_and_answered_from_a_topic(tmp_path, monkeypatch, dates):
    pytest.importorskip("confluent_kafka", reason="needs the extra kafka")
    monkeypatch.syspath_prepend(Path(__file__).parent / "following")
    from brokers import Cluster

    from tanager import kafka
    from tanager.kafka import Record

    cluster, path = Cluster(), tmp_path / "model.tanager"
    AODE(dates=dates).fit(ROWS[:40], Y[:40]).save(path)
    twin = load(path).partial_fit(ROWS[40:], Y[40:])
    options = {"servers": cluster.servers, "config": {"log_level": 0}}
    cluster.send("sold", [{**row, "class": label} for row, label in zip(ROWS[40:], Y[40:], strict=True)])
    assert kafka.learn(path, "sold", target="class", stop_at_end=True, **options).n_rows == N - 40
    np.testing.assert_allclose(load(path).predict_proba(ASKED), twin.predict_proba(ASKED), rtol=0, atol=1e-12)
    records = [Record("asked", 0, r, None, json.dumps(row).encode(), 0.0) for r, row in enumerate(ASKED)]
    said = [content["label"] for _, content in kafka._answers(load(path), records, kafka.decode_json)]
    assert said == twin.predict(ASKED).tolist()


@pytest.mark.parametrize("dates", PARTS, ids=str)
def test_dates_in_parts_of_dask_are_those_of_the_table(dates):
    dd = pytest.importorskip("dask.dataframe")
    from tanager import dask

    for sold in (DAYS, [row["sold"] for row in ROWS]):
        frame = pd.DataFrame({"sold": sold, "size": [row["size"] for row in ROWS], "class": Y})
        model = dask.fit(AODE(dates=dates), dd.from_pandas(frame, npartitions=3), target="class")
        twin = AODE(dates=dates).fit(frame.drop(columns="class"), Y)
        assert model.schema_ == twin.schema_
        np.testing.assert_allclose(model.predict_proba(ASKED), twin.predict_proba(ASKED), rtol=0, atol=1e-12)


@pytest.mark.long  # its imports take seconds
def test_dates_in_the_studio_are_dates():
    from tanager.studio.document import DataChoice, ModelChoice
    from tanager.studio.models import classifier_of
    from tanager.studio.pages import why
    from tanager.studio.pages.start import begin
    from tanager.studio.session import Session

    session = Session()
    path = session.folder / "sold.csv"
    pd.DataFrame(ROWS).assign(**{"class": Y}).to_csv(path, index=False)
    begin(session, DataChoice(kind="file", name=str(path), target="class"))
    session.change("a model", msgspec.structs.replace(session.document, model=ModelChoice("NaiveBayes")))
    model = classifier_of(session)
    assert (model.schema_["sold"].kind, model.schema_["sold"].part) == ("numeric", "date")
    assert len(why.rows(session)["rows"]) == N
    session.close()


@pytest.mark.parametrize("dates", PARTS, ids=str)
def test_what_if_leaves_dates_as_they_are(dates):
    """Nobody can turn a day into another one."""
    labels = ["big" if (row["size"] == "L") != (i % 15 == 0) else "small" for i, row in enumerate(ROWS)]
    model = NaiveBayes(dates=dates).fit(ROWS, labels)
    row = {"sold": "2024-02-05 09:00", "size": "S"}
    changes = nearest_changes(model, row, "big")
    assert [set(change.values) for change in changes] == [{"size"}]
    assert model.predict([{**row, **changes[0].values}])[0] == "big"


def test_dates_in_a_database_are_answered_alike():
    model = NaiveBayes().fit(ROWS, Y)
    with sqlite3.connect(":memory:") as database:
        database.execute("CREATE TABLE rows (sold TEXT, size TEXT)")
        database.executemany("INSERT INTO rows VALUES (:sold, :size)", ASKED)
        found = pd.read_sql(to_sql(model), database)
    wanted = model.predict_proba(ASKED)
    np.testing.assert_allclose(found[[f"p_{label}" for label in model.classes_]], wanted, rtol=0, atol=1e-9)


@pytest.mark.parametrize("export", [to_sql, to_onnx], ids=lambda export: export.__name__)
def test_parts_of_dates_are_not_exported_and_it_is_said(export):
    if export is to_onnx:
        pytest.importorskip("onnx")
    with pytest.raises(OptionError, match="'sold month' is a part of the dates in 'sold', which is not exported"):
        export(NaiveBayes(dates="parts").fit(ROWS, Y))


def test_a_model_of_text_that_was_no_dates_answers_as_before():
    """Files of times when dates in text were categories: the values are known, and a new one is unseen."""
    values = tuple(row["sold"] for row in ROWS)
    old = Schema((Column("sold", "categorical", values, reason="text"), Column("size", "categorical", ("S", "M", "L"))))
    model = from_bytes(to_bytes(NaiveBayes(schema=old).fit(ROWS, Y)))
    assert model.schema_["sold"].values == values
    assert model.predict_proba(ROWS[:1]).tolist() != model.predict_proba([{**ROWS[0], "sold": None}]).tolist()
    with pytest.warns(DataWarning, match="never seen in training"):
        unseen = model.predict_proba([{**ROWS[0], "sold": "2031-01-01"}])
    np.testing.assert_array_equal(unseen, model.predict_proba([{**ROWS[0], "sold": None}]))
