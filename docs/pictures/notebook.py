"""Pictures of what notebooks show: `python docs/pictures/notebook.py` writes notebook-*.png beside this file.

Makes a notebook, runs it, turns it into a page (light and dark) and takes pictures of some of its cells. Needs Debian's
chromium, the extra `browser`, and nbconvert with ipykernel from PyPI. `--all FOLDER` keeps the notebook, both pages and
a picture of every cell in a folder, to look at.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbconvert import HTMLExporter
from nbconvert.preprocessors import ExecutePreprocessor
from PIL import Image
from playwright.sync_api import sync_playwright

HERE = Path(__file__).parent
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync", "--no-first-run"]
KEPT = {"model": "light", "explanation": "dark", "network": "light"}  # pictures of the page on notebooks
CELLS = {
    "start": """
from sklearn.datasets import load_wine
from tanager import AODE, BestOf, DecisionNetwork, Encoder, KDB, NaiveBayes, Network, NBTree, TAN
from tanager.evaluate import cross_validate, prequential

X, y = load_wine(return_X_y=True, as_frame=True)
y = y.map({0: "Barolo", 1: "Grignolino", 2: "Barbera"}).rename("wine")
""",
    "unfitted": "TAN(smoothing=2, n_jobs=-1)",
    "model": "model = TAN().fit(X, y)\nmodel",
    "average": "AODE().fit(X, y)",
    "rows-kept": "KDB().fit(X, y)",
    "best": "BestOf().fit(X, y)",
    "tree": "NBTree().fit(X, y)",
    "probabilities": "model.probabilities(X.tail(3))",
    "labelled": "model.probabilities(X.tail(3).to_dict('records'))",
    "explanation": "model.explain(X.loc[[73]])",
    "network": """
garden = Network(
    {"season": ("dry", "wet"), "rain": ("no", "yes"), "sprinkler": ("off", "on"), "grass": ("dry", "wet")},
    [("season", "rain"), ("season", "sprinkler"), ("rain", "grass"), ("sprinkler", "grass")],
    {
        "season": [0.6, 0.4],
        "rain": [[0.8, 0.2], [0.25, 0.75]],
        "sprinkler": [[0.4, 0.6], [0.9, 0.1]],
        "grass": [[[1.0, 0.0], [0.2, 0.8]], [[0.1, 0.9], [0.05, 0.95]]],
    },
)
garden
""",
    "cpt": "garden.cpt('grass')",
    "posterior": "garden.probabilities(['rain', 'sprinkler'], {'grass': 'wet'})",
    "counts": "model.counts_",
    "schema": "model.encoder_.schema",
    "encoder": "Encoder(bins='width', n_bins=4).fit(X)",
    "results": "cross_validate({'TAN': TAN(), 'AODE': AODE(), 'naive Bayes': NaiveBayes()}, X, y)",
    "stream": """
order = X.sample(frac=1, random_state=0).index
prequential({'AODE': AODE(), 'naive Bayes': NaiveBayes()}, X.loc[order], y.loc[order], window=50)
""",
    "decisions": """
DecisionNetwork(
    {"oil": ("dry", "wet", "soaking"), "seismic": ("none", "open", "closed")},
    {"test": ("no", "yes"), "drill": ("no", "yes")},
    ["cost", "profit"],
    [("oil", "seismic"), ("test", "seismic"), ("seismic", "drill"), ("test", "drill")]
    + [("test", "cost"), ("oil", "profit"), ("drill", "profit")],
    {"oil": [0.5, 0.3, 0.2], "cost": [0, -10], "profit": [[0, -70], [0, 50], [0, 200]]},
)
""",
}


def notebook() -> Any:
    """The notebook, run."""
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code.strip()) for code in CELLS.values()])
    ExecutePreprocessor(timeout=120).preprocess(made, {"metadata": {"path": str(HERE)}})
    return made


def page_of(made: Any, theme: str) -> str:
    """The notebook as a page."""
    exporter = HTMLExporter(template_name="lab", theme=theme)
    return str(exporter.from_notebook_node(made)[0])


def take(folder: Path, made: Any) -> None:
    """Both pages of a notebook and a picture of every cell, in a folder."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=ARGUMENTS)
        for theme in ("light", "dark"):
            path = folder / f"{theme}.html"
            path.write_text(page_of(made, theme))
            tab = browser.new_page(viewport={"width": 1000, "height": 800})
            tab.goto(path.as_uri())
            for name, cell in zip(CELLS, tab.locator(".jp-Cell").all(), strict=True):
                cell.screenshot(path=folder / f"{name}-{theme}.png")
        browser.close()


def main() -> None:
    """Pictures of some cells here, or of all cells elsewhere."""
    made = notebook()
    if len(sys.argv) > 2 and sys.argv[1] == "--all":
        folder = Path(sys.argv[2])
        folder.mkdir(parents=True, exist_ok=True)
        nbformat.write(made, folder / "all.ipynb")
        take(folder, made)
        return
    with tempfile.TemporaryDirectory() as place:
        take(Path(place), made)
        for name, theme in KEPT.items():
            picture = Image.open(Path(place) / f"{name}-{theme}.png").convert("RGB")
            picture.quantize(256).save(HERE / f"notebook-{name}.png", optimize=True)


if __name__ == "__main__":
    main()
