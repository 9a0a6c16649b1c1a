"""The typed face of the three compiled modules: arrays in, arrays out."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

_Codes = NDArray[np.uint8] | NDArray[np.uint16]
_RowOfCodes = bytes | _Codes
_Floats = NDArray[np.float64]
_Integers = NDArray[np.int64]

def count(
    codes: _Codes,
    labels: _Codes,
    weights: _Floats | None,
    offsets: _Integers,
    n_values: _Integers,
    classes: _Floats,
    singles: _Floats,
    pairs: _Floats | None,
    triples: Sequence[tuple[int, int, _Floats]],
    families: Sequence[tuple[Sequence[int], _Floats | SparseTable]],
    sign: int = 1,
    n_jobs: int = 1,
    method: Literal["auto", "bits", "increments"] = "auto",
) -> _Integers | None:
    """Add sign times the rows to the tables; None when done.

    When a code or label does not fit, nothing is added and the sizes needed come back: n_values of each attribute
    and, last, the number of classes. A row whose label is the missing marker is left out.

    The method changes the time, never the counts: "bits" counts pairs by conjunctions of bit slices (plain rows,
    attributes of at most 255 values, at most 255 classes; the rest falls back), "increments" row by row, "auto"
    chooses for each pair.
    """

def pair_sums(pairs: _Floats, offsets: _Integers, n_values: _Integers) -> _Floats:
    """(n, n, 8): M, S_ijy, S_iy, S_jy, S_y, S_ij, S_i, S_j of each pair over rows with both present."""

def check_interrupts(n: int) -> None:
    """Look so often whether the user wants to stop, and do nothing else: to measure what it costs."""

def interrupt_checks() -> int:
    """How often kernels in the main thread have looked whether the user wants to stop."""

def watch(callable: Callable[[int, int], object] | None) -> None:
    """Call this, some times a second, with what is done and what is to do in long calls of the main thread."""

def cpu_features() -> list[str]:
    """The instruction sets of this processor that the kernels look for."""

def set_cpu_level(level: Literal["auto", "plain", "avx2", "avx512"]) -> None:
    """Use at most this level; "auto" is the best this processor has."""

def value_weights(codes: _Codes, weights: _Floats, n_values: Sequence[int], out: _Floats) -> None:
    """Adds what the rows with every value of every column weigh, the values of all columns one after the other."""

def fold_right(
    codes: _Codes,
    labels: _Codes,
    dealt: _Floats,
    n_values: Sequence[int],
    pseudo: Sequence[float],
    n_classes: int,
    class_pseudo: float,
    wanted: Sequence[bool],
    right: _Floats,
    heaviest: bool = False,
    n_jobs: int = 1,
    n_asked: int = 0,
) -> None:
    """The weight of the rows that naive Bayes, less the fold of a row, answers correctly.

    ``dealt`` is the weight of each row in each fold, (folds, rows). right[i] is for a naive Bayes of its own for every
    value of column i, where that is wanted, and right[n] for one over all rows. ``pseudo`` is added to the cells of
    each column, ``class_pseudo`` to those of the class. A row without a value of the column is shared out over the
    parts, or goes to the heaviest. With ``n_asked`` only rows of so many first folds are answered; 0 is all.
    """

# Encoding. The largest value of the code type means missing.
def code_limits(codes: np.ndarray, limits: np.ndarray) -> None:
    """limits[i] = 1 + the largest code of column i; 0 when all are missing. Codes are contiguous by row or column."""

def recode(index: np.ndarray, table: np.ndarray, out: np.ndarray) -> None:
    """out = table[index] with int32 index; the last cell of the table serves index -1."""

def cut(values: np.ndarray, cuts: np.ndarray, out: np.ndarray) -> None:
    """out = number of cut points below each float64 value; NaN is missing."""

def index_whole(numbers: np.ndarray, out: np.ndarray) -> list[int]:
    """The distances from the smallest number that occur, ascending; out = each number's place among them.

    Empty when a distance is too large for the type of out (uint8, uint16)."""

def mdl_cuts(
    values: np.ndarray,
    labels: np.ndarray,
    weights: np.ndarray | None,
    n_classes: int,
    by_candidates: bool,
    n_bins: float,
) -> list[float]:
    """Fayyad and Irani's cut points of float64 values in ascending order, with uint16 labels.

    Where ``n_bins`` is not 0, large bins are cut on by equal frequency, to about so many in all."""

def cuts_of_unsorted(
    values: np.ndarray,
    labels: np.ndarray,
    by_candidates: bool,
    n_bins: float | None,
    rows_per_cell: float,
    most_bins: float,
) -> list[float]:
    """``mdl_cuts`` of float64 values in any order and of weight 1, some of them perhaps missing or infinite.

    Without ``n_bins`` they follow the rows: see ``refined``."""

def float_columns(rows: list[Any], names: list[str], out: np.ndarray) -> list[bool]:
    """Float cells of dicts, NaN where one is absent or None, into a Fortran array of shape (rows, names).

    Returns which columns are such, with at least one that is not missing; the others are unfinished."""

def has_fractions(numbers: np.ndarray) -> bool:
    """Whether one of float64 numbers is not whole, infinite, or beyond 2**53; NaN is missing."""

def even_cuts(values: np.ndarray, weights: np.ndarray | None, n_bins: int) -> list[float]:
    """Cut points of float64 values in ascending order between bins of about the same weight."""

def index_objects(
    cells: Sequence[object] | np.ndarray, out: np.ndarray, is_missing: Callable[[object], bool]
) -> list[object]:
    """The distinct objects by first appearance; out (int32) = each cell's place in that list, -1 for missing."""

class RowFinder:
    """Codes of single rows: a column is a dict from value to code, cut points, True (no code), or None (ask Python)."""

    def __init__(self, names: list[str], columns: list[object]) -> None: ...
    def row(self, row: dict[str, object], alone: bool) -> bytes | None:
        """The codes as bytes, 255 where a cell is missing; None where some cell needs a closer look in Python, or a
        code is no byte. With `alone` also where the row has other names than those of columns."""
    def find(self, row: dict[str, object], out: np.ndarray) -> bool:
        """Write the codes; False where some cell needs a closer look in Python."""

class NumberFinder:
    """Numbers of some columns of single rows."""

    def __init__(self, names: list[str]) -> None: ...
    def find(self, row: dict[str, object], out: np.ndarray) -> bool:
        """Write the numbers (float64), NaN where one is absent; False where some cell needs a closer look in Python."""

