"""Draws every kind of picture, with few and many columns, classes and models: `python docs/pictures/gallery.py FOLDER`.

To look at after a change of the drawing: whatever its size, everything must be readable. `--only network` draws those
whose names contain a word, `--format svg` writes another format (also `pdf`), and `--colours deutan` (or `protan`,
`tritan`, `grey`) shows PNG pictures as colour-blind readers see them, or a printer without colours.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from sklearn.base import clone

from tanager import (
    CBL,
    KDB,
    TAN,
    AnytimeAODE,
    DecisionNetwork,
    EvolvingNaiveBayes,
    GeneralNetwork,
    HalfLives,
    MultiNet,
    NaiveBayes,
    NBTree,
    Network,
    importance,
)
from tanager import plot as draw
from tanager.plot.load import plot_load
from tanager.structure.learner import LearnedNetwork

SIZES = (3, 30, 300)
LONG = "mean daily consumption of the household, kilowatt-hours (corrected), sensor {}"
# What readers see whose eyes lack one kind of cones (Machado, Oliveira and Fernandes, 2009), in linear RGB.
EYES = {
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
    "grey": [[0.2126, 0.7152, 0.0722]] * 3,
}


def main() -> None:
    """Draw them, and tell the processor time of each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="a part of the names of the pictures to draw")
    parser.add_argument("--format", choices=("png", "svg", "pdf"), default="png")
    parser.add_argument("--colours", choices=EYES, help="as these eyes see them")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    for name, drawing in pictures().items():
        if given.only in name:
            start, path = process_time(), given.folder / f"{name}.{given.format}"
            drawing(path)
            print(f"{process_time() - start:6.2f} s  {path.name}", flush=True)
            if given.colours:
                see(path, EYES[given.colours])


def pictures() -> dict[str, Callable[[Path | None], Any]]:
    """All pictures by name; each is a function that draws it and writes it to a path."""
    found: dict[str, Callable[[Path | None], Any]] = {}
    for n in SIZES:
        for names, words in (("short", "x{}"), ("long", LONG)):
            found |= {f"{kind}-{n}-{names}": partial(made, n, words) for kind, made in BY_COLUMNS.items()}
    for n in (2, 5, 20):
        for names, words in (("short", "M{}"), ("long", "a classifier with a long name and options, number {}")):
            found |= {f"{kind}-{n}-{names}": partial(made, n, words) for kind, made in BY_MODELS.items()}
    return found


# --- data -----------------------------------------------------------------------------------------------------------


@cache
def table(n: int, words: str, n_classes: int = 2, n_rows: int = 400) -> tuple[dict[str, list[Any]], list[str]]:
    """Columns of which most copy an earlier one or the class, more or less often; a third of them are numbers."""
    dice = np.random.default_rng(n)
    y = dice.integers(n_classes, size=n_rows)
    codes: list[np.ndarray] = []
    for i in range(n):
        source = y if i % 3 == 0 else codes[dice.integers(i)]
        codes.append(np.where(dice.random(n_rows) < dice.uniform(0.2, 0.9), source, dice.integers(4, size=n_rows)))
    X = {
        words.format(i): (own + dice.normal(0, 0.4, n_rows)).round(2).tolist()
        if i % 3 == 1
        else [f"value {v}" for v in own.tolist()]
        for i, own in enumerate(codes)
    }
    label = "class {}" if words == "x{}" else "a class whose name goes on and on, {}"
    return X, [label.format(c) for c in y.tolist()]


def first_row(X: dict[str, list[Any]]) -> dict[str, Any]:
    return {name: cells[0] for name, cells in X.items()}


# --- pictures by the number of columns --------------------------------------------------------------------------------


def model_of(model: Any, n: int, words: str, path: Path | None) -> Any:
    """The network of a classifier."""
    return draw.plot_network(clone(model).fit(*table(n, words, 2 if words == "x{}" else 4)), path)


def hub(n: int, words: str, path: Path | None) -> Any:
    """One variable that all others depend on."""
    names = [words.format(i) for i in range(n + 1)]
    arcs = [(names[0], name) for name in names[1:]]
    nats = {arc: 0.5 / (1 + i) for i, arc in enumerate(arcs)}
    return draw.plot_network(Network(dict.fromkeys(names, (0, 1)), arcs), path, information=nats, title="A hub")


