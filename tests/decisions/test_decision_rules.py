"""Policies in words say what the tables say, in few lines."""

import re

import numpy as np
from diagrams import random_diagram
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from profiles import examples
from tanager.decisions.rules import rule_lines

TABLES = hnp.arrays(int, hnp.array_shapes(min_dims=1, max_dims=4, max_side=3), elements=st.integers(-1, 2))


def chosen(lines, cell):
    """The options of all rules that hold for a cell."""
    found = []
    for line in lines:
        conditions, _, option = line.rpartition(": ")
        parts = re.findall(r"(x\d) = ([^=]*?)(?: and |$)", conditions.removeprefix("if "))
        if all(str(cell[int(name[1:])]) in values.split(" or ") for name, values in parts):
            found.append(int(option))
    return found


@examples(150)
@given(TABLES)
def test_exactly_one_rule_holds_for_what_can_happen_and_it_says_what_the_table_says(table):
    known = {f"x{axis}": range(size) for axis, size in enumerate(table.shape)}
    lines = rule_lines(known, range(3), table)
    for cell in np.ndindex(*table.shape):
        if table[cell] >= 0:
            assert chosen(lines, cell) == [table[cell]]
    assert len(lines) <= max((table >= 0).sum(), 1)


def test_what_does_not_matter_is_not_mentioned():
    table = np.zeros((2, 3, 2), dtype=int)
    table[:, 1, :] = 1
    assert rule_lines({"a": "xy", "b": "rst", "c": "01"}, ["stay", "go"], table) == [
        "if b = r or t: stay",
        "if b = s: go",
    ]


def test_branches_that_agree_where_both_say_something_are_one():
    table = np.array([[1, 2], [-1, 1], [0, -1]])
    lines = rule_lines({"x0": range(3), "x1": range(2)}, range(3), table)
    assert [chosen(lines, cell) for cell in ((0, 0), (0, 1), (1, 1), (2, 0))] == [[1], [2], [1], [0]]


@examples(60)
@given(st.integers(0, 10**6))
def test_policies_choose_what_their_rules_say(seed):
    for policy in random_diagram(seed).solve().values():
        assert policy.rules() == str(policy)
        for row in policy.table():
            assert policy.choose(row["known"]) == row["choose"]
            assert row["margin"] >= 0
        assert policy.to_dict()["rules"] == policy.rules().splitlines()
