"""What pictures with one line for each column share: the largest first, the rest together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tanager.errors import check_whole
from tanager.plot.figure import add_panel, new_figure, text_size
from tanager.plot.style import GRID, NAME

LINE = 0.27  # inches from one column to the next
TOP = 15  # columns that are shown one by one


def largest(sizes: np.ndarray, top: int) -> tuple[list[int], list[int]]:
    """The places of the largest numbers, and those of all others; a single other is shown, too."""
    check_whole("top", top, 1)
    order = np.argsort(-sizes, kind="stable").tolist()
    return (order, []) if len(order) <= top + 1 else (order[:top], order[top:])


def lined_panel(names: Sequence[str], width: float, *, head: float, foot: float, right: float = 0.2) -> tuple[Any, Any]:
    """A figure with axes that have one line for each name, the first on top, and room for the names on the left."""
    left = max(text_size(name, NAME)[0] for name in names) + 0.25
    height = LINE * len(names) + 0.1
    figure = new_figure(left + width + right, height + head + foot)
    axes = add_panel(figure, left, foot, width, height)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_yticks(range(len(names)), names, fontsize=NAME)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x", **GRID)
    return figure, axes


def signed(number: float) -> str:
    """A number with its sign, as it is written beside a bar."""
    if np.isinf(number):
        return "+∞" if number > 0 else "-∞"
    return f"{number:+.2f}"
