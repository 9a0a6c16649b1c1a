"""Exported models, run as their users run them."""

from __future__ import annotations

import sqlite3
from typing import Any

import numpy as np

from tanager import to_onnx, to_sql
from tanager.encoding.values import is_missing
from tanager.export.onnx import onnx_inputs


def session_of(model: Any, **options: Any) -> Any:
    """The model in onnxruntime, on one thread and without words."""
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads, settings.log_severity_level = 1, 3
    return onnxruntime.InferenceSession(to_onnx(model, **options).SerializeToString(), settings)


def onnx_answers(model: Any, X: Any, **options: Any) -> tuple[np.ndarray, np.ndarray]:
    """Labels and probabilities in onnxruntime."""
    label, proba = session_of(model, **options).run(None, onnx_inputs(model, X, **options))
    return label, proba


def rows_of(X: Any) -> list[list[Any]]:
    """Rows for a database; missing is None."""
    return [
        [None if is_missing(cell) else cell.item() if isinstance(cell, np.generic) else cell for cell in row]
        for row in X
    ]


def sqlite_answers(model: Any, X: Any, **options: Any) -> tuple[np.ndarray, np.ndarray]:
    """Labels and probabilities in sqlite."""
    names = [column.name for column in model.encoder_.schema.columns]
    with sqlite3.connect(":memory:") as database:
        quoted = ", ".join('"' + name + '"' for name in names)
        database.execute(f"CREATE TABLE rows ({quoted})")
        database.executemany(f"INSERT INTO rows VALUES ({', '.join('?' * len(names))})", rows_of(X))
        found = database.execute(to_sql(model, keep=[], **options)).fetchall()
    database.close()
    return np.array([row[0] for row in found]), np.array([row[1:] for row in found], dtype=float)


def agree(model: Any, X: Any, answers: tuple[np.ndarray, np.ndarray]) -> None:
    """The answers are those of the model, to 1e-12."""
    label, proba = answers
    np.testing.assert_allclose(proba, model.predict_proba(X), rtol=0, atol=1e-12)
    assert label.tolist() == model.predict(X).tolist()
