"""Power cuts and kill -9, thousands of them: nothing acknowledged is lost, and nothing is learned twice.

    python -m fuzz.state --cuts 2000 --kills 500

A power cut is simulated at the file calls (``tests/service/power.py``): what was written and not synced is on the disk
or not, block by block, names too. A kill is a real one of a real server that learns over HTTP. What fails is printed
with its seed, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
import time
import traceback
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent / "tests"
sys.path[:0] = [str(TESTS / "service"), str(TESTS)]

LIVES, STEPS, CUTS = 4, 25, 25  # of a story
KILLS = 11  # of a trial


def cut_power(n: int, seed: int) -> tuple[int, list[str]]:
    """Check so many power cuts; returns how many were checked, and what went wrong."""
    from crashes import Story

    done, failures = 0, []
    while done < n:
        with tempfile.TemporaryDirectory() as folder:
            story = Story(Path(folder), seed)
            try:
                for _ in range(LIVES):
                    story.live(STEPS, CUTS)
            except Exception as error:
                failures.append(f"--cuts 1 --seed {seed}: {_one_line(error)}")
        done, seed = done + story.n_images, seed + 1
        _say(f"{done:,} power cuts, {len(failures)} failures")
    return done, failures


def kill(n: int, seed: int) -> tuple[int, int, list[str]]:
    """Kill servers so many times; returns how often, how many rows were acknowledged, and what went wrong."""
    from test_kill import Forks, Trial, live_and_die

    done, rows, copies, failures = 0, 0, 0, []
    forks = Forks()
    try:
        while done < n:
            with tempfile.TemporaryDirectory() as folder:
                trial = Trial(Path(folder), forks.start, seed)
                try:
                    live_and_die(trial, KILLS)
                    trial.check()
                except Exception as error:
                    failures.append(f"--kills 1 --seed {seed}: {_one_line(error)}")
            done, rows, seed = done + trial.n_kills, rows + len(trial.acknowledged), seed + 1
            copies += trial.n_copies
            _say(f"{done:,} kills, {rows:,} acknowledged rows, {copies:,} backups, {len(failures)} failures")
    finally:
        forks.close()
    return done, rows, failures


def _one_line(error: Exception) -> str:
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {place.name}: {str(error)[:300]}"


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cuts", type=int, default=200, help="simulated power cuts")
    parser.add_argument("--kills", type=int, default=22, help="servers that are killed")
    parser.add_argument("--seed", type=int, default=1000)
    given = parser.parse_args()
    logging.disable(logging.WARNING)  # every repair is logged
    start = time.monotonic()
    cuts, wrong = cut_power(given.cuts, given.seed)
    print(f"{cuts:,} power cuts: {len(wrong)} failures, {time.monotonic() - start:.0f} s", flush=True)
    start = time.monotonic()
    kills, rows, failures = kill(given.kills, given.seed)
    print(f"{kills:,} kills, {rows:,} acknowledged rows: {len(failures)} failures, {time.monotonic() - start:.0f} s")
    for line in [*wrong, *failures]:
        print(line)
    sys.exit(bool(wrong or failures))


if __name__ == "__main__":
    main()
