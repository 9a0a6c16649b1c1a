"""The option ``fit_by``: parameters by likelihood, which is counting, or by conditional likelihood: a search."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from itertools import combinations
from typing import Any

import numpy as np

from tanager.errors import ModelFileError, OptionError, SchemaMismatch, check_option, is_number
from tanager.scoring.forms import Form, ProductOfSums, View
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

KINDS: dict[str, type[Numbers]] = {"conditional_likelihood": Cells, "elr": Probabilities, "weights": Exponents}
_STORED = ("prior", "cells", "start_prior", "exponents")  # parts of Parameters that are arrays


@dataclass(eq=False, repr=False, kw_only=True)
class DiscriminativeMixin:
    """Adds the options ``fit_by`` and ``penalty`` to a classifier that is one network.

    Structure comes from the counts as ever; the parameters are then those of largest conditional likelihood, for which
    the rows are kept. They are learned anew with the structure: at the next answer of a batch after more rows.
    """

    fit_by: str = "likelihood"
    penalty: float = 1.0

    def _check_options(self: Any) -> None:
        super()._check_options()  # type: ignore[misc]
        check_option("fit_by", self.fit_by, ("likelihood", *KINDS))
        if not is_number(self.penalty, 0):
            raise OptionError(f"penalty={self.penalty!r}: give a number of at least 0; 0 trusts the rows alone.")
        for option in self._likelihood_only() if self._discriminative() else ():
            raise OptionError(
                f"fit_by={self.fit_by!r} learns a number for every value, with missing as one of them, and {option} "
                f"answers otherwise. Leave {option} out, or fit by likelihood."
            )

    def _likelihood_only(self) -> list[str]:
        """Options in use that go with counted parameters alone."""
        return []

    def _discriminative(self) -> bool:
        return self.fit_by != "likelihood"

    def _needs_rows(self: Any) -> bool:
        return self._discriminative() or super()._needs_rows()  # type: ignore[misc]

    def _start(self: Any) -> None:
        super()._start()  # type: ignore[misc]
        self._parameters: Parameters | None = None
        self._parameters_of: View | None = None
        self._stored: dict[str, np.ndarray] | None = None

    @property
    def fitting_(self: Any) -> Fitting | None:
        """How the search for the parameters went; None where there was none."""
        self._ready()
        self._structure(fresh=True)
        return None if self._parameters is None else self._parameters.fitting

    @property
    def weights_(self: Any) -> dict[str, float]:
        """The exponent of every column, with ``fit_by="weights"``."""
        if self.fit_by != "weights":
            raise AttributeError(f'weights are learned with fit_by="weights"; this is fit_by={self.fit_by!r}.')
        self._ready()
        names = self.counts_.schema.names
        form = self._structure(fresh=True).form
        return {names[i]: float(w) for i, w in zip(form.child, self._parameters.exponents, strict=True)}

    # The parameters belong to a view, and are learned when there is a new one.

    def _current_view(self: Any, *, fresh: bool) -> View:
        if self._view is not None:
            self._take_stored(self._view)  # a file may hold an older view than the one that is asked for
        view: View = super()._current_view(fresh=fresh)  # type: ignore[misc]
        self._take_stored(view)
        if self._discriminative() and self._parameters_of is not view:
            self._parameters, self._parameters_of = self._fit_parameters(view), view
        return view

    def _still_answers(self: Any, view: View, form: Form) -> bool:
        return not self._discriminative() and super()._still_answers(view, form)  # type: ignore[misc]

    def _fit_parameters(self: Any, view: View) -> Parameters:
        name, counts, rows = type(self).__name__, self.counts_, self._rows
        if rows is None or not np.isclose(rows.weight, counts.n_rows):
            raise SchemaMismatch(
                f"{name}(fit_by={self.fit_by!r}) learns its parameters from rows, and does not hold those behind its "
                "counts: they were given, faded or merged. Fit on the rows again, or fit by likelihood."
            )
        kind = KINDS[self.fit_by]
        assert isinstance(view.form, ProductOfSums)
        if kind is Cells and not perfect(view.form):
            kind = Probabilities
        tables = Tables(view)
        tables.check_memory(len(rows), self.max_memory)
        return fit_parameters(tables, view, rows.all(), kind, float(self.penalty), self._threads())

    def _network_tables(self: Any, target: str) -> dict[str, np.ndarray]:
        """Tables of a network, the class as the first parent, that gives our answers to rows without gaps; or none."""
        prior, columns = self._parameters.probabilities()
        names = self.counts_.schema.names
        tables = {names[i]: np.moveaxis(table, -1, 0) for i, table in columns.items()}
        return tables | {target: prior} if tables else {}

    # Answers

    def _score_codes(self: Any, codes: np.ndarray, view: View, X: Any, *, log_joint: bool) -> np.ndarray:
        if not self._discriminative():
            return super()._score_codes(codes, view, X, log_joint=log_joint)  # type: ignore[misc]
        return self._parameters.score(codes, view, log_joint=log_joint, n_jobs=self._threads())

    def _answers_by_kernel(self: Any) -> bool:
        return not self._discriminative() and super()._answers_by_kernel()  # type: ignore[misc]

    def _leaves_out(self: Any) -> bool:
        return not self._discriminative()

    def _leave_one_out(self: Any, codes: Any, labels: Any, weights: Any, X: Any = None) -> np.ndarray:
        if self._discriminative():
            raise OptionError(
                f"leave_one_out takes a row out of the counts, but fit_by={self.fit_by!r} has learned its parameters "
                "from all rows together. Use tanager.evaluate.cross_validate, or fit by likelihood."
            )
        return super()._leave_one_out(codes, labels, weights, X)  # type: ignore[misc]

    def _explain(self: Any, codes: np.ndarray, X: Any, answer: int, against: int) -> tuple[float, list[Any]]:
        if not self._discriminative():
            return super()._explain(codes, X, answer, against)  # type: ignore[misc]
        prior = self._parameters.prior_of(self._structure(fresh=True))
        return float(prior[answer] - prior[against]), self._parameters.parts(codes[0], answer, against)

    # Files

    def _extra_arrays(self: Any) -> dict[str, np.ndarray]:
        arrays: dict[str, np.ndarray] = super()._extra_arrays()  # type: ignore[misc]
        learned = self._parameters
        if learned is None or self._parameters_of is not self._view:
            return arrays
        stored = {f"parameters-{name}": getattr(learned, name) for name in _STORED}
        return arrays | stored | {"parameters-fitting": np.array(astuple(learned.fitting), dtype=float)}

    def _take_extra_arrays(self: Any, arrays: dict[str, np.ndarray]) -> None:
        super()._take_extra_arrays(arrays)  # type: ignore[misc]
        if self._discriminative() and "parameters-prior" in arrays:
            self._stored = {name: arrays[f"parameters-{name}"] for name in (*_STORED, "fitting")}

    def _take_stored(self: Any, view: View) -> None:
        """The first view after loading has the parameters of the file."""
        if self._stored is None:
            return
        stored, self._stored = self._stored, None
        tables = Tables(view)
        k = tables.n_classes
        shapes = {"prior": (k,), "cells": (tables.n_places, k), "start_prior": (k,), "fitting": (4,)}
        shapes["exponents"] = (len(tables.shapes),) if self.fit_by == "weights" else (0,)
        for name, shape in shapes.items():
            array = stored[name]
            if array.shape != shape or array.dtype != np.float64 or not np.isfinite(array).all():
                raise ModelFileError("its parameters do not fit its counts")
        before, after, n_steps, converged = stored.pop("fitting").tolist()
        fitting = Fitting(before, after, int(n_steps), bool(converged))
        self._parameters, self._parameters_of = Parameters(tables, **stored, fitting=fitting), view


def perfect(form: ProductOfSums) -> bool:
    """Whether all parents of a column depend on each other directly.

    Only then does every choice of cells have a network with the same answers.

    >>> perfect(ProductOfSums.one_each([(), (0,), (0, 1)])), perfect(ProductOfSums.one_each([(), (), (0, 1)]))
    (True, False)
    """
    parents = dict(zip(form.child, form.parents, strict=True))
    return all(a in parents[b] or b in parents[a] for ps in parents.values() for a, b in combinations(ps, 2))
