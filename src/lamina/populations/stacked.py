"""One table: the type of a module to the function that computes K of them at once.

A population is a copy of the module tree in which every parameter and buffer has the members along a new first axis;
names stay. Values are laid out [batch, members, ...], and one member on that axis means that all share them. What a
module of the tree computes is looked up by its exact type: a function of the stacked module and its inputs, or, where
its class says `stackable = True`, its own `forward`, which then counts axes from the right and leaves its parameters to
its parts. Networks and blocks are so; the table holds what multiplies by weights, mixes a batch or draws. A module that
is neither is mapped over by `torch.func.vmap`; where that fails the members run one by one, and a note says so.
"""

import copy
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import MethodType
from typing import Any

import torch
from torch import nn
from torch.func import functional_call, vmap
from torch.utils._pytree import tree_map

from lamina import layers
from lamina._types import Tensor
from lamina.architectures.fnn import FNN
from lamina.architectures.ode import NeuralODE
from lamina.functional.activations import Activation
from lamina.populations import _pictures as pictures
from lamina.populations import _sequences as sequences
from lamina.populations import _units as units
from lamina.populations._even import even

Rule = Callable[..., Any]
"""Computes a stacked module: takes the module and its inputs."""

_OWN = (
    nn.Identity, nn.ReLU, nn.Tanh, nn.LeakyReLU, nn.ELU, nn.GELU, nn.SiLU, nn.Softplus, nn.ModuleList,
)  # fmt: skip
"""Modules of torch whose own `forward` accepts one more axis after the batch."""

TABLE: dict[type[nn.Module], Rule] = {
    nn.Sequential: pictures.sequential,
    nn.Linear: units.linear,
    nn.Flatten: units.flatten,
    nn.BatchNorm1d: units.batch_norm,
    nn.BatchNorm2d: units.batch_norm,
    nn.Conv2d: pictures.conv2d,
    nn.AvgPool2d: pictures.each_map,
    nn.MaxPool2d: pictures.each_map,
    nn.AdaptiveAvgPool2d: pictures.each_map,
    nn.AdaptiveMaxPool2d: pictures.each_map,
    nn.ConstantPad2d: pictures.each_map,
    nn.ZeroPad2d: pictures.each_map,
    layers.TrueConv2d: pictures.true_conv2d,
    layers.PartialConv2d: pictures.partial_conv2d,
    layers.Embedding: units.embedding,
    layers.Detector: units.detector,
    nn.Sigmoid: units.logistic,
    layers.RNNCell: sequences.cell,
    layers.GRUCell: sequences.cell,
    layers.LSTMCell: sequences.cell,
    FNN: units.fnn,
    **{own: own.forward for own in _OWN},
}
"""What computes K modules of one type at once, where it is more than their own `forward`."""

METHODS: dict[type[nn.Module], dict[str, Rule]] = {
    layers.Dropout: {"drop": units.drop},
    layers.WordDropout: {"drop": units.drop},
    layers.Recurrent: {"run_layer": sequences._run_layer},
    NeuralODE: {"dynamics": units.dynamics},
}
"""The method of a stackable module that multiplies by weights of its own, or draws."""

CONDITIONS: dict[type[nn.Module], Callable[[Any], bool]] = {
    nn.Conv2d: lambda layer: layer.padding_mode == "zeros",
    nn.BatchNorm1d: lambda layer: layer.momentum is not None,
    nn.BatchNorm2d: lambda layer: layer.momentum is not None,
    NeuralODE: lambda net: net.config.method != "adaptive",
}
"""When a rule holds, where it does not always."""


def _has_rule(module: nn.Module) -> bool:
    """Say whether a module has a rule of its own, or says that its `forward` does not care about one more axis."""
    kind = type(module)
    known = kind in TABLE or vars(kind).get("stackable", False)  # a subclass has to say it again
    return known and CONDITIONS.get(kind, lambda _: True)(module) and not _has_hooks(module)


