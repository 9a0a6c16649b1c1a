"""The kernel for Gaussian columns in a stream looks at what it is handed before it starts."""

import numpy as np
import pytest

from tanager import _kernels
from tanager.counts.exact_sums import ExactSums


def arguments(**changes):
    """Three rows of two columns and two classes; one came before and leaves first. Some argument exchanged."""
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
        "leaving": (np.zeros((1, 2)), np.array([0], dtype=np.uint8), np.ones(1)),
        "gone": np.array([1, 1, 1]),
    }
    return given | changes


def test_sound_arguments_are_taken():
    assert _kernels.stream_moments(**arguments())


@pytest.mark.parametrize(
    "changes",
    [
        {"rows": np.full((3, 2), 1e100)},
        {"rows": np.full((3, 2), 1e-100)},
        {"raw": np.array([1.0, 1e200, 1.0])},
        {"leaving": (np.full((1, 2), 1e100), np.array([0], dtype=np.uint8), np.ones(1))},
    ],
)
def test_rows_without_room_in_the_sums_are_not_learned(changes):
    given = arguments(**changes)
    assert not _kernels.stream_moments(**given)
    assert not given["digits"].any()


@pytest.mark.parametrize(
    "changes",
    [
        {"rows": np.zeros((3, 3))},
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
        {"leaving": (np.zeros((1, 3)), np.array([0], dtype=np.uint8), np.ones(1))},
        {"leaving": (np.zeros((1, 2)), np.array([9], dtype=np.uint8), np.ones(1))},
        {"leaving": (np.zeros((1, 2)), np.array([255], dtype=np.uint8), np.ones(1))},
        {"leaving": (np.zeros((1, 2)), np.array([0], dtype=np.uint8), np.ones(2))},
        {"leaving": (np.zeros((1, 2)), np.array([0], dtype=np.uint8), np.array([np.nan]))},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_unsound_arguments_are_refused(changes):
    with pytest.raises((ValueError, TypeError)):
        _kernels.stream_moments(**arguments(**changes))


def ratio_arguments(**changes):
    """Three rows that are left out of two classes; some argument exchanged."""
    sums = ExactSums(2, 2)
    sums.reserve(np.array([[0.0, 1.0], [8.0, 8.0]]), np.array([0.5, 4.0]))
    given = {
        "digits": sums.digits,
        "windows": sums.windows,
        "ddof": 0,
        "scale": 1.0,
        "values": np.arange(6.0).reshape(3, 2),
        "ratios": np.zeros((3, 2)),
        "highest": np.zeros(3),
        "labels": np.array([0, 1, 1], dtype=np.uint8),
        "raw": np.ones(3),
    }
    return given | changes


def test_rows_are_left_out_where_there_is_room_for_their_digits():
    assert _kernels.moment_ratios(**ratio_arguments())
    assert not _kernels.moment_ratios(**ratio_arguments(values=np.full((3, 2), 1e100)))
    assert _kernels.moment_ratios(**ratio_arguments(values=np.full((3, 2), 1e100), labels=None, raw=None))


@pytest.mark.parametrize(
    "changes",
    [
        {"digits": np.zeros((2, 3), dtype=np.int64)},
        {"windows": np.zeros((2, 3, 2), dtype=np.int64)},
        {"ddof": 2},
        {"scale": 0.0},
        {"values": np.zeros((3, 3))},
        {"ratios": np.zeros((2, 2))},
        {"ratios": np.zeros((3, 3))},
        {"highest": np.zeros(2)},
        {"labels": None},
        {"labels": np.array([0, 1], dtype=np.uint8)},
        {"labels": np.array([0, 1, 2], dtype=np.uint8)},
        {"labels": np.array([0, 1, 255], dtype=np.uint8)},
        {"raw": None},
        {"raw": np.ones(2)},
        {"raw": np.array([1.0, -1.0, 1.0])},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_unsound_rows_to_leave_out_are_refused(changes):
    with pytest.raises((ValueError, TypeError)):
        _kernels.moment_ratios(**ratio_arguments(**changes))


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
