"""Pictures of networks: a network itself, or that of a fitted classifier."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tanager.errors import check_whole
from tanager.learning.classifier import Classifier
from tanager.networks.network import Arc, Network
from tanager.plot.component_layout import GAP
from tanager.plot.drawable import DrawableNetwork, Information, drawable_networks
from tanager.plot.figure import Path, add_title, new_figure, save_figure, whole_axes
from tanager.plot.layers import SHAPE, layered
from tanager.plot.legend import Legend
from tanager.plot.names import wrapped, wrapped_apart
from tanager.plot.shapes import ArcStyle, ShapeDrawer, box_size
from tanager.plot.strongest import strongest
from tanager.plot.style import BLUE, DARK, EDGE, GREEN, GREY, RED, SMALL, styled
from tanager.structure.learner import LearnedNetwork

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARGIN, BETWEEN, PAD = 0.3, 0.55, 0.24  # inches around the picture, between panels, and inside a frame
THIN, THICK = 0.7, 4.6  # points, of arcs
LOW, HIGH = np.array([0xF6, 0xF8, 0xFA]) / 255, np.array([0xA9, 0xC4, 0xD9]) / 255  # shades of boxes

PLAIN = ArcStyle(GREY, "no order")
SIGNS = {1: ArcStyle(BLUE, "both rise together"), -1: ArcStyle(RED, "one falls as the other rises"), 0: PLAIN}
KEPT, TURNED, ADDED, REMOVED = (
    ArcStyle(GREY, "in both"),
    ArcStyle(BLUE, "turned"),
    ArcStyle(GREEN, "added"),
    ArcStyle(RED, "removed", "--"),
)
CHANGED = (TURNED, ADDED, REMOVED)
EVERYWHERE, SOMEWHERE, HERE = (
    ArcStyle(GREY, "in every class"),
    ArcStyle(BLUE, "in some"),
    ArcStyle(RED, "in this class only"),
)


@styled
def plot_network(
    what: Network | LearnedNetwork | Classifier,
    path: Path | None = None,
    *,
    target: str | None = None,
    information: Information = None,
    compare_to: Network | LearnedNetwork | Classifier | None = None,
    undirected: Iterable[Arc] = (),
    max_columns: int = 60,
    title: str | None = None,
    caption: str | None = None,
) -> Figure:
    """Draw a network or the network of a fitted classifier: the class on top, parents above their children.

    The width of an arc is I(parent; child | other parents). Its colour says whether both rise together, where both are
    numeric, binned or binary. The darker a box, the more information its column has about the class; columns outside
    the Markov blanket of the class are pale. A frame below the class means that the class is a parent of every column
    in it. The networks of a multi-net are drawn side by side, each variable at the same position.

    Parameters
    ----------
    what : Network, LearnedNetwork or classifier
        A fitted classifier must have one network, or one for every class; averages of many, such as AODE, have none.
        Arcs that a learner left without a direction are drawn without a head.
    path : path or None, default=None
        File to write; its extension sets the format: .png, .svg or .pdf.
    target : str or None, default=None
        Which variable of a network is the class; for a classifier, the name to show for its class.
    information : mapping from arcs to nats, Sample or None, default=None
        The information of each arc, or rows to compute it from. By default it comes from the tables or counts.
    compare_to : Network, classifier or None, default=None
        An expert's or an earlier network: colours then show which arcs are in both, added, removed or reversed.
    undirected : iterable of (name, name)
        More arcs whose direction is open.
    max_columns : int, default=60
        Of more columns, so many are drawn: a third are those that tell most about the class, the others those with the
        strongest arcs. With ``compare_to``, those with arcs that differ.
    title : str or None, default=None
        By default the classifier, its rows and columns.
    caption : str or None, default=None
        A line below the picture.

    Returns
    -------
    matplotlib.figure.Figure
        The picture.

    Examples
    --------
    >>> from tanager import TAN
    >>> from tanager.plot import plot_network
    >>> X = [["sun", "no"], ["sun", "no"], ["rain", "yes"], ["rain", "yes"], ["sun", "yes"]]
    >>> figure = plot_network(TAN().fit(X, ["play", "play", "play", "stay", "stay"]))
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['x0', 'x1', 'class']
    """
    check_whole("max_columns", max_columns, 1)
    shown = drawable_networks(what, target, information)
    if compare_to is not None:
        shown, styles = compared(shown, drawable_networks(compare_to, shown[0].target if len(shown) == 1 else target))
    else:
        styles = _by_class(shown) if len(shown) > 1 else [_by_sign(shown[0])]
    headless = {frozenset(arc) for arc in (*undirected, *shown[0].undirected)}
    changed = {arc for own in styles for arc, style in own.items() if style in CHANGED}
    n_columns = len(shown[0].names)
    shown = strongest(shown, max_columns, changed)
    styles = [{arc: own[arc] for arc in drawable.arcs} for drawable, own in zip(shown, styles, strict=True)]
    picture = _Picture(shown, styles, headless, n_columns)
    return save_figure(picture.figure(title or shown[0].heading, caption), path)


# --- colours ------------------------------------------------------------------------------------------


def _by_sign(drawable: DrawableNetwork) -> dict[Arc, ArcStyle]:
    return {arc: SIGNS[drawable.strengths[arc].sign if arc in drawable.strengths else 0] for arc in drawable.arcs}


def _by_class(shown: Sequence[DrawableNetwork]) -> list[dict[Arc, ArcStyle]]:
    """Colours by how many of the networks of a multi-net have the arc."""
    n_having = {arc: sum(arc in drawable.arcs for drawable in shown) for drawable in shown for arc in drawable.arcs}
    styles = {1: HERE, len(shown): EVERYWHERE}
    return [{arc: styles.get(n_having[arc], SOMEWHERE) for arc in drawable.arcs} for drawable in shown]


def compared(
    shown: Sequence[DrawableNetwork], others: Sequence[DrawableNetwork]
) -> tuple[list[DrawableNetwork], list[dict[Arc, ArcStyle]]]:
    """Every network with the arcs of the other one added, and which arcs were kept, reversed, added or removed."""
    together, styles = [], []
    for drawable, other in zip(shown, itertools.cycle(others), strict=False):
        new, old = drawable.arcs, other.arcs
        if set(drawable.implied) != set(other.implied):
            new, old = drawable.all_arcs, other.all_arcs
            drawable = replace(drawable, implied=())
        style = {arc: KEPT if arc in old else TURNED if arc[::-1] in old else ADDED for arc in new}
        style |= {arc: REMOVED for arc in old if arc not in new and arc[::-1] not in new}
        names = tuple(dict.fromkeys((*drawable.names, *other.names)))
        together.append(replace(drawable, names=names, arcs=list(style), faint=frozenset()))
        styles.append(style)
    return together, styles


# --- the picture ------------------------------------------------------------------------------------------------


class _Picture:
    """Panels, one per network, with every variable at the same position in each."""

    def __init__(
        self,
        shown: Sequence[DrawableNetwork],
        styles: Sequence[dict[Arc, ArcStyle]],
        headless: set[frozenset[str]],
        n_columns: int,
    ) -> None:
        self.shown, self.styles, self.headless, self.n_columns = shown, styles, headless, n_columns
        self.first = shown[0]
        self.heads = [wrapped(drawable.target, 24, 30) if drawable.target else "" for drawable in shown]
        self.labels = wrapped_apart(self.first.names)
        self.sizes = {name: box_size(label) for name, label in self.labels.items()}
        self.across = len(shown) if len(shown) < 4 else math.ceil(math.sqrt(len(shown)))
        self.down = math.ceil(len(shown) / self.across)
        self.strongest = max(
            (s.strengths[arc].value for s in shown for arc in s.arcs if arc in s.strengths), default=0.0
        )
        self.highest = max(self.first.class_information.values(), default=0.0)
        self._lay_out()

    @property
    def framed(self) -> bool:
        """Whether the class is drawn above a frame with its children, instead of with arcs to them."""
        return bool(self.first.implied)

    def _lay_out(self) -> None:
        """Positions of all boxes, from the arcs of all panels together; the most common arcs point down."""
        often = Counter(arc for drawable in self.shown for arc in drawable.arcs)
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
        """The whole figure."""
        inner = max(self.across * (self.width + BETWEEN) - BETWEEN, 5.6)
        tall = self.down * (self.height + BETWEEN) - BETWEEN
        legend = self._legend()
        below = legend.height(inner) + (0.24 if caption else 0.0) + 0.1
        figure = new_figure(inner + 2 * MARGIN, MARGIN + below + tall + (0.58 if title else 0.25))
        axes, notes = whole_axes(figure), whole_axes(figure)
        for n, (drawable, styles) in enumerate(zip(self.shown, self.styles, strict=True)):
            line, place = divmod(n, self.across)
            in_line = min(self.across, len(self.shown) - line * self.across)
            left = MARGIN + (inner - in_line * (self.width + BETWEEN) + BETWEEN) / 2
            bottom = below + MARGIN + (self.down - 1 - line) * (self.height + BETWEEN)
            self._panel(
                ShapeDrawer(axes, left + place * (self.width + BETWEEN), bottom), drawable, styles, self.heads[n]
            )
        legend.draw(notes, MARGIN + inner / 2, below, inner)
        if caption:
            notes.text(MARGIN + inner / 2, 0.12, caption, ha="center", va="bottom", fontsize=SMALL)
        add_title(figure, title, top=0.16)
        return figure

    def _panel(self, drawer: ShapeDrawer, drawable: DrawableNetwork, styles: Mapping[Arc, ArcStyle], head: str) -> None:
        middle = self.width / 2
        inside = drawer.moved(middle - self.inside.width / 2, self.floor + self.pad)
        outside = drawer.moved(middle - self.outside.width / 2, 0.0)
        for arc in sorted(drawable.arcs, key=lambda arc: self._thickness(drawable, arc)):
            faint, headless = not drawable.faint.isdisjoint(arc), frozenset(arc) in self.headless
            inside.arc(
                self.inside.routes[arc], styles[arc], self._thickness(drawable, arc), head=not headless, faint=faint
            )
        for name, size in self.sizes.items():
            here, layout = (inside, self.inside) if name in self.inside.places else (outside, self.outside)
            if name == drawable.target:
                here.box(layout.places[name], size, head, DARK, bold=True)
            else:
                faint = name in drawable.faint
                shade = "white" if faint else self._shade(drawable.class_information.get(name, 0.0))
                here.box(layout.places[name], size, self.labels[name], shade, faint=faint)
        if self.framed:
            size = box_size(head, bold=True)
            wide, high = self.inside.width + 2 * self.pad, self.inside.height + 2 * self.pad
            drawer.frame(middle - wide / 2, self.floor, wide, high)
            drawer.arc([(middle, self.height - size[1]), (middle, self.ceiling)], ArcStyle(DARK, ""), 2.0)
            drawer.box((middle, self.height - size[1] / 2), size, head, DARK, bold=True)

    def _thickness(self, drawable: DrawableNetwork, arc: Arc) -> float:
        return self._width(drawable.strengths[arc].value) if arc in drawable.strengths and self.strongest else 1.4

    def _width(self, value: float) -> float:
        return THIN + (THICK - THIN) * math.sqrt(value / self.strongest)

    def _shade(self, information: float) -> Any:
        return LOW + (HIGH - LOW) * (information / self.highest if self.highest > 0 else 0.0)

    def _why(self) -> str:
        """Why these columns are shown and not others."""
        if any(style in CHANGED for own in self.styles for style in own.values()):
            return "those whose arcs differ"
        if not any(drawable.arcs for drawable in self.shown):
            return "those that tell most about the class"
        arcs = "those with the strongest arcs" if self.strongest > 0 else "those with most arcs"
        return f"a third tell most about the class, the others are {arcs}" if self.highest > 0 else arcs

    def _legend(self) -> Legend:
        legend = Legend()
        if self.first.remark:
            legend.heading(self.first.remark)
        if len(self.first.names) < self.n_columns:
            legend.heading(f"{len(self.first.names)} of {self.n_columns} columns: {self._why()}")
        if self.strongest > 0:
            legend.heading("I(parent; child | other parents), nats:")
            for value in (self.strongest, _rounded(self.strongest / 4), _rounded(self.strongest / 40)):
                legend.line(f"{value:.2g}", GREY, self._width(value))
        used = dict.fromkeys(style for styles in self.styles for style in styles.values())
        if any(style is not PLAIN for style in used):
            legend.heading("arcs:")
            for style in used:
                legend.line(style.meaning, style.colour, 2.4, style.dashes)
        if any(frozenset(arc) in self.headless for drawable in self.shown for arc in drawable.arcs):
            legend.heading("no arrow head: the data do not determine the direction")
        if self.highest > 0:
            legend.heading("I(column; class), nats:")
            for value in (self.highest, self.highest / 2, 0.0):
                legend.box(f"{value:.2g}", self._shade(value), EDGE)
        if any(drawable.faint for drawable in self.shown):
            legend.heading("pale: the class does not depend on it, given the others")
        if self.framed:
            legend.heading("The class is a parent of every column in the frame.")
        return legend


def _rounded(value: float) -> float:
    return float(f"{value:.1g}")
