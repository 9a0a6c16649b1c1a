"""What is run: four streams, classifiers with and without forgetting, and others beside them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from experiments.common import ENTROPY
from tanager import AODE, FANC, TAN, DriftAware, Encoder, EvolvingNaiveBayes, NaiveBayes
from tanager.datasets import load
from tanager.evaluate import PrequentialResults, Table, prequential

SETS = ("weather", "eeg-eye-state", "spam", "outdoor")
HALF_LIFE, WINDOW = 700, 1000  # rows; either way about 1,000 rows count
REFRESH = 100  # rows after which TAN learns its tree anew
MEMORIES = (100, 300, 1000, 3000)  # windows of naive Bayes, for the second table
MANY = 100  # columns; with more, window and DriftAware are for naive Bayes alone
DRAWN = ("no change", "NB", "NB, decay", "NB, aware", "AODE, decay", "river tree")  # in the picture
MEASURES = ("accuracy", "kappa", "log_loss", "fading", "seconds")

Progress = Callable[[int, int, str], object]


class NoChange:
    """Answers with the last label, whatever the row."""

    def __init__(self) -> None:
        self.last: Any = None

    def predict_proba_one(self, row: dict[str, Any]) -> dict[Any, float]:
        """All on the last label."""
        return {} if self.last is None else {self.last: 1.0}

    def learn_one(self, row: dict[str, Any], y: Any) -> None:
        """Remember the label."""
        self.last = y


class Stream:
    """Rows and labels of a data set in the order of its file: numbers, or codes where all columns are categories."""

    def __init__(self, name: str, n_rows: int | None = None) -> None:
        data = load(name)
        self.name, self.y = name, data.y[:n_rows]
        self.numbers = bool(data.options["numeric"])
        if self.numbers:
            columns = [data.X[column].to_numpy() for column in data.options["numeric"]]
            self.X = np.column_stack(columns).astype(float)[:n_rows]
        else:
            codes = [np.unique(cells.to_numpy(), return_inverse=True)[1] for cells in data.X.columns]
            self.X = np.column_stack(codes).astype(np.uint8)[:n_rows]

    def models(self) -> dict[str, Any]:
        """All that is compared."""
        own = {} if self.numbers else {"schema": Encoder().fit(self.X).schema}  # codes and nothing else
        known = {**own, **ENTROPY}
        many = self.X.shape[1] > MANY
        ours: dict[str, Any] = {}
        for name, cls, options in (
            ("NB", NaiveBayes, {}),
            ("AODE", AODE, {}),
            ("FANC", FANC, {}),
            ("TAN", TAN, {"refresh": REFRESH}),
        ):
            ours[name] = cls(**known, **options)
            ours[f"{name}, decay"] = cls(decay=HALF_LIFE, **known, **options)
            if name == "NB" or not many:
                ours[f"{name}, window"] = cls(window=WINDOW, **known, **options)
                ours[f"{name}, aware"] = DriftAware(cls(**known, **options))
        if self.numbers:
            ours["Gaussian NB"] = NaiveBayes(gaussian=True)
        ours["evolving NB"] = EvolvingNaiveBayes(**own)
        ours["evolving NB, exponential"] = EvolvingNaiveBayes(alpha=1 / WINDOW, **own)
        return {"no change": NoChange(), **ours, **self._river()}

    def _river(self) -> dict[str, Any]:
        from river.naive_bayes import BernoulliNB, GaussianNB
        from river.tree import HoeffdingTreeClassifier

        return {"river NB": GaussianNB() if self.numbers else BernoulliNB(), "river tree": HoeffdingTreeClassifier()}

    def memories(self) -> dict[str, Any]:
        """Naive Bayes with windows of several lengths, and with all rows."""
        return {f"{rows:,} rows": NaiveBayes(window=rows, **ENTROPY) for rows in MEMORIES} | {
            "all rows": NaiveBayes(**ENTROPY)
        }


def results(names: tuple[str, ...], n_rows: int | None, progress: Progress) -> tuple[Table, Table, Table]:
    """Measures at the end, fading accuracy on the way, and the accuracy of naive Bayes by the length of its window."""
    lines, curves, memories = [], [], []
    for name in names:
        stream = Stream(name, n_rows)
        models = stream.models()
        for at, (model, own) in enumerate(models.items()):
            progress(at, len(models), f"{name}, {model}")
            result = _run({model: own}, stream)
            lines.append([name, model, result.n_rows, *_figures(result, model), _events(own)])
            if model in DRAWN:
                fading = [f"{value:.4f}" for value in result.curve(model, over="fading")]
                curves += [[name, model, *point] for point in zip(result.rows.tolist(), fading, strict=True)]
        result = _run(stream.memories(), stream)
        memories += [[name, model, float(result.curve(model)[-1])] for model in result.models]
    return (
        Table(["stream", "model", "n_rows", *MEASURES, "swaps"], lines),
        Table(["stream", "model", "row", "fading"], curves),
        Table(["stream", "window", "accuracy"], memories),
    )


def _run(models: dict[str, Any], stream: Stream) -> PrequentialResults:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of others
        return prequential(models, stream.X, stream.y, every=max(1, len(stream.y) // 60))


def _figures(result: PrequentialResults, model: str) -> list[float]:
    whole = [float(result.curve(model, measure)[-1]) for measure in ("accuracy", "kappa", "log_loss")]
    return [*whole, float(result.curve(model, over="fading")[-1]), result.seconds[model]]


def _events(model: Any) -> int | None:
    return sum(event.what == "swap" for event in model.events_) if isinstance(model, DriftAware) else None
