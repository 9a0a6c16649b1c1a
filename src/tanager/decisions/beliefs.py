"""What a model believes of a row with gaps: the class, and what an unknown column will turn out to be.

Rows are arrays of codes, in which -1 marks what is not known. The class is what the model itself says. What a column
will be is foretold by a tree over the same counts (TAN, gaps summed out), or by the columns given the class alone
(naive Bayes) where the model has not counted pairs: most classifiers answer P(class | row) well, but are no
distribution of columns. A network is asked itself for both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from tanager.classifiers.naive_bayes import NaiveBayes
from tanager.classifiers.tan import TAN
from tanager.counts.block import Query
from tanager.errors import DataError, OptionError, nearest
from tanager.learning.counts_classifier import CountsClassifier
from tanager.networks.network import Network

MISSING = 65535  # among codes of the kernels


class Beliefs(Protocol):
    """What every model is asked."""

    columns: tuple[str, ...]
    n_values: np.ndarray
    labels: list[Any]  # the classes
    class_counts: np.ndarray  # for ties

    def classes(self, codes: np.ndarray) -> np.ndarray:
        """P(class | what is known), one row per row."""
        ...

    def column(self, codes: np.ndarray, j: int) -> np.ndarray:
        """P(value of column j | what is known), one row per row; the column itself is not known in any of them."""
        ...

    def encode(self, X: Any) -> np.ndarray:
        """The codes of a table; -1 for what is missing or was never seen."""
        ...

    def describe(self, j: int, code: int) -> object:
        """What a code of a column stands for."""
        ...


def beliefs_of(model: Any, target: str | None) -> Beliefs:
    """The beliefs of a fitted classifier, or of a network about one of its variables."""
    if isinstance(model, Network):
        if target is None:
            raise OptionError("which variable of the network is to be found out? Give it as target=.")
        return NetworkBeliefs(model, target)
    if not isinstance(model, CountsClassifier):
        raise OptionError(
            f"{type(model).__name__} does not say how its columns are distributed. Give a classifier over counts, such "
            "as AODE or TAN, or a Network with target=."
        )
    return CountsBeliefs(model)


class CountsBeliefs:
    """Of a classifier over counts."""

    def __init__(self, model: CountsClassifier) -> None:
        model.check_fitted()
        if model.reads_numbers:
            raise OptionError(
                "columns that are kept as normal distributions cannot be asked for; leave out gaussian=, so that "
                "numbers are cut into bins."
            )
        self.model, self.scorer = model, model.scorer_
        counts = model.counts_
        self.foretelling: CountsClassifier = (
            TAN.from_counts(counts, missing="marginal") if counts.order >= 2 else NaiveBayes.from_counts(counts)
        )
        schema = counts.schema
        self.columns, self.n_values, self._schema = schema.names, schema.n_values, schema
        self.labels, self.class_counts = model.classes_.tolist(), model.class_count_

    def classes(self, codes: np.ndarray) -> np.ndarray:
        return self.scorer.score(_query(codes), n_jobs=self.model.n_threads)

    def column(self, codes: np.ndarray, j: int) -> np.ndarray:
        n = int(self.n_values[j])
        tried = np.repeat(codes, n, axis=0)
        tried[:, j] = np.tile(np.arange(n), len(codes))
        scorer = self.foretelling.scorer_
        logs = scorer.score(_query(tried), log_joint=True, n_jobs=self.model.n_threads).reshape(len(codes), -1)
        shares = np.exp(logs - logs.max(axis=1, keepdims=True)).reshape(len(codes), n, -1).sum(axis=2)
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def encode(self, X: Any) -> np.ndarray:
        found = self.model.encode(X).codes
        codes = found.astype(np.int32)
        codes[(found == np.iinfo(found.dtype).max) | (codes >= self.n_values)] = -1
        return codes

    def describe(self, j: int, code: int) -> object:
        return self._schema[j].describe(code)


def _query(codes: np.ndarray) -> Query:
    return Query(np.where(codes < 0, MISSING, codes).astype(np.uint16))


class NetworkBeliefs:
    """Of a network about one of its variables; each combination of what is known is asked once."""

    def __init__(self, network: Network, target: str) -> None:
        network.index(target)
        network.require_tables(network.names)
        self.network, self.target = network, target
        self.columns = tuple(name for name in network if name != target)
        self.n_values = np.array([len(network.values(name)) for name in self.columns], dtype=np.int64)
        self.labels = list(network.values(target))
        self.class_counts = np.zeros(len(self.labels))  # of two classes as good, the first
        self._asked: dict[bytes, dict[str, np.ndarray]] = {}

    def _marginals(self, row: np.ndarray) -> dict[str, np.ndarray]:
        key = row.tobytes()
        if key not in self._asked:
            known = {name: self.network.values(name)[v] for name, v in zip(self.columns, row, strict=True) if v >= 0}
            self._asked[key] = self._posteriors(known)
        return self._asked[key]

    def _posteriors(self, known: Mapping[str, object]) -> dict[str, np.ndarray]:
        try:
            return self.network.marginals(known)
        except DataError:  # impossible, and so of no weight: any distribution will do
            return {
                name: np.full(len(self.network.values(name)), 1 / len(self.network.values(name)))
                for name in self.network
            }

    def classes(self, codes: np.ndarray) -> np.ndarray:
        return np.array([self._marginals(row)[self.target] for row in codes]).reshape(len(codes), len(self.labels))

    def column(self, codes: np.ndarray, j: int) -> np.ndarray:
        return np.array([self._marginals(row)[self.columns[j]] for row in codes]).reshape(len(codes), -1)

    def encode(self, X: Any) -> np.ndarray:
        rows = X if isinstance(X, Sequence) else _rows(X)
        codes = np.full((len(rows), len(self.columns)), -1, dtype=np.int32)
        for r, row in enumerate(rows):
            for j, name in enumerate(self.columns):
                if row.get(name) is not None and row[name] == row[name]:
                    codes[r, j] = self.network.code(name, row[name])
        return codes

    def describe(self, j: int, code: int) -> object:
        return self.network.values(self.columns[j])[code]


def _rows(X: Any) -> list[dict[str, Any]]:
    """The rows of a dict of columns or of a frame."""
    columns = X if isinstance(X, Mapping) else {name: X[name] for name in X.columns}
    lists = {str(name): np.asarray(cells, dtype=object).tolist() for name, cells in columns.items()}
    return [dict(zip(lists, cells, strict=True)) for cells in zip(*lists.values(), strict=True)]


def encode_known(beliefs: Beliefs, known: Mapping[str, object]) -> np.ndarray:
    """The codes of what is known of one row; an error for names and values that the model does not have."""
    for name in known:
        if name not in beliefs.columns:
            raise DataError(f"there is no column {name!r}.{nearest(name, beliefs.columns)}")
    codes = beliefs.encode([dict(known)])
    for name, value in known.items():
        j = beliefs.columns.index(name)
        if codes[0, j] < 0 and value is not None and value == value:
            values = [beliefs.describe(j, v) for v in range(int(beliefs.n_values[j]))]
            listed = ", ".join(map(str, values[:8])) + (", ..." if len(values) > 8 else "")
            raise DataError(f"column {name!r} has no value {value!r}; it has {listed}.{nearest(value, values)}")
    return codes
