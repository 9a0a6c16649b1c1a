"""The study of anytime classification: curves begin and end where they should, and are summed up as the page says."""

import numpy as np
import pytest
from experiments.webb_anytime import page
from experiments.webb_anytime.run import dataset, encoded, figures, plans, records, summed, thinned, ways

from tanager import AODE, AnytimeAODE, NaiveBayes


@pytest.fixture(scope="module", autouse=True)
def without_data():
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("TANAGER_DATA", raising=False)
        yield


@pytest.fixture(scope="module")
def wine(without_data):
    return plans(["wine"], 1)


def split(plan, part=0):
    test = plan.splits.test(plan.data.labels, part)
    return np.flatnonzero(~test), np.flatnonzero(test)


def test_a_curve_begins_with_naive_bayes_and_ends_with_all_super_parents(wine):
    for plan, kind in zip(wine, ("AODE", "A2DE"), strict=True):
        found = {record["classifier"]: record for record in records(plan, 3)}
        end = found.pop(kind)
        curves = {name: own for name, own in found.items() if ways(kind)[name]["stop"] == "all"}
        assert len({own["wrong"][0] for own in curves.values()}) == 1
        assert {len(own["wrong"]) for own in curves.values()} == {14 if kind == "AODE" else 79}
        for name, own in curves.items():
            if ways(kind)[name]["mix"] == "replace" and not ways(kind)[name]["weights"]:
                assert (own["wrong"][-1], own["log_loss"][-1]) == (end["wrong"][0], pytest.approx(end["log_loss"][0]))


def test_codes_of_a_fold_answer_like_its_table(wine):
    plan, (learned, asked) = wine[0], split(wine[0])
    codes, schema = encoded(plan, np.isin(np.arange(len(plan.data.labels)), learned))
    y = plan.data.labels[learned]
    for kind in (AODE, NaiveBayes):
        whole = kind(**dataset("wine").options).fit(plan.data.X.take(learned), y)
        coded = kind(schema=schema).partial_fit(codes[learned], y, classes=np.arange(3))
        np.testing.assert_allclose(
            coded.predict_proba(codes[asked]), whole.predict_proba(plan.data.X.take(asked)), rtol=1e-12
        )


def test_a_curve_is_that_of_plain_loops(wine):
    """Counts by going through the rows, for every cell anew."""
    plan, (learned, asked) = wine[0], split(wine[0])
    codes, schema = encoded(plan, np.isin(np.arange(len(plan.data.labels)), learned))
    labels = plan.data.labels.astype(int)
    rows, y, sizes = codes[learned], labels[learned], schema.n_values.tolist()
    model = AnytimeAODE(schema=schema, member_order="random", stop="all", random_state=0).partial_fit(rows, y)
    order = [schema.index(name) for name in model.order_]

    def joint(row, c, s):
        own = y == c
        if s is None:
            p = (own.sum() + 1) / (len(y) + 3)
        else:
            own = own & (rows[:, s] == row[s])
            p = (own.sum() + 1) / (len(y) + 3 * sizes[s])
        for j in [j for j in range(len(row)) if j != s]:
            p *= ((own & (rows[:, j] == row[j])).sum() + 1) / (own.sum() + sizes[j])
        return p

    said = []
    for row in codes[asked]:
        fitting = [s for s in order if (rows[:, s] == row[s]).any()]
        members = np.array([[joint(row, c, s) for c in range(3)] for s in [None, *fitting]])
        sums = members.cumsum(axis=0)
        said.append([int(sums[min(t, len(fitting))].argmax()) for t in range(len(order) + 1)])
    wrong = (np.array(said) != labels[asked][:, None]).sum(axis=0)
    found = figures(model, codes[asked], labels[asked], np.bincount(y).astype(float))
    assert found["wrong"] == wrong.tolist()


def test_curves_that_end_early_stay_as_they_are():
    assert summed([[5, 3], [4, 2, 1]]) == [9, 5, 4]


def test_thinned_rows_keep_the_shares_of_the_classes():
    data = dataset("wine")
    some = thinned(data, 89)
    assert abs(len(some.y) - 89) <= 2
    shares = [np.unique(y, return_counts=True)[1] / len(y) for y in (data.y, some.y)]
    np.testing.assert_allclose(*shares, atol=0.02)
    assert thinned(data, 200) is data


def test_a_ratio_without_errors_is_one_of_half_errors():
    found = page.ratio(np.array([0.2, 0.0, 0.0]), np.array([0.4, 0.1, 0.0]), np.array([10, 10, 10]))
    np.testing.assert_allclose(found, [0.5, 0.05 / 0.15, 1.0])


def line(order, wrong, seed=None, mix="joint", stop="all"):
    place = {"kind": "AODE", "dataset": "a", "n_rows": 10, "n_members": 4, "n_answers": 10}
    way = {"order": order, "seed": seed, "mix": mix, "weights": None, "stop": stop}
    return place | way | {"members": 2.0, "wrong": wrong, "log_loss": wrong}


@pytest.fixture
def one_set():
    drawn = [line("random", "4 4 2 2 2", 0), line("random", "4 2 4 2 2", 1)]
    return page.Figures([line(None, 2, mix=None, stop=None), line("cv", "4 2 2 1 2"), line("mi", "4 4 3 2 2"), *drawn])


def test_shares_lie_between_members_and_drawn_orders_are_averaged(one_set):
    shares, first = one_set.ratios(page.SHARES, "cv", "joint")[0], one_set.ratios(page.FIRST, "random", "joint")[0]
    np.testing.assert_allclose(shares[[0, 1, 5, 10, 15, 20]], [1, 0.9, 0.5, 0.5, 0.25, 0.5])
    np.testing.assert_allclose(first[:6], [1, 0.75, 0.75, 0.5, 0.5, 0.5])


def test_a_curve_that_rises_beyond_its_noise_is_not_steady(one_set):
    random, cv, mi = page._steps(one_set, ("joint",)).to_dicts()
    assert [own["steady"] for own in (random, cv, mi)] == ["yes", "no", "yes"]
    assert (cv["lowest"], cv["rising steps"], cv["end"]) == ("0.250 at 75 %", 5, 0.5)
    assert cv["largest step"].startswith("+0.0500 ± 0.0000")
    assert cv["from lowest to end"] == "+0.2500 ± 0.0000"
