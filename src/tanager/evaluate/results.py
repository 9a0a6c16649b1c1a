"""The results of an evaluation, fold by fold, with the tables and pictures that are made from them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from tanager.errors import DataError, OptionError, check_option, nearest
from tanager.evaluate import across_datasets, results_plots
from tanager.evaluate.aggregate import HIGHER, Record, as_loss, mean_of, median_of, ratio_of, value_of, values_of
from tanager.evaluate.display import results_html
from tanager.evaluate.recommend import Recommendation, over_many, over_one
from tanager.evaluate.significance import corrected_t
from tanager.evaluate.table import Table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

PLACE = ("dataset", "classifier", "repeat", "fold")
SIZES = ("n_train", "n_test")
SECONDS = {"fit_seconds": ".3g", "predict_seconds": ".3g"}
NESTED = ("reliability", "class_shares")  # of a record that are no numbers
MEASURES = ("accuracy", "log_loss", "rmse", "auc", "calibration_error")


class Results:
    """One record per data set, classifier, repeat and fold; everything else is computed from them.

    Classifiers may lack folds or data sets. Comparisons then use what both have, and a note below the table says so.

    Parameters
    ----------
    records : iterable of mappings
        With ``dataset``, ``classifier``, ``repeat``, ``fold``, ``n_train``, ``n_test``, any measures by name,
        ``reliability``, the three lists of ``reliability(...).tolist()``, and ``class_shares``, the measures of who
        knows the shares of the classes alone.
    notes : iterable of str, default=()
        Remarks that are printed below the summary, such as which classifier was left out and why.

    Examples
    --------
    >>> from tanager.evaluate import Results
    >>> fold = {"dataset": "d", "repeat": 0, "n_train": 90, "n_test": 10}
    >>> results = Results(
    ...     {**fold, "classifier": name, "fold": i, "accuracy": right}
    ...     for name, rights in {"AODE": [0.9, 0.8, 0.9], "TAN": [0.8, 0.8, 0.7]}.items()
    ...     for i, right in enumerate(rights)
    ... )
    >>> print(results.summary(["accuracy"]))
    dataset  classifier  folds  accuracy      sd
    d        AODE            3    0.8667  0.0577
    d        TAN             3    0.7667  0.0577
    >>> print(results.compare())
    classifier  accuracy  difference      t       p  verdict
    AODE          0.8667           -      -       -  baseline
    TAN           0.7667     -0.1000  -1.50  0.2724
    """

    def __init__(self, records: Iterable[Record], notes: Iterable[str] = ()) -> None:
        self.records = [dict(record) for record in records]
        self.notes = tuple(notes)
        self._folds: dict[tuple[str, str], dict[tuple[int, int], dict[str, Any]]] = {}
        for at, record in enumerate(self.records):
            absent = [key for key in (*PLACE, *SIZES) if key not in record]
            if absent:
                raise DataError(f"record {at} has no {absent[0]!r}; each record needs {', '.join((*PLACE, *SIZES))}.")
            folds = self._folds.setdefault((record["dataset"], record["classifier"]), {})
            if (record["repeat"], record["fold"]) in folds:
                place = ", ".join(f"{key} {record[key]!r}" for key in PLACE)
                raise DataError(f"there are two records of {place}. Give data sets and classifiers names of their own.")
            folds[record["repeat"], record["fold"]] = record

    def __len__(self) -> int:
        return len(self.records)

    def __add__(self, other: Results) -> Results:
        """The records of both."""
        if not isinstance(other, Results):
            return NotImplemented
        return Results([*self.records, *other.records], dict.fromkeys([*self.notes, *other.notes]))

    def __repr__(self) -> str:
        return f"Results({len(self.classifiers)} classifiers, {len(self.datasets)} data sets, {len(self)} folds)"

    def __str__(self) -> str:
        return str(self.summary())

    def _repr_html_(self) -> str:
        return results_html(self)

    @property
    def datasets(self) -> list[str]:
        """Names of the data sets, in the order of the records."""
        return list(dict.fromkeys(dataset for dataset, _ in self._folds))

    @property
    def classifiers(self) -> list[str]:
        """Names of the classifiers, in the order of the records."""
        return list(dict.fromkeys(classifier for _, classifier in self._folds))

    @property
    def measures(self) -> list[str]:
        """Names of all measures that the records have."""
        apart = {*PLACE, *SIZES, *SECONDS, *NESTED}
        found = list(dict.fromkeys(key for record in self.records for key in record if key not in apart))
        found += ["error"] if "accuracy" in found else []
        return found + (["calibration_error"] if any(record.get("reliability") for record in self.records) else [])

    def folds(self, dataset: str, classifier: str) -> list[dict[str, Any]]:
        """The records of a classifier on a data set.

        Parameters
        ----------
        dataset : str
            One of ``datasets``.
        classifier : str
            One of ``classifiers``.

        Returns
        -------
        list of dict
            One record per repeat and fold; empty where this classifier was not run on this data set.
        """
        return list(self.by_fold(dataset, classifier).values())

    def by_fold(self, dataset: str, classifier: str) -> dict[tuple[int, int], dict[str, Any]]:
        """The records of a classifier on a data set, by repeat and fold; empty where there are none.

        Parameters
        ----------
        dataset : str
            One of ``datasets``.
        classifier : str
            One of ``classifiers``.

        Returns
        -------
        dict of (repeat, fold) to dict
            The records.
        """
        return self._folds.get((dataset, classifier), {})

    def select(self, classifiers: Iterable[str] | None = None, datasets: Iterable[str] | None = None) -> Results:
        """The results of some of the classifiers or data sets, in the order given.

        Parameters
        ----------
        classifiers : iterable of str or None, default=None
            Names to keep; None keeps all.
        datasets : iterable of str or None, default=None
            Names to keep; None keeps all.

        Returns
        -------
        Results
            With the same notes.
        """
        keep = self.classifiers if classifiers is None else [self._classifier(name) for name in classifiers]
        among = self.datasets if datasets is None else [self._dataset(name) for name in datasets]
        folds = (self.by_fold(dataset, name) for dataset in among for name in keep)
        return Results((record for some in folds for record in some.values()), self.notes)

    # --- tables of folds ------------------------------------------------------------------------------------------

    def to_table(self) -> Table:
        """One line per fold; reliability bins are left out.

        Returns
        -------
        Table
            A column for each entry of the records.
        """
        found = dict.fromkeys(key for record in self.records for key in record)
        names = [*PLACE, *SIZES, *(key for key in found if key not in (*PLACE, *SIZES, *NESTED))]
        rows = [[record.get(name) for name in names] for record in self.records]
        return Table(names, rows, SECONDS, note="\n".join(self.notes))

    def to_pandas(self) -> pd.DataFrame:
        """One line per fold, as a pandas data frame.

        Returns
        -------
        pandas.DataFrame
            With the lines and columns of ``to_table``.
        """
        return self.to_table().to_pandas()

    def to_csv(self, path: str | PathLike[str] | None = None) -> str:
        """One line per fold, comma-separated; also written where a path is given.

        Parameters
        ----------
        path : path or None, default=None
            The file to write; None writes none.

        Returns
        -------
        str
            The text.
        """
        return self.to_table().to_csv(path)

    # --- one data set ---------------------------------------------------------------------------------------------

    def summary(self, measures: Sequence[str] | None = None, dataset: str | None = None) -> Table:
        """The mean of every measure over the folds, for every data set and classifier.

        Accuracy is followed by its standard deviation over the folds. The calibration error is that of all folds
        together, from the sum of their bins. Seconds are medians. The default measures are accuracy, log_loss, rmse,
        auc and calibration_error, as far as the records have them.

        Parameters
        ----------
        measures : sequence of str or None, default=None
            Some of ``measures``; None takes those above.
        dataset : str or None, default=None
            One of ``datasets``; None takes all.

        Returns
        -------
        Table
            A line per data set and classifier.
        """
        if measures is None:
            measures = [name for name in MEASURES if name in self.measures]
        for name in measures:
            self.check_measure(name)
        among = self.datasets if dataset is None else [self._dataset(dataset)]
        times = [name for name in SECONDS if any(name in record for record in self.records)]
        columns = [(name, "sd") if name == "accuracy" else (name,) for name in measures]
        rows = [
            [d, c, len(folds), *_means(folds, measures), *(median_of(folds, name) for name in times)]
            for d in among
            for c in self.classifiers
            if (folds := self.folds(d, c))
        ]
        names = ["dataset", "classifier", "folds", *(name for column in columns for name in column), *times]
        return Table(names, rows, SECONDS, note="\n".join([*self.notes, *self.missing_folds(among)]))

    def compare(
        self, baseline: str | None = None, measure: str = "accuracy", alpha: float = 0.05, dataset: str | None = None
    ) -> Table:
        """Every classifier against one of them, on one data set, best first.

        The default baseline is the best classifier, so the table answers "which are as good as the best?": all that are
        not marked worse. Name another baseline (naive Bayes, or what is in use now) to ask "which are better?".

        ``difference`` is classifier minus baseline, and t and p those of the corrected resampled t-test on the folds
        that both have. Each p is of its pair alone: among 20 equal classifiers one is expected below 0.05.

        Parameters
        ----------
        baseline : str, default=None
            The classifier that the others are compared with; None is the best.
        measure : str, default="accuracy"
            One of ``measures``.
        alpha : float, default=0.05
            The verdict is "better" or "worse" where p is below.
        dataset : str, default=None
            The data set; may be left out where there is only one.

        Returns
        -------
        Table
            A line per classifier.

        Examples
        --------
        >>> from tanager import NaiveBayes, TAN
        >>> from tanager.datasets import load
        >>> from tanager.evaluate import leave_one_out
        >>> data = load("wine")
        >>> results = leave_one_out({"nb": NaiveBayes(), "tan": TAN()}, data.X, data.y, parts=10)
        >>> print(results.compare(baseline="nb", measure="log_loss"))
        classifier  log_loss  difference      t       p  verdict
        nb            0.0286           -      -       -  baseline
        tan           0.0613     +0.0326  +1.20  0.2620
        """
        dataset = self.one_dataset(dataset)
        self.check_measure(measure)
        order = self.best_first(dataset, measure)
        baseline = order[0] if baseline is None else self._classifier(baseline, order)
        rows: list[list[Any]] = []
        for name in order:
            mean = self.mean(dataset, name, measure)
            if name == baseline:
                rows.append([name, mean, None, None, None, "baseline"])
                continue
            difference, t, p = self.difference(dataset, name, baseline, measure)
            better = difference > 0 if measure in HIGHER else difference < 0
            verdict = ("better +" if better else "worse -") if p < alpha else ""
            rows.append([name, mean, difference, t, p, verdict])
        formats = {"difference": "+.4f", "t": "+.2f", "p": "p"}
        names = ("classifier", measure, "difference", "t", "p", "verdict")
        few = len(self.folds(dataset, baseline)) < 2
        note = ["A single fold has no variance, so nothing can be tested."] if few else []
        return Table(names, rows, formats, note="\n".join([*note, *self.missing_folds([dataset])]))

    def best_first(self, dataset: str, measure: str) -> list[str]:
        """The classifiers of a data set, sorted by their mean; those without a value come last.

        Parameters
        ----------
        dataset : str
            One of ``datasets``.
        measure : str
            One of ``measures``.

        Returns
        -------
        list of str
            Names of classifiers.
        """
        names = [c for c in self.classifiers if self.by_fold(dataset, c)]
        losses = {name: as_loss(self.mean(dataset, name, measure), measure) for name in names}
        return sorted(names, key=lambda name: (np.isnan(losses[name]), losses[name]))

    def mean(self, dataset: str, classifier: str, measure: str) -> float:
        """The mean of a measure over the folds of a data set; the calibration error is that of all folds pooled.

        Parameters
        ----------
        dataset : str
            One of ``datasets``.
        classifier : str
            One of ``classifiers``.
        measure : str
            One of ``measures``.

        Returns
        -------
        float
            NaN where no fold has a value.
        """
        found = mean_of(self.folds(dataset, classifier), measure)
        if np.isnan(found):  # perhaps a name is misspelt
            self._dataset(dataset)
            self._classifier(classifier)
            self.check_measure(measure)
        return found

    def beyond_shares(self, dataset: str, classifier: str, measure: str) -> tuple[float, float, float]:
        """The mean difference of a classifier to the class shares alone, with t and p of the corrected test.

        Parameters
        ----------
        dataset : str
            One of ``datasets``.
        classifier : str
            One of ``classifiers``.
        measure : str
            One of ``measures``.

        Returns
        -------
        tuple of float
            Difference, t and p; NaN where a fold does not know what the class shares alone give.
        """
        folds = [fold for fold in self.folds(dataset, classifier) if fold.get("class_shares")]
        d = np.array([value_of(fold, measure) - value_of(fold["class_shares"], measure) for fold in folds])
        if not len(d) or np.isnan(d).any():
            return float("nan"), float("nan"), float("nan")
        return float(d.mean()), *corrected_t(d, ratio_of(folds))

    def difference(self, dataset: str, classifier: str, other: str, measure: str) -> tuple[float, float, float]:
        """The mean difference of two classifiers over the folds that both have, with t and p of the corrected test.

        Parameters
        ----------
        dataset : str
            One of ``datasets``.
        classifier : str
            One of ``classifiers``.
        other : str
            The classifier whose values are subtracted.
        measure : str
            One of ``measures``.

        Returns
        -------
        difference, t, p : float
            As in ``corrected_t``; NaN where no fold has a value of both, t and p also of a single fold.
        """
        mine, theirs = self.by_fold(dataset, classifier), self.by_fold(dataset, other)
        both = [(mine[at], theirs[at]) for at in mine if at in theirs]
        d = np.array([value_of(a, measure) - value_of(b, measure) for a, b in both])
        kept = [at for at in range(len(d)) if not np.isnan(d[at])]
        if not kept:
            return float("nan"), float("nan"), float("nan")
        return float(d[kept].mean()), *corrected_t(d[kept], ratio_of(both[at][0] for at in kept))

    # --- several data sets ----------------------------------------------------------------------------------------

    def by_dataset(self, measure: str = "error") -> Table:
        """A line per data set and a column per classifier.

        Parameters
        ----------
        measure : str, default="error"
            One of ``measures``.

        Returns
        -------
        Table
            Means over the folds; empty where a classifier was not run.
        """
        self.check_measure(measure)
        rows = [
            [d, *(self.mean(d, c, measure) if self.by_fold(d, c) else None for c in self.classifiers)]
            for d in self.datasets
        ]
        return Table(["dataset", *self.classifiers], rows, note="\n".join(self.missing_folds(self.datasets)))

    def over_datasets(self, measure: str = "error") -> Table:
        """Every classifier over all data sets, best mean rank first.

        The mean of the measure, the mean rank (1 is best), on how many data sets no other classifier is better, and the
        geometric mean of the ratios of its losses to those of the first classifier: 1.1 means losses 10 % higher.
        Where higher is better, the loss is 1 less the measure.

        Parameters
        ----------
        measure : str, default="error"
            One of ``measures``.

        Returns
        -------
        Table
            A line per classifier.

        Examples
        --------
        >>> from tanager.evaluate import Results
        >>> errors = {"AODE": [0.10, 0.25, 0.05], "TAN": [0.12, 0.30, 0.04], "NB": [0.20, 0.35, 0.06]}
        >>> fold = {"repeat": 0, "fold": 0, "n_train": 90, "n_test": 10}
        >>> results = Results(
        ...     {**fold, "dataset": dataset, "classifier": name, "accuracy": 1 - error}
        ...     for name, row in errors.items()
        ...     for dataset, error in zip(("cars", "mushrooms", "votes"), row)
        ... )
        >>> print(results.over_datasets())
        classifier  mean error  mean rank  best on  ratio
        AODE            0.1333       1.33        2  1.000
        TAN             0.1533       1.67        1  1.048
        NB              0.2033       3.00        0  1.498
        Over 3 data sets.
        """
        return across_datasets.ranking(self, measure)

    def pairs(self, measure: str = "error") -> Table:
        """Every pair of classifiers over all data sets: wins, draws and losses of the first, the sign test, the ratio.

        ``p`` is two-tailed, draws left out; ``ratio`` is the geometric mean of the losses of the first over those of
        the second.

        Parameters
        ----------
        measure : str, default="error"
            One of ``measures``.

        Returns
        -------
        Table
            A line per pair.

        Examples
        --------
        >>> from tanager.evaluate import Results
        >>> errors = {"AODE": [0.10, 0.25, 0.05], "TAN": [0.12, 0.30, 0.04], "NB": [0.20, 0.35, 0.06]}
        >>> fold = {"repeat": 0, "fold": 0, "n_train": 90, "n_test": 10}
        >>> results = Results(
        ...     {**fold, "dataset": dataset, "classifier": name, "accuracy": 1 - error}
        ...     for name, row in errors.items()
        ...     for dataset, error in zip(("cars", "mushrooms", "votes"), row)
        ... )
        >>> print(results.pairs())
        first  second  wins  draws  losses       p  ratio
        AODE   TAN        2      0       1  1.0000  0.954
        AODE   NB         3      0       0  0.2500  0.668
        TAN    NB         3      0       0  0.2500  0.700
        Over 3 data sets.
        """
        return across_datasets.pairs(self, measure)

    def win_draw_loss(self, measure: str = "error") -> Table:
        """The matrix that papers print: wins-draws-losses of the row against the column, with the sign test.

        Parameters
        ----------
        measure : str, default="error"
            One of ``measures``.

        Returns
        -------
        Table
            A line and a column per classifier; p is two-tailed.
        """
        return across_datasets.win_draw_loss_matrix(self, measure)

    def friedman(self, measure: str = "error", alpha: float = 0.05) -> Table:
        """Friedman's test over all data sets: whether the classifiers differ at all, and by how much ranks must differ.

        Parameters
        ----------
        measure : str, default="error"
            One of ``measures``.
        alpha : float, default=0.05
            The level of the critical difference of mean ranks.

        Returns
        -------
        Table
            One line, with the statistics, p and the critical difference.
        """
        return across_datasets.friedman_test(self, measure, alpha)

    # --- advice and pictures --------------------------------------------------------------------------------------

    def recommend(self, measure: str = "log_loss", alpha: float = 0.05) -> Recommendation:
        """Which classifier to use, in one sentence with the reason.

        On one data set: the fastest of the classifiers within one standard error of the best (that of the difference,
        corrected as in ``corrected_t``): among classifiers that are practically equal, cost should decide. Classifiers
        that take up to twice as long as the fastest count as equally fast, and the best of them is chosen. Those that
        are significantly less accurate than the most accurate one are excluded, unless none would be left. Log loss is
        the default measure: it rates the probabilities, on which every decision rests, and needs fewer rows than
        accuracy to show a difference.

        Where not even the best is better than the shares of the classes in the training rows, which need no columns,
        the sentence says so.

        Over several data sets: the best mean rank, and whether Nemenyi's test separates it from the others.

        Parameters
        ----------
        measure : str, default="log_loss"
            One of ``measures``.
        alpha : float, default=0.05
            The level of all tests.

        Returns
        -------
        Recommendation
            The name of the classifier, and the sentence.
        """
        if len(self.datasets) == 1:
            return over_one(self, self.check_measure(measure), alpha)
        return over_many(self.classifiers, across_datasets.common_losses(self, measure).losses, measure, alpha)

    def plot(
        self,
        path: str | PathLike[str] | None = None,
        *,
        kind: str | None = None,
        measure: str = "error",
        title: str | None = None,
    ) -> Figure:
        """Draw the picture that suits these results.

        One data set: ``"comparison"``, accuracy with 95 % intervals (corrected as in ``corrected_t``) and log loss. Two
        classifiers over several data sets: ``"scatter"``. More: ``"ranks"``, the critical-difference diagram.
        ``"reliability"`` (one data set, or all together) only if asked for. Needs matplotlib, the extra ``plot``.

        Parameters
        ----------
        path : path or None, default=None
            File to write; its extension sets the format: .png, .svg or .pdf.
        kind : {"comparison", "scatter", "ranks", "reliability"} or None, default=None
            Which picture; None takes the one that suits.
        measure : str, default="error"
            One of ``measures``, for "scatter" and "ranks".
        title : str or None, default=None
            The line above the picture; None: one that suits.

        Returns
        -------
        matplotlib.figure.Figure
            The picture.
        """
        if kind is None:
            kind = "comparison" if len(self.datasets) == 1 else "scatter" if len(self.classifiers) == 2 else "ranks"
        check_option("kind", kind, tuple(results_plots.PLOTS))
        return results_plots.PLOTS[kind](self, path, measure, title)

    # --- shared by tables and pictures --------------------------------------------------------------------------------

    def missing_folds(self, datasets: Sequence[str]) -> list[str]:
        """Sentences on the folds and data sets that some classifiers lack.

        Parameters
        ----------
        datasets : sequence of str
            The data sets to look at.

        Returns
        -------
        list of str
            One sentence for each data set where folds are missing.
        """
        notes = []
        for dataset in datasets:
            sizes = {c: len(self.by_fold(dataset, c)) for c in self.classifiers}
            most = max(sizes.values())
            lacking = [f"{c} has {n} of {most}" for c, n in sizes.items() if n < most]
            if lacking:
                notes.append(f"Folds of {dataset}: {', '.join(lacking)}. Comparisons use the folds that both have.")
        return notes

    def check_measure(self, name: str) -> str:
        """The name, if there is such a measure.

        Parameters
        ----------
        name : str
            One of ``measures``; others are refused.

        Returns
        -------
        str
            The same name.
        """
        if name not in self.measures:
            raise OptionError(
                f"there is no measure {name!r}; there are {', '.join(self.measures)}.{nearest(name, self.measures)}"
            )
        return name

    def _classifier(self, name: str, among: Sequence[str] | None = None) -> str:
        known = self.classifiers if among is None else among
        if name not in known:
            raise OptionError(f"there is no classifier {name!r}; there are {', '.join(known)}.{nearest(name, known)}")
        return name

    def _dataset(self, name: str) -> str:
        if name not in self.datasets:
            known = ", ".join(self.datasets)
            raise OptionError(f"there is no data set {name!r}; there are {known}.{nearest(name, self.datasets)}")
        return name

    def one_dataset(self, dataset: str | None) -> str:
        """The data set of that name, or the only one.

        Parameters
        ----------
        dataset : str or None
            One of ``datasets``; None is refused where there are several.

        Returns
        -------
        str
            Its name.
        """
        if dataset is not None:
            return self._dataset(dataset)
        if len(self.datasets) != 1:
            raise OptionError(
                f"this works on a single data set, and there are {len(self.datasets)}: {', '.join(self.datasets)}. "
                "Name one with dataset=, use select(datasets=[...]), or see over_datasets()."
            )
        return self.datasets[0]


def _means(folds: Sequence[Record], measures: Sequence[str]) -> list[float]:
    """Means of the measures; accuracy is followed by its standard deviation."""
    cells = []
    for name in measures:
        cells.append(mean_of(folds, name))
        if name == "accuracy":
            values = values_of(folds, name)
            cells.append(float(np.std(values, ddof=1)) if len(values) > 1 else float("nan"))
    return cells
