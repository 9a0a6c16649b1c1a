"""How often a stream chooses its structure anew: accuracy, log loss and time where rows have grown by so much.

python -m experiments.refresh_ratios                       # writes results.csv, the better part of an hour
python -m experiments.refresh_ratios BSEJ FSSJ             # runs these alone, and leaves the lines of the others
python -m experiments.refresh_ratios --page                # the tables of README.md from it
python -m experiments.refresh_ratios --stretches BestOf    # ways to choose in a stream, over seven stretches of each
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from experiments.common import HOME, read_csv
from experiments.structure_changes.__main__ import streams
from tanager import BSEJ, FSSJ, AnytimeA2DE, BestOf, SelectiveNaiveBayes, SuperParentTAN, Wrapped
from tanager.counts.joint import JointCounts
from tanager.errors import DataWarning
from tanager.learning.rows import KeptRows
from tanager.scoring.forms import Form

FILE = HOME / "refresh_ratios" / "results.csv"
ROWS, BLOCK = 5_000, 100  # of the middle of a stream, where one changes; rows that are answered and learned together
STRETCHES = 7  # of so many rows, in another comparison
HEAD = ["stream", "model", "ratio", "rows", "accuracy", "log_loss", "seconds"]


class BestOfAsInBatch(BestOf):
    """Chooses in a stream as ``fit`` does."""

    def _structure_in_stream(self, counts: JointCounts, rows: KeptRows | None) -> Form | None:
        return None


class WrappedAsInBatch(Wrapped):
    """The same for settings: they are tried whenever the structure is learned again."""

    _ratio_of_trials = 1.0


class WrappedLater(Wrapped):
    """Tries settings when rows have grown by four."""

    _ratio_of_trials = 4.0


MODELS: dict[str, tuple[Callable[[], Any], tuple[float, ...]]] = {
    "BSEJ": (BSEJ, (1.1, 1.25, 1.5)),
    "FSSJ": (FSSJ, (1.1, 1.25, 1.5)),
    "SuperParentTAN": (SuperParentTAN, (1.1, 1.25, 1.5)),
    "SelectiveNaiveBayes": (SelectiveNaiveBayes, (1.01, 1.05, 1.1, 1.25)),
    "AnytimeA2DE": (AnytimeA2DE, (1.1, 1.25, 1.5)),
    "BestOf": (BestOfAsInBatch, (1.5, 2.0, 3.0, 4.0)),
    "Wrapped": (WrappedAsInBatch, (1.5, 2.0, 3.0, 4.0)),
}
WAYS: dict[str, dict[str, tuple[Callable[[], Any], float]]] = {  # and the ratio of each
    "BestOf": {"as in a batch": (BestOfAsInBatch, 2.0), "as it is": (BestOf, 2.0)},
    "Wrapped": {
        "as in a batch": (WrappedAsInBatch, 2.0),
        "as it is": (Wrapped, 1.5),
        "structure at 1.25": (Wrapped, 1.25),
        "settings at 4": (WrappedLater, 1.5),
    },
}


def run(make: Callable[[], Any], ratio: float, X: np.ndarray, y: np.ndarray) -> list[str]:
    """Answer and learn a stream, with a structure that is chosen anew when rows have grown by this ratio."""
    model, start, right, own = make(), time.process_time(), [], []
    model.refresh_ratio = ratio
    for at in range(0, len(y), BLOCK):
        proba = model.test_then_train(X[at : at + BLOCK], y[at : at + BLOCK])
        labels = np.searchsorted(model.classes_, y[at : at + BLOCK])
        right.append(proba.argmax(axis=1) == labels)
        own.append(proba[np.arange(len(labels)), labels])
    seconds = time.process_time() - start
    loss = -np.log(np.maximum(np.concatenate(own), 1e-6)).mean()
    return [f"{np.concatenate(right).mean():.4f}", f"{loss:.4f}", f"{seconds:.2f}"]


def lines(wanted: list[str]) -> Iterator[list[Any]]:
    """A line of the file for each model, stream and ratio."""
    for stream, X, y in streams():
        first = max(0, len(y) - ROWS) // 2
        X, y = X[first : first + ROWS], y[first : first + ROWS]
        for name in wanted:
            make, ratios = MODELS[name]
            for ratio in ratios:
                yield [stream, name, ratio, len(y), *run(make, ratio, X, y)]


def stretches() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Several stretches of every stream, spread over it."""
    for stream, X, y in streams():
        for first in dict.fromkeys(np.linspace(0, max(0, len(y) - ROWS), STRETCHES + 2)[1:-1].astype(int).tolist()):
            yield stream, X[first : first + ROWS], y[first : first + ROWS]


