"""Choose the form of a population's update."""

from lamina.functional.optimizers import Params, State
from lamina.populations import native
from lamina.populations.update import Numbers, Update
from lamina.populations.update_cuda import CudaUpdate
from lamina.populations.update_native import NativeUpdate

WORTH = 2**27
"""Entries times updates from which on half a second of compiling is repaid."""


def make_update(params: Params, state: State, numbers: Numbers, steps: int) -> Update:
    """Choose the form of the update: compiled where a compiler is there and the work repays it."""
    device = next(iter(params.values())).device.type
    entries = sum(p.numel() for p in params.values())
    if device == "cuda":
        return CudaUpdate(params, state, numbers)
    if device == "cpu" and steps * entries >= WORTH and native.compiler():
        return NativeUpdate(params, state, numbers)
    return Update(params, state, numbers)
