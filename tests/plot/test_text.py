"""Text drawings: whoever reads the lines knows every arc, once."""

import re
from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tanager import KDB, TAN, NaiveBayes, PDAGSearch, learn_network
from tanager.networks.network import Network
from tanager.plot import network_text

NAMES = [f"variable number {i}" if i % 3 else f"v{i}" for i in range(24)]


@st.composite
def networks(draw):
    names = NAMES[: draw(st.integers(1, len(NAMES)))]
    pairs = list(combinations(names, 2))
    arcs = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=2 * len(names))) if pairs else []
    shown = draw(st.permutations(names))
    return Network(dict.fromkeys(shown, ("a", "b")), arcs)


def read(text):
    """The arcs of a drawing, by following its lines with a finger, and the variables without one."""
    arcs, alone, above = [], [], []  # above: the variable that is open at each depth
    item = re.compile(r"[^,←…]+")
    whole = re.sub(r"(,|←|<-)\n[│| ]*", r"\1 ", text).replace("`-", "└─").replace("|-", "├─").replace("<-", "←")
    whole = whole.replace("...", "…").replace("|", "│")
    for line in whole.splitlines():
        if line.startswith("without arcs: "):
            alone = [name.strip() for name in line.removeprefix("without arcs: ").split(",")]
            continue
        lead, rest = re.fullmatch(r"((?:│  |   )*(?:├─ |└─ )?)(.*)", line).groups()
        depth = len(lead) // 3
        own, _, others = rest.partition("←")
        name = re.sub(r" \([\d.]+\)", "", own).strip(" …")
        above[depth:] = [name]
        if depth:
            arcs.append((above[depth - 1], name))
        arcs += [(re.sub(r" \([\d.]+\)", "", p).strip(), name) for p in item.findall(others)]
    return arcs, alone


@given(networks(), st.booleans(), st.sampled_from([60, 80, 200]))
def test_every_arc_can_be_read_from_the_drawing_exactly_once(network, ascii, width):
    information = {arc: 0.5 + at / 100 for at, arc in enumerate(network.arcs)}
    text = network_text(network, information=information, width=width, ascii=ascii)
    arcs, alone = read(text)
    assert sorted(arcs) == sorted(network.arcs)
    assert set(alone) == set(network.names) - {name for arc in network.arcs for name in arc}
    assert text.isascii() == (ascii or not re.search("[│├└←…]", text))


@given(networks(), st.sampled_from([60, 80]))
def test_no_line_is_too_long(network, width):
    information = dict.fromkeys(network.arcs, 0.5)
    assert all(len(line) <= width for line in network_text(network, information=information, width=width).splitlines())


def test_the_class_comes_first_and_its_children_stand_below_it():
    arcs = [("a", "class"), ("class", "b"), ("c", "b"), ("b", "d"), ("c", "d")]
    network = Network(dict.fromkeys(["a", "b", "c", "d", "e", "class"], (0, 1)), arcs)
    assert network_text(network, target="class", information={("c", "d"): 0.25, ("b", "d"): 0.5}) == (
        "class ← a\n"
        "└─ b ← c\n"
        "   └─ d (0.500) ← c (0.250)\n"
        "a\n"
        "c\n"
        "without arcs: e"
    )  # fmt: skip


def test_a_long_branch_goes_on_below():
    names = [f"v{i}" for i in range(8)]
    network = Network(dict.fromkeys(names, (0, 1)), pairwise(names))
    assert network_text(network, width=24, ascii=True) == (
        "v0\n"
        "`- v1\n"
        "   `- v2\n"
        "      `- v3\n"
        "         `- v4\n"
        "            `- v5 ...\n"
        "v5 ...\n"
        "`- v6\n"
        "   `- v7"
    )  # fmt: skip


def test_columns_that_depend_on_the_class_alone_are_a_list():
    X = {"wind": ["no", "no", "yes", "yes"], "rain": ["no", "yes", "no", "yes"]}
    model = NaiveBayes().fit(X, ["play", "play", "stay", "play"])
    assert network_text(model, target="game") == "game: a parent of all\n└─ wind, rain"


@pytest.mark.parametrize("model", [TAN(), KDB()], ids=repr)
def test_the_arcs_of_a_classifier_are_those_of_its_parents(model):
    rows = [[i % 2, i // 2 % 2, (i % 2) ^ (i // 4 % 2), i % 3] for i in range(60)]
    model.fit(rows, [i // 3 % 2 for i in range(60)])
    lines = network_text(model).splitlines()
    assert lines[0] == "class: a parent of all"
    arcs, _ = read("\n".join(line[3:] for line in lines[1:]))
    assert sorted(arcs) == sorted((parent, child) for child, own in model.parents_.items() for parent in own)


def test_edges_of_an_equivalence_class_without_a_direction_are_named():
    rows = [[a, b] for a in (0, 1) for b in (0, 1)] * 20
    learned = learn_network(rows, [a for a, _ in rows], PDAGSearch())
    assert learned.undirected == (("class", "x0"),)
    text = network_text(learned, target="class")
    assert text.splitlines()[-1] == "may point either way: class - x0"
    assert "either way" not in network_text(learned.network, target="class")
