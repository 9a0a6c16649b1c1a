"""Learning from files: streams equal the whole, whatever the format and the chunks; bad files change nothing."""

from __future__ import annotations

import gzip
import io
import re
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.metrics import log_loss

from tanager import (
    AODE,
    KDB,
    TAN,
    BestOf,
    DataError,
    DataWarning,
    MemoryBudgetError,
    NaiveBayes,
    OptionError,
    SchemaMismatch,
)
from tanager.files import delimited, learn, open_table, unlearn, update

module = sys.modules["tanager.files.learn"]  # its name leads to the function


def weather(n_rows=300, seed=0, columns=3):
    """Text with gaps, some rows without a label."""
    rng = np.random.default_rng(seed)
    lines = [",".join([f"c{i}" for i in range(columns)] + ["class"])]
    for _ in range(n_rows):
        y = rng.integers(3)
        cells = [rng.choice(["", f"v{y}", f"v{rng.integers(5)}"], p=[0.1, 0.4, 0.5]) for _ in range(columns)]
        lines.append(",".join([*cells, "" if rng.random() < 0.05 else f"k{y}"]))
    return "\n".join(lines) + "\n"


@pytest.fixture
def write(tmp_path):
    def write(text, name="data.csv"):
        path = tmp_path / name
        path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
        return path

    return write


@pytest.fixture
def streamed(monkeypatch):
    """Every file is too large to be read whole, and comes in small blocks and chunks."""
    stream(monkeypatch)


def stream(patch, rows=37):
    patch.setattr(module, "WHOLE", 0)
    patch.setattr(module, "SAMPLE", 50)
    patch.setattr(delimited, "BLOCK", 500)
    patch.setattr(module, "CHUNK", rows)


LEAVES_OUT = True
MODELS = [NaiveBayes(), AODE(), TAN(), KDB(), BestOf([NaiveBayes(), TAN()])]


# --- laws --------------------------------------------------------------------------------------------------------


def by_hand(model, path):
    """The obvious twin: read the file, leave out rows without a label, fit."""
    table = open_table(path).read()
    table = table.filter(table["class"].is_valid())
    return clone(model).fit(table.drop_columns(["class"]), table["class"].to_pylist())


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_a_small_file_is_learned_as_fit_learns_it(write, model):
    path = write(weather())
    learned = learn(clone(model), open_table(path), "class")
    assert learned.whole
    assert learned.model.counts_ == by_hand(model, path).counts_
    assert learned.model.target_name_ == "class"


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_a_stream_of_categories_equals_the_whole(write, streamed, model):
    path = write(weather())
    learned = learn(clone(model), open_table(path), "class")
    twin = by_hand(model, path)
    assert not learned.whole
    assert learned.model.counts_ == twin.counts_
    queries = open_table(path).read().drop_columns(["class"])
    np.testing.assert_allclose(learned.model.predict_proba(queries), twin.predict_proba(queries), atol=1e-12)


@given(st.integers(1, 100), st.integers(0, 3))
def test_the_size_of_chunks_does_not_matter(tmp_path_factory, rows, seed):
    path = tmp_path_factory.mktemp("files") / "data.csv"
    path.write_text(weather(120, seed))
    with pytest.MonkeyPatch.context() as patch:
        stream(patch, rows)
        learned = learn(AODE(), open_table(path), "class")
    assert learned.model.counts_ == by_hand(AODE(), path).counts_
    assert learned.n_rows + learned.n_unlabelled == 120


@pytest.mark.parametrize("name", ["data.csv.gz", "data.parquet", "stdin"])
def test_the_format_does_not_matter(write, streamed, monkeypatch, name):
    path = write(weather())
    expected = learn(AODE(), open_table(path), "class")
    if name == "data.parquet":
        pa.parquet.write_table(open_table(path).read(), path.with_suffix(".parquet"), row_group_size=20)
        source = open_table(path.with_suffix(".parquet"))
    elif name == "stdin":
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(weather().encode())))
        source = open_table("-")
    else:
        source = open_table(write(weather(), name))
    learned = learn(AODE(), source, "class")
    assert learned.model.counts_ == expected.model.counts_
    assert (learned.n_rows, learned.n_unlabelled, learned.missing) == (
        expected.n_rows,
        expected.n_unlabelled,
        expected.missing,
    )
    assert learned.left_out.n_rows == expected.left_out.n_rows
    assert learned.left_out.log_loss == pytest.approx(expected.left_out.log_loss)


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("model", [AODE(), NaiveBayes(gaussian=True)], ids=["AODE", "Gaussian"])
def test_leaving_rows_out_is_what_leave_one_out_gives(write, monkeypatch, whole, model):
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 400)
    lines = [f"{rng.normal(c):.3f},{'ab'[rng.integers(2)]},{c}" for c in y]
    path = write("x,z,class\n" + "\n".join(lines))
    if not whole:
        stream(monkeypatch)
    learned = learn(clone(model), open_table(path), "class")
    table = open_table(path).read(["x", "z"])
    proba = learned.model.leave_one_out(table, y)
    assert learned.model.classes_.tolist() == [0, 1]  # whole numbers, not 0.0 and 1.0
    assert learned.model.classes_.dtype.kind == "i"
    assert learned.left_out.n_rows == 400
    assert learned.left_out.accuracy == (learned.model.decide(proba) == y).mean()
    assert learned.left_out.log_loss == pytest.approx(log_loss(y, proba))


