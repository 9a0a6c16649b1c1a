"""What the options of a classifier over counts mean, and which of them are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tanager.counts.estimates import as_estimate
from tanager.counts.forgetting import as_decay, as_window
from tanager.counts.normals import check_ddof
from tanager.errors import OptionError, check_option
from tanager.learning.gaussian_option import check_gaussian, cut_as_well
from tanager.learning.recut_option import as_recut
from tanager.learning.structure_change import check_refresh, rule_of

if TYPE_CHECKING:
    from tanager.learning.counts_classifier import CountsClassifier


def check_options(model: CountsClassifier) -> None:
    """Refuse options that mean nothing, before anything is learned."""
    check_option("unseen", model.unseen, ("ignore", "smooth", "error"))
    as_estimate(model.default_estimate if model.smoothing is None else model.smoothing)
    decay, window = as_decay(model.decay), as_window(model.window)
    if decay is not None and decay.per_class and window is not None:
        raise OptionError(
            "a window and a decay per class do not go together: a row would leave with a weight that depends on "
            "all rows of its class since. Use one of them, or a decay for all classes."
        )
    _check_refresh(model)
    as_recut(model.recut)
    model._check_calibrate()
    check_gaussian(getattr(model, "gaussian", False), model._not_with_gaussian())
    check_ddof(getattr(model, "ddof", 0))


def _check_refresh(model: CountsClassifier) -> None:
    check_refresh(model.refresh)
    if rule_of(model.refresh) is not None and model._adaptive() and not model._compares_structures():
        raise OptionError(
            f"refresh={model.refresh!r}: structures of {model!r} have no score per row to be compared. Give a number "
            "of rows, or None."
        )


def check_calibrate(model: CountsClassifier) -> None:
    if not isinstance(model.calibrate, bool | np.bool_):
        raise OptionError(f"calibrate={model.calibrate!r}: give True or False.")
    if model.calibrate and model.priors is not None:
        raise OptionError(
            "priors= and calibrate= do not go together: the learned rows, by which answers are calibrated, have "
            "other priors. Leave one of them out."
        )


def encoder_options(model: CountsClassifier, options: dict[str, Any]) -> dict[str, Any]:
    """How columns become codes: options of all classifiers, and those of number columns that become bins."""
    options |= {name: getattr(model, name) for name in ("bins", "n_bins", "mdl_encoding", "ordinal")}
    options["default_bins"] = model.default_bins  # also of columns that a dict of bins does not name
    return cut_as_well(options, getattr(model, "gaussian", False))


def way_out_of_rows(model: CountsClassifier) -> str:
    """What to advise where kept rows take too much memory."""
    if not model.may_choose_once or model.window is not None:
        return "Raise max_memory."
    if model._chooses_once:
        return "Ask for structure_ earlier, which is then chosen and needs no more rows, or raise max_memory."
    return "Let the structure be chosen once (refresh=inf), after which no rows are kept, or raise max_memory."
