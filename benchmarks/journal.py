"""The service's log against SQLite: what a commit costs, and what a crash or a changed byte does to each.

``python -m benchmarks.journal [folder]`` prints the tables; the folder says which disk is measured. ``SQLiteLog`` is
what the service would use in place of ``tanager.service.journal.Journal``: a row for every entry, and all that wait in
one transaction.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from unittest import mock

import numpy as np

from tanager import AODE
from tanager.errors import TanagerError
from tanager.service import durable, journal, state_folder
from tanager.service.journal import Journal

WRITERS = (1, 8, 64)
ROUNDS, SECONDS = 5, 1.0  # all ways take turns, since the disk has other users; medians are printed
ENTRY = (
    b"\x94\x91\x84\xa6colour\xa3red\xa4size\xcb?\xe0\x00\x00\x00\x00\x00\x00\xa1n\x01\xa4wild\xc3\x91\xa3yes\xc0\xc0"
)
N_DAMAGED = 60  # entries of a log that is damaged, each synced by itself
TRIALS = 150


class SQLiteLog:
    """Entries as rows of a database; the interface of ``Journal``. ``sync`` ends the transaction."""

    def __init__(self, folder: str | os.PathLike[str], mode: str = "WAL", synchronous: str = "FULL") -> None:
        self._base = sqlite3.connect(Path(folder) / "entries.log", isolation_level=None, check_same_thread=False)
        run = self._base.execute
        run("PRAGMA locking_mode = EXCLUSIVE")  # one process at a time, and no shared-memory file
        run(f"PRAGMA journal_mode = {mode}")
        run(f"PRAGMA synchronous = {synchronous}")
        run("CREATE TABLE IF NOT EXISTS entries (sequence INTEGER PRIMARY KEY, crc INTEGER, payload BLOB) STRICT")
        self.watermark_lags, self.damaged_slots, self.bytes_cut = False, 0, 0  # SQLite has its own ways
        self.last: int = run("SELECT max(sequence) FROM entries").fetchone()[0] or 0

    def append(self, payload: bytes) -> int:
        if not self._base.in_transaction:
            self._base.execute("BEGIN IMMEDIATE")
        self.last += 1
        # SQLite has no checksum over the pages of a database: a changed byte of a payload would be read back as it is.
        self._base.execute("INSERT INTO entries VALUES (?, ?, ?)", (self.last, zlib.crc32(payload), payload))
        return self.last

    def sync(self) -> None:
        if self._base.in_transaction:
            self._base.execute("COMMIT")

    def sync_watermark(self, older_than: float = 0.0) -> None:
        pass

    def replay(self, after: int = 0) -> Iterator[tuple[int, bytes]]:
        expected = after + 1
        rows = self._base.execute("SELECT * FROM entries WHERE sequence > ? ORDER BY sequence", (after,))
        for sequence, crc, payload in rows:
            if sequence != expected or crc != zlib.crc32(payload):
                raise sqlite3.DatabaseError(f"entry {expected} is damaged")
            yield sequence, payload
            expected += 1

    def drop(self, upto: int) -> None:
        self._base.execute("DELETE FROM entries WHERE sequence <= ?", (upto,))

    def close(self) -> None:
        self.sync()
        self._base.close()


class NotedSQLiteLog(SQLiteLog):
    """The same in WAL mode with a note of the last sync, as our log has it: a lost end of the WAL is noticed."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        super().__init__(folder)
        self._note = os.open(Path(folder) / "synced", os.O_RDWR | os.O_CREAT, 0o644)
        noted = os.pread(self._note, 12, 0)
        if len(noted) == 12 and zlib.crc32(noted[:8]) == int.from_bytes(noted[8:], "little"):
            expected = int.from_bytes(noted[:8], "little")
            if self.last < expected:
                super().close()
                raise sqlite3.DatabaseError(f"entries up to {expected} were synced, and {self.last} are there")

    def sync(self) -> None:
        super().sync()
        number = self.last.to_bytes(8, "little")
        os.pwrite(self._note, number + zlib.crc32(number).to_bytes(4, "little"), 0)

    def close(self) -> None:
        super().close()
        os.close(self._note)


