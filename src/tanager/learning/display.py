"""What a notebook shows of a classifier: what it is, what it has learned, from what, and how good it is.

A cell must not be slow, and looking must change nothing: what would have to be worked out first is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tanager.counts.display import class_shares, weight_text
from tanager.display import (
    Html,
    bars,
    counted,
    element,
    escaped,
    facts,
    folded,
    listed,
    note,
    page,
    picture,
    preformatted,
)
from tanager.encoding.display import columns_table, kinds_of, left_out
from tanager.errors import TanagerError
from tanager.networks.display import is_quickly_drawn
from tanager.networks.network import Network
from tanager.scoring.forms import Form, ProductOfSums, SumOfProducts, form_columns
from tanager.scoring.view import View
from tanager.shortcuts import public
from tanager.structure.measures import class_information

if TYPE_CHECKING:
    from tanager.learning.classifier import Classifier

MOST_BOXES = 100  # of a network that is drawn
MOST_ARCS = 36  # between its columns, where they are no tree
MOST_CELLS = 1_000_000  # that leave-one-out answers may read
MOST_PICTURES = 4  # of the networks of a model that has one for each class
TOP = 10  # columns that tell most


def model_html(model: Classifier) -> Html:
    """All that a notebook shows of it."""
    title = _title(model)
    if not model.started:
        return page(title, note("Not fitted."), _options(model))
    if not model.knows_columns:
        about = f"Warming up: {counted(model.n_warm_up_rows, 'row')} so far, from which columns are learned."
        return page(title, note(about), _options(model))
    return page(
        title,
        facts(
            [*_learned_from(model), ("structure", _structure(model)), ("how good", _how_good(model)), _events(model)]
        ),
        *_pictures(model),
        *_texts(model),
        *_own_parts(model),
        _telling(model),
        folded("Columns", columns_table(model.encoder_.schema)),
        folded("Options", _options(model)),
    )


def _title(model: Classifier) -> Html:
    """Its name, and what it is by the first line of its documentation."""
    name, line = type(model).__name__, (type(model).__doc__ or "").strip().split("\n")[0]
    return Html(element("b", name) + escaped(f"  {line.removeprefix(f'{name}: ')}" if line else ""))


def _options(model: Classifier) -> Html:
    """The options whose values are not the defaults."""
    changed = model.changed_options()
    return facts((name, repr(value)) for name, value in changed.items()) or note("All options as they come.")


def _learned_from(model: Classifier) -> list[tuple[str, object]]:
    """Rows, columns and classes."""
    schema, weights = model.encoder_.schema, model.class_count_
    gone = [f"{column.name} ({column.reason})" if column.reason else column.name for column in left_out(schema)]
    return [
        ("rows", weight_text(float(np.sum(weights)))),
        ("columns", kinds_of(schema)),
        ("left out", listed(gone)),
        (model.class_name, class_shares(model.classes_.tolist(), weights)),
    ]


# --- what was learned -----------------------------------------------------------------------------------------------


def _structure(model: Any) -> str:
    """The structure in words, where it is known already."""
    if not hasattr(model, "knows_structure"):
        return ""
    if not model.knows_structure:
        return "learned anew by the next answer"
    if hasattr(type(model), "n_networks_"):
        return f"{_many(model.n_networks_)} networks that vote"
    chosen = f"{model.best_!r}: " if hasattr(model, "best_") else ""
    return chosen + (form_words(model.structure_, model.counts_.n_features) if _is_plain(model) else "")


def _many(n: int) -> str:
    """A number that may have many digits.

    >>> _many(3628800), _many(10**30)
    ('3,628,800', '1e+30')
    """
    return f"{n:,}" if n < 10**12 else f"{float(n):.3g}" if n < 10**300 else "countless"


def _is_plain(model: Any) -> bool:
    """Whether answers are read from the structure as it stands."""
    return isinstance(model.uncalibrated(), View) and not hasattr(type(model), "tree_")


def form_words(form: Form, n_columns: int) -> str:
    """What depends on what, in a few words.

    >>> form_words(ProductOfSums.one_each([(), (0,), (0,)]), 3)
    'one network: 2 arcs between columns, at most 1 parent beside the class'
    """
    used = len(form_columns(form)) if isinstance(form, ProductOfSums) else n_columns
    of = "" if used == n_columns else f"; {used:,} of {n_columns:,} columns"
    if isinstance(form, SumOfProducts):
        size = max(map(len, form.members), default=0)
        parents = "one column is a parent" if size == 1 else f"{size} columns are parents"
        n = len(form.members)
        many = f"an average of {n:,} networks, in each of which" if n > 1 else "one network, in which"
        return f"{many} {parents} of all others"
    if form.only:
        return f"a network for each class{of}"
    if form.n_networks > 1:
        return ""  # which columns may be parents of which is a matter of the classifier
    if form.joined:
        return f"naive Bayes, {counted(len(form.joined), 'set')} of columns joined into one column{of}"
    arcs, most = sum(map(len, form.parents)), max(map(len, form.parents), default=0)
    if not arcs and not form.class_parents:
        return f"one network without arcs between columns{of}"
    parents = f", at most {counted(most, 'parent')} beside the class" if not form.class_parents else ""
    return f"one network: {counted(arcs, 'arc')} between columns{parents}{of}"


def _pictures(model: Any) -> list[Html]:
    """Its network, or those of its classes, where they are known and quickly drawn."""
    networks = _networks(model) if getattr(model, "knows_structure", False) else {}
    return [part for words, network in networks.items() for part in (note(words), _picture(model, network))]


def _picture(model: Any, network: Network) -> Html:
    """A drawing in which columns are the darker the more they tell."""
    target = model.class_name if model.class_name in network else None
    if not is_quickly_drawn(network, target, most_variables=MOST_BOXES, most_arcs=MOST_ARCS):
        return note("Its network is large: draw it with .plot().")
    svg = public("network_svg")(network, target, shades=_information(model), framed=True)
    return picture(svg, f"A network of {counted(len(network), 'variable')}")


def _networks(model: Any) -> dict[str, Network]:
    """The network of a model, or one for each class, by what is to be said about it."""
    answering = getattr(model, "best_", model)
    try:
        network = getattr(answering, "network_", None)
        several = getattr(answering, "networks_", None) or {}
    except TanagerError:
        return {}
    if isinstance(network, Network):
        return {"": network}
    return {f"{model.class_name} = {label}": own for label, own in list(several.items())[:MOST_PICTURES]}


def _information(model: Any) -> dict[str, float]:
    """What each column tells about the class, in nats; only columns that are counted."""
    schema, told = model.counts_.schema, class_information(model.counts_).tolist()
    return {name: nats for name, nats, n in zip(schema.names, told, schema.n_values, strict=True) if n > 0}


def _telling(model: Any) -> Html:
    """The columns that tell most about the class."""
    if not hasattr(model, "knows_structure"):
        return Html("")
    told = sorted(_information(model).items(), key=lambda item: -item[1])
    rows = [(name, nats, f"{nats:.3f}") for name, nats in told]
    about = note("What each column by itself tells about the class: mutual information, in nats.")
    return folded("What columns tell", bars(rows, most=TOP), about) if rows else Html("")


def _texts(model: Any) -> list[Html]:
    """What else models can say, as text: trees, and how candidates were judged."""
    if not getattr(model, "knows_structure", True):
        return []
    found = []
    if hasattr(type(model), "tree_"):
        found.append(preformatted(str(model.tree_)))
    if hasattr(type(model), "table"):
        found.append(folded("Candidates", preformatted(model.table())))
    return found


def _own_parts(model: Any) -> list[Html]:
    """What a kind of classifier shows that others have not."""
    return list(model.display_parts()) if hasattr(model, "display_parts") else []


def _events(model: Any) -> tuple[str, str]:
    """What happened along a stream, the last first."""
    return "last events", listed([_in_words(event) for event in getattr(model, "events_", ())][::-1], 3)


def _in_words(event: Any) -> str:
    """An event as people say it: when, what and why."""
    if not hasattr(event, "what"):
        return str(event)
    why = f" ({event.why})" if getattr(event, "why", "") else ""
    return f"{event.what} after row {event.row:,}{why}"


# --- how good it is -------------------------------------------------------------------------------------------------


def _how_good(model: Any) -> str:
    """By its kept rows, each left out; where there are none, how to ask."""
    if not model.can_leave_out:
        return ""
    if not (model.memory.holds_all_rows and model.knows_structure and _is_quick(model)):
        return "not known; model.leave_one_out(X, y) and tanager.evaluate tell"
    block = model.memory.rows.block
    proba = model.leave_out(block.once)  # rows that are the same may be kept as one row of their weight
    weights = np.ones(len(block)) if block.weights is None else block.weights
    own = proba[np.arange(len(block)), block.labels.astype(np.intp)]
    right = model.decide(proba) == model.classes_[block.labels.astype(np.intp)]
    with np.errstate(divide="ignore"):
        loss = float(np.average(-np.log(own), weights=weights))
    return (
        f"accuracy {np.average(right, weights=weights):.4f}, log loss {loss:.4f} when each row is left out "
        "(flattering: cut points and structure were learned from all rows)"
    )


def _is_quick(model: Any) -> bool:
    """Whether leaving rows out reads few cells: plain tables, and not too many."""
    form, n_rows = model.structure_, len(model.memory.rows)
    terms = len(form.child) if isinstance(form, ProductOfSums) else len(form.members) * model.counts_.n_features
    return _is_plain(model) and n_rows > 0 and n_rows * terms * len(model.classes_) <= MOST_CELLS