def open_edges(n: int, words: str, path: Path | None) -> Any:
    """A network some of whose arcs may point either way."""
    dice = np.random.default_rng(n)
    names = [words.format(i) for i in range(n)]
    arcs = [(names[dice.integers(max(i - 8, 0), i)], names[i]) for i in range(1, n)]
    network = Network(dict.fromkeys(names, (0, 1)), arcs)
    return draw.plot_network(LearnedNetwork(network, undirected=tuple(arcs[::3])), path, title="Some arcs are open")


def compared(n: int, words: str, path: Path | None) -> Any:
    """What became of an earlier network."""
    dice = np.random.default_rng(n)
    names = [words.format(i) for i in range(n)]
    old, new = (
        Network(dict.fromkeys(names, (0, 1)), [(names[dice.integers(max(i - 4, 0), i)], names[i]) for i in range(1, n)])
        for _ in range(2)
    )
    return draw.plot_network(new, path, compare_to=old, title="Before and after")


def tree(n: int, words: str, path: Path | None) -> Any:
    """A tree of classifiers; of parities, which need one."""
    dice = np.random.default_rng(n)
    codes = dice.integers(3, size=(1500, n))
    y = codes[:, : min(n, 5)].sum(axis=1) % (2 if words == "x{}" else 12)
    X = {words.format(i): [f"value {v}" for v in codes[:, i].tolist()] for i in range(n)}
    label = "class {}" if words == "x{}" else "a class whose name goes on and on, {}"
    return draw.plot_tree(NBTree(min_rows=30).fit(X, [label.format(c) for c in y.tolist()]), path)


