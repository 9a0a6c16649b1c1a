"""The one network behind a classifier, for those that have one: ``parents_``, ``network_`` and ``blanket_``."""

from __future__ import annotations

from tanager.errors import OptionError
from tanager.learning.counts_classifier import CountsClassifier
from tanager.networks.network import Network
from tanager.scoring.discriminative import Discriminative
from tanager.scoring.forms import ProductOfSums, form_columns
from tanager.scoring.modes import Modes
from tanager.scoring.network_view import as_network


class NoNetwork(OptionError, AttributeError):
    """A model that is no network of tables: it lacks the attribute, as ``hasattr`` and ``dir`` expect to hear."""


def parents_of(model: CountsClassifier) -> dict[str, tuple[str, ...]]:
    """The parents, beside the class, of every column that depends on the class."""
    form, names = _form(model), model.counts_.schema.names
    return {names[i]: tuple(names[j] for j in p) for i, p in zip(form.child, form.parents, strict=True)}


def network_of(model: CountsClassifier) -> Network:
    """The class and all columns that answers depend on, with tables.

    Parameters by conditional likelihood are turned into tables that give the same answers to rows without gaps. Where
    no tables can (``fit_by="weights"`` with parents that do not depend on each other), there are arcs alone.
    """
    form, counts = _form(model), model.counts_
    gaussian = model.memory.number_names
    if gaussian:
        raise NoNetwork(
            f"column {gaussian[0]!r} is Gaussian, and a network has tables alone. Leave out gaussian= to cut "
            "numbers into bins."
        )
    target, scorer = model.class_name, model.uncalibrated()
    network = as_network(form, counts.schema, model.classes_.tolist(), target)
    if isinstance(scorer, Discriminative):
        return network.with_tables(scorer.network_tables(target))
    counts = scorer.counts if isinstance(scorer, Modes) else counts
    return network.estimate(counts, model.estimate, target=target)


def blanket_of(model: CountsClassifier) -> tuple[str, ...]:
    """The columns in the Markov blanket of the class: all that answers depend on."""
    names = model.counts_.schema.names
    return tuple(names[i] for i in sorted(form_columns(_form(model))))


def n_networks_of(model: CountsClassifier) -> int:
    """How many networks vote."""
    return _form(model).n_networks


def _form(model: CountsClassifier) -> ProductOfSums:
    form = model.structure_
    assert isinstance(form, ProductOfSums)
    return form
