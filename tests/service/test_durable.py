"""Durable: nothing acknowledged is lost, and a restart changes nothing."""

import asyncio
import errno
import hashlib
import json
import logging
import os
import random
import threading
import time
import zipfile
from pathlib import Path

import msgspec
import numpy as np
import pytest
from crashes import crash
from hypothesis import given
from hypothesis import strategies as st

from profiles import examples
from tanager import AODE, TAN, AnytimeAODE, DriftAware, EvolvingNaiveBayes, NaiveBayes, archive, load, save
from tanager.errors import DataError, ModelFileError, OptionError, SchemaMismatch
from tanager.persist import to_bytes
from tanager.service import log_entries
from tanager.service.durable import DurableModel
from tanager.service.journal import MARK, JournalError
from tanager.service.keys import KeyReused, LearnedKeys, keys_from_bytes, keys_to_bytes, request_key
from tanager.service.log_entries import LogEntry, check_entry, decode_entry, encode_entry, learn_entry
from tanager.service.watermark import write_mark
from waiting import PATIENCE, wait_for

COLOURS = ["red", "green", "blue"]


def rows_and_labels(n, seed):
    draw = random.Random(seed)
    rows = [{"colour": draw.choice(COLOURS), "size": round(draw.random(), 3), "n": draw.randrange(4)} for _ in range(n)]
    return rows, [draw.choice(["yes", "no"]) for _ in rows]


FIRST = rows_and_labels(60, seed=0)


def model_file(folder, model=None):
    path = folder / "model.tanager"
    save((AODE() if model is None else model).fit(*FIRST), path)
    return path


def opened(path, **options):
    return DurableModel(path, **{"sync_every": 0.0} | options)


def learn(durable, rows, labels, *more):
    return asyncio.run(durable.learn(rows, labels, *more))


def twin(path, lessons):
    """The slow, obvious way: the model of the file, taught one entry after the other."""
    model = load(path)
    for lesson in lessons:
        learn_entry(model, LogEntry(*lesson), threading.RLock())
    return model


def same(model, other):
    """To the last bit; a file rounds the weights of kept rows that fade."""
    (header, arrays), (other_header, others) = (archive.unpack(to_bytes(one), "a model") for one in (model, other))
    assert header == other_header
    assert arrays.keys() == others.keys()
    for name, array in arrays.items():
        if name.endswith(("rows", "rows-weights")):
            np.testing.assert_allclose(array, others[name], rtol=1e-14)
        else:
            np.testing.assert_array_equal(array, others[name])
    rows, _ = rows_and_labels(5, seed=99)
    np.testing.assert_allclose(model.predict_proba(rows), other.predict_proba(rows), rtol=1e-12)


def current(path):
    return path.with_name(path.name + ".state") / "current"


def logs(path):
    return sorted(current(path).glob("*.log"))


def snapshots(path):
    return [int(name.stem.removeprefix("snapshot-")) for name in sorted(current(path).glob("snapshot-*.tanager"))]


def lessons_of(sizes):
    return [rows_and_labels(n, seed=k + 1) for k, n in enumerate(sizes)]


# --- laws ---------------------------------------------------------------------------------------------------------

STEPS = st.lists(st.integers(1, 90) | st.sampled_from(["crash", "close", "snapshot"]), min_size=1, max_size=10)
MODELS = {
    "aode": AODE(),
    "fading": AODE(decay=50),
    "window": NaiveBayes(window=40),
    "gaussian": NaiveBayes(gaussian=True),
    "tan": TAN(),
    "anytime": AnytimeAODE(),
    "anytime, fading": AnytimeAODE(decay=50, weights="loo"),
    "evolving": EvolvingNaiveBayes(),
    "watchful": DriftAware(NaiveBayes(), every=10),
}


@pytest.mark.parametrize("name", MODELS)
@examples(6)
@given(steps=STEPS)
def test_crashes_restarts_and_snapshots_change_nothing(tmp_path_factory, name, steps):
    path = model_file(tmp_path_factory.mktemp("served"), MODELS[name])
    durable, lessons = opened(path, snapshot_rows=100, segment_bytes=2000), []
    for k, step in enumerate(steps):
        if step == "crash" or step == "close":
            (crash if step == "crash" else DurableModel.close)(durable)
            durable = opened(path, snapshot_rows=100, segment_bytes=2000)
        elif step == "snapshot":
            durable.snapshot()
        else:
            lessons.append(rows_and_labels(step, seed=k + 1))
            assert learn(durable, *lessons[-1]) == len(lessons) == durable.sequence
    durable.close()
    same(durable.model, twin(path, lessons))
    durable = opened(path)
    same(durable.model, twin(path, lessons))
    durable.close()


