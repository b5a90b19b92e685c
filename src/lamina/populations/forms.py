"""Choose the form of a population's update."""

from lamina.functional.optimizers import Params, State
from lamina.populations import native
from lamina.populations.update import Numbers, Update
from lamina.populations.update_cuda import CudaUpdate
from lamina.populations.update_native import NativeUpdate


def make_update(params: Params, state: State, numbers: Numbers) -> Update:
    """Choose the form of the update: compiled where a compiler is there, however much work there is.

    The forms differ in the last bits, and what a member gets may not depend on how many others there are.

    Args:
        params: stacked parameters by name.
        state: count and moments.
        numbers: the members' numbers.
    """
    device = next(iter(params.values())).device.type
    if device == "cuda":
        return CudaUpdate(params, state, numbers)
    if device == "cpu" and native.works():
        return NativeUpdate(params, state, numbers)
    return Update(params, state, numbers)
