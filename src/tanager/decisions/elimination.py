"""Variable elimination over pairs of probabilities and utilities (Jensen, Jensen and Dittmer 1994).

A factor is a scope and its cells. Probabilities multiply and utilities add. Summing a variable X out of both gives

    phi' = sum_X phi        psi' = sum_X phi psi / phi'

with phi the product of the probabilities over X, and psi the sum of the utilities over X: psi' is an expectation given
the rest, so that utilities stay apart as long as no variable joins them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

import numpy as np

from tanager.errors import MemoryBudgetError
from tanager.networks.inference import MAX_CELLS, Scope, elimination_order

Factor = tuple[Scope, np.ndarray]  # its variables, one axis each


def expect(
    probabilities: Iterable[Factor], utilities: Iterable[Factor], keep: Scope, sizes: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Probability and expected utility for each combination of the variables to keep, all others summed out.

    Where the probability is 0 the expected utility means nothing.

    >>> weather, umbrella = ((0,), np.array([0.7, 0.3])), ((0, 1), np.array([[100.0, 60.0], [0.0, 70.0]]))
    >>> expect([weather], [umbrella], (1,), [2, 2])[1]
    array([70., 63.])
    """
    phis, psis = list(probabilities), list(utilities)
    steps = elimination_order([scope for scope, _ in (*phis, *psis)], keep, sizes)
    _check_size([*(scope for _, scope in steps), keep], sizes)
    for variable, _ in steps:
        phi, phis = _take(variable, phis)
        psi, psis = _take(variable, psis)
        rest = _union(phi, variable)
        weights = _combined(np.multiply, phi, (variable, *rest), sizes)
        total = np.asarray(weights.sum(axis=0))
        if phi:
            phis.append((rest, total))
        if psi:
            more = _union([*phi, *psi], variable)
            gains = _combined(np.add, psi, (variable, *more), sizes)
            share = weights / np.where(total > 0, total, 1.0)  # before the product: small probabilities cancel out
            psis.append((more, (_spread((variable, *rest), share, (variable, *more)) * gains).sum(axis=0)))
    return _combined(np.multiply, phis, keep, sizes), _combined(np.add, psis, keep, sizes)


def _take(variable: int, factors: Sequence[Factor]) -> tuple[list[Factor], list[Factor]]:
    """The factors over a variable, and all others."""
    return [f for f in factors if variable in f[0]], [f for f in factors if variable not in f[0]]


def _union(factors: Iterable[Factor], variable: int) -> Scope:
    """All variables of some factors, without this one."""
    return tuple(sorted({i for scope, _ in factors for i in scope} - {variable}))


def _combined(how: np.ufunc, factors: Iterable[Factor], scope: Scope, sizes: Sequence[int]) -> np.ndarray:
    """The product or the sum of factors over a scope that has all their variables."""
    out = np.full([sizes[i] for i in scope], float(how.identity or 0))
    for own, cells in factors:
        how(out, _spread(own, cells, scope), out=out)
    return out


def _spread(own: Scope, cells: np.ndarray, scope: Scope) -> np.ndarray:
    """Cells with the axes of a larger scope; axes that they do not have are of length 1."""
    axes = sorted(range(len(own)), key=lambda axis: scope.index(own[axis]))
    turned = cells.transpose(axes)
    lengths = iter(turned.shape)
    return turned.reshape([next(lengths) if i in own else 1 for i in scope])


def _check_size(scopes: Iterable[Scope], sizes: Sequence[int]) -> None:
    """Raise before anything is allocated."""
    cells, n = max((prod(sizes[i] for i in scope), len(scope)) for scope in scopes)
    if cells > MAX_CELLS:
        raise MemoryBudgetError(
            f"these decisions need a table of {cells:.3g} cells over {n} variables; the limit is {MAX_CELLS:,}. Give "
            "more evidence, let decisions know less (limited_memory=True), or give variables fewer values."
        )
