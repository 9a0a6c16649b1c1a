"""Known answers on D12 and D10: classifiers, collections, structures, smoothing and information."""

import numpy as np
import pytest
from golden_data import D10, M12, MISSING, QUERIES, X12, Y12

from tanager import (
    A2DE,
    AODE,
    FAN,
    FANC,
    HNB,
    KDB,
    SPC,
    SPODE,
    TAN,
    TC,
    WAODE,
    Collection,
    NaiveBayes,
    PriorCounts,
)
from tanager.scoring.decision import decide
from tanager.scoring.forms import ProductOfSums
from tanager.structure.measures import class_information, class_information_given, conditional_information
from tanager.structure.orders import column_order
from tanager.structure.trees import aic_gain, bic_gain, heaviest_forest, k2_gain


def posts(model, queries=QUERIES):
    return model.predict_proba(queries)[:, 1]


def close(answer, expected):
    np.testing.assert_allclose(answer, expected, rtol=0, atol=1e-6)


# --- naive Bayes, SPODE, AODE, A2DE -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (NaiveBayes(), [0.842200, 0.120207, 0.347988]),
        (AODE(), [0.802112, 0.199935, 0.419831]),
        (AODE(min_count=6), [0.809540, 0.345905, 0.451332]),
        (AODE(min_count=30), [0.842200, 0.120207, 0.347988]),
        (A2DE(), [0.822609, 0.262612, 0.475844]),
        (FANC(), [0.822349, 0.146911, 0.442603]),
        (FANC(column_order=[4, 3, 2, 1, 0]), [0.776690, 0.174500, 0.413051]),
        (FANC(max_parents_from=2), [0.852370, 0.159823, 0.487816]),
        (FANC(max_parents_from=0), [0.842200, 0.120207, 0.347988]),
        (SPC(super_parent=0), [0.837476, 0.147183, 0.427651]),
        (SPC(super_parent=2), [0.820910, 0.219518, 0.325356]),
        (TC(), [0.836376, 0.150432, 0.441099]),
        (TAN(), [0.739884, 0.238095, 0.202751]),
        (TAN(root=0), [0.765550, 0.176471, 0.332553]),
        (TAN(root=1), [0.746114, 0.183673, 0.256167]),
        (TAN(root=2), [0.739884, 0.238095, 0.202751]),
        (TAN(root=3), [0.746114, 0.183673, 0.309593]),
        (TAN(root=4), [0.697337, 0.243243, 0.295043]),
        (FAN(), [0.842200, 0.120207, 0.347988]),
        (FAN(criterion="aic"), [0.842200, 0.120207, 0.347988]),
        (KDB(k=1, smoothing=1), [0.754420, 0.238095, 0.202751]),
        (KDB(k=2, smoothing=1), [0.896266, 0.260116, 0.180144]),
        (HNB(), [0.839652, 0.125407, 0.293199]),
        (WAODE(), [0.878131, 0.118528, 0.248043]),
    ],
    ids=repr,
)
def test_posteriors_on_d12(model, expected):
    close(posts(model.fit(X12, Y12)), expected)


def test_joints_of_naive_bayes_on_d12():
    expected = [[0.006270821, 0.033468198], [0.015677053, 0.002141965], [0.008361095, 0.004462426]]
    joint = np.exp(NaiveBayes().fit(X12, Y12).predict_log_joint(QUERIES))
    np.testing.assert_allclose(joint, expected, atol=5e-10)


SPODES = [
    [[0.018750000, 0.119047619], [0.053571429, 0.020833333], [0.037500000, 0.014880952]],
    [[0.033333333, 0.089285714], [0.059523810, 0.010416667], [0.044642857, 0.020833333]],
    [[0.020833333, 0.106666667], [0.041666667, 0.020833333], [0.053333333, 0.013888889]],
]


