"""The lines of Python that do the same as steps of a session; run one after the other they give the same model.

A script has the variables ``data`` (what was read), ``X`` and ``y``, ``options`` (what every classifier is told about
the columns), then ``network`` and ``model``.
"""

from __future__ import annotations

from tanager.studio.document import ColumnChoices, DataChoice, Document
from tanager.studio.prepared import Prepared, classifier_options, cuts_by_hand


def reading_code(choice: DataChoice) -> tuple[str, ...]:
    """Lines that read the same rows, with ``options`` as they are before anything is decided by hand."""
    if choice.kind == "model":
        return ("from tanager import load", f"model = load({choice.name!r})")
    if choice.kind == "network" and choice.name.lower().endswith(".xdsl"):
        return ("from tanager import read_decisions", f"network = read_decisions({choice.name!r}).network")
    if choice.kind == "network":
        return ("from tanager import read_network", f"network = read_network({choice.name!r})")
    if choice.kind == "dataset":
        lines = ("from tanager.datasets import load", f"data = load({choice.name!r})")
    else:
        kept = f", keep={list(choice.kept)!r}" if choice.kept else ""
        lines = (
            "from tanager.files import open_table, read_labelled",
            f"data = read_labelled(open_table({choice.name!r}), {choice.target!r}{kept})",
        )
    return (*lines, "X, y = data.X, data.y", "options = {**data.options, 'bins': 'mdl', 'n_bins': 5, 'keep': 'all'}")


def rest_code(prepared: Prepared, document: Document) -> tuple[str, ...]:
    """Lines for all that depends on the columns: after a change of these, network and model are made again."""
    lines = columns_code(prepared, document.columns)
    if document.arcs is not None:
        lines += network_code(document, prepared.target)
    if document.model.name != "network":
        lines += model_code(document)
    return lines


def columns_code(prepared: Prepared, columns: ColumnChoices) -> tuple[str, ...]:
    """Lines that leave ``X`` and ``options`` as the choices say."""
    gone = [name for name in columns.left_out if name in prepared.loaded.X.column_names]
    table = f"X = data.X.drop_columns({gone!r})" if gone else "X = data.X"
    if columns == ColumnChoices(bins=columns.bins, n_bins=columns.n_bins):
        return (
            table,
            f"options = {{**data.options, 'bins': {columns.bins!r}, 'n_bins': {columns.n_bins}, 'keep': 'all'}}",
        )
    return (table, f"options = {classifier_options(prepared, columns)!r}")


def network_code(document: Document, target: str) -> tuple[str, ...]:
    """Lines that make the network of a document over the columns as they are."""
    arcs = [tuple(arc) for arc in document.arcs or ()]
    return (
        "from tanager import Network, Sample",
        f"sample = Sample.of(X, y, target={target!r}, **options)",
        f"network = Network(dict(zip(sample.names, sample.values)), {arcs!r})",
    )


def model_code(document: Document) -> tuple[str, ...]:
    """Lines that learn the chosen classifier."""
    choice, columns = document.model, document.columns
    own = "".join(f"{name}={value!r}, " for name, value in choice.options.items())
    rest = "**options"
    if choice.options.get("gaussian") and columns.cuts:  # only what is cut by hand is cut
        rest = f"**options | {{'bins': {cuts_by_hand(columns)!r}}}"
    return (f"from tanager import {choice.name}", f"model = {choice.name}({own}{rest}).fit(X, y)")
