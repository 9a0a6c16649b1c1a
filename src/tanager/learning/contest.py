"""Contest: columns compete along a stream for being the super-parent, and no rows are kept.

The first rows (``warm_up``) say who begins: they are kept until then, and every column is tried on them, each row left
out. From then on the super-parent in use and a few challengers each have a model of their own. Every row is answered by
all of them before they learn it, and the probability that each gave to the true class is added to sums that fade.

Every hundred rows somebody looks. A challenger that has led for long enough takes over. One that had its turn and does
not lead makes room for the next column: fewest turns first, then the one whose dependences with all others, in the
counts at hand, are strongest (that is the likelihood of a SPODE, and costs nothing to keep). So every column has its
turn, and turns grow longer, because newcomers have to learn first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tanager import saved
from tanager.counts.block import Block
from tanager.counts.forgetting import as_decay, as_window
from tanager.counts.joint import JointCounts
from tanager.counts.memory import as_bytes, check_budget
from tanager.errors import ModelFileError
from tanager.learning import stream
from tanager.learning.counting import follow_vocabulary
from tanager.learning.structure_change import CHANGE, Hoeffding, Lead, StructureChange, rows_of, rule_of
from tanager.structure.orders import column_order

if TYPE_CHECKING:
    from tanager.learning.counts_classifier import CountsClassifier

LOOK = 100  # rows between two looks
PATIENCE = 1000  # rows for which a challenger must lead
LEAD = 0.01  # by which share of the sum
TURN = 2000  # rows of the first turn of a newcomer; each further turn is twice as long
KEEP = 0.999  # by which sums fade per row


@dataclass(frozen=True)
class Rules:
    """When a challenger takes over, and how sums fade."""

    n_challengers: int
    patience: float
    bound: Hoeffding | None
    keep: float

    @classmethod
    def of(cls, model: CountsClassifier, n_challengers: int) -> Rules:
        """By the options of a model. Sums fade as fast as the model forgets; by the bound, no faster."""
        bound, patience = rule_of(model.refresh), rows_of(model.refresh)
        decay, window = as_decay(model.decay), as_window(model.window)
        keep = 1.0 if bound is not None else KEEP
        if decay is not None and not decay.timed:
            keep = min(keep, decay.per_row)
        if window is not None and window.rows is not None:
            keep = min(keep, 1 - 1 / max(2.0, window.rows))
        patience = PATIENCE if patience is None else patience
        return cls(0 if patience == float("inf") else n_challengers, patience, bound, keep)


class Contest:
    """The super-parent in use, its challengers, and what rows have said about them.

    ``columns[0]`` is in use; the models of the others are ``challengers``, in their order. ``sums`` and ``weights`` are
    over the rows that both of a pair have answered: ``sums[a, b]`` is of the probabilities that a gave.
    """

    def __init__(self, rules: Rules, n_first: int) -> None:
        self.rules, self.n_first = rules, n_first
        self.n_rows = 0
        self.columns: list[int] = []  # nobody competes yet
        self.challengers: list[CountsClassifier] = []
        self.sums = self.weights = np.zeros((0, 0))
        self.led: list[int] = []  # for how many rows each one has led
        self.judged_from: list[int] = []  # the row from which on each one is compared
        self.until: list[int] = []  # the row at which the turn of each one ends
        self.turns: dict[int, int] = {}  # how many turns each column had
        self.changes: list[StructureChange] = []

    @property
    def begun(self) -> bool:
        """Whether the first rows have said who competes."""
        return bool(self.columns)

    # --- rows ---------------------------------------------------------------------------------------------------

    def run(self, model: CountsClassifier, lap: stream.Lap, first: Callable[[stream.Lap], None]) -> None:
        """Answer and learn rows; ``first`` does so while there is no contest yet."""
        counted = lap.block.labelled
        if lap.block.weights is not None:
            counted = counted & (lap.block.weights > 0)
        places = np.flatnonzero(counted)
        done, seen = 0, 0
        while done < len(lap.block):
            left = self._rows_to_look()
            end = len(lap.block) if seen + left > len(places) else int(places[seen + left - 1]) + 1
            part, n = lap.part(slice(done, end)), min(left, len(places) - seen)
            self._run_part(model, part, counted[done:end], first)
            self.n_rows += n
            done, seen = end, seen + n
            if n == left:
                self._look(model)

    def _rows_to_look(self) -> int:
        if not self.begun:
            return max(1, self.n_first - self.n_rows)
        return LOOK - (self.n_rows - self.n_first) % LOOK

    def _run_part(
        self, model: CountsClassifier, lap: stream.Lap, counted: np.ndarray, first: Callable[[stream.Lap], None]
    ) -> None:
        if not self.begun:
            first(lap)
            return
        n = len(lap.block)
        own = np.empty((n, len(self.columns)))
        for at, member in enumerate([model, *self.challengers]):
            out = lap.out if at == 0 else np.empty_like(lap.out)
            asked = lap.asked if at == 0 else None
            judged = np.zeros_like(out)
            stream.run_alone(member, stream.Lap(lap.block, asked, out, judged))
            own[counted, at] = judged[counted, lap.block.labels[counted]]
        weights = None if lap.block.weights is None else lap.block.weights[counted]
        self._add(own[counted], weights)

    def _add(self, own: np.ndarray, weights: np.ndarray | None) -> None:
        """Add the probabilities (rows, members) that were given to the true classes; there is no look in between."""
        n, keep = len(own), self.rules.keep
        fade = keep ** np.arange(n - 1, -1, -1.0)
        if weights is not None:
            fade = fade * weights
        judged = np.array([self.n_rows >= since for since in self.judged_from])
        both = judged[:, None] & judged
        self.sums = keep**n * self.sums + np.where(both, (fade @ own)[:, None], 0.0)
        self.weights = keep**n * self.weights + np.where(both, fade.sum(), 0.0)

    # --- looks --------------------------------------------------------------------------------------------------

    def _look(self, model: CountsClassifier) -> None:
        if not self.begun:
            if model.columns_fixed:  # else rows will be counted again, in other bins
                self._begin(model)
            return
        for at in range(1, len(self.columns)):
            self.led[at] = self.led[at] + LOOK if self._ratio(at) > 1 + LEAD else 0
        ready = [(-self._ratio(at), self.columns[at], at, why) for at in self._places if (why := self._why(at))]
        if ready:
            *_, at, why = min(ready)
            self._take_over(model, at, why)
        else:
            self._next_turn(model)

    @property
    def _places(self) -> range:
        return range(1, len(self.columns))

    def _ratio(self, at: int) -> float:
        """What a challenger has gained over the same rows, as a multiple of what the super-parent in use has.

        Rounded: sums differ in the last bits with how rows came, and ties must not depend on that.
        """
        ours = self.sums[0, at]
        return round(float(self.sums[at, 0] / ours), 9) if ours > 0 else 0.0

    def _lead_of(self, at: int) -> Lead:
        n = float(self.weights[at, 0])
        ahead = float(self.sums[at, 0] - self.sums[0, at]) / n if n > 0 else 0.0
        return Lead(round(ahead, 9), 1.0, n)

    def _why(self, at: int) -> str | None:
        """Why a challenger takes over; None where it does not."""
        if self.rules.bound is not None:
            return self.rules.bound.why(self._lead_of(at))
        return "lead" if self.led[at] >= self.rules.patience else None

    def _begin(self, model: CountsClassifier) -> None:
        """Columns are tried on the first rows: the best is used, the next ones challenge it."""
        memory = model.memory
        assert memory.rows is not None
        self.columns = model._super_parents()[: 1 + self.rules.n_challengers]
        n, block = len(self.columns), memory.rows.block
        self.sums, self.weights, self.led = np.zeros((n, n)), np.zeros((n, n)), [0] * n
        self.judged_from, self.until = [self.n_rows] * n, [self.n_rows + TURN] * n
        self.turns = dict.fromkeys(self.columns, 1)
        self.challengers = [_challenger(model, s, block) for s in self.columns[1:]]
        memory.counts = _counted(model, self.columns[0], block)
        if memory.window is None:
            memory.rows = None
        model._answering.forget()

    def _take_over(self, model: CountsClassifier, at: int, why: str) -> None:
        """A challenger and the super-parent in use change places, with all that they have learned."""
        lead, names = self._lead_of(at), model.counts_.schema.names
        bound = self.rules.bound
        margin = LEAD * float(self.sums[0, at] / self.weights[0, at]) if bound is None else bound.margin(lead[2], 1.0)
        change = StructureChange(self.n_rows, names[self.columns[0]], names[self.columns[at]], lead.ahead, margin, why)
        self.changes.append(change)
        model.events_.append(change)
        places = [*range(len(self.columns))]
        places[0], places[at] = at, 0
        self.columns = [self.columns[q] for q in places]
        self.judged_from = [self.judged_from[q] for q in places]
        self.sums, self.weights = self.sums[np.ix_(places, places)], self.weights[np.ix_(places, places)]
        self.led = [0] * len(places)
        self.until[at] = self.n_rows + TURN
        other = self.challengers[at - 1]
        model._memory, other._memory = other._memory, model._memory
        other.set_params(super_parent=self.columns[at])
        model._answering.forget()
        other._answering.forget()

    def _next_turn(self, model: CountsClassifier) -> None:
        """The worst of those that had their turn and do not lead makes room for a column that waits."""
        over = [at for at in self._places if self.n_rows >= self.until[at] and self._ratio(at) <= 1]
        waiting = [s for s in range(model.counts_.n_features) if s not in self.columns]
        if not over or not waiting:
            return
        at = min(over, key=lambda at: (self._ratio(at), -self.columns[at]))
        place = {s: q for q, s in enumerate(column_order(model.counts_, "ig_sum"))}
        self._let_in(model, at, min(waiting, key=lambda s: (self.turns.get(s, 0), place[s])))

    def _let_in(self, model: CountsClassifier, at: int, s: int) -> None:
        turn = TURN * 2 ** min(self.turns.get(s, 0), 30)
        rows = model.memory.rows  # of a window: the newcomer counts them at once
        self.columns[at] = s
        self.challengers[at - 1] = _challenger(model, s, None if rows is None else rows.block)
        self.turns[s] = self.turns.get(s, 0) + 1
        self.sums[at], self.sums[:, at], self.weights[at], self.weights[:, at] = 0.0, 0.0, 0.0, 0.0
        self.led[at], self.until[at] = 0, self.n_rows + turn
        self.judged_from[at] = self.n_rows + (turn // 2 if rows is None else 0)

    # --- what else happens --------------------------------------------------------------------------------------

    def follow(self, model: CountsClassifier) -> None:
        """The model has met new values."""
        for challenger in self.challengers:
            challenger.encoder_ = model.encoder_
            follow_vocabulary(challenger)

    def add_classes(self, classes: np.ndarray) -> None:
        """There are more classes."""
        for challenger in self.challengers:
            challenger.add_classes(classes)

    def add_columns(self, model: CountsClassifier, n_new: int, wider: dict[str, Any]) -> None:
        """Columns have come, missing in all rows so far; they wait for their turn."""
        for challenger in self.challengers:
            challenger.encoder_ = model.encoder_
            challenger._columns_added(n_new, wider)

    def scores(self) -> dict[int, tuple[float, float]]:
        """Of each column in the contest: the mean probability of the true class, and that of the one in use."""
        found = {}
        for at, s in enumerate(self.columns):
            n = self.weights[at, 0]
            found[s] = (float(self.sums[at, 0] / n), float(self.sums[0, at] / n)) if n > 0 else (np.nan, np.nan)
        return found

    # --- files --------------------------------------------------------------------------------------------------

    def to_plain(self) -> dict[str, Any]:
        """All but the models of the challengers."""
        return {
            "rows": self.n_rows,
            "columns": self.columns,
            "sums": self.sums.tolist(),
            "weights": self.weights.tolist(),
            "led": self.led,
            "judged_from": self.judged_from,
            "until": self.until,
            "turns": [list(turn) for turn in self.turns.items()],
            "changes": [list(change) for change in self.changes],
        }

    def take_state(self, model: CountsClassifier, state: dict[str, Any]) -> None:
        """Take back what ``to_plain`` gave, and the challengers."""
        challengers, data, schema = list(state.get("models", ())), state.get("contest"), model.counts_.schema
        self._take_plain(data, challengers, len(schema))
        for s, challenger in zip(self.columns[1:], challengers, strict=True):
            alike = type(challenger) is type(model) and challenger.counts_.schema == schema
            if not alike or challenger.classes_.tolist() != model.classes_.tolist():
                raise ModelFileError("a challenger of its contest has other columns or classes")
            if not challenger.counts_.holds(order=2, anchors=(s,)):
                raise ModelFileError("a challenger of its contest has counts of another super-parent")
            challenger.encoder_ = model.encoder_
        if self.begun and not model.counts_.holds(order=2, anchors=self.columns[:1]):
            raise ModelFileError("its counts are of another super-parent than its contest says")
        model.events_ = [*model.events_, *self.changes]

    def _take_plain(self, data: Any, challengers: Sequence[CountsClassifier], n_columns: int) -> None:
        what, column = "contest of its super-parents", saved.whole(0, n_columns - 1)
        columns = saved.field(what, data, "columns", saved.items(column, distinct=True))
        n = len(columns)
        square, each = saved.items(saved.items(saved.number(0.0), n), n), saved.items(saved.whole(), n)
        expected = {
            "rows": saved.whole(),
            **{"sums": square, "weights": square, "led": each, "judged_from": each, "until": each},
            "turns": saved.items(saved.row(column, saved.whole())),
            "changes": saved.items(CHANGE),
        }
        own = saved.read(what, data, expected)
        if len(challengers) != max(0, n - 1):
            raise ModelFileError(f"its contest is of {n} super-parents, and there are {len(challengers)} challengers")
        self.columns, self.challengers, self.n_rows = list(columns), list(challengers), own["rows"]
        self.sums, self.weights = (np.array(own[name], dtype=float).reshape(n, n) for name in ("sums", "weights"))
        self.led, self.judged_from, self.until = (list(own[name]) for name in ("led", "judged_from", "until"))
        self.turns = dict(own["turns"])
        self.changes = [StructureChange(*change) for change in own["changes"]]


def check_room(model: CountsClassifier, n_members: int) -> None:
    """Refuse columns of which the counts of all members together would take too much memory."""
    schema = model.encoder_.schema
    n_values, k = schema.n_values, len(model.classes_)
    widest = int(np.argmax(n_values)) if len(n_values) else 0
    needed = n_members * JointCounts.estimate_bytes(n_values, k, anchors=(widest,) if len(n_values) else ())
    what = f"counting the triples of {n_members} super-parents"
    check_budget(needed, model.max_memory, what, "Use fewer challengers, bins or columns, or raise max_memory.")


def _challenger(model: CountsClassifier, s: int, block: Block | None) -> CountsClassifier:
    """A model with another super-parent that has learned these rows; or none, and yet is as old as the first."""
    other, memory = model._with_super_parent(s), model.memory
    other.start(target=model.target_name_)
    other.classes_, other.encoder_ = model.classes_, model.encoder_
    other._remember(_counted(model, s, block))
    other.note_columns()
    other.memory.clock = copy(memory.clock)
    if memory.window is not None:
        other.memory.rows = deepcopy(memory.rows)
    return other


def _counted(model: CountsClassifier, s: int, block: Block | None) -> JointCounts:
    """Counts for this super-parent of these rows, which have faded as those of the model have."""
    old, budget = model.counts_, as_bytes(model.max_memory)
    assert model._contest is not None
    share = None if math.isinf(budget) else int(budget / (1 + model._contest.rules.n_challengers))
    counts = JointCounts(old.schema, old.classes, anchors=(s,), spare=old.spare, max_memory=share)
    counts.take_scale(old)
    if block is not None:
        counts.update(block.codes, block.labels, block.weights, n_jobs=model.n_threads)
    return counts