def _stack_modules(modules: Sequence[nn.Module], index: Tensor | None = None) -> nn.Module:
    """Make one module tree of K of the same form, with the members along the first axis of every tensor.

    >>> nets = [layers.linear(3, 2, seed=seed) for seed in range(4)]
    >>> stacked = _stack_modules(nets)
    >>> stacked.weight.shape, torch.allclose(stacked(torch.ones(5, 1, 3))[:, 2], nets[2](torch.ones(5, 3)))
    (torch.Size([4, 2, 3]), True)
    """
    return _Stacking(index).tree(modules)


def notes(stacked: nn.Module) -> tuple[str, ...]:
    """List what is not computed by a rule of the table, as sentences."""
    found = ((name, part) for name, part in stacked.named_modules() if isinstance(part, _Mapped))
    return tuple(f"{name or 'the network'} ({part.what}) {part.how}" for name, part in found)


@torch.no_grad()
def _select_members(stacked: nn.Module, keep: Tensor) -> None:
    """Keep some members of a stacked tree; its tensors are new ones."""
    done: dict[int, tuple[nn.Parameter, nn.Parameter]] = {}
    inside: set[int] = set()
    for module in stacked.modules():
        if isinstance(module, _Mapped):
            inside |= {id(part) for part in module.modules()}
        for name, parameter in module._parameters.items():
            if parameter is not None:
                if id(parameter) not in done:
                    done[id(parameter)] = parameter, nn.Parameter(parameter[keep], parameter.requires_grad)
                module._parameters[name] = done[id(parameter)][1]
        for name, buffer in module._buffers.items():
            constant = _is_constant(module, name) and id(module) not in inside
            if buffer is not None and not constant:
                module._buffers[name] = buffer[keep]


class _Stacking:
    """Walks K module trees at once; a tensor that occurs twice in a network stays one tensor."""

    def __init__(self, index: Tensor | None) -> None:
        self._index = index
        self._done: dict[int, Any] = {}

    def tree(self, modules: Sequence[nn.Module]) -> nn.Module:
        """Stack a module by its rule, or for `vmap`."""
        first = modules[0]
        if id(first) in self._done:
            return self._done[id(first)]
        if _has_rule(first):
            shell = self._shell(modules, self.tree, constants=True)
            kind: Any = type(first)
            for name, rule in {"forward": TABLE.get(kind, kind.forward), **METHODS.get(kind, {})}.items():
                setattr(shell, name, MethodType(rule, shell))
            if hasattr(first, "leading"):
                shell.__dict__["leading"] = ("batch", "members")
        else:
            shell = _Mapped(first, self._shell(modules, self._plain, constants=False))
        self._done[id(first)] = shell
        return shell

    def _plain(self, modules: Sequence[nn.Module]) -> nn.Module:
        """Stack the tensors of a part that `vmap` computes."""
        return self._shell(modules, self._plain, constants=False)

    def _shell(
        self, modules: Sequence[nn.Module], inner: Callable[[Sequence[nn.Module]], nn.Module], constants: bool
    ) -> nn.Module:
        """Copy a module with stacked tensors and stacked parts."""
        first = modules[0]
        shell = copy.copy(first)
        for kind in ("_parameters", "_buffers", "_modules"):
            shell.__dict__[kind] = {}
        for name, value in vars(first).items():
            if isinstance(value, Activation):
                shell.__dict__[name] = replace(value, function=even(value))
        for name, parameter in first._parameters.items():
            shell._parameters[name] = (
                None if parameter is None else self._parameter([m._parameters[name] for m in modules])
            )
        for name, buffer in first._buffers.items():
            alone = buffer is None or (constants and _is_constant(first, name))
            shell._buffers[name] = buffer if alone else self._stacked([m._buffers[name] for m in modules])
        for name, part in first._modules.items():
            shell._modules[name] = None if part is None else inner([m._modules[name] for m in modules])  # type: ignore[misc]
        return shell

    def _stacked(self, tensors: Sequence[Any]) -> Tensor:
        stacked = torch.stack([t.detach() for t in tensors])
        return stacked if self._index is None else stacked.index_select(0, self._index.to(stacked.device))

    def _parameter(self, own: Sequence[Any]) -> nn.Parameter:
        first = id(own[0])
        if first not in self._done:
            self._done[first] = nn.Parameter(self._stacked(own), requires_grad=own[0].requires_grad)
        return self._done[first]


