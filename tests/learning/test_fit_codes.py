"""A classifier over rows that are encoded already answers as one that encodes them itself."""

import numpy as np
import pytest

from tanager import AODE, BAN, KDB, TAN, NaiveBayes, NetworkClassifier, load, save
from tanager.encoding.encoder import Encoder
from tanager.encoding.labels import encode_labels
from tanager.errors import DataError, OptionError


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = {"a": rng.choice(["u", "v", "w"], 80).astype(object), "b": rng.normal(size=80), "c": rng.choice([0, 1], 80)}
    X["a"][::7] = None
    y = np.where(rng.random(80) < 0.3, "no", np.where(X["b"] > 0, "yes", "no"))
    labels, classes = encode_labels(y)
    encoder = Encoder()
    return X, y, encoder.learn_and_encode(X, labels, None, len(classes)), labels, encoder.schema, classes


@pytest.mark.parametrize("model", [NaiveBayes(), AODE(), TAN(), KDB(), BAN(), NetworkClassifier()], ids=repr)
def test_codes_are_learned_like_the_table(model, rows, tmp_path):
    X, y, codes, labels, schema, classes = rows
    expected = model.set_params(schema=schema).fit(X, y).predict_proba(X)
    again = type(model)().fit_codes(codes, labels, schema, classes.tolist(), target="class")
    assert (again.predict_proba(X) == expected).all()
    assert again.feature_names_in_.tolist() == ["a", "b", "c"]
    save(again, tmp_path / "model.tanager")
    assert (load(tmp_path / "model.tanager").predict_proba(X) == expected).all()
    weights = np.arange(80) % 3
    weighted = type(model)().fit_codes(codes, labels, schema, classes, sample_weight=weights)
    expected = model.fit(X, y, sample_weight=weights).predict_proba(X)
    assert (weighted.predict_proba(X) == expected).all()


def test_codes_that_do_not_fit_are_refused(rows):
    _, _, codes, labels, schema, classes = rows
    for wrong, words in (
        ((codes.astype(float), labels), "uint8 or uint16"),
        ((codes[:, :2], labels), "3 columns"),
        ((codes, labels[:5]), "80 integers"),
        ((codes, labels.astype(float)), "80 integers"),
        ((codes, labels.astype(int) + 1), "from 0 to 1"),
        ((codes, labels.astype(int) - 1), "from 0 to 1"),
    ):
        with pytest.raises(DataError, match=words):
            NaiveBayes().fit_codes(*wrong, schema, classes)
    beyond = codes.copy()
    beyond[4, 2] = 2
    with pytest.raises(DataError, match="row 4, column 'c': code 2"):
        NaiveBayes().fit_codes(beyond, labels, schema, classes)
    with pytest.raises(OptionError, match="numbers"):
        NaiveBayes(gaussian=True).fit_codes(codes, labels, schema, classes)