WAYS: dict[str, Callable[[str], Journal | SQLiteLog]] = {
    "our log": Journal,
    "SQLite, WAL": SQLiteLog,
    "the same, noted": NotedSQLiteLog,
    "SQLite, journal": partial(SQLiteLog, mode="TRUNCATE"),
}


# --- what it costs --------------------------------------------------------------------------------------------------


def commits(folder: str, way: str, writers: int) -> tuple[float, float, float, float, float]:
    """Entries per second when so many wait for each sync; p50 and p99 of a sync; CPU and bytes on disk per entry."""
    log, times, start, used = WAYS[way](folder), [], time.perf_counter(), time.process_time()
    while time.perf_counter() - start < SECONDS:
        begin = time.perf_counter()
        for _ in range(writers):
            log.append(ENTRY)
        log.sync()
        times.append(time.perf_counter() - begin)
    taken, used = time.perf_counter() - start, time.process_time() - used
    n = len(times) * writers
    log.close()
    size = sum(path.stat().st_size for path in Path(folder).iterdir())
    p50, p99 = np.quantile(times, [0.5, 0.99])
    return n / taken, p50, p99, used / n, size / n


def replays(folder: str, way: str, n: int = 200_000) -> float:
    """Entries per second that are read back."""
    log = WAYS[way](folder)
    for k in range(n):
        log.append(ENTRY)
        if k % 1000 == 999:
            log.sync()
    log.close()
    start = time.perf_counter()
    log = WAYS[way](folder)
    assert sum(1 for _ in log.replay()) == n
    taken = time.perf_counter() - start
    log.close()
    return n / taken


def learns(folder: str, way: str, writers: int) -> float:
    """Rows per second that a served model learns and acknowledges, one by one, for so many at a time."""
    path = Path(folder) / "model.tanager"
    rows = [{"colour": colour, "size": size, "n": 1, "wild": True} for colour in ("red", "blue") for size in (0.1, 0.9)]
    AODE().fit(rows * 20, ["yes", "no"] * 40).save(path)
    make = WAYS[way]
    with (
        mock.patch.object(durable, "Journal", lambda folder, *_, **__: make(folder)),
        mock.patch.object(state_folder, "Journal", lambda folder, *_, **__: make(folder)),
    ):
        served = durable.DurableModel(path, sync_every=0.0)
        n = asyncio.run(_learn_side_by_side(served, rows[0], writers))
        served.close()
    return n / SECONDS


async def _learn_side_by_side(served: durable.DurableModel, row: dict[str, object], writers: int) -> int:
    until, done = time.perf_counter() + SECONDS, 0

    async def one() -> None:
        nonlocal done
        while time.perf_counter() < until:
            await served.learn([row], ["yes"])
            done += 1

    await asyncio.gather(*(one() for _ in range(writers)))
    return done


# --- what a crash leaves --------------------------------------------------------------------------------------------

_CHILD = "import sys; from benchmarks.journal import write_for_ever; write_for_ever(sys.argv[1], sys.argv[2])"


def write_for_ever(folder: str, way: str) -> None:
    """Write entries, and say after every sync how many there are."""
    log = WAYS[way](folder)
    while True:
        log.append(ENTRY)
        log.sync()
        print(log.last, flush=True)