def decisions(n: int, words: str, path: Path | None) -> Any:
    """An influence diagram."""
    chance = [words.format(i) for i in range(n)]
    choices = [words.format(f"choice {i}") for i in range(1 + n // 10)]
    gains = [words.format(f"gain {i}") for i in range(1 + n // 15)]
    dice = np.random.default_rng(n)
    arcs = [(chance[dice.integers(max(i - 6, 0), i)], chance[i]) for i in range(1, n)]
    arcs += [(chance[10 * i], choice) for i, choice in enumerate(choices[:-1])]
    arcs += [(choices[i * len(choices) // len(gains)], gain) for i, gain in enumerate(gains)]
    arcs += [(chance[15 * i], gain) for i, gain in enumerate(gains[:-1])] + [(chance[-1], gains[-1])]
    arcs += itertools.pairwise(choices)
    diagram = DecisionNetwork(dict.fromkeys(chance, (0, 1)), dict.fromkeys(choices, (0, 1)), gains, arcs)
    return draw.plot_decisions(diagram, path, title="Decisions")


def explained(n: int, words: str, path: Path | None) -> Any:
    X, y = table(n, words, 2 if words == "x{}" else 12)
    return draw.plot_explanation(TAN().fit(X, y).explain(first_row(X)), path, title="Why this row")


def explained_rows(n: int, words: str, path: Path | None) -> Any:
    X, y = table(n, words, 2 if words == "x{}" else 12)
    return draw.plot_explanation(NaiveBayes().fit(X, y).explain(X), path, title="Why these rows")


def scales(n: int, words: str, path: Path | None) -> Any:
    X, y = table(n, words, 2 if words == "x{}" else 12)
    return draw.plot_nomogram(NaiveBayes().fit(X, y), path, row=first_row(X), title="A nomogram")


def rises(n: int, words: str, path: Path | None) -> Any:
    X, y = table(n, words)
    return draw.plot_importance(importance(NaiveBayes().fit(X, y), X, y), path, title="What matters")


def fuzzy(n: int, words: str, path: Path | None) -> Any:
    X, y = table(n, words, 2 if words == "x{}" else 12)
    return draw.plot_fuzzy_sets(EvolvingNaiveBayes().fit(X, y), path, title="Fuzzy sets")


def anytime(n: int, words: str, path: Path | None) -> Any:
    X, y = table(n, words, 3)
    model = AnytimeAODE().fit(X, y)
    return draw.plot_anytime({words.format("by errors"): model}, X, y, path, title="Anytime")


BY_COLUMNS: dict[str, Callable[..., Any]] = {
    "naive": partial(model_of, NaiveBayes()),
    "tan": partial(model_of, TAN()),
    "kdb": partial(model_of, KDB(k=2)),
    "general": partial(model_of, GeneralNetwork(learner=CBL(threshold=0.01))),
    "multinet": partial(model_of, MultiNet(learner=CBL(threshold=0.02))),
    "hub": hub,
    "pdag": open_edges,
    "compared": compared,
    "tree": tree,
    "decisions": decisions,
    "explanation": explained,
    "explanations": explained_rows,
    "nomogram": scales,
    "importance": rises,
    "fuzzy": fuzzy,
    "anytime": anytime,
}


# --- pictures by the number of models ---------------------------------------------------------------------------------


def bars(n: int, words: str, path: Path | None) -> Any:
    dice = np.random.default_rng(n)
    rows = [
        {"name": words.format(i), "accuracy": 0.7 + 0.2 * dice.random(), "log_loss": dice.random(), "margin": 0.02}
        for i in range(n)
    ]
    return draw.plot_comparison([{**rows[0], "baseline": True}, *rows[1:]], path, title="Classifiers side by side")


def ranks(n: int, words: str, path: Path | None) -> Any:
    dice = np.random.default_rng(n)
    return draw.plot_ranks({words.format(i): 1 + (n - 1) * dice.random() for i in range(n)}, n / 4, path, title="Ranks")


def scatter(n: int, words: str, path: Path | None) -> Any:
    dice = np.random.default_rng(n)
    x = {words.format(i): dice.random() for i in range(n)}
    y = {name: value * dice.uniform(0.7, 1.3) for name, value in x.items()}
    return draw.plot_scatter(x, y, path, names=(words.format(1), words.format(2)), title="Two over data sets")


def reliability(n: int, words: str, path: Path | None) -> Any:
    dice = np.random.default_rng(n)
    curves = {}
    for i in range(n):
        rows = dice.integers(0, 200, 20) * (np.arange(20) >= 6)
        sure = rows * (np.arange(20) + 0.5) / 20
        curves[words.format(i)] = np.array([rows, sure, np.clip(sure * dice.uniform(0.8, 1.1), 0, rows)])
    return draw.plot_reliability(curves, path, title="Reliability")


def curves(n: int, words: str, path: Path | None) -> Any:
    dice = np.random.default_rng(n)
    rows = np.arange(1000, 100_001, 1000)
    level = 0.8 + 0.1 * np.sin(rows / 9000)
    lines = {words.format(i): level + 0.02 * (i // 2) / n + 0.002 * dice.normal(size=100) for i in range(n)}
    events = {name: [(int(row), "drift") for row in dice.integers(20_000, 99_000, 3)] for name in list(lines)[:4]}
    events[words.format(0)].append((50_000, "warning"))
    return draw.plot_curves(rows, lines, path, drifts=[30_000, 60_000], events=events, title="Along a stream")


def half_lives(n: int, words: str, path: Path | None) -> Any:
    X, y = table(3, "x{}", 2, 2000)
    y = y[:1000] + [f"class {1 - int(label[-1])}" for label in y[1000:]]
    lives = tuple(float(2 ** (3 + 10 * i / n)) for i in range(n - 1))
    return draw.plot_half_lives(HalfLives(half_lives=(*lives, float("inf"))).partial_fit(X, y), path, title="Memories")


def load(n: int, words: str, path: Path | None) -> Any:
    lines = []
    for i in range(n):
        slow = 1 + 0.3 * i**2
        latencies = {"p50_ms": 1.0 * slow, "p90_ms": 1.1 * slow, "p99_ms": 1.15 * slow, "max_ms": 9.0 * slow}
        lines.append({"rate": 50 * (i + 1), **latencies, "members": 30 - i, "accuracy": 0.9 - i / 400})
    return plot_load(lines, path, title="A service under load")


BY_MODELS: dict[str, Callable[..., Any]] = {
    "comparison": bars,
    "ranks": ranks,
    "scatter": scatter,
    "reliability": reliability,
    "curves": curves,
    "half-lives": half_lives,
    "load": load,
}


# --- eyes -------------------------------------------------------------------------------------------------------------


def seen(rgb: np.ndarray, eye: Any) -> np.ndarray:
    """Colours (0 to 1, in the last axis) as an eye sees them."""
    light = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4) @ np.array(eye).T
    light = np.clip(light, 0.0, 1.0)
    return np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)


def see(path: Path, eye: Any) -> None:
    """Write a PNG picture anew as an eye sees it."""
    from matplotlib.image import imread, imsave

    imsave(path, seen(imread(path)[..., :3].astype(float), eye))


if __name__ == "__main__":
    main()
