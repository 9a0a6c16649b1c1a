"""What commands ask of a learned model, in one place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # commands import the library when their work begins, so that help appears at once
    import numpy as np


def class_weights(model: Any) -> np.ndarray:
    """The weight of the learned rows of every class."""
    weights: np.ndarray = model._class_sizes()
    return weights


def n_learned(model: Any) -> float:
    """The weight of all rows that a model has learned."""
    return float(class_weights(model).sum())


def finish_warm_up(model: Any) -> None:
    """Fix kinds and cut points of a model that was saved within its first rows."""
    model._ready()


def supports_leave_one_out(model: Any) -> bool:
    """Whether rows can be left out of what the model has learned."""
    return bool(model._leaves_out())


def check_options(model: Any) -> None:
    """Raise OptionError for invalid options, before any data is read."""
    model._check_options()


def learn_structure(model: Any) -> Any:
    """The structure for the counts as they are now, learned again if need be."""
    return model._structure(fresh=True)


def decide(model: Any, proba: np.ndarray) -> np.ndarray:
    """The codes of the predicted classes: the most probable, or those of least expected cost."""
    from tanager.scoring.decision import check_costs
    from tanager.scoring.decision import decide as decide_codes

    return decide_codes(proba, model._class_sizes(), check_costs(model.cost_matrix, model.classes_))


def class_information(model: Any) -> dict[str, float]:
    """The mutual information of every column with the class, in nats; empty for a model without counts."""
    from tanager.structure.measures import class_information as information

    if not hasattr(model, "counts_"):
        return {}
    columns = zip(model.counts_.schema.columns, information(model.counts_).tolist(), strict=True)
    return {column.name: value for column, value in columns if column.kind != "continuous"}


def used_columns(model: Any) -> list[str]:
    """The columns that predictions depend on."""
    from tanager.scoring.forms import ProductOfSums
    from tanager.scoring.network_view import form_columns

    names = model.encoder_.schema.names
    if not hasattr(model, "counts_"):
        return list(names)
    form = learn_structure(model).form
    return [names[i] for i in sorted(form_columns(form))] if isinstance(form, ProductOfSums) else list(names)
