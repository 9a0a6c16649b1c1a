"""Why a row got its answer: the log-odds of the answer, shared out exactly over columns and their parents.

In a product every factor adds its own log-odds. Inside a factor that is a sum of terms, term t adds

    (t(answer) - t(other)) / L(S(answer), S(other))        with L the logarithmic mean and S the sum,

which adds up to log S(answer) - log S(other) exactly and has the sign of what the term says. A sum of products is
shared out the same way over its members, and each member's part over its own factors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from tanager.errors import DataError, OptionError, nearest
from tanager.scoring.forms import ParentSet, ProductOfSums, SumOfProducts, View


@dataclass(frozen=True)
class Part:
    """What one column says, seen together with some other columns: log-odds for the answer."""

    column: str
    parents: tuple[str, ...]
    log_odds: float


@dataclass(frozen=True)
class Explanation:
    """The log-odds of an answer against another class, and where they come from.

    ``prior`` (the classes alone, with given priors and class weights) and all ``parts`` add up to ``log_odds``.
    """

    answer: Any
    against: Any
    probability: float
    log_odds: float
    prior: float
    parts: tuple[Part, ...]
    values: dict[str, Any]

    @property
    def columns(self) -> dict[str, float]:
        """Log-odds of every column, largest effect first."""
        total: dict[str, float] = {}
        for part in self.parts:
            total[part.column] = total.get(part.column, 0.0) + part.log_odds
        return dict(sorted(total.items(), key=lambda item: -abs(item[1])))

    def __str__(self) -> str:
        names = {column: f"{column} = {self.values[column]}" for column in self.columns}
        width = max([len("before looking"), *map(len, names.values())])
        lines = [
            f"{self.answer!r} rather than {self.against!r}: probability {self.probability:.4f}, "
            f"log-odds {self.log_odds:+.4f}"
        ]
        if abs(self.prior) >= 5e-5:  # averaged estimators have the classes inside P(class, super-parent)
            lines.append(f"  {'before looking':<{width}}  {self.prior:+8.4f}")
        lines += [f"  {names[column]:<{width}}  {value:+8.4f}" for column, value in self.columns.items()]
        return "\n".join(lines)


class ExplainMixin:
    """The method ``explain`` of every counting classifier."""

    def explain(self: Any, row: Any, answer: Any = None, against: Any = None) -> Explanation:
        """Why a row gets its answer: log-odds of every column and parent set, adding up to those of the answer.

        ``row`` is a dict, or a table of one row. By default the predicted class is set against the most probable other;
        where ``against`` is the predicted class itself, the next one is explained.
        """
        self._ready()
        if len(self.classes_) < 2:
            raise DataError(f"there is nothing to explain: the only class is {self.classes_.tolist()[0]!r}.")
        X = [row] if isinstance(row, Mapping) else row
        codes = self._encode(X)
        if len(codes) != 1:
            raise DataError(f"explain takes one row, got {len(codes)}. Explain them one by one.")
        proba = self._scores(X, log_joint=False)
        known = self._class_codes()
        for name, label in (("answer", answer), ("against", against)):
            if label is not None and label not in known:
                raise OptionError(f"{name}={label!r} is none of the classes.{nearest(label, known)}")
        if answer is not None and answer == against:
            raise OptionError(f"answer and against are both {answer!r}. Leave one out, or name two classes.")
        likely = np.argsort(-proba[0], kind="stable").tolist()
        chosen = known[self._decide(proba).tolist()[0] if answer is None else answer]
        if against is not None and chosen == known[against]:
            chosen = next(c for c in likely if c != chosen)
        rival = next(c for c in likely if c != chosen) if against is None else known[against]
        prior, parts = self._explain(codes, X, chosen, rival)
        names, columns = self.counts_.schema.names, self.counts_.schema.columns
        values = {
            name: columns[i].describe(int(code)) if code < columns[i].n_values else "?"
            for i, (name, code) in enumerate(zip(names, codes[0], strict=True))
        }
        return Explanation(
            answer=self.classes_.tolist()[chosen],
            against=self.classes_.tolist()[rival],
            probability=float(proba[0, chosen]),
            log_odds=prior + sum(value for _, _, value in parts),
            prior=prior,
            parts=tuple(Part(names[i], tuple(names[j] for j in parents), value) for i, parents, value in parts),
            values=values,
        )

    def _explain(self: Any, codes: np.ndarray, X: Any, answer: int, against: int) -> tuple[float, list[Any]]:
        """Prior, and parts as column, parents and log-odds."""
        return explain_row(self._view_of(self._structure(fresh=True).form, fast=False), codes, answer, against)


def explain_row(
    view: View, codes: np.ndarray, answer: int, against: int
) -> tuple[float, list[tuple[int, ParentSet, float]]]:
    """Prior and parts (column, parents, log-odds) of one encoded row; they add up to its log-odds in the view."""
    total = _difference(view.score(codes, log_joint=True)[0], answer, against)
    parts = _parts(view, codes, answer, against)
    return total - sum(part[2] for part in parts), parts


def _parts(view: View, codes: np.ndarray, answer: int, against: int) -> list[tuple[int, ParentSet, float]]:
    form = view.form
    terms = [(child, tuple(parents)) for child, parents in view.plan.terms()]
    n_members = len(form.members) if isinstance(form, SumOfProducts) else 0
    values = np.empty((n_members + len(terms), view.counts.n_classes))
    view.plan.parts(codes, values)
    pairs = values[:, [answer, against]]
    known = dict(zip(terms, pairs[n_members:], strict=True))
    if isinstance(form, ProductOfSums):
        return [*_of_class(view, form, codes, answer, against), *_of_product(form, known, answer, against)]
    members = _of_sum(form, pairs[:n_members], known, view.counts.n_features)
    if members is None and form.otherwise is not None:
        return _parts(view.with_form(form.otherwise), codes, answer, against)
    return members or []


def _of_class(
    view: View, form: ProductOfSums, codes: np.ndarray, answer: int, against: int
) -> list[tuple[int, ParentSet, float]]:
    """What each parent of the class adds to those before it."""
    prefixes = [form.class_parents[:size] for size in range(len(form.class_parents) + 1)]
    views = [view.with_form(ProductOfSums((), (), (), parents)) for parents in prefixes] if form.class_parents else []
    totals = [_difference(v.score(codes, log_joint=True)[0], answer, against) for v in views]
    steps = zip(form.class_parents, prefixes, pairwise(totals), strict=False)
    return [(p, before, after_p - without) for p, before, (without, after_p) in steps if after_p != without]


def _of_product(
    form: ProductOfSums, known: dict[Any, np.ndarray], answer: int, against: int
) -> list[tuple[int, ParentSet, float]]:
    out = []
    for child in dict.fromkeys(form.child):
        mine, theirs = (_alive(form, known, child, c, side) for side, c in enumerate((answer, against)))
        sums = np.array([sum(mine.values()) if mine else 1.0, sum(theirs.values()) if theirs else 1.0])
        if mine.keys() == theirs.keys():
            out += [(child, p, float((mine[p] - theirs[p]) / _log_mean(sums))) for p in mine]
        else:  # networks of two classes: one part, from all columns that either looks at
            parents = tuple(dict.fromkeys(j for p in (*mine, *theirs) for j in p))
            out.append((child, parents, float(np.log(sums[0]) - np.log(sums[1]))))
    return out


def _alive(form: ProductOfSums, known: dict[Any, np.ndarray], child: int, c: int, side: int) -> dict[ParentSet, float]:
    """The parent sets of a column that speak for class c, and what they say; `side` is its place in `known`."""
    only = form.only or ((),) * len(form.child)
    terms = [t for t, i in enumerate(form.child) if i == child and (not only[t] or c in only[t])]
    out: dict[ParentSet, float] = {}
    for parents, weight in ((form.parents[t], form.weight[t]) for t in terms):
        value = known[child, parents][side] if weight > 0 else np.nan
        if not np.isnan(value):
            out[parents] = out.get(parents, 0.0) + weight * value
    voting = [form.parents[t] for t in terms if form.weight[t] > 0]
    if terms and not out:  # a missing parent: the longest family that is there, down to the class alone
        first = voting[0] if len(voting) == 1 else ()
        shorter = (first[:size] for size in range(len(first), -1, -1))
        out = dict([(p, known[child, p][side]) for p in shorter if not np.isnan(known[child, p][side])][:1])
    return out


def _of_sum(
    form: SumOfProducts, joints: np.ndarray, known: dict[Any, np.ndarray], n: int
) -> list[tuple[int, ParentSet, float]] | None:
    """Parts of a sum of products; None where no member speaks."""
    members = []
    for s, weight, joint in zip(form.members, form.weight, joints, strict=True):
        if np.isnan(joint[0]) or weight <= 0:
            continue
        children = [(j, known[j, s]) for j in range(n) if j not in s and not np.isnan(known[j, s][0])]
        factors = [(s[0], (), np.log(joint)), *((j, s, np.log(value)) for j, value in children)]
        members.append((factors, np.log(weight) + sum(f[2] for f in factors)))
    if not members:
        return None
    logs = np.array([total for _, total in members])
    scaled = np.exp(logs - logs.max())
    whole = _log_mean(scaled.sum(axis=0))
    out: dict[tuple[int, ParentSet], float] = {}
    for (factors, _), own in zip(members, scaled, strict=True):
        share = _log_mean(own) / whole
        for column, parents, value in factors:
            out[column, parents] = out.get((column, parents), 0.0) + share * float(value[0] - value[1])
    return [(column, parents, value) for (column, parents), value in out.items()]


def _log_mean(pair: np.ndarray) -> float:
    """The logarithmic mean of two positive numbers."""
    a, b = float(pair[0]), float(pair[1])
    if a <= 0 or b <= 0:
        return 0.0
    difference = np.log(a) - np.log(b)
    return a if abs(difference) < 1e-12 else (a - b) / difference


def _difference(log_joint: np.ndarray, answer: int, against: int) -> float:
    return float(log_joint[answer] - log_joint[against])
