"""Which structure answers, and when it is learned again."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tanager import _kernels, saved
from tanager.errors import ModelFileError, SchemaMismatch
from tanager.learning.held_out import HeldOut, chooses_by_rows, held_out_answers
from tanager.learning.structure_change import Standing, rows_of, rule_of
from tanager.scoring.calibration import Calibration, log_factors
from tanager.scoring.decision import posterior
from tanager.scoring.discriminative import Discriminative
from tanager.scoring.forest import ForestScorer
from tanager.scoring.forms import Form
from tanager.scoring.scorer import Scorer
from tanager.scoring.tree_average import TreeAverage
from tanager.scoring.view import View

if TYPE_CHECKING:
    from tanager.learning.counts_classifier import CountsClassifier

_ROWS = saved.number(0.0)  # weights of rows
_STRENGTHS = saved.items(saved.items(saved.number(0.0)))
_VIEW = {
    "factor": saved.items(saved.number(0.0)),
    "rows": _ROWS,
    "weight": _ROWS,
    "current": saved.flag(),
}


# Rows may grow by these before a stream learns something again. What looks at all rows each time looks at every row
# ratio / (ratio - 1) times in all, however long the stream is: 101 times would be dear, 11 times are not.
FROM_COUNTS = 1.01  # a structure that the counts alone tell
FROM_ROWS = 1.1  # one that takes a look at the rows
CALIBRATION_RATIO = 1.25  # a calibration: a few numbers from many rows
FEWEST_NEW = 20  # rows that come before, however few there are: the first hundreds would be learned from at every row


class RowPlan(NamedTuple):
    """A plan of the kernels that answers single rows alone: with these options, until so many rows are learned."""

    plan: _kernels.ScoringPlan
    options: tuple[Any, ...]
    until: float


@dataclass
class Current:
    """What answers now: the view of a form, the scorer around it, and how much was learned when it was chosen."""

    view: View
    scorer: Scorer
    n_learned: float
    weight: float  # of the rows that counted then
    shape: tuple[int, int]  # columns and classes then
    due: tuple[Any, float] | None = None  # when it is to be chosen again, and what that was worked out for
    row_plan: RowPlan | None = None  # by which single rows are answered, once one was

    def __getstate__(self) -> dict[str, Any]:
        """Without the plan of the kernels."""
        return self.__dict__ | {"row_plan": None}


class Answering:
    """The structure that a model answers with.

    It is chosen again when it depends on the counts and these have changed: before every answer to a batch, and in a
    stream (``fresh=False``) only now and then, because choosing costs more than answering a row. So is the calibration,
    where one is asked for; a stream waits longer for that, since a few numbers from many rows hardly change.

    A structure that is chosen once (``refresh=inf``) is held: whatever values, classes and rows come,
    its families go on learning, and rows that were kept for the choice are let go of. Under a rule
    (``refresh=Hoeffding()``) one stands, from the end of the warm-up on, until another leads by enough.

    Where choosing is dear, a stream may choose by less work than a batch (``_structure_in_stream``).
    """

    def __init__(self) -> None:
        self.current: Current | None = None
        self._chosen = False  # since learning began
        self._held: Form | None = None
        self.standing: Standing | None = None
        self._calibration: Calibration | None = None
        self._calibrated_at = (-1, 0.0, 0.0)  # version of the counts, rows learned, and their weight

    @property
    def has_chosen(self) -> bool:
        """Whether a structure was chosen since learning began, and answers were given: strengths are learned then."""
        return self._chosen and (self.current is None or self.current.view.has_strengths)

    def forget(self) -> None:
        """What was learned is another now; a structure that is held stays."""
        self.current = None
        self._calibrated_at = (-1, *self._calibrated_at[1:])

    def start_again(self) -> None:
        """Nothing is learned any more, and a structure is yet to be chosen."""
        self.forget()
        self._held, self._calibration, self._chosen = None, None, False
        self.standing = None

    def add_columns(self, model: CountsClassifier, n_new: int) -> None:
        """There are further columns at the end."""
        self.forget()
        n = model.memory.counts.n_features
        if self._held is not None:
            self._held = model._held_with(self._held, range(n - n_new, n))
        if self.standing is not None:
            self.standing.form = model._held_with(self.standing.form, range(n - n_new, n))

    def current_of(self, model: CountsClassifier, *, fresh: bool) -> Current:
        """The structure to answer with, learned again where it is due."""
        memory, current = model.memory, self.current
        if current is not None and self.is_current(model, fresh=fresh):
            return current
        if current is not None and (not fresh or model.refresh is not None) and self._outlives(model, current):
            return self._bind_again(model, current)
        usable = self._usable(model)
        if current is not None and not fresh and (found := self._chosen_in_stream(model)) is not None:
            return found
        form = self._form(model)
        if current is not None and usable and _same_answers(model, current, form):
            current.view.form_version = memory.counts.version
            current.view.weigh_classes(model.class_factors())  # which may have been chosen with the form
            current.view.renew()
            current.n_learned, current.weight = memory.n_learned, memory.counts.n_rows
            return current
        return self._take(model, form)

    def is_current(self, model: CountsClassifier, *, fresh: bool) -> bool:
        """Whether the structure to answer with is there, so that asking for it costs nothing."""
        if self.current is None or not self._usable(model):
            return False
        memory, current = model.memory, self.current
        if current.view.form_version == memory.counts.version or not follows_counts(model, current):
            return True
        return (not fresh or model.refresh is not None) and memory.n_learned <= due(model, current)

    def _outlives(self, model: CountsClassifier, current: Current) -> bool:
        """Whether new values alone have made the view unusable, and its structure is dear and not due yet."""
        if not model.outlives_new_values or model._chooses_once or current.view.valid:
            return False
        counts = model.memory.counts
        same = current.view.counts is counts and current.shape == (counts.n_features, counts.n_classes)
        return same and model.memory.n_learned <= due(model, current)

    def _bind_again(self, model: CountsClassifier, current: Current) -> Current:
        """The same structure for counts of another layout."""
        memory, form = model.memory, current.view.form
        memory.count_families(form.families(), model.counts_shape(memory.counts.schema), model.n_threads)
        found = self._take(model, form)
        found.view.form_version = -1  # a batch chooses again
        found.n_learned, found.weight = current.n_learned, current.weight
        return found

    def _chosen_in_stream(self, model: CountsClassifier) -> Current | None:
        """What a stream answers with next, where the classifier has a quicker way for it; None elsewhere."""
        memory = model.memory
        if model.refresh is not None or memory.clock is not None:
            return None
        form = model._structure_in_stream(memory.counts, memory.rows)
        if form is None:
            return None
        memory.count_families(form.families(), model.counts_shape(memory.counts.schema), model.n_threads)
        found = self._take(model, form)
        found.view.form_version = -1  # a batch chooses again
        return found

    def _usable(self, model: CountsClassifier) -> bool:
        """Whether the present view reads the present counts."""
        view = None if self.current is None else self.current.view
        return view is not None and view.valid and view.counts is model.memory.counts

    def _form(self, model: CountsClassifier) -> Form:
        """The structure for what was learned by now, with all that it reads counted."""
        memory = model.memory
        form = self._chosen_form(model) if self._held is None else self._held
        memory.count_families(form.families(), model.counts_shape(memory.counts.schema), model.n_threads)
        if model._chooses_once:
            self._held = form
            memory.let_rows_go(form.families())
        return form

    def _chosen_form(self, model: CountsClassifier) -> Form:
        """The best structure for the present counts; or the one that stands, where that does not lead by enough."""
        memory, standing = model.memory, self.standing
        rule = None if model.answers_to_learn else rule_of(model.refresh)  # a contest has its own looks
        if standing is not None and memory.n_learned <= _due_structure(model, standing.n_learned, standing.weight):
            return standing.form  # the layout of the counts has changed, and nothing else
        best = model._structure(memory.counts, memory.rows)
        if rule is None or not model._adaptive():
            return best
        if standing is not None:
            return standing.look(model, best, rule)
        if model.columns_fixed and memory.n_learned >= model.warm_up:
            self.standing = Standing(best, memory.n_learned, memory.counts.n_rows)
        return best

    def _take(self, model: CountsClassifier, form: Form, arrays: Mapping[str, np.ndarray] | None = None) -> Current:
        """Answer with this structure from now on; the arrays of a model file may hold its parameters."""
        maker, memory = model._scored_by(), model.memory
        view = maker.view_of(form)
        scorer = (maker._scorer_from(view, arrays) if arrays else None) or maker._scorer(view)
        counts, shape = memory.counts, (memory.counts.n_features, memory.counts.n_classes)
        current = self.current = Current(view, scorer, memory.n_learned, counts.n_rows, shape)
        self._chosen = True
        return current

    # --- calibration --------------------------------------------------------------------------------------------

    def calibration_of(self, model: CountsClassifier, *, fresh: bool) -> Calibration | None:
        """How sure answers may be, learned again where it is due; None where that is not asked for."""
        if not model.calibrate:
            return None
        memory, found = model.memory, self._calibration
        version, learned, weight = self._calibrated_at
        if found is not None and len(found.offsets) == memory.counts.n_classes:
            lags = memory.n_learned <= _due(model, learned, weight, CALIBRATION_RATIO, 0.25)
            if version == memory.counts.version or (lags and (not fresh or model.refresh is not None)):
                return found
        self._calibration = _calibrate(model, self.current_of(model, fresh=fresh))
        self._calibrated_at = (memory.counts.version, memory.n_learned, memory.counts.n_rows)
        return self._calibration

    # --- files --------------------------------------------------------------------------------------------------

    def to_state(self, model: CountsClassifier) -> tuple[dict[str, Any] | None, dict[str, np.ndarray]]:
        """None where no structure was chosen yet; the structure itself where it lags behind or took long to learn.

        With it come arrays, where parameters were searched for. A calibration may be there without a structure.
        """
        if self._held is not None:
            self.current_of(model, fresh=False)  # bound to the counts, which may have another layout by now
        current, counts = self.current, model.counts_
        beside: dict[str, Any] = {}
        kept: dict[str, Any]
        known = self._calibration
        if known is not None and model.calibrate and len(known.offsets) == counts.n_classes:
            version, learned, weight = self._calibrated_at
            at = [version == counts.version, learned, weight]
            beside = {"calibration": known.to_plain(), "calibrated": at}
        standing = self.standing
        if current is None or not current.view.valid or current.view.counts is not counts:
            if standing is None:
                return (beside | {"chosen": False} if beside else None), {}
            kept = {"form": standing.form, "factor": model.class_factors(), "rows": standing.n_learned}
            kept |= {"weight": standing.weight, "current": False, "standing": standing.to_plain()}
            return kept | beside, {}
        up_to_date = not follows_counts(model, current) or current.view.form_version == counts.version
        arrays: dict[str, np.ndarray] = {}
        if isinstance(current.scorer, Discriminative):
            arrays = current.scorer.to_arrays()
        elif isinstance(current.scorer, ForestScorer):
            arrays = current.scorer.to_arrays(with_tables=not up_to_date or model.memory.rows is None)
        elif isinstance(current.scorer, TreeAverage) and not up_to_date:
            arrays = current.scorer.to_arrays()
        strengths = current.view.given_strengths()
        if strengths is not None:  # learned from the counts as they were: rows may come before the next answer
            beside["strengths"] = strengths
        if up_to_date and not model.saves_structure and self._held is None and standing is None:
            return beside, arrays
        kept = {"form": current.view.form, "factor": current.view.factors, "rows": current.n_learned}
        if self._held is not None:
            kept["held"] = True
        if standing is not None:
            kept["standing"] = standing.to_plain()
        if model.calibrate and self._calibrated_at[0] != counts.version and model._held_out_answers() is not None:
            up_to_date = False  # these are not in the file: choosing again finds them for the calibration to come
        return kept | {"current": up_to_date, "weight": current.weight} | beside | model._choice(), arrays

    def take_state(
        self, model: CountsClassifier, data: dict[str, Any], arrays: Mapping[str, np.ndarray]
    ) -> Current | None:
        """Take back what ``to_state`` gave; the structure, where there is one."""
        if "calibration" in data and model.calibrate:
            self._calibration = Calibration.from_plain(data["calibration"], model.counts_.n_classes)
            expected = saved.row(saved.flag(), _ROWS, _ROWS)
            current, learned, weight = saved.field("figures of its calibration", data, "calibrated", expected)
            self._calibrated_at = (model.counts_.version if current else -1, learned, weight)
        if data.get("chosen") is False:
            return None
        if "form" not in data:
            current = self._take(model, self._form(model), arrays)
            _take_strengths(current, data)
            return current
        if data.get("held"):
            self._take_held(model, data["form"])
        if "standing" in data and rule_of(model.refresh) is not None:
            self.standing = Standing.from_plain(data["form"], data["standing"])
            model.events_ = sorted([*model.events_, *self.standing.changes], key=lambda event: event.row)
        model._take_choice(data)
        current = self._take(model, data["form"], arrays)
        absent = {"current": False, "weight": data["rows"]}  # in older files
        own = saved.read("figures of its structure", absent | data, _VIEW)
        current.view.weigh_classes(list(own["factor"]))
        _take_strengths(current, data)
        current.view.form_version = model.counts_.version if own["current"] else -1
        current.n_learned, current.weight = own["rows"], own["weight"]
        return current

    def _take_held(self, model: CountsClassifier, form: Form) -> None:
        """Hold a structure of a model file, whose families must be there: there are no rows to count them in."""
        if not model.counts_.holds(families=form.families()):
            raise ModelFileError("its counts do not hold the families of its structure")
        self._held = form
        model.memory.let_rows_go(form.families())


def _take_strengths(current: Current, data: Mapping[str, Any]) -> None:
    if data.get("strengths") is not None:
        strengths = saved.field("figures of its structure", data, "strengths", _STRENGTHS)
        current.view.take_strengths([list(own) for own in strengths])


def _same_answers(model: CountsClassifier, current: Current, form: Form) -> bool:
    """Whether a scorer made earlier is the one for this form, too.

    Parameters of a search follow the rows, and a classifier that was chosen anew may smooth the same form otherwise.
    """
    if isinstance(current.scorer, Discriminative) or model._scored_by() is not model or not model.form_is_all:
        return False
    if current.view.learned and current.scorer is not current.view:
        return False  # it may hold views of its own, with strengths of theirs
    return current.view.counts is model.counts_ and form == current.view.form


def follows_counts(model: CountsClassifier, current: Current) -> bool:
    """Whether what answers depends on counts beyond the cells that a row reads: a structure, or strengths."""
    return model._adaptive() or current.view.learned


def due(model: CountsClassifier, current: Current) -> float:
    """How many rows may have been learned while this structure still answers in a stream."""
    if model.contest is not None:
        return _due_structure(model, current.n_learned, current.weight)
    asked = current.n_learned, current.weight, model.refresh, model.warm_up  # a stream asks before every row
    if current.due is None or current.due[0] != asked:
        current.due = asked, _due_structure(model, current.n_learned, current.weight)
    return current.due[1]


def _due_structure(model: CountsClassifier, learned: float, weight: float) -> float:
    if model.contest is not None and not model.contest.begun:
        return 2.0 * learned - 1  # every column is tried on all first rows, which is dear: when they have doubled
    found = _due(model, learned, weight, ratio_of(model), 0.1)
    if learned < model.warm_up and rule_of(model.refresh) is not None:
        return min(found, model.warm_up - 1.0)  # the first structure that stands is that of the end of the warm-up
    return found


def ratio_of(model: CountsClassifier) -> float:
    """By how much the rows of a stream may grow before the structure is learned again."""
    if model.refresh_ratio is not None:
        return model.refresh_ratio
    return FROM_ROWS if model._needs_rows() else FROM_COUNTS


def _due(model: CountsClassifier, learned: float, weight: float, ratio: float, share: float) -> float:
    """When what was chosen after so many rows is due: by ``refresh``, or by the ratio by which rows have grown.

    Where old rows are forgotten, a share of the weight that counted then is to come. Without ``refresh`` some rows
    must be new in any case.
    """
    rows = rows_of(model.refresh)
    if rows is not None:
        return float(learned + rows - 1)
    if model.memory.clock is not None:
        return float(learned + max(FEWEST_NEW, share * weight) - 1)
    return float(max(learned * ratio, learned + FEWEST_NEW - 1))


def _calibrate(model: CountsClassifier, current: Current) -> Calibration:
    """By the answers to kept rows that are left out, without the factors of the classes."""
    rows = model.memory.rows
    if rows is None:
        raise SchemaMismatch(
            f"{model.memory.owner}(calibrate=True) looks at rows that are left out, and counts alone "
            "do not hold them. Fit on the rows, or leave out calibrate=."
        )
    how = "folds" if chooses_by_rows(model) else "leave-one-out"
    if len(rows) == 0:
        return Calibration.fit(np.zeros((0, model.memory.counts.n_classes)), np.zeros(0, dtype=np.intp), None, how)
    own = model._held_out_answers()
    if own is not None:
        return Calibration.fit(*own, how)
    held = HeldOut.deal(model.memory)
    with np.errstate(divide="ignore"):
        plain = posterior(np.log(held_out_answers(model, held)) - log_factors(current.view))
    return Calibration.fit(plain, rows.part("labels")[held.rows].astype(np.intp), held.weights, how)


def row_plan(model: CountsClassifier) -> _kernels.ScoringPlan | None:
    """The plan that answered the last single row, where nothing has changed since but what rows have counted."""
    memory = model._memory
    if memory is None or model._contest is not None:
        return None
    current = model._answering.current
    if current is None or current.row_plan is None:
        return None
    (plan, options, until), view, counts = current.row_plan, current.view, memory.counts
    if view.counts is not counts or counts.store is not view.layout:
        return None
    if options != _options(model):
        return None
    if until != math.inf and counts.version != view.form_version:
        learned = memory.n_learned if memory.clock is not None else counts.store.n_rows() / counts.scale
        if learned > until:
            return None
    return plan if view.unit == counts.scale else view.plan


def keep_row_plan(model: CountsClassifier, current: Current, view: View) -> None:
    """Let the plan of the view that has answered a row answer the next ones."""
    current.row_plan = None
    if view is current.view and not view.learned:
        until = due(model, current) if follows_counts(model, current) else math.inf
        current.row_plan = RowPlan(view.plan, _options(model), until)


def _options(model: CountsClassifier) -> tuple[Any, ...]:
    """Options by which a plan answers or not, and which may be set at any time.

    And whose they are: one that chooses another classifier shares what answers with it, and weighs classes as it does.
    """
    weighing = model.class_weight, model._scored_by().class_weight
    return type(model), *weighing, model.unseen, model.calibrate, model.refresh, model.warm_up


def kernel_view(model: CountsClassifier, current: Current) -> View | None:
    """The view that answers alone in the kernels, so that whole streams can run compiled; or None."""
    if model._scored_by()._balanced or model.unseen == "error" or model.calibrate:
        return None
    return current.scorer.compiled
