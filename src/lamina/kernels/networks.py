"""A pass of K dense networks over a batch as one call of compiled code; see `networks.cpp`.

Operation by operation, threads meet at every layer and all that lies between layers goes through memory. Here a thread
takes a member as a whole, from its inputs to its gradients, and to what is done with them.
"""

import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from lamina._types import Float, Num, Tensor
from lamina.kernels import native
from lamina.kernels.judge import Counters
from lamina.kernels.ordered import ACTIVATIONS


class _Networks(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_longlong) for name in ("members", "layers")),
        *((name, ctypes.c_void_p) for name in ("widths", "acts", "weights", "biases", "d_weights", "d_biases")),
    ]


class _Batch(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_longlong),
        ("inputs", ctypes.c_void_p),
        ("of_member", ctypes.c_longlong),
        ("targets", ctypes.c_void_p),
        ("target_row", ctypes.c_longlong),
        ("target_of_member", ctypes.c_longlong),
    ]


class Judging(ctypes.Structure):
    """How outputs are judged, and where that is counted.

    Args:
        counters: as those of `kernels.judge.Judge`.
        weights: a weight for each class, [members or 1, class], or None.
        dtype: the precision of the outputs.
        smoothing: how much of a target all classes share.
        squares: whether half the squared error is minimized, or the negative log likelihood.
    """

    _fields_ = [
        ("counters", Counters),
        ("weights", ctypes.c_void_p),
        ("weights_of_member", ctypes.c_longlong),
        ("smoothing", ctypes.c_double),
        ("squares", ctypes.c_longlong),
    ]

    def __init__(
        self,
        counters: Mapping[str, Tensor],
        weights: Tensor | None,
        dtype: torch.dtype,
        smoothing: float = 0.0,
        squares: bool = False,
    ) -> None:
        own = None if weights is None else weights.to(dtype).contiguous()
        stride = 0 if own is None or len(own) == 1 else own.shape[1]
        super().__init__(Counters.of(counters), native.pointer(own), stride, smoothing, squares)
        self.kept = counters, own  # their addresses are in the structure


class Networks:
    """K dense networks of one form on the CPU.

    Args:
        weights: the matrices of each layer, contiguous; what is written to them later counts.
        biases: the vectors of each layer, or None.
        activations: of each layer one of `ordered.ACTIVATIONS`.
    """

    def __init__(
        self,
        weights: Sequence[Float[Tensor, "members _ _"]],
        biases: Sequence[Float[Tensor, "members _"] | None],
        activations: Sequence[str],
    ) -> None:
        first, layers = weights[0], len(weights)
        whole = ctypes.c_longlong * (layers + 1)
        self.dtype = first.dtype
        self.slopes = [
            None if p is None else torch.zeros_like(p.detach())
            for pair in zip(weights, biases, strict=True)
            for p in pair
        ]
        self._kept: tuple[ctypes.Array[Any], ...] = (
            whole(first.shape[2], *[w.shape[1] for w in weights]),
            whole(*map(ACTIVATIONS.index, activations)),
            *(_places(tensors) for tensors in (weights, biases, self.slopes[::2], self.slopes[1::2])),
        )
        self._networks = _Networks(len(first), layers, *[ctypes.addressof(each) for each in self._kept])
        self._pass = getattr(native.library("networks.cpp", (("DOUBLE", int(self.dtype == torch.float64)),)), "pass")
        self._pass.restype = None

    def __call__(
        self,
        inputs: Float[Tensor, "batch one_or_members feature"],
        targets: Num[Tensor, "batch one_or_own ..."],
        judging: Judging,
        learning: bool,
        then: Callable[[], tuple[ctypes.c_void_p, ctypes.Structure]] | None = None,
    ) -> None:
        """Judge the outputs and count that; with `learning` write the gradients of the mean losses to `slopes`.

        Members that are not active, or whose losses were not finite, learn nothing: their slopes stay as they were.

        Args:
            inputs: one on the second axis if all members read the same.
            targets: classes, or numbers to come close to.
            judging: how, and what counts it.
            learning: whether gradients are wanted.
            then: asked when all else is ready; gives a function of compiled code, and its first argument, to be called
                with the number of each member that has its gradients.
        """
        rows = inputs.detach().to(self.dtype).transpose(0, 1).contiguous()
        wanted = targets.reshape(*targets.shape[:2], -1)
        wanted = (wanted.to(self.dtype) if judging.squares else wanted.long()).transpose(0, 1).contiguous()
        of_member, target_of_member = (0 if len(each) == 1 else each.stride(0) for each in (rows, wanted))
        batch = _Batch(len(inputs), rows.data_ptr(), of_member, wanted.data_ptr(), wanted.stride(1), target_of_member)
        function, what = (None, None) if then is None else then()
        self._pass(
            ctypes.byref(self._networks), ctypes.byref(batch), ctypes.byref(judging), ctypes.c_longlong(learning),
            function, None if what is None else ctypes.byref(what), ctypes.c_longlong(torch.get_num_threads()),
        )  # fmt: skip


def _places(tensors: Sequence[Tensor | None]) -> ctypes.Array[ctypes.c_void_p]:
    return (ctypes.c_void_p * len(tensors))(*[None if t is None else t.data_ptr() for t in tensors])
