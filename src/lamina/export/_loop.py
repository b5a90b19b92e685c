"""Greedy decoding inside an ONNX file: read a text, then write word after word until all texts have ended."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from lamina._types import Int, Num, Tensor
from lamina.architectures.decoding import greedy
from lamina.data.text.vocabulary import END, PAD, START
from lamina.training.deployment import Deployed, Steps

NEVER = (PAD, START)
"""Words that are read but not written."""


def most_words(time: Any) -> Any:
    """Return after how many words a text is cut: twice as many as were read and 20 more, as `predict` does."""
    return 2 * time + 20


def greedily(parts: dict[str, Deployed]) -> Deployed:
    """Give the whole that reads a text and writes another, made of an encoder and a decoder; it cannot be traced."""
    encoder, decoder = (parts[name].module for name in ("encoder", "decoder"))
    assert isinstance(encoder, Steps) and isinstance(decoder, Steps)
    call: Callable[..., Any] = decoder.call

    def translate(network: Any, words: Num[Tensor, "batch time"]) -> Int[Tensor, "batch written"]:
        def write(before: Tensor, state: Any) -> tuple[Tensor, Any]:
            outputs, *after = call(network, before, *((state,) if isinstance(state, Tensor) else state))
            return outputs, after[0] if len(after) == 1 else tuple(after)

        state = encoder.call(network, words)
        start = torch.full(words.shape[:1], START, device=words.device)
        first = state[0] if len(state) == 1 else tuple(state)
        return greedy(write, first, start, END, most_words(words.shape[1]), NEVER)

    return Deployed(Steps(encoder.network, translate), parts["encoder"].inputs, ("words",))


def loop(encoder: Any, decoder: Any) -> Any:
    """Join the graphs of an encoder and a decoder by ONNX's Loop into one that writes whole texts.

    Args:
        encoder: an `onnx.ModelProto` that reads words and gives a state.
        decoder: one that reads the word before and a state, and gives outputs and a state.
    """
    import onnx
    from onnx import TensorProto, helper

    node, tensor = helper.make_node, helper.make_tensor
    encoder = onnx.compose.add_prefix(encoder, "read/", rename_inputs=False)
    decoder = onnx.compose.add_prefix(decoder, "write/")
    state = [output.name for output in encoder.graph.output]
    before, outputs = decoder.graph.input[0].name, decoder.graph.output[0].name
    words = decoder.graph.output[0].type.tensor_type.shape.dim[-1].dim_value
    never = [float("-inf") if word in NEVER else 0.0 for word in range(words)]
    constants = [
        tensor("never", TensorProto.FLOAT, [words], never),
        tensor("start", TensorProto.INT64, [], [START]),
        tensor("end", TensorProto.INT64, [], [END]),
        tensor("no", TensorProto.BOOL, [], [False]),
        tensor("yes", TensorProto.BOOL, [], [True]),
        tensor("0", TensorProto.INT64, [1], [0]),
        tensor("1", TensorProto.INT64, [], [1]),
        tensor("2", TensorProto.INT64, [], [2]),
        tensor("20", TensorProto.INT64, [], [20]),
    ]
    body = helper.make_graph(
        [
            *decoder.graph.node,
            node("Add", [outputs, "never"], ["allowed"]),
            node("ArgMax", ["allowed"], ["best"], axis=1, keepdims=0),
            node("Where", ["ended", "end", "best"], ["word"]),
            node("Equal", ["word", "end"], ["ends"]),
            node("Or", ["ended", "ends"], ["over"]),
            node("Cast", ["over"], ["over_number"], to=TensorProto.INT32),
            node("ReduceMin", ["over_number"], ["all_over_number"], keepdims=0),
            node("Cast", ["all_over_number"], ["all_over"], to=TensorProto.BOOL),
            node("Not", ["all_over"], ["goes_on"]),
            node("Identity", ["word"], ["written"]),
        ],
        "step",
        [
            helper.make_tensor_value_info("step", TensorProto.INT64, []),
            helper.make_tensor_value_info("going_on", TensorProto.BOOL, []),
            helper.make_tensor_value_info(before, TensorProto.INT64, ["batch"]),
            helper.make_tensor_value_info("ended", TensorProto.BOOL, ["batch"]),
            *decoder.graph.input[1:],
        ],
        [
            helper.make_tensor_value_info("goes_on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("word", TensorProto.INT64, ["batch"]),
            helper.make_tensor_value_info("over", TensorProto.BOOL, ["batch"]),
            *decoder.graph.output[1:],
            helper.make_tensor_value_info("written", TensorProto.INT64, ["batch"]),
        ],
    )
    source = encoder.graph.input[0].name
    ends = ["last_word", "last_over", *(f"last_{place}" for place in range(len(state))), "steps"]
    nodes: Sequence[Any] = [
        *encoder.graph.node,
        node("Shape", [source], ["batch_axis"], start=0, end=1),
        node("Shape", [source], ["time_axis"], start=1, end=2),
        node("Squeeze", ["time_axis", "0"], ["time"]),
        node("Mul", ["time", "2"], ["twice"]),
        node("Add", ["twice", "20"], ["most"]),
        node("Expand", ["start", "batch_axis"], ["starts"]),
        node("Expand", ["no", "batch_axis"], ["none_ended"]),
        node("Loop", ["most", "yes", "starts", "none_ended", *state], ends, body=body),
        node("Transpose", ["steps"], ["words"], perm=[1, 0]),
    ]
    whole = helper.make_tensor_value_info("words", TensorProto.INT64, ["batch", "written"])
    stored = [*encoder.graph.initializer, *decoder.graph.initializer, *constants]
    graph = helper.make_graph(nodes, "greedy", encoder.graph.input, [whole], stored)
    imports = {part.domain: part for part in (*encoder.opset_import, *decoder.opset_import)}
    functions = [*encoder.functions, *decoder.functions]
    return helper.make_model(
        graph, opset_imports=list(imports.values()), functions=functions, ir_version=encoder.ir_version
    )
