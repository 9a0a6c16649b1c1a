"""The network and the classifier that a document stands for, made once and remembered."""

from __future__ import annotations

import os
from typing import Any

import msgspec
import numpy as np

import tanager
from tanager.classifiers.network_classifier import NetworkClassifier
from tanager.errors import OptionError, nearest
from tanager.evaluate import LeftOutFigures, LeftOutNetworks
from tanager.learning.classifier import Classifier
from tanager.networks.network import Network
from tanager.persist import load as load_model
from tanager.studio.document import Document
from tanager.studio.picture import Routes, picture_of, tidy
from tanager.studio.prepared import Prepared, classifier_options, path_of, read_network_file
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
    if document.data is not None and not session.has_rows:
        raise OptionError("there are no rows, so this network can be looked at, but not changed.")
    if document.arcs is None:
        raise OptionError("there is no network yet. Learn one on the page Network.")
    return with_arcs(session, document.arcs)


def with_arcs(session: Session, arcs: tuple[tuple[str, str], ...]) -> Network:
    """A network without tables over the present columns and the class, remembered."""
    key = ("structure", rows_key(session), arcs)
    return session.derive(key, lambda: Network(session.prepared.values, arcs))


def network_of(session: Session) -> Network:
    """The network with its tables: estimated from the rows, but for the numbers that a person has set."""
    document = session.document
    if document.data is not None and document.data.kind == "network":
        path = path_of(document.data, session.uploads)
        return session.derive(("network file", path), lambda: read_network_file(path))
    if document.data is not None and not session.has_rows:
        network = getattr(model_of(session), "network_", None)
        if not isinstance(network, Network):
            raise OptionError("the model in this file is not one network. Open the page Why or Export.")
        return network
    key = ("network", rows_key(session), document.arcs, _plain(document.locked))
    return session.derive(key, lambda: _with_tables(session))


def _with_tables(session: Session) -> Network:
    prepared = session.prepared
    network = structure_of(session).estimate(prepared.sample, SMOOTHING, target=prepared.target)
    return network.with_rows(locked_rows(session.document))


def locked_rows(document: Document) -> dict[str, dict[tuple[object, ...], list[float]]]:
    """The rows of tables that a person has set, as ``Network.with_rows`` and ``NetworkClassifier`` take them."""
    return {
        name: {row.given: list(row.probabilities) for row in rows} for name, rows in document.locked.items() if rows
    }


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
    prepared = session.prepared
    model = unfitted(prepared, session.document)
    if isinstance(model, NetworkClassifier):  # which is made again after every edit: rows need not be encoded again
        return model.fit_codes(
            prepared.codes, prepared.labels, prepared.schema, prepared.classes, target=prepared.target
        )
    return model.fit_table(prepared.X, prepared.y, prepared.target)


def unfitted(prepared: Prepared, document: Document) -> Any:
    """The classifier that a document chooses, before it has learned the rows."""
    choice = document.model
    options: dict[str, Any] = {"schema": prepared.schema, "cost_matrix": document.costs} | choice.options
    if choice.options.get("gaussian"):  # numbers are not cut, so the schema is another one
        options |= {"schema": None} | classifier_options(prepared, document.columns, gaussian=True)
    cls = classifier_class("AODE" if choice.name == "network" else choice.name)
    if choice.name == "network" and document.arcs is not None:
        cls, network = NetworkClassifier, Network(prepared.values, document.arcs)
        options |= {"network": network, "target": prepared.target, "locked": locked_rows(document) or None}
    try:
        return cls(**options)
    except TypeError as error:  # a session may come from a file, with any options
        raise OptionError(f"{cls.__name__} cannot be made as this session says: {error}.") from None


def left_out(session: Session) -> LeftOutNetworks:
    """The rows, on which any network can be tried."""
    prepared = session.prepared
    return session.derive(
        ("left-out networks", rows_key(session)),
        lambda: LeftOutNetworks(
            prepared.codes,
            prepared.labels,
            prepared.schema,
            prepared.classes.tolist(),
            target=prepared.target,
            n_jobs=min(os.cpu_count() or 1, 4),
        ),
    )


def figures_of(session: Session, document: Document) -> LeftOutFigures:
    """Left-out figures of the network of a document over the present columns, remembered."""
    key = ("figures", rows_key(session), document.arcs, _plain(document.locked))
    rows = left_out(session)
    network = with_arcs(session, document.arcs or ())
    return session.derive(key, lambda: rows.figures(network, locked=locked_rows(document)))


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
    return picture_with(session, structure_of(session), session.document)


def picture_with(session: Session, network: Network, document: Document) -> dict[str, Any]:
    """The picture of a network over the present columns, its boxes where they are now."""
    positions = session.document.positions
    return picture_of(
        network,
        target_of(session),
        positions,
        routes=kept_routes(session, network, positions),
        shades=shades(session),
        strengths=strengths(session, network),
        undirected=[arc for arc in document.undirected if arc in network.arcs],
    )


def strengths(session: Session, network: Network) -> dict[tuple[str, str], float]:
    """I(parent; child | other parents) of all arcs, but for those of the class, in nats."""
    sample, target = session.prepared.sample, session.prepared.target
    place = {name: i for i, name in enumerate(sample.names)}
    found = {}
    for child in network:
        own = network.parents(child)
        for parent in own:
            if parent != target:
                rest = [place[name] for name in own if name != parent]
                found[parent, child] = sample.information_at(place[parent], place[child], rest).value
    return found


def shades(session: Session) -> dict[str, float]:
    """What every column says about the class, in nats."""
    sample, target = session.prepared.sample, session.prepared.target
    names = [name for name in sample.names if name != target]
    key = ("shades", rows_key(session))
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


def rows_key(session: Session) -> Any:
    """Tells whether rows and columns are still the same."""
    document = session.document
    return document.data, _plain(document.columns)


def _plain(value: Any) -> bytes:
    return msgspec.json.encode(value, order="deterministic")
