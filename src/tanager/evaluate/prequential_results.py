"""The results of a prequential evaluation: curves, tables and pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from tanager.encoding.labels import sort_key
from tanager.errors import OptionError, check_option, nearest
from tanager.evaluate.baselines import NO_CHANGE, kappa_temporal
from tanager.evaluate.display import prequential_html
from tanager.evaluate.stream_measures import MEASURES, SPANS, Report, named
from tanager.evaluate.table import Table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from tanager.encoding.typing import Label


class PrequentialResults:
    """Measures of models along a stream; made by ``prequential``.

    Every measure (``accuracy``, ``kappa``, ``kappa_temporal``, ``log_loss``, ``cost`` where there are costs, and
    ``recall`` of every class) comes over three spans: the ``whole`` stream so far, with ``fading`` weights, and a
    ``window`` of the last rows.

    Parameters
    ----------
    models : mapping of name to classifier
        The models, as they are after the stream.
    rows : array of int
        After how many rows the measures were reported.
    history : mapping of name to sequence of Report
        The measures of each model, one report for each of ``rows``.
    classes : sequence
        All classes that occurred or were declared, in the order of their codes.
    seconds : mapping of name to float
        How long each model took to predict and learn.
    n_before : mapping of name to int
        How many rows each model had learned before the stream.
    drifts : sequence of int, default=()
        Rows at which the stream changes, for streams that know.
    dropped : mapping of name to str or None, default=None
        Columns that were not learned, and why; None: there are none.
    baselines : mapping of name to sequence of Report, or None, default=None
        As ``history``, of classifiers that look at labels alone; None: there are none.
    fade : float, default=0.999
        The factor per row by which the weight of old rows decreases in ``fading`` measures.
    window : int, default=1000
        Rows of the ``window`` measures.
    costs : bool, default=False
        Whether costs were measured.

    Attributes
    ----------
    rows : array of int
        After how many rows the measures were reported.
    models : dict of name to classifier
        The models themselves, as they are after the stream.
    classes : list
        All classes that occurred or were declared, in sorted order.
    seconds : dict of name to float
        How long each model took to predict and learn.
    drifts : list of int
        Rows at which the stream changes, for streams that know.
    events : dict of name to list of (row, what)
        What the models detected, for those that have ``events_``.
    dropped : dict of name to str
        Columns that were not learned, and why.
    baselines : list of str
        Classifiers that look at labels alone; ``curve`` has their measures too, but for the log loss.

    Examples
    --------
    The rule turns round after 500 rows. One model remembers all rows, the other one forgets:

    >>> from tanager import NaiveBayes
    >>> from tanager.evaluate import prequential
    >>> X = [["sun"], ["rain"]] * 500
    >>> y = ["play", "stay"] * 250 + ["stay", "play"] * 250
    >>> models = {"all rows": NaiveBayes(), "forgets": NaiveBayes(decay=0.95)}
    >>> results = prequential(models, X, y, every=200, window=100)
    >>> results.rows.tolist()
    [200, 400, 600, 800, 1000]
    >>> for name in results.models:
    ...     print(name, results.curve(name, "accuracy", "window"), results.lowest(name))
    all rows [1. 1. 0. 0. 0.] (600, 0.0)
    forgets [1.   1.   0.86 1.   1.  ] (600, 0.86)
    """

    def __init__(
        self,
        models: Mapping[str, Any],
        rows: np.ndarray,
        history: Mapping[str, Sequence[Report]],
        *,
        classes: Sequence[Any],
        seconds: Mapping[str, float],
        n_before: Mapping[str, int],
        drifts: Sequence[int] = (),
        dropped: Mapping[str, str] | None = None,
        baselines: Mapping[str, Sequence[Report]] | None = None,
        fade: float = 0.999,
        window: int = 1000,
        costs: bool = False,
    ) -> None:
        self.models, self.rows = dict(models), rows
        order = sorted(range(len(classes)), key=lambda c: sort_key(classes[c]))
        self.classes = [classes[c] for c in order]
        self.seconds, self.drifts, self.dropped = dict(seconds), list(drifts), dict(dropped or {})
        self.fade, self.window = fade, window
        self.measures = ["accuracy", "kappa", "kappa_temporal", "log_loss", *(["cost"] if costs else [])]
        self.events = {
            name: events_of(model, n_before[name]) for name, model in models.items() if hasattr(model, "events_")
        }
        labels_alone = {name: _as_arrays(reports, order) for name, reports in (baselines or {}).items()}
        self.baselines = [name for name in labels_alone if name not in self.models]
        self._curves = {name: _as_arrays(reports, order) for name, reports in history.items()}
        self._curves |= {name: labels_alone[name] for name in self.baselines}
        for curves in self._curves.values():
            for over in SPANS:
                accuracy = curves[named("accuracy", over)]
                last = labels_alone[NO_CHANGE][named("accuracy", over)] if labels_alone else np.ones(len(accuracy))
                curves[named("kappa_temporal", over)] = kappa_temporal(accuracy, last)

    @property
    def n_rows(self) -> int:
        """How many rows the stream had."""
        return int(self.rows[-1])

    def curve(self, model: str | None = None, measure: str = "accuracy", over: str = "whole") -> np.ndarray:
        """A measure at each of ``rows``; ``recall`` has one column per class.

        ``over`` is ``"whole"`` (the stream so far), ``"fading"`` or ``"window"`` (the last rows).

        Parameters
        ----------
        model : str or None, default=None
            The name of a model or baseline; None where there is one model only.
        measure : str, default="accuracy"
            One of ``measures``, or "recall".
        over : {"whole", "fading", "window"}, default="whole"
            The stream so far, the same with fading weights, or the last rows.

        Returns
        -------
        array of shape (n_reports,) or (n_reports, n_classes)
            One value for each of ``rows``; NaN where it is not defined.
        """
        check_option("over", over, SPANS)
        known = [*self.measures, "recall"]
        if measure not in known:
            raise OptionError(
                f"there is no measure {measure!r}; there are {', '.join(known)}.{nearest(measure, known)}"
            )
        return self._curves[self._model(model)][named(measure, over)]

    def lowest(self, model: str | None = None) -> tuple[int, float]:
        """The row after which the accuracy over a full window was lowest, and that accuracy.

        Parameters
        ----------
        model : str or None, default=None
            The name of a model or baseline; None where there is one model only.

        Returns
        -------
        row : int
            After how many rows; the last where no window was full.
        accuracy : float
            Over the window that ends there.
        """
        curve = self.curve(model, "accuracy", "window")
        full = np.flatnonzero((self.rows >= self.window) & ~np.isnan(curve))
        if not len(full):
            return self.n_rows, float(curve[-1])
        at = full[np.argmin(curve[full])]
        return int(self.rows[at]), float(curve[at])

    def summary(self) -> Table:
        """The measures at the end, where the accuracy was lowest, and how fast the models were.

        Returns
        -------
        Table
            A line per model and baseline.
        """
        lines = []
        for name in [*self.models, *self.baselines]:
            whole = [float(self.curve(name, measure)[-1]) for measure in self.measures]
            recent = [float(self.curve(name, "accuracy", over)[-1]) for over in ("fading", "window")]
            seconds = self.seconds.get(name, np.nan)
            lines.append((name, *whole, *recent, *self.lowest(name)[::-1], seconds, self.n_rows / max(seconds, 1e-9)))
        heads = [measure.replace("_", " ") for measure in self.measures]
        names = ("model", *heads, "fading", "window", "lowest", "at row", "seconds", "rows/s")
        note = (
            f"{self.n_rows:,} rows. 'fading' and 'window' are the accuracy at the end, with weights that fade by "
            f"{self.fade:g} per row and over the last {self.window:,} rows; 'lowest' is the lowest of the latter. "
            "'no change' answers with the last label that has arrived, 'majority' with the most frequent one; "
            "'kappa temporal' is the accuracy between that of 'no change' (0) and 1."
        )
        return Table(names, lines, {"seconds": ".3g", "rows/s": ",.0f"}, note)

    def per_class(self) -> Table:
        """Recall of every class over the whole stream.

        Returns
        -------
        Table
            A line per class, a column per model.
        """
        recalls = [self.curve(name, "recall")[-1] for name in self.models]
        return Table(
            ["class", *self.models], [(str(c), *map(float, r)) for c, *r in zip(self.classes, *recalls, strict=True)]
        )

    def to_table(self) -> Table:
        """All curves: one line per model and report.

        Returns
        -------
        Table
            A column for each measure and span.
        """
        names = [named(measure, over) for over in SPANS for measure in self.measures]
        recalls = [named("recall", over) for over in SPANS]
        heads = ["model", "row", *names, *(f"{name}_{c}" for name in recalls for c in self.classes)]
        lines = []
        for model, curves in self._curves.items():
            columns = [*(curves[name] for name in names), *(own for name in recalls for own in curves[name].T)]
            cells = np.column_stack(columns).tolist()
            lines += [(model, row, *line) for row, line in zip(self.rows.tolist(), cells, strict=True)]
        return Table(heads, lines)

    def to_csv(self, path: str | PathLike[str] | None = None) -> str:
        """All curves as comma-separated text; also written where a path is given.

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

    def to_pandas(self) -> pd.DataFrame:
        """All curves as a pandas data frame.

        Returns
        -------
        pandas.DataFrame
            With the lines and columns of ``to_table``.
        """
        return self.to_table().to_pandas()

    def plot(
        self,
        path: str | PathLike[str] | None = None,
        measure: str = "accuracy",
        over: str = "window",
        *,
        label: Label | None = None,
        title: str | None = None,
    ) -> Figure:
        """A curve per model, with dashed lines where the stream changes and ticks where a model detected something.

        The accuracy of baselines, which look at labels alone, is drawn as well. ``measure`` and ``over`` as in
        ``curve``; ``recall`` is drawn for one class, ``label``. Needs matplotlib, the extra ``plot``.

        Parameters
        ----------
        path : path or None, default=None
            File to write; its extension sets the format: .png, .svg or .pdf.
        measure : str, default="accuracy"
            One of ``measures``, or "recall".
        over : {"whole", "fading", "window"}, default="window"
            The stream so far, the same with fading weights, or the last rows.
        label : label or None, default=None
            The class whose recall is drawn.
        title : str or None, default=None
            The line above the picture; None: no line.

        Returns
        -------
        matplotlib.figure.Figure
            One panel.
        """
        from tanager.plot import plot_curves

        drawn = [*self.models, *(self.baselines if measure == "accuracy" else [])]
        curves = {name: self.curve(name, measure, over) for name in drawn}
        what = measure.replace("_", " ")
        if measure == "recall":
            if label not in self.classes:
                raise OptionError(f"recall is drawn for one class; set label= to one of {self.classes}.")
            curves = {name: curve[:, self.classes.index(label)] for name, curve in curves.items()}
            what = f"recall of {label}"
        spans = {"whole": "so far", "fading": f"fading by {self.fade:g}", "window": f"over {self.window:,} rows"}
        return plot_curves(
            self.rows,
            curves,
            path,
            measure=f"{what} {spans[over]}",
            drifts=self.drifts,
            events=self.events,
            title=title,
        )

    def __repr__(self) -> str:
        ends = ", ".join(f"{name} {self.curve(name)[-1]:.4f}" for name in self.models)
        return f"PrequentialResults({self.n_rows:,} rows; accuracy: {ends})"

    def __str__(self) -> str:
        return str(self.summary())

    def _repr_html_(self) -> str:
        return prequential_html(self)

    def _model(self, name: str | None) -> str:
        if name is None and len(self.models) == 1:
            return next(iter(self.models))
        if name not in self._curves:
            hint = nearest(name, self.models)
            raise OptionError(f"there is no model {name!r}; there are {', '.join(self.models)}.{hint}")
        return str(name)


def _as_arrays(reports: Sequence[Report], order: Sequence[int]) -> dict[str, np.ndarray]:
    """One array per measure; those of recall have a column per class, in this order."""
    values = np.array([report.values for report in reports])
    recalls = np.full((len(reports), len(SPANS), len(order)), np.nan)
    for at, report in enumerate(reports):
        recalls[at, :, : report.recall.shape[1]] = report.recall
    curves: dict[str, np.ndarray] = {}
    for w, span in enumerate(SPANS):
        curves |= {named(measure, span): values[:, w, m] for m, measure in enumerate(MEASURES)}
        curves[named("recall", span)] = recalls[:, w, order]
    return curves


def rows_learned(model: Any) -> int:
    """How many rows a model has learned, by its own count; later events belong to this evaluation."""
    return int(getattr(model, "n_rows_", 0))


def events_of(model: Any, n_before: int) -> list[tuple[int, str]]:
    """Row and kind of what a model detected after its first ``n_before`` rows."""
    found = [(int(_field(event, "row")) - n_before, str(_field(event, "what"))) for event in model.events_]
    return [(row, what) for row, what in found if row > 0]


def _field(event: Any, name: str) -> Any:
    return event[name] if isinstance(event, Mapping) else getattr(event, name)
