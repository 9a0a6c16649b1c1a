"""A run along a stream: which models, which rows, how fast; and what there is to show while it runs."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec
import numpy as np

from tanager import generate
from tanager.classifiers.anytime import AnytimeAODE
from tanager.classifiers.aode import AODE
from tanager.classifiers.fanc import FANC
from tanager.classifiers.naive_bayes import NaiveBayes
from tanager.encoding.chunks import take_rows
from tanager.errors import OptionError, TanagerError, nearest
from tanager.estimator import clone
from tanager.evaluate.prequential import prequential_steps
from tanager.evaluate.prequential_results import PrequentialResults
from tanager.generate.stream import Stream
from tanager.streams.drift import DriftAware
from tanager.streams.evolving import EvolvingNaiveBayes
from tanager.streams.rules import most_different
from tanager.studio.jobs import Job
from tanager.studio.models import classifier_of
from tanager.studio.prepared import classifier_options
from tanager.studio.session import Session

MAX_ROWS = 10_000_000
STEPS = 120  # of a run at full speed
STEPS_A_SECOND = 8  # of a slower one
MAX_REPORTS = 2000  # of the measures
MAX_POINTS = 300  # of a curve that is sent
AHEAD = 500  # rows to come on which an anytime model is tried
MAX_SHOWN = 6  # columns of which fuzzy sets are shown
MAX_EVENTS = 200  # of a model, the last ones

Drift = Literal["none", "sudden", "gradual", "slow", "recurring"]

MODELS: dict[str, tuple[str, str]] = {  # name: what people call it, and what it is good for
    "nb": ("naive Bayes", "the yardstick"),
    "aode": ("AODE", "good from the first rows on"),
    "fanc": ("FANC", "all orders of the columns at once"),
    "fading": ("AODE, fading", "forgets: half of a row's weight after 1,000 rows"),
    "evolving": ("evolving naive Bayes", "classes split into pseudo-classes; fuzzy rules"),
    "anytime": ("anytime AODE", "answers at once, and better with time"),
    "session": ("the session's classifier", "as chosen, from its first row on"),
}
WATCHED = ("nb", "aode", "fanc", "session")
GENERATORS: dict[str, tuple[str, bool]] = {  # name: what people call it, and whether another seed gives another model
    "tan": ("a tree over 19 columns (TAN)", True),
    "naive_bayes": ("naive Bayes over 19 columns", True),
    "ban": ("a network over 19 columns", True),
    "gaussians": ("clusters of numbers", True),
    "moving_gaussians": ("clusters of numbers that move", False),
    "sea": ("a sum and a threshold that changes (SEA)", False),
    "stagger": ("rules that change (STAGGER)", False),
    "hyperplane": ("a weighted sum that turns", False),
}


class SourceChoice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where rows come from: "rows" of the session, or a generator with a drift at a row."""

    name: str = "rows"
    n_rows: int = 20_000  # of a generator
    drift: Drift = "none"
    at: int | None = None  # None: in the middle
    seed: int = 1
    shuffled: bool = False  # rows of the session


@dataclass(frozen=True, eq=False)
class Source:
    """Rows in their order, as ``prequential`` takes them."""

    text: str
    n_rows: int
    stream: Any
    y: Any
    ahead: Callable[[int], tuple[Any, np.ndarray]]  # rows from a place on, which have not been learned there
    best: float | None = None  # the accuracy that no classifier can beat on the average, where it is known


# --- rows ---------------------------------------------------------------------------------------------------


def source_of(session: Session, choice: SourceChoice) -> Source:
    """The rows of a choice."""
    if choice.name == "rows":
        return _rows(session, choice)
    if choice.name not in GENERATORS:
        raise OptionError(f"there is no source {choice.name!r}.{nearest(choice.name, GENERATORS)}")
    if not 1 <= choice.n_rows <= MAX_ROWS:
        raise OptionError(f"a stream of {choice.n_rows:,} rows? Give 1 to {MAX_ROWS:,}.")
    if choice.at is not None and not 0 <= choice.at < choice.n_rows:
        raise OptionError(f"the drift at row {choice.at:,} is not in a stream of {choice.n_rows:,} rows.")
    if choice.seed < 0:
        raise OptionError("the seed is a whole number of at least 0.")
    stream = _generated(choice)
    classes = np.array(list(stream.classes))

    def ahead(start: int) -> tuple[Any, np.ndarray]:
        X, y = stream.take(AHEAD, start)
        return X, classes[y]

    return Source(
        GENERATORS[choice.name][0], choice.n_rows, stream, None, ahead, stream.accuracy(min(choice.n_rows, 20_000))
    )


