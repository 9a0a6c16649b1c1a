"""Pictures of explanations, importance and nomograms show what they are given, however many columns there are."""

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="plots need matplotlib, the extra 'plot'")

from tanager import (
    AODE,
    FAN,
    TAN,
    HoeffdingTree,
    NaiveBayes,
    importance,
    nomogram,
    plot_explanation,
    plot_importance,
    plot_nomogram,
)
from tanager.errors import DataError, OptionError
from tanager.plot.names import shortened


def wide(n_columns, n_classes=2, n_rows=60):
    rng = np.random.default_rng(n_columns)
    y = rng.integers(n_classes, size=n_rows)
    names = [f"a rather long name of a column that nobody can read, number {i}" for i in range(n_columns)]
    X = {name: [f"v{v}" for v in (y + rng.integers(3, size=n_rows)) % 4] for name in names}
    X[names[0]] = (y + rng.normal(size=n_rows)).tolist()
    return X, [f"class {c}" for c in y.tolist()]


def ticks(figure):
    return [label.get_text() for label in figure.axes[0].get_yticklabels()]


def row_of(X, r):
    return {name: cells[r] for name, cells in X.items()}


@pytest.mark.parametrize("n_columns", [1, 3, 30, 300])
def test_the_bars_of_a_row_lead_from_the_prior_to_the_log_odds(n_columns):
    X, y = wide(n_columns)
    told = NaiveBayes().fit(X, y).explain(row_of(X, 0))
    figure = plot_explanation(told)
    bars = [(bar.get_x(), bar.get_width()) for bar in figure.axes[0].patches]
    names = ticks(figure)
    assert len(names) == len(bars) == min(n_columns, 16) + 2
    assert (names[0], names[-1]) == ("prior", "log-odds")
    assert sum(width for _, width in bars[:-1]) == pytest.approx(told.log_odds)
    assert bars[-1] == pytest.approx((0.0, told.log_odds))
    assert all(len(name) <= 38 for name in names)
    assert ("285 others" in names) == (n_columns == 300)


@pytest.mark.parametrize(("n_columns", "n_classes"), [(1, 2), (3, 3), (30, 2), (300, 3)])
def test_many_rows_have_a_strip_for_each_column(n_columns, n_classes, tmp_path):
    X, y = wide(n_columns, n_classes)
    told = AODE().fit(X, y).explain(X) if n_columns < 30 else NaiveBayes().fit(X, y).explain(X)
    figure = plot_explanation(told, tmp_path / "strips.svg", title="Strips")
    shown = list(told.mean_effects())[:15] if n_classes > 2 else None
    names = ticks(figure)
    assert len(names) == min(n_columns, 16)
    if shown:
        assert names[: len(shown)] == [shortened(name) for name in shown]
    strip = figure.axes[0].collections[0].get_offsets()[:, 0]
    assert len(strip) == 60


def test_pictures_are_written_in_every_format_and_are_the_same_every_time(tmp_path):
    X, y = wide(5)
    model = TAN().fit(X, y)
    told, measured = model.explain(X), importance(model, X, y)
    for name, draw in (
        ("row.png", told[0].plot),
        ("rows.svg", told.plot),
        ("importance.pdf", measured.plot),
        ("nomogram.svg", nomogram(model, row_of(X, 0)).plot),
    ):
        files = [tmp_path / f"{time}-{name}" for time in (1, 2)]
        for file in files:
            draw(file)
        assert files[0].read_bytes() == files[1].read_bytes()


def test_what_is_impossible_is_drawn_to_the_edge():
    X, y = [["sun", "no"]] * 2 + [["rain", "yes"]] * 2, ["play", "play", "stay", "stay"]
    model = NaiveBayes(smoothing=0).fit(X, y)
    figure = plot_explanation(model.explain(["sun", "no"]))
    assert [text.get_text() for text in figure.axes[0].texts] == ["+0.00", "+∞", "+∞", "+∞"]
    assert plot_nomogram(model) is not None
    with pytest.raises(DataError, match="smoothing"):
        plot_explanation(model.explain(X))


