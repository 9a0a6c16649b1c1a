"""The kernel that cross-validates splits refuses what it cannot read, and answers alike with any number of threads."""

import numpy as np
import pytest

from tanager import _kernels


def rows(m=2000, n=5, k=3, folds=4, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 4, (m, n)).astype(np.uint8)
    codes[rng.random(codes.shape) < 0.1] = 255
    labels = ((codes[:, 0] + codes[:, 1]) % k).astype(np.uint8)
    dealt = np.zeros((folds, m))
    dealt[rng.integers(0, folds, m), np.arange(m)] = rng.choice([0.5, 1.0], m)
    return {
        "codes": codes,
        "labels": labels,
        "dealt": dealt,
        "n_values": [4] * n,
        "pseudo": [1.0] * n,
        "n_classes": k,
        "class_pseudo": 1.0,
        "wanted": [True] * (n - 1) + [False],
        "right": np.full(n + 1, -1.0),
    }


@pytest.mark.parametrize("heaviest", [False, True])
def test_threads_and_the_layout_of_codes_change_nothing(heaviest):
    given = rows()
    _kernels.fold_right(**given, heaviest=heaviest)
    right = given["right"]
    assert right[4] == -1, "what is not wanted is not touched"
    assert (right[:4] > 0).all()
    assert right.max() <= given["dealt"].sum()
    for change in (
        {"codes": np.asfortranarray(given["codes"])},
        {"codes": np.where(given["codes"] == 255, np.uint16(65535), given["codes"])},
        {"labels": given["labels"].astype(np.uint16)},
    ):
        other = given | change | {"right": np.full(6, -1.0)}
        _kernels.fold_right(**other, heaviest=heaviest, n_jobs=3)
        np.testing.assert_array_equal(other["right"], right)


def test_many_columns_do_not_underflow():
    given = rows(m=60, n=600)
    given["labels"][:] = np.arange(60) % 3
    given["codes"][:] = given["labels"][:, None]
    _kernels.fold_right(**given)
    assert given["right"][-1] == given["dealt"].sum()


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("codes", np.zeros((2000, 4), np.uint8), "columns"),
        ("codes", np.zeros((2000, 5)), "codes"),
        ("labels", np.full(2000, 3, np.uint8), "none of the classes"),
        ("labels", np.zeros(10, np.uint8), "labels"),
        ("dealt", np.zeros((4, 10)), "one line per fold"),
        ("dealt", np.zeros((0, 2000)), "one line per fold"),
        ("pseudo", [1.0] * 4, "pseudo-count"),
        ("pseudo", [0.0] * 5, "above 0"),
        ("class_pseudo", 0.0, "above 0"),
        ("n_values", [-1] * 5, "values"),
        ("n_classes", 0, "classes"),
        ("right", np.zeros(5), "room"),
        ("wanted", [True] * 4, "wanted"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(name, value, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        _kernels.fold_right(**rows() | {name: value})
