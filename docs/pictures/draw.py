"""Draws the pictures of the page on pictures: `TANAGER_DATA=... python docs/pictures/draw.py` (a minute)."""

from __future__ import annotations

from pathlib import Path

from sklearn.datasets import load_wine

from tanager import CBL, GeneralNetwork, GSquared, MultiNet, Network, Wrapped, datasets

HERE = Path(__file__).parent


def main() -> None:
    """All of them."""
    adult, dna = datasets.load("adult"), datasets.load("dna")
    model = Wrapped(GeneralNetwork(learner=CBL(test=GSquared()))).fit(adult.X.drop_columns(["fnlwgt"]), adult.y)
    model.plot(HERE / "adult-w-gbn.png", target="income", title="Adult: nine of 13 columns tell the income")
    model = Wrapped(GeneralNetwork()).fit(dna.X, dna.y)
    model.plot(HERE / "dna-w-gbn.png", target="site", title="DNA: the bases that tell a splice site, of 60")
    X, y = load_wine(return_X_y=True, as_frame=True)
    y = y.map({0: "Barolo", 1: "Grignolino", 2: "Barbera"})
    several = MultiNet(learner=CBL(threshold=0.07)).fit(X, y)
    several.plot(HERE / "wine-multi-net.png", target="wine", title="Wine: what goes together, in each of three wines")
    learned = GeneralNetwork(learner=CBL(threshold=0.15)).fit(X, y)
    learned.plot(
        HERE / "wine-compared.png", target="wine", compare_to=expert(X.columns), title="Wine: what the rows say"
    )


def expert(columns) -> Network:
    """What somebody may have thought beforehand."""
    arcs = [("wine", "color_intensity"), ("wine", "alcohol"), ("wine", "proline"), ("flavanoids", "wine")]
    arcs += [("hue", "color_intensity"), ("flavanoids", "total_phenols"), ("alcohol", "proline")]
    return Network(dict.fromkeys([*columns, "wine"], (0, 1)), arcs)


if __name__ == "__main__":
    main()
