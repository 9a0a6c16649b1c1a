"""The kernel of samples against loops over rows and the formulas as printed, by every method and instruction set."""

import gc
import itertools
import math
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpu import cpu_levels
from tanager import _kernels

METHODS = ["auto", "bits", "increments", "hash"]
KINDS = ["ll", "aic", "bic", "k2", "bdeu"]


# --- the slow and obvious twin --------------------------------------------------------------------------------------


def weighed(codes, n_values, weights, variables):
    """The weight of every configuration, over the rows that have all the variables."""
    found = Counter()
    for r, row in enumerate(codes.tolist()):
        if all(row[i] < n_values[i] for i in variables):
            found[tuple(row[i] for i in variables)] += 1.0 if weights is None else weights[r]
    return Counter({key: n for key, n in found.items() if n > 0})


def margin(found, places):
    out = Counter()
    for key, n in found.items():
        out[tuple(key[p] for p in places)] += n
    return out


def table(codes, n_values, weights, variables):
    out = np.zeros([n_values[i] for i in variables])
    for key, n in weighed(codes, n_values, weights, variables).items():
        out[key] = n
    return out


def information(codes, n_values, weights, x, z, given):
    found = weighed(codes, n_values, weights, (x, z, *given))
    rest = tuple(range(2, 2 + len(given)))
    xc, zc, c = margin(found, (0, *rest)), margin(found, (1, *rest)), margin(found, rest)
    rows = sum(found.values())
    value = sum(n / rows * math.log(n * c[k[2:]] / (xc[k[0], *k[2:]] * zc[k[1], *k[2:]])) for k, n in found.items())
    df = pearson = 0.0
    for layer, total in c.items():
        xs = {k[0]: n for k, n in xc.items() if k[1:] == layer}
        zs = {k[0]: n for k, n in zc.items() if k[1:] == layer}
        df += (len(xs) - 1) * (len(zs) - 1)
        for (v, n), (w, m) in itertools.product(xs.items(), zs.items()):
            expected = n * m / total
            pearson += (found[v, w, *layer] - expected) ** 2 / expected
    naive = max(n_values[x] - 1, 0) * max(n_values[z] - 1, 0) * math.prod(n_values[i] for i in given)
    return max(value, 0.0), rows, df, float(naive), pearson


def score(kind, codes, n_values, weights, child, parents, ess):
    found = weighed(codes, n_values, weights, (child, *parents))
    n_ij = margin(found, tuple(range(1, 1 + len(parents))))
    r, q, rows = n_values[child], math.prod(n_values[i] for i in parents), sum(found.values())
    if kind in ("ll", "aic", "bic"):
        fit = sum(n * math.log(n / n_ij[key[1:]]) for key, n in found.items())
        return fit - {"ll": 0.0, "aic": 1.0, "bic": 0.5 * math.log(max(rows, 1.0))}[kind] * max(r - 1, 0) * q
    if kind == "k2":
        contexts = sum(math.lgamma(r) - math.lgamma(n + r) for n in n_ij.values())
        return contexts + sum(math.lgamma(n + 1) for n in found.values())
    contexts = sum(math.lgamma(ess / q) - math.lgamma(n + ess / q) for n in n_ij.values())
    return contexts + sum(math.lgamma(n + ess / (r * q)) - math.lgamma(ess / (r * q)) for n in found.values())


# --- random rows ----------------------------------------------------------------------------------------------------


def random_rows(rng, n_rows, n_values, missing=0.1, dtype=np.uint8):
    """Variables that follow each other a little, with gaps of both kinds: the marker, and codes beyond the values."""
    codes = np.empty((n_rows, len(n_values)), dtype=dtype, order="F")
    for i, a in enumerate(n_values):
        own = rng.integers(0, max(a, 1), n_rows)
        if i and a:
            own = np.where(rng.random(n_rows) < 0.5, codes[:, i - 1] % a, own)
        gaps = (rng.random(n_rows) < (missing if np.isscalar(missing) else missing[i])) | (a == 0)
        codes[:, i] = np.where(gaps, rng.choice([a, np.iinfo(dtype).max], n_rows), own)
    return codes


@st.composite
def samples(draw):
    n_values = draw(st.lists(st.sampled_from([0, 1, 2, 2, 3, 4, 6, 17]), min_size=2, max_size=5))
    rng = np.random.default_rng(draw(st.integers(0, 9999)))
    n_rows = draw(st.sampled_from([0, 1, 5, 63, 64, 130, 200]))
    dtype = draw(st.sampled_from([np.uint8, np.uint16]))
    missing = [draw(st.sampled_from([0.0, 0.2])) for _ in n_values]  # columns with gaps beside others without
    codes = random_rows(rng, n_rows, n_values, missing, dtype)
    weights = rng.choice([0.0, 0.5, 1.0, 2.5], n_rows) if draw(st.booleans()) else None
    return codes, n_values, weights