@pytest.mark.parametrize("s", range(3))
def test_joints_of_spodes_on_three_columns(s):
    joint = np.exp(SPODE(super_parent=s).fit(X12[:, :3], Y12).predict_log_joint(QUERIES[:, :3]))
    np.testing.assert_allclose(joint, SPODES[s], atol=5e-10)


def test_aode_on_three_columns_is_the_mean_of_its_spodes():
    model = AODE().fit(X12[:, :3], Y12)
    np.testing.assert_allclose(np.exp(model.predict_log_joint(QUERIES[:, :3])), np.mean(SPODES, axis=0), atol=5e-10)
    close(posts(model, QUERIES[:, :3]), [0.812030, 0.251799, 0.268010])


def test_naive_bayes_and_a2de_on_three_columns():
    close(posts(NaiveBayes().fit(X12[:, :3], Y12), QUERIES[:, :3]), [0.811493, 0.171247, 0.205271])
    close(posts(A2DE().fit(X12[:, :3], Y12), QUERIES[:, :3]), [0.799622, 0.268571, 0.284024])


@pytest.mark.parametrize(("model", "expected"), [(NaiveBayes(), 0.768566), (AODE(), 0.790174), (FANC(), 0.800263)])
def test_a_query_with_a_missing_cell(model, expected):
    query = QUERIES[:1].copy()
    query[0, 1] = MISSING
    close(posts(model.fit(X12, Y12), query), [expected])


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (NaiveBayes(), [0.815765, 0.150464, 0.356284]),
        (AODE(), [0.772991, 0.244065, 0.470350]),
        (FANC(), [0.793946, 0.187803, 0.496969]),
    ],
)
def test_missing_cells_in_training(model, expected):
    close(posts(model.fit(M12, Y12)), expected)


@pytest.mark.parametrize(
    ("model", "left_out", "plain"),
    [
        (NaiveBayes(), 0.931869, 0.966971),
        (AODE(), 0.773825, 0.903605),
        (FANC(), 0.845391, 0.931551),
    ],
)
def test_leaving_out_the_first_row(model, left_out, plain):
    model.fit(X12, Y12)
    close(model.leave_one_out(X12, Y12)[0, 0], left_out)
    close(model.predict_proba(X12)[0, 0], plain)


def loo(model):
    proba = model.fit(X12, Y12).leave_one_out(X12, Y12)
    own = proba[np.arange(12), Y12]
    return int((decide(proba, model.counts_.class_counts, None) != Y12).sum()), own.sum()


def test_leave_one_out_errors_and_sums():
    errors, total = loo(NaiveBayes())
    assert errors == 5
    close(total, 6.619758)
    # Five exact ties (two for x1 and x2, one for x3) go to the larger class, which is wrong for all of them.
    expected = [(5, 6.598704), (10, 5.159545), (6, 6.480405), (6, 6.657727), (7, 5.533120)]
    for s, (errors, total) in enumerate(expected):
        got = loo(SPODE(super_parent=s))
        assert got[0] == errors
        close(got[1], total)


def test_the_best_spode_has_the_largest_leave_one_out_sum():
    assert SPODE().fit(X12, Y12).leave_one_out(X12, Y12).shape == (12, 2)
    model = SPODE().fit(X12, Y12)
    model.predict(QUERIES)
    assert model.super_parent_ == "x3"


def test_naive_bayes_then_spodes_one_by_one():
    def joint(model):
        return np.exp(model.fit(X12, Y12).predict_log_joint(QUERIES[:1]))[0]

    naive = joint(NaiveBayes())
    spodes = np.array([joint(SPODE(super_parent=s)) for s in range(5)])
    mixed = [naive + spodes[:t].sum(0) for t in range(6)]
    close([m[1] / m.sum() for m in mixed], [0.842200, 0.894643, 0.833117, 0.818866, 0.808754, 0.808898])
    replaced = [spodes[:t].sum(0) for t in range(1, 6)]
    close([m[1] / m.sum() for m in replaced], [0.944231, 0.828809, 0.810955, 0.800233, 0.802112])


