"""What the experiments share: options, a progress line, data sets and splits, means on file, tables inside a page."""

from __future__ import annotations

import argparse
import csv
import re
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tanager.datasets import Dataset, load
from tanager.evaluate import Equivalence, Results, Table, equivalence, sign_test, win_draw_loss

HOME = Path(__file__).parent
BUILD = HOME.parent / "build" / "experiments"
MEASURES = ("accuracy", "log_loss", "rmse", "auc")
LEVEL = 0.05  # of all tests
ENTROPY: dict[str, Any] = {"bins": "mdl"}  # numbers are cut by class entropy alone, as the papers do
MARGIN = 0.01  # of an error: classifiers are alike if their mean difference is surely less than a point


def arguments(name: str, about: str, argv: Sequence[str] | None) -> argparse.Namespace:
    """The options that every experiment has. Only a whole run goes into the folder of the experiment itself."""
    parser = argparse.ArgumentParser(f"python -m experiments.{name}", description=about)
    parser.add_argument("--quick", action="store_true", help="one repetition only")
    parser.add_argument("--sets", nargs="+", metavar="NAME", help="these data sets only")
    parser.add_argument("--jobs", type=int, default=-1, help="processes; by default as many as there are cores")
    parser.add_argument("--out", type=Path, help="folder for the page, its figures and its pictures")
    parser.add_argument("--ledger", type=Path, default=BUILD / f"{name}.jsonl", help="where finished folds are kept")
    chosen = parser.parse_args(argv)
    part = chosen.quick or chosen.sets
    chosen.out = chosen.out or (BUILD / name if part else HOME / name)
    for folder in (chosen.out, chosen.ledger.parent):
        folder.mkdir(parents=True, exist_ok=True)
    return chosen


class ProgressLine:
    """One line that says how far the work is and how long it will take; made for ``progress=``."""

    def __init__(self) -> None:
        self.start = time.monotonic()
        self.found: int | None = None  # folds of an earlier run
        self.percent = -1

    def __call__(self, done: int, total: int, what: str) -> None:
        self.found = done if self.found is None else self.found
        spent, fresh = time.monotonic() - self.start, done - self.found
        left = f", {_clock(spent / fresh * (total - done))} left" if fresh and done < total else ""
        line = f"{done:,} of {total:,}, {_clock(spent)}{left}: {what}"
        percent = 100 * done // total
        if sys.stderr.isatty():
            print(f"\r{line:<79}", end="", file=sys.stderr, flush=True)
        elif percent != self.percent:
            print(line, file=sys.stderr, flush=True)
        self.percent = percent


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def whole(name: str) -> Dataset:
    """A data set by name; rows that were set apart for testing are put behind the others."""
    data = load(name)
    if data.test is None:
        return data
    X = pa.concat_tables([data.X, data.test.X.cast(data.X.schema)]).unify_dictionaries()
    return Dataset(name, X, np.concatenate([data.y, data.test.y]), data.options, about=data.about)


def worded(data: Dataset) -> Dataset:
    """The data set with a word, "empty", in each empty cell of a category, so that emptiness can carry meaning."""
    columns = {
        column: pc.fill_null(cells.cast(pa.string()), "empty") if column in data.options["categorical"] else cells
        for column, cells in zip(data.X.column_names, data.X.columns, strict=True)
    }
    return replace(data, X=pa.table(columns))


@dataclass(frozen=True)
class Given:
    """The split that came with the data: the rows from ``start`` on are asked. For plans of ``tanager.evaluate``."""

    start: int

    def test(self, labels: np.ndarray, part: int) -> np.ndarray:
        return np.arange(len(labels)) >= self.start

    def place(self, part: int) -> tuple[int, int]:
        return part, 0


# --- means on file -------------------------------------------------------------------------------------------------


def means(results: Results, against: Sequence[str] = ()) -> Table:
    """A line per data set and classifier: means over the folds, and p of the corrected t-test against some of them."""
    rows = []
    for dataset in results.datasets:
        for name in results.classifiers:
            folds = results.folds(dataset, name)
            if not folds:
                continue
            numbers = [results.mean(dataset, name, measure) for measure in MEASURES]
            ps = [results.difference(dataset, name, other, "accuracy")[2] for other in against]
            n_rows = folds[0]["n_train"] + folds[0]["n_test"]
            rows.append([dataset, name, n_rows, len(folds), *numbers, *ps])
    names = ["dataset", "classifier", "n_rows", "n_folds", *MEASURES, *(f"p_{other}" for other in against)]
    return Table(names, rows)


def read_means(path: Path) -> Results:
    """Results with one record per data set and classifier, the mean over its folds."""
    records = []
    for line in read_csv(path):
        sizes = {"repeat": 0, "fold": 0, "n_train": line["n_rows"], "n_test": line["n_rows"]}
        records.append(line | sizes)
    return Results(records)


