"""How many examples a test of a law takes: few in every run, all of them with HYPOTHESIS_PROFILE=thorough."""

from __future__ import annotations

import os

from hypothesis import settings

PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "quick")
THOROUGH = PROFILE in ("thorough", "search")


def examples(thorough: int) -> settings:
    """Settings with so many examples in a thorough run, and a quarter of them (three at least) in a quick one."""
    return settings(max_examples=thorough if THOROUGH else min(thorough, max(3, thorough // 4)))
