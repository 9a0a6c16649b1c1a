"""How long a classifier will take on a table, before it has run: from rows, columns, values and classes.

Good for the order of classifiers and for what will not fit into a time limit; ``TimeLimit`` corrects it by what is
measured on the way. The figures are fitted, roughly, to single folds of tables with 4 to 60 columns, on one core:
``python -m benchmarks.forecast`` sets forecasts beside the time that is taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from tanager.encoding.bins import MOST_REFINED
from tanager.encoding.values import Numbers
from tanager.evaluate.plan import EvaluationPlan

_BINS = 5  # of a number column, by class entropy; how many there will be is known only when it is cut
_ROWS_PER_CELL = 25  # of each class for a pair of bins, where bins are refined


@dataclass(frozen=True)
class TableSize:
    """Rows, columns, values of all columns together, and classes of a table.

    `width` is that of ``AsNumbers``; `n_numbers` of the columns are of numbers, which have to be cut.
    """

    n_rows: int
    n_columns: int
    n_values: int
    n_classes: int
    width: int
    n_numbers: int = 0

    @classmethod
    def of(cls, plan: EvaluationPlan) -> TableSize:
        """The size of the table of a plan."""
        data = plan.data
        if data.codes is not None:
            values = (data.codes.max(axis=0).astype(int) + 1).tolist() if len(data.codes) else []
            return cls(len(data.labels), data.codes.shape[1], sum(values), len(data.classes), sum(values))
        numbers = [isinstance(cells, Numbers) for cells in data.cells]
        values = [_BINS if number else len(cells.values) for number, cells in zip(numbers, data.cells, strict=True)]
        width = sum(1 if number else min(n, 100) for number, n in zip(numbers, values, strict=True))
        n_values = sum(min(n, 1000) for n in values)
        return cls(len(data.labels), len(numbers), n_values, len(data.classes), width, sum(numbers))

    def cut_for(self, model: Any) -> TableSize:
        """The same with the bins that a classifier asks for: ``bins="refined"`` gives more of them with more rows."""
        bins = getattr(model, "bins", None) or getattr(model, "default_bins", None)
        if not (isinstance(bins, str) and bins == "refined"):  # a dict, of columns, is not looked into
            return self
        n_bins = min(MOST_REFINED, max(_BINS, math.sqrt(self.n_rows / max(1, self.n_classes) / _ROWS_PER_CELL)))
        return replace(self, n_values=self.n_values + round(self.n_numbers * (n_bins - _BINS)))


@dataclass(frozen=True)
class _Cost:
    """Nanoseconds for each cell, each pair and each triple of cells, also times classes, and for cells of tables."""

    cells: float = 0
    cells_classes: float = 0
    pairs: float = 2
    triples: float = 0
    triples_classes: float = 0
    pair_table: float = 20
    triple_table: float = 0
    start: float = 5e6

    def __call__(self, size: TableSize) -> float:
        m, n, k = size.n_rows, size.n_columns, size.n_classes
        of_rows = n * (self.cells + self.cells_classes * k + n * (self.pairs + n * self._triple(k)))
        of_tables = k * size.n_values**2 * (self.pair_table + size.n_values * self.triple_table)
        return 1e-9 * (self.start + m * of_rows + of_tables)

    def _triple(self, n_classes: int) -> float:
        return self.triples + self.triples_classes * n_classes


def _forest(size: TableSize) -> float:
    return 0.25 + 1.2e-5 * size.n_rows * math.log2(size.n_rows + 1)


def _network_forest(size: TableSize) -> float:
    m, n, k = size.n_rows, max(1, size.n_columns), size.n_classes
    judged = min(m, 5000)
    factors = 2000 if size.n_numbers else 1000
    members = min(200, max(60 if n > 64 else 1, factors // n), max(20, 40_000_000 // max(1, judged * k * n)))
    return 0.1 + members * min(n, 64) * (1e-4 + 4e-8 * m + 2e-8 * judged * k)


def _boosted(size: TableSize) -> float:
    # Numbers have many places to split at, columns of zeros and ones a single one.
    return 0.04 + 1e-9 * size.n_rows * (9000 * size.n_numbers + 1500 * (size.width - size.n_numbers))


def _gradient(size: TableSize) -> float:
    trees = size.n_classes if size.n_classes > 2 else 1
    return 0.1 + trees * (min(0.4, 3e-4 * size.n_rows) + 1e-9 * size.n_rows * size.width)


def _logistic(size: TableSize) -> float:
    return 0.03 + 5e-8 * size.n_rows * size.width * size.n_classes


_TREE = _Cost(cells=60)
_COSTS: dict[str, Callable[[TableSize], float]] = {
    "NaiveBayes": _Cost(cells=60, pairs=0, pair_table=0),
    **dict.fromkeys(("TAN", "FAN", "KDB", "AODE", "WAODE", "HNB", "FANC", "TBMATAN"), _TREE),
    "SPC": _Cost(cells=60, pairs=5, pair_table=60),
    "SPC(refined)": _Cost(triples=0.6, triples_classes=0.3, triple_table=1),
    "SuperParentTAN": _Cost(cells=900, cells_classes=40, pairs=30, pair_table=600),
    "SuperParentTAN(arcs)": _Cost(cells=900, triples=30, pair_table=600),
    "SelectiveKDB": _Cost(cells=300, cells_classes=60, pair_table=80),
    "SPODE": _Cost(cells=200, cells_classes=15, pairs=5),
    "A2DE": _Cost(triples=1, triple_table=5),
    "AnytimeAODE": _Cost(cells=600, cells_classes=45, pairs=8, pair_table=160),
    "AnytimeA2DE": _Cost(triples=1.5, triples_classes=0.5, triple_table=5),
    "ANDE": _Cost(triples=60, triple_table=50),
    "TC": _Cost(pairs=10, triples=0.5, triple_table=8),
    "BestOf": _Cost(cells=1000, triples=0.3, pair_table=300),
    "BAN": _Cost(cells=80, pairs=8),
    "ChowLiuMultiNet": _Cost(cells_classes=20, pairs=6, pair_table=60),
    "MultiNet": _Cost(cells_classes=150, pairs=30, pair_table=1500),
    "GeneralNetwork": _Cost(cells=800, pair_table=450),
    "Wrapped": _Cost(cells=8000, cells_classes=1500, pairs=300, pair_table=5000),
    "SelectiveNaiveBayes": _Cost(cells_classes=40, pairs=3, pair_table=50),
    "Selective(TAN)": _Cost(cells=120, pair_table=30),
    "Selective": _Cost(cells_classes=700, triples=10, triples_classes=5, pair_table=7000),
    "BSEJ": _Cost(cells_classes=120, triples=1.2, pair_table=1200),
    "FSSJ": _Cost(cells_classes=130, triples=0.6),
    "SemiNaiveBayes": _Cost(cells=40, pairs=15),
    "AdjustedNaiveBayes": _Cost(cells_classes=80, pairs=0),
    "NBTree": _Cost(cells=900, cells_classes=20, pair_table=200),
    "RecursiveBayes": _Cost(cells_classes=60),
    "LBR": _Cost(cells=200, cells_classes=200),
    "HoeffdingTree": _Cost(cells=200, cells_classes=12),
    "HalfLives": _Cost(cells_classes=30, pairs=10),
    "EvolvingNaiveBayes": _Cost(cells=3000, cells_classes=300),
    "DecisionTreeClassifier": _Cost(cells=400, start=2e7),
    "AdaBoostClassifier": _boosted,
    "NetworkForest": _network_forest,
    "RandomForestClassifier": _forest,
    "HistGradientBoostingClassifier": _gradient,
    "LogisticRegression": _logistic,
}
_UNKNOWN = _Cost(cells=1000, pairs=30)


def fold_seconds(model: Any, size: TableSize) -> float:
    """The seconds that one fold is likely to take with this classifier: to learn the table, and to answer a part of it.

    >>> from tanager import AODE, NaiveBayes, SPC
    >>> table = TableSize(n_rows=4600, n_columns=57, n_values=285, n_classes=2, width=57, n_numbers=57)
    >>> [round(fold_seconds(model, table), 2) for model in (NaiveBayes(), AODE(), SPC(super_parent="refined"))]
    [0.02, 0.06, 1.4]
    """
    return next((_COSTS[key] for key in _keys(model) if key in _COSTS), _UNKNOWN)(size.cut_for(model))


def _keys(model: Any) -> tuple[str, str]:
    """The names under which a classifier may be found: with the option that decides its cost, and without."""
    if hasattr(model, "steps"):  # of a pipeline only the last step counts
        model = model.steps[-1][1]
    name = type(model).__name__
    inner = getattr(model, "super_parent", None) or getattr(model, "search", None) or type(_inner(model)).__name__
    return f"{name}({inner})", name


def _inner(model: Any) -> Any:
    return getattr(model, "model", None)
