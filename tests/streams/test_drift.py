"""DriftAware: it does by blocks what a slow, obvious loop does row by row, and it helps where the world changes."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from tanager import AODE, DDM, TAN, DataError, DriftAware, NaiveBayes, OptionError

ON_DRIFT = ["swap", "restart", "nothing"]


def concept(seed, n_columns=5, n_classes=2):
    """P(value | class) of columns with three values, drawn at random."""
    return np.random.default_rng(seed).dirichlet(np.full(3, 0.5), size=(n_columns, n_classes))


def drawn(tables, n_rows, seed):
    """Rows as lists of text, and labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, tables.shape[1], n_rows)
    steps = tables.cumsum(axis=2)[:, y]
    codes = (rng.random((len(tables), n_rows, 1)) > steps[..., :2]).sum(axis=2)
    return [[f"v{code}" for code in row] for row in codes.T.tolist()], [f"c{c}" for c in y]


def changing(*lengths, seed=0):
    """A stream whose concept changes after each length."""
    parts = [drawn(concept(seed + 10 * at), length, seed + at) for at, length in enumerate(lengths)]
    return sum((X for X, _ in parts), []), sum((y for _, y in parts), [])


def with_gaps(X, y, seed):
    """The same rows, some without a label and some without weight."""
    rng = np.random.default_rng(seed)
    y = [None if rng.random() < 0.05 else label for label in y]
    return X, y, np.where(rng.random(len(y)) < 0.05, 0.0, 1.0)


def dicts(X):
    return [{f"x{i}": value for i, value in enumerate(row)} for row in X]


def quick(model=None, **options):
    """Blocks and memories so short that a short stream has many events."""
    return DriftAware(model, DDM(min_rows=8), **{"every": 8, "recent": 30, "patience": 80} | options)


# --- the slow, obvious twin --------------------------------------------------------------------------------------


class Plain:
    """One model of the twin: all its answers since it began, 1 where wrong."""

    def __init__(self, model, classes=()):
        self.model, self.wrong = clone(model), []
        if classes:  # a fresh model knows the classes, and nothing else
            self.model._start()
            self.model._add_classes(np.array(sorted(classes)))

    def step(self, row, y, w):
        answer = self.model.predict_proba_one(row)
        best = max(answer.values(), default=0.0)
        if y is not None and w:
            self.wrong.append(int(answer.get(y, 0.0) < best - 1e-9))
        self.model.learn_one(row, y, w)
        return answer


def faded(values, rows):
    return sum(value * (1 - 1 / rows) ** age for age, value in enumerate(reversed(values)))


def share(values, rows):
    return faded(values, rows) / max(faded([1] * len(values), rows), 1e-300)


def twin(rows, labels, weights, model, detector, on_warning, on_drift, every, recent, patience):
    """Answers and (row, what) of all events, with everything worked out anew at the end of each block."""
    front, back, watch = Plain(model), None, copy.deepcopy(detector)
    answers, events = [], []
    warned, drifted, heard = False, None, 0  # heard: answers that the detector knows

    def better():
        pairs = list(zip(front.wrong[len(front.wrong) - len(back.wrong) :], back.wrong, strict=True))
        won = faded([ours > theirs for ours, theirs in pairs], recent)
        lost = faded([ours < theirs for ours, theirs in pairs], recent)
        return won - lost > 2 * (won + lost) ** 0.5

    for at, (row, y, w) in enumerate(zip(rows, labels, weights, strict=True), 1):
        answers.append(front.step(row, y, w))
        if back is not None:
            back.step(row, y, w)
        if at % every:
            continue
        classes = set(labels[:at]) - {None}
        said = set()
        for wrong in front.wrong[heard:]:
            watch.update(wrong)
            said |= {"drift"} if watch.drift_detected else {"warning"} if watch.warning_detected else set()
        heard = len(front.wrong)
        done = None
        if "drift" in said and share(front.wrong, recent) > share(front.wrong, 5 * recent):
            events.append((at, "drift"))
            if on_drift == "restart":
                front, done = back or Plain(model, classes), "restart"
            elif on_drift == "swap" and back is not None and better():
                front, done = back, "swap"
            elif on_drift == "swap":
                back, drifted = Plain(model, classes), at
        elif drifted is not None:
            if better():
                front, done = back, "swap"
            elif at - drifted >= patience:
                done = "kept"
        elif "warning" in said and not warned:
            warned = True
            events.append((at, "warning"))
            if on_warning == "train" and on_drift != "nothing":
                back = Plain(model, classes)
        elif not said and warned:
            warned, back = False, None
            events.append((at, "false alarm"))
        if done:
            events.append((at, done))
            back, warned, drifted, watch, heard = None, False, None, copy.deepcopy(detector), len(front.wrong)
    return answers, events


def agree(model, got, expected):
    """Answers in an array and answers in dicts are the same."""
    k = len(model.classes_)
    for r, answer in enumerate(expected):
        wanted = [answer.get(label, 0.0) for label in model.classes_.tolist()] if answer else [1 / k] * k
        np.testing.assert_allclose(got[r], wanted, rtol=1e-9, atol=1e-12, err_msg=f"row {r}")


@pytest.mark.parametrize("on_warning", ["train", "nothing"])
@pytest.mark.parametrize("on_drift", ON_DRIFT)
@settings(max_examples=8)
@given(seed=st.integers(0, 999), first=st.integers(20, 120))
def test_every_policy_does_what_the_slow_loop_does(on_warning, on_drift, seed, first):
    X, y, weights = with_gaps(*changing(first, 150, 100, seed=seed), seed)
    model = quick(on_warning=on_warning, on_drift=on_drift)
    got = model.test_then_train(X, y, weights)
    options = {name: getattr(model, name) for name in ("on_warning", "on_drift", "every", "recent", "patience")}
    expected, events = twin(dicts(X), y, weights, NaiveBayes(), model.detector, **options)
    assert [(event.row, event.what) for event in model.events_] == events
    agree(model, got, expected)