class SparseTable:
    """The counts of a family in the contexts of its parents that have occurred."""

    def __init__(self, sizes: Sequence[int], child_slots: int, n_classes: int) -> None:
        """`sizes` are the slots of the parents; a context is a number as of a cell in a table of that shape."""
    def add(self, keys: _Integers, child: _Integers, cells: _Floats) -> None:
        """Add counts by class to the cells of so many contexts and slots of the child."""
    def occupied(self) -> tuple[_Integers, _Floats]:
        """The contexts of which something is left, ascending, and copies of their cells (child, class)."""
    def n_new(self, keys: _Integers) -> int:
        """How many of these contexts, each given once, have no cells yet."""
    def least(self) -> float:
        """The smallest cell."""
    def clear_below(self, least: float) -> None:
        """Set cells closer to zero than this to zero."""
    def weigh_classes(self, factors: Sequence[float]) -> None:
        """Multiply the cells of every class by a factor."""
    @property
    def n_contexts(self) -> int: ...
    @property
    def nbytes(self) -> int: ...

# Scoring.
class Store:
    """The arrays of a JointCounts, checked once."""

    def __init__(
        self,
        offsets: _Integers,
        n_values: _Integers,
        classes: _Floats,
        singles: _Floats,
        pairs: _Floats | None,
        triples: Sequence[tuple[int, int, _Floats]],
        families: Sequence[tuple[Sequence[int], _Floats | SparseTable]],
    ) -> None: ...
    def count(
        self, codes: _Codes, labels: _Codes, weights: _Floats | None, sign: int = 1, n_jobs: int = 1
    ) -> _Integers | None:
        """Add sign times the rows, as the function `count` does."""
    def learn(self, codes: _Codes, labels: _Codes, weights: _Floats | None, unit: float = 1.0) -> int:
        """Add row after row; returns the rows done before one with an unknown value or class."""
    def learn_one(self, codes: _RowOfCodes, label: int, weight: float = 1.0) -> bool:
        """Add a single row; False, and nothing added, where it has an unknown value or class."""
    def forget(self, codes: _Codes, labels: _Codes, raw: _Floats) -> int:
        """Take rows out by the weights they were added with, times their unit; stops as `learn` does."""
    def forget_one(self, codes: _RowOfCodes, label: int, raw: float) -> bool:
        """The same for a single row; False, and nothing changed, where it has an unknown value or class."""
    def n_rows(self) -> float:
        """The raw weight of all rows; 0 where classes are not counted."""
    def halve(self, times: int) -> None:
        """Divide all cells by 2 to this power."""

def factor_loss(
    steps: np.ndarray,
    n_classes: int,
    unit: float,
    labels: np.ndarray,
    weights: np.ndarray,
    factors: np.ndarray,
    fixed: np.ndarray,
    slopes: np.ndarray | None = None,
    losses: np.ndarray | None = None,
) -> float:
    """The weighted log loss of rows whose logs are a weighted sum of factors; slopes by factor, then by class."""

class ForestTables:
    n_bytes: int
    def score(self, slots: np.ndarray, out: _Floats, child: int | None = None, n_jobs: int = 1) -> None:
        """out (rows, classes): the sum over families (of one child) of what their tables say."""
    def one(self, codes: np.ndarray, prior: np.ndarray) -> list[float]:
        """The posterior of one row of codes, with these logs added; a code that is no slot is missing."""
    def cells(self) -> np.ndarray:
        """All cells as one array, family after family."""

class Forest:
    """Families of columns, each smoothed from level to level; slots are (columns, rows)."""

    def __init__(
        self,
        n_slots: Sequence[int],
        groups: np.ndarray,
        families: np.ndarray,
        clip: float,
        weakest: float = ...,
        strongest: float = ...,
    ) -> None: ...
    def learn(
        self,
        slots: np.ndarray,
        labels: np.ndarray,
        weights: np.ndarray,
        half: int,
        few: int,
        judged: int,
        n_classes: int,
        strengths: np.ndarray,
        first_terms: np.ndarray,
        second_terms: np.ndarray,
        n_jobs: int = 1,
    ) -> None:
        """Strengths of back-off, (families, 17), from the first ``few`` rows of each half of the rows.

        And what every family says about the first ``judged`` rows of each half, left out, with strengths of the other
        half, as int8 (blocks of 64 rows, families, classes, 64); of two classes the second alone.
        """
    def left_out(
        self,
        slots: np.ndarray,
        labels: np.ndarray,
        weights: np.ndarray | None,
        judged_slots: np.ndarray,
        judged_labels: np.ndarray,
        judged_weights: np.ndarray | None,
        n_classes: int,
        strengths: np.ndarray,
        factors: np.ndarray,
        out: _Floats,
        n_jobs: int = 1,
    ) -> None:
        """out (judged rows, classes): the sum of that over families, each times its weight."""
    def tables(
        self,
        slots: np.ndarray,
        labels: np.ndarray,
        weights: np.ndarray | None,
        n_classes: int,
        strengths: np.ndarray,
        factors: np.ndarray,
        n_jobs: int = 1,
    ) -> ForestTables:
        """What every family says in each of its cells, times its weight."""
    def tables_of(self, cells: np.ndarray, n_classes: int) -> ForestTables:
        """The same from one array of all cells."""
    def table_starts(self, n_classes: int) -> list[int]:
        """Where the cells of each family begin; the last is their number."""

def tree_weights(store: Store, out: _Floats, ess: float, unit: float = 1.0, n_jobs: int = 1) -> None:
    """out (n, n): the log of the Bayes factor for an edge between two columns, given the class."""

def tree_sums(
    store: Store,
    log_weights: _Floats,
    codes: _Codes,
    out: _Floats,
    ess: float,
    unit: float = 1.0,
    most_range: float = ...,
    smooth_unseen: bool = False,
    labels: _Codes | None = None,
    weights: _Floats | None = None,
    n_jobs: int = 1,
) -> None:
    """out (rows, classes): the log of the sum over all trees of the product of Bayes factor and lift of their edges.

    Up to what all classes of a row share. With labels (and weights) every row is left out of the counts, and so of the
    Bayes factors.
    """

