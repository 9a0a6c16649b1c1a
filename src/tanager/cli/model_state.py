"""What commands ask of a learned model, in one place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # commands import the library when their work begins, so that help appears at once
    import numpy as np


def answering(model: Any) -> Any:
    """The model that answers: of one that watches for drift the one in front, of several half-lives the longest."""
    return model.model_ if hasattr(type(model), "model_") else model


def n_learned(model: Any) -> float:
    """The weight of all rows that a model has learned."""
    return float(model.class_count_.sum())


def decide(model: Any, proba: np.ndarray) -> np.ndarray:
    """The codes of the predicted classes: the most probable, or those of least expected cost."""
    from tanager.scoring.decision import check_costs
    from tanager.scoring.decision import decide as decide_codes

    own = answering(model)
    return decide_codes(proba, own.class_count_, check_costs(own.cost_matrix, own.classes_))


def class_information(model: Any) -> dict[str, float]:
    """The mutual information of every column with the class, in nats; empty for a model without counts."""
    from tanager.structure.measures import class_information as information

    if not hasattr(model, "counts_"):
        return {}
    columns = zip(model.counts_.schema.columns, information(model.counts_).tolist(), strict=True)
    return {column.name: value for column, value in columns if column.kind != "continuous"}


def has_fuzzy_rules(model: Any) -> bool:
    """Whether a model is one of fuzzy rules; those of LBR are found for each row."""
    from tanager.streams.evolving import EvolvingNaiveBayes

    return isinstance(model, EvolvingNaiveBayes)


def used_columns(model: Any) -> list[str]:
    """The columns that predictions depend on."""
    from tanager.scoring.forms import ProductOfSums, form_columns

    names = model.encoder_.schema.names
    if not hasattr(model, "counts_"):
        return list(names)
    form = model.structure_
    some = isinstance(form, ProductOfSums) or form.children is not None
    return [names[i] for i in sorted(form_columns(form))] if some else list(names)
