"""What a model file holds of a classifier: plain data and arrays, given and taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tanager.counts.joint import JointCounts
from tanager.errors import ModelFileError
from tanager.learning.counting import follow_vocabulary, no_moments
from tanager.learning.recut_option import FirstCuts, read_first_cuts

if TYPE_CHECKING:
    from tanager.learning.classifier import Classifier
    from tanager.learning.counts_classifier import CountsClassifier


def state_of(model: Classifier) -> dict[str, Any]:
    """All that was learned, for a model file: plain data, with arrays under "arrays"."""
    names: np.ndarray | None = model.__dict__.get("feature_names_in_")
    state: dict[str, Any] = {
        "classes": model.classes_,
        "target": model.target_name_,
        "n_features_in": model.__dict__.get("n_features_in_"),
        "feature_names_in": None if names is None else names.tolist(),
        "arrays": {},
    }
    if model.knows_columns:
        state["encoder"] = model.encoder_
        state |= model._model_state()
    if model._warm_up is not None:
        state["warm_up"] = model._warm_up
    if model.read_up_to:
        state["read_up_to"] = model.read_up_to
    return state


def take_state(model: Classifier, state: dict[str, Any]) -> None:
    """Take back what ``to_state`` gave. Unsound data are refused."""
    model.check_options()  # which were in the file, too
    model.start(target=state["target"])
    model.classes_ = state["classes"]
    n, names = state["n_features_in"], state["feature_names_in"]
    if n is not None:
        model.n_features_in_ = int(n)
    if names is not None:
        if not isinstance(names, list) or len(names) != n:
            raise ModelFileError("its columns have more or fewer names")
        model.feature_names_in_ = np.array([str(name) for name in names], dtype=object)
    if "encoder" in state:
        model.encoder_ = state["encoder"]
        model._take_model_state(state)
    model._warm_up = state.get("warm_up")
    model.note_read_up_to(state.get("read_up_to", {}))


def counts_state(model: CountsClassifier) -> dict[str, Any]:
    """What a classifier over counts adds: counts, kept rows, cut points and structure."""
    follow_vocabulary(model)
    state = model._learned.to_state()
    first = [[e.row, e.column, e.after] for e in model.events_ if isinstance(e, FirstCuts)]
    if first:
        state["first_cuts"] = first
    if model._recutting is not None and model._recutting.watches:
        state["arrays"] |= model._recutting.to_arrays(model)
    state["view"], arrays = model.structure_state()
    state["arrays"] |= arrays
    if model._contest is not None:
        state |= {"contest": model._contest.to_plain(), "models": model._contest.challengers}
    return state


def take_counts_state(model: CountsClassifier, state: dict[str, Any]) -> None:
    """Take back what ``counts_state`` gave; ``encoder_`` and ``classes_`` are there."""
    counts = JointCounts.from_header(state["counts"], state["arrays"])
    counts.schema = model.encoder_.schema  # the same, and one of them
    if counts.classes.tolist() != model.classes_.tolist():
        raise ModelFileError("its counts are of other classes")
    model._counts_given(counts)
    counts.require(type(model).__name__, **model.counts_shape(counts.schema))
    model.classes_ = counts.classes
    model._remember(counts, no_moments(model, counts))
    model._learned.take_state(state)
    model.events_ = [*read_first_cuts(state)]
    if model._recutting is not None:
        model._recutting.take_arrays(model, state["arrays"])
    if model._contest is not None:
        model._contest.take_state(model, state)
    model.events_.sort(key=lambda event: event.row)