@given(sizes=st.lists(st.integers(1, 5), min_size=1, max_size=6), at=st.floats(0, 1))
def test_a_log_cut_at_any_byte_gives_the_model_of_the_first_entries(tmp_path_factory, sizes, at):
    path = model_file(tmp_path_factory.mktemp("served"))
    durable, ends = opened(path), []
    for lesson in lessons_of(sizes):
        learn(durable, *lesson)
        ends.append(logs(path)[0].stat().st_size)
    crash(durable)
    cut = round(at * ends[-1])
    os.truncate(logs(path)[0], cut)
    write_mark(current(path), 0)
    durable = opened(path)
    whole = sum(end <= cut for end in ends)  # all that was synced before the cut
    assert durable.sequence == durable.status()["replayed"] == whole
    same(durable.model, twin(path, lessons_of(sizes)[:whole]))
    durable.close()


def test_learners_side_by_side_are_learned_once_each_in_the_order_of_their_numbers(tmp_path):
    path = model_file(tmp_path)
    durable = opened(path, sync_every=0.001, snapshot_rows=50)
    lessons = lessons_of([1, 3, 1, 70] * 20)

    async def all_at_once():
        return await asyncio.gather(*(durable.learn(*lesson) for lesson in lessons))

    numbers = asyncio.run(all_at_once())
    assert sorted(numbers) == list(range(1, 81))
    in_order = [lesson for _, lesson in sorted(zip(numbers, lessons, strict=True), key=lambda pair: pair[0])]
    crash(durable)
    durable = opened(path)
    same(durable.model, twin(path, in_order))
    assert durable.model.counts_.n_rows == 60 + sum(len(labels) for _, labels in lessons)
    durable.close()


def test_learners_that_come_together_share_a_sync(tmp_path, monkeypatch):
    durable = opened(model_file(tmp_path), sync_every=0.05)
    calls, fsync = [], os.fsync
    monkeypatch.setattr(os, "fsync", lambda file: (calls.append(file), fsync(file)))

    async def together():
        await asyncio.gather(*(durable.learn(*lesson) for lesson in lessons_of([1] * 32)))

    asyncio.run(together())
    assert len(calls) <= 2
    durable.close()


def test_a_model_that_has_learned_nothing_warms_up_the_same_with_and_without_crashes(tmp_path):
    path = tmp_path / "model.tanager"
    save(AODE(warm_up=100), path)
    lessons = lessons_of([30, 1, 5, 80, 20])
    durable = opened(path)
    for lesson in lessons:
        learn(durable, *lesson)
        crash(durable)
        durable = opened(path)
    same(durable.model, twin(path, lessons))
    assert durable.model.columns_fixed
    durable.close()


@given(st.recursive(st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text(), st.lists))
def test_cells_come_back_from_the_log_as_they_were(cell):
    entry = LogEntry([{"x": cell}], ["yes"], None, [1.5])
    again = decode_entry(encode_entry(entry))
    assert repr(again) == repr(entry)  # tells 1 from 1.0 and True, and NaN from nothing


# --- what is refused ------------------------------------------------------------------------------------------------

GOOD = {"colour": "red", "size": 0.5, "n": 1}
REFUSED = [
    ([], [], "no rows to learn"),
    ([GOOD], [], "1 rows, y has 0 labels"),
    ([GOOD, {"color": "red"}], ["yes", "no"], "row 1 has a column 'color'.*Did you mean 'colour'"),
    ([GOOD | {"size": "large"}], ["yes"], "'size'"),
    ([GOOD] * 80 + [GOOD | {"size": "large"}], ["yes"] * 81, "column 'size', row 80"),
    ([GOOD | {"colour": ["red"]}], ["yes"], "column 'colour', row 0: .* is a list"),
    (["red"], ["yes"], "row 0 is a str"),
    ([GOOD], [None], "row 0: None is not a class"),
    ([GOOD], [float("nan")], "nan is not a class"),
    ([GOOD], [["yes"]], "is not a class"),
    ([GOOD], [1], "the label 1 is not text, unlike the classes"),
    ([GOOD | {"n": 2**70}], ["yes"], "64 bits"),
    ([GOOD | {"colour": "\ud800"}], ["yes"], "valid text"),
]


@pytest.mark.parametrize(("rows", "labels", "sentence"), REFUSED, ids=[str(k) for k in range(len(REFUSED))])
def test_what_cannot_be_learned_is_refused_before_anything_is_written(tmp_path, rows, labels, sentence):
    path = model_file(tmp_path)
    durable = opened(path)
    before, size = to_bytes(durable.model), logs(path)[0].stat().st_size
    with pytest.raises(DataError, match=sentence):
        learn(durable, rows, labels)
    assert (to_bytes(durable.model), logs(path)[0].stat().st_size, durable.sequence) == (before, size, 0)
    durable.close()


