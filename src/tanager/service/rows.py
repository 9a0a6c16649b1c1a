"""The rows of a request: three JSON shapes in, one table out, and the place of a row or cell for error messages."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Sequence
from typing import Any

from tanager.encoding import Schema
from tanager.encoding.dates import is_date
from tanager.encoding.marks import is_mark
from tanager.encoding.matching import are_ignored, are_missing
from tanager.encoding.schema import Column
from tanager.service.errors import ServiceError, quoted, suggestion
from tanager.service.messages import Cell, ExplainRequest, LearnRequest, PredictRequest, Row

FEW_ROWS = 64  # up to here lists of cells become dicts; more of them are quicker column by column


class RequestRows:
    """Rows as they came: one object, a list of objects, or lists of cells with the names of their columns."""

    __slots__ = ("columns", "rows", "single")

    def __init__(
        self,
        rows: Sequence[Row] | Sequence[Row | list[Cell]],
        columns: list[str] | None = None,
        *,
        single: bool = False,
    ) -> None:
        # Dicts where there are no columns, else lists; request_rows has checked that.
        self.rows: Sequence[Any] = rows
        self.columns, self.single = columns, single

    def __len__(self) -> int:
        return len(self.rows)

    def place(self, r: int, name: str | None = None) -> str:
        """The place of a row or a cell in the request, such as ``rows[3].colour``."""
        row = "row" if self.single else f"rows[{r}]"
        return row if name is None else f"{row}.{name}"

    def dicts(self) -> list[Row]:
        """One dict for every row."""
        if self.columns is None:
            return list(self.rows)
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    def table(self, names: Sequence[str]) -> Any:
        """What a model takes: dicts where rows are objects or few, else columns; absent ones are missing."""
        if self.columns is None or len(self.rows) <= FEW_ROWS:
            return self.dicts()
        given = dict(zip(self.columns, zip(*self.rows, strict=True), strict=True))
        missing = (None,) * len(self.rows)
        return {name: given.get(name, missing) for name in names}

    def of(self, schema: Schema, doing: str) -> tuple[RequestRows, list[str]]:
        """The rows with no other columns than those of a model, and what is to be told about others and missing ones.

        Rows that are objects may leave out columns without a word. A request with none of them is refused.
        """
        known = schema.known_names
        if self.columns is not None:
            return self._columns_of(schema, doing)
        if all(map(known.issuperset, self.rows)):
            return self, []
        extra = list(dict.fromkeys(name for row in self.rows for name in row if name not in known))
        if all(map(known.isdisjoint, self.rows)):
            r = next(r for r, row in enumerate(self.rows) if row)
            raise _unknown_column(extra[0], self.place(r, extra[0]), known)
        rows = [{name: cell for name, cell in row.items() if name in known} for row in self.rows]
        return RequestRows(rows, single=self.single), [are_ignored(extra, "the model")]

    def _columns_of(self, schema: Schema, doing: str) -> tuple[RequestRows, list[str]]:
        """The same for lists of cells with the names of their columns."""
        assert self.columns is not None
        there = [j for j, name in enumerate(self.columns) if name in schema.known_names]
        if not there:
            raise _unknown_column(self.columns[0], "columns[0]", schema.known_names)
        missing = [name for name in schema.learned_names if name not in self.columns]
        told = [are_missing(missing, len(schema.learned_names), doing)] if missing else []
        if len(there) == len(self.columns):
            return self, told
        extra = [name for name in self.columns if name not in schema.known_names]
        rows = [[row[j] for j in there] for row in self.rows]
        return RequestRows(rows, [self.columns[j] for j in there]), [*told, are_ignored(extra, "the model")]

    def check_cells(self, schema: Schema, unseen: str) -> None:
        """Refuse the first cell that its column cannot take.

        For requests that a model has refused already: models check whole columns quickly, this finds the cell.
        """
        names = self.columns or schema.learned_names
        columns = dict(zip(schema.sources, schema.columns, strict=True))
        for r, row in enumerate(self.rows):
            for j, name in enumerate(names):
                cell = row[j] if self.columns else row.get(name)
                if cell is not None and name in columns:
                    reason = _refusal(columns[name], cell, unseen)
                    if reason:
                        where = self.place(r, name)
                        raise ServiceError("bad_value", f"{where} is {quoted(cell)}; {reason}", where)


def _unknown_column(name: str, where: str, known: frozenset[str]) -> ServiceError:
    hint = suggestion(name, known) or " GET /models/NAME lists its columns. Leave others out."
    return ServiceError("unknown_column", f"the model has no column {quoted(name)}.{hint}", where)


def _refusal(column: Column, cell: Any, unseen: str) -> str:
    """Why a column cannot take a cell; empty where it can."""
    if column.part:
        takes = is_date(cell) or (isinstance(cell, int | float) and not isinstance(cell, bool)) or is_mark(cell)
        return "" if takes else 'the column takes dates, such as "2024-05-31T14:30". Send null for a missing one.'
    if column.kind in ("categorical", "ordinal"):
        if unseen == "error" and cell not in column.values and not column.other and not is_mark(cell):
            return "the model has not seen this value. Send null for a missing one."
        return ""
    if is_mark(cell):
        return ""
    try:
        number = float(cell)
    except ValueError:
        return "the column takes numbers. Send null for a missing one."
    if column.kind == "codes" and number == number and not (number.is_integer() and -1 <= number < 65535):
        return "the column takes codes: whole numbers from 0, or null."
    return ""


def request_rows(request: PredictRequest | LearnRequest | ExplainRequest, max_rows: int) -> RequestRows | None:
    """The rows of a request, in one of the three shapes; None where it has none."""
    if request.row is not None:
        if request.rows is not None or request.columns is not None:
            raise ServiceError("wrong_shape", 'give "row" for one row, or "rows" for several, not both.', "row")
        return RequestRows([request.row], single=True)
    if request.rows is None:
        if request.columns is not None:
            raise ServiceError("wrong_shape", '"columns" names the cells of "rows", and there are no rows.', "columns")
        return None
    return request_table(request.rows, request.columns, max_rows)


def request_table(rows: list[Row | list[Cell]], columns: list[str] | None, max_rows: int) -> RequestRows:
    """Several rows: objects, or lists with the names of their columns."""
    if not rows:
        raise ServiceError("wrong_shape", '"rows" is empty. Send at least one row.', "rows")
    refuse_many("rows", rows, max_rows)
    _check_shapes(rows, columns)
    return RequestRows(rows, columns)


def refuse_many(name: str, given: Sequence[object], most: int) -> None:
    """Refuse more rows or ids than one request may have."""
    if len(given) > most:
        sentence = f"{len(given):,} {name} are too many for one request; send at most {most:,}."
        raise ServiceError("too_many_rows", sentence, name)


def _check_shapes(rows: Sequence[Row | list[Cell]], columns: list[str] | None) -> None:
    """Refuse lists where there are no columns, and objects or lists of another length where there are."""
    if columns is None:
        if set(map(type, rows)) != {dict}:
            r = next(r for r, row in enumerate(rows) if type(row) is not dict)
            where = f"rows[{r}]"
            raise ServiceError("wrong_shape", f'{where} is a list; name its cells in "columns".', where)
        return
    _refuse_duplicates("columns", columns)
    for r, row in enumerate(rows):
        if type(row) is not list or len(row) != len(columns):
            found = "an object" if type(row) is dict else f"a list of {len(row)}"
            expected = f'"columns" asks for lists of {len(columns)} cells'
            raise ServiceError("wrong_shape", f"rows[{r}] is {found}; {expected}.", f"rows[{r}]")


def request_ids(request: PredictRequest | LearnRequest) -> list[str] | None:
    """The ids of a request, all different; None where it has none."""
    if request.id is not None:
        if request.ids is not None:
            raise ServiceError("wrong_shape", 'give "id" for one row, or "ids" for several, not both.', "id")
        return [request.id]
    if request.ids is not None:
        _refuse_duplicates("ids", request.ids)
    return request.ids


def _refuse_duplicates(where: str, names: list[str]) -> None:
    if len(set(names)) < len(names):
        twice = Counter(names).most_common(1)[0][0]
        raise ServiceError("wrong_shape", f"{where} has {quoted(twice)} twice. Give every name once.", where)


def check_length(name: str, given: Sequence[object] | None, n: int, what: str = "rows") -> None:
    """Refuse labels, weights or times that are not as many as the rows."""
    if given is not None and len(given) != n:
        raise ServiceError("wrong_shape", f"there are {n:,} {what} and {len(given):,} {name}; send one for each.", name)


class PendingRows:
    """Rows that wait for their labels, by id: at most ``most`` of them, for at most ``seconds``.

    >>> waiting = PendingRows(most=2, seconds=60)
    >>> waiting.add(["a", "b", "c"], [{"sky": "sun"}, {"sky": "rain"}, {}], now=0)
    >>> waiting.take(["a", "b"], now=1)
    ([('b', {'sky': 'rain'})], ['a'])
    """

    def __init__(self, most: int, seconds: float) -> None:
        self.most, self.seconds = most, seconds
        self._rows: OrderedDict[str, tuple[float, Row]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, ids: Sequence[str], rows: Sequence[Row], now: float) -> None:
        """Remember rows. A row with a known id replaces the old one; beyond ``most`` rows, the oldest are forgotten."""
        for one, row in zip(ids, rows, strict=True):
            self._rows.pop(one, None)
            self._rows[one] = (now, row)
        while len(self._rows) > self.most:
            self._rows.popitem(last=False)
        self._forget(now)

    def take(self, ids: Sequence[str], now: float) -> tuple[list[tuple[str, Row]], list[str]]:
        """Remove and return the rows of these ids, and the ids that are not known."""
        self._forget(now)
        found = [(one, self._rows.pop(one)[1]) for one in ids if one in self._rows]
        known = {one for one, _ in found}
        return found, [one for one in ids if one not in known]

    def _forget(self, now: float) -> None:
        while self._rows and next(iter(self._rows.values()))[0] < now - self.seconds:
            self._rows.popitem(last=False)
