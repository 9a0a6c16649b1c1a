"""Cut points for numeric columns: equal width, equal frequency, by class entropy (MDL), or by it and then by frequency.

All of them take row weights, and a whole weight w means exactly the row given w times; rows of weight zero are as if
they were not there. Missing (NaN) and infinite values are left out: cut points are finite. A cell x gets the code
``#{j : x > cuts[j]}``, so bins are open on the left and closed on the right.
"""

from __future__ import annotations

import math

import numpy as np

from tanager import _kernels
from tanager.errors import OptionError, check_option

METHODS = ("refined", "stream", "mdl", "width", "frequency")
FOR_NOW = "for now"  # a method that nobody asks for: how a stream cuts its first rows while they are few
_SMALL = 10_000  # rows of a column that a kernel sorts at once; beyond, NumPy is quicker
MOST_REFINED = 20  # bins of a column: counts of pairs and triples grow with their square and cube
STREAM_BINS = 10  # of a column in a stream, whose first rows must do for all that follow
# Of a column until these rows are there, and rows of a bin then: experiments/stream_bins.
FEW_BINS, ROWS_OF_FEW = 4, 16


def equal_width(values: np.ndarray, k: int, weights: np.ndarray | None = None) -> np.ndarray:
    """Cut the range of the values into k bins of equal width. One outlier can leave most of them empty.

    >>> equal_width(np.array([1, 2, 2.5, 3, 4, 7, 8, 10]), 3)
    array([4., 7.])
    """
    x, _, _ = _usable(values, weights)
    if len(x) == 0 or x.min() == x.max():
        return np.empty(0)
    low, high = float(x.min()), float(x.max())
    steps = np.arange(1, k)
    span = high - low  # overflows for the largest floats; the second formula does not, but rounds differently
    cuts = low + span * steps / k if np.isfinite(span * k) else low * (1 - steps / k) + high * (steps / k)
    cuts = np.unique(cuts)
    return cuts[(cuts >= low) & (cuts < high)]


def equal_frequency(values: np.ndarray, k: int, weights: np.ndarray | None = None) -> np.ndarray:
    """Cut so that k bins hold about the same number of rows. A value that repeats a lot gives fewer bins.

    >>> equal_frequency(np.array([1, 2, 2.5, 3, 4, 7, 8, 10]), 3)
    array([2.75, 5.5 ])
    """
    x, w, _ = _usable(values, weights)
    order = np.argsort(x)
    return np.array(_kernels.even_cuts(x[order], None if w is None else w[order], k))


def mdl(values: np.ndarray, labels: np.ndarray, weights: np.ndarray | None = None, encoding: str = "n-1") -> np.ndarray:
    """Cut where the class changes, as long as each cut pays for its description (Fayyad and Irani).

    Needs class codes. A column that says nothing about the class gets no cut. Greedy: a pattern that needs two cuts
    at once (0..1..0) may get none. ``encoding="candidates"`` prices a cut by the number of places it could be instead
    of the number of rows, and accepts more cuts.

    Weights count as rows in the price of a cut, so scale them to sum to the number of rows: weights that sum to one
    amount to a single row and give no cut.

    >>> mdl(np.arange(1.0, 11.0), np.repeat([0, 1], 5))
    array([5.5])

    Notes
    -----
    O(n log n) for sorting, then O(n) per level of cuts plus O(n_classes) per candidate.
    """
    return _cut_by_class(values, labels, weights, encoding, 0)


def refined(
    values: np.ndarray,
    labels: np.ndarray,
    weights: np.ndarray | None = None,
    encoding: str = "n-1",
    rows_per_cell: float = 25,
) -> np.ndarray:
    """Cut by class entropy, then go on by equal frequency where bins hold many rows, so that bins follow the rows.

    Class entropy looks at one column alone: it finds few cut points, and none where a column tells something only
    together with others. With many rows, classifiers that look at pairs of columns can use more. So large bins are
    cut on, to about ``sqrt(n_rows / n_classes / rows_per_cell)`` bins in all, but at most 20: two such columns then
    have ``rows_per_cell`` rows of each class for every pair of bins. A column with no more values than that is cut
    between all of them.

    >>> x = np.arange(1.0, 801.0)
    >>> mdl(x, x > 600), refined(x, x > 600)
    (array([600.5]), array([200.5, 400.5, 600.5]))

    Notes
    -----
    The cost of ``mdl``, and sorting once more.
    """
    return _cut_by_class(values, labels, weights, encoding, None, rows_per_cell)


