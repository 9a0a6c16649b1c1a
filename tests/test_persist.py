"""A saved model answers the same, a failed save leaves the old file, an unsound file gets one clear sentence."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import zipfile
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

import tanager
from profiles import examples, spread
from registry import ALL, PLAIN, name_of, small_table
from tanager import (
    AODE,
    FANC,
    KDB,
    SPODE,
    TAN,
    BestOf,
    JointCounts,
    ModelFileError,
    MultiNet,
    NaiveBayes,
    archive,
    persist,
)
from tanager.learning.counts_classifier import CountsClassifier
from tanager.plain import to_plain

every = spread("model", PLAIN, ids=name_of)
every_option = spread("model", ALL, ids=name_of)


def again(model: CountsClassifier) -> CountsClassifier:
    return persist.from_bytes(persist.to_bytes(model))


def as_rows(X: np.ndarray) -> list[dict[str, Any]]:
    return [{f"x{i}": cell for i, cell in enumerate(row)} for row in X.tolist()]


# --- the same answers --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ALL, ids=name_of)
def test_a_saved_model_answers_and_learns_the_same(model: CountsClassifier, tmp_path: Path) -> None:
    X, y = small_table()
    fitted = clone(model).fit(X[:60], y[:60])
    fitted.save(tmp_path / "model.tanager")
    loaded = type(model).load(tmp_path / "model.tanager")
    assert to_plain(loaded, "") == to_plain(fitted, "")
    assert loaded.classes_.dtype == fitted.classes_.dtype
    assert loaded.n_features_in_ == fitted.n_features_in_
    assert (loaded.predict_proba(X) == fitted.predict_proba(X)).all()
    assert (loaded.predict(X) == fitted.predict(X)).all()
    assert (loaded.leave_one_out(X[:60], y[:60]) == fitted.leave_one_out(X[:60], y[:60])).all()
    for one in (loaded, fitted):
        one.partial_fit(X[60:], y[60:])
    assert (loaded.predict_proba(X) == fitted.predict_proba(X)).all()
    assert persist.to_bytes(loaded) == persist.to_bytes(fitted)


@every_option
@pytest.mark.parametrize(
    ("stop", "warm_up"),
    [
        pytest.param(1, 40, id="first row", marks=pytest.mark.long),
        pytest.param(20, 40, id="warm-up"),
        pytest.param(60, 30, id="stream"),
    ],
)
def test_a_model_saved_in_the_middle_of_a_stream_goes_on_the_same(
    model: CountsClassifier, stop: int, warm_up: int
) -> None:
    X, y = small_table()
    rows, labels = as_rows(X), y.tolist()
    streaming = clone(model).set_params(warm_up=warm_up, priors=None)
    for row, label in zip(rows[:stop], labels[:stop], strict=True):
        streaming.learn_one(row, label)
        if row in (rows[0], rows[13], rows[55]):  # else a structure is learned again and again
            streaming.predict_proba_one(row)
    loaded = again(streaming)
    for r, (row, label) in enumerate(zip(rows[stop:70], labels[stop:70], strict=True)):
        if r % 5 == 0:
            assert loaded.predict_proba_one(row) == streaming.predict_proba_one(row)
        streaming.learn_one(row, label)
        loaded.learn_one(row, label)
    assert loaded.predict_one(rows[-1]) == streaming.predict_one(rows[-1])


@pytest.mark.parametrize("model", [TAN(), BestOf([NaiveBayes(), TAN(), KDB()]), NaiveBayes(class_weight="balanced")])
def test_a_structure_that_lags_behind_the_stream_does_so_after_loading(model: CountsClassifier) -> None:
    X, y = small_table(400)
    rows, labels = as_rows(X), y.tolist()
    streaming = clone(model).set_params(warm_up=30).partial_fit(X[:300], y[:300])
    streaming.predict_proba_one(rows[0])
    for row, label in zip(rows[300:303], labels[300:303], strict=True):
        streaming.learn_one(row, label)
    loaded = again(streaming)
    assert [loaded.predict_proba_one(row) for row in rows] == [streaming.predict_proba_one(row) for row in rows]
    assert (loaded.predict_proba(X) == streaming.predict_proba(X)).all()


@every
def test_an_unfitted_model_keeps_its_options(model: CountsClassifier) -> None:
    loaded = again(clone(model))
    assert to_plain(loaded, "") == to_plain(model, "")
    assert not hasattr(loaded, "classes_")


def frames() -> dict[str, Any]:
    X, _ = small_table(40)
    numbers = np.random.default_rng(0).normal(size=40)
    table = {
        "size": numbers.tolist(),
        "colour": [None if c is None else str(c) for c in X[:, 2]],
        "day": [date(2020, 1, 1 + i % 28) for i in range(40)],
    }
    typed = pl.DataFrame(table).with_columns(
        pl.col("colour").cast(pl.Enum(["red", "green", "blue", "black"])), kind=pl.lit("a").cast(pl.Categorical)
    )
    return {
        "array": np.column_stack([numbers, numbers**2]),
        "float32": np.column_stack([numbers, numbers**2]).astype(np.float32),
        "codes": (np.column_stack([numbers, numbers]) > 0).astype(np.uint8),
        "objects": X,
        "lists": X.tolist(),
        "tuples": [tuple(row) for row in X.tolist()],
        "dicts": as_rows(X),
        "columns": table,
        "arrays": {"size": numbers, "colour": table["colour"]},
        "pandas": pd.DataFrame(table).astype({"colour": "category"}),
        "pandas objects": pd.DataFrame({"a": X[:, 2], "b": numbers}),
        "polars": typed,
        "arrow": pa.table(table),
    }


@pytest.mark.parametrize("kind", list(frames()))
def test_a_running_warm_up_is_saved_with_its_table(kind: str) -> None:
    table = frames()[kind]
    y = np.arange(40) % 3 % 2
    first, second = tanager.encoding.chunks.take_rows(table, 0, 25), tanager.encoding.chunks.take_rows(table, 25, 40)
    streaming = AODE(warm_up=38).partial_fit(first, y[:25], sample_weight=np.linspace(0.5, 1.5, 25))
    loaded = again(streaming)
    assert (loaded.predict_proba(table) == streaming.predict_proba(table)).all()
    loaded = again(streaming)
    for model in (loaded, streaming):
        model.partial_fit(second, y[25:])
    assert (loaded.predict_proba(table) == streaming.predict_proba(table)).all()
    assert str(loaded.encoder_.schema) == str(streaming.encoder_.schema)


def test_cells_without_a_plain_form_are_named_when_a_warm_up_is_saved() -> None:
    model = AODE().partial_fit([[1.5, 2 + 1j], [2.5, 3j]], [0, 1])
    with pytest.raises(ModelFileError, match=r"cannot save the first rows of the stream.*\(2\+1j\) is a complex"):
        persist.to_bytes(model)


@pytest.mark.parametrize(
    "labels",
    [
        [3, 1, 2],
        ["b", "ä", "c"],
        [True, False, True],
        np.array(["b", 1, True], dtype=object),
        np.array([1, 2, 3], "i2"),
    ],
    ids=["int", "str", "bool", "object", "int16"],
)
def test_class_labels_keep_their_type(labels: Any) -> None:
    model = NaiveBayes().fit([["u"], ["v"], ["w"]], labels)
    loaded = again(model)
    assert loaded.classes_.dtype == model.classes_.dtype
    assert loaded.classes_.tolist() == model.classes_.tolist()
    assert [type(c) for c in loaded.classes_.tolist()] == [type(c) for c in model.classes_.tolist()]


def test_column_names_and_values_are_kept() -> None:
    table = {
        "größe": [1.5, 2.5, None, 4.5],
        "on": [True, False, None, True],
        "n": [1, 2, 3, 3],
        "s": ["1", "a", "b", ""],
    }
    model = AODE().fit(pd.DataFrame(table), [0, 0, 1, 1])
    loaded = again(model)
    assert loaded.feature_names_in_.tolist() == list(table)
    assert loaded.encoder_.schema == model.encoder_.schema
    assert loaded.encoder_.schema is loaded.counts_.schema


@every
def test_columns_that_came_in_the_stream_are_kept(model: CountsClassifier) -> None:
    names = {"size": ["p", "q", "p"], "on": [True, False, None]}
    streaming = clone(model).fit(pd.DataFrame(names), [0, 0, 1])
    row = {"size": "q", "on": True, "new": "n", "more": "m"}
    streaming.learn_one(row, 1)
    loaded = again(streaming)
    assert loaded.feature_names_in_.tolist() == ["size", "on", "new", "more"]
    assert loaded.n_features_in_ == 4
    assert loaded.predict_proba_one(row) == streaming.predict_proba_one(row)


def test_declared_classes_are_kept_before_the_first_row() -> None:
    model = NaiveBayes(warm_up=5).partial_fit([[0.5]], ["a"], classes=["a", "b"])
    assert again(model).predict_proba([[0.5]]).tolist() == model.predict_proba([[0.5]]).tolist()


@pytest.mark.parametrize(
    "params",
    [
        {"cost_matrix": np.array([[0, 1, 2], [1, 0, 1], [9, 9, 0.0]])},
        {"cost_matrix": [[0, 1, 2], [1, 0, 1], [9, 9, 0.0]]},
        {"priors": {"low": 0.2, "mid": 0.3, "top": 0.5}},
        {"class_weight": {np.str_("low"): np.float64(3)}},
        {"max_memory": 10**9, "bins": {"x0": (-1.0, float("-inf"))[:1]}},
        {"categorical": ("x0", "x1"), "numeric": ["x3"]},
    ],
)
def test_options_of_every_kind_come_back(params: dict[str, Any]) -> None:
    X, y = small_table()
    model = AODE(**params).fit(X, y)
    loaded = again(model)
    for name in params:
        assert type(getattr(loaded, name)) is type(params[name])
    assert (loaded.predict(X) == model.predict(X)).all()


def test_a_schema_given_beforehand_stays_closed() -> None:
    X, y = small_table()
    schema = NaiveBayes().fit(X, y).encoder_.schema
    model = NaiveBayes(schema=schema).fit(X, y)
    loaded = again(model)
    assert loaded.schema == schema
    assert all(column.closed for column in loaded.encoder_.schema.columns)


def test_options_without_a_plain_form_are_refused_by_name(tmp_path: Path) -> None:
    model = FANC(column_order="random", random_state=np.random.RandomState(0))
    with pytest.raises(ModelFileError, match="cannot save option 'random_state': RandomState"):
        model.save(tmp_path / "m.tanager")
    assert list(tmp_path.iterdir()) == []


def test_classes_of_ones_own_are_refused() -> None:
    class Mine(NaiveBayes):
        pass

    with pytest.raises(ModelFileError, match=r"Mine is not a classifier of tanager.*pickle"):
        persist.to_bytes(Mine())


# --- writing -----------------------------------------------------------------------------------------------------


def small_model() -> CountsClassifier:
    return NaiveBayes().fit([["u", "p"], ["v", "q"]], ["a", "b"])


def test_a_failed_save_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: Any) -> None:
    path = tmp_path / "m.tanager"
    small_model().save(path)
    before = path.read_bytes()

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    for name in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, lambda *a: full(0))
            with pytest.raises(OSError, match="No space left"):
                AODE().save(path)
        assert path.read_bytes() == before
        assert os.listdir(tmp_path) == ["m.tanager"]


def test_a_saved_file_replaces_the_old_one_and_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "m.tanager"
    small_model().save(path)
    assert path.stat().st_mode & 0o777 == 0o666 & ~_umask()
    path.chmod(0o640)
    (tmp_path / "link").symlink_to(path)
    AODE().save(tmp_path / "link")
    assert path.stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "link").is_symlink()
    assert isinstance(tanager.load(path), AODE)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_folders_that_are_not_there_are_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"cannot write '.*m.tanager': there is no folder '.*nowhere'"):
        small_model().save(tmp_path / "nowhere" / "m.tanager")
    with pytest.raises(IsADirectoryError, match="this is a folder"):
        small_model().save(tmp_path)


# --- unsound files -----------------------------------------------------------------------------------------------

ROWS = [["u", 1.5, "r"], ["v", 2.5, "s"], ["v", 1.0, "s"]]
DATA = persist.to_bytes(BestOf([NaiveBayes(), KDB()]).fit(ROWS, [0, 1, 1]))


def refused(data: bytes) -> str:
    with pytest.raises(ModelFileError) as caught:
        persist.from_bytes(data, "'m.tanager'")
    sentence = str(caught.value)
    assert sentence.startswith("'m.tanager' ")
    assert sentence.endswith(".")
    assert "\n" not in sentence
    return sentence


def test_the_sound_file_loads() -> None:
    assert isinstance(persist.from_bytes(DATA), BestOf)


@given(st.integers(0, len(DATA) - 1), st.integers(1, 255))
@examples(300)
def test_any_changed_byte_is_noticed(place: int, change: int) -> None:
    refused(DATA[:place] + bytes([DATA[place] ^ change]) + DATA[place + 1 :])


@given(st.integers(0, len(DATA) - 1))
@examples(100)
def test_any_truncation_is_noticed(length: int) -> None:
    refused(DATA[:length])


@given(st.binary(min_size=1, max_size=50))
@examples(50)
def test_any_appended_or_foreign_bytes_are_noticed(more: bytes) -> None:
    refused(DATA + more)
    refused(more)
    refused(b"PK\x03\x04" + more)


def test_foreign_files_are_called_so() -> None:
    assert "is empty" in refused(b"")
    assert "is not a tanager file" in refused(b"colour,size\nred,3\n")
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as other:
        other.writestr("word/document.xml", "<doc/>")
    assert "a zip archive of something else" in refused(out.getvalue())


def test_missing_files_and_folders_are_called_so(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"there is no model file '.*none.tanager'"):
        tanager.load(tmp_path / "none.tanager")
    with pytest.raises(ModelFileError, match="is a folder"):
        tanager.load(tmp_path)


def test_files_of_another_kind_are_called_so(tmp_path: Path) -> None:
    small_model().save(tmp_path / "m.tanager")
    with pytest.raises(ModelFileError, match=r"holds NaiveBayes, not AODE. Use NaiveBayes.load or tanager.load"):
        AODE.load(tmp_path / "m.tanager")
    assert refused(small_model().counts_.to_bytes()) == "'m.tanager' holds counts, not a classifier."
    with pytest.raises(ModelFileError, match="the data hold a classifier, not counts"):
        JointCounts.from_bytes(DATA)


def altered(**changes: Any) -> bytes:
    """The sound file with another header, and a checksum that fits."""
    header, arrays = archive.unpack(DATA, "")
    return archive.pack(header | changes, arrays)


def test_newer_files_say_so() -> None:
    assert "was written by a newer tanager (format 99, this one reads up to 1). Upgrade" in refused(altered(version=99))
    params = {"params": {"turbo": True}}
    assert "has the option 'turbo'" in refused(altered(tanager="9.0", **params))


@pytest.mark.parametrize(
    "name", ["Evil", "os.system", "JointCounts", "save", "__import__", "CountsClassifier", None, 3]
)
def test_nothing_but_public_classifiers_is_made(name: Any) -> None:
    assert "none of the classifiers here" in refused(altered(classifier=name))


@pytest.mark.parametrize(
    "change",
    [
        {"learned": None},
        {"learned": {}},
        {"params": []},
        {"params": {"smoothing": {"estimate": ["evil", 1]}}},
        {"params": {"smoothing": "x"}},
        {"params": {"candidates": [{"classifier": "os.system", "params": {}}]}},
        {"params": {"priors": {"array": ["<U1000000000", [1], ["a"], False]}}},
        {"params": {"priors": {}}},
        {"version": 0.5},
        {"version": None},
    ],
)
def test_headers_that_make_no_sense_are_refused(change: dict[str, Any]) -> None:
    refused(altered(**change))


@pytest.mark.parametrize(
    "change",
    [
        {"order": 7},
        {"scale": -1.0},
        {"scale": float("nan")},
        {"anchors": [99]},
        {"families": [[0, 0, 1]]},
        {"families": [[0, 1, 55]]},
        {"spare": -5},
        {"classes": {"dtype": "<i8", "labels": [0, 0]}},
        {"classes": {"dtype": "<i8", "labels": [0, 1, 2]}},
        {"schema": {"columns": [{"name": "x0", "kind": "codes", "n_codes": 10**12}]}},
        {"schema": {"columns": []}},
    ],
)
def test_counts_that_do_not_fit_are_refused_before_anything_is_allocated(change: dict[str, Any]) -> None:
    header, _ = archive.unpack(DATA, "")
    learned = header["learned"]
    refused(altered(learned=learned | {"counts": learned["counts"] | change}))


@pytest.mark.parametrize("name", ["rooms", "classes", "singles", "pairs", "rows-codes", "rows-labels"])
@pytest.mark.parametrize("damage", ["gone", "longer", "other type", "large"])
def test_arrays_that_do_not_fit_are_refused(name: str, damage: str) -> None:
    header, arrays = archive.unpack(DATA, "")
    array = arrays.pop(name)
    if damage == "longer":
        arrays[name] = np.concatenate([array, array])
    elif damage == "other type":
        arrays[name] = array.astype(np.float32)
    elif damage == "large":
        arrays[name] = np.full_like(array, 200) if array.dtype.itemsize == 1 else np.full_like(array, 2.0**40)
        if name in ("classes", "singles", "pairs"):
            arrays[name] = np.full_like(array, np.nan)
    if damage == "gone" and name == "rows-codes":
        return  # a model may have kept no rows yet
    refused(archive.pack(header, arrays))


JUNK = [None, True, -1, 3, 10**9, 2**63, -0.5, float("nan"), "", "x0", "object", [], [[0]], [-1, 2], {}, {"float": "x"}]


def places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [path, *(place for key, item in inner for place in places(item, (*path, key)))]


@pytest.mark.filterwarnings("ignore")
@given(st.data())
@examples(200)
def test_a_header_with_junk_anywhere_is_refused_or_does_no_harm(data: Any) -> None:
    header, arrays = archive.unpack(DATA, "")
    *path, last = data.draw(st.sampled_from(places(header)[1:]))
    inner = header
    for key in path:
        inner = inner[key]
    inner[last] = data.draw(st.sampled_from(JUNK))
    try:
        model = persist.from_bytes(archive.pack(header, arrays))
    except ModelFileError:
        return
    with contextlib.suppress(ValueError, TypeError, MemoryError):
        model.predict_proba(ROWS)


def test_an_array_that_claims_to_be_huge_is_refused_before_it_is_made() -> None:
    header = json.dumps({"format": "tanager", "version": 1, "kind": "classifier", "classifier": "AODE", "params": {}})
    npy = io.BytesIO()
    np.lib.format.write_array_header_1_0(npy, {"descr": "<f8", "fortran_order": False, "shape": (10**9, 10**9)})
    assert "longer or shorter" in refused(sealed({"header.json": header.encode(), "a.npy": npy.getvalue()}))
    object_array = io.BytesIO()
    np.save(object_array, np.array([{}], dtype=object), allow_pickle=True)
    refused(sealed({"header.json": header.encode(), "a.npy": object_array.getvalue()}))


def test_compressed_members_are_refused() -> None:
    bomb = {"header.json": b"{}" + b" " * 10**6}
    assert "larger than the whole" in refused(sealed(bomb, zipfile.ZIP_DEFLATED))


def sealed(members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    """An archive of these members with a right checksum."""
    import hashlib

    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as file:
        file.comment = b"0" * 64
        for name, data in members.items():
            file.writestr(name, data)
    data = out.getvalue()[:-64]
    return data + hashlib.sha256(data).hexdigest().encode()


def test_the_same_model_gives_the_same_bytes() -> None:
    assert persist.to_bytes(small_model()) == persist.to_bytes(small_model())


def test_other_programs_can_read_the_file(tmp_path: Path) -> None:
    """A model file is a plain zip of JSON and .npy."""
    SPODE().fit(*small_table()).save(tmp_path / "m.tanager")
    with zipfile.ZipFile(tmp_path / "m.tanager") as file:
        assert file.testzip() is None
        assert json.loads(file.read("header.json"))["classifier"] == "SPODE"
        assert np.load(io.BytesIO(file.read("classes.npy"))).sum() == 90


def test_kept_rows_that_are_not_in_the_order_of_time_are_refused():
    model = AODE(window="1 h").fit([["a"], ["b"], ["a"]], [0, 1, 0], times=[1.0, 2.0, 3.0])
    header, arrays = archive.unpack(persist.to_bytes(model), "it")
    assert persist.from_bytes(archive.pack(header, arrays)).predict([["a"]]).tolist() == [0]
    with pytest.raises(ModelFileError, match="not in the order of time"):
        persist.from_bytes(archive.pack(header, arrays | {"rows-times": arrays["rows-times"][::-1].copy()}))


# --- parts that were changed and sealed again -----------------------------------------------------------------------


def resealed(model: CountsClassifier, change: Any) -> bytes:
    header, arrays = archive.unpack(persist.to_bytes(model), "the model")
    change(header, arrays)
    return archive.pack({name: own for name, own in header.items() if name not in ("format", "version")}, arrays)


def column(header: dict[str, Any], at: int) -> dict[str, Any]:
    return header["learned"]["counts"]["schema"]["columns"][at]


def put(array: np.ndarray, value: float) -> None:
    array[(0,) * array.ndim] = value


@pytest.mark.parametrize(
    ("model", "change", "finding"),
    [
        (NaiveBayes(), lambda h, a: column(h, 0).update(cuts=[[0.5]]), "cuts must be int or float"),
        (NaiveBayes(), lambda h, a: column(h, 0).update(cuts=[None]), "cuts must be int or float"),
        (NaiveBayes(), lambda h, a: column(h, 0).update(cuts=[float("inf")]), "means nothing"),
        (NaiveBayes(), lambda h, a: column(h, 2).update(values=[["red"], "green", "blue"]), "values must be str"),
        (
            NaiveBayes(),
            lambda h, a: h["learned"]["counts"].update(scale=1e308),
            "hold 1e.308 at scale, expected a number",
        ),
        (NaiveBayes(), lambda h, a: put(a["classes"], 1e308), r"cells from \S+ to 1e.308 at classes"),
        (NaiveBayes(), lambda h, a: put(a["singles"], -5.0), "cells from -5 to .* at singles"),
        (NaiveBayes(), lambda h, a: put(a["classes"], 1e-320), "do not count the same rows"),
        (TAN(), lambda h, a: put(a["pairs"][:, ::-1], 99.0), "do not count the same rows"),
        (
            NaiveBayes(window=40),
            lambda h, a: put(a["rows-weights"], float("inf")),
            "cells from .* to inf at rows-weights",
        ),
        (NaiveBayes(window=40), lambda h, a: a.pop("rows-codes"), "the rows of its window are not there"),
        (
            MultiNet(),
            lambda h, a: h["learned"]["view"]["form"]["weight"].__setitem__(0, "inf"),
            r"hold 'inf' at weight\[0\]",
        ),
        (
            MultiNet(),
            lambda h, a: h["learned"]["view"]["form"]["weight"].__setitem__(0, float("inf")),
            r"hold inf at weight\[0\], expected a number from 0",
        ),
        (
            MultiNet(),
            lambda h, a: h["learned"]["view"]["form"]["child"].__setitem__(0, None),
            r"hold None at child\[0\]",
        ),
        (TAN(), lambda h, a: h["params"].update(root=[None]), None),
    ],
)
def test_a_sealed_file_with_numbers_that_mean_nothing_is_refused(model: Any, change: Any, finding: str | None) -> None:
    X, y = small_table()
    if "window" in model.get_params() and model.window:
        model = clone(model).fit(X, y, sample_weight=np.where(np.arange(len(y)) % 2, 1.0, 2.0))
    else:
        model = clone(model).fit(X, y)
    data = resealed(model, change)
    if finding is None:  # an option that is looked at when it is needed
        with pytest.raises(tanager.errors.TanagerError):
            persist.from_bytes(data).partial_fit(X, y).predict_proba(X)
    else:
        assert re.search(finding, refused(data))


def test_a_model_that_has_unlearned_all_its_rows_is_saved_and_learns_again() -> None:
    X, y = small_table(20)
    model = SPODE().partial_fit(X, y, classes=["low", "mid", "top"])
    model.count_warm_up()
    loaded = again(model.unlearn(X, y))
    assert np.isfinite(loaded.predict_proba(X)).all()
    loaded.partial_fit(X, y)
    assert (loaded.predict_proba(X) == model.partial_fit(X, y).predict_proba(X)).all()


def test_strengths_of_a_loaded_model_are_those_of_the_rows_that_it_was_saved_with():
    """They were learned again at the first answer, from rows that had come since, though the structure was not due."""
    X, y = small_table(90)
    schema = KDB().fit(X, y).encoder_.schema
    model = KDB(smoothing="learned", refresh=1000, schema=schema).fit(X[:40], y[:40])
    model.predict_proba(X)
    loaded = persist.from_bytes(persist.to_bytes(model))
    for each in (model, loaded):
        each.partial_fit(X[40:], y[40:])
    np.testing.assert_allclose(loaded.stream_proba(X), model.stream_proba(X), rtol=1e-12)
