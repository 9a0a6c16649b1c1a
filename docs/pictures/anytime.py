"""The picture of the page on anytime answers: `python -m docs.pictures.anytime`."""

from __future__ import annotations

from pathlib import Path

from sklearn.datasets import load_digits
from tools.lighter import lighten

from tanager import AnytimeAODE, plot_anytime


def main() -> None:
    """Handwritten digits: 900 learned, the others asked about."""
    X, y = load_digits(return_X_y=True)
    orders = ("cv", "mi", "random")
    models = {
        order: AnytimeAODE(member_order=order, stop="all", random_state=0).fit(X[:900], y[:900]) for order in orders
    }
    path = Path(__file__).parent / "anytime-digits.png"
    plot_anytime(models, X[900:], y[900:], path, title="Digits")
    lighten(path)


if __name__ == "__main__":
    main()
