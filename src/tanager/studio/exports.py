"""Files that leave the studio: the network, the model, pictures, and the script; and why one is not to be had."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from tanager.errors import OptionError, TanagerError
from tanager.export.onnx import to_onnx
from tanager.export.sql import to_sql
from tanager.networks.files import FORMATS
from tanager.persist import to_bytes
from tanager.plot import plot_network
from tanager.studio.actions import Download
from tanager.studio.models import classifier_of, network_of, picture, target_of
from tanager.studio.repeating import file_name, script_of
from tanager.studio.session import Session
from tanager.studio.svg import svg_of


class Export(NamedTuple):
    """A kind of file: its extension and type, what it is, and what makes its content."""

    extension: str
    media_type: str
    title: str
    about: str
    make: Callable[[Session], bytes]


def _model(session: Session) -> bytes:
    return to_bytes(classifier_of(session))


def _network_text(extension: str) -> Callable[[Session], bytes]:
    _, write = FORMATS[extension]
    return lambda session: write(network_of(session)).encode()


def _svg(session: Session) -> bytes:
    return svg_of(picture(session)).encode()


def _png(session: Session) -> bytes:
    """Drawn by matplotlib, in print quality."""
    network, target = network_of(session), target_of(session)
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "network.png"
            plot_network(network, path, target=target or None)
            return path.read_bytes()
    except ModuleNotFoundError as error:
        raise OptionError(f'a PNG needs {error.name}: pip install "tanager[plot]"; SVG needs nothing.') from None


def _onnx(session: Session) -> bytes:
    content: bytes = to_onnx(classifier_of(session)).SerializeToString()
    return content


def _sql(session: Session) -> bytes:
    return to_sql(classifier_of(session), table=file_name(session.document)).encode()


EXPORTS: dict[str, Export] = {
    "script": Export("py", "text/x-python", "Python script", "repeats this session", lambda s: script_of(s).encode()),
    "model": Export("tanager", "application/octet-stream", "Model file", "for tanager.load and the command", _model),
    "bif": Export("bif", "text/plain", "BIF", "the network, for bnlearn, pgmpy, pyAgrum", _network_text(".bif")),
    "xmlbif": Export("xml", "application/xml", "XMLBIF", "the network, for Weka, GeNIe, SamIam", _network_text(".xml")),
    "svg": Export("svg", "image/svg+xml", "Picture, SVG", "the network as it is drawn here", _svg),
    "png": Export("png", "image/png", "Picture, PNG", "the network, drawn by matplotlib", _png),
    "onnx": Export("onnx", "application/octet-stream", "ONNX", "the model, for onnxruntime", _onnx),
    "sql": Export("sql", "application/sql", "SQL", "the model as one SELECT, for sqlite", _sql),
}


def file_of(session: Session, kind: str) -> Download:
    """The file of a kind, for the user to save."""
    found = EXPORTS[kind]
    return Download(f"{file_name(session.document)}.{found.extension}", found.media_type, found.make(session))


def obstacle(session: Session, kind: str) -> str:
    """Why a file cannot be had, as a sentence; "" where it can. Files that take long are not made for this."""
    try:
        if kind in ("bif", "xmlbif", "svg", "png"):
            network_of(session)
        if kind == "png" and find_spec("matplotlib") is None:
            raise OptionError('this needs matplotlib: pip install "tanager[plot]"')
        if kind == "onnx" and find_spec("onnx") is None:
            raise OptionError('this needs onnx: pip install "tanager[onnx]"')
        if kind in ("model", "onnx", "sql"):
            classifier_of(session)
        if kind == "sql":
            _sql(session)
    except TanagerError as error:
        return _sentence(str(error))
    return ""


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def listed(session: Session) -> list[dict[str, Any]]:
    """All kinds of files, and which can be had."""
    return [
        {
            "kind": kind,
            "title": own.title,
            "about": own.about,
            "file": f"{file_name(session.document)}.{own.extension}",
            "obstacle": obstacle(session, kind),
        }
        for kind, own in EXPORTS.items()
    ]
