"""The update of a population on CUDA: one kernel a tensor, one pass over memory."""

import functools
from typing import Any

import torch

from lamina._types import Tensor
from lamina.functional import nvrtc
from lamina.functional.optimizers import Params, State
from lamina.populations.native import source
from lamina.populations.update import Numbers, Table, Update
from lamina.training.change import sum_by_halves

THREADS = 256  # kThreads
ENTRIES = 4  # kEntries
PARTS = 16  # in how many a sum of squares is made


@functools.cache
def _kernels(device: int, definitions: tuple[tuple[str, int], ...]) -> Any:
    return nvrtc.compile_kernels(source("update.cu"), ("fill", "change", "squares"), dict(definitions), 0)


class CudaUpdate(Update):
    """The update as one launch a tensor.

    Args:
        params: stacked parameters by name, contiguous, changed in place.
        state: count and moments, changed in place.
        numbers: the members' numbers.
    """

    kind = "cuda"

    def __init__(self, params: Params, state: State, numbers: Numbers) -> None:
        super().__init__(params, state, numbers)
        first = next(iter(params.values()))
        self._table = Table(numbers, first.dtype)
        self._members = len(numbers.momentum)
        self._kernels = _kernels(first.device.index or 0, tuple(self._table.definitions.items()))

    def __call__(self, grads: Params, alive: Tensor, measured: bool) -> Params:
        """Update the living members."""
        steps, columns = self.numbers.share.shape
        arguments = (*self._table.arguments(self.state.step), self._members, steps, columns)
        self._kernels["fill"].launch(1, THREADS, arguments, cooperative=False)
        seen = {name: g.contiguous() for name, g in grads.items()}
        factors = self._factors(seen) if self._table.definitions["CLIP"] == 1 else {}
        for name, p in self.params.items():
            first, second = (*(moment[name] for moment in self.state.moments), None, None)[:2]
            size = p.numel() // self._members
            blocks = -(-size // (THREADS * ENTRIES)), self._members
            places = (p, seen[name], first, second, self._table.values, factors.get(name), alive, size)
            self._kernels["change"].launch(blocks, THREADS, (*places, self._members, int(measured)), cooperative=False)
        return seen

    def _factors(self, grads: Params) -> Params:
        """Give for each tensor the factor that clips its gradients, one a member."""
        sums = {}
        for name, g in grads.items():
            size = g.numel() // self._members
            parts = min(PARTS, -(-size // THREADS))
            found = torch.empty(parts, self._members, dtype=torch.float64, device=g.device)
            places = (self.params[name], g, self._table.values, found, size, self._members)
            self._kernels["squares"].launch((parts, self._members), THREADS, places, cooperative=False)
            sums[name] = sum_by_halves(found)
        limit = self.numbers.limit
        assert limit is not None
        if self.numbers.clip == "global":
            total = sum_by_halves(torch.stack(list(sums.values())))
            sums = dict.fromkeys(sums, total)
        return {name: (limit / s.sqrt()).clamp(max=1).to(self._table.values.dtype) for name, s in sums.items()}