def test_costs_decide_which_left_out_rows_are_right(write):
    path = write(weather())
    costly = AODE(cost_matrix=[[0, 9, 9], [1, 0, 9], [1, 9, 0]])  # to answer k0 is cheap
    plain, with_costs = (learn(m, open_table(path), "class").left_out for m in (AODE(), costly))
    assert with_costs.accuracy < plain.accuracy
    assert with_costs.log_loss == plain.log_loss


def test_of_many_rows_an_even_sample_is_left_out(write, streamed, monkeypatch):
    monkeypatch.setattr(module, "LEFT_OUT", 100)
    path = write(weather(1000))
    learned = learn(AODE(), open_table(path), "class")
    table = open_table(path).read()
    table = table.filter(table["class"].is_valid())
    step = 16
    assert learned.left_out.n_rows == len(range(0, table.num_rows, step))
    some = table.take(np.arange(0, table.num_rows, step))
    proba = learned.model.leave_one_out(some.drop_columns(["class"]), some["class"].to_pylist())
    assert learned.left_out.log_loss == pytest.approx(log_loss(some["class"].to_pylist(), proba))
    assert learn(AODE(), open_table(path), "class", leave_one_out=False).left_out is None


def test_kinds_and_cut_points_of_a_stream_come_from_all_over_the_file(write, monkeypatch):
    """Sorted by class: its first rows alone would show one class and no cut."""
    monkeypatch.setattr(module, "WHOLE", 1000)
    n = 400_000
    path = write("x,class\n" + "".join(f"{i / 7:.2f},{'low' if i < n / 2 else 'high'}\n" for i in range(n)))
    learned = learn(AODE(bins="mdl"), open_table(path), "class")
    (cut,) = learned.model.encoder_.schema.columns[0].cuts
    assert cut == pytest.approx(n / 14, rel=0.01)
    assert module.SAMPLE <= learned.schema_rows < n
    assert learned.n_rows == n


# --- columns -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("whole", [True, False])
def test_columns_of_names_are_dropped_and_others_on_demand(write, monkeypatch, whole):
    if not whole:
        stream(monkeypatch)
    lines = [f"n{i},{'ab'[i % 2]},{'xyz'[i % 3]},1,{'pq'[i % 2]}" for i in range(100)]
    path = write("name,a,b,same,class\n" + "\n".join(lines))
    learned = learn(AODE(), open_table(path), "class", drop=["b"])
    names = {"b": "asked for", "name": "every row has its own value"}
    if whole:  # rows that follow a sample may have another value
        assert learned.dropped == names | {"same": "one value only"}
        assert learned.model.schema_.names == ("a",)
    else:
        assert learned.dropped == names
        assert learned.model.schema_.names == ("a", "same")
    asked = learn(AODE(categorical=["name"], keep=["same"]), open_table(path), "class")
    assert asked.dropped == {}


def test_a_table_of_nothing_but_names_is_learned_with_a_word(write):
    path = write("a,class\n" + "".join(f"n{i},{'pq'[i % 2]}\n" for i in range(50)))
    with pytest.warns(DataWarning, match="no column tells anything: 'a', text; every row has its own value; kept"):
        assert learn(AODE(), open_table(path), "class").dropped == {}


def test_missing_cells_are_counted(write):
    learned = learn(AODE(), open_table(write("a,b,c,class\n,1,x,p\n?,2.5,y,q\nu,NaN,z,p\nv,4,z,q\n")), "class")
    assert learned.missing == {"a": 2, "b": 1}


def test_progress_is_told(write, streamed, monkeypatch):
    told = []
    learned = learn(AODE(), open_table(write(weather())), "class", progress=lambda *where: told.append(where))
    rows, fractions = zip(*told, strict=True)
    assert list(rows) == sorted(rows)
    assert rows[-1] == learned.n_rows + learned.n_unlabelled == 300
    assert list(fractions) == sorted(fractions)
    assert fractions[-1] == 1.0
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(weather().encode())))
    told.clear()
    learn(AODE(), open_table("-"), "class", progress=lambda *where: told.append(where))
    assert {fraction for _, fraction in told} == {None}


