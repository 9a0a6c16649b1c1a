"""``python -m experiments.stream_bins.first_rows``: how to cut while fewer than a thousand rows are there."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from unittest.mock import patch

import numpy as np

from experiments.accuracy.run import developed_on
from experiments.stream_bins.page import BEFORE
from experiments.stream_bins.run import CLASSIFIERS, FIRST, LEAST, MANY_CLASSES, STREAMS, stream
from tanager.encoding import bins
from tanager.evaluate import Table

AS_FIT = "as fit cuts"
TRIED = {f"{most} bins of {rows}": (most, rows) for most, rows in ((3, 16), (4, 8), (4, 16), (5, 16), (6, 16), (8, 16))}
KINDS = [kind for kind in CLASSIFIERS if kind != "FANC"]
Figures = dict[tuple[str, str, str], tuple[float, float]]  # log loss and error by stream, rule and classifier


def main(argv: Sequence[str] | None = None) -> int:
    """All rules where choices are made, what was chosen and what ``fit`` does on the other half of the streams."""
    names = [name for name in (argv if argv is not None else sys.argv[1:]) or STREAMS if name not in MANY_CLASSES]
    for title, half, rules in (
        ("Development half", True, [AS_FIT, *TRIED]),
        ("The other half", False, [AS_FIT, f"{bins.FEW_BINS} bins of {bins.ROWS_OF_FEW}"]),
    ):
        mine = [name for name in names if developed_on(name) == half]
        found = {(name, rule, kind): _run(name, rule, kind) for name in mine for rule in rules for kind in KINDS}
        print(f"{title}, {len(mine)} streams\n{_table(found, mine, rules)}\n")
    return 0


def _run(name: str, rule: str, kind: str) -> tuple[float, float]:
    """Log loss and error over the first thousand rows, before cut points are fixed."""
    X, y, options = stream(name)
    y = y[:FIRST]
    most, rows = TRIED.get(rule, (0, 1))
    if rule == AS_FIT:
        options = options | {"bins": BEFORE[kind]}
    with (
        patch.object(bins, "FEW_BINS", most),
        patch.object(bins, "ROWS_OF_FEW", rows),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        model = CLASSIFIERS[kind](**options)
        proba = model.test_then_train(X[:FIRST] if isinstance(X, np.ndarray) else X.slice(0, FIRST), y)
    codes = np.searchsorted(model.classes_, y)
    log_loss = -np.log(np.maximum(proba[np.arange(len(y)), codes], LEAST)).mean()
    return float(log_loss), float((proba.argmax(axis=1) != codes).mean())


def _table(found: Figures, names: list[str], rules: list[str]) -> Table:
    """Means of what ``fit`` does; else mean changes against it, and on how many streams better, equal and worse."""
    rows = []
    for rule in rules:
        row: list[object] = [rule]
        for kind in KINDS:
            own, before = (np.array([found[name, way, kind] for name in names]) for way in (rule, AS_FIT))
            for at, scale, form in ((0, 1, ".3f"), (1, 100, ".2f")):
                change = np.round(own[:, at] - before[:, at], 9)
                wins = f"{(change < 0).sum()}-{(change == 0).sum()}-{(change > 0).sum()}"
                mean = scale * (before[:, at] if rule == AS_FIT else change).mean()
                row.append(f"{mean:{form}}" if rule == AS_FIT else f"{mean:+{form}} {wins}")
        rows.append(row)
    return Table(["rule", *(f"{kind}, {what}" for kind in KINDS for what in ("log loss", "error in %"))], rows)


if __name__ == "__main__":
    sys.exit(main())
