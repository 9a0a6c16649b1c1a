"""What was observed: values that are certain, and likelihoods of values (soft or virtual evidence)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tanager.errors import DataError

if TYPE_CHECKING:
    from tanager.networks.network import Network

SoftEvidence = Mapping[str, "Sequence[float] | Mapping[Any, float]"]


class Evidence(NamedTuple):
    """Observations by index: codes of known values, and the logs of likelihoods, one per value."""

    known: Mapping[int, int]
    soft: Mapping[int, np.ndarray]

    @classmethod
    def read(cls, network: Network, values: Mapping[str, object] | None, soft: SoftEvidence | None = None) -> Evidence:
        """Evidence as people give it; an error names what does not fit."""
        _check_mapping("evidence", values, "a value")
        _check_mapping("soft", soft, "likelihoods, one for each value")
        known = {network.index(name): network.code(name, value) for name, value in (values or {}).items()}
        given = (soft or {}).items()
        return cls(known, {network.index(name): _log_likelihoods(network, name, numbers) for name, numbers in given})

    @property
    def variables(self) -> tuple[int, ...]:
        """All that something is known about."""
        return (*self.known, *self.soft)

    def also(self, variable: int, code: int) -> Evidence:
        """The evidence and one more known value."""
        return Evidence({**self.known, variable: code}, self.soft)

    def constant(self, known: Mapping[int, int]) -> float:
        """The log of the likelihoods of values that are known anyway."""
        return float(sum(logs[known[i]] for i, logs in self.soft.items() if i in known))

    def impossible(self, network: Network) -> DataError:
        """The error that says that it cannot be."""
        names = network.names
        parts = [f"{names[i]} = {network.values(names[i])[v]}" for i, v in self.known.items()]
        parts += [f"soft evidence of {names[i]}" for i in self.soft]
        return DataError(
            f"the evidence {', '.join(parts)} has probability 0 in this network. Check it, or estimate tables without "
            "zeros: estimate(data, smoothing=1)."
        )


def _check_mapping(option: str, given: object, what: str) -> None:
    if given is not None and not isinstance(given, Mapping):
        raise DataError(f"{option} is {given!r}; give a mapping from the name of a variable to {what}.")


def _log_likelihoods(network: Network, name: str, given: Sequence[float] | Mapping[Any, float]) -> np.ndarray:
    values = network.values(name)
    if isinstance(given, Mapping):
        given = _in_order(network, name, given)
    try:
        likelihoods = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        raise DataError(f"soft evidence of {name!r} is {given!r}; give a number for each value.") from None
    if likelihoods.shape != (len(values),):
        raise DataError(
            f"soft evidence of {name!r} needs {len(values)} likelihoods, one for each value; "
            f"{likelihoods.size if likelihoods.ndim == 1 else given!r} given."
        )
    wrong = np.flatnonzero(~(np.isfinite(likelihoods) & (likelihoods >= 0)))
    if len(wrong):
        raise DataError(
            f"soft evidence of {name!r}: the likelihood of {values[wrong[0]]!r} is {likelihoods[wrong[0]]}; give a "
            "finite number of at least 0."
        )
    if not likelihoods.any():
        raise DataError(f"soft evidence of {name!r}: all likelihoods are 0. Give a positive one to what can be.")
    with np.errstate(divide="ignore"):
        return np.log(likelihoods)


def _in_order(network: Network, name: str, given: Mapping[Any, float]) -> list[float]:
    by_code = {network.code(name, value): likelihood for value, likelihood in given.items()}
    missing = [value for code, value in enumerate(network.values(name)) if code not in by_code]
    if missing:
        raise DataError(f"soft evidence of {name!r} has no likelihood of {missing[0]!r}. Give one for each value.")
    return [by_code[code] for code in range(len(by_code))]
