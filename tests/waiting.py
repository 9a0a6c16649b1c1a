"""Waiting for events, so that no test depends on how quick a machine is."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 120.0  # seconds after which an event is not waited for any longer; only a failure takes so long


def wait_for(what: Callable[[], bool]) -> None:
    """Wait until something is true."""
    end = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < end, "it has not happened"
        time.sleep(0.01)
