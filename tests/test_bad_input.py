"""What cannot be used gets one sentence: the place, what was found, and the way out."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from profiles import spread
from registry import PLAIN, name_of
from tanager import (
    AODE,
    FAN,
    FANC,
    KDB,
    LBR,
    SPC,
    SPODE,
    TAN,
    TBMATAN,
    TC,
    AnytimeAODE,
    BestOf,
    Collection,
    DataError,
    DataWarning,
    DriftAware,
    EvolvingNaiveBayes,
    HoeffdingTree,
    MemoryBudgetError,
    NaiveBayes,
    NBTree,
    OptionError,
    SchemaMismatch,
    SuperParentTAN,
    persist,
)
from tanager.errors import TanagerError
from tanager.learning.counts_classifier import CountsClassifier

SOME = pytest.mark.parametrize(
    "model", [NaiveBayes(), NaiveBayes(gaussian=True), TAN(), AODE(), KDB(), BestOf([NaiveBayes(), TAN()])], ids=name_of
)
EVERY = spread("model", PLAIN, ids=name_of)

X = [["a", 1.5, "p"], ["b", 2.5, "q"], ["a", 3.5, "p"], ["b", 4.5, "q"]]
TABLE = {"sky": ["a", "b", "a", "b"], "size": [1.5, 2.5, 3.5, 4.5], "wind": ["p", "q", "p", "q"]}
Y = ["u", "v", "u", "v"]


def refused(kind: type[Exception], sentence: str, act: Callable[[], object]) -> None:
    """The act is refused with a message of one line that has all of this."""
    with pytest.raises(kind) as caught:
        act()
    message = str(caught.value)
    assert re.search(sentence, message), message
    assert "\n" not in message
    assert message[0] not in "'\""


# --- tables ------------------------------------------------------------------------------------------------------


@SOME
@pytest.mark.parametrize("learn", ["fit", "partial_fit"])
@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ([], r"0 sample\(s\).*A table needs a row"),
        (np.empty((0, 2)), r"0 sample\(s\).*A table needs a row"),
        (pl.DataFrame({"a": []}), r"0 sample\(s\).*A table needs a row"),
        (pd.DataFrame({"a": []}), r"0 sample\(s\).*A table needs a row"),
        (pd.DataFrame(), r"0 feature\(s\).*A table needs a column"),
        ({}, r"0 feature\(s\).*A table needs a column"),
        (np.empty((4, 0)), r"0 feature\(s\).*A table needs a column"),
        ([[], [], [], []], r"0 feature\(s\).*A table needs a column"),
        (["a", "b", "a", "b"], r"Expected 2D array, got 1D array.*Reshape your data"),
        (np.arange(4.0), r"Expected 2D array, got 1D array.*X.reshape\(-1, 1\)"),
        (np.zeros((4, 2, 2)), "Expected 2D array, got 3D array"),
        (pd.Series([1.5, 2, 3, 4]), r"Expected 2D array, got a pandas Series.*X.to_frame\(\).T if it is one row"),
        (pl.LazyFrame({"a": [1, 2, 3, 4]}), r"X is a LazyFrame, whose rows are not there yet. Pass X.collect\(\)"),
        (pl.Series([1.5, 2, 3, 4]), "Expected 2D array, got a Series of one column.*pass a frame"),
        ("abcd", "Expected 2D array, got a str"),
        (3, "Expected 2D array, got a int"),
        (scipy.sparse.csr_matrix(np.eye(4)), r"X is a sparse matrix.*X.toarray\(\)"),
        (np.ones((4, 1)) * 1j, "Complex data not supported"),
        ([[1, 2], [1], [1, 2], [1, 2]], "row 1 has 1 cells, row 0 has 2"),
        ([[[1], 2]] * 4, r"column 'x0', row 0: \[1\] is a list; a cell must be text or a number"),
        ({"a": [1, 2, 3, 4], "b": [1]}, "column 'b' has 1 rows, column 'a' has 4"),
        ({1: [1, 2, 3, 4]}, "column names must be text, found 1"),
        (
            pd.DataFrame([[1, 2]] * 4, columns=["a", "a"]),
            "column names must be unique: 'a'.*Rename or drop the duplicates",
        ),
    ],
)
def test_tables_that_cannot_be_learned_from(model: CountsClassifier, learn: str, table: Any, sentence: str) -> None:
    refused(DataError, sentence, lambda: getattr(clone(model), learn)(table, Y))


@SOME
def test_tables_with_other_columns_than_were_learned(model: CountsClassifier) -> None:
    named, unnamed = clone(model).fit(TABLE, Y), clone(model).fit(X, Y)
    name = type(model).__name__
    refused(
        SchemaMismatch, f"X has 2 features, but {name} is expecting 3 features", lambda: unnamed.predict([["a", 1]])
    )
    refused(SchemaMismatch, "X has 5 features", lambda: unnamed.predict(np.zeros((2, 5))))
    refused(DataError, "Expected 2D array", lambda: unnamed.predict(["a", 1.5, "p"]))
    refused(
        SchemaMismatch,
        f"X has none of the 3 columns that {name} was fitted on: it has 'siez', expected were.*Rename its columns",
        lambda: named.predict({"siez": [1] * 4}),
    )


@SOME
@pytest.mark.parametrize("frame", [dict, pd.DataFrame, pl.DataFrame])
def test_a_column_that_is_missing_is_told_and_is_a_missing_value(model: CountsClassifier, frame: Any) -> None:
    fitted = clone(model).fit(frame(TABLE), Y)
    less = {key: cells for key, cells in TABLE.items() if key != "size"}
    wanted = fitted.predict_proba(frame(less | {"size": [None] * 4}))
    with (
        pytest.warns(DataWarning, match=r"1 of 3 columns is missing \('size'\): answered without it.*'siez'"),
        pytest.warns(DataWarning, match=r"1 column that .* was not fitted on \('siez'\): ignored."),
    ):
        found = fitted.predict_proba(frame(less | {"siez": [1] * 4}))
    np.testing.assert_array_equal(found, wanted)
    with pytest.warns(DataWarning) as told:
        fitted.partial_fit(frame({"wind": TABLE["wind"], "more": Y}), Y)
    assert len(told) == 2


def test_cells_that_do_not_fit_their_column() -> None:
    model = AODE(unseen="error").fit(TABLE, Y)
    refused(
        DataError,
        "column 'size', row 1: 'big' is not a number, and the column is numeric.*categorical=",
        lambda: model.predict({"sky": ["a", "a"], "size": [1, "big"], "wind": ["p", "p"]}),
    )
    refused(
        DataError,
        "column 'sky', row 0: 'c' was not seen in training .seen: 'a', 'b'.*unseen=",
        lambda: model.predict({"sky": ["c"], "size": [1], "wind": ["p"]}),
    )


@EVERY
def test_infinite_values_are_legal(model: CountsClassifier) -> None:
    table = np.array([[np.inf, 1.0], [-np.inf, 2.0], [3.5, np.inf], [np.nan, -np.inf]] * 5)
    fitted = clone(model).fit(table, Y * 5)
    assert np.isfinite(fitted.predict_proba(table)).all()


@EVERY
def test_one_class_is_learned_and_predicted(model: CountsClassifier) -> None:
    fitted = clone(model).fit(X, ["u"] * 4)
    assert fitted.predict(X).tolist() == ["u"] * 4
    assert fitted.predict_proba(X).tolist() == [[1.0]] * 4


@EVERY
def test_one_row_is_enough(model: CountsClassifier) -> None:
    assert clone(model).fit(X[:1], Y[:1]).predict(X).tolist() == ["u"] * 4


# --- labels and weights ------------------------------------------------------------------------------------------


@SOME
@pytest.mark.parametrize("learn", ["fit", "partial_fit"])
def test_labels_that_cannot_be_learned_from(model: CountsClassifier, learn: str) -> None:
    def act(y: Any) -> Callable[[], object]:
        return lambda: getattr(clone(model), learn)(X, y)

    refused(DataError, "requires y to be passed", act(None))
    refused(DataError, "X has 4 rows, y has 2 labels. Give each row a label", act(["u", "v"]))
    refused(DataError, "y has no label: every entry is missing. At least one row needs a class", act([None] * 4))
    refused(DataError, r"y should be a 1d array, got an array of shape \(4, 2\)", act([["u", "v"]] * 4))
    refused(DataError, "y='u' is text, and y takes the labels of all rows", act("u"))
    refused(DataError, "Unknown label type: continuous.*Cut y into classes", act([0.5, 1.5, 2.5, 0.1]))
    refused(DataError, "Input y contains infinity", act([0, 1, np.inf, 1]))


@SOME
def test_a_refused_chunk_leaves_the_classes_alone(model: CountsClassifier) -> None:
    fitted = clone(model).fit(X, Y)
    refused(DataError, "X has 4 rows, y has 1 labels", lambda: fitted.partial_fit(X, ["new"]))
    assert fitted.classes_.tolist() == ["u", "v"]


@SOME
def test_a_refused_row_is_no_part_of_a_warm_up(model: CountsClassifier) -> None:
    """It once was, and every later answer failed."""
    streaming = clone(model).partial_fit(TABLE, Y)
    refused(DataError, "'sky', row 0: .* is a list", lambda: streaming.partial_fit(TABLE | {"sky": [["a"]] * 4}, Y))
    assert streaming.predict(TABLE).tolist() == Y


@SOME
@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        ([1, -1, 1, 1], r"sample_weight, row 1: -1.0; weights must be finite and not negative"),
        ([1, 1, np.nan, 1], "sample_weight, row 2: nan"),
        ([1, 1, 1, np.inf], "sample_weight, row 3: inf"),
        ([1, 1], r"sample_weight.shape == \(2,\), expected \(4,\)"),
        ([[1], [1], [1], [1]], "Sample weights must be 1D array or scalar"),
        (["a", "b", "c", "d"], "sample_weight contains a value that is not a number"),
    ],
)
def test_weights_that_cannot_be_used(model: CountsClassifier, weights: Any, sentence: str) -> None:
    refused(DataError, sentence, lambda: clone(model).fit(X, Y, sample_weight=weights))
    refused(DataError, sentence, lambda: clone(model).partial_fit(X, Y, sample_weight=weights))


@SOME
def test_a_table_needs_a_row_that_counts(model: CountsClassifier) -> None:
    sentence = "every sample weight is zero; at least one row must count"
    refused(DataError, sentence, lambda: clone(model).fit(X, Y, sample_weight=[0, 0, 0, 0]))
    assert clone(model).partial_fit(X, Y, sample_weight=[0, 0, 0, 0]).classes_.tolist() == sorted(set(Y))


def test_rows_that_were_never_learned_cannot_be_left_out_or_unlearned() -> None:
    model = AODE().fit(TABLE, Y)
    refused(DataError, "y has the label 'w', which was never learned", lambda: model.leave_one_out(TABLE, ["w"] * 4))
    refused(DataError, "X has 4 rows, y has 2 labels", lambda: model.leave_one_out(TABLE, ["u", "v"]))
    refused(DataError, "X has 4 rows, y has 2 labels", lambda: model.unlearn(TABLE, ["u", "v"]))
    refused(DataError, "X has 4 rows, y has 2 labels", lambda: AODE().test_then_train(TABLE, ["u", "v"]))
    refused(DataError, "rows were never added.*nothing was changed", lambda: model.unlearn(TABLE, ["v"] * 4))
    refused(DataError, "learn_one takes a dict", lambda: model.learn_one(["a"], "u"))


@EVERY
@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_log_proba", "predict_log_joint"])
def test_answers_before_anything_was_learned(model: CountsClassifier, method: str) -> None:
    name = type(model).__name__
    refused(
        NotFittedError, f"This {name} instance is not fitted yet. Call 'fit'", lambda: getattr(clone(model), method)(X)
    )
    assert clone(model).predict_one({"sky": "a"}) is None


# --- options -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (AODE(unseen="smoth"), "unseen='smoth' is not an option; choose one of .* Did you mean 'smooth'?"),
        (AODE(bins="freqency"), "bins='freqency' is not an option.*Did you mean 'frequency'?"),
        (AODE(bins={"size": "wdth"}), "bins.*'wdth'.*Did you mean 'width'?"),
        (AODE(bins={"size": [2, 1]}), "must be ascending"),
        (AODE(n_bins=0), "n_bins=0 must be a whole number from 1"),
        (AODE(smoothing="laplace"), "smoothing='laplace' is not an option; give a number"),
        (AODE(smoothing=-1), "must be a finite number of at least 0"),
        (AODE(smoothing=1e-300), "from 1e-100 to 1e.100 where it is not 0"),
        (AODE(smoothing=10**400), "from 1e-100 to 1e.100 where it is not 0"),
        (AODE(smoothing=np.nan), "must be a finite number"),
        (AODE(min_count="a"), "min_count='a': give a number of rows of at least 0"),
        (AODE(min_count=float("nan")), "min_count=nan"),
        (AODE(subsumption="a"), "subsumption='a': give a number of rows"),
        (NaiveBayes(subsumption_gaps="x"), "subsumption_gaps='x' is not an option"),
        (LBR(significance=0), "significance=0: give a level above 0 and at most 1"),
        (LBR(min_errors=-1), "min_errors=-1: give a number of rows of at least 0"),
        (LBR(max_tests=1.5), "max_tests=1.5: give a whole number of values of at least 0, or None"),
        (AODE(warm_up=0), "warm_up=0: give a number of rows of at least 1"),
        (AODE(n_jobs="all"), "n_jobs='all': give a number of threads, -1 for all cores"),
        (AODE(n_jobs=0), "n_jobs=0: give a number of threads"),
        (AODE(max_memory="lots"), "max_memory='lots' is not a size"),
        (AODE(max_memory="0.1.0"), "max_memory='0.1.0' is not a size"),
        (AODE(schema="x"), "schema='x' is a str; give a Schema"),
        (AODE(categorical=["skyy"]), "categorical: X has no column 'skyy'.*Did you mean 'sky'?"),
        (AODE(numeric=[7]), "numeric: X has no column 7"),
        (AODE(ordinal=[["size"]]), r"ordinal=\[\['size'\]\]: give the order of each column"),
        (AODE(numeric=3), "numeric=3: give names or places of columns, as a list"),
        (NaiveBayes(gaussian=["typo"]), "gaussian: X has no column 'typo'"),
        (NaiveBayes(decay=0), "decay=0"),
        (NaiveBayes(decay=float("nan")), "decay=nan"),
        (NaiveBayes(decay="2 q"), "decay='2 q'"),
        (FANC(random_state="x"), "random_state='x': give a whole number from 0"),
        (SPC(random_state=1.5), "random_state=1.5: give a whole number from 0"),
        (AnytimeAODE(random_state=[1]), r"random_state=\[1\]: give a whole number from 0"),
        (NBTree(random_state="x"), "random_state='x': give a whole number"),
        (TBMATAN(ess=float("nan")), "ess=nan: give an equivalent sample size above 0"),
        (TBMATAN(ess=float("inf")), "ess=inf: give an equivalent sample size above 0"),
        (TBMATAN(ess=-1), "ess=-1: give an equivalent sample size above 0"),
        (AODE(categorical=["size"], numeric=["size"]), "column 'size' is requested as both"),
        (AODE(cost_matrix=[[0, 1]]), r"cost_matrix has shape \(1, 2\), expected \(2, 2\).*\['u', 'v'\]"),
        (AODE(cost_matrix=[[0, 1], [1]]), "cost_matrix=.* rows of different lengths"),
        (AODE(cost_matrix=[[0, np.nan], [1, 0]]), "cost_matrix must be finite"),
        (AODE(priors=[0.5, 0.6]), r"priors must be probabilities that sum to 1, got \[0.5, 0.6\]"),
        (AODE(priors=[1.0]), "priors needs one number for each of the 2 classes"),
        (AODE(priors={"u": 0.5, "w": 0.5}), r"priors names 'w', which is none of the classes \['u', 'v'\]"),
        (AODE(priors={"u": 1.0}), "priors says nothing about class 'v'"),
        (AODE(class_weight="balancd"), "class_weight='balancd'.*Did you mean 'balanced'?"),
        (AODE(class_weight={"w": 2}), "class_weight names 'w'"),
        (TAN(criterion="k2"), "criterion='k2' is not an option"),
        (NBTree(folds="weka", leaf=AODE()), 'folds="weka" is for leaves of NaiveBayes'),
        (NBTree(folds=1), 'folds=1: give a whole number of folds of at least 2, or "weka"'),
        (FAN(criterion="bicc"), "criterion='bicc'.*Did you mean 'bic'?"),
        (TAN(missing="marg"), "missing='marg'.*Did you mean 'marginal'?"),
        (TAN(root="skyy"), "root: there is no column 'skyy' among the 3. Did you mean 'sky'?"),
        (TAN(root=9), "root: there is no column 9 among the 3"),
        (SPODE(super_parent="skyy"), "super_parent: there is no column 'skyy'.*Did you mean 'sky'?"),
        (SPODE(super_parent=7), "super_parent: there is no column 7"),
        (SPC(super_parent="skyy"), "super_parent: there is no column 'skyy'.*Did you mean 'sky'?"),
        (SPC(super_parent=7), "super_parent: there is no column 7"),
        (SPC(select="lo"), "select='lo'.*Did you mean 'loo'?"),
        (KDB(k=99), "k=99: give a number of parents from 0 to 6"),
        (KDB(threshold="a"), "threshold='a': give an amount"),
        (FANC(column_order="ig_sm"), "'ig_sm' is not an option.*Did you mean 'ig_sum'?"),
        (FANC(column_order=["sky"]), "must name each of the 3 columns once"),
        (FANC(weights={("skyy", None): 1}), "weights: there is no column 'skyy'.*Did you mean 'sky'?"),
        (FANC(weights={"sky": 1}), r"weights: 'sky' is no arc; give \(child, parent\)"),
        (FANC(weights={("sky", "size"): 1}), "'size' does not come before 'sky'"),
        (FANC(weights={("size", "sky"): -1}), "weights must be finite and not negative"),
        (TC(order_weights=(1, 2)), "order_weights=.*give three numbers"),
        (TC(order_weights="abc"), "order_weights=.*give three numbers"),
        (Collection({"skyy": [[]]}), "parent_sets: there is no column 'skyy'.*Did you mean 'sky'?"),
        (Collection({"sky": [["siez"]]}), "parent_sets: there is no column 'siez'.*Did you mean 'size'?"),
        (Collection({"sky": [None]}), "a set without the class is refused"),
        (Collection({"sky": [["size", "size"]]}), r"parent_sets of 'sky': \['size', 'size'\] names a column twice"),
        (Collection({"sky": [["size"]], "size": [["sky"]]}), "no order of the columns puts parents first"),
        (SuperParentTAN(min_gain=-1), "min_gain=-1: give a gain of at least 0"),
        (BestOf(["x"]), "candidates: 'x' is no classifier of tanager"),
        (BestOf([]), "candidates is empty"),
        (BestOf(AODE()), "candidates=.*is no list"),
        (BestOf([AODE()], criterion="rsme"), "criterion='rsme'.*Did you mean 'rmse'?"),
    ],
    ids=name_of,
)
def test_options_that_mean_nothing_are_refused_when_learning_starts(model: CountsClassifier, sentence: str) -> None:
    refused(OptionError, sentence, lambda: model.fit(TABLE, Y))


@EVERY
def test_counts_beyond_the_budget_are_refused_before_they_are_made(model: CountsClassifier) -> None:
    small = clone(model).set_params(max_memory=50)
    refused(MemoryBudgetError, "needs .* the budget is 50 bytes.*raise max_memory", lambda: small.fit(TABLE, Y))


def test_counts_can_be_read_by_classifiers_that_fit_them() -> None:
    counts = NaiveBayes().fit(TABLE, Y).counts_
    refused(
        SchemaMismatch, "AODE needs joint counts of 2 columns.*order 1. Count again", lambda: AODE.from_counts(counts)
    )
    pairs = AODE().fit(TABLE, Y).counts_
    refused(
        OptionError,
        "AODE has no option 'smothing'. Did you mean 'smoothing'?",
        lambda: AODE.from_counts(pairs, smothing=2),
    )
    refused(DataError, "from_counts takes JointCounts, got dict. Use fit", lambda: AODE.from_counts(TABLE))


def test_all_refusals_are_of_one_family_and_of_the_kind_that_python_expects() -> None:
    assert issubclass(DataError, TanagerError)
    assert issubclass(DataError, ValueError)
    assert issubclass(OptionError, ValueError)
    assert issubclass(MemoryBudgetError, MemoryError)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_codes_that_leave_none_for_missing_are_refused_before_anything_is_learned(dtype: Any) -> None:
    top = np.iinfo(dtype).max
    first, more = np.array([[0], [top]], dtype), np.array([[1], [top - 1]], dtype)
    model = NaiveBayes(warm_up=2).partial_fit(first, [0, 1])
    before = persist.to_bytes(model)
    with pytest.raises(DataError, match=f"column 'x0' has the codes {top - 1} and {top}: all"):
        model.partial_fit(more, [0, 1])
    assert persist.to_bytes(model) == before


def test_absent_names_are_missing_also_where_columns_are_called_x0_and_so_on() -> None:
    rows = [{"x0": "a", "x1": "p", "x2": "u"}, {"x0": "b", "x2": "v"}, {"x1": "q"}]
    model = NaiveBayes(warm_up=3)
    for row in rows * 3:
        model.partial_fit([row], [row.get("x2", "u")])
    named = NaiveBayes(warm_up=3)
    for row in rows * 3:
        named.partial_fit([{f"column {name}": cell for name, cell in row.items()}], [row.get("x2", "u")])
    assert model.counts_.joint("x1").tolist() == named.counts_.joint("column x1").tolist()
    assert model.predict_proba([{"x0": "a"}]).tolist() == named.predict_proba([{"column x0": "a"}]).tolist()


@pytest.mark.parametrize("window", [99999999999999999999, 10**400, 1e300])
def test_a_window_of_more_rows_than_can_be_counted_is_refused(window: Any) -> None:
    with pytest.raises(OptionError, match=r"[wW]indow"):
        NaiveBayes(window=window).fit([["a"], ["b"]], [0, 1])


def test_whole_numbers_beyond_all_floats_are_cells_like_others() -> None:
    model = NaiveBayes(numeric=[0], bins="frequency").fit([[10**400], [1], [2], [-(10**400)]], [0, 0, 1, 1])
    assert np.isfinite(model.predict_proba([[10**400], [1.5]])).all()


@pytest.mark.parametrize(
    "model", [NaiveBayes(), EvolvingNaiveBayes(), HoeffdingTree(), DriftAware(NaiveBayes())], ids=name_of
)
@pytest.mark.parametrize("label", [["u", "v"], ("u", ["v"]), {"u": 1}, pd.Series(["u", "v"])], ids=repr)
def test_a_row_with_a_label_that_cannot_be_looked_up_is_learned_or_refused(model: Any, label: Any) -> None:
    model = clone(model).fit([{"a": "p"}, {"a": "q"}] * 4, ["u", "v"] * 4)
    with contextlib.suppress(DataError):
        model.learn_one({"a": "p"}, label)
    assert np.allclose(model.predict_proba([{"a": "p"}]).sum(), 1.0)


@pytest.mark.parametrize("label", [b"\xff", frozenset(), [1]])
def test_a_row_may_have_a_label_of_any_type(label: Any) -> None:
    model = NaiveBayes().fit([["a"], ["b"]], ["u", "v"])
    for _ in range(2):
        model.learn_one({"x0": "a"}, label)
    assert len(model.classes_) == 3


def test_frames_whose_columns_have_names_of_several_types_are_refused() -> None:
    with pytest.raises(DataError, match=r"names of different types.*astype\(str\)"):
        NaiveBayes().fit(pd.DataFrame({"a": ["p", "q"], 1: ["r", "s"]}), [0, 1])


def test_chunks_of_a_warm_up_with_columns_of_other_types_are_refused() -> None:
    model = NaiveBayes().partial_fit(pl.DataFrame({"a": [0.5, 1.5]}), [0, 1])
    with pytest.raises(DataError, match="columns of other types"):
        model.partial_fit(pl.DataFrame({"a": ["p", "q"]}), [0, 1]).predict_proba(pl.DataFrame({"a": [0.5]}))


def test_labels_that_are_lists_of_several_lengths_are_refused() -> None:
    with pytest.raises(DataError, match="y holds lists"):
        NaiveBayes().fit([["a"], ["b"]], [[1], [1, 2]])


def test_a_budget_that_is_no_size_is_refused() -> None:
    with pytest.raises(OptionError, match=r"max_memory=.* is not a size"):
        NaiveBayes(max_memory=[1]).fit([["a"], ["b"]], [0, 1])


def test_a_pool_without_rows_to_judge_by_answers_with_its_first_candidate() -> None:
    X, y = [["a"], ["b"], ["a"]], [0, 1, 0]
    model = BestOf([NaiveBayes(), KDB()], pool="log").partial_fit(X, y)
    model.count_warm_up()
    assert np.isfinite(model.unlearn(X, y).predict_proba(X)).all()


@pytest.mark.parametrize("model", [NaiveBayes(), AODE(), EvolvingNaiveBayes(), DriftAware(NaiveBayes())], ids=name_of)
@pytest.mark.parametrize("y", [[Y], [[a, a] for a in Y], np.array([Y, Y]).T])
@pytest.mark.parametrize("learn", ["fit", "partial_fit", "test_then_train"])
def test_a_table_of_labels_is_refused(model: Any, y: Any, learn: str) -> None:
    with pytest.raises(DataError):
        getattr(clone(model), learn)(X, y)


@pytest.mark.parametrize("model", [NaiveBayes(window="1 h"), NaiveBayes(decay="1 h"), AODE()], ids=name_of)
@pytest.mark.parametrize("times", [[1.0, None, 2.0, 3.0], [1.0, np.nan, 2.0, 3.0], ["x"] * 4, [1.0]])
@pytest.mark.parametrize("learn", ["fit", "partial_fit", "test_then_train"])
def test_times_with_gaps_are_refused(model: Any, times: Any, learn: str) -> None:
    with pytest.raises(DataError):
        getattr(clone(model), learn)(X, Y, times=times)


@pytest.mark.parametrize("change", ["update", "subtract"])
@pytest.mark.parametrize("weight", [np.nan, np.inf, -1.0, 1e200])
def test_counts_refuse_weights_that_are_none_and_stay_as_they_are(change: str, weight: float) -> None:
    model = NaiveBayes().fit(TABLE, Y)
    counts, before = model.counts_, model.counts_.to_bytes()
    codes = model.encoder_.encode(TABLE, "smooth", "it")
    with pytest.raises(DataError, match="weight"):
        getattr(counts, change)(codes, np.zeros(4, dtype=np.uint16), np.array([1.0, weight, 1.0, 1.0]))
    assert counts.to_bytes() == before


def test_all_values_of_uint16_are_told_another_way_out_than_uint16() -> None:
    codes = np.arange(2**16, dtype=np.uint16)[:, None]
    with pytest.raises(DataError, match=r"all 65,536 values of uint16 are in use.*Give rare values one code") as caught:
        NaiveBayes().fit(codes, np.arange(2**16) % 2)
    assert "astype" not in str(caught.value)


def test_heavy_rows_that_have_left_a_window_leave_answers_that_are_probabilities() -> None:
    """What is left of counts beside weights of 1e100 is rounding; answers are still numbers."""
    rows, labels = [["a", "p"], ["b", "q"], ["a", "q"], ["b", "p"], ["c", "p"], ["a", "q"]], [*"uvwuvw"]
    weights = [1e100, 2.5, 1e100, 2.5, 1e-300, 2.5]
    for model in (NaiveBayes, TAN, AODE, KDB, FANC):
        for smoothing in (0, 1e-100, 1.0, 1e100):
            proba = model(smoothing=smoothing, window=2).fit(rows, labels, sample_weight=weights).predict_proba(rows)
            assert np.allclose(proba.sum(axis=1), 1.0)


def test_the_name_of_a_column_is_no_labels():
    with pytest.raises(DataError, match=r"y='class' is text, and y takes the labels of all rows.*table.pop\('class'\)"):
        AODE().fit({"a": ["u", "v"], "class": [0, 1]}, "class")


def test_a_list_is_no_row_of_a_stream():
    """It was an AttributeError of Python."""
    model = AODE().fit([["u"], ["v"]], [0, 1])
    with pytest.raises(DataError, match="predict_proba_one takes a dict of column names and values, got list"):
        model.predict_proba_one(["u"])
