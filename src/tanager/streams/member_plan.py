"""Which members HalfLives has: a classifier with every half-life, ladder after ladder."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tanager.classifiers.aode import AODE
from tanager.classifiers.naive_bayes import NaiveBayes
from tanager.counts.forgetting import as_decay
from tanager.errors import OptionError, is_number, is_whole
from tanager.estimator import clone
from tanager.learning.classifier import Classifier
from tanager.streams.subspace import BINS


@dataclass(frozen=True)
class MemberPlan:
    """The options of ``HalfLives`` that say which members there are."""

    model: Any
    half_lives: Sequence[Any]
    more_bins: Sequence[int]
    subspaces: int

    @property
    def base(self) -> Any:
        """What learns and answers."""
        return AODE() if self.model is None else self.model

    def check(self) -> None:
        """Refuse what makes no members."""
        base = self.base
        if isinstance(self.model, type) or not isinstance(base, Classifier):
            raise OptionError(f"model={self.model!r} is no classifier of tanager. Give one, such as AODE().")
        name = type(base).__name__
        if not hasattr(base, "decay"):
            raise OptionError(f"{name} cannot forget by a half-life: it has no option decay. Use AODE(), say.")
        for option in ("decay", "window"):
            if getattr(base, option) is not None:
                raise OptionError(
                    f"model={name}({option}={getattr(base, option)!r}): half_lives says how members forget. "
                    f"Leave out {option}=."
                )
        self._check_half_lives()
        if isinstance(self.more_bins, str | bytes) or not isinstance(self.more_bins, Sequence):
            raise OptionError(f"more_bins={self.more_bins!r}: give a sequence of numbers of bins, such as (5, 20).")
        for bins in self.more_bins:
            if not is_number(bins, 2) or int(bins) != bins:
                raise OptionError(f"more_bins={self.more_bins!r}: {bins!r} is no number of bins of at least 2.")
        if not is_whole(self.subspaces, 0):
            raise OptionError(f"subspaces={self.subspaces!r}: give how many, a whole number of at least 0.")

    def _check_half_lives(self) -> None:
        given = self.half_lives
        if isinstance(given, str | bytes) or not isinstance(given, Sequence) or not len(given):
            raise OptionError(f"half_lives={given!r}: give a sequence of half-lives, such as (20, 200, 2000, inf).")
        for half_life in given:
            if half_life is None or (is_number(half_life, 0) and half_life < 1):
                raise OptionError(
                    f"half_lives={given!r}: {half_life!r} is no half-life. Give rows (1 or more), a duration, or inf."
                )
            decay_of(half_life)
        if len({str(half_life) for half_life in given}) < len(given):
            raise OptionError(f"half_lives={given!r}: some half-life is there twice.")

    def fresh(self) -> list[Classifier]:
        """All members, with nothing learned: ladder after ladder."""
        bases = [self.base]
        others = [*self.more_bins, *(BINS[at % len(BINS)] for at in range(self.subspaces))]
        bases += [clone(self.base).set_params(bins="frequency", n_bins=int(bins)) for bins in others]
        return [clone(base).set_params(decay=decay_of(half_life)) for base in bases for half_life in self.half_lives]

    def of_all_columns(self) -> list[Classifier]:
        """Naive Bayes with every half-life, and with what the options of the model say of columns."""
        base = self.base
        shared = {name: getattr(base, name) for name in NaiveBayes().get_params() if hasattr(base, name)}
        naive = NaiveBayes(**shared | {"smoothing": NaiveBayes().smoothing})
        return [clone(naive).set_params(decay=decay_of(half_life)) for half_life in self.half_lives]

    @property
    def timed(self) -> bool:
        """Whether some half-life is a time."""
        decays = (as_decay(decay_of(half_life)) for half_life in self.half_lives)
        return any(decay is not None and decay.timed for decay in decays)

    def names(self, *, limited: bool) -> list[str]:
        """What the members are called."""
        first = [_name_of(half_life) for half_life in self.half_lives]
        if limited:
            return [f"{name}, {what}" for what in ("naive Bayes", "few columns") for name in first]
        others = [f"{bins} bins" for bins in self.more_bins]
        others += [f"subspace {at}" for at in range(1, self.subspaces + 1)]
        return first + [f"{name}, {what}" for what in others for name in first]


def decay_of(half_life: Any) -> Any:
    """The option ``decay`` of a member."""
    if half_life == math.inf:
        return None
    as_decay(half_life)
    return half_life


def _name_of(half_life: Any) -> str:
    if isinstance(half_life, str):
        return half_life
    return "all rows" if half_life == math.inf else "1 row" if half_life == 1 else f"{half_life:,g} rows"
