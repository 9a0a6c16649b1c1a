"""Climbing by the conditional likelihood of the class: not a sum over families, so each move looks at all rows."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from typing import NamedTuple

import numpy as np

from tanager import _kernels
from tanager.errors import OptionError
from tanager.structure.climb import MOVES, Climb, State
from tanager.structure.families import Families
from tanager.structure.learner import Task

MOST_NUMBERS = 2 * 10**8  # rows times classes times pairs of columns: what a step looks at, half a second or so


class Factor(NamedTuple):
    """What a family contributes: to the probability of every row and class, and to the score."""

    family: tuple[int, ...]  # its variables but for the class, by their places among those of the rows
    chances: np.ndarray | None  # P(value | other values, class), a line per combination; None: the same for all classes
    log_sum: float  # the logs of these for the true classes, summed over the rows
    cost: float  # what its free parameters cost

    @property
    def worth(self) -> float:
        """What it adds to the score, but for what all classes have to share."""
        return self.log_sum - self.cost


class ConditionalClimb(Climb):
    """A climb by the log-likelihood of the class given all other variables, less a penalty for every free parameter.

    P(y | row) is the product of the families that the class is in, over the sum of that for all classes. A move changes
    one or two of them; with the present P(y | row) at hand, the new sum over classes is one product and one sum per
    row. Families without the class cancel, and only cost.

    Probabilities are counts with a prior of ``ess`` rows, spread evenly over all cells of a table, so that equivalent
    networks have the same score.
    """

    def __init__(self, task: Task, ess: float, penalty: float | None, max_parents: int | None) -> None:
        if task.target is None or task.target not in (*task.nodes, *task.given):
            raise OptionError(
                'score="cll" is the likelihood of the class, and there is no class among these variables. Use "bic" or '
                "another score; or GeneralNetwork, BAN, or learn_network with y or target=."
            )
        super().__init__(task, Families(task, "bic", ess), max_parents)
        self.kind = "cll"
        self.ess = ess
        self.sample = self.families.sample
        self.target = task.target
        self.n_values: list[int] = self.sample.n_values.tolist()
        self.n_classes = self.n_values[self.target]
        self.penalty = 0.5 * math.log(max(self.sample.n_rows, 1.0)) if penalty is None else penalty
        self._group()
        self._check_size()
        empty = self.sample.n_values[list(task.nodes)] == 0  # nothing was seen in them, so they have no tables
        self.allowed &= ~empty & ~empty[:, None]
        self._factors: dict[tuple[int, frozenset[int]], Factor] = {}
        self._changes: dict[int, tuple[tuple[frozenset[int], tuple[int, ...]], list[Factor]]] = {}

    def _group(self) -> None:
        """Rows that are alike but for the class become one, with the weight of each class."""
        sample, task = self.sample, self.task
        seen = [i for i in dict.fromkeys((*task.nodes, *task.given)) if self.n_values[i]]
        variables = [i for i in seen if i != self.target]
        rows, at = np.unique(sample.codes[:, variables], axis=0, return_inverse=True)
        self.places = {i: place for place, i in enumerate(variables)}
        weights = np.ones(len(at)) if sample.weights is None else sample.weights
        self.weights = np.zeros((len(rows), self.n_classes))
        known = sample.codes[:, self.target] < self.n_classes
        np.add.at(self.weights, (at.ravel()[known], sample.codes[known, self.target]), weights[known])
        self.row_weights = self.weights.sum(1)
        codes = np.asfortranarray(rows, dtype=np.uint16)
        self.rows = _kernels.ConditionalRows(codes, sample.n_values[variables].tolist(), self.row_weights)

    def _check_size(self) -> None:
        rows, n = len(self.weights), self.task.n_nodes
        if rows * self.n_classes * n * n > MOST_NUMBERS:
            raise OptionError(
                f'score="cll" looks at all rows for every move: {rows:,} rows that differ, {self.n_classes} classes '
                f"and {n} columns are too many (rows times classes times columns squared may be {MOST_NUMBERS:,}). "
                'Use score="bic", fewer columns or fewer rows.'
            )

    def rounding(self, score: float) -> float:
        """The rounding error of a score, which is a difference of sums over all rows and may be small itself."""
        return super().rounding(max(abs(score), float(self.row_weights.sum())))

    def start(self, parents: list[set[int]]) -> State:
        """A state with the gains of all moves, by kind, parent and child, and the score as that of one family."""
        n = self.task.n_nodes
        state = State([set(own) for own in parents], np.zeros((len(MOVES), n, n)), np.zeros(1), [])
        self._changed(state, range(n))
        return state

    def _worth(self, state: State) -> np.ndarray:
        return state.gains

    def _changed(self, state: State, nodes: Iterable[int]) -> None:
        """Score the network, and all networks that are one move away."""
        own = [self._factor(v, parents) for v, parents in enumerate(state.parents)]
        posterior, value = self._posterior(own)
        state.families[0] = value - sum(factor.cost for factor in own)
        state.gains[:] = -np.inf
        without = [self._over(posterior, factor) for factor in own]
        legal = self._legal(state.parents)
        for v in range(self.task.n_nodes):
            changes = np.flatnonzero(legal[0, :, v] | legal[1, :, v]).tolist()
            new = self._one_more_or_less(v, state.parents[v], changes)
            gains = np.array([f.worth for f in new]) - own[v].worth - self._log_totals(posterior, without[v], new)
            state.gains[np.where(legal[0, changes, v], 0, 1), changes, v] = gains
        for u, v in np.argwhere(legal[2]).tolist():
            new_v, new_u = self._factor(v, state.parents[v] - {u}), self._factor(u, state.parents[u] | {v})
            gain = new_v.worth + new_u.worth - own[v].worth - own[u].worth
            ratio = self._times(self._over(without[v], own[u]), new_u)
            state.gains[2, u, v] = gain - self._log_totals(posterior, ratio, [new_v])[0]
        self.task.n_tests += int(legal.sum())

    def _posterior(self, factors: list[Factor]) -> tuple[np.ndarray, float]:
        """P(y | row) for every row, and the log-likelihood of the classes."""
        log = np.zeros_like(self.weights)
        if self.target in self.task.given:
            log += np.log(self._prior())
        for factor in factors:
            if factor.chances is not None:
                log += self._of_rows(factor, np.log(factor.chances))
        log -= log.max(1, keepdims=True, initial=-np.inf)
        log -= np.log(np.exp(log).sum(1, keepdims=True))
        return np.exp(log), float((self.weights * log).sum())

    def _prior(self) -> np.ndarray:
        counts = self.weights.sum(0) + self.ess / max(self.n_classes, 1)
        return counts / counts.sum()

    def _log_totals(self, posterior: np.ndarray, ratio: np.ndarray, factors: list[Factor]) -> np.ndarray:
        """The new P(y | row) is ratio times factor, over its sum for all classes: the logs of these sums, over rows."""
        plain = [q for q, factor in enumerate(factors) if factor.chances is None]
        sums = np.zeros(len(factors))
        if plain and ratio is not posterior:  # else the class is in neither family
            sums[plain] = self.row_weights @ np.log(ratio.sum(1))
        places = [q for q, factor in enumerate(factors) if factor.chances is not None]
        found = np.zeros(len(places))
        tables = [table for factor in factors if (table := factor.chances) is not None]
        self.rows.log_totals(ratio, [factors[q].family for q in places], tables, found)
        sums[places] = found
        return sums

    def _of_rows(self, factor: Factor, table: np.ndarray) -> np.ndarray:
        """What a table with the lines of a factor has for every row: (rows, classes)."""
        out = np.empty_like(self.weights)
        self.rows.spread(factor.family, table, out)
        return out

    def _over(self, chances: np.ndarray, factor: Factor) -> np.ndarray:
        return chances if factor.chances is None else chances / self._of_rows(factor, factor.chances)

    def _times(self, chances: np.ndarray, factor: Factor) -> np.ndarray:
        return chances if factor.chances is None else chances * self._of_rows(factor, factor.chances)

    def _one_more_or_less(self, child: int, parents: set[int], changes: list[int]) -> list[Factor]:
        """The factors of a family with one of these parents more, or less; from step to step few families change."""
        asked = frozenset(parents), tuple(changes)
        known = self._changes.get(child)
        if known is None or known[0] != asked:
            known = self._changes[child] = asked, [self._factor(child, parents ^ {u}, u) for u in changes]
        return known[1]

    def _factor(self, child: int, parents: Collection[int], last: int = -1) -> Factor:
        """The factor of a family; of a new one ``last`` is the last variable, as many differ in that alone."""
        key = child, frozenset(parents)
        if key not in self._factors:
            self._factors[key] = self._make_factor(child, parents, last)
        return self._factors[key]

    def _make_factor(self, child: int, parents: Collection[int], last: int) -> Factor:
        nodes, n_values, target = self.task.nodes, self.n_values, self.target
        own = nodes[child]
        family = [*(nodes[p] for p in sorted(parents)), *self.task.given]
        cost = self.penalty * (n_values[own] - 1) * math.prod(n_values[i] for i in family)
        others = [i for i in family if i != target]
        if own != target and target not in family:
            return Factor((), None, 0.0, cost)
        values = [*others, own] if own != target else others
        if last in parents and nodes[last] in values:
            values = [*(i for i in values if i != nodes[last]), nodes[last]]
        counts = self.sample.count_at([*values, target])
        if not counts.size:
            return Factor((), None, 0.0, cost)
        # Axes: the child and its other parents, then the class. Of the class itself, the class is the value.
        axis, prior = values.index(own) if own != target else -1, self.ess / counts.size
        chances = (counts + prior) / (counts.sum(axis, keepdims=True) + prior * counts.shape[axis])
        log_sum = float((counts * np.log(chances)).sum())
        return Factor(tuple(self.places[i] for i in values), chances.reshape(-1, self.n_classes), log_sum, cost)
