"""SPCr as a classifier of streams, ``SPC(super_parent="stream")``, beside others; rows are answered, then learned.

python -m experiments.bouckaert_streams.in_the_stream     # a table to stdout, some minutes
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from experiments.bouckaert_streams.sources import SOURCES
from tanager import AODE, FANC, SPC, Hoeffding

SEEDS, ROWS, FIRST = 5, 50_000, 20_000  # rows of a stream; those by which all rows together choose
MODELS: dict[str, Any] = {
    "AODE": AODE,
    "FANC": FANC,
    "SPC": SPC,
    "SPC, mi": lambda: SPC(super_parent="mi"),
    "SPCr, stream": lambda: SPC(super_parent="stream"),
    "SPCr, stream, bound": lambda: SPC(super_parent="stream", refresh=Hoeffding()),
}


def main() -> None:
    """Run everything and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    chosen = parser.parse_args()
    print("| source | classifier | accuracy | log loss | changes | as SPCr of all rows | rows/s |")
    print("| --- | --- " + "| ---: " * 5 + "|")
    for source, make in SOURCES.items():
        found: dict[str, list[tuple[float, ...]]] = {name: [] for name in MODELS}
        for seed in range(chosen.seeds):
            X, y = make(random_state=seed).take(chosen.rows)
            batch = SPC(super_parent="refined").fit(X[:FIRST], y[:FIRST]).super_parent_
            for name, model in MODELS.items():
                found[name].append(_figures(model(), X, y, batch))
        for name, lines in found.items():
            accuracy, loss, changes, same, rate = np.mean(lines, axis=0)
            own = f"{changes:.1f} | {same * chosen.seeds:.0f} of {chosen.seeds}" if "stream" in name else " | "
            print(f"| {source} | {name} | {100 * accuracy:.2f} | {loss:.4f} | {own} | {rate:,.0f} |", flush=True)


def _figures(model: Any, X: np.ndarray, y: np.ndarray, batch: str) -> tuple[float, ...]:
    start = time.process_time()
    proba = model.test_then_train(X, y)
    seconds = time.process_time() - start
    labels = np.searchsorted(model.classes_, y)
    own = proba[np.arange(len(y)), labels]
    same = getattr(model, "super_parent_", None) == batch
    right = float((proba.argmax(axis=1) == labels).mean())
    return right, float(-np.log(np.maximum(own, 1e-9)).mean()), len(model.structure_changes_), same, len(y) / seconds


if __name__ == "__main__":
    main()
