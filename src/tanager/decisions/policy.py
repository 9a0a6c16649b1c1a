"""Policy and Solution: what to choose for each combination of what is known, with labels and in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tanager.decisions.display import solution_html
from tanager.decisions.rules import rule_lines
from tanager.errors import DataError, nearest
from tanager.networks.values import values_to_plain


@dataclass(frozen=True, eq=False)
class Policy:
    """What to choose in one decision, for each combination of what is known and matters.

    Attributes
    ----------
    decision : str
    options : tuple
        Its options.
    known : dict from name to values
        What the choice depends on.
    choices : array
        The index of the option to choose: one axis for each name of ``known``; -1 where a combination is impossible.
    gains : array
        The expected utility of each option, along the last axis, if it is chosen and all else follows the policies;
        NaN where a combination is impossible.
    probabilities : array
        How probable each combination is if the policies are followed.
    irrelevant : tuple of str
        What is known as well, but cannot make a difference.
    """

    decision: str
    options: tuple[object, ...]
    known: dict[str, tuple[object, ...]]
    choices: np.ndarray
    gains: np.ndarray
    probabilities: np.ndarray
    irrelevant: tuple[str, ...] = ()

    def choose(self, known: Mapping[str, object] | None = None) -> object:
        """The option to choose, given what is known; names that do not matter may be given or not."""
        at = tuple(self._code(name, known or {}) for name in self.known)
        choice = int(self.choices[at])
        if choice < 0:
            listed = ", ".join(
                f"{name} = {values[v]}" for (name, values), v in zip(self.known.items(), at, strict=True)
            )
            raise DataError(f"the combination {listed} is impossible in this diagram, so there is nothing to choose.")
        return self.options[choice]

    def _code(self, name: str, given: Mapping[str, object]) -> int:
        if name not in given:
            raise DataError(f"the choice of {self.decision!r} depends on {name!r}. Give its value.")
        texts = [str(value) for value in self.known[name]]
        if str(given[name]) not in texts:
            raise DataError(f"{name!r} has no value {given[name]!r}.{nearest(given[name], texts)}")
        return texts.index(str(given[name]))

    @property
    def margins(self) -> np.ndarray:
        """By how much the best option is better than the next; infinite where there is one option alone."""
        if len(self.options) == 1:
            return np.where(self.choices < 0, np.nan, np.inf)
        ordered = np.sort(self.gains, axis=-1)
        return np.asarray(np.maximum(ordered[..., -1] - ordered[..., -2], 0.0))

    def table(self) -> list[dict[str, Any]]:
        """One row for each possible combination of what is known: its values, ``choose``, ``expected_utility``,
        ``margin`` to the next option, ``probability`` of the combination, and the ``gains`` of all options."""
        margins = self.margins
        rows = []
        for at in np.ndindex(*self.choices.shape):
            choice = int(self.choices[at])
            if choice < 0:
                continue
            rows.append(
                {
                    "known": {name: values[v] for (name, values), v in zip(self.known.items(), at, strict=True)},
                    "choose": self.options[choice],
                    "expected_utility": float(self.gains[(*at, choice)]),
                    "margin": float(margins[at]),
                    "probability": float(self.probabilities[at]),
                    "gains": dict(zip(self.options, self.gains[at].tolist(), strict=True)),
                }
            )
        return rows

    def rules(self, *, reached: bool = False) -> str:
        """The policy in words, one line per rule: ``if test = positive and age = old: treat``.

        Rules are merged where they choose the same. With ``reached``, combinations that the policies of earlier
        decisions never lead to are left out, which makes rules shorter.
        """
        choices = np.where(self.probabilities > 0, self.choices, -1) if reached else self.choices
        return "\n".join(rule_lines(self.known, self.options, choices))

    def probabilities_of_options(self) -> np.ndarray:
        """The policy as a table P(option | known): 1 for what is chosen; all options alike where nothing is."""
        return one_hot(self.choices, len(self.options))

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; numbers of impossible combinations are null."""
        return {
            "decision": self.decision,
            "options": values_to_plain(self.options),
            "known": [{"name": name, "values": values_to_plain(values)} for name, values in self.known.items()],
            "irrelevant": list(self.irrelevant),
            "choices": self.choices.tolist(),
            "gains": _with_nulls(self.gains.tolist()),
            "probabilities": self.probabilities.tolist(),
            "rules": self.rules().splitlines(),
        }

    def __str__(self) -> str:
        return self.rules()


@dataclass(frozen=True, eq=False)
class Solution(Mapping[str, Policy]):
    """The best policies of a diagram, one for each decision in the order in which they are made.

    Attributes
    ----------
    expected_utility : float
        That of following the policies.
    policies : dict from decision to Policy
        ``solution["drill"]`` is the same as ``solution.policies["drill"]``.
    certain : bool
        Whether no other policies have a larger expected utility. With limited memory it may be that only no change of a
        single policy improves it.
    rounds : int
        How often all policies were updated.
    evidence : dict
        What was known before all decisions.
    """

    expected_utility: float
    policies: dict[str, Policy]
    certain: bool = True
    rounds: int = 1
    evidence: dict[str, object] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Policy:
        return self.policies[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.policies)

    def __len__(self) -> int:
        return len(self.policies)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "expected_utility": self.expected_utility,
            "certain": self.certain,
            "rounds": self.rounds,
            "evidence": {name: values_to_plain([value])[0] for name, value in self.evidence.items()},
            "policies": [policy.to_dict() for policy in self.policies.values()],
        }

    def __str__(self) -> str:
        sure = "" if self.certain else " (no single policy can be improved; others may be better together)"
        lines = [f"expected utility {self.expected_utility:.6g}{sure}"]
        for name, policy in self.policies.items():
            lines += [f"{name}:", *(f"  {line}" for line in policy.rules().splitlines())]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return solution_html(self)

    def __repr__(self) -> str:
        return f"<Solution with expected utility {self.expected_utility:.6g} for {', '.join(self.policies)}>"


def one_hot(choices: np.ndarray, n_options: int) -> np.ndarray:
    """Choices as probabilities of options, along the last axis; all options alike where nothing is chosen."""
    return np.where((choices < 0)[..., None], 1.0 / n_options, choices[..., None] == np.arange(n_options))


def _with_nulls(cells: Any) -> Any:
    """Nested lists of numbers, with None for NaN."""
    if isinstance(cells, list):
        return [_with_nulls(cell) for cell in cells]
    return None if cells != cells else cells
