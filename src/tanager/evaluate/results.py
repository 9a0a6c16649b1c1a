"""What came out of an evaluation, fold by fold, and the tables and pictures that are made of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from os import PathLike
from typing import Any

import numpy as np

from tanager.errors import DataError, OptionError, check_option, nearest
from tanager.evaluate.recommend import Recommendation, over_many, over_one
from tanager.evaluate.records import HIGHER, Record, as_loss, bins_of, mean_of, median_of, ratio_of, value_of, values_of
from tanager.evaluate.significance import (
    average_ranks,
    corrected_margin,
    corrected_t,
    friedman,
    geometric_mean_ratio,
    nemenyi,
    sign_test,
    win_draw_loss,
)
from tanager.evaluate.table import Table

PLACE = ("dataset", "classifier", "repeat", "fold")
SIZES = ("n_train", "n_test")
SECONDS = {"fit_seconds": ".3g", "predict_seconds": ".3g"}
MEASURES = ("accuracy", "log_loss", "rmse", "auc", "calibration_error")


class Results:
    """One record per data set, classifier, repeat and fold; everything else is read from them.

    Classifiers need not have all folds or data sets. What is compared is compared on what both have, and a note below
    the table says so.

    Parameters
    ----------
    records : iterable of mappings
        With ``dataset``, ``classifier``, ``repeat``, ``fold``, ``n_train``, ``n_test``, any measures by name, and
        ``reliability``, the three lists of ``reliability(...).tolist()``.
    notes : iterable of str, default=()
        What a reader has to know, such as who was left out and why; printed below the summary.

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
                raise DataError(f"record {at} has no {absent[0]!r}; each needs {', '.join((*PLACE, *SIZES))}.")
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

    @property
    def datasets(self) -> list[str]:
        """Names of the data sets, in the order they came."""
        return list(dict.fromkeys(dataset for dataset, _ in self._folds))

    @property
    def classifiers(self) -> list[str]:
        """Names of the classifiers, in the order they came."""
        return list(dict.fromkeys(classifier for _, classifier in self._folds))

    @property
    def measures(self) -> list[str]:
        """Names of all measures that can be asked for."""
        apart = {*PLACE, *SIZES, *SECONDS, "reliability"}
        found = list(dict.fromkeys(key for record in self.records for key in record if key not in apart))
        found += ["error"] if "accuracy" in found else []
        return found + (["calibration_error"] if any(record.get("reliability") for record in self.records) else [])

    def folds(self, dataset: str, classifier: str) -> list[dict[str, Any]]:
        """The records of a classifier on a data set."""
        return list(self._folds.get((dataset, classifier), {}).values())

    def select(self, classifiers: Iterable[str] | None = None, datasets: Iterable[str] | None = None) -> Results:
        """Some of the classifiers or data sets only, in the order given."""
        keep = self.classifiers if classifiers is None else [self._classifier(name) for name in classifiers]
        among = self.datasets if datasets is None else [self._dataset(name) for name in datasets]
        folds = (self._folds.get((dataset, name), {}) for dataset in among for name in keep)
        return Results((record for some in folds for record in some.values()), self.notes)

    # --- tables of folds ------------------------------------------------------------------------------------------

    def to_table(self) -> Table:
        """One line per fold; reliability bins are left out."""
        found = dict.fromkeys(key for record in self.records for key in record)
        names = [*PLACE, *SIZES, *(key for key in found if key not in (*PLACE, *SIZES, "reliability"))]
        rows = [[record.get(name) for name in names] for record in self.records]
        return Table(names, rows, SECONDS, note="\n".join(self.notes))

    def to_pandas(self) -> Any:
        """One line per fold, as a pandas data frame."""
        return self.to_table().to_pandas()

    def to_csv(self, path: str | PathLike[str] | None = None) -> str:
        """One line per fold, comma-separated; also written where a path is given."""
        return self.to_table().to_csv(path)

    # --- one data set ---------------------------------------------------------------------------------------------

    def summary(self, measures: Sequence[str] | None = None, dataset: str | None = None) -> Table:
        """The mean of every measure over the folds, for every data set and classifier.

        Accuracy is followed by its standard deviation over the folds. The calibration error is that of all folds
        together, from the sum of their bins. Seconds are medians. By default the measures are those of accuracy,
        log_loss, rmse, auc and calibration_error that there are.
        """
        if measures is None:
            measures = [name for name in MEASURES if name in self.measures]
        for name in measures:
            self._measure(name)
        among = self.datasets if dataset is None else [self._dataset(dataset)]
        times = [name for name in SECONDS if any(name in record for record in self.records)]
        columns = [(name, "sd") if name == "accuracy" else (name,) for name in measures]
        rows = [
            [d, c, len(folds), *_line(folds, measures), *(median_of(folds, name) for name in times)]
            for d in among
            for c in self.classifiers
            if (folds := self.folds(d, c))
        ]
        names = ["dataset", "classifier", "folds", *(name for column in columns for name in column), *times]
        return Table(names, rows, SECONDS, note="\n".join([*self.notes, *self._gaps(among)]))

    def compare(
        self, baseline: str | None = None, measure: str = "accuracy", alpha: float = 0.05, dataset: str | None = None
    ) -> Table:
        """Every classifier against one of them, on one data set, best first.

        Without a ``baseline`` that is the best, so the table answers "which are as good as the best?": all that are not
        marked worse. Name a yardstick (naive Bayes, what is in use now) to ask "which are better than this?".

        ``difference`` is classifier minus baseline, and t and p those of the corrected resampled t-test on the folds
        that both have. Each p is of its pair alone: among 20 equal classifiers one is expected below 0.05.
        """
        dataset = self._one(dataset)
        self._measure(measure)
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
        note = ["One fold shows no spread, so nothing can be tested."] if few else []
        return Table(names, rows, formats, note="\n".join([*note, *self._gaps([dataset])]))

    def best_first(self, dataset: str, measure: str) -> list[str]:
        """The classifiers of a data set by their mean; those without a value come last."""
        names = [c for c in self.classifiers if (dataset, c) in self._folds]
        losses = {name: as_loss(self.mean(dataset, name, measure), measure) for name in names}
        return sorted(names, key=lambda name: (np.isnan(losses[name]), losses[name]))

    def mean(self, dataset: str, classifier: str, measure: str) -> float:
        """The mean of a measure over the folds of a data set; the calibration error is that of their sum."""
        return mean_of(self.folds(dataset, classifier), measure)

    def difference(self, dataset: str, classifier: str, other: str, measure: str) -> tuple[float, float, float]:
        """The mean difference of two classifiers over the folds that both have, with t and p of the corrected test."""
        mine, theirs = self._folds[dataset, classifier], self._folds[dataset, other]
        both = [(mine[at], theirs[at]) for at in mine if at in theirs]
        d = np.array([value_of(a, measure) - value_of(b, measure) for a, b in both])
        kept = [at for at in range(len(d)) if not np.isnan(d[at])]
        if not kept:
            return float("nan"), float("nan"), float("nan")
        return float(d[kept].mean()), *corrected_t(d[kept], ratio_of(both[at][0] for at in kept))

    # --- several data sets ----------------------------------------------------------------------------------------

    def by_dataset(self, measure: str = "error") -> Table:
        """A line per data set and a column per classifier."""
        self._measure(measure)
        rows = [
            [d, *(self.mean(d, c, measure) if (d, c) in self._folds else None for c in self.classifiers)]
            for d in self.datasets
        ]
        return Table(["dataset", *self.classifiers], rows, note="\n".join(self._gaps(self.datasets)))

    def over_datasets(self, measure: str = "error") -> Table:
        """Every classifier over all data sets, best mean rank first.

        The mean of the measure, the mean rank (1 is best), on how many data sets nobody is better, and the geometric
        mean of its losses over those of the first: 1.1 is a tenth more. Where higher is better, the loss is 1 less the
        measure.
        """
        common, losses, note = self._losses(measure)
        place = average_ranks(losses)
        order = np.argsort(place, kind="stable")
        best = np.isclose(losses, losses.min(axis=1, keepdims=True), rtol=0, atol=1e-9).sum(axis=0)
        rows = [
            [
                self.classifiers[c],
                float(as_loss(losses[:, c].mean(), measure)),
                float(place[c]),
                int(best[c]),
                geometric_mean_ratio(losses[:, c], losses[:, order[0]], self._rows_tested(common)),
            ]
            for c in order
        ]
        names = ("classifier", f"mean {measure}", "mean rank", "best on", "ratio")
        return Table(names, rows, {"mean rank": ".2f", "ratio": ".3f"}, note=_counted(common, note))

    def pairs(self, measure: str = "error") -> Table:
        """Every pair of classifiers over all data sets: wins, draws and losses of the first, the sign test, the ratio.

        ``p`` is two-tailed, draws left out; ``ratio`` the geometric mean of first over second.
        """
        common, losses, note = self._losses(measure)
        counts = self._rows_tested(common)
        rows = []
        for a, b in combinations(range(losses.shape[1]), 2):
            won, drawn, lost = win_draw_loss(losses[:, a], losses[:, b])
            ratio = geometric_mean_ratio(losses[:, a], losses[:, b], counts)
            rows.append([self.classifiers[a], self.classifiers[b], won, drawn, lost, sign_test(won, lost)[1], ratio])
        names = ("first", "second", "wins", "draws", "losses", "p", "ratio")
        return Table(names, rows, {"p": "p", "ratio": ".3f"}, note=_counted(common, note))

    def win_draw_loss(self, measure: str = "error") -> Table:
        """The matrix that papers print: wins-draws-losses of the line against the column, with the sign test."""
        pairs = self.pairs(measure)
        cells = {}
        for first, second, won, drawn, lost, p, _ in pairs.rows:
            cells[first, second] = f"{won}-{drawn}-{lost} ({p:.3f})"
            cells[second, first] = f"{lost}-{drawn}-{won} ({p:.3f})"
        rows = [[a, *(cells.get((a, b), "") for b in self.classifiers)] for a in self.classifiers]
        note = f"Wins-draws-losses of the line against the column by {measure}, two-tailed p of the sign test.\n"
        return Table(["", *self.classifiers], rows, note=note + pairs.note)

    def friedman(self, measure: str = "error", alpha: float = 0.05) -> Table:
        """Friedman's test over all data sets: do the classifiers differ at all, and by how much must ranks differ?"""
        common, losses, note = self._losses(measure)
        found = friedman(losses)
        n, q = losses.shape
        row = (n, q, found.chi2, found.f, found.p, nemenyi(q, n, alpha))
        names = ("data sets", "classifiers", "chi2", "F", "p", "critical difference")
        return Table(names, [row], {"p": "p"}, note=_counted(common, note))

    # --- advice and pictures --------------------------------------------------------------------------------------

    def recommend(self, measure: str = "log_loss", alpha: float = 0.05) -> Recommendation:
        """Which classifier to take, in one sentence with its reason.

        On one data set: the cheapest of all classifiers within one standard error of the best by the measure (that of
        the difference, corrected as in ``corrected_t``), since what is practically equal should be chosen by its price.
        Those that take up to twice as long as the cheapest count as equally cheap, and of them the best is taken.
        Classifiers that are significantly less accurate than the most accurate are out, unless that leaves none. Log
        loss is the default: it judges the probabilities, from which any decision follows, and needs fewer rows than
        accuracy to show a difference.

        Over several data sets: the best mean rank, and whether Nemenyi's test separates it from the others.
        """
        if len(self.datasets) == 1:
            return over_one(self, self._measure(measure), alpha)
        return over_many(self.classifiers, self._losses(measure)[1], measure, alpha)

    def plot(
        self,
        path: str | PathLike[str] | None = None,
        *,
        kind: str | None = None,
        measure: str = "error",
        title: str | None = None,
    ) -> Any:
        """The picture that fits.

        One data set: ``"comparison"``, accuracy with 95 % intervals (corrected as in ``corrected_t``) and log loss. Two
        classifiers over several data sets: ``"scatter"``. More: ``"ranks"``, the critical-difference diagram.
        ``"reliability"`` (one data set, or all together) only by name. Needs matplotlib, the extra ``plot``.
        """
        kinds = ("comparison", "scatter", "ranks", "reliability")
        if kind is None:
            kind = "comparison" if len(self.datasets) == 1 else "scatter" if len(self.classifiers) == 2 else "ranks"
        check_option("kind", kind, kinds)
        return getattr(self, f"_plot_{kind}")(path, measure, title)

    def _plot_comparison(self, path: Any, measure: str, title: str | None) -> Any:
        from tanager.plot import plot_comparison

        dataset = self._one(None)
        rows = []
        for name in self.best_first(dataset, "accuracy"):
            folds = self.folds(dataset, name)
            values = values_of(folds, "accuracy")
            margin = corrected_margin(values, ratio_of(folds)) if len(values) > 1 else None
            row = {key: mean_of(folds, key) for key in ("accuracy", "log_loss")}
            rows.append({"name": name, **row, "margin": margin})
        return plot_comparison(rows, path, title=dataset if title is None else title)

    def _plot_ranks(self, path: Any, measure: str, title: str | None) -> Any:
        from tanager.plot import plot_ranks

        common, losses, _ = self._losses(measure)
        places = dict(zip(self.classifiers, average_ranks(losses).tolist(), strict=True))
        heading = f"Mean ranks by {measure} over {len(common)} data sets" if title is None else title
        return plot_ranks(places, nemenyi(len(places), len(common)), path, title=heading)

    def _plot_scatter(self, path: Any, measure: str, title: str | None) -> Any:
        from tanager.plot import plot_scatter

        if len(self.classifiers) != 2:
            raise OptionError(
                f"a scatter sets two classifiers against each other, and there are {len(self.classifiers)}: "
                f"{', '.join(self.classifiers)}. Use select(classifiers=[...]) first."
            )
        common, losses, _ = self._losses(measure)
        x, y = (dict(zip(common, column, strict=True)) for column in losses.T.tolist())
        label = f"1 - {measure}" if measure in HIGHER else measure
        a, b = self.classifiers
        return plot_scatter(x, y, path, names=(a, b), measure=label, title=title)

    def _plot_reliability(self, path: Any, measure: str, title: str | None) -> Any:
        from tanager.plot import plot_reliability

        self._measure("calibration_error")
        curves = {
            name: bins_of([r for r in self.records if r["classifier"] == name and r.get("reliability")])
            for name in self.classifiers
        }
        return plot_reliability(curves, path, title=title)

    # --- what they share ------------------------------------------------------------------------------------------

    def _losses(self, measure: str) -> tuple[list[str], np.ndarray, list[str]]:
        """The data sets that all classifiers have, their losses (data sets x classifiers), and what was left out."""
        self._measure(measure)
        whole = [d for d in self.datasets if all((d, c) in self._folds for c in self.classifiers)]
        losses = np.array([self._common_losses(d, measure) for d in whole]).reshape(len(whole), len(self.classifiers))
        known = ~np.isnan(losses).any(axis=1)
        common = [d for d, is_known in zip(whole, known, strict=True) if is_known]
        if not common:
            raise DataError(
                f"there is no data set on which all of {', '.join(self.classifiers)} have a value of {measure}. "
                "Use select(classifiers=[...]) to leave out those that have few."
            )
        left_out = [d for d in self.datasets if d not in common]
        note = [f"Left out, as not every classifier has {measure} there: {', '.join(left_out)}."] if left_out else []
        return common, losses[known], [*note, *self._gaps(common)]

    def _common_losses(self, dataset: str, measure: str) -> list[float]:
        """Losses of all classifiers over the folds that all of them have."""
        folds = [self._folds[dataset, c] for c in self.classifiers]
        common = [at for at in folds[0] if all(at in other for other in folds)]
        return [as_loss(mean_of([own[at] for at in common], measure), measure) for own in folds]

    def _rows_tested(self, datasets: Iterable[str]) -> list[float]:
        """How many rows each data set was tested on, in one repeat."""
        sums = []
        for dataset in datasets:
            folds = self.folds(dataset, self.classifiers[0])
            repeats = len({record["repeat"] for record in folds})
            sums.append(sum(record["n_test"] for record in folds) / repeats)
        return sums

    def _gaps(self, datasets: Sequence[str]) -> list[str]:
        """Sentences on the folds and data sets that some classifiers lack."""
        notes = []
        for dataset in datasets:
            sizes = {c: len(self._folds.get((dataset, c), {})) for c in self.classifiers}
            most = max(sizes.values())
            lacking = [f"{c} has {n} of {most}" for c, n in sizes.items() if n < most]
            if lacking:
                notes.append(f"Folds of {dataset}: {', '.join(lacking)}. Comparisons use the folds that both have.")
        return notes

    def _measure(self, name: str) -> str:
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

    def _one(self, dataset: str | None) -> str:
        if dataset is not None:
            return self._dataset(dataset)
        if len(self.datasets) != 1:
            raise OptionError(
                f"this is about one data set, and there are {len(self.datasets)}: {', '.join(self.datasets)}. "
                "Name one, use select(datasets=[...]), or see over_datasets()."
            )
        return self.datasets[0]


def _counted(common: Sequence[str], note: Sequence[str]) -> str:
    return "\n".join([f"Over {len(common)} data set{'s' * (len(common) != 1)}.", *note])


def _line(folds: Sequence[Record], measures: Sequence[str]) -> list[float]:
    """Means of the measures; accuracy is followed by its standard deviation."""
    cells = []
    for name in measures:
        cells.append(mean_of(folds, name))
        if name == "accuracy":
            values = values_of(folds, name)
            cells.append(float(np.std(values, ddof=1)) if len(values) > 1 else float("nan"))
    return cells
