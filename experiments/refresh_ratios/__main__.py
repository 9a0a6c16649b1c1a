"""How often a stream chooses its structure anew: accuracy, log loss and time where rows have grown by so much.

python -m experiments.refresh_ratios                       # writes results.csv, the better part of an hour
python -m experiments.refresh_ratios BSEJ FSSJ             # runs these alone, and leaves the lines of the others
python -m experiments.refresh_ratios --page                # the tables of README.md from it
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
from tanager.errors import DataWarning

FILE = HOME / "refresh_ratios" / "results.csv"
ROWS, BLOCK = 5_000, 100  # of the middle of a stream, where one changes; rows that are answered and learned together
HEAD = ["stream", "model", "ratio", "rows", "accuracy", "log_loss", "seconds"]
MODELS: dict[str, tuple[Callable[[], Any], tuple[float, ...]]] = {
    "BSEJ": (BSEJ, (1.1, 1.25, 1.5)),
    "FSSJ": (FSSJ, (1.1, 1.25, 1.5)),
    "SuperParentTAN": (SuperParentTAN, (1.1, 1.25, 1.5)),
    "SelectiveNaiveBayes": (SelectiveNaiveBayes, (1.01, 1.05, 1.1, 1.25)),
    "AnytimeA2DE": (AnytimeA2DE, (1.1, 1.25, 1.5)),
    "BestOf": (BestOf, (1.5, 2.0, 3.0, 4.0)),
    "Wrapped": (Wrapped, (1.5, 2.0, 3.0, 4.0)),
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
    given = parser.parse_args()
    if given.page:
        print(table(), end="")
        return
    warnings.simplefilter("ignore", DataWarning)
    write(given.wanted or list(MODELS))


if __name__ == "__main__":
    main()