def test_the_class_of_strips_can_be_chosen():
    X, y = wide(3, 3)
    told = NaiveBayes().fit(X, y).explain(X)
    assert plot_explanation(told, answer="class 1").axes[0].get_xlabel().startswith("log-odds of class 1 against")
    assert (
        "against class 2"
        in plot_explanation(NaiveBayes().fit(X, y).explain(X, contrast=("class 1", "class 2"))).axes[0].get_xlabel()
    )
    with pytest.raises(OptionError, match="Did you mean 'class 1'"):
        plot_explanation(told, answer="class1")
    with pytest.raises(OptionError, match="for many rows"):
        plot_explanation(told[0], answer="class 1")
    with pytest.raises(OptionError, match=r"what model\.explain gives"):
        plot_explanation([1, 2])


def test_rows_that_were_explained_one_by_one_are_drawn_too():
    X, y = wide(3)
    assert plot_explanation(HoeffdingTree(grace=10).fit(X, y).explain(X)) is not None


@pytest.mark.parametrize("n_columns", [1, 3, 30, 300])
@pytest.mark.parametrize("kind", [NaiveBayes, FAN])
def test_a_nomogram_has_an_axis_for_each_column_and_marks_the_row(kind, n_columns):
    X, y = wide(n_columns, n_rows=40)
    model = kind().fit(X, y)
    found = nomogram(model, row_of(X, 0))
    figure = plot_nomogram(model, row=row_of(X, 0))
    texts = [text.get_text() for text in figure.axes[0].texts]
    names = {text.split("\n")[0] for text in texts}
    named = [axis for axis in found.axes if shortened(axis.column) in names]
    assert len(named) == len(found.axes[:15] if n_columns > 16 else found.axes)
    assert any("285 others add" in text for text in texts) == (n_columns == 300)


def test_importance_shows_the_largest_and_counts_the_others():
    X, y = wide(30)
    found = importance(NaiveBayes().fit(X, y), X, y)
    figure = plot_importance(found, title="What matters")
    assert ticks(figure) == [shortened(name) for name in found.columns[:15]]
    assert figure.texts[0].get_text().startswith("15 others: ")
    assert len(ticks(plot_importance(found, top=3))) == 3
    with pytest.raises(OptionError, match="what importance gives"):
        plot_importance(X)


def long_names(n_rows=300):
    """Three columns whose names begin and end alike, with values that do so as well."""
    rng = np.random.default_rng(3)
    start, end = "the answer to question number", "of the very long questionnaire of the year (in thousands)"
    values = np.array([f"value {v}, described in many words so that nobody can misread it" for v in range(4)])
    codes = rng.integers(0, 4, (n_rows, 3))
    X = {f"{start} {i} {end}": values[codes[:, i]] for i in range(3)}
    return X, np.where(codes[:, 0] + codes[:, 1] + rng.integers(0, 3, n_rows) > 4, "yes", "no")


@pytest.mark.parametrize("draw", ["row", "rows", "nomogram"])
def test_long_names_and_values_that_begin_and_end_alike_are_told_apart(draw):
    X, y = long_names()
    model = NaiveBayes().fit(X, y)
    row = {name: values[0] for name, values in X.items()}
    if draw == "nomogram":
        axes = plot_nomogram(model).axes[0]
        texts = [text for text in axes.texts if text.get_fontsize() == 9]
    else:
        axes = plot_explanation(model.explain(row if draw == "row" else X)).axes[0]
        texts = axes.get_yticklabels() or axes.texts
    for i in range(3):
        assert sum(f"{i} of" in text.get_text() for text in texts) == 1


def test_the_first_values_of_a_nomogram_do_not_run_into_the_names_of_columns():
    X, y = long_names()
    figure = plot_nomogram(NaiveBayes().fit(X, y))
    figure.canvas.draw()
    texts = figure.axes[0].texts
    names = [text.get_window_extent() for text in texts if text.get_fontsize() == 9]
    values = [text.get_window_extent() for text in texts if text.get_text().startswith("value ")]
    assert values
    assert max(box.x1 for box in names) <= min(box.x0 for box in values)
