"""The page Network: learn it, look at it, change it, and see at once what that does to left-out answers."""

from __future__ import annotations

from typing import Any

import msgspec

from tanager.counts.sample import Sample
from tanager.errors import OptionError
from tanager.evaluate import Interval, LeftOutFigures
from tanager.networks.network import Arc, Network
from tanager.structure.constraints import Constraints as CheckedConstraints
from tanager.studio import learners, node_tables
from tanager.studio.actions import Actions
from tanager.studio.document import Constraints, Document, LearnerChoice, LockedRow
from tanager.studio.jobs import Job
from tanager.studio.models import (
    figures_of,
    has_network,
    network_of,
    picture,
    picture_with,
    structure_of,
    target_of,
    tidied,
    with_arcs,
)
from tanager.studio.session import Session

actions = Actions("network")
replace = msgspec.structs.replace

Value = str | int | float | bool


@actions.add
def forms(session: Session) -> list[learners.Form]:
    """The learners, and what each can be told."""
    return list(learners.FORMS.values())


@actions.add
def state(session: Session) -> dict[str, Any]:
    """All that the page shows: the picture, figures, rules, and what can be done."""
    document = session.document
    names = [*session.prepared.schema.names, session.prepared.target] if session.has_rows else []
    found: dict[str, Any] = {
        "version": session.version,
        "editable": session.has_rows,
        "names": names,
        "rules": document.constraints,
        "learner": document.learner,
        "locked": {name: len(rows) for name, rows in document.locked.items()},
        "picture": None,
        "figures": None,
    }
    if not has_network(session):
        return found | {"target": target_of(session)}
    network = structure_of(session) if session.has_rows else network_of(session)
    found |= {
        "target": target_of(session),
        "picture": picture(session),
        "arcs": len(network.arcs),
        "parameters": network.n_parameters,
    }
    return found | ({"figures": _figures(session)} if session.has_rows else {})


@actions.add
def learn(session: Session, learner: str, options: dict[str, Any] | None = None, tidy: bool = True) -> dict[str, Any]:
    """A job: learn a network by a learner; it becomes a step of the history."""
    filled = learners.checked(learner, options or {})
    prepared, rules = session.prepared, session.document.constraints

    def work(job: Job) -> dict[str, Any]:
        title = learners.FORMS[learner].title

        def progress(what: str, done: int, of: int | None) -> None:
            job.report(done, of or 0, what)

        progress(f"learning by {title}", 0, None)
        learned = learners.learn(prepared, learner, filled, rules, progress)
        if session.prepared is not prepared:
            raise OptionError("the columns were changed while the network was learned. Learn it again.")
        document = replace(
            session.document,
            learner=LearnerChoice(learner, filled),
            arcs=learned.arcs,
            learned=learned.arcs,
            undirected=learned.undirected,
        )
        had_locks = bool(session.document.locked)
        document = _with_fitting_locks(session, document)
        if tidy or not document.positions:
            progress("drawing it", 0, None)
            document = replace(document, positions=tidied(session, with_arcs(session, learned.arcs)))
        job.report(1, 1, "leaving rows out")
        _step(session, f"learned by {title}", document, (*learned.code, *_locked_code(document, always=had_locks)))
        return {"trace": learned.trace, "arcs": len(learned.arcs)}

    return session.jobs.start("network", work)


@actions.add
def add(session: Session, parent: str, child: str) -> dict[str, Any]:
    """Add an arc."""
    return _edit(session, f"added {parent} → {child}", "add", parent, child)


@actions.add
def remove(session: Session, parent: str, child: str) -> dict[str, Any]:
    """Remove an arc."""
    return _edit(session, f"removed {parent} → {child}", "remove", parent, child)


@actions.add
def reverse(session: Session, parent: str, child: str) -> dict[str, Any]:
    """Reverse an arc."""
    return _edit(session, f"reversed {parent} → {child}", "reverse", parent, child)


@actions.add
def attempt(session: Session, parent: str, child: str, what: str = "add") -> dict[str, Any]:
    """What an edit would do to left-out answers; nothing is changed."""
    document = _edited(session, what, parent, child)
    return _difference(figures_of(session, document), figures_of(session, session.document))


