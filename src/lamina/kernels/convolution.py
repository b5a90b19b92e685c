"""Convolution, activation and pooling of a population of small networks as one call of compiled code.

cuDNN computes a convolution in groups as one launch a group where groups are small; the kernels of `convolution.cu`
compute all members at once and keep the maps between convolution and pooling out of memory. On a CPU `products.cpp`
computes a member's maps in an order that does not depend on the others. There, the batch of one network is a population
whose members have the same kernels.
"""

import ctypes
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from lamina._types import Float, Tensor
from lamina.kernels import _nvrtc as nvrtc
from lamina.kernels import ordered
from lamina.kernels.ordered import ACTIVATIONS, sum_by_halves

_PIXELS, _TURNED_PIXELS, _TILES = 112, 40, 20
_SHARED, _HALF = 220 * 1024, 110 * 1024  # bytes that a block may have, and that leave room for a second one
_BLOCKS = 264  # two for each multiprocessor of a large GPU
_DIVIDED = 8  # parts of a batch that threads share; no more are made, so that their number does not decide about bits
_SUMMED = 2  # images whose gradients a warp adds up; 1 costs 256 members more, 4 costs 16 members more


Readable = Callable[[Tensor, Tensor, Tensor | None], Tensor]


@dataclass(frozen=True)
class Form:
    """The sizes of a convolution, what follows it, and whether the gradient of its inputs is wanted."""

    channels: int
    height: int
    width: int
    filters: int
    rows: int
    columns: int
    stride: int = 1
    padding: int = 0
    activation: str = "identity"
    pool: int = 1
    largest: bool = False
    inputs_grad: bool = False
    precise: bool = True

    @property
    def maps(self) -> tuple[int, int]:
        """Height and width behind the pooling."""
        high, wide = self._convolved
        return high // self.pool, wide // self.pool

    @property
    def _convolved(self) -> tuple[int, int]:
        sizes = ((self.height, self.rows), (self.width, self.columns))
        high, wide = ((n + 2 * self.padding - m) // self.stride + 1 for n, m in sizes)
        return high, wide

    def fits(self, inputs: Tensor) -> bool:
        """Say whether the kernels of the device where the inputs lie compute this form."""
        if inputs.is_cuda:
            return inputs.dtype == torch.float32 and self.definitions() is not None
        small = self.filters <= 16 and self.channels * self.rows * self.columns < 8 * _TILES
        return ordered.ready(inputs) and small and self.stride == 1 and min(self.maps) >= 1

    def line(self, size: int) -> int:
        """Count the entries of a map as `products.cpp` keeps it: as wide as the padded image, in whole vectors."""
        lanes = 64 // size
        return math.ceil(self._convolved[0] * (self.width + 2 * self.padding) / lanes) * lanes

    def definitions(self) -> dict[str, int] | None:
        """Give the macros of the kernels, or None where they do not fit."""
        _, wide = self._convolved
        entries = self.channels * self.rows * self.columns
        tiles = math.ceil((entries + 1) / 8)
        known = self.activation in ACTIVATIONS and min(self.maps) >= 1 and self.padding < self.rows
        if not known or self.filters > 16 or tiles > _TILES or (self.inputs_grad and self.stride > 1):
            return None
        whole = self.maps[0]
        found = {
            "C": self.channels, "H": self.height, "W": self.width, "O": self.filters, "R": self.rows, "S": self.columns,
            "STRIDE": self.stride, "PAD": self.padding, "ACT": ACTIVATIONS.index(self.activation), "POOL": self.pool,
            "POOLMAX": int(self.largest), "DX": int(self.inputs_grad), "PRECISE": int(self.precise), "TAPS": tiles,
            "ROWS": whole if self.inputs_grad else min(whole, math.ceil(_PIXELS / (self.pool * wide))),
            "DROWS": min(self.height, math.ceil(_TURNED_PIXELS / wide)) if self.inputs_grad else 1,
        }  # fmt: skip
        for limit in (_HALF, _SHARED):
            for warps in (8, 4):
                if self.shared_memory(found | {"WARPS": warps}, backward=True) <= limit:
                    return found | {"WARPS": warps}
        return None

    def shared_memory(self, macros: dict[str, int], backward: bool) -> int:
        """Count the bytes that a block needs; the sums are those of `convolution.cu`."""
        _, wide = self._convolved
        parts, steps = 1 + macros["PRECISE"], math.ceil(self.channels * self.rows * self.columns / 8)
        turned = bool(macros["DX"]) and backward
        border = (self.rows - 1) * wide if macros["DX"] else 0
        line = math.ceil(macros["ROWS"] * self.pool * wide / 8) * 8 + 2 * border + 8
        own = self.channels * (self.height + 2 * self.padding) * (self.width + 2 * self.padding) + self.filters * line
        words = parts * steps * 128 + steps * 8 + 8 + self.filters + 16 * 8 * macros["TAPS"]
        if turned:
            turns, sums = self.channels * self.columns, math.ceil(self.filters * self.rows / 8)
            words += parts * math.ceil(turns / 16) * sums * 128 + sums * 8
            own += turns * math.ceil(macros["DROWS"] * wide / 8) * 8
        return 4 * (words + macros["WARPS"] * own)


class _Convolved(torch.autograd.Function):
    """The maps [member, image, filter, row, column] of images [member or 1, image, channel, row, column]."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, weight: Tensor, bias: Tensor | None, form: Form) -> Tensor:
        members, batch = len(weight), inputs.shape[1]
        ctx.save_for_backward(inputs, weight, bias)
        ctx.form = form
        outputs = inputs.new_empty(members, batch, form.filters, *form.maps)
        _launch("forward", form, inputs, (inputs, weight, bias, outputs), members)
        return outputs

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        inputs, weight, bias = ctx.saved_tensors
        form, members, batch = ctx.form, len(weight), inputs.shape[1]
        entries = form.channels * form.rows * form.columns
        parts = _parts(form, members, batch)
        # Zeros, since an ordinary kernel gives the thread of the backward pass its context.
        sums = inputs.new_zeros(parts, members, form.filters, entries + 1)
        d_inputs = inputs.new_empty(members, batch, *inputs.shape[2:]) if form.inputs_grad else None
        tensors = (inputs, weight, bias, grads[0].contiguous(), d_inputs, sums)
        _launch("backward", form, inputs, tensors, members)
        total = sum_by_halves(sums)
        d_bias = None if bias is None else total[..., entries].contiguous()
        return d_inputs, total[..., :entries].reshape(weight.shape), d_bias, None


class _Sizes(ctypes.Structure):
    _names_ = ("channels", "height", "width", "filters", "rows", "columns", "padding", "act", "pool", "largest")
    _fields_ = [(name, ctypes.c_longlong) for name in _names_]

    @classmethod
    def of(cls, form: Form) -> "_Sizes":
        known = vars(form) | {"act": ACTIVATIONS.index(form.activation)}
        return cls(*(int(known[name]) for name in cls._names_))


class _Ordered(torch.autograd.Function):
    """The same on a CPU, a stride of 1; the maps before the pooling are kept."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, weight: Tensor, bias: Tensor | None, form: Form) -> Tensor:
        members, batch = len(weight), inputs.shape[1]
        outputs = inputs.new_empty(members, batch, form.filters, *form.maps)
        ctx.form, kept = form, None
        if any(ctx.needs_input_grad):
            kept = inputs.new_empty(members, batch, form.filters, form.line(inputs.element_size()))
            ctx.save_for_backward(inputs, weight, kept)
            ctx.biased = bias is not None
        stride = 0 if len(inputs) < members else inputs.stride(0)
        ordered.call("convolve", inputs.dtype, members, batch, _Sizes.of(form), inputs, stride, weight, bias, kept,
                     outputs)  # fmt: skip
        return outputs

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        inputs, weight, kept = ctx.saved_tensors
        members, batch = len(weight), inputs.shape[1]
        d_weight, d_bias = torch.empty_like(weight), weight.new_empty(weight.shape[:2]) if ctx.biased else None
        d_inputs = torch.empty_like(inputs) if ctx.needs_input_grad[0] else None
        stride = 0 if len(inputs) < members else inputs.stride(0)
        ordered.call("convolve_back", inputs.dtype, members, batch, _Sizes.of(ctx.form), inputs, stride, weight, kept,
                     grads[0].contiguous(), d_weight, d_bias, d_inputs)  # fmt: skip
        return d_inputs, d_weight, d_bias, None


class _Divided(torch.autograd.Function):
    """The maps [image, filter, row, column] of one network on a CPU; see `convolved_alone`."""

    @staticmethod
    def forward(
        ctx: Any, inputs: Tensor, weight: Tensor, bias: Tensor | None, form: Form, readable: Readable
    ) -> Tensor:
        ctx.form, ctx.readable, kept, batch = form, readable, None, len(inputs)
        images, parts = inputs.contiguous(), _divisor(batch)
        outputs = inputs.new_empty(batch, form.filters, *form.maps)
        kernels, shifts = _spread(weight, parts), None if bias is None else _spread(bias, parts)
        if any(ctx.needs_input_grad):
            kept = inputs.new_empty(batch, form.filters, form.line(inputs.element_size()))
        ordered.call("convolve", inputs.dtype, parts, batch // parts, _Sizes.of(form), images,
                     images[0].numel() * (batch // parts), kernels, shifts, kept, outputs)  # fmt: skip
        ctx.save_for_backward(inputs, weight, bias, kept)
        return outputs

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        inputs, weight, bias, kept = ctx.saved_tensors
        if torch.is_grad_enabled():  # somebody wants to differentiate once more
            given = [t for t, wanted in zip((inputs, weight, bias), ctx.needs_input_grad, strict=False) if wanted]
            slopes = iter(torch.autograd.grad(ctx.readable(inputs, weight, bias), given, grads[0], create_graph=True))
            return *(next(slopes) if wanted else None for wanted in ctx.needs_input_grad[:3]), None, None
        images, parts = inputs.contiguous(), _divisor(len(inputs))
        d_weight, own = weight.new_empty(parts, *weight.shape), len(inputs) // parts
        d_bias = None if bias is None else bias.new_empty(parts, *bias.shape)
        d_inputs = torch.empty_like(images) if ctx.needs_input_grad[0] else None
        ordered.call("convolve_back", inputs.dtype, parts, own, _Sizes.of(ctx.form), images, images[0].numel() * own,
                     _spread(weight, parts), kept, grads[0].contiguous(), d_weight, d_bias, d_inputs)  # fmt: skip
        return d_inputs, sum_by_halves(d_weight), None if d_bias is None else sum_by_halves(d_bias), None, None


def _divisor(batch: int) -> int:
    """Give the number of equal parts of a batch."""
    return max(n for n in range(1, _DIVIDED + 1) if batch % n == 0)


def _spread(tensor: Tensor, parts: int) -> Tensor:
    return tensor.expand(parts, *tensor.shape).contiguous()


def _parts(form: Form, members: int, batch: int) -> int:
    """Count the parts in which the gradients of a member are summed; where order matters, members have no say in it."""
    macros = form.definitions()
    assert macros is not None
    if ordered.WANTED["cuda"]:
        return math.ceil(batch / (_SUMMED * macros["WARPS"]))
    return min(math.ceil(batch / macros["WARPS"]), math.ceil(_BLOCKS / members))


def _launch(name: str, form: Form, inputs: Tensor, tensors: tuple[Tensor | None, ...], members: int) -> None:
    macros = form.definitions()
    assert macros is not None
    batch, image = inputs.shape[1], inputs[0, 0].numel()
    strides = 0 if len(inputs) < members else batch * image, image
    most, shared = (form.shared_memory(macros, backward) for backward in (True, name == "backward"))
    kernels = nvrtc.library("convolution.cu", ("forward", "backward"), inputs.device, tuple(macros.items()), most)
    last = (_parts(form, members, batch),) if name == "backward" else ()
    blocks = min(*last, math.ceil(batch / macros["WARPS"]), math.ceil(_BLOCKS / members)), members
    kernels[name].launch(blocks, 32 * macros["WARPS"], (*tensors, *strides, batch, *last), shared_memory=shared)


def convolved(
    inputs: Float[Tensor, "batch one_or_members channel height width"],
    weight: Float[Tensor, "members filters channel rows columns"],
    bias: Float[Tensor, "members filters"] | None,
    form: Form,
) -> Float[Tensor, "batch members filters high wide"]:
    """Convolve, activate and pool the pictures of each member; `form.fits` must hold.

    Args:
        inputs: maps; one on the second axis if all members read the same.
        weight: the kernels.
        bias: one number a filter, or None.
        form: the sizes and what follows the convolution.
    """
    images = inputs.transpose(0, 1).contiguous()
    shift = None if bias is None else bias.contiguous()
    kind: Any = _Convolved if images.is_cuda else _Ordered
    found: Tensor = kind.apply(images, weight.contiguous(), shift, form)
    return found.transpose(0, 1)


def convolved_alone(
    inputs: Float[Tensor, "batch channel height width"],
    weight: Float[Tensor, "filters channel rows columns"],
    bias: Float[Tensor, " filters"] | None,
    form: Form,
    readable: Readable,
) -> Float[Tensor, "batch filters high wide"]:
    """Convolve, activate and pool the pictures of one network on a CPU; `form.fits` must hold.

    Differs: torch leaves more gradients finite where a pixel is not: here products with zeros behind the border count.

    Args:
        inputs: maps, at least one picture.
        weight: the kernels.
        bias: one number a filter, or None.
        form: the sizes and what follows the convolution.
        readable: the same operation by operation, for derivatives of derivatives.
    """
    found: Tensor = _Divided.apply(inputs, weight, bias, form, readable)
    return found
