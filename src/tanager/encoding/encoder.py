"""Encoder: learns a Schema from a table, and turns tables and single rows into codes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from tanager import _kernels
from tanager.encoding.categories import NOT_FOUND, UNSEEN, Codec, OwnCodes, codec, unsettled
from tanager.encoding.codes import code_columns, code_type, encode_codes, limits_of, widened
from tanager.encoding.dates import DatesOption
from tanager.encoding.display import encoder_html
from tanager.encoding.kinds import (
    BinsOption,
    Key,
    Rules,
    cut_later,
    late_columns,
    learn_columns,
    make_rules,
    read_cells,
    refuse_unknown_parts,
    settled,
    stays_open,
)
from tanager.encoding.matching import Told, match_columns
from tanager.encoding.policy import left_out_of, reason_to_leave_out, schema_of, tell_of_numbers
from tanager.encoding.schema import Column, LeftOut, Schema
from tanager.encoding.tables import Table, read_table
from tanager.encoding.transformer import TableTransformer
from tanager.encoding.typing import RowOfCodes, TableLike
from tanager.encoding.unseen import Unseen, UnseenValues
from tanager.encoding.values import Cells, is_missing, plain
from tanager.errors import DataError, OptionError, check_option
from tanager.estimator import shows_text
from tanager.listed import names_in
from tanager.threads import side_by_side

# Of a table that threads read; shorter columns take no time beside Python's own.
MANY_CELLS, LONG_COLUMN = 1_000_000, 20_000

Result = TypeVar("Result")


class Encoder(TableTransformer):
    """Turns any table into small integer codes, and remembers how.

    A code stands for a value of a column, or for a bin of its numbers. Codes are of the type uint8, or uint16 where a
    column has many values; the largest number of the type means missing. What each column was taken for, and why, is
    printed with ``encoder.schema``. Values get codes in the order in which they first appear, so that a table in chunks
    gets the same codes as the whole. Classifiers have an encoder of their own (``encoder_``); by itself it serves other
    estimators, in a Pipeline.

    Parameters
    ----------
    bins
        "mdl", "refined" and "stream" need labels. Here None means ``default_bins``.

    Attributes
    ----------
    schema : Schema
        What is known about the columns: given as an option, or learned.

    Examples
    --------
    >>> encoder = Encoder().fit({"sky": ["sun", "rain", None], "age": [1.5, 2.5, 3.5]}, ["no", "yes", "yes"])
    >>> encoder.transform({"sky": ["rain", "snow"], "age": [2.0, 9.0]})
    array([[  1,   0],
           [255,   1]], dtype=uint8)
    >>> encoder.encode_row({"sky": "sun", "age": 2.0})
    array([0, 0], dtype=uint8)
    >>> print(encoder.schema)
    column  kind         values or cut points  reason
    sky     categorical  2: 'sun', 'rain'      text
    age     numeric      2: 2                  numbers with fractions
    """

    unlisted = names_in("""
        adopt continuous_row continuous_values encode_row encode_rows extend first_values found_row from_schema given
        has_cut is_cut_by keep_values knows_columns late_columns learn learn_and_encode leaves_open leaves_out new_names
        numbers numbers_of numbers_row options own_codes rows_until_cut rules rules_of take_cuts update_row watch
    """)

    _finder: _kernels.RowFinder | None = None  # of single rows; made when the first one comes
    # While the first rows of a stream decide what columns hold: those of which an option says it. Of the others it may
    # come out that they hold no numbers or dates, so that text is no error there.
    _unsettled_but: set[str] | None = None

    def __init__(
        self,
        bins: BinsOption = "mdl",
        default_bins: str = "mdl",
        n_bins: int = 5,
        mdl_encoding: str = "n-1",
        categorical: Sequence[str | int] | str | None = None,
        ordinal: Mapping[Any, Sequence[Any] | None] | Sequence[str | int] | None = None,
        numeric: Sequence[str | int] | None = None,
        max_whole: int = 12,
        max_values: int = 1000,
        continuous: bool | Sequence[str | int] = False,
        schema: Schema | None = None,
        keep: Sequence[str | int] | str | None = None,
        dates: DatesOption = None,
    ) -> None:
        self.bins = bins
        self.default_bins = default_bins
        self.n_bins = n_bins
        self.mdl_encoding = mdl_encoding
        self.categorical = categorical
        self.ordinal = ordinal
        self.numeric = numeric
        self.max_whole = max_whole
        self.max_values = max_values
        self.continuous = continuous
        self.keep = keep
        self.dates = dates
        self._codecs: list[Codec] = []
        self._cut_by: dict[int, int] = {}
        self._told: Told = set()
        self._unseen_values = UnseenValues()
        self.schema = schema

    @classmethod
    def from_schema(cls, schema: Schema, *, given: bool = False, **options: Any) -> Encoder:
        """An encoder that goes on where another one stopped: open columns stay open.

        Parameters
        ----------
        schema : Schema
            The columns.
        given : bool, default=False
            Whether they were given beforehand, so that nothing is learned.
        **options : object
            Its other options.

        Returns
        -------
        Encoder
            The encoder.
        """
        encoder = cls(**options)
        encoder._wanted = schema if given else None
        encoder._set_schema(schema)
        return encoder

    def __getstate__(self) -> dict[str, Any]:
        """Options and schema; the codecs follow from the schema."""
        made = ["_told", "_unseen_values", "_codecs", "_schema", "_finders", "_finder", "_numbers", "_continuous"]
        made += ["_most_values", "_row_type"]
        state = {name: value for name, value in self.__dict__.items() if name not in made}
        return state | {"schema": self._schema if self._codecs else None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        schema = state["schema"]
        self.__dict__.update({name: value for name, value in state.items() if name != "schema"})
        self._codecs, self._told, self._unseen_values = [], set(), UnseenValues()
        if schema is not None:
            self._set_schema(schema)

    @property
    def options(self) -> dict[str, Any]:
        """The options that it was made with, but for the schema."""
        return {name: getattr(self, name) for name in self.option_defaults() if name != "schema"}

    def _option(self, name: str) -> Any:
        return self._wanted if name == "schema" else getattr(self, name)

    def _repr_html_(self) -> str | None:
        return None if shows_text() else encoder_html(self)

    @property
    def has_cut(self) -> bool:
        """Whether the last update has cut a column, and ``take_cuts`` has not told yet."""
        return bool(self._cut_by)

    def take_cuts(self) -> dict[int, int]:
        """The columns that the last update has cut, and by which of its rows; told once."""
        found, self._cut_by = self._cut_by, {}
        return found

    @property
    def unseen_values(self) -> UnseenValues:
        """The values that tables and rows had and training had not, counted since the encoder was made or loaded."""
        return self._unseen_values

    @property
    def given(self) -> bool:
        """Whether the schema was given beforehand, so that nothing is learned."""
        return self._wanted is not None

    @property
    def schema(self) -> Schema:
        """What is known about the columns: given as an option, or learned."""
        if not self._codecs:  # asked here as well: single rows come through here
            self._check_schema()
        return self._schema

    @schema.setter
    def schema(self, schema: Schema | None) -> None:
        self._wanted, self._codecs = schema, []
        if isinstance(schema, Schema):  # anything else is refused by ``learn``
            self._set_schema(schema.close())

    @property
    def knows_columns(self) -> bool:
        """Whether there is a schema, so that tables can be encoded."""
        return bool(self._codecs)

    def _check_schema(self) -> None:
        if not self._codecs:
            raise DataError("the encoder has no schema yet. Call fit first, or pass schema= when you make it.")

    def _set_schema(self, schema: Schema) -> None:
        self._set_codecs([codec(column) for column in schema.columns], schema)

    def _set_codecs(self, codecs: list[Codec], schema: Schema | None = None) -> None:
        if self._unsettled_but is not None:
            codecs = [c if c.column.table_name in self._unsettled_but else unsettled(c) for c in codecs]
        before = zip(self._codecs, codecs, strict=False)
        self._unseen_values.learned(new.column.name for old, new in before if new.column is not old.column)
        self._codecs = codecs
        self._schema: Schema = schema or self._schema.with_all(c.column for c in codecs)
        self._finders = [(c.column.table_name, c.find) for c in codecs]
        self._most_values = int(self._schema.n_values.max(initial=0))
        self._row_type = code_type(self._most_values, "ignore")
        self._continuous = [i for i, c in enumerate(codecs) if c.column.kind == "continuous"]
        self._finder = None
        self._numbers: tuple[Sequence[int], _kernels.NumberFinder | None] | None = None

    # Learning

    def learn(
        self,
        X: TableLike,
        y_codes: np.ndarray | None = None,
        weights: np.ndarray | None = None,
        n_classes: int | None = None,
        *,
        first: bool = False,
        stream: bool = False,
        for_now: bool = False,
    ) -> Encoder:
        """Learn the schema from all rows of positive weight and, when class codes are given, with a class.

        Class codes are what ``encode_labels`` gives; ``bins="mdl"``, "refined" and "stream" need them. ``first``: these
        are the first rows of a stream, and their cut points must do for all that follow. ``stream``: more rows will
        come, so that a column with one value is not left out. ``for_now``: and all is learned again when they have, so
        that text in a column of numbers or dates is missing until then, and no error.

        Parameters
        ----------
        X : table
            Rows: a frame, an array, a list of rows (sequences or dicts) or a dict of columns.
        y_codes : array, default=None
            Codes of the classes.
        weights : array, default=None
            How much each row counts.
        n_classes : int, default=None
            How many classes there are; larger codes are missing labels.
        first : bool, default=False
            Whether these are the first rows of a stream, whose cut points must do for all that follow.
        stream : bool, default=False
            Whether more rows will come.
        for_now : bool, default=False
            Whether these rows are too few to decide, so that cut points are to be learned again from more of them.

        Returns
        -------
        Encoder
            The encoder itself.
        """
        table = read_table(X)
        if self._wanted is not None and not isinstance(self._wanted, Schema):
            raise OptionError(f"schema={self._wanted!r} is a {type(self._wanted).__name__}; give a Schema, or None.")
        if self.given:
            self._order(table, "Encoder", "learned")
            return self
        names = table.names or tuple(f"x{i}" for i in range(table.n_columns))
        rules = self.rules(names, first=first, stream=stream, for_now=for_now)
        y = None if y_codes is None else _as_column("y", y_codes, table.n_rows)
        w = None if weights is None else _as_column("sample_weight", weights, table.n_rows)
        keep = _rows_to_learn_from(w, y, n_classes)
        if keep is not None:
            y, w = (None if part is None else part[keep] for part in (y, w))
        columns = code_columns(table, keep, rules) if table.codes is not None else {}

        def learn(i: int) -> list[Column] | LeftOut:
            if i in columns:
                return [columns[i]]
            cells = read_cells(_kept(table, i, keep), i, rules)
            reason = reason_to_leave_out(cells, i, rules)
            return LeftOut(names[i], i, reason) if reason else learn_columns(names[i], i, cells, rules, y, w)

        def learn_anyway(i: int) -> list[Column]:
            return learn_columns(names[i], i, read_cells(_kept(table, i, keep), i, rules), rules, y, w)

        schema = schema_of(_for_each(learn, range(len(names)), table.n_rows), learn_anyway)
        refuse_unknown_parts(rules, schema.names)
        if for_now:
            self._unsettled_but = {names[i] for i in {*rules.requested, *rules.dates} if isinstance(i, int)}
        self._set_schema(schema)
        return self

    def leaves_open(
        self, X: TableLike, y_codes: np.ndarray, weights: np.ndarray | None = None, n_classes: int | None = None
    ) -> bool:
        """Whether further rows of a stream may change some column of numbers, so far as its kind says alone.

        Parameters
        ----------
        X : table
            The first rows of a stream.
        y_codes : array
            Codes of the classes.
        weights : array, default=None
            How much each row counts.
        n_classes : int, default=None
            How many classes there are; larger codes are missing labels.

        Returns
        -------
        bool
            True where a column is not settled; False where that is not known yet. Nothing is learned.
        """
        table = read_table(X)
        if self.given or table.codes is not None:
            return False
        rules = self.rules(table.names or [f"x{i}" for i in range(table.n_columns)], stream=True)
        keep = _rows_to_learn_from(weights, y_codes, n_classes)

        def is_open(i: int) -> bool:
            cells = _kept(table, i, keep)
            return stays_open(cells, i, rules) and not reason_to_leave_out(cells, i, rules)

        return any(is_open(i) for i in range(table.n_columns))

    def rules(self, names: Sequence[str], *, first: bool = False, stream: bool = False, for_now: bool = False) -> Rules:
        """How columns of these names are to be treated by the options, and ``first`` by the first rows of a stream."""
        return make_rules(
            names,
            bins=self.bins,
            default_bins=self.default_bins,
            n_bins=self.n_bins,
            mdl_encoding=self.mdl_encoding,
            categorical=self.categorical,
            ordinal=self.ordinal,
            numeric=self.numeric,
            continuous=self.continuous,
            max_whole=self.max_whole,
            max_values=self.max_values,
            keep=self.keep,
            dates=self.dates,
            first=first,
            stream=stream,
            for_now=for_now,
        )

    def rules_of(self, schema: Schema, *, first: bool = False) -> tuple[Rules, list[Key]]:
        """How the columns of a schema are to be treated, and by which key the rules speak of each of them."""
        keys: list[Key] = [
            c.name if c.source else place for c, place in zip(schema.columns, schema.places, strict=True)
        ]
        return self.rules(schema.table_names, first=first), keys

    def watch(self, X: TableLike) -> None:
        """Let columns with one number at most in these rows, by which they were learned, be cut once they vary."""
        table, (rules, _) = read_table(X), self.rules_of(self.schema)
        watched = {}
        for i, (column, place) in enumerate(zip(self.schema.columns, self.schema.places, strict=True)):
            if column.n_values <= 1 and not column.part and not settled(column):
                watched[i] = cut_later(column, read_cells(table.column(place), place, rules), rules.max_values)
        if watched:
            self._set_schema(self.schema.with_columns(watched))

    def late_columns(self, first_values: Mapping[str, Any]) -> list[Column]:
        """Columns for names that come after the first rows of a stream, by their first values."""
        found = (late_columns(name, value, self.max_values, self.dates) for name, value in first_values.items())
        return [column for own in found for column in own]

    def leaves_out(self, X: Any, *, stream: bool = False) -> tuple[LeftOut, ...]:
        """The columns of a table that ``fit`` would leave out; nothing is learned.

        Parameters
        ----------
        X : table
            Rows: a frame, an array, a list of rows (sequences or dicts) or a dict of columns.
        stream : bool, default=False
            Whether more rows will come.

        Returns
        -------
        tuple of LeftOut
            Names, places and reasons.
        """
        table = read_table(X)
        if self.given or table.codes is not None:
            return ()
        names = table.names or tuple(f"x{i}" for i in range(table.n_columns))
        rules = self.rules(names, stream=stream)
        return left_out_of([read_cells(table.column(i), i, rules) for i in range(len(names))], names, rules)

    def learn_and_encode(
        self,
        X: TableLike,
        y_codes: np.ndarray | None = None,
        weights: np.ndarray | None = None,
        n_classes: int | None = None,
    ) -> np.ndarray:
        """Learn the schema and give the codes, reading the table once.

        Parameters
        ----------
        X : table
            Rows: a frame, an array, a list of rows (sequences or dicts) or a dict of columns.
        y_codes : array, default=None
            Codes of the classes.
        weights : array, default=None
            How much each row counts.
        n_classes : int, default=None
            How many classes there are; larger codes are missing labels.

        Returns
        -------
        array
            Codes, one row each.
        """
        table = read_table(X)
        return self.learn(table, y_codes, weights, n_classes).encode(table)

    def update(self, X: TableLike, weights: np.ndarray | None = None, name: str = "Encoder") -> np.ndarray:
        """Codes of more rows to learn from: new values of open columns get codes of their own.

        Parameters
        ----------
        X : table
            Rows: a frame, an array, a list of rows (sequences or dicts) or a dict of columns.
        weights : array, default=None
            How much each row counts; values of rows that weigh nothing do not enter.
        name : str, default="Encoder"
            Who to speak of in errors.

        Returns
        -------
        array
            Codes, one row each.
        """
        table = read_table(X)
        order = self._order(table, name, "learned")
        w = None if weights is None else _as_column("sample_weight", weights, table.n_rows)
        keep = _rows_to_learn_from(w)
        if self._all_codes and table.codes is not None:
            limits = limits_of(table, keep)
            grown = [c.with_limit(int(limits[i])) for c, i in zip(self._codecs, order, strict=True)]
        else:
            cells = _for_each(lambda i: _kept(table, i, keep), order, table.n_rows)
            grown = [c.grown(cell, self.max_values) for c, cell in zip(self._codecs, cells, strict=True)]
        codes = self._encode(grown, table, order, "ignore")
        self._cut_by = {}
        for i, (new, old) in enumerate(zip(grown, self._codecs, strict=True)):
            if old.column.cut_after and not new.column.by_value:
                self._cut_by[i] = _row_of_cut(old, table.column(order[i]), keep) or 0
        self._grow(grown)
        return codes

    def rows_until_cut(self, X: Any, weights: np.ndarray | None = None, name: str = "Encoder") -> int | None:
        """How many rows from the first on can be learned before one brings new cut points; None: all of them."""
        waiting = [i for i, c in enumerate(self._codecs) if c.column.cut_after]
        if not waiting:
            return None
        table = read_table(X)
        order, keep = self._order(table, name, "learned"), _rows_to_learn_from(weights)
        rows = _for_each(lambda i: _row_of_cut(self._codecs[i], table.column(order[i]), keep), waiting, table.n_rows)
        return min((row for row in rows if row is not None), default=None)

    def keep_values(self, columns: Iterable[int]) -> None:
        """Let the values of these columns have codes of their own for good: they will not be cut."""
        pinned = {i: self.schema[i] for i in columns if self.schema[i].cut_after}
        if pinned:
            categories = {i: replace(column, kind="categorical", cut_after=0) for i, column in pinned.items()}
            self._set_schema(self.schema.with_columns(categories))

    def own_codes(self, X: Any, name: str = "Encoder") -> np.ndarray | None:
        """The array itself, not looked at, where X and all columns are codes; None elsewhere.

        For learners whose counts check codes as they count; ``adopt`` then takes over the schema that grew there.
        """
        table = read_table(X)
        if not self._all_codes or table.codes is None or any(c.column.closed for c in self._codecs):
            return None
        self._order(table, name)
        # In 8 bits 255 marks missing cells, also where a column has so many values that it is one of them.
        return widened(table.codes) if self._most_values > 255 else table.codes

    def adopt(self, schema: Schema) -> None:
        """Take over a schema that grew from ours."""
        if schema is not self._schema:
            self._set_schema(schema)

    def _grow(self, codecs: list[Codec]) -> bool:
        """Take over grown codecs; says whether any has grown."""
        grown = any(new is not old for new, old in zip(codecs, self._codecs, strict=True))
        if grown:
            if self.continuous and self._unsettled_but is None:  # elsewhere columns are cut later, or learned again
                for new, old in zip(codecs, self._codecs, strict=True):
                    if new is not old:
                        tell_of_numbers(old.column, new.column)
            self._set_codecs(codecs)
        return grown

    def extend(self, columns: Iterable[Column]) -> None:
        """Add columns at the end, for streams whose rows bring new names."""
        self._set_codecs([*self._codecs, *(codec(column) for column in columns)])

    # Codes of tables

    def encode(self, X: TableLike, unseen: str = "ignore", name: str = "Encoder") -> np.ndarray:
        """Codes of a table, one row each.

        ``unseen`` says what becomes of a value that training did not have: "ignore" makes it missing, "smooth" gives
        it the code ``n_values``, "error" refuses it, and "as learned" is for rows that were learned: it refuses what
        learning would have taken in, and is "ignore" where a column is closed. ``name`` is who to speak of in errors.

        Parameters
        ----------
        X : table
            Rows: a frame, an array, a list of rows (sequences or dicts) or a dict of columns.
        unseen : {"ignore", "smooth", "error", "as learned"}, default="ignore"
            What becomes of a value that learning did not have.
        name : str, default="Encoder"
            Who to speak of in errors.

        Returns
        -------
        array
            Codes, one row each.
        """
        check_option("unseen", unseen, UNSEEN)
        table = read_table(X)
        return self._encode(self._codecs, table, self._order(table, name), unseen, note=True)

    @property
    def _all_codes(self) -> bool:
        return not self._schema.left_out and all(isinstance(c, OwnCodes) for c in self._codecs)

    def _encode(
        self, codecs: list[Codec], table: Table, order: Sequence[int], unseen: str, *, note: bool = False
    ) -> np.ndarray:
        """Codes of all columns; ``note`` what was never seen."""
        n_values = np.array([c.column.n_values for c in codecs])
        if self._all_codes and table.codes is not None:
            return encode_codes(table, [c.column for c in codecs], n_values, unseen)
        out = np.empty((table.n_rows, len(codecs)), dtype=code_type(int(n_values.max(initial=0)), unseen), order="F")

        def encode(j: int) -> Unseen | None:
            return codecs[j].encode(table.column(order[j]), out[:, j], unseen)

        found = _for_each(encode, range(len(codecs)), table.n_rows)
        for name, unknown in zip(self._schema.names, found, strict=True) if note else ():
            if unknown is not None:
                self.unseen_values.note(name, unknown)
        return out

    def continuous_values(self, X: TableLike, name: str = "Encoder") -> np.ndarray:
        """The numbers of the continuous columns, one row each; NaN is missing.

        Parameters
        ----------
        X : table
            Rows: a frame, an array, a list of rows (sequences or dicts) or a dict of columns.
        name : str, default="Encoder"
            Who to speak of in errors.

        Returns
        -------
        array
            A column for each continuous one.
        """
        return self.numbers(X, self._continuous, name)

    def numbers(self, X: TableLike, columns: Sequence[int], name: str = "Encoder") -> np.ndarray:
        """The numbers of some columns of the schema, one row each; NaN is missing.

        Parameters
        ----------
        X : table
            Rows: a frame, an array, a list of rows (sequences or dicts) or a dict of columns.
        columns : sequence of int
            Places of columns.
        name : str, default="Encoder"
            Who to speak of in errors.

        Returns
        -------
        array
            A column for each.
        """
        table = read_table(X)
        order = self._order(table, name)
        out = np.empty((table.n_rows, len(columns)), order="F")
        for j, i in enumerate(columns):
            out[:, j] = self._codecs[i].floats(table.column(order[i]))
        return out

    def _order(self, table: Table, name: str, doing: str = "answered") -> Sequence[int]:
        """Where each column of the schema is in the table; see ``match_columns``."""
        return match_columns(table, self.schema, name, self._told, doing)

    # Single rows

    def encode_row(self, row: Mapping[str, Any], unseen: str = "ignore") -> np.ndarray:
        """Codes of one row given as a dict. Absent names are missing, other names are ignored.

        Parameters
        ----------
        row : dict
            Column names and values.
        unseen : {"ignore", "smooth", "error"}, default="ignore"
            What becomes of a value that learning did not have.

        Returns
        -------
        array
            A code for each column.
        """
        codes = self._quick_row(row, unseen)
        return self._finish_row(row, self._find_row(row), unseen) if codes is None else codes

    def encode_rows(self, rows: Sequence[Mapping[str, Any]], unseen: str = "ignore") -> np.ndarray | None:
        """Codes of rows given as dicts. For few rows this is ten times as quick as column by column.

        None where a row has a name that is no column, or a cell that cannot be used: ``encode`` says what is wrong.
        """
        if set(map(type, rows)) != {dict} or not all(map(self.schema.known_names.issuperset, rows)):
            return None
        try:
            codes = [self.encode_row(row, unseen) for row in rows]
            return np.concatenate(codes).reshape(len(codes), -1)
        except DataError:
            return None

    def _quick_row(self, row: Mapping[str, Any], unseen: str = "ignore") -> np.ndarray | None:
        """The codes of a row in which nothing is new or odd; None for any other."""
        if type(row) is not dict:
            return None
        finder = self._finder or self._row_finder()
        n_columns = len(self._codecs)
        codes = np.empty(n_columns, self._row_type if unseen == "ignore" else code_type(self._most_values, unseen))
        return codes if finder.find(row, codes) else None

    def found_row(self, row: Mapping[str, Any], *, alone: bool = False) -> RowOfCodes | None:
        """The codes of a row in which nothing is new or odd; None for any other.

        The kernels take bytes in a fraction of the time of an array.

        Parameters
        ----------
        row : dict
            Column names and values.
        alone : bool, default=False
            Whether a name that is no column makes a row new, as for learning.

        Returns
        -------
        bytes, array or None
            A code for each column: bytes, where one is enough for the codes of every column.
        """
        if type(row) is not dict:
            return None
        finder = self._finder or self._row_finder()
        narrow = self._row_type is np.uint8
        codes = finder.row(row, alone) if narrow else None
        if codes is not None or (narrow and not alone):
            return codes
        if alone and not self._schema.known_names.issuperset(row):  # which left-out names are among
            return None
        return finder.row(row, False) if narrow else self._quick_row(row)

    def _row_finder(self) -> _kernels.RowFinder:
        self._check_schema()
        self._finder = _kernels.RowFinder(list(self.schema.sources), [c.table() for c in self._codecs])
        return self._finder

    def _finish_row(self, row: Mapping[str, Any], codes: list[int], unseen: str) -> np.ndarray:
        dtype = code_type(self._most_values, unseen)
        if NOT_FOUND in codes:
            missing = int(np.iinfo(dtype).max)
            for i, code in enumerate(codes):
                if code == NOT_FOUND:
                    value = row.get(self._finders[i][0])
                    codes[i] = missing if value is None else self._code(i, value, missing, unseen)
        # Three times as fast as np.array for a short list.
        return np.frombuffer(bytearray(codes), dtype) if dtype is np.uint8 else np.array(codes, dtype)

    def _code(self, i: int, value: object, missing: int, unseen: str) -> int:
        """The code of a cell that is not among those of column i at a first look; a value never seen is noted."""
        code = self._codecs[i].code(value, missing, unseen)
        if (
            code in (missing, self._codecs[i].column.n_values)
            and self._codecs[i].tells_unseen
            and not self._codecs[i].is_gap(value)
        ):
            self.unseen_values.note(self._codecs[i].column.name, Unseen([plain(value)], 1))
        return code

    def update_row(self, row: Mapping[str, Any]) -> np.ndarray:
        """Codes of one row to learn from: new values of open columns get codes of their own.

        Parameters
        ----------
        row : dict
            Column names and values.

        Returns
        -------
        array
            A code for each column.
        """
        quick = self._quick_row(row, "ignore")
        if quick is not None:
            return quick
        codes = self._find_row(row)
        if NOT_FOUND in codes:
            grown = list(self._codecs)
            for i, code in enumerate(codes):
                value = row.get(self._finders[i][0])
                if code == NOT_FOUND and value is not None:
                    grown[i] = grown[i].with_value(value, self.max_values)
                    grown[i].code(value, 0, "ignore")  # refuses what cannot be a cell before anything has changed
            before = self._codecs
            if self._grow(grown):
                self._cut_by = {
                    i: 0
                    for i, (new, old) in enumerate(zip(grown, before, strict=True))
                    if old.column.cut_after and not new.column.by_value
                }
                codes = self._find_row(row)
        return self._finish_row(row, codes, "ignore")

    def is_cut_by(self, row: Mapping[str, Any]) -> bool:
        """Whether learning this row would cut a column."""
        ready = [c for c in self._codecs if c.column.cut_after and len(c.column.values) + 1 >= c.column.cut_after]
        return any(not c.with_value(row.get(c.column.table_name), self.max_values).column.by_value for c in ready)

    def _find_row(self, row: Mapping[str, Any]) -> list[int]:
        self._check_schema()
        get = row.get
        try:
            return [find(get(name), NOT_FOUND) for name, find in self._finders]
        except TypeError:  # a cell without a hash; looked at one by one, it gets its error
            return [NOT_FOUND] * len(self._finders)

    def continuous_row(self, row: Mapping[str, Any]) -> np.ndarray:
        """The numbers of the continuous columns of one row; NaN is missing.

        Parameters
        ----------
        row : dict
            Column names and values.

        Returns
        -------
        array
            One number for each.
        """
        return self.numbers_row(row, self._continuous)

    def numbers_row(self, row: Mapping[str, Any], columns: Sequence[int]) -> np.ndarray:
        """The numbers of some columns of the schema in one row; NaN is missing."""
        if self._numbers is None or self._numbers[0] != columns:
            whole = not any(self._codecs[i].column.part for i in columns)  # parts of dates are worked out one by one
            names = [self._finders[i][0] for i in columns]
            self._numbers = columns, _kernels.NumberFinder(names) if whole else None
        if type(row) is dict and (finder := self._numbers[1]) is not None:
            numbers = np.empty(len(columns))
            if finder.find(row, numbers):
                return numbers
        return np.array([self._codecs[i].number(row.get(self._finders[i][0])) for i in columns])

    def numbers_of(self, rows: Sequence[Mapping[str, Any]], columns: Sequence[int]) -> np.ndarray:
        """The same for several rows, (rows, columns)."""
        if not any(self._codecs[i].column.part for i in columns):
            names = [self._finders[i][0] for i in columns]
            cells = [row.get(name) for row in rows for name in names]
            if set(map(type, cells)) == {float}:  # all at once, which takes a fraction of the time
                return np.array(cells).reshape(len(rows), len(columns))
        return np.array([self.numbers_row(row, columns) for row in rows]).reshape(len(rows), len(columns))

    def first_values(self, rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        """The names in rows that are no column yet, each with its first value."""
        found: dict[str, Any] = {}
        for row in rows:
            for name in self.new_names(row):
                if name not in found and not is_missing(row[name]):
                    found[name] = row[name]
        return found

    def new_names(self, row: Mapping[str, Any]) -> list[str]:
        """The names in a row that are no column yet, and are not left out."""
        known = self._schema.known_names
        return [] if known.issuperset(row) else [name for name in row if name not in known]


def _for_each(work: Callable[[int], Result], columns: Sequence[int], n_rows: int) -> list[Result]:
    """The results for every column; in threads when there is much to do, since sorting and Arrow run without Python."""
    if n_rows * len(columns) < MANY_CELLS or n_rows < LONG_COLUMN:
        return [work(i) for i in columns]
    workers = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    # A few parts for each worker: to hand over a column takes longer than most.
    size = -(-len(columns) // (4 * workers))
    parts = [columns[at : at + size] for at in range(0, len(columns), size)]
    return list(side_by_side(work, parts, workers))


def _row_of_cut(codec: Codec, cells: Cells, keep: np.ndarray | None) -> int | None:
    """The row of a table that brings the last number that it takes to cut a column, if any does."""
    row = codec.row_of_cut(cells if keep is None else cells.take(keep))
    return row if row is None or keep is None else int(np.flatnonzero(keep)[row])


def _kept(table: Table, i: int, keep: np.ndarray | None) -> Cells:
    return table.column(i) if keep is None else table.column(i).take(keep)


def _as_column(what: str, cells: Any, n_rows: int) -> np.ndarray:
    array = np.asarray(cells)
    if array.shape != (n_rows,):
        raise DataError(f"X has {n_rows} rows, {what} has shape {array.shape}; expected one entry per row.")
    return array


def _rows_to_learn_from(
    weights: np.ndarray | None, y: np.ndarray | None = None, n_classes: int | None = None
) -> np.ndarray | None:
    """Rows of positive weight and known class; None when these are all rows."""
    tests = [] if weights is None else [weights > 0]
    if y is not None:
        largest = np.iinfo(y.dtype).max if y.dtype in (np.uint8, np.uint16) else 65535
        tests.append(y < (largest if n_classes is None else n_classes))
    keep = np.logical_and.reduce(tests) if tests else None
    return None if keep is None or keep.all() else keep
