"""The convolutions of a small network by our kernels while it is trained on a CPU; see `kernels.convolution`."""

from contextlib import AbstractContextManager
from functools import partial
from typing import Any

from torch import nn
from torch.nn.functional import conv2d

from lamina._types import Tensor
from lamina.kernels import ordered
from lamina.kernels.convolution import convolved_alone
from lamina.layers._fused import unobserved
from lamina.layers._stages import stage
from lamina.training.executors._pooling import followed


class Convolutions(AbstractContextManager[None]):
    """While it is entered, a convolution of a sequence and what follows it there are one call of compiled code.

    Args:
        model: a network that `convolves`.
    """

    def __init__(self, model: nn.Module) -> None:
        self._parts = _sequences(model)

    def __enter__(self) -> None:
        for part in self._parts:
            part.forward = partial(_forward, part)  # type: ignore[method-assign]

    def __exit__(self, *error: Any) -> None:
        for part in self._parts:
            del part.forward


def convolves(model: nn.Module) -> bool:
    """Say whether all convolutions of a network on the CPU are small, and some of them in a sequence.

    >>> layers = nn.Conv2d(1, 6, 5), nn.Tanh(), nn.AvgPool2d(2)
    >>> convolves(nn.Sequential(*layers)) == ordered.ready(layers[0].weight)
    True
    >>> convolves(nn.Sequential(*layers, nn.Conv2d(6, 32, 5))), convolves(nn.Sequential(nn.Linear(1, 1)))
    (False, False)
    """
    here = all(p.device.type == "cpu" and ordered.ready(p) for p in model.parameters())
    found = [part for part in model.modules() if isinstance(part, nn.Conv2d)]
    return here and bool(_sequences(model)) and all(map(_small, found))


def _small(layer: nn.Conv2d) -> bool:
    """Say whether there are pictures for which a convolution is computed by our kernel."""
    if type(layer) is not nn.Conv2d:
        return False
    smallest = layer.weight.new_empty(layer.in_channels, *layer.kernel_size)
    return stage(layer, [], smallest, False)[0] is not None


def _sequences(model: nn.Module) -> list[nn.Sequential]:
    known = [part for part in model.modules() if isinstance(part, nn.Sequential) and type(part) is nn.Sequential]
    plain = [part for part in known if "forward" not in vars(part)]
    return [part for part in plain if any(type(layer) is nn.Conv2d for layer in part)]


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
