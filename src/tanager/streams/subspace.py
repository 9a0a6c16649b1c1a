"""Subspace: some of the columns of a stream, for members that look at it from another side."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tanager.errors import OptionError, is_whole
from tanager.learning.classifier import Classifier
from tanager.streams.table_columns import only_columns

SHARE = 0.6  # of the columns that a subspace has
BINS = (5, 20, 10)  # of equal frequency, by which number columns are cut, one subspace after the other
OF_COLUMNS = ("categorical", "numeric", "ordinal", "bins", "gaussian", "keep", "dates")  # options of a model


@dataclass(frozen=True)
class Subspace:
    """Names of some columns, and of all columns that are known, in the order in which they came.

    ``codes``: columns of an array of codes are codes for models that have learned nothing yet, as they are for those
    that see all of it; else they are text, as single columns of an array are everywhere.
    """

    columns: tuple[str, ...]
    known: tuple[str, ...]
    codes: bool = field(default=False, compare=False)

    def of(self, X: Any, like: Classifier) -> Any:
        """A table with these columns alone, for such a model."""
        codes = self.codes
        if like.knows_columns:
            codes = all(column.kind == "codes" for column in like.encoder_.schema.columns)
        return only_columns(X, self.columns, self.known, codes=codes)

    def restrict_options(self, model: Classifier) -> None:
        """Options that speak of columns no longer speak of others."""
        for option in OF_COLUMNS:
            given = getattr(model, option, None)
            if isinstance(given, Mapping):
                model.set_params(
                    **{option: {key: how for key, how in given.items() if self._name(key) in self.columns}}
                )
            elif isinstance(given, list | tuple):
                kept = [self._name(key) for key in given if self._name(key) in self.columns]
                model.set_params(**{option: kept or (False if option == "gaussian" else None)})

    def _name(self, key: Any) -> Any:
        """The name of a column, which may be given by its place."""
        by_place = isinstance(key, int | np.integer) and -len(self.known) <= key < len(self.known)
        return self.known[key] if by_place else key


def check_random_state(seed: Any) -> None:
    """Refuse a seed that is none."""
    if seed is not None and not is_whole(seed, 0):
        raise OptionError(f"random_state={seed!r}: give a whole number of at least 0, or None.")


def may_be_codes(model: Classifier) -> bool:
    """Whether no option of a model says what its columns are, so that those of an array of codes are codes."""
    options = [getattr(model, option, None) for option in (*OF_COLUMNS, "schema")]
    return all(given is None or given is False or isinstance(given, str) for given in options)


def draw(names: Sequence[str], always: Sequence[str], n: int, random_state: int | None) -> list[Subspace]:
    """So many subspaces at random: a share of the columns, two at least where there are, and those of ``always``."""
    rng = np.random.default_rng(random_state)
    size = min(len(names), max(2, math.ceil(SHARE * len(names))))
    drawn = [sorted(rng.choice(len(names), size, replace=False).tolist()) for _ in range(n)]
    return [Subspace((*(names[i] for i in places), *always), (*names, *always)) for places in drawn]


def draw_on(subspaces: Sequence[Subspace], names: Sequence[str], seed: int) -> list[Subspace]:
    """The subspaces once further columns have come: each sees a new one or not, at random.

    What is drawn depends on how many columns there were before, and on nothing else: neither on the rows that came
    together, nor on what else was drawn.
    """
    found = list(subspaces)
    for name in names:
        seen = np.random.default_rng([seed, len(found[0].known)]).random(len(found)) < SHARE
        for at, own in enumerate(found):
            wanted = seen[at] or len(own.columns) < 2
            columns = (*own.columns, name) if wanted else own.columns
            found[at] = replace(own, columns=columns, known=(*own.known, name))
    return found
