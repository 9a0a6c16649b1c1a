"""What a notebook shows of an explanation: a bar for every column."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tanager.display import Html, bars, element, note, page

if TYPE_CHECKING:
    from tanager.scoring.explain import Explanation

TINY = 5e-5  # log-odds that would be printed as 0


def explanation_html(explanation: Explanation) -> Html:
    """The answer, and what speaks for it (to the right) and against it (to the left), largest effect first."""
    found = explanation
    title = element(
        "span",
        element("b", found.answer),
        f" rather than {found.against}: probability {found.probability:.4f}, log-odds {found.log_odds:+.4f}",
    )
    prior = [("prior", found.prior, f"{found.prior:+.4f}")] if abs(found.prior) >= TINY else []
    columns = [(f"{name} = {found.values[name]}", odds, f"{odds:+.4f}") for name, odds in found.columns.items()]
    path = note(f"where {', then '.join(found.path)}" if found.path else "")
    about = note("Log-odds: those to the right speak for the answer, those to the left against it; they add up.")
    return page(title, path, note(found.rule), bars([*prior, *columns]), about)