# --- collections --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "n", "networks", "joint", "post"),
    [
        (FANC(), 3, 6, (0.149911817, 0.634110787), (0.808791, 0.192034, 0.284329)),
        (FANC(), 4, 24, (0.306486381, 1.678883798), (0.845628, 0.106372, 0.414826)),
        (FANC(), 5, 120, (0.844540249, 3.909400845), (0.822349, 0.146911, 0.442603)),
        (SPC(), 3, 8, (0.194885362, 0.845481050), (0.812676,)),
        (SPC(), 4, 48, (0.560836763, 3.253088991), (0.852950,)),
        (SPC(), 5, 384, (2.480144795, 12.779992463), (0.837476, 0.147183, 0.427651)),
        (TC(), 3, 8, (0.194885362, 0.845481050), (0.812676,)),
        (TC(), 4, 56, (0.690760337, 3.675829515), (0.841808,)),
        (TC(), 5, 616, (3.975709496, 20.322086036), (0.836376, 0.150432, 0.441099)),
    ],
)
def test_collections_on_the_first_columns(model, n, networks, joint, post):
    model.fit(X12[:, :n], Y12)
    assert model.n_networks_ == networks
    got = np.exp(model.predict_log_joint(QUERIES[:1, :n]))[0]
    np.testing.assert_allclose(got[0] / got[1], joint[0] / joint[1], rtol=1e-8)
    close(posts(model, QUERIES[: len(post), :n]), post)


@pytest.mark.parametrize(
    ("model", "networks"),
    [
        (FANC(), {10: 3628800, 19: 121645100408832000}),
        (SPC(), {10: 185794560, 19: 1678343852714360832000}),
        (TC(), {10: 10702393856, 19: 13583749000554507959627677696}),
    ],
)
def test_the_number_of_networks_that_vote(model, networks):
    for n, expected in networks.items():
        model.fit(np.zeros((2, n), dtype=np.uint8), [0, 1])
        assert model.n_networks_ == expected
        assert isinstance(model.structure_, ProductOfSums)


def test_the_terms_of_a_collection_on_two_columns():
    two = X12[:, :2]
    close(posts(FANC().fit(two, Y12), QUERIES[:1, :2]), [0.701487])
    weighted = FANC(weights={("x1", "x0"): 3.0}).fit(two, Y12)
    close(posts(weighted, QUERIES[:1, :2]), [0.691685])
    same = Collection({"x1": [[], ["x0"]]}, weights={"x1": [1.0, 3.0]}).fit(two, Y12)
    close(posts(same, QUERIES[:1, :2]), [0.691685])


def test_spcr_chooses_the_super_parent_by_the_sum_of_true_class_probabilities():
    resub = [9.210040, 9.245041, 9.416474, 9.305827, 9.084476]
    left_out = [6.124506, 6.161258, 6.348066, 6.302948, 5.955878]
    for s in range(5):
        model = SPC(super_parent=s).fit(X12, Y12)
        close(model.predict_proba(X12)[np.arange(12), Y12].sum(), resub[s])
        close(model.leave_one_out(X12, Y12)[np.arange(12), Y12].sum(), left_out[s])
        assert (model.predict(X12) == Y12).all()
    for select in ("loo", "resub"):
        model = SPC(super_parent="refined", select=select).fit(X12, Y12)
        close(posts(model), [0.820910, 0.219518, 0.325356])
        assert model.super_parent_ == "x2"


# --- information, orders, structures ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def counts12():
    return AODE().fit(X12, Y12).counts_


def test_information_on_d12(counts12):
    close(class_information(counts12), [0.135656, 0.072329, 0.167723, 0.072329, 0.014363])
    pairs = conditional_information(counts12)[np.triu_indices(5, 1)]
    close(
        pairs,
        [0.023473, 0.167314, 0.138997, 0.051789, 0.057558, 0.072845, 0.057558, 0.288607, 0.129478, 0.057558],
    )
    close(conditional_information(counts12).sum(1), [0.381574, 0.211434, 0.642957, 0.558008, 0.296384])
    close(class_information_given(counts12).sum(1), [0.872923, 0.370047, 1.092435, 0.688304, 0.258957])


