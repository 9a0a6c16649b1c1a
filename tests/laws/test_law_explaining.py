"""Explanations add up, and many rows are explained as each of them is alone."""

import numpy as np
import pytest
from hypothesis import given

from profiles import examples, spread
from registry import NAMES, STREAMING, WITH_OPTIONS, make, name_of, precision, small_table
from strategies import tables
from tanager import load
from tanager.errors import DataError

every = spread("name", NAMES)
FEW = examples(8)


def close(a, b, most=1e-9):
    np.testing.assert_allclose(a, b, rtol=most, atol=most)


def adds_up(found):
    with np.errstate(invalid="ignore"):
        total = found.prior + found.contributions.sum(axis=1)
    close(total, found.log_odds)


def are_the_log_odds(found, model, X):
    """Between probabilities; where these vanish, or one class is impossible, there is nothing to compare."""
    proba = model.predict_proba(X)
    codes = {label: c for c, label in enumerate(model.classes_.tolist())}
    for c, label in enumerate(found.classes):
        other = [codes[rival] for rival in found.against[:, c].tolist()]
        ours, theirs = proba[:, codes[label]], proba[np.arange(len(proba)), other]
        seen = (np.minimum(ours, theirs) > 1e-200) & np.isfinite(found.log_odds[:, c])
        np.testing.assert_allclose(found.log_odds[seen, c], np.log(ours[seen] / theirs[seen]), rtol=1e-7, atol=1e-7)


def as_row_by_row(found, model, rows):
    """Every class of every row, one by one."""
    for r, row in enumerate(rows):
        for c, label in enumerate(found.classes):
            rival = found.against[r, c]
            if np.isnan(found.log_odds[r, c]):
                with pytest.raises(DataError, match="both impossible"):
                    model.explain(row, label, rival)
                continue
            alone = model.explain(row, label, rival)
            close(found.log_odds[r, c], alone.log_odds)
            close(found.prior[r, c], alone.prior)
            close(found.contributions[r, :, c], [alone.columns.get(name, 0.0) for name in found.columns])
            close(found.probability[r, c], model.predict_proba([row])[0][model.class_codes[label]])


@every
@FEW
@given(table=tables(weighted=True))
def test_contributions_add_up_and_are_those_of_single_rows(name, table):
    model = make(name, table.n).fit(table.X, table.y, sample_weight=table.w)
    if len(model.classes_) < 2:
        return
    rows = table.dicts(table.queries)
    found = model.explain_rows(rows)
    adds_up(found)
    are_the_log_odds(found, model, rows)
    as_row_by_row(found, model, rows)
    for r, row in enumerate(rows):
        if np.isfinite(found[r].log_odds):
            assert str(found[r]) == str(model.explain(row))


@every
@FEW
@given(table=tables())
def test_what_is_missing_adds_nothing(name, table):
    model = make(name, table.n).fit(table.X, table.y)
    if len(model.classes_) < 2 or getattr(model, "missing", "drop") == "mode":
        return
    rows = table.dicts(table.queries)
    found = model.explain_rows(rows)
    for r, row in enumerate(rows):
        for i, column in enumerate(found.columns):
            if row.get(column) is None:
                assert (found.contributions[r, i] == 0.0).all(), (row, column)


@every
@FEW
@given(table=tables())
def test_a_contrast_is_the_difference_of_two_logs(name, table):
    model = make(name, table.n).fit(table.X, table.y)
    if len(model.classes_) < 2:
        return
    a, *_, b = model.classes_.tolist()
    rows = table.dicts(table.queries)
    rows = rows * 2 if len(rows) == 1 else rows
    ours, theirs = model.explain(rows, contrast=(a, b)), model.explain(rows, contrast=(b, a))
    assert (ours.classes, theirs.classes) == ((a,), (b,))
    close(ours.log_odds, -theirs.log_odds)
    close(ours.contributions, -theirs.contributions)
    joint = model.predict_log_joint(rows)
    with np.errstate(invalid="ignore"):
        close(ours.log_odds[:, 0], joint[:, 0] - joint[:, -1], precision(name))


@spread("model", WITH_OPTIONS, ids=name_of)
def test_with_every_option_contributions_are_those_of_single_rows(model):
    X, y = small_table()
    model.fit(X, y)
    if not hasattr(model, "explain"):
        return
    rows = [dict(zip(model.encoder_.schema.names, row, strict=True)) for row in X[:6].tolist()]
    found = model.explain_rows(rows)
    adds_up(found)
    are_the_log_odds(found, model, rows)
    as_row_by_row(found, model, rows)


@pytest.mark.parametrize("name", ["half-lives", "half-lives-bins", "hoeffding"])
def test_models_of_streams_explain_many_rows(name):
    X, y = small_table()
    model = STREAMING[name]().fit(X, y)
    rows = [dict(zip(model.encoder_.schema.names, row, strict=True)) for row in X[:6].tolist()]
    found = model.explain(rows)
    adds_up(found)
    as_row_by_row(found, model, rows)
    assert [str(own) for own in found] == [str(model.explain(row)) for row in rows]


@pytest.mark.parametrize("name", ["nb", "tan", "aode", "lbr", "nbtree", "forest"])
def test_a_saved_model_explains_as_before(name, tmp_path):
    X, y = small_table()
    model = make(name, 5).fit(X, y)
    before = model.explain(X[:8])
    model.save(tmp_path / "model.tanager")
    after = load(tmp_path / "model.tanager").explain(X[:8])
    np.testing.assert_array_equal(before.contributions, after.contributions)
    assert [str(own) for own in before] == [str(own) for own in after]
