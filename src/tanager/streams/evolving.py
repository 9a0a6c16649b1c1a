"""EvolvingNaiveBayes: classes are made of pseudo-classes, which appear, grow, merge and fade as rows come by."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn, Self, cast

import numpy as np
from numpy.typing import ArrayLike

from tanager import _kernels, saved
from tanager.counts.align import sort_labels
from tanager.counts.normals import check_ddof
from tanager.encoding import Column, Encoder, Schema, encode_labels
from tanager.encoding.chunks import n_rows, rows_of_dicts
from tanager.encoding.codes import row_array
from tanager.encoding.dates import DatesOption
from tanager.encoding.schema import APPEARED
from tanager.encoding.tables import Table, read_table
from tanager.encoding.typing import (
    Columns,
    Label,
    LabelsLike,
    TableLike,
    Time,
    TimesLike,
    UnseenOption,
    WeightsLike,
)
from tanager.encoding.validation import is_weight, one_dimensional
from tanager.encoding.values import Numbers, is_missing
from tanager.errors import DataError, ModelFileError, OptionError, check_option, is_number, nearest
from tanager.learning.answer_then_learn import Answers
from tanager.learning.batch import Batch, StreamPart
from tanager.learning.classifier import Classifier
from tanager.learning.first_rows import keep_provisional_row, provisional_row
from tanager.learning.reading import check_row
from tanager.learning.stream import where_labelled
from tanager.listed import names_in
from tanager.scoring.decision import check_costs
from tanager.shortcuts import public
from tanager.streams.densities import DENSITIES, check_density, check_support, density_of, is_plain
from tanager.streams.rules import Event, PseudoClass, Rules, events_of, pseudo_classes_of, rules_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PART = "evolving-"  # arrays of a model file
ROWS_AT_ONCE = 1024  # that the kernel learns in one call
_LEAST_START = 1e-12  # what always stays of a uniform start, as in the kernel


@dataclass(eq=False, repr=False, kw_only=True)
class EvolvingNaiveBayes(Classifier):
    """Naive Bayes that splits classes into pseudo-classes where one normal distribution per column will not do.

    It starts as naive Bayes. Rows that are answered wrongly also teach a hidden pseudo-class of their class; where a
    class goes on failing, its hidden one takes part in the answers and a new hidden one begins. Pseudo-classes that
    are hardly used are removed, those that are alike are merged. Numbers are Gaussian, all else is counted; gaps are
    left out. Choose it for streams whose classes come in several clusters, move, or must be read as fuzzy rules.

    What is learned depends on the order of the rows. Where pseudo-classes are known, ``fit`` takes them as they are
    (``pseudo_classes=``).

    Parameters
    ----------
    alpha : float, default=0.0
        Forgetting: the share of a new row in every mean. 0 weighs all rows alike.
    step : {"shrinking", "constant"}, default="shrinking"
        What alpha means for the first rows. "shrinking": the n-th row has a share of 1 / n in a mean until that is
        alpha, so that the start is soon outweighed. "constant": every row has the share alpha from the first on, which
        is equation (8) of the source to the letter; ``prior_weight`` is then 1 / alpha.
    window : int, default=None
        Forgetting: only so many rows are remembered, exactly. They are kept. A class none of whose rows is left has the
        prior of the one row that every class starts with.
    density : {"normal", "poisson", "exponential"} or dict of column name to these, default="normal"
        What numbers of a pseudo-class are like, in all number columns or by name. "poisson" is for counts (whole
        numbers of at least 0), "exponential" for waiting times and sizes (numbers of at least 0); other numbers are
        refused there. Columns that are named are numbers, also where they have few whole values; with one name for
        all, so are all columns of whole numbers.
    join : {"product", "min"}, default="product"
        How the columns of a row are put together in a pseudo-class: by the product of their densities, as in naive
        Bayes; or, as in most fuzzy classifiers, by the least of their degrees of membership (density over its peak),
        times the prior. Pseudo-classes of a class are added either way.
    eta : float, default=0.02
        Step of the tracked loss of a class; 1 / eta rows of it are remembered.
    max_error : float, default=0.1
        A class with a larger tracked error gets a further pseudo-class.
    wait : int, default=100
        Rows between two such promotions.
    min_hidden : float, default=20
        Rows that a hidden pseudo-class must have learned before.
    max_pseudo : int, default=8
        Most pseudo-classes of a class.
    prior_weight : float, default=1.0
        Pseudo-observations with which a normal distribution starts.
    ddof : {0, 1}, default=0
        Variances are sums of squares divided by n - ddof, from two rows on.
    scale : {"running", "unit"} or (means, variances), default="running"
        Where it starts: the mean and variance of all rows so far, 0 and 1, or these (in the order of the number
        columns, or dicts by name).
    var_floor : float, default=1e-6
        Least variance, as a share of the variance of all rows.
    cost_matrix : array of shape (n_classes, n_classes), default=None
        ``cost_matrix[true, predicted]``; answers are of least expected loss, and promotion goes by the tracked loss.
    max_loss : float, default=None
        The threshold of the tracked loss in place of ``max_error``, where costs are given.
    unlabelled : float, default=0.0
        Weight of rows without a label (None), which strengthen the pseudo-class that answers them; 0 leaves them out.
        A sensible weight is 0.1.
    confidence : float, default=0.95
        Probability with which such a row must be answered.
    p_min : float, default=0.005
        Pseudo-classes with a smaller prior are removed.
    similarity : {"bhattacharyya", "test"}, default="bhattacharyya"
        When two pseudo-classes are alike: by the distance of their distributions, or where a chi-square test cannot
        tell them apart.
    simplify : bool, default=True
        Whether pseudo-classes are removed and merged at all.
    warm_up : int, default=1000
        Whole numbers with few values may still turn out to be numbers within so many rows.

    Attributes
    ----------
    pseudo_classes_ : list of PseudoClass
        Class, prior, weight, means, spreads and tables of every pseudo-class that answers.
    events_ : list of Event
        What was promoted, merged or removed, after which row, and why; the last ten thousand.

    Notes
    -----
    A row takes O(columns pseudo-classes) to answer and O(columns) to learn.

    Klawonn and Angelov, "Evolving extended naive Bayes classifiers" (2006).

    Examples
    --------
    >>> import numpy as np
    >>> from tanager import EvolvingNaiveBayes
    >>> rng = np.random.default_rng(0)
    >>> side = rng.choice([-3.0, 3.0], 4000)  # class "b" lies on two sides of class "a"
    >>> y = np.where(rng.random(4000) < 0.5, "a", "b")
    >>> X = np.where(y == "a", 0.0, side)[:, None] + rng.normal(size=(4000, 1)) / 2
    >>> model = EvolvingNaiveBayes().fit(X, y)
    >>> print(model.rules())
    IF x0 is about 0.02 (±0.50) THEN a   weight 0.84 (48% of the rows)
    IF x0 is about -0.2 (±1.2) THEN a   weight 0.0163 (2.2% of the rows)
    IF x0 is about 0.0 (±3.0) THEN b   weight 0.143 (50% of the rows)
    """

    unlisted = names_in("explain explain_rows leave_one_out merge unlearn")

    alpha: float = 0.0
    step: str = "shrinking"
    window: int | None = None
    density: str | Mapping[str, str] = "normal"
    join: str = "product"
    eta: float = 0.02
    max_error: float = 0.1
    wait: int = 100
    min_hidden: float = 20
    max_pseudo: int = 8
    prior_weight: float = 1.0
    ddof: int = 0
    scale: str | tuple[Any, Any] = "running"
    var_floor: float = 1e-6
    cost_matrix: ArrayLike | None = None
    max_loss: float | None = None
    unlabelled: float = 0.0
    confidence: float = 0.95
    p_min: float = 0.005
    similarity: str = "bhattacharyya"
    simplify: bool = True
    unseen: UnseenOption = "ignore"
    categorical: Columns | str | None = None
    numeric: Columns | None = None
    keep: Columns | str | None = None
    dates: DatesOption = None
    max_values: int = 1000
    schema: Schema | None = None
    warm_up: int = 1000
    n_jobs: int | None = None

    # --- options --------------------------------------------------------------------------------------------------

    def check_options(self) -> None:
        super().check_options()
        for name in ("alpha", "eta", "unlabelled", "confidence", "p_min"):
            value = getattr(self, name)
            if not is_number(value, 0) or value > 1:
                raise OptionError(f"{name}={value!r}: give a number from 0 to 1.")
        check_option("step", self.step, ("shrinking", "constant"))
        if self.step == "constant" and self.alpha == 0:
            raise OptionError('step="constant" is the share alpha of every row, and alpha is 0. Give it, such as 0.01.')
        check_option("join", self.join, ("product", "min"))
        check_density(self.density)
        if self.alpha == 1:
            raise OptionError("alpha=1 would forget all but the last row. Give a smaller share, such as 0.01.")
        for name in ("max_error", "min_hidden", "prior_weight"):
            if not is_number(getattr(self, name), 0):
                raise OptionError(f"{name}={getattr(self, name)!r}: give a number of at least 0.")
        if not is_number(self.var_floor, 1e-15):
            raise OptionError(f"var_floor={self.var_floor!r}: give a share of the variance above 0, such as 1e-6.")
        if self.max_loss is not None and not is_number(self.max_loss, 0):
            raise OptionError(f"max_loss={self.max_loss!r}: give a loss of at least 0, or None for max_error.")
        for name in ("wait", "max_pseudo", "window"):
            value = getattr(self, name)
            whole = isinstance(value, int | np.integer) and not isinstance(value, bool) and 1 <= value < 2**31
            if not whole and not (name == "window" and value is None):
                raise OptionError(f"{name}={value!r}: give a whole number of at least 1.")
        if self.window is not None and self.alpha > 0:
            raise OptionError(
                f"alpha={self.alpha} and window={self.window} both forget. Choose one, and leave the other."
            )
        check_ddof(self.ddof)
        check_option("similarity", self.similarity, ("bhattacharyya", "test"))
        check_option("unseen", self.unseen, ("ignore", "smooth", "error"))
        if isinstance(self.scale, str):
            check_option("scale", self.scale, ("running", "unit"))
        elif not isinstance(self.scale, Sequence | np.ndarray) or len(self.scale) != 2:
            raise OptionError(f'scale={self.scale!r}: give "running", "unit" or a pair (means, variances).')

    def _kernel_options(self, numbers: Sequence[str]) -> dict[str, Any]:
        """The options as the kernel knows them."""
        names = ["alpha", "eta", "prior_weight", "var_floor", "unlabelled", "confidence", "p_min", "min_hidden"]
        options: dict[str, Any] = {name: float(getattr(self, name)) for name in names}
        options |= {"wait": int(self.wait), "max_pseudo": int(self.max_pseudo), "window": int(self.window or 0)}
        options |= {"test": self.similarity == "test", "simplify": bool(self.simplify)}
        options["ddof"] = int(self.ddof)
        options["max_loss"] = float(self.max_error if self.max_loss is None else self.max_loss)
        options["smooth_unseen"] = self.unseen == "smooth"
        options |= {"minimum": self.join == "min", "constant_step": self.step == "constant"}
        if self.step == "constant":
            options["prior_weight"] = 1 / float(self.alpha)  # a weight that stays what it is: every step is alpha
        means, variances = self._start_of(numbers)
        return options | {"means": means, "variances": variances}

    def _start_of(self, numbers: Sequence[str]) -> tuple[list[float], list[float]]:
        """Means and variances where number columns start; empty: as in all rows so far."""
        plain = [density_of(self.density, name) == "normal" for name in numbers]
        if isinstance(self.scale, str):
            unit = [0.0 if normal else 1.0 for normal in plain]
            return (unit, [1.0] * len(numbers)) if self.scale == "unit" else ([], [])
        means, variances = (
            _per_number(what, self.scale[at], numbers) for at, what in enumerate(("means", "variances"))
        )
        for name, mean, normal in zip(numbers, means, plain, strict=True):
            if mean <= 0 and not normal:
                raise OptionError(f"scale: the mean of column {name!r} is {mean:g}; its density needs one above 0.")
        return means, variances

    def encoder_options(self) -> dict[str, Any]:
        """How columns become codes; numbers stay numbers, and columns with another density than the normal one are."""
        options = super().encoder_options() | {"continuous": True}
        if is_plain(self.density):
            return options
        if not isinstance(self.density, Mapping):
            return options | {"max_whole": 0}
        named = [name for name in self.density if name in self.__dict__.get("_names", ())]
        given = [] if self.numeric is None else list(self.numeric)
        return options | {"numeric": given + [name for name in named if name not in given]}

    def _start_encoder(self, batch: Batch, *, first: bool = False, stream: bool = False, for_now: bool = False) -> None:
        self._names = set(_names(read_table(batch.X)))
        super()._start_encoder(batch, first=first, stream=stream, for_now=for_now)

    def _nothing_to_cut(self, batch: Batch) -> bool:
        self._names = set(_names(read_table(batch.X)))
        return super()._nothing_to_cut(batch)

    def validate_table(self, X: Any, *, reset: bool) -> Table:
        """The table, sound in itself, with numbers that their densities can have."""
        table = super().validate_table(X, reset=reset)
        self._check_support(table)
        return table

    def _check_support(self, X: Any) -> None:
        """Refuse numbers that the density of their column cannot have."""
        if is_plain(self.density):
            return
        table = read_table(X)
        names = _names(table)
        requested = Encoder(**super().encoder_options()).rules(names).requested
        for i, name in enumerate(names):
            cells, density = table.column(i), density_of(self.density, name)
            named = isinstance(self.density, Mapping) and name in self.density
            if named or (isinstance(cells, Numbers) and requested.get(i) != "categorical"):
                check_support(name, cells.floats(name), density)

    # --- the model in the kernel ----------------------------------------------------------------------------------

    def start(self, classes: np.ndarray | None = None, target: str | None = None) -> Self:
        """Forget everything. ``classes`` are known beforehand; ``target`` is what the class is called."""
        self.__dict__.pop("_kernel", None)
        self._announced: list[Any] = []  # classes that take part before a row of theirs was learned
        return super().start(classes, target)

    def _start_model(self) -> None:
        self._kernel_from(self._kernel_options(self._split_columns()[1]))
        self._kernel.add_classes([], len(self.classes_))
        self._kernel.announce([c for c, label in enumerate(self.classes_.tolist()) if label in self._announced])
        self._set_costs(self.classes_)

    def _kernel_from(self, options: dict[str, Any]) -> None:
        values, numbers = self._split_columns()
        known = [column.n_values if column.closed or column.kind == "numeric" else 0 for column in values]
        self._options = options  # the ones it was made with
        codes = [DENSITIES.index(density) for density in self._densities]
        self._kernel = _kernels.Evolving(known, len(numbers), 0, options | {"density": codes})

    def _split_columns(self) -> tuple[list[Column], list[str]]:
        """Columns with codes, and names of those with numbers; notes the places of the former, and densities."""
        columns = self.encoder_.schema.columns
        self._coded = [i for i, column in enumerate(columns) if column.kind != "continuous"]
        numbers = [column.name for column in columns if column.kind == "continuous"]
        self._densities = [density_of(self.density, name) for name in numbers]
        named = zip(numbers, self._densities, strict=True)
        self._other = [(i, name, density) for i, (name, density) in enumerate(named) if density != "normal"]
        return [columns[i] for i in self._coded], numbers

    def _set_costs(self, classes: np.ndarray) -> None:
        """Costs count once all their classes are there; until then every wrong answer costs 1."""
        complete = self.cost_matrix is not None and len(cast("Sequence[Any]", self.cost_matrix)) == len(classes)
        costs = check_costs(self.cost_matrix, classes) if complete else None
        self._kernel.set_costs([] if costs is None else costs.ravel().tolist())

    def _move_classes(self, places: np.ndarray, classes: np.ndarray) -> None:
        self._kernel.add_classes(places.tolist(), len(classes))
        self._set_costs(classes)

    def check_learned(self) -> None:
        """After all rows: refuse options that do not fit the classes or the columns."""
        super().check_learned()
        names = self.encoder_.schema.names
        unknown = [name for name in self.density if name not in names] if isinstance(self.density, Mapping) else []
        if unknown:
            raise OptionError(f"density: there is no column {unknown[0]!r}.{nearest(unknown[0], names)}")

    @property
    def class_count_(self) -> np.ndarray:
        """How much the rows of each class weigh; the heavier class wins a tie."""
        return self._kernel.state()["class_weight"]

    @property
    def learns_unlabelled(self) -> bool:
        """Whether rows without a label teach something."""
        return self.unlabelled > 0

    # --- rows ---------------------------------------------------------------------------------------------------

    def fit(
        self,
        X: TableLike,
        y: LabelsLike | None = None,
        sample_weight: WeightsLike | None = None,
        times: TimesLike | None = None,
        pseudo_classes: LabelsLike | None = None,
    ) -> Self:
        """Learn the rows of a table in their order, forgetting all that was learned before.

        Parameters
        ----------
        X : table
            Rows to learn.
        y : array of labels
            Their classes. Rows without a label are left out, unless ``unlabelled`` says otherwise.
        sample_weight : array of numbers, default=None
            How much each row counts. None: all alike.
        times : array, default=None
            Not used: forgetting goes by rows.
        pseudo_classes : array of shape (n_rows,), default=None
            The pseudo-class of every row, by any name; the same name in two classes means two pseudo-classes. They are
            then learned as they are: each from its own rows, none is answered, promoted, merged or removed. Where a
            distribution starts (``scale="running"``) is known from all rows, so that their order does not matter unless
            the model forgets. Later rows (``partial_fit``) let the model evolve from there.

        Returns
        -------
        EvolvingNaiveBayes
            The model itself.
        """
        if pseudo_classes is None:
            return super().fit(X, y, sample_weight, times)
        self._given = one_dimensional(pseudo_classes)
        try:
            return super().fit(X, y, sample_weight, times)
        finally:
            del self._given

    def partial_fit(
        self,
        X: TableLike,
        y: LabelsLike | None = None,
        classes: LabelsLike | None = None,
        sample_weight: WeightsLike | None = None,
        times: TimesLike | None = None,
    ) -> Self:
        """Learn more rows, in their order. New values and classes are welcome; ``classes`` announces some beforehand.

        A class that is announced takes part in the answers before its first row. ``times`` are not used: forgetting
        goes by rows.
        """
        if classes is None:
            return super().partial_fit(X, y, sample_weight=sample_weight, times=times)
        if not self.started:
            self.start()
        announced = sort_labels(np.asarray(classes))
        self.add_classes(announced)
        self._announced = list(dict.fromkeys([*self._announced, *announced.tolist()]))
        if self.knows_columns:
            self._kernel.announce([self.class_codes[label] for label in announced.tolist()])
        super().partial_fit(X, y, sample_weight=sample_weight, times=times)
        self.count_warm_up()
        return self

    def _count(self, batch: Batch, classes: np.ndarray | None = None) -> None:
        if rows_of_dicts(batch.X) and not self.learns_unlabelled:  # such rows bring no column
            batch = batch.only_counted()
        codes, numbers = self._rows_to_learn(batch.X, batch.labels, batch.weights)
        if classes is not None:
            self.add_classes(classes)
        if "_given" in self.__dict__:
            pseudo, n_pseudo = _within_classes(self._given, batch.labels, batch.weights, len(self.classes_))
            self._kernel.learn_given(codes, numbers, batch.labels, pseudo, n_pseudo, batch.weights)
        else:
            self._learn_rows(codes, numbers, batch.labels, batch.weights)

    def _learn_rows(self, codes: np.ndarray, numbers: np.ndarray, labels: np.ndarray, *more: np.ndarray | None) -> None:
        """Let the kernel learn some rows at a time: Ctrl-C is heard between two calls."""
        for at in range(0, len(codes), ROWS_AT_ONCE):
            some = slice(at, at + ROWS_AT_ONCE)
            rest = [None if part is None else part[some] for part in more]
            self._kernel.learn(codes[some], numbers[some], labels[some], *rest)

    def _rows_to_learn(self, X: Any, labels: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Codes and numbers of rows; new values, and in dicts new names, are taken in, of rows that teach something."""
        self._check_support(X)
        if rows_of_dicts(X):
            self._add_columns(X)
        if not self.learns_unlabelled:
            weights = where_labelled(labels, weights)
        return self.encoder_.update(X, weights, type(self).__name__)[:, self._coded], self._numbers(X)

    def _numbers(self, X: Any) -> np.ndarray:
        if rows_of_dicts(X):  # absent keys are missing
            return np.array([self.encoder_.continuous_row(row) for row in X])
        return self.encoder_.continuous_values(X, type(self).__name__)

    def _number_row(self, row: Mapping[str, Any]) -> np.ndarray:
        """The numbers of one row, which must be such as their densities can have."""
        numbers = self.encoder_.continuous_row(row)
        for i, name, density in self._other:
            check_support(name, numbers[i : i + 1], density)
        return numbers

    def _add_columns(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Take in names that are no column yet, missing in all rows so far: numbers where the first value is one."""
        if self.schema is not None:
            return
        for row in rows:
            for name in self.encoder_.new_names(row):
                if is_missing(row[name]):
                    continue
                for column in self._late_columns(name, row[name]):
                    self._add_column(column)
        self._split_columns()
        self.note_columns()
        if "feature_names_in_" in self.__dict__:
            self.feature_names_in_ = np.array(self.encoder_.schema.table_names, dtype=object)

    def _late_columns(self, name: str, value: Any) -> list[Column]:
        """What a new name stands for: numbers where its first value is one, and parts of a date where it is a date."""
        late = self.encoder_.late_columns({name: value})
        if late[0].part:
            return [replace(c, kind="continuous", cut_after=0) if c.kind == "numeric" else c for c in late]
        other = density_of(self.density, name) != "normal" and is_number(value)
        number = other or isinstance(value, float | np.floating)
        return [Column(name, "continuous" if number else "categorical", reason=APPEARED)]

    def _add_column(self, column: Column) -> None:
        """Make room for a column, missing in all rows so far."""
        self.encoder_.extend([column])
        if column.kind != "continuous":
            self._kernel.add_column()
            return
        density = density_of(self.density, column.name)
        self._kernel.add_number(DENSITIES.index(density))
        if self._options["means"]:  # a copy starts as this one does
            mean = 0.0 if density == "normal" else 1.0
            late = {"means": [*self._options["means"], mean], "variances": [*self._options["variances"], 1.0]}
            self._options = self._options | late

    def _scores(self, X: Any, *, log_joint: bool) -> np.ndarray:
        self.check_fitted()
        codes, numbers = self._rows_to_answer(X)
        out = np.empty((len(codes), len(self.classes_)))
        self._kernel.score(codes, numbers, out, log_joint, self.n_threads)
        return out

    def _rows_to_answer(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        table = self.validate_table(X, reset=False)
        return self.encoder_.encode(table, self.unseen, type(self).__name__)[:, self._coded], self._numbers(X)

    def learn_one(self, row: Mapping[str, Any], y: Label, sample_weight: float = 1.0, time: Time | None = None) -> Self:
        """Learn one row. Absent keys are missing, new keys are new columns. ``time`` is not used."""
        row = check_row(row, "learn_one")
        label = self.code_of(y) if self._goes_quickly(row, sample_weight) else None
        if label is not None:
            numbers = self._number_row(row)
            self._kernel.learn_one(self.encoder_.update_row(row)[self._coded], numbers, label, sample_weight)
        elif (found := provisional_row(self, row, y, sample_weight, time)) is not None:
            codes, label = found
            self._kernel.learn_one(row_array(codes)[self._coded], self._number_row(row), label, 1.0)
            keep_provisional_row(self, row, label)
        elif not is_missing(y):
            super().learn_one(row, y, sample_weight)
        elif self.started:
            self._learn_unlabelled([row], [sample_weight])
        return self

    def _goes_quickly(self, row: Mapping[str, Any], sample_weight: float) -> bool:
        """Whether a row counts, and has nothing new but perhaps values."""
        if not self.columns_fixed or self.encoder_.new_names(row):
            return False
        return is_weight(sample_weight) and sample_weight > 0

    def predict_proba_one(self, row: Mapping[str, Any]) -> dict[Label, float]:
        """Probability of every class known so far; an empty dict before the first row."""
        row = check_row(row, "predict_proba_one")
        if not self.has_learned:
            return {}
        codes = self.encoder_.encode_row(row, self.unseen)[self._coded]
        proba = self._kernel.one(codes, self._number_row(row))
        return dict(zip(self.class_codes, proba, strict=True))

    def _answer_and_learn(self, rows: StreamPart) -> Answers:
        """Answer and learn as many rows as have no new names; the kernel leaves out classes that have not come yet."""
        m = 0
        if self.unseen != "error" and self.has_learned:
            m = min(self._rows_without_news(rows.X), self._rows_of_one_kind(rows.y, rows.weights))
        if m == 0:
            return self._answer_and_learn_first(rows)
        rows = rows.part(0, m)
        labels, classes = self.label_codes(rows.y)
        codes, numbers = self._rows_to_learn(rows.X, labels, rows.weights)
        to_answer = () if rows.answered is None else self._rows_to_answer(rows.answered)  # by values of these rows, too
        self.add_classes(classes)
        out = np.empty((m, len(self.classes_)))
        self._learn_rows(codes, numbers, labels, rows.weights, out, *to_answer)
        if self._warm_up is not None:
            self._warm_up.append(Batch(rows.X, labels, rows.weights, rows.times))
            self._warm_up.counted = self._warm_up.n_rows
        return self.classes_, out

    def _rows_without_news(self, X: Any) -> int:
        """How many rows from the first on have no name that is no column yet."""
        if not rows_of_dicts(X):
            return n_rows(X)
        return next((r for r, row in enumerate(X) if self.encoder_.new_names(row)), len(X))

    def _rows_of_one_kind(self, y: np.ndarray, weights: np.ndarray | None) -> int:
        """How many rows may come until kinds of columns are learned again: at the next doubling of a warm-up."""
        if self._warm_up is None:
            return len(y)
        odd = (weights is not None and not weights.all()) or any(is_missing(label) for label in y[: self.warm_up])
        return 0 if odd else min(2 * self._warm_up.stage, self.warm_up) - 1 - self._warm_up.n_rows

    def _answer_and_learn_first(self, rows: StreamPart) -> Answers:
        answers = super()._answer_and_learn_first(rows)
        first = rows.part(0, 1)
        if is_missing(first.y[0]):
            self._learn_unlabelled(first.X, first.weights)
        return answers

    def _learn_unlabelled(self, X: Any, weights: Any) -> None:
        """Rows without a label are of use once there is something that can answer them."""
        if self.unlabelled > 0 and len(self.classes_):
            self.partial_fit(X, [None], sample_weight=weights)

    # --- what was learned ---------------------------------------------------------------------------------------

    @property
    def pseudo_classes_(self) -> list[PseudoClass]:
        """The pseudo-classes that answer, class by class, the oldest first."""
        self.check_fitted()
        others = {name: density for _, name, density in self._other}
        schema, classes = self.encoder_.schema, self.classes_.tolist()
        start = bool(self._options["means"])
        return pseudo_classes_of(self._kernel.state(), schema, classes, others, self._probabilities, given_start=start)

    def _probabilities(self, counts: np.ndarray, total: float) -> np.ndarray:
        """What the kernel makes of the counts of a column's values in a pseudo-class."""
        if not self._options.get("constant_step", False):
            return (counts + 1) / (total + len(counts))
        weight = 1 / self._options["alpha"]
        start = max(weight - total, _LEAST_START * weight)
        return (counts + start / len(counts)) / (total + start)

    @property
    def events_(self) -> list[Event]:
        """What was promoted, merged or removed, and why."""
        self.check_fitted()
        loss = "error" if self.cost_matrix is None else "loss"
        return events_of(self._kernel.state(), self.classes_.tolist(), self.similarity, loss)

    def rules(self) -> Rules:
        """The model as fuzzy rules, one per pseudo-class; print them, or look at each.

        Returns
        -------
        Rules
            One rule for each pseudo-class.
        """
        return rules_of(self.pseudo_classes_, self.join)

    def plot(self, path: str | os.PathLike[str] | None = None, **options: Any) -> Figure:
        """Draw the fuzzy sets of every column; see ``tanager.plot_fuzzy_sets``.

        Parameters
        ----------
        path : str or PathLike, default=None
            Where to write it, by its extension. None: nowhere.
        **options : object
            Those of ``plot_fuzzy_sets``.

        Returns
        -------
        Figure
            Of Matplotlib.
        """
        figure: Figure = public("plot_fuzzy_sets")(self, path, **options)
        return figure

    # --- what order forbids --------------------------------------------------------------------------------------

    def unlearn(
        self, X: TableLike, y: LabelsLike, sample_weight: WeightsLike | None = None, times: TimesLike | None = None
    ) -> NoReturn:
        """Refused: what a row has taught depends on the rows before it."""
        raise self._refusal("unlearn rows", "Forget with alpha= or window=, or fit on the rows that shall stay.")

    def leave_one_out(self, X: TableLike, y: LabelsLike, sample_weight: WeightsLike | None = None) -> np.ndarray:
        """Refused: what a row has taught depends on the rows before it."""
        raise self._refusal("leave rows out", "Use test_then_train, which answers every row before it is learned.")

    def merge(self, other: Any) -> NoReturn:
        """Refused: two streams have no common order."""
        raise self._refusal("be merged", "Learn the rows of both in one order.")

    def _explained(self, X: Any, answer: Any, against: Any, *, one_alone: bool) -> NoReturn:
        """Refused: several pseudo-classes make up a class, and their parts do not add up."""
        raise DataError(
            f"{type(self).__name__} gives no log-odds that add up; its rules say why: model.rules(), or "
            "`tanager rules` at the command line."
        )

    def _refusal(self, what: str, way_out: str) -> DataError:
        return DataError(f"{type(self).__name__} cannot {what}: what it has learned depends on the order. {way_out}")

    # --- copies and files -----------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        return state | {"_kernel": self._kernel.state()} if "_kernel" in state else state

    def __setstate__(self, state: dict[str, Any]) -> None:
        learned = state.get("_kernel")
        self.__dict__.update({name: value for name, value in state.items() if name != "_kernel"})
        if learned is not None:
            self._kernel_from(self._options)
            self._take_arrays(learned)

    def _take_arrays(self, arrays: dict[str, np.ndarray]) -> None:
        self._kernel.set_state(arrays)
        if self._kernel.n_classes != len(self.classes_):
            raise ModelFileError("its pseudo-classes are of other classes")
        self._set_costs(self.classes_)

    def _model_state(self) -> dict[str, Any]:
        arrays = {_PART + name: part for name, part in self._kernel.state().items()}
        announced = [c for c, label in enumerate(self.classes_.tolist()) if label in self._announced]
        return {"state": {"announced": announced}, "arrays": arrays}

    def _take_model_state(self, state: dict[str, Any]) -> None:
        places = saved.items(saved.whole(0, len(self.classes_) - 1), distinct=True)
        announced = saved.field("announced classes", state["state"], "announced", places)
        self._announced = [self.classes_.tolist()[c] for c in announced]
        self._kernel_from(self._kernel_options(self._split_columns()[1]))
        own = {name.removeprefix(_PART): part for name, part in state["arrays"].items() if name.startswith(_PART)}
        try:
            self._take_arrays(own)
        except ValueError as error:
            raise ModelFileError(str(error)) from None


def _names(table: Table) -> tuple[str, ...]:
    return table.names or tuple(f"x{i}" for i in range(table.n_columns))


def _within_classes(
    given: Any, labels: np.ndarray, weights: np.ndarray | None, n_classes: int
) -> tuple[np.ndarray, list[int]]:
    """Each row's place among the pseudo-classes of its class, by sorted name, and how many every class has."""
    if len(given) != len(labels):
        raise DataError(
            f"X has {len(labels):,} rows, and {len(given):,} pseudo_classes are given. Give one for each row."
        )
    codes, _ = encode_labels(given)
    learned = labels != np.iinfo(labels.dtype).max
    if weights is not None:
        learned &= weights > 0
    missing = learned & (codes == np.iinfo(codes.dtype).max)
    if missing.any():
        raise DataError(f"pseudo_classes: row {missing.argmax()} has none. Give one for every row with a label.")
    places, n_pseudo = np.zeros(len(labels), dtype=np.int64), []
    for c in range(n_classes):
        own = learned & (labels == c)
        names, places[own] = np.unique(codes[own], return_inverse=True)
        n_pseudo.append(len(names))
    return places, n_pseudo


def _per_number(what: str, given: Any, names: Sequence[str]) -> list[float]:
    """One number for each number column, from a list in their order or a dict by name."""
    if isinstance(given, Mapping):
        missing = [name for name in names if name not in given]
        if missing:
            raise OptionError(f"scale: the {what} say nothing about column {missing[0]!r}.")
        given = [given[name] for name in names]
    values = list(given) if isinstance(given, Sequence | np.ndarray) else []
    least = 0.0 if what == "variances" else -1e100
    if len(values) != len(names) or not all(is_number(value, least) for value in values):
        raise OptionError(
            f"scale: the {what} are {given!r}; give a number for each of the {len(names)} number columns, "
            f"{list(names)}{', at least 0' if what == 'variances' else ''}."
        )
    return [float(value) for value in values]
