"""A pandas frame of text columns, next to turning it into Arrow dictionaries."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pyarrow as pa

from benchmarks.harness import Line, seconds
from tanager import AODE


def text_frame(n_rows: int = 1_000_000, n_columns: int = 20) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    words = np.array([f"value {w}" for w in range(12)])
    columns = {f"column {i}": words[rng.integers(0, 2 + i % 10, n_rows)] for i in range(n_columns)}
    return pd.DataFrame(columns), rng.integers(0, 3, n_rows)


def to_dictionaries(frame: pd.DataFrame) -> list[pa.ChunkedArray]:
    return [column.dictionary_encode() for column in pa.Table.from_pandas(frame, nthreads=1).columns]


def lines() -> Iterator[Line]:
    frame, y = text_frame()
    pa.set_cpu_count(1)
    spent = _process_times(frame, y)
    figures = f"{seconds(spent['AODE'])} / {seconds(spent['Arrow'])}"
    yield Line("AODE.fit, pandas 1M x 20 text / Arrow dictionaries", figures, spent["AODE"] / spent["Arrow"], 2.0)


def _process_times(frame: pd.DataFrame, y: np.ndarray) -> dict[str, float]:
    """CPU time of the whole process: encoding may use threads, and their work counts too."""
    best = {"Arrow": float("inf"), "AODE": float("inf")}
    for _ in range(4):
        for name, way in (("Arrow", lambda: to_dictionaries(frame)), ("AODE", lambda: AODE().fit(frame, y))):
            start = time.process_time()
            way()
            best[name] = min(best[name], time.process_time() - start)
    return best
