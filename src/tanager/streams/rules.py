"""Fuzzy rules: what an evolving model has learned, in sentences that decide as the model does.

A pseudo-class is a rule. Its distributions, scaled to 1 at their peak, are fuzzy sets; they are multiplied, and the
rules of a class are added. The scaling differs from rule to rule, so it goes into the weight of the rule.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tanager.encoding import Schema
from tanager.encoding.values import is_missing

_MOST_VALUES = 6  # of a categorical column that a sentence names
_LEAST_DEGREE = 0.05  # of a value that a sentence names


@dataclass(frozen=True)
class PseudoClass:
    """One pseudo-class: part of a class, with a distribution for every column that has varied.

    ``means`` and ``spreads`` (standard deviations) are of number columns, ``tables`` (value to probability) of the
    others. ``weight`` is the weight of the rows it has learned; it answers since row ``since`` and has learned last in
    row ``last``.
    """

    label: Any
    prior: float
    weight: float
    means: dict[str, float]
    spreads: dict[str, float]
    tables: dict[str, dict[Any, float]]
    since: int
    last: int

    def __str__(self) -> str:
        parts = [about(name, self.means[name], self.spreads[name]) for name in self.means]
        parts += [one_of(name, table) for name, table in self.tables.items()]
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
class About:
    """A number is about this much: a bell that is 1 at its centre."""

    column: str
    centre: float
    spread: float

    @property
    def log_peak(self) -> float:
        """The log density at the centre."""
        return -math.log(self.spread) - 0.5 * math.log(2 * math.pi)

    def log_degree(self, value: Any) -> float:
        """Log of the degree, from 0 to 1, to which a number belongs."""
        return -0.5 * ((float(value) - self.centre) / self.spread) ** 2

    def __str__(self) -> str:
        return about(self.column, self.centre, self.spread)


@dataclass(frozen=True)
class OneOf:
    """A value is one of these, more or less: the likeliest belongs with degree 1."""

    column: str
    table: dict[Any, float]

    @property
    def log_peak(self) -> float:
        """The log probability of the likeliest value."""
        return math.log(max(self.table.values()))

    def log_degree(self, value: Any) -> float:
        """Log of the degree, from 0 to 1, to which a value belongs."""
        return math.log(self.table[value]) - self.log_peak

    def __str__(self) -> str:
        return one_of(self.column, self.table)


@dataclass(frozen=True)
class Rule:
    """IF all conditions hold, more or less, THEN the class. ``prior`` is its share of the rows."""

    conditions: tuple[About | OneOf, ...]
    label: Any
    log_weight: float
    prior: float

    @property
    def weight(self) -> float:
        """The weight beside the other rules; all weights sum to 1."""
        return math.exp(self.log_weight)

    def degree(self, row: Mapping[str, Any]) -> float:
        """The degree, from 0 to 1, to which a row fulfils the conditions; what is missing counts as fulfilled."""
        return math.exp(sum(condition.log_degree(row[condition.column]) for condition in self._known(row)))

    def log_score(self, row: Mapping[str, Any]) -> float:
        """Log of weight times degree. The scaling of conditions that cannot be judged is taken out of the weight."""
        known = self._known(row)
        lost = sum(c.log_peak for c in self.conditions) - sum(c.log_peak for c in known)
        return self.log_weight - lost + sum(c.log_degree(row[c.column]) for c in known)

    def _known(self, row: Mapping[str, Any]) -> list[About | OneOf]:
        return [c for c in self.conditions if not is_missing(row.get(c.column)) and _judges(c, row[c.column])]

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


@dataclass(frozen=True)
class Rules(Sequence[Rule]):
    """All rules of a model. Printed, they are sentences; asked with a row, they answer as the model does."""

    rules: tuple[Rule, ...]

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

    def __str__(self) -> str:
        return "\n".join(str(rule) for rule in self.rules)


def rules_of(pseudo_classes: Sequence[PseudoClass]) -> Rules:
    """One rule per pseudo-class that has a share; weights are p h, where h is the product of the peaks."""
    drafts = []
    for pseudo in (p for p in pseudo_classes if p.prior > 0):
        conditions: list[About | OneOf] = []
        conditions += [About(name, mean, pseudo.spreads[name]) for name, mean in pseudo.means.items()]
        conditions += [OneOf(name, table) for name, table in pseudo.tables.items()]
        drafts.append((pseudo, conditions, math.log(pseudo.prior) + sum(c.log_peak for c in conditions)))
    top = max(log_weight for *_, log_weight in drafts)
    total = top + math.log(sum(math.exp(log_weight - top) for *_, log_weight in drafts))
    return Rules(tuple(Rule(tuple(conditions), p.label, weight - total, p.prior) for p, conditions, weight in drafts))


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


def pseudo_classes_of(state: Mapping[str, np.ndarray], schema: Schema, classes: Sequence[Any]) -> list[PseudoClass]:
    """The active pseudo-classes in a kernel's state. Columns that have not varied say nothing, and are left out."""
    columns = schema.columns
    numbers = [column.name for column in columns if column.kind == "continuous"]
    coded = [column for column in columns if column.kind != "continuous"]
    weight = np.where(state["base_weight"] > 0, state["base_weight"], 1.0)
    varied = (state["base_squares"] / weight > 1e-24 * state["base_mean"] ** 2).tolist()
    n_values = state["n_values"].tolist()
    edges = np.concatenate([[0], np.cumsum(n_values)]).astype(int)
    n_pseudo = len(state["label"])
    means, variances = (state[name].reshape(n_pseudo, -1) for name in ("mean", "variance"))
    totals, counts = state["totals"].reshape(n_pseudo, -1), state["counts"].reshape(n_pseudo, -1)

    def table(p: int, i: int) -> dict[Any, float]:
        shares = (counts[p, edges[i] : edges[i + 1]] + 1) / (totals[p, i] + n_values[i])
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


def _judges(condition: About | OneOf, value: Any) -> bool:
    """Whether a condition has an opinion of this value: numbers must be finite, values known."""
    return value in condition.table if isinstance(condition, OneOf) else math.isfinite(value)


def about(name: str, centre: float, spread: float) -> str:
    """``length is about 1.46 (±0.17)``, with as many digits as the spread has meaning.

    >>> about("length", 1.46234, 0.17366)
    'length is about 1.46 (±0.17)'
    >>> about("price", 1234567.8, 89012.3)
    'price is about 1235000 (±89000)'
    """
    digits = 1 - math.floor(math.log10(spread))
    if digits > 6 or digits < -8:
        return f"{name} is about {centre:.4g} (±{spread:.2g})"
    texts = [f"{round(number, digits):.{max(digits, 0)}f}" for number in (centre, spread)]
    return f"{name} is about {texts[0]} (±{texts[1]})"


def one_of(name: str, table: Mapping[Any, float]) -> str:
    """``colour is red (1) or blue (0.4)``: the likeliest values, and the degrees to which they belong.

    >>> one_of("colour", {"blue": 0.2, "red": 0.5, "green": 0.3})
    'colour is red (1) or green (0.6) or blue (0.4)'
    """
    top = max(table.values())
    order = sorted(table, key=lambda value: -table[value])
    shown = [value for value in order if table[value] >= _LEAST_DEGREE * top]
    texts = [f"{value} ({table[value] / top:.2g})" for value in shown[:_MOST_VALUES]]
    return f"{name} is {' or '.join(texts)}{' or ...' if len(shown) > _MOST_VALUES else ''}"
