"""A classifier over counts that were made elsewhere, where they hold all that it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tanager.counts.joint import JointCounts
from tanager.errors import DataError, OptionError, SchemaMismatch, nearest
from tanager.learning.counting import encoder_for, moments_shape

if TYPE_CHECKING:
    from tanager.learning.counts_classifier import CountsClassifier

Model = TypeVar("Model", bound="CountsClassifier")


def from_counts(cls: type[Model], counts: JointCounts, params: dict[str, Any]) -> Model:
    """A fitted model of this class with these options, over the counts; they are read, not copied."""
    if not isinstance(counts, JointCounts):
        raise DataError(f"from_counts takes JointCounts, got {type(counts).__name__}. Use fit for a table.")
    known = cls.option_defaults()
    for name in params:
        if name not in known:
            raise OptionError(f"{cls.__name__} has no option {name!r}.{nearest(name, known)}")
    model = cls(**params)
    model.start()
    if model.window is not None:
        raise OptionError("counts do not hold the rows that would leave a window. Fit on the rows instead.")
    model.classes_ = counts.classes
    model.encoder_ = encoder_for(model, counts.schema)
    model._counts_given(counts)
    counts.require(cls.__name__, **model.counts_shape(counts.schema))
    if model.calibrate:
        raise SchemaMismatch(
            "answers are calibrated by rows that are left out, and counts do not hold them. Fit on the rows, or "
            "leave out calibrate=."
        )
    numbers = any(column.kind == "continuous" for column in counts.schema.columns)
    if numbers or moments_shape(model, counts.schema)[0]:
        raise OptionError(
            "counts do not hold the numbers of Gaussian columns. Fit on the rows, or leave out gaussian=."
        )
    if model.unseen == "smooth" and not counts.spare:
        raise SchemaMismatch('unseen="smooth" needs counts with a spare slot. Count with spare=1.')
    model._remember(counts)
    model._learned.rows = None  # counts do not hold them
    model.note_columns()
    names = counts.schema.table_names
    if names != tuple(f"x{i}" for i in range(len(names))):
        model.feature_names_in_ = np.array(names, dtype=object)
    model._answers(fresh=True)
    return model
