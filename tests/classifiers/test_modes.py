"""missing="mode": the same as filling the table with the most frequent values beforehand."""

import numpy as np
import pytest
from hypothesis import given

from profiles import examples
from strategies import tables
from tanager import A2DE, AODE, FAN, TAN, OptionError, SchemaMismatch


def filled(rows, modes):
    return [[modes[i] if cell is None else cell for i, cell in enumerate(row)] for row in rows]


def modes_of(X):
    """The most frequent value of each column, of equals the one that came first; None for an empty column."""
    modes = []
    for column in zip(*X, strict=True):
        values = [cell for cell in column if cell is not None]
        modes.append(max(dict.fromkeys(values), key=values.count) if values else None)
    return modes


@pytest.mark.parametrize("model", [TAN(missing="mode"), FAN(criterion="aic", missing="mode")], ids=repr)
@examples(30)
@given(table=tables(min_rows=2, max_rows=20))
def test_gaps_are_answered_and_learned_as_the_most_frequent_value(model, table):
    modes = modes_of(table.X)
    plain = type(model)(**model.get_params() | {"missing": "drop"}).fit(filled(table.X, modes), table.y)
    model.fit(table.X, table.y)
    assert model.parents_ == plain.parents_
    np.testing.assert_allclose(
        model.predict_proba(table.Q), plain.predict_proba(filled(unseen_as_missing(table), modes)), atol=1e-12
    )
    np.testing.assert_allclose(
        model.leave_one_out(table.X, table.y), plain.leave_one_out(filled(table.X, modes), table.y), atol=1e-12
    )


def unseen_as_missing(table):
    seen = table.seen()
    return [[cell if cell in seen[i] else None for i, cell in enumerate(row)] for row in table.Q]


def test_the_network_has_the_tables_of_the_filled_rows():
    X = [["a", "p"], ["a", None], [None, "q"], ["b", "q"], ["a", "q"], ["b", "p"]] * 3
    y = [0, 0, 1, 1, 0, 1] * 3
    model = TAN(missing="mode").fit(X, y)
    plain = TAN().fit(filled(X, modes_of(X)), y)
    assert model.network_.tables.keys() == plain.network_.tables.keys()
    for name, cells in plain.network_.tables.items():
        np.testing.assert_allclose(model.network_.tables[name], cells)


def test_it_is_refused_where_nothing_is_filled():
    with pytest.raises(OptionError, match="fit_by"):
        TAN(missing="mode", fit_by="elr").fit([["a"], ["b"]], [0, 1])
    with pytest.raises(SchemaMismatch, match="pairs alone"):
        A2DE().fit([["a", "b", "c"]] * 2, [0, 1]).counts_.with_modes()
    filled_counts, modes = AODE().fit([["a", None], [None, None]], [0, 1]).counts_.with_modes()
    assert modes.tolist() == [0, -1]
    assert filled_counts.joint("x0").tolist() == [[1.0], [1.0]]
