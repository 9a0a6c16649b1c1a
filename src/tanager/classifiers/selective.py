"""SelectiveNaiveBayes and Selective: only the columns that left-out answers are better with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sklearn.base import clone

from tanager.classifiers.tan import TAN
from tanager.counts.joint import JointCounts
from tanager.encoding import Schema
from tanager.errors import OptionError, check_option
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.delegate import Delegating
from tanager.learning.left_out import LeftOut, check_search
from tanager.learning.network_view import blanket_of, network_of, parents_of
from tanager.learning.rows import KeptRows
from tanager.learning.subset_search import DIRECTIONS, Step, select
from tanager.scoring.forms import Form, ProductOfSums, naive


def without_columns(form: ProductOfSums, kept: Sequence[int]) -> ProductOfSums:
    """The factors of some columns alone; what they depend on stays."""
    terms = [t for t, i in enumerate(form.child) if i in set(kept)]
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
    nothing; leaving such columns out mends both. Keeps the rows, as codes.

    Parameters
    ----------
    direction : {"forward", "backward", "best_first"}, default="forward"
        Add columns one by one, take them away one by one, or do both, going back to earlier sets that looked good.
    criterion : {"accuracy", "log_loss", "auc"}, default="accuracy"
        What is best, over all rows, each left out. Ties in accuracy go to the larger probability of the true classes.
    min_gain : float, default=0.0
        How much a step must gain.
    non_worse : bool, default=False
        Go on as long as answers do not become worse (Langley and Sage), instead of as long as they improve.
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
        self.steps_ = tuple(Step(*step) for step in data["steps"])


@dataclass(eq=False, repr=False)
class Selective(Delegating):
    """Another classifier on the columns that are worth it, chosen by leave-one-out answers.

    Its structure is learned from all columns first; then the factors of columns are added or taken away. A column may
    stay as a parent of others though its own factor has gone. Keeps the rows, as codes.

    Parameters
    ----------
    model : classifier or None, default=None
        What columns are selected for: one whose answers are a product with a factor for each column, such as
        ``TAN()``, ``KDB()``, ``FANC()`` or ``BAN()``. None is ``TAN()``.
    direction, criterion, min_gain, non_worse, patience
        How to select; see ``SelectiveNaiveBayes``. The default is to go "backward", because parents were chosen
        for all columns together.

    Attributes
    ----------
    best_ : classifier
        The classifier on the chosen columns; ``model.best_.parents_``, for example, are their parents.
    columns_ : tuple of str
        The columns chosen.
    steps_ : tuple of Step
        What was added or taken away, and how good answers were then.

    Notes
    -----
    O(rows columns² classes) to choose, beside what the classifier itself needs.

    Examples
    --------
    >>> from tanager import Selective, TAN
    >>> X = [["sun", "dry", "a"], ["sun", "wet", "b"], ["rain", "wet", "b"], ["rain", "dry", "b"]] * 3
    >>> model = Selective(TAN(), non_worse=True).fit(X, ["play", "play", "stay", "stay"] * 3)
    >>> model.columns_
    ('x0',)
    """

    model: Any = None
    direction: str = "backward"
    criterion: str = "accuracy"
    min_gain: float = 0.0
    non_worse: bool = False
    patience: int = 5

    saves_structure = True

    def check_options(self) -> None:
        super().check_options()
        check_selection(self)
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

    def counts_shape(self, schema: Schema) -> dict[str, Any]:
        """As wide as the classifier needs."""
        return self._model().counts_shape(schema)

    def _structure(self, counts: JointCounts, rows: KeptRows | None) -> Form:
        self.best_ = self.adopt(clone(self._model()))
        form = self.best_.structure_
        if not isinstance(form, ProductOfSums):
            raise OptionError(
                f"model={self._model()!r} is no product of factors of its columns. Select columns for TAN, FAN, KDB, "
                "BAN, FANC, SPC, TC, HNB or a general network."
            )
        form, self.steps_ = chosen(self, self.best_, form, rows)
        return form

    @property
    def columns_(self) -> tuple[str, ...]:
        """The columns chosen."""
        return columns_of(self)

    def _choice(self) -> dict[str, Any]:
        return {"steps": [list(step) for step in self.steps_]}

    def _take_choice(self, data: dict[str, Any]) -> None:
        self.steps_ = tuple(Step(*step) for step in data["steps"])
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
    factors = [left_out.factor(replace(without_columns(form, [i]), class_parents=())) for i in columns]
    kept, moves = select(left_out, factors, options.direction, options.min_gain, options.non_worse, options.patience)
    names = model.counts_.schema.names
    steps = tuple(Step(did, "" if place < 0 else names[columns[place]], value) for did, place, value in moves)
    return without_columns(form, [columns[place] for place in kept]), steps


def columns_of(model: SelectiveNaiveBayes | Selective) -> tuple[str, ...]:
    """The columns that have a factor of their own."""
    form, names = model.structure_, model.counts_.schema.names
    assert isinstance(form, ProductOfSums)
    return tuple(names[i] for i in sorted(set(form.child)))
