"""``to_onnx``: a fitted classifier as an ONNX graph, from raw columns to label and probabilities, all in doubles."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

import tanager
from tanager.encoding.dates import date_cells
from tanager.encoding.tables import read_table
from tanager.encoding.values import Numbers
from tanager.errors import OptionError, SchemaMismatch, check_option
from tanager.export.answers import Description, describe
from tanager.export.columns import Reading
from tanager.export.graph import Graph
from tanager.export.onnx_answers import Slots, Writer, chosen_classes
from tanager.export.onnx_columns import Cells
from tanager.learning.classifier import Classifier
from tanager.scoring.decision import TIE

if TYPE_CHECKING:
    from onnx import ModelProto

OPSET, ML_OPSET, IR_VERSION = 18, 3, 9  # read by onnxruntime 1.14 and later


def to_onnx(model: Classifier, *, inputs: str = "auto") -> ModelProto:
    """A fitted classifier as an ONNX model, which answers raw rows as ``predict`` and ``predict_proba`` do.

    Text, numbers, gaps and new values go in as they are: cut points, vocabularies and tables are in the graph, in
    double precision. It runs in onnxruntime, without tanager. Needs the package onnx, of the extra ``onnx``.

    Parameters
    ----------
    model : fitted classifier
        Of any class but those that look at learned rows for an answer (LBR, ANDE that keeps rows) or are no tables
        (HoeffdingTree, HalfLives, EvolvingNaiveBayes); these are refused.
    inputs : {"auto", "columns", "matrix"}, default="auto"
        *columns*: one input per column, of shape (rows, 1) and with its name; text as strings, and all else (numbers,
        booleans, dates in seconds since 1970) as doubles. *matrix*: one input X of shape (rows, columns), where all
        columns are text or none is. *auto*: a matrix where the model was fitted on an array without names, if that is
        possible.

    Returns
    -------
    onnx.ModelProto
        With the outputs ``label`` and ``probabilities``, one column per class in the order of ``classes_``. A missing
        number is NaN, a missing text the empty string. Its metadata say all of this as JSON, under "tanager".

    Examples
    --------
    ::

        import onnxruntime
        from tanager import AODE, to_onnx

        model = AODE().fit({"sky": ["sun", "rain"] * 9, "degrees": range(18)}, ["play", "stay"] * 9)
        session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
        label, probabilities = session.run(None, {"sky": [["sun"], [""]], "degrees": [[21.5], [float("nan")]]})
    """
    check_option("inputs", inputs, ("auto", "columns", "matrix"))
    if find_spec("onnx") is None:
        raise OptionError("onnx is not installed. Install it with: pip install 'tanager[onnx]'")
    description = describe(model)
    names = _input_names(description, inputs)
    graph = Graph("tanager/")
    label, probabilities = (_free(name, names) for name in ("label", "probabilities"))
    cells = Cells(graph, description.columns, *_tensors(graph, description, names))
    write_answer(graph, description, cells, (label, probabilities), class_labels(description))
    return _model(graph, description, names, (label, probabilities))


def _input_names(description: Description, inputs: str) -> list[str]:
    """The names of the inputs: one of all columns, or one for each."""
    columns = description.columns
    words = [column.name for column in columns if column.is_text]
    mixed = 0 < len(words) < len(columns)
    if inputs == "matrix" and mixed:
        raise OptionError(
            f'column {words[0]!r} is text and others are numbers, which one matrix cannot hold. Use inputs="columns".'
        )
    if inputs == "matrix" or (inputs == "auto" and not mixed and not description.named):
        return ["X"]
    return [column.name or f"x{i}" for i, column in enumerate(columns)]


def _free(name: str, taken: Sequence[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _tensors(graph: Graph, description: Description, names: list[str]) -> tuple[str | None, str | None]:
    """The names of all text and of all numbers, each in one tensor."""
    columns = description.columns
    if len(names) < len(columns) or names == ["X"]:
        return ("X", None) if columns[0].is_text else (None, "X")
    parts = [[name for name, c in zip(names, columns, strict=True) if c.is_text == text] for text in (True, False)]
    together = [graph("Concat", *part, axis=1) if len(part) > 1 else part[0] if part else None for part in parts]
    return together[0], together[1]


def _model(graph: Graph, description: Description, names: list[str], outputs: tuple[str, str]) -> Any:
    from onnx import TensorProto, helper

    columns, labels = description.columns, class_labels(description)

    def info(name: str, text: bool, shape: list[int | None]) -> Any:
        return helper.make_tensor_value_info(name, TensorProto.STRING if text else TensorProto.DOUBLE, shape)

    if names == ["X"]:
        inputs = [info("X", columns[0].is_text, [None, len(columns)])]
    else:
        inputs = [info(name, column.is_text, [None, 1]) for name, column in zip(names, columns, strict=True)]
    kind = TensorProto.STRING if labels.dtype == object else helper.np_dtype_to_tensor_dtype(labels.dtype)
    label = helper.make_tensor_value_info(outputs[0], kind, [None])
    nodes, constants = as_protos(graph)
    made = helper.make_graph(
        nodes,
        description.name,
        inputs,
        [label, info(outputs[1], False, [None, len(labels)])],
        constants,
    )
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
    model = helper.make_model(made, opset_imports=opsets, ir_version=IR_VERSION)
    model.producer_name, model.producer_version = "tanager", tanager.__version__
    model.doc_string = f"{description.name}: the class {description.target!r} of a row, and its probabilities"
    about = {
        "classifier": description.name,
        "classes": description.classes,
        "columns": [
            {"name": c.name, "type": "text", "missing": c.missing_word}
            if c.is_text
            else {"name": c.name, "type": "number"}
            for c in columns
        ],
    }
    helper.set_model_props(model, {"tanager": json.dumps(about)})
    return model


def onnx_inputs(model: Any, X: Any, *, inputs: str = "auto") -> dict[str, np.ndarray]:
    """Any table as the inputs of ``to_onnx(model, inputs=inputs)``, for where tanager is at hand.

    Columns are found by name, or by place where the table has no names; dates become seconds.
    """
    description, table = describe(model), read_table(X)
    columns, names = description.columns, _input_names(description, inputs)
    if table.n_columns != len(columns):
        raise SchemaMismatch(f"X has {table.n_columns} columns, and the model was fitted on {len(columns)}.")
    places = {name: at for at, name in enumerate(table.names or [column.name for column in columns])}
    cells = [_cells(table.column(places[column.name]), column) for column in columns]
    if names == ["X"]:
        return {"X": np.concatenate(cells, axis=1)}
    return dict(zip(names, cells, strict=True))


def _cells(cells: Any, reading: Reading) -> np.ndarray:
    """The cells of a column as an input, (rows, 1). Where learning had no value, any is a new one."""
    if reading.kind == "values" and not reading.slots:
        return np.where(cells.categories.index < 0, np.nan, 0.0)[:, None]
    if reading.dates and not isinstance(cells, Numbers):
        cells = date_cells(cells, reading.name)
    if not reading.is_text:
        return np.asarray(cells.floats(reading.name), dtype=np.float64)[:, None]
    found = cells.categories
    words = np.array([*map(str, found.values), reading.missing_word], dtype=object)
    return words[found.index][:, None]


# --- graphs, also inside those of skl2onnx ---------------------------------------------------------------------------


def write_answer(
    graph: Graph, description: Description, cells: Cells, outputs: tuple[str, str], labels: np.ndarray
) -> None:
    """From raw cells to label and probabilities, under these names."""
    label, probabilities = outputs
    slots = Slots(cells.slots(), np.array([column.n_slots for column in cells.columns]))
    logs = Writer(graph, cells).write(description.answer, slots)
    odds = graph("Exp", graph("Sub", logs, graph.largest(logs, 1)))
    proba = graph("Div", odds, graph.sum(odds, 1, keep=True), output=probabilities)
    gain, scale = proba, 1.0
    if description.costs is not None:
        gain, scale = graph("MatMul", proba, -description.costs), max(1.0, float(np.abs(description.costs).max()))
    chosen = chosen_classes(graph, gain, np.argsort(description.order), axis=1, tie=TIE * scale)
    graph("Gather", labels, chosen, output=label)


def class_labels(description: Description) -> np.ndarray:
    """The classes as a tensor can hold them: whole numbers, booleans, or else text."""
    classes = description.classes
    kinds = {type(label) for label in classes}
    if kinds <= {bool}:
        return np.array(classes, dtype=bool)
    if kinds <= {int}:
        return np.array(classes, dtype=np.int64)
    return np.array([str(label) for label in classes], dtype=object)


def as_protos(graph: Graph) -> tuple[list[Any], list[Any]]:
    """The nodes and the constants of a graph as onnx has them."""
    from onnx import helper, numpy_helper

    def value(own: Any) -> Any:
        return helper.np_dtype_to_tensor_dtype(own) if isinstance(own, np.dtype) else own

    nodes = [
        helper.make_node(
            node.op,
            node.inputs,
            node.outputs,
            name=node.outputs[0],
            **{k: value(v) for k, v in node.attributes.items()},
        )
        for node in graph.nodes
    ]
    return nodes, [numpy_helper.from_array(array, name) for name, array in graph.constants.values()]
