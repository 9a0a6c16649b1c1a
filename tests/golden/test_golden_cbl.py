"""Known answers of CBL on exact distributions, worked out by brute force, and of Chow-Liu trees on small tables."""

from graphlib import TopologicalSorter
from itertools import permutations

import numpy as np
import pytest
from golden_data import D10, X12, Y12

from exact_samples import ASIA, CANCER, DIAMOND, FIVE, KITE, asia, cancer, diamond, five, kite
from tanager.counts.sample import Sample
from tanager.networks import graph
from tanager.structure.cbl import CBL
from tanager.structure.chow_liu import ChowLiu

TRUTH = {"diamond": DIAMOND, "five": FIVE, "asia": ASIA}
SAMPLES = {"diamond": diamond, "five": five, "asia": asia}


def edges(text):
    return {frozenset(pair) for pair in text.split()}


def arcs(learned):
    return {parent + child for parent, child in learned.network.arcs}


def true_arcs(name):
    return {parent + child for child, own in TRUTH[name].items() for parent in own}


def done(learned, phase, action):
    return {frozenset(step.arc) for step in learned.steps if step.phase == phase and step.action == action}


def step(learned, phase, pair):
    return next(step for step in learned.steps if step.phase == phase and set(step.arc) == set(pair))


def directed(learned):
    return arcs(learned) - {parent + child for parent, child in learned.undirected}


def information(sample, pair, given=""):
    return sample.information(sample.index(pair[0]), sample.index(pair[1]), [sample.index(c) for c in given]).value


INFORMATION = {
    "diamond": "AB 0.275396 BD 0.229129 CD 0.182324 AD 0.171357 AC 0.132505 BC 0.063641",
    "five": "BD 0.310826 CE 0.240455 AB 0.223072 DE 0.193695 BE 0.172893 BC 0.156210 AD 0.121240 CD 0.085965 "
    "AE 0.069899 AC 0.063459",
    "asia": "AT 0.000405 SL 0.022440 SB 0.046201 TE 0.029283 LE 0.185399 EX 0.155120 ED 0.020482 BD 0.250615",
}


@pytest.mark.parametrize("name", INFORMATION)
def test_the_information_of_pairs(name):
    words = INFORMATION[name].split()
    for pair, value in zip(words[::2], words[1::2], strict=True):
        assert information(SAMPLES[name](), pair) == pytest.approx(float(value), abs=1e-6)


def test_cbl_without_an_order_on_the_diamond():
    learned = CBL(threshold=0.001).learn(diamond())
    assert done(learned, "draft", "add") == edges("AB BD CD")
    assert done(learned, "thicken", "add") == edges("AD AC")
    assert done(learned, "thicken", "skip") == edges("BC")
    assert done(learned, "thin", "remove") == edges("AD")
    assert step(learned, "thicken", "AD").value == pytest.approx(0.018856, abs=1e-6)
    assert step(learned, "thicken", "AD").given == ("B",)
    assert step(learned, "thicken", "AC").value == pytest.approx(0.032671, abs=1e-6)
    assert step(learned, "thicken", "AC").given == ("D",)
    assert step(learned, "thicken", "BC").value == pytest.approx(0, abs=1e-12)
    assert step(learned, "thicken", "BC").given == ("A",)
    assert step(learned, "thin", "AD").value == pytest.approx(0, abs=1e-12)
    assert step(learned, "thin", "AD").given == ("B", "C")
    assert directed(learned) == {"BD", "CD"}
    assert {frozenset(arc) for arc in learned.undirected} == edges("AB AC")


def test_cbl_along_an_order_on_the_diamond():
    learned = CBL(threshold=0.001, order=["A", "B", "C", "D"]).learn(diamond())
    assert done(learned, "draft", "add") == edges("AB BD CD AC")
    assert arcs(learned) == true_arcs("diamond")
    assert learned.undirected == ()


def test_cbl_without_an_order_on_five_nodes():
    learned = CBL(threshold=0.001).learn(five())
    assert done(learned, "draft", "add") == edges("BD CE AB DE")
    assert done(learned, "thicken", "add") == edges("BE BC")
    assert done(learned, "thin", "remove") == edges("BE")
    assert step(learned, "thin", "BE").given == ("C", "D")
    assert {frozenset(arc) for arc in arcs(learned)} == edges("BD CE AB DE BC")
    assert directed(learned) == {"CE", "DE"}


