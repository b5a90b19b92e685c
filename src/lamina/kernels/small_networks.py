"""The kernels of `small_networks.cu` as functions of tensors, for captured updates of small networks on CUDA.

Each replaces a row of launches that together do the same, or a library's kernel that is slow at such sizes; equality
with torch is tested. Where they do not apply, a caller continues with torch: see `load` and `fits_...`.
"""

import ctypes
import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch

from lamina._types import Tensor
from lamina.kernels import _nvrtc as nvrtc

NAMES = ("take_pictures", "judge", "adam", "product", "convolve", "convolve_weights", "sum_parts")
THREADS = 256  # kThreads
TILE = 16  # kTile
OUT = 8  # kOut
TENSORS = 64  # kTensors
SHARED_MEMORY = 48 * 1024
CLASSES = 64  # judge walks through them one by one
PRODUCT_WORK = 2**25  # multiplications up to which our product is the faster one
ROUNDED_WORK = 2**24  # the same where torch may round factors and use its tensor cores
CONVOLUTION_WORK = 2**28
CHANNELS = 32
ADAM_SIZE = 2**22  # parameters up to which our update is the faster one

Launch = Callable[[str, tuple[int, int], int, Sequence[nvrtc.Argument], int], None]
"""(name, blocks, threads, arguments, bytes of dynamic shared memory)."""


class Tensors(ctypes.Structure):
    """The argument of `adam`: where the tensors lie."""

    _fields_ = [
        *((name, ctypes.c_void_p * TENSORS) for name in ("theta", "gradient", "moment1", "moment2", "step")),
        *((name, ctypes.c_int * TENSORS) for name in ("size", "first")),
        ("count", ctypes.c_int),
    ]


