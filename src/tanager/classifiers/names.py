"""Short names of classifiers, as on the command line and in the studio; the classes themselves are not imported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class ModelEntry:
    """The class behind a name, a line of help, preset options, and the model that it wraps.

    With ``compared=False`` (slow ones, and those that need further options) ``compare`` tries it only when it is named.
    """

    cls: str
    about: str
    options: Mapping[str, Any] = field(default_factory=dict)
    wraps: str = ""
    compared: bool = True


MODELS = {
    "nb": ModelEntry("NaiveBayes", "naive Bayes: columns depend on the class alone"),
    "gaussian-nb": ModelEntry("NaiveBayes", "naive Bayes with normal distributions for numbers", {"gaussian": True}),
    "tan": ModelEntry("TAN", "a tree: each column depends on one other"),
    "fan": ModelEntry("FAN", "a forest: only the significant arcs of the tree"),
    "sptan": ModelEntry("SuperParentTAN", "a tree grown by accuracy; slow"),
    "hctan": ModelEntry("SuperParentTAN", "a tree grown by trying every arc", {"search": "arcs"}, compared=False),
    "snb": ModelEntry("SelectiveNaiveBayes", "naive Bayes on the columns that are worth it", compared=False),
    "stan": ModelEntry("Selective", "a tree on the columns that are worth it", wraps="tan", compared=False),
    "saode": ModelEntry("Selective", "aode on the columns that are worth it", wraps="aode", compared=False),
    "bsej": ModelEntry("BSEJ", "naive Bayes with columns left out or joined", compared=False),
    "fssj": ModelEntry("FSSJ", "naive Bayes with columns added or joined", compared=False),
    "semi": ModelEntry("SemiNaiveBayes", "naive Bayes with values of two columns joined", compared=False),
    "anb": ModelEntry("AdjustedNaiveBayes", "naive Bayes with weights of the classes", compared=False),
    "kdb": ModelEntry("KDB", "up to k other parents for each column (--set k=2)"),
    "skdb": ModelEntry("SelectiveKDB", "kdb that selects k and the columns"),
    "spode": ModelEntry("SPODE", "one column is a parent of all others"),
    "aode": ModelEntry("AODE", "the average over all spode models; try it first"),
    "aodesr": ModelEntry("AODE", "aode with subsumption resolution", {"subsumption": 50}),
    "waode": ModelEntry("WAODE", "aode weighted by mutual information; for noisy columns"),
    "a2de": ModelEntry("A2DE", "the average over pairs of columns as parents"),
    "ande": ModelEntry("ANDE", "the average over sets of n columns as parents (--set n=3)", {"n": 3}, compared=False),
    "anytime": ModelEntry("AnytimeAODE", "aode with anytime predictions, for services", compared=False),
    "anytime2": ModelEntry("AnytimeA2DE", "a2de with anytime predictions", compared=False),
    "tbmatan": ModelEntry("TBMATAN", "the average over all trees by their probability", compared=False),
    "hnb": ModelEntry("HNB", "each column depends on a mixture of all others"),
    "fanc": ModelEntry("FANC", "an average over n! forests"),
    "spc": ModelEntry("SPC", "an average over forests with a super-parent"),
    "spcr": ModelEntry("SPC", "spc with the super-parent selected on the data", {"super_parent": "refined"}),
    "spcr-stream": ModelEntry("SPC", "spcr for streams: no rows are kept", {"super_parent": "stream"}, compared=False),
    "tc": ModelEntry("TC", "an average over networks with up to two parents"),
    "network-forest": ModelEntry("NetworkForest", "a forest of random networks; the most accurate"),
    "nbtree": ModelEntry("NBTree", "a decision tree with naive Bayes in its leaves", compared=False),
    "recursive": ModelEntry("RecursiveBayes", "naive Bayes whose answers are asked again", compared=False),
    "lbr": ModelEntry("LBR", "naive Bayes over the rows that share values; lazy", compared=False),
    "best": ModelEntry("BestOf", "selects the best of several by leave-one-out"),
    "ban": ModelEntry("BAN", "any network over the columns, plus the class as parent"),
    "gbn": ModelEntry("GeneralNetwork", "any network; predicts from the Markov blanket", compared=False),
    "mn": ModelEntry("MultiNet", "a separate network for every class", compared=False),
    "clmn": ModelEntry("ChowLiuMultiNet", "a separate tree for every class"),
    "w-gbn": ModelEntry("Wrapped", "gbn with the best threshold", wraps="gbn", compared=False),
    "w-mn": ModelEntry("Wrapped", "mn with the best threshold", wraps="mn", compared=False),
    "w-mn-fs": ModelEntry(
        "Wrapped", "w-mn on the columns that w-gbn selects", {"features": "blanket"}, wraps="mn", compared=False
    ),
    "half-lives": ModelEntry(
        "HalfLives", "aode with several half-lives, mixed; for streams", wraps="aode", compared=False
    ),
    "hoeffding": ModelEntry("HoeffdingTree", "a decision tree that grows along a stream", compared=False),
    "evolving": ModelEntry("EvolvingNaiveBayes", "naive Bayes with evolving clusters; fuzzy rules", compared=False),
    "network": ModelEntry("NetworkClassifier", "a given network (--network)", compared=False),
}
