"""Saves a small model of every public classifier for the present version of the format, with its answers beside it.

    python tests/formats/make.py

Files that are there already are left as they are: they show that models of every version still load and answer the
same. Run it after adding a classifier or an option that changes what is saved, and commit what it makes.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from registry import COUNTING  # noqa: E402
from tanager import (  # noqa: E402
    AODE,
    BAN,
    CBL,
    DDM,
    FANC,
    KDB,
    TAN,
    TC,
    AnytimeAODE,
    BackOff,
    BestOf,
    Collection,
    DataWarning,
    DriftAware,
    EvolvingNaiveBayes,
    GeneralNetwork,
    GSquared,
    HillClimb,
    HoeffdingTree,
    MEstimate,
    MultiNet,
    NaiveBayes,
    NBTree,
    Network,
    NetworkClassifier,
    RecursiveBayes,
    Selective,
    Wrapped,
)
from tanager.archive import VERSION  # noqa: E402

ROWS: list[dict[str, Any]] = [
    {"sky": "sun", "wind": False, "warmth": 21.5},
    {"sky": "sun", "wind": True, "warmth": 24.0},
    {"sky": "rain", "wind": True, "warmth": 9.5},
    {"sky": "rain", "wind": False, "warmth": 12.0},
    {"sky": "snow", "wind": None, "warmth": -3.25},
    {"sky": "sun", "wind": False, "warmth": None},
    {"sky": None, "wind": True, "warmth": 8.0},
    {"sky": "rain", "wind": True, "warmth": 19.0},
]
LABELS = ["play", "play", "stay", "stay", "stay", "play", "stay", "play"]
QUESTIONS = [*ROWS, {"sky": "hail", "wind": True, "warmth": 100.0}, {"sky": "sun", "wind": None, "warmth": None}]


def models() -> dict[str, Any]:
    """Models by the name of their file: every classifier as it is, and one for each thing that a file can hold."""
    table, labels = ROWS * 3, LABELS * 3
    cuts = {"bins": {"warmth": [10.0, 20.0]}}
    made: dict[str, Any] = {cls.__name__: cls(**cuts).fit(table, labels) for cls in COUNTING if cls is not BestOf}
    made["BestOf"] = chosen(BestOf([NaiveBayes(), AODE()], **cuts))
    made["NaiveBayes-gaussian"] = NaiveBayes(gaussian=True).fit(table, labels)
    made["NaiveBayes-booleans"] = NaiveBayes(cost_matrix=[[0, 1], [5, 0]]).fit(table, [y == "play" for y in labels])
    made["FANC-weights"] = FANC(weights={("wind", "sky"): 2.0, ("wind", None): 0.5}, **cuts).fit(table, labels)
    made["TC-order-weights"] = TC(order_weights=(1, 2, 3), unseen="smooth", **cuts).fit(table, labels)
    made["Collection-families"] = Collection({"wind": [[], ["sky", "warmth"]]}, **cuts).fit(table, labels)
    made["KDB-smoothing"] = KDB(k=2, smoothing=MEstimate(2), **cuts).fit(table, labels)
    made["BestOf-rows"] = chosen(BestOf([NaiveBayes(), KDB()], criterion="rmse", **cuts))
    climb = HillClimb(score="aic", required=[("sky", "wind")])
    made["GeneralNetwork-climb"] = GeneralNetwork(learner=climb, class_root=False, **cuts).fit(table, labels)
    made["BAN-tests"] = BAN(learner=CBL(test=GSquared(0.1), order="given"), missing="marginal", **cuts).fit(
        table, labels
    )
    made["BAN-conditional"] = BAN(fit_by="conditional_likelihood", **cuts).fit(table, labels)
    made["NaiveBayes-weights"] = NaiveBayes(fit_by="weights", **cuts).fit(table, labels)
    drawn = Network({"sky": ["sun", "rain"], "wind": [False, True], "plan": ["play", "stay"]}, [("sky", "plan")])
    made["NetworkClassifier-drawn"] = NetworkClassifier(drawn.add("plan", "wind"), "plan", **cuts).fit(table, labels)
    blanket = Wrapped(MultiNet(features="blanket"), grid=[0.02, 0.1], smoothing=BackOff(3, first=1), **cuts)
    made["Wrapped-blanket"] = blanket.fit(table, labels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        made["AnytimeAODE-kept"] = AnytimeAODE(max_memory=700, **cuts).fit(table, labels)
    made["Selective-roles"] = Selective(AODE(), criterion="log_loss", **cuts).fit(table, labels)
    made["AODE-warm-up"] = streamed(AODE(warm_up=20), 12)
    made["TAN-warm-up-answered"] = streamed(TAN(warm_up=20), 12, answers=True)
    made["AODE-stream"] = streamed(AODE(warm_up=10), 24, answers=True)
    made["TAN-faded"] = streamed(TAN(warm_up=10, decay=0.9, refresh=5), 24, answers=True)
    made["AODE-window"] = streamed(AODE(warm_up=5, window=10), 24)
    made["NaiveBayes-window"] = NaiveBayes(gaussian=True, window=12, decay=0.9).fit(table, labels)
    made["EvolvingNaiveBayes"] = EvolvingNaiveBayes(wait=4, min_hidden=2, max_error=0.01).fit(table * 5, labels * 5)
    made["EvolvingNaiveBayes-window"] = EvolvingNaiveBayes(window=20, categorical=["sky"]).fit(table, labels)
    made["EvolvingNaiveBayes-min"] = EvolvingNaiveBayes(window=20, join="min").fit(
        table, labels, pseudo_classes=[r % 2 for r in range(len(table))]
    )
    made["DriftAware"] = streamed(DriftAware(AODE(warm_up=5, decay=50), detector=DDM(warning=1), every=4), 23)
    deep = {"min_rows": 2, "min_gain": 0.0, **cuts}
    either = ["play" if (row["sky"] == "sun") != bool(row["wind"]) else "stay" for row in table]
    made["NBTree-deep"] = NBTree(min_child=1, folds=2, **deep).fit(table, either)
    made["RecursiveBayes-deep"] = RecursiveBayes(**deep).fit(table, labels)
    made["HoeffdingTree"] = streamed(HoeffdingTree(grace=4, delta=0.5, tie=0.9, warm_up=5), 23)
    made["TAN-unfitted"] = TAN(root="sky")
    return made


def chosen(model: BestOf) -> BestOf:
    """A model that has judged its candidates, so that its file says which of them was chosen."""
    model.fit(ROWS * 4, LABELS * 4).table()
    return model


def streamed(model: Any, n_rows: int, *, answers: bool = False) -> Any:
    """A model in the middle of a stream."""
    for row, label in zip((ROWS * 3)[:n_rows], (LABELS * 3)[:n_rows], strict=True):
        model.learn_one(row, label)
        if answers:
            model.predict_proba_one(row)
    return model


def answers(model: Any) -> list[list[float]] | None:
    """Probabilities of the questions; None before anything was learned."""
    if not hasattr(model, "classes_"):
        return None
    return [list(model.predict_proba_one(row).values()) for row in QUESTIONS]


def main() -> None:
    """Add what is missing."""
    folder = HERE / f"v{VERSION}"
    folder.mkdir(exist_ok=True)
    known_file = folder / "answers.json"
    known = json.loads(known_file.read_text()) if known_file.exists() else {}
    for name, model in models().items():
        path = folder / f"{name}.tanager"
        if not path.exists():
            model.save(path)
            known[name] = answers(model)
            print(f"{path.name}: {path.stat().st_size:,} bytes")
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(rows)}" for name, rows in sorted(known.items()))
    known_file.write_text("{\n" + lines + "\n}\n")


if __name__ == "__main__":
    main()