# --- more and less -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_update_adds_a_file_and_unlearn_takes_it_away(write, model):
    first, second = write(weather(200, 1), "first.csv"), write(weather(200, 2), "second.csv")
    learned = learn(clone(model), open_table(first), "class")
    before = learned.model.counts_.copy()
    n = update(learned.model, open_table(second))
    both = write(weather(200, 1) + weather(200, 2).partition("\n")[2], "both.csv")
    assert learned.model.counts_ == learn(clone(model), open_table(both), "class").model.counts_
    assert n == learned.model.counts_.n_rows - before.n_rows
    assert unlearn(learned.model, open_table(second)) == n
    np.testing.assert_array_equal(learned.model.counts_.class_counts, before.class_counts)


def test_numbers_and_text_are_read_as_the_model_knows_them(write):
    """Digits that were learned as text are text in later files, and other columns are ignored."""
    model = AODE(categorical=["code"])
    learn(model, open_table(write("code,class\n" + "01,1\n02,0\n" * 5), categorical=["code"]), "class")
    assert update(model, open_table(write("extra,code,class\n7,01,1\n8,03,0\n", "more.csv"))) == 2
    assert model.encoder_.schema.columns[0].values == ("01", "02", "03")
    assert model.classes_.tolist() == [0, 1]


@pytest.mark.parametrize("verb", [update, unlearn])
def test_a_file_that_is_bad_half_way_changes_nothing(write, monkeypatch, verb):
    good = weather(300)
    model = learn(AODE(), open_table(write(good)), "class").model
    before = model.counts_.copy()
    stream(monkeypatch)
    bad = open_table(write(good + "v1,v2\n", "bad.csv"))
    with pytest.raises(DataError, match=r"bad.csv, line 302: found 2 cells, expected 4"):
        verb(model, bad)
    assert model.counts_ == before
    assert model.predict_proba([{"c0": "v0"}]).shape == (1, 3)


def test_rows_that_were_never_learned_cannot_be_unlearned(write):
    model = learn(AODE(), open_table(write(weather(100))), "class").model
    before = model.counts_.copy()
    with pytest.raises(DataError, match=r"other.csv, data rows 1 to 1: .*'new' was not seen"):
        unlearn(model, open_table(write("c0,c1,c2,class\nnew,v1,v1,k1\n", "other.csv")))
    assert model.counts_ == before


# --- what is refused ---------------------------------------------------------------------------------------------


def refused(kind, sentence, act):
    with pytest.raises(kind) as caught:
        act()
    assert re.search(sentence, str(caught.value)), str(caught.value)


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a,class\nx,p\ny,p\n", "column 'class' has one value only, 'p'"),
        ("a,class\nx,\ny,?\n", "no row has a label in column 'class'"),
        ("a,class\nx,1.5\ny,2\n", "column 'class' holds numbers with fractions"),
        ("class\np\nq\n", "has no column to learn from beside 'class'"),
        ("a,class\n", "no row"),
    ],
)
def test_targets_and_tables_that_teach_nothing_are_refused(write, monkeypatch, whole, text, sentence):
    if not whole:
        stream(monkeypatch)
    refused(DataError, sentence, lambda: learn(AODE(), open_table(write(text)), "class"))


def test_names_that_are_not_there_are_refused_with_the_nearest(write):
    source = open_table(write(weather(10)))
    refused(
        SchemaMismatch, "has no column 'clas' to learn. Did you mean 'class'", lambda: learn(AODE(), source, "clas")
    )
    refused(OptionError, "drop: .* has no column 'd0'", lambda: learn(AODE(), source, "class", drop=["d0"]))
    refused(OptionError, "drop: 'class' is the target", lambda: learn(AODE(), source, "class", drop=["class"]))


def test_a_model_without_a_target_or_a_file_without_a_column_cannot_be_updated(write):
    model = AODE().fit({"c0": ["a", "b"]}, ["p", "q"])
    refused(DataError, "does not know the name of its target", lambda: update(model, open_table(write(weather(5)))))
    model.target_name_ = "class"
    refused(
        SchemaMismatch,
        "has none of the 1 columns that the model was fitted on",
        lambda: update(model, open_table(write("c1,class\nx,p\n"))),
    )


def test_kept_rows_stay_within_the_budget(write, streamed):
    with pytest.raises(MemoryBudgetError, match="keeps the rows"):
        learn(KDB(max_memory="30 KB"), open_table(write(weather(3000))), "class")
