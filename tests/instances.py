"""Every public classifier, with options that change how it learns or answers.

Each entry makes a classifier for a table of n columns. A public classifier without an entry takes part as it is.
"""

from __future__ import annotations

import inspect

import tanager
from tanager import (
    A2DE,
    AODE,
    BAN,
    CBL,
    FAN,
    FANC,
    HNB,
    KDB,
    SPC,
    SPODE,
    TAN,
    TC,
    WAODE,
    AnytimeA2DE,
    AnytimeAODE,
    BackOff,
    BDeu,
    BestOf,
    ChowLiu,
    ChowLiuMultiNet,
    Collection,
    GeneralNetwork,
    HillClimb,
    MEstimate,
    MultiNet,
    NaiveBayes,
    PriorCounts,
    SelectiveKDB,
    SuperParentTAN,
    Wrapped,
)
from tanager.counts.joint import JointCounts
from tanager.learning.counts_classifier import CountsClassifier
from tanager.scoring.view import View

PUBLIC = {
    value
    for value in (getattr(tanager, name) for name in tanager.__all__)
    if inspect.isclass(value) and issubclass(value, CountsClassifier)
}


def _chain(n):
    """Sets of none, one and two earlier columns."""
    return {i: [[], [i - 1], *([[i - 2, i - 1]] if i > 1 else [])] for i in range(1, n)}


