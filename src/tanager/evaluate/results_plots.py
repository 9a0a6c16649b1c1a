"""The pictures of ``Results.plot``: what is drawn, read from the records. The drawing itself is in ``tanager.plot``."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import TYPE_CHECKING, Any

from tanager.errors import OptionError
from tanager.evaluate.across_datasets import common_losses
from tanager.evaluate.aggregate import HIGHER, bins_of, mean_of, ratio_of, values_of
from tanager.evaluate.significance import average_ranks, corrected_margin, nemenyi

if TYPE_CHECKING:
    from tanager.evaluate.results import Results

Path = str | PathLike[str] | None


def plot_comparison(results: Results, path: Path, measure: str, title: str | None) -> Any:
    """Accuracy and log loss with 95 % intervals, on one data set."""
    from tanager.plot import plot_comparison as draw

    dataset = results.one_dataset(None)
    rows = []
    for name in results.best_first(dataset, "accuracy"):
        folds = results.folds(dataset, name)
        row = {key: mean_of(folds, key) for key in ("accuracy", "log_loss")}
        margin, log_loss_margin = (
            corrected_margin(values_of(folds, key), ratio_of(folds)) if len(folds) > 1 else None for key in row
        )
        rows.append({"name": name, **row, "margin": margin, "log_loss_margin": log_loss_margin})
    return draw(rows, path, title=dataset if title is None else title)


def plot_ranks(results: Results, path: Path, measure: str, title: str | None) -> Any:
    """The critical-difference diagram."""
    from tanager.plot import plot_ranks as draw

    common = common_losses(results, measure)
    n = len(common.datasets)
    mean_ranks = dict(zip(results.classifiers, average_ranks(common.losses).tolist(), strict=True))
    heading = f"Mean ranks by {measure} over {n} data sets" if title is None else title
    return draw(mean_ranks, nemenyi(len(mean_ranks), n), path, title=heading)


def plot_scatter(results: Results, path: Path, measure: str, title: str | None) -> Any:
    """Two classifiers, a point per data set."""
    from tanager.plot import plot_scatter as draw

    if len(results.classifiers) != 2:
        raise OptionError(
            f"a scatter plot compares two classifiers, and there are {len(results.classifiers)}: "
            f"{', '.join(results.classifiers)}. Use select(classifiers=[...]) first."
        )
    common = common_losses(results, measure)
    x, y = (dict(zip(common.datasets, column, strict=True)) for column in common.losses.T.tolist())
    label = f"1 - {measure}" if measure in HIGHER else measure
    a, b = results.classifiers
    return draw(x, y, path, names=(a, b), measure=label, title=title)


def plot_reliability(results: Results, path: Path, measure: str, title: str | None) -> Any:
    """Accuracy against confidence, over all data sets together."""
    from tanager.plot import plot_reliability as draw

    results.check_measure("calibration_error")
    curves = {
        name: bins_of([r for r in results.records if r["classifier"] == name and r.get("reliability")])
        for name in results.classifiers
    }
    return draw(curves, path, title=title)


PLOTS: dict[str, Callable[[Results, Path, str, str | None], Any]] = {
    "comparison": plot_comparison,
    "scatter": plot_scatter,
    "ranks": plot_ranks,
    "reliability": plot_reliability,
}