@actions.add
def move(session: Session, name: str, x: float, y: float) -> int:
    """Put a box elsewhere; no step of the history."""
    document = session.document
    if name not in structure_of(session):
        raise OptionError(f"there is no variable {name!r}.")
    places = _places(session) | {name: (float(min(max(x, -1e5), 1e5)), float(min(max(y, -1e5), 1e5)))}
    session.amend(replace(document, positions=places))
    return session.version


@actions.add
def tidy(session: Session) -> dict[str, Any]:
    """Lay the picture out again."""
    document = replace(session.document, positions=tidied(session, structure_of(session)))
    session.change("tidied the picture", document, (), _plain_figures(figures_of(session, document)))
    return state(session)


@actions.add
def constrain(
    session: Session,
    required: tuple[Arc, ...] = (),
    forbidden: tuple[Arc, ...] = (),
    tiers: tuple[tuple[str, ...], ...] = (),
) -> dict[str, Any]:
    """Say what learners must keep to; the network stays as it is until it is learned again."""
    rules = Constraints(tuple(dict.fromkeys(required)), tuple(dict.fromkeys(forbidden)), tiers)
    sample: Sample = session.prepared.sample
    CheckedConstraints(
        sample,
        range(len(sample.names)),
        required=rules.required,
        forbidden=rules.forbidden,
        tiers=[tier for tier in rules.tiers if tier],
    )
    document = replace(session.document, constraints=rules)
    figures = None if document.arcs is None else _plain_figures(figures_of(session, document))
    session.change("changed the rules for learners", document, (), figures)
    return state(session)


@actions.add
def table(session: Session, name: str, first: int = 0) -> dict[str, Any]:
    """The table of a node, with the counts behind every number."""
    return node_tables.node_table(session, name, max(first, 0))


@actions.add
def trace(session: Session, name: str, given: tuple[Value, ...]) -> list[dict[str, Any]]:
    """How the numbers of one row came about."""
    return node_tables.trace(session, name, given)


@actions.add
def lock(session: Session, name: str, given: tuple[Value, ...], probabilities: tuple[float, ...]) -> dict[str, Any]:
    """Set the numbers of one row of a table; they stay when the network is learned again."""
    network = structure_of(session)
    row = LockedRow(given, probabilities)
    document = replace(session.document, locked=node_tables.with_row(session.document, network, name, row))
    _step(session, f"set P({_row_name(network, name, given)})", document, _locked_code(document, always=True))
    return state(session)


@actions.add
def unlock(session: Session, name: str, given: tuple[Value, ...]) -> dict[str, Any]:
    """Let the numbers of one row of a table come from the rows again."""
    network = structure_of(session)
    locked = node_tables.without_row(session.document, network, name, given)
    document = replace(session.document, locked=locked)
    _step(session, f"unlocked P({_row_name(network, name, given)})", document, _locked_code(document, always=True))
    return state(session)


@actions.add
def side(session: Session, against: str = "before") -> dict[str, Any]:
    """The network before the last step that changed it ("before"), or as it was learned ("learned")."""
    label, document = _against(session, against)
    here = session.document
    arcs = None if document is None else document.arcs
    if document is None or arcs is None:
        return {"label": label, "picture": None}
    network = with_arcs(session, arcs)
    return {
        "label": label,
        "picture": picture_with(session, network, document),
        "figures": _plain_figures(figures_of(session, document)),
        "difference": _difference(figures_of(session, here), figures_of(session, document)),
    }


# --- edits and their figures ------------------------------------------------------------------------------------------


def _edited(session: Session, what: str, parent: str, child: str) -> Document:
    """The document after an edit: a node that gets or loses a parent loses the numbers that were set for it."""
    if what not in ("add", "remove", "reverse"):
        raise OptionError(f"an arc can be added, removed or reversed, not {what!r}.")
    document, network = session.document, structure_of(session)
    edited: Network = getattr(network, what)(parent, child)
    touched = {child} if what != "reverse" else {parent, child}
    locked = {name: rows for name, rows in document.locked.items() if name not in touched}
    free = tuple(arc for arc in document.undirected if set(arc) != {parent, child})
    return replace(document, arcs=tuple(edited.arcs), locked=locked, undirected=free)


