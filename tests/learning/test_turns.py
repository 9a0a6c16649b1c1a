"""Threads that share a model: many ask, one at a time learns, and nothing is lost, torn or answered wrongly."""

import inspect
import pickle
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import tanager
from profiles import spread
from registry import INSTANCES
from tanager import AODE, KDB, TAN, NaiveBayes
from tanager.errors import TanagerError
from tanager.learning.classifier import Classifier
from tanager.learning.turns import ANSWERS, CHANGES, LOOKS, PLAIN, Turns, alone
from waiting import PATIENCE, wait_for

KINDS = [kind for name in tanager.__all__ if hasattr(kind := getattr(tanager, name), "predict_proba")]
# What neither changes a model nor derives anything: questions about options, checks, and parts of other methods.
HARMLESS = {
    *("answers_to_learn", "contest"),
    *("adopt", "all_learned", "by_class", "can_leave_out", "check_fitted", "check_labels", "check_learned"),
    *(
        "check_options",
        "check_row_times",
        "class_codes",
        "class_factors",
        "class_name",
        "classes_with",
        "columns_fixed",
    ),
    *("counts_shape", "default_leaf", "described", "encode", "encoder_options", "estimate", "find", "forgets"),
    *("given_order", "grow", "has_learned", "keeps_all", "kept_members", "knows_columns", "label_codes", "load"),
    *("looks_at_rows", "make_room", "member_places", "members_of", "memory", "n_threads", "n_warm_up_rows"),
    *("note_columns", "one_leaf", "own_leaf", "own_learner", "part_scorer", "part_tree", "path_of"),
    *("reads_numbers", "recutting", "score_structure", "scorer_over", "started", "take_found", "tree_from_plain"),
    *("validate_table", "validation", "view_of", "keeps_choice", "has_chosen", "kept", "code_of"),
    *("repeats_as_weights", "check_teachable", "check_started", "score", "chosen_scorer"),
    "learns_unlabelled",
}