def test_orders_of_the_columns_of_d12(counts12):
    assert column_order(counts12, "ig_sum") == [2, 3, 0, 4, 1]
    assert column_order(counts12, "ig_class") == [2, 0, 3, 1, 4]
    assert column_order(counts12, "mi") == [2, 0, 1, 3, 4]
    assert column_order(counts12, "given") == [0, 1, 2, 3, 4]


def counts10(columns, y):
    return AODE().fit((D10[:, columns]).astype(np.uint8), D10[:, y]).counts_


def test_information_on_d10():
    close(class_information(counts10([0, 1, 2], 3)), [0.554518, 0.032189, 0.032189])
    close(class_information(counts10([0, 1, 3], 2)), [0, 0.032189, 0.032189])
    close(class_information(counts10([1, 2], 0)), [0, 0])
    pairs = conditional_information(counts10([0, 1, 2], 3))[np.triu_indices(3, 1)]
    close(pairs, [0.138629, 0.138629, 0.311239])
    close(conditional_information(counts10([0, 3], 1))[0, 1], 0.693147)
    close(conditional_information(counts10([0, 3], 2))[0, 1], 0.693147)
    close(conditional_information(counts10([1, 2], 0))[0, 1], 0.152474)
    both = (D10[:, 0] * 3 + D10[:, 3]).tolist()
    close(conditional_information(AODE().fit(D10[:, 1:3].astype(np.uint8), both).counts_)[0, 1], 0.172609)


def test_the_entropy_of_a_column_is_what_it_tells_about_itself():
    for i, entropy in ((0, 0.693147), (2, 0.673012), (3, 1.054920)):
        close(class_information(counts10([i], i)), [entropy])


def test_the_chow_liu_tree_of_d10():
    weights = np.array([class_information(counts10([0, 1, 2, 3], y)) for y in range(4)])
    assert sorted(heaviest_forest(weights)) == [(0, 3), (1, 2), (1, 3)]


def test_smoothing_of_an_empty_cell():
    # P(X3 = 1 | X1 = 1, X2 = 2) with X1 as the class
    X, y = D10[:, 1:3].astype(np.uint8), D10[:, 0]
    for smoothing, expected in ((0, 0), (PriorCounts(2), 0.2), (PriorCounts(5), 0.285714), (1, 0.25)):
        model = TAN(root=0, smoothing=smoothing).fit(X, y)
        both, alone = model.predict_log_joint(np.array([[1, 0], [1, MISSING]], dtype=np.uint8))[:, 0]
        close(np.exp(both - alone), expected)


def test_two_dependent_columns_exactly_and_by_naive_bayes():
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 2, dtype=np.uint8)
    y = [0] * 4 + [1] * 4
    w = np.array([0.2, 0.1, 0.1, 0.6, 0.5, 0.2, 0.1, 0.2]) * np.repeat([0.4, 0.6], 4)
    exact = TAN(smoothing=0).fit(X, y, sample_weight=w)
    close(posts(exact, X[:4]), [0.789474, 0.75, 0.6, 0.333333])
    naive = NaiveBayes(smoothing=0).fit(X, y, sample_weight=w)
    close(posts(naive, X[:4]), [0.875, 0.666667, 0.5625, 0.268657])


def test_the_tree_of_d12():
    model = TAN().fit(X12, Y12)
    assert model.parents_ == {"x0": ("x2",), "x1": ("x3",), "x2": (), "x3": ("x2",), "x4": ("x2",)}


@pytest.mark.parametrize("root", range(5))
def test_without_smoothing_the_root_makes_no_difference(root):
    model = TAN(root=root, smoothing=0).fit(X12, Y12)
    close(np.exp(model.predict_log_joint(X12[8:9]))[0, 1], 0.027777778)


