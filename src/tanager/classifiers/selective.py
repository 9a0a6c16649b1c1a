"""SelectiveNaiveBayes and Selective: only the columns that left-out answers are better with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tanager import saved
from tanager.classifiers.tan import TAN
from tanager.counts.joint import JointCounts
from tanager.encoding import Schema
from tanager.errors import OptionError, SchemaMismatch, check_option
from tanager.estimator import clone
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.delegate import Delegating
from tanager.learning.left_out import LeftOut, check_search
from tanager.learning.left_out_sum import LeftOutSum, Roles
from tanager.learning.network_view import blanket_of, network_of, parents_of
from tanager.learning.rows import KeptRows
from tanager.learning.subset_search import DIRECTIONS, STEPS, Step, select
from tanager.scoring.forms import Form, ProductOfSums, StagedSum, SumOfProducts, naive

ROLES = ("either", "both", "parents", "children")


def without_columns(form: ProductOfSums, kept: Sequence[int]) -> ProductOfSums:
    """The factors of some columns alone; what they depend on stays."""
    columns = set(kept)
    terms = [t for t, i in enumerate(form.child) if i in columns]
    only = tuple(form.only[t] for t in terms) if form.only else ()
    return replace(
        form,
        child=tuple(form.child[t] for t in terms),
        parents=tuple(form.parents[t] for t in terms),
        weight=tuple(form.weight[t] for t in terms),
        only=only,
    )


@dataclass(eq=False, repr=False, kw_only=True)
class SelectiveNaiveBayes(CountsClassifier):
    """Naive Bayes on the columns that are worth it, chosen by leave-one-out answers.

    Naive Bayes counts the same evidence twice where columns repeat each other, and is led astray by columns that say
    nothing; leaving such columns out mends both. Keeps the rows it has learned, a byte or two per cell.

    Parameters
    ----------
    criterion : {"accuracy", "log_loss", "auc"}, default="accuracy"
        What is best, over all rows, each left out. Ties in accuracy go to the larger probability of the true classes.
    min_gain : float, default=0.0
        How much a step must gain.
    patience : int, default=5
        With ``direction="best_first"``, how many sets may be tried in vain before the search ends.

    Attributes
    ----------
    columns_ : tuple of str
        The columns chosen, in the order of the table.
    steps_ : tuple of Step
        What was added or taken away, and how good answers were then.

    Notes
    -----
    Langley and Sage (1994). O(rows columns² classes) to choose, then as naive Bayes.

    Examples
    --------
    The second column repeats the first, the third says nothing:

    >>> from tanager import SelectiveNaiveBayes
    >>> X = [["sun", "dry", "a"], ["sun", "dry", "b"], ["rain", "wet", "a"], ["rain", "wet", "b"]] * 3
    >>> model = SelectiveNaiveBayes().fit(X, ["play", "play", "stay", "stay"] * 3)
    >>> model.columns_
    ('x0',)
    """

    direction: str = "forward"
    criterion: str = "accuracy"
    min_gain: float = 0.0
    non_worse: bool = False
    patience: int = 5

    order = 1
    saves_structure = True

    parents_ = property(parents_of)
    network_ = property(network_of)
    blanket_ = property(blanket_of)

    def check_options(self) -> None:
        super().check_options()
        check_selection(self)

    def _needs_rows(self) -> bool:
        return True

    def _structure(self, counts: JointCounts, rows: KeptRows | None) -> Form:
        form, self.steps_ = chosen(self, self, naive(counts.n_features), rows)
        return form

    @property
    def columns_(self) -> tuple[str, ...]:
        """The columns chosen."""
        return columns_of(self)

    def _choice(self) -> dict[str, Any]:
        return {"steps": [list(step) for step in self.steps_]}

    def _take_choice(self, data: dict[str, Any]) -> None:
        self.steps_ = tuple(Step(*step) for step in saved.field("steps of its search", data, "steps", STEPS))


@dataclass(eq=False, repr=False)
class Selective(Delegating):
    """Another classifier on the columns that are worth it, chosen by leave-one-out answers.

    Its structure is learned from all columns first; then the factors of columns are added or taken away. A column may
    stay as a parent of others though its own factor has gone. Of AODE, every column is selected twice: as a
    super-parent, and as a child of the super-parents. Keeps the rows it has learned, a byte or two per cell.

    Parameters
    ----------
    model : classifier or None, default=None
        What columns are selected for: one whose answers are a product with a factor for each column, such as
        ``TAN()``, ``KDB()``, ``FANC()`` or ``BAN()``, or an average over super-parents, ``AODE()`` or ``WAODE()``. None
        is ``TAN()``.
    direction
        The default is to go "backward", because parents were chosen for all columns together.
    criterion : {"accuracy", "log_loss", "auc"}, default="accuracy"
        What is best, over all rows, each left out. Ties in accuracy go to the larger probability of the true classes.
    min_gain : float, default=0.0
        How much a step must gain.
    patience : int, default=5
        With ``direction="best_first"``, how many sets may be tried in vain before the search ends.
    roles : {"either", "both", "parents", "children"}, default="either"
        Of AODE, what a step adds or takes away: a column in one of its two roles, or in both at once; or it selects
        super-parents alone, or children alone, and all columns keep the other role.

    Attributes
    ----------
    best_ : classifier
        The classifier on the chosen columns; ``model.best_.parents_``, for example, are their parents.
    columns_ : tuple of str
        The columns chosen.
    super_parents_, children_ : tuple of str
        Of AODE, the columns chosen as super-parents and those chosen as children; ``columns_`` are both together.
    steps_ : tuple of Step
        What was added or taken away, and how good answers were then.

    Notes
    -----
    O(rows columns² classes) to choose, beside what the classifier itself needs; for AODE as much for every step (Zheng
    and Webb 2007). Subsumption and missing values that are summed out change the answers, not what is selected.

    Examples
    --------
    >>> from tanager import Selective, TAN
    >>> X = [["sun", "dry", "a"], ["sun", "wet", "b"], ["rain", "wet", "b"], ["rain", "dry", "b"]] * 3
    >>> model = Selective(TAN(), non_worse=True).fit(X, ["play", "play", "stay", "stay"] * 3)
    >>> model.columns_
    ('x0',)
    """

    model: CountsClassifier | None = None
    direction: str = "backward"
    criterion: str = "accuracy"
    min_gain: float = 0.0
    non_worse: bool = False
    patience: int = 5
    roles: str = "either"

    saves_structure = True

    def check_options(self) -> None:
        super().check_options()
        check_selection(self)
        check_option("roles", self.roles, ROLES)
        model = self._model()
        if not isinstance(model, CountsClassifier):
            raise OptionError(f"model={model!r} is no classifier of tanager. Give TAN(), KDB(), FANC() or the like.")
        model.check_options()
        if getattr(model, "fit_by", "likelihood") != "likelihood":
            raise OptionError(f"model={model!r}: columns are selected with counted parameters. Leave out fit_by=.")

    def _model(self) -> CountsClassifier:
        return TAN() if self.model is None else self.model

    def _needs_rows(self) -> bool:
        return True

    def _check_calibrate(self) -> None:
        super()._check_calibrate()
        if getattr(self._model(), "calibrate", False):
            raise OptionError(
                f"model={self.model!r}: give calibrate= to Selective itself, whose answers are asked for."
            )

    def counts_shape(self, schema: Schema) -> dict[str, Any]:
        """As wide as the classifier needs."""
        return self._model().counts_shape(schema)

    def _structure(self, counts: JointCounts, rows: KeptRows | None) -> Form:
        if rows is None:
            raise SchemaMismatch("Selective looks at the rows again, and counts alone do not hold them. Use fit.")
        self.best_ = self.adopt(clone(self._model()))
        form = self.best_.structure_
        if isinstance(form, SumOfProducts):
            self._check_members(form)
            form, self.steps_ = chosen_roles(self, self.best_, form, rows)
            return form
        if self.roles != "either":
            raise OptionError(
                f"roles={self.roles!r}: only averages over super-parents, such as AODE, give columns two roles, and "
                f"model={self._model()!r} is a product. Leave roles out."
            )
        form, self.steps_ = chosen(self, self.best_, form, rows)
        return form

    def _check_members(self, form: SumOfProducts) -> None:
        if isinstance(form, StagedSum) or any(len(member) != 1 for member in form.members):
            raise OptionError(
                f"model={self._model()!r}: columns are selected for averages over one super-parent at a time, AODE and "
                "WAODE, and for products such as TAN, FAN, KDB, BAN, FANC, SPC, TC, HNB or a general network."
            )

    @property
    def columns_(self) -> tuple[str, ...]:
        """The columns chosen."""
        return columns_of(self)

    @property
    def super_parents_(self) -> tuple[str, ...]:
        """The columns chosen as super-parents; none where the model is a product."""
        form, names = self.structure_, self.counts_.schema.names
        members = form.members if isinstance(form, SumOfProducts) else ()
        return tuple(names[s] for (s,) in members)

    @property
    def children_(self) -> tuple[str, ...]:
        """The columns that have a factor of their own."""
        form, names = self.structure_, self.counts_.schema.names
        return tuple(names[i] for i in _children(form, len(names)))

    def _choice(self) -> dict[str, Any]:
        return {"steps": [list(step) for step in self.steps_]}

    def _take_choice(self, data: dict[str, Any]) -> None:
        self.steps_ = tuple(Step(*step) for step in saved.field("steps of its search", data, "steps", STEPS))
        self.best_ = self.adopt(clone(self._model()))


def check_selection(model: SelectiveNaiveBayes | Selective) -> None:
    """Refuse options of the search that mean nothing."""
    check_option("direction", model.direction, DIRECTIONS)
    check_search(model.criterion, model.min_gain)
    if not isinstance(model.non_worse, bool):
        raise OptionError(f"non_worse={model.non_worse!r}: give True or False.")
    if isinstance(model.patience, bool) or not isinstance(model.patience, int) or model.patience < 1:
        raise OptionError(f"patience={model.patience!r}: give a whole number of at least 1.")


def chosen(
    options: SelectiveNaiveBayes | Selective, model: CountsClassifier, form: ProductOfSums, rows: KeptRows | None
) -> tuple[ProductOfSums, tuple[Step, ...]]:
    """The form with the factors of the chosen columns alone, and the steps that led there."""
    start = ProductOfSums((), (), (), form.class_parents)
    left_out = LeftOut(model, rows, options.criterion, start)
    columns = list(dict.fromkeys(form.child))
    factors = left_out.factors([replace(without_columns(form, [i]), class_parents=()) for i in columns])
    kept, moves = select(left_out, factors, options.direction, options.min_gain, options.non_worse, options.patience)
    names = model.counts_.schema.names
    steps = tuple(Step(did, "" if place < 0 else names[columns[place]], value) for did, place, value in moves)
    return without_columns(form, [columns[place] for place in kept]), steps


def chosen_roles(
    options: Selective, model: CountsClassifier, form: SumOfProducts, rows: KeptRows | None
) -> tuple[Form, tuple[Step, ...]]:
    """The average with the chosen columns as super-parents and as children, and the steps that led there."""
    n, names = model.counts_.n_features, model.counts_.schema.names
    members = [s for (s,), weight in zip(form.members, form.weight, strict=True) if weight > 0]
    searched = _searched(options.roles, members, n)
    fixed = (
        {*members} - {s for roles in searched for s in roles.parents},
        {*range(n)} - {j for roles in searched for j in roles.children},
    )
    left_out = LeftOutSum(model, rows, options.criterion, form, *fixed, options.max_memory)
    kept, moves = select(left_out, searched, options.direction, options.min_gain, options.non_worse, options.patience)
    steps = tuple(
        Step(did, "" if place < 0 else _in_words(searched[place], names), value) for did, place, value in moves
    )
    parents = fixed[0].union(*(searched[place].parents for place in kept))
    children = tuple(sorted(fixed[1].union(*(searched[place].children for place in kept))))
    otherwise = without_columns(naive(n), children)
    if not parents:
        return otherwise, steps
    weights = {s: weight for (s,), weight in zip(form.members, form.weight, strict=True) if s in parents}
    least, among = form.min_count, children if len(children) < n else None
    return SumOfProducts(tuple((s,) for s in weights), tuple(weights.values()), least, otherwise, children=among), steps


def _searched(roles: str, members: Sequence[int], n: int) -> list[Roles]:
    """What a step of the search may add or take away."""
    if roles == "both":
        return [Roles((i,) if i in members else (), (i,)) for i in range(n)]
    parents = [Roles(parents=(s,)) for s in members] if roles != "children" else []
    return parents + ([Roles(children=(j,)) for j in range(n)] if roles != "parents" else [])


def _in_words(roles: Roles, names: Sequence[str]) -> str:
    if roles.parents and roles.children:
        return names[roles.parents[0]]
    return f"{names[roles.parents[0]]} as parent" if roles.parents else f"{names[roles.children[0]]} as child"


def _children(form: Form, n: int) -> list[int]:
    """The columns that have a factor of their own."""
    if isinstance(form, ProductOfSums):
        return sorted(set(form.child))
    return list(range(n) if form.children is None else form.children)


def columns_of(model: SelectiveNaiveBayes | Selective) -> tuple[str, ...]:
    """The columns that have a factor of their own, or are super-parents."""
    form, names = model.structure_, model.counts_.schema.names
    parents = {i for member in form.members for i in member} if isinstance(form, SumOfProducts) else set[int]()
    return tuple(names[i] for i in sorted({*_children(form, len(names)), *parents}))