@pytest.fixture(autouse=True)
def _often():
    """Let threads take turns a thousand times as often as they do by themselves."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(5e-6)
    yield
    sys.setswitchinterval(before)


def together(*works):
    """Do all works at once, each in a thread; errors are raised here."""
    gate = threading.Barrier(len(works))

    def begin(work):
        gate.wait(PATIENCE)
        return work()

    with ThreadPoolExecutor(len(works)) as pool:
        return [done.result(PATIENCE) for done in [pool.submit(begin, work) for work in works]]


def table(n_rows, n_values=5, n_columns=5, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n_rows)
    X = np.stack([(rng.integers(0, n_values, n_rows) + y) % n_values for _ in range(n_columns)], axis=1)
    return [[f"v{cell}" for cell in row] for row in X.tolist()], [f"c{c}" for c in y.tolist()]


# --- which methods take turns ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_public_method_takes_its_turn_or_is_harmless(kind):
    for cls in kind.__mro__:
        for name, found in vars(cls).items() if issubclass(cls, Classifier) else ():
            if name.startswith("_") or name in HARMLESS | PLAIN:
                continue
            body = found.fget if isinstance(found, property) else found
            if inspect.isfunction(body):
                assert name in CHANGES | ANSWERS | LOOKS or name.endswith("_"), f"{cls.__name__}.{name}"
                assert body.__code__.co_name == "in_turn", f"{cls.__name__}.{name}"


def test_a_class_of_somebody_else_takes_turns_too():
    class Own(NaiveBayes):
        def partial_fit(self, X, y, **more):
            assert self._turns.held_by(threading.get_ident())
            return super().partial_fit(X, y, **more)

    Own().partial_fit([["a"]], ["x"])


# --- under load -----------------------------------------------------------------------------------------------------


def counted(model):
    """Counts by names, whatever the order in which values and classes came."""
    found, counts = {}, model.counts_
    columns = [column.values for column in model.encoder_.schema.columns]
    for i, first in enumerate(columns):
        for j, second in enumerate(columns[:i]):
            cells = counts.joint(i, j)
            for c, label in enumerate(model.classes_.tolist()):
                for v, a in enumerate(first):
                    for w, b in enumerate(second):
                        if cells[c, v, w]:
                            found[i, j, label, a, b] = float(cells[c, v, w])
    return found


@pytest.mark.parametrize("one_by_one", [False, True], ids=["partial_fit", "learn_one"])
def test_threads_that_learn_new_values_and_classes_lose_nothing(one_by_one):
    parts = []
    for t in range(4):
        X, y = table(60, seed=t)
        new = [[f"{t}-{r}" if r % 3 == 0 else cell for cell in row] for r, row in enumerate(X)]  # of this thread alone
        parts.append((new, [f"c{t}" if r % 5 == 0 else label for r, label in enumerate(y)]))
    first = table(40, seed=9)
    shared, whole = AODE().fit(*first), AODE().fit(*first)

    def learn(X, y):
        if one_by_one:
            for row, label in zip(X, y, strict=True):
                shared.learn_one({f"x{i}": cell for i, cell in enumerate(row)}, label)
        else:
            for start in range(0, len(X), 7):
                shared.partial_fit(X[start : start + 7], y[start : start + 7])

    together(*(lambda X=X, y=y: learn(X, y) for X, y in parts))
    for X, y in parts:
        whole.partial_fit(X, y)
    assert shared.counts_.n_rows == 40 + 4 * 60
    assert counted(shared) == counted(whole)


@pytest.mark.parametrize("make", [NaiveBayes, TAN, AODE, KDB, lambda: AODE(window=50)])
def test_answers_while_others_learn_are_answers_of_some_moment(make):
    """One thread learns, in known steps; every answer must be that of the model between two of these steps."""
    X, y = table(400, seed=1)
    asked = X[:20]
    model, twin = make().fit(X[:100], y[:100]), make().fit(X[:100], y[:100])
    steps = [slice(start, start + 10) for start in range(100, 400, 10)]
    moments = [twin.predict_proba(asked)]
    for step in steps:
        moments.append(twin.partial_fit(X[step], y[step]).predict_proba(asked))
    done = threading.Event()

    def learn():
        for step in steps:
            model.partial_fit(X[step], y[step])
        done.set()

    def ask():
        found = []
        while not done.is_set():
            found.append(model.predict_proba(asked))
        return found

    _, *answers = together(learn, ask, ask)
    for answer in (one for found in answers for one in found):
        assert any(np.array_equal(answer, moment) for moment in moments)
    np.testing.assert_array_equal(model.predict_proba(asked), moments[-1])


@spread("name", sorted(INSTANCES))
def test_threads_that_ask_get_the_answers_that_one_would_get(name):
    """Whatever is derived by the first answers: threads begin at once, with batches of all sizes."""
    X, y = table(120, seed=2)
    model = INSTANCES[name](5).fit(X, y)
    other = pickle.loads(pickle.dumps(model))
    batches = [X[:1], X[:7], X[40:], X]
    expected = [other.predict_proba(batch) for batch in batches]
    model.partial_fit(X[:2], y[:2])
    other.partial_fit(X[:2], y[:2])
    expected = [other.predict_proba(batch) for batch in batches]

    def ask(first):
        order = [*range(first, 4), *range(first)] * 3
        return [(at, model.predict_proba(batches[at])) for at in order]

    for answers in together(*(lambda first=first: ask(first) for first in range(4))):
        for at, proba in answers:
            np.testing.assert_allclose(proba, expected[at], rtol=1e-9)


def test_a_model_is_saved_whole_while_it_learns(tmp_path):
    X, y = table(200, seed=3)
    model = AODE().fit(X[:50], y[:50])

    def learn():
        for r in range(50, 200):
            model.partial_fit([X[r]], [y[r]])

    def save(name):
        for _ in range(5):
            model.save(tmp_path / name)
            again = tanager.load(tmp_path / name)
            n = int(again.counts_.n_rows)
            assert again.counts_ == AODE(schema=again.encoder_.schema).fit(X[:n], y[:n]).counts_

    together(learn, lambda: save("a"), lambda: save("b"))


# --- whose turn it is -----------------------------------------------------------------------------------------------


def test_two_models_that_are_merged_into_each_other_do_not_wait_for_each_other():
    a, b = (NaiveBayes().fit(*table(20, seed=seed)) for seed in (1, 2))
    together(lambda: [a.merge(b) for _ in range(5)], lambda: [b.merge(a) for _ in range(5)])
    assert a.counts_.n_rows > 40
    assert b.counts_.n_rows > 40


def test_a_model_can_be_had_alone_for_several_steps():
    model = NaiveBayes().fit(*table(20))

    def step():
        with alone(model):
            before = model.counts_.n_rows
            model.learn_one({"x0": "v1"}, "c1")
            model.predict([["v1"] * 5])
            assert model.counts_.n_rows == before + 1

    together(*[lambda: [step() for _ in range(20)]] * 4)
    assert model.counts_.n_rows == 100


def test_who_asks_goes_side_by_side_once_all_is_settled():
    turns = Turns()
    assert turns.begin_asking(1, "predict")
    turns.settle("predict")
    turns.end_alone()
    assert not turns.begin_asking(1, "predict")
    assert not turns.begin_asking(2, "predict")  # in one thread here: neither waits
    turns.end_asking(1)
    turns.end_asking(2)
    turns.begin_alone(3, changes=True)
    turns.end_alone()
    assert turns.begin_asking(1, "predict")  # there is something to derive again
    turns.end_alone()


def test_who_wants_to_learn_gets_its_turn_however_many_ask():
    turns, order = Turns(), []
    assert turns.begin_asking(1, "predict")
    turns.settle("predict")
    turns.end_alone()
    assert not turns.begin_asking(1, "predict")

    def change():
        turns.begin_alone(2, changes=True)
        order.append("changed")
        turns.end_alone()

    def ask():
        assert turns.begin_asking(3, "predict"), "a thread that asks while another waits queues up behind"
        order.append("asked")
        turns.end_alone()

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(change)
        wait_for(lambda: turns._waiting == 1)
        second = pool.submit(ask)
        wait_for(lambda: turns._waiting == 2)
        turns.end_asking(1)
        first.result(PATIENCE)
        second.result(PATIENCE)
    assert sorted(order) == ["asked", "changed"]


def test_copies_have_turns_of_their_own():
    model = AODE().fit(*table(20))
    with alone(model):
        again = pickle.loads(pickle.dumps(model))
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(again.predict, [["v1"] * 5]).result(PATIENCE).shape == (1,)
    assert "_turns" not in vars(model)


def test_an_error_lets_others_in():
    model = AODE().fit(*table(20))
    for wrong in (lambda: model.predict([["v1"]]), lambda: model.partial_fit([["v1"]], ["c1"])):
        with pytest.raises(TanagerError):
            wrong()
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(model.predict, [["v1"] * 5]).result(PATIENCE).shape == (1,)
