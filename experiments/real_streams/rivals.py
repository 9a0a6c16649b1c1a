"""HalfLives as it comes beside river's classifiers as they come: streams, what is run, and its figures."""

from __future__ import annotations

import csv
import pickle
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments.common import read_csv
from experiments.real_streams.run import Stream
from tanager import AODE, HalfLives, generate
from tanager.evaluate import Table, friedman, nemenyi

ROWS = 5_000  # of a real stream at most
MADE = 4_000  # of a generated one
CHOSEN_ON = ("weather", "outdoor")  # real streams by which the settings of HalfLives were chosen
SPAM = 1_000  # of spam, whose 500 columns take long
COLUMNS = ("stream", "model", "n_rows", "accuracy", "log_loss", "kappa_temporal", "seconds", "bytes")
OURS = ("HalfLives", "HalfLives, last label", "HalfLives, subspaces", "HalfLives, more bins", "AODE")
THEIRS = ("adaptive random forest", "Hoeffding adaptive tree", "naive Bayes, ADWIN")
ALONE = ("no change", "majority")  # which look at labels alone, and are not ranked
LEAST = 1e-15  # a probability of the true class below counts as this in the log loss

Rows = tuple[np.ndarray, np.ndarray]


def real(name: str, n_rows: int = ROWS) -> Callable[[], Rows]:
    """The first rows of a stream in the folder that TANAGER_DATA names."""

    def read() -> Rows:
        stream = Stream(name, n_rows)
        return stream.X, stream.y

    return read


def taken(make: Callable[[], Any]) -> Callable[[], Rows]:
    """Rows of a generator, ours or river's."""

    def read() -> Rows:
        if isinstance(source := make(), generate.Stream):
            return source.take(MADE)
        pairs = list(source.take(MADE))
        names = list(pairs[0][0])
        return np.array([[float(row[name]) for name in names] for row, _ in pairs]), np.array([y for _, y in pairs])

    return read


def river_stream(name: str, **options: Any) -> Any:
    """A generator of river."""
    from river.datasets import synth

    return getattr(synth, name)(**options)


