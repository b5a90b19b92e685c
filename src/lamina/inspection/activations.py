"""What layers make of an input: feature maps and kernels as pictures, and the shares of dead and saturated units."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import nn

from lamina._errors import ArgumentError, choice
from lamina._tables import table
from lamina._types import Float, Num, Tensor
from lamina.architectures._network import one_look
from lamina.inspection._example import evaluating, hooked
from lamina.inspection._probe import activation_of, kind_of, shares, tensors_of


@dataclass(frozen=True)
class LayerMaps:
    """What one module gives for a batch.

    Args:
        name: of the module.
        kind: its type, or the name of the activation.
        values: as they are, [batch, channel, height, width] for pictures.
        mean: of the values.
        std: their standard deviation.
        dead: the share of units that are zero for every example.
        saturated: the share of values at the ends of a bounded activation; NaN for others.
    """

    name: str
    kind: str
    values: Float[Tensor, "batch ..."]
    mean: float
    std: float
    dead: float
    saturated: float

    def pictures(self, example: int = 0) -> Float[Tensor, "channel height width"]:
        """Return the feature maps of one example as pictures in [0, 1]; vectors become pictures of one row."""
        maps = self.values[example]
        return normalized(maps if maps.ndim == 3 else maps.reshape(1, 1, -1))


@dataclass(frozen=True)
class FeatureMaps:
    """What the modules of a network give, in the order in which they run."""

    layers: tuple[LayerMaps, ...]

    def __getitem__(self, name: str) -> LayerMaps:
        for layer in self.layers:
            if layer.name == name:
                return layer
        raise ArgumentError(f"there is no layer {name!r}: the layers are {', '.join(x.name for x in self.layers)}.")

    def __str__(self) -> str:
        rows = [
            (x.name, x.kind, "x".join(map(str, x.values.shape[1:])), x.mean, x.std, x.dead, x.saturated)
            for x in self.layers
        ]
        return table(("layer", "kind", "shape", "mean", "std", "dead", "saturated"), rows, left=3)


@dataclass(frozen=True)
class Kernels:
    """The kernels of one convolution.

    Args:
        name: of the layer.
        weights: [output, input, height, width], as they are.
    """

    name: str
    weights: Float[Tensor, "output input height width"]

    def pictures(self, scale: str = "each") -> Float[Tensor, "output input height width"]:
        """Return them as pictures in [0, 1], where 0.5 is the weight zero.

        Args:
            scale: "each" kernel by its own largest weight, or "all" of the layer by one.
        """
        choice("scale", scale, ("each", "all"))
        return _signed(self.weights, 2 if scale == "each" else 4)

    def colors(self) -> Float[Tensor, "output height width 3"]:
        """Return kernels that read three channels as colored pictures, each from its smallest to its largest weight."""
        if self.weights.shape[1] != 3:
            raise ArgumentError(
                f"`colors` needs kernels that read 3 channels, got {self.weights.shape[1]}: use `pictures`."
            )
        return normalized(self.weights, 3).permute(0, 2, 3, 1)

    def __str__(self) -> str:
        count, inputs, *size = self.weights.shape
        norms = self.weights.flatten(1).norm(dim=1).tolist()
        rows = [(str(k), norm) for k, norm in enumerate(norms)]
        return f"{self.name}: {count} kernels of {inputs}x{size[0]}x{size[1]}\n{table(('kernel', 'norm'), rows)}"


def normalized(maps: Float[Tensor, "..."], axes: int = 2) -> Float[Tensor, "..."]:
    """Bring each map into [0, 1] by its smallest and its largest value; a constant one becomes 0.

    Args:
        maps: pictures along the last axes.
        axes: how many axes a map has.

    >>> normalized(torch.tensor([[[1.0, 3.0], [2.0, 5.0]]])).tolist()
    [[[0.0, 0.5], [0.25, 1.0]]]
    """
    flat = maps.flatten(-axes)
    low, high = flat.amin(-1, keepdim=True), flat.amax(-1, keepdim=True)
    span = torch.where(high > low, high - low, 1.0)
    return ((flat - low) / span).view(maps.shape)


def _signed(maps: Float[Tensor, "..."], axes: int = 2) -> Float[Tensor, "..."]:
    """Bring each map into [0, 1] so that zero becomes 0.5 and the largest absolute value 0 or 1."""
    flat = maps.flatten(-axes)
    largest = flat.abs().amax(-1, keepdim=True)
    return (flat / torch.where(largest > 0, largest, 1.0) / 2 + 0.5).view(maps.shape)


@torch.no_grad()
def feature_maps(model: nn.Module, inputs: Num[Tensor, "batch ..."], **options: Any) -> FeatureMaps:
    """Collect what every module without parts gives for a batch, as in evaluation.

    Notes: N2.32, N3.38 (§2.2, §3.3).

    Args:
        model: any network; it is left as it is.
        inputs: a batch, as the network takes it.
        **options: further arguments of the network.

    >>> net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8, 3))
    >>> [layer.kind for layer in feature_maps(net, torch.ones(1, 1, 4, 4)).layers]
    ['Conv2d', 'relu', 'Flatten', 'Linear']
    """
    found: list[LayerMaps] = []
    leaves = [(name or "network", module) for name, module in model.named_modules() if _whole(module)]
    handles = [module.register_forward_hook(partial(_look, found, name)) for name, module in leaves]
    with hooked(handles), evaluating(model), one_look(model):
        model(inputs, **options)
    return FeatureMaps(tuple(found))


def kernels(model: nn.Module) -> tuple[Kernels, ...]:
    """List the kernels of all convolutions of a network.

    >>> [layer.weights.shape[0] for layer in kernels(nn.Sequential(nn.Conv2d(1, 6, 5), nn.ReLU()))]
    [6]
    """
    return tuple(
        Kernels(name or "network", module.weight.detach().clone())
        for name, module in model.named_modules()
        if isinstance(module, nn.Conv2d)
    )


def _look(found: list[LayerMaps], name: str, module: nn.Module, _: Any, outputs: Any) -> None:
    tensors = tensors_of(outputs)
    if not tensors or tensors[0].ndim < 2:
        return
    values = tensors[0].detach().clone()
    kind = activation_of(module) or kind_of(module)
    axis = 1 if values.ndim == 4 else -1
    dead, saturated = shares(values, kind, axis)
    wide = values.double()
    shown = type(module).__name__ if kind == "identity" else kind
    mean, std = wide.mean().item(), wide.std(correction=0).item()
    found.append(LayerMaps(name, shown, values, mean, std, dead.item(), saturated.item()))


def _whole(module: nn.Module) -> bool:
    """Say whether a module has no parts of its own that run; a recurrent layer and a residual one count as whole."""
    return not list(module.children()) or kind_of(module) != "identity"
