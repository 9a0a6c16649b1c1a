"""``python -m experiments.webb_anytime.clock``: errors of answers under a budget, by the clock, and the page anew.

To be run on an idle machine; the errors by number of members stay as they are.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments.common import HOME, ProgressLine, write_page
from experiments.webb_anytime import page
from experiments.webb_anytime.run import SETS, Progress, dataset
from tanager import AnytimeAODE
from tanager.encoding.chunks import rows_at
from tanager.evaluate import Table
from tanager.evaluate.folds import stratified_holdout

ENOUGH = 2_000  # rows of a data set that is timed: one half is learned, the other answered
TOGETHER = (0.0, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, None)  # microseconds per row; None is as long as it takes
ONE_BY_ONE = (0.0, 10.0, 20.0, 30.0, 50.0, 100.0, None)
ASKED = 1_000  # rows that are asked one by one
ROUNDS = 7  # of which the median is taken
MANY_SECONDS = 10.0  # more than any row takes
TIMES = ("dataset", "way", "n_asked", "n_members", "budget_us", "us_per_row", "members", "error", "load")


def times(names: Sequence[str], progress: Progress) -> Table:
    """Error, members and microseconds per row of the clock, for budgets; reading the table is in them."""
    rows = []
    for at, name in enumerate(names):
        progress(at, len(names), f"times of {name}")
        data: Any = dataset(name)
        if len(data.y) < ENOUGH:
            continue
        asked = stratified_holdout(data.y, 0.5)
        X, y = rows_at(data.X, np.flatnonzero(asked)), data.y[asked]
        model = AnytimeAODE(stop="all", **data.options)
        model.fit(rows_at(data.X, np.flatnonzero(~asked)), data.y[~asked])
        model.answer(X)  # the order is found when the first answer is asked for
        rows += [[name, *line] for line in (*_together(model, X, y), *_one_by_one(model, X, y))]
    progress(len(names), len(names), "times")
    return Table(TIMES, rows)


def _together(model: Any, X: Any, y: np.ndarray) -> Iterator[list[Any]]:
    for budget in TOGETHER:
        tries = []
        for _ in range(ROUNDS):
            start = time.perf_counter()
            answer = model.answer(X, budget=None if budget is None else budget * 1e-6 * len(y))
            tries.append((1e6 * (time.perf_counter() - start) / len(y), answer))
        spent, answer = sorted(tries, key=lambda one: one[0])[ROUNDS // 2]
        wrong = model.classes_[answer.proba.argmax(axis=1)] != y
        yield ["together", len(y), len(model.order_), budget, spent, float(answer.members.mean()), *_end(wrong)]


def _one_by_one(model: Any, X: Any, y: np.ndarray) -> Iterator[list[Any]]:
    some = np.linspace(0, len(y) - 1, min(ASKED, len(y))).astype(int)
    rows = rows_at(X, some).to_pylist()
    for budget in ONE_BY_ONE:
        spent, members, wrong = [], [], []
        for row, label in zip(rows, y[some], strict=True):
            start = time.perf_counter()
            proba = model.predict_proba_one(row, budget=MANY_SECONDS if budget is None else budget * 1e-6)
            spent.append(1e6 * (time.perf_counter() - start))
            members.append(int(model.members_used_[0]))
            wrong.append(max(proba, key=proba.__getitem__) != label)
        where = ["one by one", len(rows), len(model.order_), budget]
        yield [*where, float(np.median(spent)), float(np.mean(members)), *_end(np.array(wrong))]


def _end(wrong: np.ndarray) -> list[float]:
    return [float(wrong.mean()), round(os.getloadavg()[0], 2)]


def write(names: Sequence[str], out: Path) -> dict[str, Table]:
    """Measure the times, and make tables, pictures and the page of all that was found; the tables are returned."""
    times(names, ProgressLine()).to_csv(out / "times.csv")
    tables = page.tables(out)
    write_page("webb_anytime", out, tables)
    page.pictures(out)
    return tables


def main() -> int:
    """Measure again, beside errors that are there."""
    tables = write(SETS, HOME / "webb_anytime")
    print(f"{tables['together']}\n\n{tables['one-by-one']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
