"""HoeffdingTree: a decision tree that grows along a stream, with classifiers over counts in its leaves."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike

from tanager import saved
from tanager.classifiers.naive_bayes import NaiveBayes
from tanager.encoding import Schema
from tanager.encoding.chunks import rows_of_dicts
from tanager.encoding.dates import DatesOption
from tanager.encoding.kinds import BinsOption
from tanager.encoding.tables import Table, read_table
from tanager.encoding.typing import (
    Columns,
    Label,
    LabelsLike,
    RowOfCodes,
    TableLike,
    Time,
    TimesLike,
    UnseenOption,
    WeightsLike,
)
from tanager.encoding.validation import is_weight
from tanager.errors import DataError, ModelFileError, OptionError, check_option, is_number
from tanager.learning.answer_then_learn import Answers
from tanager.learning.batch import Batch, StreamPart
from tanager.learning.classifier import Classifier
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.explaining import explain_each
from tanager.learning.explanations import Explanations
from tanager.learning.first_rows import (
    keep_at_doubling,
    keep_for_warm_up,
    keep_provisional_row,
    rows_of_stage,
    takes_provisional_row,
)
from tanager.learning.leaves import LeafMaker, check_leaf
from tanager.learning.reading import check_row
from tanager.learning.recut_option import FirstCuts, first_cuts, read_first_cuts
from tanager.learning.tree_node import TreeNode
from tanager.listed import names_in
from tanager.scoring.explain import Explanation
from tanager.shortcuts import public
from tanager.streams.growing_tree import GrowingTree, Leaf, Split, SplitRule

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PIECE = 4096  # rows that are encoded at once; a row with a new value ends a piece


@dataclass(eq=False, repr=False, kw_only=True)
class HoeffdingTree(Classifier):
    """A decision tree that grows along a stream, with a small classifier, by default naive Bayes, in every leaf.

    It starts as a single leaf. A row goes down the tree to its leaf, and the classifier there learns it; the row itself
    is not kept. From time to time a leaf looks at its counts: which column, if the leaf were split by its values, would
    tell most about the class? The leaf splits when it has seen so many rows that another column is very unlikely to be
    better after all. Then it has one new leaf for each value (or bin) of that column.

    Choose it for long streams, of thousands of rows and more, in which what one column means depends on another. On
    short ones it hardly splits, and is then no more than the classifier of its leaves. It never forgets and takes no
    split back: where the world changes, put it into ``DriftAware``. The same rows in another order may grow another
    tree.

    Parameters
    ----------
    leaf : classifier, default=None
        The classifier of the leaves: any that learns by counting. None is ``NaiveBayes()``.
    grace : float, default=200
        A leaf looks whether to split after every so many rows. Less splits a little earlier, and takes more time.
    delta : float, default=1e-7
        How probable it may be that a split is by another column than the best. Less waits for more rows.
    tie : float, default=0.05
        Two columns may be equally good, and no number of rows would tell which is better. Once it is clear that they
        differ by less than this, in bits of information about the class, the one in front is taken. With 0, a leaf
        waits until one of them is better.
    leaf_answers : {"adaptive", "classifier", "majority"}, default="adaptive"
        How a leaf answers. ``"classifier"``: by its classifier. ``"majority"``: by the shares of the classes among its
        rows. ``"adaptive"``: by the one of the two that would have been right more often on its rows so far.
    max_leaves : int, default=1000
        Where a split would give the tree more leaves than this, the leaf stays as it is, and goes on learning.
    bins
        A split has a leaf for every bin. By default a number column is cut into eight bins of equal frequency: cut
        points that are chosen by the class would miss columns that tell something only together with others, which is
        what a tree is for.

    Attributes
    ----------
    tree_ : TreeNode
        The tree in words; ``print(model.tree_)`` shows it.
    n_leaves_, n_bytes_ : int
        How many leaves it has, and the bytes that their counts take.

    Notes
    -----
    A row takes as long as the classifier of a leaf takes to answer and learn it, and a look-up for each split on its
    way down. Looking whether to split takes O(n a k), for n columns of a values and k classes.

    A new leaf knows how many rows of each class had its value, and nothing of their other columns: these it learns from
    the rows that come. A row without a value in the column of a split, or with one that is newer than the split, goes
    where most rows went when the leaf was split.

    The reasons for an answer are the path to a leaf, and the log-odds that its classifier finds in every column; where
    the leaf answers with the shares of its classes, these are all there is to say.

    Domingos and Hulten, "Mining high-speed data streams" (2000); adaptive leaves: Gama, Rocha and Medas (2003).

    Examples
    --------
    >>> from tanager import HoeffdingTree
    >>> X = [["hot", "wet"], ["hot", "dry"], ["cold", "wet"], ["cold", "dry"]] * 100
    >>> model = HoeffdingTree().fit(X, ["out", "out", "in", "in"] * 100)
    >>> print(model.tree_)
    x0 = hot: NaiveBayes, 200 rows, out 100%
    x0 = cold: NaiveBayes, 200 rows, in 100%
    >>> model.predict([["hot", "dry"]])
    array(['out'], dtype='<U3')
    """

    unlisted = names_in("leave_one_out merge unlearn")

    leaf: CountsClassifier | None = None
    grace: float = 200
    delta: float = 1e-7
    tie: float = 0.05
    leaf_answers: str = "adaptive"
    max_leaves: int = 1000
    unseen: UnseenOption = "ignore"
    cost_matrix: ArrayLike | None = None
    bins: BinsOption = "frequency"
    n_bins: int = 8
    mdl_encoding: str = "n-1"
    categorical: Columns | str | None = None
    numeric: Columns | None = None
    keep: Columns | str | None = None
    dates: DatesOption = None
    max_values: int = 1000
    schema: Schema | None = None
    warm_up: int = 1000
    n_jobs: int | None = None

    def check_options(self) -> None:
        super().check_options()
        check_leaf(self._leaf())
        check_option("leaf_answers", self.leaf_answers, ("adaptive", "classifier", "majority"))
        check_option("unseen", self.unseen, ("ignore", "smooth", "error"))
        if not is_number(self.grace, 0) or self.grace <= 0:
            raise OptionError(f"grace={self.grace!r}: give a number of rows above 0.")
        if not is_number(self.delta, 0) or not 0 < self.delta < 1:
            raise OptionError(f"delta={self.delta!r}: give a probability above 0 and below 1, such as 1e-7.")
        if not is_number(self.tie, 0):
            raise OptionError(f"tie={self.tie!r}: give a number of bits of at least 0.")
        whole = isinstance(self.max_leaves, int | np.integer) and not isinstance(self.max_leaves, bool)
        if not whole or self.max_leaves < 1:
            raise OptionError(f"max_leaves={self.max_leaves!r}: give a whole number of at least 1.")

    def _leaf(self) -> Any:
        return NaiveBayes() if self.leaf is None else self.leaf

    def encoder_options(self) -> dict[str, Any]:
        """How columns become codes; see ``Encoder``."""
        return super().encoder_options() | {name: getattr(self, name) for name in ("bins", "n_bins", "mdl_encoding")}

    # --- the model ----------------------------------------------------------------------------------------------

    def start(self, classes: np.ndarray | None = None, target: str | None = None) -> Self:
        """Forget everything. ``classes`` are known beforehand; ``target`` is what the class is called."""
        self.__dict__.pop("_tree", None)
        self.events_: list[FirstCuts] = []
        return super().start(classes, target)

    def _cuts_numbers(self) -> bool:
        return True

    @property
    def _learns_in_order(self) -> bool:
        """A split is judged by the classes and columns that are known by then."""
        return True

    def _start_model(self) -> None:
        before: GrowingTree | None = self.__dict__.get("_tree")
        columns = self.encoder_, self.encoder_.schema, self.classes_
        if before is not None and self.leaf is None and before.maker.unseen == self.unseen:
            maker = before.maker.again(*columns)
        else:
            maker = LeafMaker(self._leaf(), *columns, self.unseen)
        rule = SplitRule(float(self.grace), float(self.delta), float(self.tie), int(self.max_leaves))
        self._tree = GrowingTree(maker, rule, self.leaf_answers)
        self._class_weight = [0.0] * len(self.classes_)

    def _move_classes(self, places: np.ndarray, classes: np.ndarray) -> None:
        weight = np.zeros(len(classes))
        weight[places] = self._class_weight
        self._class_weight = weight.tolist()

    def _followed(self) -> GrowingTree:
        """The tree, with all values and classes that are known by now."""
        tree, schema = self._tree, self.encoder_.schema
        maker = tree.maker
        if schema is not maker.schema or self.classes_ is not maker.classes:
            tree.follow(schema, self.classes_)
        return tree

    @property
    def class_count_(self) -> np.ndarray:
        """How much the rows of each class weigh; the heavier class wins a tie."""
        return np.array(self._class_weight)

    # --- rows ---------------------------------------------------------------------------------------------------

    def _count(self, batch: Batch, classes: np.ndarray | None = None) -> None:
        if rows_of_dicts(batch.X):
            self._add_columns(batch.X)
        table = read_table(batch.X)
        if classes is not None:
            self.encoder_.encode(table, name=type(self).__name__)  # refuses cells before a class is taken in
            self.add_classes(classes)
        counts = batch.labels != np.iinfo(batch.labels.dtype).max
        if batch.weights is not None:
            counts &= batch.weights > 0
        done = 0
        while done < len(counts):  # runs of rows that count
            size = int(np.argmin(counts[done:])) if not counts[done:].all() else len(counts) - done
            if size:
                weights = None if batch.weights is None else batch.weights[done : done + size]
                self._run(table.part(done, done + size), batch.labels[done : done + size], weights, answers=False)
            done += size + 1

    def _run(self, table: Table, labels: np.ndarray, weights: np.ndarray | None, *, answers: bool = True) -> np.ndarray:
        """Answer and learn rows that count, in their order; those with a new value by themselves.

        Without ``answers`` none come back.
        """
        name = type(self).__name__
        m, parts, done = len(labels), list[np.ndarray](), 0
        while done < m:
            end = min(m, done + _PIECE)
            codes = self.encoder_.encode(table.part(done, end), "smooth", name)
            new = self._is_new(codes)
            end = done + (int(np.argmax(new)) if new.any() else len(new))
            own = None if weights is None else weights[done:end]
            if end > done:
                answered = self._followed().learn(codes[: end - done], labels[done:end], own, answers=answers)
                if answered is not None:
                    parts.append(answered)
            if end < done + len(new):  # a value that no row before this one had
                own = None if weights is None else weights[end : end + 1]
                answered = self._learn_new(table.part(end, end + 1), labels[end : end + 1], own, answers=answers)
                if answered is not None:
                    parts.append(answered)
                end += 1
                self._note_cuts(end if weights is None else weights[:end].sum())
            done = end
        sums = self._class_weight + np.bincount(labels, weights, minlength=len(self.classes_))
        self._class_weight = sums.tolist()
        return np.concatenate(parts) if parts else np.empty((0, len(self.classes_)))

    def _is_new(self, codes: np.ndarray) -> np.ndarray:
        """Which rows have a value that was never learned."""
        beyond = (codes >= self.encoder_.schema.n_values) & (codes != np.iinfo(codes.dtype).max)
        found: np.ndarray = beyond.any(axis=1)
        return found

    def _learn_new(
        self, row: Table, labels: np.ndarray, weights: np.ndarray | None, *, answers: bool
    ) -> np.ndarray | None:
        """Answer one row as any row with an unseen value is answered, then take its values in."""
        unseen = "ignore" if self.unseen == "error" else self.unseen  # only questions are refused
        answer = None
        if answers:
            answer = self._followed().score(self.encoder_.encode(row, unseen), fresh=False)
        self.encoder_.keep_values(self._tree.split_columns())  # whose values have branches
        codes = self.encoder_.update(row, None, type(self).__name__)
        self._followed().learn_row(codes[0], labels.item(), 1.0 if weights is None else weights.item())
        return answer

    def _note_cuts(self, weight: float) -> None:
        """Write down which columns the last row has cut; ``weight`` is that of rows not among the classes yet."""
        if cut := self.encoder_.take_cuts():
            learned = np.array([self.class_count_.sum() + weight])
            self.events_ += first_cuts(self.encoder_.schema, cut, learned)

    def _codes(self, X: Any) -> np.ndarray:
        """Codes of rows to answer."""
        unseen = self.unseen
        if rows_of_dicts(X) and (rows := self.encoder_.encode_rows(X, unseen)) is not None:
            return rows
        return self.encoder_.encode(self.validate_table(X, reset=False), unseen, type(self).__name__)

    def _add_columns(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Take in names that are no column yet, missing in all rows so far; the first value says of what kind."""
        new = self.encoder_.first_values(rows)
        if self.schema is not None or not new:
            return
        late = self.encoder_.late_columns(new)
        self.encoder_.extend(late)
        self._tree.add_columns(self.encoder_.schema, len(late))
        self.note_columns()
        if "feature_names_in_" in self.__dict__:
            self.feature_names_in_ = np.array(self.encoder_.schema.table_names, dtype=object)

    def learn_one(self, row: Mapping[str, Any], y: Label, sample_weight: float = 1.0, time: Time | None = None) -> Self:
        """Learn one row. Absent keys are missing, new keys are new columns; a missing label teaches nothing."""
        if type(row) is not dict:
            row = check_row(row, "learn_one")
        label = self._plain_label(y, sample_weight, time)
        known = codes = None if label is None else self.encoder_.found_row(row, alone=True)
        if label is not None and codes is None and not self.encoder_.new_names(row):
            codes = self._with_new_values(row)
        if label is None or codes is None:
            if not keep_at_doubling(self, row, y, sample_weight, time):
                super().learn_one(row, y, sample_weight, time)
            return self
        self._followed().learn_row(codes, label, sample_weight)
        self._class_weight[label] += sample_weight
        if known is None:
            self._note_cuts(0.0)
        if self._warm_up is not None:
            keep_provisional_row(self, row, label)
        return self

    def _with_new_values(self, row: Mapping[str, Any]) -> np.ndarray | None:
        """The codes of a row, whose new values are taken in; None where a cell does not fit its column so far."""
        self.encoder_.keep_values(self._tree.split_columns())  # whose values have branches
        try:
            return self.encoder_.update_row(row)
        except DataError:  # columns of a warm-up may be of another kind when they are looked at again
            return None

    def _plain_label(self, y: Any, weight: float, time: Any) -> int | None:
        """The class of a row that counts, is learned at once and brings no class; None elsewhere.

        Such a row leaves cut points as they are, those of a warm-up among them, which keeps the row for later ones.
        """
        if self._warm_up is not None:
            if not takes_provisional_row(self, weight, time):
                return None
        elif not is_weight(weight) or weight == 0:
            return None
        return self.code_of(y) if "encoder_" in self.__dict__ else None

    def predict_proba_one(self, row: Mapping[str, Any]) -> dict[Label, float]:
        """Probability of every class known so far; an empty dict before the first row."""
        if type(row) is not dict:
            row = check_row(row, "predict_proba_one")
        warm = self._warm_up
        behind = "encoder_" not in self.__dict__ or (warm is not None and warm.counted < warm.n_rows)
        if behind and not self.has_learned:
            return {}
        encoder = self.encoder_
        codes: RowOfCodes | None = encoder.found_row(row)
        if codes is None:
            codes = encoder.encode_row(row, self.unseen)
        return dict(zip(self.class_codes, self._followed().answer_row(codes)))  # noqa: B905  # which takes longer

    def _answer_and_learn(self, rows: StreamPart) -> Answers:
        """Answer and learn rows whose columns and classes are known; else one by itself."""
        n = 0
        if rows.answered is None and self.unseen != "error" and self.has_learned:
            n = min(self._plain_rows(rows), rows_of_stage(self, len(rows)))
        if n == 0:
            return self._answer_and_learn_first(rows)
        rows = rows.part(0, n)
        table, labels = self.validate_table(rows.X, reset=False), self.label_codes(rows.y)[0]
        classes, proba = self.classes_, self._run(table, labels, rows.weights)
        if not self.columns_fixed:
            keep_for_warm_up(self, Batch(rows.X, labels, rows.weights, rows.times))
        return classes, proba

    def _plain_rows(self, rows: StreamPart) -> int:
        """How many rows from the first on have a known class, a weight, and no new names."""
        known = self.class_codes
        odd = np.array([label not in known for label in rows.y.tolist()])
        if rows.weights is not None:
            odd |= rows.weights == 0
        if rows_of_dicts(rows.X):
            odd |= np.array([bool(self.encoder_.new_names(row)) for row in rows.X])
        return int(np.argmax(odd)) if odd.any() else len(odd)

    def _scores(self, X: Any, *, log_joint: bool) -> np.ndarray:
        self.check_fitted()
        return self._followed().score(self._codes(X), log_joint=log_joint, n_jobs=self.n_threads)

    def stream_proba(self, X: Any) -> np.ndarray:
        """``predict_proba`` as a stream answers: structures of leaves that are due to be learned again answer once."""
        self.check_fitted()
        return self._followed().score(self._codes(X), fresh=False, n_jobs=self.n_threads)

    # --- what was learned ---------------------------------------------------------------------------------------

    @property
    def n_leaves_(self) -> int:
        """How many leaves there are."""
        self.check_fitted()
        return self._tree.n_leaves

    @property
    def n_bytes_(self) -> int:
        """What the counts of all leaves take."""
        self.check_fitted()
        return sum(leaf.model.counts_.nbytes for leaf in self._tree.leaves() if leaf.model is not None)

    @property
    def tree_(self) -> TreeNode:
        """The tree in words. Rows are those that a leaf has learned, and those of its value before it was a leaf."""
        self.check_fitted()
        labels, columns, name = self.classes_.tolist(), self.encoder_.schema.columns, type(self._leaf()).__name__

        def node(own: Leaf | Split) -> TreeNode:
            if isinstance(own, Leaf):
                model = own.model
                sums = (
                    {}
                    if model is None
                    else dict(zip(model.classes_.tolist(), model.class_count_.tolist(), strict=True))
                )
                return TreeNode({label: sums.get(label, 0.0) for label in labels}, name)
            column, children = columns[own.column], [node(child) for child in own.children]
            counts = {label: sum(child.counts[label] for child in children) for label in labels}
            branches = tuple((str(column.describe(v)), child) for v, child in enumerate(children))
            return TreeNode(counts, "", column.name, branches)

        return node(self._followed().root)

    def _explained(self, X: Any, answer: Any, against: Any, *, one_alone: bool) -> Explanation | Explanations:
        return explain_each(self, X, answer, against, self._explain_one, one_alone=one_alone)

    def _explain_one(self, X: Any, answer: Any, against: Any) -> Explanation:
        tree = self._followed()
        codes = self._codes(X)
        node, path = tree.root, list[str]()
        while isinstance(node, Split):
            column, code = self.encoder_.schema.columns[node.column], int(codes[0, node.column])
            path.append(f"{column.name} = {column.describe(code) if code < column.n_values else '?'}")
            node = node.children[code if code < len(node.children) else node.heaviest]
        proba = tree.score(codes)
        predicted = self.decide(proba).tolist()[0]
        if answer is None and against != predicted:
            answer = predicted
        found = replace(tree.model_of(node).explain_rows(X, answer, against)[0], path=tuple(path))
        if not tree.by_majority(node):
            return found
        own, other = (float(proba[0, self.class_codes[label]]) for label in (found.answer, found.against))
        odds = float(np.log(own / other))
        return replace(found, probability=own, log_odds=odds, prior=odds, parts=())

    def plot(self, path: str | os.PathLike[str] | None = None, **options: Any) -> Figure:
        """Draw the tree; see ``tanager.plot_tree``.

        Parameters
        ----------
        path : str or PathLike, default=None
            Where to write it, by its extension. None: nowhere.
        **options : object
            Those of ``plot_tree``.

        Returns
        -------
        Figure
            Of Matplotlib.
        """
        figure: Figure = public("plot_tree")(self, path, **options)
        return figure

    # --- what order forbids -------------------------------------------------------------------------------------

    def unlearn(
        self, X: TableLike, y: LabelsLike, sample_weight: WeightsLike | None = None, times: TimesLike | None = None
    ) -> NoReturn:
        """Refused: a row may have led to a split."""
        raise self._refusal("unlearn rows", "Fit on the rows that shall stay.")

    def leave_one_out(self, X: TableLike, y: LabelsLike, sample_weight: WeightsLike | None = None) -> np.ndarray:
        """Refused: a row may have led to a split."""
        raise self._refusal("leave rows out", "Use test_then_train, which answers every row before it is learned.")

    def merge(self, other: Any) -> NoReturn:
        """Refused: two streams have no common order."""
        raise self._refusal("be merged", "Learn the rows of both in one order.")

    def _refusal(self, what: str, way_out: str) -> DataError:
        return DataError(f"{type(self).__name__} cannot {what}: how it has grown depends on the order. {way_out}")

    # --- files --------------------------------------------------------------------------------------------------

    def _model_state(self) -> dict[str, Any]:
        tree, models = self._followed().to_plain()
        state: dict[str, Any] = {"tree": tree, "weight": self.class_count_.tolist()}
        if self.events_:
            state["first_cuts"] = [list(event) for event in self.events_]
        return {"state": state, "arrays": {}, "models": models}

    def _take_model_state(self, state: dict[str, Any]) -> None:
        self._start_model()
        data, models = state["state"], state["models"]
        expected = saved.items(saved.number(0.0), len(self.classes_))
        self._class_weight = [float(w) for w in saved.field("weights of its classes", data, "weight", expected)]
        self.events_ = read_first_cuts(data)
        if not all(isinstance(model, CountsClassifier) for model in models):
            raise ModelFileError("its leaves are no classifiers that read counts")
        self._tree.take_plain(data["tree"], models)
