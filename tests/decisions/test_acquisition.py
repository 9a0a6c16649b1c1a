"""Questions that cost: beside the joint distribution cell by cell, beside influence diagrams, and beside themselves."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles import examples
from registry import INSTANCES
from tanager import AODE, TAN, Acquisition, DataError, DecisionNetwork, HoeffdingTree, NaiveBayes, Network, OptionError


def random_network(seed, n=4):
    """A class c and columns a0, a1, ... with values of their own, in a random order."""
    rng = np.random.default_rng(seed)
    names = ["c", *(f"a{i}" for i in range(n - 1))]
    nodes = rng.permutation(names).tolist()
    arcs = [(u, v) for i, v in enumerate(nodes) for u in nodes[:i] if rng.random() < 0.6]
    blank = Network({name: tuple(range(rng.integers(2, 4))) for name in names}, arcs)
    tables = {v: rng.dirichlet(np.full(blank.shape(v)[-1], 0.7), blank.shape(v)[:-1]) for v in nodes}
    return blank.with_tables(tables), rng


class Twin:
    """The formula of what it costs to go on, from the joint distribution cell by cell."""

    def __init__(self, network, prices, costs):
        self.names = list(network)
        self.joint = network.posterior(self.names)
        self.prices, self.costs = prices, costs

    def given(self, known):
        cells = self.joint
        for name, v in known.items():
            at = self.names.index(name)
            cells = cells * (np.arange(cells.shape[at]) == v).reshape([-1 if i == at else 1 for i in range(cells.ndim)])
        return cells

    def classes(self, known):
        """P(class, known), not divided by P(known)."""
        return self.given(known).sum(axis=tuple(i for i, name in enumerate(self.names) if name != "c"))

    def value(self, known, depth):
        """P(known) times the least expected cost from here on."""
        stop = (self.classes(known) @ self.costs).min()
        if depth == 0:
            return stop
        return min([stop, *(self.asking(known, name, depth) for name in self.prices if name not in known)])

    def asking(self, known, name, depth):
        paid = self.prices[name] * self.classes(known).sum()
        n = self.joint.shape[self.names.index(name)]
        return paid + sum(self.value({**known, name: v}, depth - 1) for v in range(n))


@examples(60)
@given(st.integers(0, 10**6), st.integers(1, 3))
def test_questions_of_a_network_are_worth_what_its_joint_says(seed, depth):
    network, rng = random_network(seed)
    prices = {name: float(rng.uniform(0, 0.3)) for name in network if name != "c"}
    costs = rng.uniform(0, 5, (len(network.values("c")),) * 2)
    asking = Acquisition(network, prices, costs, target="c", look_ahead=depth)
    known = {name: int(rng.integers(0, 2)) for name in prices if rng.random() < 0.3}
    twin = Twin(network, prices, costs)
    mass = twin.classes(known)
    if mass.sum() == 0:
        return
    advice = asking.next(known)
    np.testing.assert_allclose(list(advice.probabilities.values()), mass / mass.sum(), atol=1e-9)
    now = (mass @ costs).min() / mass.sum()
    assert advice.expected_cost == pytest.approx(now, abs=1e-9)
    found = {question.name: question.net for question in advice.questions}
    expected = {name: now - twin.asking(known, name, depth) / mass.sum() for name in prices if name not in known}
    assert found == pytest.approx(expected, abs=1e-9)


@examples(40)
@given(st.integers(0, 10**6))
def test_the_gain_of_a_question_is_the_value_of_its_information_in_a_diagram(seed):
    network, rng = random_network(seed)
    costs = rng.uniform(0, 5, (len(network.values("c")),) * 2)
    asking = Acquisition(network, 0.0, costs, target="c")
    diagram = DecisionNetwork.from_costs(network, "c", costs, known=())
    for question in asking.next().questions:
        assert question.gain == pytest.approx(diagram.value_of_information(question.name), abs=1e-9)


def some_rows(seed=0, n=200):
    rng = np.random.default_rng(seed)
    y = np.array(["ill", "well"])[rng.integers(0, 2, n)]
    flip = rng.random((3, n)) < np.array([[0.1], [0.25], [0.5]])
    ill = y == "ill"
    columns = {name: np.where(ill ^ off, "high", "low") for name, off in zip(("a", "b", "noise"), flip, strict=True)}
    columns["size"] = np.where(ill, 2.0, 0.0) + rng.normal(size=n)
    return columns, y


@pytest.mark.parametrize("model", [NaiveBayes(), TAN(missing="marginal")], ids=["nb", "tan"])
def test_a_classifier_of_one_network_is_believed_as_that_network(model):
    X, y = some_rows()
    model.fit(X, y)
    costs = [[0, 5], [1, 0]]
    network = model.network_
    own, whole = Acquisition(model, 0.05, costs), Acquisition(network, 0.05, costs, target=model.class_name)
    for known in ({}, {"a": "high"}, {"a": "low", "noise": "high"}):
        one, other = own.next(known), whole.next(known)
        assert {q.name: q.gain for q in one.questions} == pytest.approx({q.name: q.gain for q in other.questions})
        assert one.answer == other.answer


SLOW = ("anytime-margin",)  # answers by the clock


@pytest.mark.parametrize("name", ["aode", "nb-calibrated", "kdb", "nbtree-deep", "best-pool", "forest", "multinet"])
def test_classes_are_what_the_classifier_says_of_rows_with_gaps(name):
    X, y = some_rows()
    model = INSTANCES[name](4)
    model.fit(X, y)
    gaps = {
        column: np.where(np.arange(len(y)) % 3 == at % 3, None, cells.astype(object))
        for at, (column, cells) in enumerate(X.items())
    }
    beliefs = Acquisition(model, 1.0).beliefs
    np.testing.assert_allclose(beliefs.classes(beliefs.encode(gaps)), model.predict_proba(gaps), atol=1e-12)


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in INSTANCES if name not in (*SLOW, "network-locked")])
def test_all_classifiers_can_be_asked(name):
    X, y = some_rows()
    model = INSTANCES[name](4)
    model.fit(X, y)
    report = Acquisition(model, 0.01).evaluate(X, y)
    assert report.chosen.total <= report.nothing.total + 0.05
    assert report.everything.errors == pytest.approx(np.mean(model.predict(X) != y))


def test_a_table_costs_what_its_rows_cost_one_by_one():
    X, y = some_rows()
    X = {name: np.where(np.arange(len(y)) % 7 == 0, None, cells.astype(object)) for name, cells in X.items()}
    model = AODE().fit(X, y)
    costs = np.array([[0, 4], [1, 0]])
    asking = Acquisition(model, {"a": 0.02, "b": 0.01, "size": 0.1, "noise": 0.0}, costs)
    report = asking.evaluate(X, y, known=["b"])
    rows = [{name: cells[r] for name, cells in X.items()} for r in range(len(y))]
    runs = [asking.run(row, known=["b"]) for row in rows]
    assert report.chosen.price == pytest.approx(np.mean([run.paid for run in runs]))
    assert report.chosen.questions == pytest.approx(np.mean([len(run.asked) for run in runs]))
    codes = {"ill": 0, "well": 1}
    assert report.chosen.errors == pytest.approx(
        np.mean([costs[codes[label], codes[run.answer]] for label, run in zip(y, runs, strict=True)])
    )
    assert report.everything.price == pytest.approx(0.02 + 0.1)
    assert not any("b" in run.asked for run in runs)
    told = str(report)
    assert "everything" in told


def test_everything_asked_is_answered_as_the_classifier_answers():
    X, y = some_rows()
    costs = np.array([[0, 4], [1, 0]])
    model = AODE(cost_matrix=costs).fit(X, y)
    asking = Acquisition(model, 0.0)
    np.testing.assert_array_equal(asking.costs, costs)
    codes = np.array([0 if label == "ill" else 1 for label in y])
    answers = np.array([0 if label == "ill" else 1 for label in model.predict(X)])
    assert asking.evaluate(X, y).everything.errors == pytest.approx(costs[codes, answers].mean())


XOR = Network(
    {"c": (0, 1), "a": (0, 1), "b": (0, 1)},
    [("a", "c"), ("b", "c")],
    {"a": [0.5, 0.5], "b": [0.5, 0.5], "c": [[[1, 0], [0, 1]], [[0, 1], [1, 0]]]},
)


def test_two_questions_that_are_worth_it_together_are_found_by_looking_ahead():
    assert Acquisition(XOR, 0.1, target="c").next().best is None
    ahead = Acquisition(XOR, 0.1, target="c", look_ahead=2)
    run = ahead.run({"a": 1, "b": 0})
    assert (sorted(run.asked), run.answer, run.paid) == (["a", "b"], 1, pytest.approx(0.2))
    assert ahead.next().best.net == pytest.approx(0.5 - 0.2)
    assert Acquisition(XOR, 0.26, target="c", look_ahead=2).next().best is None


def test_a_group_is_asked_for_as_one():
    asking = Acquisition(XOR, {"both": 0.15, "a": 0.1}, groups={"both": ["a", "b"]}, target="c")
    best = asking.next().best
    assert (best.name, best.columns, best.gain) == ("both", ("a", "b"), pytest.approx(0.5))
    rest = asking.next({"a": 1})
    assert [question.name for question in rest.questions] == ["both"]  # for what is left of it
    assert rest.best.gain == pytest.approx(0.5)
    rows = {"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]}
    report = asking.evaluate(rows, [0, 1, 1, 0])
    assert report.everything.price == report.chosen.price == pytest.approx(0.15)
    assert report.chosen.errors == 0


def test_large_groups_are_drawn_and_close_to_the_truth():
    X, y = some_rows(1, 500)
    wide = {f"{name}{i}": cells for i in range(4) for name, cells in X.items() if name != "size"}
    model = NaiveBayes().fit({**wide, "size": X["size"]}, y)
    small, large = [f"a{i}" for i in range(4)], list(wide)
    prices = {"small": 0.0, "large": 0.0}
    gains = {
        q.name: q.gain for q in Acquisition(model, prices, groups={"small": small, "large": large}).next().questions
    }
    assert gains["large"] == pytest.approx(gains["small"], abs=0.08)
    assert gains == {
        q.name: q.gain for q in Acquisition(model, prices, groups={"small": small, "large": large}).next().questions
    }


def test_answers_need_not_be_classes():
    X, y = some_rows()
    model = NaiveBayes().fit(X, y)
    asking = Acquisition(model, 0.1, [[10, 1, 0], [0, 1, 8]], answers=["send home", "wait", "operate"])
    assert asking.next().answer == "wait"
    assert asking.run({"a": "high", "b": "high", "noise": "low", "size": 3.0}).answer == "operate"


def test_the_first_question_is_a_column_that_tells_something():
    X, y = some_rows()
    ranked = [question.name for question in Acquisition(AODE().fit(X, y), 0.01).next().questions]
    assert ranked[-1] == "noise"
    assert set(ranked) == set(X)


X, Y = some_rows()
MODEL = AODE().fit(X, Y)
REFUSED = {
    "does not say how its columns": lambda: Acquisition(HoeffdingTree().fit(X, Y), 1),
    "leave out gaussian=": lambda: Acquisition(NaiveBayes(gaussian=True).fit(X, Y), 1),
    "Give it as target=": lambda: Acquisition(XOR, 1),
    "prices names 'nois', which is no column. Did you mean": lambda: Acquisition(MODEL, {"nois": 1}),
    "the price of 'a'": lambda: Acquisition(MODEL, {"a": -1}),
    "for each column by name": lambda: Acquisition(MODEL, "a"),
    "look_ahead=0": lambda: Acquisition(MODEL, 1, look_ahead=0),
    "cost_matrix has shape": lambda: Acquisition(MODEL, 1, [[0, 1]]),
    "answers= needs": lambda: Acquisition(MODEL, 1, answers=["x"]),
    "shape (2, 3)": lambda: Acquisition(MODEL, 1, [[0, 1], [1, 0]], answers=["x", "y", "z"]),
    "has no price": lambda: Acquisition(MODEL, {"a": 1}, groups={"g": ["a"]}),
    "name of a column": lambda: Acquisition(MODEL, {"a": 1}, groups={"a": ["b"]}),
    "must be a list of columns": lambda: Acquisition(MODEL, {"g": 1}, groups={"g": "a"}),
    "there is no column 'q'": lambda: Acquisition(MODEL, {"g": 1}, groups={"g": ["q"]}),
    "would look at more than": lambda: Acquisition(MODEL, 1, look_ahead=12),
}
REFUSED_ROWS = {
    "there is no variable 'd'": lambda: Acquisition(XOR, 1, target="d"),
    "there is no column 'sise'. Did you mean 'size'": lambda: Acquisition(MODEL, 1).next({"sise": 1}),
    "column 'a' has no value 'hihg'": lambda: Acquisition(MODEL, 1).next({"a": "hihg"}),
    "known: there is no column": lambda: Acquisition(MODEL, 1).evaluate(X, Y, known=["q"]),
    "none of the classes": lambda: Acquisition(MODEL, 1).evaluate(X, ["q"] * len(Y)),
    "rows and y": lambda: Acquisition(MODEL, 1).evaluate(X, Y[:3]),
}


@pytest.mark.parametrize("words", [*REFUSED, *REFUSED_ROWS])
def test_what_cannot_be_is_refused_in_words(words):
    with pytest.raises(OptionError if words in REFUSED else DataError) as error:
        {**REFUSED, **REFUSED_ROWS}[words]()
    assert words in str(error.value)


def test_rows_of_all_kinds_of_tables_are_coded_alike():
    frames = pytest.importorskip("pandas", reason="one of the tables is a frame")
    beliefs = Acquisition(XOR, 1, target="c").beliefs
    rows = [{"a": a, "b": b} for a, b in product((0, 1), (0, 1, None))]
    columns = {"a": [row["a"] for row in rows], "b": [row["b"] for row in rows]}
    first = beliefs.encode(rows)
    np.testing.assert_array_equal(first, beliefs.encode(columns))
    np.testing.assert_array_equal(first, beliefs.encode(frames.DataFrame(columns).astype(object)))
    assert first[2].tolist() == [0, -1]
