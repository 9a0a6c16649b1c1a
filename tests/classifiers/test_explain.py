"""An explanation adds up to the log-odds of the answer, and its prior is what the classes alone say."""

import numpy as np
import pytest
from sklearn.datasets import load_wine

from tanager import A2DE, AODE, FANC, HNB, KDB, LBR, SPC, SPODE, TAN, TC, BestOf, Collection, NaiveBayes, NBTree
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


TABLE = [["sun", "no", "hot"]] * 2 + [["rain", "yes", "cold"]] * 2 + [["sun", "yes", "hot"]]
LABELS = ["play", "play", "stay", "stay", "nap"]
UNSMOOTHED = [
    NaiveBayes(smoothing=0),
    TAN(smoothing=0),
    FANC(smoothing=0),
    SPODE(super_parent="x1", smoothing=0),
    AODE(smoothing=0),
    A2DE(smoothing=0),  # this once ended in a division by zero
    LBR(smoothing=0),
    NBTree(leaf=NaiveBayes(smoothing=0), min_rows=2, min_child=1, min_gain=0),
]


@pytest.mark.parametrize("model", UNSMOOTHED, ids=repr)
def test_a_class_that_is_impossible_has_infinite_odds_against_it_by_what_rules_it_out(model):
    model.fit(TABLE, LABELS)
    told = model.explain([["sun", "no", "hot"]], answer="play", against="stay")
    assert told.log_odds == np.inf
    assert np.isfinite(told.prior)
    assert any(part.log_odds == np.inf for part in told.parts)
    assert not any(np.isnan(part.log_odds) or part.log_odds == -np.inf for part in told.parts)
    assert "log-odds +inf" in str(told)
    assert model.explain([["sun", "no", "hot"]], answer="stay", against="play").log_odds == -np.inf
    with pytest.raises(DataError, match=r"'stay' and 'nap' are both impossible for this row.*some smoothing"):
        model.explain([["sun", "no", "hot"]], answer="stay", against="nap")


def test_where_every_class_is_impossible_only_the_classes_speak():
    for model in (NaiveBayes(smoothing=0), AODE(smoothing=0)):
        told = model.fit(TABLE, LABELS).explain([["rain", "no", "hot"]], answer="play", against="nap")
        assert (told.parts, told.log_odds) == ((), pytest.approx(np.log(3 / 2)))


def test_members_that_hold_a_class_for_impossible_contribute_by_what_rules_it_out():
    """One super-parent rules the class out, the other does not; the parts still add up."""
    X = [["a", "p"]] * 3 + [["a", "q"]] * 2 + [["b", "p"]] * 2
    model = AODE(smoothing=0).fit(X, ["u", "u", "v", "u", "v", "v", "v"])
    for row in (["a", "p"], ["b", "p"], ["a", "q"]):
        told = model.explain([row])
        assert told.prior + sum(part.log_odds for part in told.parts) == pytest.approx(told.log_odds)
        joint = model.predict_log_joint([row])[0][[model.class_codes[told.answer], model.class_codes[told.against]]]
        assert told.log_odds == pytest.approx(joint[0] - joint[1])


def test_odds_beyond_the_range_of_a_double_are_explained():
    """Averages over many columns once divided by a mean that had underflowed."""
    X = np.vstack([np.zeros((50, 200)), 1 - np.eye(200)]).astype(int)  # the other class has one 0 in each row
    model = AODE(smoothing=0.01).fit(X, [0] * 50 + [1] * 200)
    told = model.explain([[0] * 200])
    assert told.log_odds > 745  # where exp(-x) is 0
    assert told.prior == pytest.approx(0.0, abs=1e-6)
    assert sum(part.log_odds for part in told.parts) == pytest.approx(told.log_odds)


def test_the_best_candidate_explains():
    model = BestOf([NaiveBayes(), TAN()]).fit(WINE.data, WINE.target)
    assert model.explain(sparse_row(())).log_odds == pytest.approx(model.best_.explain(sparse_row(())).log_odds)


def test_what_cannot_be_explained_is_said():
    model = NaiveBayes().fit([["a"], ["b"]], ["yes", "no"])
    assert "x0 = a" in str(model.explain({"x0": "a"}))
    assert "  prior " in str(NaiveBayes().fit([["a"], ["b"], ["b"]], ["yes", "no", "no"]).explain({"x0": "a"}))
    with pytest.raises(OptionError, match="Did you mean 'yes'"):
        model.explain({"x0": "a"}, answer="yess")
    with pytest.raises(OptionError, match=r"contrast=.*two classes"):
        model.explain({"x0": "a"}, contrast="yes")
    with pytest.raises(OptionError, match="leave answer and against out"):
        model.explain({"x0": "a"}, answer="yes", contrast=("yes", "no"))
    with pytest.raises(DataError, match="the only class is 'yes'"):
        NaiveBayes().fit([["a"], ["b"]], ["yes", "yes"]).explain({"x0": "a"})


def test_the_answer_is_never_set_against_itself():
    model = NaiveBayes().fit([["a"], ["b"], ["c"]] * 5, ["p", "q", "r"] * 5)
    answer = model.predict_one({"x0": "a"})
    turned = model.explain({"x0": "a"}, against=answer)
    assert turned.against == answer != turned.answer
    with pytest.raises(OptionError, match="both 'p'"):
        model.explain({"x0": "a"}, answer="p", against="p")
