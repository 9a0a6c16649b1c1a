"""LBR: lazy Bayesian rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tanager.counts.block import Query
from tanager.counts.estimates import LearnedBackOff
from tanager.counts.joint import JointCounts
from tanager.encoding import Schema
from tanager.encoding.chunks import rows_of_dicts
from tanager.encoding.typing import Row, TableLike
from tanager.errors import DataError, OptionError, SchemaMismatch, is_number
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.rows import KeptRows
from tanager.learning.rule_words import Rule, in_words
from tanager.scoring.forms import Form, naive
from tanager.scoring.lazy_rules import LazyRules, RuleSearch
from tanager.scoring.view import View


@dataclass(eq=False, repr=False, kw_only=True)
class LBR(CountsClassifier):
    """Lazy Bayesian rules: for each row, naive Bayes over the learned rows that share some of its values.

    Which values these are is found when the row comes: one more is taken as long as naive Bayes then answers
    significantly more of the learned rows rightly, each left out in turn. Often more accurate than naive Bayes where
    columns depend on each other in some regions of the data only; it says which values matter for a row (``rule``, and
    ``rules`` for a table).
    Learning only keeps the rows, but the first answers take long: AODE is about as accurate and much faster.

    Parameters
    ----------
    significance : float, default=0.05
        A value is taken if errors fall significantly at this level, by a one-tailed sign test over the rows with it.
    min_errors : float, default=5
        No further value is looked for where naive Bayes errs on less weight of rows than this.
    max_tests : int or None, default=None
        At most so many values in a rule; None for any number.

    Notes
    -----
    Learning takes O(rows columns), a prediction up to O(rows columns³ classes), memory O(rows columns). What was worked
    out about a set of values serves all later rows; it is kept within ``max_memory``, and follows rows that are learned
    a few at a time. Rules are found without regard to ``priors``, ``class_weight`` and costs, which change the answers
    only. ``leave_one_out`` finds each rule anew.

    Zheng and Webb (2000).

    Examples
    --------
    The class says whether two coins agree; either coin alone says nothing. Among the rows with heads first, naive Bayes
    knows: of 8 rows with heads both times, all agree, so P = 9/10, the share of the classes is the same, and Laplace's
    rule leaves 1/10 for the other.

    >>> from tanager import LBR
    >>> X = [["heads", "heads"], ["heads", "tails"], ["tails", "heads"], ["tails", "tails"]] * 8
    >>> model = LBR().fit(X, ["same", "other", "other", "same"] * 8)
    >>> print(model.rule([["heads", "heads"]]))
    x0 = heads: naive Bayes on 16 rows
    >>> model.predict_proba([["heads", "heads"]])
    array([[0.1, 0.9]])
    """

    significance: float = 0.05
    min_errors: float = 5
    max_tests: int | None = None

    def check_options(self) -> None:
        super().check_options()
        if isinstance(self.estimate, LearnedBackOff):
            raise OptionError(
                "LBR cannot learn strengths: every answer comes from other rows. Use BackOff(1) or another smoothing."
            )
        if not is_number(self.significance, 0) or not 0 < self.significance <= 1:
            raise OptionError(f"significance={self.significance!r}: give a level above 0 and at most 1, such as 0.05.")
        if not is_number(self.min_errors, 0):
            raise OptionError(f"min_errors={self.min_errors!r}: give a number of rows of at least 0.")
        if self.max_tests is not None and (not is_number(self.max_tests, 0) or int(self.max_tests) != self.max_tests):
            raise OptionError(f"max_tests={self.max_tests!r}: give a whole number of values of at least 0, or None.")

    def counts_shape(self, schema: Schema) -> dict[str, Any]:
        """Single columns: of all rows, naive Bayes is all that is asked for."""
        return {"order": 1}

    def _needs_rows(self) -> bool:
        return True

    def _structure(self, counts: JointCounts, rows: KeptRows | None) -> Form:
        if rows is None:
            raise SchemaMismatch("LBR looks at the rows for every answer, and counts alone do not hold them. Use fit.")
        return naive(counts.n_features)

    def _scorer(self, view: View) -> LazyRules:
        rows = self.memory.rows
        assert rows is not None
        max_tests = None if self.max_tests is None else int(self.max_tests)
        search = RuleSearch(float(self.significance), float(self.min_errors), max_tests)
        return LazyRules(view, rows, search, self.max_memory)

    def rule(self, row: Row | TableLike) -> Rule:
        """The rule that a row is answered by. ``row`` is a dict, or a table of one row.

        Parameters
        ----------
        row : dict or table of one row
            What to answer.

        Returns
        -------
        Rule
            The rule; print it.
        """
        self.check_fitted()
        query = self.encode(row if rows_of_dicts(row) or not isinstance(row, dict) else [row])
        if len(query) != 1:
            raise DataError(f"rule takes one row, got {len(query)}. Use rules for many.")
        return self._rules_of(query)[0]

    def rules(self, X: TableLike) -> list[Rule]:
        """The rules that the rows of a table are answered by, one for every row.

        Parameters
        ----------
        X : table
            Rows: a frame, an array, a list of rows (sequences or dicts) or a dict of columns.

        Returns
        -------
        list of Rule
            One for every row.
        """
        self.check_fitted()
        return self._rules_of(self.encode(X))

    def _rules_of(self, query: Query) -> list[Rule]:
        """Rows with the same rule share it."""
        scorer = self.uncalibrated()
        assert isinstance(scorer, LazyRules)
        found: list[Rule | None] = [None] * len(query)
        for rows, rule in scorer.rules(query, self.n_threads):
            shared = in_words(rule, query.codes[rows[0]], self.memory)
            for r in rows.tolist():
                found[r] = shared
        return [rule for rule in found if rule is not None]

    def reasons_of(self, query: Query) -> dict[str, Any]:
        """The rule of a row that is explained; what the tested values say is in its prior."""
        return {"rule": str(self._rules_of(query)[0])}