def read_csv(path: Path) -> list[dict[str, Any]]:
    """The lines of a table, numbers as numbers and None where there is nothing."""
    with open(path, encoding="utf-8", newline="") as file:
        return [{key: _read(cell) for key, cell in line.items()} for line in csv.DictReader(file)]


def _read(cell: str) -> Any:
    for kind in (int, float):
        try:
            return kind(cell)
        except ValueError:
            continue
    return cell or None


# --- comparisons ---------------------------------------------------------------------------------------------------


def mean_losses(results: Results, names: Sequence[str], measure: str = "error") -> np.ndarray:
    """Losses of classifiers (columns) on the data sets (rows) that all of them have."""
    rows = [row[1:] for row in results.select(classifiers=names).by_dataset(measure).rows]
    return np.array([row for row in rows if None not in row], dtype=float)


def against(results: Results, base: str, others: Sequence[str], measure: str = "error") -> Table:
    """One classifier against others, as papers print it: ratio (other / base), and wins-draws-losses of the base."""
    rows: list[list[Any]] = [[base, float(mean_losses(results, [base], measure).mean()), 1.0, "", None]]
    for name in others:
        pair = results.select(classifiers=[base, name]).pairs(measure).to_dicts()[0]
        score = f"{pair['wins']}-{pair['draws']}-{pair['losses']}"
        mean = float(mean_losses(results, [base, name], measure)[:, 1].mean())
        rows.append([name, mean, 1 / pair["ratio"], score, pair["p"]])
    names = ["classifier", f"mean {measure}", f"ratio to {base}", f"{base} wins-draws-losses", "p"]
    return Table(names, rows, {names[2]: ".3f", "p": "p"})


def steps(chain: str) -> list[tuple[str, str, str]]:
    """The steps of one or several chains, first, relation and second: NB < TAN ~ AODE has two."""
    words = [part.split() for part in chain.split(",")]
    return [(w[i], w[i + 1], w[i + 2]) for w in words for i in range(0, len(w) - 2, 2)]


def judged(results: Results, *chains: str) -> Table:
    """Each step of a source's orderings by accuracy: the sign test over data sets, and whether the two are alike."""
    rows = []
    for first, relation, second in [step for chain in chains for step in steps(chain)]:
        a, b = mean_losses(results, [first, second]).T
        won, drawn, lost = win_draw_loss(b, a)
        p, gain = sign_test(won, lost)[1], equivalence(a - b, MARGIN)
        score, verdict = f"{won}-{drawn}-{lost}", _verdict(relation, won, lost, p, gain.p)
        rows.append([f"{first} {relation} {second}", score, p, 100 * gain.mean, interval(gain, 100), gain.p, verdict])
    names = ["step", "wins-draws-losses of the second", "p", "mean gain, points", *ALIKE, "verdict"]
    return Table(names, rows, {"p": "p", "mean gain, points": "+.2f", "p, alike": "p"})


ALIKE = ("90 % interval", "p, alike")  # the columns of an equivalence test


def interval(found: Equivalence, scale: float = 1.0, digits: int = 2) -> str:
    """The interval that lies within the margin where two are alike, in other units."""
    low, high = (f"{round(scale * end, digits) + 0.0:+.{digits}f}" for end in (found.low, found.high))  # no -0.00
    return "-" if np.isnan(found.low) else f"{low} to {high}"


def _verdict(relation: str, won: int, lost: int, p: float, p_alike: float) -> str:
    """What a step has come to. That no difference is shown does not make two classifiers alike."""
    if relation == "~":
        return "confirmed" if p_alike < LEVEL else "refuted" if p < LEVEL else "not shown"
    if p >= LEVEL:
        return "alike" if p_alike < LEVEL else "not shown"
    return "confirmed" if won > lost else "refuted"


# --- the page ------------------------------------------------------------------------------------------------------


def fill(text: str, tables: Mapping[str, Table]) -> str:
    """The page with each of its tables between ``<!-- table: name -->`` and ``<!-- end -->`` put in anew."""

    def put(found: re.Match[str]) -> str:
        return f"{found[1]}\n\n{tables[found[2]].to_markdown()}\n<!-- end -->"

    return re.sub(r"(<!-- table: ([\w-]+) -->).*?<!-- end -->", put, text, flags=re.DOTALL)


def write_page(name: str, out: Path, tables: Mapping[str, Table]) -> None:
    """The page of an experiment with fresh tables; a run of a part writes a copy elsewhere."""
    text = (HOME / name / "README.md").read_text(encoding="utf-8")
    (out / "README.md").write_text(fill(text, tables), encoding="utf-8")
