"""The convolutions of a small network by our kernels while it is trained on a CPU; see `kernels.convolution`."""

from functools import partial
from typing import Any

from torch import nn
from torch.nn.functional import conv2d

from lamina._types import Tensor
from lamina.kernels import ordered
from lamina.kernels.convolution import convolved_alone
from lamina.layers._fused import unobserved
from lamina.layers._stages import stage
from lamina.training.executors._swapped import Forwards, followed, plain


def convolved(model: nn.Module) -> Forwards:
    """List the sequences of a network on the CPU in which convolutions, and what follows them, are one call of ours.

    There are none where one convolution of the network is not small.

    >>> layers = nn.Conv2d(1, 6, 5), nn.Tanh(), nn.AvgPool2d(2)
    >>> len(convolved(nn.Sequential(*layers))) == ordered.ready(layers[0].weight)
    True
    >>> convolved(nn.Sequential(*layers, nn.Conv2d(6, 32, 5))), convolved(nn.Sequential(nn.Linear(1, 1)))
    ([], [])
    """
    here = all(p.device.type == "cpu" and ordered.ready(p) for p in model.parameters())
    if not here or not all(_small(part) for part in model.modules() if isinstance(part, nn.Conv2d)):
        return []
    return [(part, partial(_forward, part)) for part in _sequences(model)]


def _small(layer: nn.Conv2d) -> bool:
    """Say whether there are pictures for which a convolution is computed by our kernel."""
    if type(layer) is not nn.Conv2d:
        return False
    smallest = layer.weight.new_empty(layer.in_channels, *layer.kernel_size)
    return stage(layer, [], smallest, False)[0] is not None


def _sequences(model: nn.Module) -> list[nn.Sequential]:
    known = [part for part in model.modules() if isinstance(part, nn.Sequential) and type(part) is nn.Sequential]
    return [part for part in known if plain([part, *part]) and any(type(layer) is nn.Conv2d for layer in part)]


def _forward(sequence: nn.Sequential, inputs: Any) -> Any:
    """Apply layers one after another, some of them together."""
    parts = list(sequence)
    while parts:
        layer, *parts = parts
        found, used = _together(layer, parts, inputs) if type(layer) is nn.Conv2d else (None, 0)
        inputs, parts = layer(inputs) if found is None else found, parts[used:]
    return inputs


def _together(layer: nn.Conv2d, behind: list[nn.Module], inputs: Any) -> tuple[Tensor | None, int]:
    """Give what a convolution makes of its inputs, with some of the layers behind it, and how many."""
    if type(inputs) is not Tensor or inputs.ndim != 4 or not inputs.numel() or followed():
        return None, 0
    if inputs.dtype != layer.weight.dtype or inputs.shape[1] != layer.in_channels:
        return None, 0
    form, used = stage(layer, behind, inputs, inputs.requires_grad)
    rest = behind[:used]
    if form is None or not unobserved(layer, *rest):
        return None, 0

    def readable(inputs: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        maps = conv2d(inputs, weight, bias, 1, form.padding)
        for part in rest:
            maps = part(maps)
        return maps

    return convolved_alone(inputs, layer.weight, layer.bias, form, readable), used
