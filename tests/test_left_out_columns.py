"""Columns that are left out, and all that a model does with rows afterwards: as if they had never been there."""

import warnings

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tanager import (
    AODE,
    AnytimeAODE,
    DataWarning,
    Encoder,
    HalfLives,
    NaiveBayes,
    SchemaMismatch,
    load,
)
from tanager.cli.main import main
from tanager.persist import from_bytes, to_bytes

LEAVES_OUT = True
pytestmark = pytest.mark.filterwarnings(
    "ignore:.* left out:tanager.errors.DataWarning", "ignore:.* never seen:tanager.errors.DataWarning"
)
N = 60


@st.composite
def tables(draw):
    """A table with an id, row numbers and a constant among useful columns, and the useful ones alone; labels."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    useful = {
        "colour": rng.choice(["red", "green", "blue"], N).tolist(),
        "size": rng.normal(size=N).round(2).tolist(),
        "sold": [str(day) for day in np.datetime64("2024-01-01") + rng.integers(0, 300, N)],
    }
    useless = {"id": [f"k{i}" for i in rng.permutation(N)], "row": list(range(N)), "same": ["x"] * N}
    order = draw(st.permutations([*useful, *useless]))
    both = {**useful, **useless}
    whole = pd.DataFrame({name: both[name] for name in order})
    return whole, whole[[name for name in order if name in useful]], rng.choice(["no", "yes"], N).tolist()


MODELS = {
    "plain": lambda: AODE(),
    "window": lambda: AODE(window=30),
    "decay": lambda: AODE(decay=0.97),
    "anytime": lambda: AnytimeAODE(),
    "calibrated": lambda: NaiveBayes(calibrate=True),
    "gaussian": lambda: NaiveBayes(gaussian=["size"]),
}


def same(model, whole, twin, less):
    assert {gone.name for gone in model.schema_.left_out} == {"id", "row", "same"}
    np.testing.assert_allclose(model.predict_proba(whole), twin.predict_proba(less), rtol=0, atol=1e-12)


@pytest.mark.parametrize("what", MODELS)
@settings(max_examples=5)
@given(table=tables())
def test_what_follows_is_as_if_left_out_columns_had_never_been_there(what, table):
    whole, less, y = table
    model, twin = MODELS[what]().fit(whole[:40], y[:40]), MODELS[what]().fit(less[:40], y[:40])
    same(model, whole, twin, less)
    for r in range(40, 46):
        model.learn_one(whole.iloc[r].to_dict(), y[r])
        twin.learn_one(less.iloc[r].to_dict(), y[r])
    same(model, whole, twin, less)
    model, twin = from_bytes(to_bytes(model)), from_bytes(to_bytes(twin))
    same(model, whole, twin, less)
    model.partial_fit(whole[46:], y[46:])
    twin.partial_fit(less[46:], y[46:])
    same(model, whole, twin, less)


@settings(max_examples=5)
@given(tables())
def test_rows_are_unlearned_with_or_without_what_is_left_out(table):
    whole, less, y = table
    model, twin = AODE().fit(whole, y), AODE().fit(less, y)
    model.unlearn(whole[:10], y[:10])
    twin.unlearn(less[:10], y[:10])
    same(model, whole, twin, less)
    model.unlearn(less[10:20], y[10:20])  # named columns need not be there
    twin.unlearn(less[10:20], y[10:20])
    same(model, whole, twin, less)


@settings(max_examples=2, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(tables())
def test_half_lives_leave_columns_out(table):
    """A table: the same answers. A stream: the same members; weights also know their answers to the first rows."""
    whole, less, y = table
    for learn in ("fit", "partial_fit"):
        parts = [X.drop(columns="same", errors="ignore") for X in (whole, less)]
        model, twin = (getattr(HalfLives(AODE(warm_up=30), (20, np.inf)), learn)(X, y) for X in parts)
        pairs = list(zip(model.members_, twin.members_, strict=True)) + [(model, twin)] * (learn == "fit")
        for one, other in pairs:
            np.testing.assert_allclose(one.predict_proba(parts[0]), other.predict_proba(parts[1]), rtol=0, atol=1e-12)


def test_weights_of_half_lives_hardly_know_what_is_left_out():
    """They learned from 31 answers in which ids were still columns."""
    rng = np.random.default_rng(0)
    y = rng.choice(["no", "yes"], 400)
    less = pd.DataFrame({"a": rng.choice(["u", "v"], 400), "b": np.where(rng.random(400) < 0.8, y, "none")})
    whole = less.assign(id=[f"k{i}" for i in range(400)])
    model, twin = (HalfLives(AODE(warm_up=30)).partial_fit(X, y) for X in (whole, less))
    assert [gone.name for gone in model.members_[0].schema_.left_out] == ["id"]
    np.testing.assert_allclose(model.predict_proba(whole), twin.predict_proba(less), rtol=0, atol=0.02)


# --- neighbours -------------------------------------------------------------------------------------------------------

X = pd.DataFrame(
    {
        "a": [i % 3 for i in range(N)],
        "b": ["u"] * (N // 2) + ["u", "v"] * (N // 4),
        "c": [i * i % 7 / 3 for i in range(N)],
    }
)
Y = ["p", "q"] * (N // 2)


def test_models_that_leave_out_other_columns_are_not_merged_and_the_way_out_works():
    def parts(**options):
        made = (NaiveBayes(bins={"c": [1.0]}, **options) for _ in range(2))
        return [model.fit(X[at], Y[at]) for model, at in zip(made, (slice(0, 30), slice(30, N)), strict=True)]

    for first, second in (parts(), parts()[::-1]):
        with pytest.raises(SchemaMismatch, match=r"'b' is in one of them only. .* learn both with keep=\['b'\]"):
            first.merge(second)
    first, second = parts(keep=["b"])
    whole = NaiveBayes(bins={"c": [1.0]}, keep=["b"]).fit(X, Y)
    np.testing.assert_allclose(first.merge(second).predict_proba(X), whole.predict_proba(X), rtol=0, atol=1e-12)


def test_days_since_other_days_are_not_merged():
    sold = [str(day) for day in np.datetime64("2024-01-01") + np.arange(N)]
    parts = [
        NaiveBayes(dates="since", bins={"sold since": [10]}).fit({"sold": sold[at]}, Y[at])
        for at in (slice(0, 30), slice(30, N))
    ]
    with pytest.raises(SchemaMismatch, match="is 'since 2024-01-01' of dates here and 'since 2024-01-31' there"):
        parts[0].merge(parts[1])


def test_a_fold_learns_what_fit_learns_from_its_rows():
    table = X.assign(rare=["w"] * 3 + ["u"] * (N - 3))  # constant wherever the first rows are left out
    rest = slice(20, N)
    alone = NaiveBayes().fit(table[rest], Y[rest])
    assert [gone.name for gone in alone.schema_.left_out] == ["rare"]
    kept = NaiveBayes(keep="all").fit(table[rest], Y[rest])
    np.testing.assert_allclose(  # a constant tells nothing of the class, so that scores of folds can be compared
        alone.predict_proba(table[3:20]), kept.predict_proba(table[3:20]), rtol=0, atol=1e-12
    )


def test_words_about_columns_point_at_the_line_of_the_caller_through_a_pipeline():
    pipeline = pytest.importorskip("sklearn.pipeline")
    naive = pytest.importorskip("sklearn.naive_bayes")
    for steps in ([Encoder(), naive.CategoricalNB()], [AODE()]):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            pipeline.make_pipeline(*steps).fit(X[:30], Y[:30])
        assert [word.filename for word in told if issubclass(word.category, DataWarning)] == [__file__]


def test_the_columns_that_half_lives_see_are_limited_at_the_command(tmp_path):
    X.assign(**{"class": Y}).to_csv(tmp_path / "x.csv", index=False)
    words = ["fit", tmp_path / "x.csv", "--model", "half-lives", "--set", "max_columns=2", "-o", tmp_path / "m.tanager"]
    done = CliRunner().invoke(main, [str(word) for word in words])
    assert done.exit_code == 0, done.stderr
    model = load(tmp_path / "m.tanager")
    assert model.max_columns == 2
    assert len(model.columns_) == 2
    listed = CliRunner().invoke(main, ["fit", "--model", "half-lives", "--options"]).output
    assert "max_columns" in listed


def test_a_row_to_learn_may_have_what_is_left_out():
    rows = [{"sky": "sun" if i % 3 else "rain", "id": f"id {i}"} for i in range(60)]
    with pytest.warns(DataWarning, match="left out: 'id'"):
        encoder = Encoder().fit(rows, [i % 2 for i in range(60)])
    known = encoder.found_row({"sky": "sun"}, alone=True)
    assert known is not None
    assert encoder.found_row({"sky": "sun", "id": "id 60"}, alone=True) == known
    assert encoder.found_row({"sky": "sun", "id": "id 60", "wind": 1}, alone=True) is None
