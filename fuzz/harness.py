"""What all fuzzers share: numbered cases, run in child processes, so that a crash or a hang is a find and not the end.

A fuzzer is a function ``case(number, scene)`` that gives a word for what happened ("refused", "answered") and raises
where something is wrong. The number of a case is its seed, and all that it does follows from it. Cases of one batch
share a ``scene``, which is made once in their child process: ``scene(batch)``, say a model to be damaged in many ways.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import select
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

BATCH = 200  # cases in one child process
STILL = 120.0  # seconds without a sign of life after which a case hangs

Case = Callable[[int, Any], str]
Scene = Callable[[int], Any]


def main(name: str, case: Case, scene: Scene, argv: list[str] | None = None) -> int:
    """Run a fuzzer from the command line; the exit code says whether something was found."""
    parser = argparse.ArgumentParser(prog=f"python -m fuzz.{name}")
    parser.add_argument("--count", type=int, default=1000, help="number of cases (default: 1000)")
    parser.add_argument("--seed", type=int, default=0, help="number of the first case (default: 0)")
    parser.add_argument("--minutes", type=float, help="stop after so many minutes, whatever --count says")
    options = parser.parse_args(argv)
    start, outcomes, finds = time.monotonic(), Counter[str](), 0
    count = 10**12 if options.minutes is not None and "--count" not in (argv or sys.argv) else options.count
    done = options.seed
    for batch in _batches(options.seed, options.seed + count):
        if options.minutes is not None and time.monotonic() - start > 60 * options.minutes:
            break
        for number, kind, text in run_batch(case, scene, batch):
            outcomes[kind] += 1
            if kind == "FOUND":
                finds += 1
                print(f"{name}: found with --seed {number} --count 1\n{text}", flush=True)
        done = batch.stop
    words = ", ".join(f"{n:,} {kind}" for kind, n in sorted(outcomes.items()) if kind != "FOUND")
    seconds = time.monotonic() - start
    print(f"{name}: {done - options.seed:,} cases from {options.seed} in {seconds:.0f} s: {words}; {finds:,} finds")
    return 1 if finds else 0


def _batches(start: int, stop: int) -> Iterator[range]:
    """The cases of one scene each: number // BATCH."""
    while start < stop:
        end = min(stop, (start // BATCH + 1) * BATCH)
        yield range(start, end)
        start = end


def run_batch(case: Case, scene: Scene, numbers: range) -> Iterator[tuple[int, str, str]]:
    """Number, outcome and text of every case; after a crash or a hang a new child goes on with the next one."""
    at = numbers.start
    while at < numbers.stop:
        began = at
        for number, kind, text in _child(case, scene, range(at, numbers.stop)):
            yield number, kind, text
            at = number + 1
        if at == began:  # not even the scene was made
            raise RuntimeError(f"no case of {numbers} could be started")


def _child(case: Case, scene: Scene, numbers: range) -> Iterator[tuple[int, str, str]]:
    reading, writing = os.pipe()
    words = tempfile.TemporaryFile()  # noqa: SIM115
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        os.dup2(words.fileno(), 2)
        _work(case, scene, numbers, writing)
    os.close(writing)
    at, pending = numbers.start, b""
    with os.fdopen(reading, "rb", buffering=0) as pipe:
        while True:
            ready, _, _ = select.select([pipe], [], [], STILL)
            if not ready:
                os.kill(pid, signal.SIGABRT)  # faulthandler then says where it is
                time.sleep(0.5)
                os.kill(pid, signal.SIGKILL)
                break
            data = pipe.read(65536)
            if not data:
                break
            *lines, pending = (pending + data).split(b"\n")
            for line in lines:
                number, kind, text = json.loads(line)
                yield number, kind, text
                at = number + 1
    _, status = os.waitpid(pid, 0)
    if status:
        code = os.waitstatus_to_exitcode(status)
        words.seek(0)
        what = f"the process ended with {code}" if code != -signal.SIGABRT and ready else "it hangs, or was aborted"
        yield at, "FOUND", f"{what}\n{words.read().decode(errors='replace')[-4000:]}"
    words.close()


def _work(case: Case, scene: Scene, numbers: range, writing: int) -> None:
    """The child: all cases, one line each to the parent. Never returns."""
    code = 0
    try:
        faulthandler.enable()
        warnings.simplefilter("ignore")
        own = scene(numbers.start // BATCH)
        sys.stderr.flush()
        said = os.fstat(2).st_size
        for number in numbers:
            kind, text = _one(case, number, own)
            sys.stderr.flush()
            if kind != "FOUND" and os.fstat(2).st_size > said:
                kind, text = "FOUND", "it wrote to stderr: " + os.pread(2, 4000, said).decode(errors="replace")
            said = os.fstat(2).st_size
            os.write(writing, json.dumps([number, kind, text]).encode() + b"\n")
    except BaseException:
        traceback.print_exc()
        code = 70
    os._exit(code)


def _one(case: Case, number: int, own: Any) -> tuple[str, str]:
    try:
        return case(number, own), ""
    except Exception:
        return "FOUND", traceback.format_exc()[-4000:]
