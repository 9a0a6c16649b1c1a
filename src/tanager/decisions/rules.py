"""Policies as short rules: a tree over what is known, in which branches that choose the same are one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

ANY = -1  # a combination that does not occur: any option will do


def rule_lines(known: Mapping[str, Sequence[object]], options: Sequence[object], choices: np.ndarray) -> list[str]:
    """One line per rule.

    >>> rule_lines({"test": ["none", "good", "bad"], "day": ["Sat", "Sun"]}, ["stop", "drill"],
    ...            np.array([[1, 1], [1, 1], [0, 1]]))
    ['if test = none or good: drill', 'if test = bad and day = Sat: stop', 'if test = bad and day = Sun: drill']
    """
    lines: list[str] = []

    def write(cells: np.ndarray, names: list[str], conditions: list[str]) -> None:
        names, cells = _without_idle(names, cells)
        if not names:
            option = options[max(int(cells), 0)]
            lines.append(f"if {' and '.join(conditions)}: {option}" if conditions else f"always: {option}")
            return
        axis = _splitting_axis(cells)
        name, rest = names[axis], names[:axis] + names[axis + 1 :]
        for codes, part in _merged(np.moveaxis(cells, axis, 0)):
            values = " or ".join(str(known[name][v]) for v in codes)
            write(part, rest, [*conditions, f"{name} = {values}"])

    write(choices, list(known), [])
    return lines


def _without_idle(names: list[str], cells: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Without the variables along which the choice never changes."""
    axis = 0
    while axis < cells.ndim:
        top = cells.max(axis=axis, keepdims=True)
        if np.all((cells == top) | (cells == ANY)):
            cells, names = top.squeeze(axis), names[:axis] + names[axis + 1 :]
        else:
            axis += 1
    return names, cells


def _splitting_axis(cells: np.ndarray) -> int:
    """The variable whose values leave the least to be decided: the entropy of the choices given its value."""
    n = int(cells.max()) + 1

    def left(axis: int) -> float:
        total = 0.0
        for part in np.moveaxis(cells, axis, 0):
            counts = np.bincount(part[part != ANY], minlength=n).astype(float)
            shares = counts[counts > 0] / max(counts.sum(), 1.0)
            total -= counts.sum() * float((shares * np.log(shares)).sum())
        return total

    return min(range(cells.ndim), key=lambda axis: (round(left(axis), 9), cells.shape[axis], axis))


def _merged(parts: np.ndarray) -> list[tuple[list[int], Any]]:
    """The values of a variable, those with the same choices together, each with these choices; none for no choice."""
    groups: list[tuple[list[int], Any]] = []
    for v, part in enumerate(parts):
        if np.all(part == ANY):
            continue
        for at, (codes, own) in enumerate(groups):
            if np.all((own == part) | (own == ANY) | (part == ANY)):
                groups[at] = ([*codes, v], np.maximum(own, part))
                break
        else:
            groups.append(([v], part))
    return groups
