"""Fuzzy rules: what an evolving model has learned, in sentences that decide as the model does.

A pseudo-class is a rule. Its distributions, scaled to 1 at their peak, are fuzzy sets; they are multiplied, and the
rules of a class are added. The scaling differs from rule to rule, so it goes into the weight of the rule.

Where degrees are joined by their minimum, as in most fuzzy classifiers, the weight of a rule is its prior: there is no
product of densities that a scaling would have to give back. Rules of a class are added all the same, so that a class
that is split into pseudo-classes, which share its prior, stays as strong as it was.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tanager.encoding import Schema
from tanager.encoding.values import is_missing
from tanager.streams.fuzzy_sets import FuzzySet, NumberSet, OneOf, judges, number_set

_LEAST = "AND is the minimum: a rule counts its weight times the least of its degrees."


Probabilities = Callable[[np.ndarray, float], np.ndarray]  # of values, from their counts and the total


@dataclass(frozen=True)
class PseudoClass:
    """One pseudo-class: part of a class, with a distribution for every column that has varied.

    ``means`` and ``spreads`` (standard deviations) are of number columns, ``tables`` (value to probability) of the
    others; ``densities`` names those of number columns that are not normal. ``weight`` is the weight of the rows it has
    learned; it answers since row ``since`` and has learned last in row ``last``.
    """

    label: Any
    prior: float
    weight: float
    means: dict[str, float]
    spreads: dict[str, float]
    tables: dict[str, dict[Any, float]]
    since: int
    last: int
    densities: dict[str, str] = field(default_factory=dict)

    def number_set(self, name: str) -> NumberSet:
        """The fuzzy set of a number column."""
        return number_set(name, self.means[name], self.spreads[name], self.densities.get(name, "normal"))

    @property
    def fuzzy_sets(self) -> list[FuzzySet]:
        """The fuzzy sets of all columns, numbers first."""
        numbers: list[FuzzySet] = [self.number_set(name) for name in self.means]
        return numbers + [OneOf(name, table) for name, table in self.tables.items()]

    def __str__(self) -> str:
        parts = [str(own) for own in self.fuzzy_sets]
        return f"{self.label}, prior {self.prior:.3g}, {self.weight:g} rows: {', '.join(parts)}"


@dataclass(frozen=True)
class Event:
    """What happened to the pseudo-classes of a class after a row: "promoted", "merged" or "removed", and why."""

    row: int
    what: str
    label: Any
    why: str

    def __str__(self) -> str:
        return f"row {self.row:,}: {self.what} {self.label}: {self.why}"


@dataclass(frozen=True)
class Rule:
    """IF all conditions hold, more or less, THEN the class. ``prior`` is its share of the rows.

    ``join`` says how the degrees of the conditions are put together: by their "product", or by their minimum ("min").
    """

    conditions: tuple[FuzzySet, ...]
    label: Any
    log_weight: float
    prior: float
    join: str = "product"

    @property
    def weight(self) -> float:
        """The weight beside the other rules; all weights sum to 1."""
        return math.exp(self.log_weight)

    def degree(self, row: Mapping[str, Any]) -> float:
        """The degree, from 0 to 1, to which a row fulfils the conditions; what is missing counts as fulfilled."""
        return math.exp(self._log_degree(row, self._known(row)))

    def _log_degree(self, row: Mapping[str, Any], known: Sequence[FuzzySet]) -> float:
        degrees = [condition.log_degree(row[condition.column]) for condition in known]
        return min(degrees, default=0.0) if self.join == "min" else sum(degrees)

    def log_score(self, row: Mapping[str, Any]) -> float:
        """Log of weight times degree.

        Of a product, the scaling of conditions that cannot be judged is taken out of the weight.
        """
        known = self._known(row)
        degree = self._log_degree(row, known)
        if self.join == "min":
            return self.log_weight + degree
        lost = sum(c.log_peak for c in self.conditions) - sum(c.log_peak for c in known)
        return self.log_weight - lost + degree

    def _known(self, row: Mapping[str, Any]) -> list[FuzzySet]:
        return [c for c in self.conditions if not is_missing(row.get(c.column)) and judges(c, row[c.column])]

    def text(self, width: int = 110) -> str:
        """The sentence, in lines of about this width that are broken between conditions."""
        share = f"{self.prior:.1%}" if self.prior < 0.0995 else f"{self.prior:.0%}"
        conditions = [f"AND {condition}" for condition in self.conditions[1:]]
        first = f"IF {self.conditions[0] if self.conditions else 'anything'}"
        lines = [first]
        for part in [*conditions, f"THEN {self.label}   weight {self.weight:.3g} ({share} of the rows)"]:
            if len(lines[-1]) + 1 + len(part) <= width:
                lines[-1] += f" {part}"
            else:
                lines.append(f"   {part}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()


@dataclass(frozen=True, repr=False)
class Rules(Sequence[Rule]):
    """All rules of a model. Printed, they are sentences; asked with a row, they answer as the model does."""

    rules: tuple[Rule, ...]
    join: str = "product"

    def shares(self, row: Mapping[str, Any]) -> dict[Any, float]:
        """What each class gets of the added up rules, for a row as a dict; the same as ``predict_proba_one``."""
        scores = [rule.log_score(row) for rule in self.rules]
        top = max(scores)
        total: dict[Any, float] = {}
        for rule, score in zip(self.rules, scores, strict=True):
            total[rule.label] = total.get(rule.label, 0.0) + math.exp(score - top)
        everything = sum(total.values())
        return {label: share / everything for label, share in total.items()}

    def __len__(self) -> int:
        return len(self.rules)

    def __getitem__(self, at: Any) -> Any:
        return self.rules[at]

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    @property
    def note(self) -> str:
        """How degrees are joined, where it is not by their product."""
        return _LEAST if self.join == "min" else ""

    def __str__(self) -> str:
        return "\n".join([*(str(rule) for rule in self.rules), *filter(None, [self.note])])

    __repr__ = __str__


def rules_of(pseudo_classes: Sequence[PseudoClass], join: str = "product") -> Rules:
    """One rule per pseudo-class that has a share; weights are p h, where h is the product of the peaks.

    Where degrees are joined by their minimum, weights are p.
    """
    drafts = []
    for pseudo in (p for p in pseudo_classes if p.prior > 0):
        sets = pseudo.fuzzy_sets
        peaks = 0.0 if join == "min" else sum(own.log_peak for own in sets)
        drafts.append((pseudo, sets, math.log(pseudo.prior) + peaks))
    top = max(log_weight for *_, log_weight in drafts)
    total = top + math.log(sum(math.exp(log_weight - top) for *_, log_weight in drafts))
    rules = (Rule(tuple(sets), p.label, log_weight - total, p.prior, join) for p, sets, log_weight in drafts)
    return Rules(tuple(rules), join)


def most_different(pseudos: Sequence[PseudoClass], known: Sequence[str], most: int) -> list[str]:
    """Of these columns those in which pseudo-classes differ most, in the order given."""
    priors = np.array([p.prior for p in pseudos])

    def differ(name: str) -> float:
        if name in pseudos[0].means:
            means = np.array([p.means[name] for p in pseudos])
            within = float(np.average([p.spreads[name] ** 2 for p in pseudos], weights=priors))
            between = float(np.average((means - np.average(means, weights=priors)) ** 2, weights=priors))
            return between / (between + within)
        shares = np.array([list(p.tables[name].values()) for p in pseudos])
        away = np.abs(shares - np.average(shares, axis=0, weights=priors)).sum(axis=1) / 2
        return float(np.average(away, weights=priors))

    chosen = sorted(known, key=differ, reverse=True)[:most]
    return [name for name in known if name in chosen]


def pseudo_classes_of(
    state: Mapping[str, np.ndarray],
    schema: Schema,
    classes: Sequence[Any],
    densities: Mapping[str, str],
    probabilities: Probabilities,
    *,
    given_start: bool = False,
) -> list[PseudoClass]:
    """The active pseudo-classes in a kernel's state. Columns that have not varied say nothing, and are left out.

    Not so where distributions start from what was given (``given_start``), and not from all rows so far.
    ``densities`` names those of number columns that are not normal; ``probabilities`` makes them of counts and total.
    """
    columns = schema.columns
    numbers = [column.name for column in columns if column.kind == "continuous"]
    coded = [column for column in columns if column.kind != "continuous"]
    weight = np.where(state["base_weight"] > 0, state["base_weight"], 1.0)
    varied = ((state["base_squares"] / weight > 1e-24 * state["base_mean"] ** 2) | given_start).tolist()
    n_values = state["n_values"].tolist()
    edges = np.concatenate([[0], np.cumsum(n_values)]).astype(int)
    n_pseudo = len(state["label"])
    means, variances = (state[name].reshape(n_pseudo, -1) for name in ("mean", "variance"))
    totals, counts = state["totals"].reshape(n_pseudo, -1), state["counts"].reshape(n_pseudo, -1)

    def table(p: int, i: int) -> dict[Any, float]:
        shares = probabilities(counts[p, edges[i] : edges[i + 1]], totals[p, i])
        return {coded[i].describe(v): float(share) for v, share in enumerate(shares)}

    return [
        PseudoClass(
            classes[state["label"][p]],
            float(state["prior"][p]),
            float(state["seen"][p]),
            {name: float(means[p, i]) for i, name in enumerate(numbers) if varied[i]},
            {name: math.sqrt(variances[p, i]) for i, name in enumerate(numbers) if varied[i]},
            {column.name: table(p, i) for i, column in enumerate(coded) if n_values[i] > 1},
            int(state["since"][p]),
            int(state["last"][p]),
            {name: own for i, name in enumerate(numbers) if varied[i] and (own := densities.get(name))},
        )
        for p in range(n_pseudo)
        if not state["hidden"][p] and state["known"][state["label"][p]]
    ]


def events_of(state: Mapping[str, np.ndarray], classes: Sequence[Any], similarity: str, loss: str) -> list[Event]:
    """The changes in a kernel's state, in words."""
    names = ("row", "kind", "label", "active", "found", "limit", "weight")
    columns = [state[f"change_{name}"].tolist() for name in names]
    return [
        Event(row, ("promoted", "merged", "removed")[kind], classes[label], _why(kind, similarity, loss, *numbers))
        for row, kind, label, *numbers in zip(*columns, strict=True)
    ]


def _why(kind: int, similarity: str, loss: str, active: int, found: float, limit: float, weight: float) -> str:
    now = f"{active} pseudo-class{'' if active == 1 else 'es'} now"
    if kind == 0:
        return f"its {loss} of {found:.3g} is above {limit:.3g}, and {weight:g} rows were answered wrongly; {now}"
    if kind == 1 and similarity == "test":
        return f"two cannot be told apart (p-value {found:.2g}, above {limit:.2g}); {now}"
    if kind == 1:
        return f"two are alike (distance {found:.2g}, below {limit:.2g}); {now}"
    return f"one is hardly used (prior {found:.2g}, below {limit:.2g}); {now}"
