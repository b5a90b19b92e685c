"""One update of all parameters of K networks by compiled code: one pass over memory instead of eight; see `update.cu`.

Several times as fast as torch's operations one by one, and unlike with `torch.compile` there is nothing to import or to
trace first.
"""

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from lamina._types import Tensor
from lamina.kernels import _nvrtc as nvrtc
from lamina.kernels import native
from lamina.kernels.ordered import sum_by_halves

THREADS = 256  # kThreads
ENTRIES = 4  # kEntries
PARTS = 16  # in how many a sum of squares is made

Params = Mapping[str, Tensor]


@dataclass(eq=False)
class _Update:
    """What both forms take.

    Args:
        params: stacked parameters by name, contiguous, changed in place.
        moments: averages of gradients, changed in place.
        filling: what `fill` takes: the table of numbers [row, member] that it completes, learning rates, the share
            of them that a step takes [step, column], the number of the step, beta1, beta2, pull, decay.
        definitions: the macros.
        limit: where gradients are clipped, one number per member, or None.
        clip: "tensor" if each tensor has a norm of its own, "global" if all have one.
    """

    params: Params
    moments: Sequence[Params]
    filling: tuple[Tensor, ...]
    definitions: Mapping[str, int]
    limit: Tensor | None
    clip: str


class Change(ctypes.Structure):
    """What is to be done to each member, for `change_member`."""

    _fields_ = [
        *((name, ctypes.c_longlong) for name in ("tensors", "members")),
        *((name, ctypes.c_void_p) for name in ("sizes", "p", "g", "m", "v", "table", "limits", "alive")),
        *((name, ctypes.c_longlong) for name in ("by_tensor", "measured")),
    ]


@dataclass(eq=False)
class NativeUpdate(_Update):
    """The update on the CPU, as one call; or member by member, by whoever has the gradients of one first."""

    def __post_init__(self) -> None:
        own = list(self.params.values())
        compiled = native.library("update.cu", tuple(self.definitions.items()))
        self._fill, self._change_all = compiled.fill, compiled.change_all
        self.change_member = ctypes.cast(compiled.change_member, ctypes.c_void_p)
        self._fill.restype = self._change_all.restype = None
        members = self.filling[0].shape[1]
        limits = None if self.limit is None else self.limit.to(own[0].dtype)
        sizes = (ctypes.c_longlong * len(own))(*[p.numel() // members for p in own])
        params, *moments = [native.pointers(own), *[native.pointers(list(each.values())) for each in self.moments]]
        first, second = (*moments, params, params)[:2]
        self._kept: list[Any] = [limits, sizes, params, first, second]  # their addresses are in the structure
        self._change = Change(
            len(own), members, ctypes.addressof(sizes), ctypes.addressof(params), None, ctypes.addressof(first),
            ctypes.addressof(second), self.filling[0].data_ptr(), native.pointer(limits), None, self.clip == "tensor",
        )  # fmt: skip
        shape = (members, *self.filling[2].shape)
        self._filling = (*map(native.pointer, self.filling), *map(ctypes.c_longlong, shape))

    def begin(self, grads: Params, alive: Tensor, measured: bool) -> tuple[Change, dict[str, Tensor]]:
        """Count the step; say what is to be done to each member once its gradients are there, and where these are."""
        self._fill(*self._filling)
        seen = {name: g.contiguous() for name, g in grads.items()}
        places = native.pointers(list(seen.values()))
        self._kept[5:] = places, alive
        self._change.g, self._change.alive = ctypes.addressof(places), alive.data_ptr()
        self._change.measured = measured
        return self._change, seen

    def __call__(self, grads: Params, alive: Tensor, measured: bool) -> dict[str, Tensor]:
        """Update the living members; give the gradients that the optimizer saw, if they are to be measured."""
        change, seen = self.begin(grads, alive, measured)
        self._change_all(ctypes.byref(change), ctypes.c_longlong(torch.get_num_threads()))
        return seen


@dataclass(eq=False)
class CudaUpdate(_Update):
    """The update on CUDA, as one launch a tensor."""

    def __post_init__(self) -> None:
        self._table, self._members = self.filling[0], self.filling[0].shape[1]
        names = ("fill", "change", "squares")
        self._kernels = nvrtc.library("update.cu", names, self._table.device, tuple(self.definitions.items()))

    def __call__(self, grads: Params, alive: Tensor, measured: bool) -> dict[str, Tensor]:
        """Update the living members; give the gradients that the optimizer saw, if they are to be measured."""
        steps, columns = self.filling[2].shape
        self._kernels["fill"].launch(1, THREADS, (*self.filling, self._members, steps, columns))
        seen = {name: g.contiguous() for name, g in grads.items()}
        factors = self._factors(seen) if self.definitions["CLIP"] == 1 else {}
        for name, p in self.params.items():
            first, second = (*(moment[name] for moment in self.moments), None, None)[:2]
            size = p.numel() // self._members
            blocks = -(-size // (THREADS * ENTRIES)), self._members
            places = (p, seen[name], first, second, self._table, factors.get(name), alive, size)
            self._kernels["change"].launch(blocks, THREADS, (*places, self._members, int(measured)))
        return seen

    def _factors(self, grads: Params) -> dict[str, Tensor]:
        """Give for each tensor the factor that clips its gradients, one per member."""
        sums = {}
        for name, g in grads.items():
            size = g.numel() // self._members
            parts = min(PARTS, -(-size // THREADS))
            found = torch.empty(parts, self._members, dtype=torch.float64, device=g.device)
            places = (self.params[name], g, self._table, found, size, self._members)
            self._kernels["squares"].launch((parts, self._members), THREADS, places)
            sums[name] = sum_by_halves(found)
        assert self.limit is not None
        if self.clip == "global":
            total = sum_by_halves(torch.stack(list(sums.values())))
            sums = dict.fromkeys(sums, total)
        return {name: (self.limit / s.sqrt()).clamp(max=1).to(self._table.dtype) for name, s in sums.items()}
