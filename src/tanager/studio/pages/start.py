"""The first page: choose a data set, or drop a file; then the column that is the class."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tanager.datasets import available
from tanager.errors import OptionError
from tanager.files import open_table
from tanager.persist import load as load_model
from tanager.studio.actions import Actions
from tanager.studio.document import DataChoice, Document
from tanager.studio.pages.session import summary
from tanager.studio.prepared import load
from tanager.studio.script import reading_code
from tanager.studio.session import Session

actions = Actions("start")

CLASS_NAMES = ("class", "target", "label", "y")


@actions.add
def datasets(session: Session) -> list[dict[str, Any]]:
    """The data sets that can be had without a download."""
    return [{"name": d.name, "rows": d.n_rows, "columns": d.n_columns, "classes": d.n_classes} for d in available()]


@actions.add
def columns(session: Session, upload: str) -> dict[str, Any]:
    """The columns of an uploaded file, and which of them is the class by the look of it."""
    if upload not in session.uploads:
        raise OptionError(f"there is no uploaded file {upload!r}.")
    names = list(open_table(str(session.uploads[upload])).columns)
    likely = [name for name in names if name.lower() in CLASS_NAMES]
    return {"columns": names, "target": (likely or names)[-1]}


@actions.add
def choose(session: Session, kind: str, name: str, target: str = "") -> dict[str, Any]:
    """Begin with a data set ("dataset") or an uploaded file ("upload")."""
    if kind not in ("dataset", "upload"):
        raise OptionError(f"a page can choose a data set or an uploaded file, not {kind!r}.")
    begin(session, DataChoice(kind=kind, name=name, target=target or "class"))  # type: ignore[arg-type]
    return summary(session)


def begin(session: Session, choice: DataChoice) -> None:
    """Begin with other data: all decisions about the former are dropped."""
    if choice.kind == "model":
        load_model(choice.name)
    else:
        session.derive(("loaded", choice), lambda: load(choice, session.uploads))  # what cannot be read is refused here
    name = Path(choice.name).name
    session.change(f"opened {name}", Document(data=choice), reading_code(choice))
