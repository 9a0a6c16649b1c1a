"""The option ``fit_by``: parameters by likelihood, which is counting, or by conditional likelihood: a search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple
from itertools import combinations
from typing import Any

import numpy as np

from tanager import saved
from tanager.counts.block import Block, Query
from tanager.errors import OptionError, check_option, is_number
from tanager.scoring.explain import PartList
from tanager.scoring.explain_rows import Explained, differences
from tanager.scoring.forms import ProductOfSums
from tanager.scoring.parameters import (
    Cells,
    Exponents,
    Fitting,
    Numbers,
    Parameters,
    Probabilities,
    Tables,
    fit_parameters,
)
from tanager.scoring.view import View

KINDS: dict[str, type[Numbers]] = {"conditional_likelihood": Cells, "elr": Probabilities, "weights": Exponents}
WITH_EXPONENTS = ("weights", "factor_weights")  # the latter are learned from left-out rows, by learning/fit_by.py
_STORED = ("prior", "cells", "start_prior", "exponents")  # parts of Parameters that are arrays


def check_fit_by(fit_by: str, penalty: float, likelihood_only: Mapping[str, bool]) -> None:
    """Refuse options ``fit_by`` and ``penalty`` that mean nothing, or that go with no option that is in use.

    ``likelihood_only`` are options that go with counted parameters alone, and whether they are in use.
    """
    check_option("fit_by", fit_by, ("likelihood", *KINDS, "factor_weights"))
    if not is_number(penalty, 0):
        raise OptionError(f"penalty={penalty!r}: give a number of at least 0; 0 trusts the rows alone.")
    for option, used in likelihood_only.items():
        if used and fit_by != "likelihood":
            raise OptionError(
                f"fit_by={fit_by!r} learns a number for every value, with missing as one of them, and {option} "
                f"answers otherwise. Leave {option} out, or fit by likelihood."
            )


class Discriminative:
    """Answers with parameters of largest conditional likelihood in place of the counted ones.

    The structure is that of the view. The parameters belong to it, and are learned again when there is a new one.
    """

    compiled = None

    def __init__(self, view: View, fit_by: str, parameters: Parameters) -> None:
        self.view, self.fit_by, self.parameters = view, fit_by, parameters

    @classmethod
    def fit(
        cls, view: View, rows: Block, fit_by: str, *, penalty: float, max_memory: Any, n_jobs: int = 1
    ) -> Discriminative:
        """Search for the parameters of a view, by the rows behind its counts."""
        kind = KINDS[fit_by]
        assert isinstance(view.form, ProductOfSums)
        if kind is Cells and not perfect(view.form):
            kind = Probabilities  # free cells would have no network with the same answers
        tables = Tables(view)
        tables.check_memory(len(rows), max_memory)
        return cls(view, fit_by, fit_parameters(tables, view, rows, kind, float(penalty), n_jobs))

    def score(self, query: Query, *, log_joint: bool = False, n_jobs: int = 1) -> np.ndarray:
        """Posteriors or log joints."""
        return self.parameters.score(query.codes, self.view, log_joint=log_joint, n_jobs=n_jobs)

    def leave_one_out(self, block: Block, *, n_jobs: int = 1) -> np.ndarray:
        """Refused: the parameters come from all rows together."""
        raise OptionError(
            f"leave_one_out takes a row out of the counts, but fit_by={self.fit_by!r} has learned its parameters "
            "from all rows together. Use tanager.evaluate.cross_validate, or fit by likelihood."
        )

    def explain(self, query: Query, answer: int, against: int) -> tuple[float, PartList]:
        """Every column adds the numbers of its family."""
        prior = self.parameters.prior_of(self.view)
        return float(prior[answer] - prior[against]), self.parameters.parts(query.codes[0], answer, against)

    def explain_rows(self, query: Query, answer: np.ndarray, against: np.ndarray) -> Explained:
        """The same for many rows."""
        prior = self.parameters.prior_of(self.view)
        columns = differences(self.parameters.logs_by_column(query.codes), answer, against)
        return prior[answer] - prior[against], columns

    def network_tables(self, target: str) -> dict[str, np.ndarray]:
        """Tables of a network, the class as the first parent, that gives our answers to rows without gaps; or none."""
        prior, columns = self.parameters.probabilities()
        names = self.view.counts.schema.names
        tables = {names[i]: np.moveaxis(table, -1, 0) for i, table in columns.items()}
        return tables | {target: prior} if tables else {}

    def exponents(self) -> dict[str, float]:
        """The exponent of every column, where these were learned."""
        form, names = self.view.form, self.view.counts.schema.names
        assert isinstance(form, ProductOfSums)
        return {names[i]: float(w) for i, w in zip(form.child, self.parameters.exponents, strict=True)}

    def to_arrays(self) -> dict[str, np.ndarray]:
        """The parameters, for a model file."""
        learned = self.parameters
        stored = {f"parameters-{name}": getattr(learned, name) for name in _STORED}
        return stored | {"parameters-fitting": np.array(astuple(learned.fitting), dtype=float)}

    @classmethod
    def from_arrays(cls, view: View, fit_by: str, arrays: Mapping[str, np.ndarray]) -> Discriminative:
        """What ``to_arrays`` gave, for the same form."""
        tables = Tables(view)
        k = tables.n_classes
        shapes = {"prior": (k,), "cells": (tables.n_places, k), "start_prior": (k,), "fitting": (4,)}
        shapes["exponents"] = (len(tables.shapes),) if fit_by in WITH_EXPONENTS else (0,)
        expected = {f"parameters-{name}": saved.array("f8", *shape) for name, shape in shapes.items()}
        found = saved.read("parameters", arrays, expected)
        stored = {name.removeprefix("parameters-"): array for name, array in found.items()}
        before, after, n_steps, converged = stored.pop("fitting").tolist()
        fitting = Fitting(before, after, int(n_steps), bool(converged))
        return cls(view, fit_by, Parameters(tables, **stored, fitting=fitting))


def perfect(form: ProductOfSums) -> bool:
    """Whether all parents of a column depend on each other directly.

    Only then does every choice of cells have a network with the same answers.

    >>> perfect(ProductOfSums.one_each([(), (0,), (0, 1)])), perfect(ProductOfSums.one_each([(), (), (0, 1)]))
    (True, False)
    """
    parents = dict(zip(form.child, form.parents, strict=True))
    return all(a in parents[b] or b in parents[a] for ps in parents.values() for a, b in combinations(ps, 2))
