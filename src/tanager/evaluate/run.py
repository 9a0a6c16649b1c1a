"""Running evaluation plans: part after part, in this process or in several, with progress and a checkpoint."""

from __future__ import annotations

import os
import pickle
import signal
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from functools import lru_cache
from multiprocessing import resource_tracker
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tanager.errors import Interrupted, OptionError
from tanager.evaluate.checkpoint import Checkpoint
from tanager.evaluate.fold_runner import FoldRunner, Record
from tanager.evaluate.plan import EvaluationPlan
from tanager.evaluate.time_limit import Stage, TimeLimit
from tanager.evaluate.times import Times, own_times, with_times

Progress = Callable[[int, int, str], None]

# Starting processes pays off above so many seconds of remaining work, or so many cells times classifiers.
_WORTH_PROCESSES, _MANY_CELLS = 3.0, 10_000_000
_NAMED = 4  # classifiers that progress names


class _Task(NamedTuple):
    """One part of one plan, for the classifiers of one stage whose records are missing."""

    plan: int
    part: int
    names: tuple[str, ...]
    stage: int = 0


Finished = tuple[_Task, list[Record], float]  # with the seconds that it took
Found = dict[tuple[int, int, str], Record]  # by plan, part and classifier


def run(
    plans: Sequence[EvaluationPlan],
    n_jobs: int,
    progress: Progress | None,
    checkpoint: Checkpoint,
    *,
    timing: bool,
    limit: TimeLimit | None = None,
    so_far: Callable[[list[Record]], object] | None = None,
) -> list[Record]:
    """The records of all parts of all plans, in order; with ``timing`` they include how long classifiers take.

    ``so_far`` is told the records of the classifiers that are done everywhere, whenever there are more of them. Ctrl-C
    raises ``Interrupted`` with the records that can be compared by then.
    """
    n_jobs = _n_processes(n_jobs)
    limit = limit or TimeLimit()
    found, missing = _resume(plans, checkpoint)
    queue = _Queue(missing, limit, limit.begin(plans, [(task.plan, task.names) for task in missing], n_jobs))
    total = sum(plan.n_parts for plan in plans) - len(missing) + len(queue)
    report = progress or _silent
    report(total - len(queue), total, queue.doing(plans))
    times: Times = {}
    all_names = {name for plan in plans for name in plan.models}

    def in_order(wanted: Collection[str]) -> list[Record]:
        places = (
            (at, part, key) for at, plan in enumerate(plans) for part in range(plan.n_parts) for key in plan.models
        )
        return [found[place] for place in places if place in found and place[2] in wanted]

    def measure_times() -> None:
        if timing and not times:
            times.update(own_times(plans, lambda what: report(total - queue.n_unfinished, total, what), limit.quick))

    try:
        for task, records, _ in _run_tasks(plans, queue, n_jobs, measure_times):
            plan = plans[task.plan]
            checkpoint.add(plan, task.part, records)
            found |= {(task.plan, task.part, record["classifier"]): record for record in records}
            report(total - queue.n_unfinished, total, queue.doing(plans))
            if so_far is not None and queue.stage_done(task.stage):
                so_far(in_order(all_names - queue.names_unfinished()))
        measure_times()
    except KeyboardInterrupt:
        some = _comparable(plans, found)
        if not some:
            raise
        raise Interrupted(with_times(some, times) if timing else [_untimed(record) for record in some]) from None
    report(total, total, "")
    records = in_order(all_names - limit.left_out.keys())
    return with_times(records, times) if timing else [_untimed(record) for record in records]


def _comparable(plans: Sequence[EvaluationPlan], found: Found) -> list[Record]:
    """Of an evaluation that was ended: the classifiers that are done, else the folds that all have done."""
    names = list(dict.fromkeys(name for plan in plans for name in plan.models))
    places = [(at, part) for at, plan in enumerate(plans) for part in range(plan.n_parts)]
    done = [
        name for name in names if all((*place, name) in found for place in places if name in plans[place[0]].models)
    ]
    if not done:
        done, places = names, [place for place in places if all((*place, name) in found for name in names)]
    return [found[*place, name] for place in places for name in done if (*place, name) in found]


