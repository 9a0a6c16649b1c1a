"""An explanation adds up to the log-odds of the answer, and its prior is what the classes alone say."""

import numpy as np
import pytest
from sklearn.datasets import load_wine

from tanager import A2DE, AODE, FANC, HNB, KDB, SPC, SPODE, TAN, TC, BestOf, Collection, NaiveBayes
from tanager.errors import DataError, OptionError

WINE = load_wine(as_frame=True)
PRODUCTS = [
    NaiveBayes(),
    NaiveBayes(gaussian=True),
    TAN(),
    FANC(),
    FANC(weights={("ash", None): 0.0}),
    SPC(),
    TC(),
    KDB(),
    HNB(),
    Collection({"ash": [["hue"], ["alcohol", "hue"]]}),
]
SUMS = [SPODE(super_parent="hue"), AODE(), A2DE()]


def sparse_row(missing):
    row = WINE.data.iloc[100].to_dict()
    return {name: value for name, value in row.items() if name not in missing}


@pytest.mark.parametrize("missing", [(), ("hue",), ("ash", "alcohol", "proline")])
@pytest.mark.parametrize("model", [*PRODUCTS, *SUMS], ids=repr)
def test_parts_and_prior_add_up_to_the_log_odds(model, missing):
    model.fit(WINE.data, WINE.target)
    row = sparse_row(missing)
    told = model.explain(row)
    log_joint = model.predict_log_joint([row])[0]
    assert told.prior + sum(part.log_odds for part in told.parts) == pytest.approx(told.log_odds, abs=1e-9)
    assert told.log_odds == pytest.approx(log_joint[told.answer] - log_joint[told.against], abs=1e-9)
    assert not set(missing) & set(told.columns)
    rows = model.counts_.class_counts + 1.0
    by_members = model in SUMS and not (isinstance(model, SPODE) and "hue" in missing)  # else naive Bayes answers
    expected = 0.0 if by_members else np.log(rows[told.answer] / rows[told.against])
    if not isinstance(model, KDB | HNB):  # these smooth the prior in their own way
        assert told.prior == pytest.approx(expected, abs=1e-9)


def test_priors_and_class_weights_stand_before_the_columns():
    plain = AODE().fit(WINE.data, WINE.target).explain(sparse_row(()))
    weighted = AODE(class_weight={plain.answer: 3.0}).fit(WINE.data, WINE.target)
    told = weighted.explain(sparse_row(()), against=plain.against)
    assert told.prior == pytest.approx(np.log(3.0))
    assert told.columns == pytest.approx(plain.columns)


def test_a_row_that_no_super_parent_can_answer_is_explained_by_naive_bayes():
    model = AODE(min_count=1000).fit(WINE.data, WINE.target)
    naive = NaiveBayes().fit(WINE.data, WINE.target)
    assert model.explain(sparse_row(())).columns == pytest.approx(naive.explain(sparse_row(())).columns)


def test_the_best_candidate_explains():
    model = BestOf([NaiveBayes(), TAN()]).fit(WINE.data, WINE.target)
    assert model.explain(sparse_row(())).log_odds == pytest.approx(model.best_.explain(sparse_row(())).log_odds)


def test_what_cannot_be_explained_is_said():
    model = NaiveBayes().fit([["a"], ["b"]], ["yes", "no"])
    assert "x0 = a" in str(model.explain({"x0": "a"}))
    assert "  prior " in str(NaiveBayes().fit([["a"], ["b"], ["b"]], ["yes", "no", "no"]).explain({"x0": "a"}))
    with pytest.raises(OptionError, match="Did you mean 'yes'"):
        model.explain({"x0": "a"}, answer="yess")
    with pytest.raises(DataError, match="one row, got 2"):
        model.explain([["a"], ["b"]])
    with pytest.raises(DataError, match="the only class is 'yes'"):
        NaiveBayes().fit([["a"], ["b"]], ["yes", "yes"]).explain({"x0": "a"})


def test_the_answer_is_never_set_against_itself():
    model = NaiveBayes().fit([["a"], ["b"], ["c"]] * 5, ["p", "q", "r"] * 5)
    answer = model.predict_one({"x0": "a"})
    turned = model.explain({"x0": "a"}, against=answer)
    assert turned.against == answer != turned.answer
    with pytest.raises(OptionError, match="both 'p'"):
        model.explain({"x0": "a"}, answer="p", against="p")
