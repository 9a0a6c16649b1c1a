"""Looking at what is on disk for a served model, without changing it: what is there, what is damaged, how many rows."""

from __future__ import annotations

import fcntl
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tanager.errors import TanagerError
from tanager.persist import load
from tanager.service.log_entries import n_rows
from tanager.service.log_survey import LogSurvey, survey_log
from tanager.service.model_queries import class_sizes
from tanager.service.state_folder import (
    KEPT_SNAPSHOTS,
    MANIFEST_VERSION,
    Manifest,
    read_keys,
    read_manifest,
    reading,
    snapshots,
    strays,
)

TRIES = 5  # a service that is running may take over a new model file while a state is looked at


@dataclass
class Part:
    """One part of a state or a model file: what it is, what was found, and whether it is damaged."""

    name: str
    finding: str
    damaged: bool = False
    entries: int | None = None
    rows: float | None = None


@dataclass
class Checked:
    """All parts of a state. ``entries`` were learned on top of the model file, ``lost`` are known to be missing."""

    parts: list[Part] = field(default_factory=list)
    entries: int = 0
    rows: float = 0.0
    lost: int = 0
    in_use: bool = False

    @property
    def damaged(self) -> list[Part]:
        """The parts that are damaged."""
        return [part for part in self.parts if part.damaged]


def check_model(path: Path) -> Part:
    """A model file: it is read whole, as for predictions."""
    try:
        model = load(path)
    except TanagerError as error:
        return Part(path.name, str(error), damaged=True)
    rows = float(np.sum(class_sizes(model)))
    return Part(path.name, type(model).__name__, rows=rows)


def check_state(folder: Path, digest: str | None = None) -> Checked:
    """The state in a folder: all of ``current`` and the snapshots of what is retired.

    ``digest`` is the SHA-256 of the model file beside it. A service may go on learning meanwhile; it
    only removes no old file.
    """
    for attempt in range(TRIES):
        try:
            return _check_state(folder, digest)
        except FileNotFoundError:  # renamed for a new model file since it was listed
            if attempt == TRIES - 1:
                raise
    raise AssertionError


def _check_state(folder: Path, digest: str | None) -> Checked:
    found = Checked(in_use=is_in_use(folder))
    current = folder / "current"
    if not current.is_dir():
        found.parts.append(Part("current/", "missing: nothing was learned here, or it was moved", damaged=True))
        return found
    with reading(current):
        _check_current(found, current, digest)
    found.parts += map(_check_aside, sorted([*folder.glob("retired-*"), *folder.glob("lost-*")]))
    return found


def _check_current(found: Checked, current: Path, digest: str | None) -> None:
    manifest = _check_manifest(found, current, digest)
    earlier = manifest.version < MANIFEST_VERSION
    kept = _check_snapshots(found, current, earlier)
    log = survey_log(current, max(kept, default=0), n_rows=n_rows, may_lack_watermark=earlier)
    spare = survey_log(current, min(kept, default=0), may_lack_watermark=earlier)  # what the older snapshot needs
    _check_log(found, log, spare)
    found.parts += [Part(path.name, "no part of the state; not read") for path in strays(current)]


def is_in_use(folder: Path) -> bool:
    """Whether a process has the folder open for learning."""
    try:
        with open(folder / "lock", "rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


def _check_manifest(found: Checked, current: Path, digest: str | None) -> Manifest:
    try:
        manifest = read_manifest(current)
    except TanagerError as error:
        found.parts.append(Part("manifest.json", str(error), damaged=True))
        return Manifest("")
    if manifest is None:
        sentence = "missing: it is not known which model file the state belongs to"
        found.parts.append(Part("manifest.json", sentence, damaged=True))
        return Manifest("")
    other = "" if digest in (None, manifest.digest) else "; the model file was replaced since"
    found.parts.append(Part("manifest.json", f"format {manifest.version}{other}"))
    return manifest


def _check_snapshots(found: Checked, current: Path, earlier: bool) -> list[int]:
    """Check the snapshots; returns the last entries of the good ones, newest first.

    Where two are good, those before them are not needed: a power cut may bring back one that was removed, without its
    keys and its part of the log.
    """
    good: list[int] = []
    for sequence, path in snapshots(current):
        if len(good) == KEPT_SNAPSHOTS:
            found.parts.append(Part(path.name, "not needed any more; a start removes it", entries=sequence))
            continue
        part = check_model(path)
        part.entries = sequence
        if not (part.damaged or earlier):
            try:
                part.finding += f", {len(read_keys(current, sequence)):,} keys"
            except TanagerError as error:
                part.finding, part.damaged = str(error), True
        if not part.damaged:
            found.rows = found.rows if good else part.rows or 0.0
            good.append(sequence)
        found.parts.append(part)
    if not good:
        found.parts.append(Part("snapshots", "none that can be read. Put one back from a copy", damaged=True))
    return good


def _check_log(found: Checked, log: LogSurvey, spare: LogSurvey) -> None:
    for segment in log.segments:
        n = segment.last - segment.first + 1
        what = f"entries {segment.first:,} to {segment.last:,}" if n else "no entries"
        found.parts.append(Part(segment.path.name, segment.problem or what, bool(segment.problem), n, segment.n_rows))
    slots = "; one of its two slots is damaged" if log.damaged_slots else ""
    found.parts.append(Part("synced", f"entries up to {log.synced:,} were synced{slots}", bool(slots)))
    if log.torn_bytes and not log.problem:
        sentence = f"{log.torn_bytes:,} bytes at its end were not acknowledged; a start cuts them off"
        found.parts.append(Part("log", sentence))
    for problem in dict.fromkeys([log.problem, spare.problem]):
        if problem:
            found.parts.append(Part("log", problem, damaged=True))
    found.entries, found.lost = log.end, log.n_lost
    found.rows += log.n_rows


def _check_aside(folder: Path) -> Part:
    """A folder that is never read: its newest snapshot, where it has one."""
    for sequence, path in snapshots(folder)[:1]:
        part = check_model(path)
        return Part(f"{folder.name}/", part.finding, part.damaged, sequence, part.rows)
    return Part(f"{folder.name}/", "parts of a log; not read")