class Kernels:
    """Functions of tensors that launch the kernels.

    Args:
        launch: launches one of them by name.
    """

    def __init__(self, launch: Launch) -> None:
        self._launch = launch

    def take_pictures(
        self,
        pictures: Tensor,
        targets: Tensor,
        order: Tensor,
        cursor: Tensor,
        count: Tensor,
        affine: tuple[Tensor, Tensor],
        size: int,
        seed: int,
        changes: tuple[int, int, int, int] = (0, 0, 0, 0),
    ) -> tuple[Tensor, Tensor]:
        """Give `size` normalized pictures and their labels, from place `cursor` of the order on.

        Args:
            pictures: all of them, bytes [example, channel, height, width].
            targets: all labels.
            order: which examples in which order.
            cursor: the place.
            count: the number of the update, which random changes depend on.
            affine: factor and shift of each channel.
            size: how many.
            seed: of the random changes.
            changes: how far a crop and a translation reach, whether to flip, the side of what is cut out.
        """
        channels, height, width = pictures.shape[1:]
        inputs = torch.empty((size, channels, height, width), device=pictures.device)
        labels = torch.empty(size, dtype=torch.int64, device=pictures.device)
        numbers = (len(order), channels, height, width, seed)
        tensors = (pictures, targets, order, cursor, count, *affine, inputs, labels)
        self._launch("take_pictures", (size, 1), THREADS, (*tensors, *numbers, *changes), 0)
        return inputs, labels

    def judge(
        self, logits: Tensor, labels: Tensor, counters: Sequence[Tensor], rates: Tensor, smoothing: float = 0.0
    ) -> Tensor:
        """Give the gradient of the mean loss with respect to the logits, and count the update.

        Args:
            logits: [row, class].
            labels: [row].
            counters: loss sum, score sum, sum of all losses, good steps, cursor, count, the optimizer's steps, rate.
            rates: the learning rate of every update.
            smoothing: how much of a target all classes share.
        """
        gradient = torch.empty_like(logits)
        *sums, steps, rate = counters
        numbers = (*logits.shape, steps.numel(), len(rates), float(smoothing))
        self._launch("judge", (1, 1), THREADS, (logits, labels, gradient, *sums, steps, rate, rates, *numbers), 0)
        return gradient

    def adam(
        self, params: Sequence[Tensor], state: Sequence[tuple[Tensor, ...]], rate: Tensor, numbers: Sequence[float]
    ) -> None:
        """Change parameters along their gradients.

        Args:
            params: with gradients that lie as they do.
            state: of each, the step (counted already) and two moments.
            rate: the learning rate.
            numbers: the two decays, epsilon, and the decay of the weights.
        """
        for start in range(0, len(params), TENSORS):
            table, blocks = Tensors(), 0
            for i, (p, (step, first, second)) in enumerate(
                zip(params[start : start + TENSORS], state[start : start + TENSORS], strict=True)
            ):
                assert p.grad is not None
                table.theta[i], table.gradient[i], table.step[i] = p.data_ptr(), p.grad.data_ptr(), step.data_ptr()
                table.moment1[i], table.moment2[i] = first.data_ptr(), second.data_ptr()
                table.size[i], table.first[i], table.count = p.numel(), blocks, i + 1
                blocks += -(-p.numel() // THREADS)
            self._launch("adam", (blocks, 1), THREADS, (table, rate, *numbers), 0)

    def product(
        self,
        left: Tensor,
        right: Tensor,
        strides: tuple[int, int, int, int],
        shape: tuple[int, int, int],
        bias: Tensor | None = None,
        row_sums: Tensor | None = None,
    ) -> Tensor:
        """Give the product of two matrices that lie with any strides, plus a bias on every row.

        Args:
            left: the first.
            right: the second.
            strides: of both, rows and columns of the first, then of the second.
            shape: rows of the first, columns of the second, inner dimension.
            bias: one number a column.
            row_sums: receives the sums over the rows of the first.
        """
        rows, columns, _ = shape
        result = torch.empty((rows, columns), device=left.device)
        blocks = -(-columns // TILE), -(-rows // TILE)
        self._launch("product", blocks, THREADS, (left, right, bias, result, row_sums, *shape, *strides), 0)
        return result

    def convolve(
        self, pictures: Tensor, weight: Tensor, bias: Tensor | None, padding: int, transposed: bool = False
    ) -> Tensor:
        """Give the convolution (as torch names it) with stride 1, or with `transposed` the one its gradient needs.

        Args:
            pictures: [example, channel, height, width].
            weight: [output, channel, size, size]; with `transposed` the channels are the outputs.
            bias: one number an output.
            padding: zeros on every side.
            transposed: whether to read the weight so.
        """
        count, channels, height, width = pictures.shape
        size, outputs = weight.shape[2], weight.shape[1 if transposed else 0]
        out = height + 2 * padding - size + 1, width + 2 * padding - size + 1
        maps = torch.empty((count, outputs, *out), device=pictures.device)
        threads, splits, shared = _convolve_plan(channels, height, width, size, padding)
        numbers = (channels, height, width, outputs, size, padding, *out, int(transposed), splits)
        blocks = count, -(-outputs // OUT)
        self._launch("convolve", blocks, threads, (pictures, weight, bias, maps, *numbers), shared)
        return maps

    def convolve_weights(
        self, pictures: Tensor, gradient: Tensor, weight: Tensor, padding: int
    ) -> tuple[Tensor, Tensor]:
        """Give the gradients of a convolution with respect to its weight and its bias.

        Args:
            pictures: its input.
            gradient: with respect to its output.
            weight: what it was made with, for the shape.
            padding: as there.
        """
        count, channels, height, width = pictures.shape
        outputs, _, size, _ = weight.shape
        taps = channels * size * size + 1
        threads, splits, shared = _weights_plan(channels, height, width, size, padding)
        blocks = min(count, 132), -(-outputs // OUT)
        parts = torch.empty((blocks[0], outputs, taps), device=pictures.device)
        numbers = (count, channels, height, width, outputs, size, padding, *gradient.shape[2:], splits)
        self._launch("convolve_weights", blocks, threads, (pictures, gradient, parts, *numbers), shared)
        slopes = torch.empty_like(weight), torch.empty(outputs, device=weight.device)
        self._launch("sum_parts", (-(-outputs * taps // 32), 1), THREADS, (parts, *slopes, blocks[0], outputs, taps), 0)
        return slopes

    def linear(self, inputs: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """Apply a dense layer that `fits_linear`, with derivatives."""
        outputs: Tensor = _Linear.apply(self, inputs, weight, bias)
        return outputs

    def convolution(self, inputs: Tensor, weight: Tensor, bias: Tensor | None, padding: int) -> Tensor:
        """Apply a convolutional layer that `fits_convolution`, with derivatives."""
        outputs: Tensor = _Convolution.apply(self, inputs, weight, bias, padding)
        return outputs


def _convolve_plan(channels: int, height: int, width: int, size: int, padding: int) -> tuple[int, int, int]:
    """Return threads, splits and bytes of shared memory for `convolve`."""
    rows, columns = height + 2 * padding, width + 2 * padding
    half = -(-(rows - size + 1) * (columns - size + 1) // 2)
    lanes = min(512, -(-half // 32) * 32)
    splits = min(channels * size, 512 // lanes)
    held = -(-channels * rows * columns // 4) * 4 + channels * size * size * OUT
    return lanes * splits, splits, 4 * max(held, lanes * splits * (2 * OUT + 1) if splits > 1 else 0)


def _weights_plan(channels: int, height: int, width: int, size: int, padding: int) -> tuple[int, int, int]:
    """Return threads, splits and bytes of shared memory for `convolve_weights`."""
    rows, columns = height + 2 * padding, width + 2 * padding
    taps = channels * size * size + 1
    splits = max(1, min(512 // taps, rows - size + 1))
    held = -(-channels * rows * (columns | 1) // 4) * 4 + OUT * (rows - size + 1) * (columns - size + 1)
    return -(-taps * splits // 32) * 32, splits, 4 * max(held, splits * OUT * taps)


class _Linear(torch.autograd.Function):
    """A dense layer by our product, forward and backward."""

    @staticmethod
    def forward(ctx: Any, kernels: Kernels, inputs: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.kernels = kernels
        ctx.save_for_backward(inputs, weight, bias)
        (rows, features), outputs = inputs.shape, len(weight)
        return kernels.product(inputs, weight, (features, 1, 1, features), (rows, outputs, features), bias)

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor | None, ...]:
        kernels, (inputs, weight, bias) = ctx.kernels, ctx.saved_tensors
        slope = slopes[0].contiguous()
        (rows, features), outputs = inputs.shape, len(weight)
        to_input = to_weight = to_bias = None
        if ctx.needs_input_grad[1]:
            to_input = kernels.product(slope, weight, (outputs, 1, features, 1), (rows, features, outputs))
        if ctx.needs_input_grad[2]:
            to_bias = None if bias is None else torch.empty_like(bias)
            shape, strides = (outputs, features, rows), (1, outputs, features, 1)
            to_weight = kernels.product(slope, inputs, strides, shape, row_sums=to_bias)
        return None, to_input, to_weight, to_bias


class _Convolution(torch.autograd.Function):
    """A convolution with stride 1 by our kernels, forward and backward."""

    @staticmethod
    def forward(
        ctx: Any, kernels: Kernels, inputs: Tensor, weight: Tensor, bias: Tensor | None, padding: int
    ) -> Tensor:
        ctx.kernels, ctx.padding, ctx.biased = kernels, padding, bias is not None
        ctx.save_for_backward(inputs, weight)
        return kernels.convolve(inputs, weight, bias, padding)

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor | None, ...]:
        kernels, (inputs, weight) = ctx.kernels, ctx.saved_tensors
        slope = slopes[0].contiguous()
        to_input = to_weight = to_bias = None
        if ctx.needs_input_grad[1]:
            back = weight.shape[2] - 1 - ctx.padding
            to_input = kernels.convolve(slope, weight, None, back, transposed=True)
        if ctx.needs_input_grad[2]:
            to_weight, to_bias = kernels.convolve_weights(inputs, slope, weight, ctx.padding)
        return None, to_input, to_weight, to_bias if ctx.biased else None, None


def _pair(value: Any) -> tuple[Any, Any]:
    return (value, value) if isinstance(value, int) else tuple(value)


def _plain(*tensors: Tensor | None) -> bool:
    return all(
        t is None or (type(t) in (Tensor, torch.nn.Parameter) and t.dtype == torch.float32 and t.is_contiguous())
        for t in tensors
    )


def fits_linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> bool:
    """Say whether a dense layer is small enough for our product, and plain.

    >>> fits_linear(torch.zeros(128, 784), torch.zeros(128, 784)), fits_linear(torch.zeros(9), torch.zeros(1, 9))
    (True, False)
    """
    if input.ndim != 2 or not _plain(input, weight, bias):
        return False
    rounded = torch.backends.cuda.matmul.allow_tf32 or torch.is_autocast_enabled(input.device.type)
    return 0 < len(input) * weight.numel() <= (ROUNDED_WORK if rounded else PRODUCT_WORK)


def fits_convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> bool:
    """Say whether a convolution is one of few channels and stride 1, and plain.

    >>> fits_convolution(torch.zeros(8, 1, 28, 28), torch.zeros(6, 1, 5, 5), padding=2)
    True
    >>> fits_convolution(torch.zeros(8, 1, 28, 28), torch.zeros(6, 1, 5, 5), stride=2)
    False
    """
    if input.ndim != 4 or not _plain(input, weight, bias):
        return False
    if isinstance(padding, str) or _pair(stride) != (1, 1) or _pair(dilation) != (1, 1) or groups != 1:
        return False
    (count, channels, height, width), (outputs, _, size, other) = input.shape, weight.shape
    pad = _pair(padding)
    out = height + 2 * pad[0] - size + 1, width + 2 * pad[0] - size + 1
    if size != other or pad[0] != pad[1] or pad[0] >= size or min(*out, count) < 1 or max(channels, outputs) > CHANNELS:
        return False
    back = outputs, *out, size, size - 1 - pad[0]  # the convolution that gives the gradient of the input
    own = channels, height, width, size, pad[0]
    plans = _convolve_plan(*own), _convolve_plan(*back), _weights_plan(*own)
    if any(threads > 1024 or memory > SHARED_MEMORY for threads, _, memory in plans):
        return False
    return count * outputs * channels * size**2 * out[0] * out[1] <= CONVOLUTION_WORK


@functools.cache
def load(device: int) -> Kernels | None:
    """Compile the kernels for a device; None, with a warning, where the compiler is not there or refuses.

    Args:
        device: the number of a CUDA device, the current one.
    """
    kernels = nvrtc.library_or_none("small_networks.cu", NAMES, device, (), SHARED_MEMORY)
    if kernels is None:
        return None

    def launch(
        name: str, blocks: tuple[int, int], threads: int, arguments: Sequence[nvrtc.Argument], shared: int
    ) -> None:
        kernels[name].launch(blocks, threads, arguments, shared_memory=shared)

    return Kernels(launch)
