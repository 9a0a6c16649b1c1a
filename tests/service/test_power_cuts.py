"""Power cuts at any moment: nothing acknowledged is lost, nothing learned twice. ``fuzz/state.py`` makes thousands."""

import errno
import os
from contextlib import closing

import pytest
from crashes import run_story
from power import Disk

from profiles import later
from tanager.service import journal, state_folder
from tanager.service.journal import Journal, JournalError


@pytest.mark.parametrize("seed", [0, *later(1, 2, 3, 4, 5)])
def test_whatever_a_power_cut_leaves_all_that_was_acknowledged_is_there_once(tmp_path, seed):
    assert run_story(tmp_path, seed, n_lives=4, n_steps=20, n_cuts=10) == 40


@pytest.mark.parametrize("place", [journal, state_folder])
def test_a_folder_that_is_not_synced_would_be_noticed(tmp_path, monkeypatch, place):
    """The judge is judged."""
    monkeypatch.setattr(place, "sync_folder", lambda folder: None)
    with pytest.raises((AssertionError, JournalError)):
        run_stories(tmp_path)


def run_stories(folder):
    for seed in range(20):
        (folder / str(seed)).mkdir()
        run_story(folder / str(seed), seed, n_lives=3, n_steps=15, n_cuts=20)


def images(disk, folder, n=60):
    """What could be left after the last call, each as a dict of names and contents."""
    for seed in range(n):
        disk.image(len(disk.events), folder / f"image-{seed}", seed)
        yield {path.name: path.read_bytes() for path in (folder / f"image-{seed}").iterdir()}


def test_what_was_not_synced_may_be_left_in_any_part_and_what_was_synced_is_there(tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    (root / "old").write_bytes(b"safe")
    with Disk(root) as disk:
        with open(root / "file", "wb") as file:
            file.write(b"a" * 512 + b"b" * 512)
            file.flush()
            os.fsync(file.fileno())
        os.rename(root / "old", root / "new")
        (tmp_path / "1").mkdir()
        nameless = list(images(disk, tmp_path / "1"))
        folder = os.open(root, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)
        file = os.open(root / "file", os.O_RDWR)
        os.pwrite(file, b"c" * 1024, 0)
        (tmp_path / "2").mkdir()
        named = list(images(disk, tmp_path / "2"))
        os.close(file)
    assert {frozenset(image) for image in nameless} == {
        frozenset(names) for names in (["old"], ["new"], ["old", "file"], ["new", "file"])
    }
    assert {image["file"] for image in nameless if "file" in image} == {b"a" * 512 + b"b" * 512}
    assert all(set(image) == {"new", "file"} and image["new"] == b"safe" for image in named)
    assert {image["file"][::512] for image in named} == {b"ab", b"cb", b"ac", b"cc"}


def test_a_sync_that_fails_may_leave_nothing_for_the_next_one(tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    (root / "file").write_bytes(b"")
    with Disk(root) as disk:
        file = os.open(root / "file", os.O_RDWR)
        os.pwrite(file, b"lost", 0)
        disk.fail_syncs = [errno.EIO]
        with pytest.raises(OSError, match="Input/output"):
            os.fsync(file)
        os.fsync(file)
        os.close(file)
        assert {image["file"] for image in images(disk, tmp_path)} >= {b"", b"lost"}


# --- what a log promises --------------------------------------------------------------------------------------------


def folders(disk, folder, n=40):
    """What could be left after the last call, each as a folder."""
    for seed in range(n):
        disk.image(len(disk.events), folder / f"image-{seed}", seed)
        yield folder / f"image-{seed}"


def read(folder):
    with closing(Journal(folder)) as log:
        return list(log.replay())


@pytest.fixture
def disk(tmp_path):
    (tmp_path / "root").mkdir()
    with Disk(tmp_path / "root") as disk:
        yield disk


def test_entries_that_were_given_up_do_not_come_back(disk, tmp_path):
    """Whoever sent them was told so, and sends them again."""
    log = Journal(disk.root)
    log.append(b"kept")
    log.sync()
    log.append(b"given up" * 200)
    disk.fail_syncs = [errno.EIO]
    with pytest.raises(JournalError, match="Nothing was kept"):
        log.sync()
    assert {tuple(read(image)) for image in folders(disk, tmp_path)} == {((1, b"kept"),)}
    log.close()


def test_a_segment_with_entries_cannot_be_lost_without_notice(disk, tmp_path):
    log = Journal(disk.root, segment_bytes=1)
    for n in range(3):
        log.append(bytes([n]))
        log.sync()
    for image in folders(disk, tmp_path):
        max(image.glob("*.log")).unlink()
        with pytest.raises(JournalError, match="were synced: the last segment is missing"):
            Journal(image)
    log.close()


def test_entries_that_count_from_a_new_start_on_are_there_after_a_power_cut(disk, tmp_path):
    """Their process was killed while a sync failed; the system may take for written what is not."""
    log = Journal(disk.root)
    log.append(b"written")
    disk.fail_syncs = [errno.EIO]
    with pytest.raises(OSError, match="Input/output"):
        os.fsync(log._file)
    log._release()
    log = Journal(disk.root)
    assert {tuple(read(image)) for image in folders(disk, tmp_path)} == {((1, b"written"),)}
    log.close()
