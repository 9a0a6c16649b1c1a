"""What a model answers, as a few kinds of answers that are made of tables, whatever the classifier.

Each stands for the logs of the joint with every class, up to what all classes share. Some change the slots of a row
first (``Filled``, ``Resolved``), or lay something over what others answer (``Calibrated``, ``Pooled``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from tanager.classifiers.recursive_bayes import AnswerScorer, AnswerTree
from tanager.counts.normals import within_reach
from tanager.errors import OptionError
from tanager.export.columns import Reading, readings
from tanager.export.normals import NormalReader, member_densities, product_densities
from tanager.export.tables import Reader, Sum, Table, log, member_tables, product_tables
from tanager.learning.classifier import Classifier
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.part_scorer import PartScorer, TreeScorer
from tanager.learning.value_tree import ValueTree
from tanager.scoring import calibration, discriminative, forest, gaussian, joined_values, modes, pooled, subsumption
from tanager.scoring.decision import check_costs, preference
from tanager.scoring.densities import ProductOfDensities, SumOfDensities
from tanager.scoring.forms import ProductOfSums, StagedSum, SumOfProducts
from tanager.scoring.scorer import Scorer
from tanager.scoring.view import View


@dataclass(frozen=True)
class Product:
    """The sum of logs in tables, and of logs of sums. Where every class is impossible, ``last_resort`` answers."""

    factors: tuple[Table, ...]
    sums: tuple[Sum, ...]
    last_resort: np.ndarray | None


@dataclass(frozen=True)
class Mean:
    """A sum of products, by pages (see ``member_tables``); where no member gives a class a chance, ``otherwise``."""

    pages: tuple[Table, ...]
    factors: np.ndarray
    otherwise: Answer | None
    last_resort: np.ndarray


@dataclass(frozen=True)
class Staged:
    """Members of a sum one after the other, after naive Bayes. Members of the next level follow where none of those
    before gave a class a chance. See ``StagedSum``."""

    naive: Product
    levels: tuple[tuple[Table, ...], ...]
    weights: tuple[np.ndarray, ...]
    factors: np.ndarray
    mix: str
    limit: int
    margin: float
    last_resort: np.ndarray


@dataclass(frozen=True)
class Filled:
    """The answer to a row whose missing slots are filled: ``slots`` of each column, -1 where nothing is known."""

    inner: Answer
    slots: np.ndarray


@dataclass(frozen=True)
class Resolved:
    """The answer to a row without some of its values: ``repeats[a, b]`` where b (a slot among those of all columns)
    makes a superfluous."""

    inner: Answer
    repeats: np.ndarray


@dataclass(frozen=True)
class Grouped:
    """The answer to slots in groups: those of all columns as the first member groups them, then the second, and so on.

    ``groups`` are (members, slots of all columns), and ``n_groups`` how many there are of each, (members, columns).
    """

    inner: Answer
    groups: np.ndarray
    n_groups: np.ndarray


@dataclass(frozen=True)
class Normal:
    """The answer with log densities added: means, inverse deviations and logs at the mean, (classes, columns).

    Numbers are brought into the reach ``low`` to ``high`` of a column first.
    """

    inner: Answer
    columns: tuple[int, ...]
    mean: np.ndarray
    inverse: np.ndarray
    top: np.ndarray
    low: np.ndarray
    high: np.ndarray


@dataclass(frozen=True)
class NormalSums:
    """The answer with the logs of sums of densities added, one sum for each number; see ``tanager.export.normals``.

    ``otherwise`` takes the place of a sum whose terms all lack a parent; None where that is in the terms.
    """

    inner: Answer
    columns: tuple[int, ...]
    terms: tuple[tuple[Table, ...], ...]
    otherwise: tuple[Table | None, ...]
    low: np.ndarray
    high: np.ndarray


@dataclass(frozen=True)
class NormalMean:
    """A sum of products in whose members numbers are densities: pages, and by member the tables of all numbers."""

    pages: tuple[Table, ...]
    densities: tuple[tuple[Table, ...], ...]
    columns: tuple[int, ...]
    low: np.ndarray
    high: np.ndarray
    factors: np.ndarray
    otherwise: Answer


@dataclass(frozen=True)
class Calibrated:
    """The answer times a power, and offsets."""

    inner: Answer
    power: float
    offsets: np.ndarray


@dataclass(frozen=True)
class Pooled:
    """The weighted mean of the probabilities of several answers ("linear"), or of their logs ("log")."""

    inner: tuple[Answer, ...]
    weights: np.ndarray
    how: str
    factors: np.ndarray


@dataclass(frozen=True)
class Mixture:
    """The mean of the probabilities of several answers, by the share of a row that each of them has.

    ``shares`` are logs, with a number per answer in every cell. Their columns are those of the row; or, with ``ranks``
    (answers, classes), the classes that these answers choose, of equals that of the least rank.
    """

    inner: tuple[Answer, ...]
    shares: tuple[Table, ...]
    ranks: np.ndarray | None
    factors: np.ndarray


Answer = (
    Product
    | Mean
    | Staged
    | Filled
    | Resolved
    | Grouped
    | Normal
    | NormalSums
    | NormalMean
    | Calibrated
    | Pooled
    | Mixture
)


@dataclass(frozen=True)
class Description:
    """All that it takes to answer raw rows as a model does.

    ``order`` is that in which classes win ties, and ``costs`` are those of the option ``cost_matrix``, or None.
    """

    name: str
    target: str
    named: bool
    columns: list[Reading]
    classes: list[Any]
    order: np.ndarray
    costs: np.ndarray | None
    answer: Answer


def describe(model: Any) -> Description:
    """What a fitted classifier answers; OptionError where that cannot be said in tables."""
    if not isinstance(model, Classifier):
        raise OptionError(
            f"{type(model).__name__} is no classifier of tanager. Give a fitted one, such as AODE().fit(X, y)."
        )
    model.check_fitted()
    if not isinstance(model, CountsClassifier):
        raise _not_in_tables(type(model).__name__, _WAYS_OUT.get(type(model).__name__, ""))
    if model.unseen == "error":
        raise OptionError(
            f'{type(model).__name__}(unseen="error") refuses rows with new values, which neither ONNX nor SQL can do. '
            'Say what they mean first: model.set_params(unseen="ignore").'
        )
    scorer = model.scorer_
    costs = check_costs(model.cost_matrix, model.classes_)
    return Description(
        type(model).__name__,
        model.class_name,
        "feature_names_in_" in vars(model),
        readings(model.counts_.schema, smooth_unseen=model.unseen == "smooth"),
        model.classes_.tolist(),
        preference(model.class_count_),
        costs,
        answer_of(scorer),
    )


_WAYS_OUT = {
    "DriftAware": "Export the model inside, model.model_.",
    "HalfLives": "Export one of its members, such as model.model_.",
    "HoeffdingTree": "Fit an NBTree or a NetworkForest to recent rows instead.",
    "EvolvingNaiveBayes": "Fit NaiveBayes(gaussian=True) to recent rows instead.",
}


def _not_in_tables(name: str, way_out: str) -> OptionError:
    return OptionError(f"{name} does not answer from tables that could be written down. {way_out}".rstrip())


# --- from scorers to answers ---------------------------------------------------------------------------------------


def answer_of(scorer: Scorer) -> Answer:
    """How a scorer answers."""
    make = _MAKERS.get(type(scorer))
    if make is None:
        name, way_out = _REFUSED.get(type(scorer).__name__, (type(scorer).__name__, ""))
        raise _not_in_tables(name, way_out)
    return make(scorer)


def _view(view: View) -> Answer:
    reader, form = Reader(view), view.form
    if isinstance(form, ProductOfSums):
        return _product(reader)
    if isinstance(form, StagedSum):
        return _staged(reader, form)
    otherwise = reader.otherwise()
    return Mean(
        tuple(member_tables(reader)),
        reader.factors(),
        None if otherwise is None else _view(otherwise),
        reader.last_resort(),
    )


def _product(reader: Reader) -> Product:
    factors, sums = product_tables(reader)
    return Product(tuple(factors), tuple(sums), reader.last_resort())


def _staged(reader: Reader, form: StagedSum) -> Staged:
    levels, weights, at = [tuple(member_tables(reader))], [np.array(form.weight)], reader.otherwise()
    while at is not None and isinstance(at.form, SumOfProducts):
        further = Reader(at)
        levels.append(tuple(member_tables(further)))
        weights.append(np.array(at.form.weight))
        at = further.otherwise()
    return Staged(
        replace(_product(Reader(reader.naive())), last_resort=None),
        tuple(levels),
        tuple(weights),
        reader.factors(),
        form.mix,
        form.limit,
        form.margin,
        reader.last_resort(),
    )


def _modes(scorer: modes.Modes) -> Filled:
    view, found = scorer.filled()
    return Filled(_view(view), found)


def _subsumption(scorer: subsumption.Subsumption) -> Resolved:
    """Every two values are asked about as if a row had no others."""
    n_values = scorer.counts.schema.n_values
    inner = answer_of(scorer.inner)
    view = scorer.inner
    assert isinstance(view, View)
    reader = Reader(view)
    starts = np.concatenate([[0], np.cumsum(reader.n_slots)])
    repeats = np.zeros((int(starts[-1]), int(starts[-1])), dtype=bool)
    for i, j in combinations(range(len(n_values)), 2):
        rows = reader.rows((i, j))
        gone = (scorer.resolved(rows) != rows)[:, [i, j]].reshape(*reader.n_slots[[i, j]], 2)
        repeats[starts[i] : starts[i + 1], starts[j] : starts[j + 1]] = gone[..., 0]
        repeats[starts[j] : starts[j + 1], starts[i] : starts[i + 1]] = gone[..., 1].T
    return Resolved(inner, repeats)


def _joined_values(scorer: joined_values.JoinedValues) -> Product:
    """Naive Bayes, and for every two columns with joined values what these say together beyond what they say alone."""
    reader = Reader(scorer.view)
    answer, extra = _product(reader), dict[tuple[int, int], np.ndarray]()
    alone = {table.columns: table.cells for table in answer.factors}
    for i, v, j, w in scorer.pairs:
        view = scorer.view.with_form(ProductOfSums.of_blocks([(i, j)]))
        _, first, second = product_tables(Reader(view))[0]
        cells = extra.setdefault((i, j), np.zeros((*reader.n_slots[[i, j]], reader.n_classes)))
        apart = alone[(i,)][v] + alone[(j,)][w]
        together = first.cells[v] + second.cells[v, w]
        with np.errstate(invalid="ignore"):
            cells[v, w] = np.where(np.isneginf(apart), 0.0, together - apart)
    return replace(answer, factors=answer.factors + tuple(Table(pair, cells) for pair, cells in extra.items()))


def _forest(scorer: forest.ForestScorer) -> Grouped:
    trees = scorer.forest
    n, starts = len(trees.n_slots), np.concatenate([[0], np.cumsum(trees.n_slots)])
    groups = _ignoring_new(trees.groups, starts, scorer)
    n_groups = np.array([[own[a:b].max() + 1 for a, b in pairwise(starts)] for own in trees.groups], dtype=np.int64)
    factors = [Table((), scorer.prior())]
    cells, places = scorer.tables.cells(), pairwise(scorer.kernel.table_starts(scorer.n_classes))
    for (member, child, *parents), (begin, end) in zip(trees.families.tolist(), places, strict=True):
        columns = tuple(member * n + i for i in (*parents, child) if i >= 0)
        shape = (*n_groups.ravel()[list(columns)], scorer.n_classes)
        factors.append(Table(columns, cells[begin:end].reshape(shape)))
    return Grouped(Product(tuple(factors), (), None), groups, n_groups)


def _ignoring_new(groups: np.ndarray, starts: np.ndarray, scorer: forest.ForestScorer) -> np.ndarray:
    """Groups with a slot more for every column where new values have one: to a forest they are missing."""
    if not scorer.view.smooth_unseen:
        return groups
    missing = starts[1:] - 1
    return np.insert(groups, starts[1:], groups[:, missing], axis=1)


def _gaussian(scorer: gaussian.Gaussian) -> Normal:
    normals, every = scorer.moments.normals()
    low, high = (within_reach(np.full_like(every.mean, end), every) for end in (-np.inf, np.inf))
    columns = tuple(i for i, column in enumerate(scorer.counts.schema.columns) if column.kind == "continuous")
    return Normal(answer_of(scorer.inner), columns, *normals, low, high)


def _product_of_densities(scorer: ProductOfDensities) -> NormalSums:
    moments = scorer.moments
    scorer.inner.weigh_classes(scorer.view.factors)
    normals = NormalReader(Reader(scorer.inner), moments)
    terms, otherwise = product_densities(scorer, normals)
    return NormalSums(
        _view(scorer.inner), moments.children, tuple(map(tuple, terms)), tuple(otherwise), normals.low, normals.high
    )


def _sum_of_densities(scorer: SumOfDensities) -> NormalMean:
    """Pages in which columns of numbers say nothing but as super-parents."""
    moments = scorer.moments
    form = replace(scorer.form, weight=(1.0,) * len(scorer.form.members), otherwise=None)
    coded = tuple(i for i in range(scorer.view.counts.n_features) if i not in moments.children)
    reader = Reader(scorer.view.with_form(replace(form, children=coded)))
    normals = NormalReader(reader, moments)
    scorer.naive.view.weigh_classes(scorer.view.factors)
    return NormalMean(
        tuple(member_tables(reader)),
        tuple(map(tuple, member_densities(scorer, normals))),
        moments.children,
        normals.low,
        normals.high,
        reader.factors(),
        _product_of_densities(scorer.naive),
    )


def _discriminative(scorer: discriminative.Discriminative) -> Product:
    learned, view = scorer.parameters, scorer.view
    tables, form = learned.tables, view.form
    assert isinstance(form, ProductOfSums)
    factors = [Table((), learned.prior_of(view))]
    for t, (child, parents) in enumerate(zip(form.child, form.parents, strict=True)):
        cells = tables.of_term(learned.cells, t)
        nothing = np.zeros((*cells.shape[:-2], 1, cells.shape[-1]))  # a missing child says nothing
        factors.append(Table((*parents, child), np.concatenate([cells, nothing], axis=-2)))
    return Product(tuple(factors), (), None)


def _calibrated(scorer: calibration.Calibrated) -> Calibrated:
    return Calibrated(answer_of(scorer.inner), scorer.calibration.power, scorer.offsets())


def _pooled(scorer: pooled.Pooled) -> Pooled:
    return Pooled(tuple(map(answer_of, scorer.members)), scorer.weights, scorer.how, scorer.log_factors())


def _value_tree(scorer: TreeScorer) -> Mixture:
    """Every node that may answer, by the values that lead a row to it."""
    scorer.follow()
    n_values, n_slots = scorer.view.counts.schema.n_values, Reader(scorer.view).n_slots
    ways = list[tuple[int, dict[int, np.ndarray]]]()

    def visit(at: int, node: ValueTree, way: dict[int, np.ndarray]) -> None:
        if node.is_leaf:
            ways.append((at, way))
            return
        shares = np.zeros((len(node.children) + 1, n_slots[node.column]))  # the last is what the node answers itself
        shares[-1, : n_values[node.column]] = 1.0
        for c, (code, share) in enumerate(zip(node.codes, node.shares, strict=True)):
            shares[[c, -1], code] = 1.0, 0.0
            shares[c, n_values[node.column] :] = share  # missing, or new
        if shares[-1].any():
            ways.append((at, way | {node.column: shares[-1]}))
        for c, (place, child) in enumerate(zip(node.child_places(at), node.children, strict=True)):
            visit(place, child, way | {node.column: shares[c]})

    visit(0, scorer.tree, {})
    models = [scorer.model_of(at) for at, _ in ways]
    return _mixture(scorer, models, [way for _, way in ways], None)


def _answer_tree(scorer: AnswerScorer) -> Mixture:
    """Every classifier, by the answers of those before it."""
    scorer.follow()
    k, ways = scorer.view.counts.n_classes, list[dict[int, np.ndarray]]()

    def visit(node: AnswerTree, way: dict[int, np.ndarray]) -> None:
        at = len(ways)
        stands = np.isin(np.arange(k), node.classes, invert=True).astype(float)
        ways.append(way | {at: stands})
        for c, _, child in node.below(at):
            visit(child, way | {at: (np.arange(k) == c).astype(float)})

    visit(scorer.tree, {})
    models = [scorer.models[at] for at in range(len(ways))]
    ranks = np.array([np.argsort(preference(model.class_count_)) for model in models])
    return _mixture(scorer, models, ways, ranks)


def _mixture(
    scorer: PartScorer, models: list[CountsClassifier], ways: list[dict[int, np.ndarray]], ranks: np.ndarray | None
) -> Mixture:
    """Classifiers, and by column the shares of its slots on the way to each."""
    sizes = {column: len(shares) for way in ways for column, shares in way.items()}
    shares = tuple(
        Table((column,), np.stack([log(way.get(column, np.ones(size))) for way in ways], axis=-1))
        for column, size in sizes.items()
    )
    factors = scorer.factors()
    logs = np.zeros(scorer.view.counts.n_classes) if factors is None else log(factors)
    return Mixture(tuple(answer_of(model.scorer_) for model in models), shares, ranks, logs)


_MAKERS: dict[type, Callable[[Any], Answer]] = {
    View: _view,
    modes.Modes: _modes,
    subsumption.Subsumption: _subsumption,
    gaussian.Gaussian: _gaussian,
    ProductOfDensities: _product_of_densities,
    SumOfDensities: _sum_of_densities,
    joined_values.JoinedValues: _joined_values,
    forest.ForestScorer: _forest,
    discriminative.Discriminative: _discriminative,
    calibration.Calibrated: _calibrated,
    pooled.Pooled: _pooled,
    TreeScorer: _value_tree,
    AnswerScorer: _answer_tree,
}

_REFUSED = {
    "LazyRules": ("LBR, which looks for a rule of its own in the learned rows for every row,", "Use NBTree or AODE."),
    "Marginal": ('missing="marginal", which sums missing values out,', 'Fit with missing="drop", the default.'),
    "TreeAverage": ("TBMATAN, which sums over all trees for every row,", "Use TAN or AODE."),
    "Locked": ("a network with locked rows, whose numbers were set by hand,", "Fit the network without them."),
    "SumOverRows": ("ANDE that keeps rows in place of tables", "Fit it with lazy=False, or use A2DE or AODE."),
}
