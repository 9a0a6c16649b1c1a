"""The log: what was synced is there after any crash; damage is never passed over."""

import errno
import os
import subprocess
import sys
from contextlib import closing

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tanager.service import journal
from tanager.service.journal import Journal, JournalError
from tanager.service.log_survey import survey_log
from tanager.service.loss import accept_loss
from tanager.service.watermark import read_mark, write_mark

PAYLOADS = st.lists(st.binary(max_size=40) | st.just(journal.MARK * 3), min_size=1, max_size=8)


def write(folder, payloads, segment_bytes=1 << 20, sync_each=True):
    log = Journal(folder, segment_bytes)
    for payload in payloads:
        log.append(payload)
        if sync_each:
            log.sync()
    log.close()


def read(folder, after=0):
    with closing(Journal(folder)) as log:
        return list(log.replay(after))


def segments(folder):
    return sorted(folder.glob("*.log"))


def numbered(payloads):
    return list(enumerate(payloads, 1))


def fresh(tmp_path_factory):
    return tmp_path_factory.mktemp("log")


@given(payloads=PAYLOADS, segment_bytes=st.sampled_from([1, 60, 1 << 20]), after=st.integers(0, 9))
def test_what_was_appended_is_read_back_in_order_from_any_number_on(tmp_path_factory, payloads, segment_bytes, after):
    folder = fresh(tmp_path_factory)
    write(folder, payloads, segment_bytes)
    assert read(folder, after) == numbered(payloads)[after:]


@given(payloads=PAYLOADS, at=st.floats(0, 1))
def test_a_log_cut_at_any_byte_holds_the_entries_that_were_whole_and_goes_on(tmp_path_factory, payloads, at):
    folder = fresh(tmp_path_factory)
    log, ends = Journal(folder), []
    for payload in payloads:
        log.append(payload)
        ends.append(segments(folder)[0].stat().st_size)
    log.close()
    (path,) = segments(folder)
    write_mark(folder, 0)  # as if a power cut had come before the sync
    cut = round(at * ends[-1])
    os.truncate(path, cut)
    whole = sum(end <= cut for end in ends)
    log = Journal(folder)
    assert list(log.replay()) == numbered(payloads)[:whole]
    assert log.append(b"next") == whole + 1
    log.close()
    assert read(folder) == [*numbered(payloads)[:whole], (whole + 1, b"next")]


@given(payloads=PAYLOADS, garbage=st.binary(min_size=1, max_size=60))
def test_what_a_crash_leaves_behind_the_last_entry_is_cut_off(tmp_path_factory, payloads, garbage):
    folder = fresh(tmp_path_factory)
    write(folder, payloads)
    with open(segments(folder)[-1], "ab") as file:
        file.write(garbage)
    assert read(folder) == numbered(payloads)


@given(payloads=st.lists(st.binary(min_size=1, max_size=40), min_size=2, max_size=8), data=st.data())
def test_a_changed_byte_of_what_was_synced_is_refused(tmp_path_factory, payloads, data):
    folder = fresh(tmp_path_factory)
    write(folder, payloads, data.draw(st.sampled_from([1, 60, 1 << 20])))
    path = data.draw(st.sampled_from(segments(folder)))
    content = bytearray(path.read_bytes())
    at = data.draw(st.integers(0, len(content) - 1))
    content[at] ^= data.draw(st.integers(1, 255))
    path.write_bytes(content)
    with pytest.raises(JournalError, match=r"damaged at byte|was renamed|newer tanager|was cut"):
        read(folder)


def journal_entries(content):
    """Where entries begin, by their lengths."""
    at = 20
    while at < len(content):
        yield at
        at += 28 + int.from_bytes(content[at + 4 : at + 8], "little")


@given(payloads=st.lists(st.binary(min_size=1, max_size=40), min_size=1, max_size=6), data=st.data())
def test_entries_that_were_never_synced_may_be_torn_in_any_order(tmp_path_factory, payloads, data):
    """As a power cut leaves them: blocks of one sync reach the disk in any order."""
    folder = fresh(tmp_path_factory)
    write(folder, [b"synced"])
    synced = (folder / "synced").read_bytes()
    write(folder, payloads, sync_each=False)
    (folder / "synced").write_bytes(synced)
    (path,) = segments(folder)
    content = bytearray(path.read_bytes())
    begins = list(journal_entries(content))[1:]
    at = data.draw(st.integers(begins[0], len(content) - 1))
    content[at] ^= data.draw(st.integers(1, 255))
    path.write_bytes(content)
    whole = sum(begin <= at for begin in begins) - 1
    log = Journal(folder)
    assert list(log.replay()) == numbered([b"synced", *payloads[:whole]])
    assert log.bytes_cut == len(content) - begins[whole]
    assert log.append(b"next") == whole + 2
    log.close()


