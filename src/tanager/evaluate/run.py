"""Running plans: part after part, in this process or in several, with progress and a ledger."""

from __future__ import annotations

import os
import pickle
import statistics
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from tanager.classifiers.base import CountsClassifier
from tanager.errors import OptionError
from tanager.evaluate.ledger import Ledger
from tanager.evaluate.plan import Plan
from tanager.evaluate.work import Record, Work

Progress = Callable[[int, int, str], None]

_WORTH_PROCESSES = 3.0  # seconds of work left that are worth starting processes for
_TIMED_RUNS, _TIMED_SECONDS = 5, 0.25


class _Task(NamedTuple):
    plan: int
    part: int
    names: tuple[str, ...]


def run(plans: Sequence[Plan], n_jobs: int, progress: Progress | None, ledger: Ledger) -> list[Record]:
    """The records of all parts of all plans, in their order."""
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
    for task, records in _all(plans, tasks, n_jobs):
        plan = plans[task.plan]
        ledger.add(plan, task.part, records)
        found |= {(task.plan, task.part, record["classifier"]): record for record in records}
        done += 1
        tell(done, total, plan.name)
    in_order = (
        (at, part, name) for at, plan in enumerate(plans) for part in range(plan.n_parts) for name in plan.models
    )
    return [found[place] for place in in_order if place in found]


def _processes(n_jobs: object) -> int:
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0:
        raise OptionError(f"n_jobs={n_jobs!r}: give a number of processes, or -1 for one per core.")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return int(n_jobs) if n_jobs > 0 else max(1, cores + 1 + int(n_jobs))


def _silent(done: int, total: int, what: str) -> None:
    pass


def _all(plans: Sequence[Plan], tasks: Sequence[_Task], n_jobs: int) -> Iterator[tuple[_Task, list[Record]]]:
    """The first tasks here; the others in several processes, when they are worth it."""
    here = _Here(plans)
    start = time.perf_counter()
    for at, task in enumerate(tasks):
        left = (time.perf_counter() - start) / max(at, 1) * (len(tasks) - at)
        if at and n_jobs > 1 and left > _WORTH_PROCESSES:
            yield from _in_processes(plans, tasks[at:], n_jobs, here)
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
    plans: Sequence[Plan], tasks: Sequence[_Task], n_jobs: int, here: _Here
) -> Iterator[tuple[_Task, list[Record]]]:
    """Other processes take tasks from the end while this one goes on from the front.

    Each plan is written to a file once, and a process reads it when its first part comes.
    """
    from joblib.externals.loky import get_reusable_executor

    queue = deque(tasks)
    with tempfile.TemporaryDirectory(prefix="tanager-") as folder:
        paths = {at: Path(folder, f"{at}.plan") for at in {task.plan for task in tasks}}
        for at, path in paths.items():
            path.write_bytes(pickle.dumps(plans[at], protocol=5))
        executor = get_reusable_executor(max_workers=n_jobs - 1)
        running: set[Any] = set()
        try:
            while queue or running:
                while queue and len(running) < n_jobs:  # one waits, so that no process does
                    task = queue.pop()
                    running.add(executor.submit(_part, str(paths[task.plan]), task))
                if queue:
                    task = queue.popleft()
                    yield task, here.part(task)
                finished, running = wait(running, None if not queue else 0, return_when=FIRST_COMPLETED)
                for future in finished:
                    yield future.result()
        except BaseException:
            executor.shutdown(wait=False, kill_workers=True)
            raise


def _part(path: str, task: _Task) -> tuple[_Task, list[Record]]:
    return task, _work(path).part(task.part, task.names)


@lru_cache(maxsize=1)
def _work(path: str) -> Work:
    return Work(pickle.loads(Path(path).read_bytes()))


# --- times ---------------------------------------------------------------------------------------------------------


def timed(records: list[Record], plans: Sequence[Plan], progress: Progress | None) -> list[Record]:
    """The records, with the seconds that each classifier takes to learn all rows and to answer them, alone.

    Medians of five runs (fewer where these take longer than a quarter of a second together), after everything else.
    Classifiers of scikit-learn have been timed in every fold; theirs are scaled to all rows.
    """
    times: dict[tuple[str, str], dict[str, float]] = {}
    for plan in plans:
        for name, model in plan.models.items():
            own = [r for r in records if r["dataset"] == plan.name and r["classifier"] == name]
            if not own:
                continue
            if progress is not None:
                progress(len(records), len(records), f"timing {name} on {plan.name}")
            times[plan.name, name] = _alone(model, plan) if isinstance(model, CountsClassifier) else _scaled(own)
    return [record | times.get((record["dataset"], record["classifier"]), {}) for record in records]


def _alone(model: Any, plan: Plan) -> dict[str, float]:
    fits: list[float] = []
    answers: list[float] = []
    X = plan.data.X
    end = time.perf_counter() + _TIMED_SECONDS
    while len(fits) < _TIMED_RUNS and (not fits or time.perf_counter() < end):
        start = time.perf_counter()
        fitted = clone(model).fit(X, plan.data.labels)
        middle = time.perf_counter()
        fitted.predict_proba(X)
        fits.append(middle - start)
        answers.append(time.perf_counter() - middle)
    return {"fit_seconds": statistics.median(fits), "predict_seconds": statistics.median(answers)}


def _scaled(own: list[Record]) -> dict[str, float]:
    rows = own[0]["n_train"] + own[0]["n_test"]
    fit = np.median([record["fit_seconds"] * rows / record["n_train"] for record in own])
    answer = np.median([record["predict_seconds"] * rows / record["n_test"] for record in own])
    return {"fit_seconds": float(fit), "predict_seconds": float(answer)}
