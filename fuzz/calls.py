"""Random sequences of calls: learn, unlearn, merge, save, load, ask, leave out, explain, and calls that are refused.

Beside the model goes a list of the rows that should be in it, with what they weigh now. Now and then, and at the end,
the model must answer as one that learns these rows from the start. Where answers depend on more than the rows that are
in it (order, chance, a structure that may lag behind), they must be probabilities, and those of a copy or of a loaded
file the same.
"""

from __future__ import annotations

import contextlib
import copy
import math
import pickle
import random
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from fuzz import call_models, harness, zoo
from fuzz.call_models import Forgetting, Row
from tanager import Lidstone, persist
from tanager.errors import DataError, OptionError, SchemaMismatch, TanagerError
from tanager.learning.counting import numbers_of

CLASSES = ["low", "mid", "top"]
NAMES = ("x0", "x1", "x2", "x3", "x4")
WEIGHTS = [1.0, 1.0, 1.0, 2.0, 0.5, 1.5]  # sums of these are exact
ONE_IN = 12  # rows, one holds a value or a class that is new


class Pool:
    """The rows that all calls take from. The last ones have values and a class that the others do not have."""

    def __init__(self, batch: int = 0) -> None:
        X, y = zoo.table(60, 1)
        new = X[:8].copy()
        new[0, 2], new[1, 2], new[2, 4], new[3, 1] = "teal", "pink", "perhaps", 5
        new[4, 0], new[5, 0], new[6, 0] = 1e9, -40.0, 0.0
        self.X = np.concatenate([X, new])
        self.y = np.append(y, ["low", "mid", "top", "low", "mid", "low", "new", "other"]).astype(object)
        self.n_usual = len(X)
        self.models = zoo.models() + [build(len(NAMES)) for build in zoo.registry.INSTANCES.values()]

    def place(self, rng: random.Random, *, usual: bool) -> int:
        """A row, now and then one with something new, unless only usual ones will do."""
        usual = rng.randrange(ONE_IN) > 0 or usual
        return rng.randrange(self.n_usual) if usual else rng.randrange(self.n_usual, len(self.X))


