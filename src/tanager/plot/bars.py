"""What pictures with one line for each column share: the largest first, the rest together, long names cut."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tanager.errors import check_whole
from tanager.plot.figure import FAINT, INK, add_panel, new_figure, text_size

LINE = 0.27  # inches from one column to the next
LONGEST = 38  # characters of a name that are shown
TOP = 15  # columns that are shown one by one
FOR, AGAINST = "#2f6f9f", "#c2571a"  # told apart by most colour-blind readers, and one is darker in print


def shortened(text: str, most: int = LONGEST) -> str:
    """A text of at most so many characters; of a longer one, beginning and end.

    >>> shortened("a long name of a column", 11)
    'a lon…olumn'
    """
    if len(text) <= most:
        return text
    head = most // 2
    return f"{text[:head]}…{text[len(text) - (most - 1 - head) :]}"


def bin_text(value: object) -> str:
    """A value as it is written in a picture; a bin without an end by its other end.

    >>> bin_text("(-inf, 2.5]"), bin_text("(2.5, inf)"), bin_text("(1, 2]"), bin_text("red")
    ('≤ 2.5', '> 2.5', '(1, 2]', 'red')
    """
    text = str(value)
    if text.startswith("(-inf, ") and text.endswith("]"):
        return f"≤ {text[7:-1]}"
    return f"> {text[1:-6]}" if text.startswith("(") and text.endswith(", inf)") else text


def cell_text(column: str, value: object) -> str:
    """Column and value: "colour = red", "age > 65"."""
    text = bin_text(value)
    return f"{column} {text}" if text[:1] in ("≤", ">") else f"{column} = {text}"


def largest(sizes: np.ndarray, top: int) -> tuple[list[int], list[int]]:
    """The places of the largest numbers, and those of all others; a single other is shown, too."""
    check_whole("top", top, 1)
    order = np.argsort(-sizes, kind="stable").tolist()
    return (order, []) if len(order) <= top + 1 else (order[:top], order[top:])


def lined_panel(names: Sequence[str], width: float, *, head: float, foot: float, right: float = 0.2) -> tuple[Any, Any]:
    """A figure with axes that have one line for each name, the first on top, and room for the names on the left."""
    left = max(text_size(name, 9)[0] for name in names) + 0.25
    height = LINE * len(names) + 0.1
    figure = new_figure(left + width + right, height + head + foot)
    axes = add_panel(figure, left, foot, width, height)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_yticks(range(len(names)), names, fontsize=9, color=INK)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x", color=FAINT, lw=0.6, alpha=0.6)
    axes.set_axisbelow(True)
    return figure, axes


def signed(number: float) -> str:
    """A number with its sign, as it is written beside a bar."""
    if np.isinf(number):
        return "+∞" if number > 0 else "-∞"
    return f"{number:+.2f}"
