"""The network behind a classifier, or a network itself."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from tanager.counts.sample import Sample
from tanager.networks.network import Arc
from tanager.plot.canvas import FAINT, INK, Path, headed, panel, paper, text_size, written
from tanager.plot.layers import SHAPE, Layout, Point, layered
from tanager.plot.legend import Legend
from tanager.plot.subject import Subject, subjects

_SIZE = 9  # points, of the names
_PAD = 0.24  # inches from the frame to what is in it
_THIN, _THICK = 0.7, 4.6  # points, of arcs
_LOW, _HIGH = np.array([0xF6, 0xF8, 0xFA]) / 255, np.array([0xA9, 0xC4, 0xD9]) / 255
_CLASS, _EDGE = "#33475b", "#5b7083"


class _Pen(NamedTuple):
    """How an arc is drawn, and what that means."""

    colour: str
    meaning: str
    style: str = "-"


# Colours that most colour-blind readers tell apart (Okabe and Ito); what is not there is dashed as well.
_PLAIN = _Pen("#6b7680", "no order")
_SIGNS = {1: _Pen("#0072b2", "both rise together"), -1: _Pen("#d55e00", "one falls as the other rises"), 0: _PLAIN}
_KEPT, _TURNED = _Pen("#6b7680", "in both"), _Pen("#0072b2", "turned round")
_ADDED, _REMOVED = _Pen("#009e73", "added"), _Pen("#d55e00", "removed", "--")
_EVERYWHERE, _SOMEWHERE, _HERE = (
    _Pen("#6b7680", "in every class"),
    _Pen("#0072b2", "in some"),
    _Pen("#d55e00", "in this class only"),
)


def plot_network(
    what: Any,
    path: Path | None = None,
    *,
    target: str | None = None,
    information: Mapping[Arc, float] | Sample | None = None,
    compare_to: Any = None,
    undirected: Iterable[Arc] = (),
    title: str | None = None,
    caption: str | None = None,
) -> Any:
    """Draw a network or the network of a fitted classifier: the class on top, parents above their children.

    The width of an arc is I(parent; child | other parents), for a classifier with counts of pairs I(child; parent |
    class). Its colour says whether both rise together, where both are numbers, bins or one of two values. The darker a
    box, the more its column tells about the class; what the class does not depend on is pale. A frame with the class
    above it means that the class is a parent of every column in it. The networks of a multi-net are drawn side by side,
    each variable at the same place.

    Parameters
    ----------
    what : Network or classifier
        A fitted one, which has one network (all but votes of many, such as AODE) or one for every class.
    path : path or None, default=None
        Where to write the picture; the ending says the format.
    target : str or None, default=None
        Which variable of a network is the class; how the class of a classifier is called.
    information : mapping from arcs to nats, Sample or None, default=None
        What is behind the arcs, or rows to learn it from. By default tables and counts tell.
    compare_to : Network, classifier or None, default=None
        An expert's or an earlier network: colours then say which arcs are in both, added, removed or turned round.
    undirected : iterable of (name, name)
        Arcs whose direction the data leave open; drawn without a head.
    title : str or None, default=None
        By default the classifier and what it was learned from.
    caption : str or None, default=None
        A line below the picture.

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
    shown = subjects(what, target, information)
    if compare_to is not None:
        shown, pens = _compared(shown, subjects(compare_to, target))
    else:
        pens = _by_class(shown) if len(shown) > 1 else [_by_sign(shown[0])]
    drawing = _Drawing(shown, pens, {frozenset(arc) for arc in undirected})
    return written(drawing.figure(title or shown[0].heading, caption), path)


# --- what colours mean ------------------------------------------------------------------------------------------


def _by_sign(subject: Subject) -> dict[Arc, _Pen]:
    return {arc: _SIGNS[subject.strengths[arc].sign if arc in subject.strengths else 0] for arc in subject.arcs}


def _by_class(shown: Sequence[Subject]) -> list[dict[Arc, _Pen]]:
    """How many of the networks of a multi-net have the arc."""
    n_having = {arc: sum(arc in subject.arcs for subject in shown) for subject in shown for arc in subject.arcs}
    pens = {1: _HERE, len(shown): _EVERYWHERE}
    return [{arc: pens.get(n_having[arc], _SOMEWHERE) for arc in subject.arcs} for subject in shown]


