"""Comparing classifiers on the rows of a session: which there are, how they are run, and what is told of results."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import tanager
from tanager.classifiers.names import MODELS
from tanager.classifiers.network_classifier import NetworkClassifier
from tanager.errors import OptionError, nearest
from tanager.evaluate import Results, TimeLimit, corrected_margin, cross_validate, leave_one_out, peers, ranks
from tanager.evaluate.aggregate import as_loss, bins_of, ratio_of, values_of
from tanager.evaluate.forecast import fold_seconds
from tanager.networks.network import Network
from tanager.studio.document import Document, ModelChoice
from tanager.studio.judging import size_of
from tanager.studio.prepared import Prepared, classifier_options

PARTS = 10  # into which the rows are dealt out where single rows are left out
MEASURES = ("accuracy", "log_loss", "rmse", "auc", "calibration_error")
TESTED = ("accuracy", "log_loss")
PEERS = {
    "forest": "random forest",
    "gradient": "histogram gradient boosting",
    "logistic": "logistic regression",
}
NETWORK = "network"
OF_STREAMS = ("hoeffding", "evolving")  # which cut no columns, and see rows in an order: they are for the page Stream
KNOWN = [name for name, own in MODELS.items() if not own.wraps and name not in (NETWORK, *OF_STREAMS)]
OF_THE_COMMAND = re.compile(r" \(--[^)]*\)")  # hints at options
FEW = 10  # answers that are too few for a point of their own

Tell = Callable[[float, float, str, "Results | None"], None]


@dataclass
class Run:
    """What is to be compared, and how."""

    prepared: Prepared
    models: Mapping[str, Any]
    folds: int | None  # None leaves out single rows
    repeats: int = 1
    seconds: float = 60.0
    notes: list[str] = field(default_factory=list)

    def results(self, tell: Tell) -> Results:
        """Run it; ``tell`` hears of progress and of what is done so far, and may raise to end it."""
        return self._by_rows(tell) if self.folds is None else self._by_folds(self.folds, tell)

    def _by_folds(self, folds: int, tell: Tell) -> Results:
        limit = TimeLimit(self.seconds, option="a time limit of ")
        done, total = 0, 1

        def progress(n_done: int, n_total: int, what: str) -> None:
            nonlocal done, total
            done, total = n_done, n_total
            left = limit.seconds_left()
            tell(done, total, f"about {max(1, round(left))} s to go" if left > 0 else "", None)

        return cross_validate(
            self.models,
            self.prepared.X,
            self.prepared.y,
            folds=folds,
            repeats=self.repeats,
            n_jobs=-1,
            progress=progress,
            time_limit=limit,
            so_far=lambda results: tell(done, total, "", results),
        )

    def _by_rows(self, tell: Tell) -> Results:
        """Cheap ones first, each by itself, so that results come one after the other."""
        start, results = time.monotonic(), Results([])
        prepared = self.prepared
        size = size_of(prepared.schema, prepared.loaded.n_rows, len(prepared.classes))
        cost = {name: fold_seconds(model, size) for name, model in self.models.items()}
        late = []
        for i, name in enumerate(sorted(self.models, key=lambda name: cost[name])):
            tell(i, len(self.models), name, results if i else None)
            if i and time.monotonic() - start + cost[name] > self.seconds:
                late.append(name)
                continue
            own = {name: self.models[name]}
            results = results + leave_one_out(own, prepared.X, prepared.y, parts=PARTS, timing=True)
        notes = [f"left out for time: {', '.join(late)}. Give them more seconds."] if late else []
        return Results(results.records, [*self.notes, *notes])


# --- which classifiers ------------------------------------------------------------------------------------------------


def candidates(prepared: Prepared, document: Document) -> list[dict[str, Any]]:
    """All that can be compared: what they are, how long a fold is likely to take, and which are chosen at first."""
    size = size_of(prepared.schema, prepared.loaded.n_rows, len(prepared.classes))
    found = []
    if document.arcs is not None:
        about = "the network that is drawn; its arcs are not learned again"
        found.append({"name": NETWORK, "class": "NetworkClassifier", "about": about, "first": True, "own": True})
    for name in KNOWN:
        entry = MODELS[name]
        about = OF_THE_COMMAND.sub("", entry.about)
        own = {"name": name, "class": entry.cls, "about": about, "first": entry.compared, "own": True}
        found.append(own | {"seconds": fold_seconds(_model(name, {}), size)})
    known = peers()
    for name, about in PEERS.items():
        own = {"name": name, "class": "scikit-learn", "about": f"{about} of scikit-learn", "first": False, "own": False}
        found.append(own | {"seconds": fold_seconds(known[name], size)})
    return found


def make_models(names: Sequence[str], prepared: Prepared, document: Document) -> dict[str, Any]:
    """Classifiers of these names, each told what was decided about the columns."""
    options = classifier_options(prepared, document.columns)
    kinds = {key: options.get(key) for key in ("categorical", "numeric")}
    beside = peers(**kinds)
    made: dict[str, Any] = {}
    for name in names:
        if name == NETWORK and document.arcs is not None:
            network = Network(prepared.values, document.arcs)
            made[name] = NetworkClassifier(network, prepared.target, **options)
        elif name in PEERS:
            made[name] = beside[name]
        elif name in KNOWN and MODELS[name].options.get("gaussian"):
            made[name] = _model(name, classifier_options(prepared, document.columns, gaussian=True))
        elif name in KNOWN:
            made[name] = _model(name, options)
        else:
            raise OptionError(f"there is no classifier {name!r}.{nearest(name, [*KNOWN, *PEERS])}")
    return made


def _model(name: str, options: Mapping[str, Any]) -> Any:
    return getattr(tanager, MODELS[name].cls)(**{**MODELS[name].options, **options})


def can_leave_rows_out(model: Any) -> bool:
    """Whether single rows can be left out honestly."""
    return getattr(model, "can_leave_out", False) and not getattr(model, "flatters_left_out", False)


def choice_of(name: str) -> ModelChoice:
    """The classifier of a name as a decision of a document."""
    if name == NETWORK:
        return ModelChoice()
    if name not in KNOWN:
        raise OptionError(f"{name!r} cannot answer in the studio: it is no classifier of tanager.")
    return ModelChoice(MODELS[name].cls, dict(MODELS[name].options))


def name_of(choice: ModelChoice) -> str:
    """The short name of a decision."""
    return next(
        (name for name, own in MODELS.items() if (own.cls, dict(own.options)) == (choice.name, choice.options)),
        choice.name,
    )


# --- what is told -----------------------------------------------------------------------------------------------------


def report(results: Results) -> dict[str, Any]:
    """All that the page shows: measures with intervals, what differs from the best, ranks, reliability, and advice."""
    if not results.records:
        return {"lines": [], "notes": list(results.notes), "advice": {}}
    (dataset,) = results.datasets
    lines = {line["classifier"]: line for line in results.summary(MEASURES).to_dicts()}
    for measure in TESTED:
        place = _mean_ranks(results, measure)
        for line in results.compare(measure=measure).to_dicts():
            name = line["classifier"]
            folds = results.folds(dataset, name)
            margin = corrected_margin(values_of(folds, measure), ratio_of(folds))
            told = {
                "low": line[measure] - margin,
                "high": line[measure] + margin,
                "rank": place.get(name),
                "worse": str(line["verdict"]).startswith("worse"),
                "best": line["verdict"] == "baseline",
                "p": line["p"],
            }
            lines[name][f"{measure}_"] = told
    for name, line in lines.items():
        line["reliability"] = _reliability(bins_of(results.folds(dataset, name)))
    return {
        "lines": list(lines.values()),
        "notes": list(results.notes),
        "advice": {measure: _advice(results, measure) for measure in TESTED},
    }


def _advice(results: Results, measure: str) -> dict[str, str]:
    found = results.recommend(measure)
    return {"name": found.classifier, "reason": found.reason}


def _mean_ranks(results: Results, measure: str) -> dict[str, float]:
    """The mean over the folds of the rank among all classifiers; 1 is best."""
    (dataset,) = results.datasets
    names = results.classifiers
    shared = set.intersection(*(set(results.by_fold(dataset, name)) for name in names))
    losses = np.array(
        [[as_loss(results.by_fold(dataset, name)[fold][measure], measure) for name in names] for fold in sorted(shared)]
    )
    return dict(zip(names, ranks(losses).mean(axis=0).tolist(), strict=True)) if len(losses) else {}


def _reliability(bins: np.ndarray) -> list[dict[str, float]]:
    """How sure answers were and how often they were right, with 95 % intervals (Wilson); few are told with others."""
    told, waiting = [], np.zeros(3)
    for own in bins.T:
        waiting = waiting + own
        if waiting[0] >= FEW:
            told.append(_point(*waiting.tolist()))
            waiting = np.zeros(3)
    return [*told, _point(*waiting.tolist())] if waiting[0] else told


def _point(rows: float, confidence: float, correct: float) -> dict[str, float]:
    share, z2 = correct / rows, 1.96**2
    middle, width = share + z2 / (2 * rows), 1.96 * ((share * (1 - share) + z2 / (4 * rows)) / rows) ** 0.5
    low, high = (middle - width) / (1 + z2 / rows), (middle + width) / (1 + z2 / rows)
    return {"said": confidence / rows, "true": share, "rows": rows, "low": low, "high": high}
