"""Choose the form of a population's update."""

from lamina.functional.optimizers import Params, State
from lamina.kernels import native
from lamina.kernels.update_cuda import CudaUpdate
from lamina.kernels.update_native import NativeUpdate
from lamina.populations.update import Numbers, Update

WORTH = 2**27
"""Entries times updates from which on half a second of compiling is repaid."""


def make_update(params: Params, state: State, numbers: Numbers, steps: int) -> Update:
    """Choose the form of the update: compiled where a compiler is there and the work repays it.

    Args:
        params: stacked parameters by name.
        state: count and moments.
        numbers: the members' numbers.
        steps: how many updates there will be.
    """
    device = next(iter(params.values())).device.type
    entries = sum(p.numel() for p in params.values())
    if device == "cuda":
        return CudaUpdate(params, state, numbers)
    if device == "cpu" and steps * entries >= WORTH and native.compiler():
        return NativeUpdate(params, state, numbers)
    return Update(params, state, numbers)
