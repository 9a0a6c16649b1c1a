"""Running plans: part after part, in this process or in several, with progress and a ledger."""

from __future__ import annotations

import os
import pickle
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tanager.errors import OptionError
from tanager.evaluate.ledger import Ledger
from tanager.evaluate.plan import Plan
from tanager.evaluate.times import Times, own_times, with_times
from tanager.evaluate.work import Record, Work

Progress = Callable[[int, int, str], None]

# Seconds of work left, or cells times classifiers, that are worth starting processes for.
_WORTH_PROCESSES, _MANY_CELLS = 3.0, 10_000_000


class _Task(NamedTuple):
    plan: int
    part: int
    names: tuple[str, ...]


def run(plans: Sequence[Plan], n_jobs: int, progress: Progress | None, ledger: Ledger, *, timing: bool) -> list[Record]:
    """The records of all parts of all plans, in their order; with ``timing`` they say how long classifiers take."""
    n_jobs = _processes(n_jobs)
    found: dict[tuple[int, int, str], Record] = {}
    tasks: list[_Task] = []
    for at, plan in enumerate(plans):
        for part in range(plan.n_parts):
            known = {name: ledger.find(plan, name, part) for name in plan.models}
            found |= {(at, part, name): old | {"dataset": plan.name} for name, old in known.items() if old is not None}
            missing = tuple(name for name, old in known.items() if old is None)
            tasks += [_Task(at, part, missing)] if missing else []
    total = sum(plan.n_parts for plan in plans)
    done = total - len(tasks)
    tell = progress or _silent
    tell(done, total, plans[0].name)
    times: Times = {}

    def measure_times() -> None:
        if timing and not times:
            times.update(own_times(plans, lambda what: tell(done, total, what)))

    for task, records in _all(plans, tasks, n_jobs, measure_times):
        plan = plans[task.plan]
        ledger.add(plan, task.part, records)
        found |= {(task.plan, task.part, record["classifier"]): record for record in records}
        done += 1
        tell(done, total, plan.name)
    measure_times()
    in_order = (
        (at, part, name) for at, plan in enumerate(plans) for part in range(plan.n_parts) for name in plan.models
    )
    records = [found[place] for place in in_order if place in found]
    return with_times(records, times) if timing else records


def _processes(n_jobs: object) -> int:
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0:
        raise OptionError(f"n_jobs={n_jobs!r}: give a number of processes, or -1 for one per core.")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return int(n_jobs) if n_jobs > 0 else max(1, cores + 1 + int(n_jobs))


def _silent(done: int, total: int, what: str) -> None:
    pass


def _all(
    plans: Sequence[Plan], tasks: Sequence[_Task], n_jobs: int, meanwhile: Callable[[], None]
) -> Iterator[tuple[_Task, list[Record]]]:
    """The tasks with their records: here, or in several processes when that is worth it."""
    here = _Here(plans)
    many = sum(plans[task.plan].n_cells for task in tasks) > _MANY_CELLS
    start = time.perf_counter()
    for at, task in enumerate(tasks):
        left = (time.perf_counter() - start) / max(at, 1) * (len(tasks) - at)
        if n_jobs > 1 and len(tasks) - at > 1 and (many or left > _WORTH_PROCESSES):
            yield from _in_processes(plans, tasks[at:], n_jobs, here, meanwhile)
            return
        yield task, here.part(task)


class _Here:
    """The work of this process, one data set at a time: counts can be large."""

    def __init__(self, plans: Sequence[Plan]) -> None:
        self.plans = plans
        self.at = -1
        self.work: Work | None = None

    def part(self, task: _Task) -> list[Record]:
        if self.work is None or task.plan != self.at:
            self.at, self.work = task.plan, Work(self.plans[task.plan])
        return self.work.part(task.part, task.names)


def _in_processes(
    plans: Sequence[Plan], tasks: Sequence[_Task], n_jobs: int, here: _Here, meanwhile: Callable[[], None]
) -> Iterator[tuple[_Task, list[Record]]]:
    """Other processes take tasks from the end; this one does other work while they start, then goes on from the front.

    Each plan is written to a file once, and a process reads it when its first part comes.
    """
    from joblib.externals.loky import ProcessPoolExecutor  # of joblib, whose processes need no main guard in scripts

    queue = deque(tasks)
    with tempfile.TemporaryDirectory(prefix="tanager-") as folder:
        paths = {at: Path(folder, f"{at}.plan") for at in {task.plan for task in tasks}}
        for at, path in paths.items():
            path.write_bytes(pickle.dumps(plans[at], protocol=5))
        executor = ProcessPoolExecutor(max_workers=n_jobs - 1)
        running: set[Any] = set()

        def keep_busy() -> None:
            waiting = n_jobs - 1 if len(queue) > n_jobs else 0  # so that no process waits; towards the end none do
            while queue and len(running) < n_jobs - 1 + waiting:
                task = queue.pop()
                running.add(executor.submit(_part, str(paths[task.plan]), task))

        try:
            keep_busy()
            meanwhile()
            while queue or running:
                keep_busy()
                if queue:
                    task = queue.popleft()
                    yield task, here.part(task)
                for future in wait(running, 0 if queue else None, return_when=FIRST_COMPLETED).done:
                    running.remove(future)
                    yield future.result()
        finally:
            executor.shutdown(wait=False, kill_workers=True)  # idle by now, or no longer wanted


def _part(path: str, task: _Task) -> tuple[_Task, list[Record]]:
    return task, _work(path).part(task.part, task.names)


@lru_cache(maxsize=1)
def _work(path: str) -> Work:
    return Work(pickle.loads(Path(path).read_bytes()))