def tree_steps(
    store: Store,
    log_weights: _Floats,
    codes: _Codes,
    c: int,
    log_sum: _Floats,
    shares: _Floats,
    ess: float,
    unit: float = 1.0,
    most_range: float = ...,
    smooth_unseen: bool = False,
) -> None:
    """For one row and class: log_sum (1, n) of every column as it is taken out, its shares (n, n) by column left."""

def learn_strengths(plan: ScoringPlan) -> None:
    """Of a learned back-off: find the strengths of all families in the counts as they are now."""

def back_off_strengths(
    tables: Sequence[_Floats], start: float = 1.0, n_fixed: int = 0, prior: float = 0.0
) -> list[float]:
    """The strengths of one family, from tables (groups, parents ..., child) with none, one, two, ... parents.

    The first `n_fixed` levels keep the strength to start with. `prior` is how firmly the others are held to it.
    """

class ScoringPlan:
    """How a classifier reads the counts of a Store."""

    def __init__(
        self,
        store: Store,
        kind: str,
        strength: float,
        unit: float = 1.0,
        smooth_unseen: bool = False,
        fast: bool = True,
        first: float = -1.0,
        prior: float = 0.0,
    ) -> None:
        """`first` is the strength of a back-off where there are no parents; below 0 it is the same. `prior` holds
        learned ones to `strength`.

        Cells hold true counts times the unit. Strengths, weights and `min_count` are as for true counts.
        """
    def rescale(self, unit: float) -> None:
        """Go on with another unit."""
    def strengths(self) -> list[float]:
        """Those of every term, with none, one, two, ... parents; then those of the class with its parents."""
    def set_strengths(self, all: Sequence[float]) -> None:
        """What ``strengths`` gave."""
    def product(
        self,
        child: Sequence[int],
        parents: Sequence[Sequence[int]],
        weight: Sequence[float],
        class_parents: Sequence[int] = (),
        only: Sequence[Sequence[int]] = (),
        free: Sequence[tuple[int, Sequence[int]]] = (),
        joined: Sequence[Sequence[int]] = (),
    ) -> None:
        """A product of sums. `only`: per term the classes it applies to (none is all); `free`: families without y;
        `joined`: columns that are smoothed as one, which has a value for every combination of theirs.
        """
    def sum(
        self,
        sets: Sequence[Sequence[int]],
        weight: Sequence[float],
        min_count: float,
        children: Sequence[int] | None = None,
    ) -> None:
        """Members with these super-parents; ``children`` depend on them (None: all columns)."""
    def otherwise(self, plan: ScoringPlan) -> None:
        """The plan that answers where no member of this one is eligible."""
    def staged(self, naive: ScoringPlan, mix: str, limit: int = -1, margin: float = ...) -> None:
        """Of a sum: score with naive Bayes first, then with one member more after every step.

        `mix` is "joint", "posterior" or "replace". At most `limit` members are added (-1: all), and no more once the
        same class led by more than `margin` in log-odds after two steps in a row. From then on all answers are staged.
        """
    def classes(self, priors: Sequence[float], factor: Sequence[float]) -> None:
        """Given priors, and factors of the classes; empty for none."""
    def score(
        self,
        codes: _Codes,
        out: _Floats,
        log_joint: bool = False,
        labels: _Codes | None = None,
        weights: _Floats | None = None,
        unit: float = 1.0,
        n_jobs: int = 1,
    ) -> None:
        """Posteriors (or logs of the joint); with labels, each row is left out of the counts."""
    def one(self, codes: _RowOfCodes, log_joint: bool = False) -> list[float]:
        """The posterior of a single row, or logs of the joint."""
    def one_changed(self, codes: _RowOfCodes, plus: Sequence[ScoringPlan], minus: Sequence[ScoringPlan]) -> list[float]:
        """The posterior of a single row whose log joint gains those of some plans, and loses those of others."""
    def learn_judged(self, codes: _RowOfCodes, label: int, weight: float, tally: _Floats, judge: bool = True) -> float:
        """Learn one row; below 0, and nothing has changed, where its values or class are not known.

        Else the weight of the rows since the last look. Four weights of tally grow: of rows learned, and since the last
        look, and (with judge) of those that the plan, and the majority of the rows so far, answer rightly. For counts
        that do not fade.
        """
    def learn_rows_judged(
        self, codes: _Codes, labels: _Codes, weights: _Floats | None, tally: _Floats, judge: bool = True
    ) -> int:
        """The same for rows, one after the other, up to one that is not learned; how many were."""
    def parts(self, codes: _Codes, out: _Floats) -> None:
        """For every row P(y, x_s) of every member, then P(child | y, parents) of every term; NaN where missing."""
    def term(
        self,
        number: int,
        codes: _Codes,
        out: _Floats,
        labels: _Codes | None = None,
        weights: _Floats | None = None,
        unit: float = 1.0,
    ) -> None:
        """P(child | y, parents) of one term for every row, less the row itself where labels are given."""
    def terms(self) -> list[tuple[int, list[int]]]:
        """Child and parents of every term, in the order of `parts`."""
    def n_cells(self, leave_out: bool = False) -> float:
        """Cells that compiling would take."""
    def beats_tables(self, n_rows: int, left_out: bool = False) -> bool:
        """Whether so many rows are read together, by what they have in common, and no compiled tables beat that."""
    def n_reads(self) -> float:
        """Cells that the answer of one row reads."""
    def compile(self, leave_out: bool = False) -> Compiled: ...

def score_marginal(
    plan: ScoringPlan,
    codes: _Codes,
    out: _Floats,
    log_joint: bool = False,
    labels: _Codes | None = None,
    weights: _Floats | None = None,
    unit: float = 1.0,
    n_jobs: int = 1,
) -> None:
    """As `score` of a plan, for single networks and multi-nets, missing values summed out; NaN where it is too much."""

def stream(
    plan: ScoringPlan,
    codes: _Codes,
    labels: _Codes,
    weights: _Floats | None,
    out: _Floats,
    unit: float = 1.0,
    answered: _Codes | None = None,
    fade: _Floats | None = None,
    queue: tuple[_Codes, _Codes, _Floats] | None = None,
    gone: _Integers | None = None,
    member_scores: _Floats | None = None,
    keep: float = 1.0,
    judged: _Floats | None = None,
    keeps_half: bool = False,
    stale: bool = False,
) -> tuple[int, float, int, bool]:
    """Answer each row (or that of `answered`), fade all counts by fade[r], learn it; then gone[r] rows leave.

    The queue has the codes, labels and raw weights (times their unit) of rows that can leave: those learned before,
    oldest first, then the rows of this call, whose raw weights are written when they are learned. Before a row with
    a label is learned, `member_scores` fade by `keep` and the row is added to them. `judged` (rows, classes) gets
    what the classes of each row were given before it was learned, 0 where it has no label.

    Returns the rows done before one with an unknown value or class, the unit at the end, and how many times all
    cells (and raw weights still in the queue) were halved on the way because the unit had become too large.
    """

