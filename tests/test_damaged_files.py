"""Damaged model files that were sealed again with a right checksum, found by ``fuzz.files``: each is refused.

Before they were, such a file loaded, and later answered NaN, ended in an error of Python or did not end at all.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from registry import small_table
from tanager import (
    AODE,
    FANC,
    SPC,
    TAN,
    AdjustedNaiveBayes,
    AnytimeAODE,
    BestOf,
    Collection,
    DriftAware,
    EvolvingNaiveBayes,
    HoeffdingTree,
    ModelFileError,
    NaiveBayes,
    NBTree,
    NetworkForest,
    OptionError,
    SelectiveKDB,
    SelectiveNaiveBayes,
    SemiNaiveBayes,
    Wrapped,
    archive,
    persist,
)
from tanager.plain import to_plain

X, Y = small_table()


def state(header: dict[str, Any]) -> dict[str, Any]:
    return header["learned"]["state"]


def view(header: dict[str, Any]) -> dict[str, Any]:
    return header["learned"]["view"]


def name_twice(header: dict[str, Any]) -> None:
    for place in (header["learned"], header["learned"].get("counts", {})):
        if "classes" in place:
            place["classes"]["labels"][2] = place["classes"]["labels"][0]


def first_leaf(node: dict[str, Any]) -> dict[str, Any]:
    return first_leaf(node["children"][0]) if "children" in node else node


def fill(array: np.ndarray, value: float) -> None:
    array[...] = value


def put(array: np.ndarray, value: float) -> None:
    array[(0,) * array.ndim] = value


CASES = {
    # numbers out of range
    "scale of moments": (
        NaiveBayes(gaussian=True),
        lambda h, a: put(a["moments-fading"], 1e-320),
        "rows times 9.99989e-321",
    ),
    "scale of contexts": (
        SPC(gaussian=True),
        lambda h, a: put(a["contexts-fading"], 1e-320),
        "rows times 9.99989e-321",
    ),
    "scale of contexts of a sum": (
        AODE(gaussian=True),
        lambda h, a: put(a["contexts-fading"], 1e-320),
        "rows times 9.99989e-321",
    ),
    "scale of one column": (
        FANC(gaussian=["x0"]),
        lambda h, a: put(a["contexts-fading"], 1e-320),
        "rows times 9.99989e-321",
    ),
    "scale of counts": (TAN(), lambda h, a: h["learned"]["counts"].update(scale=1e-320), "1e-320 at scale"),
    "places of digits": (NaiveBayes(gaussian=True), lambda h, a: put(a["moments-windows"], 2**40), "moments-windows"),
    "groups of a forest": (
        NetworkForest(n_members=6),
        lambda h, a: fill(a["forest-groups"], 255),
        "65536 cells|do not fit together",
    ),
    "strengths of a forest": (NetworkForest(n_members=6), lambda h, a: put(a["forest-strengths"], 0.0), "strengths"),
    "slots of a forest": (NetworkForest(n_members=6), lambda h, a: put(a["forest-n_slots"], 9999), "forest"),
    "weights of classes": (
        AdjustedNaiveBayes(),
        lambda h, a: view(h).update(adjustment=[1.0, float("nan"), 1.0]),
        r"nan at adjustment\[1\]",
    ),
    "weights of a pool": (
        BestOf([NaiveBayes(), AODE()], pool="log"),
        lambda h, a: view(h).update(pool=[[0, float("inf")]]),
        r"inf at pool\[0\]\[1\]",
    ),
    "a pool without weight": (
        BestOf([NaiveBayes(), AODE()], pool="linear"),
        lambda h, a: view(h).update(pool=[[0, 0.0]]),
        "no member of its pool",
    ),
    "weight of a leaf": (HoeffdingTree(), lambda h, a: first_leaf(state(h)["tree"]).update(learned=-1.0), "learned"),
    "share of a branch": (NBTree(), lambda h, a: view(h)["tree"].update(column=7), "column"),
    "answers of a detector": (DriftAware(), lambda h, a: state(h)["detector"].update(wrong=1e9), "wrong answers among"),
    "share of recent rows": (DriftAware(), lambda h, a: state(h)["duel"][0].__setitem__(0, 0.0), r"0.0 at duel\[0\]"),
    "scores of members": (
        AnytimeAODE(),
        lambda h, a: fill(a["anytime-first"], float("nan")),
        "cells from nan to nan at anytime-first",
    ),
    "divisor of variances": (NaiveBayes(gaussian=True), lambda h, a: h["params"].update(ddof=10**30), "ddof=1000"),
    "divisors of variances": (
        NaiveBayes(gaussian=True),
        lambda h, a: h["params"].update(ddof=to_plain(np.array([1]), "ddof")),
        r"ddof=array\(\[1\]\)",
    ),
    # names and lists
    "a class twice": (EvolvingNaiveBayes(), lambda h, a: name_twice(h), "classes is there twice"),
    "a class of counts twice": (NaiveBayes(), lambda h, a: name_twice(h), "classes is there twice"),
    "a class of no label": (
        NaiveBayes(),
        lambda h, a: h["learned"]["classes"].update(dtype="object", labels=["low", "mid", None]),
        "not all text or numbers",
    ),
    "a parent twice": (
        Collection({"x1": [[], ["x0"]]}),
        lambda h, a: h["params"]["parent_sets"]["dict"][0][1].__setitem__(1, ["x0", "x0"]),
        "names a column twice",
    ),
    "no size of memory": (
        SPC(),
        lambda h, a: h["learned"]["counts"].update(max_memory="0.1.0"),
        "max_memory='0.1.0' is not a size",
    ),
    "a joined value twice": (
        SemiNaiveBayes(),
        lambda h, a: view(h).update(joined=[[0, 0, 1, 0], [0, 0, 2, 0]]),
        "joined twice",
    ),
    "a step of a search": (SelectiveNaiveBayes(), lambda h, a: view(h).update(steps=[["add"]]), r"steps\[0\]"),
    "columns of a choice": (SelectiveKDB(), lambda h, a: view(h).update(columns=["x9"]), r"'x9' at columns\[0\]"),
    "a line of a table": (Wrapped(), lambda h, a: view(h)["table"][0].pop("log_loss"), r"at table\[0\]"),
    "no more models": (DriftAware(), lambda h, a: (state(h)["runners"].clear(), a.pop("model-0")), "0 models"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_damaged_field_is_named(case: str) -> None:
    model, change, finding = CASES[case]
    model = clone(model)
    model = model.partial_fit(X, Y) if isinstance(model, AnytimeAODE) else model.fit(X, Y)
    model.predict_proba(X[:2])
    if isinstance(model, AdjustedNaiveBayes | SemiNaiveBayes):  # what was chosen is saved where rows have come since
        model.learn_one(dict(zip(model.encoder_.schema.names, X[0], strict=True)), Y[0])
    header, arrays = archive.unpack(persist.to_bytes(model), "the model")
    change(header, arrays)
    data = archive.pack({name: own for name, own in header.items() if name not in ("format", "version")}, arrays)
    with pytest.raises(ModelFileError, match=r"^'m.tanager' is damaged: [^\n]*; it was cut short or changed") as caught:
        persist.from_bytes(data, "'m.tanager'")
    assert re.search(finding, str(caught.value)), str(caught.value)


def test_what_is_wrong_is_said_in_one_line() -> None:
    line = r"^'m.tanager' is damaged: gaussian=NaiveBayes\(bins=1, n=2\); it was"
    with pytest.raises(ModelFileError, match=line), archive.reading("'m.tanager'"):
        raise OptionError("gaussian=NaiveBayes(bins=1,\n                    n=2).")
