"""Follow one call of a network, operation by operation: whose it is, what it costs, which inputs its result sees.

The network is called in evaluation mode with copies of its buffers, so that nothing in it changes: with one example as
it is; with many on torch's meta device, where tensors have shapes and no values, unless it looks at values as it runs.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from lamina._errors import LaminaError, ShapeError
from lamina._types import Tensor
from lamina.architectures._network import one_look
from lamina.inspection._costs import kept_tensors, operation_flops
from lamina.inspection._example import evaluating, hooked
from lamina.inspection._field_rules import Look, positions, propagate, tensors_in
from lamina.inspection._fields import Field


@dataclass
class Visit:
    """What happened in one module, its parts not included."""

    name: str
    module: nn.Module
    calls: int = 0
    flops: int = 0
    kept: int = 0
    shape: tuple[int, ...] = ()
    seen: Field | None = None


@dataclass
class Trace:
    """One call of a network."""

    visits: dict[str, Visit] = field(default_factory=dict)
    extent: tuple[int, ...] = ()
    guessed: tuple[str, ...] = ()


def trace(model: nn.Module, example: Sequence[Tensor], axes: Sequence[int], memory: bool = True) -> Trace:
    """Call a network once and note what every module does."""
    many = max((part.shape[0] for part in example if part.ndim), default=1) > 1
    device = next((tensor.device.type for tensor in model.parameters()), "cpu")
    # torch's recurrent networks run as one kernel, except on the meta device, where each product is to be seen.
    meta = many or device != "cpu" or any(isinstance(module, nn.RNNBase) for module in model.modules())
    problem: Exception | None = None
    with evaluating(model):
        for way in (True, False) if meta else (False,):
            try:
                return _trace(model, example, axes, memory, meta=way)
            except LaminaError:
                raise
            except Exception as error:
                problem = error
    shapes = ", ".join(str(tuple(part.shape)) for part in example)
    reason = (str(problem).strip() or type(problem).__name__).splitlines()[0]
    raise ShapeError(
        f"{type(model).__name__} cannot be called with inputs of shape {shapes} ({reason}): give `inputs` that fit."
    ) from problem


def _trace(model: nn.Module, example: Sequence[Tensor], axes: Sequence[int], memory: bool, meta: bool) -> Trace:
    state: dict[str, Tensor] = dict(model.named_parameters())
    state |= {name: buffer.clone() for name, buffer in model.named_buffers()}
    place = torch.device("meta") if meta else next((t.device for t in state.values()), torch.device("cpu"))
    inputs = tuple(part.detach().to(place) for part in example)
    tensors = _on_meta(state) if meta else state
    call = partial(torch.func.functional_call, model, tensors, inputs)
    found = Trace(extent=tuple(inputs[0].shape[axis] for axis in axes))
    follower = _Follower(inputs, axes)
    with _visiting(model, found, follower), torch.no_grad(), follower:
        call()
    found.guessed = tuple(sorted(follower.guessed))
    if memory:
        _keep(model, found, list(tensors.values()), call)
    return found


def _on_meta(state: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.detach().to("meta").requires_grad_(tensor.requires_grad) for name, tensor in state.items()}


def _keep(model: nn.Module, found: Trace, tensors: list[Tensor], call: Callable[[], Any]) -> None:
    """Call again with gradients on, and note whose results autograd keeps."""
    again = Trace()

    def keep(tensor: Tensor) -> None:
        again.visits[current[-1]].kept += tensor.untyped_storage().nbytes()

    with _visiting(model, again) as current, torch.enable_grad(), kept_tensors(tensors, keep):
        call()
    for name, visit in again.visits.items():
        found.visits[name].kept = visit.kept


@contextmanager
def _visiting(model: nn.Module, found: Trace, follower: "_Follower | None" = None) -> Iterator[list[str]]:
    """Keep the names of the modules that are running, the innermost last, and note what each returns."""
    visitor, modules = _Visitor(found, follower), list(model.named_modules())
    hooks = [module.register_forward_pre_hook(partial(visitor.enter, name)) for name, module in modules]
    hooks += [module.register_forward_hook(partial(visitor.leave, name)) for name, module in modules]
    with hooked(hooks), one_look(model):
        yield visitor.current


class _Visitor:
    """Knows which modules are running."""

    def __init__(self, found: Trace, follower: "_Follower | None") -> None:
        self.found, self.follower, self.current = found, follower, list[str]()

    def enter(self, name: str, module: nn.Module, _: Any) -> None:
        self.current.append(name)
        visit = self.found.visits.setdefault(name, Visit(name, module))
        visit.calls += 1
        if self.follower is not None:
            self.follower.visit = visit

    def leave(self, name: str, module: nn.Module, _: Any, outputs: Any) -> None:
        self.current.pop()
        visit, tensors = self.found.visits[name], tensors_in(outputs)
        visit.shape = tuple(tensors[0].shape) if tensors else ()
        if self.follower is not None:
            visit.seen = self.follower.look(tensors[0]) if tensors else None
            self.follower.visit = self.found.visits[self.current[-1]] if self.current else None


class _Follower(TorchDispatchMode):
    """Sees every operation: adds its cost to the module that runs, and follows what results depend on."""

    def __init__(self, inputs: Sequence[Tensor], axes: Sequence[int]) -> None:
        super().__init__()
        self.visit: Visit | None = None
        self.guessed: set[str] = set()
        self._fields: dict[Any, Field] = {_key(inputs[0]): positions(inputs[0].shape, axes)} if axes else {}
        self._alive: list[Tensor] = list(inputs)  # memory that is given back could come again under the same address

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # saves the import of torch's compiler, more than a second

    def look(self, tensor: Tensor) -> Field | None:
        return self._fields.get(_key(tensor))

    def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        arguments = _all_arguments(operation, args, kwargs or {})
        before = {id(tensor): self.look(tensor) for tensor in tensors_in(arguments)}  # it may change them in place
        result = operation(*args, **(kwargs or {}))
        if self.visit is not None:
            self.visit.flops += operation_flops(operation, arguments, result)
        if self._fields:
            self._follow(operation, arguments, result, lambda tensor: before[id(tensor)])
        return result

    def _follow(self, operation: Any, arguments: list[Any], result: Any, look: Look) -> None:
        results = tensors_in(result)
        seen, known = propagate(operation, arguments, result, look)
        if seen is None or not results:
            return
        if not known:
            self.guessed.add(operation._schema.name.split("::")[1])
        fields = seen if isinstance(seen, list) else [seen]
        for tensor, each in zip(results, fields, strict=False):
            self._fields[_key(tensor)] = each
            self._alive.append(tensor)


def _key(tensor: Tensor) -> Any:
    """Name the values of a tensor: views of the same numbers have the same name, also after a detour through C++."""
    place = tensor.untyped_storage()._cdata
    return place, tensor.storage_offset(), tuple(tensor.shape), tuple(tensor.stride())


def _all_arguments(operation: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
    """List the arguments in the order of the schema, with defaults where nothing was given."""
    schema = operation._schema.arguments
    rest = [
        kwargs.get(argument.name, argument.default_value if argument.has_default_value() else None)
        for argument in schema[len(args) :]
    ]
    return [*args, *rest]
