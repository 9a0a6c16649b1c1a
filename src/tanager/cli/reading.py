"""What commands read: data files, model files and the column with the classes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tanager.errors import DataError, nearest

USUAL_TARGETS = ("class", "target", "label", "y")


def open_data(path: str, *, missing: Iterable[str] = (), **options: Any) -> Any:
    """A data file, with further texts that stand for missing cells."""
    from tanager.files import MISSING, open_table

    return open_table(path, missing=(*MISSING, *missing), **options)


def open_for(model: Any, path: str, *, text: Iterable[str] = (), **reading: Any) -> Any:
    """A data file whose columns are read as the kinds of cells that a model has learned; others in `text` as text."""
    source = open_data(path, **reading)
    wanted = cell_types(model)
    wanted["categorical"] = [*wanted["categorical"], *text]
    there = {kind: [name for name in names if name in source.columns] for kind, names in wanted.items()}
    return open_data(path, **reading, **there)


def cell_types(model: Any) -> dict[str, list[str]]:
    """The columns that hold text, and those that hold numbers, so that digits in a new file are read as before."""
    text, numbers = [], []
    for column in model.encoder_.schema.columns:
        kinds = {type(value) for value in column.values}
        if kinds == {str}:
            text.append(column.name)
        elif column.kind in ("numeric", "continuous") or (kinds and kinds <= {int, float}):
            numbers.append(column.name)
    if model.target_name_ is not None and model.classes_.dtype.kind == "U":
        text.append(model.target_name_)
    return {"categorical": text, "numeric": numbers}


def load_model(path: str) -> Any:
    """A model file that has learned something."""
    import tanager

    model = tanager.load(path)
    if not hasattr(model, "classes_"):
        raise DataError(f"the model in {path!r} has learned nothing yet. Fit one with: tanager fit DATA -o {path}")
    model._ready()
    return model


def target_column(source: Any, target: str | None) -> str:
    """The column with the classes: the one asked for, or the last where its name says so."""
    if target is None:
        if source.columns[-1].lower() in USUAL_TARGETS:
            return str(source.columns[-1])
        raise DataError(
            f"which column of {source.name} holds the classes? Name it with --target. The columns are "
            f"{', '.join(source.columns)}."
        )
    check_columns(source, [target])
    return target


def check_columns(source: Any, names: Sequence[str], why: str = "") -> None:
    """Refuse names that are no columns of a file; `why` says where the name comes from."""
    for name in names:
        if name not in source.columns:
            hint = nearest(name, [other for other in source.columns if other not in names])
            asked = f", {why}" if why else ""
            way_out = hint or f" Its columns are {', '.join(source.columns)}."
            raise DataError(f"{source.name} has no column {name!r}{asked}.{way_out}")


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
