"""One container for everything that is saved: a JSON header and named arrays in a zip, with a checksum and no code.

The layout is a plain zip file (no compression) with ``header.json`` first and one ``.npy`` member per array. The zip's
comment is the SHA-256, in hexadecimal, of every byte before it, so that no changed byte goes unnoticed. Nothing is
ever unpickled, and nothing larger than the file itself is allocated while it is read.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from tanager.errors import ModelFileError, TanagerError

FORMAT = "tanager"
VERSION = 1
_HEX = 64  # characters of a SHA-256
_DAMAGED = "was cut short or changed after it was written; get a fresh copy or save the model again"


def pack(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> bytes:
    """The bytes of an archive with this header and these arrays."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        archive.comment = b"0" * _HEX
        # ZipInfo's fixed date: same content, same bytes
        frame = {"format": FORMAT, "version": VERSION, **header}
        archive.writestr(zipfile.ZipInfo("header.json"), json.dumps(frame).encode())
        for name, array in arrays.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=array.nbytes > 2**30) as member:
                np.lib.format.write_array(member, array, version=(1, 0), allow_pickle=False)
    data = out.getbuffer()
    data[-_HEX:] = hashlib.sha256(data[:-_HEX]).hexdigest().encode()
    return bytes(data)


def unpack(data: bytes, source: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Header and arrays of an archive; one clear sentence that names `source` where it is not sound."""
    if len(data) == 0:
        raise ModelFileError(f"{source} is empty; get a fresh copy or save the model again.")
    if data[:4] != b"PK\x03\x04":
        raise ModelFileError(f"{source} is not a tanager file: it does not start like one.")
    whole = hashlib.sha256(memoryview(data)[:-_HEX]).hexdigest().encode() == data[-_HEX:]
    with reading(source):
        members = _members(data, whole)
    if "header.json" not in members:
        raise ModelFileError(f"{source} is not a tanager file: it is a zip archive of something else.")
    if not whole:
        raise ModelFileError(f"{source} is damaged: its checksum does not match; it {_DAMAGED}.")
    with reading(source):
        header = json.loads(members.pop("header.json"))
    _check_version(header, source)
    with reading(source):
        return header, {name.removesuffix(".npy"): _array(member) for name, member in members.items()}


@contextmanager
def reading(source: str) -> Iterator[None]:
    """Whatever goes wrong in here becomes one sentence: the file is damaged."""
    try:
        yield
    except Exception as error:
        finding = "its parts do not fit together"
        if isinstance(error, TanagerError):
            finding = " ".join(str(error).split()).rstrip(".")  # one line, whatever it shows
        raise ModelFileError(f"{source} is damaged: {finding}; it {_DAMAGED}.") from error


def _members(data: bytes, whole: bool) -> dict[str, bytes]:
    """The members; only their names while the data are not known to be whole."""
    members: dict[str, bytes] = {}
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if not whole:
            return dict.fromkeys(archive.namelist(), b"")
        if sum(info.file_size for info in archive.infolist()) > len(data):
            raise ModelFileError("its parts are larger than the whole")
        for info in archive.infolist():
            stored = info.compress_type == zipfile.ZIP_STORED and info.compress_size == info.file_size
            if not stored or info.filename in members:
                raise ModelFileError(f"its part {info.filename!r} is compressed, or is there twice")
            members[info.filename] = archive.read(info)
    return members


def _check_version(header: Any, source: str) -> None:
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ModelFileError(f"{source} is not a tanager file: it is a zip archive of something else.")
    version = header.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise ModelFileError(
            f"{source} was written by a newer tanager (format {version}, this one reads up to {VERSION}). "
            "Upgrade tanager to read it."
        )


def _array(member: bytes) -> np.ndarray:
    """An array of its own from a ``.npy`` member; as long as the member says, or refused."""
    stream = io.BytesIO(member[: 2**16])
    if np.lib.format.read_magic(stream) != (1, 0):
        raise ModelFileError("an array has a header of another version")
    shape, by_column, dtype = np.lib.format.read_array_header_1_0(stream)
    cells = memoryview(member)[stream.tell() :]
    size = dtype.itemsize
    for length in shape:  # Python's integers do not overflow
        size *= length
    if dtype.hasobject or min(shape, default=0) < 0 or size != len(cells):
        raise ModelFileError("an array is longer or shorter than its header says")
    return np.frombuffer(cells, dtype).reshape(shape, order="F" if by_column else "C").copy(order="K")
