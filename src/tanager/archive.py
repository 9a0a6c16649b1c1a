"""One container for everything that is saved: a JSON header and named arrays in a zip, with checksums and no code.

The layout is a plain zip file (no compression) with ``header.json`` first and one ``.npy`` member per array. Every
member carries a CRC; the header carries the SHA-256 of all arrays, the format's name and its version. Nothing is ever
unpickled.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np

from tanager.errors import ModelFileError

FORMAT = "tanager"
VERSION = 1
_DAMAGED = "was cut short or changed after it was written; get a fresh copy or save the model again"


def pack(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> bytes:
    """The bytes of an archive with this header and these arrays."""
    members = {}
    for name, array in arrays.items():
        buffer = io.BytesIO()
        np.save(buffer, array, allow_pickle=False)
        members[f"{name}.npy"] = buffer.getvalue()
    frame = {"format": FORMAT, "version": VERSION, "sha256": _digest(members), **header}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name, data in {"header.json": json.dumps(frame).encode(), **members}.items():
            archive.writestr(zipfile.ZipInfo(name), data)  # ZipInfo's fixed date: same content, same bytes
    return out.getvalue()


def unpack(data: bytes, source: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Header and arrays of an archive; one clear sentence that names `source` where it is not sound."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, OSError, ValueError) as error:
        if data[:2] != b"PK":
            raise ModelFileError(f"{source} is not a tanager file: it does not start like one.") from error
        raise ModelFileError(f"{source} is damaged: it {_DAMAGED}.") from error
    header = _read_header(members.pop("header.json", None), source)
    if header.get("sha256") != _digest(members):
        raise ModelFileError(f"{source} is damaged: its checksum does not match; it {_DAMAGED}.")
    try:
        arrays = {
            name.removesuffix(".npy"): np.load(io.BytesIO(raw), allow_pickle=False) for name, raw in members.items()
        }
    except (ValueError, EOFError) as error:
        raise ModelFileError(f"{source} is damaged: {error}.") from error
    return header, arrays


def _read_header(raw: bytes | None, source: str) -> dict[str, Any]:
    try:
        header = json.loads(raw) if raw is not None else None
    except ValueError as error:
        raise ModelFileError(f"{source} is damaged: its header is not readable; it {_DAMAGED}.") from error
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ModelFileError(f"{source} is not a tanager file: it is a zip archive of something else.")
    version = header.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise ModelFileError(
            f"{source} was written by a newer tanager (format {version}, this one reads up to {VERSION}). "
            "Upgrade tanager to read it."
        )
    return header


def _digest(members: Mapping[str, bytes]) -> str:
    digest = hashlib.sha256()
    for name in sorted(members):
        digest.update(name.encode() + b"\0" + members[name])
    return digest.hexdigest()
