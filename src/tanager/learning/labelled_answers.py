"""Answers with labels: probabilities as a frame of the library that the rows came in."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from tanager.encoding.frames import is_pandas
from tanager.labelled import LabelledTable, unique_texts


def labelled_answers(X: Any, proba: np.ndarray, classes: list[object], class_name: str) -> Any:
    """P(class | row): a pandas frame with the index of X, a polars frame, or a ``LabelledTable`` for all other X."""
    if is_pandas(X):
        import pandas as pd

        return pd.DataFrame(proba, X.index, pd.Index(classes, name=class_name, tupleize_cols=False))
    polars = sys.modules.get("polars")
    if polars is not None and isinstance(X, polars.DataFrame):
        return polars.DataFrame(dict(zip(unique_texts(classes), proba.T, strict=True)))
    rows = "row" if class_name != "row" else "row_"
    return LabelledTable(proba, {rows: range(len(proba)), class_name: classes}, f"P({class_name} | row)")