def edges(model):
    return {frozenset((child, p)) for child, parents in model.parents_.items() for p in parents}


@pytest.mark.parametrize(
    ("times", "gains"),
    [
        (10, {(2, 3): 25.057855, (0, 3): 11.892208, (2, 4): 5.962430, (1, 3): 3.953960}),
        (20, {(2, 3): 58.304399, (0, 2): 29.194082, (2, 4): 20.113549, (1, 3): 12.002265}),
    ],
)
def test_the_forest_of_d12_repeated(times, gains):
    model = FAN().fit(np.tile(X12, (times, 1)), np.tile(Y12, times))
    assert edges(model) == {frozenset((f"x{i}", f"x{j}")) for i, j in gains}
    gain = bic_gain(model.counts_)
    for edge, expected in gains.items():
        close(gain[edge], expected)


def test_no_edge_pays_on_d12(counts12):
    close(aic_gain(counts12)[np.triu_indices(5, 1)].max(), -0.332030)
    close(bic_gain(counts12)[np.triu_indices(5, 1)].max(), -0.816937)


def test_the_k2_gain_of_an_arc_depends_on_its_direction(counts12):
    gain = k2_gain(counts12)
    close([gain[1, 0], gain[0, 1], gain[0, 2]], [-0.644357, -0.538996, 0.154151])  # families of x1, x2 and x3


def test_kdb_structures_on_d12():
    assert KDB(k=1).fit(X12, Y12).parents_ == {"x0": ("x2",), "x1": ("x2",), "x2": (), "x3": ("x2",), "x4": ("x2",)}
    assert KDB(k=2).fit(X12, Y12).parents_ == {
        "x0": ("x2",),
        "x1": ("x2", "x0"),
        "x2": (),
        "x3": ("x2", "x0"),
        "x4": ("x2", "x1"),
    }


def test_the_decision_of_least_expected_loss():
    proba = np.array([[2 / 3, 1 / 3]])
    assert decide(proba, np.array([1.0, 1.0]), np.array([[0.0, 1.0], [5.0, 0.0]])).tolist() == [1]


def test_naive_bayes_is_linear_in_log_odds_on_slide_20():
    """P(C=1) = .6, P(a1=1|C) = .5, .8, P(a2=1|C) = .3, .6, as a table of weighted rows."""
    rows = [(a1, a2, c) for c in (0, 1) for a1 in (0, 1) for a2 in (0, 1)]
    chance = {0: (0.4, 0.5, 0.3), 1: (0.6, 0.8, 0.6)}

    def weight(a1, a2, c):
        p, p1, p2 = chance[c]
        return p * (p1 if a1 else 1 - p1) * (p2 if a2 else 1 - p2)

    X = np.array([row[:2] for row in rows], dtype=np.uint8)
    weights = [weight(*row) for row in rows]
    model = NaiveBayes(smoothing=0).fit(X, [row[2] for row in rows], sample_weight=weights)
    joint = model.predict_log_joint(np.array([[0, 0], [1, 0], [0, 1], [1, 1]], dtype=np.uint8))
    at_00, at_10, at_01, at_11 = joint[:, 1] - joint[:, 0]
    close(at_10 - at_00, 1.386294)
    close(at_01 - at_00, 1.252763)
    close(at_00, -1.070441)
    close(at_11 - at_10 - at_01 + at_00, 0.0)
    close(at_10, 0.315853)
    close(model.predict_proba(np.array([[1, 0]], dtype=np.uint8))[0, 1], 0.578313)
    told = model.explain(np.array([[0, 0]], dtype=np.uint8), answer=1)
    close(told.prior, 0.405465)
    close(sum(told.columns.values()), -1.475907)
    beta1, beta2 = at_10 - at_00, at_01 - at_00
    close(-at_00 / beta2, 0.854464)
    close(beta1 / beta2, 1.106590)
