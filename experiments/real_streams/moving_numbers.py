"""Numbers that leave their bins: what HalfLives gains by cutting columns on, and what it costs where nothing moves.

python -m experiments.real_streams.moving_numbers            # TANAGER_DATA names the folder of the real streams
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any
from unittest.mock import patch

import numpy as np

from experiments.common import ProgressLine
from experiments.real_streams import diversity, rivals
from tanager import AODE, HalfLives
from tanager.evaluate import Table
from tanager.streams import crowded_bins

NEVER = 2.0
AS_BEFORE, AS_IT_IS, GRID = "cut points stay", "as it is", 'AODE(recut="grid")'
TRIED: dict[str, dict[str, float]] = {
    AS_BEFORE: {"CROWDED": NEVER},
    AS_IT_IS: {},
    "rows between looks: 125": {"ROWS": 125},
    "rows between looks: 500": {"ROWS": 500},
    "rows beyond the usual share: 0.3": {"CROWDED": 0.3},
    "rows beyond the usual share: 0.5": {"CROWDED": 0.5},
    "rows beyond the usual share: 0.6": {"CROWDED": 0.6},
    "looks to wait: 1 at most": {"WAIT": 1},
    "looks to wait: without end": {"WAIT": 10**9},
    "parts of a bin alike in all classes": {"OF_ALL": 1e9},
    "bins at most, by those of one cut: 1.5": {"MOST": 1.5},
    "bins at most, by those of one cut: 3": {"MOST": 3},
}
REPORTED = (AS_BEFORE, AS_IT_IS, GRID)
HELD_OUT = [name for name in rivals.STREAMS if name not in (*rivals.CHOSEN_ON, "spam", "tan, abrupt", "tan, none")
            and not name.startswith(("naive Bayes", "stagger"))]  # fmt: skip  # those with numbers


def moved(X: np.ndarray, how: str) -> np.ndarray:
    """The same numbers, some of which move on the way."""
    X, n = np.array(X, dtype=float), len(X)
    spread, rows = X.std(axis=0), np.arange(n)
    if how == "other unit":  # of one column at half time; another one becomes smaller
        X[n // 2 :, 0] = X[n // 2 :, 0] * 100 + 50
        X[n // 2 :, 1] /= 20
    elif how == "trend":
        X[:, 0] += 8 * spread[0] * rows / n
    elif how == "steep trend":
        X[:, 0] += 30 * spread[0] * rows / n
    elif how == "waves":
        X[:, 0] += 4 * spread[0] * np.sin(rows / 400)
    return X


WAYS = ("as it is", "other unit", "trend", "steep trend", "waves")
Figures = tuple[float, float, float]  # log loss, accuracy, seconds


def main(argv: Sequence[str] | None = None) -> int:
    """All settings on the streams where choices are made; what was chosen on the others."""
    names = list(argv if argv is not None else sys.argv[1:])
    for title, streams, tried in (
        ("Development streams", diversity.STREAMS, tuple(TRIED)),
        ("Other streams", {name: rivals.STREAMS[name] for name in HELD_OUT}, REPORTED),
    ):
        wanted = {name: read for name, read in streams.items() if not names or name in names}
        print(f"{title}: {', '.join(wanted)}\n\n{_table(wanted, tried)}\n")
    return 0


def _table(streams: dict[str, Callable[[], rivals.Rows]], tried: Sequence[str]) -> Table:
    """Means of what is there without the watch; else mean changes against it, and better-equal-worse in log loss."""
    found: dict[tuple[str, str], list[Figures]] = {}
    progress = ProgressLine()
    for at, (name, read) in enumerate(streams.items()):
        progress(at, len(streams), name)
        X, y = read()
        for way in WAYS:
            for setting in tried:
                found.setdefault((way, setting), []).append(_figures(moved(X, way), y, setting))
    rows = []
    for way in WAYS:
        before = np.array(found[way, AS_BEFORE])
        for setting in tried:
            own = np.array(found[way, setting])
            change = np.round(own[:, 0] - before[:, 0], 4)
            wins = f"{(change < 0).sum()}-{(change == 0).sum()}-{(change > 0).sum()}"
            slower = float(np.median(own[:, 2] / before[:, 2]))
            rows.append([way, setting, own[:, 0].mean(), own[:, 1].mean(), wins, slower])
    heads = ["numbers", "setting", "log loss", "accuracy", "better-equal-worse", "time"]
    return Table(heads, rows, {"log loss": ".4f", "accuracy": ".4f", "time": ".2f"})


def _figures(X: np.ndarray, y: np.ndarray, setting: str) -> Figures:
    base = AODE(recut="grid") if setting == GRID else None
    as_it_is = {"CROWDED": crowded_bins.CROWDED}
    with patch.multiple(crowded_bins, **(as_it_is | TRIED.get(setting, {}))), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model: Any = HalfLives(base)
        start = time.thread_time()
        proba = model.test_then_train(X, y)
        seconds = time.thread_time() - start
    codes = np.searchsorted(model.classes_, y)
    loss = -np.log(np.maximum(proba[np.arange(len(y)), codes], rivals.LEAST)).mean()
    return float(loss), float((proba.argmax(axis=1) == codes).mean()), seconds


if __name__ == "__main__":
    sys.exit(main())