def _edit(session: Session, label: str, what: str, parent: str, child: str) -> dict[str, Any]:
    before = session.document
    document = replace(_edited(session, what, parent, child), positions=_places(session))
    code: tuple[str, ...] = (f"network = network.{what}({parent!r}, {child!r})",)
    lost = len(before.locked) - len(document.locked)
    if lost:
        label += ", without the numbers that were set there"
        code += _locked_code(document, always=True)
    _step(session, label, document, code)
    return state(session)


def _step(session: Session, label: str, document: Document, code: tuple[str, ...]) -> None:
    session.change(label, document, code, _plain_figures(figures_of(session, document)))


def _places(session: Session) -> dict[str, tuple[float, float]]:
    """Where all boxes are now, so that they stay there."""
    known = session.document.positions
    names = structure_of(session).names
    if all(name in known for name in names):
        return dict(known)
    return {node["name"]: (node["x"], node["y"]) for node in picture(session)["nodes"]}


def _with_fitting_locks(session: Session, document: Document) -> Document:
    """The document with those locked rows that fit its network: their node has the same parents as before."""
    if not document.locked:
        return document
    before, after = structure_of(session), with_arcs(session, document.arcs or ())
    kept = {name: rows for name, rows in document.locked.items() if before.parents(name) == after.parents(name)}
    return replace(document, locked=kept)


def _locked_code(document: Document, *, always: bool = False) -> tuple[str, ...]:
    """A line with the rows that are locked, for ``NetworkClassifier(locked=)``."""
    if not document.locked and not always:
        return ()
    rows = {name: {row.given: list(row.probabilities) for row in own} for name, own in document.locked.items()}
    return (f"locked = {rows!r}",)


def _row_name(network: Network, name: str, given: tuple[Value, ...]) -> str:
    shown = ", ".join(f"{parent} = {value}" for parent, value in zip(network.parents(name), given, strict=True))
    return f"{name} | {shown}" if shown else name


def _plain_figures(figures: LeftOutFigures) -> dict[str, Any]:
    return {"accuracy": figures.accuracy, "log_loss": figures.log_loss}


def _figures(session: Session) -> dict[str, Any]:
    """The figures of the present network, and how they differ from the step before and from the learned network."""
    present = figures_of(session, session.document)
    found: dict[str, Any] = _plain_figures(present) | {"rows": len(present.right)}
    for against in ("before", "learned"):
        label, document = _against(session, against)
        if document is not None and document.arcs is not None:
            other = figures_of(session, document)
            found[against] = _difference(present, other) | {"label": label}
    return found


def _against(session: Session, against: str) -> tuple[str, Document | None]:
    """The document to compare with, and words for it; None where there is none over the same rows and columns."""
    here = session.document
    if against == "learned":
        if here.learned is None or (here.learned == here.arcs and not here.locked):
            return "as it was learned", None
        known = set(session.prepared.values)
        arcs = tuple(arc for arc in here.learned if known.issuperset(arc))
        return "as it was learned", replace(here, arcs=arcs, locked={})
    if against != "before":
        raise OptionError(f"a network is compared with the one before, or as it was learned; not with {against!r}.")
    for entry in session.entries[: session.position][::-1]:
        other = entry.document
        if other.data != here.data or other.columns != here.columns or other.arcs is None:
            break
        if (other.arcs, other.locked) != (here.arcs, here.locked):
            return "before the last step", other
    return "before the last step", None


def _difference(present: LeftOutFigures, other: LeftOutFigures) -> dict[str, Any]:
    difference = present.minus(other)
    return {name: _interval(getattr(difference, name)) for name in ("accuracy", "log_loss")}


def _interval(interval: Interval) -> dict[str, Any]:
    return {"difference": interval.difference, "margin": interval.margin, "certain": interval.certain}
