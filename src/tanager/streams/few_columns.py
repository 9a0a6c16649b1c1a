"""FewColumns: which columns of a stream the dear members of a pool see, where there are hundreds of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tanager.encoding.chunks import rows_of_dicts
from tanager.errors import ModelFileError, OptionError, is_whole
from tanager.learning.batch import StreamPart
from tanager.learning.classifier import Classifier
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.warm_up import WarmUp
from tanager.streams.subspace import Subspace
from tanager.streams.table_columns import counts, names_of, names_of_counted
from tanager.structure.measures import class_information

MANY_COLUMNS = 100  # beyond, few are seen, unless an option says otherwise
FEW = 64
LOOKS = (32, 128, 512)  # rows that count after which columns are chosen, for the last time after the last
DICTS_AT_ONCE = 64  # rows whose names are looked at before they are learned


def check_max_columns(most: Any, *, several: bool) -> None:
    """Refuse a number of columns that means nothing, or one where there are ``several`` ladders anyway."""
    if most in ("auto", None):
        return
    if not is_whole(most, 1):
        raise OptionError(f'max_columns={most!r}: give how many columns the model sees at most, "auto" or None.')
    if several:
        raise OptionError(f"max_columns={most} is for one ladder. Leave it out, or more_bins= and subspaces=.")


class FewColumns:
    """Whether a stream has too many columns, which of them are seen, and when they are chosen.

    A table says at once how many columns there are. Rows that are dicts may bring further ones: they are watched up to
    the last look, in all of its first rows that count.
    """

    def __init__(self, most: Any, may_limit: bool, *, codes: bool = False) -> None:
        self._few = FEW if most in ("auto", None) else int(most)
        self._most = MANY_COLUMNS if most == "auto" else self._few
        self._codes = codes
        may_limit = most is not None and (may_limit or most != "auto")
        self.looks: tuple[int, ...] = LOOKS if may_limit else ()  # to come
        self.known: dict[str, None] = {}  # columns in the order in which they came, while they are watched
        self._n = 0  # columns that are seen; 0: all

    @property
    def limited(self) -> bool:
        """Whether some columns are not seen."""
        return self._n > 0

    @property
    def watches(self) -> bool:
        """Whether further columns may be too many."""
        return bool(self.looks) and not self.limited

    @property
    def next_look(self) -> int:
        """The rows after which something is decided next: which columns are seen, or that all of them are."""
        return self.looks[0] if self.limited else self.looks[-1]

    def looked(self) -> None:
        """That was decided."""
        self.looks = self.looks[1:] if self.limited else ()

    def are_too_many(self, names: Sequence[str]) -> bool:
        """Whether there are too many columns with these."""
        return len({*self.known, *names}) > self._most

    def rows_until_too_many(self, rows: StreamPart) -> int:
        """How many of these rows come before the one that brings too many columns; of dicts, some of the first rows."""
        if not rows_of_dicts(rows.X):
            return 0 if self.are_too_many(names_of(rows.X)) else len(rows)
        known, some = dict(self.known), rows.X[:DICTS_AT_ONCE]
        for r, row in enumerate(some):
            if not known.keys() >= row.keys() and counts(rows, r):
                known |= dict.fromkeys(row)
                if len(known) > self._most:
                    return r
        return len(some)

    def note(self, rows: StreamPart) -> None:
        """These rows were learned."""
        self.known |= dict.fromkeys(names_of_counted(rows))
        if not rows_of_dicts(rows.X):
            self.looks = ()  # of a table all columns are known

    def limit(self, names: Sequence[str]) -> None:
        """From now on few columns are seen, of those that came so far and of these."""
        self._n, self._known = self._few, tuple(dict.fromkeys((*self.known, *names)))
        self.looks, self.known = LOOKS, {}

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
        self._known, self._n = seen.known, self._few
        self.looks = () if first is None else tuple(look for look in LOOKS if look > first.n_rows)
        return seen

    def watch_on(self, first: WarmUp | None) -> None:
        """Go on watching columns after these first rows of a model file; None: there is nothing to watch any more."""
        if first is None or first.n_rows >= LOOKS[-1]:
            self.looks = ()
        elif self.watches:
            self.known = dict.fromkeys(names_of(first.X))
