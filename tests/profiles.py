"""How many examples and classifiers a test takes: few in every run, all of them with HYPOTHESIS_PROFILE=thorough."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import settings

PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "quick")
THOROUGH = PROFILE in ("thorough", "search")
TURNS = 1 if THOROUGH else 3
_SPREAD: dict[str, list[str]] = {}  # the tests of each file that take turns


def examples(thorough: int) -> settings:
    """Settings with so many examples in a thorough run, and a sixth of them (three at least) in a quick one."""
    return settings(max_examples=thorough if THOROUGH else min(thorough, max(3, thorough // 6)))


def later(*values: Any) -> list[Any]:
    """Parameters for long runs alone: quick ones beside them show the same."""
    return [pytest.param(value, marks=pytest.mark.long) for value in values]


def in_turn(values: Sequence[Any], name: str) -> Sequence[Any]:
    """All values in a thorough run; every third one in a quick run, beginning where the name says."""
    return values[zlib.crc32(name.encode()) % TURNS :: TURNS]


def spread(argument: str, values: Sequence[Any], **options: Any) -> Callable[[Any], Any]:
    """Parametrise a test that is asked of many classifiers, which share most of their code.

    In a quick run each test takes a third of them. The tests of a file take the thirds in turn, so that three of them
    meet every classifier; a file with fewer such tests leaves some classifiers to thorough runs.
    """

    def decorated(test: Any) -> Any:
        names = _SPREAD.setdefault(test.__module__, [])
        if test.__name__ not in names:
            names.append(test.__name__)
        return pytest.mark.parametrize(argument, values[names.index(test.__name__) % TURNS :: TURNS], **options)(test)

    return decorated
