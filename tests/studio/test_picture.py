"""Pictures for the page, and the network and classifier that a document stands for."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import msgspec
import numpy as np
import pytest

from tanager import AODE, TAN, Network, NetworkClassifier
from tanager.errors import OptionError
from tanager.studio.document import DataChoice, LockedRow, ModelChoice
from tanager.studio.models import classifier_of, network_of, picture, tidied
from tanager.studio.pages.start import begin
from tanager.studio.picture import picture_of, tidy
from tanager.studio.session import Session


@pytest.fixture
def session() -> Iterator[Session]:
    own = Session()
    begin(own, DataChoice(kind="dataset", name="iris", target="class"))
    yield own
    own.close()


def named(session: Session) -> tuple[tuple[str, str], ...]:
    """Three arcs over the columns of the data set, whatever they are called."""
    a, b = session.prepared.schema.names[2:4]
    return (("class", a), ("class", b), (a, b))


def change(session: Session, **parts: object) -> None:
    session.change("x", msgspec.structs.replace(session.document, **parts))


def test_boxes_of_a_picture_do_not_overlap_and_parents_are_above() -> None:
    rng = np.random.default_rng(0)
    names = [f"column {i}" * (1 + i % 3) for i in range(30)]
    arcs = [(names[i], names[j]) for j in range(30) for i in range(j) if rng.random() < 0.08]
    network = Network(dict.fromkeys(names, ("a", "b")), arcs)
    shown = picture_of(network, names[0], {})
    boxes = shown["nodes"]
    for i, a in enumerate(boxes):
        for b in boxes[:i]:
            across = abs(a["x"] - b["x"]) >= (a["width"] + b["width"]) / 2
            down = abs(a["y"] - b["y"]) >= (a["height"] + b["height"]) / 2
            assert across or down, (a, b)
    place = {box["name"]: box["y"] for box in boxes}
    assert all(place[arc["parent"]] < place[arc["child"]] for arc in shown["arcs"])
    assert all(arc["points"] is not None for arc in shown["arcs"])


def test_a_class_above_many_columns_does_not_shape_the_layout() -> None:
    names = [f"x{i}" for i in range(10)]
    network = Network(dict.fromkeys((*names, "class"), ("a", "b")), [("class", name) for name in names])
    places, routes = tidy(network, "class")
    assert all(places["class"][1] < places[name][1] for name in names)
    assert routes == {}
    assert {arc["style"] for arc in picture_of(network, "class", places)["arcs"]} == {"class"}


def test_boxes_stay_where_they_are(session: Session) -> None:
    change(session, arcs=named(session))
    places = tidied(session, network_of(session))
    a = session.prepared.schema.names[2]
    change(session, positions=places | {a: (500.0, 700.0)})
    shown = picture(session)
    box = next(node for node in shown["nodes"] if node["name"] == a)
    assert (box["x"], box["y"]) == (500.0, 700.0)
    with_points = {(arc["parent"], arc["child"]) for arc in shown["arcs"] if arc["points"] is not None}
    assert with_points == {arc for arc in named(session) if a not in arc}


def test_the_network_of_a_document_has_the_tables_of_the_classifier(session: Session) -> None:
    change(session, arcs=named(session))
    model = classifier_of(session)
    assert isinstance(model, NetworkClassifier)
    ours = network_of(session)
    for name in model.network_.names:
        table = ours.table_in_order(name, model.network_.parents(name))
        np.testing.assert_allclose(table, model.network_.tables[name])


def test_locked_numbers_are_in_the_tables(session: Session) -> None:
    a = session.prepared.schema.names[2]
    n = len(session.prepared.values[a])
    given = session.prepared.values["class"][1]
    locked = {a: (LockedRow((given,), (0.5, 0.5) + (0.0,) * (n - 2)),)}  # type: ignore[arg-type]
    change(session, arcs=named(session), locked=locked)
    assert network_of(session).tables[a][1].tolist() == [0.5, 0.5] + [0.0] * (n - 2)


def test_the_classifier_is_the_one_that_was_chosen(session: Session) -> None:
    assert isinstance(classifier_of(session), AODE)  # as long as there is no network
    change(session, model=ModelChoice("TAN", {"smoothing": 0.5}))
    model = classifier_of(session)
    assert isinstance(model, TAN)
    assert classifier_of(session) is model
    change(session, model=ModelChoice("TANN"))
    with pytest.raises(OptionError, match="TAN"):
        classifier_of(session)
    change(session, model=ModelChoice("network"))
    with pytest.raises(OptionError, match="no network yet"):
        network_of(session)


def test_a_long_chain_is_folded() -> None:
    names = [f"position {i}" for i in range(40)]
    network = Network(dict.fromkeys((*names, "class"), ("a", "b")), [*pairwise(names)])
    shown = picture_of(network, "class", {})
    assert shown["height"] < 2 * shown["width"]
    places = {(node["x"], node["y"]) for node in shown["nodes"]}
    assert len(places) == 41
    assert sum(arc["points"] is None for arc in shown["arcs"]) in range(1, 10)  # those from column to column
