"""CountsClassifier: what all classifiers share that are views of joint counts.

A subclass says how wide it counts (``order``) and which form reads the counts (``_form``); learning, prediction,
streams, leave-one-out, costs, missing and unseen values, rows and files are the same for all.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tanager.counts.estimates import Estimate, Lidstone, as_estimate
from tanager.counts.joint import JointCounts
from tanager.encoding import Encoder, Schema, encode_more_labels
from tanager.encoding.chunks import rows_of_dicts
from tanager.encoding.validation import check_lengths, check_times, check_weights, one_dimensional
from tanager.errors import DataError, MemoryBudgetError, OptionError, SchemaMismatch, check_option, nearest
from tanager.learning.classifier import Classifier
from tanager.learning.memory import ForgettingMixin
from tanager.learning.recut import RecutMixin, as_recut
from tanager.learning.rows import Rows
from tanager.learning.stream import StreamMixin
from tanager.scoring.decision import class_factors, class_priors
from tanager.scoring.explain import ExplainMixin
from tanager.scoring.forms import Form, View


@dataclass(eq=False, repr=False, kw_only=True)
class CountsClassifier(RecutMixin, StreamMixin, ForgettingMixin, ExplainMixin, Classifier):
    """A classifier that is a view of joint counts.

    Parameters
    ----------
    smoothing : float, Estimate or None, default=1.0
        Pseudo-count added to every cell (1 is Laplace's rule, 0 trusts the data alone), or an estimate such as
        ``MEstimate``, ``PriorCounts``, ``BackOff`` or ``BDeu``. None is the one that the classifier was published with.
    unseen : {"ignore", "smooth", "error"}, default="ignore"
        What a value means at prediction that learning has never seen: nothing (as if missing), a count of zero, or an
        error.
    cost_matrix : array of shape (n_classes, n_classes), default=None
        ``cost_matrix[true, predicted]``; ``predict`` then answers with the smallest expected loss.
    class_weight : dict, array or "balanced", default=None
        Factors of the classes, applied to the posterior odds.
    priors : dict or array, default=None
        Class probabilities to use instead of the ones in the data.
    bins, n_bins, mdl_encoding, categorical, numeric, max_values, schema
        How columns become codes; see ``Encoder``. By default numeric columns are cut by class entropy (MDL).
    decay : float, str or Decay, default=None
        Old rows fade: a factor per row (0.999), a half-life in rows (1000) or in time ("6 h"), or a ``Decay``.
    window : int, str or Window, default=None
        Only the last rows count: so many (5000), or those of a span of time ("30 min"), or a ``Window``.
    refresh : int, default=None
        Rows after which a structure that depends on the counts is learned again in a stream. None: after 1 % more
        rows, or a tenth of the rows that still count where old ones are forgotten.
    recut : {"grid", "sketch"} or Recut, default=None
        Cut points of number columns follow a stream, instead of staying as its first rows say; see ``Recut``.
    warm_up : int, default=1000
        ``partial_fit`` and ``learn_one`` fix kinds and cut points of number columns after that many rows. Until then
        they are learned again each time the rows have doubled.
    max_memory : int, str or None, default="2 GB"
        Counts beyond this are refused before they are made.
    n_jobs : int, default=None
        Threads for counting and for batches of predictions; -1 uses all cores.
    """

    smoothing: float | Estimate | None = 1.0
    unseen: str = "ignore"
    cost_matrix: Any = None
    class_weight: Any = None
    priors: Any = None
    bins: Any = "mdl"
    n_bins: int = 5
    mdl_encoding: str = "n-1"
    categorical: Any = None
    numeric: Any = None
    max_values: int = 1000
    schema: Schema | None = None
    decay: Any = None
    window: Any = None
    refresh: float | None = None
    recut: Any = None
    warm_up: int = 1000
    max_memory: int | str | None = "2 GB"
    n_jobs: int | None = None

    order: ClassVar[int] = 2  # columns counted together with the class
    published: ClassVar[Estimate] = Lidstone(1.0)  # what smoothing=None stands for
    stale: ClassVar[float] = 1.01  # rows may grow by this factor before single-row answers learn the structure anew
    keeps_form: ClassVar[bool] = False  # whether model files hold the structure, as learning it again takes long

    # --- what a subclass says -----------------------------------------------------------------------------------

    def _adaptive(self) -> bool:
        """Whether the form depends on what was counted."""
        return self._needs_rows()

    def _needs_rows(self) -> bool:
        """Whether the form is chosen by looking at the rows again; they are then kept, as codes."""
        return False

    def _looks_at_rows(self) -> bool:
        """Whether learned rows are looked at again, be it once; who attaches counts must bring rows, too."""
        return self._needs_rows()

    def _attach_rows(self, rows: Rows | None) -> None:
        """The rows behind counts that were attached."""
        self._rows = rows if self._needs_rows() else None

    def _form(self, counts: JointCounts, rows: Rows | None) -> Form:
        """Which families, and how they are combined."""
        raise NotImplementedError

    def _shape(self, schema: Schema) -> dict[str, Any]:
        """What to count: options of JointCounts."""
        return {"order": self.order}

    def _check_options(self) -> None:
        """Refuse options that mean nothing, before anything is learned."""
        check_option("unseen", self.unseen, ("ignore", "smooth", "error"))
        self._estimate()
        self._check_forgetting()
        as_recut(self.recut)
        super()._check_options()

    def _estimate(self) -> Estimate:
        return self.published if self.smoothing is None else as_estimate(self.smoothing)

    # --- learning -----------------------------------------------------------------------------------------------

    def _check_learned(self) -> None:
        """After all rows: options that speak of classes fit them, and the form follows all rows."""
        super()._check_learned()
        self._structure(fresh=True)

    def _start(self) -> None:
        super()._start()
        self.__dict__.pop("counts_", None)
        self._start_memory()
        self._start_recut()
        self._view: View | None = None
        self._view_rows = self._view_weight = 0.0

    def _encoder_options(self) -> dict[str, Any]:
        return super()._encoder_options() | {name: getattr(self, name) for name in ("bins", "n_bins", "mdl_encoding")}

    def _start_model(self) -> None:
        schema = self.encoder_.schema
        self._start_memory()
        self.counts_ = JointCounts(
            schema,
            self.classes_,
            max_memory=self.max_memory,
            spare=int(self.unseen == "smooth"),
            **self._shape(schema),
        )
        self._view = None

    def _move_classes(self, places: np.ndarray, classes: np.ndarray) -> None:
        self.counts_.grow(self.counts_.schema, classes)
        if self._rows is not None:
            self._rows.move_classes(places)

    def _count(
        self,
        X: Any,
        labels: np.ndarray,
        weights: np.ndarray | None,
        classes: np.ndarray | None = None,
        times: np.ndarray | None = None,
    ) -> None:
        """Encode rows, grow where values, classes (or, in dicts, names) are new, and add them to the counts.

        Cells that cannot be used are refused first, so that a refused chunk leaves no new class behind.
        """
        if rows_of_dicts(X):
            self._add_columns(X)
        codes = self.encoder_.own_codes(X, type(self).__name__)
        if codes is None:
            codes = self.encoder_.update(X, weights, type(self).__name__)
        if classes is not None:
            self._add_classes(classes)
        self._sync()
        self._add(self._numbers_of(X), codes, labels, weights, times)
        self.encoder_.adopt(self.counts_.schema)
        self.counts_.refuse_full_codes(codes.dtype)

    def _sync(self) -> None:
        """Bring counts and encoder to the same vocabulary."""
        if self.encoder_.schema is not self.counts_.schema:
            if self.encoder_.schema == self.counts_.schema:
                self.counts_.schema = self.encoder_.schema
                return
            try:
                self.counts_.grow(self.encoder_.schema, self.classes_)
            except MemoryBudgetError:
                self.encoder_ = self._encoder_for(self.counts_.schema)  # nothing was learned
                raise

    def unlearn(self, X: Any, y: Any, sample_weight: Any = None, times: Any = None) -> CountsClassifier:
        """Take learned rows away, as if they had never been seen. Kinds and cut points stay as they are from now on.

        With a ``window``, rows leave it with whatever they weigh now; rows that have left already are refused. With a
        ``decay`` alone, ``times`` says when they were learned: their times, or their numbers from 1 where rows fade
        with further rows.
        """
        codes, labels, weights = self._known_rows(X, y, sample_weight, unseen="error")
        weights = self._left_of(weights, check_times(times, len(codes)))
        numbers, rows = self._numbers_of(X), self._rows
        if rows is None:
            self.counts_.subtract(codes, labels, weights, n_jobs=self._threads())
        else:
            some = np.ones(len(codes)) if weights is None and self.window is None else weights
            left = rows.without(codes, labels, some)
            (codes, labels, raw), numbers = rows.queue, numbers if rows.numbers is None else rows.numbers
            which = left < raw
            codes, labels, weights = codes[which], labels[which], (raw - left)[which] / rows.scale
            numbers = None if numbers is None else numbers[which]
            self.counts_.subtract(codes, labels, weights, n_jobs=self._threads())
            rows.weigh(left)
        self._forgotten(numbers, labels, weights)
        self._warm = None  # its rows would be counted again
        self._end_recut()  # and so would those that new cut points are learned from
        return self

    def merge(self, other: CountsClassifier) -> CountsClassifier:
        """Add all that another model of this class has learned, as if its rows had been learned here.

        Vocabularies and classes are matched; cut points must agree, so give both models one ``schema``. The options
        stay ours.
        """
        from tanager.learning.merge import merge_models

        self._check_merge(other)
        before = self.classes_
        merge_models(self, other)
        self._watch_classes(before)
        return self

    def _merge_extra(self, other: CountsClassifier, counts: JointCounts) -> None:
        """Called before merged counts are taken over, for what was learned beside them."""

    @classmethod
    def from_counts(cls, counts: JointCounts, **params: Any) -> CountsClassifier:
        """A classifier over counts that are there already. They are read, not copied."""
        if not isinstance(counts, JointCounts):
            raise DataError(f"from_counts takes JointCounts, got {type(counts).__name__}. Use fit for a table.")
        known = cls._get_param_names()
        for name in params:
            if name not in known:
                raise OptionError(f"{cls.__name__} has no option {name!r}.{nearest(name, known)}")
        model = cls(**params)
        model._start()
        if model.window is not None:
            raise OptionError("counts do not hold the rows that would leave a window. Fit on the rows instead.")
        model._rows = None  # counts do not hold them
        model.classes_ = counts.classes
        model.encoder_ = model._encoder_for(counts.schema)
        counts.require(type(model).__name__, **model._shape(counts.schema))
        if model.unseen == "smooth" and not counts.spare:
            raise SchemaMismatch('unseen="smooth" needs counts with a spare slot. Count with spare=1.')
        model.counts_ = counts
        model.n_features_in_ = counts.n_features
        if counts.schema.names != tuple(f"x{i}" for i in range(counts.n_features)):
            model.feature_names_in_ = np.array(counts.schema.names, dtype=object)
        model._structure(fresh=True)
        return model

    def _encoder_for(self, schema: Schema) -> Encoder:
        return Encoder.from_schema(schema, max_values=self.max_values)

    # --- the view on the counts ---------------------------------------------------------------------------------

    def _structure(self, *, fresh: bool) -> View:
        """The view that answers. With ``fresh`` its form follows all rows; else it may lag behind by a percent."""
        view = self._current_view(fresh=fresh)
        if self._balanced():
            view.weigh_classes(self._class_factors())
        return view

    def _current_view(self, *, fresh: bool) -> View:
        view = self._view
        if view is not None and view.valid and view.counts is self.counts_:
            if not self._adaptive() or view.form_version == self.counts_.version:
                return view
            if self._age() <= self._due() and (not fresh or self.refresh is not None):
                return view
        form = self._form(self.counts_, self._rows)
        self._count_families(form)
        if view is not None and view.valid and view.counts is self.counts_ and self._still_answers(view, form):
            view.form_version = self.counts_.version
        else:
            view = self._view_of(form)
        self._view, self._view_rows, self._view_weight = view, self._age(), self.counts_.n_rows
        return view

    def _still_answers(self, view: View, form: Form) -> bool:
        """Whether a view made earlier is the one for this form."""
        return form == view.form

    def _answers_by_kernel(self) -> bool:
        """Whether the view alone gives the answer, so that whole streams can run compiled."""
        return not self._balanced() and self.unseen != "error"

    def _balanced(self) -> bool:
        """Whether the factors of the classes follow the counts."""
        return isinstance(self.class_weight, str)

    def _class_factors(self) -> list[float]:
        return class_factors(self.class_weight, self.classes_, self.counts_.class_counts)

    def _count_families(self, form: Form) -> None:
        """Count what a form needs and the counts do not hold, in one more pass over the kept rows."""
        families = form.families()
        if self.counts_.holds(families=families):
            return
        if self._rows is None:
            return self.counts_.require(type(self).__name__, families=families)
        old = self.counts_
        if not np.isclose(self._rows.weight, old.n_rows):
            raise SchemaMismatch(
                f"{type(self).__name__} must count further families, but its counts hold a weight of {old.n_rows:g} "
                f"and the rows it kept {self._rows.weight:g}: they were faded or merged. Fit on the rows again."
            )
        options: dict[str, Any] = {**self._shape(old.schema), "spare": old.spare, "max_memory": self.max_memory}
        self.counts_ = JointCounts(old.schema, old.classes, **options | {"families": families})
        self.counts_.update(*self._rows.all(), n_jobs=self._threads())
        return None

    def _view_of(self, form: Form, **options: Any) -> View:
        """A form over our counts, with our smoothing, priors and class weights."""
        return View(
            self.counts_,
            form,
            self._estimate(),
            smooth_unseen=self.unseen == "smooth",
            priors=class_priors(self.priors, self.classes_),
            factor=self._class_factors(),
            **options,
        )

    def _encode(self, X: Any, unseen: str | None = None) -> np.ndarray:
        unseen = unseen or self.unseen
        if rows_of_dicts(X) and (rows := self.encoder_.encode_rows(X, unseen)) is not None:
            return rows
        table = self._validate(X, reset=False)
        codes = self.encoder_.own_codes(table, type(self).__name__) if unseen == "ignore" else None
        if codes is not None:  # a code beyond the values is unseen, and for the kernels that is missing
            return codes
        return self.encoder_.transform(table, unseen, type(self).__name__)

    def _scores(self, X: Any, *, log_joint: bool) -> np.ndarray:
        self._ready()
        codes = self._encode(X)
        return self._score_codes(codes, self._structure(fresh=True), X, log_joint=log_joint)

    def _class_sizes(self) -> np.ndarray:
        return self.counts_.class_counts

    def _score_codes(self, codes: np.ndarray, view: View, X: Any, *, log_joint: bool) -> np.ndarray:
        """Posteriors or log joints of encoded rows; X is there for columns without codes."""
        return view.score(codes, log_joint=log_joint, n_jobs=self._threads())

    # --- answers ------------------------------------------------------------------------------------------------

    def leave_one_out(self, X: Any, y: Any, sample_weight: Any = None) -> np.ndarray:
        """``predict_proba`` of learned rows, each as if it alone had not been learned.

        Costs one pass of prediction; nothing is learned again. Cut points and structure stay those of all rows.
        """
        if self._forgets():
            raise OptionError(
                "leave_one_out takes rows out with the weight they came with, and this model has forgotten some of it. "
                "Use tanager.evaluate.prequential."
            )
        codes, labels, weights = self._known_rows(X, y, sample_weight)
        return self._leave_one_out(codes, labels, weights, X)

    def _leave_one_out(
        self, codes: np.ndarray, labels: np.ndarray, weights: np.ndarray | None, X: Any = None
    ) -> np.ndarray:
        return self._structure(fresh=True).leave_one_out(codes, labels, weights, n_jobs=self._threads())

    def _leaves_out(self) -> bool:
        """Whether the answer without a learned row can be worked out from counts."""
        return not self._forgets()

    def _known_rows(
        self, X: Any, y: Any, sample_weight: Any, unseen: str | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Codes, labels and weights of rows that were learned before."""
        self._ready()
        codes = self._encode(X, unseen)
        y = one_dimensional(y)
        check_lengths(len(codes), y)
        labels, classes, _ = encode_more_labels(y, self.classes_)
        if len(classes) > len(self.classes_):
            new = [label for label in classes.tolist() if label not in self.classes_.tolist()]
            raise DataError(f"y has the label {new[0]!r}, which was never learned.")
        return codes, labels, check_weights(sample_weight, len(codes))

    # --- pictures and files -------------------------------------------------------------------------------------

    def plot(self, path: str | os.PathLike[str] | None = None, **options: Any) -> Any:
        """Draw the network behind this model; see ``tanager.plot_network``."""
        import tanager  # the door, where all layers are known

        return tanager.plot_network(self, path, **options)

    def _extra_arrays(self) -> dict[str, np.ndarray]:
        """What was learned beside the counts."""
        return self._watch_arrays()

    def _take_extra_arrays(self, arrays: dict[str, np.ndarray]) -> None:
        """Take back what ``_extra_arrays`` gave."""
        self._take_watch_arrays(arrays)

    def _choice(self) -> dict[str, Any]:
        """What ``_form`` has chosen beside the form, as plain data."""
        return {}

    def _take_choice(self, data: dict[str, Any]) -> None:
        """Take back what ``_choice`` gave."""

    # --- small things -------------------------------------------------------------------------------------------