def test_weights_and_times_are_checked_and_kept(tmp_path):
    path = model_file(tmp_path, AODE())
    durable = opened(path)
    with pytest.raises(DataError, match="weights must be finite"):
        learn(durable, [GOOD], ["yes"], [-1.0])
    with pytest.raises(DataError, match="times, row 0"):
        learn(durable, [GOOD], ["yes"], None, [float("inf")])
    learn(durable, [GOOD, GOOD], ["yes", "no"], [2, 0.5], [1.0, 2.0])
    crash(durable)
    durable = opened(path)
    assert durable.model.counts_.n_rows == 62.5
    durable.close()


def test_a_model_that_forgets_by_time_wants_times(tmp_path):
    path = tmp_path / "model.tanager"
    save(AODE(decay="1 h").fit(*FIRST, times=np.arange(60.0)), path)
    durable = opened(path)
    with pytest.raises(DataError, match="is by time"):
        learn(durable, [GOOD], ["yes"])
    learn(durable, [GOOD], ["yes"], None, [100.0])
    durable.close()


def test_a_new_class_is_welcome_but_not_where_options_would_leave_it_without_an_answer(tmp_path):
    free, bound = AODE(), AODE(cost_matrix=[[0, 1], [2, 0]])
    check_entry(free.fit(*FIRST), LogEntry([GOOD], ["maybe"]))
    with pytest.raises(OptionError, match="cost_matrix"):
        check_entry(bound.fit(*FIRST), LogEntry([GOOD], ["maybe"]))
    with pytest.raises(OptionError, match="priors"):
        check_entry(AODE(priors={"yes": 0.5, "no": 0.5}).fit(*FIRST), LogEntry([GOOD], ["maybe"]))


def test_columns_without_names_are_learned_by_the_names_they_were_given(tmp_path):
    rows, labels = rows_and_labels(60, seed=0)
    model = NaiveBayes().fit([list(row.values()) for row in rows], labels)
    few, many = [{"x0": "red", "x2": 1}], [{"x0": "red", "x2": 1}] * 70
    for lesson in (few, many):
        entry = LogEntry(lesson, ["yes"] * len(lesson))
        check_entry(model, entry)
        learn_entry(model, entry, threading.RLock())
    assert model.counts_.n_rows == 131
    with pytest.raises(SchemaMismatch, match="'x7'"):
        check_entry(model, LogEntry([{"x7": 1}], ["yes"]))


def test_an_entry_that_fails_all_the_same_is_told_and_passed_over_then_and_after_a_crash(tmp_path, monkeypatch, caplog):
    path = model_file(tmp_path)
    durable = opened(path)
    monkeypatch.setattr("tanager.service.durable.check_entry", lambda model, entry: None)
    learn(durable, [GOOD], ["yes"])
    with pytest.raises(DataError), caplog.at_level(logging.WARNING):
        learn(durable, [GOOD | {"size": "large"}], ["yes"])
    assert "entry 2" in caplog.text
    learn(durable, [GOOD], ["no"])
    assert (durable.sequence, durable.failed) == (3, 1)
    crash(durable)
    again = opened(path)
    assert (again.sequence, again.failed) == (3, 1)
    same(again.model, durable.model)
    again.close()


# --- failures of the disk -----------------------------------------------------------------------------------------


def failing(call, at):
    calls = iter(range(1, 1000))

    def fails(*args):
        if next(calls) == at:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return call(*args)

    return fails


@pytest.mark.parametrize("name", ["pwrite", "fsync", "replace"])
@pytest.mark.parametrize("at", [1, 2, 3, 4, 6, 9])
def test_where_the_disk_is_full_for_a_moment_only_what_was_not_acknowledged_is_missing(tmp_path, monkeypatch, name, at):
    path = model_file(tmp_path)
    durable = opened(path, snapshot_rows=4, segment_bytes=100)
    monkeypatch.setattr(os, name, failing(getattr(os, name), at))
    kept = []
    for lesson in lessons_of([2] * 8):
        try:
            number = learn(durable, *lesson)
        except JournalError as error:
            text = str(error)
            assert "No space left" in text
        else:
            kept.append(lesson)
            assert number == len(kept)
    assert len(kept) >= 7
    with durable._snapshot_lock:
        monkeypatch.undo()
    crash(durable)
    durable = opened(path)
    same(durable.model, twin(path, kept))
    durable.close()
    assert not list(current(path).glob(".*.tmp"))


