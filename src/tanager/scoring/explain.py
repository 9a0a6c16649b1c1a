"""Why a row got its answer: the log-odds of the answer, shared out exactly over columns and their parents.

In a product every factor adds its own log-odds. Inside a factor that is a sum of terms, term t adds

    (t(answer) - t(other)) / L(S(answer), S(other))        with L the logarithmic mean and S the sum,

which adds up to log S(answer) - log S(other) exactly and has the sign of what the term contributes. A sum of products
is shared out the same way over its members, and each member's part over its own factors.

Without smoothing a class may be impossible: the log-odds are then infinite, and so are the parts of the columns that
rule it out. All other parts stay finite.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from tanager.counts.block import Query
from tanager.encoding.typing import Label
from tanager.scoring.display import explanation_html
from tanager.scoring.forms import Form, ParentSet, ProductOfSums, SumOfProducts
from tanager.shortcuts import public

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tanager.scoring.view import View

PartList = list[tuple[int, ParentSet, float]]  # column, parents and log-odds
Factors = list[tuple[int, ParentSet, np.ndarray]]  # of a member: column, parents, and the log for every class


@dataclass(frozen=True)
class Part:
    """What one column contributes, seen together with some other columns: log-odds for the answer."""

    column: str
    parents: tuple[str, ...]
    log_odds: float


@dataclass(frozen=True, repr=False)
class Explanation:
    """The log-odds of an answer against another class, and where they come from.

    ``prior`` (the classes alone, with given priors and class weights) and all ``parts`` add up to ``log_odds``.
    ``rule`` says which learned rows answer, where these are not all.
    """

    answer: Label
    against: Label
    probability: float
    log_odds: float
    prior: float
    parts: tuple[Part, ...]
    values: dict[str, Any]
    path: tuple[str, ...] = ()  # of a tree: the tests that led to the classifier that answers
    rule: str = ""

    @property
    def columns(self) -> dict[str, float]:
        """Log-odds of every column, largest effect first."""
        total: dict[str, float] = {}
        for part in self.parts:
            total[part.column] = total.get(part.column, 0.0) + part.log_odds
        return dict(sorted(total.items(), key=lambda item: -abs(item[1])))

    def _repr_html_(self) -> str:
        return explanation_html(self)

    def plot(self, path: str | PathLike[str] | None = None, **options: Any) -> Figure:
        """Draw it; see ``tanager.plot_explanation``."""
        figure: Figure = public("plot_explanation")(self, path, **options)
        return figure

    def __str__(self) -> str:
        names = {column: f"{column} = {self.values[column]}" for column in self.columns}
        width = max([len("prior"), *map(len, names.values())])
        lines = [
            f"{self.answer!r} rather than {self.against!r}: probability {self.probability:.4f}, "
            f"log-odds {self.log_odds:+.4f}"
        ]
        if self.path:
            lines.append(f"  where {', then '.join(self.path)}")
        if self.rule:
            lines.append(f"  {self.rule}")
        if abs(self.prior) >= 5e-5:  # averaged estimators have the classes inside P(class, super-parent)
            lines.append(f"  {'prior':<{width}}  {self.prior:+8.4f}")
        lines += [f"  {names[column]:<{width}}  {value:+8.4f}" for column, value in self.columns.items()]
        return "\n".join(lines)

    __repr__ = __str__


def explain_row(view: View, query: Query, answer: int, against: int) -> tuple[float, PartList]:
    """Prior and parts of one encoded row; they add up to its log-odds in the view."""
    total = _odds(view, query, answer, against)
    if math.isnan(total):  # both classes are impossible: there are no odds between them
        return total, []
    answering, parts = _parts(view, query, answer, against)
    finite = all(math.isfinite(part[2]) for part in parts)
    if math.isfinite(total):
        if not finite:  # every class is impossible, and Laplace's rule for the classes answers
            parts = []
        return total - sum(part[2] for part in parts), parts
    alone = view.with_form(ProductOfSums((), (), ()))
    prior = _odds(alone, query, answer, against)
    if isinstance(answering, SumOfProducts):  # its members have the classes inside P(class, super-parent)
        prior -= _odds(alone.over(view.counts, ()), query, answer, against)
    return 0.0 if math.isnan(prior) else prior, parts


def _odds(view: View, query: Query, answer: int, against: int) -> float:
    with np.errstate(invalid="ignore"):
        return _difference(view.score(query, log_joint=True)[0], answer, against)


def _parts(view: View, query: Query, answer: int, against: int) -> tuple[Form, PartList]:
    """The form that answers this row, and its parts."""
    form = view.form
    joints, known = member_terms(view, query)
    if isinstance(form, ProductOfSums):
        pairs = {term: value[[answer, against]] for term, value in known.items()}
        return form, [*_of_class(view, form, query, answer, against), *_of_product(form, pairs, answer, against)]
    members = _members(form, joints, known, view.counts.n_features)
    if not members and form.otherwise is not None:
        return _parts(view.with_form(form.otherwise), query, answer, against)
    return form, shared_out(members, [answer, against])


def member_terms(view: View, query: Query) -> tuple[np.ndarray, dict[tuple[int, ParentSet], np.ndarray]]:
    """P(y, x_s) of every member and P(x_i | y, parents) of every term, for all classes; NaN where they do not speak."""
    form = view.form
    terms = [(child, tuple(parents)) for child, parents in view.plan.terms()]
    n_members = len(form.members) if isinstance(form, SumOfProducts) else 0
    values = np.empty((n_members + len(terms), view.counts.n_classes))
    view.plan.parts(query.codes, values)
    return values[:n_members], dict(zip(terms, values[n_members:], strict=True))


def _of_class(view: View, form: ProductOfSums, query: Query, answer: int, against: int) -> PartList:
    """What each parent of the class adds to those before it."""
    prefixes = [form.class_parents[:size] for size in range(len(form.class_parents) + 1)]
    views = [view.with_form(ProductOfSums((), (), (), parents)) for parents in prefixes] if form.class_parents else []
    totals = [_odds(v, query, answer, against) for v in views]
    steps = zip(form.class_parents, prefixes, pairwise(totals), strict=False)
    return [(p, before, after_p - without) for p, before, (without, after_p) in steps if after_p != without]


def _of_product(form: ProductOfSums, known: dict[Any, np.ndarray], answer: int, against: int) -> PartList:
    out = []
    for child in dict.fromkeys(form.child):
        mine, theirs = (_alive(form, known, child, c, side) for side, c in enumerate((answer, against)))
        sums = np.array([sum(mine.values()) if mine else 1.0, sum(theirs.values()) if theirs else 1.0])
        mean = log_mean(sums)
        if mine.keys() == theirs.keys() and mean > 0:
            out += [(child, p, float((mine[p] - theirs[p]) / mean)) for p in mine]
        else:  # networks of two classes, or one class is ruled out: one part, from all columns that either looks at
            parents = tuple(dict.fromkeys(j for p in (*mine, *theirs) for j in p))
            with np.errstate(divide="ignore", invalid="ignore"):
                out.append((child, parents, float(np.log(sums[0]) - np.log(sums[1]))))
    return out


def _alive(form: ProductOfSums, known: dict[Any, np.ndarray], child: int, c: int, side: int) -> dict[ParentSet, float]:
    """The parent sets of a column that belong to class c, and their estimates; `side` is its place in `known`."""
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


def _members(form: SumOfProducts, joints: np.ndarray, known: dict[Any, np.ndarray], n: int) -> list[Factors]:
    """The factors of every eligible member, its weight in the first; none where all classes are impossible."""
    columns = range(n) if form.children is None else form.children
    eligible = (
        (s, weight, joint, [(j, known[j, s]) for j in columns if j not in s and not np.isnan(known[j, s][0])])
        for s, weight, joint in zip(form.members, form.weight, joints, strict=True)
        if not np.isnan(joint[0]) and weight > 0
    )
    return factors_of_members(eligible)


def factors_of_members(
    members: Iterable[tuple[ParentSet, float, np.ndarray, list[tuple[int, np.ndarray]]]],
) -> list[Factors]:
    """The factors of members, given as super-parents, weight, P(y, x_s) and P(x_j | y, x_s) of every child j.

    None where all classes are impossible.
    """
    out, possible = [], False
    with np.errstate(divide="ignore"):
        for s, weight, joint, children in members:
            first: Factors = [(s[0], (), np.log(joint) + np.log(weight))]
            out.append(first + [(j, s, np.log(value)) for j, value in children])
            possible = possible or bool((sum(factor[2] for factor in out[-1]) > -np.inf).any())
    return out if possible else []


def shared_out(members: Sequence[Factors], pair: list[int]) -> PartList:
    """The log-odds of a sum of products between two classes, shared out over the factors of its members."""
    logs = np.array([sum(factor[2][pair] for factor in factors) for factors in members])
    whole = np.logaddexp.reduce(logs, axis=0)
    out: dict[tuple[int, ParentSet], float] = {}
    with np.errstate(invalid="ignore"):
        for factors, own in zip(members, logs, strict=True):
            values = [float(value[pair[0]] - value[pair[1]]) for _, _, value in factors]
            for (column, parents, _), value in zip(factors, share_out(values, own, whole), strict=True):
                out[column, parents] = out.get((column, parents), 0.0) + value
    return [(column, parents, value) for (column, parents), value in out.items()]


def share_out(values: Sequence[float], own: np.ndarray, whole: np.ndarray) -> list[float]:
    """What the log-odds of a member's factors contribute to those of the sum; ``own`` and ``whole`` are logs.

    A member that holds one of the classes for impossible contributes by the factors that rule it out, evenly.
    """
    a, b = float(own[0]), float(own[1])
    top = float(max(whole))
    if a == b == -math.inf:
        return [0.0] * len(values)
    if math.isinf(min(whole)):  # of the sum, too, one class is impossible
        share = math.exp(max(a, b) - top)
        return [value if math.isinf(value) else share * value for value in values]
    mean = _log_mean(float(whole[0]), float(whole[1]), top)
    if math.isfinite(a - b):
        share = _log_mean(a, b, top) / mean
        return [share * value for value in values]
    amount = (math.exp(a - top) - math.exp(b - top)) / mean
    ruled_out = [not math.isfinite(value) for value in values]
    if not any(ruled_out):  # too small to write down, yet not impossible
        return [amount * value / sum(values) for value in values]
    return [amount / sum(ruled_out) if out else 0.0 for out in ruled_out]


def _log_mean(a: float, b: float, top: float) -> float:
    """The logarithmic mean of e^a and e^b, over e^top."""
    difference = abs(a - b)
    return math.exp(max(a, b) - top) * (-math.expm1(-difference) / difference if difference > 1e-12 else 1.0)


def log_mean(pair: np.ndarray) -> float:
    """The logarithmic mean of two numbers that are not negative."""
    a, b = float(pair[0]), float(pair[1])
    return _log_mean(math.log(a), math.log(b), 0.0) if a > 0 and b > 0 else 0.0


def log_of_mean(logs: np.ndarray) -> float:
    """The log of the logarithmic mean of two positive numbers, from their logs: one may be beyond all floats."""
    top, gap = float(max(logs)), float(abs(logs[0] - logs[1]))
    return top if gap < 1e-12 else top + math.log(-math.expm1(-gap) / gap)


def _difference(log_joint: np.ndarray, answer: int, against: int) -> float:
    return float(log_joint[answer] - log_joint[against])
