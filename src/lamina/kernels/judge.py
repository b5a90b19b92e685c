"""Loss, gradient, score and counters of all members as one call of compiled code; see `judge.cu`."""

import ctypes
from collections.abc import Mapping

import torch

from lamina._types import Float, Int, Tensor
from lamina.kernels import _nvrtc as nvrtc
from lamina.kernels import native

THREADS = 128  # kThreads
_COUNTERS = ("loss_sum", "score_sum", "ever", "good", "active", "alive")


class Counters(ctypes.Structure):
    """Where loss_sum, score_sum, ever, good, active and alive lie."""

    _fields_ = [(name, ctypes.c_void_p) for name in _COUNTERS]

    @classmethod
    def of(cls, counters: Mapping[str, Tensor]) -> "Counters":
        """Take the addresses of tensors."""
        return cls(*[counters[name].data_ptr() for name in _COUNTERS])


class Judge:
    """Judges logits by labels, on the CPU or on CUDA.

    Args:
        counters: the tensors loss_sum, score_sum, ever, good, active and alive, one entry per member; changed in place.
        weights: a weight for each class, [members or 1, class], or None.
        dtype: the precision of the logits.
        smoothing: how much of a target all classes share.
    """

    def __init__(
        self, counters: Mapping[str, Tensor], weights: Tensor | None, dtype: torch.dtype, smoothing: float = 0.0
    ) -> None:
        self._smoothing = float(smoothing)
        self._weights = None if weights is None else weights.to(dtype).contiguous()
        self._weight_stride = 0 if weights is None or len(weights) == 1 else weights.shape[1]
        definitions = (("DOUBLE", int(dtype == torch.float64)),)
        self._kept = counters  # their addresses are in the structure
        self._counters = Counters.of(counters)
        device = counters["ever"].device
        if device.type == "cuda":
            self._kernel = nvrtc.library("judge.cu", ("judge",), device, definitions)["judge"]
        else:
            self._function = native.library("judge.cu", definitions).judge
            self._function.restype = None

    @torch.no_grad()
    def __call__(
        self, logits: Float[Tensor, "batch members label"], targets: Int[Tensor, "batch one_or_members"]
    ) -> Float[Tensor, "batch members label"]:
        """Count the update and return the gradient of the sum of all members' mean losses."""
        batch, members, classes = logits.shape
        slope = torch.empty((members, classes, batch), dtype=logits.dtype, device=logits.device)
        strides = (*logits.stride(), targets.stride(0), 0 if targets.shape[1] == 1 else targets.stride(1))
        if logits.is_cuda:
            arguments = (logits, targets, self._weights, slope, self._counters, batch, classes, *strides)
            self._kernel.launch(members, THREADS, (*arguments, self._weight_stride, self._smoothing))
        else:
            places = [native.pointer(t) for t in (logits, targets, self._weights, slope)]
            sizes = (members, batch, classes, *strides, self._weight_stride)
            numbers = (*map(ctypes.c_longlong, sizes), ctypes.c_double(self._smoothing))
            self._function(*places, ctypes.byref(self._counters), *numbers)
        return slope.permute(2, 0, 1)
