"""Classifiers of tanager in Pipelines that skl2onnx converts. Needs the extra ``onnx``; nothing imports this file."""

from __future__ import annotations

from typing import Any

import numpy as np

import tanager
from tanager.errors import OptionError
from tanager.export.answers import Description, describe
from tanager.export.graph import Graph
from tanager.export.onnx import ML_OPSET, OPSET, as_protos, class_labels, write_answer
from tanager.export.onnx_columns import Cells
from tanager.learning.classifier import Classifier

OPTIONS = {"zipmap": [True, False, "columns"], "nocl": [True, False], "output_class_labels": [False, True]}


def register_converters() -> None:
    """Let skl2onnx convert all classifiers of tanager, alone or at the end of a Pipeline.

    Probabilities are doubles, for which ONNX has no maps: convert with ``options={"zipmap": False}``.
    """
    from skl2onnx import update_registered_converter

    for name in tanager.__all__:
        cls = getattr(tanager, name)
        if isinstance(cls, type) and issubclass(cls, Classifier):
            update_registered_converter(cls, f"Tanager{name}", _shapes, _convert, options=OPTIONS)


def _labels(description: Description) -> np.ndarray:
    """The classes; skl2onnx knows whole numbers and text."""
    labels = class_labels(description)
    return labels.astype(np.int64) if labels.dtype == bool else labels


def _shapes(operator: Any) -> None:
    """The types of the results."""
    from skl2onnx.common.data_types import DoubleTensorType, Int64TensorType, StringTensorType

    description = describe(operator.raw_operator)
    n_rows = operator.inputs[0].get_first_dimension()
    text = _labels(description).dtype == object
    operator.outputs[0].type = StringTensorType([n_rows]) if text else Int64TensorType([n_rows])
    operator.outputs[1].type = DoubleTensorType([n_rows, len(description.classes)])


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Write the graph of a classifier behind what comes before it."""
    if container.target_opset < OPSET:
        raise OptionError(f"target_opset={container.target_opset}: tanager needs opset {OPSET} or later.")
    description = describe(operator.raw_operator)
    graph = Graph(scope.get_unique_variable_name("tanager") + "/")
    cells = Cells(graph, description.columns, *_tensors(graph, description, operator.inputs))
    outputs = operator.outputs[0].full_name, operator.outputs[1].full_name
    write_answer(graph, description, cells, outputs, _labels(description))
    nodes, constants = as_protos(graph)
    container.initializers.extend(constants)
    container.nodes.extend(nodes)
    container.node_domain_version_pair_sets |= {(n.domain, ML_OPSET if n.domain else OPSET) for n in nodes}


def _tensors(graph: Graph, description: Description, inputs: Any) -> tuple[str | None, str | None]:
    """All text and all numbers, each in one tensor."""
    from skl2onnx.common.data_types import DoubleTensorType, StringTensorType

    at, text, numbers = 0, list[str](), list[str]()
    for variable in inputs:
        is_text, width = isinstance(variable.type, StringTensorType), variable.get_second_dimension()
        own = description.columns[at : at + width]
        wrong = [column for column in own if column.is_text != is_text]
        if wrong:
            found, wanted = ("text", "numbers") if is_text else ("numbers", "text")
            raise OptionError(
                f"column {wrong[0].name!r} was fitted on {wanted}, and comes as {found}. Give text and numbers to "
                "tanager as separate inputs, or convert the model by tanager.to_onnx."
            )
        name = variable.full_name
        if not is_text and not isinstance(variable.type, DoubleTensorType):
            name = graph.cast(name, np.float64)
        (text if is_text else numbers).append(name)
        at += width
    if at != len(description.columns):
        raise OptionError(f"{description.name} was fitted on {len(description.columns)} columns, and gets {at}.")
    together = [graph("Concat", *own, axis=1) if len(own) > 1 else own[0] if own else None for own in (text, numbers)]
    return together[0], together[1]