@given(samples(), st.sampled_from(cpu_levels()))
def test_counts_are_those_of_a_loop_over_rows(rows, level):
    codes, n_values, weights = rows
    _kernels.set_cpu_level(level)
    sample = _kernels.Sample(codes, n_values, weights)
    for n in range(len(n_values) + 1):
        for variables in itertools.islice(itertools.permutations(range(len(n_values)), n), 6):
            expected = table(codes, n_values, weights, variables)
            for method in METHODS:
                found = sample.count(variables, method)
                assert found.shape == expected.shape
                np.testing.assert_array_equal(found, expected)  # halves add up without rounding


@given(samples(), st.sampled_from(cpu_levels()))
def test_information_is_as_defined(rows, level):
    codes, n_values, weights = rows
    _kernels.set_cpu_level(level)
    sample = _kernels.Sample(codes, n_values, weights)
    for x, z, *given_ in itertools.islice(itertools.permutations(range(len(n_values))), 8):
        for given_now in ([], given_[:1], given_):
            expected = information(codes, n_values, weights, x, z, given_now)
            for method in METHODS:
                found = sample.information(x, z, given_now, method)
                np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)
                assert math.copysign(1.0, found[0]) == 1.0


@given(samples(), st.sampled_from(cpu_levels()), st.sampled_from([0.5, 1.0, 7.0]))
def test_scores_are_as_printed(rows, level, ess):
    codes, n_values, weights = rows
    _kernels.set_cpu_level(level)
    sample = _kernels.Sample(codes, n_values, weights)
    others = range(1, len(n_values))
    sets = [list(own) for n in range(len(n_values)) for own in itertools.combinations(others, n)]
    for kind in KINDS:
        expected = [score(kind, codes, n_values, weights, 0, own, ess) for own in sets]
        for method in METHODS:
            np.testing.assert_allclose(sample.scores(kind, 0, sets, ess, method), expected, rtol=1e-9, atol=1e-9)


@given(samples(), st.randoms(use_true_random=False))
def test_a_family_has_the_same_score_to_the_last_bit_in_whatever_company(rows, random):
    codes, n_values, weights = rows
    sample = _kernels.Sample(codes, n_values, weights)
    sets = [list(own) for n in range(len(n_values)) for own in itertools.combinations(range(1, len(n_values)), n)]
    alone = [sample.scores("bic", 0, [own])[0] for own in sets]
    order = random.sample(range(len(sets)), len(sets))
    together = sample.scores("bic", 0, [random.sample(sets[k], len(sets[k])) for k in order])
    assert together.tolist() == [alone[k] for k in order]


# --- many rows, many values, many cells -----------------------------------------------------------------------------


@pytest.mark.parametrize("n_rows", [511, 4096, 40_001])
@pytest.mark.parametrize("missing", [0.0, 0.05])
def test_blocks_of_rows_add_up(n_rows, missing):
    n_values = [2, 3, 4, 16, 2, 5]
    codes = random_rows(np.random.default_rng(n_rows), n_rows, n_values, missing)
    for variables in ([4], [0, 1], [2, 0, 4], [3, 2, 1], [0, 1, 2, 3, 4, 5]):
        own = codes[:, variables].astype(int)
        expected = np.zeros([n_values[i] for i in variables])
        whole = (own < expected.shape).all(axis=1)
        np.add.at(expected, tuple(own[whole].T), 1.0)
        for method, level in itertools.product(METHODS[:3], cpu_levels()):
            _kernels.set_cpu_level(level)
            found = _kernels.Sample(codes, n_values, None).count(variables, method)
            np.testing.assert_array_equal(found, expected, err_msg=f"{variables} {method} {level}")


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_all_methods_agree_on_many_rows(dtype):
    n_values = [2, 3, 4, 5, 2, 2, 200 if dtype == np.uint8 else 300]
    codes = random_rows(np.random.default_rng(1), 9000, n_values, 0.02, dtype)
    sample = _kernels.Sample(codes, n_values, None)
    for given_ in ([], [2], [2, 3], [4, 5, 3, 2], [6], [6, 2]):
        expected = sample.information(0, 1, given_, "increments")
        for method in METHODS:
            np.testing.assert_allclose(sample.information(0, 1, given_, method), expected, rtol=1e-9, atol=1e-12)
    sets = [[1], [1, 2], [1, 3], [4, 1, 2], [6, 1], [6, 2], [1, 2, 3, 4, 5, 6], []]
    for kind in KINDS:
        expected = sample.scores(kind, 0, sets, 1.0, "increments")
        for method in METHODS:
            np.testing.assert_allclose(sample.scores(kind, 0, sets, 1.0, method), expected, rtol=1e-11)


