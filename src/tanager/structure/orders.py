"""Orders of the columns, which restrict the parents in a collection or a k-dependence network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

import numpy as np

from tanager.counts.joint import JointCounts
from tanager.errors import OptionError, check_option
from tanager.structure.measures import class_information, class_information_given, conditional_information


def descending(scores: np.ndarray) -> list[int]:
    """Columns from the largest to the smallest score; ties go to the smaller column."""
    return [int(i) for i in np.lexsort((np.arange(len(scores)), -np.round(scores, 12)))]


SCORES: dict[str, Callable[[JointCounts], np.ndarray]] = {
    "ig_sum": lambda counts: conditional_information(counts).sum(1),
    "ig_class": lambda counts: class_information_given(counts).sum(1),
    "mi": class_information,
}


def generator_of(random_state: Any) -> np.random.RandomState:
    """The random numbers that the option ``random_state`` stands for."""
    if isinstance(random_state, np.random.RandomState):
        return random_state
    if random_state is None or random_state is np.random:
        return np.random.mtrand._rand  # the one that np.random.seed seeds, as in scikit-learn
    if isinstance(random_state, int | np.integer) and 0 <= random_state < 2**32:
        return np.random.RandomState(random_state)
    raise OptionError(
        f"random_state={random_state!r}: give a whole number from 0 to {2**32 - 1:,}, a RandomState, or None."
    )


def column_order(counts: JointCounts, order: object, random_state: object = None) -> list[int]:
    """Positions of the columns in an order given by name, or by columns.

    "given": as in the table. "ig_sum": by the information about all other columns given the class. "ig_class": by the
    information about the class given each other column. "mi": by the mutual information with the class. "random".
    """
    n = counts.n_features
    if isinstance(order, str):
        check_option("order", order, ("given", *SCORES, "random"))
        if order == "given":
            return list(range(n))
        if order == "random":
            # Counts are asked for their order more than once: a generator is copied, and None means seed 0, so that the
            # order is the same each time.
            generator = generator_of(0 if random_state is None else deepcopy(random_state))
            return [int(i) for i in generator.permutation(n)]
        return descending(SCORES[order](counts))
    if not isinstance(order, Sequence | np.ndarray):
        raise OptionError(f"order={order!r} is not an option; give a name or a list of all columns.")
    places = [counts.column(name) for name in order]
    if sorted(places) != list(range(n)):
        raise OptionError(f"order must name each of the {n} columns once, got {list(order)!r}.")
    return places


def k_dependence(counts: JointCounts, k: int, threshold: float = 0.0) -> list[tuple[int, ...]]:
    """Parents of every column in a k-dependence network, most informative first.

    Columns are taken by descending I(X_i; Y); each gets the k earlier ones with the largest I(X_i; X_j | Y), of those
    above the threshold where one is given.
    """
    order = descending(class_information(counts))
    information = conditional_information(counts) if counts.n_features > 1 else np.zeros((1, 1))
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.arange(len(order))
    earlier = place[:, None] > place
    ranked = np.argsort(np.where(earlier, -information, np.inf), axis=1, kind="stable")[:, :k]  # of equals the smaller
    if threshold > 0:
        earlier &= information > threshold
    n_parents = np.minimum(earlier.sum(axis=1), k).tolist()
    return [tuple(best[:n]) for best, n in zip(ranked.tolist(), n_parents, strict=True)]
