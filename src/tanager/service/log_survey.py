"""What is in a log: read without a lock and without a change, whatever state it is in."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tanager.service.journal import (
    HEAD_BYTES,
    JournalError,
    check_head,
    damage,
    entries,
    gap,
    late_begin,
    lost_end,
    no_watermark,
    segments,
    synced_after,
    torn_head,
)
from tanager.service.watermark import read_first_format, read_mark


@dataclass
class Segment:
    """One file of a log: its good entries at the beginning, and what may be wrong with it."""

    path: Path
    first: int
    last: int  # the last good entry; first - 1 where there is none
    good_bytes: int = 0
    n_bytes: int = 0
    n_rows: int = 0
    n_needed_rows: int = 0
    synced: int = 0  # the last entry that was synced, by what entries behind the good ones say
    problem: str | None = None


@dataclass
class LogSurvey:
    """The segments of a log, and how far it goes from the first needed entry on."""

    folder: Path
    after: int  # the entries after this one are needed
    segments: list[Segment] = field(default_factory=list)
    synced: int = 0  # the last entry that was synced, by all that is known
    end: int = 0  # all needed entries up to this one are there and good
    n_rows: int = 0  # in those
    torn_bytes: int = 0  # behind the end, never acknowledged; a start cuts them off
    damaged_slots: int = 0  # of the watermark
    problem: str | None = None  # why the log cannot be used as it is

    @property
    def n_lost(self) -> int:
        """Entries that were synced and cannot be learned again: not there, damaged, or behind such a one."""
        return max(0, self.synced - self.end)


def survey_log(
    folder: Path, after: int, *, n_rows: Callable[[bytes], int] = lambda _: 0, may_lack_watermark: bool = False
) -> LogSurvey:
    """Read a whole log; ``n_rows`` says how many rows an entry has."""
    mark = read_mark(folder)  # before the log: what it names must be there, also while a service writes
    found = LogSurvey(folder, after, end=after, synced=after)
    if mark is not None:
        found.synced, found.damaged_slots = max(after, mark.number), mark.damaged
    elif may_lack_watermark:
        found.synced = max(after, read_first_format(folder))
    else:
        found.problem = no_watermark(folder)
    found.segments = [_survey_segment(path, first, after, n_rows) for first, path in segments(folder)]
    for segment in found.segments:  # a segment is begun when all entries before it are synced
        found.synced = max(found.synced, segment.first - 1, segment.synced)
    found.problem = _join(found) or found.problem
    return found


def _survey_segment(path: Path, first: int, after: int, n_rows: Callable[[bytes], int]) -> Segment:
    data = path.read_bytes()
    segment = Segment(path, first, first - 1, n_bytes=len(data))
    if torn_head(data, first):
        return segment
    try:
        check_head(path, data, first)
    except JournalError as error:
        segment.problem = str(error)
        return segment
    segment.good_bytes = HEAD_BYTES
    for sequence, payload, end in entries(data, first):
        segment.last, segment.good_bytes = sequence, end
        rows = n_rows(payload)
        segment.n_rows += rows
        segment.n_needed_rows += rows if sequence > after else 0
    segment.synced = synced_after(data, segment.good_bytes)
    return segment


def _join(found: LogSurvey) -> str | None:
    """Follow the needed entries from segment to segment; returns what ends them too early."""
    parts = found.segments
    for segment, following in itertools.zip_longest(parts, parts[1:]):
        if following is not None and following.first <= found.after + 1:
            continue  # no entry in it is needed
        if segment.first > found.end + 1:
            return late_begin(found.folder, segment.first, found.end + 1)
        if segment.problem:
            return segment.problem
        found.end = max(found.end, segment.last)
        found.n_rows += segment.n_needed_rows
        whole = segment.good_bytes == segment.n_bytes
        if following is not None and not (whole and segment.last == following.first - 1):
            at = segment.good_bytes
            return (
                gap(segment.path, segment.last, following.first) if whole else damage(segment.path, at, found.end + 1)
            )
        if following is None:
            return _last_problem(found, segment)
    return f"{str(found.folder)!r} holds no log: it was deleted. Put it back."


def _last_problem(found: LogSurvey, last: Segment) -> str | None:
    """What is wrong with the end of the log; bytes of entries that were never synced are not."""
    found.torn_bytes = last.n_bytes - last.good_bytes
    if last.synced > last.last:
        return damage(last.path, last.good_bytes, last.last + 1)
    if found.synced > last.last:
        return lost_end(found.folder, last.path.name, last.good_bytes, last.last + 1, found.synced)
    return None
