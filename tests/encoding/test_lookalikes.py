"""Text that looks like numbers or dates is learned as text, and people are told."""

import warnings

import pytest

from tanager import NaiveBayes
from tanager.errors import DataWarning

N = 60
LABELS = ["a", "b"] * (N // 2)
NUMBERS = [f"{i % 40}.5" for i in range(N)]


def told(cells, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DataWarning)
        model = NaiveBayes(**options).fit({"x": cells, "sky": ["sun", "rain", "fog"] * (N // 3)}, LABELS)
    return model, [str(warning.message) for warning in caught]


@pytest.mark.parametrize(
    ("cells", "looks", "way_out"),
    [
        (["unknown", *NUMBERS[1:]], "looks like numbers but for 'unknown'", "Write numbers as 1234.5, give None"),
        ([f"{i % 40},50" for i in range(N)], "looks like numbers with a decimal comma such as '0,50'", "1234.5; or"),
        ([f"{i % 28 + 1:02}.05.2024" for i in range(N)], "looks like dates such as '01.05.2024'", "as 2024-05-31; or"),
        ([f"5/{i % 28 + 1}/2024" for i in range(N)], "looks like dates such as '5/1/2024'", "as 2024-05-31; or"),
        (
            ["soon", *(f"{i % 28 + 1}.5.2024 12:00" for i in range(1, N))],
            "looks like dates but for 'soon'",
            "give None",
        ),
    ],
)
def test_people_are_told_what_a_text_column_looks_like(cells, looks, way_out):
    model, messages = told(cells)
    assert model.schema_["x"].kind == "categorical"
    assert looks in model.schema_["x"].reason
    (message,) = messages
    assert message.startswith("1 column is learned as text")
    assert looks in message
    assert way_out in message
    assert "categorical=['x']" in message


@pytest.mark.parametrize(
    "cells",
    [
        NUMBERS,
        ["n/a", "#N/A", *NUMBERS[2:]],
        [f"2024-05-{i % 28 + 1:02}" for i in range(N)],
        [f"0{i % 40}" for i in range(N)],  # keys
        [f"{i % 40 + 1}.{i % 3}.7" for i in range(N)],  # versions
        [("red", "green", "1.5")[i % 3] for i in range(N)],
        [f"{i % 10},5" for i in range(N)],  # so few that they do well as categories
    ],
)
def test_nothing_is_said_of_other_columns(cells):
    _, messages = told(cells)
    assert not [message for message in messages if "learned as text" in message]


def test_nothing_is_said_where_text_is_asked_for():
    assert told([f"{i % 40},50" for i in range(N)], categorical=["x"])[1] == []
