"""The kernel that cross-validates splits refuses what it cannot read, and answers alike with any number of threads."""

import numpy as np
import pytest

from tanager import Column, JointCounts, Lidstone, Schema, _kernels
from tanager.counts.block import Block
from tanager.scoring.decision import decide
from tanager.scoring.forms import averaged, naive
from tanager.scoring.view import View


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


# --- any plan ---------------------------------------------------------------------------------------------------


def empty_view(form, k=3, n=5):
    schema = Schema(tuple(Column(f"x{i}", "codes", n_codes=4) for i in range(n)))
    return View(JointCounts(schema, list(range(k)), order=2), form, Lidstone(1.0))


def right_by_counting_again(form, block, dealt):
    """Fold after fold: counts of all other rows, made anew."""
    right = 0.0
    for fold in dealt:
        view, rest = empty_view(form), dealt.sum(axis=0) - fold
        view.counts.update(block.codes[rest > 0], block.labels[rest > 0], rest[rest > 0])
        asked = block.part(fold > 0)
        chosen = decide(view.score(asked.query), view.counts.class_counts, None)
        right += fold[fold > 0][chosen == asked.labels].sum()
    return right


@pytest.mark.parametrize("form", [naive(5), averaged(5, 1, 1.0), averaged(5, 1, 12.0)], ids=["naive", "AODE", "rare"])
@pytest.mark.parametrize("m", [40, 400])
@pytest.mark.parametrize("whole", [False, True])
def test_a_plan_is_cross_validated_as_by_counting_again(form, m, whole):
    given = rows(m=m)
    dealt = np.ceil(given["dealt"]) if whole else given["dealt"]
    dealt[:, :3] = 0.0  # rows that are in no fold are not there
    block = Block(given["codes"], given["labels"], None)
    view = empty_view(form)
    for _ in range(2):  # the counts are empty again
        assert view.right_in_folds(block, dealt) == pytest.approx(right_by_counting_again(form, block, dealt))
    assert not any(array.any() for array in (view.counts.singles, view.counts.pairs, view.counts.class_counts))


def test_a_plan_is_not_cross_validated_over_counts_or_by_rows_that_do_not_fit():
    given = rows(m=40)
    block, view = Block(given["codes"], given["labels"], None), empty_view(naive(5))
    unknown = Block(np.where(block.codes == 3, np.uint8(9), block.codes), block.labels, None)
    with pytest.raises(ValueError, match="a value that these counts do not know"):
        view.right_in_folds(unknown, given["dealt"])
    with pytest.raises(ValueError, match="one line per fold"):
        view.right_in_folds(block, given["dealt"][:, 1:])
    with pytest.raises(ValueError, match="none of the classes"):
        empty_view(naive(5), k=2).right_in_folds(block, given["dealt"])
    view.counts.update(block.codes, block.labels)
    with pytest.raises(ValueError, match="counts that are empty"):
        view.right_in_folds(block, given["dealt"])
