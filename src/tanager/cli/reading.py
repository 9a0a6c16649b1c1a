"""Inputs of commands: data files, model files and the target column."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from shlex import quote
from typing import Any

from tanager.cli.screen import listed
from tanager.errors import DataError, nearest

DEFAULT_TARGETS = ("class", "target", "label", "y")
READING = ("format", "delimiter", "encoding", "missing")  # options that say how a file is read
KINDS = ("categorical", "ordinal", "numeric")
LEARNED = ", which the model was trained on"


def check_inputs(*paths: str | None) -> None:
    """Raise FileNotFoundError for a missing file, before anything large is imported."""
    for path in paths:
        if path not in (None, "-") and not os.path.exists(path):
            folder = os.path.dirname(path) or "."
            near = nearest(os.path.basename(path), os.listdir(folder)) if os.path.isdir(folder) else ""
            raise FileNotFoundError(f"there is no file {path!r}. Check the name and the folder.{near}")


def open_data(
    path: str,
    *,
    missing: Iterable[str] = (),
    categorical: Iterable[str] = (),
    ordinal: Mapping[str, Any] | None = None,
    **options: Any,
) -> Any:
    """Open a data file; ``missing`` adds texts that mark missing cells. Ordinal columns are read as text."""
    from tanager.files import MISSING, open_table

    return open_table(path, missing=(*MISSING, *missing), categorical=(*categorical, *(ordinal or ())), **options)


def open_for(model: Any, path: str, **reading: Any) -> Any:
    """Open a data file, with columns read as the model learned them."""
    return open_data(path, **reading).match(model)


def load_model(path: str) -> Any:
    """Load a model from a file. Raises DataError where it is not trained."""
    from tanager.persist import load

    model = load(path)
    if not hasattr(model, "classes_"):
        raise DataError(f"the model in {path!r} is not trained. Train one with: tanager fit DATA -o {quote(path)}")
    model.check_fitted()  # counts the rows of a warm-up
    return model


def default_target(source: Any) -> str | None:
    """The last column, if it is named class, target, label or y."""
    last = str(source.columns[-1])
    return last if last.lower() in DEFAULT_TARGETS else None


def target_column(source: Any, target: str | None) -> str:
    """The target column: the given one, or the default."""
    target = target or default_target(source)
    if target is None:
        raise DataError(
            f"which column of {source.name} is the target? Give it with --target. The columns are "
            f"{listed(source.columns, 20)}."
        )
    check_columns(source, [target])
    return target


def check_columns(source: Any, names: Sequence[str], why: str = "") -> None:
    """Raise DataError for names that are not columns of a file; `why` follows the name in the message."""
    for name in names:
        if name not in source.columns:
            hint = nearest(name, [other for other in source.columns if other not in names])
            way_out = hint or f" Its columns are {listed(source.columns, 20)}."
            raise DataError(f"{source.name} has no column {name!r}{why}.{way_out}")


def set_target(model: Any, target: str | None, path: str) -> None:
    """Set or check the name of the target column of a model, before it learns from a file."""
    if target is not None:
        model.target_name_ = target
    if model.target_name_ is None:
        raise DataError(f"the model in {path!r} does not store the name of its target column. Give it with --target.")


@contextmanager
def all_cores(model: Any) -> Iterator[None]:
    """Let a model use all cores for now; n_jobs is restored afterwards, so that it is not saved with the model."""
    if not hasattr(model, "n_jobs"):  # the models inside have their own
        yield
        return
    given = model.n_jobs
    model.n_jobs = -1 if given is None else given
    try:
        yield
    finally:
        model.n_jobs = given


def warn_many_classes(screen: Any, target: str, n_classes: int, n_rows: float) -> None:
    """Print a note where most rows have a class of their own."""
    if n_rows >= 10 and n_classes > n_rows / 2:
        screen.note(f"{target!r} has {n_classes:,} classes in {n_rows:,.0f} rows. Is it the right target (--target)?")
