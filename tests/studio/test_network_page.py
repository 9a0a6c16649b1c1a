"""The page Network without a browser: learners as forms, edits with figures, rules, tables and locks."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tanager import Network, NetworkClassifier
from tanager.errors import DataError, OptionError, TanagerError
from tanager.studio import learners
from tanager.studio.document import Constraints, DataChoice
from tanager.studio.models import classifier_of, network_of
from tanager.studio.pages import network as page
from tanager.studio.pages.start import begin
from tanager.studio.session import Session
from waiting import PATIENCE


@pytest.fixture
def session() -> Iterator[Session]:
    own = Session()
    begin(own, DataChoice(kind="dataset", name="iris", target="class"))
    yield own
    own.close()


def learn(session: Session, learner: str, **options: Any) -> None:
    page.learn(session, learner, options)
    job = session.jobs.find("network")
    assert job is not None
    assert job.wait(PATIENCE)
    assert job.state == "done", job.text


def arcs(session: Session) -> set[tuple[str, str]]:
    return set(session.document.arcs or ())


@pytest.mark.parametrize("name", learners.FORMS)
def test_every_learner_learns_by_its_form_and_by_its_lines_of_python(session: Session, name: str) -> None:
    form = learners.FORMS[name]
    for field in form.fields or (None,):
        for value in [own for own, _ in field.options] if field is not None and field.options else [None]:
            options = {} if field is None or value is None else {field.name: value}
            learned = learners.learn(session.prepared, name, options, Constraints())
            space: dict[str, Any] = {"X": session.loaded.X, "y": session.loaded.y, "options": {}}
            space["options"] = {"bins": "mdl", "n_bins": 5, **session.loaded.options}
            exec("\n".join(learned.code), space)
            assert space["network"].arcs == list(learned.arcs), options
            assert list(space["network"].names) == list(session.prepared.values)


def test_options_that_make_no_sense_are_refused_by_their_label() -> None:
    for name, options, words in (
        ("hill-clim", {}, "hill-climb"),
        ("hill-climb", {"scor": "bic"}, "score"),
        ("hill-climb", {"score": "mdl"}, "Score: 'mdl' is not one of bic"),
        ("hill-climb", {"max_parents": 0}, "whole number from 1 to 10"),
        ("hill-climb", {"max_parents": 2.5}, "whole number"),
        ("hill-climb", {"max_parents": True}, "whole number"),
        ("cbl", {"threshold": float("nan")}, "number from 0 to 10"),
        ("cbl", {"names": [1]}, "list of columns"),
    ):
        with pytest.raises(OptionError, match=words):
            learners.checked(name, options)
    assert learners.checked("cbl", {"max_parents": None})["max_parents"] is None


def test_an_order_by_hand_is_kept(session: Session) -> None:
    a, b, *_ = names = session.prepared.schema.names
    options = {"order": "names", "names": [names[3], a], "role": "given"}
    found = learners.learn(session.prepared, "k2", options, Constraints()).arcs
    place = {name: i for i, name in enumerate([names[3], a, b, names[2]])}
    assert all(place[u] < place[v] for u, v in found if u != "class")
    with pytest.raises(OptionError, match="no column"):
        learners.learn(session.prepared, "k2", {"order": "names", "names": ["sepal"]}, Constraints())


def test_learners_keep_to_rules(session: Session) -> None:
    a, b, c, d = session.prepared.schema.names
    page.constrain(session, ((a, b),), ((c, d), (d, c)), ((a,), (c,)))
    learn(session, "hill-climb", role="free")
    assert (a, b) in arcs(session)
    assert not {(c, d), (d, c), (c, a)} & arcs(session)
    with pytest.raises(TanagerError, match="cycle"):
        page.constrain(session, ((a, b), (b, a)))
    with pytest.raises(OptionError, match="PDAG"):
        learners.learn(session.prepared, "pdag", {}, session.document.constraints)


def test_an_edit_answers_with_the_figures_of_the_classifier(session: Session) -> None:
    learn(session, "naive-bayes")
    a, b = session.prepared.schema.names[2:4]
    tried = page.attempt(session, a, b)
    shown = page.add(session, a, b)
    model = NetworkClassifier(Network(session.prepared.values, session.document.arcs), "class")
    model.set_params(schema=session.prepared.schema).fit(session.prepared.X, session.prepared.y)
    proba = model.leave_one_out(session.prepared.X, session.prepared.y)
    right = model.decide(proba) == session.prepared.y
    assert shown["figures"]["accuracy"] == pytest.approx(right.mean())
    assert shown["figures"]["before"]["log_loss"] == tried["log_loss"]
    assert shown["figures"]["learned"]["log_loss"] == tried["log_loss"]
    assert session.entries[-1].figures == {
        "accuracy": shown["figures"]["accuracy"],
        "log_loss": shown["figures"]["log_loss"],
    }
    assert session.entries[-1].label == f"added {a} → {b}"
    page.reverse(session, a, b)
    assert (b, a) in arcs(session)
    shown = page.remove(session, b, a)
    assert shown["figures"]["before"]["log_loss"]["difference"] != 0
    assert "learned" not in shown["figures"]  # it is as it was learned


def test_a_cycle_is_refused_with_its_path(session: Session) -> None:
    learn(session, "empty")
    a, b, c, _ = session.prepared.schema.names
    page.add(session, a, b)
    page.add(session, b, c)
    before = session.document
    for action in (page.add, page.attempt):
        with pytest.raises(DataError, match=re.escape(f"cycle {a} -> {b} -> {c} -> {a}")):
            action(session, c, a)
    assert session.document == before


def test_boxes_stay_until_tidy(session: Session) -> None:
    learn(session, "naive-bayes")
    a, b, *_ = session.prepared.schema.names
    page.move(session, a, 900.0, 500.0)
    n_steps = len(session.entries)

    def places() -> dict[str, tuple[float, float]]:
        return {node["name"]: (node["x"], node["y"]) for node in page.state(session)["picture"]["nodes"]}

    before = places()
    assert before[a] == (900.0, 500.0)
    page.add(session, a, b)
    assert places() == before
    assert len(session.entries) == n_steps + 1
    page.tidy(session)
    assert places() != before
    session.go_to(session.position - 1)
    assert places() == before


def test_the_network_beside_is_the_one_before_or_as_learned(session: Session) -> None:
    learn(session, "naive-bayes")
    a, b, c, _ = session.prepared.schema.names
    assert page.side(session, "learned")["picture"] is None
    page.add(session, a, b)
    page.add(session, b, c)

    def own(shown: dict[str, Any]) -> set[tuple[str, str]]:
        return {(arc["parent"], arc["child"]) for arc in shown["picture"]["arcs"]}

    assert arcs(session) - own(page.side(session, "before")) == {(b, c)}
    assert arcs(session) - own(page.side(session, "learned")) == {(a, b), (b, c)}
    with pytest.raises(OptionError, match="nowhere"):
        page.side(session, "nowhere")


def test_a_table_has_the_counts_behind_every_number(session: Session) -> None:
    learn(session, "naive-bayes")
    a, b = session.prepared.schema.names[2:4]
    page.add(session, a, b)
    table = page.table(session, b)
    assert table["parents"] == ["class", a]
    counts = session.prepared.sample.count("class", a, b)
    assert sum(row["total"] for row in table["rows"]) == counts.sum() == 150
    assert [row["total"] for row in table["rows"]] == sorted((row["total"] for row in table["rows"]), reverse=True)
    network = network_of(session)
    for row in table["rows"]:
        at = tuple(network.code(parent, value) for parent, value in zip(table["parents"], row["given"], strict=True))
        np.testing.assert_array_equal(row["counts"], counts[at])
        np.testing.assert_array_equal(row["probabilities"], network.tables[b][at])
    row = table["rows"][0]
    steps = page.trace(session, b, tuple(row["given"]))
    np.testing.assert_allclose(steps[-1]["probabilities"], row["probabilities"])
    # back-off: five rows of the line above
    pulled = (steps[-1]["counts"] + 5 * steps[-2]["probabilities"]) / (steps[-1]["total"] + 5)
    np.testing.assert_allclose(pulled, row["probabilities"])


def test_a_long_table_is_shown_in_parts(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tanager.studio.node_tables.MOST_ROWS", 2)
    learn(session, "naive-bayes")
    name = session.prepared.schema.names[0]
    first, rest = page.table(session, name), page.table(session, name, 2)
    assert (len(first["rows"]), len(rest["rows"]), rest["n_rows"]) == (2, 1, 3)


def test_locked_numbers_stay_when_the_network_is_learned_again(session: Session) -> None:
    learn(session, "naive-bayes")
    name = session.prepared.schema.names[2]
    n = len(session.prepared.values[name])
    given = (session.prepared.values["class"][0],)
    numbers = tuple(np.full(n, 1 / n).tolist())
    before = page.state(session)["figures"]["log_loss"]
    shown = page.lock(session, name, given, numbers)  # type: ignore[arg-type]
    assert shown["figures"]["log_loss"] > before
    assert shown["locked"] == {name: 1}
    table = page.table(session, name)
    assert table["rows"][0]["locked"]
    assert table["rows"][0]["probabilities"].tolist() == list(numbers)
    proba = classifier_of(session).leave_one_out(session.prepared.X, session.prepared.y)
    own = proba[np.arange(150), session.prepared.labels.astype(int)]
    assert -np.log(own).mean() == pytest.approx(shown["figures"]["log_loss"])
    learn(session, "naive-bayes")
    assert network_of(session).tables[name][0].tolist() == list(numbers)
    learn(session, "empty")  # the node has no parents now: the row means nothing any more
    assert session.document.locked == {}
    session.go_to(session.position - 1)
    shown = page.unlock(session, name, given)  # type: ignore[arg-type]
    assert shown["figures"]["log_loss"] == pytest.approx(before)


def test_an_edit_drops_the_numbers_that_were_set_for_its_child(session: Session) -> None:
    learn(session, "naive-bayes")
    a, b, c, _ = session.prepared.schema.names
    for name in (b, c):
        n = len(session.prepared.values[name])
        page.lock(session, name, (session.prepared.values["class"][0],), tuple([1.0] + [0.0] * (n - 1)))  # type: ignore[arg-type]
    page.add(session, a, b)
    assert set(session.document.locked) == {c}
    assert "without the numbers" in session.entries[-1].label


@pytest.mark.parametrize(
    ("given", "numbers", "words"),
    [
        (("setosa",), (0.5, 0.6, 0.1), "sum to"),
        ((), (1.0, 0.0, 0.0), "one value for each"),
        (("x",), (1.0, 0.0, 0.0), "'x'"),
    ],
)
def test_numbers_that_do_not_fit_are_refused(session: Session, given: Any, numbers: Any, words: str) -> None:
    learn(session, "naive-bayes")
    name = session.prepared.schema.names[3]
    classes = session.prepared.values["class"]
    given = tuple(classes[0] if value == "setosa" else value for value in given)
    with pytest.raises(DataError, match=words):
        page.lock(session, name, given, numbers)


def test_the_lines_of_a_session_give_the_same_network(session: Session) -> None:
    learn(session, "hill-climb")
    a, b = next(arc for arc in session.document.arcs or () if "class" not in arc)
    page.reverse(session, a, b)
    parents = network_of(session).parents(a)
    given = tuple(network_of(session).values(parent)[0] for parent in parents)
    n = len(session.prepared.values[a])
    page.lock(session, a, given, tuple([1.0] + [0.0] * (n - 1)))  # type: ignore[arg-type]
    space: dict[str, Any] = {"X": session.loaded.X, "y": session.loaded.y}
    space["options"] = {"bins": "mdl", "n_bins": 5, **session.loaded.options}
    with contextlib.redirect_stdout(io.StringIO()):
        for entry in session.entries[2:]:
            exec("\n".join(entry.code), space)
    assert space["network"] == Network(session.prepared.values, session.document.arcs or ())
    model = NetworkClassifier(space["network"], "class", locked=space["locked"], **space["options"])
    found = model.fit(space["X"], space["y"]).predict_proba(space["X"])
    assert (found == classifier_of(session).predict_proba(session.prepared.X)).all()
    learn(session, "empty")  # no row of a table fits any more
    exec("\n".join(session.entries[-1].code), space)
    assert space["locked"] == {}


def test_a_learner_is_stopped(session: Session) -> None:
    def slow(prepared: Any, name: str, options: Any, rules: Any, progress: Any) -> None:
        while True:
            progress("searching", 1, 2)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(learners, "learn", slow)
        page.learn(session, "hill-climb")
        session.jobs.cancel("network")
        job = session.jobs.find("network")
        assert job is not None
        assert job.wait(PATIENCE)
    assert job.state == "cancelled"
    assert session.document.arcs is None


def test_a_model_file_can_be_looked_at_without_figures(tmp_path: Any) -> None:
    from sklearn.datasets import load_iris

    from tanager import TAN, save

    X, y = load_iris(return_X_y=True, as_frame=True)
    save(TAN().fit(X, y), tmp_path / "iris.tanager")
    session = Session()
    begin(session, DataChoice(kind="model", name=str(tmp_path / "iris.tanager")))
    shown = page.state(session)
    assert not shown["editable"]
    assert shown["figures"] is None
    assert len(shown["picture"]["arcs"]) == 7
    table = page.table(session, X.columns[3])
    assert not table["editable"]
    assert sum(row["total"] for row in table["rows"]) == 150
    with pytest.raises(OptionError, match="no rows"):
        page.add(session, X.columns[0], X.columns[1])
    session.close()