def test_the_sentence_about_damage_says_file_place_and_the_way_out_and_the_way_out_works(tmp_path):
    write(tmp_path, [b"one", b"two", b"three"])
    (path,) = segments(tmp_path)
    content = path.read_bytes()
    path.write_bytes(content.replace(b"two", b"twe"))
    with pytest.raises(JournalError) as caught:
        Journal(tmp_path)
    assert f"{str(path)!r} is damaged at byte 51, where entry 2 should be" in str(caught.value)
    found = survey_log(tmp_path, 0)
    assert (found.problem, found.end, found.synced, found.n_lost) == (str(caught.value), 1, 3, 2)
    accept_loss(found, tmp_path / "lost")
    assert (tmp_path / "lost" / path.name).read_bytes() == content.replace(b"two", b"twe")
    assert read(tmp_path) == [(1, b"one")]


@pytest.mark.parametrize("lost", [0, 1, 2, 3])
def test_a_missing_segment_is_refused(tmp_path, lost):
    write(tmp_path, [b"one", b"two", b"three", b"four"], segment_bytes=1)
    segments(tmp_path)[lost].unlink()
    with pytest.raises(JournalError, match=r"a segment is missing|the last segment is missing"):
        read(tmp_path)


@pytest.mark.parametrize("size", range(20))
def test_a_segment_that_lost_its_head_after_entries_were_synced_is_refused(tmp_path, size):
    write(tmp_path, [b"one", b"two"], segment_bytes=1)
    os.truncate(segments(tmp_path)[-1], size)
    with pytest.raises(JournalError, match="the last segment is missing or was cut"):
        Journal(tmp_path)


@given(payloads=PAYLOADS, at=st.floats(0, 1, exclude_max=True))
def test_a_log_that_lost_synced_entries_at_its_end_is_refused_until_the_loss_is_accepted(
    tmp_path_factory, payloads, at
):
    folder = fresh(tmp_path_factory)
    write(folder, payloads)
    (path,) = segments(folder)
    os.truncate(path, int(at * path.stat().st_size))
    with pytest.raises(JournalError, match=rf"entries up to {len(payloads)} were synced"):
        Journal(folder)
    found = survey_log(folder, 0)
    accept_loss(found, folder / "lost")
    kept = read(folder)
    assert kept == numbered(payloads)[: found.end]
    assert found.n_lost == len(payloads) - len(kept) > 0
    assert sorted(path.name for path in (folder / "lost").iterdir()) == [path.name, "synced"][-2 + found_whole(found) :]
    write(folder, [b"next"])
    assert read(folder) == [*kept, (len(kept) + 1, b"next")]


def found_whole(found):
    """Whether the last segment ends with a whole entry, so that it is not changed."""
    return found.segments[-1].good_bytes == found.segments[-1].n_bytes > 0


@given(payloads=st.lists(st.binary(min_size=1, max_size=20), min_size=1, max_size=7), data=st.data())
def test_any_loss_can_be_accepted_and_all_before_it_is_kept(tmp_path_factory, payloads, data):
    """Files are deleted, cut and changed at random; entries up to a snapshot are not needed."""
    folder = fresh(tmp_path_factory)
    write(folder, payloads, segment_bytes=data.draw(st.sampled_from([1, 60, 1 << 20])))
    after = data.draw(st.integers(0, len(payloads)))
    for path in data.draw(st.lists(st.sampled_from([*segments(folder), folder / "synced"]), min_size=1, max_size=3)):
        content = bytearray(path.read_bytes()) if path.exists() else b""
        how, at = data.draw(st.sampled_from(["delete", "cut", "change"])), data.draw(st.floats(0, 1, exclude_max=True))
        if how == "delete":
            path.unlink(missing_ok=True)
        elif how == "cut":
            path.write_bytes(content[: int(at * len(content))])
        elif content:
            content[int(at * len(content))] ^= data.draw(st.integers(1, 255))
            path.write_bytes(content)
    found = survey_log(folder, after)
    refused = False
    try:
        kept = read(folder, after)
        refused = kept != numbered(payloads)[after:]
    except JournalError:
        refused = True
    assert refused <= (found.problem is not None)
    if found.problem is not None:
        accept_loss(found, folder / "lost")
    assert after <= found.end <= max(after, len(payloads))
    assert read(folder, after) == numbered(payloads)[after : found.end]
    write(folder, [b"next"])
    assert read(folder, after) == [*numbered(payloads)[after : found.end], (found.end + 1, b"next")]