def resolve_subsumption(
    store: Store,
    codes: _Codes,
    out: _Codes,
    least: float,
    unit: float = 1.0,
    left_out: _Floats | None = None,
    n_jobs: int = 1,
    gaps_differ: bool = False,
) -> None:
    """Copy codes into out; values that only repeat a more special one of the same row become missing.

    With gaps_differ a row that lacks a value is one without that value, else it is not looked at."""

class Compiled:
    """A plan with every probability worked out."""

    def score(
        self,
        codes: _Codes,
        out: _Floats,
        log_joint: bool = False,
        n_jobs: int = 1,
        labels: _Codes | None = None,
    ) -> None: ...
    @property
    def nbytes(self) -> int: ...

class KeptJoints:
    """Joints of members, from the pass that judges them alone to the one that judges them together."""

    def __init__(self, most_bytes: int) -> None: ...

class Run:
    """Rows that are scored by one member after the other."""

    def __init__(
        self,
        plan: ScoringPlan,
        codes: _Codes,
        tables: tuple[Compiled, Compiled] | None = None,
        limit: int | None = None,
        margin: float | None = None,
    ) -> None:
        """Rows to go through step by step; from tables of the plan and of naive Bayes where they are given.

        Limit and margin are those of the plan unless given.
        """
    def advance(self, steps: int = -1, nanoseconds: int = -1, n_jobs: int = 1) -> bool:
        """Naive Bayes for all rows at first; then rounds, in which every row that is not done gets its next member.

        Until there were `steps` rounds or the time is up, less what writing the answers takes (below 0: no limit). Then
        some rows may have up to four members more than others; the next call gives to those first. True while some row
        could get another member.
        """
    def answer(self, out: _Floats, log_joint: bool = False) -> None: ...
    def used(self, out: NDArray[np.int32] | NDArray[np.int64]) -> None:
        """How many members were added for each row."""

def validate_members(
    plan: ScoringPlan,
    codes: _Codes,
    labels: _Codes,
    weights: _Floats | None,
    member_scores: _Floats,
    leave_out: bool,
    unit: float = 1.0,
    begin: int = 0,
    nanoseconds: int = -1,
    n_jobs: int = 1,
    judged: str = "both",
    joints: KeptJoints | None = None,
) -> int:
    """Add to `member_scores` (6, members + 1) how each member alone, and each number of members, answers the rows.

    Three rows of weights (wrong answers, probability of the true class, all rows) for naive Bayes and each member
    alone, and three for the first 0, 1, ... members. With `leave_out` every row is answered without itself. Returns
    the row to go on with; at least one is done even if the time is up. Judged "alone", members leave what they
    found in `joints`; judged "together" they read it, which is for the same rows, counts and factors of classes.
    """

def right_in_folds(
    plan: ScoringPlan, codes: np.ndarray, labels: np.ndarray, dealt: np.ndarray, n_jobs: int = 1
) -> float:
    """The weight of rows, (folds, rows), that are answered correctly from the rows of all other folds.

    Over empty counts, which are empty again in the end.
    """

def factors(
    plan: ScoringPlan,
    products: Sequence[tuple[Any, ...]],
    over: Sequence[Sequence[Factor]],
    codes: _Codes,
    labels: _Codes,
    weights: _Floats | None,
    log_prior: _Floats,
    least_log: float,
    unit: float = 1.0,
) -> list[Factor]:
    """What products over the same counts, with the same estimates, make of learned rows, each left out.

    A product is (child, parents, weight, only, joined), as for `product`. Each is divided by P(y) of every row,
    whose logs are given, and by the factors in `over`. Logs of a joint are no less than `least_log`.
    """

def arc_factors(
    plan: ScoringPlan,
    arcs: Sequence[tuple[int, int]],
    alone: Sequence[Factor],
    codes: _Codes,
    labels: _Codes,
    weights: _Floats | None,
    log_prior: _Floats,
    least_log: float,
    unit: float = 1.0,
) -> list[Factor]:
    """As `factors` for pairs (parent, child): P(child | y, parent) over P(child | y), which is in `alone`."""

def block_factors(
    plan: ScoringPlan,
    blocks: Sequence[Sequence[int]],
    over: Sequence[Sequence[Factor]],
    codes: _Codes,
    labels: _Codes,
    log_prior: _Floats,
    least_log: float,
) -> list[Factor]:
    """As `factors` for columns that are one column together, counted from the rows themselves.

    The rows are all that was learned, once each, and have values in all these columns; pseudo-counts are constant
    and positive. The columns of a block are in order.
    """

def search_tree(
    plan: ScoringPlan,
    promising: Sequence[tuple[int, Sequence[int]]],
    by_super_parent: bool,
    codes: _Codes,
    labels: _Codes,
    once: _Floats | None,
    log_prior: _Floats,
    least_log: float,
    unit: float,
    joint: _Floats,
    weights: _Floats | None,
    preference: Sequence[int],
    total: float,
    log_loss: bool,
    min_gain: float,
    n_jobs: int,
) -> list[int]:
    """The parent of every column, or -1, of a tree that grows from `joint` on, arc by arc, while answers become better.

    As `arc_factors` and `score_changes`, from the first step to the last: of the parents in `promising`, each with the
    children that it may have, in order, the best one for all its children is found, and then the best of its arcs; or
    the best of all arcs. `once` is the part of the weight of a row that is left out.
    """

def search_blocks(
    plan: ScoringPlan,
    backward: bool,
    n_cells: Sequence[float],
    most_columns: int,
    most_cells: float,
    cached_bytes: int,
    codes: _Codes,
    labels: _Codes,
    log_prior: _Floats,
    least_log: float,
    joint: _Floats,
    preference: Sequence[int],
    total: float,
    log_loss: bool,
    min_gain: float,
    n_jobs: int,
) -> list[tuple[list[list[int]], float]]:
    """Steps that add, leave out or join columns, with the criterion after each; see `block_factors`, `score_changes`.

    Of one block it is said that it is added, or left out if it was there, and of two that they are joined.
    """

