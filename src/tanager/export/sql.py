"""``to_sql``: a classifier with a single network as one ``SELECT``, for answers where the rows live."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tanager.errors import OptionError, check_option
from tanager.export.answers import Answer, Calibrated, Description, Filled, Normal, Product, describe
from tanager.export.columns import Reading
from tanager.export.tables import Table
from tanager.learning.classifier import Classifier
from tanager.scoring.decision import TIE

DIALECTS = ("sqlite", "duckdb", "postgres")
IMPOSSIBLE = -1e300  # the log of zero; sums of it stay finite


def to_sql(
    model: Classifier, *, dialect: str = "sqlite", table: str = "rows", keep: str | Sequence[str] | None = None
) -> str:
    """A fitted classifier as one ``SELECT`` over a table, which gives a prediction and probabilities for every row.

    For naive Bayes, TAN, KDB and all others that answer with a single network, or one for each class; its tables are
    written into the query, and the database needs nothing else. NULL is a missing value.

    Parameters
    ----------
    model : fitted classifier
        What is to answer in the database.
    dialect : {"sqlite", "duckdb", "postgres"}, default="sqlite"
        The database that the query is for.
    table : str, default="rows"
        What to select from: a table or view with the columns that the model was fitted on, under the same names.
    keep : str or list of str, default=None
        Columns of the table to give back beside the answers, such as a key. None: those that the model reads.

    Returns
    -------
    str
        The query: ``keep``, then ``prediction`` and ``p_`` with the name of every class.

    Examples
    --------
    >>> import sqlite3
    >>> from tanager import NaiveBayes, to_sql
    >>> model = NaiveBayes().fit({"sky": ["sun", "sun", "rain", "rain"]}, ["play", "play", "stay", "stay"])
    >>> database = sqlite3.connect(":memory:")
    >>> _ = database.execute("CREATE TABLE days (sky TEXT)")
    >>> _ = database.executemany("INSERT INTO days VALUES (?)", [("sun",), (None,)])
    >>> for sky, prediction, play, stay in database.execute(to_sql(model, table="days")):
    ...     print(sky, prediction, round(play, 4), round(stay, 4))
    sun play 0.75 0.25
    None play 0.5 0.5
    """
    check_option("dialect", dialect, DIALECTS)
    description = describe(model)
    names = [column.name for column in description.columns]
    kept = names if keep is None else [keep] if isinstance(keep, str) else list(keep)
    return _Query(description, Dialect(dialect), kept).written(table)


# --- the words of a dialect ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Dialect:
    """How databases differ."""

    name: str

    @property
    def once(self) -> str:
        """What makes a step work its columns out once. DuckDB does so anyway; others put them in where they are used,
        again and again."""
        return "" if self.name == "duckdb" else "MATERIALIZED "

    def name_of(self, name: str) -> str:
        """A name in quotes."""
        return '"' + name.replace('"', '""') + '"'

    def literal(self, value: Any) -> str:
        """A value in a query."""
        if isinstance(value, bool | np.bool_):
            return "TRUE" if value else "FALSE"
        if isinstance(value, str):
            return "'" + value.replace("'", "''") + "'"
        if isinstance(value, int | np.integer):
            return str(int(value))
        return self.number(float(value))

    def number(self, x: float) -> str:
        """A float. With an exponent it is one everywhere; without, DuckDB takes it for a decimal."""
        x = IMPOSSIBLE if x == -np.inf else x
        if np.isinf(x):
            return "1e999" if self.name == "sqlite" else f"CAST('{'-' if x < 0 else ''}Infinity' AS DOUBLE PRECISION)"
        text = repr(float(x))
        return text if "e" in text else f"{text}e0"

    def double(self, expression: str) -> str:
        """An expression as a double; Postgres takes numbers with a point for decimals of any length."""
        return expression if self.name == "sqlite" else f"CAST({expression} AS DOUBLE PRECISION)"

    def seconds(self, name: str) -> str:
        """A date or time in seconds."""
        if self.name == "sqlite":  # to the millisecond
            return f"(strftime('%s', {name}) + strftime('%f', {name}) - strftime('%S', {name}))"
        return self.double(f"EXTRACT(EPOCH FROM {name})")

    def is_missing(self, name: str, *, number: bool) -> str:
        """Whether a cell is missing; sqlite stores NaN as NULL."""
        if self.name == "sqlite" or not number:
            return f"{name} IS NULL"
        return f"{name} IS NULL OR {name} = CAST('NaN' AS DOUBLE PRECISION)"

    def largest(self, expressions: Sequence[str]) -> str:
        """The largest of several; sqlite's functions take no more than a hundred."""
        if len(expressions) == 1:
            return expressions[0]
        if len(expressions) > 100:
            parts = [expressions[at : at + 100] for at in range(0, len(expressions), 100)]
            return self.largest([self.largest(part) for part in parts])
        return f"{'max' if self.name == 'sqlite' else 'greatest'}({', '.join(expressions)})"

    def smallest(self, a: str, b: str) -> str:
        """The smaller of two."""
        return f"{'min' if self.name == 'sqlite' else 'least'}({a}, {b})"