def _untimed(record: Record) -> Record:
    return {key: value for key, value in record.items() if key not in ("fit_seconds", "predict_seconds")}


def _resume(plans: Sequence[EvaluationPlan], checkpoint: Checkpoint) -> tuple[Found, list[_Task]]:
    """The records of an earlier run, and the tasks that are left."""
    found: Found = {}
    tasks: list[_Task] = []
    for at, plan in enumerate(plans):
        for part in range(plan.n_parts):
            known = {name: checkpoint.find(plan, name, part) for name in plan.models}
            found |= {(at, part, name): old | {"dataset": plan.name} for name, old in known.items() if old is not None}
            missing = tuple(name for name, old in known.items() if old is None)
            tasks += [_Task(at, part, missing)] if missing else []
    return found, tasks


class _Queue:
    """The tasks that are left, stage after stage; those of a stage that is left out are dropped."""

    def __init__(self, missing: Sequence[_Task], limit: TimeLimit, stages: Sequence[Stage]) -> None:
        self.limit, self.stages = limit, stages
        self.tasks: deque[_Task] = deque()
        for at, stage in enumerate(stages):
            for task in missing:
                names = tuple(name for name in task.names if name in stage.names)
                if names:
                    self.tasks.append(_Task(task.plan, task.part, names, at))
                    stage.waiting[task.plan] += 1
        self.n_running = 0

    def __len__(self) -> int:
        return len(self.tasks)

    @property
    def n_unfinished(self) -> int:
        """Tasks that are waiting or being done."""
        return len(self.tasks) + self.n_running

    def wants(self, task: _Task) -> bool:
        """Whether a task that is being done is still wanted."""
        return not self.stages[task.stage].left_out

    def stage_done(self, stage: int) -> bool:
        """Whether all tasks of a stage are done."""
        return self.stages[stage].done_everywhere

    def names_unfinished(self) -> set[str]:
        """The classifiers that are not done everywhere, or left out."""
        return {name for stage in self.stages if not stage.done_everywhere for name in stage.names}

    def doing(self, plans: Sequence[EvaluationPlan]) -> str:
        """What is done next, in words: classifiers, and the data set where there are several."""
        if not self.tasks:
            return ""
        task = self.tasks[0]
        names = task.names if len(task.names) <= _NAMED else (*task.names[:_NAMED], f"{len(task.names) - _NAMED} more")
        return ", ".join(names) + (f" on {plans[task.plan].name}" if len(plans) > 1 else "")

    def take(self) -> _Task | None:
        """The next task; None if there is none."""
        while self.tasks:
            task = self.tasks.popleft()
            if self.limit.admits(self.stages[task.stage]):
                self.n_running += 1
                return task
        return None

    def finished(self, done: Finished) -> Finished:
        """Take note of a finished task."""
        task, _, seconds = done
        self.n_running -= 1
        self.limit.finished(self.stages[task.stage], task.plan, seconds)
        return done


def _n_processes(n_jobs: object) -> int:
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0:
        raise OptionError(f"n_jobs={n_jobs!r}: give a number of processes, or -1 for one per core.")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return int(n_jobs) if n_jobs > 0 else max(1, cores + 1 + int(n_jobs))


def _silent(done: int, total: int, what: str) -> None:
    pass