def for_stream(
    values: np.ndarray, labels: np.ndarray, weights: np.ndarray | None = None, encoding: str = "n-1"
) -> np.ndarray:
    """Cut the first rows of a stream for all rows to come: by class entropy, then on by equal frequency to ten bins.

    The first rows are few: class entropy finds no cut in many columns, which then would be lost for good, however
    many rows follow. As ``refined``, with a number of bins that suits some 5,000 rows of two classes.

    >>> x = np.arange(1.0, 801.0)
    >>> for_stream(x, x > 600)
    array([ 75.5, 150.5, 225.5, 300.5, 375.5, 450.5, 525.5, 600.5, 667.5,
           733.5])
    """
    return _cut_by_class(values, labels, weights, encoding, STREAM_BINS)


def for_now(
    values: np.ndarray, labels: np.ndarray, weights: np.ndarray | None = None, encoding: str = "n-1"
) -> np.ndarray:
    """Cut the first rows of a stream until there are enough of them: by class entropy, then on to four bins or fewer.

    In so few rows class entropy finds no cut in most columns. A bin gets sixteen rows or more.

    >>> x = np.arange(1.0, 65.0)
    >>> for_now(x[:32], x[:32] % 2 > 0), for_now(x, x % 2 > 0)
    (array([16.5]), array([16.5, 32.5, 48.5]))
    """
    n_bins = min(FEW_BINS, np.count_nonzero(np.isfinite(np.asarray(values, dtype=np.float64))) / ROWS_OF_FEW)
    return _cut_by_class(values, labels, weights, encoding, n_bins)


def _cut_by_class(
    values: np.ndarray,
    labels: np.ndarray,
    weights: np.ndarray | None,
    encoding: str,
    n_bins: float | None,
    rows_per_cell: float = 1,
) -> np.ndarray:
    """Cut by class entropy, then on to about so many bins in all; None: to as many as rows allow; 0: no further."""
    check_option("encoding", encoding, ("n-1", "candidates"))
    if weights is None and len(values) < _SMALL:
        x, y = np.ascontiguousarray(values, np.float64), np.ascontiguousarray(labels, np.uint16)
        by_candidates = encoding == "candidates"
        return np.array(_kernels.cuts_of_unsorted(x, y, by_candidates, n_bins, rows_per_cell, MOST_REFINED))
    x, w, keep = _usable(values, weights)
    if len(x) == 0:
        return np.empty(0)
    y = np.asarray(labels) if keep is None else np.asarray(labels)[keep]
    order = np.argsort(x)
    x, y, w = x[order], y[order].astype(np.uint16, copy=False), None if w is None else w[order]
    top = int(y.max())
    if n_bins is None:
        n_rows = len(x) if w is None else float(w.sum())
        n_bins = min(MOST_REFINED, math.sqrt(n_rows / (np.count_nonzero(np.bincount(y)) * rows_per_cell)))
    return np.array(_kernels.mdl_cuts(x, y, w, top + 1, encoding == "candidates", n_bins))


def cut(values: np.ndarray, cuts: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """Codes of numbers: how many cut points are below each; NaN is missing.

    >>> cut(np.array([1.0, 4.0, 4.5, np.nan]), np.array([4.0, 7.0]))
    array([  0,   0,   1, 255], dtype=uint8)
    """
    if out is None:
        out = np.empty(len(values), dtype=np.uint8 if len(cuts) < 255 else np.uint16)
    _kernels.cut(np.asarray(values, dtype=np.float64), np.ascontiguousarray(cuts, dtype=np.float64), out)
    return out


def find_cuts(
    values: np.ndarray,
    method: str,
    n_bins: int,
    encoding: str,
    labels: np.ndarray | None,
    weights: np.ndarray | None,
) -> np.ndarray:
    """Cut points by the name of the method, which is one of ``METHODS``, or ``FOR_NOW``."""
    if method == "width":
        return equal_width(values, n_bins, weights)
    if method == "frequency":
        return equal_frequency(values, n_bins, weights)
    if labels is None:
        raise OptionError(f'bins="{method}" needs class labels to find cut points. Pass y, or use bins="frequency".')
    by_class = {"mdl": mdl, "refined": refined, "stream": for_stream, FOR_NOW: for_now}
    return by_class[method](values, labels, weights, encoding)


def _usable(values: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
    """Finite values of positive weight, their weights, and which rows they are; None: all."""
    x = np.asarray(values, dtype=np.float64)
    keep = np.isfinite(x)
    if weights is None:
        return (x, None, None) if keep.all() else (x[keep], None, keep)
    w = np.asarray(weights, dtype=np.float64)
    keep &= w > 0
    return x[keep], w[keep], keep


def middle(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Halfway from a to b > a. Between neighbouring floats that may round up to b, which must stay above the cut."""
    m = 0.5 * a + 0.5 * b
    return np.where((a <= m) & (m < b), m, a)
