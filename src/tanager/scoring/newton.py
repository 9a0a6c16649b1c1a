"""The least value of a convex function of a few numbers, some of which have a lower bound."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

_MOST_STEPS = 100  # some ten are usual
_LEAST_GAIN = 1e-12  # of a step, relative
_LEAST_MOVE = 1e-10  # of a number, relative
_AT_BOUND, _NEAR_BOUND = 1e-12, 1e-4


def _never(w: np.ndarray, gradient: np.ndarray) -> bool:
    """The steps themselves say when they become too small."""
    return False


def least(
    w: np.ndarray,
    loss: Callable[[np.ndarray], float],
    slope: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
    *,
    lower: np.ndarray | float = 0.0,
    done: Callable[[np.ndarray, np.ndarray], bool] = _never,
) -> np.ndarray:
    """The w >= lower of least loss, beginning with some w: Newton's method, in which numbers rest at their bound that
    press against it.

    The loss is convex; ``slope`` gives its gradient and second derivatives. Steps are shortened along the way that they
    are projected to (Bertsekas 1982), so the loss falls with every one of them. ``done`` may end the search early.

    >>> def slope(w):
    ...     return 2 * (w - [3, -1]), 2 * np.eye(2)
    >>> least(np.ones(2), lambda w: float(((w - [3, -1]) ** 2).sum()), slope)
    array([3., 0.])
    """
    value = loss(w)
    for _ in range(_MOST_STEPS):
        gradient, second = slope(w)
        if done(w, gradient):
            break
        # What presses against a bound that is near would keep all others from moving; nearer to the end that is nearer.
        near = np.clip(np.abs(w - np.maximum(w - gradient, lower)).max(initial=0.0), _AT_BOUND, _NEAR_BOUND)
        free = (w > lower + near) | (gradient < 0.0)
        step = np.where(free, 0.0, lower - w)  # what rests at its bound goes there
        inner = second[np.ix_(free, free)]
        ridge = 1e-10 * max(float(np.trace(inner)), 1e-300) * np.eye(len(inner))  # two numbers may say the same
        step[free] = -np.linalg.solve(inner + ridge, gradient[free]) if len(inner) else 0.0
        before, size, longest = value, 1.0, float(np.abs(step).max(initial=0.0))
        shortest = _LEAST_MOVE * (1.0 + float(np.abs(w).max(initial=0.0)))
        while (
            size * longest > shortest
        ):  # where numbers say the same, the whole step may be a thousand million times too long
            new = np.maximum(w + size * step, lower)
            if (value := loss(new)) <= before + 1e-4 * float(gradient @ (new - w)):
                break
            size *= 0.5
        else:
            break  # no step is better: this is the least, up to rounding
        w = new
        if before - value <= _LEAST_GAIN * (1.0 + abs(value)):
            break
    return w
