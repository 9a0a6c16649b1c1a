"""Reading and writing network files; the extension sets the format."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from tanager.errors import ModelFileError, OptionError, TanagerError
from tanager.networks import bif, dot, xmlbif
from tanager.networks.network import Network
from tanager.writing import whole_file


def _read_json(text: str, source: str) -> Network:
    try:
        return Network.from_dict(json.loads(text))
    except TanagerError as error:
        raise ModelFileError(f"{source}: {error}") from None
    except (KeyError, TypeError, ValueError, RecursionError, AttributeError) as error:
        raise ModelFileError(
            f"{source} is not a network: {type(error).__name__}: {error}. Expected what Network.to_dict() gives."
        ) from None


def _write_json(network: Network) -> str:
    return json.dumps(network.to_dict(), indent=1) + "\n"


FORMATS: dict[str, tuple[Any, Any]] = {  # extension: read(text or bytes, source), write(network)
    ".bif": (bif.read, bif.write),
    ".xml": (xmlbif.read, xmlbif.write),
    ".xmlbif": (xmlbif.read, xmlbif.write),
    ".bifxml": (xmlbif.read, xmlbif.write),
    ".json": (_read_json, _write_json),
    ".dot": (dot.read, dot.write),
    ".gv": (dot.read, dot.write),
}


def read_network(path: str | os.PathLike[str]) -> Network:
    """The network in a file: BIF (.bif), XMLBIF (.xml, .xmlbif, .bifxml), JSON (.json) or DOT (.dot, .gv).

    Files of bnlearn, Weka, pgmpy, pyAgrum and similar programs are read; errors name the line. DOT has arcs only, and
    values only if ``write_network`` wrote them.

    Parameters
    ----------
    path : str or PathLike
        The file.

    Returns
    -------
    Network
        The network.

    Examples
    --------
    >>> import tempfile
    >>> from tanager import Network, read_network, write_network
    >>> network = Network({"rain": (False, True), "grass": ("dry", "very wet")}, [("rain", "grass")])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_network(network, f"{folder}/garden.bif")
    ...     read_network(f"{folder}/garden.bif") == network
    True
    """
    read, _ = _format(path)
    source = repr(os.fspath(path))
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no network file {source}. Check the name and the folder.") from None
    except IsADirectoryError:
        raise ModelFileError(f"{source} is a folder, not a network file. Name the file in it.") from None
    network: Network = read(data if read is xmlbif.read else _decoded(data), source)
    return network


def write_network(network: Network, path: str | os.PathLike[str]) -> None:
    """Write a network to a file, completely or not at all, in the format of its extension; see ``read_network``.

    Numbers and values that are not text are restored exactly when read, except in DOT, which has no tables. A network
    without tables is written as a structure.

    Parameters
    ----------
    network : Network
        What to write.
    path : str or PathLike
        Where to.

    Examples
    --------
    >>> import tempfile
    >>> from tanager import Network, read_network, write_network
    >>> network = Network({"rain": ("no", "yes"), "grass": ("dry", "wet")}, [("rain", "grass")])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_network(network, f"{folder}/rain.json")
    ...     read_network(f"{folder}/rain.json").arcs
    [('rain', 'grass')]
    """
    _, write = _format(path)
    data = write(network).encode()
    with whole_file(path) as file:
        file.write(data)


def _format(path: str | os.PathLike[str]) -> tuple[Any, Any]:
    extension = Path(path).suffix.lower()
    if extension not in FORMATS:
        listed = ", ".join(FORMATS)
        raise OptionError(f"the extension of {os.fspath(path)!r} is not that of a network format. Use one of {listed}.")
    return FORMATS[extension]


def _decoded(data: bytes) -> str:
    """UTF-8, or else Latin-1, which older programs write and which any bytes are valid in."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")
