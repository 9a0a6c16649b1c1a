"""kill -9 at any moment: rows that were acknowledged are learned once, the others once or not at all.

The server is the real one, over HTTP. Its processes are forked from one that has imported everything, since most of a
start is importing; one test starts the command itself.
"""

import http.client
import itertools
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress

import numpy as np
import pytest

from tanager import AODE, load, save
from tanager.service.check import check_state
from tanager.service.durable import DurableModel
from waiting import PATIENCE, wait_for

SIDE = 100  # rows are told apart by two columns of so many values
N_LEARNERS = 4
FORKS = """
import json, os, signal, sys
import tanager.cli.backup, tanager.cli.serve
import tanager.service.app, tanager.service.backup, tanager.service.durable, tanager.service.server, uvicorn.lifespan.on
from tanager import AODE
from tanager.cli.main import main
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
print("ready", flush=True)
for line in sys.stdin:
    words, log = json.loads(line)
    pid = os.fork()
    if pid == 0:
        out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(out, 1), os.dup2(out, 2)
        sys.argv = ["tanager", *words]
        main()
        os._exit(0)
    print(pid, flush=True)
"""


def base(times):
    """A model that knows all values, from rows that no learner sends."""
    rows = [{"tens": f"t{n}", "ones": f"o{n}"} for n in range(SIDE)]
    return AODE().fit(rows * 2 * times, ["yes", "no"] * SIDE * times)


def row(n):
    return {"tens": f"t{n // SIDE}", "ones": f"o{n % SIDE}"}


def table_of(model):
    """How often every row is in a model; those it began with do not matter."""
    table = model.counts_.joint("tens", "ones").sum(axis=0)
    np.fill_diagonal(table, 0)
    return table.ravel()


