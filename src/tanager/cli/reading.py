"""What commands read: data files, model files and the column with the classes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tanager.cli.screen import listed
from tanager.errors import DataError, nearest

USUAL_TARGETS = ("class", "target", "label", "y")
READING = ("format", "delimiter", "encoding", "missing")  # options that say how a file is read
KINDS = ("categorical", "numeric")
LEARNED = ", from which the model has learned"


def check_inputs(*paths: str | None) -> None:
    """Refuse files that are not there, before anything large is imported."""
    for path in paths:
        if path not in (None, "-") and not os.path.exists(path):
            folder = os.path.dirname(path) or "."
            near = nearest(os.path.basename(path), os.listdir(folder)) if os.path.isdir(folder) else ""
            raise FileNotFoundError(f"there is no file {path!r}. Check the name and the folder.{near}")


def open_data(path: str, *, missing: Iterable[str] = (), **options: Any) -> Any:
    """A data file, with further texts that stand for missing cells."""
    from tanager.files import MISSING, open_table

    return open_table(path, missing=(*MISSING, *missing), **options)


def open_for(model: Any, path: str, **reading: Any) -> Any:
    """A data file whose columns are read as the model has learned them."""
    return open_data(path, **reading).match(model)


def load_model(path: str) -> Any:
    """A model file that has learned something."""
    import tanager

    model = tanager.load(path)
    if not hasattr(model, "classes_"):
        raise DataError(f"the model in {path!r} has learned nothing yet. Fit one with: tanager fit DATA -o {path}")
    model.check_fitted()
    return model


def rows_in(model: Any) -> float:
    """The weight of all rows that a model has learned."""
    return float(model.class_count_.sum())


def usual_target(source: Any) -> str | None:
    """The last column, where its name says that it holds the classes."""
    last = str(source.columns[-1])
    return last if last.lower() in USUAL_TARGETS else None


def target_column(source: Any, target: str | None) -> str:
    """The column with the classes: the one asked for, or the last where its name says so."""
    target = target or usual_target(source)
    if target is None:
        raise DataError(
            f"which column of {source.name} holds the classes? Name it with --target. The columns are "
            f"{listed(source.columns, 20)}."
        )
    check_columns(source, [target])
    return target


def check_columns(source: Any, names: Sequence[str], why: str = "") -> None:
    """Refuse names that are no columns of a file; `why` follows the name and says where it comes from."""
    for name in names:
        if name not in source.columns:
            hint = nearest(name, [other for other in source.columns if other not in names])
            way_out = hint or f" Its columns are {listed(source.columns, 20)}."
            raise DataError(f"{source.name} has no column {name!r}{why}.{way_out}")


def known_target(model: Any, target: str | None, path: str) -> None:
    """Make sure that a model knows the name of its target column, before it learns from a file."""
    if target is not None:
        model.target_name_ = target
    if model.target_name_ is None:
        raise DataError(f"the model in {path!r} does not know the name of its target column. Give it with --target.")


@contextmanager
def all_cores(model: Any) -> Iterator[None]:
    """Let a model use the whole machine for now; how many cores it takes is no part of its file."""
    wanted = model.n_jobs
    model.n_jobs = -1 if wanted is None else wanted
    try:
        yield
    finally:
        model.n_jobs = wanted


def doubt_target(screen: Any, target: str, n_classes: int, n_rows: float) -> None:
    """Ask back where hardly two rows have the same class."""
    if n_rows >= 10 and n_classes > n_rows / 2:
        screen.note(f"{target!r} has {n_classes:,} classes in {n_rows:,.0f} rows. Is it the right target (--target)?")