def compare(wanted: list[str]) -> None:
    """Print accuracy and log loss of every way to choose, and by how much its log loss differs from the first."""
    parts = list(stretches())
    names = list(dict.fromkeys(stream for stream, _, _ in parts))
    print("| model | way | " + " | ".join(names) + " | mean | log loss against the first |")
    print("| --- | --- " + "| ---: " * (len(names) + 2) + "|")
    for name in wanted:
        first = None
        for way, (make, ratio) in WAYS[name].items():
            found = np.array([[float(f) for f in run(make, ratio, X, y)[:2]] for _, X, y in parts])
            first = found if first is None else first
            own = [found[[stream == at for stream, _, _ in parts]].mean(axis=0) for at in names]
            cells = [f"{accuracy:.4f} / {loss:.4f}" for accuracy, loss in [*own, found.mean(axis=0)]]
            difference = found[:, 1] - first[:, 1]
            error = difference.std() / np.sqrt(len(difference))
            print(f"| {name} | {way} | {' | '.join(cells)} | {difference.mean():+.4f} ± {error:.4f} |", flush=True)


def write(wanted: list[str]) -> None:
    """Run these models, and keep what the file has of others."""
    before = [line for line in read_csv(FILE) if line["model"] not in wanted] if FILE.exists() else []
    kept = [[line[key] for key in HEAD] for line in before]
    with open(FILE, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEAD)
        writer.writerows(kept)
        for line in lines(wanted):
            writer.writerow(line)
            file.flush()


def table() -> str:
    """Accuracy and log loss on every stream, and the mean of the time as a ratio to that of the first line."""
    found = read_csv(FILE)
    names = list(dict.fromkeys(line["stream"] for line in found))
    out = [
        "| model | ratio | " + " | ".join(names) + " | mean | time |",
        "| --- | ---: " + "| ---: " * (len(names) + 2) + "|",
    ]
    for name in dict.fromkeys(line["model"] for line in found):
        own = [line for line in found if line["model"] == name]
        ratios = list(dict.fromkeys(line["ratio"] for line in own))
        first = [float(line["seconds"]) for line in own if line["ratio"] == ratios[0]]
        for ratio in ratios:
            mine = [line for line in own if line["ratio"] == ratio]
            cells = [f"{float(line['accuracy']):.4f} / {float(line['log_loss']):.4f}" for line in mine]
            means = [np.mean([float(line[key]) for line in mine]) for key in ("accuracy", "log_loss")]
            seconds = np.mean([float(line["seconds"]) / base for line, base in zip(mine, first, strict=True)])
            out.append(f"| {name} | {ratio} | {' | '.join(cells)} | {means[0]:.4f} / {means[1]:.4f} | {seconds:.2f} |")
    return "\n".join(out) + "\n"


def main() -> None:
    """Run models, or print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wanted", nargs="*", choices=[[], *MODELS], help="models; all unless some are named")
    parser.add_argument("--page", action="store_true", help="print the table of README.md from results.csv")
    parser.add_argument("--stretches", action="store_true", help="compare ways to choose of BestOf and Wrapped")
    given = parser.parse_args()
    if given.page:
        print(table(), end="")
        return
    warnings.simplefilter("ignore", DataWarning)
    if given.stretches:
        compare(given.wanted or list(WAYS))
        return
    write(given.wanted or list(MODELS))


if __name__ == "__main__":
    main()
