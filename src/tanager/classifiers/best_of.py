"""BestOf: learn once, ask any; the candidate with the best leave-one-out answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from tanager.classifiers.a2de import A2DE
from tanager.classifiers.aode import AODE
from tanager.classifiers.fanc import FANC
from tanager.classifiers.hnb import HNB
from tanager.classifiers.naive_bayes import NaiveBayes
from tanager.classifiers.tan import FAN, TAN
from tanager.classifiers.waode import WAODE
from tanager.counts.joint import JointCounts
from tanager.encoding import Schema
from tanager.errors import OptionError, SchemaMismatch, check_option
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.delegate import Delegating
from tanager.learning.rows import KeptRows
from tanager.learning.shared_counts import joint_shape
from tanager.scoring.decision import decide
from tanager.scoring.forms import Form

TRIPLES = 2e8  # bytes of triples up to which A2DE is a candidate


@dataclass(eq=False, repr=False)
class BestOf(Delegating):
    """Learns the counts once, tries every candidate by leave-one-out, and answers with the best.

    One counting pass serves all candidates, and leaving each row out costs one prediction pass per candidate, so this
    is hardly slower than fitting one of them. Keeps the rows, as codes.

    Parameters
    ----------
    candidates : list of classifiers, default=None
        None tries NaiveBayes, TAN, FAN, AODE, WAODE, HNB and FANC, and A2DE where its triples fit into memory.
    criterion : {"log_loss", "accuracy", "rmse"}, default="log_loss"
        What is best.

    Attributes
    ----------
    best_ : classifier
        The candidate chosen, over the same counts.
    table_ : list of dict
        Name, accuracy, log loss and rmse of every candidate, best first; ``print(model.table())`` shows it.

    Examples
    --------
    >>> from tanager import AODE, BestOf, NaiveBayes
    >>> X = [["sun", "no"], ["sun", "no"], ["rain", "yes"], ["rain", "no"]] * 5
    >>> model = BestOf([NaiveBayes(), AODE()]).fit(X, ["play", "play", "stay", "stay"] * 5)
    >>> print(model.table())
    candidate     accuracy  log loss    rmse
    NaiveBayes()    1.0000    0.0778  0.0927
    AODE()          1.0000    0.1008  0.0998
    """

    candidates: Any = None
    criterion: str = "log_loss"

    def check_options(self) -> None:
        super().check_options()
        check_option("criterion", self.criterion, ("log_loss", "accuracy", "rmse"))
        if not isinstance(self.candidates, list | tuple | None):
            raise OptionError(f"candidates={self.candidates!r} is no list; give a list of classifiers, or None.")
        for candidate in self.candidates or ():
            if not isinstance(candidate, CountsClassifier):
                raise OptionError(f"candidates: {candidate!r} is no classifier of tanager, so counts cannot be shared.")
            if candidate.calibrate:
                raise OptionError(f"candidates: {candidate!r} is calibrated. Give calibrate= to BestOf itself.")
        if self.candidates is not None and not len(self.candidates):
            raise OptionError("candidates is empty; give at least one classifier, or None for the default ones.")

    def _needs_rows(self) -> bool:
        return True

    def _all_candidates(self, schema: Schema) -> Sequence[CountsClassifier]:
        if self.candidates is not None:
            return self.candidates
        default: list[CountsClassifier] = [NaiveBayes(), TAN(), FAN(), AODE(), WAODE(), HNB(), FANC()]
        triples = JointCounts.estimate_bytes(schema.n_values, max(len(self.classes_), 2), order=3)
        return [*default, A2DE()] if triples < TRIPLES else default

    def counts_shape(self, schema: Schema) -> dict[str, Any]:
        """As wide as any candidate needs."""
        return joint_shape(self._all_candidates(schema), schema)

    def _structure(self, counts: JointCounts, rows: KeptRows | None) -> Form:
        if rows is None:
            raise SchemaMismatch("BestOf compares by leave-one-out over the rows, and counts alone do not hold them.")
        candidates = [c for c in self._all_candidates(counts.schema) if counts.holds(**c.counts_shape(counts.schema))]
        tried = [self.adopt(clone(candidate)) for candidate in candidates]
        self.table_ = sorted((_measures(model, rows) for model in tried), key=self._rank)
        self.best_ = self.table_[0]["model"]
        self._place = next(place for place, model in enumerate(tried) if model is self.best_)
        return self.best_.structure_

    def _rank(self, line: dict[str, Any]) -> float:
        return -line["accuracy"] if self.criterion == "accuracy" else line[self.criterion]

    def _choice(self) -> dict[str, Any]:
        return {"best": self._place}

    def _take_choice(self, data: dict[str, Any]) -> None:
        self._place = int(data["best"])
        chosen = self._all_candidates(self.counts_.schema)[self._place]
        self.best_ = self.adopt(clone(chosen))

    def table(self) -> str:
        """The candidates and their leave-one-out figures, best first, as text."""
        _ = self.structure_  # which follows all rows, and the table with it
        width = max(9, *(len(line["candidate"]) for line in self.table_))
        lines = [f"{'candidate':<{width}}  accuracy  log loss    rmse"]
        for line in self.table_:
            figures = f"{line['accuracy']:8.4f}  {line['log_loss']:8.4f}  {line['rmse']:6.4f}"
            lines.append(f"{line['candidate']:<{width}}  {figures}")
        return "\n".join(lines)


def _measures(model: CountsClassifier, rows: KeptRows) -> dict[str, Any]:
    block = rows.block
    labels, weights = block.labels, block.weights
    proba = model.leave_out(block)
    w = np.ones(len(labels)) if weights is None else weights
    own = proba[np.arange(len(labels)), labels]
    right = decide(proba, model.counts_.class_counts, None) == labels

    def mean(values: np.ndarray) -> float:  # 0 where no row is left
        return float((values * w).sum() / max(w.sum(), 1e-300))

    return {
        "candidate": repr(model),
        "accuracy": mean(right),
        "log_loss": -mean(np.log(np.maximum(own, 1e-15))),
        "rmse": float(np.sqrt(mean((1 - own) ** 2))),
        "model": model,
    }
