"""Session: one person's work, with its history; several tabs may show it at once."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from tanager.errors import ModelFileError, OptionError
from tanager.studio.document import Document
from tanager.studio.events import Events
from tanager.studio.jobs import Jobs
from tanager.studio.prepared import Loaded, Prepared, load, prepare
from tanager.writing import whole_file

FORMAT = "tanager studio"
VERSION = 1
MAX_ENTRIES = 500  # of the history; older ones are forgotten
MAX_FILE = 64 << 20  # bytes of a session file

Made = TypeVar("Made")


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A step of the history: what was done, the document after it, and the lines of Python that do the same."""

    label: str
    document: Document
    code: tuple[str, ...] = ()
    figures: dict[str, Any] | None = None  # left-out accuracy and log loss after it, where they were worked out


class SessionFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A session as it is in a file."""

    format: str
    version: int
    entries: tuple[Entry, ...]
    position: int


class Session:
    """The document, its history, and what was derived from it.

    Pages read ``document``, which never changes, and call ``change`` with a new one.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self.path = None if path is None else Path(path)
        self.events = Events()
        self.jobs = Jobs(self.events)
        self.uploads: dict[str, Path] = {}
        self.folder = Path(tempfile.mkdtemp(prefix="tanager-studio-"))  # for uploaded files; private to this user
        self.version = 0
        self._entries: tuple[Entry, ...] = (Entry("start", Document()),)
        self._position = 0
        self._lock = threading.RLock()
        self._making = threading.RLock()  # derived things are made once, not by two threads at a time
        self._derived: dict[Any, Any] = {}

    def close(self) -> None:
        """Stop all work, and remove uploaded files."""
        self.jobs.cancel_all()
        self.events.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    # --- the document and its history -----------------------------------------------------------------------------

    @property
    def document(self) -> Document:
        """The present decisions."""
        return self._entries[self._position].document

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The history, with what was undone at its end."""
        return self._entries

    @property
    def position(self) -> int:
        """The place of the present document in the history."""
        return self._position

    def change(
        self,
        label: str,
        document: Document,
        code: tuple[str, ...] = (),
        figures: dict[str, Any] | None = None,
    ) -> None:
        """Go on with another document; what had been undone is forgotten."""
        with self._lock:
            entries = (*self._entries[: self._position + 1], Entry(label, document, code, figures))
            self._entries = _latest(entries, MAX_ENTRIES)
            self._position = len(self._entries) - 1
            self._changed(label)

    def amend(self, document: Document | None = None, figures: dict[str, Any] | None = None) -> None:
        """Change the present entry without a new step: positions of nodes, or figures that came later."""
        with self._lock:
            entry = self._entries[self._position]
            entry = msgspec.structs.replace(
                entry, document=document or entry.document, figures=entry.figures if figures is None else figures
            )
            before, after = self._entries[: self._position], self._entries[self._position + 1 :]
            self._entries = (*before, entry, *after)
            self._changed("")

    def go_to(self, position: int) -> None:
        """Undo or redo, up to an entry of the history."""
        with self._lock:
            if not 0 <= position < len(self._entries):
                raise OptionError("there is nothing more to undo." if position < 0 else "there is nothing to redo.")
            self._position = position
            self._changed(self._entries[position].label)

    def _changed(self, label: str) -> None:
        self.version += 1
        if self.path is not None:
            self.save(self.path)
        self.events.send("changed", {"version": self.version, "label": label})

    # --- derived things ---------------------------------------------------------------------------------------------

    def derive(self, key: Any, make: Callable[[], Made]) -> Made:
        """What ``make`` gives, remembered under a key; the 64 keys that were used last are kept."""
        with self._making:
            if key in self._derived:
                made: Made = self._derived.pop(key)
            else:
                made = make()
            self._derived[key] = made
            while len(self._derived) > 64:
                del self._derived[next(iter(self._derived))]
            return made

    @property
    def loaded(self) -> Loaded:
        """The table as it was read."""
        choice = self.document.data
        if choice is None or not choice.has_rows:
            raise OptionError("there are no rows yet. Choose a data set or a file on the page Data.")
        return self.derive(("loaded", choice), lambda: load(choice, self.uploads))

    @property
    def prepared(self) -> Prepared:
        """The rows, encoded as the document says."""
        document = self.document
        key = ("prepared", document.data, msgspec.json.encode(document.columns, order="deterministic"))
        return self.derive(key, lambda: prepare(self.loaded, document.columns))

    @property
    def has_rows(self) -> bool:
        """Whether a table was chosen; a model or network file has none."""
        return self.document.data is not None and self.document.data.has_rows

    # --- files --------------------------------------------------------------------------------------------------------

    def to_bytes(self) -> bytes:
        """The session as JSON."""
        with self._lock:
            return msgspec.json.encode(SessionFile(FORMAT, VERSION, self._entries, self._position))

    def save(self, path: Path) -> None:
        """Write the session to a file, completely or not at all."""
        with whole_file(path) as file:
            file.write(self.to_bytes())

    def open(self, content: bytes) -> None:
        """Go on with a session from a file; the present one is replaced."""
        found = read_session(content)
        with self._lock:
            self._entries, self._position = found.entries, found.position
            self._changed("opened a session")


def _latest(entries: tuple[Entry, ...], most: int) -> tuple[Entry, ...]:
    """The last entries; the first of them has the lines of all that are forgotten, so that they can be repeated."""
    forgotten, kept = entries[:-most], entries[-most:]
    if not forgotten:
        return kept
    code = tuple(line for entry in (*forgotten, kept[0]) for line in entry.code)
    return (msgspec.structs.replace(kept[0], code=code), *kept[1:])


def read_session(content: bytes) -> SessionFile:
    """The session in a file; what is no such file is refused with the place."""
    if len(content) > MAX_FILE:
        raise ModelFileError(f"a session file has at most {MAX_FILE >> 20} MB, this has {len(content) >> 20}.")
    try:
        found = msgspec.json.decode(content, type=SessionFile)
    except msgspec.DecodeError as error:
        raise ModelFileError(f"this is no session of the studio: {error}.") from None
    if found.format != FORMAT or not 0 <= found.position < len(found.entries):
        raise ModelFileError("this is no session of the studio: its head says otherwise.")
    if found.version > VERSION:
        raise ModelFileError("the session was written by a later version of tanager. Update this one.")
    return found
