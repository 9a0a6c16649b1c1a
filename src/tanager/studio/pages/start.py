"""The first page: choose a data set, or drop a file; then the column that is the class."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from tanager.datasets import available
from tanager.errors import OptionError
from tanager.files import open_table
from tanager.networks.files import FORMATS as NETWORKS
from tanager.persist import load as load_model
from tanager.studio.actions import Actions
from tanager.studio.document import DataChoice, Document
from tanager.studio.pages.session import summary
from tanager.studio.prepared import load, path_of, read_network_file
from tanager.studio.script import reading_code
from tanager.studio.session import Session

actions = Actions("start")

CLASS_NAMES = ("class", "target", "label", "y")


@actions.add
def datasets(session: Session) -> list[dict[str, Any]]:
    """The data sets that can be had without a download."""
    return [{"name": d.name, "rows": d.n_rows, "columns": d.n_columns, "classes": d.n_classes} for d in available()]


def kind_of(name: str) -> Literal["model", "network", "upload"]:
    """What is in a file, by its extension."""
    extension = Path(name).suffix.lower()
    return "model" if extension == ".tanager" else "network" if extension in (*NETWORKS, ".xdsl") else "upload"


@actions.add
def columns(session: Session, upload: str) -> dict[str, Any]:
    """What an uploaded file is; of a table the columns, and which of them is the class by the look of it."""
    if upload not in session.uploads:
        raise OptionError(f"there is no uploaded file {upload!r}.")
    if (kind := kind_of(upload)) != "upload":
        return {"kind": kind}
    names = list(open_table(str(session.uploads[upload])).columns)
    likely = [name for name in names if name.lower() in CLASS_NAMES]
    return {"kind": kind, "columns": names, "target": (likely or names)[-1]}


@actions.add
def choose(session: Session, kind: str, name: str, target: str = "") -> dict[str, Any]:
    """Begin with a data set ("dataset"), or an uploaded table ("upload"), model or network."""
    if kind != "dataset" and (name not in session.uploads or kind != kind_of(name)):
        raise OptionError(f"a page can choose a data set or an uploaded file, not {kind!r}.")
    if kind in ("dataset", "upload"):
        target = target or "class"
    begin(session, DataChoice(kind=kind, name=name, target=target))  # type: ignore[arg-type]
    return summary(session)


def begin(session: Session, choice: DataChoice) -> None:
    """Begin with other data: all decisions about the former are dropped, but for a diagram, which needs no data."""
    if choice.kind == "model":
        load_model(path_of(choice, session.uploads))
    elif choice.kind == "network":
        read_network_file(path_of(choice, session.uploads))
    else:
        session.derive(("loaded", choice), lambda: load(choice, session.uploads))  # what cannot be read is refused here
    name = Path(choice.name).name
    session.change(f"opened {name}", Document(data=choice, diagram=session.document.diagram), reading_code(choice))
