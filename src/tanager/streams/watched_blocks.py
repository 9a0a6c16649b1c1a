"""Whole blocks of a stream in one call of the kernels, as long as there is nothing to decide after them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tanager import _kernels
from tanager.scoring.decision import TIE
from tanager.streams.detectors import DDM, SIGNALS
from tanager.streams.runner import CLEAR, Duel, Runner


@dataclass(frozen=True)
class Quiet:
    """When nothing is to be decided after a block: the detector says just ``signal``.

    Or, while a new model has ``rows_left`` to become better, the detector does not say drift and it is not better yet.
    """

    signal: str | None = None
    rows_left: int | None = None


def run_blocks(
    runners: Sequence[Runner], duel: Duel, detector: Any, quiet: Quiet, rows: slice, every: int, out: np.ndarray
) -> tuple[int, str | None]:
    """Answer and learn blocks of ``every`` rows from the first on; how many rows went, and what the detector said last.

    ``runners``: the one that answers, and one beside it or none. With late labels it answers other rows than these.
    Ends after a block that something may have to be decided after. No row goes where there is no whole block, or the
    next one is not for the kernels: a row without a label or with a weight, a value that counts have no room for yet, a
    model that is no plain view of counts, a detector other than ``DDM``.
    """
    rows = slice(rows.start, rows.stop - (rows.stop - rows.start) % every)
    models = (
        [runner.watched(rows) for runner in runners] if type(detector) is DDM and rows.stop > rows.start else [None]
    )
    ahead = runners[0].ahead
    if ahead is None or any(model is None for model in models):
        return 0, None
    went, said, ends, won, lost, after = _kernels.run_blocks(
        ahead.labels(rows),
        out[rows],
        every,
        TIE,
        [model for model in models if model is not None],
        (duel.won.in_kernels, duel.lost.in_kernels),
        CLEAR,
        detector._kernel_options,
        detector._remembered(),
        SIGNALS.index(quiet.signal),
        -1 if quiet.rows_left is None else quiet.rows_left,
        runners[0].codes_to_answer(rows),
    )
    for runner, end in zip(runners, ends, strict=True):
        runner.went_on(*end)
    duel.won.count, duel.won.of = won
    duel.lost.count, duel.lost.of = lost
    detector._remember(after)
    return went, SIGNALS[said]