def test_more_configurations_than_numbers_of_64_bits():
    """Forty variables of four values: 4**40 configurations, of which a few hundred occur."""
    rng = np.random.default_rng(0)
    kinds = rng.integers(0, 4, (200, 40))
    kinds[100:, 8:] = kinds[:100, 8:]  # numbers that overflow would know only the last 32
    which = rng.integers(0, 200, 1000)
    codes = np.asfortranarray(np.c_[rng.integers(0, 3, (1000, 2)), kinds[which]].astype(np.uint8))
    codes[::50, 7] = 255
    n_values = [3, 3] + [4] * 40
    expected = information(codes, n_values, None, 0, 1, range(2, 42))
    sample = _kernels.Sample(codes, n_values, None)
    for method in METHODS:
        np.testing.assert_allclose(sample.information(0, 1, range(2, 42), method), expected, rtol=1e-9)
        found = sample.scores("bdeu", 0, [list(range(2, 42))], 1.0, method)[0]
        assert found == pytest.approx(score("bdeu", codes, n_values, None, 0, range(2, 42), 1.0), rel=1e-9)


def test_exact_distributions_are_rows_weighted_by_their_probability():
    # x is fair, z copies it with probability 0.9: I = log 2 - H(0.9)
    codes = np.asfortranarray([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.uint8)
    value, rows, *_ = _kernels.Sample(codes, [2, 2], np.array([0.45, 0.05, 0.05, 0.45])).information(0, 1, [])
    assert value == pytest.approx(math.log(2) + 0.9 * math.log(0.9) + 0.1 * math.log(0.1), abs=1e-12)
    assert rows == pytest.approx(1.0)


# --- the door -------------------------------------------------------------------------------------------------------


def test_the_arrays_live_as_long_as_the_sample():
    codes = random_rows(np.random.default_rng(2), 5000, [2, 3], 0.0)
    weights = np.random.default_rng(3).random(5000)
    expected = table(codes, [2, 3], weights, (0, 1))
    sample = _kernels.Sample(codes, [2, 3], weights)
    del codes, weights
    gc.collect()
    [np.full(10_000, 7, np.uint8) for _ in range(20)]
    np.testing.assert_allclose(sample.count([0, 1]), expected)


def test_threads_may_ask_at_the_same_time():
    n_values = [2, 3, 4, 5, 2, 2, 3, 4]
    codes = random_rows(np.random.default_rng(4), 50_000, n_values, 0.01)
    questions = [(x, z, [g]) for x, z, g in itertools.permutations(range(8), 3)]
    expected = [_kernels.Sample(codes, n_values, None).information(*question) for question in questions[:40]]
    sample = _kernels.Sample(codes, n_values, None)
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda question: sample.information(*question), questions[:40])) == expected


GOOD = np.zeros((4, 2), dtype=np.uint8, order="F")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((GOOD.tolist(), [2, 2], None), "codes must be a NumPy array"),
        ((GOOD.astype(int), [2, 2], None), "codes must be uint8 or uint16"),
        ((GOOD[:, 0], [2], None), "codes must have 2 dimension"),
        ((np.ascontiguousarray(GOOD), [2, 2], None), "column after column"),
        ((GOOD[::2], [2, 2], None), "column after column"),
        ((GOOD, [2], None), "codes has 2 columns, n_values has 1 entries"),
        ((GOOD, [2, 256], None), "n_values must lie in 0 .. 255"),
        ((GOOD, [2, -1], None), "n_values must lie in 0 .. 255"),
        ((GOOD, [2, 2], np.ones(4, np.float32)), "weights must be float64"),
        ((GOOD, [2, 2], np.ones(3)), "weights has 3 entries, there must be one weight per row: 4"),
        ((GOOD, [2, 2], np.ones(8)[::2]), "weights must be contiguous"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        _kernels.Sample(*arguments)


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda sample: sample.count([2]), "variable 2 does not exist"),
        (lambda sample: sample.count([-1]), "variable -1 does not exist"),
        (lambda sample: sample.count([0, 0]), "variable 0 is named twice"),
        (lambda sample: sample.count([0], "guess"), "not 'guess'"),
        (lambda sample: sample.information(0, 0, []), "variable 0 is named twice"),
        (lambda sample: sample.information(0, 1, [1]), "variable 1 is named twice"),
        (lambda sample: sample.scores("bic", 5, [[]]), "variable 5 does not exist"),
        (lambda sample: sample.scores("bic", 0, [[1], [0]]), "variable 0 is named twice"),
        (lambda sample: sample.scores("mdl", 0, [[1]]), "not 'mdl'"),
        (lambda sample: sample.scores("bdeu", 0, [[1]], 0.0), "must be positive"),
        (lambda sample: sample.scores("bdeu", 0, [[1]], math.nan), "must be positive"),
    ],
)
def test_questions_that_mean_nothing_are_refused(ask, sentence):
    with pytest.raises(ValueError, match=sentence):
        ask(_kernels.Sample(GOOD, [2, 2], None))


def test_a_table_beyond_all_memory_is_refused():
    codes = np.zeros((1, 8), dtype=np.uint8, order="F")
    with pytest.raises(ValueError, match="4e9 cells"):
        _kernels.Sample(codes, [200] * 8, None).count(range(8))


def test_no_family_gives_no_score():
    assert _kernels.Sample(GOOD, [2, 2], None).scores("bic", 0, []).shape == (0,)
