"""The methods of the sources as they were printed: estimates, thresholds and rules, beside our better defaults.

``docs/as-published.md`` lists them; its table is made by ``python -m experiments.published``.
"""

from __future__ import annotations

from collections.abc import Mapping

from experiments.common import ENTROPY
from tanager import (
    AODE,
    BAN,
    CBL,
    FANC,
    LBR,
    SPC,
    TAN,
    TC,
    ChowLiuMultiNet,
    GeneralNetwork,
    HillClimb,
    MultiNet,
    NaiveBayes,
    PriorCounts,
    SelectiveNaiveBayes,
    Wrapped,
)
from tanager.learning.counts_classifier import CountsClassifier

THREE_BINS = {"bins": "width", "n_bins": 3}
COUNTED = {"smoothing": 0.0, "thin_parents": "keep"}  # observed frequencies, and all parents that were found

COLLECTIONS: Mapping[str, CountsClassifier] = {  # Bouckaert: voted collections
    "naive Bayes": NaiveBayes(**THREE_BINS),
    "TAN": TAN(missing="mode", **THREE_BINS),
    "AODE": AODE(**THREE_BINS),
    "FANC": FANC(**THREE_BINS),
    "SPC": SPC(**THREE_BINS),
    "SPCr": SPC(super_parent="refined", **THREE_BINS),
    "TC": TC(**THREE_BINS),
}
ANYTIME: Mapping[str, CountsClassifier] = {  # Webb: anytime AODE, against others in Weka
    "NB": NaiveBayes(**ENTROPY),
    "AODE": AODE(**ENTROPY),
    "TAN": TAN(**ENTROPY),
    "LBR": LBR(**ENTROPY),
}
TESTS: Mapping[str, CountsClassifier] = {  # Cheng and Greiner: networks by independence tests
    "GBN": GeneralNetwork(learner=CBL(), **COUNTED, **ENTROPY),
    "GBN, ordered": GeneralNetwork(learner=CBL(order="given"), **COUNTED, **ENTROPY),
    "BAN": BAN(learner=CBL(), **COUNTED, **ENTROPY),
    "MN": MultiNet(learner=CBL(), thresholds="same", **COUNTED, **ENTROPY),
    "MN, ordered": MultiNet(learner=CBL(order="given"), thresholds="same", **COUNTED, **ENTROPY),
    "MN-FS": MultiNet(learner=CBL(), thresholds="same", features="blanket", **COUNTED, **ENTROPY),
    "W-GBN": Wrapped(GeneralNetwork(learner=CBL(), **COUNTED, **ENTROPY)),
    "W-MN": Wrapped(MultiNet(learner=CBL(), thresholds="same", **COUNTED, **ENTROPY)),
    "W-MN-FS": Wrapped(MultiNet(learner=CBL(), thresholds="same", features="blanket", **COUNTED, **ENTROPY)),
}
LECTURE: Mapping[str, CountsClassifier] = {  # Feelders, after Friedman, Geiger and Goldszmidt
    "NB": NaiveBayes(smoothing=0.0, **ENTROPY),
    "SNB": SelectiveNaiveBayes(smoothing=0.0, **ENTROPY),
    "TAN": TAN(smoothing=0.0, **ENTROPY),
    "TAN, smoothed": TAN(smoothing=PriorCounts(5), **ENTROPY),
    "CL": ChowLiuMultiNet(smoothing=0.0, **ENTROPY),
    "CL, smoothed": ChowLiuMultiNet(smoothing=PriorCounts(5), **ENTROPY),
    "ANB": BAN(learner=HillClimb(score="bic"), **COUNTED, **ENTROPY),
    "MN": MultiNet(learner=HillClimb(score="bic"), thresholds="same", **COUNTED, **ENTROPY),
    "BN": GeneralNetwork(learner=HillClimb(score="bic"), class_root=False, **COUNTED, **ENTROPY),
}
SOURCES: Mapping[str, Mapping[str, CountsClassifier]] = {
    "Voted collections (Bouckaert)": COLLECTIONS,
    "Anytime AODE (Webb and others)": ANYTIME,
    "Networks by independence tests (Cheng and Greiner)": TESTS,
    "Bayesian network classifiers (lecture of Feelders, after Friedman and others)": LECTURE,
}


def table() -> str:
    """All of them, as Markdown."""
    lines = []
    for source, methods in SOURCES.items():
        lines += [f"## {source}", "", "| printed as | here |", "| --- | --- |"]
        lines += [f"| {name} | `{_written(model)}` |" for name, model in methods.items()]
        lines.append("")
    return "\n".join(lines)


def _written(model: CountsClassifier) -> str:
    return " ".join(repr(model).split())


if __name__ == "__main__":
    print(table())
