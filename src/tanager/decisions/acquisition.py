"""Acquisition: which column to ask for next, where asking costs and errors cost, and when to stop asking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tanager.decisions.beliefs import Beliefs, beliefs_of, encode_known
from tanager.encoding.typing import LabelsLike, TableLike
from tanager.errors import DataError, OptionError, check_number, check_whole, is_number, nearest
from tanager.learning.counts_classifier import CountsClassifier
from tanager.networks.network import Network
from tanager.scoring.decision import check_costs, decide

MOST_OUTCOMES = 256  # of a group of columns; beyond it, outcomes are drawn
DRAWS = 128
MOST_ROWS = 5_000_000  # to look at for what to ask of one row
AT_ONCE = 100_000  # rows
TIE = 1e-12


class Question(NamedTuple):
    """A column, or a group of columns with one price, that could be asked for."""

    name: str
    columns: tuple[str, ...]
    price: float
    gain: float  # how much less errors are expected to cost once the outcome is known
    net: float  # the gain less the price


@dataclass(frozen=True)
class Advice:
    """What to do, given what is known: the questions with the best first, and the answer if nothing more is asked.

    Attributes
    ----------
    questions : list of Question
        All that can still be asked, by what is left of their gain.
    answer : object
        The best answer for now.
    expected_cost : float
        What errors of this answer are expected to cost.
    probabilities : dict from class to float
    """

    questions: list[Question]
    answer: Any
    expected_cost: float
    probabilities: dict[Any, float]

    @property
    def best(self) -> Question | None:
        """The question to ask next; None where no question is worth its price."""
        worth = self.questions[:1]
        return worth[0] if worth and worth[0].net > TIE else None


@dataclass(frozen=True)
class AcquisitionRun:
    """What was asked of one row, in order, what was paid for it, and the answer."""

    asked: list[str]
    paid: float
    answer: Any
    advice: list[Advice] = field(repr=False)  # before each question, and at the end


class Way(NamedTuple):
    """The mean over rows of what one way of asking costs."""

    price: float
    errors: float  # what errors cost
    total: float
    questions: float  # how many are asked


class AcquisitionReport(NamedTuple):
    """What asking one question after the other costs, beside asking for everything and for nothing."""

    chosen: Way
    everything: Way
    nothing: Way

    def __str__(self) -> str:
        lines = [f"{'':12}{'price':>10}{'errors':>10}{'total':>10}{'questions':>11}"]
        for name, way in zip(("chosen", "everything", "nothing"), self, strict=True):
            lines.append(f"{name:12}{way.price:10.4g}{way.errors:10.4g}{way.total:10.4g}{way.questions:11.3g}")
        return "\n".join(lines)


class Acquisition:
    """Which column to ask for next, where asking costs and errors cost (cost-sensitive feature acquisition).

    A question is worth asking if it can change the answer: its gain is what errors are expected to cost less, once its
    outcome is known, than if one answer is given for all outcomes. That is never negative.

    Parameters
    ----------
    model : fitted classifier or Network
        A classifier over counts with columns of values or bins; or a network with tables, and ``target``.
    prices : mapping from name to number, or number
        What it costs to learn a column, or a group of columns, in the unit of the costs of errors. Columns without a
        price cannot be asked for. One number: the price of every column.
    cost_matrix : array of shape (n_classes, n_answers), default=None
        What an answer costs: one row per true class, one column per answer. By default that of the model, or 1 for
        every error.
    groups : mapping from name to columns, default=None
        Columns that are learned together, at the price of the group: a blood test gives five values.
    look_ahead : int, default=1
        How many questions to think ahead. 1 is greedy: it stops where no question alone is worth its price, even if two
        together would be. The work is the number of outcomes to the power of this.
    target : str, default=None
        The variable of a network that is to be found out.
    answers : sequence, default=None
        What the columns of ``cost_matrix`` are called, where they are no classes (treat, wait, operate).

    Notes
    -----
    P(class | known) is what the model says of a row with gaps. What a column will turn out to be, given what is known,
    is foretold by a tree (TAN) over the counts of the model, or by naive Bayes where it has not counted pairs. A
    network is asked itself. Outcomes of groups with more than 256 combinations are drawn, 128 each, always the same.

    Examples
    --------
    >>> from tanager import Acquisition, NaiveBayes
    >>> X = {"blood": ["high", "high", "low", "low"] * 5, "noise": ["a", "b"] * 10}
    >>> model = NaiveBayes().fit(X, ["ill", "ill", "well", "well"] * 5)
    >>> asking = Acquisition(model, prices={"blood": 0.1, "noise": 0.1})
    >>> asking.next().best.name
    'blood'
    >>> asking.next({"blood": "high"}).best is None  # nothing more is worth its price
    True
    """

    def __init__(
        self,
        model: CountsClassifier | Network,
        prices: Mapping[str, float] | float,
        cost_matrix: ArrayLike | None = None,
        *,
        groups: Mapping[str, Sequence[str]] | None = None,
        look_ahead: int = 1,
        target: str | None = None,
        answers: Sequence[object] | None = None,
    ) -> None:
        check_whole("look_ahead", look_ahead, 1)
        self.beliefs: Beliefs = beliefs_of(model, target)
        self.look_ahead = look_ahead
        self._named_answers = answers is not None
        self.answers = list(self.beliefs.labels if answers is None else answers)
        self.costs = self._checked_costs(getattr(model, "cost_matrix", None) if cost_matrix is None else cost_matrix)
        self.questions = self._checked_questions(prices, groups or {})
        n = sum(self._n_outcomes(own) for _, own, _ in self.questions)
        if float(n) ** look_ahead > MOST_ROWS:
            raise OptionError(
                f"look_ahead={look_ahead} would look at more than {MOST_ROWS:,} combinations of the {n:,} outcomes of "
                f"{len(self.questions)} questions. Use look_ahead={look_ahead - 1}, or fewer questions."
            )

    def _checked_costs(self, given: Any) -> np.ndarray:
        labels = self.beliefs.labels
        if not self._named_answers:
            classes = np.empty(len(labels), dtype=object)
            classes[:] = labels
            costs = check_costs(given, classes)
            return 1.0 - np.eye(len(labels)) if costs is None else costs
        if given is None:
            raise OptionError("answers= needs cost_matrix=, which says what each of them costs.")
        costs = np.asarray(given, dtype=float)
        if costs.shape != (len(labels), len(self.answers)) or not np.isfinite(costs).all():
            raise OptionError(
                f"cost_matrix must hold finite numbers of shape ({len(labels)}, {len(self.answers)}): one row for each "
                f"of the classes {labels}, one column for each of the answers {self.answers}; found {costs.shape}."
            )
        return costs

    def _checked_questions(
        self, prices: Mapping[str, float] | float, groups: Mapping[str, Sequence[str]]
    ) -> list[tuple[str, tuple[int, ...], float]]:
        """Name, columns and price of everything that can be asked."""
        columns = self.beliefs.columns
        if is_number(prices):
            taken = {name for own in groups.values() for name in own}
            prices = dict.fromkeys((*groups, *(c for c in columns if c not in taken)), prices)
        if not isinstance(prices, Mapping):
            raise OptionError(f"prices={prices!r}: give a price for each column by name, or one number for all.")
        for name, own in groups.items():
            if name in columns:
                raise OptionError(f"the group {name!r} has the name of a column. Call it something else.")
            if isinstance(own, str) or not own:
                raise OptionError(f"the group {name!r} must be a list of columns; it is {own!r}.")
            if name not in prices:
                raise OptionError(f"the group {name!r} has no price. Give it in prices.")
            for column in own:
                if column not in columns:
                    raise OptionError(f"group {name!r}: there is no column {column!r}.{nearest(column, columns)}")
        found = []
        for name, price in prices.items():
            check_number(f"the price of {name!r}", price)
            if name not in columns and name not in groups:
                raise OptionError(f"prices names {name!r}, which is no column.{nearest(name, (*columns, *groups))}")
            places = tuple(columns.index(c) for c in groups.get(name, (name,)))
            found.append((name, places, float(price)))
        return found

    # --- one row ------------------------------------------------------------------------------------------------------

    def next(self, known: Mapping[str, object] | None = None) -> Advice:
        """What to ask next, given the known columns of a row; ``best`` is None where nothing is worth its price.

        Parameters
        ----------
        known : dict, default=None
            Names and values of the columns that are known.

        Returns
        -------
        Advice
            What is worth asking, the best first.
        """
        codes = encode_known(self.beliefs, known or {})
        return self._advice(codes, self._asked_by(codes))

    def run(self, row: Mapping[str, object], known: Sequence[str] = ()) -> AcquisitionRun:
        """Ask for columns of a row until none is worth its price; ``known`` are known from the start, for nothing.

        Parameters
        ----------
        row : dict
            All columns of a row.
        known : sequence of str, default=()
            Columns that are known from the start, for nothing.

        Returns
        -------
        AcquisitionRun
            What was asked, paid and answered.
        """
        cells = encode_known(self.beliefs, row)
        codes, asked = self._start(cells, known)
        paid, names = 0.0, list[str]()
        trail: list[Advice] = []
        while True:
            trail.append(self._advice(codes, asked))
            best = trail[-1].best
            if best is None:
                return AcquisitionRun(names, paid, trail[-1].answer, trail)
            q = next(at for at, question in enumerate(self.questions) if question[0] == best.name)
            self._ask(codes, asked, cells, np.array([0]), q)
            names.append(best.name)
            paid += best.price

    def _advice(self, codes: np.ndarray, asked: np.ndarray) -> Advice:
        proba = self.beliefs.classes(codes)
        nets = self._nets(codes, asked, self.look_ahead)[0]
        found = []
        for (name, own, price), net in zip(self.questions, nets.tolist(), strict=True):
            if net > -np.inf:
                columns = tuple(self.beliefs.columns[j] for j in own)
                found.append(Question(name, columns, price, net + price, net))
        answer = self.answers[int(self._decide(proba)[0])]
        shares = dict(zip(self.beliefs.labels, proba[0].tolist(), strict=True))
        ranked = sorted(found, key=lambda question: -question.net)
        return Advice(ranked, answer, float((proba[0] @ self.costs).min()), shares)

    # --- a table ------------------------------------------------------------------------------------------------------

    def evaluate(self, X: TableLike, y: LabelsLike, known: Sequence[str] = ()) -> AcquisitionReport:
        """What it costs on average to answer the rows of a table, asking for one column after the other.

        A cell that is missing in the table is paid for, and nothing is learned from it.

        Parameters
        ----------
        X : table
            Rows that the model has not learned, with all columns.
        y : array of labels
            The class of every row.
        known : sequence of str, default=()
            Columns that are known from the start, for nothing.

        Returns
        -------
        AcquisitionReport
            Averages over the rows.
        """
        cells = self.beliefs.encode(X)
        labels = self._label_codes(y, len(cells))
        return AcquisitionReport(
            self._one_by_one(cells, labels, *self._start(cells, known)),
            self._all_at_once(cells, labels, *self._start(cells, known)),
            self._way(self._start(cells, known)[0], labels, np.zeros(len(cells)), np.zeros(len(cells))),
        )

    def _one_by_one(self, cells: np.ndarray, labels: np.ndarray, codes: np.ndarray, asked: np.ndarray) -> Way:
        """Every row asks for what is best for it, until nothing is worth its price."""
        paid, n_asked = np.zeros(len(cells)), np.zeros(len(cells))
        prices = np.array([price for _, _, price in self.questions])
        active = np.arange(len(cells) if self.questions else 0)
        while len(active):
            best = self._best(codes[active], asked[active])
            active, best = active[best >= 0], best[best >= 0]
            for q in np.unique(best).tolist():
                self._ask(codes, asked, cells, active[best == q], q)
            paid[active] += prices[best]
            n_asked[active] += 1
        return self._way(codes, labels, paid, n_asked)

    def _all_at_once(self, cells: np.ndarray, labels: np.ndarray, codes: np.ndarray, asked: np.ndarray) -> Way:
        """Every row asks for everything that can be asked; a column of a group comes with the group."""
        grouped = {j for _, own, _ in self.questions if len(own) > 1 for j in own}
        paid, n_asked = np.zeros(len(cells)), np.zeros(len(cells))
        for q, (_, own, price) in enumerate(self.questions):
            if len(own) > 1 or own[0] not in grouped:
                paid += price * ~asked[:, q]
                n_asked += ~asked[:, q]
        for q in range(len(self.questions)):
            self._ask(codes, asked, cells, np.arange(len(cells)), q)
        return self._way(codes, labels, paid, n_asked)

    def _best(self, codes: np.ndarray, asked: np.ndarray) -> np.ndarray:
        """The question to ask for each row, -1 for none; rows of which the same is known are looked at once."""
        keys = np.hstack([codes, asked.astype(codes.dtype)])
        _, first, back = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        nets = self._nets(codes[first], asked[first], self.look_ahead)
        best = np.where(nets.max(axis=1) > TIE, nets.argmax(axis=1), -1)
        return best[back.reshape(-1)]

    def _way(self, codes: np.ndarray, labels: np.ndarray, paid: np.ndarray, n_asked: np.ndarray) -> Way:
        errors = self.costs[labels, self._decide(self.beliefs.classes(codes))].mean()
        return Way(float(paid.mean()), float(errors), float(paid.mean() + errors), float(n_asked.mean()))

    def _label_codes(self, y: Any, n: int) -> np.ndarray:
        places = {label: c for c, label in enumerate(self.beliefs.labels)}
        found = np.asarray(y, dtype=object).tolist()
        if len(found) != n or not n:
            raise DataError(f"X has {n} rows and y {len(found)} classes. Give one class for each of at least one row.")
        odd = next((label for label in found if label not in places), None)
        if odd is not None:
            raise DataError(
                f"y holds {odd!r}, which is none of the classes {self.beliefs.labels}.{nearest(odd, places)}"
            )
        return np.array([places[label] for label in found])

    def _start(self, cells: np.ndarray, known: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Codes of the columns that are known from the start, and which questions they answer, missing or not."""
        codes = np.full_like(cells, -1)
        for name in known:
            if name not in self.beliefs.columns:
                raise DataError(f"known: there is no column {name!r}.{nearest(name, self.beliefs.columns)}")
            j = self.beliefs.columns.index(name)
            codes[:, j] = cells[:, j]
        asked = self._asked_by(codes)
        for q, (_, own, _) in enumerate(self.questions):
            asked[:, q] |= all(self.beliefs.columns[j] in known for j in own)
        return codes, asked

    def _asked_by(self, codes: np.ndarray) -> np.ndarray:
        """Which questions have been answered: (rows, questions)."""
        asked = [(codes[:, list(own)] >= 0).all(axis=1) for _, own, _ in self.questions]
        return np.array(asked, dtype=bool).reshape(len(self.questions), len(codes)).T.copy()

    def _ask(self, codes: np.ndarray, asked: np.ndarray, cells: np.ndarray, rows: np.ndarray, q: int) -> None:
        """Let some rows learn the columns of a question."""
        for j in self.questions[q][1]:
            codes[rows, j] = cells[rows, j]
        asked[rows] |= self._asked_by(codes[rows])
        asked[rows, q] = True

    def _decide(self, proba: np.ndarray) -> np.ndarray:
        if self._named_answers:
            return np.asarray((proba @ self.costs).argmin(axis=1))
        return decide(proba, self.beliefs.class_counts, self.costs)

    # --- what a question is worth -------------------------------------------------------------------------------------

    def _nets(self, codes: np.ndarray, asked: np.ndarray, depth: int) -> np.ndarray:
        """What is left of the gain of each question: (rows, questions); -inf for those that were asked."""
        sizes = [self._n_outcomes(own) for _, own, _ in self.questions]
        nets = np.full((len(codes), len(self.questions)), -np.inf)
        for q, (_, own, price) in enumerate(self.questions):
            step = max(AT_ONCE // sizes[q], 1)
            waiting = np.flatnonzero(~asked[:, q])
            for at in range(0, len(waiting), step):
                rows = waiting[at : at + step]
                nets[rows, q] = self._gains(codes[rows], asked[rows], q, own, depth) - price
        return nets

    def _n_outcomes(self, own: tuple[int, ...]) -> int:
        n = prod(int(self.beliefs.n_values[j]) for j in own)
        return n if n <= MOST_OUTCOMES else DRAWS

    def _gains(self, codes: np.ndarray, asked: np.ndarray, q: int, own: tuple[int, ...], depth: int) -> np.ndarray:
        """How much less errors are expected to cost once the outcome is known, row by row."""
        gains = np.zeros(len(codes))
        open_columns = codes[:, list(own)] < 0
        for pattern in np.unique(open_columns, axis=0):
            rows = np.flatnonzero((open_columns == pattern).all(axis=1))
            columns = [j for j, is_open in zip(own, pattern, strict=True) if is_open]
            after, weights = self._outcomes(codes[rows], columns)
            losses = self.beliefs.classes(after) @ self.costs  # (rows * outcomes, answers)
            blind = np.einsum("ro,roa->ra", weights, losses.reshape(*weights.shape, -1)).min(axis=1)
            seen = losses.min(axis=1)
            if depth > 1:
                now = np.repeat(asked[rows], weights.shape[1], axis=0)
                now[:, q] = True
                seen -= self._nets(after, now | self._asked_by(after), depth - 1).max(axis=1, initial=0.0)
            gains[rows] = blind - (weights * seen.reshape(weights.shape)).sum(axis=1)
        return gains

    def _outcomes(self, codes: np.ndarray, columns: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """Rows with columns filled in, as they may turn out, and how probable each is: (rows, outcomes)."""
        n = prod(int(self.beliefs.n_values[j]) for j in columns)
        if n > MOST_OUTCOMES:
            return self._draws(codes, columns)
        weights = np.ones(len(codes))
        for j in columns:
            shares = self.beliefs.column(codes, j)
            codes = np.repeat(codes, shares.shape[1], axis=0)
            codes[:, j] = np.tile(np.arange(shares.shape[1]), len(shares))
            weights = (weights[:, None] * shares).reshape(-1)
        return codes, weights.reshape(-1, n)

    def _draws(self, codes: np.ndarray, columns: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(0)
        n, codes = len(codes), np.repeat(codes, DRAWS, axis=0)
        for j in columns:
            reached = self.beliefs.column(codes, j).cumsum(axis=1)
            codes[:, j] = (reached < rng.random((len(codes), 1)) * reached[:, -1:]).sum(axis=1)
        return codes, np.full((n, DRAWS), 1.0 / DRAWS)
