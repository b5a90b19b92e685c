"""Receptive fields seen by gradients: the inputs that change a unit at all, and how much each of them matters."""

import copy
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from lamina._errors import ArgumentError, ShapeError, at_least
from lamina._types import Bool, Float, Seed, Tensor
from lamina.architectures._network import one_look
from lamina.functional.random import as_generator
from lamina.inspection._example import Inputs, example_inputs, followed_axes, hooked, time_first
from lamina.inspection._field_rules import tensors_in
from lamina.inspection.receptive_field import ReceptiveField, receptive_field

At = int | Sequence[int] | None


def autograd_field(
    model: nn.Module,
    inputs: Inputs = None,
    at: At = None,
    *,
    layer: str = "",
    positive: bool = True,
    draws: int = 1,
    seed: Seed = 0,
) -> Bool[Tensor, "..."]:
    r"""Find the inputs with a gradient: where $\partial y_{at} / \partial u \ne 0$.

    With positive weights on positive inputs no two paths cancel and no ReLU is closed, so that the hull of this set is
    the receptive field. Max pooling passes the gradient of the largest input only: take many draws.

    Notes: N3.36, N3.37 (§3.2, Remark 3.7, Fig. 22).

    Args:
        model: the network; a copy in float64 is used.
        inputs: the shape of one example; what the network was built for if absent.
        at: the position of the unit along each axis, all channels together; the middle when not given.
        layer: the name of the layer whose unit it is; the outputs when not given.
        positive: replace the weights by positive ones.
        draws: over how many random inputs the sets are united.
        seed: an integer or a generator.

    Returns:
        True where an input has a gradient, along the followed axes.

    >>> autograd_field(nn.Conv1d(1, 1, 3, padding=1), (1, 5), at=0).tolist()
    [True, True, False, False, False]
    """
    generator = as_generator(seed)
    network = copy.deepcopy(model).double().eval()
    if positive:
        _make_positive(network, generator)
    gradients = _gradients(network, inputs, at, layer, draws, generator, positive)
    return gradients.ne(0).any(0)


def effective_field(
    model: nn.Module, inputs: Inputs = None, at: At = None, *, layer: str = "", draws: int = 32, seed: Seed = 0
) -> Float[Tensor, "..."]:
    r"""Measure how much each input matters for a unit: the mean of $|\partial y_{at} / \partial u|$, with sum 1.

    Inputs are random, and the channels of the unit are weighted at random in each draw. The field that matters is
    smaller than the receptive field: inputs in its middle reach the unit on many more paths.

    Notes: N3.36 (§3.2, Remark 3.7).
    Corrects: E49, this is what the literature calls the effective receptive field.

    Args:
        model: the network with its own weights; a copy in float64 is used.
        inputs: the shape of one example; what the network was built for if absent.
        at: the position of the unit along each axis; the middle when not given.
        layer: the name of the layer whose unit it is; the outputs when not given.
        draws: over how many random inputs the mean is taken.
        seed: an integer or a generator.

    Returns:
        One number per input, along the followed axes.

    >>> mean = nn.Sequential(nn.AvgPool1d(3, 1), nn.AvgPool1d(3, 1))
    >>> (9 * effective_field(mean, (1, 7), at=1)).round(decimals=6).tolist()
    [0.0, 1.0, 2.0, 3.0, 2.0, 1.0, 0.0]
    """
    network = copy.deepcopy(model).double().eval()
    gradients = _gradients(network, inputs, at, layer, draws, as_generator(seed), False)
    mean = gradients.mean(0)
    return mean / mean.sum().clamp(min=torch.finfo(mean.dtype).tiny)


def field_hull(field: Bool[Tensor, "..."]) -> tuple[tuple[int, int], ...]:
    """Return the first and the last input of a set along each axis, (0, -1) for the empty set.

    >>> field_hull(torch.tensor([[False, True, True], [False, False, False]]))
    ((0, 0), (1, 2))
    """
    places = field.nonzero()
    if not len(places):
        return ((0, -1),) * field.ndim
    return tuple(zip(places.amin(0).tolist(), places.amax(0).tolist(), strict=True))


def _gradients(
    network: nn.Module, inputs: Inputs, at: At, layer: str, draws: int, generator: torch.Generator, positive: bool
) -> Tensor:
    """Return |gradients| of one unit, one row per draw of the inputs, summed over all axes that are not followed."""
    at_least("draws", draws, 1)
    example = example_inputs(network, _without_batch(network, inputs), draws)
    u, *others = example
    if not u.is_floating_point():
        raise ArgumentError("`model` must read numbers, got words: they have no gradient; inspect the layers after.")
    shape = receptive_field(network, inputs)[layer]
    u = torch.rand(u.shape, generator=generator, dtype=u.dtype) + 0.5
    if not positive:
        u = torch.randn(u.shape, generator=generator, dtype=u.dtype)
    u.requires_grad_(True)
    y = _outputs(network, [u, *others], layer)
    chosen = _unit(y, shape, at)
    weights = torch.rand(chosen.shape, generator=generator, dtype=y.dtype) + 0.5
    if not positive:
        weights = torch.randn(chosen.shape, generator=generator, dtype=y.dtype)
    (gradient,) = torch.autograd.grad((chosen * weights).sum(), u)
    batch, axes = 1 if time_first(network) else 0, followed_axes(network, u)
    kept = gradient.abs().movedim(batch, 0) if batch else gradient.abs()
    axes = (1,) if batch else axes
    summed = [dim for dim in range(1, kept.ndim) if dim not in axes]
    return kept.sum(summed) if summed else kept


def _without_batch(model: nn.Module, inputs: Inputs) -> Inputs:
    if isinstance(inputs, Tensor):
        return (inputs.shape[0], *inputs.shape[2:]) if time_first(model) else tuple(inputs.shape[1:])
    return inputs


def _outputs(network: nn.Module, arguments: list[Tensor], layer: str) -> Tensor:
    caught: list[Any] = []
    hook = network.get_submodule(layer).register_forward_hook(lambda module, _, outputs: caught.append(outputs))
    with hooked([hook]), one_look(network):
        network(*arguments)
    found = tensors_in(caught[-1])
    if not found:
        raise ShapeError(f"the layer {layer!r} returned no tensor: name a layer that does.")
    return found[0]


def _unit(y: Tensor, shape: ReceptiveField, at: At) -> Tensor:
    """Choose the position `at` along the axes that have positions; all else stays."""
    places = [at] * len(shape.axes) if at is None or isinstance(at, int) else list(at)
    shape.window(at)  # refuses positions outside
    for axis, place in zip(shape.axes, places, strict=True):
        if axis.dim is not None:
            y = y.narrow(axis.dim, len(axis.low) // 2 if place is None else place, 1)
    return y


@torch.no_grad()
def _make_positive(network: nn.Module, generator: torch.Generator) -> None:
    """Draw positive weights of a size that keeps signals near 1; biases 0, scales 1, batch statistics neutral."""
    for name, parameter in network.named_parameters():
        if parameter.ndim < 2:
            parameter.fill_(1.0 if name.endswith("weight") else 0.0)
        else:
            fan = parameter[0].numel()
            drawn = torch.rand(parameter.shape, generator=generator, dtype=parameter.dtype)
            parameter.copy_((drawn + 0.5) / fan)
    for module in network.modules():
        if isinstance(module, nn.modules.batchnorm._NormBase):
            module.reset_running_stats()
