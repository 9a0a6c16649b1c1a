"""``tanager check`` and ``tanager backup``: what is there, what is damaged, and a copy while a service learns."""

import asyncio
import json
import threading

import pytest
from click.testing import CliRunner
from crashes import crash
from serving import LABELS, ROWS, write_model

from tanager.cli.main import main
from tanager.service.durable import DurableModel
from tanager.service.state_folder import KEPT_SNAPSHOTS, reading


def run(*words):
    """Exit code and output."""
    done = CliRunner().invoke(main, [str(word) for word in words])
    return done.exit_code, done.output


def learn(durable, n):
    for k in range(n):
        asyncio.run(durable.learn([ROWS[k % 4]], [LABELS[k % 4]]))


@pytest.fixture
def served(tmp_path):
    """A model file with 40 rows; 5 entries, a snapshot after the third, and a crash."""
    path = write_model(tmp_path / "pets.tanager")
    durable = DurableModel(path, sync_every=0.0, segment_bytes=1)
    learn(durable, 3)
    durable.snapshot()
    learn(durable, 2)
    crash(durable)
    return path


def parts(path):
    code, said = run("check", path, "--json")
    found = json.loads(said)
    assert code == int(found["damaged"] or found.get("lost", 0) > 0)
    return found, {part["name"] for part in found["parts"] if part["damaged"]}


def current(path):
    return path.with_name(f"{path.name}.state") / "current"


def test_a_good_state_is_said_to_be_good_with_its_rows(served):
    found, damaged = parts(served)
    assert (found["entries"], found["rows"], found["lost"], found["in_use"], damaged) == (5, 45, 0, False, set())
    again, _ = parts(current(served).parent)
    assert again["rows"] == 45
    code, said = run("check", served)
    assert (code, said.splitlines()[-1]) == (0, "5 entries learned on top of the model file, 45 rows in all")


@pytest.mark.parametrize("pattern", ["*.log", "snapshot-*", "keys-*", "manifest.json", "synced"])
@pytest.mark.parametrize("how", ["change", "cut", "delete"])
def test_no_damage_goes_unnoticed(served, pattern, how):
    """Every file of a state has a checksum."""
    for path in sorted(current(served).glob(pattern)):
        good = path.read_bytes()
        if how == "delete":
            path.unlink()
        else:
            path.write_bytes(good[: len(good) // 2] if how == "cut" else good[:3] + bytes([good[3] ^ 1]) + good[4:])
        found, damaged = parts(served)
        needless = pattern in ("snapshot-*", "keys-*") and how == "delete" and "snapshot" in path.name
        assert bool(damaged) or needless, (path.name, found)
        path.write_bytes(good)
    assert parts(served)[1] == set()


def test_a_lost_end_is_counted(served):
    max(current(served).glob("*.log")).unlink()
    found, damaged = parts(served)
    assert (found["entries"], found["rows"], found["lost"], damaged) == (4, 44, 1, {"log"})


def test_strays_and_a_torn_end_are_no_damage(served):
    (current(served) / "notes.txt").write_text("?")
    with open(max(current(served).glob("*.log")), "ab") as file:
        file.write(b"torn")
    found, damaged = parts(served)
    assert (found["rows"], damaged) == (45, set())
    assert "notes.txt" in {part["name"] for part in found["parts"]}


def test_a_model_file_without_a_state_and_what_is_no_state(served, tmp_path):
    other = write_model(tmp_path / "other.tanager")
    assert parts(other)[0]["parts"][0]["rows"] == 40
    other.write_bytes(other.read_bytes()[:-100])
    assert parts(other)[1] == {"other.tanager"}
    code, said = run("check", tmp_path)
    assert (code, "is not the state of a model" in said) == (2, True)
    assert run("check", tmp_path / "nothing")[0] == 2


def test_a_state_in_use_can_be_checked_and_copied_while_it_learns(served, tmp_path):
    durable = DurableModel(served, sync_every=0.0, segment_bytes=300, snapshot_rows=20)
    stop = threading.Event()

    def go_on():
        while not stop.is_set():
            learn(durable, 5)

    learning = threading.Thread(target=go_on)
    learning.start()
    try:
        for n in range(5):
            before = durable.sequence
            assert parts(served)[0]["in_use"]
            code, said = run("backup", served, tmp_path / f"copy-{n}", "--json")
            found = json.loads(said)
            assert (code, found["damaged"], found["lost"]) == (0, False, 0)
            assert found["entries"] >= before
            copy = DurableModel(tmp_path / f"copy-{n}" / "pets.tanager")
            assert copy.sequence == found["entries"] == found["rows"] - 40
            copy.close()
    finally:
        stop.set()
        learning.join()
        durable.close()


def test_nothing_is_removed_while_somebody_reads(served):
    durable = DurableModel(served, sync_every=0.0, segment_bytes=1)

    def files():
        return sorted(path.name for path in current(served).iterdir())

    def learn_and_snapshot():
        learn(durable, 1)
        durable.snapshot()

    try:
        with reading(current(served)), reading(current(served)):
            before = files()
            for _ in range(3):
                learn_and_snapshot()
            assert set(before) < set(files())
            assert sum(name.startswith("snapshot-") for name in files()) > KEPT_SNAPSHOTS
        learn_and_snapshot()
        assert sum(name.startswith("snapshot-") for name in files()) == KEPT_SNAPSHOTS
        assert not set(before) & {name for name in files() if name.endswith(".log")}
        assert parts(served)[1] == set()
    finally:
        durable.close()


def test_a_backup_goes_to_a_new_folder(served, tmp_path):
    (tmp_path / "there").mkdir()
    code, said = run("backup", served, tmp_path / "there")
    assert (code, "Name a folder that does not exist yet" in said) == (2, True)


def test_a_snapshot_that_a_power_cut_has_brought_back_is_no_damage(served):
    first, oldest = sorted(current(served).glob("*.log"))[0], sorted(current(served).glob("snapshot-*"))[0]
    keys = oldest.with_name(oldest.name.replace("snapshot", "keys").replace(".tanager", ".bin"))
    kept = {path: path.read_bytes() for path in (oldest, keys)}
    durable = DurableModel(served, sync_every=0.0, segment_bytes=1)
    durable.snapshot()
    crash(durable)
    assert not first.exists()
    for path, data in kept.items():
        assert not path.exists()
        path.write_bytes(data)
    for _ in range(2):  # with its keys and without
        found, damaged = parts(served)
        assert (damaged, found["lost"], found["entries"]) == (set(), 0, 5)
        keys.unlink(missing_ok=True)
