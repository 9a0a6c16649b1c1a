"""Instances of every public classifier, for all tests of laws and all common checks.

A new public classifier gets a line in INSTANCES: the common checks and the laws then hold it to what all others
promise. Its first line is the one that checks over every classifier take, so it should be quick; further lines show
options that change how it learns or answers. Most checks take a third of the classifiers in a quick run: see ``spread``
in profiles.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tanager
from profiles import THOROUGH
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
    K2,
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
    BackOff,
    BDeu,
    BestOf,
    ChowLiu,
    ChowLiuMultiNet,
    Collection,
    DriftAware,
    EvolvingNaiveBayes,
    GeneralNetwork,
    GSquared,
    HalfLives,
    HillClimb,
    HoeffdingTree,
    LearnedBackOff,
    MEstimate,
    MultiNet,
    NaiveBayes,
    NBTree,
    Network,
    NetworkClassifier,
    NetworkForest,
    PDAGSearch,
    PriorCounts,
    RecursiveBayes,
    Selective,
    SelectiveKDB,
    SelectiveNaiveBayes,
    SemiNaiveBayes,
    SuperParentTAN,
    Wrapped,
)
from tanager.counts.joint import JointCounts
from tanager.learning.classifier import Classifier
from tanager.learning.counts_classifier import CountsClassifier
from tanager.scoring.view import View

PUBLIC: list[type[Classifier]] = [
    item
    for item in (getattr(tanager, name) for name in tanager.__all__)
    if isinstance(item, type) and issubclass(item, Classifier)
]
COUNTING: list[type[CountsClassifier]] = [cls for cls in PUBLIC if issubclass(cls, CountsClassifier)]


def _chain(n: int) -> dict[int, list[list[int]]]:
    """Sets of none, one and two earlier columns."""
    return {i: [[], [i - 1], *([[i - 2, i - 1]] if i > 1 else [])] for i in range(1, n)}


# A classifier for a table of n columns, which are called x0, x1 and so on.
INSTANCES: dict[str, Callable[[int], CountsClassifier]] = {
    "nb": lambda n: NaiveBayes(),
    "nb-ml": lambda n: NaiveBayes(smoothing=0),
    "nb-prior": lambda n: NaiveBayes(smoothing=PriorCounts()),
    "nb-sr": lambda n: NaiveBayes(subsumption=2),
    "nb-smooth": lambda n: NaiveBayes(unseen="smooth"),
    "nb-balanced": lambda n: NaiveBayes(class_weight="balanced"),
    "nb-calibrated": lambda n: NaiveBayes(calibrate=True),
    "tan": lambda n: TAN(),
    "tan-calibrated": lambda n: TAN(calibrate=True),
    "tan-root": lambda n: TAN(root=n - 1, smoothing=PriorCounts()),
    "tan-marginal": lambda n: TAN(missing="marginal"),
    "tan-marginal-smooth": lambda n: TAN(missing="marginal", unseen="smooth"),
    "tan-mode": lambda n: TAN(missing="mode"),
    "tan-ml": lambda n: TAN(smoothing=0),
    "tan-jeffreys": lambda n: TAN(criterion="jeffreys"),
    "fan": lambda n: FAN(),
    "fan-g2": lambda n: FAN(criterion="g2", smoothing=BDeu()),
    "fan-bdeu": lambda n: FAN(criterion="bdeu", missing="marginal"),
    "fan-k2": lambda n: FAN(criterion="k2"),
    "spode": lambda n: SPODE(),
    "spode-0": lambda n: SPODE(super_parent=0),
    "spode-mi": lambda n: SPODE(super_parent="mi", smoothing=BackOff()),
    "spode-rare": lambda n: SPODE(super_parent="mi", min_count=3),
    "spode-resub": lambda n: SPODE(super_parent="resub"),
    "sptan": lambda n: SuperParentTAN(),
    "sptan-arcs": lambda n: SuperParentTAN(search="arcs", criterion="log_loss"),
    "selective-nb": lambda n: SelectiveNaiveBayes(),
    "selective-nb-best": lambda n: SelectiveNaiveBayes(direction="best_first", criterion="log_loss", unseen="smooth"),
    "selective-tan": lambda n: Selective(TAN()),
    "selective-aode": lambda n: Selective(AODE()),
    "selective-aode-prior": lambda n: Selective(
        AODE(min_count=2, smoothing=PriorCounts()), roles="both", direction="forward", criterion="log_loss"
    ),
    "selective-columns": lambda n: Selective(KDB(), direction="forward", criterion="auc"),
    "bsej": lambda n: BSEJ(),
    "bsej-m": lambda n: BSEJ(criterion="log_loss", smoothing=MEstimate(), unseen="smooth"),
    "fssj": lambda n: FSSJ(),
    "semi-naive": lambda n: SemiNaiveBayes(),
    "semi-naive-smooth": lambda n: SemiNaiveBayes(reliability=0.1, unseen="smooth", smoothing=MEstimate()),
    "adjusted": lambda n: AdjustedNaiveBayes(),
    "aode": lambda n: AODE(),
    "aode-3": lambda n: AODE(min_count=3, smoothing=MEstimate()),
    "aode-sr": lambda n: AODE(subsumption=1),
    "aode-smooth": lambda n: AODE(unseen="smooth", smoothing=PriorCounts()),
    "aode-ml": lambda n: AODE(smoothing=0),
    "aode-learned": lambda n: AODE(smoothing=LearnedBackOff()),
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
    "ande": lambda n: ANDE(),
    "ande-0": lambda n: ANDE(n=0, unseen="smooth"),
    "ande-3": lambda n: ANDE(n=3, min_count=2),
    "ande-3-rows": lambda n: ANDE(n=3, lazy=True),
    "ande-4-rows": lambda n: ANDE(n=4, lazy=True, min_count=2, smoothing=MEstimate(2), unseen="smooth"),
    "ande-3-backoff": lambda n: ANDE(n=3, smoothing=BackOff(), unseen="smooth"),
    "tbmatan": lambda n: TBMATAN(),
    "tbmatan-soft": lambda n: TBMATAN(ess=2, soften=True, unseen="smooth"),
    "fanc": lambda n: FANC(),
    "fanc-2": lambda n: FANC(max_parents_from=2, column_order="ig_sum", smoothing=BDeu(2.0)),
    "fanc-random": lambda n: FANC(column_order="random", random_state=3, unseen="smooth"),
    "fanc-weights": lambda n: FANC(weights={(i, None): 0 for i in range(1, n)}),
    "spc": lambda n: SPC(),
    "spc-mi": lambda n: SPC(super_parent="mi", column_order="mi"),
    "spcr": lambda n: SPC(super_parent="refined"),
    "spc-weights": lambda n: SPC(weights={(i, (0, 1)): 3.0 for i in range(2, n)}),
    "tc": lambda n: TC(),
    "tc-weights": lambda n: TC(order_weights=(1, 2, 0), column_order="ig_class"),
    "collection": lambda n: Collection(),
    "collection-sets": lambda n: Collection(_chain(n), smoothing=BackOff()),
    "collection-weights": lambda n: Collection({n - 1: [[0], []]}, weights={n - 1: [2, 0]}) if n > 1 else Collection(),
    "kdb": lambda n: KDB(),
    "kdb-1": lambda n: KDB(k=1),
    "kdb-learned": lambda n: KDB(smoothing=LearnedBackOff(), unseen="smooth"),
    "selective": lambda n: SelectiveKDB(),
    "selective-01": lambda n: SelectiveKDB(k=1, loss="zero_one", smoothing=1),
    "kdb-3": lambda n: KDB(k=3, smoothing=1, threshold=0.01),
    "lbr": lambda n: LBR(),
    "lbr-eager": lambda n: LBR(significance=0.6, min_errors=1, max_tests=2, unseen="smooth"),
    "lbr-prior": lambda n: LBR(significance=0.6, min_errors=1, smoothing=PriorCounts()),
    "gbn": lambda n: GeneralNetwork(),
    "ban-cll": lambda n: BAN(learner=HillClimb(score="cll", penalty=0.5), smoothing=1.0),
    "gbn-pdag": lambda n: GeneralNetwork(learner=PDAGSearch(score="aic"), class_root=False),
    "gbn-climb": lambda n: GeneralNetwork(learner=HillClimb(score="aic"), class_root=False, smoothing=1.0),
    "gbn-marginal": lambda n: GeneralNetwork(learner=CBL(threshold=0.05), missing="marginal", smoothing=PriorCounts()),
    "ban": lambda n: BAN(),
    "ban-tests": lambda n: BAN(learner=CBL(threshold=0.1, order="given"), missing="marginal"),
    "multinet": lambda n: MultiNet(learner=CBL(threshold=0.1)),
    "multinet-marginal": lambda n: MultiNet(learner=ChowLiu(), missing="marginal", unseen="smooth", smoothing=BDeu()),
    "multinet-blanket": lambda n: MultiNet(learner=CBL(threshold=0.2), features="blanket"),
    "network": lambda n: NetworkClassifier(),
    "network-locked": lambda n: NetworkClassifier(
        Network({"x0": ("a", "b"), "class": ("c0", "c1")}, [("class", "x0")]),
        "class",
        locked={"x0": {("c0",): [0.25, 0.75]}, "class": {(): [0.6, 0.4]}},
    ),
    "clmn": lambda n: ChowLiuMultiNet(),
    "wrapped": lambda n: Wrapped(GeneralNetwork(), grid=[0.05, 0.2], folds=2),
    "wrapped-multinet": lambda n: Wrapped(MultiNet(features="blanket", missing="marginal"), grid=[0.1, 0.3]),
    "best": lambda n: BestOf([NaiveBayes(), TAN(), AODE()]),
    "best-all": lambda n: BestOf(),
    "best-some": lambda n: BestOf([NaiveBayes(subsumption=1), TAN(missing="marginal"), KDB(smoothing=1)]),
    "nbtree": lambda n: NBTree(),
    "nbtree-deep": lambda n: NBTree(min_rows=2, min_child=1, min_gain=0, folds=2),
    "nbtree-heaviest": lambda n: NBTree(
        leaf=AODE(), min_rows=2, min_child=1, min_gain=0, folds=3, missing="heaviest", unseen="smooth"
    ),
    "forest": lambda n: NetworkForest(n_members=6),
    "recursive": lambda n: RecursiveBayes(),
    "recursive-deep": lambda n: RecursiveBayes(min_rows=2, min_gain=0),
    "best-pool": lambda n: BestOf([NaiveBayes(), KDB(), AODE()], pool="log"),
    "best-linear": lambda n: BestOf([NaiveBayes(), TAN(), A2DE()], pool="linear", unseen="smooth"),
    "best-priors": lambda n: BestOf([AODE(subsumption=1), KDB()], criterion="accuracy", unseen="smooth"),
}


# Classifiers that are no view of counts, and depend on the order of rows.
STREAMING: dict[str, Callable[[], Classifier]] = {
    "evolving": lambda: EvolvingNaiveBayes(),
    "drift": lambda: DriftAware(AODE()),
    "half-lives": lambda: HalfLives(),
    "half-lives-bins": lambda: HalfLives(
        NaiveBayes(), half_lives=(10, float("inf")), mix="fixed-share", more_bins=(3,)
    ),
    "hoeffding": lambda: HoeffdingTree(grace=10, delta=0.1, tie=0.3),
}

# Options that speak of the columns and classes of `small_table`, or that take long on many random tables.
WITH_OPTIONS: list[CountsClassifier] = [
    NaiveBayes(gaussian=True),
    AODE(gaussian=True),
    TAN(gaussian=True, calibrate=True),
    NBTree(calibrate=True, class_weight="balanced"),
    TAN(gaussian=True),
    FANC(gaussian=["x0"], column_order="mi"),
    SPC(gaussian=True, super_parent="refined"),
    NaiveBayes(subsumption=5, class_weight="balanced"),
    NaiveBayes(unseen="smooth", smoothing=0.5, bins="width", n_bins=3),
    TAN(missing="marginal", smoothing=PriorCounts(2)),
    FAN(criterion="g2"),
    KDB(k=3, smoothing=BackOff(2)),
    AODE(min_count=3, subsumption=10),
    SPODE(super_parent="mi"),
    AnytimeAODE(member_order="mi", mix="posterior", stop="margin", odds=5.0),
    AnytimeAODE(member_order=["x2", "x0", "x1", "x4", "x3"], stop="budget", members=2, priors=[0.2, 0.3, 0.5]),
    AnytimeA2DE(member_order="random", mix="replace", weights="mi", random_state=1),
    SPC(super_parent="refined"),
    SPC(column_order="mi"),
    FANC(weights={("x1", "x0"): 2.0, ("x1", None): 0.5}, max_parents_from=2),
    FANC(column_order="random", random_state=3),
    TC(order_weights=(1, 2, 3), priors=[0.2, 0.3, 0.5]),
    TC(weights={("x2", ("x0", "x1")): 0.5, ("x1", None): 0}),
    Collection({"x1": [[], ["x0"], ["x0", "x2"]]}, {"x1": [1, 2, 3]}),
    BestOf([NaiveBayes(), KDB(k=2), AODE(smoothing=MEstimate(2))], criterion="rmse"),
    GeneralNetwork(learner=HillClimb(score="aic"), class_root=False, missing="marginal"),
    BAN(learner=CBL(test=GSquared(0.1), order="given"), smoothing=1.0),
    BAN(learner=CBL(order="given", shrink=True)),
    MultiNet(learner=HillClimb(score="aic")),
    MultiNet(learner=CBL(threshold=0.05), features=["x1", "x0", "x3"], thresholds={"low": 0.1}),
    NetworkClassifier(
        Network({"x0": (), "x2": (), "class": ()}, [("class", "x0"), ("x2", "class")]), missing="marginal"
    ),
    Wrapped(MultiNet(features="blanket"), grid=[0.02, 0.1], folds=2, criterion="log_loss"),
    Wrapped(BAN(learner=K2(order="given")), grid={"max_parents": [1, 2]}),
]


# Options that take other paths through the code, each on one classifier whose structure is quick to learn.
OTHER_PATHS = [
    "a2de-backoff",
    "ande-3-rows",
    "anytime-margin",
    "aode-ml",
    "aode-smooth",
    "aode-sr",
    "best-pool",
    "gbn-climb",
    "multinet-marginal",
    "nb-balanced",
    "nb-calibrated",
    "nb-ml",
    "nb-prior",
    "tan-calibrated",
    "tan-marginal-smooth",
    "tan-mode",
]


def _quick_names() -> list[str]:
    """The first instance of every classifier, and OTHER_PATHS; a thorough run takes all of them."""
    first: dict[type, str] = {}
    for name, build in INSTANCES.items():
        first.setdefault(type(build(3)), name)
    return sorted({*first.values(), *OTHER_PATHS})


NAMES = sorted(INSTANCES) if THOROUGH else _quick_names()


def make(name: str, n: int, **params: Any) -> CountsClassifier:
    """The classifier of this name for n columns."""
    return INSTANCES[name](n).set_params(**params)


def without_an_instance() -> list[str]:
    """Public classifiers that no law is tested on."""
    known = {type(build(3)) for build in INSTANCES.values()} | {type(build()) for build in STREAMING.values()}
    return sorted(cls.__name__ for cls in PUBLIC if cls not in known)


def _first_of_each() -> list[CountsClassifier]:
    found: dict[type, CountsClassifier] = {}
    for build in INSTANCES.values():
        model = build(5)
        found.setdefault(type(model), model)
    return list(found.values())


PLAIN: list[CountsClassifier] = _first_of_each()
ALL = PLAIN + WITH_OPTIONS


def small_table(n_rows: int = 90, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Numbers, text and missing cells in columns x0..x4, with three classes that depend on pairs of columns."""
    rng = np.random.default_rng(seed)
    X = np.empty((n_rows, 5), dtype=object)
    X[:, 0] = rng.normal(size=n_rows)
    X[:, 1] = rng.integers(0, 3, n_rows)
    X[:, 2] = rng.choice(["red", "green", "blue"], n_rows)
    X[:, 3] = np.where(rng.random(n_rows) < 0.8, (X[:, 0] > 0).astype(int) + X[:, 1], 7)
    X[:, 4] = rng.choice(["yes", "no"], n_rows)
    hidden = (X[:, 0] > 0).astype(int) + (X[:, 2] == "red") * (X[:, 1] > 0)
    y = np.where(rng.random(n_rows) < 0.85, hidden, rng.integers(0, 3, n_rows)).astype(int)
    X[rng.random(X.shape) < 0.05] = None
    return X, np.array(["low", "mid", "top"])[y]


def name_of(model: Any) -> str:
    """A short name for a test's id, the same in every process; a repr sorts the keys of dicts by their addresses."""
    if isinstance(model, list) and model and isinstance(model[0], CountsClassifier):
        return f"[{', '.join(name_of(part) for part in model)}]"
    if not isinstance(model, CountsClassifier):
        return repr(model)
    defaults = type(model)().get_params(deep=False)
    named = {name: name_of(value) for name, value in model.get_params(deep=False).items()}
    changed = [f"{name}={text}" for name, text in named.items() if text != name_of(defaults[name])]
    return f"{type(model).__name__}({', '.join(changed)})"


def precision(name):
    """How well answers agree where sums are made in another order: a forest makes its own in single precision."""
    return 1e-6 if name == "forest" else 1e-9


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
