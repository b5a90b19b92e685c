"""Transfer learning (§4.3 of the notes): a trained network gets a new first and last layer for other data.

A network of `lamina.build` is built again from its configuration with other `inputs` or `outputs`, and every tensor
that fits is carried over; of any other torch module the first and the last weight layer are exchanged in a copy.
"""

import copy
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from torch import nn

from lamina._errors import ArgumentError, at_least
from lamina._types import Seed, Tensor
from lamina.architectures.ode import NeuralODEConfig
from lamina.architectures.table import TABLE
from lamina.functional.initialization import draw
from lamina.functional.random import as_generator
from lamina.layers.cells import GRUCell, LSTMCell, RNNCell
from lamina.layers.convolution import TrueConv2d
from lamina.layers.encoding import Embedding

_CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d, TrueConv2d)
_AFFINE = (nn.Linear, *_CONVOLUTIONS)
_TABLES = (nn.Embedding, Embedding)


def adapt(
    model: nn.Module,
    channels: int | None = None,
    classes: int | None = None,
    *,
    inputs: int | Sequence[int] | None = None,
    seed: Seed = 0,
) -> nn.Module:
    """Fit a trained network to other inputs and labels: a copy with a new first and/or last layer.

    A layer whose size changes is new as a whole: its weight is drawn by the rule of the configuration (for a foreign
    module He's rule for a first layer and Xavier's for a last one), its bias is zero. Every other tensor is the trained
    one, bit for bit, batch norm's statistics included; if no size changes, all of them, even where as many labels have
    another meaning. In a recurrent cell, whose one matrix acts on [h; u], only the columns on u are new. What is
    written is also what an encoder-decoder reads, so there `classes` renews the layer that reads it as well. The layers
    of a foreign module are taken in the order in which they were registered.

    Notes: N4.35, N4.36, N4.37, N4.38, N4.39, N4.41 (§4.3).

    Args:
        model: any network; it is not changed.
        channels: the number of channels of the new pictures.
        classes: the number of new labels or outputs.
        inputs: the shape of one new example: a number of features or of words, or (channels, height, width).
        seed: an integer or a generator, for the new layers.

    Returns:
        The copy; that of a network of Lamina has the new sizes in its `config`, from which a run can rebuild it.

    >>> from lamina.architectures.resnet import ResNet, ResNetConfig
    >>> before = ResNet(ResNetConfig((3, 32, 32), 1000, width=0.125))
    >>> after = adapt(before, channels=1, classes=10)
    >>> changed_tensors(before, after)
    ('conv1.weight', 'fc.weight', 'fc.bias')
    """
    for name, value in (("channels", channels), ("classes", classes)):
        if value is not None:
            at_least(name, value, 1)
    shape = _as_shape(inputs)
    if _is_ours(model):
        return _rebuilt(model, channels, classes, shape, seed)
    return _exchanged(model, channels, classes, shape, seed)


def mark_new(network: nn.Module, tensors: Iterable[str]) -> nn.Module:
    """Note which tensors of a network start anew, in place of what was noted before.

    Their layers are not frozen with the others, and train at the full rate; see `training.freezing`.

    Notes: N4.38 (§4.3).

    >>> from lamina.layers.initialized import linear
    >>> new_tensors(mark_new(linear(2, 1), ["bias"])), new_tensors(linear(2, 1))
    (('bias',), ())
    """
    vars(network)["_new_tensors"] = tuple(tensors)
    return network


def new_tensors(network: nn.Module) -> tuple[str, ...]:
    """Name the tensors that did not come with the others from a trained network; none where nobody has noted any.

    Notes: N4.38 (§4.3).
    """
    noted: tuple[str, ...] = vars(network).get("_new_tensors", ())
    return noted


def changed_tensors(before: nn.Module, after: nn.Module) -> tuple[str, ...]:
    """Name the parameters and buffers that differ in shape, in precision or in any bit, or that only one network has.

    Notes: N4.38 (§4.3).

    Args:
        before: a network.
        after: what became of it.

    Returns:
        Names, in the order of `after`.

    >>> from lamina.layers.initialized import linear
    >>> layer = linear(2, 1)
    >>> changed_tensors(layer, adapt(layer, inputs=2)), changed_tensors(layer, adapt(layer, inputs=3))
    ((), ('weight',))
    """
    old, new = before.state_dict(), after.state_dict()
    return tuple(name for name in (new | old) if name not in old or name not in new or not _same(old[name], new[name]))


