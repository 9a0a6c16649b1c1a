"""Networks drawn as text, for terminals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tanager.learning.classifier import Classifier
from tanager.networks.network import Arc, Network
from tanager.plot.drawable import DrawableNetwork, Information, drawable_networks
from tanager.structure.learner import LearnedNetwork


class _Marks(NamedTuple):
    branch: str
    last: str
    pass_by: str
    nothing: str
    comes_from: str
    more: str


_LINES = _Marks("├─ ", "└─ ", "│  ", "   ", "←", "…")
_ASCII = _Marks("|- ", "`- ", "|  ", "   ", "<-", "...")


def network_text(
    what: Network | LearnedNetwork | Classifier,
    *,
    target: str | None = None,
    information: Information = None,
    width: int = 80,
    ascii: bool = False,
) -> str:
    """Draw a network or the network of a fitted classifier with characters: the class first, children below a parent.

    A variable with several parents is drawn below the class or its strongest parent; the others follow after an arrow.
    So every arc is shown once. Arcs whose direction is open are named at the end. Numbers are I(parent; child | other
    parents) in nats, as in ``plot_network``.

    Parameters
    ----------
    what : Network, LearnedNetwork or classifier
        As in ``plot_network``. The networks of a multi-net are drawn one after the other.
    target : str or None, default=None
        Which variable of a network is the class; for a classifier, the name to show for its class.
    information : mapping from arcs to nats, Sample or None, default=None
        The information of each arc, or rows to compute it from. By default it comes from the tables or counts.
    width : int, default=80
        Columns of the terminal. Branches that would reach too far to the right continue below.
    ascii : bool, default=False
        Use ASCII characters instead of box-drawing ones.

    Returns
    -------
    str
        The drawing, in lines.

    Examples
    --------
    >>> from tanager import TAN
    >>> from tanager.plot import network_text
    >>> X = [["sun", "no"], ["sun", "no"], ["rain", "yes"], ["rain", "yes"], ["sun", "yes"]]
    >>> print(network_text(TAN().fit(X, ["play", "play", "play", "stay", "stay"])))
    class: a parent of all
    └─ x1
       └─ x0 (0.382)
    """
    shown = drawable_networks(what, target, information)
    return "\n\n".join("\n".join(_Text(drawable, width, _ASCII if ascii else _LINES).lines()) for drawable in shown)


class _Text:
    """The lines of one network."""

    def __init__(self, drawable: DrawableNetwork, width: int, marks: _Marks) -> None:
        self.drawable, self.width, self.marks = drawable, width, marks
        names = drawable.names if drawable.target is None or drawable.implied else (drawable.target, *drawable.names)
        self.parents: dict[str, list[str]] = {name: [] for name in names}
        for parent, child in drawable.arcs:
            self.parents[child].append(parent)
        self.below: dict[str, list[str]] = {name: [] for name in names}
        for child in names:
            if self._hook(child) is not None:
                self.below[self._hook(child) or ""].append(child)
        self.later: list[str] = []  # branches that go on below
        self.most = max(width // 2, width - 16 - max(map(len, names), default=0))  # characters before a name

    def _hook(self, child: str) -> str | None:
        """The parent that a variable is drawn below: the class, or the strongest."""
        own, strengths = self.parents[child], self.drawable.strengths
        if not own or child == self.drawable.target:
            return None
        if self.drawable.target in own:
            return self.drawable.target
        return max(own, key=lambda parent: strengths[parent, child].value if (parent, child) in strengths else 0.0)

    def lines(self) -> Iterator[str]:
        """The class with all below it, other trees, variables without arcs, and branches that were too long."""
        if self.drawable.remark:
            yield self.drawable.remark
        linked = {name for arc in self.drawable.arcs for name in arc}
        roots = [name for name in self.parents if self._hook(name) is None and name in linked]
        alone = [name for name in self.parents if name not in linked]
        if self.drawable.implied:
            yield f"{self.drawable.target}: a parent of all"
            free = [name for name in alone if name in self.drawable.implied]
            alone = [name for name in alone if name not in free]
            yield from self._children(roots, "", free)
        else:
            for root in roots:
                yield from self._branch(root, "", "")
        if alone:
            yield from self._filled(alone, "without arcs: ", "  ")
        while self.later:
            name = self.later.pop(0)
            yield f"{name} {self.marks.more}"
            yield from self._children(self.below[name], "")
        either = [arc for arc in self.drawable.all_arcs if arc in self.drawable.undirected]
        if either:
            yield from self._filled([f"{a} - {b}" for a, b in either], "may point either way: ", "  ")

    def _branch(self, name: str, lead: str, follow: str) -> Iterator[str]:
        """A variable and all below it; ``lead`` comes before its own line and ``follow`` before all others."""
        hook = self._hook(name)
        items = [self._named(parent, (parent, name)) for parent in self.parents[name] if parent != hook]
        own = self._named(name, (hook, name) if hook is not None else None)
        too_far = bool(self.below[name]) and len(follow) > self.most
        more = f" {self.marks.more}" if too_far else ""
        passing = self.marks.pass_by if self.below[name] and not too_far else self.marks.nothing
        arrow = f" {self.marks.comes_from} " if items else ""
        yield from self._filled(items, f"{lead}{own}{more}{arrow}", follow + passing)
        if too_far:
            self.later.append(name)
        else:
            yield from self._children(self.below[name], follow)

    def _children(self, names: Sequence[str], follow: str, free: Sequence[str] = ()) -> Iterator[str]:
        """Branches side by side, and last those that have nothing below them and no parent but the class, in a list."""
        for at, name in enumerate(names):
            last = at == len(names) - 1 and not free
            here = follow + (self.marks.last if last else self.marks.branch)
            yield from self._branch(name, here, follow + (self.marks.nothing if last else self.marks.pass_by))
        if free:
            yield from self._filled(free, follow + self.marks.last, follow + self.marks.nothing)

    def _named(self, name: str, arc: Arc | None) -> str:
        return f"{name} ({self.drawable.strengths[arc].value:.3f})" if arc in self.drawable.strengths else name

    def _filled(self, items: Sequence[str], lead: str, follow: str) -> Iterator[str]:
        """Items separated by commas, in lines that fit."""
        line = lead
        for at, item in enumerate(items):
            piece = item if at == len(items) - 1 else f"{item},"
            if len(line) + len(piece) > self.width:
                yield line.rstrip()
                line = follow
            line += f"{piece} "
        yield line.rstrip()