INSTANCES = {
    "nb": lambda n: NaiveBayes(),
    "nb-ml": lambda n: NaiveBayes(smoothing=0),
    "nb-prior": lambda n: NaiveBayes(smoothing=PriorCounts()),
    "nb-sr": lambda n: NaiveBayes(subsumption=2),
    "nb-smooth": lambda n: NaiveBayes(unseen="smooth"),
    "nb-balanced": lambda n: NaiveBayes(class_weight="balanced"),
    "tan": lambda n: TAN(),
    "tan-root": lambda n: TAN(root=n - 1, smoothing=PriorCounts()),
    "tan-marginal": lambda n: TAN(missing="marginal"),
    "tan-marginal-smooth": lambda n: TAN(missing="marginal", unseen="smooth"),
    "tan-ml": lambda n: TAN(smoothing=0),
    "fan": lambda n: FAN(),
    "fan-g2": lambda n: FAN(criterion="g2", smoothing=BDeu()),
    "fan-bdeu": lambda n: FAN(criterion="bdeu", missing="marginal"),
    "spode": lambda n: SPODE(),
    "spode-0": lambda n: SPODE(super_parent=0),
    "spode-mi": lambda n: SPODE(super_parent="mi", smoothing=BackOff()),
    "spode-resub": lambda n: SPODE(super_parent="resub"),
    "sptan": lambda n: SuperParentTAN(),
    "aode": lambda n: AODE(),
    "aode-3": lambda n: AODE(min_count=3, smoothing=MEstimate()),
    "aode-sr": lambda n: AODE(subsumption=1),
    "aode-smooth": lambda n: AODE(unseen="smooth", smoothing=PriorCounts()),
    "aode-ml": lambda n: AODE(smoothing=0),
    "waode": lambda n: WAODE(),
    "anytime": lambda n: AnytimeAODE(stop="all"),
    "anytime-margin": lambda n: AnytimeAODE(member_order="mi", mix="posterior", stop="margin", odds=3.0),
    "anytime-2": lambda n: AnytimeAODE(member_order="given", stop="budget", members=2, unseen="smooth"),
    "anytime-a2de": lambda n: AnytimeA2DE(
        member_order="random", mix="replace", stop="all", smoothing=BackOff(), min_count=2
    ),
    "hnb": lambda n: HNB(),
    "hnb-ml": lambda n: HNB(smoothing=0),
    "a2de": lambda n: A2DE(),
    "a2de-backoff": lambda n: A2DE(smoothing=BackOff(), min_count=2),
    "fanc": lambda n: FANC(),
    "fanc-2": lambda n: FANC(max_parents_from=2, column_order="ig_sum", smoothing=BDeu(2.0)),
    "fanc-random": lambda n: FANC(column_order="random", random_state=3, unseen="smooth"),
    "fanc-weights": lambda n: FANC(weights={(i, None): 0 for i in range(1, n)}),
    "spc": lambda n: SPC(),
    "spc-mi": lambda n: SPC(super_parent="mi", column_order="mi"),
    "spcr": lambda n: SPC(super_parent="refined"),
    "tc": lambda n: TC(),
    "tc-weights": lambda n: TC(order_weights=(1, 2, 0), column_order="ig_class"),
    "collection": lambda n: Collection(_chain(n), smoothing=BackOff()),
    "collection-weights": lambda n: Collection({n - 1: [[0], []]}, weights={n - 1: [2, 0]}) if n > 1 else Collection(),
    "kdb": lambda n: KDB(),
    "kdb-1": lambda n: KDB(k=1),
    "selective": lambda n: SelectiveKDB(),
    "selective-01": lambda n: SelectiveKDB(k=1, loss="zero_one", smoothing=1),
    "kdb-3": lambda n: KDB(k=3, smoothing=1, threshold=0.01),
    "gbn": lambda n: GeneralNetwork(),
    "gbn-climb": lambda n: GeneralNetwork(learner=HillClimb(score="aic"), class_root=False, smoothing=1.0),
    "gbn-marginal": lambda n: GeneralNetwork(learner=CBL(threshold=0.05), missing="marginal", smoothing=PriorCounts()),
    "ban": lambda n: BAN(),
    "ban-tests": lambda n: BAN(learner=CBL(threshold=0.1, order="given"), missing="marginal"),
    "multinet": lambda n: MultiNet(learner=CBL(threshold=0.1)),
    "multinet-marginal": lambda n: MultiNet(learner=ChowLiu(), missing="marginal", unseen="smooth", smoothing=BDeu()),
    "multinet-blanket": lambda n: MultiNet(learner=CBL(threshold=0.2), features="blanket"),
    "clmn": lambda n: ChowLiuMultiNet(),
    "wrapped": lambda n: Wrapped(GeneralNetwork(), grid=[0.05, 0.2], folds=2),
    "wrapped-multinet": lambda n: Wrapped(MultiNet(features="blanket", missing="marginal"), grid=[0.1, 0.3]),
    "best": lambda n: BestOf(),
    "best-some": lambda n: BestOf([NaiveBayes(subsumption=1), TAN(missing="marginal"), KDB(smoothing=1)]),
    "best-priors": lambda n: BestOf([AODE(subsumption=1), KDB()], criterion="accuracy", unseen="smooth"),
}

_named = {type(make(3)) for make in INSTANCES.values()}
INSTANCES |= {cls.__name__: (lambda n, cls=cls: cls()) for cls in PUBLIC - _named}
NAMES = sorted(INSTANCES)


def make(name, n, **params):
    """The classifier of this name for n columns."""
    return INSTANCES[name](n).set_params(**params)


def needs_rows(name):
    return INSTANCES[name](3).looks_at_rows


def terms_of(form):
    only = form.only or ((),) * len(form.child)
    return list(zip(form.child, form.parents, form.weight, only, strict=True))


def view_of(table, form, smoothing, *, unseen="ignore", w=None, **options):
    """The form over counts of the table, the table's rows as codes, and a model that encodes."""
    model = NaiveBayes(unseen=unseen).fit(table.X, table.y, sample_weight=w)
    block = model.known_rows(table.X, table.y, w)
    old = model.counts_
    counts = JointCounts(old.schema, old.classes, families=form.families(), spare=old.spare)
    counts.update(block.codes, block.labels, block.weights)
    return View(counts, form, smoothing, smooth_unseen=unseen == "smooth", **options), block, model
