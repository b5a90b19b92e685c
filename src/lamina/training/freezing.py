"""Freeze the first stages of a network, or slow them down: extensions of transfer learning, which trains everything.

A frozen part computes as in evaluation whatever `model.train()` says: batch norm uses its running statistics and does
not move them, dropout lets everything pass and does not count. So no bit of it changes, parameter or buffer. A layer
that starts anew (`architectures.adapt.new_tensors`) is never frozen, and never slowed down.
"""

from collections.abc import Collection, Iterator, Sequence
from functools import partial

from torch import nn

from lamina._errors import ArgumentError, nearest
from lamina.architectures.adapt import new_tensors, weight_layers

ALL_BUT_LAST = "all but last"
_NORMS = (nn.modules.batchnorm._NormBase, nn.GroupNorm, nn.LayerNorm)


def stages(model: nn.Module) -> tuple[str, ...]:
    """Name the stages of a network from the input to the output.

    A stage is a child that has parameters, with the normalizations and the layers without parameters that follow it:
    `features, classifier` in LeNet-5 and AlexNet; `conv1, layer1, ..., layer4, fc` in a ResNet; `layers.0, layers.1,
    ...` in a feedforward network, and `readout` behind them in a dense ResNet; `encoding, recurrent, output` in a
    recurrent network. Parameters that belong to no child are a stage before the last.

    Notes: N4.39 (§4.3).

    >>> from lamina.architectures.build import build
    >>> stages(build("resnet18", width=0.125)), stages(build("lenet5"))
    (('conv1', 'layer1', 'layer2', 'layer3', 'layer4', 'fc'), ('features', 'classifier'))
    """
    return tuple(_stages(model))


def freeze(model: nn.Module, until: str | int | Sequence[str]) -> nn.Module:
    """Keep the stages from the first up to `until` as they are; training changes only the rest.

    Their parameters get no gradient, and they stay in evaluation mode. What was frozen before stays frozen. A layer of
    them that starts anew, as after `adapt` or `load_weights`, is trained all the same, and so is the normalization
    behind it, whose statistics are those of other numbers.

    Notes: N4.39 (§4.3).

    Args:
        model: the network, changed in place.
        until: the name of the last stage to freeze, the number of stages, "all but last" for everything except the
            last layer with weights, or a list of parts as `frozen` gives it.

    Returns:
        The same network.

    >>> from lamina.architectures.build import build
    >>> net = freeze(build("fnn", inputs=4, outputs=2, hidden=(5, 5), batch_norm=True), until=1)
    >>> net.train().layers[0].norm.training, net.layers[1].norm.training
    (False, True)
    >>> frozen(net)
    ('layers.0',)
    """
    parts = _without_new(model, _parts(model, until))
    held = {id(p) for name in parts for p in _parameters(model, name)}
    if all(id(p) in held or not p.requires_grad for p in model.parameters()):
        raise ArgumentError(
            f"`until` {until!r} would freeze all of {', '.join(stages(model))}: leave at least the last layer to train."
        )
    for name in parts:
        for parameter in _parameters(model, name):
            parameter.requires_grad_(False)
        for module in _modules(model, name):
            module.training = False
            vars(module)["train"] = partial(_stay, module)
    return model


def unfreeze(model: nn.Module, since: str | int | None = None) -> nn.Module:
    """Train again what was frozen.

    Notes: N4.39 (§4.3).

    Args:
        model: the network, changed in place.
        since: the name of the first stage to train again, or how many of the last stages; None for all.

    Returns:
        The same network.

    >>> from lamina.architectures.build import build
    >>> net = freeze(build("resnet18", width=0.125), until="layer4")
    >>> frozen(unfreeze(net, since="layer3"))
    ('conv1', 'bn1', 'maxpool', 'layer1', 'layer2')
    """
    found = _stages(model)
    names = tuple(found)
    start = 0 if since is None else len(names) - _count(names, since) if isinstance(since, int) else None
    if start is None:
        start = names.index(_known(names, str(since), "since"))
    for name in (part for stage in names[start:] for part in found[stage]):
        for parameter in _parameters(model, name):
            parameter.requires_grad_(True)
        for module in _modules(model, name):
            vars(module).pop("train", None)
            module.training = model.training
    return model


def frozen(model: nn.Module) -> tuple[str, ...]:
    """Name the parts of a network that are frozen: modules, and parameters that belong to no frozen module.

    `freeze(other, frozen(model))` freezes the same parts of another network.

    Notes: N4.39 (§4.3).

    >>> from lamina.architectures.build import build
    >>> frozen(build("lenet5"))
    ()
    """
    parts: list[str] = []
    for name, module in model.named_modules():
        if "train" in vars(module) and not any(name.startswith(f"{outer}.") for outer in parts[-1:]):
            parts.append(name)
    inside = {id(p) for name in parts for p in _parameters(model, name)}
    alone = [name for name, p in model.named_parameters() if not p.requires_grad and id(p) not in inside]
    return (*parts, *alone)


def _stay(module: nn.Module, mode: bool = True) -> nn.Module:
    """Stand in for `module.train`: a frozen module does not leave evaluation mode."""
    return module


def _stages(model: nn.Module) -> dict[str, list[str]]:
    """Map the name of each stage to the names of the modules and parameters that it is made of."""
    found: dict[str, list[str]] = {}
    waiting: list[str] = []  # layers without parameters in front of the first stage
    for name, module in _children(model):
        if not any(True for _ in module.parameters()) or (isinstance(module, _NORMS) and found):
            (found[next(reversed(found))] if found else waiting).append(name)
        else:
            found[name] = [*waiting, name]
            waiting = []
    own = [name for name, _ in model.named_parameters(recurse=False)]
    if own:
        names = list(found)
        found = {name: found[name] for name in names[:-1]} | {own[0]: own} | {name: found[name] for name in names[-1:]}
    return found