class _Mapped(nn.Module):
    """A part of a population that has no rule: `vmap` of the part, or one member after the other where that fails."""

    def __init__(self, template: nn.Module, shell: nn.Module) -> None:
        super().__init__()
        for kind in ("_parameters", "_buffers", "_modules", "_non_persistent_buffers_set"):
            self.__dict__[kind] = shell.__dict__[kind]
        self.training = shell.training
        self._template = (copy.deepcopy(template).to("meta"),)  # in a tuple: it is no part of the tree
        if hasattr(template, "initial_state"):  # a cell: `Recurrent` asks it for the first state
            self.__dict__["initial_state"] = self._template[0].initial_state
        self.what, self.how = type(template).__name__, "is computed by vmap"
        self._tried = False

    def forward(self, *inputs: Any, **options: Any) -> Any:
        """Compute all members; inputs are laid out [batch, members, ...]."""
        # All names, also of a tensor that has two: the template has lost the tie.
        tensors = dict(self.named_parameters(remove_duplicate=False)) | dict(self.named_buffers(remove_duplicate=False))
        for ours, theirs in zip(self.modules(), self._template[0].modules(), strict=True):
            theirs.training = ours.training
        if self._tried:
            return (self._mapped if self.how == "is computed by vmap" else self._one_by_one)(tensors, inputs, options)
        before = {name: t.clone() for name, t in self.named_buffers()}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # a slow path of vmap is a warning
                outputs = self._mapped(tensors, inputs, options)
        except Exception as error:
            for name, t in self.named_buffers():
                t.copy_(before[name])
            outputs = self._one_by_one(tensors, inputs, options)
            reason = str(error).strip().split("\n")[0][:120]
            self.how = f"runs one by one, since vmap cannot batch it: {reason}"
        self._tried = True
        return outputs

    def _mapped(self, tensors: dict[str, Tensor], inputs: Any, options: dict[str, Any]) -> Any:
        def one(tensors: dict[str, Tensor], inputs: Any, options: dict[str, Any]) -> Any:
            return functional_call(self._template[0], tensors, inputs, options)

        members = self._members(tensors)
        given = tree_map(lambda t: _alone(t, members), (inputs, options))
        axes = tree_map(lambda t: 1 if _is_own(t, members) else None, (inputs, options))
        return vmap(one, in_dims=(0, *axes), out_dims=1)(tensors, *given)

    def _one_by_one(self, tensors: dict[str, Tensor], inputs: Any, options: dict[str, Any]) -> Any:
        members = self._members(tensors)
        each = []
        for k in range(members):
            given = tree_map(lambda t, k=k: _pick(t, k, members), (inputs, options))
            each.append(functional_call(self._template[0], {name: t[k] for name, t in tensors.items()}, *given))
        return tree_map(lambda *parts: torch.stack(parts, 1) if isinstance(parts[0], Tensor) else parts[0], *each)

    def _members(self, tensors: dict[str, Tensor]) -> int:
        return len(next(iter(tensors.values())))


def _is_constant(module: nn.Module, name: str) -> bool:
    """Say whether a buffer is the same in all members, such as a table of connections; it is then not saved."""
    return name in module._non_persistent_buffers_set and not isinstance(module, layers.Dropout)


def _is_own(value: Any, members: int) -> bool:
    return isinstance(value, Tensor) and value.shape[1] == members


def _alone(value: Any, members: int) -> Any:
    """Take the axis of members off what all share."""
    return value if _is_own(value, members) or not isinstance(value, Tensor) else value[:, 0]


def _pick(value: Any, member: int, members: int) -> Any:
    if not isinstance(value, Tensor):
        return value
    return value[:, member] if _is_own(value, members) else value[:, 0]


def _has_hooks(module: nn.Module) -> bool:
    return bool(module._forward_hooks or module._forward_pre_hooks)
