"""Missing values summed out exactly, for classifiers with one network or one for each class."""

from __future__ import annotations

import warnings

import numpy as np

from tanager import _kernels
from tanager.counts.block import Block, Query
from tanager.errors import DataWarning, SchemaMismatch, check_option, warn_user
from tanager.scoring.explain import PartList
from tanager.scoring.explain_rows import Explained, one_by_one
from tanager.scoring.forms import Form, ParentSet, ProductOfSums
from tanager.scoring.modes import Modes
from tanager.scoring.scorer import Scorer
from tanager.scoring.view import View


def check_missing(missing: str, ways: tuple[str, ...] = ("drop", "marginal")) -> None:
    """Refuse an option ``missing`` that means nothing."""
    check_option("missing", missing, ways)


def with_missing(missing: str, view: View) -> Scorer:
    """The scorer that the option ``missing`` asks for: "drop" leaves out families with a missing member."""
    if missing == "mode":
        return Modes(view)
    return Marginal(view) if missing == "marginal" else view


class Marginal:
    """Answers of a view, in which every missing value of a row is summed out."""

    compiled = None

    def __init__(self, view: View) -> None:
        form = view.form
        if isinstance(form, ProductOfSums) and not form.only and len(set(form.child)) < len(form.child):
            raise SchemaMismatch("missing values are summed out of single networks, and this one has several")
        self.view = view

    def score(self, query: Query, *, log_joint: bool = False, n_jobs: int = 1) -> np.ndarray:
        """Posteriors or log joints."""
        out = self.view.score(query, log_joint=log_joint, n_jobs=n_jobs)
        gaps = self._gaps(query.codes)
        if gaps.any():
            out[gaps] = self._summed_out(query.codes[gaps], None, None, log_joint, n_jobs)
        return out

    def leave_one_out(self, block: Block, *, n_jobs: int = 1) -> np.ndarray:
        """Posteriors of learned rows, each left out."""
        out = self.view.leave_one_out(block, n_jobs=n_jobs)
        gaps = self._gaps(block.codes)
        if gaps.any():
            rows = block.part(gaps)
            out[gaps] = self._summed_out(rows.codes, rows.labels, rows.weights, False, n_jobs)
        return out

    def explain(self, query: Query, answer: int, against: int) -> tuple[float, PartList]:
        """A row with gaps value after value, parents first: what each adds, all columns after it summed out.

        Without gaps that is what the view says: the part of a column is then its own factor.
        """
        if not self._gaps(query.codes)[0]:
            return self.view.explain(query, answer, against)
        codes = query.codes[0]
        gone = codes >= self.view.counts.schema.n_values + self.view.smooth_unseen
        families = _families(self.view.form)
        order = [i for i in _parents_first(families, len(codes)) if not gone[i]]
        known = np.full((len(order) + 1, len(codes)), np.iinfo(codes.dtype).max, dtype=codes.dtype)
        for step, i in enumerate(order):
            known[step + 1 :, i] = codes[i]
        with warnings.catch_warnings(), np.errstate(invalid="ignore"):
            warnings.simplefilter("ignore", DataWarning)  # the answer itself has said it
            joints = self.score(Query(known), log_joint=True)
            odds = joints[:, answer] - joints[:, against]
            steps = np.nan_to_num(np.diff(odds), nan=0.0, posinf=np.inf, neginf=-np.inf)  # 0 after a class is ruled out
        if np.isnan(odds[-1]):  # both classes are impossible: there are no odds between them
            return float(odds[-1]), []
        parents = [tuple(j for j in families.get(i, ()) if not gone[j]) for i in order]
        return float(odds[0]), list(zip(order, parents, steps.tolist(), strict=True))

    def explain_rows(self, query: Query, answer: np.ndarray, against: np.ndarray) -> Explained:
        """The same for many rows; only those with gaps one by one."""
        prior, columns = self.view.explain_rows(query, answer, against)
        gaps = self._gaps(query.codes)
        if gaps.any():
            prior[gaps], columns[gaps] = one_by_one(self, query.part(gaps), answer[gaps], against[gaps])
        return prior, columns

    def _gaps(self, codes: np.ndarray) -> np.ndarray:
        """The rows with missing cells; a column without values has nothing to sum over."""
        n_values = self.view.counts.schema.n_values
        missing = (codes >= n_values + self.view.smooth_unseen) & (n_values > 0)
        return np.asarray(missing.any(axis=1))

    def _summed_out(
        self, codes: np.ndarray, labels: np.ndarray | None, weights: np.ndarray | None, log_joint: bool, n_jobs: int
    ) -> np.ndarray:
        """Where that would take a table of more than ten million cells, the families of the missing value are dropped
        instead, with a warning."""
        view = self.view
        out = np.empty((len(codes), view.counts.n_classes))
        _kernels.score_marginal(view.plan, codes, out, log_joint, labels, weights, view.unit, n_jobs)
        large = np.isnan(out[:, 0])
        if large.any():
            rest = np.empty((int(large.sum()), view.counts.n_classes))
            own, w = (None if part is None else part[large] for part in (labels, weights))
            view.plan.score(codes[large], rest, log_joint, own, w, view.unit, n_jobs)
            out[large] = rest
            warn_user(
                f"{len(rest):,} of {len(codes):,} rows miss so many values that depend on each other that they cannot "
                'be summed out; there, families with a missing member are dropped, as with missing="drop".',
                DataWarning,
            )
        return out


def _families(form: Form) -> dict[int, ParentSet]:
    """The parents of every column, those in the networks of all classes together."""
    assert isinstance(form, ProductOfSums)
    families: dict[int, ParentSet] = {}
    for child, parents in (*zip(form.child, form.parents, strict=True), *form.free):
        families[child] = tuple(dict.fromkeys((*families.get(child, ()), *parents)))
    return families


def _parents_first(families: dict[int, ParentSet], n: int) -> list[int]:
    """All columns, each after its parents as far as that can be."""
    order: dict[int, None] = {}
    seen: set[int] = set()

    def visit(i: int) -> None:
        if i not in seen:
            seen.add(i)
            for parent in families.get(i, ()):
                visit(parent)
            order[i] = None

    for i in range(n):
        visit(i)
    return list(order)