class Sequence:
    """A model, and the rows that should be in it."""

    def __init__(self, rng: random.Random, pool: Pool) -> None:
        self.rng, self.pool = rng, pool
        self.options = call_models.choose(rng, pool.models)
        self.model: Any = self.fresh()
        self.as_dicts = rng.random() < 0.3
        self.names_classes = call_models.names_classes(self.model)
        self.takes_columns = not call_models.names_columns(self.model)
        self.forgetting = Forgetting(self.model)
        self.exact = call_models.follows_rows_alone(self.model)
        self.tolerance = call_models.tolerance(self.model)
        self.rows: list[Row] = []
        self.now = 0.0
        self.learn_rows()

    def fresh(self) -> Any:
        return clone(self.options)

    @property
    def encoded(self) -> bool:
        """Whether kinds and cut points were given."""
        return getattr(self.model, "schema", None) is not None

    # --- rows -----------------------------------------------------------------------------------------------------

    def draw(self, most: int, *, weighted: bool = True) -> list[Row]:
        """New rows, in the order of time."""
        weight = self.rng.choice(WEIGHTS) if weighted else 1.0
        rows = []
        for _ in range(self.rng.randint(1, most)):
            self.now += 1.0 if not self.forgetting.timed else self.rng.choice([0.0, 0.5, 2.0, 5.0])
            place = self.pool.place(self.rng, usual=self.names_classes)
            further = self.as_dicts and self.rng.random() < 0.02 and self.takes_columns
            rows.append(Row(place, weight, self.now, further=further))
        return rows

    def table(self, rows: list[Row], *, first: bool = False) -> tuple[Any, np.ndarray]:
        X = [self.row(row, first=first) for row in rows] if self.as_dicts else self.pool.X[[row.at for row in rows]]
        return X, self.pool.y[[row.at for row in rows]]

    def row(self, row: Row, *, first: bool = False) -> dict[str, Any]:
        named = self.encoded or (self.rows and not first)  # first rows name all columns, which options may speak of
        cells = {n: cell for n, cell in zip(NAMES, self.pool.X[row.at], strict=True) if cell is not None or not named}
        return cells | {"x9": "further"} if row.further else cells

    def asked(self, X: np.ndarray) -> Any:
        """Rows to ask about in the shape in which rows are learned."""
        return [dict(zip(NAMES, row, strict=True)) for row in X] if self.as_dicts else X

    def options_of(self, rows: list[Row]) -> dict[str, Any]:
        """Weights and times of rows that come."""
        weights = np.array([row.weight for row in rows])
        given: dict[str, Any] = {} if (weights == 1).all() else {"sample_weight": weights}
        return given | ({"times": [row.time for row in rows]} if self.forgetting.timed else {})

    def came(self, rows: list[Row]) -> None:
        self.rows = self.forgetting.come(self.rows, rows)

    def key(self, row: Row) -> Any:
        """What rows have in common that a model cannot tell apart."""
        model, table = self.model, self.table([row])[0]
        numbers = numbers_of(model, table)
        return (
            model._encode(table, "as learned").tobytes(),
            str(self.pool.y[row.at]),
            None if numbers is None else numbers.tobytes(),
        )

    # --- calls that learn -----------------------------------------------------------------------------------------

    def learn(self, rows: list[Row], model: Any) -> None:
        X, y = self.table(rows, first=not hasattr(model, "classes_"))
        declared = self.names_classes or self.rng.random() < 0.7
        first = {"classes": CLASSES} if declared and not hasattr(model, "classes_") else {}
        model.partial_fit(X, y, **self.options_of(rows), **first)

    def learn_rows(self) -> None:
        rows = self.draw(6)
        self.learn(rows, self.model)
        self.came(rows)

    def learn_again(self) -> None:
        """From the start, with the classes of these rows alone."""
        if self.names_classes:
            return
        rows = self.draw(12)
        X, y = self.table(rows, first=True)
        self.model.fit(X, y, **self.options_of(rows))
        self.forgetting, self.rows = Forgetting(self.model), []
        self.came(rows)

    def learn_one(self) -> None:
        if not self.encoded and not self.as_dicts:  # the first chunks of a stream must be of one type
            return
        (row,) = self.draw(1)
        given = {"time": row.time} if self.forgetting.timed else {}
        self.model.learn_one(self.row(row), str(self.pool.y[row.at]), row.weight, **given)
        self.came([row])

    def test_then_train(self) -> None:
        rows = self.draw(8)
        X, y = self.table(rows)
        answers = self.model.test_then_train(X, y, **self.options_of(rows))
        zoo.check_answers(self.model, answers, len(rows))
        self.came(rows)

    def learn_nothing(self) -> None:
        """Rows without a label, and rows without weight."""
        rows = self.draw(3)
        X, y = self.table(rows)
        before = self.answers()
        if self.rng.random() < 0.5:
            self.model.partial_fit(X, [None] * len(y), **self.options_of(rows))
        else:
            known = self.model.classes_.tolist()
            given = self.options_of(rows) | {"sample_weight": np.zeros(len(y))}
            self.model.partial_fit(X, [self.rng.choice(known) for _ in rows], **given)
        if self.exact and self.encoded:  # else cut points may be learned again, as there are more rows
            self.same(self.answers(), before, "nothing was learned")

    def merge(self) -> None:
        if not hasattr(self.model, "merge"):
            return
        other, rows = self.fresh(), self.draw(6)
        self.learn(rows, other)
        try:
            self.model.merge(other)
        except TanagerError:
            assert not self.exact or not self.encoded or self.forgetting.by_rows, "could be merged"
            return
        self.came(rows)

    # --- calls that forget ----------------------------------------------------------------------------------------

    def unlearn(self) -> None:
        if not self.rows or not hasattr(self.model, "unlearn"):
            return
        self.model.check_fitted()  # rows of a warm-up are counted, so that the twin can look at them
        gone = self.rng.sample(self.rows, self.rng.randint(1, min(3, len(self.rows))))
        X, y = self.table(gone)
        given = self.forgetting.unlearned(gone)
        try:
            self.model.unlearn(X, y, **given)
        except TanagerError:
            if self.exact:
                raise
            return
        if self.exact:
            self.take(gone, given.get("sample_weight"))

    def take(self, gone: list[Row], weights: np.ndarray | None) -> None:
        """Take rows off the list: of rows that a model cannot tell apart the newest leave."""
        if self.forgetting.decay is not None and self.forgetting.window is None:  # which leave with what is left
            self.rows = [row for row in self.rows if row not in gone]
            return
        keys = [self.key(row) for row in self.rows]
        left = [row.weight for row in self.rows]
        for r, row in enumerate(gone):
            key = self.key(row)
            places = [p for p in range(len(left) - 1, -1, -1) if keys[p] == key and left[p] > 0]
            rest = 1.0 if weights is None else weights[r]
            if weights is None and self.forgetting.window is not None:  # whole rows leave a window
                rest = left[places[0]]
            for p in places:
                taken = min(rest, left[p])
                left[p], rest = left[p] - taken, rest - taken
        self.rows = [replace(row, weight=w) for row, w in zip(self.rows, left, strict=True) if w > 0]

    def fade(self) -> None:
        if not hasattr(self.model, "fade"):
            return
        self.model.fade(0.5)
        self.rows = [replace(row, weight=row.weight / 2) for row in self.rows]

    def shrink(self) -> None:
        if self.forgetting.window is None or not hasattr(self.model, "shrink"):
            return
        n = self.rng.randint(1, 8)
        self.model.shrink(n)
        self.rows = self.rows[-n:]

    def advance(self) -> None:
        if not self.forgetting.timed or not hasattr(self.model, "advance"):
            return
        self.now += self.rng.choice([0.0, 3.0])
        self.model.advance(self.now)
        self.rows = self.forgetting.stay(self.rows, self.now)

    # --- calls that ask -------------------------------------------------------------------------------------------

    def answers(self, model: Any = None, how: str = "predict_proba") -> np.ndarray:
        model = self.model if model is None else model
        answers = getattr(model, how)(self.asked(self.pool.X))
        zoo.check_answers(model, answers, len(self.pool.X))
        return np.asarray(answers)

    def same(self, answers: np.ndarray, expected: np.ndarray, what: str) -> None:
        assert answers.shape == expected.shape, (what, answers.shape, expected.shape)
        assert np.allclose(answers, expected, rtol=0, atol=self.tolerance), (what, np.abs(answers - expected).max())

    def save(self) -> None:
        self.go_on_with(persist.from_bytes(persist.to_bytes(self.model)), "loaded")

    def copy(self) -> None:
        made = self.rng.choice([copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])(self.model)
        self.go_on_with(made, "copied")

    def go_on_with(self, model: Any, what: str) -> None:
        """It answers as ours does, also where a structure lags behind; which of the two goes on, is chance."""
        for how in self.rng.sample(["stream_proba", "predict_proba"], self.rng.randrange(3)):
            self.same(self.answers(model, how), self.answers(how=how), f"{what}, {how}")
        self.model = self.rng.choice([model, model, self.model])

    def ask(self) -> None:
        questions = zoo.questions(self.rng)
        proba = self.model.predict_proba(self.asked(questions))
        zoo.check_answers(self.model, proba, len(questions))
        known = set(self.model.classes_.tolist())
        assert set(self.model.predict(self.asked(questions)).tolist()) <= known
        logs = self.model.predict_log_proba(self.asked(questions))
        assert np.allclose(np.exp(logs), proba, atol=1e-9), "logs are of other probabilities"

    def ask_one(self) -> None:
        (row,) = self.draw(1)
        answer = self.model.predict_proba_one(self.row(row))
        assert math.isclose(sum(answer.values()), 1.0, abs_tol=1e-9), answer
        assert all(0 <= p <= 1 + 1e-9 for p in answer.values()), answer
        assert self.model.predict_one(self.row(row)) in answer

    def ask_in_time(self) -> None:
        """Anytime models: some members, and more work on their order."""
        if hasattr(self.model, "answer") and hasattr(self.model, "improve"):
            answer = self.model.answer(self.asked(self.pool.X), members=self.rng.randrange(4))
            zoo.check_answers(self.model, answer.proba, len(self.pool.X))
            if self.rng.random() < 0.5:
                self.model.improve()

    def explain(self) -> None:
        known = len(getattr(self.model, "classes_", ()))
        if not hasattr(self.model, "explain") or call_models.is_stream(self.model) or known < 2:
            return
        (row,) = self.draw(1)
        try:
            found = self.model.explain(self.row(row))
        except DataError:
            assert self.model.estimate == Lidstone(0.0), "could be explained"  # else both classes may be impossible
            return
        parts = found.prior + sum(part.log_odds for part in found.parts)
        odd = not math.isfinite(found.log_odds) or not math.isfinite(parts)
        assert odd or math.isclose(parts, found.log_odds, abs_tol=1e-6, rel_tol=1e-6), (parts, found.log_odds)
        assert str(found)

    def leave_out(self) -> None:
        if not self.rows or not self.model.can_leave_out:
            return
        X, y = self.table(self.rows)
        given = self.options_of(self.rows)
        try:
            answers = self.model.leave_one_out(X, y, **given)
        except DataError:
            assert not self.exact, "could be left out"  # else rows that were unlearned are still on the list
            return
        zoo.check_answers(self.model, answers, len(y))
        if self.exact and call_models.has_one_structure(self.model) and len(self.rows) > 1:
            r = self.rng.randrange(len(self.rows))
            if self.encoded and self.model.unseen == "smooth" and self.rows[r].at >= self.pool.n_usual:
                return  # left out as it was learned: values that a given schema does not know are missing
            twin = self.twin(self.rows[:r] + self.rows[r + 1 :])
            self.same(answers[r : r + 1], twin.predict_proba(X[r : r + 1]), "left out")

    def from_counts(self) -> None:
        """Counts alone answer as the model does, where they hold all that it needs."""
        if not hasattr(self.model, "from_counts"):
            return
        self.model.check_fitted()
        params = self.model.get_params(deep=False) | {"schema": None}
        try:
            other = type(self.model).from_counts(self.model.counts_, **params)
        except (SchemaMismatch, OptionError):
            return
        if self.exact:
            self.same(self.answers(other), self.answers(), "from counts")

    def look(self) -> None:
        """What a model says of itself."""
        for name in ("structure_", "current_structure", "network_", "calibration_", "table_", "events_"):
            with contextlib.suppress(TanagerError):  # there is none
                getattr(self.model, name, None)
        if call_models.is_stream(self.model) and hasattr(self.model, "rules"):
            self.model.rules()
        assert repr(self.model)

    def refused(self) -> None:
        """What cannot be learned is refused, and changes nothing."""
        rows = self.draw(4)
        (X, y), given = self.table(rows), self.options_of(rows)
        n = len(y)
        before = self.answers()
        acts: list[Callable[[], object]] = [
            lambda: self.model.partial_fit(X, y[:-1], **given),
            lambda: self.model.partial_fit(X, y, **given | {"sample_weight": [-1.0] * n}),
            lambda: self.model.partial_fit(X, y, **given | {"sample_weight": [math.nan] * n}),
            lambda: self.model.partial_fit(X, y, **given | {"sample_weight": [1.0] * (n - 1) + [math.inf]}),
            lambda: self.model.learn_one([1, 2], "low"),
        ]
        if not self.as_dicts:
            acts.append(lambda: self.model.partial_fit(X[:, :-1], y, **given))
        if self.encoded and not self.as_dicts:  # else text makes it a column of text
            odd = np.array(X)
            odd[-1, 0] = "no number"
            acts.append(lambda: self.model.partial_fit(odd, ["never"] * n, **given))
        if self.forgetting.timed:
            acts.append(lambda: self.model.partial_fit(X, ["never"] * n, sample_weight=given.get("sample_weight")))
            acts.append(lambda: self.model.learn_one(self.row(rows[0]), "never"))
        if self.forgetting.timed and self.forgetting.window is not None and self.rows:
            late = [self.forgetting.now - 1.0] * n
            acts.append(lambda: self.model.partial_fit(X, ["never"] * n, **given | {"times": late}))
            acts.append(lambda: self.model.learn_one(self.row(rows[0]), "never", time=late[0]))
        if hasattr(self.model, "unlearn"):
            acts.append(lambda: self.model.unlearn(X, ["never"] * n))
            acts.append(lambda: self.model.merge(None))
        act = self.rng.choice(acts)
        try:
            act()
        except TanagerError:
            self.same(self.answers(), before, "refused")
            return
        raise AssertionError(f"not refused: {acts.index(act)}")

    # --- the twin -------------------------------------------------------------------------------------------------

    def twin(self, rows: list[Row]) -> Any:
        """A model that has learned these rows from the start, in any order, with the vocabulary of ours."""
        twin = self.fresh().set_params(schema=self.model.counts_.schema, decay=None, window=None)
        rows = self.rng.sample(rows, len(rows)) if self.rng.random() < 0.5 else rows
        rows = [replace(row, weight=self.forgetting.left(row)) for row in rows]
        if self.rng.random() < 0.5 and all(row.weight == int(row.weight) for row in rows):
            rows = [replace(row, weight=1.0) for row in rows for _ in range(int(row.weight))]
        X, y = self.table(rows)
        weights = np.array([row.weight for row in rows])
        return twin.partial_fit(X, y, classes=self.model.classes_, sample_weight=weights)

    def compare(self) -> None:
        """The model answers as one that has learned these rows, and no others."""
        answers = self.answers()
        if self.exact and self.rows:
            self.same(answers, self.answers(self.twin(self.rows)), "twin")