def test_cbl_along_an_order_on_five_nodes_drafts_all_as_the_collider_blocks_the_way():
    learned = CBL(threshold=0.001, order="given").learn(five())
    assert done(learned, "draft", "add") == edges("BD CE AB DE BC")
    assert arcs(learned) == true_arcs("five")


@pytest.mark.parametrize(("threshold", "missed"), [(1e-5, set()), (0.001, {"AT"})])
def test_cbl_finds_asia_with_and_without_an_order(threshold, missed):
    along = CBL(threshold=threshold, order="given").learn(asia())
    assert arcs(along) == true_arcs("asia") - missed
    without = CBL(threshold=threshold).learn(asia())
    assert {frozenset(arc) for arc in arcs(without)} == {frozenset(arc) for arc in true_arcs("asia") - missed}
    assert directed(without) == {"TE", "LE", "EX", "ED", "BD"}


def test_at_a_coarse_threshold_asia_contradicts_itself_and_there_is_no_cycle():
    assert arcs(CBL(threshold=0.01, order="given").learn(asia())) == true_arcs("asia") - {"AT"}
    learned = CBL(threshold=0.01).learn(asia())
    found = {frozenset(arc) for arc in arcs(learned)}
    assert frozenset("DL") in found
    assert frozenset("DE") not in found
    refused = [step for step in learned.steps if step.action == "refuse"]
    assert {step.arc for step in refused} >= {("L", "D")}
    TopologicalSorter({child: learned.network.parents(child) for child in learned.network.names}).prepare()


def equivalence_class(arcs, names):
    parents = [[names.index(u) for u, v in arcs if v == name] for name in names]
    return graph.cpdag(parents)


@pytest.mark.parametrize(
    ("sample", "truth", "compelled"), [(cancer, CANCER, {"IC", "BC"}), (kite, KITE, {"AD", "BD", "CD"})]
)
def test_whatever_the_order_of_the_columns_the_network_is_equivalent_to_the_true_one(sample, truth, compelled):
    """A direction that the data leave open must not make a new collider, such as H -> B <- M where H comes before B."""
    names = "".join(sample().names)
    true = equivalence_class([(parent, child) for child, own in truth.items() for parent in own], names)
    for order in permutations(names):
        learned = CBL(threshold=1e-5).learn(sample(order))
        assert equivalence_class(learned.network.arcs, names) == true
        assert directed(learned) == compelled


def test_along_the_order_of_the_table_an_open_direction_may_make_a_collider():
    learned = CBL(threshold=1e-5, extend="order").learn(cancer("MIHBC"))
    assert directed(learned) == {"IC", "BC"}
    assert set(learned.network.parents("B")) == {"M", "H"}  # M and H are not independent: no network of the class


# --- Chow and Liu's tree -------------------------------------------------------------------------------------------


def sample_of(codes):
    names = [f"x{i + 1}" for i in range(codes.shape[1])]
    return Sample(codes.astype(np.uint8), [range(n) for n in codes.max(0) + 1], names)


def test_the_tree_of_the_slides():
    learned = ChowLiu().learn(sample_of(D10))
    assert learned.network.arcs == [("x4", "x2"), ("x2", "x3"), ("x1", "x4")]
    assert [step.arc for step in learned.steps] == [("x1", "x4"), ("x2", "x3"), ("x2", "x4")]
    values = [step.value for step in learned.steps]
    assert values == pytest.approx([0.554518, 0.032189, 0.032189], abs=1e-6)


def test_the_trees_of_both_classes():
    whole = sample_of(np.column_stack([X12, Y12]))
    said = {
        0: {"34": 0.410116, "35": 0.212074, "14": 0.202185, "24": 0.088782},
        1: {"13": 0.223144, "15": 0.118494, "23": 0.118494, "34": 0.118494},
    }
    for label, tree in said.items():
        learned = ChowLiu().learn(whole.where(5, label), nodes=range(5))
        found = {"".join(name[1] for name in step.arc): step.value for step in learned.steps}
        assert found == pytest.approx(tree, abs=1e-6)
        assert learned.network.parents("x1") == ()


def test_given_the_class_the_tree_is_that_of_tan():
    learned = ChowLiu().learn(sample_of(np.column_stack([X12, Y12])), given=[5])
    assert {frozenset(step.arc) for step in learned.steps} == {
        frozenset(pair) for pair in [("x3", "x4"), ("x1", "x3"), ("x3", "x5"), ("x2", "x4")]
    }
