"""Choose the form of a population's update."""

from lamina._types import Tensor
from lamina.functional.optimizers import Params, State
from lamina.kernels import native
from lamina.kernels.update import CudaUpdate, NativeUpdate
from lamina.populations._update import Numbers, Table, Update


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
        self.form = form(params, state.moments, filling, table.definitions, numbers.limit, numbers.clip)

    def __call__(self, grads: Params, alive: Tensor, measured: bool) -> Params:
        """Update the living members."""
        return self.form(grads, alive, measured)


def make_update(params: Params, state: State, numbers: Numbers) -> Update:
    """Choose the form of the update: compiled where a compiler is there, however much work there is.

    The forms differ in the last bits, and what a member gets may not depend on how many others there are.
    """
    device = next(iter(params.values())).device.type
    compiled = device == "cuda" or (device == "cpu" and native.works())
    return (CompiledUpdate if compiled else Update)(params, state, numbers)
