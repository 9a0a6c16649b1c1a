"""What is run: streams, whose first thousand rows fix cut points by a rule, and classifiers over all that follow."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from experiments.accuracy.run import developed_on
from experiments.common import whole
from experiments.real_streams.rivals import _of_river, river_stream
from experiments.stream_bins.rules import RULES
from tanager import AODE, FANC, TAN, Encoder, HalfLives, NaiveBayes, generate
from tanager.encoding import encode_labels

FIRST = 1000  # rows that cut points are made from
ROWS = 20_000  # at most
IN_ORDER = ("eeg-eye-state", "outdoor", "weather")  # the order of time; other tables are shuffled
TABLES = (
    *IN_ORDER, "abalone", "adult", "hypothyroid", "letter", "satimage", "segment", "shuttle", "sick", "sign", "thyroid",
    "waveform-5000",
)  # fmt: skip
CLASSIFIERS: dict[str, Callable[..., Any]] = {
    "NaiveBayes": NaiveBayes,
    "TAN": TAN,
    "AODE": AODE,
    "FANC": FANC,
    "HalfLives": lambda **options: HalfLives(AODE(**options)),
}
LEAST = 1e-15  # a probability of the true class below counts as this in the log loss


def _made(make: Callable[[], Any]) -> Callable[[], tuple[Any, np.ndarray]]:
    def read() -> tuple[Any, np.ndarray]:
        source = make()
        if isinstance(source, generate.Stream):
            return source.take(ROWS)
        pairs = list(source.take(ROWS))
        names = list(pairs[0][0])
        return np.array([[float(row[name]) for name in names] for row, _ in pairs]), np.array([y for _, y in pairs])

    return read


def _prices() -> tuple[np.ndarray, np.ndarray]:
    """Half-hours of a market: is the price above its mean of the last day? Columns drift, few tell anything alone."""
    rng = np.random.default_rng(5)
    n = ROWS
    hour = np.arange(n) % 48 / 47
    demand, price = np.zeros(n), np.zeros(n)
    noise = rng.normal(size=(n, 2))
    for t in range(1, n):
        demand[t] = 0.98 * demand[t - 1] + 0.2 * noise[t, 0]
        price[t] = 0.9 * price[t - 1] + 0.25 * demand[t] + 0.8 * np.sin(6.3 * (hour[t] - 0.3)) + 0.3 * noise[t, 1]
    means = np.convolve(price, np.ones(48) / 48)[:n]
    rise = np.array([price[t] > means[t] for t in range(n)])
    X = np.column_stack([hour, demand, np.roll(demand, 1), np.roll(price, 48), rng.normal(size=n)])
    return X, np.where(rise, "up", "down")


MADE: dict[str, Callable[[], tuple[Any, np.ndarray]]] = {
    "sea": _made(lambda: generate.sea(every=5000, random_state=3)),
    "hyperplane": _made(lambda: generate.hyperplane(change=1e-4, n_changing=4, random_state=3)),
    "gaussians": _made(lambda: generate.gaussians(n_columns=8, n_classes=3, n_clusters=2, random_state=3)),
    "moving-gaussians": _made(lambda: generate.moving_gaussians(speed=1e-3, n_clusters=2, random_state=3)),
    "xor": _made(lambda: generate.xor(random_state=3)),
    "overlap": _made(lambda: generate.overlap(n_columns=5, random_state=3)),
    "prices": _prices,
    "phishing": _of_river("Phishing"),
    "bananas": _of_river("Bananas"),
    "image-segments": _of_river("ImageSegments"),
    "agrawal-1": _made(lambda: river_stream("Agrawal", classification_function=1, seed=3)),
    "agrawal-5": _made(lambda: river_stream("Agrawal", classification_function=5, seed=3)),
    "agrawal-7": _made(lambda: river_stream("Agrawal", classification_function=7, seed=3)),
    "rbf": _made(
        lambda: river_stream("RandomRBF", seed_model=3, seed_sample=3, n_classes=4, n_features=10, n_centroids=30)
    ),
    "moving-rbf": _made(
        lambda: river_stream(
            "RandomRBFDrift", seed_model=3, seed_sample=3, n_features=10, n_centroids=20, change_speed=1e-4
        )
    ),
    "random-tree": _made(
        lambda: river_stream("RandomTree", seed_tree=3, seed_sample=3, n_num_features=6, n_cat_features=2)
    ),
    "sine": _made(lambda: river_stream("Sine", classification_function=2, seed=3)),
    "mixed": _made(lambda: river_stream("Mixed", seed=3)),
    "waveform": _made(lambda: river_stream("Waveform", seed=3)),
}
STREAMS = (*TABLES, *MADE)


REPORTED = ("mdl", "refined", "frequency, 10", "stream")  # what the other half of the streams is asked about
SLOW = ("FANC", "HalfLives")  # are asked about these alone, and not on streams of very many classes
MANY_CLASSES = ("letter", "outdoor")


def jobs(names: Sequence[str]) -> list[tuple[str, str, str]]:
    """Stream, rule and classifier of all runs: all rules where choices are made, elsewhere what is reported."""
    return [
        (name, rule, classifier)
        for classifier in CLASSIFIERS
        for name in names
        for rule in (RULES if developed_on(name) and classifier not in SLOW else REPORTED)
        if not (classifier in SLOW and name in MANY_CLASSES)
    ]


@cache
def stream(name: str) -> tuple[Any, np.ndarray, dict[str, Any]]:
    """Rows, labels, and which columns hold categories."""
    if name in MADE:
        X, y = MADE[name]()
        return X, np.asarray(y).astype(str), {}
    data = whole(name)
    order = np.arange(len(data.y)) if name in IN_ORDER else np.random.default_rng(0).permutation(len(data.y))
    order = order[:ROWS]
    return data.X.take(order), np.asarray(data.y)[order].astype(str), {"categorical": data.options["categorical"]}


def run_stream(name: str, rule: str, classifier: str) -> list[dict[str, Any]]:
    """Log loss and accuracy of one classifier over the rows after the first thousand."""
    X, y, kinds = stream(name)
    labels, classes = encode_labels(y[:FIRST])
    head = X[:FIRST] if isinstance(X, np.ndarray) else X.slice(0, FIRST)
    schema = Encoder(**kinds).learn(head, labels, None, len(classes)).schema
    columns = {i: c.name for i, c in enumerate(schema.columns) if c.kind == "numeric"}
    bins: dict[Any, Any] = {}
    for i in columns:
        x = head[:, i] if isinstance(head, np.ndarray) else head.column(i).to_numpy()
        bins[i] = RULES[rule](np.asarray(x, dtype=float), labels).tolist()
    model = CLASSIFIERS[classifier](bins=bins, **kinds)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        proba = model.test_then_train(X, y)[FIRST:]
    codes = np.searchsorted(model.classes_, y[FIRST:])
    n_bins = float(np.mean([len(cuts) + 1 for cuts in bins.values()])) if bins else 0.0
    log_loss = float(-np.log(np.maximum(proba[np.arange(len(codes)), codes], LEAST)).mean())
    error = float((proba.argmax(axis=1) != codes).mean())
    figures = {"n_bins": n_bins, "log_loss": log_loss, "error": error}
    return [{"stream": name, "rule": rule, "classifier": classifier, "n_rows": len(y)} | figures]
