"""ForestScorer: answers of a forest of k-dependence networks, from tables or with rows left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from tanager import _kernels, saved
from tanager.counts.block import Block, Query
from tanager.encoding.codes import row_array
from tanager.encoding.typing import RowOfCodes
from tanager.errors import ModelFileError
from tanager.scoring.decision import posterior
from tanager.scoring.explain import PartList
from tanager.scoring.explain_rows import Explained, differences
from tanager.scoring.scorer import AnswersRows
from tanager.scoring.view import View

MOST_WEIGHT = 1e30  # of a factor in a file; logs times it stay finite
MOST_CELLS = 1 << 16  # of a family: values of the column times combinations of those of its parents
STRENGTHS = 1e-3, 1e5  # between which those of back-off lie, and a little more (see bind_forest.cpp)
CLIP = 2.0  # a family speaks for a class against the average class by at most exp(2)


@dataclass(frozen=True)
class Forest:
    """Families of columns with their strengths of back-off and their weights: all that a forest knows beside rows."""

    n_slots: np.ndarray  # of each column: its values, and one for missing
    groups: np.ndarray  # (members, slots)
    families: np.ndarray  # (families, 2 + parents): member, column, parents; -1 where there are fewer
    strengths: np.ndarray  # (families, levels)
    factors: np.ndarray  # (families,): their weights
    prior: float  # the weight of the log prior

    def kernel(self) -> _kernels.Forest:
        """The same, checked and ready to count."""
        return _kernels.Forest(self.n_slots.tolist(), self.groups, self.families, CLIP)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """For a model file."""
        return {f"forest-{field.name}": np.asarray(getattr(self, field.name)) for field in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], n_values: np.ndarray) -> Forest:
        """What ``to_arrays`` gave, for columns with so many values by now; unsound arrays are refused."""
        n_families, (weakest, strongest) = len(arrays["forest-families"]), STRENGTHS
        expected = {
            "n_slots": saved.array("i8", len(n_values), least=1, most=65536),
            "groups": saved.array("u1", None, None),
            "families": saved.array("i4", n_families, None, least=-1),
            "strengths": saved.array("f4", n_families, None, least=weakest, most=strongest),
            "factors": saved.array("f4", n_families, least=-MOST_WEIGHT, most=MOST_WEIGHT),
            "prior": saved.array("f8", least=-MOST_WEIGHT, most=MOST_WEIGHT),
        }
        found = saved.read("arrays of its forest", arrays, {f"forest-{name}": k for name, k in expected.items()})
        forest = cls(*(array.item() if array.ndim == 0 else array for array in found.values()))
        if (forest.n_slots > n_values + 1).any():
            raise ModelFileError("its forest knows values that its columns do not have")
        if (np.diff(forest.kernel().table_starts(1)) > MOST_CELLS).any():
            raise ModelFileError(f"a family of its forest has more than {MOST_CELLS} cells")
        return forest


class ForestScorer(AnswersRows):
    """The weighted sum of what all families say, in logs, and of the log prior.

    ``rows`` gives the learned rows of now, for rows that are left out. Tables are made once, from the rows of then.
    """

    compiled = None
    _row_prior: tuple[list[float], np.ndarray] | None = None  # factors of classes, and the prior with them

    def __init__(
        self,
        view: View,
        forest: Forest,
        rows: Callable[[], Block],
        arrays: Mapping[str, np.ndarray] | None = None,
        n_jobs: int = 1,
    ) -> None:
        self.view, self.forest, self.rows = view, forest, rows
        self.n_values = forest.n_slots - 1
        self.n_classes = view.counts.n_classes
        self._class_counts = view.counts.class_counts.copy()
        cells = self.kernel.table_starts(self.n_classes)[-1]
        if arrays is not None and "forest-tables" in arrays:
            expected = {
                "forest-tables": saved.array("f4", cells, least=-MOST_WEIGHT, most=MOST_WEIGHT),
                "forest-class_counts": saved.array("f8", self.n_classes, least=0.0),
            }
            own, self._class_counts = saved.read("arrays of its forest", arrays, expected).values()
            self.tables = self.kernel.tables_of(own, self.n_classes)
        else:
            learned, levels = encoded(rows(), self.n_values), (forest.strengths, forest.factors)
            self.tables = self.kernel.tables(*learned, self.n_classes, *levels, n_jobs)

    @cached_property
    def kernel(self) -> _kernels.Forest:
        """The families, checked."""
        return self.forest.kernel()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "kernel"} | {"tables": self.tables.cells()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.tables = self.kernel.tables_of(state["tables"], self.n_classes)

    def prior(self) -> np.ndarray:
        """What is added to the log of every class: learned or given priors, and class weights."""
        view = self.view
        with np.errstate(divide="ignore"):
            prior = np.log(view.priors) if view.priors else self.forest.prior * log_prior(self._class_counts)
            return np.asarray(prior + np.log(view.factors) if view.factors else prior)

    def _logs(self, codes: np.ndarray, n_jobs: int) -> np.ndarray:
        out = np.empty((len(codes), self.n_classes))
        self.tables.score(slots_of(codes, self.n_values), out, n_jobs=n_jobs)
        return out

    def score(self, query: Query, *, log_joint: bool = False, n_jobs: int = 1) -> np.ndarray:
        """Posteriors, or logs of the joint up to what all classes share."""
        logs = self._logs(query.codes, n_jobs) + self.prior()
        return logs if log_joint else posterior(logs)

    def answer_row(self, codes: RowOfCodes) -> list[float]:
        """``score`` of one row: a stream asks for one after the other."""
        view = self.view
        known = self._row_prior
        if known is None or known[0] is not view.factors:
            known = self._row_prior = view.factors, self.prior()
        return self.tables.one(row_array(codes), known[1])

    def leave_one_out(self, block: Block, *, n_jobs: int = 1) -> np.ndarray:
        """Posteriors of learned rows, each without itself; groups, strengths and weights stay."""
        out = np.empty((len(block), self.n_classes))
        learned, judged = encoded(self.rows(), self.n_values), encoded(block, self.n_values)
        levels = self.forest.strengths, self.forest.factors
        self.kernel.left_out(*learned, *judged, self.n_classes, *levels, out, n_jobs)
        return posterior(out + self.prior())

    def explain(self, query: Query, answer: int, against: int) -> tuple[float, PartList]:
        """Log-odds of the prior, and of every column: the sum over all families in which it is the child."""
        prior = self.prior()
        parts = [(column, (), float(logs[0, answer] - logs[0, against])) for column, logs in self._by_column(query)]
        return float(prior[answer] - prior[against]), list(parts)

    def explain_rows(self, query: Query, answer: np.ndarray, against: np.ndarray) -> Explained:
        """The same for many rows."""
        prior, columns = self.prior(), np.zeros((*query.codes.shape, answer.shape[1]))
        for column, logs in self._by_column(query):
            columns[:, column] = differences(logs, answer, against)
        return prior[answer] - prior[against], columns

    def _by_column(self, query: Query) -> Iterator[tuple[int, np.ndarray]]:
        """For every column what the families add to the logs of the classes in which it is the child."""
        slots = slots_of(query.codes, self.n_values)
        for column in np.unique(self.forest.families[:, 1]).tolist():
            out = np.empty((len(query), self.n_classes))
            self.tables.score(slots, out, column)
            yield column, out

    def to_arrays(self, *, with_tables: bool) -> dict[str, np.ndarray]:
        """For a model file; the tables where rows have come since they were made."""
        then = {"forest-tables": self.tables.cells(), "forest-class_counts": self._class_counts} if with_tables else {}
        return self.forest.to_arrays() | then


def slots_of(codes: np.ndarray, n_values: np.ndarray) -> np.ndarray:
    """Codes as slots, (columns, rows): whatever is no known value is in the last slot of its column."""
    return np.ascontiguousarray(np.minimum(codes, n_values.astype(np.uint16)).astype(np.uint16).T)


def encoded(block: Block, n_values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Slots, labels and weights of rows for the kernel."""
    weights = None if block.weights is None else block.weights.astype(np.float32)
    return slots_of(block.codes, n_values), block.labels.astype(np.uint16), weights


def log_prior(class_counts: np.ndarray) -> np.ndarray:
    """Log probabilities of the classes, with one row more for each."""
    counts = class_counts + 1.0
    return np.asarray(np.log(counts / counts.sum()))
