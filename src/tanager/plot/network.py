"""The network behind a classifier."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tanager.errors import OptionError
from tanager.plot.canvas import ARC, FAINT, INK, QUIET, Path, canvas, headed, written
from tanager.structure.measures import class_information, conditional_information

_CHARACTER, _LINE = 0.083, 0.155  # inches that a character of 9 points takes
_GAP, _DROP = 0.24, 0.62  # inches between boxes of a row, and between rows
_LOW, _HIGH = np.array([0xF4, 0xF7, 0xFA]) / 255, np.array([0x8F, 0xBC, 0xDD]) / 255


def plot_network(model: Any, path: Path | None = None, *, class_name: str = "class", title: str | None = None) -> Any:
    """Draw the network of a fitted classifier, parents above their children and the class on top.

    The width of an arc is I(child; parent | class). The darker a box, the more its column tells about the class.
    Made for classifiers with one network: NaiveBayes, TAN, FAN, KDB and SuperParentTAN.

    Parameters
    ----------
    model : classifier
        Fitted.
    path : path or None, default=None
        Where to write the picture; the ending says the format.
    class_name : str, default="class"
        What the box on top says.
    title : str or None, default=None
        By default the classifier and what it was learned from.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> from tanager import TAN
    >>> from tanager.plot import plot_network
    >>> X = [["sun", "no"], ["sun", "no"], ["rain", "yes"], ["rain", "yes"], ["sun", "yes"]]
    >>> figure = plot_network(TAN().fit(X, ["play", "play", "play", "stay", "stay"]))
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['x0', 'x1', 'class']
    """
    parents = _parents(model)
    counts = model.counts_
    told = class_information(counts)
    shared = conditional_information(counts) if any(parents) else np.zeros((len(parents), len(parents)))
    top = len(parents)  # the class: one more box, drawn as the parent of columns that have no other
    boxes = [_Box.of(name) for name in (*counts.schema.names, class_name)]
    drawing = _Layers([*(own or (top,) for own in parents), ()], boxes)

    figure, axes = canvas(drawing.width, drawing.height, margin=0.3, head=0.55, foot=0.55)
    largest = max([shared[i, j] for i, p in enumerate(parents) for j in p], default=0.0) or 1.0
    for (j, i), stops in drawing.routes.items():
        if j == top:
            axes.plot([boxes[j].x, boxes[i].x], [boxes[j].bottom, boxes[i].top], color=FAINT, lw=0.8, zorder=1)
        else:
            _arc(axes, boxes[j], stops, boxes[i], width=0.8 + 4.2 * shared[i, j] / largest)
    strongest = told.max(initial=0.0) or 1.0
    for box, information in zip(boxes[:top], told, strict=True):
        _draw_box(axes, box, _LOW + (_HIGH - _LOW) * information / strongest, INK)
    _draw_box(axes, boxes[top], "#33475b", "white", bold=True)
    n_arcs = sum(len(p) for p in parents)
    heading = f"{type(model).__name__}: {counts.n_rows:,.0f} rows, {top} columns"
    heading += f", {n_arcs} arcs among them" if n_arcs else ""
    headed(figure, title or heading, top=0.12)
    arcs = f"Arc width: I(child; parent | class), up to {largest:.3g} nats. " if n_arcs else ""
    shades = f"Box shade: I(column; class), up to {strongest:.3g} nats." if told.any() else ""
    only = ", grey where it is the only one" if n_arcs else ""
    note = f"{arcs}{shades}\nThe class is a parent of every column{only}."
    figure.text(0.5, 0.08 / figure.get_figheight(), note, ha="center", va="bottom", fontsize=8, color=QUIET)
    return written(figure, path)


# --- who depends on whom ----------------------------------------------------------------------------------------


def _parents(model: Any) -> list[tuple[int, ...]]:
    """The parents of every column as places."""
    from tanager.classifiers.naive import NaiveBayes

    if isinstance(model, NaiveBayes):
        model._ready()
        return [()] * model.counts_.n_features
    if not hasattr(type(model), "parents_"):
        raise OptionError(
            f"{type(model).__name__} is not one network but a vote of many. Draw NaiveBayes, TAN, FAN, KDB or "
            "SuperParentTAN; all of them can be made from the same counts with from_counts(model.counts_)."
        )
    named = model.parents_
    names = model.counts_.schema.names
    return [tuple(names.index(parent) for parent in named[name]) for name in names]


# --- layers -----------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class _Box:
    """A box with its label; or, without a label, a place that a long arc passes through."""

    label: str = ""
    width: float = 0.12
    height: float = 0.0
    x: float = 0.0
    y: float = 0.0
    neighbours: list[_Box] = field(default_factory=list)

    @classmethod
    def of(cls, name: str) -> _Box:
        if len(name) > 52:  # names that differ often differ at the end
            name = f"{name[:33]}... {name[-15:]}"
        lines = _wrapped(name)
        return cls("\n".join(lines), max(map(len, lines)) * _CHARACTER + 0.22, len(lines) * _LINE + 0.14)

    @property
    def top(self) -> float:
        return self.y + self.height / 2

    @property
    def bottom(self) -> float:
        return self.y - self.height / 2


def _wrapped(name: str, width: int = 14, most: int = 18) -> list[str]:
    """A name in short lines, broken after spaces, underscores, dots, slashes and hyphens; longer words are cut."""
    lines = [""]
    for word in re.findall(r"[^\s_./-]*[\s_./-]?", name):
        for piece in [word[at : at + most] for at in range(0, len(word), most)]:
            if len((lines[-1] + piece).rstrip()) <= width or not lines[-1]:
                lines[-1] += piece
            else:
                lines.append(piece)
    return [line.strip() for line in lines]


class _Layers:
    """Places boxes in rows: parents above children, short arcs, rows not too long. The last box is the class."""

    def __init__(self, parents: Sequence[tuple[int, ...]], boxes: Sequence[_Box]) -> None:
        most = max(6, math.ceil(1.5 * math.sqrt(len(boxes))))
        if len(boxes) > most:  # rows of about one length
            most = math.ceil((len(boxes) - 1) / math.ceil((len(boxes) - 1) / most))
        row_of = _rows(parents, most)
        rows: list[list[_Box]] = [[] for _ in range(max(row_of, default=-1) + 1)]
        for i in sorted(range(len(boxes)), key=lambda i: row_of[i]):
            rows[row_of[i]].append(boxes[i])
        self.routes: dict[tuple[int, int], list[_Box]] = {}
        for i, own in enumerate(parents):
            for j in own:
                # The class has too many arcs to go round boxes; its straight lines pass behind them.
                stops = [] if j == len(boxes) - 1 else [_Box() for _ in range(row_of[i] - row_of[j] - 1)]
                for at, stop in enumerate(stops, start=row_of[j] + 1):
                    rows[at].append(stop)
                chain = [boxes[j], *stops, boxes[i]]
                for a, b in itertools.pairwise(chain):
                    a.neighbours.append(b)
                    b.neighbours.append(a)
                self.routes[j, i] = stops
        for row in rows:
            _spread(row, keep_order=True)
        for sweep in range(24):
            for row in rows if sweep % 2 == 0 else reversed(rows):
                for box in row:
                    if box.neighbours:
                        box.x = sum(b.x for b in box.neighbours) / len(box.neighbours)
                _spread(row, keep_order=sweep > 16)
        left = min((b.x - b.width / 2 for row in rows for b in row), default=0.0)
        self.width = max((b.x + b.width / 2 for row in rows for b in row), default=0.0) - left
        depth = 0.0
        for row in reversed(rows):
            tall = max(b.height for b in row)
            for box in row:
                box.x, box.y = box.x - left, depth + tall / 2
            depth += tall + _DROP
        self.height = depth - _DROP


def _rows(parents: Sequence[tuple[int, ...]], most: int) -> list[int]:
    """The row of every column, parents before children and at most so many in a row; long branches go first."""
    children: list[list[int]] = [[] for _ in parents]
    for i, own in enumerate(parents):
        for j in own:
            children[j].append(i)
    order = sorted(range(len(parents)), key=lambda i: -_count_below(i, children))
    row_of = [-1] * len(parents)
    filled: dict[int, int] = {}
    waiting = order
    while waiting:
        ready = [i for i in waiting if all(row_of[j] >= 0 for j in parents[i])]
        i = ready[0]
        row = max((row_of[j] + 1 for j in parents[i]), default=0)
        while filled.get(row, 0) >= most:
            row += 1
        filled[row] = filled.get(row, 0) + 1
        row_of[i] = row
        waiting = [other for other in waiting if other != i]
    return row_of


def _count_below(i: int, children: Sequence[Sequence[int]]) -> int:
    """How many columns hang below one."""
    below: set[int] = set()
    queue = list(children[i])
    while queue:
        j = queue.pop()
        if j not in below:
            below.add(j)
            queue += children[j]
    return len(below)


def _spread(row: list[_Box], *, keep_order: bool) -> None:
    """Move the boxes of a row as little as possible (least squares) so that none touch."""
    if not keep_order:
        row.sort(key=lambda box: box.x)
    # Take away the room that the boxes before each one need; what is left must not descend (pool adjacent violators).
    needed = np.cumsum([0.0, *((a.width + b.width) / 2 + _GAP for a, b in itertools.pairwise(row))])
    blocks: list[tuple[float, int]] = []
    for box, offset in zip(row, needed, strict=True):
        blocks.append((box.x - offset, 1))
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (a, n), (b, m) = blocks[-2:]
            blocks[-2:] = [((a * n + b * m) / (n + m), n + m)]
    free = np.repeat([mean for mean, _ in blocks], [size for _, size in blocks])
    for box, x in zip(row, free + needed, strict=True):
        box.x = float(x)


# --- ink --------------------------------------------------------------------------------------------------------


def _draw_box(axes: Any, box: _Box, fill: Any, ink: str, *, bold: bool = False) -> None:
    from matplotlib.patches import FancyBboxPatch

    style = "round,pad=0,rounding_size=0.07"
    corner = (box.x - box.width / 2, box.bottom)
    axes.add_patch(
        FancyBboxPatch(
            corner, box.width, box.height, boxstyle=style, fc=fill, ec="#5b7083", lw=0.8, zorder=3, clip_on=False
        )
    )
    weight = "bold" if bold else "normal"
    axes.text(box.x, box.y, box.label, ha="center", va="center", fontsize=9, color=ink, weight=weight, zorder=4)


def _arc(axes: Any, parent: _Box, stops: Sequence[_Box], child: _Box, *, width: float) -> None:
    """A curve that leaves the parent downwards, passes the stops and enters the child from above."""
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path as Curve

    points = [(parent.x, parent.bottom), *((s.x, s.y) for s in stops), (child.x, child.top + 0.02)]
    vertices, codes = [points[0]], [Curve.MOVETO]
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        middle = (y0 + y1) / 2
        vertices += [(x0, middle), (x1, middle), (x1, y1)]
        codes += [Curve.CURVE4] * 3
    head = f"-|>,head_length={2.2 + 0.5 * width:.2f},head_width={1.2 + 0.35 * width:.2f}"
    axes.add_patch(
        FancyArrowPatch(path=Curve(vertices, codes), arrowstyle=head, mutation_scale=2, lw=width, color=ARC, zorder=2)
    )
