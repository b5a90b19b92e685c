"""Reading the layers of a model: which ran in a forward pass, of which kind, and what shape left them."""

from typing import Any

import torch
from torch import nn

from lamina._errors import ArgumentError
from lamina._types import Tensor
from lamina.architectures._network import one_look
from lamina.drawing._layers import Item, Layer, Stage
from lamina.layers.bottleneck import OriginalBottleneck, PreActBottleneck
from lamina.layers.cells import GRUCell, LSTMCell, RNNCell
from lamina.layers.convolution import TrueConv2d
from lamina.layers.dense_blocks import DenseOriginalBlock, DensePreActBlock
from lamina.layers.detector import Detector
from lamina.layers.dropout import Dropout, WordDropout
from lamina.layers.encoding import Embedding, OneHot
from lamina.layers.normalization import FullAffineBatchNorm, LocalResponseNorm, LocalResponseNormWithin
from lamina.layers.partial import PartialConv2d
from lamina.layers.rbf import RadialBasis
from lamina.layers.recurrent import Recurrent
from lamina.layers.residual import SimpleResNetLayer
from lamina.layers.residual_blocks import OriginalBlock, PreActBlock
from lamina.layers.subsampling import Subsampling

_Pool = nn.MaxPool1d | nn.MaxPool2d | nn.AvgPool1d | nn.AvgPool2d | nn.AdaptiveAvgPool2d | nn.AdaptiveMaxPool2d
_Norm = nn.BatchNorm1d | nn.BatchNorm2d | nn.LayerNorm | nn.GroupNorm | nn.LocalResponseNorm
_CLASSES: tuple[tuple[str, Any], ...] = (
    ("convolution", nn.Conv1d | nn.Conv2d | nn.Conv3d | TrueConv2d | PartialConv2d),
    ("dense", nn.Linear | RadialBasis),
    ("pooling", _Pool | Subsampling),
    ("normalization", _Norm | LocalResponseNorm | LocalResponseNormWithin | FullAffineBatchNorm),
    ("detector", Detector | nn.ReLU | nn.LeakyReLU | nn.Sigmoid | nn.Tanh | nn.Softmax | nn.GELU | nn.ELU | nn.SiLU),
    ("dropout", Dropout | WordDropout | nn.Dropout | nn.Dropout2d),
    ("flatten", nn.Flatten | nn.Identity),
    ("block", OriginalBlock | PreActBlock | OriginalBottleneck | PreActBottleneck | SimpleResNetLayer),
    ("block", DenseOriginalBlock | DensePreActBlock),
    ("recurrent", Recurrent | nn.RNNBase | nn.RNNCellBase | RNNCell | GRUCell | LSTMCell),
    ("encoding", Embedding | OneHot | nn.Embedding),
)
"""Which modules are layers of which kind; a module that is none of them is looked into."""


def kind_of(module: nn.Module) -> str | None:
    """Name the kind of a layer, None for a module that only holds others."""
    for kind, classes in _CLASSES:
        if isinstance(module, classes):
            return kind
    return None if list(module.children()) or isinstance(module, nn.Sequential) else "other"


def _units(module: nn.Module) -> list[nn.Module]:
    if kind_of(module) is not None:
        return [module]
    return [unit for child in module.children() for unit in _units(child)]


@torch.no_grad()
def layers_of(model: nn.Module, inputs: Tensor | tuple[int, ...]) -> list[Item]:
    """List the layers of a model in the order in which they ran, with what left them."""
    first = next(iter(model.parameters()), torch.zeros(()))
    batch = inputs if isinstance(inputs, Tensor) else torch.zeros(1, *inputs, dtype=first.dtype, device=first.device)
    found: list[Layer] = []

    def note(module: nn.Module, _: Any, output: Any) -> None:
        shape = _shape(output)
        if shape:
            found.append(Layer(kind_of(module) or "other", shape, _note(module), _name(module)))

    handles = [unit.register_forward_hook(note) for unit in dict.fromkeys(_units(model))]
    training = model.training
    try:
        with one_look(model.eval()):
            model(batch)
    finally:
        model.train(training)
        for handle in handles:
            handle.remove()
    if not found:
        raise ArgumentError(f"`model` must run at least 1 layer, got {type(model).__name__} without any.")
    start = Layer("input", tuple(batch.shape[1:]) or (1,))
    return [start, *_in_stages(found)]


def _shape(output: Any) -> tuple[int, ...]:
    """Find the shape of one example in what a layer returns."""
    while isinstance(output, tuple | list) and output:
        output = output[0]
    return tuple(output.shape[1:]) if isinstance(output, Tensor) else ()


def _note(module: nn.Module) -> str:
    """Say the kernel, and the stride where it is not the usual one."""
    kernel, stride = (_number(getattr(module, name, None)) for name in ("kernel_size", "stride"))
    if kernel is None or isinstance(module, OriginalBlock):
        return ""
    usual = 1 if kind_of(module) == "convolution" else kernel
    return f"{kernel}×{kernel}" + (f", s = {stride}" if stride not in (None, usual) else "")


def _number(value: Any) -> int | None:
    first = value[0] if isinstance(value, tuple | list) and value else value
    return first if isinstance(first, int) else None


def _name(module: nn.Module) -> str:
    """Name the layers whose kind does not say enough."""
    kind = kind_of(module)
    if isinstance(module, Detector):
        return module.activation
    if kind == "recurrent":
        return module.cell.upper() if isinstance(module, Recurrent) else type(module).__name__
    return type(module).__name__ if kind == "other" else ""


def _in_stages(layers: list[Layer]) -> list[Item]:
    """Join residual blocks of one shape that follow each other into stages."""
    items: list[Item] = []
    for layer in layers:
        last = items[-1] if items else None
        if layer.kind == "block" and isinstance(last, Stage) and last.layers[-1].shape == layer.shape:
            items[-1] = Stage("", (*last.layers, layer))
        elif layer.kind == "block":
            items.append(Stage("", (layer,)))
        else:
            items.append(layer)
    return [_summed(item) if isinstance(item, Stage) else item for item in items]


def _summed(stage: Stage) -> Stage:
    """Draw up to three blocks of a stage, each with its skip connection; say how many there are."""
    count = len(stage.layers)
    shown = stage.layers if count <= 3 else stage.layers[:1]
    name = f"{count} blocks" if count > 1 else "1 block"
    skips = tuple((place, place) for place in range(len(shown)))
    return Stage(name, shown, skips, count if len(shown) < count else 0)
