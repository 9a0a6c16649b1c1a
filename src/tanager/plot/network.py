"""The network behind a classifier, or a network itself."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tanager.networks.network import Arc
from tanager.plot.canvas import INK, Path, headed, panel, paper, written
from tanager.plot.ink import DARK, EDGE, Brush, Pen, box_size, wrapped
from tanager.plot.layers import SHAPE, layered
from tanager.plot.legend import Legend
from tanager.plot.pieces import GAP
from tanager.plot.subject import Information, Subject, subjects

MARGIN, BETWEEN, PAD = 0.3, 0.55, 0.24  # inches around all, between panels, and from a frame to what is in it
THIN, THICK = 0.7, 4.6  # points, of arcs
LOW, HIGH = np.array([0xF6, 0xF8, 0xFA]) / 255, np.array([0xA9, 0xC4, 0xD9]) / 255  # shades of boxes

# Colours that most colour-blind readers tell apart (Okabe and Ito); what is not there is dashed as well.
GREY, BLUE, GREEN, RED = "#6b7680", "#0072b2", "#009e73", "#d55e00"
PLAIN = Pen(GREY, "no order")
SIGNS = {1: Pen(BLUE, "both rise together"), -1: Pen(RED, "one falls as the other rises"), 0: PLAIN}
KEPT, TURNED, ADDED, REMOVED = Pen(GREY, "in both"), Pen(BLUE, "turned"), Pen(GREEN, "added"), Pen(RED, "removed", "--")
EVERYWHERE, SOMEWHERE, HERE = Pen(GREY, "in every class"), Pen(BLUE, "in some"), Pen(RED, "in this class only")


def plot_network(
    what: Any,
    path: Path | None = None,
    *,
    target: str | None = None,
    information: Information = None,
    compare_to: Any = None,
    undirected: Iterable[Arc] = (),
    title: str | None = None,
    caption: str | None = None,
) -> Any:
    """Draw a network or the network of a fitted classifier: the class on top, parents above their children.

    The width of an arc is I(parent; child | other parents). Its colour says whether both rise together, where both are
    numbers, bins or one of two values. The darker a box, the more its column tells about the class; what the class does
    not depend on is pale. A frame with the class above it means that the class is a parent of every column in it. The
    networks of a multi-net are drawn side by side, each variable at the same place.

    Parameters
    ----------
    what : Network, Learned or classifier
        A fitted one, which has one network (all but votes of many, such as AODE) or one for every class. Arcs that a
        learner left without a direction are drawn without a head.
    path : path or None, default=None
        Where to write the picture; the ending says the format.
    target : str or None, default=None
        Which variable of a network is the class; how the class of a classifier is called.
    information : mapping from arcs to nats, Sample or None, default=None
        What is behind the arcs, or rows to learn it from. By default tables and counts tell.
    compare_to : Network, classifier or None, default=None
        An expert's or an earlier network: colours then say which arcs are in both, added, removed or turned round.
    undirected : iterable of (name, name)
        More arcs whose direction is open.
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
        shown, pens = compared(shown, subjects(compare_to, shown[0].target if len(shown) == 1 else target))
    else:
        pens = _by_class(shown) if len(shown) > 1 else [_by_sign(shown[0])]
    headless = {frozenset(arc) for arc in (*undirected, *shown[0].undirected)}
    picture = _Picture(shown, pens, headless)
    return written(picture.figure(title or shown[0].heading, caption), path)


# --- what colours mean ------------------------------------------------------------------------------------------


def _by_sign(subject: Subject) -> dict[Arc, Pen]:
    return {arc: SIGNS[subject.strengths[arc].sign if arc in subject.strengths else 0] for arc in subject.arcs}


def _by_class(shown: Sequence[Subject]) -> list[dict[Arc, Pen]]:
    """How many of the networks of a multi-net have the arc."""
    n_having = {arc: sum(arc in subject.arcs for subject in shown) for subject in shown for arc in subject.arcs}
    pens = {1: HERE, len(shown): EVERYWHERE}
    return [{arc: pens.get(n_having[arc], SOMEWHERE) for arc in subject.arcs} for subject in shown]