@dataclass(frozen=True)
class Fit:
    """Which of some named tensors have a place in a network.

    Args:
        whole: name and shape agree.
        partly: the weight of a recurrent cell whose inputs have another size: its columns on the state fit.
        reshaped: they belong to a layer that has another size here; all tensors of that layer are among them.
        missing: the network has them, the tensors do not.
        unexpected: the network does not have them.
    """

    whole: tuple[str, ...] = ()
    partly: tuple[str, ...] = ()
    reshaped: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    unexpected: tuple[str, ...] = ()


def compare(network: nn.Module, tensors: Mapping[str, Tensor]) -> Fit:
    """Find out, layer by layer, which tensors have a place in a network.

    Notes: N4.35 (§4.3).

    >>> from lamina.layers.initialized import linear
    >>> compare(linear(2, 3), {"weight": torch.zeros(4, 2), "bias": torch.zeros(4)}).reshaped
    ('weight', 'bias')
    """
    own = {name: t for name, t in network.state_dict().items() if isinstance(t, Tensor)}
    layers: dict[str, list[str]] = {}
    for name in own:
        layers.setdefault(name.rpartition(".")[0], []).append(name)
    whole, partly, reshaped = [], [], []
    for layer, names in layers.items():
        here = [name for name in names if name in tensors]
        other = [name for name in here if not _alike(own[name], tensors[name])]
        if not other:
            whole += here
        elif other == [f"{layer}.weight".lstrip(".")] and _same_state(network.get_submodule(layer), tensors[other[0]]):
            whole += [name for name in here if name not in other]
            partly += other
        else:
            reshaped += here
    return Fit(
        tuple(whole),
        tuple(partly),
        tuple(reshaped),
        tuple(name for name in own if name not in tensors),
        tuple(name for name in tensors if name not in own),
    )


@torch.no_grad()
def fill(network: nn.Module, tensors: Mapping[str, Tensor], fit: Fit) -> None:
    """Copy those tensors into a network that fit, as `compare` found.

    Notes: N4.35 (§4.3).

    >>> from lamina.layers.initialized import linear
    >>> layer, wanted = linear(1, 1), {"bias": torch.tensor([5.0])}
    >>> fill(layer, wanted, compare(layer, wanted))
    >>> layer.bias.item()
    5.0
    """
    own = network.state_dict()
    for name in fit.whole:
        own[name].copy_(tensors[name])
    for name in fit.partly:
        hidden = _hidden_size(network.get_submodule(name.rpartition(".")[0]))
        own[name][:, :hidden].copy_(tensors[name][:, :hidden])


def weight_layers(model: nn.Module) -> tuple[str, ...]:
    """Name the layers that have weights, in the order in which they were registered; normalizations do not count.

    Notes: N4.31 (§4.2).

    >>> from lamina.layers.initialized import linear
    >>> weight_layers(nn.Sequential(linear(2, 8), nn.BatchNorm1d(8), nn.ReLU(), linear(8, 3)))
    ('0', '3')
    """
    found: list[str] = []
    for name, module in model.named_modules():
        if found and (not found[-1] or name.startswith(f"{found[-1]}.")):
            continue  # a part of a layer, such as a parametrization of its weight
        matrices = any(p.dim() > 1 for p in module.parameters(recurse=False))
        leaf = matrices and not any(True for _ in module.children()) and not isinstance(module, nn.LayerNorm)
        if leaf or isinstance(module, _AFFINE):
            found.append(name)
    return tuple(found)


def _is_ours(model: nn.Module) -> bool:
    return any(type(model).__module__ == e.module and type(model).__name__ == e.network for e in TABLE.values())


def _as_shape(inputs: int | Sequence[int] | None) -> int | tuple[int, ...] | None:
    if inputs is None or isinstance(inputs, int):
        sizes: tuple[int, ...] = () if inputs is None else (inputs,)
        shape: int | tuple[int, ...] | None = inputs
    else:
        sizes = shape = tuple(inputs)
        if not sizes:
            raise ArgumentError("`inputs` must be a number or the shape of one example, got the empty shape ().")
    for size in sizes:
        at_least("inputs", size, 1)
    return shape


def _rebuilt(
    model: nn.Module, channels: int | None, classes: int | None, inputs: int | tuple[int, ...] | None, seed: Seed
) -> nn.Module:
    config: Any = model.config
    wanted = _wanted(type(model).__name__, config, channels, classes, inputs)
    if wanted == config:
        return copy.deepcopy(model)
    if not all(p.requires_grad for p in model.parameters()):
        raise ArgumentError(
            "the network is partly frozen, and a new one would not be: adapt it first and freeze it afterwards."
        )
    network: nn.Module = type(model)(wanted, seed=seed)
    parameter = next(model.parameters())
    network.to(parameter.device, parameter.dtype)
    state = model.state_dict()
    fit = compare(network, state)
    fill(network, state, fit)
    trained = {*fit.whole} - {*new_tensors(model)}
    mark_new(network, [name for name in network.state_dict() if name not in trained])
    modes = {name: module.training for name, module in model.named_modules()}
    for name, module in network.named_modules():
        module.training = modes.get(name, model.training)
    return network


