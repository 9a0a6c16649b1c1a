"""Models as SQL queries: databases give the answers that tanager gives."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sessions import agree, rows_of, sqlite_answers
from sklearn.base import clone

from profiles import examples, later
from registry import INSTANCES, make, name_of, small_table
from strategies import tables
from tanager import AODE, FAN, FANC, KDB, LBR, TAN, ChowLiuMultiNet, NaiveBayes, OptionError, to_sql

SINGLE = [
    *("nb", "nb-ml", "nb-prior", "nb-smooth", "nb-balanced", "nb-calibrated", "tan", "tan-calibrated", "tan-root"),
    *("tan-mode", "tan-ml", "fan", "fan-g2", "sptan", "selective-nb", "selective-nb-best", "selective-tan", "bsej"),
    *(
        "bsej-m",
        "fssj",
        "semi-naive",
        "semi-naive-smooth",
        "adjusted",
        "ande-0",
        "kdb",
        "kdb-1",
        "kdb-3",
        "kdb-learned",
    ),
    *("selective", "gbn", "gbn-climb", "gbn-pdag", "ban", "ban-cll", "multinet", "multinet-blanket", "network", "clmn"),
]
QUICK = ["nb-ml", "tan", "kdb-3", "clmn"]


def queries(seed: int = 5) -> np.ndarray:
    X, _ = small_table(seed=seed)
    rng = np.random.default_rng(seed)
    X[rng.random(X.shape) < 0.2] = None
    X[3, 2], X[4, 1], X[5, 4], X[6, 3] = "te'al", 17, "maybe", -1
    X[7] = None
    return X


@pytest.mark.parametrize("name", [*QUICK, *later(*(name for name in SINGLE if name not in QUICK))])
def test_sqlite_answers_as_single_networks_do(name):
    X, y = small_table()
    model = make(name, 5).fit(X, y)
    agree(model, queries(), sqlite_answers(model, queries()))


@pytest.mark.parametrize("name", [*QUICK, *later(*(name for name in SINGLE if name not in QUICK))])
@examples(8)
@given(table=tables(weighted=True))
def test_random_tables_with_gaps_weights_and_new_values(name, table):
    model = make(name, table.n).fit(table.X, table.y, sample_weight=table.w)
    agree(model, table.Q, sqlite_answers(model, table.Q))


def test_gaussian_columns_costs_priors_and_class_weights():
    X, y = small_table()
    far = queries()
    far[8:12, 0] = [1e6, -1e300, 1e-300, 40.0]
    options = {"cost_matrix": [[0, 1, 5], [2, 0, 1], [1, 3, 0]], "class_weight": {"low": 2.0, "mid": 0.5}}
    for model in (NaiveBayes(gaussian=True), NaiveBayes(), TAN(missing="mode", priors=[0.2, 0.3, 0.5])):
        model.set_params(**options).fit(X, y)
        agree(model, far, sqlite_answers(model, far))


def test_parameters_by_conditional_likelihood():
    X, y = small_table()
    for model in (NaiveBayes(fit_by="conditional_likelihood"), TAN(fit_by="weights")):
        agree(model.fit(X, y), queries(), sqlite_answers(model, queries()))


@pytest.mark.parametrize("name", later(*(name for name in INSTANCES if name not in SINGLE)))
def test_all_others_are_refused_or_are_single_networks_after_all(name):
    X, y = small_table()
    model = make(name, 5).fit(X, y)
    try:
        answers = sqlite_answers(model, queries())
    except OptionError:
        pytest.skip("is no single network")
    agree(model, queries(), answers)


def test_what_cannot_be_a_query_is_refused_with_the_way_out():
    X, y = small_table()
    for model in (AODE(), FANC()):
        with pytest.raises(OptionError, match=r"no single network.*to_onnx"):
            to_sql(model.fit(X, y))
    with pytest.raises(OptionError, match="Use NBTree or AODE"):
        to_sql(LBR().fit(X, y))
    with pytest.raises(OptionError, match="dialect"):
        to_sql(NaiveBayes().fit(X, y), dialect="oracle")


def test_names_are_quoted_and_a_key_comes_along():
    columns = {'we"ird': ["a", "b", "a", "b"], "_s0": [1.5, 2.5, 3.5, 4.5], "prediction": ["x", "x", "y", "y"]}
    model = TAN(bins="width", n_bins=2).fit(columns, ["it's", "o", "it's", "o"])
    with sqlite3.connect(":memory:") as database:
        database.execute('CREATE TABLE "my rows" (id, "we""ird", _s0, prediction)')
        database.execute("""INSERT INTO "my rows" VALUES (7, 'a', 1.0, 'x')""")
        cursor = database.execute(to_sql(model, table="my rows", keep=["id", "prediction"]))
        names, (row,) = [part[0] for part in cursor.description], cursor.fetchall()
    database.close()
    assert names == ["id", "prediction", "prediction_", "p_it's", "p_o"]
    assert row[:3] == (7, "x", "it's")


def test_many_columns_and_many_classes_do_not_go_too_deep():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (300, 1200)).astype(object), rng.integers(0, 150, 300)
    model = NaiveBayes().fit(X[:, :1000], np.zeros(300))
    agree(model, X[:5, :1000], sqlite_answers(model, X[:5, :1000]))
    model = NaiveBayes().fit(X[:, :3], y)
    agree(model, X[:20, :3], sqlite_answers(model, X[:20, :3]))


def dated(n: int = 60) -> tuple[dict[str, list[datetime | None]], list[str]]:
    rng = np.random.default_rng(0)
    days = [datetime(2024, 1, 1) + timedelta(hours=int(h)) for h in rng.integers(0, 2000, n)]
    y = ["early" if (day.month == 1) ^ (rng.random() < 0.1) else "late" for day in days]
    return {"day": [*days[:-1], None]}, y


def test_dates_are_read_in_sqlite():
    X, y = dated()
    model = NaiveBayes().fit(X, y)
    assert model.encoder_.schema[0].cuts
    with sqlite3.connect(":memory:") as database:
        database.execute("CREATE TABLE rows (day TEXT)")
        database.executemany(
            "INSERT INTO rows VALUES (?)", [(None if d is None else d.isoformat(" "),) for d in X["day"]]
        )
        found = database.execute(to_sql(model, keep=[])).fetchall()
    database.close()
    agree(model, X, (np.array([row[0] for row in found]), np.array([row[1:] for row in found])))


# --- DuckDB --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def duckdb():
    return pytest.importorskip("duckdb", reason="the extra 'duckdb' is not installed")


def duck_answers(duckdb, model, X, types):
    """Labels and probabilities in DuckDB, from columns of these types."""
    names = [column.name for column in model.encoder_.schema.columns]
    with duckdb.connect() as database:
        database.execute(f"CREATE TABLE rows ({', '.join(f'{n} {t}' for n, t in zip(names, types, strict=True))})")
        database.executemany(f"INSERT INTO rows VALUES ({', '.join('?' * len(names))})", rows_of(X))
        found = database.execute(to_sql(model, dialect="duckdb", keep=[])).fetchall()
    return np.array([row[0] for row in found]), np.array([row[1:] for row in found], dtype=float)


@pytest.mark.long
@pytest.mark.parametrize("name", SINGLE)
def test_duckdb_answers_as_single_networks_do(duckdb, name):
    X, y = small_table()
    model = make(name, 5).fit(X, y)
    agree(model, queries(), duck_answers(duckdb, model, queries(), ["DOUBLE", "INTEGER", "TEXT", "DOUBLE", "TEXT"]))


@pytest.mark.long
@pytest.mark.parametrize(
    "model", [NaiveBayes(gaussian=True), NaiveBayes(smoothing=0), FAN(), KDB(), ChowLiuMultiNet()], ids=name_of
)
def test_duckdb_reads_booleans_dates_and_nan(duckdb, model):
    rng = np.random.default_rng(0)
    n = 80
    X = np.empty((n, 4), dtype=object)
    X[:, 0] = rng.random(n) < 0.5
    X[:, 1] = [datetime(2024, 1, 1, tzinfo=UTC) + timedelta(minutes=int(m)) for m in rng.integers(0, 90000, n)]
    X[:, 2] = rng.normal(size=n)
    X[:, 3] = rng.choice(["a", "b"], n)
    y = np.where(X[:, 0].astype(bool) ^ (X[:, 2].astype(float) > 0), "p", "q")
    X[rng.random(X.shape) < 0.1] = None
    model = clone(model).fit(X, y)
    types = ["BOOLEAN", "TIMESTAMPTZ", "DOUBLE", "TEXT"]
    agree(model, X, duck_answers(duckdb, model, X, types))
    gaps = X.copy()
    gaps[:, 2] = float("nan")
    answers = duck_answers(duckdb, model, gaps, types)  # which sees NULL, as does ours
    agree(model, gaps, answers)


@examples(6)
@given(cuts=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=4, unique=True))
def test_cut_points_are_written_to_the_last_digit(cuts):
    X = [[float(x)] for t in cuts for x in (t, np.nextafter(t, np.inf), np.nextafter(t, -np.inf))]
    model = NaiveBayes(numeric=["x0"], bins={"x0": sorted(cuts)}).fit(X, np.arange(len(X)) % 3)
    agree(model, X, sqlite_answers(model, X))
