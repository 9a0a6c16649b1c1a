"""The page Export: the network, the model, pictures, and the script that repeats the session."""

from __future__ import annotations

from typing import Any, Literal

from tanager.studio.actions import Actions, Download
from tanager.studio.exports import file_of, listed
from tanager.studio.repeating import script_of
from tanager.studio.session import Session

actions = Actions("export")

Kind = Literal["script", "model", "bif", "xmlbif", "svg", "png", "onnx", "sql"]


@actions.add
def show(session: Session) -> dict[str, Any]:
    """What can be had, and the script."""
    return {"files": listed(session), "script": script_of(session)}


@actions.add
def file(session: Session, kind: Kind) -> Download:
    """One of the files."""
    return file_of(session, kind)