def test_a_damaged_snapshot_is_set_aside_and_the_one_before_it_and_the_log_are_used(tmp_path, caplog):
    path = model_file(tmp_path)
    durable, lessons = opened(path, segment_bytes=1), lessons_of([3, 3, 3, 3])
    for k, lesson in enumerate(lessons):
        learn(durable, *lesson)
        if k in (0, 2):
            durable.snapshot()
    crash(durable)
    assert snapshots(path) == [1, 3]
    newest = current(path) / f"snapshot-{3:020d}.tanager"
    os.truncate(newest, 1000)
    durable = opened(path)
    assert "is set aside" in caplog.text
    assert durable.status()["replayed"] == 3
    same(durable.model, twin(path, lessons))
    assert newest.with_name(newest.name + ".damaged").exists()
    durable.close()


def test_a_model_file_that_cannot_be_loaded_leaves_no_state_behind(tmp_path):
    path = tmp_path / "cut.tanager"
    path.write_bytes(model_file(tmp_path).read_bytes()[:1000])
    with pytest.raises(ModelFileError):
        DurableModel(path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["cut.tanager", "model.tanager"]


def test_without_any_good_snapshot_the_state_is_refused_and_left_as_it_is(tmp_path):
    path = model_file(tmp_path)
    opened(path).close()
    os.truncate(current(path) / f"snapshot-{0:020d}.tanager", 10)
    with pytest.raises(JournalError, match="no snapshot that can be read"):
        opened(path)


@pytest.mark.parametrize("content", [b"", b'{"format": "tan', b"[]", b'{"model": 3}', b"\xff"])
def test_a_cut_manifest_is_refused_and_deleting_it_is_the_way_out(tmp_path, content):
    path = model_file(tmp_path)
    durable = opened(path)
    learn(durable, *rows_and_labels(3, seed=1))
    crash(durable)
    manifest = current(path) / "manifest.json"
    manifest.write_bytes(content)
    with pytest.raises(JournalError, match=r"manifest.json.*is damaged.*or delete it"):
        opened(path)
    manifest.unlink()
    durable = opened(path)
    assert durable.sequence == 1
    assert json.loads(manifest.read_text())["model"]["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    durable.close()


@given(data=st.data())
def test_no_changed_byte_of_a_manifest_goes_unnoticed(tmp_path_factory, data):
    """A changed digest would look like a new model file, and what was learned would be retired."""
    path = model_file(tmp_path_factory.mktemp("served"))
    opened(path).close()
    manifest = current(path) / "manifest.json"
    content = bytearray(manifest.read_bytes())
    content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    manifest.write_bytes(content)
    with pytest.raises(JournalError, match=r"manifest.json.*(is damaged|newer tanager)"):
        opened(path)


def test_a_manifest_of_a_newer_version_is_not_called_damaged(tmp_path):
    path = model_file(tmp_path)
    opened(path).close()
    manifest = current(path) / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"version": 3', '"version": 4'))
    with pytest.raises(JournalError, match=r"newer tanager .format 4, this one reads up to 3.. Upgrade"):
        opened(path)


@pytest.mark.parametrize("version", [1, 2])
def test_a_state_folder_of_an_earlier_version_goes_on_and_becomes_one_of_this_version(tmp_path, caplog, version):
    """Eight entries of two rows and a snapshot after four, then kill -9. Version 1 has no watermark and no checksum."""
    with zipfile.ZipFile(Path(__file__).parent / f"state_version_{version}.zip") as archive:
        archive.extractall(tmp_path)
    path = tmp_path / "model.tanager"
    durable = opened(path, segment_bytes=150)
    assert (durable.sequence, durable.replayed, durable.model.counts_.n_rows) == (8, 4, 43)
    assert f"earlier version (format {version}) and is now of format 3: 8 entries" in caplog.text
    assert learn(durable, [{"colour": "red", "size": 0.4}], ["no"]) == 9
    crash(durable)
    caplog.clear()
    durable = opened(path)
    assert (durable.sequence, durable.model.counts_.n_rows) == (9, 44)
    assert "earlier version" not in caplog.text
    durable.close()
    assert not list(durable.folder.glob("retired-*"))
    assert json.loads((current(path) / "manifest.json").read_text())["version"] == 3


def test_a_state_of_version_2_that_lost_its_end_is_refused_until_the_loss_is_accepted(tmp_path):
    with zipfile.ZipFile(Path(__file__).parent / "state_version_2.zip") as archive:
        archive.extractall(tmp_path)
    path = tmp_path / "model.tanager"
    logs(path)[-1].unlink()
    with pytest.raises(JournalError, match=r"entries up to 8 were synced.*--accept-loss"):
        opened(path)
    durable = opened(path, accept_loss=True)
    assert (durable.sequence, durable.model.counts_.n_rows) == (6, 39)
    durable.close()


def test_a_damaged_log_is_refused_until_the_loss_is_accepted_and_what_is_lost_is_counted_and_kept(tmp_path, caplog):
    path = model_file(tmp_path)
    durable, lessons = opened(path), lessons_of([2, 2, 2, 2])
    learn(durable, *lessons[0])
    durable.snapshot()
    for lesson in lessons[1:]:
        learn(durable, *lesson)
    crash(durable)
    good = logs(path)[0].read_bytes()
    third = [at for at in range(len(good)) if good.startswith(MARK, at)][2]
    logs(path)[0].write_bytes(good[: third + 30] + b"?" + good[third + 31 :])
    with pytest.raises(JournalError, match=r"damaged at byte \d+, where entry 3 .*tanager check .*--accept-loss"):
        opened(path)
    durable = opened(path, accept_loss=True)
    assert "2 entries after entry 2 are left out" in caplog.text
    same(durable.model, twin(path, lessons[:2]))
    (lost,) = durable.folder.glob("lost-*")
    assert (lost / logs(path)[0].name).stat().st_size == len(good)
    assert learn(durable, *lessons[3]) == 3
    crash(durable)
    durable = opened(path)
    same(durable.model, twin(path, [*lessons[:2], lessons[3]]))
    durable.close()


@pytest.mark.parametrize("lost", ["all", "end"])
@pytest.mark.parametrize("crashed", [True, False])
def test_a_log_that_lost_its_end_is_refused(tmp_path, lost, crashed):
    path = model_file(tmp_path)
    durable = opened(path, segment_bytes=1)
    for lesson in lessons_of([2, 2, 2]):
        learn(durable, *lesson)
    (crash if crashed else DurableModel.close)(durable)
    for log in logs(path)[0 if lost == "all" else -1 :]:
        log.unlink()
    with pytest.raises(JournalError, match=r"(no log|entries up to 3 were synced).*--accept-loss"):
        opened(path)
    durable = opened(path, accept_loss=True)
    kept = 3 if not crashed else 0 if lost == "all" else 2  # a snapshot is written when it is closed
    same(durable.model, twin(path, lessons_of([2, 2, 2])[:kept]))
    assert learn(durable, *lessons_of([2])[0]) == kept + 1
    durable.close()
    opened(path).close()


def test_a_log_that_was_cut_before_the_newest_snapshot_is_refused(tmp_path):
    path = model_file(tmp_path)
    durable = opened(path)
    learn(durable, *FIRST)
    durable.close()
    os.truncate(logs(path)[0], 20)
    write_mark(current(path), 0)
    with pytest.raises(
        JournalError, match=r"ends with entry 0, and a snapshot holds 1: a segment is missing or was cut"
    ):
        opened(path)


# --- what is said, and what is no part of a state -------------------------------------------------------------------


def test_stray_files_in_a_state_are_named_and_not_read(tmp_path, caplog):
    path = model_file(tmp_path)
    durable = opened(path)
    learn(durable, [GOOD], ["yes"])
    durable.close()
    names = [
        "notes.log",
        "1.log",
        "snapshot-old.tanager",
        "snapshot-.tanager",
        "keys-1.bin",
        "00000000000000000002.log~",
    ]
    for name in names:
        (current(path) / name).write_bytes(b"?")
    durable = opened(path)
    assert "holds 6 files that are no part of it and are not read: 00000000000000000002.log~, 1.log" in caplog.text
    assert durable.sequence == 1
    durable.snapshot()
    durable.close()
    assert {name for name in names if (current(path) / name).exists()} == set(names)


def test_what_a_start_repairs_is_logged_with_its_size(tmp_path, caplog):
    path = model_file(tmp_path)
    durable = opened(path)
    for lesson in lessons_of([3, 4]):
        learn(durable, *lesson)
    crash(durable)
    with open(logs(path)[0], "ab") as file:
        file.write(b"torn")
    opened(path).close()
    assert "4 bytes behind entry 2 were cut off, of entries that were not acknowledged" in caplog.text
    assert (
        "was not closed: 2 entries (7 rows) of the log after the snapshot of entry 0 were learned again" in caplog.text
    )
    caplog.clear()
    opened(path).close()
    assert not caplog.text


def test_a_new_model_file_is_logged_with_what_was_learned_on_the_old(tmp_path, caplog):
    path = model_file(tmp_path)
    durable = opened(path)
    learn(durable, *rows_and_labels(7, seed=1))
    save(NaiveBayes().fit(*FIRST), path)
    durable.reload()
    durable.close()
    (retired,) = durable.folder.glob("retired-*")
    assert f"The old model, of 67 rows with 1 entries that were learned here, is kept in {retired}." in caplog.text


# --- keys -----------------------------------------------------------------------------------------------------------

KEY = request_key("order-17", b"GOOD, yes")


def test_a_request_that_is_sent_again_under_its_key_is_learned_once_also_after_a_crash_and_a_restart(tmp_path):
    path = model_file(tmp_path)
    durable = opened(path)
    assert learn(durable, [GOOD], ["yes"], None, None, KEY) == 1
    assert learn(durable, [GOOD], ["yes"], None, None, KEY) == 1
    crash(durable)
    durable = opened(path)  # the key is in the log
    assert learn(durable, [GOOD], ["yes"], None, None, KEY) == 1
    durable.close()
    durable = opened(path)  # it is beside the snapshot
    assert durable.replayed == 0
    assert learn(durable, [GOOD], ["yes"], None, None, KEY) == 1
    assert learn(durable, [GOOD], ["yes"]) == 2
    assert durable.model.counts_.n_rows == 62
    save(NaiveBayes().fit(*FIRST), path)
    durable.reload()  # it was learned, by the old model
    learn(durable, [GOOD], ["yes"], None, None, KEY)
    assert durable.model.counts_.n_rows == 60
    durable.close()


def test_requests_with_one_key_that_come_together_are_learned_once(tmp_path):
    durable = opened(model_file(tmp_path), sync_every=0.01)

    async def together():
        return await asyncio.gather(*(durable.learn([GOOD], ["yes"], key=KEY) for _ in range(9)))

    assert asyncio.run(together()) == [1] * 9
    assert durable.model.counts_.n_rows == 61
    durable.close()


def test_a_key_that_comes_back_with_another_request_is_refused(tmp_path):
    durable = opened(model_file(tmp_path))
    learn(durable, [GOOD], ["yes"], None, None, KEY)
    with pytest.raises(KeyReused, match=r"for other content .entry 1.*under a new key"):
        learn(durable, [GOOD], ["no"], None, None, request_key("order-17", b"GOOD, no"))
    durable.close()


def test_what_failed_is_not_remembered_under_its_key(tmp_path, monkeypatch):
    durable = opened(model_file(tmp_path))
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", failing(os.pwrite, 1))
        with pytest.raises(JournalError, match="No space"):
            learn(durable, [GOOD], ["yes"], None, None, KEY)
    assert learn(durable, [GOOD], ["yes"], None, None, KEY) == 1
    durable.close()
    assert durable.model.counts_.n_rows == 61


def test_the_oldest_keys_are_forgotten():
    keys = LearnedKeys(window=3)
    several = [request_key(str(n), b"") for n in range(5)]
    for n, key in enumerate(several):
        keys.add(key, n + 1, 10)
    assert [keys.find(key) is not None for key in several] == [False, False, True, True, True]


@given(
    st.dictionaries(st.text(max_size=5), st.tuples(st.binary(max_size=9), st.binary(max_size=4)), max_size=5), st.data()
)
def test_keys_come_back_from_their_file_and_no_changed_byte_goes_unnoticed(given_keys, data):
    keys = LearnedKeys()
    for n, (name, (request, unknown)) in enumerate(given_keys.items()):
        keys.add(msgspec.structs.replace(request_key(name, request), unknown=unknown), n + 1, n)
    content = bytearray(keys_to_bytes(keys.copy()))
    assert keys_from_bytes(content, "it").copy() == keys.copy()
    content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    with pytest.raises(JournalError, match=r"it (is damaged|was written by a newer tanager)"):
        keys_from_bytes(content, "it")


@pytest.mark.parametrize("how", ["cut", "deleted"])
def test_where_the_keys_of_the_newest_snapshot_are_lost_those_of_the_one_before_and_the_log_are_used(
    tmp_path, how, caplog
):
    path = model_file(tmp_path)
    durable = opened(path)
    learn(durable, [GOOD], ["yes"], None, None, KEY)
    durable.close()
    keys = max(current(path).glob("keys-*"))
    keys.unlink() if how == "deleted" else os.truncate(keys, 10)
    durable = opened(path)
    assert "The snapshot of entry 1 is set aside" in caplog.text
    assert learn(durable, [GOOD], ["yes"], None, None, KEY) == 1
    durable.close()
    for keys in current(path).glob("keys-*"):
        os.truncate(keys, 10)
    with pytest.raises(JournalError, match="no snapshot that can be read"):
        opened(path)
    durable = opened(path, accept_loss=True)
    assert durable.model.counts_.n_rows == 61
    assert "that are sent again will be learned again" in caplog.text
    durable.close()
    opened(path).close()


# --- snapshots and the model file ---------------------------------------------------------------------------------


def test_snapshots_come_by_themselves_two_are_kept_and_the_log_before_them_goes(tmp_path):
    path = model_file(tmp_path)
    durable = opened(path, snapshot_rows=10, segment_bytes=200)
    for lesson in lessons_of([5] * 12):
        learn(durable, *lesson)
    wait_for(lambda: all(thread.name != "snapshot" for thread in threading.enumerate()))
    status = durable.status()
    assert len(snapshots(path)) == 2
    assert status["snapshot_sequence"] == snapshots(path)[-1] >= 8
    assert status["rows_since_snapshot"] == 5 * (12 - status["snapshot_sequence"])
    assert int(logs(path)[0].stem) > 1
    before = path.read_bytes()
    durable.close()
    assert snapshots(path)[-1] == 12
    assert path.read_bytes() == before


def test_a_snapshot_too_many_that_a_crash_has_left_goes_when_the_state_is_opened(tmp_path):
    path = model_file(tmp_path)
    durable = opened(path)
    for lesson in lessons_of([5] * 2):
        learn(durable, *lesson)
        durable.snapshot()
    first = min(current(path).glob("snapshot-*"))
    first.with_name(first.name.replace("1", "0")).write_bytes(path.read_bytes())
    durable.close()
    assert snapshots(path) == [0, 1, 2]
    opened(path).close()
    assert snapshots(path) == [1, 2]


def test_answers_get_their_turn_while_many_rows_are_learned(tmp_path):
    durable = opened(model_file(tmp_path))
    turns = []

    async def ask_meanwhile():
        learning = asyncio.ensure_future(durable.learn(*rows_and_labels(20 * log_entries.SLICE_ROWS, seed=5)))
        while not learning.done():
            with durable.lock:
                turns.append(durable.model.counts_.n_rows)
            await asyncio.sleep(0)
        await learning

    asyncio.run(ask_meanwhile())
    assert len(set(turns)) > 5
    durable.close()


def test_a_snapshot_never_holds_a_part_of_an_entry(tmp_path):
    durable = opened(model_file(tmp_path))
    n = 20 * log_entries.SLICE_ROWS

    async def snapshot_meanwhile():
        learning = asyncio.ensure_future(durable.learn(*rows_and_labels(n, seed=5)))
        while durable.model.counts_.n_rows == 60:
            await asyncio.sleep(0)
        path = await asyncio.to_thread(durable.snapshot)
        await learning
        return path

    assert load(asyncio.run(snapshot_meanwhile())).counts_.n_rows == 60 + n
    durable.close()


def test_only_one_process_learns_into_a_folder(tmp_path):
    path = model_file(tmp_path)
    durable = opened(path)
    with pytest.raises(JournalError, match="in use by process"):
        opened(path)
    durable.close()
    durable.close()
    with pytest.raises(JournalError, match="closed and does not learn any more"):
        learn(durable, *FIRST)


class Held:
    """The clock of the thread that writes: its sleep ends when the test says so."""

    def __init__(self):
        self.reached, self.go_on = threading.Event(), threading.Event()

    def __getattr__(self, name):
        return getattr(time, name)

    def sleep(self, seconds):
        self.reached.set()
        assert self.go_on.wait(PATIENCE)


@pytest.fixture
def written(monkeypatch):
    held = Held()
    monkeypatch.setattr("tanager.service.durable.time", held)
    yield held
    held.go_on.set()


def test_a_learner_that_goes_away_in_time_leaves_nothing_behind(tmp_path, written):
    path = model_file(tmp_path)
    durable = opened(path, sync_every=1.0)

    async def go_away():
        first = asyncio.ensure_future(durable.learn([GOOD], ["yes"]))
        second = asyncio.ensure_future(durable.learn([GOOD], ["no"]))
        await asyncio.to_thread(written.reached.wait, PATIENCE)
        first.cancel()
        await asyncio.sleep(0)  # the cancelled one hears of it
        written.go_on.set()
        assert await second == 1

    asyncio.run(go_away())
    durable.close()
    same(durable.model, twin(path, [([GOOD], ["no"])]))


def test_a_disk_that_is_full_at_the_end_costs_the_snapshot_and_nothing_else(tmp_path, monkeypatch, caplog):
    path = model_file(tmp_path)
    durable, lesson = opened(path), rows_and_labels(7, seed=1)
    learn(durable, *lesson)
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", failing(os.replace, 1))
        durable.close()
    assert "Nothing is lost" in caplog.text
    durable = opened(path)
    assert durable.status()["replayed"] == 1
    same(durable.model, twin(path, [lesson]))
    durable.close()


def test_a_missing_model_file_is_told_as_anywhere_else(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no model file .*nowhere.tanager"):
        DurableModel(tmp_path / "nowhere.tanager")
    assert not list(tmp_path.iterdir())


def test_a_replaced_model_file_is_taken_over_and_what_was_learned_is_retired(tmp_path):
    path = model_file(tmp_path)
    durable, lesson = opened(path), rows_and_labels(7, seed=1)
    learn(durable, *lesson)
    old = durable.model
    assert not durable.changed()
    os.utime(path, (1, 1))
    assert not durable.changed()  # only touched
    durable.reload()
    assert durable.sequence == 1
    save(NaiveBayes().fit(*FIRST), path)
    assert durable.changed()
    durable.reload()
    assert not durable.changed()
    assert (type(durable.model), durable.sequence) == (NaiveBayes, 0)
    (retired,) = durable.folder.glob("retired-*")
    same(load(retired / f"snapshot-{1:020d}.tanager"), old)
    assert learn(durable, *lesson) == 1
    crash(durable)
    durable = opened(path)
    same(durable.model, twin(path, [lesson]))
    durable.close()


@pytest.mark.parametrize("running", [True, False])
def test_a_replaced_model_file_that_cannot_be_loaded_is_refused_and_the_old_goes_on(tmp_path, running, caplog):
    path = model_file(tmp_path)
    good, lesson = path.read_bytes(), rows_and_labels(7, seed=1)
    durable = opened(path)
    learn(durable, *lesson)
    if running:
        path.write_bytes(good[:500])
        assert durable.changed()
        with pytest.raises(ModelFileError):
            durable.reload()
        assert not durable.changed()  # the same bad file is not brought up again
    else:
        crash(durable)
        path.write_bytes(good[:500])
        durable = opened(path)
        assert "was not loaded" in caplog.text
    assert learn(durable, *lesson) == 2
    durable.close()
    path.write_bytes(good)
    durable = opened(path)
    same(durable.model, twin(path, [lesson, lesson]))
    assert not list(durable.folder.glob("retired-*"))
    durable.close()


def test_a_model_file_replaced_while_nobody_served_it_retires_the_state_with_a_final_snapshot(tmp_path):
    path = model_file(tmp_path)
    durable, lesson = opened(path), rows_and_labels(7, seed=1)
    learn(durable, *lesson)
    crash(durable)
    save(NaiveBayes().fit(*FIRST), path)
    again = opened(path)
    assert (type(again.model), again.sequence) == (NaiveBayes, 0)
    (retired,) = again.folder.glob("retired-*")
    same(load(retired / f"snapshot-{1:020d}.tanager"), durable.model)
    again.close()


@pytest.mark.parametrize("at", [1, 2])
def test_where_the_switch_to_a_new_file_fails_the_old_goes_on(tmp_path, monkeypatch, at):
    path = model_file(tmp_path)
    durable, lesson = opened(path), rows_and_labels(7, seed=1)
    learn(durable, *lesson)
    old = path.read_bytes()
    save(NaiveBayes().fit(*FIRST), path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", failing(os.rename, at))
        with pytest.raises(OSError, match="No space"):
            durable.reload()
    assert learn(durable, *lesson) == 2
    durable.close()
    path.write_bytes(old)
    same(durable.model, twin(path, [lesson, lesson]))


def test_a_crash_between_the_two_renames_of_a_switch_begins_with_the_new_file(tmp_path, monkeypatch):
    path = model_file(tmp_path)
    durable = opened(path)
    learn(durable, *FIRST)
    save(NaiveBayes().fit(*FIRST), path)
    current(path).rename(durable.folder / "retired-by-hand")
    (durable.folder / "new").mkdir()
    crash(durable)
    durable = opened(path)
    assert (type(durable.model), durable.sequence) == (NaiveBayes, 0)
    assert not (durable.folder / "new").exists()
    durable.close()


def test_entries_that_wait_while_the_file_is_replaced_are_checked_against_the_new_model(tmp_path, written):
    path = model_file(tmp_path)
    durable = opened(path, sync_every=1.0)
    other = [{"weight": 1.0}, {"weight": 2.0}]
    save(NaiveBayes().fit(other * 10, ["yes", "no"] * 10), path)

    async def learn_and_reload():
        waiting = asyncio.ensure_future(durable.learn([GOOD], ["yes"]))
        await asyncio.to_thread(written.reached.wait, PATIENCE)
        durable.reload()
        written.go_on.set()
        with pytest.raises(SchemaMismatch, match="'colour'"):
            await waiting

    asyncio.run(learn_and_reload())
    assert durable.sequence == 0
    durable.close()