def _children(model: nn.Module, prefix: str = "") -> Iterator[tuple[str, nn.Module]]:
    """List the children of a network; a container that holds all parameters, or is named `layers`, is opened."""
    children = [(f"{prefix}{name}", module) for name, module in model.named_children()]
    learned = [name for name, module in children if any(True for _ in module.parameters())]
    alone = len(learned) == 1 and not any(True for _ in model.parameters(recurse=False))
    for name, module in children:
        chain = name in learned and (alone or name == "layers")
        if chain and any(any(True for _ in part.parameters()) for part in module.children()):
            yield from _children(module, f"{name}.")
        else:
            yield name, module


def _parts(model: nn.Module, until: str | int | Sequence[str]) -> list[str]:
    """Name the modules and parameters that a request to freeze means."""
    if not isinstance(until, str | int):
        known = {name for name, _ in (*model.named_modules(), *model.named_parameters()) if name}
        for name in until:
            if name not in known:
                raise ArgumentError(f"the network has no part {name!r} to freeze: it has {', '.join(stages(model))}.")
        return list(until)
    if until == ALL_BUT_LAST:
        return _all_but(model, weight_layers(model)[-1:])
    found = _stages(model)
    names = tuple(found)
    if isinstance(until, str) and until.isdigit() and until not in names:
        until = int(until)
    number = _count(names, until) if isinstance(until, int) else 1 + names.index(_known(names, until, "until"))
    return [part for name in names[:number] for part in found[name]]


def _all_but(model: nn.Module, held: Collection[str], within: str = "") -> list[str]:
    """Name the largest parts of a part that contain none of some layers, and the parameters of those that do."""
    parts: list[str] = []
    for name, module in model.named_modules():
        inside = not within or f"{name}.".startswith(f"{within}.")
        if not inside or any(f"{name}.".startswith(f"{each}.") for each in (*held, *parts[-1:])):
            continue
        if not name or any(each.startswith(f"{name}.") for each in held):
            own = [f"{name}.{own}".lstrip(".") for own, _ in module.named_parameters(recurse=False)]
            parts += [each for each in own if each not in held]
        else:
            parts.append(name)
    return parts


def _without_new(model: nn.Module, parts: Sequence[str]) -> list[str]:
    """Leave out of some parts the layers that start anew, and the normalizations that directly follow them."""
    held: list[str] = []
    for tensor in new_tensors(model):
        owner = tensor.rpartition(".")[0]
        leaf = owner and not any(True for _ in model.get_submodule(owner).children())
        held.append(owner if leaf else tensor)
    before = ""
    for name, module in model.named_modules():
        if any(True for _ in module.children()) or not module.state_dict():
            continue
        if isinstance(module, _NORMS) and before in held:
            held.append(name)
        before = name
    kept: list[str] = []
    for part in parts:
        within = [each for each in held if f"{each}.".startswith(f"{part}.")]
        kept += [] if part in held else _all_but(model, within, part) if within else [part]
    return kept


def rate_shares(model: nn.Module, stage_rate: float) -> list[float]:
    r"""Return the share of the learning rate that each parameter to train takes, in their order.

    $$\rho^{(S - s)/S}$$
    for the stage s = 0, ..., S - 1, with \rho = `stage_rate`: from \rho in the first stage by equal factors towards 1,
    which is what starts anew takes.

    Notes: N4.39 (§4.3).

    >>> from lamina.architectures.build import build
    >>> rate_shares(build("fnn", inputs=4, outputs=2, hidden=(5,)), 0.01)
    [0.01, 0.01, 0.1, 0.1]
    """
    return [stage_rate**depth for depth in stage_depths(model).values()]


def stage_depths(model: nn.Module) -> dict[str, float]:
    """Say for each parameter to train how far its stage is from the outputs: 1 for the first one, 0 for a new layer.

    Notes: N4.39 (§4.3).
    """
    found, new = list(_stages(model).values()), new_tensors(model)
    depths = {}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            own = (n for n, parts in enumerate(found) if any(f"{name}.".startswith(f"{part}.") for part in parts))
            stage = next(own, len(found) - 1)
            depths[name] = 0.0 if name in new else 1 - stage / len(found)
    return depths


def _known(names: tuple[str, ...], name: str, argument: str) -> str:
    if name not in names:
        raise ArgumentError(
            f"`{argument}` must be one of the stages {', '.join(names)}, got {name!r}{nearest(name, names)}"
        )
    return name


def _count(names: tuple[str, ...], number: int) -> int:
    if not 1 <= number <= len(names):
        raise ArgumentError(f"the number of stages must be in [1, {len(names)}] ({', '.join(names)}), got {number}.")
    return number


def _parameters(model: nn.Module, name: str) -> list[nn.Parameter]:
    """Return the parameters of a module, or the one parameter of that name."""
    alone = dict(model.named_parameters(remove_duplicate=False)).get(name)
    return list(model.get_submodule(name).parameters()) if alone is None else [alone]


def tensors_of(model: nn.Module, name: str) -> list[str]:
    """Name the parameters and buffers of a module, or the one of that name.

    >>> from lamina.layers.initialized import linear
    >>> tensors_of(nn.Sequential(linear(2, 1)), "0")
    ['0.weight', '0.bias']
    """
    return [tensor for tensor in model.state_dict() if f"{tensor}.".startswith(f"{name}.")]


def _modules(model: nn.Module, name: str) -> list[nn.Module]:
    """Return a module and all its parts; none for the name of a parameter."""
    alone = dict(model.named_parameters(remove_duplicate=False)).get(name)
    return list(model.get_submodule(name).modules()) if alone is None else []
