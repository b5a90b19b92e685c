"""Networks as ONNX files: batch and time are free, and what the file computes is compared before it is written."""

import copy
import importlib.util
import json
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import torch

from lamina import __version__
from lamina._errors import MissingExtraError, RunError
from lamina._types import Tensor
from lamina.export._recurrent import translations, with_free_time
from lamina.training.deployment import Deployed, Steps

OPSET, ML_OPSET = 18, 3
"""The operator sets of ONNX, and of its part for tables and labels, that the files need."""

TOLERANCE = 1e-5
"""How far an exported network may be from the trained one, relative to the largest output if that is above 1."""

SIZES = {"batch": (1, 3), "time": (1, 4, 9)}
"""Sizes of the free axes with which an exported network is compared with the trained one."""


def as_onnx(deployed: Deployed, metadata: Mapping[str, Any] | None = None) -> bytes:
    """Give a network as the content of an ONNX file that onnxruntime computes as torch does.

    Args:
        deployed: the network and what it reads and writes.
        metadata: plain values that are kept in the file as JSON under the key "lamina".

    Raises:
        RunError: onnxruntime computes something else, or cannot run the file.
    """
    model = graph_of(deployed)
    if deployed.columns:
        model = _with_columns(model, deployed)
    if deployed.classes:
        model = _with_labels(model, deployed)
    content = finished(model, metadata or {})
    check(content, deployed)
    return content


def graph_of(deployed: Deployed) -> Any:
    """Trace a network and give its graph, an `onnx.ModelProto`; nothing is compared yet."""
    _need_onnx()
    deployed = in_float32(deployed)
    program = traced(deployed, onnx=True)
    names = [port.name for port in deployed.inputs], list(deployed.outputs)
    with without_known_warnings():
        made = torch.onnx.export(
            program,
            dynamo=True,
            verbose=False,
            opset_version=OPSET,
            input_names=names[0],
            output_names=names[1],
            custom_translation_table=translations(),
        )
    assert made is not None
    model = made.model_proto
    for graph in (model.graph, *model.functions):
        for node in graph.node:  # the lines of source that made each, with the folders of this machine
            node.ClearField("metadata_props")
    _name_axes(model.graph, deployed)
    return model


def _name_axes(graph: Any, deployed: Deployed) -> None:
    """Give the free axes of a graph their names, which torch numbers."""
    called: dict[str, str] = {}
    for value, port in zip(graph.input, deployed.inputs, strict=True):
        sizes = zip(value.type.tensor_type.shape.dim, port.axes, strict=True)
        called |= {size.dim_param: axis for size, axis in sizes if isinstance(axis, str)}
    for value in (*graph.input, *graph.output, *graph.value_info):
        for size in value.type.tensor_type.shape.dim:
            if size.dim_param in called:
                size.dim_param = called[size.dim_param]


def traced(deployed: Deployed, onnx: bool = False) -> torch.export.ExportedProgram:
    """Trace a network with free axes, as a program of torch."""
    module = deployed.module
    if isinstance(module, Steps):
        module = Steps(with_free_time(module.network, onnx), module.call)
    else:
        module = Steps(with_free_time(module, onnx), lambda network, *inputs: network(*inputs))
    free = {name: torch.export.Dim(name, min=1) for name in deployed.free}
    shapes = tuple(
        {place: free[axis] for place, axis in enumerate(port.axes) if isinstance(axis, str)} for port in deployed.inputs
    )
    # Sizes that differ from each other and from 1, so that no two axes are taken for one.
    sizes = {name: 3 + 2 * place for place, name in enumerate(deployed.free)}
    examples = deployed.examples(sizes)
    torch._dynamo.reset()  # or loops that were traced before, with a fixed number of steps, would bind this one
    with torch.no_grad(), without_known_warnings():
        return torch.export.export(module.eval(), examples, dynamic_shapes=(shapes,))


