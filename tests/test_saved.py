"""What is expected of the fields of a model file: one sentence says which one is wrong, and how."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tanager import ModelFileError, saved

NAN = math.nan


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        (saved.number(), [NAN, math.inf, 1e200, 10**400, True, None, "1", [1.0]]),
        (saved.number(0.0, 1.0), [-1e-9, 1.0001]),
        (saved.whole(), [-1, 1.0, True, 2**60, None, "1"]),
        (saved.whole(1, 3), [0, 4]),
        (saved.text(), [None, 1, ["a"]]),
        (saved.text("a", "b"), ["c", ""]),
        (saved.flag(), [0, 1, None, "true"]),
        (saved.figure(), [None, True, "nan", 10**400]),
        (saved.maybe(saved.whole()), [-1, "x"]),
        (saved.items(saved.whole()), [None, 3, "abc", {"a": 1}, [-1], [[1]]]),
        (saved.items(saved.whole(), 2), [[], [1], [1, 2, 3]]),
        (saved.items(saved.whole(), distinct=True), [[1, 2, 1]]),
        (saved.row(saved.text(), saved.whole()), [["a"], ["a", 1, 2], [1, "a"], None]),
        (saved.record({"a": saved.whole()}), [None, [], {}, {"b": 1}, {"a": "x"}]),
        (
            saved.array("f8", 2),
            [np.zeros(3), np.zeros((1, 2)), np.zeros(2, dtype="f4"), np.zeros(2, dtype=">f8"), [0, 0]],
        ),
        (saved.array("f8", None, least=0.0), [np.array([1.0, NAN]), np.array([-1.0]), np.array([math.inf])]),
        (saved.array("f8", None, gaps=True), [np.array([NAN, math.inf]), np.array([1e200, NAN])]),
        (
            saved.array("u1 u2", None, most=3),
            [np.array([4], dtype="u1"), np.array([1], dtype="i8"), np.zeros((), "u1")],
        ),
        (saved.numbers(1), [np.array([math.inf]), np.array([NAN])]),
    ],
)
def test_what_is_of_another_kind_is_refused_in_one_sentence(kind: saved.Kind, found: list[Any]) -> None:
    for value in found:
        with pytest.raises(ModelFileError, match=r"^the figures of its search hold .* at steps.*, expected ") as caught:
            saved.field("figures of its search", {"steps": value}, "steps", kind)
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 250


@pytest.mark.parametrize(
    ("kind", "found", "taken"),
    [
        (saved.number(), 3, 3.0),
        (saved.number(0.0, 1.0), 1.0, 1.0),
        (saved.whole(), 2**53, 2**53),
        (saved.figure(), math.inf, math.inf),
        (saved.maybe(saved.whole()), None, None),
        (saved.items(saved.whole(), distinct=True), [2, 1], (2, 1)),
        (saved.items(saved.items(saved.number())), [[], [1]], ((), (1.0,))),
        (saved.record({"a": saved.whole()}), {"a": 1, "b": [2]}, {"a": 1, "b": [2]}),
        (saved.anything(), [None], [None]),
    ],
)
def test_what_is_of_the_kind_is_taken(kind: saved.Kind, found: Any, taken: Any) -> None:
    assert saved.field("figures", {"a": found}, "a", kind) == taken


def test_arrays_are_taken_as_they_are_but_in_the_order_of_rows() -> None:
    cells = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    taken = saved.field("cells", {"a": cells}, "a", saved.array("f8", 2, None, least=0, most=5))
    assert taken.flags.c_contiguous
    assert (taken == cells).all()
    gaps = np.array([[NAN, NAN]])
    assert saved.field("cells", {"a": gaps}, "a", saved.numbers(1, 2, gaps=True)) is gaps
    assert saved.field("cells", {"a": np.array(2.0)}, "a", saved.array("f8")).shape == ()
    assert saved.field("cells", {"a": np.zeros((0, 2))}, "a", saved.array("f8", None, 2, least=1)).shape == (0, 2)


def test_a_field_that_is_missing_is_named() -> None:
    with pytest.raises(ModelFileError, match="the steps of its search have no last"):
        saved.read("steps of its search", {"first": 1}, {"first": saved.whole(), "last": saved.whole()})
    with pytest.raises(ModelFileError, match=r"are \[1\], expected first by name"):
        saved.read("steps of its search", [1], {"first": saved.whole()})
