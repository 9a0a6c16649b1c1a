"""The tables of the page, made from results.csv and streams.csv, and its pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from experiments.common import ALIKE, LEVEL, MARGIN, interval, read_csv
from experiments.klawonn_angelov.run import MODELS, evolved, irises, plain, streams
from tanager import EvolvingNaiveBayes
from tanager.evaluate import Table, equivalence

Lines = list[dict[str, Any]]


def tables(folder: Path) -> dict[str, Table]:
    """All tables of the page, by name."""
    iris, stream = read_csv(folder / "results.csv"), read_csv(folder / "streams.csv")
    choices, given = read_csv(folder / "choices.csv"), read_csv(folder / "given.csv")
    alone = [line for line in iris if line["setting"] == "as it is"]
    others = [line for line in iris if line["joined"] == "setosa + versicolor"]
    can, cannot = ([line for line in stream if line["stream"].startswith("overlap") is yes] for yes in (False, True))
    return {
        "iris": _iris(alone, "joined"),
        "settings": _iris(others, "setting"),
        "streams": _streams(can),
        "overlap": _streams(cannot),
        "alike": _alike(cannot),
        "choices": _choices(choices),
        "given": _given(given),
    }


def _iris(lines: Lines, first: str) -> Table:
    rows = []
    for name, n_rows in dict.fromkeys((line[first], line["n_rows"]) for line in lines):
        own = [line for line in lines if (line[first], line["n_rows"]) == (name, n_rows)]
        errors = [_spread(own, part) for part in ("whole", "last 500", "data")]
        n_pseudo = [line["pseudo_classes"] for line in own]
        rows.append([name, f"{n_rows:,}", *errors, f"{np.mean(n_pseudo):.1f} ({min(n_pseudo)} to {max(n_pseudo)})"])
    return Table([first, "rows", "error, whole stream", "last 500 rows", "all irises", "pseudo-classes"], rows)


def _streams(lines: Lines) -> Table:
    rows = []
    for stream, model in dict.fromkeys((line["stream"], line["model"]) for line in lines):
        own = [line for line in lines if (line["stream"], line["model"]) == (stream, model)]
        best = [line["best"] for line in own if line["best"] is not None]
        n_pseudo, most = ([line[part] for line in own] for part in ("pseudo_classes", "most"))
        rows.append(
            [
                stream,
                model,
                _spread(own, "whole"),
                _spread(own, "late"),
                f"{100 * np.mean(best):.1f} %" if best else "",
                f"{np.mean(n_pseudo):.1f}",
                str(max(most)),
            ]
        )
    names = ["stream", "model", "error, whole stream", "last 5,000 rows", "best possible"]
    return Table([*names, "pseudo-classes at the end", "most of a class"], rows)


def _alike(lines: Lines) -> Table:
    """Errors on streams that nobody can learn, less those of naive Bayes on the same rows, over the seeds."""
    rows = []
    for stream in dict.fromkeys(line["stream"] for line in lines):
        errors = {
            model: np.array([line["whole"] for line in lines if (line["stream"], line["model"]) == (stream, model)])
            for model in dict.fromkeys(line["model"] for line in lines)
        }
        base = errors.pop("NaiveBayes(gaussian=True)")
        for model, own in errors.items():
            found = equivalence(own - base, MARGIN)
            verdict = "alike" if found.p < LEVEL else "not shown"
            rows.append([stream, model, 100 * found.mean, interval(found, 100), found.p, verdict])
    names = ["stream", "model", "more errors than naive Bayes, points", *ALIKE, "verdict"]
    return Table(names, rows, {names[2]: "+.2f", "p, alike": "p"}, note=f"Margin: {100 * MARGIN:g} point.")


def _choices(lines: Lines) -> Table:
    rows = []
    for stream, model in dict.fromkeys((line["stream"], line["model"]) for line in lines):
        own = [line for line in lines if (line["stream"], line["model"]) == (stream, model)]
        n_pseudo = np.mean([line["pseudo_classes"] for line in own])
        rows.append([stream, model, _spread(own, "whole"), _spread(own, "late"), f"{n_pseudo:.1f}"])
    return Table(["stream", "model", "error, whole stream", "last 5,000 rows", "pseudo-classes at the end"], rows)


def _given(lines: Lines) -> Table:
    rows = [[line["joined"], line["model"], f"{100 * line['error']:.1f} %"] for line in lines]
    return Table(["joined", "model", "error, all irises"], rows)


def _spread(lines: Lines, part: str) -> str:
    """Mean and standard deviation over the seeds, in percent."""
    values = 100 * np.array([line[part] for line in lines])
    return f"{values.mean():.1f} ± {values.std():.1f} %"


def pictures(folder: Path, n_rows: int) -> None:
    """The source's figures 1 and 2, and errors along two streams."""
    from sklearn.datasets import load_iris

    from tanager.plot import plot_curves

    X, y = load_iris(return_X_y=True, as_frame=True)
    three = EvolvingNaiveBayes(max_pseudo=1).fit(X, np.array(["setosa", "versicolor", "virginica"])[y])
    three.plot(folder / "figure-1.png", kind="density", title="Three kinds of irises, one pseudo-class each")
    rows, labels = irises((0, 1), 5000, 0)
    joined, _ = evolved(dict(zip(X.columns, rows.T, strict=True)), labels)
    joined.plot(
        folder / "figure-2.png", kind="density", title=f"Two kinds joined: {len(joined.pseudo_classes_)} pseudo-classes"
    )
    for name, file in {"xor, spread 0.25": "xor.png", "two classes of two moving clusters": "moving.png"}.items():
        X, y = streams()[name](0).take(n_rows)
        wrong = {"NaiveBayes(gaussian=True)": plain(X, y)}
        wrong |= {model: evolved(X, y, **options)[1] for model, options in MODELS.items()}
        size = n_rows // 40  # the first point is left out: naive Bayes had nothing to go by
        curves = {model: own[: size * 40].reshape(40, size).mean(axis=1) for model, own in wrong.items()}
        plot_curves(
            size * np.arange(2, 41),
            {model: own[1:] for model, own in curves.items()},
            folder / file,
            measure=f"error in {size} rows",
            title=name,
        )
