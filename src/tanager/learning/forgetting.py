"""Forgetting: learned rows are taken away, leave a window, or fade."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tanager.encoding.validation import check_times
from tanager.errors import OptionError, is_number

if TYPE_CHECKING:
    from tanager.learning.counts_classifier import CountsClassifier


def unlearn(model: CountsClassifier, X: Any, y: Any, sample_weight: Any, times: Any) -> None:
    """Take learned rows away, as if they had never been seen."""
    model.check_teachable()
    if model._contest is not None:
        raise OptionError(f"{model!r} cannot unlearn rows: challengers have learned only those since their turn began.")
    block = model.known_rows(X, y, sample_weight, times, unseen="as learned")
    if sample_weight is not None and block.weights is None:  # all are 1, which is not always a whole row
        block = block.weighing(np.ones(len(block)))
    model._learned.remove(block, model.n_threads)
    model._warm_up = None  # its rows would be counted again
    model._recutting = None  # and so would those that new cut points are learned from


def advance(model: CountsClassifier, time: Any) -> None:
    """Let time pass without a row."""
    model.check_fitted()
    clock = model._learned.clock
    if clock is None or not clock.timed:
        raise OptionError(
            f"this {type(model).__name__} does not forget by time. Give it decay='6 h' or window='30 min'."
        )
    given = check_times([time], 1)
    assert given is not None
    now = float(given[0])
    model._warm_up = None  # its rows would be learned again
    if clock.now is not None and now > clock.now:
        model._learned.advance(now)
    for challenger in _challengers(model):
        challenger.advance(time)


def shrink(model: CountsClassifier, n_rows: int) -> None:
    """Let all rows of the window leave but the last ones."""
    model.check_fitted()
    rows = model._learned.rows
    if model.window is None or rows is None:
        raise OptionError(f"this {type(model).__name__} has no window that could shrink. Give it window=1000, say.")
    if not is_number(n_rows, 0) or int(n_rows) != n_rows:
        raise OptionError(f"shrink({n_rows!r}): give a whole number of rows of at least 0.")
    model._warm_up = None
    model._learned.drop_oldest(max(0, len(rows) - int(n_rows)))
    for challenger in _challengers(model):
        challenger.shrink(n_rows)


def fade(model: CountsClassifier, factor: float) -> None:
    """Let all that was learned fade by a factor at once."""
    model.check_fitted()
    model._warm_up = None
    model._learned.fade(factor)
    if model._recutting is not None:
        model._recutting.fade(factor)
    for challenger in _challengers(model):
        challenger.fade(factor)


def _challengers(model: CountsClassifier) -> list[CountsClassifier]:
    """Models that compete with this one along a stream, and forget with it."""
    return [] if model._contest is None else model._contest.challengers
