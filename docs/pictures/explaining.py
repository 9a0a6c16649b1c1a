"""Draws the pictures of the page on explanations: `python docs/pictures/explaining.py` (seconds)."""

from __future__ import annotations

from pathlib import Path

from sklearn.datasets import load_wine

from tanager import TAN, importance, plot_explanation, plot_importance, plot_nomogram

HERE = Path(__file__).parent


def main() -> None:
    """All of them."""
    X, y = load_wine(return_X_y=True, as_frame=True)
    y = y.map({0: "Barolo", 1: "Grignolino", 2: "Barbera"})
    model = TAN().fit(X, y)
    wine = X.loc[90]
    plot_explanation(model.explain(wine), HERE / "explained-row.png", title="Why this wine is a Grignolino")
    found = model.explain(X, contrast=("Barolo", "Grignolino"))
    plot_explanation(found, HERE / "explained-rows.png", title="Barolo or Grignolino? All 178 wines")
    pair = {"answer": "Barolo", "against": "Grignolino"}
    plot_nomogram(model, HERE / "nomogram.png", row=wine.to_dict(), **pair, title="A tree for wines, as a nomogram")
    plot_importance(importance(model, X, y), HERE / "importance.png", title="What the answers rest on")


if __name__ == "__main__":
    main()
