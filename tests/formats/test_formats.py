"""Models saved by every version of the format still load and answer the same."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tanager
from registry import COUNTING

HERE = Path(__file__).parent
FILES = sorted(HERE.glob("v*/*.tanager"))


def _make() -> Any:
    spec = importlib.util.spec_from_file_location("formats_make", HERE / "make.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


make = _make()


@pytest.mark.parametrize("part", range(4))
def test_a_saved_file_answers_as_when_it_was_saved(part: int) -> None:
    for path in FILES[part::4]:  # all of them in a quick run, too, which takes four cases of a test
        expected = json.loads((path.parent / "answers.json").read_text())[path.stem]
        model = tanager.load(path)
        assert type(model).__name__ == path.stem.partition("-")[0]
        found = make.answers(model)
        if expected is None:
            assert found is None
            continue
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12, err_msg=path.name)
        model.partial_fit(make.ROWS, make.LABELS if "booleans" not in path.stem else [True, False] * 4)
        assert np.isfinite(make.answers(model)).all()


def test_the_first_version_left_a_file_of_every_classifier_it_had() -> None:
    had = [
        "A2DE",
        "AODE",
        "BAN",
        "BestOf",
        "ChowLiuMultiNet",
        "Collection",
        "FAN",
        "FANC",
        "GeneralNetwork",
        "HNB",
        "KDB",
        "MultiNet",
        "NaiveBayes",
        "NetworkClassifier",
        "SPC",
        "SPODE",
        "SelectiveKDB",
        "SuperParentTAN",
        "TAN",
        "TC",
        "WAODE",
        "Wrapped",
    ]
    assert set(had) <= {path.stem for path in (HERE / "v1").glob("*.tanager")}
    assert set(had) <= {cls.__name__ for cls in COUNTING}
