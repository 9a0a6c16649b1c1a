"""Answers of a staged sum under a budget: naive Bayes first, then one member after the other while there is time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from tanager import _kernels
from tanager.scoring.view import View

COMPILING = 0.25  # share of a budget that may go into tables for a batch


@dataclass(frozen=True)
class AnytimeAnswer:
    """Probabilities, and what they cost.

    Parameters
    ----------
    proba : array of shape (n_rows, n_classes)
        Probability of every class for every row.
    members : array of shape (n_rows,)
        Super-parents that took part for each row; 0 is naive Bayes alone.
    seconds : float
        Time since the question.
    complete : bool
        Whether no row could have had a further member.

    Examples
    --------
    >>> from tanager import AnytimeAODE
    >>> model = AnytimeAODE().fit([["sun", "no"], ["rain", "yes"]] * 3, ["play", "stay"] * 3)
    >>> answer = model.answer([["sun", "no"]], members=0)
    >>> answer.members.tolist(), answer.proba.round(2)
    ([0], array([[0.94, 0.06]]))
    """

    proba: np.ndarray
    members: np.ndarray
    seconds: float
    complete: bool


def answer_within(
    view: View,
    codes: np.ndarray,
    start: float,
    budget: float | None,
    limit: int,
    *,
    log_joint: bool = False,
    n_jobs: int = 1,
) -> AnytimeAnswer:
    """Let rows go through members until there are no more, or enough (``limit``), or no time is left."""
    left = math.inf if budget is None else budget - (perf_counter() - start)
    run = view.run(codes, limit=limit, may_compile=view.compile_seconds < COMPILING * left)
    if budget is not None:
        left = budget - (perf_counter() - start)
    nanoseconds = -1 if budget is None else int(max(0.0, left) * 1e9)
    more = run.advance(-1, nanoseconds, n_jobs)
    return answer_of(run, len(codes), view.counts.n_classes, start, more, log_joint)


def answer_of(
    run: _kernels.Run, n_rows: int, n_classes: int, start: float, more: bool, log_joint: bool = False
) -> AnytimeAnswer:
    """What a run has come to."""
    proba, used = np.empty((n_rows, n_classes)), np.empty(n_rows, dtype=np.int32)
    run.answer(proba, log_joint)
    run.used(used)
    return AnytimeAnswer(proba, used, perf_counter() - start, not more)
