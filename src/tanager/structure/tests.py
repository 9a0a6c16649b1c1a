"""Tests of independence: small values that judge an Information."""

from __future__ import annotations

from dataclasses import dataclass

from tanager.counts.sample import Information


@dataclass(frozen=True)
class Threshold:
    """Independent up to so much information."""

    tau: float = 0.01

    def independent(self, information: Information) -> bool:
        """Whether the two are taken to be independent."""
        return information.value <= self.tau

    def strength(self, information: Information) -> float:
        """The number compared."""
        return information.value

    def text(self, information: Information) -> str:
        """The comparison, as a person reads it."""
        value = abs(information.value)
        shown = f"{value:.4f}" if value == 0 or value >= 0.001 else f"{value:.2g}"
        return f"I = {shown} {'<=' if self.independent(information) else '>'} {self.tau:g}"


Test = Threshold