def super_parent_sums(
    store: Store,
    codes: _Codes,
    labels: _Codes,
    weights: _Floats | None,
    order: Sequence[int],
    kind: str,
    strength: float,
    unit: float,
    smooth_unseen: bool,
    leave_out: bool,
    n_jobs: int,
    out: _Floats,
) -> None:
    """For each column as the super-parent of a collection: the sum of the probabilities of the rows' classes."""

# Structure learning.
def mixed_rows(codes: _Codes, n_values: _Integers, ranks: _Integers, seed: int) -> NDArray[np.uint64]:
    """A number for every row, as if drawn at random, but the same for rows that are the same.

    ``ranks`` has for every column those of its values, and then that of what is missing (n_values and above).
    """

class Sample:
    """Rows in which any set of variables can be counted; codes column after column, n_values and above missing.

    The method changes the time, never a count: "bits" where all variables have few values and no row has a weight,
    "increments", "hash" (information and scores only) where there are more cells than rows; "auto" chooses.
    """

    def __init__(self, codes: _Codes, n_values: Sequence[int], weights: _Floats | None) -> None: ...
    def count(self, variables: Sequence[int], method: str = "auto") -> _Floats:
        """One axis per variable; rows that lack one are left out."""
    def information(
        self, x: int, z: int, given: Sequence[int], method: str = "auto"
    ) -> tuple[float, float, float, float, float]:
        """I(X; Z | given), the weight of the rows, df without structural zeros, naive df, Pearson's X²."""
    def scores(
        self,
        kind: str,
        child: int,
        parents: Sequence[Sequence[int]],
        strength: float = 1.0,
        method: str = "auto",
    ) -> _Floats:
        """The scores ("ll", "aic", "bic", "k2", "bdeu") of one child with each of several sets of parents."""
    def climb(
        self,
        kind: str,
        strength: float,
        nodes: Sequence[int],
        given: Sequence[int],
        allowed: Sequence[Sequence[bool]],
        required: Sequence[tuple[int, int]],
        max_parents: int | None,
        rounding: float,
        target: int | None,
        all_joined: bool,
    ) -> tuple[list[list[int]], int]:
        """The parents of a network that a greedy search by a score finds, and how many families were scored."""

    def informations(self, x: int, others: Sequence[int], given: Sequence[int]) -> list[float]:
        """I(X; Z | given) of X with each of several others."""
    def pairs(self, variables: Sequence[int], given: Sequence[int]) -> list[tuple[float, float, float, float, float]]:
        """The same of every two of the variables, the first with all others first."""
    @property
    def n_asked(self) -> int: ...
    @property
    def n_counted(self) -> int: ...

class Separation:
    """A graph between some variables (nodes 0, 1, ...) of a sample, and the tests that can separate two of them.

    The test is "threshold" (of nats), "g_squared" or "pearson" (with a level, and whether it is guarded and naive).
    """

    def __init__(
        self,
        sample: Sample,
        nodes: Sequence[int],
        given: Sequence[int],
        allowed: Sequence[Sequence[bool]],
        test: str,
        bound: float,
        guard: bool,
        naive: bool,
        max_cond: int,
    ) -> None: ...
    def join(self, a: int, b: int) -> None: ...
    def part(self, a: int, b: int) -> None: ...
    def between(self, a: int, b: int) -> list[int]:
        """The nodes on paths between two nodes that pass no node twice; without the two ends."""
    def by_neighbours(
        self, a: int, b: int, always: bool, widely: bool
    ) -> tuple[bool, bool, list[int], tuple[float, float, float, float, float]] | None:
        """Whether the neighbours of one end, or with `widely` theirs as well, separate two nodes; see `phases`.

        Whether they do, whether there are too many of them, the set, and what `information` says. None where nothing
        lies between the two, unless `always`.
        """
    def learn(
        self, required: Sequence[tuple[int, int]], extend_by_order: bool, max_parents: int | None
    ) -> tuple[list[list[int]], list[tuple[int, int]]]:
        """A network from no edges at all, as CBL learns it; the arcs whose direction is left open come second."""
    @property
    def n_tests(self) -> int: ...

# Parameters learned by conditional likelihood.
class LogLinear:
    """Tables over families whose sums are log joints: log P(y, x) = prior[y] + sum of cells[place, y].

    A term has one place per slot of each parent (its values, then missing) and value of its child, in this order. A
    row whose child is missing reads nothing of the term.
    """

    def __init__(
        self, limits: Sequence[int], child: Sequence[int], parents: Sequence[Sequence[int]], n_classes: int
    ) -> None: ...
    @property
    def n_places(self) -> int: ...
    def rows(self, codes: _Codes, labels: _Codes, weights: _Floats | None = None) -> LabelledRows:
        """Labelled rows to learn from."""
    def score(
        self, codes: _Codes, prior: _Floats, cells: _Floats, out: _Floats, log_joint: bool = False, n_jobs: int = 1
    ) -> None:
        """Posteriors, or log joints."""

class LabelledRows:
    """Labelled rows as the cells they read; rows that are alike are kept once, with their weights added."""

    @property
    def n_rows(self) -> int: ...
    def gradient(self, prior: _Floats, cells: _Floats, d_prior: _Floats, d_cells: _Floats, n_jobs: int = 1) -> float:
        """The conditional log-likelihood; its derivatives are written to d_prior and d_cells."""

# Lazy Bayesian rules.
def binomial_tail(x: float, n: float) -> float:
    """P(Binomial(n, 1/2) <= x); neither number need be whole."""

class SumOverRows:
    """Averages over all sets of some columns, counted in the learned rows for each row that is asked about.

    Pseudo-counts are the same in all contexts, and positive: ``kind`` is "lidstone" or "m".
    """

    def __init__(
        self,
        codes: _Codes,
        labels: _Codes,
        weights: _Floats | None,
        n_values: Sequence[int],
        n_classes: int,
        kind: str,
        strength: float,
        smooth_unseen: bool,
    ) -> None: ...
    def score(
        self,
        codes: _Codes,
        out: _Floats,
        size: int,
        min_count: float,
        log_joint: bool = False,
        priors: Sequence[float] = (),
        factors: Sequence[float] = (),
        labels: _Codes | None = None,
        weights: _Floats | None = None,
        n_jobs: int = 1,
    ) -> None:
        """Posteriors, or logs of the joint; NaN where no set is eligible. Rows with labels are left out."""
    def parts(self, codes: _Codes, out: _Floats, size: int, min_count: float) -> None:
        """For one row P(x_j | y, x_s) and, last, P(y, x_s): (sets in ascending order, columns + 1, classes)."""

