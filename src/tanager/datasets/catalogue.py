"""The sources of data sets: a folder with datasets.json, the sets of scikit-learn, and OpenML."""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tanager.datasets.dataset import Dataset
from tanager.errors import DataError
from tanager.files import open_table

BUNDLED = {"iris": (150, 4, 3), "wine": (178, 13, 3), "breast_cancer": (569, 30, 2), "digits": (1797, 64, 10)}
CLASS = "class"


@dataclass(frozen=True)
class DatasetInfo:
    """The name, size and origin of an available data set.

    Parameters
    ----------
    name : str
        By which ``load`` finds it.
    n_rows, n_columns, n_classes : int
        Its size; the class is no column.
    where : str
        The folder, or "scikit-learn".

    Examples
    --------
    >>> from tanager.datasets import available
    >>> small = [info.name for info in available() if info.n_rows < 200]
    >>> small
    ['iris', 'wine']
    """

    name: str
    n_rows: int
    n_columns: int
    n_classes: int
    where: str


def load(name: str, folder: str | os.PathLike[str] | None = None) -> Dataset:
    """A data set by name.

    Parameters
    ----------
    name : str
        One of ``available()``, or "openml:NAME" for a download from OpenML.
    folder : path, default=None
        A folder with data sets and their datasets.json; default: the environment variable TANAGER_DATA. Names that are
        not in it are looked up among the sets of scikit-learn.

    Returns
    -------
    Dataset
        The table, its classes, and the kinds of its columns.

    Examples
    --------
    >>> from tanager import AODE
    >>> from tanager.datasets import load
    >>> data = load("breast_cancer")
    >>> data
    <Dataset 'breast_cancer': 569 rows, 30 numeric columns, 2 classes>
    >>> model = AODE(**data.options).fit(data.X, data.y)
    """
    if name.startswith("openml:"):
        return _from_openml(name.removeprefix("openml:"))
    index = _folder_index(folder)
    if index is not None and name in index[1]:
        return _from_folder(name, *index)
    if name in BUNDLED:
        return _from_sklearn(name)
    raise DataError(_unknown(name, folder))


def available(folder: str | os.PathLike[str] | None = None) -> list[DatasetInfo]:
    """The data sets that are available without a download, sorted by name.

    Parameters
    ----------
    folder : path, default=None
        A folder with data sets and their datasets.json; default: the environment variable TANAGER_DATA.

    Returns
    -------
    list of DatasetInfo
        Those of the folder, and those of scikit-learn whose names the folder does not have.

    Examples
    --------
    >>> from tanager.datasets import available
    >>> for info in available():
    ...     print(f"{info.name}: {info.n_rows} rows, {info.n_columns} columns, {info.n_classes} classes, {info.where}")
    breast_cancer: 569 rows, 30 columns, 2 classes, scikit-learn
    digits: 1797 rows, 64 columns, 10 classes, scikit-learn
    iris: 150 rows, 4 columns, 3 classes, scikit-learn
    wine: 178 rows, 13 columns, 3 classes, scikit-learn
    """
    index = _folder_index(folder)
    entries = {name: DatasetInfo(name, *sizes, "scikit-learn") for name, sizes in BUNDLED.items()}
    if index is not None:
        place, known = index
        for name, about in known.items():
            entries[name] = DatasetInfo(
                name, about["rows"], len(about["attributes"]), len(about["classes"]), str(place)
            )
    return [entries[name] for name in sorted(entries)]


def _folder_index(folder: str | os.PathLike[str] | None) -> tuple[Path, dict[str, Any]] | None:
    """The folder and its datasets.json; None if no folder is given."""
    given = folder if folder is not None else os.environ.get("TANAGER_DATA")
    if not given:
        return None
    index = Path(given) / "datasets.json"
    try:
        return Path(given), json.loads(index.read_text(encoding="utf-8"))
    except FileNotFoundError:
        option = "folder=" if folder is not None else "TANAGER_DATA"
        raise FileNotFoundError(f"{option} is {str(given)!r}, but there is no datasets.json in it.") from None
    except json.JSONDecodeError as error:
        raise DataError(f"{index}, line {error.lineno}: this is not JSON ({error.msg}).") from None


def _from_folder(name: str, place: Path, known: Mapping[str, Any]) -> Dataset:
    about = known[name]
    kinds = {attribute["name"]: attribute["kind"] for attribute in about["attributes"]}
    options = {kind: [c for c in kinds if kinds[c] == kind] for kind in ("categorical", "numeric")}
    parts = {part["part"]: _part(place / part["file"], options) for part in about["files"]}
    test = Dataset(f"{name}-test", *parts["test"], options) if "test" in parts else None
    rows = parts["train"] if "train" in parts else parts["all"]
    return Dataset(name, *rows, options, test, {"where": str(place), **about})


def _part(path: Path, options: Mapping[str, list[str]]) -> tuple[pa.Table, np.ndarray]:
    text = [*options["categorical"], CLASS]
    table = open_table(path, missing=("",), categorical=text, numeric=options["numeric"]).read()
    return table.drop_columns([CLASS]), np.array(table[CLASS].to_pylist(), dtype=str)


def _from_sklearn(name: str) -> Dataset:
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")()
    columns = [str(column) for column in bunch.feature_names]
    X = pa.table({column: bunch.data[:, i] for i, column in enumerate(columns)})
    y = np.array([str(label) for label in bunch.target_names])[bunch.target]
    return Dataset(name, X, y, {"categorical": [], "numeric": columns}, about={"where": "scikit-learn"})


def _from_openml(name: str) -> Dataset:
    from sklearn.datasets import fetch_openml

    try:
        bunch = fetch_openml(name, as_frame=False, parser="liac-arff", n_retries=0)
    except (OSError, ValueError) as error:  # no network, or no such set
        raise DataError(
            f"openml:{name} cannot be loaded from openml.org: {error}. Check the name and the network connection."
        ) from None
    if hasattr(bunch.data, "toarray") or bunch.target is None or np.ndim(bunch.target) != 1:
        raise DataError(f"openml:{name} is not a table with one column of classes.")
    columns = {column: _openml_column(bunch, i) for i, column in enumerate(bunch.feature_names)}
    text = [column for column in columns if pa.types.is_string(columns[column].type)]
    options = {"categorical": text, "numeric": [column for column in columns if column not in text]}
    about = {"where": "openml.org", "note": bunch.DESCR, **(bunch.details or {})}
    return Dataset(name, pa.table(columns), np.asarray(bunch.target, dtype=str), options, about=about)


def _openml_column(bunch: Any, i: int) -> pa.Array:
    """One column; categories are indices into a list of values."""
    cells = bunch.data[:, i]
    values = (bunch.categories or {}).get(bunch.feature_names[i])
    if values is None:
        return pa.array(cells, from_pandas=True)  # NaN is missing
    return pa.array([None if place != place else str(values[int(place)]) for place in cells], pa.string())


def _unknown(name: str, folder: str | os.PathLike[str] | None) -> str:
    known = [entry.name for entry in available(folder)]
    near = difflib.get_close_matches(name, known, n=3)
    did = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    given = folder if folder is not None else os.environ.get("TANAGER_DATA")
    where = f"{str(given)!r} and scikit-learn" if given else "scikit-learn only, as TANAGER_DATA is not set"
    return f'there is no data set {name!r} (looked in {where}).{did} For OpenML write "openml:{name}".'
