"""What is run: the 25 data sets of the source with its ways of splitting them, and the classifiers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from experiments.common import ENTROPY, Given, whole, worded
from experiments.published import COUNTED
from tanager import (
    BAN,
    TAN,
    ChowLiuMultiNet,
    GeneralNetwork,
    HillClimb,
    MultiNet,
    NaiveBayes,
    PriorCounts,
    SelectiveNaiveBayes,
)
from tanager.datasets import Dataset
from tanager.evaluate import Table, stratified_holdout
from tanager.evaluate.plan import EvaluationPlan, Folds, Holdout, Splits, make_plan

SETS = {  # as the source calls them, in its order: as we do
    "australian": "australian",
    "breast": "breast-w",
    "chess": "kr-vs-kp",
    "cleve": "heart-c",
    "corral": "corral",
    "crx": "credit-a",
    "diabetes": "diabetes",
    "flare": "flare",
    "german": "credit-g",
    "glass": "glass",
    "glass2": "glass2",
    "heart": "heart-statlog",
    "hepatitis": "hepatitis",
    "iris": "iris",
    "letter": "letter",
    "lymphography": "lymph",
    "mofn-3-7-10": "mofn-3-7-10",
    "pima": "diabetes",
    "satimage": "satimage",
    "segment": "segment",
    "shuttle-small": "shuttle",
    "soybean-large": "soybean",
    "vehicle": "vehicle",
    "vote": "vote",
    "waveform-21": "waveform-21",
}
GIVEN = {"letter": 15000, "mofn-3-7-10": 300, "satimage": 4435}  # rows to learn; the others are asked
DRAWN = {"chess": 1066, "segment": 770, "shuttle-small": 1934, "waveform-21": 4700}  # rows to ask, drawn anew each time
SMALL = 5800  # rows of shuttle-small
FOLDS, REPEATS = 5, 3

Progress = Callable[[int, int, str], None]


def dataset(name: str) -> Dataset:
    """A data set as the source has it: complete rows only, but in vote an empty cell is a value."""
    data = whole(SETS.get(name, name))
    if name == "vote":
        return worded(data)
    return small(data) if name == "shuttle-small" else data.complete()


def small(data: Dataset) -> Dataset:
    """Some of the rows, of each class its share."""
    kept = stratified_holdout(data.y, SMALL / len(data.y))
    return replace(data, X=data.X.filter(kept), y=data.y[kept])


def splits(name: str, n_rows: int) -> tuple[Splits, int]:
    """How a data set is split, and into how many parts in one repetition."""
    if name in GIVEN:
        return Given(GIVEN[name]), 1
    if name in DRAWN:
        return Holdout(DRAWN[name] / n_rows, seed=1), 1
    return Folds(FOLDS, seed=101 if name == "pima" else 1), FOLDS  # pima is diabetes, dealt into other folds


def plans(names: Sequence[str], repeats: int) -> list[EvaluationPlan]:
    """All the work; a split that came with the data is not repeated."""
    made = []
    for name in names:
        data = dataset(name)
        how, n_parts = splits(name, len(data.y))
        made.append(make_plan(name, models, data, how, n_parts if name in GIVEN else n_parts * repeats, None))
    return made


def models(data: Any) -> dict[str, Any]:
    """The networks of the source under three rules of smoothing; its C4.5 is in weka.py."""
    return {kind + mark: make(mark, data.options) for kind, make in KINDS.items() for mark in RULES}


def network(kind: type, **options: Any) -> Any:
    """A way to make one kind of network for a rule of smoothing and the kinds of columns."""
    return lambda mark, columns: kind(**{"smoothing": RULES[mark]} | ENTROPY | options | columns)


def searched(kind: type, **options: Any) -> Any:
    """The same for networks that are searched for: as counted they are also as published, with all parents found."""
    return lambda mark, columns: network(kind, **options, **(COUNTED if mark == "^0" else {}))(mark, columns)


RULES = {"": 1.0, "^s": PriorCounts(5), "^0": 0.0}  # Laplace's rule, the source's smoothing, and as counted
MDL = HillClimb(score="bic")  # BIC is MDL, the score of the source, with its sign turned
BAYES = HillClimb(score="bdeu")
KINDS = {
    "NB": network(NaiveBayes),
    "SNB": network(SelectiveNaiveBayes),
    "SNB-best": network(SelectiveNaiveBayes, direction="best_first"),
    "TAN": network(TAN),
    "CL": network(ChowLiuMultiNet),
    "BAN": searched(BAN, learner=MDL),
    "MN": searched(MultiNet, learner=MDL),
    "MN-BDeu": searched(MultiNet, learner=BAYES),
    "BN": searched(GeneralNetwork, learner=MDL, class_root=False),
    "BN-BDeu": searched(GeneralNetwork, learner=BAYES, class_root=False),
}


SLIDE_32 = {"preg": "Pregnant", "age": "Age", "insu": "Insulin", "pedi": "DPF", "plas": "Glucose", "mass": "Mass"}


def pima_tree() -> TAN:
    """The tree of slide 32: its six columns under its names, hung from the one that is named first there."""
    data, names = dataset("pima"), list(SLIDE_32.values())
    return TAN(root="Pregnant", numeric=names, **ENTROPY).fit(
        data.X.select(list(SLIDE_32)).rename_columns(names), data.y
    )


def blankets(names: Sequence[str], progress: Progress) -> Table:
    """How many attributes the unrestricted networks of all rows keep."""
    rows = []
    for at, name in enumerate(names):
        progress(at, len(names), f"blanket of {name}")
        data = dataset(name)
        fitted = [KINDS[kind]("", data.options).fit(data.X, data.y) for kind in ("BN", "BN-BDeu")]
        rows.append([name, data.X.num_columns, *(len(model.blanket_) for model in fitted)])
    progress(len(names), len(names), "blankets")
    return Table(["dataset", "attributes", "BN", "BN-BDeu"], rows)