class Forks:
    """Starts servers quickly."""

    def __init__(self):
        words = [sys.executable, *(["-S"] if sys.flags.no_site else []), "-c", FORKS]  # as we are: see `make sanitized`
        self.process = subprocess.Popen(words, stdin=-1, stdout=-1, text=True)
        assert self.process.stdout.readline() == "ready\n"

    def start(self, words, log):
        self.process.stdin.write(json.dumps([words, str(log)]) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def close(self):
        self.process.communicate()


@pytest.fixture(scope="module")
def forks():
    forks = Forks()
    yield forks
    forks.close()


def cold_start(words, log):
    with open(log, "a") as out:
        code = "from tanager.cli.main import main; main()"
        return os.posix_spawn(
            sys.executable,
            [sys.executable, "-c", code, *words],
            os.environ,
            file_actions=[(os.POSIX_SPAWN_DUP2, out.fileno(), fd) for fd in (1, 2)],
        )


def has_ended(pid):
    with suppress(ChildProcessError):
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


class Trial:
    """A model file that is served, killed, and served again."""

    def __init__(self, folder, start, seed):
        self.folder, self.start, self.draw = folder, start, random.Random(seed)
        self.path = folder / "model.tanager"
        self.n_lives = self.n_files = self.n_kills = self.n_answers = self.n_copies = 0
        self.replace_model_file()
        ids = [n for n in range(SIDE * SIDE) if n // SIDE != n % SIDE]
        self.draw.shuffle(ids)
        self.ids = iter(ids)
        self.acknowledged, self.unanswered, self.refused = [], [], []
        self.to_repeat = []  # requests with keys that were not answered
        self.copies = {}  # folders that were backed up to, and what was acknowledged before

    def replace_model_file(self):
        self.n_files += 1
        save(base(self.n_files), self.path)

    def begin(self, patience):
        """Start the server; says whether it was ready before patience ran out."""
        self.log, self.dead, self.n_lives = self.folder / f"log-{self.n_lives}", False, self.n_lives + 1
        self.log.touch()
        self.pid = self.start(["serve", str(self.path), "--port", "0", "--snapshot-rows", "40"], self.log)
        until = time.monotonic() + patience
        while time.monotonic() < until:
            said = re.search(r"serving at http://127.0.0.1:(\d+)", self.log.read_text())
            if said:
                self.port = int(said[1])
                return True
            time.sleep(0.005)
        return False

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)  # where it has ended by itself, that is a fault
        while not has_ended(self.pid):
            time.sleep(0.002)
        self.dead, self.n_kills = True, self.n_kills + 1
        self.check_state()

    def check_state(self):
        """What ``tanager check`` says of what a killed process has left: nothing is damaged, nothing lost."""
        folder = self.folder / "model.tanager.state"
        if (folder / "current").is_dir():
            found = check_state(folder)
            assert (found.damaged, found.lost) == ([], 0)

    def back_up(self):
        """Start ``tanager backup``, beside what else is going on."""
        target = self.folder / f"copy-{len(self.copies)}"
        self.copies[target] = list(self.acknowledged)
        return self.start(["backup", str(self.path), str(target)], target.with_suffix(".log"))

    def end_backup(self, pid):
        """Kill it, or let it be done."""
        if self.draw.random() < 0.5:
            time.sleep(self.draw.uniform(0, 0.02))
            with suppress(ProcessLookupError):  # it may be done
                os.kill(pid, signal.SIGKILL)
                self.n_kills += 1
        wait_for(lambda: has_ended(pid))

    def post(self, connection, path, body, key=None):
        headers = {"content-type": "application/json"} | ({"idempotency-key": key} if key else {})
        connection.request("POST", path, json.dumps(body), headers)
        answer = connection.getresponse()
        return answer.status, answer.read()

    def learn_until_dead(self, seed):
        """One learner: sends rows, and notes what became of them."""
        draw = random.Random(seed)
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        while not self.dead:
            some, body, key = self.to_repeat.pop() if self.to_repeat else self.new_request(draw)
            if not some:  # all rows are sent
                break
            try:
                status, said = self.post(connection, "/learn", body, key)
            except (OSError, http.client.HTTPException):
                if key:
                    self.to_repeat.append((some, body, key))
                else:
                    self.unanswered += some
                break
            self.n_answers += 1  # learners may overwrite each other's; it only says when to kill
            if status == 200:
                self.acknowledged += some
            else:
                self.refused.append(said)
        connection.close()

    def new_request(self, draw):
        some = list(itertools.islice(self.ids, draw.choice([1, 1, 1, 2, 5, 20, 70])))
        body = {"rows": [row(n) for n in some], "labels": [draw.choice(["yes", "no"]) for _ in some]}
        return some, body, f"from {some[0]}".replace(" ", "-") if some and draw.random() < 0.5 else None

    def reload(self):
        """Tell the server to take over a new file; it may be killed meanwhile."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        with suppress(OSError, http.client.HTTPException):
            self.post(connection, "/models/model/reload", {})
        connection.close()

    def under_load(self, n_answers, *, reload=False, backup=False):
        """Let learners loose, kill the server after so many answers and a moment, and wait for them."""
        work = [threading.Thread(target=self.learn_until_dead, args=(self.draw.random(),)) for _ in range(N_LEARNERS)]
        if reload:
            self.replace_model_file()
            work.append(threading.Thread(target=self.reload))
        for thread in work:
            thread.start()
        before = self.n_answers
        wait_for(lambda: self.n_answers >= before + n_answers)
        copying = self.back_up() if backup else None
        time.sleep(self.draw.uniform(0, 0.01))
        self.kill()
        if copying is not None:
            self.end_backup(copying)
        for thread in work:
            thread.join()

    def check(self):
        """Open all that is left, and count."""
        assert not self.refused
        assert all("Traceback" not in log.read_text() for log in self.folder.glob("log-*"))
        durable = DurableModel(self.path)
        durable.close()
        times = table_of(durable.model)
        for retired in durable.folder.glob("retired-*"):
            times += table_of(load(max(retired.glob("snapshot-*.tanager"))))
        expected = np.zeros(SIDE * SIDE)
        expected[self.acknowledged] = 1
        may_be = np.zeros(SIDE * SIDE)
        may_be[[*self.unanswered, *(n for some, _, _ in self.to_repeat for n in some)]] = 1
        lost, twice = np.flatnonzero(times < expected), np.flatnonzero(times > expected + may_be)
        assert (lost.tolist(), twice.tolist()) == ([], [])
        self.check_files(durable.folder)
        retired = sum(
            (table_of(load(max(folder.glob("snapshot-*.tanager")))) for folder in durable.folder.glob("retired-*")),
            start=np.zeros(SIDE * SIDE),
        )
        for copy, before in self.copies.items():
            self.check_copy(copy, before, retired)

    def check_copy(self, copy, before, retired):
        """A copy that was made has all that was acknowledged before, but for what was retired by then."""
        said = copy.with_suffix(".log").read_text()
        assert "Traceback" not in said
        if "copied to" not in said.replace("\n", " "):
            return  # it was killed
        durable = DurableModel(copy / "model.tanager")
        durable.close()
        times = table_of(durable.model)
        assert times.max() <= 1
        assert (times + retired)[before].all()
        self.n_copies += 1

    def check_files(self, folder):
        """Nothing is damaged, and nothing piles up."""
        for path in folder.rglob("snapshot-*"):
            load(path)
        assert {path.name for path in folder.iterdir() if "retired" not in path.name} == {"lock", "current"}
        kinds = [path.suffix for path in (folder / "current").iterdir()]
        assert (kinds.count(".tanager"), kinds.count(".bin"), kinds.count(".json"), kinds.count("")) == (2, 2, 1, 2)
        assert len(kinds) == 7 + kinds.count(".log")


def live_and_die(trial, n_kills):
    """So many lives: ended at the start, under load while snapshots are written, and around reloads."""
    for life in range(n_kills):
        kind = ["load", "start", "load", "reload"][life % 4]
        if not trial.begin(trial.draw.uniform(0, 0.2) if kind == "start" else PATIENCE):
            trial.kill()
        else:
            trial.under_load(trial.draw.randint(0, 40), reload=kind == "reload", backup=life % 3 == 2)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 5))])
def test_what_was_acknowledged_is_learned_once_however_often_the_server_is_killed(tmp_path, forks, seed):
    trial = Trial(tmp_path, forks.start, seed)
    live_and_die(trial, 11)
    assert trial.n_kills >= 11
    assert len(trial.acknowledged) > 50
    trial.check()


@pytest.mark.long
def test_the_command_itself_can_be_killed_as_well(tmp_path):
    trial = Trial(tmp_path, cold_start, 0)
    for _ in range(2):
        assert trial.begin(PATIENCE)
        trial.under_load(20)
    trial.check()