def _run_tasks(
    plans: Sequence[EvaluationPlan], queue: _Queue, n_jobs: int, meanwhile: Callable[[], None]
) -> Iterator[Finished]:
    """The tasks with their records: in this process, or in several when that is worth it."""
    local = _LocalRunner(plans)
    many = sum(plans[task.plan].n_cells for task in queue.tasks) > _MANY_CELLS
    while len(queue) > 1:
        # For short runs, starting processes takes longer than the work.
        if n_jobs > 1 and (many or queue.limit.work_left() > _WORTH_PROCESSES):
            yield from _in_processes(plans, queue, n_jobs, local, meanwhile)
            return
        if (task := queue.take()) is not None:
            yield queue.finished(local.part(task))
    if (task := queue.take()) is not None:
        yield queue.finished(local.part(task))


class _LocalRunner:
    """Runs tasks in this process. It holds one data set at a time, as counts can be large."""

    def __init__(self, plans: Sequence[EvaluationPlan]) -> None:
        self.plans = plans
        self.at = -1
        self.runner: FoldRunner | None = None

    def part(self, task: _Task) -> Finished:
        if self.runner is None or task.plan != self.at:
            self.at, self.runner = task.plan, FoldRunner(self.plans[task.plan])
        return _timed(self.runner, task)


def _timed(runner: FoldRunner, task: _Task) -> Finished:
    start = time.perf_counter()
    records = runner.part(task.part, task.names)
    return task, records, time.perf_counter() - start


def _in_processes(
    plans: Sequence[EvaluationPlan], queue: _Queue, n_jobs: int, local: _LocalRunner, meanwhile: Callable[[], None]
) -> Iterator[Finished]:
    """Workers take tasks; this process does other work while they start, and then takes tasks as well.

    Each plan is written to a file once, and a worker reads it when its first part comes.
    """
    from joblib.externals.loky import ProcessPoolExecutor  # of joblib, whose processes need no main guard in scripts

    with tempfile.TemporaryDirectory(prefix="tanager-") as folder:
        paths = {at: Path(folder, f"{at}.plan") for at in {task.plan for task in queue.tasks}}
        for at, path in paths.items():
            path.write_bytes(pickle.dumps(plans[at], protocol=5))
        executor = ProcessPoolExecutor(max_workers=n_jobs - 1, initializer=_end_with, initargs=(os.getpid(),))
        running: dict[Future[Finished], _Task] = {}

        def keep_busy() -> None:
            # One task in reserve for each worker, so that none is idle; towards the end none, so that all end together.
            reserve = n_jobs - 1 if len(queue) > n_jobs else 0
            while len(running) < n_jobs - 1 + reserve and (task := queue.take()) is not None:
                running[executor.submit(_part_in_worker, str(paths[task.plan]), task)] = task

        try:
            with _no_interrupts_for_children():
                keep_busy()
            meanwhile()
            while len(queue) or any(map(queue.wants, running.values())):
                keep_busy()
                task = queue.take()
                if task is not None:
                    yield queue.finished(local.part(task))
                for future in wait(running, None if task is None else 0, return_when=FIRST_COMPLETED).done:
                    del running[future]
                    yield queue.finished(future.result())
        except KeyboardInterrupt:
            for future in running:
                if future.done():
                    yield queue.finished(future.result())
            raise
        finally:
            # Idle by now, or no longer wanted. Its threads are waited for, which takes a moment: while they are there,
            # a command that was interrupted cannot end before all its objects are freed.
            executor.shutdown(wait=True, kill_workers=True)


@contextmanager
def _no_interrupts_for_children() -> Iterator[None]:
    """Processes that are started here do not hear Ctrl-C, which a terminal sends to all: this process ends them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # of multiprocessing, which lets signals through again once it has started
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with(parent: int) -> None:
    """Let a worker end soon after the process that has started it, however that was ended: it would wait for ever."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    if os.name != "nt":  # where the number of the parent stays the same
        threading.Thread(target=watch, daemon=True).start()


def _part_in_worker(path: str, task: _Task) -> Finished:
    return _timed(_worker_runner(path), task)


@lru_cache(maxsize=1)
def _worker_runner(path: str) -> FoldRunner:
    return FoldRunner(pickle.loads(Path(path).read_bytes()))
