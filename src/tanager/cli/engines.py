"""``tanager fit FOLDER --engine dask|spark``: folders of Parquet or CSV files, learned in parts."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tanager.errors import DataError, OptionError

ENGINES = ("dask", "spark")
_ENDINGS = {".parquet": "parquet", ".csv": "csv"}


@dataclass(frozen=True)
class Folder:
    """A folder of files of one format, as a frame of an engine."""

    name: str
    engine: str
    frame: Any

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self.frame.columns)

    def fit(self, model: Any, target: str, drop: Sequence[str]) -> Any:
        """Fit a model to all files."""
        if self.engine == "dask":
            from tanager.dask import fit

            return fit(model, self.frame, target=target, drop=drop)
        from tanager.spark import fit as fit_spark

        return fit_spark(model, self.frame, target=target, drop=drop)


def open_folder(path: str, engine: str) -> Folder:
    """A folder (or a single file) as a frame."""
    ending = _ending(path)
    try:
        return Folder(path, engine, _dask_frame(path, ending) if engine == "dask" else _spark_frame(path, ending))
    except ImportError:
        way_out = f"Install it: pip install 'tanager[{engine}]'."
        raise OptionError(f"--engine {engine} needs the extra {engine!r}. {way_out}") from None


def is_address(path: str) -> bool:
    """Whether it is an address, such as s3://bucket/rows, that an engine reads by itself."""
    return "://" in path


def _ending(path: str) -> str:
    if is_address(path):
        return ".csv" if path.endswith(".csv") else ".parquet"
    files = [Path(path)] if not os.path.isdir(path) else sorted(Path(path).rglob("*"))
    endings = {file.suffix for file in files if file.suffix in _ENDINGS and not file.name.startswith((".", "_"))}
    if len(endings) != 1:
        found = "files of both formats" if endings else "no such file"
        raise DataError(f"{path!r}: an engine reads a folder of .parquet files or of .csv files; there is {found}.")
    return endings.pop()


def _dask_frame(path: str, ending: str) -> Any:
    import dask.dataframe as dd

    if ending == ".parquet":
        return dd.read_parquet(path)
    return dd.read_csv(f"{path}/*.csv" if os.path.isdir(path) else path)


def _spark_frame(path: str, ending: str) -> Any:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else workers take whatever Python they find
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("tanager").config("spark.ui.showConsoleProgress", "false")
    if "SPARK_REMOTE" not in os.environ and "MASTER" not in os.environ:
        builder = builder.config("spark.ui.enabled", "false")
    session = builder.getOrCreate()
    path = path if is_address(path) else os.path.abspath(path)  # the folder that Java runs in may be another one
    if ending == ".parquet":
        return session.read.parquet(path)
    return session.read.csv(path, header=True, inferSchema=True)


def learn_in_parts(model: Any, folder: Folder, target: str, drop: Sequence[str]) -> Any:
    """Fit a model to a folder; what became of it."""
    from tanager.files import Learned

    folder.fit(model, target, drop)
    n_rows = round(float(model.class_count_.sum()))
    dropped = dict.fromkeys(drop, "asked for")
    return Learned(model, n_rows, 0, True, n_rows, dropped, {}, None)
