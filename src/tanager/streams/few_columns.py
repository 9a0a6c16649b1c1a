"""FewColumns: which columns of a stream the dear members of a pool see, where there are hundreds of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tanager.errors import ModelFileError, OptionError, is_whole
from tanager.learning.classifier import Classifier
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.warm_up import WarmUp
from tanager.streams.subspace import Subspace
from tanager.streams.table_columns import names_of
from tanager.structure.measures import class_information

MANY_COLUMNS = 100  # beyond, few are seen, unless an option says otherwise
FEW = 64
LOOKS = (32, 128, 512)  # rows after which columns are chosen, for the last time after the last


def check_max_columns(most: Any, *, several: bool) -> None:
    """Refuse a number of columns that means nothing, or one where there are ``several`` ladders anyway."""
    if most in ("auto", None):
        return
    if not is_whole(most, 1):
        raise OptionError(f'max_columns={most!r}: give how many columns the model sees at most, "auto" or None.')
    if several:
        raise OptionError(f"max_columns={most} is for one ladder. Leave it out, or more_bins= and subspaces=.")


class FewColumns:
    """Whether a stream has too many columns, which of them are seen, and when they are chosen."""

    def __init__(self, most: Any, may_limit: bool, *, codes: bool = False) -> None:
        self._most, self._may_limit, self._codes = most, may_limit, codes
        self.decided = False  # by the columns of the first table
        self.looks: tuple[int, ...] = ()  # to come
        self._known: tuple[str, ...] = ()
        self._n = 0  # columns that are seen; 0: all

    @property
    def limited(self) -> bool:
        """Whether some columns are not seen."""
        return self._n > 0

    @property
    def next_look(self) -> int:
        """The rows after which columns are chosen next."""
        return self.looks[0]

    def looked(self) -> None:
        """Columns were chosen."""
        self.looks = self.looks[1:]

    def decides(self, X: Any) -> bool:
        """Whether the first table, and this is it, has so many columns that few of them are seen."""
        if self.decided:
            return False
        self.decided, most = True, self._most
        if most is None or (most == "auto" and not self._may_limit):
            return False
        self._known = names_of(X)
        few = FEW if most == "auto" else int(most)
        if len(self._known) <= (MANY_COLUMNS if most == "auto" else few):
            return False
        self._n, self.looks = few, LOOKS
        return True

    @property
    def at_first(self) -> Subspace:
        """Columns while no row is known: some from everywhere."""
        places = np.linspace(0, len(self._known) - 1, self._n).round().astype(int)
        return Subspace(tuple(self._known[i] for i in places.tolist()), self._known, self._codes)

    def most_telling(self, models: Sequence[Classifier]) -> Subspace:
        """The columns that tell most about the class, by the longest memory of models that see all columns."""
        counts = [model.counts_ for model in models if isinstance(model, CountsClassifier)]
        longest = max(counts, key=lambda own: own.n_rows)
        best = np.sort(np.argsort(-class_information(longest), kind="stable")[: self._n])
        schema = longest.schema
        columns = tuple(dict.fromkeys(schema.sources[i] for i in best.tolist()))
        return Subspace(columns, schema.learned_names, self._codes)

    def go_on(self, seen: Subspace, first: WarmUp | None) -> Subspace:
        """Go on as a model file says, with the first rows where columns are yet to be chosen."""
        if not seen.columns or not {*seen.columns} <= {*seen.known}:
            raise ModelFileError("its model sees columns that it does not know")
        self._known, self._n = seen.known, len(seen.columns)
        self.looks = () if first is None else tuple(look for look in LOOKS if look > first.n_rows)
        return seen
