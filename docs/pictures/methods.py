"""Draws the structures on the pages of methods: `python -m docs.pictures.methods [part of a name]`.

All have learned the eight rows of docs/methods/one-table.md; an average is drawn as all networks of which it is the
mean.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from tools.lighter import lighten

from tanager import (
    BAN,
    BSEJ,
    FAN,
    FANC,
    FSSJ,
    KDB,
    SPC,
    SPODE,
    TAN,
    TBMATAN,
    TC,
    WAODE,
    AnytimeAODE,
    ChowLiuMultiNet,
    Collection,
    GeneralNetwork,
    NaiveBayes,
    Network,
    Selective,
    SelectiveKDB,
    SelectiveNaiveBayes,
    Wrapped,
)
from tanager.plot.figure import new_figure, save_figure, whole_axes
from tanager.plot.style import BLUE, DARK, FADED, FAINT, GREY, GROUND, INK, PALE_BLUE, SMALL, styled

HERE = Path(__file__).parent / "methods"
X = {
    "sky": ["sun", "sun", "sun", "rain", "rain", "rain", "sun", "sun"],
    "ground": ["dry", "dry", "dry", "wet", "wet", "wet", "wet", "dry"],
    "wind": ["calm", "calm", "strong", "calm", "strong", "strong", "strong", "strong"],
}
Y = 4 * ["walk"] + 4 * ["stay"]
CLASS = "class"
PLACES = {CLASS: (0.75, 1.12), "sky": (0.27, 0.55), "ground": (0.75, 0.55), "wind": (1.23, 0.55)}
WIDE, TALL, MOST = 1.5, 1.42, 4  # inches of a panel, and panels in a line

Arcs = list[tuple[str, str]]
Panel = tuple[str, Arcs]


def main(wanted: str) -> None:
    for name, panels in STRUCTURES.items():
        if wanted in name:
            path = HERE / f"{name}.png"
            draw(list(panels()), path)
            lighten(path)
            print(path.name)


# --- structures -----------------------------------------------------------------------------------------------------


def product(parents: dict[str, Any]) -> Arcs:
    """Arcs of a product: the class is a parent of every column in it."""
    return [(CLASS, child) for child in parents] + [(parent, child) for child in parents for parent in parents[child]]


def one(model: Any) -> Callable[[], Iterator[Panel]]:
    """The network that a classifier has learned."""

    def panels() -> Iterator[Panel]:
        learned = model.fit(X, Y)
        yield "", product(learned.parents_) if hasattr(learned, "parents_") else list(learned.network_.arcs)

    return panels


def super_parents(*names: str) -> Arcs:
    return product({name: [s for s in names if s != name] if name not in names else [] for name in X})


def averaged() -> Iterator[Panel]:
    for s in X:
        yield f"super-parent {s}", super_parents(s)


def weighted() -> Iterator[Panel]:
    weights = WAODE().fit(X, Y).structure_.weight
    for s, weight in zip(X, weights, strict=True):
        yield f"{s}, weight {weight:.2f}", super_parents(s)


def pairs() -> Iterator[Panel]:
    for s, u in itertools.combinations(X, 2):
        yield f"super-parents {s}, {u}", super_parents(s, u)


def steps() -> Iterator[Panel]:
    yield "step 0: naive Bayes", super_parents()
    for at, s in enumerate(AnytimeAODE().fit(X, Y).order_, start=1):
        yield f"step {at}: and {s}", super_parents(s)


def collection(model: Any, sets: Callable[[str], Iterable[tuple[str, ...]]]) -> Callable[[], Iterator[Panel]]:
    """All networks of a collection: for every column one of its parent sets."""

    def panels() -> Iterator[Panel]:
        chosen = list(itertools.product(*(list(sets(name)) for name in X)))
        assert len(chosen) == model.fit(X, Y).n_networks_
        for parents in chosen:
            yield "", product(dict(zip(X, parents, strict=True)))

    return panels


def before(name: str) -> list[str]:
    return list(X)[: list(X).index(name)]


def at_most(size: int) -> Callable[[str], Iterable[tuple[str, ...]]]:
    return lambda name: (found for k in range(size + 1) for found in itertools.combinations(before(name), k))


def trees() -> Iterator[Panel]:
    model = TBMATAN().fit(X, Y)
    links = list(itertools.combinations(range(3), 2))
    for tree in itertools.combinations(links, 2):
        weight = sum(model.log_weights_[i, j] for i, j in tree)
        yield (
            f"log weight {weight:+.2f}",
            product({name: [] for name in X}) + [(list(X)[i], list(X)[j]) for i, j in tree],
        )


def by_class() -> Iterator[Panel]:
    for label, network in ChowLiuMultiNet().fit(X, Y).networks_.items():
        yield f"in the rows of {label}", [(CLASS, name) for name in X] + list(network.arcs)


def selected(model: Any) -> Callable[[], Iterator[Panel]]:
    """What is left of a product after columns were chosen."""

    def panels() -> Iterator[Panel]:
        learned = model.fit(X, Y)
        kept = getattr(learned, "columns_", None) or [name for group in learned.joined_ for name in group]
        best = getattr(learned, "best_", None)
        yield "", product(getattr(best or learned, "parents_", None) or dict.fromkeys(kept, ()))

    return panels


EXPERT = Network(
    {CLASS: ("walk", "stay"), "sky": ("sun", "rain"), "ground": ("dry", "wet"), "wind": ("calm", "strong")}
)
EXPERT = EXPERT.add("sky", CLASS).add("wind", CLASS).add("sky", "ground")

STRUCTURES: dict[str, Callable[[], Iterable[Panel]]] = {
    "NaiveBayes": one(NaiveBayes()),
    "TAN": one(TAN()),
    "FAN": one(FAN()),
    "KDB": one(KDB()),
    "SelectiveKDB": one(SelectiveKDB()),
    "SPODE": lambda: [("", super_parents(SPODE().fit(X, Y).super_parent_))],
    "BAN": one(BAN()),
    "GeneralNetwork": one(GeneralNetwork()),
    "Wrapped": lambda: [("", list(Wrapped(GeneralNetwork()).fit(X, Y).best_.network_.arcs))],
    "NetworkClassifier": lambda: [("", list(EXPERT.arcs))],
    "MultiNet": by_class,
    "AODE": averaged,
    "WAODE": weighted,
    "A2DE": pairs,
    "AnytimeAODE": steps,
    "FANC": collection(FANC(), at_most(1)),
    "SPC": collection(SPC(), at_most(2)),
    "TC": collection(TC(), at_most(2)),
    "Collection": collection(
        Collection({"ground": [[], ["sky"]]}), lambda name: [(), ("sky",)] if name == "ground" else [()]
    ),
    "TBMATAN": trees,
    "SelectiveNaiveBayes": selected(SelectiveNaiveBayes()),
    "Selective": selected(Selective(TAN())),
    "BSEJ": selected(BSEJ()),
    "FSSJ": selected(FSSJ()),
}


# --- drawing --------------------------------------------------------------------------------------------------------


@styled
def draw(panels: list[Panel], path: Path) -> Any:
    """Networks side by side: arcs of the class pale, those between columns dark; columns without any arc dashed."""
    across, down = min(len(panels), MOST), -(-len(panels) // MOST)
    figure = new_figure(WIDE * across, TALL * down)
    axes = whole_axes(figure)
    for at, (caption, arcs) in enumerate(panels):
        left, low = WIDE * (at % MOST), TALL * (down - 1 - at // MOST)
        for parent, child in arcs:
            draw_arc(axes, left, low, parent, child)
        for name in PLACES:
            draw_node(axes, left, low, name, used=any(name in arc for arc in arcs))
        axes.text(left + WIDE / 2, low + 0.1, caption, ha="center", va="center", fontsize=SMALL, color=GREY)
    return save_figure(figure, path)


def draw_node(axes: Any, left: float, low: float, name: str, *, used: bool) -> None:
    x, y = PLACES[name]
    colour = (PALE_BLUE if name == CLASS else GROUND) if used else "white"
    box = {
        "boxstyle": "round,pad=0.28",
        "fc": colour,
        "ec": DARK if used else FADED,
        "lw": 0.8,
        "ls": "-" if used else ":",
    }
    axes.text(left + x, low + y, name, ha="center", va="center", fontsize=7.5, color=INK if used else FADED, bbox=box)


def draw_arc(axes: Any, left: float, low: float, parent: str, child: str) -> None:
    (x, y), (u, v) = PLACES[parent], PLACES[child]
    of_class = CLASS in (parent, child)
    far = not of_class and abs(u - x) > 0.6
    near = not of_class and not far
    shape = f"arc3,rad={0.55 if u > x else -0.55}" if far else "arc3,rad=0"
    if near:  # between neighbours' boxes there is little room: from the middle of one lower edge to the other
        shape = f"arc3,rad={0.75 if u > x else -0.75}"
    shift = 0.0 if of_class else -0.1
    axes.annotate(
        "",
        (left + u, low + v + (shift if not of_class else 0.1 if v < y else -0.1)),
        (left + x, low + y + (shift if not of_class else -0.1 if v < y else 0.1)),
        arrowprops={
            "arrowstyle": "-|>,head_width=0.13,head_length=0.22",
            "color": FAINT if of_class else BLUE,
            "lw": 0.9 if of_class else 1.3,
            "shrinkA": 0,
            "shrinkB": 1,
            "connectionstyle": shape,
        },
        zorder=1,
    )


if __name__ == "__main__":
    main(" ".join(sys.argv[1:]))