def _wanted(
    network: str, config: Any, channels: int | None, classes: int | None, inputs: int | tuple[int, ...] | None
) -> Any:
    """Return the configuration with other sizes, after a check that only first and last layer depend on them."""
    shape = _pictures(network, config, channels, inputs) if channels is not None else inputs
    kind = next(f.type for f in fields(config) if f.name == "inputs")
    if shape is not None and kind is int and not isinstance(shape, int):
        raise ArgumentError(f"`inputs` must be a number for {network}, which reads vectors or words, got {shape}.")
    if isinstance(shape, int) and kind == tuple[int, int, int]:
        raise ArgumentError(
            f"`inputs` must be (channels, height, width) for {network}, got {shape}: or give `channels` alone."
        )
    changes: dict[str, Any] = {} if classes is None else {"outputs": classes}
    if shape is not None and shape != config.inputs:
        changes["inputs"] = shape
        if isinstance(config, NeuralODEConfig):
            changes["width"] = config.widths[1]  # or the state, and so all weights, would follow the inputs
    wanted = replace(config, **changes)
    before, after = (getattr(c, "flat_size", None) for c in (config, wanted))
    if before != after:
        raise ArgumentError(
            f"the dense layers of {network} depend on the size of the pictures: it was made for {config.inputs}, got "
            f"{wanted.inputs}. Resize the pictures, or use a network that pools over all places, such as resnet18."
        )
    return wanted


def _pictures(network: str, config: Any, channels: int, inputs: int | tuple[int, ...] | None) -> tuple[int, ...]:
    """Return the shape of pictures with other channels."""
    if isinstance(config.inputs, int) or len(config.inputs) != 3:
        raise ArgumentError(
            f"`channels` is for networks that read pictures, but this {network} reads {config.inputs} numbers: "
            "give `inputs` instead."
        )
    shape = config.inputs[1:] if inputs is None else inputs[1:] if isinstance(inputs, tuple) else ()
    if isinstance(inputs, int) or (inputs is not None and inputs[0] != channels):
        raise ArgumentError(f"`channels` {channels} and `inputs` {inputs} contradict each other: give one of them.")
    return (channels, *shape)


def _exchanged(
    model: nn.Module, channels: int | None, classes: int | None, inputs: int | tuple[int, ...] | None, seed: Seed
) -> nn.Module:
    network, generator = copy.deepcopy(model), as_generator(seed)
    layers = weight_layers(network)
    if not layers:
        raise ArgumentError(f"{type(model).__name__} has no layer with weights: there is nothing to adapt.")
    first, last = network.get_submodule(layers[0]), network.get_submodule(layers[-1])
    size = _first_size(layers[0], first, channels, inputs)
    grow = size is not None and size != _sizes(first)[0]
    turn = classes is not None and classes != _sizes(_affine("last", layers[-1], last))[1]
    if not (grow or turn):
        return network
    if layers[0] == layers[-1]:
        network = _put(network, layers[0], _resized(layers[0], first, size, classes, "xavier", generator, network))
    elif grow:
        network = _put(network, layers[0], _resized(layers[0], first, size, None, "he", generator, network))
    if turn and layers[0] != layers[-1]:
        labels = getattr(network, "num_classes", None)  # torchvision's and timm's networks say it once more
        if labels == _sizes(last)[1]:
            network.num_classes = classes  # type: ignore[assignment]
        network = _put(network, layers[-1], _resized(layers[-1], last, None, classes, "xavier", generator, network))
    new = tuple(f"{layer}.".lstrip(".") for layer, made in ((layers[0], grow), (layers[-1], turn)) if made)
    known = new_tensors(model)
    return mark_new(network, [name for name in network.state_dict() if name.startswith(new) or name in known])