@given(payloads=PAYLOADS, content=st.none() | st.binary(max_size=20))
def test_a_log_without_a_watermark_is_refused_unless_it_is_of_an_earlier_version(tmp_path_factory, payloads, content):
    folder = fresh(tmp_path_factory)
    write(folder, payloads)
    (folder / "synced").unlink()
    if content is not None:
        (folder / "synced").write_bytes(content)
    with pytest.raises(JournalError, match=r"synced' is missing or damaged, so it is not known"):
        Journal(folder)
    Journal(folder, may_lack_watermark=True).close()
    assert read(folder) == numbered(payloads)
    write(folder, [b"more"])
    assert read(folder) == numbered([*payloads, b"more"])


@given(n=st.integers(1, 5), at=st.integers(0, 4115), change=st.integers(1, 255))
@example(n=4, at=0, change=1)  # the first slot, and the second one; either may be the newer
@example(n=5, at=0, change=1)
@example(n=4, at=4096, change=1)
@example(n=5, at=4096, change=1)
def test_a_watermark_with_one_damaged_slot_counts_and_the_damage_is_noticed(tmp_path_factory, n, at, change):
    folder = fresh(tmp_path_factory)
    write(folder, [b"one"] * n)
    content = bytearray((folder / "synced").read_bytes())
    content[at] ^= change
    (folder / "synced").write_bytes(content)
    in_slot = at < 20 or at >= 4096
    assert read_mark(folder).number in (n - 1, n)
    log = Journal(folder)
    assert log.damaged_slots == in_slot
    assert log.last == n
    log.append(b"more")
    log.sync()
    log.close()
    assert read_mark(folder).number == n + 1


def test_a_note_of_the_last_sync_that_is_too_low_loses_nothing(tmp_path):
    """It is not synced itself, so that a power cut may leave an old one."""
    write(tmp_path, [b"one"])
    old = (tmp_path / "synced").read_bytes()
    write(tmp_path, [b"two", b"three"])
    (tmp_path / "synced").write_bytes(old)
    assert read(tmp_path) == numbered([b"one", b"two", b"three"])


def test_where_the_last_sync_cannot_be_noted_the_entries_count_all_the_same(tmp_path, monkeypatch):
    log = Journal(tmp_path)
    os.close(log._watermark._file)
    log._watermark._file = os.open(tmp_path / "synced", os.O_RDONLY)
    log.append(b"one")
    log.sync()
    log.close()
    assert read(tmp_path) == [(1, b"one")]


def test_segments_before_the_wanted_entry_are_not_needed(tmp_path):
    write(tmp_path, [b"one", b"two", b"three"], segment_bytes=1)
    segments(tmp_path)[0].unlink()
    assert read(tmp_path, after=1) == [(2, b"two"), (3, b"three")]


def test_dropping_takes_whole_segments_and_never_the_last(tmp_path):
    log = Journal(tmp_path, segment_bytes=80)
    for n in range(6):  # two entries in a segment
        log.append(b"x" * 20 + bytes([n]))
        log.sync()
    assert [path.stem.lstrip("0") for path in segments(tmp_path)] == ["1", "3", "5"]
    log.drop(3)
    assert [path.stem.lstrip("0") for path in segments(tmp_path)] == ["3", "5"]
    log.drop(6)
    assert [path.stem.lstrip("0") for path in segments(tmp_path)] == ["5"]
    log.close()
    assert [sequence for sequence, _ in read(tmp_path, after=4)] == [5, 6]


@pytest.mark.parametrize("size", range(20))
def test_a_segment_whose_head_was_torn_is_begun_again(tmp_path, size):
    write(tmp_path, [b"one", b"two"], segment_bytes=1)
    log = Journal(tmp_path, 1)
    log._begin_segment(3)
    log.close()
    os.truncate(segments(tmp_path)[-1], size)
    log = Journal(tmp_path)
    assert log.append(b"three") == 3
    log.close()
    assert read(tmp_path) == numbered([b"one", b"two", b"three"])


