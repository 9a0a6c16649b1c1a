"""Prepared: the rows of a session, read and encoded as its document says."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tanager.counts.sample import Sample
from tanager.datasets import load as load_dataset
from tanager.decisions.files import read_decisions
from tanager.encoding.codes import code_type
from tanager.encoding.encoder import Encoder
from tanager.encoding.labels import encode_labels
from tanager.encoding.schema import Schema
from tanager.errors import DataError, OptionError
from tanager.files import open_table, read_labelled
from tanager.networks.files import read_network
from tanager.networks.network import Network
from tanager.studio.document import ColumnChoices, DataChoice

MAX_CELLS = 100_000_000  # rows times columns that are kept in memory


@dataclass(frozen=True, eq=False)
class Loaded:
    """A table as it was read: all columns but the class, labels, and what the file says about its columns."""

    name: str
    target: str
    X: pa.Table
    y: np.ndarray
    options: Mapping[str, Any]  # kinds that the source declares
    dropped: Mapping[str, str]  # columns that are of no use, with the reason

    @property
    def n_rows(self) -> int:
        return len(self.y)


def load(choice: DataChoice, uploads: Mapping[str, Path]) -> Loaded:
    """Read the table of a choice."""
    if choice.kind == "dataset":
        data = load_dataset(choice.name)
        return Loaded(choice.name, "class", data.X, np.asarray(data.y), data.options, {})
    source = open_table(path_of(choice, uploads))
    if choice.target not in source.columns:
        raise OptionError(f"{Path(choice.name).name} has no column {choice.target!r}.")
    table = read_labelled(source, choice.target, keep=list(choice.kept) or None, max_cells=MAX_CELLS)
    name = Path(choice.name).name
    return Loaded(name, choice.target, table.X, np.asarray(table.y), table.options, table.dropped)


def path_of(choice: DataChoice, uploads: Mapping[str, Path]) -> str:
    """The file of a choice: an uploaded one by its name, or one that was named at the command."""
    if choice.name in uploads and choice.kind != "file":
        return str(uploads[choice.name])
    if choice.kind == "upload" or not Path(choice.name).is_absolute():
        raise DataError(f"the file {choice.name!r} is not here any more. Drop it on the page again.")
    return choice.name


def read_network_file(path: str) -> Network:
    """The network in a file; also in one of GeNIe (XDSL), if there is nothing to decide in it."""
    if Path(path).suffix.lower() != ".xdsl":
        return read_network(path)
    diagram = read_decisions(path)
    if diagram.decisions or diagram.utilities:
        raise OptionError(f"{Path(path).name} has decisions or utilities. Open it on the page Decide.")
    return diagram.network


@dataclass(frozen=True, eq=False)
class Prepared:
    """Rows as codes, under one schema for all pages."""

    loaded: Loaded
    X: pa.Table  # the columns that are kept
    encoder: Encoder
    codes: np.ndarray
    labels: np.ndarray  # codes of the classes
    classes: np.ndarray

    @property
    def schema(self) -> Schema:
        return self.encoder.schema

    @property
    def target(self) -> str:
        """The name of the class, which is no column."""
        name = self.loaded.target
        while name in self.schema:
            name += "_"
        return name

    @property
    def y(self) -> np.ndarray:
        return self.loaded.y

    @cached_property
    def sample(self) -> Sample:
        """The rows for structure learners; the class is the last variable."""
        return Sample.of_rows(self.codes, self.labels, None, self.schema, self.classes, self.target)

    @cached_property
    def values(self) -> dict[str, tuple[object, ...]]:
        """The values of all columns and, last, of the class, as a network over them has them."""
        return dict(zip(self.sample.names, self.sample.values, strict=True))

    @cached_property
    def checksum(self) -> str:
        """Tells whether the rows are still the same when a session is opened again."""
        digest = hashlib.sha256(np.ascontiguousarray(self.codes).tobytes())
        digest.update(np.ascontiguousarray(self.labels).tobytes())
        return digest.hexdigest()[:16]


def prepare(loaded: Loaded, columns: ColumnChoices) -> Prepared:
    """Encode a table as the choices say."""
    return _encoded(loaded, columns, *encode_labels(loaded.y))


def _encoded(loaded: Loaded, columns: ColumnChoices, labels: np.ndarray, classes: np.ndarray) -> Prepared:
    kept = [name for name in loaded.X.column_names if name not in columns.left_out]
    if not kept:
        raise OptionError("no column is left. Take at least one back in.")
    X = loaded.X.select(kept)
    encoder = Encoder(**encoder_options(loaded, columns))
    codes = encoder.learn_and_encode(X, labels, None, len(classes))
    return Prepared(loaded, X, encoder, codes, labels, classes)


def prepare_again(before: Prepared, columns: ColumnChoices, name: str) -> Prepared:
    """The same after a change of one column, which alone is encoded: columns are encoded each by itself."""
    own = replace(before.loaded, X=before.loaded.X.select([name]))
    alone = _encoded(own, columns, before.labels, before.classes)
    place = before.schema.index(name)
    schema = before.schema.with_columns({place: alone.schema[0]})
    if not before.codes.dtype == alone.codes.dtype == code_type(int(schema.n_values.max()), "ignore"):
        return prepare(before.loaded, columns)  # all codes become wider or narrower
    codes = before.codes.copy(order="F")
    codes[:, place] = alone.codes[:, 0]
    encoder = Encoder.from_schema(schema, **encoder_options(before.loaded, columns))
    return Prepared(before.loaded, before.X, encoder, codes, before.labels, before.classes)


def classifier_options(prepared: Prepared, columns: ColumnChoices, *, gaussian: bool = False) -> dict[str, Any]:
    """What every classifier is told about the columns, so that it encodes them as they are prepared.

    A classifier has its own way to cut columns that ``bins`` does not name, so all of them are named; but for Gaussian
    columns, which are not cut unless by hand.
    """
    options = {key: value for key, value in encoder_options(prepared.loaded, columns).items() if value is not None}
    if options.pop("default_bins", None) is not None:
        cut = [column.name for column in prepared.schema.columns if column.kind in ("numeric", "ordinal")]
        rest = {} if gaussian else {name: columns.bins for name in cut if name not in options["bins"]}
        options["bins"] = options["bins"] | rest
    return options


def encoder_options(loaded: Loaded, columns: ColumnChoices) -> dict[str, Any]:
    """What the encoder is told about the columns: by the source, and by hand."""
    kept = [name for name in loaded.X.column_names if name not in columns.left_out]
    by_hand = {*columns.categorical, *columns.numeric, *columns.ordinal, *columns.cuts}

    def named(kind: str, own: tuple[str, ...]) -> list[str]:
        declared = [name for name in loaded.options.get(kind, ()) if name in kept and name not in by_hand]
        return declared + [name for name in own if name in kept]

    numeric = tuple(dict.fromkeys([*columns.numeric, *(n for n in columns.cuts if n not in columns.ordinal)]))
    cuts = {name: own for name, own in cuts_by_hand(columns).items() if name in kept}
    options: dict[str, Any] = {
        "categorical": named("categorical", columns.categorical) or None,
        "numeric": named("numeric", numeric) or None,
        "ordinal": {name: list(order) for name, order in columns.ordinal.items() if name in kept} or None,
        "bins": cuts or columns.bins,
        "n_bins": columns.n_bins,
        "keep": "all",  # what is of no use was dropped when the table was read, or taken back by hand
    }
    return options | ({"default_bins": columns.bins} if cuts else {})


def cuts_by_hand(columns: ColumnChoices) -> dict[str, list[Any]]:
    """Cut points as an encoder takes them: numbers, or the values of an ordinal column after which it is cut."""
    found: dict[str, list[Any]] = {}
    for name, cuts in columns.cuts.items():
        order = columns.ordinal.get(name)
        found[name] = list(cuts) if order is None else [order[int(t)] for t in cuts]
    return found
