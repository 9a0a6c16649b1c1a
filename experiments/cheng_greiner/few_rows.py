"""``python -m experiments.cheng_greiner.few_rows``: ways to choose a threshold from few rows, into few_rows.csv.

On development data all of them, on the other half the one of before and the one that was chosen.
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from experiments.accuracy.run import dataset, developed_on, names
from tanager import GeneralNetwork, Wrapped
from tanager.classifiers.wrapped import FEW_ROWS, THRESHOLDS
from tanager.encoding.chunks import rows_at
from tanager.evaluate import Table
from tanager.evaluate.plan import Folds

ASKED = 5  # folds; the other four are learned
EIGHT = tuple(tau for tau in THRESHOLDS if tau not in (0.015, 0.03))
BEFORE, CHOSEN = "5 folds", "5 folds, halved twice"
RULES: dict[str, dict[str, Any]] = {
    BEFORE: {"FEW_ROWS_FOLDS": 5, "HALVINGS": 0},
    "4 folds": {"FEW_ROWS_FOLDS": 4, "HALVINGS": 0},
    "3 folds": {"FEW_ROWS_FOLDS": 3, "HALVINGS": 0},
    "5 folds, 8 thresholds": {"FEW_ROWS_FOLDS": 5, "HALVINGS": 0, "THRESHOLDS": EIGHT},
    "4 folds, 8 thresholds": {"FEW_ROWS_FOLDS": 4, "HALVINGS": 0, "THRESHOLDS": EIGHT},
    CHOSEN: {"FEW_ROWS_FOLDS": 5, "HALVINGS": 2},
    "4 folds, halved once": {"FEW_ROWS_FOLDS": 4, "HALVINGS": 1},
    "4 folds, halved twice": {"FEW_ROWS_FOLDS": 4, "HALVINGS": 2},
    "4 folds, 8 thresholds, halved twice": {"FEW_ROWS_FOLDS": 4, "HALVINGS": 2, "THRESHOLDS": EIGHT},
}


def sets() -> list[str]:
    """Those of whose rows four fifths are few."""
    return [name for name in names() if len(dataset(name).y) * (1 - 1 / ASKED) < FEW_ROWS]


def run_one(name: str, rule: str) -> list[Any]:
    """Error, log loss and seconds of the processor to learn; means over folds."""
    data = dataset(name)
    labels = np.unique(np.asarray(data.y).astype(str), return_inverse=True)[1].astype(np.uint16)
    found = []
    for part in range(ASKED):
        test = Folds(ASKED, seed=1).test(labels, part)
        model = Wrapped(GeneralNetwork(**data.options))
        start = time.process_time()
        with mock.patch.multiple("tanager.classifiers.wrapped", **RULES[rule]):
            model.fit(rows_at(data.X, np.flatnonzero(~test)), labels[~test])
        seconds = time.process_time() - start
        proba = model.predict_proba(rows_at(data.X, np.flatnonzero(test)))
        own = proba[np.arange(test.sum()), np.searchsorted(model.classes_, labels[test])]
        found.append((np.mean(model.classes_[proba.argmax(axis=1)] != labels[test]), -np.log(own).mean(), seconds))
    return [name, rule, developed_on(name), *np.mean(found, axis=0).tolist()]


def compared(lines: list[list[Any]], developed: bool) -> str:
    """Every rule beside the one of before: means over data sets, and on how many it is better, equal and worse."""
    by_rule = {
        rule: np.array([line[3:] for line in lines if line[1:3] == [rule, developed]])
        for rule in RULES
        if any(line[1:3] == [rule, developed] for line in lines)
    }
    before = by_rule[BEFORE]
    out = ["| rule | error | better, equal, worse | log loss | better, equal, worse | time |", "|" + " --- |" * 6]
    for rule, own in by_rule.items():
        cells = [rule]
        for k in (0, 1):
            gain = np.round(before[:, k] - own[:, k], 9)
            cells += [f"{own[:, k].mean():.4f}", f"{(gain > 0).sum()}-{(gain == 0).sum()}-{(gain < 0).sum()}"]
        out.append(f"| {' | '.join(cells)} | {own[:, 2].sum() / before[:, 2].sum():.2f} |")
    return "\n".join(out)


def main() -> int:
    """Run all, write the lines down and print both halves."""
    warnings.simplefilter("ignore")
    lines = []
    for name in sets():
        for rule in RULES if developed_on(name) else (BEFORE, CHOSEN):
            lines.append(run_one(name, rule))
            print(*lines[-1], file=sys.stderr, flush=True)
    heads = ["dataset", "rule", "development", "error", "log_loss", "seconds"]
    Table(heads, lines).to_csv(Path(__file__).parent / "few_rows.csv")
    for half in (True, False):
        print(f"{'Development half' if half else 'The other half'}\n\n{compared(lines, half)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
