"""Damaged model files of every classifier: bytes changed, and parts changed and sealed again with a right checksum.

A file is refused with one sentence, or it is a model that answers with probabilities, learns, and is saved again.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import io
import json
import math
import random
import sys
import zipfile
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from fuzz import harness, zoo
from tanager import archive, persist
from tanager.cli import show_model
from tanager.errors import ModelFileError, TanagerError

ODD: list[Any] = [
    *(None, True, False, 0, 1, -1, 2, 255, 65535, 2**31, 2**63, 2**70, -(2**70), 10**400),
    *(0.0, -0.0, 0.5, -1.5, 1e308, -1e308, 1e-320, math.inf, -math.inf, math.nan),
    *("", "x", "x0", "low", "\x00", "é" * 50, "a" * 70_000, "1e999", "inf"),
    *([], {}, [[]], [[1.0]], [None], [1, [2]], {"tuple": []}, {"float": "nan"}, {"array": ["|O", [1], [1], False]}),
    {"classifier": "NaiveBayes", "params": {}},
]
CELLS = [0.0, -1.0, -0.5, 1e308, -1e308, 1e300, 1e-320, math.inf, -math.inf, math.nan, 1.0, 255, 65535, 2**40]


class Model:
    """One model as bytes and as parts."""

    def __init__(self, batch: int) -> None:
        self.data = persist.to_bytes(zoo.fitted(batch))
        self.header, self.arrays = archive.unpack(self.data, "the model")


def case(number: int, model: Model) -> str:
    """Damage a file in one way or in a few, and use what it holds."""
    rng = random.Random(number)
    data = _damaged_bytes(model, rng) if rng.random() < 0.3 else _changed_parts(model, rng)
    try:
        loaded = persist.from_bytes(data, "'m.tanager'")
    except ModelFileError as error:
        sentence = str(error)
        assert sentence.startswith("'m.tanager' "), sentence
        assert "\n" not in sentence, sentence
        return "refused"
    return _use(loaded, rng)


def _use(model: Any, rng: random.Random) -> str:
    """Answer, explain, learn, forget, and save: refusals are one of ours, and answers are probabilities."""
    X, y = zoo.table(6, rng.randrange(50))
    asked = zoo.questions(rng)
    try:
        zoo.check_answers(model, model.predict_proba(asked), len(asked))
    except (TanagerError, NotFittedError):
        return "refused when asked"
    row = {name: cell for name, cell in zip(("x0", "x1", "x2", "x3", "x4"), asked[0], strict=True) if cell is not None}
    acts = [
        lambda: model.predict(asked),
        lambda: _check_one(model.predict_proba_one(row)),
        lambda: model.explain(row),
        lambda: model.partial_fit(X, y),
        lambda: model.learn_one(row, "low"),
        lambda: model.unlearn(X, y),
        lambda: zoo.check_answers(model, model.leave_one_out(X, y), len(X)),
        lambda: persist.from_bytes(persist.to_bytes(model)),
        lambda: copy.deepcopy(model).merge(model),
        lambda: model.test_then_train(X, y),
        lambda: model.improve(),
        lambda: _show(model),
    ]
    for act in rng.sample(acts, 3):
        try:
            act()
        except (TanagerError, AttributeError) as error:
            if isinstance(error, AttributeError) and not _lacks(model, error):
                raise
    try:
        zoo.check_answers(model, model.predict_proba(asked), len(asked))
    except TanagerError:
        return "refused later"
    return "answered"


def _lacks(model: Any, error: AttributeError) -> bool:
    """Whether a classifier simply has no such method."""
    return type(error.obj) is type(model) and error.name in (
        *("unlearn", "leave_one_out", "merge", "explain", "improve"),
    )


def _show(model: Any) -> None:
    """What ``tanager show`` says, and what it says about its choice."""
    json.dumps(show_model.model_report(model), default=str)
    if hasattr(model, "table"):
        model.table()


def _check_one(answer: dict[Any, float]) -> None:
    assert all(math.isfinite(p) and p >= 0 for p in answer.values()), answer


# --- damage ------------------------------------------------------------------------------------------------------


def _damaged_bytes(model: Model, rng: random.Random) -> bytes:
    data = bytearray(model.data)
    how = rng.randrange(5)
    if how == 0:
        return bytes(data[: rng.randrange(len(data))])
    if how == 1:
        at = rng.randrange(len(data))
        data[at:at] = rng.randbytes(rng.randrange(1, 20))
    else:
        for _ in range(rng.choice([1, 1, 2, 10])):
            data[rng.randrange(len(data))] = rng.randrange(256)
    if how >= 3:  # seal it again
        data[-64:] = hashlib.sha256(data[:-64]).hexdigest().encode()
    return bytes(data)


def _changed_parts(model: Model, rng: random.Random) -> bytes:
    header, arrays = copy.deepcopy(model.header), dict(model.arrays)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        _change_one(header, arrays, rng)
    return _seal(header, arrays)


def _change_one(header: Any, arrays: dict[str, np.ndarray], rng: random.Random) -> None:
    """Change the header, an array, or such a part of a model inside of the model."""
    inside = sorted(name for name in arrays if name.startswith("model-"))
    if inside and rng.random() < 0.5:
        name = rng.choice(inside)
        with contextlib.suppress(ModelFileError):  # it is damaged already
            own, cells = archive.unpack(arrays[name].tobytes(), "the model inside")
            _change_one(own, cells, rng)
            arrays[name] = np.frombuffer(_seal(own, cells), dtype=np.uint8)
    elif arrays and rng.random() < 0.5:
        _change_array(arrays, rng)
    else:
        _change_tree(header, rng)


def _seal(header: Any, arrays: dict[str, np.ndarray]) -> bytes:
    """Like ``archive.pack``, but whatever the header says."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as file:
        file.comment = b"0" * 64
        file.writestr(zipfile.ZipInfo("header.json"), json.dumps(header).encode())
        for name, array in arrays.items():
            with file.open(zipfile.ZipInfo(f"{name}.npy"), "w") as member:
                np.lib.format.write_array(member, array, version=(1, 0), allow_pickle=False)
    data = out.getbuffer()
    data[-64:] = hashlib.sha256(data[:-64]).hexdigest().encode()
    return bytes(data)


