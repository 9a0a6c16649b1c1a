"""The figures and the picture of the page on cut points in streams: `python -m docs.pictures.streaming_bins`."""

from __future__ import annotations

from pathlib import Path

from tools.lighter import lighten

from tanager import NaiveBayes, Recut, generate
from tanager.evaluate import prequential

MODELS = {
    "frozen": NaiveBayes(),
    "frozen, decay": NaiveBayes(decay=2000),
    "grid": NaiveBayes(recut="grid"),
    "grid, decay": NaiveBayes(recut="grid", decay=2000),
    "sketch, window": NaiveBayes(recut=Recut("sketch", every=500), window=3000),
}


def main() -> None:
    """Four columns, two classes; halfway all numbers move by ten standard deviations."""
    first = generate.gaussians(means=[[0, 0, 0, 0], [1.0, 0.5, 0, -1.0]])
    second = generate.gaussians(means=[[10, 10, 10, 10], [11.0, 10.5, 10, 9.0]], random_state=1)
    result = prequential(MODELS, generate.drift(first, second, at=20_000), n_rows=40_000, every=500)
    print("rows            " + "".join(f"{name:>16}" for name in MODELS))
    for start, end in ((1000, 20_000), (20_000, 21_000), (21_000, 22_000), (22_000, 40_000)):
        print(f"{start:>6} - {end:<6} ", *(f"{between(result, name, start, end):>15.3f}" for name in MODELS))
    print(*MODELS["grid, decay"].events_, sep="\n")
    path = Path(__file__).parent / "streaming-bins.png"
    result.plot(path, title="All numbers move at row 20,000")
    lighten(path)


def between(result, name: str, start: int, end: int) -> float:
    """The accuracy over some rows of the stream."""
    right = dict(zip(result.rows.tolist(), result.curve(name, over="whole") * result.rows, strict=True))
    return (right[end] - right[start]) / (end - start)


if __name__ == "__main__":
    main()
