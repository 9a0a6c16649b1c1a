"""Whether two checkouts answer alike, bit for bit: every public classifier on ten data sets, by every way to learn.

    cd one   && .venv/bin/python path/to/same_answers.py write /tmp/one.npz
    cd other && .venv/bin/python path/to/same_answers.py write /tmp/other.npz
    python same_answers.py compare /tmp/one.npz /tmp/other.npz

``write`` uses the public interface alone, so that the same script runs in an older checkout; RENAMED lists names that
differ between the two. Six of the ten data sets are read from the folder TANAGER_DATA and left out without it. Errors
are recorded by their type, since their texts may change. ``compare`` exits with 1 where anything differs.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import tanager

# What a public name of this script may be called in another checkout: first the present name, then others.
RENAMED: dict[str, tuple[str, ...]] = {
    "judged_rows": ("judged_rows", "validation_rows"),
}

MODELS: dict[str, Callable[[], Any]] = {}  # "class, what is special" -> a fresh model


def _known(name: str, names: Any) -> str:
    """The name, or what it is called in this checkout."""
    return next((other for other in RENAMED.get(name, ()) if other in names), name)


def make(cls: str, *args: Any, **options: Any) -> Any:
    """An instance of a public class of this checkout."""
    kind = getattr(tanager, _known(cls, dir(tanager)))
    names = kind.__init__.__code__.co_varnames
    return kind(*args, **{_known(name, names): value for name, value in options.items()})


def ask(model: Any, method: str, *args: Any, **options: Any) -> Any:
    """Call a public method of a model."""
    names = RENAMED.get(method, (method,))
    return getattr(model, next((name for name in names if hasattr(type(model), name)), method))(*args, **options)


# --- models ---------------------------------------------------------------------------------------------------------


def _add(label: str, cls: str, *args: Any, **options: Any) -> None:
    """One more model; an argument that is a function makes a part, such as a learner."""

    def built() -> Any:
        parts = [part() if callable(part) else part for part in args]
        named = {name: value() if callable(value) else value for name, value in options.items()}
        return make(cls, *parts, **named)

    MODELS[f"{cls}, {label}" if label else cls] = built


def _part(cls: str, *args: Any, **options: Any) -> Callable[[], Any]:
    return lambda: make(
        cls,
        *(part() if callable(part) else part for part in args),
        **{name: value() if callable(value) else value for name, value in options.items()},
    )


PLAIN = [
    "A2DE",
    "AODE",
    "AnytimeA2DE",
    "AnytimeAODE",
    "BAN",
    "ChowLiuMultiNet",
    "Collection",
    "DriftAware",
    "EvolvingNaiveBayes",
    "FAN",
    "FANC",
    "GeneralNetwork",
    "HNB",
    "KDB",
    "MultiNet",
    "NaiveBayes",
    "NetworkClassifier",
    "SPC",
    "SPODE",
    "SelectiveKDB",
    "SuperParentTAN",
    "TAN",
    "TC",
    "WAODE",
]
for _name in PLAIN:
    _add("", _name)
_add("", "BestOf", lambda: [make("NaiveBayes"), make("TAN"), make("AODE")])
_add("", "Wrapped", _part("GeneralNetwork"), grid=[0.02, 0.1], folds=2)

# Counts to probabilities
for _name in ("NaiveBayes", "TAN", "AODE", "FANC", "HNB", "A2DE", "KDB"):
    _add("smoothing 0", _name, smoothing=0)
    _add("smoothing 0.3", _name, smoothing=0.3)
for _name, _smoothing in {
    "MEstimate": _part("MEstimate", 2.0),
    "PriorCounts": _part("PriorCounts", 2.0),
    "BDeu": _part("BDeu", 3.0),
    "BackOff": _part("BackOff", 2.0),
    "Lidstone": _part("Lidstone", 0.5),
    "default": None,
}.items():
    for _cls in ("NaiveBayes", "TAN", "AODE", "SPC", "AnytimeAODE"):
        _add(f"smoothing {_name}", _cls, smoothing=_smoothing)

# Missing and unseen values, subsumption
for _name in ("TAN", "FAN", "GeneralNetwork", "BAN", "MultiNet", "ChowLiuMultiNet", "NetworkClassifier"):
    _add("marginal", _name, missing="marginal")
_add("marginal, smooth", "TAN", missing="marginal", unseen="smooth")
for _name in ("NaiveBayes", "TAN", "AODE", "FANC", "GeneralNetwork", "A2DE", "AnytimeAODE"):
    _add("unseen smooth", _name, unseen="smooth")
_add("unseen error", "AODE", unseen="error")
_add("subsumption", "NaiveBayes", subsumption=5)
_add("subsumption", "AODE", subsumption=5, min_count=3)

# Parameters for the class alone
for _name in ("NaiveBayes", "TAN", "FAN", "BAN"):
    for _how in ("conditional_likelihood", "weights", "elr"):
        _add(f"fit_by {_how}", _name, fit_by=_how, penalty=2.0)

# Decisions
for _name in ("NaiveBayes", "TAN", "AODE", "FANC", "KDB"):
    _add("balanced", _name, class_weight="balanced")
    _add("priors, costs", _name, priors="even", cost_matrix="uneven", class_weight="uneven")
_add("costs", "EvolvingNaiveBayes", cost_matrix="uneven")

# Columns
_add("gaussian", "NaiveBayes", gaussian=True)
_add("gaussian, window", "NaiveBayes", gaussian=True, window=60)
_add("gaussian, decay", "NaiveBayes", gaussian=True, decay=80)
for _bins in ("width", "frequency"):
    _add(f"bins {_bins}", "NaiveBayes", bins=_bins, n_bins=4)
    _add(f"bins {_bins}", "AODE", bins=_bins, n_bins=3)
_add("mdl_encoding", "TAN", mdl_encoding="candidates")
_add("max_values", "NaiveBayes", max_values=3)

# Forgetting
for _name in ("NaiveBayes", "TAN", "AODE", "KDB", "FANC", "GeneralNetwork", "AnytimeAODE", "SPODE"):
    _add("decay factor", _name, decay=0.98)
    _add("window", _name, window=70)
for _name in ("NaiveBayes", "AODE", "TAN"):
    _add("decay in time", _name, decay="40 s")
    _add("window in time", _name, window="1 min")
    _add("decay per class", _name, decay=_part("Decay", half_life=50, per_class=True))
    _add("decay, window", _name, decay=50, window=_part("Window", rows=90, time="2 min"))
_add("refresh", "TAN", refresh=25, decay=60)
for _how in ("grid", "sketch"):
    for _name in ("NaiveBayes", "AODE", "TAN", "AnytimeAODE", "KDB"):
        _add(f"recut {_how}", _name, recut=_part("Recut", by=_how, every=30, distance=0.05, size=40))
_add("recut, gaussian", "NaiveBayes", gaussian=True, recut="grid")
_add("recut, window", "NaiveBayes", window=60, recut=_part("Recut", every=20))

# Members one after the other
for _name in ("AnytimeAODE", "AnytimeA2DE"):
    for _how in ("mi", "random", "given"):
        _add(f"order {_how}", _name, member_order=_how, stop="all", random_state=3)
    for _how in ("posterior", "replace"):
        _add(f"mix {_how}", _name, mix=_how)
    for _how in ("mi", "loo"):
        _add(f"weights {_how}", _name, weights=_how)
    _add("margin", _name, stop="margin", odds=5.0)
    _add("members", _name, stop="budget", members=2)
    _add("few judged", _name, judged_rows=40)

# Structure
_add("root", "TAN", root=1)
for _how in ("g2", "bdeu"):
    _add(f"criterion {_how}", "FAN", criterion=_how)
_add("k 1", "KDB", k=1)
_add("k 3", "KDB", k=3, threshold=0.01, smoothing=1.0)
_add("zero_one", "SelectiveKDB", k=1, loss="zero_one")
for _how in (0, "mi", "resub"):
    _add(f"super_parent {_how}", "SPODE", super_parent=_how)
_add("mi", "SPC", super_parent="mi", column_order="mi")
_add("refined", "SPC", super_parent="refined")
_add("order ig_sum", "FANC", max_parents_from=2, column_order="ig_sum")
_add("order random", "FANC", column_order="random", random_state=3)
_add("order_weights", "TC", order_weights=(1, 2, 0), column_order="ig_class")
_add("sets", "Collection", {1: [[], [0]], 2: [[], [0], [0, 1]]}, weights={2: [1, 2, 3]})
_add("aic", "GeneralNetwork", learner=_part("HillClimb", score="aic"), class_root=False)
_add("K2", "GeneralNetwork", learner=_part("K2", order="given"))
_add("g2", "GeneralNetwork", learner=_part("CBL", test=_part("GSquared", 0.05)))
_add("pearson", "GeneralNetwork", learner=_part("CBL", test=_part("Pearson", 0.05)))
_add("tests", "BAN", learner=_part("CBL", threshold=0.05, order="given"))
_add("blanket", "MultiNet", learner=_part("CBL", threshold=0.05), features="blanket")
_add("ChowLiu", "MultiNet", learner=_part("ChowLiu"))
_add("multinet", "Wrapped", _part("MultiNet", features="blanket"), grid=[0.05, 0.2], criterion="log_loss", folds=2)
_add("accuracy", "BestOf", lambda: [make("AODE", subsumption=5), make("KDB")], criterion="accuracy")
_add("rmse", "BestOf", lambda: [make("NaiveBayes"), make("AODE", min_count=2)], criterion="rmse")

# Streams
_add("window", "EvolvingNaiveBayes", window=80, wait=20, min_hidden=5)
_add("alpha", "EvolvingNaiveBayes", alpha=0.01, eta=0.1, max_error=0.05, wait=15, min_hidden=4, similarity="test")
for _how in ("swap", "restart", "fade", "shrink"):
    _model = _part("AODE", window=100, warm_up=20) if _how == "shrink" else _part("AODE", warm_up=20)
    _add(_how, "DriftAware", _model, on_drift=_how, every=16, recent=40, patience=50)
_add("evolving", "DriftAware", _part("EvolvingNaiveBayes", warm_up=20), every=16)


# --- data -----------------------------------------------------------------------------------------------------------

STORED = ("credit-a", "autos", "hepatitis", "vote", "heart-c", "adult")
MADE = ("iris", "wine", "mixed", "drifting")
N_ROWS = 150
STREAM = 80  # rows of a stream
N_COLUMNS = 9  # triples of many columns take long


def table(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """At most N_ROWS rows, in an order that is mixed (but for a stream), of N_COLUMNS columns, and their labels."""
    frame = {"mixed": _mixed, "drifting": _drifting}.get(name, partial(_bundled, name))()
    if name != "drifting":
        frame = frame.sample(n=min(N_ROWS, len(frame)), random_state=5)
    X = frame.drop(columns="class").reset_index(drop=True)
    some = np.linspace(0, X.shape[1] - 1, min(N_COLUMNS, X.shape[1])).astype(int)
    return X.iloc[:, some], frame["class"].to_numpy(dtype=str)


def _bundled(name: str) -> pd.DataFrame:
    if name in STORED:
        return _stored(Path(os.environ["TANAGER_DATA"]), name)
    from sklearn import datasets

    frame = getattr(datasets, f"load_{name}")(as_frame=True).frame
    return frame.rename(columns={"target": "class"})


def _stored(folder: Path, name: str) -> pd.DataFrame:
    entry = json.loads((folder / "datasets.json").read_text(encoding="utf-8"))[name]
    text = {column["name"]: str for column in entry["attributes"] if column["kind"] == "categorical"}
    file = folder / entry["files"][0]["file"]
    return pd.read_csv(file, keep_default_na=False, na_values=[""], dtype={**text, "class": str})


def _mixed() -> pd.DataFrame:
    """Numbers, whole numbers, text and gaps; three classes that depend on pairs of columns."""
    rng = np.random.default_rng(11)
    n = N_ROWS
    size, colour = rng.normal(size=n), rng.choice(["red", "green", "blue"], n)
    step, flag = rng.integers(0, 4, n), rng.random(n) < 0.4
    hidden = (size > 0.2).astype(int) + ((colour == "red") & (step > 1))
    classes = np.where(rng.random(n) < 0.85, hidden, rng.integers(0, 3, n))
    frame = pd.DataFrame({"size": size, "colour": colour, "step": step, "flag": flag, "far": np.exp(3 * size) + step})
    frame = frame.astype({"step": object, "flag": object}).mask(rng.random((n, 5)) < 0.08)
    return frame.assign(**{"class": np.array(["low", "mid", "top"])[classes]})


def _drifting() -> pd.DataFrame:
    """A stream whose numbers wander, and whose classes change places after a quarter."""
    rng = np.random.default_rng(12)
    n = N_ROWS
    label, when = rng.integers(0, 2, n), np.arange(n) / n
    shown = np.where(when < 0.25, label, 1 - label)
    frame = pd.DataFrame(
        {
            "a": rng.normal(size=n) + 2 * shown + 3 * when,
            "b": rng.normal(size=n) * (1 + shown),
            "c": np.where(rng.random(n) < 0.8, shown, 1 - shown).astype(str),
            "d": rng.choice(["u", "v", "w"], n),
        }
    )
    return frame.assign(**{"class": np.array(["no", "yes"])[label]})


# --- one model on one data set --------------------------------------------------------------------------------------


class Case:
    """A model to make anew for each step, a table in two parts, and what the steps gave."""

    def __init__(self, build: Callable[[], Any], X: pd.DataFrame, y: np.ndarray) -> None:
        self.build, self.X, self.y = build, X, y
        self.n = len(X) * 2 // 3
        self.classes = np.unique(y)
        self.times = np.arange(len(X), dtype=float)
        self.found: dict[str, np.ndarray] = {}

    def model(self, declared: bool = False, **options: Any) -> Any:
        """A fresh model, with what depends on the number of classes filled in; for a stream these are declared."""
        model = self.build()
        k = len(self.classes)
        fill = {
            "priors": {"even": np.full(k, 1 / k)},
            "cost_matrix": {"uneven": (1 - np.eye(k)) * np.arange(1, k + 1)},
            "class_weight": {"uneven": dict(zip(self.classes.tolist(), np.arange(1.0, k + 1), strict=True))},
        }
        params = model.get_params(deep=False)
        for name, values in fill.items():
            value = params.get(name)
            if isinstance(value, str) and value in values:
                options[name] = values[value]
        model.set_params(**{name: value for name, value in options.items() if name in params})
        if declared and any(params.get(name) is not None for name in fill):  # they speak of classes yet to come
            ask(model, "partial_fit", self.X[:1], self.y[:1], classes=self.classes, times=self.times[:1])
        return model

    def fitted(self, **options: Any) -> Any:
        return self.model(**options).fit(self.X[: self.n], self.y[: self.n], times=self.times[: self.n])

    def keep(self, name: str, value: Any) -> None:
        array = np.asarray(value)
        self.found[name] = array.astype(str) if array.dtype.kind in "OT" else array

    def answers(self, name: str, model: Any) -> None:
        self.keep(f"{name}: proba", ask(model, "predict_proba", self.X[self.n :]))

    def run(self) -> dict[str, np.ndarray]:
        """All steps; a step that is refused leaves the type of its error."""
        for step in STEPS:
            name = step.__name__.strip("_")
            try:
                step(self)
            except Exception as error:
                self.keep(f"{name}: refused", type(error).__name__)
        return self.found


def _fit(case: Case) -> None:
    model = case.fitted()
    rest = case.X[case.n :]
    case.answers("fit", model)
    case.keep("fit: classes", model.classes_)
    for method in ("predict", "predict_log_joint", "predict_log_proba"):
        case.keep(f"fit: {method}", ask(model, method, rest))


def _network(case: Case) -> None:
    model = case.fitted()
    if hasattr(type(model), "network_"):
        case.keep("network: arcs", sorted(map(str, model.network_.arcs)))


def _n_jobs(case: Case) -> None:
    case.answers("two threads", case.fitted(n_jobs=2))


def _weights(case: Case) -> None:
    weights = np.random.default_rng(1).integers(0, 4, case.n) / 2
    rows = slice(0, case.n)
    model = case.model().fit(case.X[rows], case.y[rows], sample_weight=weights, times=case.times[rows])
    case.answers("weights", model)


def _chunks(case: Case) -> None:
    model = case.model(warm_up=50)
    for number, rows in enumerate(np.array_split(np.arange(case.n), 4)):
        X, y, times = case.X.iloc[rows], case.y[rows], case.times[rows]
        ask(model, "partial_fit", X, y, classes=case.classes, times=times)
        case.answers(f"chunk {number}", model)


def _single_rows(case: Case) -> None:
    model = case.model(declared=True, warm_up=20)
    rows = case.X[:28].to_dict("records")
    answers = []
    for row, label, when in zip(rows, case.y, case.times, strict=False):
        answers.append(list(ask(model, "predict_proba_one", row).values()))
        ask(model, "learn_one", row, label, time=when)
    case.keep("single rows: proba", [number for answer in answers for number in answer])
    case.keep("single rows: classes", [len(answer) for answer in answers])
    case.keep("single rows: one", [str(ask(model, "predict_one", row)) for row in rows[:5]])


def _stream(case: Case) -> None:
    model = case.model(declared=True, warm_up=32)
    X, y, times = case.X[:STREAM], case.y[:STREAM], case.times[:STREAM]
    case.keep("stream: proba", ask(model, "test_then_train", X, y, times=times))
    case.answers("stream, after", model)
    codes = pd.DataFrame({name: pd.factorize(X[name])[0] % 7 for name in X}).to_numpy()
    model = case.model(declared=True, warm_up=32)
    case.keep("stream of codes: proba", ask(model, "test_then_train", codes, y, times=times))


def _leave_one_out(case: Case) -> None:
    model = case.fitted()
    case.keep("leave one out", ask(model, "leave_one_out", case.X[: case.n], case.y[: case.n]))


def _unlearn(case: Case) -> None:
    model = case.fitted()
    some = slice(case.n - 20, case.n)  # those that a window still holds
    ask(model, "unlearn", case.X[some], case.y[some], times=case.times[some] if _by_time(model) else None)
    case.answers("unlearn", model)


def _by_time(model: Any) -> bool:
    return getattr(model, "decay", None) is not None and getattr(model, "window", None) is None


def _merge(case: Case) -> None:
    schema = case.fitted().encoder_.schema
    half = case.n // 2
    parts = [
        case.model(schema=schema).fit(case.X[rows], case.y[rows], times=case.times[rows])
        for rows in (slice(0, half), slice(half, case.n))
    ]
    ask(parts[0], "merge", parts[1])
    case.answers("merge", parts[0])


def _saved(case: Case) -> None:
    model = case.fitted()
    ask(model, "predict_proba", case.X[case.n :])
    with tempfile.TemporaryDirectory() as folder:
        tanager.save(model, f"{folder}/model")
        again = tanager.load(f"{folder}/model")
    case.answers("saved", again)
    ask(again, "partial_fit", case.X[case.n :], case.y[case.n :], times=case.times[case.n :])
    case.answers("saved, more rows", again)


def _explain(case: Case) -> None:
    model = case.fitted()
    for number, row in enumerate(case.X[case.n : case.n + 4].to_dict("records")):
        found = ask(model, "explain", row)
        numbers = [found.probability, found.log_odds, found.prior, *(part.log_odds for part in found.parts)]
        case.keep(f"explain {number}: numbers", numbers)
        case.keep(f"explain {number}: classes", [str(found.answer), str(found.against)])


def _counts(case: Case) -> None:
    model = case.fitted()
    other = type(model).from_counts(model.counts_)
    case.answers("from counts", other)


def _members(case: Case) -> None:
    model = case.fitted()
    if not hasattr(model, "answer"):
        return
    for members in (0, 1, 3):
        found = ask(model, "answer", case.X[case.n :], members=members)
        case.keep(f"members {members}: proba", found.proba)
        case.keep(f"members {members}: members", found.members)
    model.partial_fit(case.X[case.n :], case.y[case.n :], times=case.times[case.n :])
    ask(model, "improve")
    case.answers("improve", model)


STEPS = (
    _fit,
    _network,
    _n_jobs,
    _weights,
    _chunks,
    _single_rows,
    _stream,
    _leave_one_out,
    _unlearn,
    _merge,
    _saved,
    _explain,
    _counts,
    _members,
)


# --- all of them ----------------------------------------------------------------------------------------------------


def plan() -> Iterator[tuple[str, str]]:
    """Classifiers as they are take every data set, those with options two each, in turn."""
    names = [*MADE, *(STORED if os.environ.get("TANAGER_DATA") else ())]
    place = 0
    for model in MODELS:
        if "," not in model:
            yield from ((model, name) for name in names)
            continue
        for step in range(2):
            yield model, names[(place + step) % len(names)]
        place += 3
    yield from ((model, "drifting") for model in MODELS if "recut" in model or model.startswith("DriftAware, "))


def run_some(pairs: list[tuple[str, str]]) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """Arrays of these models and data sets, and the seconds of each model."""
    warnings.simplefilter("ignore")
    found: dict[str, np.ndarray] = {}
    seconds: dict[str, float] = {}
    tables: dict[str, tuple[pd.DataFrame, np.ndarray]] = {}
    for model, name in pairs:
        if name not in tables:
            tables[name] = table(name)
        X, y = tables[name]
        start = time.process_time()
        for step, array in Case(MODELS[model], X, y).run().items():
            found[f"{model}|{name}|{step}"] = array
        seconds[model] = seconds.get(model, 0.0) + time.process_time() - start
    return found, seconds


def write(path: str, wanted: str, n_jobs: int, slowest: int) -> int:
    """Run all that contain `wanted` in their name, and write their arrays."""
    start = time.perf_counter()
    pairs = [pair for pair in dict.fromkeys(plan()) if wanted in pair[0]]
    found: dict[str, np.ndarray] = {}
    seconds: dict[str, float] = {}
    parts = [pairs[i :: 4 * n_jobs] for i in range(4 * n_jobs)]
    with ProcessPoolExecutor(n_jobs, mp_context=get_context("spawn")) as pool:
        for arrays, took in pool.map(run_some, parts):
            found |= arrays
            for model, value in took.items():
                seconds[model] = seconds.get(model, 0.0) + value
    np.savez(path, **dict(sorted(found.items())))
    refused = sum("refused" in key for key in found)
    tables = len({name for _, name in pairs})
    print(f"{Path(tanager.__file__).parent}: {len(found):,} arrays of {len(seconds)} models on {tables} data sets")
    print(f"{refused} refusals, {time.perf_counter() - start:.0f} s, CPU time {sum(seconds.values()):.0f} s")
    for model in sorted(seconds, key=seconds.__getitem__, reverse=True)[:slowest]:
        print(f"{seconds[model]:8.1f} s  {model}")
    return 0


def compare(one: str, other: str) -> int:
    """A table by classifier of arrays that differ in type, shape or any byte."""
    with np.load(one) as a, np.load(other) as b:
        left, right = ({key: file[key] for key in file.files} for file in (a, b))
    rows: dict[str, list[str]] = {}
    total: dict[str, int] = {}
    for key in sorted(left.keys() | right.keys()):
        cls = key.split("|")[0].split(",")[0]
        total[cls] = total.get(cls, 0) + 1
        rows.setdefault(cls, [])
        difference = _difference(left.get(key), right.get(key))
        if difference:
            rows[cls].append(f"{key}: {difference}")
    print(f"{'classifier':<22}{'arrays':>8}{'differ':>8}  first difference")
    for cls, found in rows.items():
        print(f"{cls:<22}{total[cls]:>8,}{len(found):>8,}  {found[0] if found else ''}".rstrip())
    n_different = sum(map(len, rows.values()))
    print(f"{'all':<22}{sum(total.values()):>8,}{n_different:>8,}")
    return int(n_different > 0)


def _difference(a: np.ndarray | None, b: np.ndarray | None) -> str:
    """What differs, in a few words; nothing where all bytes are the same."""
    if a is None or b is None:
        return "only in the second" if a is None else "only in the first"
    if a.dtype != b.dtype or a.shape != b.shape:
        return f"{a.dtype}{a.shape} against {b.dtype}{b.shape}"
    if a.tobytes() == b.tobytes():
        return ""
    if a.dtype.kind != "f":
        at = np.flatnonzero(np.ravel(a != b))
        return f"{len(at)} of {a.size} cells, such as {a.flat[at[0]]!r} and {b.flat[at[0]]!r}"
    return f"by up to {np.nanmax(np.abs(a - b)):.3g} in {np.count_nonzero(a != b)} of {a.size} cells"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="same_answers", description="Whether two checkouts answer alike, bit for bit."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    writing = commands.add_parser("write", help="run every classifier of this checkout and write all answers")
    writing.add_argument("path")
    writing.add_argument("--only", default="", help="models with this in their name")
    writing.add_argument("--jobs", type=int, default=2, help="processes")
    writing.add_argument("--slowest", type=int, default=0, help="show so many models that took longest")
    comparing = commands.add_parser("compare", help="compare two such files")
    comparing.add_argument("one")
    comparing.add_argument("other")
    options = parser.parse_args(arguments)
    if options.command == "compare":
        return compare(options.one, options.other)
    return write(options.path, options.only, options.jobs, options.slowest)


if __name__ == "__main__":
    sys.exit(main())
