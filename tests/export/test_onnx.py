"""Models as ONNX graphs: whatever the classifier, onnxruntime gives the answers that tanager gives."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import datetime, timedelta

import numpy as np
import pytest

pytest.importorskip("onnx", reason="the extra 'onnx' is not installed")
pytest.importorskip("onnxruntime", reason="the extra 'onnx' is not installed")

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st
from sessions import agree, onnx_answers, session_of
from sklearn.base import clone
from sklearn.datasets import load_wine

from profiles import examples
from registry import INSTANCES, STREAMING, WITH_OPTIONS, make, name_of, small_table
from strategies import tables
from tanager import (
    A2DE,
    AODE,
    FANC,
    HNB,
    KDB,
    SPC,
    TAN,
    Column,
    MemoryBudgetError,
    NaiveBayes,
    NBTree,
    NetworkForest,
    OptionError,
    RecursiveBayes,
    Schema,
    load,
    save,
    to_onnx,
)
from tanager.export import tables as export_tables
from tanager.export.onnx import onnx_inputs

pytestmark = pytest.mark.long  # `make test-all` installs what they need

REFUSED = {
    "network-locked": "Fit the network without them",
    "lbr": "Use NBTree or AODE",
    "lbr-eager": "Use NBTree or AODE",
    "lbr-prior": "Use NBTree or AODE",
    "ande-3-rows": "lazy=False",
    "ande-4-rows": "lazy=False",
    "tbmatan": "Use TAN or AODE",
    "tbmatan-soft": "Use TAN or AODE",
    "tan-marginal": "missing=.drop",
    "tan-marginal-smooth": "missing=.drop",
    "fan-bdeu": "missing=.drop",
    "gbn-marginal": "missing=.drop",
    "ban-tests": "missing=.drop",
    "multinet-marginal": "missing=.drop",
    "wrapped-multinet": "missing=.drop",
}
SOMETIMES = ["best-some"]  # where it does not choose the candidate that sums missing values out
EXPORTED = [name for name in INSTANCES if name not in (*REFUSED, *SOMETIMES)]
SUMS_OUT = [model for model in WITH_OPTIONS if model.get_params(deep=False).get("missing") == "marginal"]


def queries(seed: int = 5) -> np.ndarray:
    """Rows like those of ``small_table``, a fifth of the cells missing and some values new."""
    X, _ = small_table(seed=seed)
    rng = np.random.default_rng(seed)
    X[rng.random(X.shape) < 0.2] = None
    X[3, 2], X[4, 1], X[5, 4], X[6, 3] = "teal", 17, "maybe", -1
    X[7] = None
    return X


@pytest.mark.parametrize("name", EXPORTED)
def test_onnxruntime_answers_as_every_classifier_does(name):
    X, y = small_table()
    model = make(name, 5).fit(X, y)
    agree(model, queries(), onnx_answers(model, queries()))


@pytest.mark.parametrize("model", [model for model in WITH_OPTIONS if model not in SUMS_OUT], ids=name_of)
def test_onnxruntime_answers_as_with_every_option(model):
    X, y = small_table()
    model = clone(model).fit(X, y)
    agree(model, queries(), onnx_answers(model, queries()))


@pytest.mark.parametrize("name", EXPORTED)
@examples(8)
@given(table=tables(weighted=True))
def test_random_tables_with_gaps_weights_and_new_values(name, table):
    model = make(name, table.n).fit(table.X, table.y, sample_weight=table.w)
    agree(model, table.Q, onnx_answers(model, table.Q))


@examples(30)
@given(
    table=tables(max_columns=6, max_values=5, weighted=True), smoothing=st.sampled_from([0, 0.5]), k=st.integers(0, 3)
)
def test_a_missing_parent_is_read_from_the_shorter_family(table, smoothing, k):
    model = KDB(k=k, smoothing=smoothing).fit(table.X, table.y, sample_weight=table.w)
    agree(model, table.Q, onnx_answers(model, table.Q))


@pytest.mark.parametrize(("name", "sentence"), REFUSED.items())
def test_models_that_look_at_rows_are_refused_with_the_way_out(name, sentence):
    X, y = small_table()
    with pytest.raises(OptionError, match=sentence):
        to_onnx(make(name, 5).fit(X, y))


@pytest.mark.parametrize("model", SUMS_OUT, ids=name_of)
def test_models_that_sum_missing_values_out_are_refused(model):
    X, y = small_table()
    with pytest.raises(OptionError, match=r"missing=.drop"):
        to_onnx(clone(model).fit(X, y))


@pytest.mark.parametrize("name", STREAMING)
def test_models_that_change_their_shape_are_refused_with_the_way_out(name):
    X, y = small_table()
    with pytest.raises(OptionError, match="could be written down"):
        to_onnx(STREAMING[name]().fit(X, y))


def test_what_cannot_be_exported_is_refused():
    X, y = small_table()
    with pytest.raises(OptionError, match="unseen="):
        to_onnx(NaiveBayes(unseen="error").fit(X, y))
    with pytest.raises(OptionError, match="no classifier of tanager"):
        to_onnx("model")
    with pytest.raises(OptionError, match="is text and others are numbers"):
        to_onnx(NaiveBayes().fit(X, y), inputs="matrix")
    with pytest.raises(OptionError, match="inputs="):
        to_onnx(NaiveBayes().fit(X, y), inputs="rows")


def test_tables_beyond_what_a_file_holds_are_refused_before_they_are_made(monkeypatch):
    X, y = small_table()
    model = A2DE().fit(X, y)
    monkeypatch.setattr(export_tables, "MOST_BYTES", 1000)
    with pytest.raises(MemoryBudgetError, match="AODE in place of A2DE"):
        to_onnx(model)


# --- columns -------------------------------------------------------------------------------------------------------


def frame(n: int = 120, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Text, numbers, whole numbers, booleans, dates, an order and mixed values, with gaps."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    start = datetime(2024, 2, 28, 23, 59, 59)
    table = pd.DataFrame(
        {
            "label": rng.choice(["a", "b c", "ä", ""], n),
            "weight": rng.normal(size=n) + y,
            "rooms": rng.integers(1, 6, n).astype(float),
            "garden": pd.array(rng.random(n) < 0.3 + 0.4 * y, dtype="boolean"),
            "sold": [start + timedelta(hours=float(h)) for h in rng.normal(size=n) * 500 + 400 * y],
            "size": rng.choice(["S", "M", "L", "XL"], n),
            "mixed": np.array([rng.choice([1, 2.5, "x"]) for _ in range(n)], dtype=object),
            "empty": [None] * n,
        }
    )
    for column in table.columns[1:-1]:
        table.loc[rng.random(n) < 0.1, column] = None
    return table, np.where(y == 1, "yes", "no")


@pytest.mark.parametrize("unseen", ["ignore", "smooth"])
@pytest.mark.parametrize("model", [NaiveBayes(), TAN(), AODE(), HNB(), NetworkForest(n_members=5)], ids=name_of)
def test_columns_of_every_kind_go_in_as_they_are(model, unseen):
    X, y = frame()
    model = clone(model).set_params(unseen=unseen, ordinal={"size": ["S", "M", "L", "XL"]}).fit(X, y)
    asked, _ = frame(seed=1)
    asked.loc[:5, "rooms"] = [1.5, 17, -3, np.inf, -np.inf, 0]
    asked.loc[:5, "label"] = "new"
    agree(model, asked, onnx_answers(model, asked))


@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
@pytest.mark.parametrize("unseen", ["ignore", "smooth"])
def test_arrays_of_codes_are_their_own_slots(kind, unseen):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 4, (80, 6)).astype(kind), rng.integers(0, 3, 80)
    model = AODE(unseen=unseen).fit(X, y)
    asked = rng.integers(0, 6, (40, 6)).astype(kind)
    asked[rng.random(asked.shape) < 0.1] = np.iinfo(kind).max
    inputs = np.where(asked == np.iinfo(kind).max, np.nan, asked.astype(float))
    agree(model, asked, session_of(model).run(None, {"X": inputs}))


def test_values_beyond_the_limit_are_other():
    rng = np.random.default_rng(0)
    X = np.array([[f"v{v}"] for v in rng.zipf(1.5, 300) % 50], dtype=object)
    y = rng.integers(0, 2, 300)
    model = NaiveBayes(max_values=8).fit(X, y)
    assert model.encoder_.schema[0].other
    asked = np.array([["v1"], ["v2"], ["never"], [None]], dtype=object)
    agree(model, asked, onnx_answers(model, asked))


def test_a_number_on_a_cut_point_falls_into_the_lower_bin():
    schema = Schema((Column("x", "numeric", cuts=(0.1, 0.30000000000000004)), Column("n", "categorical", (3, 1.5, 2))))
    rows = [[0.1, 3], [0.2, 1.5], [0.4, 2], [0.4, 3]]
    model = NaiveBayes(schema=schema).fit(rows, [0, 0, 1, 1])
    asked = [
        [v, w] for v in (0.1, np.nextafter(0.1, 1), 0.3, 0.1 + 0.2) for w in (3, 1.5, np.nextafter(1.5, 2), 2, 2.5)
    ]
    agree(model, asked, onnx_answers(model, asked))


def test_one_matrix_or_one_input_for_every_column():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
    model = TAN().fit(X, y)
    assert [i.name for i in session_of(model).get_inputs()] == ["X"]
    assert [i.name for i in session_of(model, inputs="columns").get_inputs()] == ["x0", "x1", "x2"]
    for inputs in ("matrix", "columns"):
        agree(model, X, onnx_answers(model, X, inputs=inputs))
    words = TAN().fit([["a", "b"], ["c", "d"]] * 5, [0, 1] * 5)
    agree(words, [["a", "d"], ["e", None]], onnx_answers(words, [["a", "d"], ["e", None]]))


@pytest.mark.parametrize("labels", [[False, True], [3, 7], ["a", "b"], [1, "b"]], ids=str)
def test_labels_keep_their_type(labels):
    y = np.array(labels * 10, dtype=object)
    model = NaiveBayes().fit([["a"], ["b"]] * 10, y)
    label, _ = onnx_answers(model, [["a"], ["b"]])
    assert label.tolist() == (labels if labels != [1, "b"] else ["1", "b"])


# --- what was learned ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{"decay": 0.97}, {"window": 40}, {"refresh": 30, "smoothing": "learned"}], ids=str)
@pytest.mark.parametrize("model", [NaiveBayes(), TAN(), AODE(), KDB()], ids=name_of)
def test_models_that_fade_and_lag_behind(model, options, tmp_path):
    X, y = small_table(300)
    model = clone(model).set_params(warm_up=50, **options)
    for at in range(0, 300, 35):
        model.partial_fit(X[at : at + 35], y[at : at + 35], classes=["low", "mid", "top"])
    agree(model, queries(), onnx_answers(model, queries()))
    save(model, tmp_path / "model.tanager")
    agree(model, queries(), onnx_answers(load(tmp_path / "model.tanager"), queries()))


@pytest.mark.parametrize(
    "model", [NaiveBayes(smoothing=0), AODE(smoothing=0), FANC(), NBTree(min_rows=10)], ids=name_of
)
def test_costs_priors_and_class_weights(model):
    X, y = small_table()
    costs = [[0, 1, 5], [2, 0, 1], [1, 3, 0]]
    model = clone(model).set_params(cost_matrix=costs, priors=[0.2, 0.3, 0.5], class_weight={"low": 2.0, "mid": 0.0})
    model.fit(X, y)
    agree(model, queries(), onnx_answers(model, queries()))


GAUSSIAN = [
    AODE(gaussian=True),
    AODE(gaussian=[0, 3], min_count=5, smoothing=0, unseen="smooth"),
    TAN(gaussian=True, priors=[0.2, 0.3, 0.5]),
    FANC(gaussian=True, class_weight="balanced"),
    SPC(gaussian=True, ddof=1),
    NaiveBayes(gaussian=True, ddof=1),
]


@pytest.mark.parametrize("model", GAUSSIAN, ids=name_of)
def test_numbers_as_densities_near_far_and_missing(model):
    X, y = load_wine(return_X_y=True)
    asked = X[1::2, :7].copy()
    asked[np.random.default_rng(0).random(asked.shape) < 0.2] = np.nan
    asked[0], asked[1, 0], asked[2, 1], asked[3, 0] = np.nan, np.inf, 1e4, -1e4
    model = clone(model).fit(X[::2, :7], y[::2])
    agree(model, asked, onnx_answers(model, asked))


def test_many_columns_neither_underflow_nor_make_the_graph_grow():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    X = (rng.random((200, 900)) < 0.1 + 0.1 * y[:, None]).astype(float)
    model = NaiveBayes().fit(X, y)
    agree(model, X, onnx_answers(model, X))
    assert len(to_onnx(model).graph.node) < 50


@pytest.mark.parametrize("model", [AODE(), FANC(), HNB(), A2DE(), KDB()], ids=name_of)
def test_graphs_do_not_grow_with_columns(model):
    rng = np.random.default_rng(0)
    sizes = set()
    for n in (5, 12):
        X = rng.integers(0, 3, (150, n))
        sizes.add(len(to_onnx(clone(model).fit(X, X[:, 0] > X[:, 1])).graph.node))
    assert len(sizes) == 1


def test_trees_of_naive_bayes_are_read_as_one():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (600, 6))
    y = (X[:, 0] * X[:, 1] + X[:, 2]) % 3
    for model in (NBTree(min_rows=20, min_gain=0), RecursiveBayes(min_rows=20, min_gain=0)):
        model.fit(X, y)
        assert model.part_tree.size > 3
        assert len(to_onnx(model).graph.node) < 70
        agree(model, X, onnx_answers(model, X))


# --- outside of tanager --------------------------------------------------------------------------------------------


def test_a_model_says_what_it_takes():
    X, y = frame()
    model = to_onnx(TAN().fit(X, y))
    about = json.loads({prop.key: prop.value for prop in model.metadata_props}["tanager"])
    assert about["classifier"] == "TAN"
    assert about["classes"] == ["no", "yes"]
    kinds = {column["name"]: (column["type"], column.get("missing")) for column in about["columns"]}
    assert kinds["weight"] == ("number", None)
    assert kinds["size"] == ("text", "")
    assert kinds["label"] == ("text", "?")  # the empty text is a value there
    assert [output.name for output in model.graph.output] == ["label_", "probabilities"]  # a column is called label


def test_answers_do_not_need_tanager(tmp_path):
    import onnx

    X, y = frame()
    model = AODE().fit(X, y)
    onnx.checker.check_model(to_onnx(model), full_check=True)
    (tmp_path / "model.onnx").write_bytes(to_onnx(model).SerializeToString())
    np.savez(
        tmp_path / "rows.npz",
        **{k: v.astype(str) if v.dtype == object else v for k, v in onnx_inputs(model, X).items()},
    )
    code = (
        "import sys; sys.modules['tanager'] = sys.modules['sklearn'] = None\n"
        "import numpy as np, onnxruntime\n"
        "rows = {k: v.astype(object) if v.dtype.kind == 'U' else v for k, v in np.load('rows.npz').items()}\n"
        "label, proba = onnxruntime.InferenceSession('model.onnx').run(None, rows)\n"
        "np.save('proba.npy', proba)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)
    np.testing.assert_allclose(np.load(tmp_path / "proba.npy"), model.predict_proba(X), rtol=0, atol=1e-12)
