"""Choose the form of a population's update."""

from lamina._types import Tensor
from lamina.functional.optimizers import Params, State
from lamina.kernels import native
from lamina.kernels.update import CudaUpdate, NativeUpdate
from lamina.populations.update import Numbers, Table, Update

WORTH = 2**27
"""Entries times updates from which on half a second of compiling is repaid."""


class CompiledUpdate(Update):
    """The update by compiled code.

    Args:
        params: stacked parameters by name, contiguous, changed in place.
        state: count and moments, changed in place.
        numbers: the members' numbers.
    """

    def __init__(self, params: Params, state: State, numbers: Numbers) -> None:
        super().__init__(params, state, numbers)
        first = next(iter(params.values()))
        self.kind, form = ("cuda", CudaUpdate) if first.is_cuda else ("native", NativeUpdate)
        table = Table(numbers, first.dtype)
        filling = table.arguments(state.step)
        self._update = form(params, state.moments, filling, table.definitions, numbers.limit, numbers.clip)

    def __call__(self, grads: Params, alive: Tensor, measured: bool) -> Params:
        """Update the living members."""
        return self._update(grads, alive, measured)


def make_update(params: Params, state: State, numbers: Numbers, steps: int) -> Update:
    """Choose the form of the update: compiled where a compiler is there and the work repays it."""
    device = next(iter(params.values())).device.type
    entries = sum(p.numel() for p in params.values())
    repaid = device == "cpu" and steps * entries >= WORTH and native.compiler()
    return (CompiledUpdate if device == "cuda" or repaid else Update)(params, state, numbers)