@contextmanager
def without_known_warnings() -> Iterator[None]:
    """Ignore what torch says about its own insides while it traces."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"`isinstance\(treespec, LeafSpec\)` is deprecated", FutureWarning)
        warnings.filterwarnings("ignore", r"`torch\.jit\.script(_method)?` is deprecated", DeprecationWarning)
        yield


def finished(model: Any, metadata: Mapping[str, Any]) -> bytes:
    """Say in a graph who made it and what it is, check it against the standard, and give the content of its file."""
    import onnx

    domains = {part.domain for part in model.opset_import}
    if "ai.onnx.ml" not in domains and any(node.domain == "ai.onnx.ml" for node in model.graph.node):
        model.opset_import.append(onnx.helper.make_opsetid("ai.onnx.ml", ML_OPSET))
    model.producer_name, model.producer_version = "lamina", __version__
    onnx.helper.set_model_props(model, {"lamina": json.dumps(metadata, ensure_ascii=False)})
    onnx.checker.check_model(model)
    content: bytes = model.SerializeToString()
    return content


def check(content: bytes, deployed: Deployed) -> float:
    """Compare a file with the network on random inputs of several sizes; return the largest difference.

    Raises:
        RunError: it is above the tolerance, or onnxruntime cannot run the file.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors, which are raised as well
    options.intra_op_num_threads = torch.get_num_threads()
    deployed = in_float32(deployed)
    try:
        session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime has a class of its own for each code
        raise RunError(f"onnxruntime cannot read the exported network: {error}") from error
    worst = 0.0
    for seed, sizes in enumerate(product(*(SIZES.get(name, SIZES["time"]) for name in deployed.free))):
        inputs = deployed.examples(dict(zip(deployed.free, sizes, strict=True)), seed)
        with torch.no_grad():
            wanted = deployed.module.eval()(*inputs)
        wanted = (wanted,) if isinstance(wanted, Tensor) else tuple(wanted)
        try:
            found = session.run(None, fed(deployed, inputs))
        except Exception as error:
            shapes = ", ".join(str(tuple(each.shape)) for each in inputs)
            raise RunError(
                f"onnxruntime cannot run the exported network on inputs of shape {shapes}: {error}"
            ) from error
        worst = float(np.max([worst, *map(difference, found, wanted)]))  # which keeps a NaN
        if worst <= TOLERANCE and deployed.classes:
            names = np.asarray(deployed.classes, dtype=object)[found[0].argmax(-1)]
            worst = worst if (found[-1] == names).all() else math.inf
    if not worst <= TOLERANCE:
        raise RunError(
            f"onnxruntime computes something else than the trained network: outputs differ by {worst:.2g} of the "
            f"largest one, more than {TOLERANCE:g}. Nothing was written."
        )
    return worst


def difference(found: Any, wanted: Tensor) -> float:
    """Return the largest difference, relative to the largest wanted value if that is above 1; infinity for shapes.

    >>> difference(np.array([1.0, 102.0]), torch.tensor([1.0, 100.0]))
    0.02
    """
    if found.shape != tuple(wanted.shape):
        return math.inf
    if not wanted.is_floating_point():
        return 0.0 if (found == wanted.numpy()).all() else math.inf
    values = wanted.double().numpy()
    if not np.isfinite(values).all():
        raise RunError(
            "the network gives NaN or infinity for random inputs, so that nothing can be compared: has its training "
            "diverged? Nothing was written."
        )
    return float(np.abs(found - values).max(initial=0.0) / max(1.0, np.abs(values).max(initial=0.0)))


def fed(deployed: Deployed, inputs: Sequence[Tensor]) -> dict[str, Any]:
    """Give inputs as onnxruntime takes them: arrays by name, of a table one for each column."""
    if not deployed.columns:
        return {port.name: each.numpy() for port, each in zip(deployed.inputs, inputs, strict=True)}
    arrays: dict[str, Any] = {}
    for (name, levels), values in zip(deployed.columns, inputs[0].unbind(1), strict=True):
        other = "".join(levels) + "?"  # longer than every level, so none of them
        texts = (
            ["" if value != value else levels[int(value)] if value >= 0 else other for value in values.tolist()]
            if levels
            else []
        )
        arrays[name] = np.array(texts, dtype=object) if levels else values.double().numpy()
    return arrays


