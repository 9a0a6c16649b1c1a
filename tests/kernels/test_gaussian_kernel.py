"""The kernel for Gaussian columns in a stream looks at what it is handed before it starts."""

import numpy as np
import pytest

from tanager import _kernels


def arguments(**changes):
    """Three rows of two columns and two classes, all leaving a queue of four; some argument exchanged."""
    given = {
        "rows": np.arange(6.0).reshape(3, 2),
        "labels": np.array([0, 1, 255], dtype=np.uint8),
        "weights": np.ones(3),
        "weight": np.zeros((2, 2)),
        "mean": np.zeros((2, 2)),
        "squares": np.zeros((2, 2)),
        "low": np.zeros(2),
        "high": np.zeros(2),
        "out": np.zeros((3, 2)),
        "asked": np.zeros((3, 2)),
        "fade": np.full(3, 0.9),
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
        {"mean": np.zeros((2, 4))[:, ::2]},
        {"weight": np.zeros((2, 2), dtype=np.float32)},
        {"labels": np.array([0, 1], dtype=np.uint8)},
        {"labels": np.array([0, 2, 1], dtype=np.uint8)},
        {"labels": np.array([0, 1, 1])},
        {"weights": np.ones(2)},
        {"mean": np.zeros((2, 3))},
        {"squares": np.zeros(4)},
        {"low": np.zeros(3)},
        {"out": np.zeros((3, 3))},
        {"out": np.zeros((2, 2))},
        {"asked": np.zeros((2, 2))},
        {"fade": np.array([0.9, 0.0, 0.9])},
        {"fade": np.array([0.9, np.nan, 0.9])},
        {"fade": np.ones(2)},
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
        {"per_class": True},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_unsound_arguments_are_refused(changes):
    with pytest.raises((ValueError, TypeError)):
        _kernels.stream_moments(**arguments(**changes))
