"""The network and the classifier that a document stands for, made once and remembered."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

import tanager
from tanager.classifiers.network_classifier import NetworkClassifier
from tanager.errors import OptionError, nearest
from tanager.learning.classifier import Classifier
from tanager.networks.files import read_network
from tanager.networks.network import Network
from tanager.persist import load as load_model
from tanager.studio.document import Document
from tanager.studio.picture import Routes, picture_of, tidy
from tanager.studio.prepared import path_of
from tanager.studio.session import Session

SMOOTHING = NetworkClassifier.default_estimate  # of the tables that pages show: that of the classifier


def has_network(session: Session) -> bool:
    """Whether there is a network to look at."""
    return session.document.arcs is not None or not session.has_rows


def target_of(session: Session) -> str:
    """The name of the class; "" where a network file has none."""
    if session.has_rows:
        return session.prepared.target
    choice = session.document.data
    return choice.target if choice is not None and choice.kind == "network" else str(model_of(session).class_name)


def structure_of(session: Session) -> Network:
    """The network of the document without tables."""
    document = session.document
    if document.arcs is None:
        raise OptionError("there is no network yet. Learn one on the page Network.")
    return Network(session.prepared.values, document.arcs)


def network_of(session: Session) -> Network:
    """The network with its tables: estimated from the rows, but for the numbers that a person has set."""
    document = session.document
    if document.data is not None and document.data.kind == "network":
        path = path_of(document.data, session.uploads)
        return session.derive(("network file", path), lambda: read_network(path))
    if document.data is not None and not session.has_rows:
        network = getattr(model_of(session), "network_", None)
        if not isinstance(network, Network):
            raise OptionError("the model in this file is not one network. Open the page Why or Export.")
        return network
    key = ("network", _rows_key(session), document.arcs, _plain(document.locked))
    return session.derive(key, lambda: _with_tables(session))


def _with_tables(session: Session) -> Network:
    prepared = session.prepared
    network = structure_of(session).estimate(prepared.sample, SMOOTHING, target=prepared.target)
    return with_locked(network, session.document)


def with_locked(network: Network, document: Document) -> Network:
    """The network with the rows of its tables that a person has set."""
    tables = {}
    for name, rows in document.locked.items():
        if name in network:
            cells = network.tables[name].copy()
            for row in rows:
                at = tuple(
                    network.code(parent, value) for parent, value in zip(network.parents(name), row.given, strict=True)
                )
                cells[at] = row.probabilities
            tables[name] = cells
    return network.with_tables(tables) if tables else network


def model_of(session: Session) -> Any:
    """The classifier of the model file that was opened."""
    choice = session.document.data
    if choice is None or choice.kind != "model":
        raise OptionError("there are no rows, and no model was opened: a network file has no classifier.")
    path = path_of(choice, session.uploads)
    return session.derive(("model file", path), lambda: load_model(path))


def classifier_of(session: Session) -> Any:
    """The fitted classifier that the document chooses: by the network that is drawn, or any other of tanager.

    The name of the choice is "network", or that of a class such as "AODE".
    """
    document = session.document
    if document.data is not None and not session.has_rows:
        return model_of(session)
    return session.derive(("classifier", *_classifier_key(document)), lambda: _fitted(session))


def left_out_of(session: Session) -> np.ndarray:
    """The probabilities of all classes for every row, each left out in its turn."""
    model, prepared = classifier_of(session), session.prepared
    if not model.can_leave_out:
        raise OptionError(f"{type(model).__name__} cannot leave rows out. Choose another one on the page Compare.")
    key = ("left out", *_classifier_key(session.document))
    return session.derive(key, lambda: np.asarray(model.leave_one_out(prepared.X, prepared.y)))


def _classifier_key(document: Document) -> tuple[Any, ...]:
    """All decisions that a fitted classifier depends on."""
    columns, locked, model = (_plain(own) for own in (document.columns, document.locked, document.model))
    return document.data, columns, document.arcs, locked, model, document.costs


def _fitted(session: Session) -> Any:
    prepared, choice = session.prepared, session.document.model
    shared = {"schema": prepared.schema, "cost_matrix": session.document.costs}
    if choice.name == "network" and session.document.arcs is not None:
        options: dict[str, Any] = {"network": structure_of(session), "target": prepared.target} | choice.options
        model: Any = NetworkClassifier(**options, **shared)
    else:
        model = classifier_class("AODE" if choice.name == "network" else choice.name)(**choice.options, **shared)
    return model.fit_table(prepared.X, prepared.y, prepared.target)


def classifier_class(name: str) -> Any:
    """A classifier of tanager by the name of its class."""
    known = [n for n in tanager.__all__ if n[:1].isupper() and _is_classifier(getattr(tanager, n))]
    if name not in known:
        raise OptionError(f"there is no classifier {name!r}.{nearest(name, known)}")
    return getattr(tanager, name)


def _is_classifier(what: Any) -> bool:
    return isinstance(what, type) and issubclass(what, Classifier)


def picture(session: Session) -> dict[str, Any]:
    """The picture of the network of the document, for all pages that show it."""
    if not session.has_rows:
        network = network_of(session)
        return picture_of(network, target_of(session) or None, {})
    network, target, positions = structure_of(session), target_of(session), session.document.positions
    sample = session.prepared.sample
    strengths = {}
    for parent, child in network.arcs:
        rest = [name for name in network.parents(child) if name != parent]
        strengths[parent, child] = sample.information(parent, child, rest).value
    return picture_of(
        network,
        target,
        positions,
        routes=kept_routes(session, network, positions),
        shades=shades(session),
        strengths={arc: value for arc, value in strengths.items() if arc[0] != target},
    )


def shades(session: Session) -> dict[str, float]:
    """What every column says about the class, in nats."""
    sample, target = session.prepared.sample, session.prepared.target
    names = [name for name in sample.names if name != target]
    key = ("shades", _rows_key(session))
    return session.derive(key, lambda: {name: sample.information(name, target).value for name in names})


def tidied(session: Session, network: Network) -> dict[str, tuple[float, float]]:
    """Places of all boxes by the layout; the routes of its arcs are remembered."""
    places, routes = tidy(network, target_of(session))
    known: dict[Any, Any] = session.derive("routes", dict)
    if len(known) > 20_000:
        known.clear()
    known.update({(arc, places[arc[0]], places[arc[1]]): points for arc, points in routes.items()})
    return places


def kept_routes(session: Session, network: Network, positions: Any) -> Routes:
    """Routes of arcs whose two boxes are still where a layout has put them."""
    known: dict[Any, Any] = session.derive("routes", dict)
    found = {}
    for arc in network.arcs:
        points = known.get((arc, positions.get(arc[0]), positions.get(arc[1])))
        if points is not None:
            found[arc] = points
    return found


def _rows_key(session: Session) -> Any:
    document = session.document
    return document.data, _plain(document.columns)


def _plain(value: Any) -> bytes:
    return msgspec.json.encode(value, order="deterministic")