def _changing(name: str, before: dict[str, Any], after: dict[str, Any], width: int) -> Any:
    a, b = river_stream(name, **before), river_stream(name, **after)
    return river_stream("ConceptDriftStream", stream=a, drift_stream=b, position=MADE // 2, width=width, seed=11)


def _of_river(name: str) -> Callable[[], Rows]:
    def read() -> Rows:
        import river.datasets

        pairs = list(getattr(river.datasets, name)())
        names = list(pairs[0][0])
        labels = np.array([str(y) for _, y in pairs])
        return np.array([[float(row[column]) for column in names] for row, _ in pairs]), labels

    return read


STREAMS: dict[str, Callable[[], Rows]] = {
    "weather": real("weather"),
    "outdoor": real("outdoor"),
    "eeg-eye-state": real("eeg-eye-state"),
    "spam": real("spam", SPAM),
    "phishing": _of_river("Phishing"),
    "bananas": _of_river("Bananas"),
    "image-segments": _of_river("ImageSegments"),
    "sea, abrupt": taken(lambda: generate.sea(every=2000, random_state=11)),
    "hyperplane, incremental": taken(lambda: generate.hyperplane(change=1e-3, n_changing=4, random_state=11)),
    "gaussians, moving": taken(lambda: generate.moving_gaussians(speed=2e-3, n_clusters=2, random_state=11)),
    "tan, abrupt": taken(
        lambda: generate.drift(generate.tan(random_state=11), generate.tan(random_state=12), at=MADE // 2)
    ),
    "tan, none": taken(lambda: generate.tan(random_state=13)),
    "rbf, none": taken(
        lambda: river_stream("RandomRBF", seed_model=11, seed_sample=11, n_classes=3, n_features=10, n_centroids=25)
    ),
    "naive Bayes, recurring": taken(
        lambda: generate.recurring(
            generate.naive_bayes(random_state=11), generate.naive_bayes(random_state=12), every=MADE // 8
        )
    ),
    "stagger, recurring": taken(lambda: generate.stagger(every=1000, random_state=11)),
    "agrawal, gradual": taken(
        lambda: _changing(
            "Agrawal", {"classification_function": 1, "seed": 11}, {"classification_function": 6, "seed": 11}, 1500
        )
    ),
    "rbf, moving": taken(
        lambda: river_stream(
            "RandomRBFDrift",
            seed_model=11,
            seed_sample=11,
            n_classes=3,
            n_features=10,
            n_centroids=25,
            change_speed=0.001,
            n_drift_centroids=25,
        )
    ),
    "sine, reversed": taken(
        lambda: _changing(
            "Sine", {"classification_function": 2, "seed": 11}, {"classification_function": 3, "seed": 11}, 200
        )
    ),
}


def models() -> dict[str, Callable[[], Any]]:
    """All that is compared, as it comes."""
    from river.drift import ADWIN, DriftRetrainingClassifier
    from river.forest import ARFClassifier
    from river.naive_bayes import GaussianNB
    from river.tree import HoeffdingAdaptiveTreeClassifier

    return {
        "HalfLives": HalfLives,
        "HalfLives, last label": lambda: HalfLives(lag=1),
        "HalfLives, subspaces": lambda: HalfLives(subspaces=2),
        "HalfLives, more bins": lambda: HalfLives(more_bins=(5, 20)),
        "AODE": AODE,
        "adaptive random forest": lambda: ARFClassifier(seed=1),
        "Hoeffding adaptive tree": lambda: HoeffdingAdaptiveTreeClassifier(seed=1),
        "naive Bayes, ADWIN": lambda: DriftRetrainingClassifier(GaussianNB(), ADWIN(), train_in_background=False),
        "no change": lambda: "no change",
        "majority": lambda: "majority",
    }


TURNS = 2  # the quicker one counts: in the first, a virtual machine is still given the memory, which can take as long
SECONDS = 3  # its place among the figures


def run(path: Path, names: Sequence[str] | None, kinds: Sequence[str] | None, progress: Callable[..., object]) -> None:
    """Answer and learn every stream with every model; lines that the file has already are kept."""
    done = {(line["stream"], line["model"]) for line in read_csv(path)} if path.exists() else set()
    made = models()
    left_out = {("spam", "HalfLives, more bins")}  # it has no numbers to cut otherwise
    wanted = [(s, m) for m in kinds or made for s in names or STREAMS if (s, m) not in done | left_out]
    for at, (stream, model) in enumerate(wanted):
        progress(at, len(wanted), f"{stream}, {model}")
        X, y = STREAMS[stream]()
        turns = [_figures(made[model](), X, y) for _ in range(TURNS)]
        line = [stream, model, len(y), *min(turns, key=lambda own: float(own[SECONDS] or 0))]
        with open(path, "a", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            if file.tell() == 0:
                writer.writerow(COLUMNS)
            writer.writerow(line)


def _figures(model: Any, X: np.ndarray, y: np.ndarray) -> list[str]:
    """Accuracy, log loss, kappa-temporal, seconds of the processor, and bytes of the model as a pickle."""
    classes = np.unique(y)
    codes = np.searchsorted(classes, y)
    start = time.thread_time()
    if isinstance(model, str):
        return _labels_alone(model, codes)
    if isinstance(model, HalfLives | AODE):
        proba = model.test_then_train(X, y)
        seconds = time.thread_time() - start
    else:
        proba, seconds = _row_by_row(model, X, y, classes)
    accuracy = float((proba.argmax(axis=1) == codes).mean())
    log_loss = float(-np.log(np.maximum(proba[np.arange(len(y)), codes], LEAST)).mean())
    size = len(pickle.dumps(model))
    return [f"{accuracy:.4f}", f"{log_loss:.4f}", f"{_temporal(accuracy, codes):.4f}", f"{seconds:.3f}", str(size)]


def _temporal(accuracy: float, codes: np.ndarray) -> float:
    unchanged = float((codes[1:] == codes[:-1]).mean())
    return (accuracy - unchanged) / (1 - unchanged)


def _labels_alone(name: str, codes: np.ndarray) -> list[str]:
    """Figures of who answers with the last label, or with the most frequent one so far."""
    seen = np.cumsum(np.eye(codes.max() + 1)[codes], axis=0)
    answers = codes if name == "no change" else seen.argmax(axis=1)
    accuracy = float((answers[:-1] == codes[1:]).sum() / len(codes))
    return [f"{accuracy:.4f}", "", f"{_temporal(accuracy, codes):.4f}", "", ""]


def _row_by_row(model: Any, X: np.ndarray, y: np.ndarray, classes: np.ndarray) -> tuple[np.ndarray, float]:
    """A model of river over dicts, which are made beforehand; a row without an answer is answered evenly."""
    rows = [dict(zip(map(str, range(X.shape[1])), row, strict=True)) for row in X.tolist()]
    labels, told = y.tolist(), []
    start = time.thread_time()
    for row, label in zip(rows, labels, strict=True):
        told.append(model.predict_proba_one(row))
        model.learn_one(row, label)
    seconds = time.thread_time() - start
    proba = np.array([[own.get(label, 0.0) for label in classes.tolist()] for own in told])
    total = proba.sum(axis=1, keepdims=True)
    return np.where(total > 0, proba / np.maximum(total, 1e-300), 1 / len(classes)), seconds


def tables(path: Path) -> dict[str, Table]:
    """The tables of the page: a line per stream, a column per model; and ranks."""
    lines = read_csv(path)
    speeds = [
        line | {"speed": line["n_rows"] / max(line["seconds"], 1e-9)}
        for line in lines
        if isinstance(line["seconds"], int | float)
    ]
    memory = [line | {"mb": line["bytes"] / 1e6} for line in speeds if isinstance(line.get("bytes"), int | float)]
    unmeasured = Table(["stream"], [["not measured in this run"]])
    return {
        "rivals-memory": _by_model(memory, "mb", ",.2f") if memory else unmeasured,
        "rivals-accuracy": _by_model(lines, "accuracy", ".4f"),
        "rivals-log-loss": _by_model(speeds, "log_loss", ".4f"),
        "rivals-kappa": _by_model(lines, "kappa_temporal", ".3f"),
        "rivals-speed": _by_model(speeds, "speed", ",.0f"),
        "rivals-ranks": _ranks(speeds),
    }


def _by_model(lines: list[dict[str, Any]], measure: str, form: str) -> Table:
    kinds = [name for name in (*OURS, *THEIRS, *ALONE) if any(line["model"] == name for line in lines)]
    found = {(line["stream"], line["model"]): line[measure] for line in lines}
    streams = [name for name in STREAMS if any(line["stream"] == name for line in lines)]
    rows = [[stream, *(found.get((stream, kind)) for kind in kinds)] for stream in streams]
    return Table(["stream", *kinds], rows, dict.fromkeys(kinds, form))


def _ranks(lines: list[dict[str, Any]]) -> Table:
    """Mean ranks over the streams that all models were run on and no setting was chosen by."""
    kinds = [name for name in (*OURS, *THEIRS) if any(line["model"] == name for line in lines)]
    found = {(line["stream"], line["model"]): line for line in lines}
    shared = [s for s in STREAMS if s not in CHOSEN_ON and all((s, kind) in found for kind in kinds)]
    cells = []
    for measure, sign in (("accuracy", -1), ("log_loss", 1), ("speed", -1)):
        losses = [[sign * found[stream, kind][measure] for kind in kinds] for stream in shared]
        cells.append([measure, *friedman(losses).mean_ranks, nemenyi(len(kinds), len(shared)), len(shared)])
    form = dict.fromkeys([*kinds, "critical difference"], ".2f")
    return Table(["mean rank by", *kinds, "critical difference", "streams"], cells, form)
