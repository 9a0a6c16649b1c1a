"""The classifiers, and what is said of their costs: m rows, n columns of a values, k classes.

A cost is a sum of terms such as "m n² + n² a² k". What it says about one size is the largest exponent that the size has
in a term: how the cost grows when all other sizes stay as they are, in the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tanager import (
    A2DE,
    ANDE,
    AODE,
    BAN,
    BSEJ,
    CBL,
    FAN,
    FANC,
    FSSJ,
    HNB,
    KDB,
    LBR,
    SPC,
    SPODE,
    TAN,
    TBMATAN,
    TC,
    WAODE,
    AdjustedNaiveBayes,
    AnytimeA2DE,
    AnytimeAODE,
    BestOf,
    ChowLiuMultiNet,
    Collection,
    DriftAware,
    EvolvingNaiveBayes,
    GeneralNetwork,
    GSquared,
    HalfLives,
    HillClimb,
    HoeffdingTree,
    MultiNet,
    NaiveBayes,
    NBTree,
    NetworkClassifier,
    NetworkForest,
    PDAGSearch,
    RecursiveBayes,
    Selective,
    SelectiveKDB,
    SelectiveNaiveBayes,
    SemiNaiveBayes,
    SuperParentTAN,
    Wrapped,
)

POWERS = {"²": 2, "³": 3, "⁴": 4}
SIZES = {"rows": "m", "columns": "n", "values": "a", "classes": "k"}


@dataclass(frozen=True)
class Subject:
    """A classifier, and what is said of its learning, of its memory and of an answer."""

    name: str
    group: str
    model: Any
    learning: str
    memory: str
    answering: str


def exponent(cost: str, size: str) -> int:
    """The largest exponent of a size, by its name, in a sum of terms."""
    return max(_degree(term, SIZES[size]) for term in cost.split(" + "))


def _degree(term: str, letter: str) -> int:
    return sum(POWERS[factor[1:]] if factor[1:] else 1 for factor in term.split() if factor[0] == letter)


def _subjects(group: str, *lines: tuple[str, Any, str, str, str]) -> list[Subject]:
    return [Subject(name, group, *line) for name, *line in lines]


ROWS = "m n"  # kept, as codes
SINGLES, PAIRS, TRIPLES = "n a k", "n² a² k", "n³ a³ k"
FAMILIES = f"n a² k + {ROWS}"  # of a network in which a column has one further parent

SUBJECTS: list[Subject] = [
    *_subjects(
        "naive",
        ("NaiveBayes", NaiveBayes(), "m n", SINGLES, "n k"),
        ("AdjustedNaiveBayes", AdjustedNaiveBayes(), "m n + m k", f"{SINGLES} + {ROWS}", "n k"),
        ("SelectiveNaiveBayes", SelectiveNaiveBayes(), "m n² k", f"{SINGLES} + {ROWS}", "n k"),
        ("FSSJ", FSSJ(), "m n³ k", f"{SINGLES} + {ROWS}", "n k"),
        ("BSEJ", BSEJ(), "m n³ k", f"{SINGLES} + {ROWS}", "n k"),
        ("SemiNaiveBayes", SemiNaiveBayes(), f"m n² + {PAIRS}", PAIRS, "n k"),
        ("LBR", LBR(), "m n", f"{SINGLES} + {ROWS}", "m n³ k"),
        ("NetworkClassifier", NetworkClassifier(), "m n", SINGLES, "n k"),
    ),
    *_subjects(
        "one-dependence",
        ("TAN", TAN(), f"m n² + {PAIRS}", PAIRS, "n k"),
        ("FAN", FAN(), f"m n² + {PAIRS}", PAIRS, "n k"),
        ("Selective(TAN)", Selective(TAN()), f"m n² k + {PAIRS}", f"{PAIRS} + {ROWS}", "n k"),
        ("SuperParentTAN", SuperParentTAN(), "m n³ k", f"{PAIRS} + {ROWS}", "n k"),
        ("SuperParentTAN, arcs", SuperParentTAN(search="arcs"), "m n³ k", f"{PAIRS} + {ROWS}", "n k"),
        ("KDB", KDB(), f"m n² + {PAIRS}", f"n a³ k + {PAIRS} + {ROWS}", "n k"),
        ("SelectiveKDB", SelectiveKDB(), f"m n² + m n k + {PAIRS}", f"n a³ k + {PAIRS} + {ROWS}", "n k"),
        ("SPODE", SPODE(), "m n² k", f"{PAIRS} + {ROWS}", "n k"),
    ),
    *_subjects(
        "averages",
        ("AODE", AODE(), "m n²", PAIRS, "n² k"),
        ("WAODE", WAODE(), f"m n² + {SINGLES}", PAIRS, "n² k"),
        ("HNB", HNB(), f"m n² + {PAIRS}", PAIRS, "n² k"),
        ("TBMATAN", TBMATAN(), f"m n² + {PAIRS}", PAIRS, "n³ k"),
        ("AnytimeAODE", AnytimeAODE(), "m n² k", PAIRS, "n² k"),
        ("A2DE", A2DE(), "m n³", TRIPLES, "n³ k"),
        ("AnytimeA2DE", AnytimeA2DE(), "m n³ k", TRIPLES, "n³ k"),
        ("ANDE(n=3)", ANDE(n=3), "m n⁴", "n⁴ a⁴ k", "n⁴ k"),
    ),
    *_subjects(
        "collections",
        ("Collection", Collection(), "m n", SINGLES, "n k"),
        ("FANC", FANC(), "m n²", PAIRS, "n² k"),
        ("FANC, first 6", FANC(max_parents_from=6), "m n", "n a² k", "n k"),
        ("SPC", SPC(), "m n²", "n² a³ k", "n² k"),
        ("SPC, refined", SPC(super_parent="refined"), "m n³ k", f"{TRIPLES} + {ROWS}", "n² k"),
        ("TC", TC(), "m n³", TRIPLES, "n³ k"),
        ("BestOf", BestOf(), f"m n² k + {PAIRS}", f"n a³ k + {PAIRS} + {ROWS}", "n² k"),
    ),
    *_subjects(
        "networks",
        ("GeneralNetwork", GeneralNetwork(), "m n⁴", FAMILIES, "n k"),
        ("GeneralNetwork, G²", GeneralNetwork(learner=CBL(test=GSquared())), "m n⁴", FAMILIES, "n k"),
        ("GeneralNetwork, climb", GeneralNetwork(learner=HillClimb()), "m n²", FAMILIES, "n k"),
        ("GeneralNetwork, PDAG", GeneralNetwork(learner=PDAGSearch()), "m n²", FAMILIES, "n k"),
        ("BAN", BAN(), "m n²", FAMILIES, "n k"),
        ("BAN, climb by cll", BAN(learner=HillClimb(score="cll")), "m n³ k", FAMILIES, "n k"),
        ("MultiNet", MultiNet(), "m n⁴", FAMILIES, "n k"),
        ("ChowLiuMultiNet", ChowLiuMultiNet(), f"m n² + {PAIRS}", FAMILIES, "n k"),
        ("Wrapped", Wrapped(GeneralNetwork()), "m n⁴", FAMILIES, "n k"),
    ),
    *_subjects(
        "trees and streams",
        ("NetworkForest", NetworkForest(), "m n", f"n + {ROWS}", "n k"),
        ("NBTree", NBTree(), "m n² k", f"{SINGLES} + {ROWS}", "n k"),
        ("NBTree(AODE)", NBTree(leaf=AODE()), "m n³ k", f"{PAIRS} + {ROWS}", "n² k"),
        ("RecursiveBayes", RecursiveBayes(), "m n k", f"{SINGLES} + {ROWS}", "n k"),
        ("HoeffdingTree", HoeffdingTree(), "m n k", SINGLES, "n k"),
        ("DriftAware(AODE)", DriftAware(AODE()), "m n² k", PAIRS, "n² k"),
        ("HalfLives(AODE)", HalfLives(AODE()), "m n² k", PAIRS, "n² k"),
        ("EvolvingNaiveBayes", EvolvingNaiveBayes(), "m n k", SINGLES, "n k"),
    ),
]
GROUPS = list(dict.fromkeys(subject.group for subject in SUBJECTS))
