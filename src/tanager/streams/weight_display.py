"""Which half-life speaks now: the weights of HalfLives, as a notebook shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tanager.display import Html, bars, counted, element, escaped, listed, note

ABOUT = {
    "stacking": (
        "The log probabilities of a member count times its weight. Weights need not add up to 1: a smaller sum makes "
        "answers less sure. Below 0, what a member says counts against it."
    ),
    "fixed-share": "The probabilities of a member count times its weight. The weights add up to 1.",
}


def weights_html(weights: Mapping[str, float], mix: str, n_rows: int, columns: Sequence[str] | None) -> Html:
    """Who has the largest weight, a bar for every member, and which columns the model sees if not all."""
    if len(weights) == 1:
        return note("There is one half-life, and it answers alone.")
    name, largest = max(weights.items(), key=lambda member: member[1])
    if largest == min(weights.values()):
        who = escaped("No half-life is believed more than the others yet.")
    else:
        who = Html(escaped("Believed most now: ") + element("b", name) + escaped(f", with a weight of {largest:.2f}."))
    parts = [
        element("div", who, style="margin: 0.6em 0 0.3em 0"),
        bars([(member, weight, f"{weight:.2f}") for member, weight in weights.items()]),
        note(f"Weights after {counted(n_rows, 'row')}. {ABOUT[mix]}"),
    ]
    if columns is not None:
        parts.append(note(f"The model sees {counted(len(columns), 'column')}: {listed(columns)}."))
    return Html("".join(parts))
