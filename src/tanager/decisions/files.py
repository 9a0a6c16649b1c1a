"""Reading and writing diagrams; the extension sets the format."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from tanager.decisions import xdsl
from tanager.decisions.diagram import DecisionNetwork
from tanager.errors import ModelFileError, OptionError, TanagerError
from tanager.writing import whole_file


def _read_json(data: bytes, source: str) -> DecisionNetwork:
    try:
        return DecisionNetwork.from_dict(json.loads(data))
    except TanagerError as error:
        raise ModelFileError(f"{source}: {error}") from None
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError, AttributeError) as error:
        raise ModelFileError(
            f"{source} is not a diagram: {type(error).__name__}: {error}. Expected what to_dict() of a diagram gives."
        ) from None


def _write_json(diagram: DecisionNetwork) -> str:
    return json.dumps(diagram.to_dict(), indent=1) + "\n"


FORMATS: dict[str, tuple[Any, Any]] = {".json": (_read_json, _write_json), ".xdsl": (xdsl.read, xdsl.write)}


def read_decisions(path: str | os.PathLike[str]) -> DecisionNetwork:
    """The influence diagram in a file: JSON (.json) or XDSL (.xdsl), the format of GeNIe and SMILE.

    Parameters
    ----------
    path : str or PathLike
        The file.

    Returns
    -------
    DecisionNetwork
        The diagram.

    Examples
    --------
    >>> import tempfile
    >>> from tanager import DecisionNetwork, read_decisions, write_decisions
    >>> diagram = DecisionNetwork({}, {"umbrella": ("leave", "take")}, ["comfort"], [("umbrella", "comfort")],
    ...                           {"comfort": [1, 2]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_decisions(diagram, f"{folder}/rain.xdsl")
    ...     read_decisions(f"{folder}/rain.xdsl") == diagram
    True
    """
    read, _ = _format(path)
    source = repr(os.fspath(path))
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no diagram file {source}. Check the name and the folder.") from None
    except IsADirectoryError:
        raise ModelFileError(f"{source} is a folder, not a diagram file. Name the file in it.") from None
    diagram: DecisionNetwork = read(data, source)
    return diagram


def write_decisions(diagram: DecisionNetwork, path: str | os.PathLike[str]) -> None:
    """Write a diagram to a file, completely or not at all, in the format of its extension; see ``read_decisions``.

    Parameters
    ----------
    diagram : DecisionNetwork
        What to write.
    path : str or PathLike
        Where to.

    Examples
    --------
    >>> import tempfile
    >>> from tanager import DecisionNetwork, read_decisions, write_decisions
    >>> diagram = DecisionNetwork({}, {"umbrella": ("leave", "take")}, ["comfort"], [("umbrella", "comfort")])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_decisions(diagram, f"{folder}/rain.json")
    ...     read_decisions(f"{folder}/rain.json").values("umbrella")
    ('leave', 'take')
    """
    _, write = _format(path)
    data = write(diagram).encode()
    with whole_file(path) as file:
        file.write(data)


def _format(path: str | os.PathLike[str]) -> tuple[Any, Any]:
    extension = Path(path).suffix.lower()
    if extension not in FORMATS:
        listed = ", ".join(FORMATS)
        raise OptionError(f"the extension of {os.fspath(path)!r} is not that of a diagram format. Use one of {listed}.")
    return FORMATS[extension]
