"""TimeLimit: cheap classifiers first, and those that will not be done in time are left out."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tanager.errors import OptionError, is_number
from tanager.evaluate.forecast import TableSize, fold_seconds
from tanager.evaluate.plan import EvaluationPlan

_STAGE = 0.05  # of the time: so much work is done at once, so that counts are shared and the rest can still be left out
_LONGEST = 30.0  # seconds of a stage, however long the limit: what is done so far is then seen now and then
_PATIENCE = 1.15  # what has begun may take so much longer than the limit before it is given up
_TELLING = 0.5  # measured seconds from which on a stage shows how long its other folds will take
_QUICK = 0.25  # seconds of a fold: what takes less is timed by itself once more


@dataclass
class Stage:
    """Classifiers that run together: what their folds should take, and what they took."""

    names: tuple[str, ...]
    forecasts: dict[int, float]  # of one fold, by plan
    waiting: Counter[int] = field(default_factory=Counter)  # folds that are not finished, by plan
    begun: bool = False
    left_out: bool = False
    done: tuple[float, float] = (0.0, 0.0)  # forecast and measured seconds of finished folds

    @property
    def done_everywhere(self) -> bool:
        """Whether all its folds are finished."""
        return not self.left_out and not any(self.waiting.values())

    @property
    def forecast(self) -> float:
        """The forecast of all folds that are not finished."""
        return sum(n * self.forecasts[plan] for plan, n in self.waiting.items())


class TimeLimit:
    """How long an evaluation may take.

    Classifiers are run in stages, cheap ones first. Before a stage begins, its time is forecast: from the size of the
    table, corrected by what earlier stages took. What would not be done in time is left out; the first stage never is.

    Parameters
    ----------
    seconds : float, default=inf
        The limit.
    option : str, default="time_limit="
        What the limit is called where the way to a higher one is shown.
    clock, forecast : callable
        Seconds since any moment, and the seconds of a fold for a classifier and a ``TableSize``.

    Attributes
    ----------
    left_out : dict of str to float
        The classifiers that were left out, with the seconds that they would take.

    Examples
    --------
    Of two classifiers, the second is said to take ten seconds for a fold, which is more than there are:

    >>> from sklearn.datasets import load_iris
    >>> from tanager import AODE, NaiveBayes
    >>> from tanager.evaluate import TimeLimit, cross_validate
    >>> limit = TimeLimit(5, clock=lambda: 0, forecast=lambda model, size: 10 if isinstance(model, AODE) else 0.01)
    >>> X, y = load_iris(return_X_y=True)
    >>> results = cross_validate({"nb": NaiveBayes(), "aode": AODE()}, X, y, time_limit=limit, n_jobs=1, timing=False)
    >>> results.classifiers, list(limit.left_out)
    (['nb'], ['aode'])
    """

    def __init__(
        self,
        seconds: float = math.inf,
        *,
        option: str = "time_limit=",
        clock: Callable[[], float] = time.monotonic,
        forecast: Callable[[Any, TableSize], float] = fold_seconds,
    ) -> None:
        if not (is_number(seconds, 0) or seconds == math.inf) or seconds <= 0:
            shown = f"{seconds:g}" if isinstance(seconds, float) else repr(seconds)
            raise OptionError(f"{option}{shown}: give a number of seconds above 0.")
        self.seconds, self.option = float(seconds), option
        self._clock, self._forecast = clock, forecast
        self._start, self._n_jobs = clock(), 1
        self._stages: list[Stage] = []
        self._by_name: dict[str, float] = {}  # forecast of all folds of a classifier
        self._quick: set[str] = set()

    def begin(
        self, plans: Sequence[EvaluationPlan], missing: Iterable[tuple[int, tuple[str, ...]]], n_jobs: int
    ) -> list[Stage]:
        """Stages for the folds that are missing: plan and names of classifiers for each. Time counts from now on.

        Parameters
        ----------
        plans : sequence of EvaluationPlan
            The data sets, with their classifiers and folds.
        missing : iterable of (int, tuple of str)
            For each fold that is not done: the place of its plan, and the names of its classifiers.
        n_jobs : int
            How many processes share the folds.

        Returns
        -------
        list of Stage
            In the order in which they are to be run.
        """
        self._start, self._n_jobs = self._clock(), n_jobs
        folds = Counter((plan, name) for plan, names in missing for name in names)
        sizes = [TableSize.of(plan) for plan in plans]
        costs = {(at, name): self._forecast(plans[at].models[name], sizes[at]) for at, name in folds}
        for (at, name), n in folds.items():
            self._by_name[name] = self._by_name.get(name, 0.0) + n * costs[at, name]
        slow = {name for (_, name), cost in costs.items() if cost > _QUICK}
        self._quick = {name for plan in plans for name in plan.models} - (slow if self.seconds < math.inf else set())
        order = (
            sorted(self._by_name, key=lambda name: self._by_name[name]) if self.seconds < math.inf else self._by_name
        )
        for names in self._packed(order):
            own = {at: sum(costs.get((at, name), 0.0) for name in names) for at in range(len(plans))}
            self._stages.append(Stage(names, own))
        return self._stages

    def _packed(self, order: Iterable[str]) -> list[tuple[str, ...]]:
        """Neighbours together, as long as their work is small."""
        packed: list[tuple[str, ...]] = []
        share = _STAGE * self.seconds if self.seconds == math.inf else min(_STAGE * self.seconds, _LONGEST)
        most, work = max(share * self._n_jobs, 1.0), math.inf
        for name in order:
            if packed and work + self._by_name[name] <= most:
                packed[-1], work = (*packed[-1], name), work + self._by_name[name]
            else:
                packed, work = [*packed, (name,)], self._by_name[name]
        return packed

    def quick(self, name: str) -> bool:
        """Whether timing a classifier by itself takes little.

        Parameters
        ----------
        name : str
            A classifier.

        Returns
        -------
        bool
            True for all where there is no limit.
        """
        return name in self._quick

    # --- while it runs ------------------------------------------------------------------------------------------

    def admits(self, stage: Stage) -> bool:
        """Whether the next fold of a stage is to be run.

        Parameters
        ----------
        stage : Stage
            One that ``begin`` gave.

        Returns
        -------
        bool
            False from the moment when it would not be done in time.
        """
        limit = self.seconds * (_PATIENCE if stage.begun else 1.0)
        if stage is not self._stages[0] and not stage.left_out and self.elapsed() + self._expected(stage) > limit:
            stage.left_out = True
        stage.begun = stage.begun or not stage.left_out
        return not stage.left_out

    def finished(self, stage: Stage, plan: int, seconds: float) -> None:
        """A fold of a stage took so many seconds.

        Parameters
        ----------
        stage : Stage
            One that ``begin`` gave.
        plan : int
            The place of the plan.
        seconds : float
            How long the fold took.
        """
        stage.waiting[plan] -= 1
        stage.done = stage.done[0] + stage.forecasts[plan], stage.done[1] + seconds

    def elapsed(self) -> float:
        """Seconds since it began.

        Returns
        -------
        float
            By the clock of the limit.
        """
        return self._clock() - self._start

    def _pace(self) -> float:
        """Measured over forecast seconds of all that is done; a second of each counts beforehand, at a pace of 1."""
        forecast, measured = (1.0 + sum(stage.done[which] for stage in self._stages) for which in (0, 1))
        return measured / forecast

    def _expected(self, stage: Stage) -> float:
        """The seconds until a stage is done, all processes at work."""
        forecast, measured = stage.done
        pace = measured / forecast if forecast > 0 and measured >= _TELLING else self._pace()
        return pace * stage.forecast / self._n_jobs

    def work_left(self) -> float:
        """The seconds that one process would take for the rest.

        Returns
        -------
        float
            Stages that were left out do not count.
        """
        return sum(self._expected(stage) for stage in self._stages if not stage.left_out) * self._n_jobs

    def seconds_left(self) -> float:
        """A forecast of the time until all is done that will be done.

        Returns
        -------
        float
            In seconds; stages that would not be done in time do not count.
        """
        now, end = self.elapsed(), 0.0
        for stage in self._stages:
            time = 0.0 if stage.left_out else self._expected(stage)
            if stage.begun or now + end + time <= self.seconds:
                end += time
        return end

    # --- afterwards ---------------------------------------------------------------------------------------------

    @property
    def left_out(self) -> dict[str, float]:
        """The classifiers that were left out, with the seconds that they would take."""
        pace = self._pace() / self._n_jobs
        return {name: pace * self._by_name[name] for stage in self._stages if stage.left_out for name in stage.names}

    def notes(self) -> list[str]:
        """What was left out, and how to have it.

        Returns
        -------
        list of str
            One sentence, or none where nothing was left out.
        """
        if not self.left_out:
            return []
        each = ", ".join(
            f"{name} (about {rounded(own)} s)" if own >= 1 else name for name, own in self.left_out.items()
        )
        enough = rounded(1.2 * (self.elapsed() + sum(self.left_out.values())))
        return [f"left out for time: {each}. For these as well: {self.option}{enough}"]


def rounded(seconds: float) -> int:
    """Whole seconds, two digits at most, upwards.

    >>> [rounded(seconds) for seconds in (0.2, 12.3, 123, 98765)]
    [1, 13, 130, 99000]
    """
    step = 10 ** max(0, math.floor(math.log10(max(seconds, 1))) - 1)
    return math.ceil(seconds / step) * step