class LazyRules:
    """Which values of a row are worth conditioning naive Bayes on, by the learned rows it answers wrongly, left out.

    Rows that are alike are kept once: ``first`` are their places, ``weights`` what they weigh together. Sets of tests
    that were looked at are cached, up to max_bytes.
    """

    def __init__(
        self,
        codes: _Codes,
        labels: _Codes,
        weights: _Floats | None,
        n_values: Sequence[int],
        n_classes: int,
        kind: str,
        strength: float,
        first: float,
        significance: float,
        min_errors: float,
        max_tests: int | None,
        max_bytes: float,
    ) -> None: ...
    @property
    def first(self) -> _Integers: ...
    @property
    def weights(self) -> _Floats: ...
    @property
    def n_cached(self) -> int:
        """Sets of tests in the cache."""
    @property
    def n_evaluated(self) -> int:
        """Sets of tests that were worked out so far."""
    def find(self, codes: _Codes, tested: NDArray[np.uint8], n_jobs: int = 1) -> None:
        """tested = 1 where the value of a row is a test of its rule, else 0."""
    def append(self, codes: _Codes, labels: _Codes, weights: _Floats | None) -> bool:
        """Let in rows that were learned after all others; False, and nothing has changed, where that cannot be.

        Sets of tests in the cache follow them.
        """
    def passing(self, values: Sequence[int]) -> NDArray[np.uint32]:
        """Which of the rows kept pass: values[i] is the code that column i must have, or -1."""
    def passing_since(self, values: Sequence[int], since: int) -> _Integers:
        """Which of the appended rows pass, from one on: their numbers among all rows ever given."""

# Streams.
class Evolving:
    """Naive Bayes whose classes are made of pseudo-classes, which come and go with the rows.

    n_values are the known values of each categorical column; more come with the rows. Codes (the largest of their type
    is missing) and numbers (not finite is missing) are two tables over the same rows. A label that is the largest of
    its type is missing. Options are by name: alpha, constant_step, density (of each number: 0 normal, 1 Poisson,
    2 exponential), minimum (of degrees in place of products), window, eta, max_loss, wait, min_hidden, max_pseudo,
    prior_weight, means, variances, var_floor, unlabelled, confidence, p_min, test, simplify, smooth_unseen.
    """

    def __init__(self, n_values: Sequence[int], n_numbers: int, n_classes: int, options: dict[str, Any]) -> None: ...
    @property
    def n_classes(self) -> int: ...
    @property
    def n_values(self) -> list[int]:
        """Values that were learned, or known beforehand."""
    def learn(
        self,
        codes: _Codes,
        numbers: _Floats,
        labels: _Codes,
        weights: _Floats | None = None,
        out: _Floats | None = None,
        answered_codes: _Codes | None = None,
        answered_numbers: _Floats | None = None,
    ) -> None:
        """Learn rows in turn; before each, write its posterior, or that of the row to be answered, to out."""
    def learn_given(
        self,
        codes: _Codes,
        numbers: _Floats,
        labels: _Codes,
        pseudo: NDArray[np.int64],
        n_pseudo: Sequence[int],
        weights: _Floats | None = None,
    ) -> None:
        """Learn rows of given pseudo-classes, before any other row: pseudo[r] is a place among n_pseudo[labels[r]]."""
    def learn_one(self, codes: _Codes, numbers: _Floats, label: int, weight: float = 1.0) -> None:
        """Learn one row; -1 is no label."""
    def score(
        self, codes: _Codes, numbers: _Floats, out: _Floats, log_joint: bool = False, n_jobs: int = 1
    ) -> None: ...
    def one(self, codes: _Codes, numbers: _Floats) -> list[float]:
        """The posterior of one row."""
    def add_classes(self, places: Sequence[int], n_classes: int) -> None:
        """Class c becomes places[c]; the others are unknown until announced or learned. Costs must be set again."""
    def announce(self, classes: Sequence[int]) -> None:
        """Let classes take part in answers though no row of theirs was learned."""
    def add_column(self) -> None:
        """A further categorical column, missing in all rows so far."""
    def add_number(self, density: int = 0) -> None:
        """A further column of numbers, missing in all rows so far."""
    def set_costs(self, costs: Sequence[float]) -> None:
        """Costs row by row (true class), or nothing for 0 and 1."""
    def state(self) -> dict[str, np.ndarray]:
        """All there is, as flat arrays; pseudo-classes by class, the active ones by age, then the hidden."""
    def set_state(self, state: dict[str, np.ndarray]) -> None:
        """Take over a state; one whose numbers do not fit together is refused."""

# Exact sums of w, w x and w x² of every column (see src/kernels/exact_sums.hpp): digits (lines, width) in windows
# (columns, 3, 2), changed in place. `raw` are weights times the scale.
def exact_bounds(values: _Floats, raw: _Floats, bounds: _Integers) -> None:
    """Stretch bounds (columns, 3: first place and the one after the last) to the digits of these rows."""

def exact_add(
    digits: _Integers, windows: _Integers, values: _Floats, raw: _Floats, lines: _Integers, subtract: bool = False
) -> bool:
    """Add each row to its lines (rows, any number; negative: none), or take it away; False where it has no room."""

def exact_add_row(digits: _Integers, windows: _Integers, row: _Floats, raw: float, line: int) -> bool:
    """Add one row to one line; False, and nothing is done, where it has no room or a number is not usable as it is."""

def exact_normalise(digits: _Integers, windows: _Integers) -> None:
    """Carry, so that all digits but the highest of every sum are from 0 to 2^32 - 1."""

def exact_scale(digits: _Integers, windows: _Integers, first: int, step: int, mantissa: int, exponent: int) -> None:
    """Multiply every so many lines from the first on by mantissa 2^exponent; what is below the windows is cut off."""

def exact_read(
    digits: _Integers,
    windows: _Integers,
    lines: _Integers,
    weight: _Floats,
    mean: _Floats,
    deviation: _Floats,
    n_jobs: int = 1,
) -> None:
    """Weight, mean and deviation of some lines (lines, columns)."""

