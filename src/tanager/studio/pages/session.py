"""The frame around all pages: what there is, undo and redo, jobs, and the session as a file."""

from __future__ import annotations

from typing import Any

from tanager.errors import TanagerError
from tanager.studio.actions import Actions, Download
from tanager.studio.prepared import path_of
from tanager.studio.session import Session

actions = Actions("session")


@actions.add
def summary(session: Session) -> dict[str, Any]:
    """What every page shows: the data, and where in its history the session is."""
    document, position = session.document, session.position
    return {
        "data": _data(session),
        "model": document.model.name,
        "network": document.arcs is not None,
        "history": [{"label": entry.label, "figures": entry.figures} for entry in session.entries],
        "position": position,
        "file": None if session.path is None else session.path.name,
    }


def _data(session: Session) -> dict[str, Any] | None:
    choice = session.document.data
    if choice is None:
        return None
    about = {"kind": choice.kind, "name": choice.name.rpartition("/")[2]}
    try:
        if not session.has_rows:
            path_of(choice, session.uploads)
            return about
        prepared = session.prepared
    except (TanagerError, OSError) as error:
        return about | {"lost": str(error)}  # such as a file that was moved: the rest of the session is still there
    return {
        "kind": choice.kind,
        "name": prepared.loaded.name,
        "target": prepared.target,
        "rows": prepared.loaded.n_rows,
        "columns": len(prepared.schema),
        "classes": [str(label) for label in prepared.classes.tolist()],
    }


@actions.add
def undo(session: Session) -> dict[str, Any]:
    """One step back."""
    session.go_to(session.position - 1)
    return summary(session)


@actions.add
def redo(session: Session) -> dict[str, Any]:
    """One step forward."""
    session.go_to(session.position + 1)
    return summary(session)


@actions.add
def go_to(session: Session, position: int) -> dict[str, Any]:
    """To any step of the history."""
    session.go_to(position)
    return summary(session)


@actions.add
def job(session: Session, page: str) -> dict[str, Any] | None:
    """How the last job of a page stands."""
    found = session.jobs.find(page)
    return None if found is None else found.summary()


@actions.add
def cancel(session: Session, page: str) -> None:
    """Stop the job of a page."""
    session.jobs.cancel(page)


@actions.add
def save(session: Session) -> Download:
    """The session as a file."""
    name = "session" if session.document.data is None else session.document.data.name.rpartition("/")[2]
    return Download(f"{name}.studio", "application/json", session.to_bytes())


@actions.add
def open_(session: Session, content: str) -> dict[str, Any]:
    """Go on with a session from a file."""
    session.open(content.encode())
    return summary(session)
