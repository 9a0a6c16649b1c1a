"""Measures of predictions.

Labels and predictions are class codes 0, 1, ...; ``proba`` has one row per prediction and one column per class. Every
measure takes ``weights`` of the rows; a weight of 2 counts like the row twice. Undefined values are NaN: any mean over
no rows, and AUC if fewer than two classes occur.

They are written by hand because every fold of every classifier calls all of them: for 150 rows accuracy, log loss,
Brier score and AUC take 0.4 ms together, those of scikit-learn 16 ms. The values are the same to 1e-15.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tanager.errors import DataError, OptionError, check_option
from tanager.evaluate.table import Table
from tanager.scoring import calibration
from tanager.scoring.ranking import area, mean_pair_area

SMALLEST = 1e-15  # smaller probabilities count as this in log loss


def accuracy(labels: ArrayLike, predicted: ArrayLike, weights: ArrayLike | None = None) -> float:
    """The share of correct predictions.

    Parameters
    ----------
    labels, predicted : arrays of shape (n_rows,)
        True and predicted classes.
    weights : array of shape (n_rows,), default=None
        Of the rows.

    Returns
    -------
    float
        From 0 to 1; NaN for no rows.

    Examples
    --------
    >>> from tanager.evaluate import accuracy
    >>> accuracy([0, 1, 1, 0], [0, 1, 0, 0])
    0.75
    """
    labels, predicted = _pairs(labels, predicted)
    return _mean(labels == predicted, weights)


def zero_one_loss(labels: ArrayLike, predicted: ArrayLike, weights: ArrayLike | None = None) -> float:
    """The share of wrong predictions: 1 less the accuracy.

    Parameters
    ----------
    labels, predicted : arrays of shape (n_rows,)
        True and predicted classes.
    weights : array of shape (n_rows,), default=None
        Of the rows.

    Returns
    -------
    float
        From 0 to 1; NaN for no rows.

    Examples
    --------
    >>> from tanager.evaluate import zero_one_loss
    >>> zero_one_loss([0, 1, 1, 0], [0, 1, 0, 0])
    0.25
    >>> zero_one_loss([0, 1, 1, 0], [0, 1, 0, 0], weights=[1, 1, 2, 0])  # the wrong row counts twice, the last not
    0.5
    """
    return 1.0 - accuracy(labels, predicted, weights)


def log_loss(labels: ArrayLike, proba: ArrayLike, weights: ArrayLike | None = None) -> float:
    """Mean of -log P(true class), in nats; probabilities below 1e-15 count as 1e-15.

    0 at best. A classifier that is sure and wrong is punished harder than by any other measure.

    Parameters
    ----------
    labels : array of shape (n_rows,)
        Codes of the true classes: 0, 1, ...
    proba : array of shape (n_rows, n_classes)
        Probabilities of the classes.
    weights : array of shape (n_rows,), default=None
        Of the rows.

    Returns
    -------
    float
        NaN for no rows.

    Examples
    --------
    >>> import math
    >>> from tanager.evaluate import log_loss
    >>> log_loss([0, 1], [[0.5, 0.5], [0.75, 0.25]]) == (math.log(2) + math.log(4)) / 2
    True
    """
    return _mean(-np.log(np.maximum(_own(*_answers(labels, proba)), SMALLEST)), weights)


def rmse(labels: ArrayLike, proba: ArrayLike, weights: ArrayLike | None = None) -> float:
    """Root of the mean of (1 - P(true class))², as in the literature on AODE and its relatives.

    It looks at the true class alone; ``rmse_full`` looks at all of them.

    Parameters
    ----------
    labels : array of shape (n_rows,)
        Codes of the true classes: 0, 1, ...
    proba : array of shape (n_rows, n_classes)
        Probabilities of the classes.
    weights : array of shape (n_rows,), default=None
        Of the rows.

    Returns
    -------
    float
        From 0 to 1; NaN for no rows.

    Examples
    --------
    >>> from tanager.evaluate import rmse
    >>> rmse([0, 1], [[0.5, 0.5], [0.5, 0.5]])
    0.5
    >>> round(rmse([0, 1], [[0.7, 0.3], [0.1, 0.9]]), 4)  # the root of the mean of 0.3 ** 2 and 0.1 ** 2
    0.2236
    """
    return float(np.sqrt(_mean((1.0 - _own(*_answers(labels, proba))) ** 2, weights)))


def rmse_full(labels: ArrayLike, proba: ArrayLike, weights: ArrayLike | None = None) -> float:
    """Root of the mean squared difference between P(y) and 1 (the true class) or 0 (the others), over all cells.

    That is, the root of the Brier score over the number of classes. With two classes it equals ``rmse``; with more it
    is smaller, as most cells should be 0 and are close to it.

    Parameters
    ----------
    labels : array of shape (n_rows,)
        Codes of the true classes: 0, 1, ...
    proba : array of shape (n_rows, n_classes)
        Probabilities of the classes.
    weights : array of shape (n_rows,), default=None
        Of the rows.

    Returns
    -------
    float
        From 0 to 1; NaN for no rows.

    Examples
    --------
    >>> from tanager.evaluate import rmse, rmse_full
    >>> round(rmse([0], [[0.4, 0.3, 0.3]]), 4), round(rmse_full([0], [[0.4, 0.3, 0.3]]), 4)
    (0.6, 0.4243)
    """
    labels, proba = _answers(labels, proba)
    return float(np.sqrt(brier(labels, proba, weights) / proba.shape[1]))


def brier(labels: ArrayLike, proba: ArrayLike, weights: ArrayLike | None = None) -> float:
    """Mean over rows of the squared differences between P(y) and 1 (the true class) or 0, summed over the classes.

    0 at best; 2 where a wrong class is always certain. Like the log loss it is lowest for the true probabilities, but
    a single row can add no more than 2.

    Parameters
    ----------
    labels : array of shape (n_rows,)
        Codes of the true classes: 0, 1, ...
    proba : array of shape (n_rows, n_classes)
        Probabilities of the classes.
    weights : array of shape (n_rows,), default=None
        Of the rows.

    Returns
    -------
    float
        From 0 to 2; NaN for no rows.

    Examples
    --------
    >>> from tanager.evaluate import brier, log_loss
    >>> careful, certain = [[0.75, 0.25], [0.75, 0.25]], [[1.0, 0.0], [1.0, 0.0]]
    >>> brier([0, 1], careful), brier([0, 1], certain)  # both get the second row wrong
    (0.625, 1.0)
    >>> round(log_loss([0, 1], careful), 2), round(log_loss([0, 1], certain), 2)
    (0.84, 17.27)
    """
    labels, proba = _answers(labels, proba)
    own = _own(labels, proba)
    return _mean((proba**2).sum(axis=1) - own**2 + (1.0 - own) ** 2, weights)


def auc(labels: ArrayLike, proba: ArrayLike, average: str = "hand-till", weights: ArrayLike | None = None) -> float:
    """How well probabilities rank the rows: the probability that a row of a class is ranked above one of another class.

    Ties count half. With two columns this is the area under the ROC curve. With more, ``"hand-till"`` is the mean over
    all pairs of classes, and ``"weighted"`` the mean of every class against the rest, weighted by how often the class
    occurs. Classes that do not occur are skipped; with fewer than two the result is NaN.

    Parameters
    ----------
    labels : array of shape (n_rows,)
        Codes of the true classes: 0, 1, ...
    proba : array of shape (n_rows, n_classes)
        Probabilities of the classes.
    average : {"hand-till", "weighted"}, default="hand-till"
        How the areas of more than two classes become one number.
    weights : array of shape (n_rows,), default=None
        Of the rows.

    Returns
    -------
    float
        1 if every row is ranked correctly, 0.5 by chance.

    Examples
    --------
    >>> from tanager.evaluate import auc
    >>> auc([1, 1, 0, 0], [[0.1, 0.9], [0.6, 0.4], [0.6, 0.4], [0.8, 0.2]])  # 3 of 4 pairs in order, 1 tie
    0.875
    """
    check_option("average", average, ("hand-till", "weighted"))
    labels, proba = _answers(labels, proba)
    weights = _weights(weights, len(labels))
    sizes = np.bincount(labels, weights, minlength=proba.shape[1])
    occur = np.flatnonzero(sizes > 0)
    if len(occur) < 2:
        return float("nan")
    if proba.shape[1] == 2:
        return area(proba[:, 1], labels == 1, weights)
    if average == "weighted":
        areas = [area(proba[:, c], labels == c, weights) for c in occur]
        return float(np.average(areas, weights=sizes[occur]))
    return mean_pair_area(labels, proba, weights)


def reliability(labels: ArrayLike, proba: ArrayLike, n_bins: int = 15, weights: ArrayLike | None = None) -> np.ndarray:
    """Confidence and accuracy in bins of equal width, as sums that can be added over folds.

    The most probable class is predicted, and its probability is the confidence. Bin b holds confidences in
    (b / n_bins, (b + 1) / n_bins].

    Parameters
    ----------
    labels : array of shape (n_rows,)
        Codes of the true classes: 0, 1, ...
    proba : array of shape (n_rows, n_classes)
        Probabilities of the classes.
    n_bins : int, default=15
        How many bins there are.
    weights : array of shape (n_rows,), default=None
        Of the rows.

    Returns
    -------
    array of shape (3, n_bins)
        Per bin: rows, sum of their confidences, number of correct predictions.

    Examples
    --------
    >>> from tanager.evaluate import reliability
    >>> reliability([0, 0, 1], [[0.75, 0.25], [0.25, 0.75], [0.5, 0.5]], n_bins=4)
    array([[0. , 1. , 2. , 0. ],
           [0. , 0.5, 1.5, 0. ],
           [0. , 0. , 1. , 0. ]])
    """
    if not isinstance(n_bins, int | np.integer) or n_bins < 1:
        raise OptionError(f"n_bins={n_bins!r} must be a whole number of at least 1.")
    labels, proba = _answers(labels, proba)
    return calibration.reliability_bins(proba, labels, _weights(weights, len(labels)), int(n_bins))


def calibration_error(labels: ArrayLike, proba: ArrayLike, n_bins: int = 15, weights: ArrayLike | None = None) -> float:
    """Expected calibration error: the mean distance between confidence and accuracy over the bins, weighted by rows.

    0 if predictions with a confidence of 80 % are correct in 80 % of cases, and so on. It says nothing about how good
    the predictions are: always predicting the class frequencies is well calibrated.

    Parameters
    ----------
    labels : array of shape (n_rows,)
        Codes of the true classes: 0, 1, ...
    proba : array of shape (n_rows, n_classes)
        Probabilities of the classes.
    n_bins : int, default=15
        Rows are compared within bins of equal width, by their confidence: see ``reliability``.
    weights : array of shape (n_rows,), default=None
        Of the rows.

    Returns
    -------
    float
        From 0 to 1; NaN for no rows.

    Examples
    --------
    >>> from tanager.evaluate import calibration_error
    >>> labels = [0, 0, 0, 1]
    >>> calibration_error(labels, [[0.75, 0.25]] * 4)  # class 0 with 75 %, which is true of 3 in 4
    0.0
    >>> calibration_error(labels, [[1.0, 0.0]] * 4)  # as accurate, and too sure
    0.25
    """
    return calibration_of(reliability(labels, proba, n_bins, weights))


def calibration_of(bins: ArrayLike) -> float:
    """The calibration error of bins made by ``reliability``, or of a sum of them.

    Sums of bins are those of all rows together, which a mean of the errors of folds is not.

    Parameters
    ----------
    bins : array of shape (3, n_bins)
        Per bin: rows, sum of their confidences, number of correct predictions.

    Returns
    -------
    float
        From 0 to 1; NaN for no rows.

    Examples
    --------
    >>> from tanager.evaluate import calibration_of, reliability
    >>> first, second = reliability([0, 0], [[0.75, 0.25]] * 2), reliability([0, 1], [[0.75, 0.25]] * 2)
    >>> calibration_of(first), calibration_of(second), calibration_of(first + second)  # 2 of 2 right, 1 of 2, 3 of 4
    (0.25, 0.25, 0.0)
    """
    return calibration.calibration_of(bins)


def expected_cost(
    labels: ArrayLike, predicted: ArrayLike, cost_matrix: ArrayLike, weights: ArrayLike | None = None
) -> float:
    """What predictions cost on average: the mean of ``cost_matrix[true, predicted]``.

    Parameters
    ----------
    labels, predicted : arrays of shape (n_rows,)
        Codes of the true and of the predicted classes: 0, 1, ...
    cost_matrix : array of shape (n_classes, n_classes)
        Rows are true classes, columns predicted ones.
    weights : array of shape (n_rows,), default=None
        Of the rows.

    Returns
    -------
    float
        In the unit of the costs; NaN for no rows.

    Examples
    --------
    >>> from tanager.evaluate import expected_cost
    >>> costs = [[0, 1], [10, 0]]  # a needless alarm costs 1, a missed one 10
    >>> expected_cost([0, 0, 0, 1], [0, 0, 0, 0], costs), expected_cost([0, 0, 0, 1], [1, 1, 1, 1], costs)
    (2.5, 0.75)
    """
    costs = np.asarray(cost_matrix, dtype=float)
    if costs.ndim != 2 or costs.shape[0] != costs.shape[1]:
        raise OptionError(f"cost_matrix has shape {costs.shape}; it needs one row and one column per class.")
    labels, predicted = _codes(labels, predicted, len(costs))
    return _mean(costs[labels, predicted], weights)


def confusion(labels: ArrayLike, predicted: ArrayLike, k: int, weights: ArrayLike | None = None) -> np.ndarray:
    """The confusion matrix, of shape (k, k): how often each true class (row) was predicted as each class (column).

    Parameters
    ----------
    labels, predicted : arrays of shape (n_rows,)
        Codes of the true and of the predicted classes: 0, 1, ...
    k : int
        The number of classes.
    weights : array of shape (n_rows,), default=None
        Of the rows.

    Returns
    -------
    array of shape (k, k)
        Sums of weights: numbers of rows without ``weights``.

    Examples
    --------
    >>> from tanager.evaluate import confusion
    >>> confusion([0, 0, 1], [0, 1, 1], 2)
    array([[1., 1.],
           [0., 1.]])
    """
    labels, predicted = _codes(labels, predicted, k)
    cells = np.bincount(labels * k + predicted, _weights(weights, len(labels)), minlength=k * k)
    return cells.reshape(k, k)


def per_class(
    labels: ArrayLike,
    predicted: ArrayLike,
    proba: ArrayLike,
    classes: Sequence[Any],
    weights: ArrayLike | None = None,
) -> Table:
    """Each class separately: its rows, how often it was predicted, recall, precision, F1, and AUC against the rest.

    Parameters
    ----------
    labels, predicted : arrays of shape (n_rows,)
        Codes of the true and of the predicted classes: 0, 1, ...
    proba : array of shape (n_rows, n_classes)
        Probabilities of the classes.
    classes : sequence
        The names of the classes, in the order of their codes.
    weights : array of shape (n_rows,), default=None
        Of the rows.

    Returns
    -------
    Table
        One line per class. Cells that are not defined, such as the precision of a class that was never predicted, are
        empty.

    Examples
    --------
    >>> from tanager.evaluate import per_class
    >>> proba = [[0.9, 0.1], [0.6, 0.4], [0.7, 0.3], [0.2, 0.8]]
    >>> print(per_class([0, 0, 1, 1], [0, 0, 0, 1], proba, ["healthy", "ill"]))  # one of two who are ill is missed
    class    rows  predicted  recall  precision      f1     auc
    healthy     2          3  1.0000     0.6667  0.8000  0.7500
    ill         2          1  0.5000     1.0000  0.6667  0.7500
    """
    labels, proba = _answers(labels, proba)
    k = proba.shape[1]
    if len(classes) != k:
        raise DataError(f"proba has {k} columns, and classes has {len(classes)} names; give one name per column.")
    cells = confusion(labels, predicted, k, weights)
    rows, predictions, correct = cells.sum(axis=1), cells.sum(axis=0), cells.diagonal()
    weights = _weights(weights, len(labels))
    lines = [
        (
            str(name),
            rows[c],
            predictions[c],
            _share(correct[c], rows[c]),
            _share(correct[c], predictions[c]),
            _share(2 * correct[c], rows[c] + predictions[c]),
            area(proba[:, c], labels == c, weights),
        )
        for c, name in enumerate(classes)
    ]
    names = ("class", "rows", "predicted", "recall", "precision", "f1", "auc")
    return Table(names, lines, {"rows": ",.15g", "predicted": ",.15g"})


def measure(
    labels: ArrayLike,
    proba: ArrayLike,
    predicted: ArrayLike | None = None,
    costs: ArrayLike | None = None,
    weights: ArrayLike | None = None,
) -> dict[str, float]:
    """All measures of one set of predictions by name.

    Parameters
    ----------
    labels : array of shape (n_rows,)
        Codes of the true classes: 0, 1, ...
    proba : array of shape (n_rows, n_classes)
        Probabilities of the classes.
    predicted : array of shape (n_rows,), default=None
        Codes of the predicted classes; None takes the most probable ones.
    costs : array of shape (n_classes, n_classes), default=None
        ``costs[true, predicted]``, as in ``expected_cost``.
    weights : array of shape (n_rows,), default=None
        Of the rows.

    Returns
    -------
    dict of str to float
        ``accuracy``, ``log_loss``, ``rmse``, ``rmse_full``, ``brier``, ``auc``, and ``cost`` where costs are given.

    Examples
    --------
    >>> from tanager.evaluate import measure
    >>> found = measure([0, 1, 1], [[0.8, 0.2], [0.4, 0.6], [0.6, 0.4]], costs=[[0, 1], [10, 0]])
    >>> for name, value in found.items():
    ...     print(name, round(value, 3))
    accuracy 0.667
    log_loss 0.55
    rmse 0.432
    rmse_full 0.432
    brier 0.373
    auc 1.0
    cost 3.333
    """
    labels, proba = _answers(labels, proba)
    if predicted is None:
        predicted = proba.argmax(axis=1)
    values = {
        "accuracy": accuracy(labels, predicted, weights),
        "log_loss": log_loss(labels, proba, weights),
        "rmse": rmse(labels, proba, weights),
        "rmse_full": rmse_full(labels, proba, weights),
        "brier": brier(labels, proba, weights),
        "auc": auc(labels, proba, weights=weights),
    }
    if costs is not None:
        values["cost"] = expected_cost(labels, predicted, costs, weights)
    return values


def fading_mean(losses: ArrayLike, fade: float = 0.999) -> np.ndarray:
    """The running mean of losses, in which the weight of old losses fades by a factor per step.

    S <- fade S + loss, B <- fade B + 1, value S / B. With ``fade=1`` it is the plain mean.

    Parameters
    ----------
    losses : array of shape (n_rows,)
        In the order of the stream.
    fade : float, default=0.999
        The factor, above 0 and at most 1.

    Returns
    -------
    array of shape (n_rows,)
        The mean after each loss.

    Examples
    --------
    >>> from tanager.evaluate import fading_mean
    >>> fading_mean([1, 0, 0, 1], fade=0.5).round(4).tolist()
    [1.0, 0.3333, 0.1429, 0.6]
    """
    if not 0 < fade <= 1:
        raise OptionError(f"fade={fade!r} must be above 0 and at most 1.")
    from scipy.signal import lfilter

    losses = np.asarray(losses, dtype=float)
    both = np.stack([losses, np.ones_like(losses)])
    sums, steps = lfilter([1.0], [1.0, -fade], both, axis=1) if losses.size else both
    return np.asarray(sums / steps)


# --- shared ----------------------------------------------------------------------------------------------


def _own(labels: np.ndarray, proba: np.ndarray) -> np.ndarray:
    """The probability that each row gave to its true class."""
    return np.asarray(proba[np.arange(len(labels)), labels])


def _share(part: float, whole: float) -> float:
    return float(part / whole) if whole > 0 else float("nan")


def _mean(values: np.ndarray, weights: ArrayLike | None) -> float:
    weights = _weights(weights, len(values))
    return _share(float(weights @ values), float(weights.sum()))


def _weights(weights: ArrayLike | None, n_rows: int) -> np.ndarray:
    if weights is None:
        return np.ones(n_rows)
    weights = np.asarray(weights, dtype=float)
    if weights.shape != (n_rows,):
        raise DataError(f"weights have shape {weights.shape}, expected one number for each of the {n_rows} rows.")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise DataError("weights must be finite and at least 0.")
    return weights


def _answers(labels: ArrayLike, proba: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Labels and probabilities that fit each other."""
    labels, proba = np.asarray(labels), np.asarray(proba, dtype=float)
    if proba.ndim != 2 or labels.shape != proba.shape[:1]:
        raise DataError(
            f"labels have shape {labels.shape} and proba has shape {proba.shape}; expected (rows,) and (rows, classes)."
        )
    return _class_codes("labels", labels, proba.shape[1]), proba


def _codes(labels: ArrayLike, predicted: ArrayLike, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels and predictions as codes below k."""
    labels, predicted = _pairs(labels, predicted)
    return _class_codes("labels", labels, k), _class_codes("predicted", predicted, k)


def _pairs(labels: ArrayLike, predicted: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    labels, predicted = np.asarray(labels), np.asarray(predicted)
    if labels.ndim != 1 or labels.shape != predicted.shape:
        raise DataError(
            f"labels have shape {labels.shape} and predicted has shape {predicted.shape}; expected (rows,) for both."
        )
    return labels, predicted


def _class_codes(name: str, codes: np.ndarray, k: int) -> np.ndarray:
    if codes.size and not (codes.dtype.kind in "iu" and codes.min() >= 0 and codes.max() < k):
        wrong = next(c for c in codes.tolist() if not (isinstance(c, int) and 0 <= c < k))
        raise DataError(f"{name} hold {wrong!r}; expected class codes from 0 to {k - 1}, one per column of proba.")
    return codes.astype(np.intp)