def test_a_second_journal_on_the_folder_is_refused_until_the_first_is_closed(tmp_path):
    log = Journal(tmp_path)
    with pytest.raises(JournalError, match=f"in use by process {os.getpid()}.*Stop that one first"):
        Journal(tmp_path)
    code = f"from tanager.service.journal import Journal; Journal({str(tmp_path)!r})"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert f"in use by process {os.getpid()}" in other.stderr
    log.close()
    Journal(tmp_path).close()


def test_a_segment_of_a_newer_version_or_under_another_name_is_told_apart_from_damage(tmp_path):
    write(tmp_path, [b"one"])
    (path,) = segments(tmp_path)
    path.rename(tmp_path / f"{7:020d}.log")
    with pytest.raises(JournalError, match="begins with entry 1: it was renamed"):
        Journal(tmp_path)
    (tmp_path / f"{7:020d}.log").rename(path)
    good, journal_version = path.read_bytes(), journal.VERSION
    try:
        journal.VERSION = 2
        newer = journal._head(1)
    finally:
        journal.VERSION = journal_version
    path.write_bytes(newer + good[20:])
    with pytest.raises(JournalError, match=r"newer tanager .format 2"):
        Journal(tmp_path)


class Failing:
    """Stands in for a function of os, and fails at one of its calls (or from it on), half done where it writes.

    Calls for the watermark are not counted: they may fail without harm.
    """

    def __init__(self, call, at, error=errno.ENOSPC, forever=False, exempt=None):
        self.call, self.at, self.error, self.forever = call, at, error, forever
        self.exempt = exempt and exempt.stat().st_ino
        self.n_calls = 0

    def __call__(self, *args):
        if os.fstat(args[0]).st_ino == self.exempt:
            return self.call(*args)
        self.n_calls += 1
        if self.n_calls == self.at or (self.forever and self.n_calls > self.at):
            if self.call is os_pwrite:
                os_pwrite(args[0], args[1][: len(args[1]) // 2], args[2])
            raise OSError(self.error, os.strerror(self.error))
        return self.call(*args)


os_pwrite, os_fsync, os_ftruncate = os.pwrite, os.fsync, os.ftruncate


@pytest.mark.parametrize("name", ["pwrite", "fsync"])
@pytest.mark.parametrize("at", range(1, 7))
@pytest.mark.parametrize("segment_bytes", [1, 1 << 20])
def test_where_writing_fails_nothing_is_kept_and_later_entries_are(tmp_path, monkeypatch, name, at, segment_bytes):
    """Two entries per sync; every call fails once."""
    log = Journal(tmp_path, segment_bytes)
    monkeypatch.setattr(os, name, Failing(getattr(os, name), at, exempt=tmp_path / "synced"))
    kept, refused = [], []
    for n in range(8):
        pair = [f"{n} and".encode(), f"{n} again".encode()]
        before = log.last
        try:
            numbers = [log.append(payload) for payload in pair]
            log.sync()
        except JournalError as error:
            refused.append(str(error))
            assert log.last == before
        else:
            kept += zip(numbers, pair, strict=True)
    assert len(refused) == 1
    assert len(kept) == 14
    assert all("No space left on device" in error and "send it again" in error for error in refused)
    assert list(log.replay()) == kept
    monkeypatch.undo()
    log.close()
    assert read(tmp_path) == kept == numbered([payload for _, payload in kept])


def test_a_tail_that_cannot_be_cut_back_at_once_is_cut_before_the_next_entry(tmp_path, monkeypatch):
    log = Journal(tmp_path)
    log.append(b"good")
    log.sync()
    monkeypatch.setattr(os, "pwrite", Failing(os_pwrite, 1, errno.EIO))
    monkeypatch.setattr(os, "ftruncate", Failing(os_ftruncate, 1, errno.EIO, forever=True))
    for _ in range(2):
        with pytest.raises(JournalError, match=r"Input/output error.*may be found again after a crash"):
            log.append(b"lost, and quite long")
    monkeypatch.undo()
    log.append(b"new")
    log.sync()
    log.close()
    assert read(tmp_path) == [(1, b"good"), (2, b"new")]
