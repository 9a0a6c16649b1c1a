"""How often learned structures change along streams, with and without the Hoeffding bound, and what it does to answers.

python -m experiments.structure_changes            # writes results.csv, some minutes
python -m experiments.structure_changes --page     # the table of README.md from it
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from experiments.common import HOME, read_csv
from tanager import FAN, KDB, SPODE, TAN, Hoeffding, generate
from tanager.datasets import load

FOLDER = HOME / "structure_changes"
ROWS, BLOCK = 20_000, 100  # of a stream; rows after which the structure is looked at for this count
HEAD = ["stream", "model", "memory", "refresh", "rows", "changes", "accuracy", "log_loss", "seconds"]
MODELS: dict[str, Callable[..., Any]] = {
    "TAN": TAN,
    "FAN": FAN,
    "KDB1": lambda **options: KDB(k=1, **options),
    "SPODE": lambda **options: SPODE(super_parent="mi", **options),
}
MEMORIES: dict[str, dict[str, Any]] = {"all rows": {}, "half-life 2000": {"decay": 2000}}
RULES = {"default": None, "bound": Hoeffding(), "bound, tie=0": Hoeffding(tie=0.0)}


def streams() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Development streams: real ones in the order of their files, and networks that stay or change at half time."""
    for name in ("weather", "eeg-eye-state", "outdoor"):
        data = load(name)
        columns = [data.X[column].to_numpy() for column in data.options["numeric"]]
        yield name, np.column_stack(columns).astype(float)[:ROWS], np.asarray(data.y[:ROWS])
    tan, other = (generate.tan(n_values=3, n_classes=3, random_state=seed) for seed in (1, 2))
    ban = generate.ban(random_state=3)
    for name, made in (("TAN", tan), ("TAN, then another", generate.drift(tan, other, ROWS // 2)), ("BAN", ban)):
        X, y = made.take(ROWS)
        yield name, X, y


def run(make: Callable[..., Any], options: dict[str, Any], X: np.ndarray, y: np.ndarray) -> list[Any]:
    """How often the structure was another after a block of rows, and how good the answers were."""
    model, start, parts = make(**options), time.process_time(), []
    changes, form = 0, None
    for at in range(0, len(y), BLOCK):
        proba = model.test_then_train(X[at : at + BLOCK], y[at : at + BLOCK])
        labels = np.searchsorted(model.classes_, y[at : at + BLOCK])
        parts.append((proba.argmax(axis=1) == labels, proba[np.arange(len(labels)), labels]))
        now = model.current_structure
        changes += form is not None and at + BLOCK > model.warm_up and now != form
        form = now
    seconds = time.process_time() - start
    right, own = (np.concatenate(part) for part in zip(*parts, strict=True))
    loss = -np.log(np.maximum(own, 1e-6)).mean()
    return [len(y), changes, f"{right.mean():.4f}", f"{loss:.4f}", f"{seconds:.2f}"]


def main() -> None:
    """Run everything, or print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", action="store_true", help="print the table of the page from results.csv")
    if parser.parse_args().page:
        print(table(), end="")
        return
    with open(FOLDER / "results.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEAD)
        for stream, X, y in streams():
            for memory, forgetting in MEMORIES.items():
                for name, make in MODELS.items():
                    for rule, refresh in RULES.items():
                        figures = run(make, {"refresh": refresh, **forgetting}, X, y)
                        writer.writerow([stream, name, memory, rule, *figures])
                        file.flush()


def table() -> str:
    """Means over the streams: changes, accuracy, log loss, and time as a ratio to the default's."""
    lines = read_csv(FOLDER / "results.csv")
    out = [
        "| model | memory | refresh | changes | accuracy | log loss | time |",
        "| --- | --- | --- " + "| ---: " * 4 + "|",
    ]
    for memory in MEMORIES:
        for name in MODELS:
            for rule in RULES:
                own, base = (
                    [
                        line
                        for line in lines
                        if (line["model"], line["memory"], line["refresh"]) == (name, memory, which)
                    ]
                    for which in (rule, "default")
                )
                means = [np.mean([float(line[key]) for line in own]) for key in ("changes", "accuracy", "log_loss")]
                ratio = np.mean([float(a["seconds"]) / float(b["seconds"]) for a, b in zip(own, base, strict=True)])
                cells = f"{means[0]:.1f} | {means[1]:.4f} | {means[2]:.4f} | {ratio:.2f}"
                out.append(f"| {name} | {memory} | {rule} | {cells} |")
    return "\n".join(out) + "\n"


if __name__ == "__main__":
    main()