def _with_columns(model: Any, deployed: Deployed) -> Any:
    """Let a graph read the columns of a table by their names: numbers, and categories as texts, "" for no value."""
    import onnx
    from onnx import TensorProto, helper

    model = onnx.compose.add_prefix(model, "network/", rename_outputs=False)
    graph, nodes, columns = model.graph, [], []
    rows, axis = graph.input[0].name, helper.make_tensor("network/column_axis", TensorProto.INT64, [1], [1])
    for place, (name, levels) in enumerate(deployed.columns):
        number, last = f"network/number_{place}", name
        if levels:
            keys = {level: float(i) for i, level in enumerate(levels)}
            keys.setdefault("", math.nan)
            options: dict[str, Any] = {
                "keys_strings": list(keys),
                "values_floats": list(keys.values()),
                "default_float": -1.0,
            }
            nodes.append(helper.make_node("LabelEncoder", [name], [number], domain="ai.onnx.ml", **options))
            nodes.append(helper.make_node("Cast", [number], [f"{number}_double"], to=TensorProto.DOUBLE))
            last = f"{number}_double"
        nodes.append(helper.make_node("Unsqueeze", [last, axis.name], [f"network/column_{place}"]))
        kind = TensorProto.STRING if levels else TensorProto.DOUBLE
        columns.append(helper.make_tensor_value_info(name, kind, ["batch"]))
    parts = [f"network/column_{place}" for place in range(len(columns))]
    nodes.append(helper.make_node("Concat", parts, [rows], axis=1))
    kept = [*nodes, *graph.node]
    for field, values in (("input", columns), ("node", kept)):
        graph.ClearField(field)
        getattr(graph, field).extend(values)
    graph.initializer.append(axis)
    for output in graph.output:  # a column may have the name of an output
        if output.name in dict(deployed.columns):
            _rename_output(graph, output.name, _free_name(output.name, deployed))
    return model


def _with_labels(model: Any, deployed: Deployed) -> Any:
    """Let a graph also give the name of the most probable class."""
    from onnx import TensorProto, helper

    graph = model.graph
    values, label = graph.output[0], _free_name("label", deployed)
    numbers: dict[str, Any] = {
        "keys_int64s": list(range(len(deployed.classes))),
        "values_strings": list(deployed.classes),
    }
    graph.node.append(helper.make_node("ArgMax", [values.name], ["network/class"], axis=-1, keepdims=0))
    graph.node.append(helper.make_node("LabelEncoder", ["network/class"], [label], domain="ai.onnx.ml", **numbers))
    axes = [axis.dim_param or axis.dim_value for axis in values.type.tensor_type.shape.dim][:-1]
    graph.output.append(helper.make_tensor_value_info(label, TensorProto.STRING, axes))
    return model


def _free_name(name: str, deployed: Deployed) -> str:
    while name in dict(deployed.columns):
        name += "*"
    return name


def _rename_output(graph: Any, old: str, new: str) -> None:
    for node in graph.node:
        for names in (node.input, node.output):
            names[:] = [new if each == old else each for each in names]
    for output in graph.output:
        output.name = new if output.name == old else output.name


def in_float32(deployed: Deployed) -> Deployed:
    """Give a network on the CPU in float32, which every runtime computes."""
    module = deployed.module
    network = copy.deepcopy(module.network if isinstance(module, Steps) else module).cpu().float().eval()
    for tensor in (*network.parameters(), *network.buffers()):
        # trained ones may be parts of one tensor, or have channels last, which torch.export.save does not expect
        tensor.data = tensor.data.clone(memory_format=torch.contiguous_format)
    return replace(deployed, module=Steps(network, module.call) if isinstance(module, Steps) else network)


def _need_onnx() -> None:
    for package in ("onnx", "onnxscript", "onnxruntime"):
        if importlib.util.find_spec(package) is None:
            raise MissingExtraError(package, "export", "an ONNX file")