def _compared(shown: Sequence[Subject], others: Sequence[Subject]) -> tuple[list[Subject], list[dict[Arc, _Pen]]]:
    """Every subject with the arcs of the other one as well, and what became of each arc."""
    together, pens = [], []
    for subject, other in zip(shown, itertools.cycle(others)):
        new, old = subject.arcs, other.arcs
        if set(subject.implied) != set(other.implied):
            new, old = subject.all_arcs, other.all_arcs
            subject = replace(subject, implied=())
        pen = {arc: _KEPT if arc in old else _TURNED if arc[::-1] in old else _ADDED for arc in new}
        pen |= {arc: _REMOVED for arc in old if arc not in new and arc[::-1] not in new}
        together.append(replace(subject, arcs=list(pen), faint=frozenset()))
        pens.append(pen)
    return together, pens


# --- the drawing ------------------------------------------------------------------------------------------------


class _Drawing:
    """Panels, one per subject, with every variable at the same place in each."""

    def __init__(
        self, shown: Sequence[Subject], pens: Sequence[dict[Arc, _Pen]], headless: set[frozenset[str]]
    ) -> None:
        self.shown, self.pens, self.headless = shown, pens, headless
        first = shown[0]
        self.labels = {name: _wrapped(name) for name in first.names}
        self.heads = [_wrapped(s.target, 24, 30) if s.target else "" for s in shown]
        sizes = {name: _box_size(label) for name, label in self.labels.items()}
        self.across = len(shown) if len(shown) < 4 else math.ceil(math.sqrt(len(shown)))
        self.down = math.ceil(len(shown) / self.across)
        shape = SHAPE * max(self.down / self.across, 0.5)
        often: dict[Arc, int] = {}
        for arc in (arc for s in shown for arc in s.arcs):
            often[arc] = often.get(arc, 0) + 1
        arcs = sorted(often, key=lambda arc: -often[arc])
        self.framed = bool(first.implied)
        self.outside: Layout | None = None
        if first.target is not None and not self.framed:
            self.labels[first.target] = self.heads[0]
            sizes[first.target] = _box_size(self.heads[0], bold=True)
        if self.framed:
            held = set(first.implied)
            self.inside = layered({n: sizes[n] for n in sizes if n in held}, arcs, shape=shape)
            if left := {n: sizes[n] for n in sizes if n not in held}:
                self.outside = layered(left, (), shape=8 * shape)
        else:
            self.inside = layered(sizes, arcs, first.target, shape=shape)
        self.sizes = sizes
        values = [s.strengths[arc].value for s in shown for arc in s.arcs if arc in s.strengths]
        self.most = max(values, default=0.0)
        self.most_told = max(first.told.values(), default=0.0)
        self._measure()

    def _measure(self) -> None:
        """The size of a panel, and where its parts are."""
        pad = _PAD if self.framed else 0.0
        head = max(_box_size(label, bold=True)[1] for label in self.heads) if self.framed else 0.0
        self.above = head + 0.42 if self.framed else 0.0
        self.below = self.outside.height + 0.3 if self.outside else 0.0
        wide = self.outside.width if self.outside else 0.0
        heads = max(_box_size(label, bold=True)[0] for label in self.heads)
        self.width = max(self.inside.width + 2 * pad, wide, heads)
        self.height = self.above + self.inside.height + 2 * pad + self.below

    def figure(self, title: str, caption: str | None) -> Any:
        margin, between = 0.3, 0.55
        inner = max(self.across * (self.width + between) - between, 5.6)
        legend = self._legend()
        notes = legend.height(inner) + (0.24 if caption else 0.0) + 0.1
        top = 0.58 if title else 0.25
        tall = self.down * (self.height + between) - between
        figure = paper(inner + 2 * margin, tall + top + notes + 0.3)
        axes = panel(figure, 0, 0, figure.get_figwidth(), figure.get_figheight())
        axes.set(xlim=(0, figure.get_figwidth()), ylim=(0, figure.get_figheight()))
        axes.set_axis_off()
        for n, (subject, pens) in enumerate(zip(self.shown, self.pens, strict=True)):
            in_row = min(self.across, len(self.shown) - n // self.across * self.across)
            row = in_row * (self.width + between) - between
            left = margin + (inner - row) / 2 + n % self.across * (self.width + between)
            bottom = notes + 0.3 + (self.down - 1 - n // self.across) * (self.height + between)
            self._panel(_Brush(axes, left, bottom), subject, pens, self.heads[n])
        legend.draw(axes, margin + inner / 2, notes, inner)
        if caption:
            axes.text(margin + inner / 2, 0.12, caption, ha="center", va="bottom", fontsize=8, color=INK)
        headed(figure, title, top=0.16)
        return figure

    def _panel(self, brush: _Brush, subject: Subject, pens: dict[Arc, _Pen], head: str) -> None:
        pad = _PAD if self.framed else 0.0
        x, y = (self.width - self.inside.width) / 2, self.below + pad
        if self.framed:
            size = _box_size(head, bold=True)
            brush.frame(x - pad, y - pad, self.inside.width + 2 * pad, self.inside.height + 2 * pad)
            middle, under = self.width / 2, self.height - size[1]
            brush.arc([(middle, under), (middle, y + self.inside.height + pad)], _Pen(_CLASS, ""), 2.0, head=True)
        inside = brush.moved(x, y)
        for arc in sorted(subject.arcs, key=lambda arc: self._thickness(subject, arc)):
            faint = any(name in subject.faint for name in arc)
            inside.arc(
                self.inside.routes[arc],
                pens[arc],
                self._thickness(subject, arc),
                head=frozenset(arc) not in self.headless,
                faint=faint,
            )
        outside = brush.moved((self.width - self.outside.width) / 2, 0.0) if self.outside else brush
        for name in subject.names:
            held = name in self.inside.places
            layout, where = (self.inside, inside) if held else (self.outside, outside)
            assert layout is not None
            fill = "white" if name in subject.faint else self._shade(subject.told.get(name, 0.0))
            where.box(layout.places[name], self.sizes[name], self.labels[name], fill, faint=name in subject.faint)
        if self.framed:
            brush.box((self.width / 2, self.height - size[1] / 2), size, head, _CLASS, bold=True)
        elif subject.target is not None:
            inside.box(self.inside.places[subject.target], self.sizes[subject.target], head, _CLASS, bold=True)

    def _thickness(self, subject: Subject, arc: Arc) -> float:
        if arc not in subject.strengths or self.most <= 0:
            return 1.4
        return _THIN + (_THICK - _THIN) * math.sqrt(subject.strengths[arc].value / self.most)

    def _shade(self, told: float) -> Any:
        return _LOW + (_HIGH - _LOW) * (told / self.most_told if self.most_told > 0 else 0.0)

    def _legend(self) -> Legend:
        legend = Legend()
        if self.most > 0:
            given = "class" if self.framed and len(self.shown) == 1 else "other parents"
            legend.about(f"I(parent; child | {given}), nats:")
            for value in (self.most, _rounded(self.most / 4), _rounded(self.most / 40)):
                width = _THIN + (_THICK - _THIN) * math.sqrt(value / self.most)
                legend.line(f"{value:.2g}", _PLAIN.colour, width)
        used = dict.fromkeys(pen for pens in self.pens for pen in pens.values())
        if any(pen is not _PLAIN for pen in used):
            legend.about("arcs:")
            for pen in used:
                legend.line(pen.meaning, pen.colour, 2.4, pen.style)
        if any(frozenset(arc) in self.headless for s in self.shown for arc in s.arcs):
            legend.about("no arrow head: the data leave the direction open")
        if self.most_told > 0:
            legend.about("I(column; class), nats:")
            for share in (1.0, 0.5, 0.0):
                legend.box(f"{share * self.most_told:.2g}", self._shade(share * self.most_told), _EDGE)
        if any(s.faint for s in self.shown):
            legend.about("pale: the class does not depend on it, given the others")
        if self.framed:
            legend.about("The class is a parent of every column in the frame.")
        return legend


def _rounded(value: float) -> float:
    return float(f"{value:.1g}")


def _box_size(label: str, *, bold: bool = False) -> Point:
    width, height = text_size(label, _SIZE, bold=bold)
    return max(width + 0.2, 0.4), height + 0.12


def _wrapped(name: str, width: int = 14, most: int = 18) -> str:
    """A name in short lines, broken after spaces, underscores, dots, slashes and hyphens; longer words are cut."""
    if len(name) > 52:  # names that differ often differ at the end
        name = f"{name[:33]}... {name[-15:]}"
    lines = [""]
    for word in re.findall(r"[^\s_./-]*[\s_./-]?", name):
        for piece in [word[at : at + most] for at in range(0, len(word), most)]:
            if len((lines[-1] + piece).rstrip()) <= width or not lines[-1]:
                lines[-1] += piece
            else:
                lines.append(piece)
    return "\n".join(line.strip() for line in lines)


def _paled(colour: str) -> Any:
    from matplotlib.colors import to_rgb

    return tuple(1 - 0.28 * (1 - part) for part in to_rgb(colour))


class _Brush:
    """Draws at a place of the figure."""

    def __init__(self, axes: Any, x: float, y: float) -> None:
        self.axes, self.x, self.y = axes, x, y

    def moved(self, x: float, y: float) -> _Brush:
        return _Brush(self.axes, self.x + x, self.y + y)

    def frame(self, x: float, y: float, width: float, height: float) -> None:
        self._round(x, y, width, height, 0.14, fc="none", ec=FAINT, lw=1.2, zorder=0)

    def box(
        self, middle: Point, size: Point, label: str, fill: Any, *, bold: bool = False, faint: bool = False
    ) -> None:
        (x, y), (width, height) = middle, size
        edge = FAINT if faint else _EDGE
        self._round(x - width / 2, y - height / 2, width, height, 0.07, fc=fill, ec=edge, lw=0.8, zorder=3)
        ink = "white" if bold else "#94a0aa" if faint else INK
        weight = "bold" if bold else "normal"
        spot = {"ha": "center", "va": "center", "linespacing": 1.1}
        self.axes.text(self.x + x, self.y + y, label, fontsize=_SIZE, color=ink, weight=weight, zorder=4, **spot)

    def _round(self, x: float, y: float, width: float, height: float, corner: float, **ink: Any) -> None:
        from matplotlib.patches import FancyBboxPatch

        style = f"round,pad=0,rounding_size={corner}"
        self.axes.add_patch(
            FancyBboxPatch((self.x + x, self.y + y), width, height, boxstyle=style, clip_on=False, **ink)
        )

    def arc(self, points: Sequence[Point], pen: _Pen, width: float, *, head: bool, faint: bool = False) -> None:
        """A line through points that come in pairs: straight from the first to the second, then a swing to the next."""
        from matplotlib.patches import FancyArrowPatch
        from matplotlib.path import Path as Curve

        points = [(self.x + x, self.y + y) for x, y in points]
        vertices, codes = [points[0]], [Curve.MOVETO]
        for at, ((x0, y0), (x1, y1)) in enumerate(itertools.pairwise(points)):
            if at % 2 == 0 and y0 != y1:
                vertices, codes = [*vertices, (x1, y1)], [*codes, Curve.LINETO]
            elif at % 2 == 1:
                vertices += [(x0, (y0 + y1) / 2), (x1, (y0 + y1) / 2), (x1, y1)]
                codes += [Curve.CURVE4] * 3
        style = f"-|>,head_length={2.3 + 0.25 * width:.2f},head_width={1.1 + 0.12 * width:.2f}" if head else "-"
        self.axes.add_patch(
            FancyArrowPatch(
                path=Curve(vertices, codes),
                arrowstyle=style,
                mutation_scale=2,
                lw=width,
                ls=pen.style,
                color=_paled(pen.colour) if faint else pen.colour,
                joinstyle="miter",
                zorder=1 if faint else 2,
                clip_on=False,
            )
        )
