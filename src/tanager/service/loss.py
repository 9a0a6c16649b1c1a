"""Going on without a lost part of the log, where the operator has chosen to."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from tanager.service.journal import segment_path
from tanager.service.log_survey import LogSurvey
from tanager.service.watermark import NAME, write_mark
from tanager.writing import sync_folder, whole_file


def accept_loss(found: LogSurvey, aside: Path) -> None:
    """Let the log end with its last good entry. The files that this changes are copied to a new folder first.

    A crash at any moment leaves a log that is refused as before, or one that is whole: the watermark comes down last.
    """
    good = [k for k, part in enumerate(found.segments) if part.good_bytes and part.first - 1 <= found.end == part.last]
    kept = good[-1] + 1 if good else 0  # segments; none where a snapshot goes further than the log
    ends = [part for part in found.segments[:kept][-1:] if part.good_bytes != part.n_bytes]
    _copy([*(part.path for part in [*ends, *found.segments[kept:]]), found.folder / NAME], aside)
    for part in found.segments[kept:]:
        part.path.unlink()
    for part in ends:
        _cut(part.path, part.good_bytes)
    if not kept:
        segment_path(found.folder, found.end + 1).touch()  # its head is written when the log is opened
    sync_folder(found.folder)
    write_mark(found.folder, found.end)


def _copy(paths: list[Path], aside: Path) -> None:
    aside.mkdir()
    for path in paths:
        if path.exists():
            with path.open("rb") as source, whole_file(aside / path.name) as file:
                shutil.copyfileobj(source, file)
    sync_folder(aside)
    sync_folder(aside.parent)


def _cut(path: Path, size: int) -> None:
    file = os.open(path, os.O_RDWR)
    try:
        os.ftruncate(file, size)
        os.fsync(file)
    finally:
        os.close(file)