def killed(folder: str, way: str) -> tuple[int, int]:
    """Entries that were acknowledged before kill -9, and entries that are there after it."""
    with subprocess.Popen([sys.executable, "-c", _CHILD, folder, way], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        for line in child.stdout:
            if int(line) >= 200:
                os.kill(child.pid, signal.SIGKILL)
                break
        acknowledged = int([line, *child.stdout][-1])
    log = WAYS[way](folder)
    n = sum(1 for _ in log.replay())
    log.close()
    return acknowledged, n


def damaged(folder: str, way: str, *, cut: bool) -> Counter[str]:
    """What becomes of a log as a crash leaves it, when a byte of it is changed or it is cut at a place."""
    whole, trial = Path(folder) / "whole", Path(folder) / "trial"
    (Path(folder) / "live").mkdir()
    log = WAYS[way](str(Path(folder) / "live"))
    for _ in range(N_DAMAGED):
        log.append(ENTRY)
        log.sync()
    shutil.copytree(Path(folder) / "live", whole)  # no clean end: as after kill -9
    log.close()
    rng, outcomes = np.random.default_rng(0), Counter[str]()
    sizes = {path.name: path.stat().st_size for path in whole.iterdir() if path.name not in ("lock", "synced")}
    for _ in range(TRIALS):
        shutil.rmtree(trial, ignore_errors=True)
        shutil.copytree(whole, trial)
        name = rng.choice(list(sizes), p=np.array(list(sizes.values())) / sum(sizes.values()))
        _damage(trial / str(name), int(rng.integers(sizes[str(name)])), cut=cut)
        outcomes[_outcome(str(trial), way)] += 1
    return outcomes


def _damage(path: Path, at: int, *, cut: bool) -> None:
    if cut:
        os.truncate(path, at)
        return
    data = bytearray(path.read_bytes())
    data[at] ^= 0x10
    path.write_bytes(data)


def _outcome(folder: str, way: str) -> str:
    try:
        log = WAYS[way](folder)
        try:
            found = list(log.replay())
        finally:
            log.close()
    except (TanagerError, sqlite3.Error):
        return "refused"
    if any(payload != ENTRY for _, payload in found):
        return "read back changed"
    lost = N_DAMAGED - len(found)
    return "nothing lost" if lost == 0 else "the last entry lost" if lost == 1 else "many lost, unnoticed"


def code_lines(source: str) -> int:
    """Lines of code, without comments, docstrings and empty lines."""
    return len(ast.unparse(_without_docstrings(ast.parse(source))).splitlines())


def _without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return tree


def costs(disk: str | None) -> None:
    """Print what a commit costs."""
    heads = "".join(f"{head:>11}" for head in ("writers", "entries/s", "p50", "p99", "CPU", "bytes", "learns/s"))
    print(f"\n{'commits':<18}{heads}")
    for writers in WRITERS:
        found: dict[str, list[tuple[float, ...]]] = {way: [] for way in WAYS}
        for _, way in product(range(ROUNDS), WAYS):
            with tempfile.TemporaryDirectory(dir=disk) as one, tempfile.TemporaryDirectory(dir=disk) as other:
                found[way].append((*commits(one, way, writers), learns(other, way, writers)))
        for way, rounds in found.items():
            rate, p50, p99, used, size, learned = np.median(rounds, axis=0)
            times = f"{1e3 * p50:>8.2f} ms{1e3 * p99:>8.2f} ms{1e6 * used:>8.0f} us"
            print(f"{way:<18}{writers:>11}{rate:>11,.0f}{times}{size:>11.0f}{learned:>11,.0f}", flush=True)


def crashes(disk: str | None) -> None:
    """Print what is left after a crash, and after damage."""
    print(f"\n{'recovery':<18}{'entries/s':>11}  kill -9: acknowledged, found")
    for way in WAYS:
        with tempfile.TemporaryDirectory(dir=disk) as folder:
            rate = replays(folder, way)
        with tempfile.TemporaryDirectory(dir=disk) as folder:
            print(f"{way:<18}{rate:>11,.0f}  {killed(folder, way)}", flush=True)
    print(f"\n{N_DAMAGED} entries, each synced, as a crash leaves them; {TRIALS} places")
    for cut in (False, True):
        for way in WAYS:
            with tempfile.TemporaryDirectory(dir=disk) as folder:
                found = damaged(folder, way, cut=cut)
            shares = ", ".join(f"{name} {n / TRIALS:.0%}" for name, n in found.most_common())
            print(f"{'cut' if cut else 'a byte changed':<16}{way:<18}{shares}", flush=True)


def main(disk: str | None) -> None:
    print(f"SQLite {sqlite3.sqlite_version}; {len(ENTRY)} bytes in an entry; load {os.getloadavg()[0]:.1f}")
    ours = code_lines(inspect.getsource(journal))
    theirs = sum(code_lines(inspect.getsource(one)) for one in (SQLiteLog, NotedSQLiteLog))
    print(
        f"{ours} lines of code in our log; {theirs} for SQLite, without a lock, sentences for errors, and our old logs"
    )
    costs(disk)
    crashes(disk)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