def _rows(session: Session, choice: SourceChoice) -> Source:
    prepared = session.prepared
    X, y = prepared.X, prepared.y
    if choice.shuffled:
        order = np.random.default_rng(choice.seed).permutation(len(y))
        X, y = X.take(order), y[order]
    text = f"{prepared.loaded.name}, {'shuffled' if choice.shuffled else 'in the order of the table'}"
    return Source(text, len(y), X, y, lambda start: (take_rows(X, start, start + AHEAD), y[start : start + AHEAD]))


def _generated(choice: SourceChoice) -> Stream:
    """The stream of a generator, with a drift to the model of the next seed."""
    make: Callable[..., Stream] = getattr(generate, choice.name)
    n_rows, at = choice.n_rows, choice.n_rows // 2 if choice.at is None else choice.at
    if not GENERATORS[choice.name][1]:
        if choice.drift != "none":
            raise OptionError(f"{GENERATORS[choice.name][0]}: this source drifts by itself. Choose no other drift.")
        own = {"sea": {"every": max(1, n_rows // 4)}, "stagger": {"every": max(1, n_rows // 3)}}
        return make(random_state=choice.seed, **own.get(choice.name, {}))
    first = make(random_state=choice.seed)
    if choice.drift == "none":
        return first
    if choice.drift == "slow":
        if first.network is None:
            raise OptionError("a slow turn of the tables is for networks. Choose a gradual drift.")
        return generate.incremental(first, generate.redrawn(first, choice.seed + 1), at, max(n_rows, at + 1))
    second = make(random_state=choice.seed + 1)
    if choice.drift == "recurring":
        return generate.recurring(first, second, every=max(1, at))
    return generate.drift(first, second, at, 1 if choice.drift == "sudden" else max(1, n_rows // 10))


# --- models -------------------------------------------------------------------------------------------------


def models_of(session: Session, names: Sequence[str], watched: Sequence[str], source: SourceChoice) -> dict[str, Any]:
    """Fresh models by the names that people read; ``watched`` ones are put into DriftAware."""
    found: dict[str, Any] = {}
    for name in dict.fromkeys(names):
        if name not in MODELS:
            raise OptionError(f"there is no model {name!r}.{nearest(name, MODELS)}")
        found[_label(session, name)] = _model(session, name, source)
    for name in dict.fromkeys(watched):
        if name not in WATCHED:
            raise OptionError(f"{name!r} cannot be watched for drift.{nearest(name, WATCHED)}")
        found[f"{_label(session, name)}, watchful"] = DriftAware(_model(session, name, source))
    if not found:
        raise OptionError("choose at least one model.")
    return found


def _label(session: Session, name: str) -> str:
    return f"{type(classifier_of(session)).__name__} of the session" if name == "session" else MODELS[name][0]


def _model(session: Session, name: str, source: SourceChoice) -> Any:
    """A model that has learned nothing yet; over the rows of the session it is told what was decided on columns."""
    if name == "session":
        if source.name != "rows":
            raise OptionError(
                "the session's classifier knows the columns of the session alone. Choose its rows, or leave it out."
            )
        return clone(classifier_of(session))
    options = classifier_options(session.prepared, session.document.columns) if source.name == "rows" else {}
    if name == "evolving":
        return EvolvingNaiveBayes(**{key: options[key] for key in ("categorical", "numeric") if key in options})
    if name == "fading":
        return AODE(**options, decay=1000)
    classes: dict[str, Any] = {"nb": NaiveBayes, "aode": AODE, "fanc": FANC, "anytime": AnytimeAODE}
    return classes[name](**options)


# --- the run ------------------------------------------------------------------------------------------------


def run(job: Job, models: dict[str, Any], source: Source, speed: int, fade: float) -> dict[str, Any]:
    """Run models along a stream with as many rows per second (0: as fast as possible); all tabs see it."""
    size = max(speed // STEPS_A_SECOND, 1 + source.n_rows // MAX_REPORTS) if speed else max(20, source.n_rows // STEPS)
    options = {"y": source.y} if source.y is not None else {"n_rows": source.n_rows}
    every = size if speed else None
    view, begin = View(models, source, size), time.monotonic()
    shown: dict[str, Any] = {}
    for results in prequential_steps(models, source.stream, rows=size, every=every, fade=fade, **options):
        shown = view.of(results)
        job.report(view.done, source.n_rows, source.text, shown)
        job.rest(size / speed - (time.monotonic() - begin) if speed else 0.0)
        begin = time.monotonic()
    return shown


class View:
    """What is shown of a run, as plain data: curves, drifts, pseudo-classes, and the anytime curve."""

    def __init__(self, models: dict[str, Any], source: Source, size: int) -> None:
        self.models, self.source, self.size = models, source, size
        self.done = 0
        self.anytime: dict[str, Any] | None = None
        self._tried = -1

    def of(self, results: PrequentialResults) -> dict[str, Any]:
        """After a step."""
        self.done = min(self.done + self.size, self.source.n_rows)
        self._try_anytime()
        shown = np.unique(np.linspace(0, len(results.rows) - 1, MAX_POINTS).round().astype(int))
        return {
            "source": self.source.text,
            "total": self.source.n_rows,
            "best": self.source.best,
            "fade": results.fade,
            "rows": results.rows[shown].tolist(),
            "drifts": results.drifts,
            "models": [_curves(results, name, model, shown) for name, model in results.models.items()],
            "evolving": next(filter(None, map(_evolving, results.models.values())), None),
            "anytime": self.anytime,
        }

    def _try_anytime(self) -> None:
        """The accuracy on rows to come, by the number of members; about ten times in a run."""
        model = next((m for m in self.models.values() if isinstance(m, AnytimeAODE)), None)
        tenth = 10 * self.done // self.source.n_rows
        if model is None or tenth == self._tried:
            return
        X, y = self.source.ahead(self.done)
        if len(y) < 20:
            return
        self._tried = tenth
        accuracy, microseconds = [], []
        for answer in model.staged_answers(X):
            accuracy.append(round(float(np.mean(model.decide(answer.proba) == y)), 4))
            microseconds.append(round(1e6 * answer.seconds / len(y), 3))
        members = [str(member) for member in model.order_]
        self.anytime = {
            "row": self.done,
            "rows": len(y),
            "accuracy": accuracy,
            "microseconds": microseconds,
            "members": members[: len(accuracy) - 1],
            "n_members": len(members),
        }


def _curves(results: PrequentialResults, name: str, model: Any, shown: np.ndarray) -> dict[str, Any]:
    events = [
        {"row": event.row, "what": event.what, "why": str(event.why), "label": str(getattr(event, "label", ""))}
        for event in getattr(model, "events_", ())[-MAX_EVENTS:]
    ]
    return {
        "name": name,
        "accuracy": np.round(results.curve(name, "accuracy", "fading")[shown], 4).tolist(),
        "log_loss": np.round(results.curve(name, "log_loss", "fading")[shown], 4).tolist(),
        "whole": float(results.curve(name)[-1]),
        "whole_loss": float(results.curve(name, "log_loss")[-1]),
        "rate": results.n_rows / max(results.seconds[name], 1e-9),
        "events": events,
    }


def _evolving(model: Any) -> dict[str, Any] | None:
    """The pseudo-classes of an evolving model, with their fuzzy sets in the columns where they differ most."""
    if not isinstance(model, EvolvingNaiveBayes):
        return None
    try:
        pseudos = model.pseudo_classes_
    except (TanagerError, AttributeError):
        return None  # it has not learned enough yet
    if not pseudos:
        return None
    known = [name for name in model.encoder_.schema.names if name in {*pseudos[0].means, *pseudos[0].tables}]
    shown = most_different(pseudos, known, MAX_SHOWN) if known else []
    return {
        "classes": [str(label) for label in model.classes_.tolist()],
        "pseudo": [
            {
                "label": str(p.label),
                "prior": p.prior,
                "weight": p.weight,
                "since": p.since,
                "sets": [_fuzzy_set(p, name) for name in shown],
            }
            for p in pseudos
        ],
        "columns": shown,
        "n_columns": len(known),
    }


def _fuzzy_set(pseudo: Any, name: str) -> dict[str, Any]:
    if name in pseudo.means:
        own = pseudo.number_set(name)
        found = {"mean": pseudo.means[name], "spread": own.spread}
        if own.density == "normal":
            return found
        high = own.centre + 4 * own.spread  # a count or a wait, which has no bell
        xs = np.arange(math.ceil(high) + 1) if own.density == "poisson" and high < 200 else np.linspace(0, high, 61)
        xs = np.round(xs) if own.density == "poisson" else xs
        return found | {"curve": [[float(x), round(math.exp(own.log_degree(x)), 4)] for x in xs]}
    table = pseudo.tables[name]
    most = max(table.values())
    likely = sorted(table, key=lambda value: -table[value])[:8]
    return {"degrees": {str(value): round(share / most, 4) for value, share in table.items() if value in likely}}
