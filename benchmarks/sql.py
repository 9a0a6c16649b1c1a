"""``python -m benchmarks.sql``: single networks as queries in sqlite and DuckDB.

The largest difference to tanager's own answers over data sets with gaps and new values (see ``benchmarks.onnx``), then
rows per second beside ``predict_proba``.
"""

from __future__ import annotations

import sqlite3
import time
import warnings
from typing import Any

import numpy as np
import pandas as pd

import tanager
from benchmarks.onnx import SMALL, spoiled
from tanager import KDB, TAN, NaiveBayes, OptionError, datasets, generate, to_sql


def in_sqlite(model: Any, X: pd.DataFrame) -> tuple[np.ndarray, float]:
    """Probabilities, and the seconds of the query."""
    database = sqlite3.connect(":memory:")
    X.to_sql("rows", database, index=False)
    return _answers(database, to_sql(model, dialect="sqlite", keep=[]))


def in_duckdb(model: Any, X: pd.DataFrame) -> tuple[np.ndarray, float]:
    """The same, on one thread."""
    import duckdb

    database = duckdb.connect(config={"threads": 1})
    database.register("frame", X)
    database.execute("CREATE TABLE rows AS SELECT * FROM frame")
    return _answers(database, to_sql(model, dialect="duckdb", keep=[]))


def _answers(database: Any, query: str) -> tuple[np.ndarray, float]:
    start = time.process_time()
    found = database.execute(query).fetchall()
    seconds = time.process_time() - start
    database.close()
    return np.array([row[1:] for row in found], dtype=float), seconds


def differences() -> None:
    """For every classifier that is a single network."""
    sets = [datasets.load(name) for name in SMALL]
    for name in tanager.__all__:
        cls = getattr(tanager, name)
        if not (isinstance(cls, type) and hasattr(cls, "predict_proba")):
            continue
        largest, n = np.zeros(2), 0
        for data in sets:
            X = data.X.to_pandas().iloc[:600]
            model = cls().fit(X[::2], data.y[:600:2])
            try:
                to_sql(model)
            except OptionError:
                continue
            asked = spoiled(X[1::2])
            own = model.predict_proba(asked)
            apart = [np.abs(answers(model, asked)[0] - own).max() for answers in (in_sqlite, in_duckdb)]
            largest, n = np.maximum(largest, apart), n + 1
        if n:
            print(f"{name:<24}sqlite {largest[0]:.1e}, DuckDB {largest[1]:.1e} over {n} data sets", flush=True)


def speed(n_rows: int = 100_000) -> None:
    """Rows per second in CPU time, for 19 columns and two classes."""
    X, y = generate.tan(random_state=0).take(n_rows)
    X = pd.DataFrame(X).rename(columns=str)
    for model in (NaiveBayes(), TAN(), KDB()):
        model.fit(X, y)
        start = time.process_time()
        model.predict_proba(X)
        rates = [n_rows / (time.process_time() - start), *(n_rows / run(model, X)[1] for run in (in_sqlite, in_duckdb))]
        own, lite, duck = (f"{rate:,.0f}" for rate in rates)
        size = len(to_sql(model)) / 1000
        print(
            f"{type(model).__name__:<12}{size:.0f} kB; rows/s: tanager {own}, sqlite {lite}, DuckDB {duck}", flush=True
        )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    speed()
    differences()
