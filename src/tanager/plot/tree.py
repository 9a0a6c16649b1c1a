"""Pictures of trees of classifiers: what is tested, and which rows are left in every leaf."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tanager.errors import OptionError
from tanager.learning.classifier import Classifier
from tanager.learning.tree_node import TreeNode
from tanager.plot.component_layout import Point
from tanager.plot.figure import Path, add_title, figure_in_inches, save_figure, text_size
from tanager.plot.legend import Legend
from tanager.plot.names import shortened, wrapped_apart
from tanager.plot.shapes import ShapeDrawer, box_size
from tanager.plot.style import COLOURS, EDGE, FAINT, GROUND, SMALL, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARGIN, LINE, GAP, BAR = 0.3, 0.34, 0.35, 0.9  # inches: around, per leaf, between columns, of the class shares


@styled
def plot_tree(
    what: Classifier | TreeNode, path: Path | None = None, *, max_leaves: int = 40, title: str | None = None
) -> Figure:
    """Draw the tree of a fitted classifier from left to right: columns in boxes, values on arcs, rows in the leaves.

    The bar of a leaf shows the shares of the classes among its rows.

    Parameters
    ----------
    what : NBTree, RecursiveBayes, HoeffdingTree or TreeNode
        A fitted classifier that is a tree, or its ``tree_``.
    path : path or None, default=None
        File to write; its extension sets the format: .png, .svg or .pdf.
    max_leaves : int, default=40
        A larger tree is cut off below the last level that fits.
    title : str or None, default=None
        By default the classifier, its rows and leaves.

    Returns
    -------
    matplotlib.figure.Figure
        The picture.

    Examples
    --------
    >>> from tanager import NBTree, plot_tree
    >>> X = [["heads", "heads"], ["heads", "tails"], ["tails", "heads"], ["tails", "tails"]] * 20
    >>> figure = plot_tree(NBTree().fit(X, ["yes", "no", "no", "yes"] * 20))
    >>> [text.get_text() for text in figure.axes[0].texts][:4]
    ['x0', 'heads', 'tails', '40 rows']
    """
    if isinstance(what, Classifier):
        what.check_started()  # else a tree that has learned nothing would be called none
    tree = what if isinstance(what, TreeNode) else getattr(what, "tree_", None)
    if not isinstance(tree, TreeNode):
        raise OptionError(f"{type(what).__name__} is no tree of classifiers. Draw NBTree, or use plot_network.")
    if isinstance(max_leaves, bool) or not isinstance(max_leaves, int) or max_leaves < 2:
        raise OptionError(f"max_leaves={max_leaves!r}: give a whole number of at least 2.")
    depth = max((d for d in range(tree.depth + 1) if _ends(tree, d) <= max_leaves), default=0)
    leaves = f"{tree.n_leaves:,} {'leaf' if tree.n_leaves == 1 else 'leaves'}"
    name = "" if isinstance(what, TreeNode) else f"{type(what).__name__}: "
    return save_figure(_Picture(tree, depth).figure(title or f"{name}{tree.n_rows:,.0f} rows, {leaves}"), path)


def _ends(node: TreeNode, depth: int) -> int:
    """How many boxes there are at the right where only so many levels are drawn."""
    return sum(_ends(child, depth - 1) for _, child in node.branches) if depth and node.branches else 1


@dataclass
class _Box:
    """A node with its place."""

    node: TreeNode
    level: int
    text: str
    value: str = ""  # on the arc that leads to it
    middle: Point = (0.0, 0.0)
    below: list[_Box] = field(default_factory=list)


def _columns(node: TreeNode) -> Iterator[str]:
    """The columns that a tree splits by."""
    if node.branches:
        yield node.column
    for _, child in node.branches:
        yield from _columns(child)


class _Picture:
    """Levels from left to right, one line per leaf from top to bottom."""

    def __init__(self, tree: TreeNode, depth: int) -> None:
        self.classes = list(tree.counts)
        self.boxes: list[_Box] = []
        self.n_lines = 0
        self.names = wrapped_apart(dict.fromkeys(_columns(tree)))
        self.root = self._box(tree, 0, depth, "")
        n_levels = 1 + max(box.level for box in self.boxes)
        self.widths = [self._widest(level) for level in range(n_levels)]
        self.starts = [self._arc(0)]
        for level in range(1, n_levels):
            self.starts.append(self.starts[-1] + self.widths[level - 1] + self._arc(level))
        self._place(self.root, iter(range(self.n_lines)))

    def _box(self, node: TreeNode, level: int, depth: int, value: str) -> _Box:
        end = not node.branches or not depth
        rows = f"{node.n_rows:,.4g} row{'' if node.n_rows == 1 else 's'}"
        text = f"{rows}, {node.n_leaves} leaves" if end and node.branches else rows if end else self.names[node.column]
        box = _Box(node, level, text, shortened(value, 28))
        self.boxes.append(box)
        if end:
            self.n_lines += 1
        else:
            box.below = [self._box(child, level + 1, depth - 1, str(name)) for name, child in node.branches]
        return box

    def _widest(self, level: int) -> float:
        return max(
            box_size(box.text)[0] + (0.0 if box.below else BAR + 0.1) for box in self.boxes if box.level == level
        )

    def _arc(self, level: int) -> float:
        """Room for the arcs that lead to a level, and the values on them."""
        return (
            0.0 if level == 0 else 2 * GAP + max(text_size(b.value, SMALL)[0] for b in self.boxes if b.level == level)
        )

    def _place(self, box: _Box, lines: Any) -> float:
        """Give a box and all below it their places; returns its height."""
        ys = [self._place(child, lines) for child in box.below]
        y = (ys[0] + ys[-1]) / 2 if ys else (self.n_lines - 0.5 - next(lines)) * LINE
        box.middle = (self.starts[box.level] + box_size(box.text)[0] / 2, y)
        return y

    def figure(self, title: str) -> Any:
        """The whole figure."""
        legend, width = self._legend(), self.starts[-1] + self.widths[-1]
        foot = MARGIN + legend.height(max(width, 5.6))
        figure, axes = figure_in_inches(width, self.n_lines * LINE, margin=MARGIN, head=0.6, foot=foot)
        drawer = ShapeDrawer(axes, 0.0, 0.0)
        for box in self.boxes:
            self._draw(axes, drawer, box)
        legend.draw(axes, width / 2, -0.1, max(width, 5.6))
        add_title(figure, title, top=0.16)
        return figure

    def _draw(self, axes: Any, drawer: ShapeDrawer, box: _Box) -> None:
        size = box_size(box.text)
        drawer.box(box.middle, size, box.text, "white" if box.below else GROUND)
        right = box.middle[0] + size[0] / 2
        if not box.below:
            self._bar(axes, right + 0.1, box)
        for child in box.below:
            x, y = self.starts[child.level], child.middle[1]
            turn = right + GAP / 2
            axes.plot([right, turn, turn, x], [box.middle[1], box.middle[1], y, y], color=EDGE, lw=1.0, zorder=1)
            axes.text(turn + 0.08, y + 0.02, child.value, fontsize=SMALL, ha="left", va="bottom", zorder=4)

    def _bar(self, axes: Any, x: float, box: _Box) -> None:
        from matplotlib.patches import Rectangle

        total, y = box.node.n_rows or 1.0, box.middle[1] - 0.06
        for c, label in enumerate(self.classes):
            width = BAR * box.node.counts.get(label, 0.0) / total
            axes.add_patch(Rectangle((x, y), width, 0.12, fc=_colour(c), ec="none", zorder=2))
            x += width

    def _legend(self) -> Legend:
        legend = Legend().heading("shares of the classes:")
        for c, label in enumerate(self.classes[: len(COLOURS)]):
            legend.box(str(label), _colour(c), EDGE)
        if len(self.classes) > len(COLOURS):
            legend.box(f"{len(self.classes) - len(COLOURS)} others", FAINT, EDGE)
        return legend


def _colour(c: int) -> str:
    return COLOURS[c] if c < len(COLOURS) else FAINT
