"""How many examples a test of a law takes: few in every run, all of them with HYPOTHESIS_PROFILE=thorough."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import settings

PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "quick")
THOROUGH = PROFILE in ("thorough", "search")


def examples(thorough: int) -> settings:
    """Settings with so many examples in a thorough run, and a sixth of them (three at least) in a quick one."""
    return settings(max_examples=thorough if THOROUGH else min(thorough, max(3, thorough // 6)))


def later(*values: Any) -> list[Any]:
    """Parameters for long runs alone: quick ones beside them show the same."""
    return [pytest.param(value, marks=pytest.mark.long) for value in values]
