"""Wrapped: a network classifier whose threshold, or other setting of the learner, is chosen by trying."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product
from typing import Any, ClassVar

import numpy as np

from tanager import saved
from tanager.classifiers.general_network import GeneralNetwork
from tanager.classifiers.multinet import MultiNet
from tanager.counts.block import Block
from tanager.counts.joint import JointCounts, sparse_families
from tanager.counts.sample import Sample
from tanager.errors import MemoryBudgetError, ModelFileError, OptionError, SchemaMismatch, check_option
from tanager.estimator import clone
from tanager.learning.dealing import dealt_parts
from tanager.learning.delegate import Delegating
from tanager.learning.network_learner import Found, NetworkLearner, sample_of
from tanager.learning.rows import KeptRows
from tanager.scoring.decision import decide
from tanager.scoring.forms import Form, ProductOfSums
from tanager.stages import steps
from tanager.structure.cbl import CBL
from tanager.structure.independence_tests import Threshold
from tanager.structure.learner import Learner

THRESHOLDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 0.1)
LEVELS = (0.2, 0.1, 0.05, 0.01, 0.001, 0.0001, 0.00001)  # of significance
FEW_ROWS = 1000  # fewer rows are tried by cross-validation instead of a holdout
FEW_ROWS_FOLDS = 5
MANY_COLUMNS = 64  # a general network over more is learned from so many of them, unless it says otherwise
HALVINGS = 2  # after so many of these folds, one by one, the better half of the settings goes on


@dataclass(eq=False)
class _Trial:
    """One setting of the learner, and how it did on rows that it had not learned."""

    setting: str
    learner: Learner
    right: float = 0.0  # weight of the rows answered correctly
    own: float = 0.0  # sum of the probabilities of the true classes
    log: float = 0.0  # sum of their logarithms
    asked: float = 0.0
    n_arcs: int = 0
    n_columns: int = 0
    note: str = ""

    def add(self, found: Found, figures: tuple[float, ...] | None) -> None:
        self.n_arcs, self.n_columns = found.n_arcs, len(found.columns)
        if figures is None:
            self.note = "tables too large"
            return
        right, own, log, asked = figures
        self.right, self.own, self.log, self.asked = (
            self.right + right,
            self.own + own,
            self.log + log,
            self.asked + asked,
        )

    def line(self) -> dict[str, Any]:
        rows = max(self.asked, 1e-300)
        figures = {"accuracy": self.right / rows, "mean_probability": self.own / rows, "log_loss": -self.log / rows}
        size = {"arcs": self.n_arcs, "columns": self.n_columns}
        return {"setting": self.setting, **figures, **size, "note": self.note, "asked": self.asked}


_LINE = {  # of the table, in a file
    "setting": saved.text(),
    **dict.fromkeys(("accuracy", "mean_probability", "log_loss", "asked"), saved.figure()),
    **dict.fromkeys(("arcs", "columns"), saved.whole()),
    "note": saved.text(),
}
_CHOICE = {
    "setting": saved.whole(),
    "table": saved.items(saved.record(_LINE)),
    "tried": saved.row(saved.number(0.0), saved.whole(), saved.whole()),
}


@dataclass(eq=False, repr=False)
class Wrapped(Delegating):
    """Chooses the learner's threshold for a network classifier by holding rows out, then learns all rows.

    A network learned with a low threshold fits the rows too closely, with a high one it is naive. Each setting of a
    grid is tried on rows that were held out, all tests are worked out once and shared, and the tables of the best
    structure are learned again from all rows: some three times the cost of one run.

    Parameters
    ----------
    model : GeneralNetwork, BAN, MultiNet, ChowLiuMultiNet or None, default=None
        What is wrapped; None is ``GeneralNetwork()``. With more than 64 columns, a general network is learned over the
        64 that tell most about the class, unless it has a ``max_columns`` of its own. A
        ``MultiNet(features="blanket")`` wraps a general network first, to choose the columns, and then the multi-net
        over these.
    grid : sequence, mapping or None, default=None
        Thresholds to try, or values of any setting of the learner: ``{"max_parents": [1, 2, 3]}``. None tries ten
        thresholds from 0.0005 to 0.1 (without those that chance alone exceeds); with ``CBL(test=GSquared())`` levels of
        significance from 0.2 to 0.00001, with ``HillClimb`` and ``K2`` one to four parents.
    folds : int or None, default=None
        None holds out a third of the rows. With fewer than 1,000 rows it uses 5 folds, and after the first and the
        second of them goes on with the better half of the settings alone; with fewer than 5 rows it tries nothing and
        takes the last setting. A number of folds tries all settings in all of these. After folds, the structure is
        learned again from all rows with the best setting.
    criterion : {"accuracy", "log_loss"}, default="accuracy"
        What is best. Ties go to the larger sum of the probabilities of the true classes, then to fewer arcs, then to
        the later setting.
    random_state : int or None, default=None
        For the rows that are held out; None is a fixed seed.

    Attributes
    ----------
    best_ : classifier
        The wrapped classifier with the best setting; ``model.best_.network_`` is its network.
    table_ : list of dict
        What was tried; ``print(model.table())`` shows it.

    Notes
    -----
    Cheng and Greiner (2001). Rows that are the same are dealt out in turn, so a row of weight two counts as two rows.

    Examples
    --------
    >>> from tanager import GeneralNetwork, Wrapped
    >>> X = [["sun", "dry"], ["sun", "wet"], ["rain", "wet"], ["rain", "wet"]] * 10
    >>> model = Wrapped(GeneralNetwork(), grid=[0.01, 0.1]).fit(X, ["play", "play", "stay", "stay"] * 10)
    >>> print(model.table())
    setting           accuracy  log loss  arcs  columns
    threshold = 0.01    1.0000    0.0225     2        2
    threshold = 0.1     1.0000    0.0225     2        2  * chosen
    """

    model: NetworkLearner | None = None
    grid: Sequence[float] | Mapping[str, Sequence[Any]] | None = None
    folds: int | None = None
    criterion: str = "accuracy"
    random_state: int | None = None

    saves_structure = True
    merges_repeats = True
    refresh_ratio = 1.5  # of the structure; settings are tried again when rows have grown by more
    outlives_new_values = True

    _ratio_of_trials: ClassVar[float] = 3.0  # see experiments/refresh_ratios
    _tried_at = (0.0, 0, 0)  # rows, columns and classes when settings were tried

    def check_options(self) -> None:
        super().check_options()
        check_option("criterion", self.criterion, ("accuracy", "log_loss"))
        model = self._model()
        if not isinstance(model, NetworkLearner):
            raise OptionError(
                f"model={model!r} learns no network. Wrap GeneralNetwork, BAN, MultiNet or ChowLiuMultiNet."
            )
        model.check_options()
        if model.calibrate:
            raise OptionError(f"model={model!r}: what is chosen is calibrated. Give calibrate= to Wrapped itself.")
        if getattr(model, "fit_by", "likelihood") != "likelihood":
            raise OptionError(
                f"model={model!r}: settings are tried with counted parameters. Wrap it without fit_by=, then fit it "
                "with the learner that was chosen, best_.learner."
            )
        if isinstance(self.folds, bool) or not isinstance(self.folds, int | np.integer | None) or (self.folds or 2) < 2:
            raise OptionError(f"folds={self.folds!r}: give a number of folds of at least 2, or None.")
        if isinstance(self.random_state, bool) or not isinstance(self.random_state, int | np.integer | None):
            raise OptionError(f"random_state={self.random_state!r}: give a whole number, or None.")
        list(self._settings(model.own_learner))

    def _model(self) -> NetworkLearner:
        return GeneralNetwork() if self.model is None else self.model

    def _own_model(self) -> NetworkLearner:
        """A copy of what is wrapped. Tests of hundreds of columns, threshold by threshold, would take minutes."""
        model = clone(self._model())
        if isinstance(model, GeneralNetwork) and model.max_columns is None:
            model.set_params(max_columns=MANY_COLUMNS)
        return model

    def _settings(self, learner: Learner) -> Iterator[tuple[str, Learner]]:
        """Every setting of the grid in words, and the learner that has it."""
        grid = _default_grid(learner) if self.grid is None else self.grid
        if isinstance(grid, Sequence | np.ndarray) and not isinstance(grid, str):
            grid = {"threshold": grid}
            if getattr(learner, "test", None) is not None:
                raise OptionError(f"grid: {learner!r} has a test of its own, and no threshold. Give {{'test': [...]}}.")
        if not isinstance(grid, Mapping) or not grid or not all(len(values) for values in grid.values()):
            raise OptionError(
                f"grid={self.grid!r}: give a list of thresholds, or a dict from setting to a list of values."
            )
        for values in product(*grid.values()):
            chosen = dict(zip(grid, values, strict=True))
            try:
                yield ", ".join(f"{name} = {value}" for name, value in chosen.items()), replace(learner, **chosen)
            except TypeError:
                raise OptionError(f"grid: {type(learner).__name__} has no setting {', '.join(grid)}.") from None

    def _needs_rows(self) -> bool:
        return True

    def _structure(self, counts: JointCounts, rows: KeptRows | None) -> Form:
        if rows is None:
            raise SchemaMismatch("Wrapped tries settings on the rows, and counts alone do not hold them. Use fit.")
        model = self._own_model()
        sample = self._sample(counts, rows)
        parts = self._parts(sample, rows)
        columns: tuple[int, ...] | None = None
        if isinstance(model, MultiNet) and isinstance(model.features, str):
            options: dict[str, Any] = {"missing": model.missing, "smoothing": model.smoothing}
            options["max_columns"] = MANY_COLUMNS
            general = GeneralNetwork(learner=model.own_learner, **options)
            chosen, found, self.features_table_ = self._choose(general, sample, parts, counts)
            columns = tuple(sorted({*found.columns, *model.kept(sample, chosen).columns} - {counts.n_features}))
            model.set_params(features=[counts.schema.names[i] for i in columns] or None)
        if columns == ():  # nothing tells about the class: naive Bayes on all columns
            found, self.table_ = Found(ProductOfSums.one_each([()] * counts.n_features), ()), self.features_table_
        else:
            chosen, found, self.table_ = self._choose(model, sample, parts, counts)
        if parts:
            self._tried_at = self.memory.n_learned, counts.n_features, counts.n_classes
        model.set_params(learner=chosen)
        model.take_found(found)
        self.best_ = self.adopt(model)
        return found.form

    def _structure_in_stream(self, counts: JointCounts, rows: KeptRows | None) -> Form | None:
        """That of all rows by the setting that was chosen, until it is time to try settings again."""
        learned, *shape = self._tried_at
        if rows is None or shape != [counts.n_features, counts.n_classes]:
            return None
        if self.memory.n_learned > self._ratio_of_trials * learned:
            return None
        assert isinstance(self.best_, NetworkLearner)
        model = self._own_model().set_params(learner=self.best_.own_learner)
        found = model.find(self._sample(counts, rows), model.own_learner, traced=False)
        model.take_found(replace(found, traced=False))
        self.best_ = self.adopt(model)
        return found.form

    def _sample(self, counts: JointCounts, rows: KeptRows) -> Sample:
        return sample_of(rows, counts, self.class_name)

    def _choose(
        self, model: NetworkLearner, sample: Sample, parts: list[tuple[KeptRows, KeptRows]], counts: JointCounts
    ) -> tuple[Learner, Found, list[dict[str, Any]]]:
        """The best setting, its structure, and what was tried."""
        trials = [_Trial(*setting) for setting in self._settings(model.own_learner)]
        plain = clone(model).set_params(priors=None, class_weight=None)  # a structure is as good as its own answers
        plain.options_hold()
        tried = trials[::-1]  # ties go to the later one
        for done, (learned, asked) in enumerate(steps("trying settings on a part", parts), 1):
            own = self._sample(counts, learned)
            if done == 1:
                tried = self._above_chance(tried, own)
            found = [model.find(own, trial.learner, traced=False) for trial in tried]
            figures = self._figures(plain, list(dict.fromkeys(each.form for each in found)), learned, asked, counts)
            for trial, each in zip(tried, found, strict=True):
                trial.add(each, figures[each.form])
            if self.folds is None and done <= HALVINGS and done < len(parts):
                tried = self._better_half(tried, done)
        best = min(tried, key=self._rank)
        if len(parts) == 1:  # the steps can be found again in the same rows, by those who ask for them
            chosen = replace(found[tried.index(best)], traced=False, dealt=self._holdout)
        else:
            chosen = replace(model.find(sample, best.learner, traced=False), traced=False)
        best.note = "* chosen"
        return best.learner, chosen, [trial.line() for trial in trials]

    def _above_chance(self, trials: list[_Trial], sample: Sample) -> list[_Trial]:
        """Without thresholds of our own grid that columns exceed which do not depend on each other; one stays."""
        floor = chance(sample) if self.grid is None else 0.0
        below = [trial for trial in trials[1:] if getattr(trial.learner, "threshold", floor) < floor]
        for trial in below:
            trial.note = f"not tried: chance alone gives two columns {floor:.2g}"
        return [trial for trial in trials if not trial.note]

    def _better_half(self, trials: list[_Trial], done: int) -> list[_Trial]:
        """The settings that go on to the next fold, two at least."""
        kept = sorted(trials, key=self._rank)[: max(2, (len(trials) + 1) // 2)]
        for trial in trials:
            if trial not in kept:
                trial.note = trial.note or f"behind after {done} of {FEW_ROWS_FOLDS} folds"
        return [trial for trial in trials if trial in kept]

    def _rank(self, trial: _Trial) -> tuple[float, ...]:
        if trial.note or not trial.asked:
            return (np.inf, np.inf, np.inf)
        line = trial.line()
        first = -line["accuracy"] if self.criterion == "accuracy" else line["log_loss"]
        return round(first, 12), -round(line["mean_probability"], 12), trial.n_arcs

    def _figures(
        self, model: NetworkLearner, forms: list[ProductOfSums], learned: KeptRows, asked: KeptRows, counts: JointCounts
    ) -> dict[ProductOfSums, tuple[float, ...] | None]:
        """How structures with tables from some rows answer others; None where tables do not fit into memory.

        What several structures have in common is counted once, where all their tables together fit.
        """
        own = self._counts_for(forms, learned, counts)
        if own is None and len(forms) > 1:
            return {f: v for form in forms for f, v in self._figures(model, [form], learned, asked, counts).items()}
        if own is None:
            return dict.fromkeys(forms)
        answering, block = model.attach(own, self.encoder_, learned), asked.block
        return {form: _figures_of(answering.score_structure(form, block.query), own, block) for form in forms}

    def _counts_for(self, forms: list[ProductOfSums], learned: KeptRows, counts: JointCounts) -> JointCounts | None:
        rows = learned.block
        families = list(dict.fromkeys(family for form in forms for family in form.families()))
        sparse = sparse_families(families, counts.n_slots, counts.n_classes, len(rows))
        options: dict[str, Any] = {"max_memory": self.max_memory, "spare": counts.spare}
        try:
            own = JointCounts(counts.schema, counts.classes, families=families, sparse=sparse, **options)
        except MemoryBudgetError:
            return None
        return own.update(rows.codes, rows.labels, rows.weights, n_jobs=self.n_threads)

    def _parts(self, sample: Sample, rows: KeptRows) -> list[tuple[KeptRows, KeptRows]]:
        """What is learned and what is asked: a third held out, or folds."""
        if self.folds is None and rows.weight < FEW_ROWS_FOLDS:
            return []  # too few for the folds: the last setting is taken, as in a tie
        folds = self.folds or (FEW_ROWS_FOLDS if rows.weight < FEW_ROWS else 1)
        n_parts, seed = (folds, self._seed) if folds > 1 else self._holdout
        return list(islice(dealt_parts(sample, rows, n_parts, seed), folds))

    @property
    def _seed(self) -> int:
        return 0 if self.random_state is None else int(self.random_state)

    @property
    def _holdout(self) -> tuple[int, int]:
        """Into how many parts rows are dealt out, one of which is asked, and by which seed."""
        return 3, self._seed

    def _choice(self) -> dict[str, Any]:
        chosen = [line["note"] for line in self.table_].index("* chosen")
        return {"setting": chosen, "table": self.table_, "tried": list(self._tried_at)}

    def _take_choice(self, data: dict[str, Any]) -> None:
        absent = {"tried": [0.0, 0, 0]}  # in older files
        setting, table, tried = saved.read("figures of its choice", absent | data, _CHOICE).values()
        self.table_, self._tried_at = list(table), tuple(tried)
        if [line["note"] for line in self.table_].count("* chosen") != 1:
            raise ModelFileError("its table does not say which setting was chosen")
        model = self._own_model()
        chosen = list(self._settings(model.own_learner))[setting][1]
        self.best_ = self.adopt(model.set_params(learner=chosen))

    def table(self) -> str:
        """What was tried and how it did, as text.

        Returns
        -------
        str
            A line for every setting.
        """
        _ = self.structure_  # which follows all rows, and the table with it
        width = max(7, *(len(line["setting"]) for line in self.table_))
        lines = [f"{'setting':<{width}}  accuracy  log loss  arcs  columns"]
        for line in self.table_:
            figures = f"{line['accuracy']:8.4f}  {line['log_loss']:8.4f}  {line['arcs']:4d}  {line['columns']:7d}"
            figures = figures if line["asked"] else " " * len(figures)
            lines.append(f"{line['setting']:<{width}}  {figures}  {line['note']}".rstrip())
        return "\n".join(lines)


def _default_grid(learner: Learner) -> dict[str, Sequence[Any]]:
    test = learner.test if isinstance(learner, CBL) else None
    if isinstance(test, Threshold):
        return {"test": [Threshold(tau) for tau in THRESHOLDS]}
    if test is not None:
        return {"test": [replace(test, level=level) for level in LEVELS]}
    return {"threshold": THRESHOLDS} if hasattr(learner, "threshold") else {"max_parents": (1, 2, 3, 4)}


def chance(sample: Sample) -> float:
    """What two independent columns seem to tell about each other in so many rows: the median of df / 2M over pairs."""
    free = sample.n_values - 1.0
    pairs = np.outer(free, free)[np.triu_indices(len(free), 1)]
    return float(np.median(pairs) / (2 * max(sample.n_rows, 1.0))) if len(pairs) else 0.0


def _figures_of(proba: np.ndarray, counts: JointCounts, asked: Block) -> tuple[float, ...]:
    """Weight of the rows answered correctly, sums of the probabilities of the true classes and their logs, weight."""
    labels, weights = asked.labels, asked.weights
    w = np.ones(len(labels)) if weights is None else weights
    of_class = proba[np.arange(len(labels)), labels]
    right = decide(proba, counts.class_counts, None) == labels
    log = np.log(np.maximum(of_class, 1e-15))
    return float(right @ w), float(of_class @ w), float(log @ w), float(w.sum())
