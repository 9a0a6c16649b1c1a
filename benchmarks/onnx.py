"""Exported models in onnxruntime.

``python -m benchmarks.onnx`` prints rows per second and microseconds for one row, beside skl2onnx's export of a random
forest that is as accurate. ``python -m benchmarks.onnx differences`` prints, for every classifier, the largest
difference to tanager's own answers over data sets with gaps and new values (those of ``tanager datasets`` that are at
hand; see TANAGER_DATA).
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

import tanager
from benchmarks.harness import Line, best_times
from tanager import A2DE, AODE, FANC, HNB, KDB, TAN, NaiveBayes, NBTree, NetworkForest, OptionError, datasets, to_onnx
from tanager.export.onnx import onnx_inputs

SOURCES = {"breast cancer, 569 x 30, 2 classes": load_breast_cancer, "digits, 1797 x 64, 10 classes": load_digits}
BATCH = 256  # rows; with more, what lies between the nodes of a graph leaves the cache
SIZES = (1, 2, 3, 5, 8, 13, 20, 30, 50, 80, 130, 200)  # of forests


def session(model: Any) -> Callable[[Any], Any]:
    """An ONNX model in onnxruntime, on one thread."""
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads, settings.inter_op_num_threads, settings.log_severity_level = 1, 1, 3
    made = onnxruntime.InferenceSession(model.SerializeToString(), settings)
    return lambda inputs: made.run(None, inputs)


def forest_like(accuracy: float, data: tuple[np.ndarray, ...]) -> tuple[RandomForestClassifier, float]:
    """The smallest random forest that is as accurate, or the most accurate of all."""
    X, X_test, y, y_test = data
    best: tuple[RandomForestClassifier, float] | None = None
    for n in SIZES:
        forest = RandomForestClassifier(n, random_state=0).fit(X, y)
        found = forest, float(forest.score(X_test, y_test))
        best = found if best is None or found[1] > best[1] else best
        if best[1] >= accuracy:
            break
    assert best is not None
    return best


def as_forest(forest: RandomForestClassifier) -> Any:
    """The export of skl2onnx, in floats."""
    import skl2onnx
    from skl2onnx.common.data_types import FloatTensorType

    types = [("X", FloatTensorType([None, forest.n_features_in_]))]
    return skl2onnx.to_onnx(forest, initial_types=types, options={"zipmap": False})


def measured(model: Any, X: np.ndarray) -> tuple[float, float]:
    """Rows per second in batches, and microseconds for one row."""
    run = session(model)
    rows, one = {"X": X[:BATCH]}, {"X": X[:1]}

    def ones() -> None:
        for _ in range(100):
            run(one)

    run(rows)
    times = best_times({"rows": lambda: run(rows), "one": ones}, 15)
    return len(X[:BATCH]) / times["rows"], times["one"] / 100 * 1e6


def table() -> None:
    """All classifiers beside forests."""
    for name, load in SOURCES.items():
        X, y = load(return_X_y=True)
        data = train_test_split(X, y, test_size=0.5, random_state=0)
        print(f"\n{name}\n{'':<26}{'accuracy':>10}{'rows/s':>12}{'one row':>10}{'size':>10}{'difference':>13}")
        for model in (NaiveBayes(), TAN(), KDB(), AODE(), FANC(), HNB(), NBTree(), NetworkForest(n_members=20), A2DE()):
            if isinstance(model, A2DE) and X.shape[1] > 40:
                continue  # 2,016 pairs of super-parents
            model.fit(data[0], data[2])
            made = to_onnx(model)
            speed, one = measured(made, data[1])
            apart = np.abs(session(made)({"X": data[1]})[1] - model.predict_proba(data[1])).max()
            accuracy = model.score(data[1], data[3])
            _print(type(model).__name__, accuracy, speed, one, made, f"{apart:.0e}")
            if type(model) in (AODE, NetworkForest):
                forest, own = forest_like(accuracy, data)
                made = as_forest(forest)
                _print(f"  random forest of {len(forest)}", own, *measured(made, data[1].astype(np.float32)), made, "")


def _print(name: str, accuracy: float, speed: float, one: float, model: Any, apart: str) -> None:
    size = f"{model.ByteSize() / 1000:,.0f} kB"
    print(f"{name:<26}{accuracy:>10.3f}{speed:>12,.0f}{one:>7.0f} µs{size:>10}{apart:>13}", flush=True)


def lines() -> Iterator[Line]:
    """For the table of all benchmarks."""
    X, y = load_breast_cancer(return_X_y=True)
    data = train_test_split(X, y, test_size=0.5, random_state=0)
    models = {cls.__name__: cls().fit(data[0], data[2]) for cls in (AODE, FANC, HNB)}
    figures = {name: measured(to_onnx(model), data[1]) for name, model in models.items()}
    rows, one = figures["AODE"]
    for name in ("FANC", "HNB"):
        own = figures[name][0]
        yield Line(
            f"{name} in onnxruntime, 30 columns / AODE", f"{own:,.0f} / {rows:,.0f} rows/s", own / rows, 0.7, False
        )
    forest, _ = forest_like(models["AODE"].score(data[1], data[3]), data)
    _, alone = measured(as_forest(forest), data[1].astype(np.float32))
    what = f"AODE in onnxruntime, one row / random forest of {len(forest)}"
    yield Line(what, f"{one:.0f} / {alone:.0f} µs", one / alone, 5.0)


# --- differences ---------------------------------------------------------------------------------------------------


def spoiled(X: Any, seed: int = 0) -> Any:
    """Rows of a frame with a tenth of the cells missing, and a twentieth of the words new."""
    rng = np.random.default_rng(seed)
    X = X.copy()
    for name in X.columns:
        text = X[name].dtype.kind not in "iufb"
        X[name] = X[name].astype(object if text else float)
        if text:
            X.loc[rng.random(len(X)) < 0.05, name] = "never seen"
        X.loc[rng.random(len(X)) < 0.1, name] = None if text else np.nan
    return X


def differences(wanted: list[str], most_rows: int = 600) -> None:
    """For every classifier the largest difference over all data sets, and how many of them."""
    sets = [datasets.load(name) for name in wanted or SMALL]
    worst = 0.0
    for name in tanager.__all__:
        cls = getattr(tanager, name)
        if not (isinstance(cls, type) and hasattr(cls, "predict_proba")):
            continue
        largest, n, start = 0.0, 0, time.perf_counter()
        for data in sets:
            X, y = data.X.to_pandas().iloc[:most_rows], data.y[:most_rows]
            if name in WIDE and X.shape[1] > 20:
                continue
            model = cls().fit(X[::2], y[::2])
            try:
                made = to_onnx(model, inputs="columns")
            except OptionError as error:
                print(f"{name:<24}refused: {error}", flush=True)
                break
            asked = spoiled(X[1::2])
            label, proba = session(made)(onnx_inputs(model, asked, inputs="columns"))
            largest = max(largest, float(np.abs(proba - model.predict_proba(asked)).max()))
            assert label.tolist() == model.predict(asked).tolist()
            n += 1
        else:
            worst = max(worst, largest)
            print(f"{name:<24}{largest:.1e} over {n} data sets, {time.perf_counter() - start:.0f} s", flush=True)
    print(f"largest of all: {worst:.1e}")


SMALL = (
    "vote",
    "hepatitis",
    "horse-colic",
    "credit-a",
    "breast-w",
    "autos",
    "primary-tumor",
    "heart-c",
    "labor",
    "glass",
)
WIDE = ("A2DE", "AnytimeA2DE", "TC")  # of triples, which are many where columns are


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if sys.argv[1:2] == ["differences"]:
        differences(sys.argv[2:])
    else:
        table()