def compared(shown: Sequence[Subject], others: Sequence[Subject]) -> tuple[list[Subject], list[dict[Arc, Pen]]]:
    """Every subject with the arcs of the other one as well, and what became of each arc."""
    together, pens = [], []
    for subject, other in zip(shown, itertools.cycle(others), strict=False):
        new, old = subject.arcs, other.arcs
        if set(subject.implied) != set(other.implied):
            new, old = subject.all_arcs, other.all_arcs
            subject = replace(subject, implied=())
        pen = {arc: KEPT if arc in old else TURNED if arc[::-1] in old else ADDED for arc in new}
        pen |= {arc: REMOVED for arc in old if arc not in new and arc[::-1] not in new}
        names = tuple(dict.fromkeys((*subject.names, *other.names)))
        together.append(replace(subject, names=names, arcs=list(pen), faint=frozenset()))
        pens.append(pen)
    return together, pens


# --- the picture ------------------------------------------------------------------------------------------------


class _Picture:
    """Panels, one per subject, with every variable at the same place in each."""

    def __init__(self, shown: Sequence[Subject], pens: Sequence[dict[Arc, Pen]], headless: set[frozenset[str]]) -> None:
        self.shown, self.pens, self.headless = shown, pens, headless
        self.first = shown[0]
        self.heads = [wrapped(subject.target, 24, 30) if subject.target else "" for subject in shown]
        self.labels = {name: wrapped(name) for name in self.first.names}
        self.sizes = {name: box_size(label) for name, label in self.labels.items()}
        self.across = len(shown) if len(shown) < 4 else math.ceil(math.sqrt(len(shown)))
        self.down = math.ceil(len(shown) / self.across)
        self.strongest = max(
            (s.strengths[arc].value for s in shown for arc in s.arcs if arc in s.strengths), default=0.0
        )
        self.most_told = max(self.first.told.values(), default=0.0)
        self._lay_out()

    @property
    def framed(self) -> bool:
        """Whether the class stands above a frame with its children, instead of having arcs to them."""
        return bool(self.first.implied)

    def _lay_out(self) -> None:
        """Places of all boxes, from the arcs of all panels together; those that most have point down."""
        often = Counter(arc for subject in self.shown for arc in subject.arcs)
        arcs, shape = [arc for arc, _ in often.most_common()], SHAPE * max(self.down / self.across, 0.5)
        held = {name: size for name, size in self.sizes.items() if not self.framed or name in self.first.implied}
        left = {name: size for name, size in self.sizes.items() if name not in held}
        head = max((box_size(label, bold=True) for label in self.heads), key=lambda size: size[0])
        if self.first.target is not None and not self.framed:
            held[self.first.target] = self.sizes[self.first.target] = head
        self.inside = layered(held, arcs, None if self.framed else self.first.target, shape=shape)
        area = sum((width + GAP) * (height + GAP) for width, height in left.values())
        self.outside = layered(left, (), shape=max(self.inside.width, 6.0) ** 2 / max(area, 1.0))
        self.pad = PAD if self.framed else 0.0
        self.width = max(self.inside.width + 2 * self.pad, self.outside.width, head[0])
        self.floor = self.outside.height + 0.3 if left else 0.0  # of the frame
        self.ceiling = self.floor + self.inside.height + 2 * self.pad
        self.height = self.ceiling + 0.42 + head[1] if self.framed else self.ceiling

    def figure(self, title: str, caption: str | None) -> Any:
        """Everything on paper."""
        inner = max(self.across * (self.width + BETWEEN) - BETWEEN, 5.6)
        tall = self.down * (self.height + BETWEEN) - BETWEEN
        legend = self._legend()
        below = legend.height(inner) + (0.24 if caption else 0.0) + 0.1
        figure = paper(inner + 2 * MARGIN, MARGIN + below + tall + (0.58 if title else 0.25))
        axes, notes = _whole(figure), _whole(figure)
        for n, (subject, pens) in enumerate(zip(self.shown, self.pens, strict=True)):
            line, place = divmod(n, self.across)
            in_line = min(self.across, len(self.shown) - line * self.across)
            left = MARGIN + (inner - in_line * (self.width + BETWEEN) + BETWEEN) / 2
            bottom = below + MARGIN + (self.down - 1 - line) * (self.height + BETWEEN)
            self._panel(Brush(axes, left + place * (self.width + BETWEEN), bottom), subject, pens, self.heads[n])
        legend.draw(notes, MARGIN + inner / 2, below, inner)
        if caption:
            notes.text(MARGIN + inner / 2, 0.12, caption, ha="center", va="bottom", fontsize=8, color=INK)
        headed(figure, title, top=0.16)
        return figure

    def _panel(self, brush: Brush, subject: Subject, pens: Mapping[Arc, Pen], head: str) -> None:
        middle = self.width / 2
        inside = brush.moved(middle - self.inside.width / 2, self.floor + self.pad)
        outside = brush.moved(middle - self.outside.width / 2, 0.0)
        for arc in sorted(subject.arcs, key=lambda arc: self._thickness(subject, arc)):
            faint, headless = not subject.faint.isdisjoint(arc), frozenset(arc) in self.headless
            inside.arc(
                self.inside.routes[arc], pens[arc], self._thickness(subject, arc), head=not headless, faint=faint
            )
        for name, size in self.sizes.items():
            here, layout = (inside, self.inside) if name in self.inside.places else (outside, self.outside)
            if name == subject.target:
                here.box(layout.places[name], size, head, DARK, bold=True)
            else:
                faint = name in subject.faint
                shade = "white" if faint else self._shade(subject.told.get(name, 0.0))
                here.box(layout.places[name], size, self.labels[name], shade, faint=faint)
        if self.framed:
            size = box_size(head, bold=True)
            wide, high = self.inside.width + 2 * self.pad, self.inside.height + 2 * self.pad
            brush.frame(middle - wide / 2, self.floor, wide, high)
            brush.arc([(middle, self.height - size[1]), (middle, self.ceiling)], Pen(DARK, ""), 2.0)
            brush.box((middle, self.height - size[1] / 2), size, head, DARK, bold=True)

    def _thickness(self, subject: Subject, arc: Arc) -> float:
        return self._width(subject.strengths[arc].value) if arc in subject.strengths and self.strongest else 1.4

    def _width(self, value: float) -> float:
        return THIN + (THICK - THIN) * math.sqrt(value / self.strongest)

    def _shade(self, told: float) -> Any:
        return LOW + (HIGH - LOW) * (told / self.most_told if self.most_told > 0 else 0.0)

    def _legend(self) -> Legend:
        legend = Legend()
        if self.strongest > 0:
            legend.about("I(parent; child | other parents), nats:")
            for value in (self.strongest, _rounded(self.strongest / 4), _rounded(self.strongest / 40)):
                legend.line(f"{value:.2g}", GREY, self._width(value))
        used = dict.fromkeys(pen for pens in self.pens for pen in pens.values())
        if any(pen is not PLAIN for pen in used):
            legend.about("arcs:")
            for pen in used:
                legend.line(pen.meaning, pen.colour, 2.4, pen.style)
        if any(frozenset(arc) in self.headless for subject in self.shown for arc in subject.arcs):
            legend.about("no arrow head: the data leave the direction open")
        if self.most_told > 0:
            legend.about("I(column; class), nats:")
            for told in (self.most_told, self.most_told / 2, 0.0):
                legend.box(f"{told:.2g}", self._shade(told), EDGE)
        if any(subject.faint for subject in self.shown):
            legend.about("pale: the class does not depend on it, given the others")
        if self.framed:
            legend.about("The class is a parent of every column in the frame.")
        return legend


def _whole(figure: Any) -> Any:
    """Axes over the whole figure, in inches."""
    size = figure.get_figwidth(), figure.get_figheight()
    axes = panel(figure, 0, 0, *size)
    axes.set(xlim=(0, size[0]), ylim=(0, size[1]))
    axes.set_axis_off()
    return axes


def _rounded(value: float) -> float:
    return float(f"{value:.1g}")
