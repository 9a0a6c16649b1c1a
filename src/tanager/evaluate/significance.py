"""Tests of differences between classifiers, and of equivalence.

``corrected_t`` is for the folds of one data set; the sign test, ranks, Friedman's test and the critical difference of
Nemenyi are for several data sets. All take losses: lower is better. ``equivalence`` is for both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tanager.errors import DataError, OptionError

DRAW = 1e-9  # losses that differ by less are a draw


def corrected_t(differences: ArrayLike, ratio: float) -> tuple[float, float]:
    """The corrected resampled t-test of Nadeau and Bengio: t and the two-tailed p.

    The training sets of cross-validation overlap, so the differences d of its J folds are not independent, and the
    standard t-test rejects too often. Here t = mean(d) / sqrt((1 / J + ratio) s²) with J - 1 degrees of freedom.

    Parameters
    ----------
    differences : array of shape (J,)
        Differences of the measure, fold by fold. A single one gives NaN.
    ratio : float
        Test rows over training rows: 1/9 with 10 folds.

    Returns
    -------
    t, p : float
        The statistic, and the probability of one at least as far from 0 between classifiers that do not differ.

    Examples
    --------
    >>> from tanager.evaluate import corrected_t
    >>> t, p = corrected_t([0.02, 0.01, 0.03, -0.01, 0.02, 0, 0.01, 0.02, 0.03, 0.01], ratio=1 / 9)
    >>> f"{t:.4f} {p:.4f}"
    '2.4089 0.0393'
    """
    from scipy.special import stdtr

    d = np.asarray(differences, dtype=float)
    error = _corrected_error(d, ratio)
    if math.isnan(error):
        return float("nan"), float("nan")
    mean = float(d.mean())
    if error == 0.0:
        return (0.0, 1.0) if abs(mean) < DRAW else (math.copysign(math.inf, mean), 0.0)
    t = mean / error
    return t, float(2 * stdtr(len(d) - 1, -abs(t)))


def corrected_margin(values: ArrayLike, ratio: float, level: float = 0.95) -> float:
    """Half the width of a confidence interval around the mean of folds, corrected as in ``corrected_t``.

    Parameters
    ----------
    values : array of shape (J,)
        A measure, or differences of it, fold by fold. A single one gives NaN.
    ratio : float
        Test rows over training rows: 1/9 with 10 folds.
    level : float, default=0.95
        How often such intervals hold the true mean.

    Returns
    -------
    float
        The interval is the mean of the values plus and minus this.

    Examples
    --------
    >>> import numpy as np
    >>> from tanager.evaluate import corrected_margin
    >>> accuracies = np.array([0.90, 0.92, 0.88, 0.91, 0.89, 0.93, 0.90, 0.87, 0.91, 0.89])
    >>> margin = corrected_margin(accuracies, ratio=1 / 9)
    >>> f"{accuracies.mean():.3f} ± {margin:.3f}"
    '0.900 ± 0.019'
    """
    from scipy.special import stdtrit

    values = np.asarray(values, dtype=float)
    return float(stdtrit(max(len(values) - 1, 1), (1 + level) / 2) * _corrected_error(values, ratio))


@dataclass(frozen=True)
class Equivalence:
    """The result of ``equivalence``: the mean difference, its interval, and the p-value of two one-sided tests.

    Parameters
    ----------
    mean : float
        The mean difference.
    low, high : float
        The ends of its interval, of level 1 - 2 alpha. It lies within the margin exactly where p < alpha.
    p : float
        Small if the two are equivalent up to the margin.
    margin : float
        The smallest difference that would matter, as it was given.

    Examples
    --------
    >>> from tanager.evaluate import equivalence
    >>> differences = [0.01, -0.02, 0.0, 0.01, -0.01, 0.02, 0.0, -0.01]
    >>> for margin in (0.005, 0.02):
    ...     found = equivalence(differences, margin)
    ...     print(f"within {found.margin}: {-margin < found.low and found.high < margin}, p = {found.p:.2g}")
    within 0.005: False, p = 0.16
    within 0.02: True, p = 0.0017
    """

    mean: float
    low: float
    high: float
    p: float
    margin: float


def equivalence(differences: ArrayLike, margin: float, *, ratio: float = 0.0, alpha: float = 0.05) -> Equivalence:
    """Two one-sided paired t-tests of whether the mean difference is closer to 0 than the margin.

    That a test finds no difference does not show that there is none. This one takes "they differ by the margin or
    more" as the hypothesis to be rejected: p is the larger one of the tests of mean <= -margin and of mean >= margin,
    and if it is small, the two are equivalent up to the margin. State the margin before looking at the differences.

    Parameters
    ----------
    differences : array of shape (n,)
        Paired differences: of errors over data sets, of their logarithms (then a margin of log(1.05) allows 5 %), or
        of folds. A single one gives NaN.
    margin : float
        The smallest difference that would matter, in the same unit.
    ratio : float, default=0.0
        Test rows over training rows, as in ``corrected_t``, if the differences are those of overlapping folds.
    alpha : float, default=0.05
        The interval from ``low`` to ``high`` has the level 1 - 2 alpha.

    Returns
    -------
    Equivalence
        The mean difference, its interval, and p.

    Examples
    --------
    >>> from tanager.evaluate import equivalence
    >>> found = equivalence([0.01, -0.02, 0.0, 0.01, -0.01, 0.02, 0.0, -0.01], margin=0.02)
    >>> f"{found.mean:.4f} in [{found.low:.4f}, {found.high:.4f}], p = {found.p:.4f}"
    '0.0000 in [-0.0088, 0.0088], p = 0.0017'
    """
    from scipy.special import stdtr, stdtrit

    if not margin > 0:
        raise OptionError(f"margin={margin!r} must be above 0: the smallest difference that would matter.")
    if not 0 < alpha < 0.5:
        raise OptionError(f"alpha={alpha!r} must be between 0 and 0.5.")
    d = np.asarray(differences, dtype=float)
    error = _corrected_error(d, ratio)
    if math.isnan(error):
        mean = float(d[0]) if len(d) else math.nan
        return Equivalence(mean, math.nan, math.nan, math.nan, margin)
    mean = float(d.mean())
    half = float(stdtrit(len(d) - 1, 1 - alpha)) * error
    room = margin - abs(mean)  # to the nearer end of the margin, whose test has the larger p
    p = float(stdtr(len(d) - 1, -room / error)) if error else float(room <= 0)
    return Equivalence(mean, mean - half, mean + half, p, margin)


def _corrected_error(d: np.ndarray, ratio: float) -> float:
    """The standard error of the mean of folds; NaN for fewer than two, exactly 0 if all are the same."""
    if not ratio >= 0:
        raise OptionError(f"ratio={ratio!r} must be at least 0: test rows over training rows, 1/9 with 10 folds.")
    if d.ndim != 1 or np.isnan(d).any():
        raise DataError(f"expected one number per fold, got shape {d.shape} with {np.isnan(d).sum()} NaN.")
    if len(d) < 2:
        return float("nan")
    if np.ptp(d) <= 1e-12 * np.abs(d).max():
        return 0.0
    return float(np.sqrt((1 / len(d) + ratio) * d.var(ddof=1)))


def win_draw_loss(a: ArrayLike, b: ArrayLike, tolerance: float = DRAW) -> tuple[int, int, int]:
    """On how many data sets the losses of a are below, within the tolerance of, and above those of b.

    Parameters
    ----------
    a, b : arrays of shape (n_datasets,)
        Losses of two classifiers: lower is better.
    tolerance : float, default=1e-9
        Losses that differ by no more are a draw.

    Returns
    -------
    wins, draws, losses : int
        Of a.

    Examples
    --------
    >>> from tanager.evaluate import win_draw_loss
    >>> win_draw_loss([0.1, 0.2, 0.3], [0.2, 0.2, 0.1])
    (1, 1, 1)
    """
    a, b = _two(a, b)
    wins, losses = int((a < b - tolerance).sum()), int((a > b + tolerance).sum())
    return wins, len(a) - wins - losses, losses


def sign_test(wins: int, losses: int) -> tuple[float, float]:
    """The sign test: one-tailed and two-tailed p of so many wins and losses between equals. Draws are left out.

    The sum is exact in integers; scipy's ``binomtest`` rounds differently in the last bit and takes 250 times as long.

    Parameters
    ----------
    wins, losses : int
        On how many data sets one classifier is better, and worse, than the other: see ``win_draw_loss``.

    Returns
    -------
    one_tailed, two_tailed : float
        The probability of so many by chance, for the one that won more often, and for either of the two.

    Examples
    --------
    >>> from tanager.evaluate import sign_test
    >>> sign_test(4, 0)
    (0.0625, 0.125)
    """
    n = wins + losses
    one_tailed = sum(math.comb(n, i) for i in range(max(wins, losses), n + 1)) / 2**n
    return one_tailed, min(1.0, 2 * one_tailed)


def geometric_mean_ratio(a: ArrayLike, b: ArrayLike, counts: ArrayLike | None = None) -> float:
    """exp(mean(log(a / b))) over data sets: below 1 if a has the smaller losses.

    Unlike the mean of ratios, it is inverted if a and b are exchanged. If one of the two is 0, half an error is added
    to both, for which the number of rows of each data set is needed.

    Parameters
    ----------
    a, b : arrays of shape (n_datasets,)
        Losses of two classifiers, as shares of rows where some are 0.
    counts : array of shape (n_datasets,), default=None
        The rows of each data set; needed where a loss is 0.

    Returns
    -------
    float
        The ratio of a to b.

    Examples
    --------
    >>> from tanager.evaluate import geometric_mean_ratio
    >>> geometric_mean_ratio([0.1, 0.4], [0.2, 0.2])
    1.0
    >>> round(geometric_mean_ratio([0.0], [0.1], counts=[10]), 4)  # 0.5 errors to 1.5
    0.3333
    """
    a, b = _two(a, b)
    if (a < 0).any() or (b < 0).any():
        raise DataError("a ratio of losses needs losses of at least 0.")
    zero = np.minimum(a, b) < DRAW
    if zero.any():
        if counts is None:
            raise DataError(
                f"data set {int(zero.argmax())} has a loss of 0, and so no ratio. Give counts=, the rows of each data "
                "set, and half an error is added to both."
            )
        half = np.where(zero, 0.5 / np.asarray(counts, dtype=float), 0.0)
        a, b = a + half, b + half
    return float(np.exp(np.mean(np.log(a) - np.log(b))))


def ranks(losses: ArrayLike) -> np.ndarray:
    """The rank of every classifier (column) on every data set (row): 1 is best, draws share the mean of their ranks.

    Parameters
    ----------
    losses : array of shape (n_datasets, n_classifiers)
        Lower is better.

    Returns
    -------
    array of shape (n_datasets, n_classifiers)
        Ranks from 1 to the number of classifiers.

    Examples
    --------
    >>> from tanager.evaluate import ranks
    >>> ranks([[0.1, 0.3, 0.2], [0.2, 0.2, 0.1]])
    array([[1. , 3. , 2. ],
           [2.5, 2.5, 1. ]])
    """
    losses = np.asarray(losses, dtype=float)
    if losses.ndim != 2 or np.isnan(losses).any():
        raise DataError(
            f"ranks need a loss of every classifier on every data set, got shape {losses.shape} with "
            f"{np.isnan(losses).sum()} NaN. Leave out data sets that some classifier lacks."
        )
    from scipy.stats import rankdata

    return np.asarray(rankdata(np.round(losses / DRAW), axis=1))  # rounded: ties must not depend on the last bit


def average_ranks(losses: ArrayLike) -> np.ndarray:
    """The mean of the ranks of every classifier over the data sets: 1 for one that is always best.

    Parameters
    ----------
    losses : array of shape (n_datasets, n_classifiers)
        Lower is better.

    Returns
    -------
    array of shape (n_classifiers,)
        Mean ranks; ``nemenyi`` says how far apart they must be.

    Examples
    --------
    >>> from tanager.evaluate import average_ranks
    >>> errors = [[0.10, 0.12, 0.20], [0.30, 0.25, 0.35], [0.05, 0.05, 0.06]]  # rows are data sets
    >>> average_ranks(errors).tolist()  # the first two share the ranks 1 and 2 on the last
    [1.5, 1.5, 3.0]
    """
    return np.asarray(ranks(losses).mean(axis=0))


@dataclass(frozen=True)
class Friedman:
    """The result of ``friedman``: mean ranks, the statistics, and the p-value.

    Parameters
    ----------
    mean_ranks : tuple of float
        One for each classifier, as in ``average_ranks``.
    n_datasets : int
        How many data sets there were.
    chi2, f : float
        Friedman's statistic, and that of Iman and Davenport.
    p : float
        Small if the classifiers differ.

    Examples
    --------
    >>> from tanager.evaluate import friedman, nemenyi
    >>> errors = [[0.10, 0.12, 0.20], [0.25, 0.30, 0.35], [0.05, 0.04, 0.06], [0.15, 0.18, 0.19]]
    >>> found = friedman(errors)
    >>> found.mean_ranks, found.n_datasets, f"chi2 = {found.chi2:.1f}, F = {found.f:.1f}, p = {found.p:.3f}"
    ((1.25, 1.75, 3.0), 4, 'chi2 = 6.5, F = 13.0, p = 0.007')
    """

    mean_ranks: tuple[float, ...]
    n_datasets: int
    chi2: float
    f: float
    p: float


def friedman(losses: ArrayLike) -> Friedman:
    """Friedman's test in the form of Iman and Davenport: whether the classifiers differ at all.

    Rows are data sets, columns classifiers; at least two of each. There is no correction for ties, as in the papers
    that compare classifiers; scipy's ``friedmanchisquare`` has one, and no F. If all data sets agree, F is infinite,
    and p is that of chi2.

    Parameters
    ----------
    losses : array of shape (n_datasets, n_classifiers)
        Lower is better.

    Returns
    -------
    Friedman
        Mean ranks, statistics and p.

    Examples
    --------
    >>> from tanager.evaluate import friedman
    >>> friedman([[0.1, 0.2], [0.1, 0.3], [0.2, 0.1], [0.1, 0.2]]).mean_ranks
    (1.25, 1.75)
    """
    from scipy.special import chdtrc, fdtrc

    place = ranks(losses)
    n, q = place.shape
    if n < 2 or q < 2:
        raise DataError(f"Friedman's test needs two data sets and two classifiers, got {n} and {q}.")
    mean = place.mean(axis=0)
    chi2 = 12 * n / (q * (q + 1)) * float((mean**2).sum() - q * (q + 1) ** 2 / 4)
    rest = n * (q - 1) - chi2
    f = (n - 1) * chi2 / rest if rest > DRAW else math.inf
    p = fdtrc(q - 1, (q - 1) * (n - 1), f) if math.isfinite(f) else chdtrc(q - 1, chi2)
    return Friedman(tuple(map(float, mean)), n, chi2, f, float(p))


def nemenyi(n_classifiers: int, n_datasets: int, alpha: float = 0.05) -> float:
    """The critical difference: mean ranks further apart than this differ significantly, over all pairs.

    Parameters
    ----------
    n_classifiers, n_datasets : int
        How many were compared, and on how many data sets.
    alpha : float, default=0.05
        The probability that any two equal classifiers are found to differ.

    Returns
    -------
    float
        In ranks.

    Examples
    --------
    >>> from tanager.evaluate import nemenyi
    >>> round(nemenyi(3, 5), 4)
    1.4823
    """
    if n_classifiers < 2 or n_datasets < 1:
        raise DataError(
            f"a critical difference needs two classifiers and a data set, got {n_classifiers} and {n_datasets}."
        )
    if not 0 < alpha < 1:
        raise OptionError(f"alpha={alpha!r} must be between 0 and 1.")
    from scipy.stats import studentized_range

    q = studentized_range.ppf(1 - alpha, n_classifiers, np.inf) / math.sqrt(2)
    return float(q * math.sqrt(n_classifiers * (n_classifiers + 1) / (6 * n_datasets)))


def _two(a: ArrayLike, b: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if a.ndim != 1 or a.shape != b.shape or not a.size:
        raise DataError(f"expected one loss per data set in both, got shapes {a.shape} and {b.shape}.")
    return a, b
