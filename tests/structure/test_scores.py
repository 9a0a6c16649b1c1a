"""Scores of networks: sums over families, alike for networks that no data can tell apart."""

import itertools
import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tanager import Sample
from tanager.networks.network import Network
from tanager.structure.scores import aic, bdeu, bic, conditional_log_likelihood, k2, log_likelihood

SCORES = [log_likelihood, aic, bic, k2, bdeu]
EQUIVALENT = [log_likelihood, aic, bic, bdeu]
NAMES = "abcd"


def random_sample(seed, n_rows=60):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 4, 4)
    codes = np.stack([rng.integers(0, a, n_rows) for a in sizes], axis=1).astype(np.uint8)
    codes[:, 1] = np.where(rng.random(n_rows) < 0.5, codes[:, 0] % sizes[1], codes[:, 1])
    return Sample(codes, [[f"{v}" for v in range(a)] for a in sizes], NAMES)


def network(sample, arcs):
    return Network(dict(zip(sample.names, sample.values, strict=True)), arcs)


seeds = st.integers(0, 999)


@given(seeds, st.sampled_from(SCORES))
def test_the_score_of_a_network_is_the_sum_over_its_families(seed, score):
    sample = random_sample(seed)
    arcs = [("a", "b"), ("b", "c"), ("a", "c")]
    families = [("a", []), ("b", ["a"]), ("c", ["b", "a"]), ("d", [])]
    assert score(network(sample, arcs), sample) == pytest.approx(sum(score(family, sample) for family in families))


@given(seeds, st.sampled_from(EQUIVALENT), st.sampled_from([0.3, 1.0, 10.0]))
def test_networks_of_the_same_independences_have_the_same_score(seed, score, ess):
    sample = random_sample(seed)
    options = {"ess": ess} if score is bdeu else {}

    def of(*arcs):
        return score(network(sample, arcs), sample, **options)

    assert of(("a", "b")) == pytest.approx(of(("b", "a")), rel=1e-10)
    chains = [of(("a", "b"), ("b", "c")), of(("b", "a"), ("b", "c")), of(("c", "b"), ("b", "a"))]
    assert chains == pytest.approx([chains[0]] * 3, rel=1e-10)
    whole = [of(*itertools.combinations(order, 2)) for order in itertools.permutations(NAMES)]
    assert whole == pytest.approx([whole[0]] * len(whole), rel=1e-10)


def test_k2_tells_directions_apart():
    sample = Sample(np.array([[0, 0], [0, 1], [0, 2], [1, 0]], np.uint8), [range(2), range(3)], ["a", "b"])
    there = k2(network(sample, [("a", "b")]), sample)
    back = k2(network(sample, [("b", "a")]), sample)
    assert abs(there - back) > 0.1


@given(seeds)
def test_the_log_likelihood_is_that_of_relative_frequencies(seed):
    sample = random_sample(seed)
    drawn = network(sample, [("a", "b"), ("b", "c"), ("a", "d"), ("c", "d")])
    with_tables = drawn.estimate(sample, smoothing=0.0)
    assert log_likelihood(drawn, sample) == pytest.approx(with_tables.log_likelihood(sample), rel=1e-9)


@given(seeds)
def test_k2_and_bdeu_are_the_probability_of_the_rows_one_after_the_other(seed):
    """The chain rule: each row is predicted from those before it, with pseudo-counts."""
    sample = random_sample(seed, n_rows=25)
    rows = sample.codes[:, [2, 0, 1]].tolist()  # c given a and b
    r, q = int(sample.n_values[2]), int(sample.n_values[0] * sample.n_values[1])
    for score, add in ((k2, 1.0), (bdeu, 1.0 / (r * q))):
        total = 0.0
        for t, (own, *context) in enumerate(rows):
            before = [value for value, *other in rows[:t] if other == context]
            total += math.log((before.count(own) + add) / (len(before) + r * add))
        assert score(("c", ["a", "b"]), sample) == pytest.approx(total, rel=1e-9, abs=1e-9)


def test_an_arc_pays_by_its_information_less_the_penalty():
    sample = random_sample(3)
    gain = bic(("b", ["a"]), sample) - bic(("b", []), sample)
    free = (sample.n_values[0] - 1) * (sample.n_values[1] - 1)
    assert gain == pytest.approx(60 * sample.information("a", "b").value - 0.5 * math.log(60) * free, abs=1e-9)


@given(seeds)
def test_conditional_log_likelihood_is_the_sum_of_log_posteriors(seed):
    sample = random_sample(seed, n_rows=8)
    drawn = network(sample, [("a", "b"), ("d", "a"), ("a", "c"), ("b", "c")]).estimate(sample, smoothing=1.0)
    total = 0.0
    for row in sample.codes.tolist():
        evidence = {name: sample.values[i][row[i]] for i, name in enumerate(NAMES) if name != "a"}
        total += math.log(drawn.posterior("a", evidence)[row[0]])
    assert conditional_log_likelihood(drawn, sample, "a") == pytest.approx(total, rel=1e-9, abs=1e-12)


def test_the_page_prints_what_it_claims(capsys):
    page = (Path(__file__).parents[2] / "docs" / "tests-and-scores.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(compile(code, "tests-and-scores.md", "exec"), {})
    claims = re.findall(r"^print\(.*\)  # (.*)$", code, re.MULTILINE)
    assert len(claims) == 5
    assert capsys.readouterr().out.splitlines() == claims