Places = dict[str, list[tuple[Any, Any]]]


def _places(tree: Any, found: Places, path: str = "") -> Places:
    """Every container in a tree of JSON with every key or place in it, by their path; items of a list have the same."""
    own = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, item in own:
        at = f"{path}/{key if isinstance(tree, dict) else ''}"
        found.setdefault(at, []).append((tree, key))
        _places(item, found, at)
    return found


def _place(places: Places, rng: random.Random) -> tuple[Any, Any]:
    """Any place, or any field: the many values of columns shall not hide fields that are there once."""
    if rng.random() < 0.3:
        return rng.choice([place for own in places.values() for place in own])
    return rng.choice(places[rng.choice(sorted(places))])


def _change_tree(tree: Any, rng: random.Random) -> None:
    places = _places(tree, {})
    holder, key = _place(places, rng)
    other, other_key = _place(places, rng)
    value = holder[key]
    how = rng.randrange(8)
    if how == 0:
        del holder[key]
    elif how == 1:
        holder[key] = copy.deepcopy(other[other_key])
    elif how == 2 and isinstance(holder, list):
        holder.insert(key, copy.deepcopy(value))
    elif how == 3 and isinstance(value, list):
        rng.shuffle(value)
    elif how == 4 and isinstance(value, int | float) and not isinstance(value, bool):
        holder[key] = rng.choice([value + 1, value - 1, -value, value * 2, value / 2 if abs(value) < 1e300 else 0])
    elif how == 5:
        holder[key] = [value]
    elif how == 6 and isinstance(holder, dict):
        holder[rng.choice(["x", "kind", "form", "state", str(other_key)])] = holder.pop(key)
    else:
        holder[key] = copy.deepcopy(rng.choice(ODD))


def _change_array(arrays: dict[str, np.ndarray], rng: random.Random) -> None:
    name = rng.choice(sorted(arrays))
    array = arrays[name].copy()
    how = rng.randrange(8)
    if how == 0:
        del arrays[name]
        return
    if how == 1:
        arrays[name] = arrays[rng.choice(sorted(arrays))]
        return
    if how == 2:
        kinds = ["u1", "u2", "i4", "i8", "f4", "f8", "?", "c16", "U3", "S2", "M8[s]", ">f8"]
        with np.errstate(all="ignore"):
            array = np.nan_to_num(array, posinf=9, neginf=9).astype("i8").astype(rng.choice(kinds))
    elif how == 3:
        shapes = [(), (0,), (1, *array.shape), (*array.shape, 1), array.shape[::-1], (array.size,)]
        shape = rng.choice(shapes)
        array = array.reshape(shape) if math.prod(shape) == array.size else array.ravel()[: math.prod(shape)].copy()
    elif how == 4 and array.ndim:
        array = array[: rng.randrange(len(array) + 1)] if rng.random() < 0.5 else np.concatenate([array, array[-1:]])
    elif array.size and array.dtype.kind in "iufb":
        flat = array.reshape(-1)
        with np.errstate(all="ignore"):
            for _ in range(rng.choice([1, 1, 3, array.size])):
                flat[rng.randrange(array.size)] = np.float64(rng.choice(CELLS)).astype(array.dtype)
        array = flat.reshape(array.shape)
    arrays[name] = array


if __name__ == "__main__":
    sys.exit(harness.main("files", case, Model))
