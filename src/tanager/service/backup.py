"""A copy of a model file and its state, also while a service learns."""

from __future__ import annotations

import shutil
from pathlib import Path

from tanager.service.check import TRIES, Checked, check_state
from tanager.service.journal import segments
from tanager.service.state_folder import is_part, reading
from tanager.service.watermark import NAME as WATERMARK
from tanager.writing import sync_folder, whole_file


def back_up(model: Path, state: Path, target: Path) -> Checked:
    """Copy a model file and its state into a new folder, and check the copy; returns what is in it.

    The service goes on learning; it only removes no old file meanwhile. The watermark is copied first and the log last:
    all that was acknowledged before the copy began is in it, and the end of the log may be torn as by a crash, which a
    start repairs. Where the service takes over a new model file meanwhile, the copy is made again.
    """
    for attempt in range(1, TRIES + 1):
        try:
            checked = _copy(model, state, target)
        except FileNotFoundError:
            if attempt == TRIES:
                raise
        else:
            if not checked.damaged or attempt == TRIES:
                return checked
        shutil.rmtree(target, ignore_errors=True)
    raise AssertionError


def _copy(model: Path, state: Path, target: Path) -> Checked:
    current, copied = state / "current", target / f"{model.name}.state" / "current"
    target.mkdir()
    copied.mkdir(parents=True)
    with reading(current):
        _copy_current(current, copied)
    _copy_file(model, target / model.name)
    if (current / "manifest.json").read_bytes() != (copied / "manifest.json").read_bytes():
        raise FileNotFoundError(f"{str(current)!r} was retired while it was copied.")
    for folder in (copied, copied.parent, target, target.absolute().parent):
        sync_folder(folder)
    return check_state(copied.parent)


def _copy_current(current: Path, copied: Path) -> None:
    logs = [path for _, path in segments(current)]
    others = [path for path in sorted(current.iterdir()) if is_part(path) and path not in logs]
    others.sort(key=lambda path: path.name != WATERMARK)
    for path in [*others, *(path for _, path in segments(current))]:
        _copy_file(path, copied / path.name)


def _copy_file(path: Path, target: Path) -> None:
    with path.open("rb") as source, whole_file(target) as file:
        shutil.copyfileobj(source, file)