def exact_read_without(
    digits: _Integers,
    windows: _Integers,
    lines: _Integers,
    values: _Floats,
    raw: _Floats,
    weight: _Floats,
    mean: _Floats,
    deviation: _Floats,
    n_jobs: int = 1,
) -> None:
    """The same of lines (rows, sets), each without its row: (rows times sets, columns)."""

# Gaussian columns along a stream.
def fading_scales(fade: _Floats | None, scale: float, scales: _Floats, halved: _Integers) -> None:
    """The scale of weights after each step of fading, and by how many bits sums are divided before it."""

def stream_moments(
    rows: _Floats,
    labels: _Codes,
    raw: _Floats,
    scales: _Floats,
    halved: _Integers,
    digits: _Integers,
    windows: _Integers,
    ddof: int,
    scale: float,
    out: _Floats,
    asked: _Floats | None = None,
    leaving: tuple[_Floats, _Codes, _Floats] | None = None,
    gone: _Integers | None = None,
) -> bool:
    """Log density ratios of each row (or of `asked`) for every class, then the row is learned; digits are changed.

    After it, gone[r] rows leave: those in `leaving` (numbers, labels, raw weights) first, then the rows themselves.
    False, and nothing is done, where there is no room for the digits of a row.
    """

def posteriors(log_joint: _Floats) -> None:
    """Turn logs of the joint, a row for each, into probabilities: where they are."""

def moment_posterior(
    digits: _Integers, windows: _Integers, ddof: int, scale: float, row: _Floats, log_joint: list[float]
) -> list[float] | None:
    """The posterior of one row, from the log joint of its other columns; None where a number is beyond 2**1022."""

def moment_ratios(
    digits: _Integers,
    windows: _Integers,
    ddof: int,
    scale: float,
    values: _Floats,
    ratios: _Floats,
    highest: _Floats,
    labels: _Codes | None = None,
    raw: _Floats | None = None,
) -> bool:
    """Log densities given the class: sums of what each class has less than the highest, and sums of the highest.

    With labels and raw weights every row is first taken out of its class; False where there is no room for its digits.
    """

# Densities of numbers given the contexts that they are in. The k classes of a context are k lines of the distributions,
# one after the other; `lines` has the first of them for every row and set, negative where a parent is missing.
def log_density_sums(
    values: _Floats,
    lines: _Integers,
    mean: _Floats,
    inverse: _Floats,
    top: _Floats,
    n_classes: int,
    set: _Integers,
    child: _Integers,
    log_weight: _Floats,
    out: _Floats,
    n_jobs: int = 1,
) -> None:
    """Log of the weighted sum over the terms of every child (rows, classes, children); -inf where none is present."""

def add_log_densities(
    values: _Floats,
    lines: _Integers,
    mean: _Floats,
    inverse: _Floats,
    top: _Floats,
    n_classes: int,
    set: int,
    skip: int,
    out: _Floats,
    n_jobs: int = 1,
) -> None:
    """Add log densities of all numbers but `skip`, given one set, to `out` (rows, classes) where it is present."""

# Wrapper search over products.
class Factor:
    """What multiplies the joint probability of every row, as logs: a line of a table for each row."""

    def __init__(self, lines: _Integers, table: _Floats, labels: _Codes) -> None:
        """A line number (int32) per row, a table with one number per line and class, and the labels of the rows."""
    def __neg__(self) -> Factor: ...
    @property
    def nbytes(self) -> int:
        """Of its lines (which others may share) and its table."""
    def add_to(self, out: _Floats, sign: float = 1.0) -> None:
        """Add it, or with -1 take it away, in every row and class."""

def best_class_steps(
    joint: _Floats,
    labels: _Codes,
    weights: _Floats,
    preference: Sequence[int],
    tie: float,
    step: _Floats,
    errors: _Floats,
) -> None:
    """For every class: what to add to its logs for the fewest errors, and the weight of the rows that are wrong then.

    Logs within `tie` of the best are as good; of such classes the first in `preference` wins.
    """

class ConditionalRows:
    """Rows whose class is told by families of a network: codes (uint16, column after column) and weights."""

    def __init__(self, codes: _Codes, n_values: Sequence[int], weights: _Floats) -> None: ...
    def log_totals(
        self, ratio: _Floats, families: Sequence[Sequence[int]], tables: Sequence[_Floats], out: _Floats
    ) -> None:
        """For every family the sum over rows of weight * log sum_y ratio[row, y] * table[line of the row, y].

        A table has one line per combination of the variables of the family, the last of which runs fastest.
        """
    def spread(self, family: Sequence[int], table: _Floats, out: _Floats) -> None:
        """The line of every row."""

def score_changes(
    joint: _Floats,
    labels: _Codes,
    weights: _Floats | None,
    preference: Sequence[int],
    factors: Sequence[Factor],
    changes: Sequence[Sequence[int]] | None,
    out: _Floats,
    probabilities: bool = True,
    n_jobs: int = 1,
    logs: bool = True,
    only_best: bool = False,
) -> None:
    """How rows would be answered if factors were added to the logs of the joint; nothing is changed.

    A change is a set of factors, which were made with the same labels; without `changes` every factor is one. For every
    change three sums over the rows: the weight of wrong answers, and with `probabilities` P and (with `logs`) log P of
    the true class. The class that comes first in `preference` wins a tie. With `only_best`, and without
    `probabilities`, wrong answers of a change may be fewer than they are, where they are more than those of the best.
    """

def move_cuts(old: Store, parts: _Integers, to: _Integers, share: _Floats, moved: Store) -> None:
    """Counts by other cut points: single columns, whose cells are zero before, and the lower triangle of pairs.

    Part p is in the old slot parts[p] and in the new one to[p], and has share[p, class] of the old one. Parts are in
    the order of columns; those of one new slot are neighbours.
    """

def answer_half_lives(
    store: Store, n_values: _Integers, units: _Floats, pseudo: float, min_count: float, codes: _Codes, out: _Floats
) -> None:
    """Posteriors of rows, (rows, members, classes), by AODEs whose counts are side by side.

    The store has one lane per class and member, the member innermost; only the lower triangle of its pairs is read.
    Cells of a member are its counts times its unit. Of the slots of column i the first n_values[i] are values that have
    come; the others wait for their first row.
    """

