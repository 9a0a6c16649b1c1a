"""Ask: set evidence on any variable, and see what follows for all others; what to ask next, and what answers hang on.

Evidence comes as the places of values, likelihoods as one number for each value; the page alone remembers both.
"""

from __future__ import annotations

from math import exp
from typing import Any

from tanager.errors import OptionError
from tanager.networks.network import Network
from tanager.networks.sensitivity import Sensitivity
from tanager.studio.actions import Actions
from tanager.studio.models import classifier_of, network_of, target_of
from tanager.studio.picture import picture_of
from tanager.studio.session import Session

actions = Actions("ask")

MOST_BARS = 6  # in a box; all values are in the list
BAR, LETTER, LABEL, REST = 16.0, 6.5, 100.0, 122.0  # px: of a bar, of letters, of the longest label, and beside labels
CURVE = 33  # points of the curve of a sensitivity

Evidence = dict[str, int]
Soft = dict[str, list[float]]


@actions.add
def network(session: Session) -> dict[str, Any]:
    """The variables with their values, and the picture with room for bars."""
    found, target = _network(session), target_of(session) or None
    rooms = {name: _room([str(value) for value in found.values(name)]) for name in found}
    picture = session.derive(("ask", id(found), target), lambda: (found, picture_of(found, target, {}, rooms=rooms)))[1]
    return {
        "variables": [{"name": name, "values": [str(value) for value in found.values(name)]} for name in found],
        "target": target,
        "picture": picture,
        "bars": MOST_BARS,
    }


def _room(values: list[str]) -> tuple[float, float]:
    """The width and height of bars with labels, and of a line that says how many more there are."""
    n_lines = len(values) if len(values) <= MOST_BARS else MOST_BARS + 1
    return REST + min(LETTER * max(map(len, values), default=0), LABEL), BAR * n_lines + 6


@actions.add
def beliefs(session: Session, evidence: Evidence, soft: Soft = {}) -> dict[str, Any]:  # noqa: B006
    """The posteriors of all variables, in the order of ``network``, and how probable the evidence is."""
    found = _network(session)
    known, likelihoods = _observed(found, evidence, soft)
    marginals = found.marginals(known, soft=likelihoods)
    log_evidence = found.log_evidence(known) if known else 0.0
    return {"marginals": [marginals[name] for name in found], "probability": exp(log_evidence)}


@actions.add
def questions(session: Session, target: str, evidence: Evidence, soft: Soft = {}) -> dict[str, Any]:  # noqa: B006
    """What to observe next to learn most about the target."""
    found = _network(session)
    known, likelihoods = _observed(found, evidence, soft)
    listed = found.next_question(target, known, soft=likelihoods)
    entropy = listed[0].bits + listed[0].expected_entropy if listed else 0.0
    return {"entropy": entropy, "questions": [{"name": each.name, "bits": each.bits} for each in listed[:12]]}


@actions.add
def explanation(session: Session, evidence: Evidence, soft: Soft = {}) -> dict[str, Any]:  # noqa: B006
    """The values of all other variables that are most probable together."""
    found = _network(session)
    known, likelihoods = _observed(found, evidence, soft)
    best = found.most_probable(known, soft=likelihoods)
    values = {name: found.code(name, value) for name, value in best.values.items()}
    return {"values": values, "probability": best.probability_given_evidence}


@actions.add
def sensitivity(
    session: Session,
    target: str,
    value: int,
    evidence: Evidence,
    soft: Soft = {},  # noqa: B006
    wanted: float | None = None,
    top: int = 10,
) -> dict[str, Any]:
    """Which numbers in which tables move P(target = value), and what each must be for this to be ``wanted``."""
    found = _network(session)
    known, likelihoods = _observed(found, evidence, soft)
    asked = _value(found, target, value)
    entries = found.sensitivity(target, asked, known, soft=likelihoods, top=top)
    posterior = float(found.posterior(target, known, soft=likelihoods)[value])
    return {"posterior": posterior, "entries": [_entry(entry, wanted) for entry in entries if entry.derivative]}


def _entry(entry: Sensitivity, wanted: float | None) -> dict[str, Any]:
    return {
        "variable": entry.variable,
        "value": str(entry.value),
        "given": [(name, str(value)) for name, value in entry.given.items()],
        "number": entry.number,
        "derivative": entry.derivative,
        "low": entry.low,
        "high": entry.high,
        "needed": None if wanted is None else entry.needed(wanted),
        "curve": [_posterior(entry, i / (CURVE - 1)) for i in range(CURVE)],
    }


def _posterior(entry: Sensitivity, number: float) -> float | None:
    """The posterior where the number is this; None at an end at which the evidence could not be."""
    possible = entry.gamma * number + entry.delta > 0
    return entry.posterior(number) if possible else None


def _network(session: Session) -> Network:
    """The network that is drawn or was opened, or else that of the chosen classifier, if it has one."""
    choice = session.document.data
    if session.document.arcs is not None or (choice is not None and choice.kind == "network"):
        return network_of(session)
    model = classifier_of(session)
    return session.derive(("network of", id(model)), lambda: (model, _network_in(model)))[1]


def _network_in(model: Any) -> Network:
    found = getattr(model, "network_", None)
    if not isinstance(found, Network):
        raise OptionError(
            f"there is no network to ask: {type(model).__name__} is no single network. Learn one on the page Network."
        )
    return found


def _observed(network: Network, evidence: Evidence, soft: Soft) -> tuple[dict[str, object], Soft]:
    """Evidence by value; what is certain needs no likelihoods."""
    known = {name: _value(network, name, place) for name, place in evidence.items()}
    return known, {name: numbers for name, numbers in soft.items() if name not in known}


def _value(network: Network, name: str, place: int) -> object:
    values = network.values(name)
    if not 0 <= place < len(values):
        raise OptionError(f"{name!r} has {len(values)} values, and no value number {place}.")
    return values[place]
