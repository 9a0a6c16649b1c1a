"""Every measure has a slow twin and laws; where scikit-learn has the same one, it agrees."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from tanager.errors import DataError, OptionError
from tanager.evaluate import (
    accuracy,
    auc,
    brier,
    calibration_error,
    calibration_of,
    confusion,
    expected_cost,
    fading_mean,
    log_loss,
    measure,
    per_class,
    reliability,
    rmse,
    rmse_full,
    zero_one_loss,
)
from tanager.scoring.ranking import mean_pair_area

OF_PROBA = [log_loss, rmse, rmse_full, brier, auc, calibration_error]
OF_ANSWERS = [accuracy, zero_one_loss]


@st.composite
def answers(draw, least=1, most=40, classes=(2, 4)):
    """Labels, probabilities (with ties and zeros) and whole weights."""
    k = draw(st.integers(*classes))
    n = draw(st.integers(least, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    parts = rng.integers(0, 4, (n, k)).astype(float)
    parts[parts.sum(axis=1) == 0] = 1.0
    return rng.integers(0, k, n), parts / parts.sum(axis=1, keepdims=True), rng.integers(0, 4, n)


def same(a, b):
    np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


# --- slow twins ---------------------------------------------------------------------------------------------------


def slow_mean(values):
    return sum(values) / len(values) if values else math.nan


def slow_area(scores, members, others):
    pairs = [
        (1.0 if scores[r] > scores[s] else 0.5 if scores[r] == scores[s] else 0.0) for r in members for s in others
    ]
    return slow_mean(pairs)


def slow_hand_till(labels, proba):
    rows = {c: [r for r, label in enumerate(labels) if label == c] for c in sorted(set(labels))}
    areas = []
    for a in rows:
        for b in rows:
            if a < b:
                one = slow_area(proba[:, a], rows[a], rows[b])
                areas.append((one + slow_area(proba[:, b], rows[b], rows[a])) / 2)
    return slow_mean(areas)


def slow_weighted(labels, proba):
    areas = []
    for c in labels:  # one area per row of the class is a mean weighted by how often it occurs
        members = [r for r, label in enumerate(labels) if label == c]
        areas.append(slow_area(proba[:, c], members, [r for r, label in enumerate(labels) if label != c]))
    return slow_mean(areas)


def slow_calibration(labels, proba, n_bins):
    total = 0.0
    for b in range(n_bins):
        bin_ = [r for r, p in enumerate(proba) if b / n_bins < max(p) <= (b + 1) / n_bins]
        right = [float(np.argmax(proba[r]) == labels[r]) for r in bin_]
        total += abs(sum(right) - sum(max(proba[r]) for r in bin_))
    return total / len(labels)


@given(answers())
def test_measures_of_probabilities_agree_with_their_formulas(case):
    labels, proba, _ = case
    k = proba.shape[1]
    rows = list(zip(labels, proba, strict=True))
    same(log_loss(labels, proba), slow_mean([-math.log(max(p[y], 1e-15)) for y, p in rows]))
    same(rmse(labels, proba), math.sqrt(slow_mean([(1 - p[y]) ** 2 for y, p in rows])))
    squares = [sum((p[c] - (c == y)) ** 2 for c in range(k)) for y, p in rows]
    same(brier(labels, proba), slow_mean(squares))
    same(rmse_full(labels, proba), math.sqrt(slow_mean([s / k for s in squares])))
    same(calibration_error(labels, proba, n_bins=7), slow_calibration(labels, proba, 7))


@given(answers())
def test_auc_agrees_with_looking_at_every_pair_of_rows(case):
    labels, proba, _ = case
    occur = len(set(labels.tolist())) > 1
    same(auc(labels, proba), slow_hand_till(labels.tolist(), proba) if occur else math.nan)
    same(auc(labels, proba, average="weighted"), slow_weighted(labels.tolist(), proba) if occur else math.nan)


@given(answers(), st.integers(0, 100))
def test_measures_of_answers_agree_with_counting(case, seed):
    labels, proba, _ = case
    k = proba.shape[1]
    predicted = np.random.default_rng(seed).integers(0, k, len(labels))
    pairs = list(zip(labels.tolist(), predicted.tolist(), strict=True))
    same(accuracy(labels, predicted), slow_mean([float(a == b) for a, b in pairs]))
    same(zero_one_loss(labels, predicted), slow_mean([float(a != b) for a, b in pairs]))
    same(confusion(labels, predicted, k), [[pairs.count((a, b)) for b in range(k)] for a in range(k)])
    costs = np.arange(k * k).reshape(k, k)
    same(expected_cost(labels, predicted, costs), slow_mean([costs[a][b] for a, b in pairs]))


@given(st.lists(st.floats(0, 10), max_size=30), st.floats(0.01, 1))
def test_the_fading_mean_agrees_with_its_recurrence(losses, fade):
    s, b, expected = 0.0, 0.0, []
    for loss in losses:
        s, b = fade * s + loss, fade * b + 1
        expected.append(s / b)
    same(fading_mean(losses, fade), expected)


# --- scikit-learn -------------------------------------------------------------------------------------------------


@given(answers(least=8, most=60, classes=(3, 4)))
def test_scikit_learn_agrees(case):
    labels, proba, weights = case
    k = proba.shape[1]
    labels[: 2 * k] = np.tile(np.arange(k), 2)[: len(labels)]
    weights = weights + 1.0
    codes = list(range(k))
    safe = (proba + 0.01) / (proba + 0.01).sum(axis=1, keepdims=True)
    same(log_loss(labels, safe, weights), metrics.log_loss(labels, safe, sample_weight=weights, labels=codes))
    same(auc(labels, safe), metrics.roc_auc_score(labels, safe, multi_class="ovo", labels=codes))
    same(
        auc(labels, safe, average="weighted", weights=weights),
        metrics.roc_auc_score(labels, safe, multi_class="ovr", average="weighted", labels=codes, sample_weight=weights),
    )
    predicted = safe.argmax(axis=1)
    same(accuracy(labels, predicted, weights), metrics.accuracy_score(labels, predicted, sample_weight=weights))
    same(confusion(labels, predicted, k), metrics.confusion_matrix(labels, predicted, labels=codes))


@given(answers(least=4, classes=(2, 2)))
def test_scikit_learn_agrees_on_two_classes(case):
    labels, proba, weights = case
    labels[:2] = [0, 1]
    weights = weights + 1.0
    same(auc(labels, proba, weights=weights), metrics.roc_auc_score(labels, proba[:, 1], sample_weight=weights))
    same(
        brier(labels, proba, weights),
        2 * metrics.brier_score_loss(labels, proba[:, 1], sample_weight=weights, pos_label=1),
    )


# --- laws ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", OF_PROBA)
@given(case=answers(), seed=st.integers(0, 100))
def test_the_order_of_rows_and_of_classes_does_not_matter(how, case, seed):
    labels, proba, _ = case
    if how is calibration_error:  # ties for the most probable class go to the first one
        proba = (proba + np.arange(proba.shape[1]) / 100) / (proba + np.arange(proba.shape[1]) / 100).sum(1)[:, None]
    rng = np.random.default_rng(seed)
    rows, classes = rng.permutation(len(labels)), rng.permutation(proba.shape[1])
    same(how(labels[rows], proba[rows]), how(labels, proba))
    same(how(np.argsort(classes)[labels], proba[:, classes]), how(labels, proba))


@pytest.mark.parametrize("how", OF_PROBA)
@given(case=answers())
def test_a_weight_is_a_number_of_repetitions(how, case):
    labels, proba, weights = case
    same(how(labels, proba, weights=weights), how(np.repeat(labels, weights), np.repeat(proba, weights, axis=0)))


@pytest.mark.parametrize("how", OF_ANSWERS)
@given(case=answers())
def test_a_weight_is_a_number_of_repetitions_for_answers_too(how, case):
    labels, proba, weights = case
    predicted = proba.argmax(axis=1)
    same(how(labels, predicted, weights), how(np.repeat(labels, weights), np.repeat(predicted, weights)))


@given(answers())
def test_auc_sees_only_the_order(case):
    labels, proba, _ = case
    for average in ("hand-till", "weighted"):
        same(auc(labels, np.exp(3 * proba), average), auc(labels, proba, average))


@given(answers(classes=(2, 2)))
def test_turning_two_classes_round_turns_auc_round(case):
    labels, proba, _ = case
    same(auc(1 - labels, proba), 1 - auc(labels, proba))


@given(answers(), st.integers(0, 40))
def test_bins_of_two_parts_are_added(case, cut):
    labels, proba, _ = case
    both = reliability(labels[:cut], proba[:cut]) + reliability(labels[cut:], proba[cut:])
    same(both, reliability(labels, proba))
    same(calibration_of(both.tolist()), calibration_error(labels, proba))


@given(answers())
def test_losses_are_zero_for_sure_and_right_answers_and_no_lower_otherwise(case):
    labels, proba, _ = case
    sure = np.eye(proba.shape[1])[labels]
    for how in (log_loss, rmse, rmse_full, brier, calibration_error):
        assert how(labels, sure) == 0
        assert how(labels, proba) >= 0
    assert brier(labels, proba) <= 2 + 1e-12


# --- edges --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", OF_PROBA)
def test_no_rows_have_no_value(how):
    assert math.isnan(how(np.array([], int), np.empty((0, 3))))
    assert math.isnan(how([0, 1], [[0.5, 0.5], [0.5, 0.5]], weights=[0, 0]))


def test_a_class_that_does_not_occur_is_skipped_and_one_alone_has_no_auc():
    proba = np.array([[0.6, 0.4, 0], [0.3, 0.7, 0], [0.5, 0.5, 0]])
    assert auc([0, 1, 1], proba) == auc([0, 1, 1], proba[:, :2]) == 1
    assert auc([0, 1, 1], proba, average="weighted") == 1
    assert math.isnan(auc([1, 1, 1], proba))
    assert math.isnan(auc([0, 1, 1], proba, weights=[0, 1, 1]))


def test_a_probability_of_zero_costs_much_but_not_everything():
    assert log_loss([1], [[1.0, 0.0]]) == pytest.approx(-math.log(1e-15))


def test_all_measures_at_once_are_those_one_by_one():
    labels, proba, weights = [0, 1, 2, 1], np.full((4, 3), 1 / 3), [1, 2, 1, 1]
    proba[1] = [0.1, 0.8, 0.1]
    values = measure(labels, proba, [0, 1, 1, 1], costs=1 - np.eye(3), weights=weights)
    assert list(values) == ["accuracy", "log_loss", "rmse", "rmse_full", "brier", "auc", "cost"]
    assert values["accuracy"] == 1 - values["cost"] == 0.8
    assert values["auc"] == auc(labels, proba, weights=weights)
    assert "cost" not in measure(labels, proba)
    assert measure(labels, proba)["accuracy"] == 0.5  # the most probable class; ties go to the first


def test_every_class_by_itself():
    table = per_class([0, 0, 1, 1, 1], [0, 1, 1, 1, 0], np.eye(3)[[0, 1, 1, 1, 0]], ["a", "b", "c"])
    first, second, third = table.to_dicts()
    assert first == {"class": "a", "rows": 2, "predicted": 2, "recall": 0.5, "precision": 0.5, "f1": 0.5, "auc": 7 / 12}
    assert second["recall"] == second["precision"] == second["f1"] == pytest.approx(2 / 3)
    assert third["rows"] == 0
    assert math.isnan(third["recall"])
    assert "c         0          0       -" in str(table)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: accuracy([0, 1], [0]), r"labels have shape \(2,\) and predicted has shape \(1,\)"),
        (lambda: log_loss([0, 2], [[0.5, 0.5]] * 2), "labels hold 2; expected class codes from 0 to 1"),
        (lambda: log_loss([0, -1], [[0.5, 0.5]] * 2), "labels hold -1"),
        (lambda: log_loss(["a", "b"], [[0.5, 0.5]] * 2), "labels hold 'a'"),
        (lambda: log_loss([0], [0.5]), r"proba has shape \(1,\); expected \(rows,\) and \(rows, classes\)"),
        (lambda: accuracy([0], [0], [1, 2]), r"weights have shape \(2,\), expected one number for each of the 1 rows"),
        (lambda: accuracy([0], [0], [-1]), "weights must be finite and at least 0"),
        (lambda: per_class([0], [0], [[1.0, 0.0]], ["a"]), "proba has 2 columns, and classes has 1 names"),
    ],
)
def test_answers_that_do_not_fit_are_refused(call, message):
    with pytest.raises(DataError, match=message):
        call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: auc([0], [[1.0, 0.0]], average="handtill"), "Did you mean 'hand-till'"),
        (lambda: reliability([0], [[1.0]], n_bins=0), "n_bins=0 must be a whole number"),
        (lambda: expected_cost([0], [0], [1, 2]), r"cost_matrix has shape \(2,\)"),
        (lambda: fading_mean([1], fade=0), "fade=0 must be above 0"),
    ],
)
def test_options_that_mean_nothing_are_refused(call, message):
    with pytest.raises(OptionError, match=message):
        call()


def test_auc_over_many_classes_is_the_mean_over_pairs_of_classes():
    rng = np.random.default_rng(0)
    labels, proba, weights = rng.integers(0, 6, 60), rng.integers(0, 4, (60, 7)) / 4, rng.random(60)
    pairs = []
    for a, b in itertools.permutations(range(6), 2):
        inside, outside = np.flatnonzero(labels == a), np.flatnonzero(labels == b)
        wins = [(proba[i, a] > proba[j, a]) + 0.5 * (proba[i, a] == proba[j, a]) for i in inside for j in outside]
        both = [weights[i] * weights[j] for i in inside for j in outside]
        pairs.append(np.dot(wins, both) / np.sum(both))
    assert mean_pair_area(labels, proba, weights) == pytest.approx(np.mean(pairs))
