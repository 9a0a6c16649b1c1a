"""The fuzzers run, find nothing in a few cases, and take a crash or a hang for a find."""

from __future__ import annotations

import os
import signal

import pytest
from fuzz import calls, files, harness, tables


@pytest.mark.parametrize(
    ("case", "scene"), [(files.case, files.Model), (tables.case, tables.scene), (calls.case, calls.Pool)]
)
def test_a_few_cases_of_every_fuzzer_find_nothing(case, scene):
    outcomes = [kind for _, kind, _ in harness.run_batch(case, scene, range(0, 12))]
    assert len(outcomes) == 12
    assert "FOUND" not in outcomes


def test_a_crash_and_an_error_are_finds_and_the_next_cases_go_on():
    def case(number, scene):
        if number == 1:
            os.kill(os.getpid(), signal.SIGSEGV)
        if number == 3:
            raise KeyError("three")
        return "fine"

    found = [(number, kind) for number, kind, _ in harness.run_batch(case, lambda batch: None, range(0, 5))]
    assert found == [(0, "fine"), (1, "FOUND"), (2, "fine"), (3, "FOUND"), (4, "fine")]


def test_a_case_that_hangs_is_a_find(monkeypatch):
    monkeypatch.setattr(harness, "STILL", 0.2)

    def case(number, scene):
        signal.pause()
        return "fine"

    ((number, kind, text),) = harness.run_batch(case, lambda batch: None, range(7, 8))
    assert (number, kind) == (7, "FOUND")
    assert "hangs" in text