VERBS = {
    "learn_rows": 4,
    "learn_one": 3,
    "test_then_train": 2,
    "learn_again": 1,
    "learn_nothing": 1,
    "unlearn": 4,
    "merge": 2,
    "fade": 1,
    "shrink": 1,
    "advance": 1,
    "save": 3,
    "copy": 2,
    "ask": 1,
    "ask_one": 2,
    "ask_in_time": 1,
    "explain": 1,
    "leave_out": 1,
    "from_counts": 1,
    "look": 1,
    "refused": 2,
    "compare": 2,
}


def case(number: int, pool: Pool) -> str:
    """Some twelve calls, and a look at the answers."""
    rng = random.Random(number)
    done: list[str] = []
    sequence = None
    try:
        try:
            sequence = Sequence(rng, pool)
        except OptionError:
            return "no such options"
        for _ in range(rng.randint(3, 14)):
            done.append(rng.choices(list(VERBS), list(VERBS.values()))[0])
            getattr(sequence, done[-1])()
        done.append("compare")
        sequence.compare()
    except Exception as error:
        error.add_note(f"{'' if sequence is None else call_models.words(sequence.options)}: {done}")
        raise
    return "compared" if sequence.exact else "asked"


if __name__ == "__main__":
    sys.exit(harness.main("calls", case, Pool))
