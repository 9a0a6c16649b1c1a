"""The kernel for Gaussian columns in a stream looks at what it is handed before it starts."""

import numpy as np
import pytest

from tanager import _kernels
from tanager.counts.exact_sums import ExactSums


def arguments(**changes):
    """Three rows of two columns and two classes, all leaving a queue of four; some argument exchanged."""
    sums = ExactSums(2, 2)
    sums.reserve(np.array([[0.0, 1.0], [8.0, 8.0]]), np.array([0.5, 4.0]))
    given = {
        "rows": np.arange(6.0).reshape(3, 2),
        "labels": np.array([0, 1, 255], dtype=np.uint8),
        "raw": np.ones(3),
        "scales": np.ones(3),
        "halved": np.zeros(3, dtype=np.int64),
        "digits": sums.digits,
        "windows": sums.windows,
        "ddof": 0,
        "scale": 1.0,
        "out": np.zeros((3, 2)),
        "asked": np.zeros((3, 2)),
        "leaving": (np.zeros((4, 2)), np.array([0, 0, 1, 1], dtype=np.uint8), np.ones(4)),
        "gone": np.array([1, 1, 1]),
    }
    return given | changes


def test_sound_arguments_are_taken():
    _kernels.stream_moments(**arguments())


@pytest.mark.parametrize(
    "changes",
    [
        {"rows": np.zeros((3, 3))},
        {"rows": np.full((3, 2), 1e100)},
        {"rows": np.full((3, 2), 1e-100)},
        {"digits": np.zeros((2, 3), dtype=np.int64)},
        {"digits": np.zeros((2, 16))},
        {"windows": np.zeros((2, 3, 2), dtype=np.int64)},
        {"windows": np.full((2, 3, 2), 5000)},
        {"windows": np.zeros((2, 2, 2), dtype=np.int64)},
        {"labels": np.array([0, 1], dtype=np.uint8)},
        {"labels": np.array([0, 2, 1], dtype=np.uint8)},
        {"labels": np.array([0, 1, 1])},
        {"raw": np.ones(2)},
        {"raw": np.array([1.0, np.nan, 1.0])},
        {"raw": np.array([1.0, -1.0, 1.0])},
        {"raw": np.array([1.0, 1e200, 1.0])},
        {"scales": np.zeros(3)},
        {"scales": np.ones(2)},
        {"halved": np.array([0, -1, 0])},
        {"halved": np.array([0, 10**6, 0])},
        {"ddof": 2},
        {"scale": 0.0},
        {"out": np.zeros((3, 3))},
        {"out": np.zeros((2, 2))},
        {"asked": np.zeros((2, 2))},
        {"gone": np.array([3, 0, 0])},
        {"gone": np.array([-1, 0, 0])},
        {"gone": np.array([2**62, 2**62, 0])},
        {"gone": np.array([1, 1])},
        {"gone": None},
        {"leaving": None},
        {"leaving": (np.zeros((2, 2)), np.array([0, 0], dtype=np.uint8), np.ones(2))},
        {"leaving": (np.zeros((4, 2)), np.array([0, 0, 9, 1], dtype=np.uint8), np.ones(4))},
        {"leaving": (np.zeros((4, 2)), np.array([0, 0, 255, 1], dtype=np.uint8), np.ones(4))},
        {"leaving": (np.zeros((4, 2)), np.array([0, 0, 1, 1], dtype=np.uint8), np.ones(3))},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_unsound_arguments_are_refused(changes):
    with pytest.raises((ValueError, TypeError)):
        _kernels.stream_moments(**arguments(**changes))


SUMS = {
    "exact_add": lambda d, w, lines: (d, w, np.ones((2, 1)), np.ones(2), lines),
    "exact_read": lambda d, w, lines: (d, w, lines[:, 0].copy(), *(np.empty((2, 1)) for _ in range(3))),
    "exact_read_without": lambda d, w, lines: (d, w, lines, np.ones((2, 1)), np.ones(2), *np.empty((3, 2, 1))),
    "exact_scale": lambda d, w, lines: (d, w, 0, 1, 1, -1),
    "exact_normalise": lambda d, w, lines: (d, w),
}


@pytest.mark.parametrize("name", SUMS)
def test_sums_look_at_their_windows_and_lines(name):
    call, lines = getattr(_kernels, name), np.zeros((2, 1), dtype=np.int64)
    sums = ExactSums(2, 1)
    sums.reserve(np.ones((1, 1)), np.ones(1))
    call(*SUMS[name](sums.digits, sums.windows, lines))
    for digits, windows in (
        (sums.digits[:, 1:].copy(), sums.windows),
        (sums.digits, sums.windows + 1),
        (sums.digits, -sums.windows - 1),
        (sums.digits.astype(float), sums.windows),
    ):
        with pytest.raises((ValueError, TypeError)):
            call(*SUMS[name](digits, windows, lines))
    if "exact_read" in name or name == "exact_add":
        with pytest.raises(ValueError, match="beyond"):
            call(*SUMS[name](sums.digits, sums.windows, lines + 2))


def test_rows_without_room_are_not_added():
    sums = ExactSums(1, 1)
    lines = np.zeros((1, 1), dtype=np.int64)
    assert not _kernels.exact_add(sums.digits, sums.windows, np.ones((1, 1)), np.ones(1), lines)
    sums.reserve(np.ones((1, 1)), np.ones(1))
    assert not _kernels.exact_add(sums.digits, sums.windows, np.full((1, 1), 1e50), np.ones(1), lines)
    assert not sums.digits.any()
    assert _kernels.exact_add(sums.digits, sums.windows, np.ones((1, 1)), np.ones(1), lines)