def _first_size(name: str, layer: nn.Module, channels: int | None, inputs: int | tuple[int, ...] | None) -> int | None:
    """Return how many inputs the first layer is to have; None for as many as it has."""
    if channels is None and inputs is None:
        return None
    where = f"the first layer {name or type(layer).__name__!r}"
    if isinstance(layer, _TABLES) and isinstance(inputs, int) and channels is None:
        return inputs
    _affine("first", name, layer)
    if not isinstance(layer, _CONVOLUTIONS):
        if channels is not None:
            raise ArgumentError(f"`channels` is for convolutions, but {where} is dense: give `inputs` instead.")
        return math.prod(inputs) if isinstance(inputs, tuple) else inputs
    if isinstance(inputs, tuple) and len(inputs) != layer.weight.dim() - 1:
        raise ArgumentError(
            f"`inputs` must have {layer.weight.dim() - 1} axes, channels first, for {where}, got {inputs}."
        )
    found = inputs[0] if isinstance(inputs, tuple) else inputs
    if None not in (channels, found) and channels != found:
        raise ArgumentError(f"`channels` {channels} and `inputs` {inputs} contradict each other: give one of them.")
    return channels if found is None else found


def _affine(which: str, name: str, layer: nn.Module) -> nn.Module:
    """Return the layer if its sizes can be changed."""
    if not isinstance(layer, _AFFINE):
        raise ArgumentError(
            f"the {which} layer with weights, {name or 'the network'!r}, is of the type {type(layer).__name__}, which "
            "cannot be adapted: replace it yourself. Dense and convolutional layers can be adapted."
        )
    return layer


def _sizes(layer: nn.Module) -> tuple[int, int]:
    """Return the numbers of inputs and outputs of a layer; of a table of words its words and their features."""
    weight: Any = layer.weight
    if isinstance(layer, _TABLES):
        return weight.shape[0], weight.shape[1]
    return weight.shape[1] * getattr(layer, "groups", 1), weight.shape[0]


def _resized(
    name: str, layer: nn.Module, n_in: int | None, n_out: int | None, rule: str, seed: Seed, network: nn.Module
) -> nn.Module:
    """Return a copy of a layer with other sizes, a fresh weight and a zero bias."""
    own = dict(layer.named_parameters(recurse=False))
    if "weight" not in own:
        raise ArgumentError(
            f"the weight of {name!r} is computed from other parameters: undo its parametrization first."
        )
    shared = [n for n, p in network.named_parameters(remove_duplicate=False) if p is own["weight"]]
    if len(shared) > 1:
        raise ArgumentError(f"{shared[0]!r} and {shared[1]!r} are the same tensor: untie them before adapting one.")
    new: Any = copy.deepcopy(layer)
    before = _sizes(layer)
    after = (n_in or before[0], n_out or before[1])
    if isinstance(layer, _TABLES):
        new.weight = nn.Parameter(draw("gaussian", after, seed).to(own["weight"]))
        _set_sizes(new, {"num_embeddings": after[0]})
        return new
    groups = getattr(layer, "groups", 1)
    if after[0] % groups or after[1] % groups:
        raise ArgumentError(f"{name!r} works in {groups} groups: its channels must be multiples, got {after}.")
    shape = (after[1], after[0] // groups, *own["weight"].shape[2:])
    new.weight = nn.Parameter(draw(rule, shape, seed).to(own["weight"]))
    if new.bias is not None:
        new.bias = nn.Parameter(own["bias"].new_zeros(after[1]))
    _set_sizes(
        new, {"in_features": after[0], "in_channels": after[0], "out_features": after[1], "out_channels": after[1]}
    )
    return new


def _set_sizes(layer: nn.Module, sizes: dict[str, int]) -> None:
    for name, size in sizes.items():
        if hasattr(layer, name):
            setattr(layer, name, size)


def _put(network: nn.Module, name: str, layer: nn.Module) -> nn.Module:
    if not name:
        return layer
    parent, _, child = name.rpartition(".")
    setattr(network.get_submodule(parent), child, layer)
    return network


def _alike(own: Tensor, other: Tensor) -> bool:
    return own.shape == other.shape and own.is_floating_point() == other.is_floating_point()


def _same(a: Any, b: Any) -> bool:
    """Compare bit by bit: NaN equals itself, 0.0 is not -0.0."""
    if not (isinstance(a, Tensor) and isinstance(b, Tensor)):
        return bool(a == b)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    a, b = (t.detach().cpu().contiguous().reshape(-1).view(torch.uint8) for t in (a, b))
    return torch.equal(a, b)


def _hidden_size(cell: nn.Module) -> int:
    return cell.hidden_size if isinstance(cell, RNNCell | GRUCell | LSTMCell) else 0


def _same_state(layer: nn.Module, weight: Tensor) -> bool:
    """Say whether a weight is that of the same cell for inputs of another size."""
    hidden = _hidden_size(layer)
    return bool(hidden) and weight.dim() == 2 and len(weight) == len(layer.weight) and weight.shape[1] > hidden  # type: ignore[arg-type]
