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


@pytest.mark.parametrize("n", [5, 120])  # in both ways to add up
def test_folds_that_are_asked_add_up_to_all(n):
    given = rows(m=200, n=n)
    given["codes"] = np.where(given["codes"] == 255, np.uint8(0), given["codes"])
    given["dealt"] = np.ceil(given["dealt"])
    right = []
    for n_asked in (1, 2, 3, 4, 0):
        own = given | {"right": np.zeros(n + 1)}
        _kernels.fold_right(**own, n_asked=n_asked)
        right.append(own["right"])
    np.testing.assert_array_equal(right[3], right[4])
    alone = given | {"right": np.zeros(n + 1), "dealt": np.ascontiguousarray(given["dealt"][[1, 0, 2, 3]])}
    _kernels.fold_right(**alone, n_asked=1)
    np.testing.assert_array_equal(right[1] - right[0], alone["right"])
    with pytest.raises(ValueError, match="asked"):
        _kernels.fold_right(**given, n_asked=5)


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


def right_by_hand(given):
    """Naive Bayes for every value of every column, each fold left out, one after the other."""
    codes, labels, dealt, k = given["codes"], given["labels"], given["dealt"], given["n_classes"]
    values, pseudo = np.array(given["n_values"]), np.array(given["pseudo"])
    cells = codes[:, :, None] == np.arange(values.max())  # (rows, columns, values)

    def right(part):
        found = 0
        for fold in dealt > 0:
            learned, asked = part & ~fold, np.flatnonzero(part & fold)
            seen = np.bincount(labels[learned], minlength=k).astype(float)
            counts = np.stack([cells[learned & (labels == c)].sum(axis=0) for c in range(k)])
            p = (counts + pseudo[:, None]) / (seen[:, None, None] + (pseudo * values)[:, None])
            logs = np.log((seen + given["class_pseudo"]) / (seen + given["class_pseudo"]).sum())
            own = logs + np.log(p[:, np.arange(codes.shape[1]), codes[asked]]).sum(axis=2).T
            order = np.argsort(-seen, kind="stable")  # ties go to the class with more rows
            best = order[np.argmax((own >= own.max(axis=1, keepdims=True) - 1e-11)[:, order], axis=1)]
            found += np.count_nonzero(best == labels[asked])
        return found

    split = [sum(right(codes[:, i] == v) for v in range(n)) for i, n in enumerate(values)]
    return np.array([*split, right(np.ones(len(codes), bool))])


@pytest.mark.parametrize(("k", "n_values"), [(2, 2), (2, 3), (3, 2), (4, 4)])
def test_all_splits_of_many_columns_at_once_are_those_one_by_one(k, n_values):
    rng = np.random.default_rng(k * n_values)
    m, n = 90, 103
    labels = rng.integers(0, k, m).astype(np.uint8)
    codes = rng.integers(0, n_values, (m, n)).astype(np.uint8)
    codes[:, ::2] = np.where(rng.random((m, 52)) < 0.7, 0, codes[:, ::2])
    codes[:, ::9] = np.where(rng.random((m, 12)) < 0.3, (labels % n_values)[:, None], codes[:, ::9])
    codes[:, 7] = 0  # a column of one value
    codes[1::2] = codes[::2]  # and rows that are the same, for ties
    given = rows(m, n, k, folds=3) | {"codes": codes, "labels": labels, "n_values": [n_values] * 102 + [n_values + 1]}
    given |= {"pseudo": [0.5] * 50 + [1.0] * 53, "dealt": np.eye(3)[rng.integers(0, 3, m)].T.copy()}
    expected = right_by_hand(given)
    for change in ({}, {"codes": np.asfortranarray(codes)}, {"codes": codes.astype(np.uint16)}):
        other = given | change | {"right": np.full(n + 1, -1.0)}
        _kernels.fold_right(**other)
        np.testing.assert_array_equal(other["right"][:-2], expected[:-2])
        assert other["right"][-2] == -1, "what is not wanted is not touched"
        assert other["right"][-1] == expected[-1]
    # A gap in a column that nobody wants keeps the kernel from this way, and the numbers of few rows hardly change.
    one_by_one = given | {"codes": codes.copy(), "right": np.full(n + 1, -1.0)}
    one_by_one["codes"][0, -1] = 255
    _kernels.fold_right(**one_by_one)
    assert np.abs(one_by_one["right"] - other["right"]).max() <= 4