def _sum(parts: Sequence[str]) -> str:
    """A sum in halves: sqlite takes expressions up to a depth of 1000."""
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    return f"({_sum(parts[:half])}\n        + {_sum(parts[half:])})"


# --- the query -----------------------------------------------------------------------------------------------------


@dataclass
class _Query:
    """One ``SELECT`` after the other, each from the one before; all of them carry the kept columns along."""

    description: Description
    dialect: Dialect
    kept: list[str]
    steps: list[tuple[str, list[str]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.k = len(self.description.classes)
        known = [*self.kept, *(column.name for column in self.description.columns)]
        self.mark = "_"  # begins the names that are ours
        while any(name.startswith(self.mark) for name in known):
            self.mark += "_"

    def own(self, letter: str, at: int | str = "") -> str:
        """A name of ours."""
        return f"{self.mark}{letter}{at}"

    def classes(self, letter: str) -> list[str]:
        """A name of ours for every class."""
        return [self.own(letter, c) for c in range(self.k)]

    def step(self, title: str, columns: Iterable[tuple[str, str]], *carried: str) -> None:
        """A step with these columns (name, expression), and some of ours from the step before."""
        kept = [self.dialect.name_of(name) for name in self.kept]
        made = [*kept, *carried, *(f"{text} AS {name}" for name, text in columns)]
        self.steps.append((title, made or [f"1 AS {self.own('one')}"]))

    def written(self, table: str) -> str:
        """The whole query."""
        fill, product, normal, calibrations = self._parts()
        numbers = normal.columns if normal else ()
        self._slots(product, fill, numbers)
        if normal:
            self._densities(normal, product)
        self._logs(product, normal)
        for calibrated in calibrations:
            changed = [
                f"{self.dialect.number(calibrated.power)} * {name} + {self.dialect.number(offset)}"
                for name, offset in zip(self.classes("l"), calibrated.offsets, strict=True)
            ]
            self.step("calibrated", zip(self.classes("l"), changed, strict=True))
        self._posteriors()
        return self._text(table)

    def _parts(self) -> tuple[np.ndarray | None, Product, Normal | None, list[Calibrated]]:
        """What the answer is made of; refused where that is no single network."""
        answer: Answer = self.description.answer
        calibrations: list[Calibrated] = []
        fill: np.ndarray | None = None
        normal: Normal | None = None
        while isinstance(answer, Calibrated):
            calibrations, answer = [answer, *calibrations], answer.inner
        if isinstance(answer, Normal):
            normal, answer = answer, answer.inner
        if isinstance(answer, Filled):
            fill, answer = answer.slots, answer.inner
        if not isinstance(answer, Product) or answer.sums:
            raise OptionError(
                f"{self.description.name} is no single network, and a query would be as long as all its networks. "
                "Convert it to ONNX (to_onnx, or a file that ends in .onnx), or fit a TAN, KDB or NaiveBayes."
            )
        return fill, answer, normal, calibrations

    # Cells to slots

    def _slots(self, product: Product, fill: np.ndarray | None, numbers: Sequence[int]) -> None:
        used = sorted({i for factor in product.factors for i in factor.columns})
        columns = []
        for i in used:
            reading = self.description.columns[i]
            missing = reading.missing if fill is None or fill[i] < 0 else int(fill[i])
            columns.append((self.own("s", i), self._slot(reading, missing)))
        for i in numbers:
            columns.append((self.own("x", i), self._number(self.description.columns[i])))
        self.step("values by number, the last one missing", columns)

    def _slot(self, reading: Reading, missing: int) -> str:
        """The number of a cell."""
        dialect, name = self.dialect, self.dialect.name_of(reading.name)
        unseen = missing if reading.unseen == reading.missing else reading.unseen
        if reading.kind == "number":
            return str(missing)
        if reading.kind == "values" and reading.is_text:
            cases = [f"WHEN {dialect.literal(word)} THEN {slot}" for word, slot in reading.words.items()]
            own = f"CAST({name} AS TEXT)" if any(not isinstance(v, str) for v in reading.slots) else name
            return f"CASE WHEN {name} IS NULL THEN {missing} ELSE CASE {own} {' '.join(cases)} ELSE {unseen} END END"
        if reading.kind == "values":
            cases = [f"WHEN {dialect.literal(value)} THEN {slot}" for value, slot in reading.slots.items()]
            inner = f"CASE {name} {' '.join(cases)} ELSE {unseen} END" if cases else str(unseen)
            booleans = all(isinstance(value, bool) for value in reading.slots)
            gap = dialect.is_missing(name, number=not booleans)
            return f"CASE WHEN {gap} THEN {missing} ELSE {inner} END"
        x = self._number(reading)
        gap = dialect.is_missing(name, number=not reading.dates)
        if reading.kind == "codes":
            known = f"WHEN {name} >= 0 AND {name} < {reading.n_codes} THEN {name}"
            return f"CASE WHEN {gap} OR {name} < 0 THEN {missing} {known} ELSE {unseen} END"
        cases = [f"WHEN {x} <= {dialect.number(cut)} THEN {at}" for at, cut in enumerate(reading.cuts)]
        return f"CASE WHEN {gap} THEN {missing} {' '.join(cases)} ELSE {len(reading.cuts)} END"

    def _number(self, reading: Reading) -> str:
        """A cell as a number."""
        name = self.dialect.name_of(reading.name)
        return self.dialect.seconds(name) if reading.dates else self.dialect.double(name)

    # Slots to logs

    def _logs(self, product: Product, normal: Normal | None) -> None:
        start = sum((t.cells for t in product.factors if not t.columns), np.zeros(self.k))
        expressions = []
        for c in range(self.k):
            parts = [self.dialect.number(start[c])]
            parts += [self._looked_up(table, c) for table in product.factors if table.columns]
            if normal:
                parts += [f"{self.own('d', f'{i}_{c}')} - {self.own('h', i)}" for i in normal.columns]
            expressions.append(_sum(parts))
        self.step("logs of the joint with every class", zip(self.classes("l"), expressions, strict=True))
        resort = product.last_resort
        if resort is None or not any(np.isneginf(t.cells).any() for t in product.factors):
            return
        top = self.dialect.largest(self.classes("l"))
        rescued = [
            f"CASE WHEN {top} < {IMPOSSIBLE / 2} THEN {self.dialect.number(resort[c])} ELSE {name} END"
            for c, name in enumerate(self.classes("l"))
        ]
        self.step("where every class is impossible, the classes alone", zip(self.classes("l"), rescued, strict=True))

    def _looked_up(self, table: Table, c: int) -> str:
        """The number of a class in a table, by the slots of its columns."""
        cells = table.cells[..., c]
        return self.dialect.double(self._cases(table.columns, cells))

    def _cases(self, columns: Sequence[int], cells: np.ndarray) -> str:
        if not columns or (cells == cells.flat[0]).all():
            return self.dialect.number(cells.flat[0])
        inner = [self._cases(columns[1:], part) for part in cells]
        cases = [f"WHEN {slot} THEN {text}" for slot, text in enumerate(inner[:-1]) if text != inner[-1]]
        return f"CASE {self.own('s', columns[0])} {' '.join(cases)} ELSE {inner[-1]} END" if cases else inner[-1]

    def _densities(self, normal: Normal, product: Product) -> None:
        """Logs of normal densities, and the highest of every column: only ratios are added up."""
        dialect, slots = self.dialect, {i for factor in product.factors for i in factor.columns}
        carried, columns, highest = [self.own("s", i) for i in sorted(slots)], [], []
        for at, i in enumerate(normal.columns):
            x, gap = self.own("x", i), dialect.is_missing(self.own("x", i), number=True)
            low, high = (dialect.number(end[at]) for end in (normal.low, normal.high))
            near = dialect.smallest(dialect.largest([x, low]), high)
            names = [self.own("d", f"{i}_{c}") for c in range(self.k)]
            for c, name in enumerate(names):
                mean, inverse, top = (dialect.number(part[c, at]) for part in (normal.mean, normal.inverse, normal.top))
                away = f"(({near} - {mean}) * {inverse})"
                density = dialect.double(f"{top} - 0.5e0 * {away} * {away}")
                columns.append((name, f"CASE WHEN {gap} THEN 0e0 ELSE {density} END"))
            highest.append((self.own("h", i), dialect.largest(names)))
        self.step("logs of densities", columns, *carried)
        self.step("the highest of each column", highest, *carried, *(name for name, _ in columns))

    # Logs to answers

    def _posteriors(self) -> None:
        dialect, logs, odds, proba = self.dialect, self.classes("l"), self.classes("e"), self.classes("p")
        top, total, best = self.own("top"), self.own("total"), self.own("best")
        self.step("the highest", [(top, dialect.largest(logs))], *logs)
        # Postgres takes it for an error where nothing is left of a number.
        near = [f"CASE WHEN {name} - {top} < -700e0 THEN 0e0 ELSE exp({name} - {top}) END" for name in logs]
        self.step("odds", zip(odds, map(dialect.double, near), strict=True))
        self.step("their sum", [(total, _sum(odds))], *odds)
        self.step("probabilities", ((p, f"{e} / {total}") for p, e in zip(proba, odds, strict=True)))
        costs, scale = self.description.costs, 1.0
        gains = self.classes("g")
        if costs is None:
            wanted = proba
        else:
            scale = max(1.0, float(np.abs(costs).max()))
            paid = [_sum([f"{p} * {dialect.number(-x)}" for p, x in zip(proba, cost, strict=True)]) for cost in costs.T]
            self.step("expected costs, less than zero", zip(gains, paid, strict=True), *proba)
            wanted = gains
        self.step("the best", [(best, dialect.largest(wanted))], *proba, *(() if costs is None else gains))
        least = f"{best} - {dialect.number(TIE * scale)}"
        labels = [dialect.literal(label) for label in self._labels()]
        cases = [f"WHEN {wanted[c]} >= {least} THEN {labels[c]}" for c in self.description.order]
        named = [self._free("prediction"), *(self._free(f"p_{label}") for label in self.description.classes)]
        answers = [f"CASE {' '.join(cases)} END", *proba]
        self.step("", zip(map(dialect.name_of, named), answers, strict=True))

    def _labels(self) -> list[Any]:
        """The classes, all of one type."""
        classes = self.description.classes
        kinds = {type(label) for label in classes}
        return classes if kinds <= {int, float} or len(kinds) == 1 else [str(label) for label in classes]

    def _free(self, name: str) -> str:
        """A name that is none of the kept columns."""
        while name in self.kept:
            name += "_"
        return name

    def _text(self, table: str) -> str:
        source = self.dialect.name_of(table)
        lines = [
            f"-- {self.description.name} by tanager, for {self.dialect.name}: prediction and probabilities of every row"
        ]
        for at, (title, columns) in enumerate(self.steps):
            body = ",\n    ".join(columns)
            select = f"SELECT\n    {body}\nFROM {source}"
            last = at == len(self.steps) - 1
            name = self.own("step", at)
            comma = "" if at == len(self.steps) - 2 else ","
            begin = f"{'' if at else 'WITH '}{name} AS {self.dialect.once}(  -- {title}"
            lines.append(select if last else f"{begin}\n{select}\n){comma}")
            source = name
        return "\n".join(lines) + "\n"