def stream_half_lives(
    store: Store,
    n_values: _Integers,
    units: _Floats,
    pseudo: float,
    min_count: float,
    codes: _Codes,
    labels: _Codes,
    weights: _Floats | None,
    fade: _Floats,
    halved: _Integers,
    judged: _Floats | None,
    answered: _Codes | None = None,
    answers: _Floats | None = None,
) -> int:
    """Answer row after row into `judged` (None: not at all), then learn it; before, counts of m fade by fade[m, row].

    With `answered` these rows are answered as well, into `answers`. A value that has a slot and is new is answered as
    missing, then learned, and `n_values` goes up. Returns the rows done before one with a class or a value without a
    slot. Units are written, and `halved` goes up by how often the cells of a member were halved.
    """

def answer_naive_half_lives(
    offsets: _Integers,
    n_values: _Integers,
    classes: _Floats,
    singles: _Floats,
    units: _Floats,
    pseudo: float,
    codes: _Codes,
    out: _Floats,
) -> None:
    """Posteriors of rows, (rows, members, classes), by naive Bayes with counts side by side: (slots, lanes).

    The slots of column i are offsets[i] .. offsets[i + 1] - 1, the last for missing cells. Of the others the first
    n_values[i] are values that have come; what is beyond is answered as missing.
    """

def stream_naive_half_lives(
    offsets: _Integers,
    n_values: _Integers,
    classes: _Floats,
    singles: _Floats,
    units: _Floats,
    pseudo: float,
    codes: _Codes,
    labels: _Codes,
    weights: _Floats | None,
    fade: _Floats,
    halved: _Integers,
    judged: _Floats | None,
    answered: _Codes | None = None,
    answers: _Floats | None = None,
) -> int:
    """As ``stream_half_lives``. A value that has a slot and is new is answered as missing, then learned.

    ``n_values`` grows by it. Returns the rows done before one with a class or a value that has no slot.
    """

def mirror_pairs(store: Store) -> None:
    """Copy the lower triangle of the pairs to the upper one."""

_Pool = tuple[str, _Floats, _Floats, float, float, float, float]  # the first arguments of `mix_pool`

class PooledAodes:
    """Single rows of half-lives side by side and their pool; arrays are looked at once.

    As `stream_half_lives`, for rows that all fade alike: `fade` is of shape (members, 1).
    """

    def __init__(
        self,
        store: Store,
        n_values: _Integers,
        units: _Floats,
        pseudo: float,
        min_count: float,
        fade: _Floats,
        halved: _Integers,
        pool: _Pool,
    ) -> None: ...
    def answer(self, codes: _RowOfCodes) -> list[float]:
        """What the pool makes of the answers of its members to one row."""
    def learn(self, codes: _RowOfCodes, label: int, weight: float) -> bool:
        """Let pool and members learn one row; False, and nothing has changed, where its class or a value is new."""

class PooledNaives:
    """The same for naive Bayes."""

    def __init__(
        self,
        offsets: _Integers,
        n_values: _Integers,
        classes: _Floats,
        singles: _Floats,
        units: _Floats,
        pseudo: float,
        fade: _Floats,
        halved: _Integers,
        pool: _Pool,
    ) -> None: ...
    def answer(self, codes: _RowOfCodes) -> list[float]:
        """What the pool makes of the answers of its members to one row."""
    def learn(self, codes: _RowOfCodes, label: int, weight: float) -> bool:
        """Let pool and members learn one row; False, and nothing has changed, where its class or a value is new."""

def mix_pool(
    kind: str,
    weights: _Floats,
    square: _Floats,
    step: float,
    keep: float,
    share: float,
    least: float,
    answers: _Floats,
    out: _Floats,
) -> None:
    """What a pool ("logarithmic" or "linear") makes of answers (rows, members, classes)."""

def learn_pool(
    kind: str,
    weights: _Floats,
    square: _Floats,
    step: float,
    keep: float,
    share: float,
    least: float,
    answers: _Floats,
    judged: _Floats | None,
    labels: _Codes,
    row_weights: _Floats | None,
    out: _Floats,
    trace: _Floats | None = None,
) -> None:
    """The same row after row; after each the weights learn from what was judged (None: the answers) and its label.

    `trace` gets the weights after every row.
    """

# Drift in streams.
def wrong_answers(proba: _Floats, labels: _Codes, tie: float, wrong: _Floats) -> None:
    """wrong[r] = 1 where another class is more probable than the true one, by more than a tie; else 0."""

def run_blocks(
    labels: _Codes,
    out: _Floats,
    every: int,
    tie: float,
    models: Sequence[
        tuple[ScoringPlan, _Codes, float, bool, bool, tuple[float, float, float], tuple[float, float, float]]
    ],
    duel: tuple[tuple[float, float, float], tuple[float, float, float]],
    clear: float,
    options: tuple[float, float, float, float],
    before: tuple[int, float, float, float, int],
    quiet_signal: int,
    n_rows_left: int,
    answered: _Codes | None = None,
) -> tuple[
    int,
    int,
    list[tuple[bool, tuple[float, float], tuple[float, float]]],
    tuple[float, float],
    tuple[float, float],
    tuple[int, float, float, float, int],
]:
    """Answer and learn whole blocks of labelled rows of weight 1, tell a DDM after each, and end where it matters.

    A model is its plan, the codes of all rows, the unit of its counts, whether half of its pairs lags behind, whether
    it has learned anything, and two shares of wrong answers as keep, count and of; the first one answers. Goes on while
    the DDM says ``quiet_signal``; or, with ``n_rows_left`` from 0 on, up to so many rows unless it says drift or the
    second model has won. The first one answers the rows ``answered``, in its codes, in place of those that are learned
    where there are some. Gives the rows that went, what was said last, whether pairs lag behind and both shares of each
    model, those of the duel, and what the DDM remembers.
    """

def fading_share(values: _Floats, keep: float, count: float, of: float) -> tuple[float, float]:
    """The sum of values and their number, each weighing ``keep`` times the one after it; both go on from before."""

def hear_answers(
    values: _Floats,
    warning: float,
    drift: float,
    min_rows: float,
    smoothing: float,
    before: tuple[int, float, float, float, int],
) -> tuple[tuple[int, float, float, float, int], int]:
    """Tell a DDM of answers: what it remembers then, and the gravest signal (0 none, 1 warning, 2 drift).

    Remembered are the number of answers, of wrong ones, p and s at the lowest point (NaN before), and the last signal.
    """
