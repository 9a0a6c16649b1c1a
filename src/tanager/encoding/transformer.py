"""TableTransformer: what an encoder is to scikit-learn. Labels come in, and codes go out as scikit-learn's users ask.

``fit`` and ``transform`` are for users alone. scikit-learn wraps them (a frame may come out where ``set_output`` or a
global setting says so); our own code calls ``learn`` and ``encode``, which always give arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from tanager.encoding.dates import part_name
from tanager.encoding.labels import encode_labels
from tanager.encoding.policy import tell_columns
from tanager.encoding.schema import Schema
from tanager.encoding.tables import frame_names, read_table
from tanager.encoding.typing import LabelsLike, TableLike, WeightsLike
from tanager.encoding.validation import check_lengths, check_weights, one_dimensional, refuse_fractions
from tanager.errors import DataError
from tanager.estimator import Transformer


class TableTransformer(Transformer):
    """Learns a schema from tables with labels, and makes codes of tables.

    A subclass has options, a ``schema``, and says how it learns (``learn``) and encodes (``encode``).
    """

    feature_names_in_: np.ndarray  # there once a frame with names was learned

    @property
    def schema(self) -> Schema:
        """What is known about the columns."""
        raise NotImplementedError

    @property
    def knows_columns(self) -> bool:
        """Whether there is a schema."""
        raise NotImplementedError

    @property
    def given(self) -> bool:
        """Whether it was given beforehand."""
        raise NotImplementedError

    def learn(
        self, X: TableLike, y_codes: np.ndarray | None, weights: np.ndarray | None, n_classes: int | None
    ) -> Self:
        """Learn the schema from rows with class codes."""
        raise NotImplementedError

    def encode(self, X: TableLike, unseen: str) -> np.ndarray:
        """Codes of a table, one row each."""
        raise NotImplementedError

    def fit(self, X: TableLike, y: LabelsLike | None = None, sample_weight: WeightsLike | None = None) -> Self:
        """Learn the schema: kinds, values and cut points of the columns.

        Parameters
        ----------
        X : table
            Rows to learn from: a frame, an array, a list of rows or a dict of columns.
        y : array of labels, default=None
            The class of every row; rows without one are left out. Numbers are cut by it, so that None asks for
            ``bins="frequency"`` or "width" where a column holds numbers.
        sample_weight : array of numbers, default=None
            How much each row counts. None: all alike.

        Returns
        -------
        Encoder
            The encoder itself.

        Raises
        ------
        DataError
            Where the table or the labels cannot be used as they are.
        OptionError
            Where an option means nothing, or labels are needed and there are none.
        """
        table = read_table(X)
        labels, n_classes = None, None
        if y is not None:
            y = one_dimensional(y)
            check_lengths(table.n_rows, y)
            labels, classes = encode_labels(y)
            refuse_fractions(classes)
            n_classes = len(classes)
        weights = check_weights(sample_weight, table.n_rows)
        if weights is not None and not weights.any():
            raise DataError("every sample weight is zero; at least one row must count.")
        self.learn(table, labels, weights, n_classes)
        self._note_names(X)
        if not self.given:
            tell_columns(self.schema)
        return self

    def _note_names(self, X: Any) -> None:
        names = frame_names(X)
        self.__dict__.pop("feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)

    def transform(self, X: TableLike, unseen: str = "ignore") -> np.ndarray:
        """Codes of a table, one row each.

        Parameters
        ----------
        X : table
            Rows with the columns that were learned, found by name where both have names.
        unseen : {"ignore", "smooth", "error"}, default="ignore"
            What becomes of a value that was not learned: it is missing, it gets one more code behind those of the
            column, or it is an error.

        Returns
        -------
        array of shape (n_rows, n_columns)
            Codes of type uint8, or uint16 when a column needs it; the largest value of the type means missing. A frame
            where ``set_output`` has asked for one.
        """
        return self.encode(X, unseen)

    def fit_transform(
        self, X: TableLike, y: LabelsLike | None = None, sample_weight: WeightsLike | None = None
    ) -> np.ndarray:
        """Learn the schema and give the codes of the same rows.

        Parameters
        ----------
        X : table
            Rows to learn from.
        y : array of labels, default=None
            The class of every row; see ``fit``.
        sample_weight : array of numbers, default=None
            How much each row counts. None: all alike.

        Returns
        -------
        array of shape (n_rows, n_columns)
            As from ``transform``.
        """
        return self.fit(X, y, sample_weight).transform(X)

    def get_feature_names_out(self, input_features: Sequence[str] | np.ndarray | None = None) -> np.ndarray:
        """The names of the columns that come out: those that went in, without those that are left out.

        Parameters
        ----------
        input_features : array of str, default=None
            Names of the columns where none were learned; elsewhere they must be the same.

        Returns
        -------
        array of str
            The names, in order.
        """
        known = np.array(self.schema.names, dtype=object)
        if input_features is None:
            return known
        given = np.asarray(input_features, dtype=object)
        if "feature_names_in_" in self.__dict__ and given.tolist() != self.feature_names_in_.tolist():
            raise DataError("input_features is not equal to feature_names_in_. Leave it out: the names are known.")
        width = self.schema.width
        if len(given) != width:
            raise DataError(
                f"input_features should have length equal to number of features ({width}), got {len(given)}"
            )
        named = zip(given[list(self.schema.places)], self.schema.columns, strict=True)
        return np.array([part_name(name, c.part) if c.source else name for name, c in named], dtype=object)

    @property
    def n_features_in_(self) -> int:
        """The number of columns; there once they are known."""
        if not self.knows_columns:
            raise AttributeError(f"{type(self).__name__} has learned no columns yet. Call fit first.")
        return self.schema.width

    def __sklearn_is_fitted__(self) -> bool:
        return self.knows_columns

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]  # only scikit-learn asks for them
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        tags.transformer_tags.preserves_dtype = []  # codes come out, whatever went in
        return tags
