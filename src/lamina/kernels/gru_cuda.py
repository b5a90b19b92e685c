"""The two loops over time of the notes' GRU as CUDA kernels; see `gru_scan` for the formulas and `gru.cu` for the code.

One launch runs all steps; the weights stay on the chip. Products follow the precision that the user allows: TF32
where torch may round float32 products so (`torch.set_float32_matmul_precision`), else float32 accuracy out of three
TF32 products, and 16 bits for weights of 16 bits; sums, gates and states have 32 bits. Each run gives the same bits.
A scan borrows memory for what its blocks exchange: two operands of [time, batch, hidden] forward, three backward.
"""

import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from lamina._errors import ArgumentError
from lamina._types import Bool, Float, Tensor
from lamina.kernels import _nvrtc as nvrtc

_TF32, _FLOAT32, _BFLOAT16, _FLOAT16 = range(4)
_OPERAND_WORDS = 32 * 1024  # 32-bit words of the left operand that the registers of a block hold
_OUTPUTS = {_TF32: 1024, _FLOAT32: 512, _BFLOAT16: 1024, _FLOAT16: 1024}  # and partial sums of a warp


@dataclass(frozen=True)
class Plan:
    """How a scan is cut: `rows` sequences and `cols` hidden units a block, `groups` of sequences at a time.

    A block has `warps` of 32 threads and `buffers` for their partial sums; `mode` is the precision of the products.
    """

    hidden: int
    mode: int
    rows: int
    cols: int
    warps: int
    buffers: int
    groups: int

    @property
    def words(self) -> int:
        """Words of 32 bits in a row of an operand, of which 16 are read together."""
        return 16 * -(-self.hidden // (16 * self.pack))

    @property
    def pack(self) -> int:
        """Values in a word."""
        return 2 if self.mode in (_BFLOAT16, _FLOAT16) else 1

    @property
    def parts(self) -> int:
        """Thread blocks that share a group of sequences."""
        return -(-self.words * self.pack // self.cols)

    @property
    def outputs(self) -> int:
        """Components of the state that a thread block computes."""
        return self.rows * self.cols

    @property
    def shared_memory(self) -> int:
        """Bytes a thread block needs: three slices of weights, and one partial sum a warp for each output."""
        return 4 * (3 * self.cols * self.words + self.buffers * self.warps * self.outputs)

    def cost(self, batch: int) -> float:
        """Estimate the microseconds of a step: a latency, the operand's way from the L2 cache, and the products.

        The constants were fitted by hand to forward scans of three sizes on an H200: they rank plans; for large batches
        the estimate is up to half too low.

        >>> Plan(512, mode=0, rows=16, cols=32, warps=8, buffers=2, groups=8).cost(128)  # measured: 5.4
        5.70378496
        """
        traffic = 4e-6 * self.groups * self.parts * self.rows * self.words
        products = 1e-3 * self.outputs * self.words * (3 if self.mode == _FLOAT32 else 1)
        return -(-batch // (self.rows * self.groups)) * (2.6 + 0.24 * traffic + 0.008 * products)


def choose(batch: int, hidden: int, mode: int, processors: int, shared_memory: int) -> Plan | None:
    """Cut a scan for a device, or return None when the weights do not fit on it.

    Args:
        batch: how many sequences.
        hidden: components of a state.
        mode: the precision of the products.
        processors: how many the device has; each runs one thread block.
        shared_memory: bytes that a thread block may have.

    Returns:
        The plan with the least estimated time.

    >>> choose(128, 512, mode=0, processors=132, shared_memory=232448)
    Plan(hidden=512, mode=0, rows=16, cols=32, warps=8, buffers=2, groups=8)
    >>> choose(64, 2048, mode=0, processors=132, shared_memory=232448) is None  # 48 MiB of weights
    True
    """
    plans = []
    for rows, cols, buffers in itertools.product((16, 32, 64), (8, 16, 32), (2, 1)):
        plan = Plan(hidden, mode, rows, cols, 16 if mode == _FLOAT32 else 8, buffers, groups=1)
        groups = min(-(-batch // rows), processors // plan.parts)
        held = rows * plan.words <= _OPERAND_WORDS and plan.outputs <= _OUTPUTS[mode]
        if groups and held and plan.shared_memory <= shared_memory:
            plans.append(replace(plan, groups=groups))
    return min(plans, key=lambda plan: plan.cost(batch), default=None)


def available(dtype: torch.dtype, batch: int, hidden: int) -> bool:
    """Say whether there is a kernel for the current CUDA device; compiles it, within two seconds, when first asked.

    Args:
        dtype: of the recurrent weight.
        batch: how many sequences.
        hidden: components of a state.

    Returns:
        False without a GPU of compute capability 8 or the compiler, and where the weights do not fit on the chip.
    """
    if not torch.cuda.is_available() or dtype not in (torch.float32, torch.bfloat16, torch.float16):
        return False
    plan = _plan(batch, hidden, _mode(dtype), torch.cuda.current_device())
    return plan is not None and _kernels(plan, torch.cuda.current_device()) is not None


def scan_forward(
    pre: Float[Tensor, "time batch gates"],
    weight_h: Float[Tensor, "gates hidden"],
    h0: Float[Tensor, "batch hidden"],
    mask: Bool[Tensor, "time batch"] | None = None,
) -> tuple[Float[Tensor, "time batch hidden"], tuple[Tensor, ...]]:
    """Run the loop over time.

    Args:
        pre: the products with the inputs plus the bias.
        weight_h: the columns of the weight that act on the state, stacked as r, u, candidate.
        h0: the state before the first step.
        mask: which steps belong to a sequence; elsewhere the state stays and the gates are written as zero.

    Returns:
        The state after each step, and the gates r, z, c, all float32.
    """
    plan = _plan_of(weight_h, h0)
    states, r, z, c = torch.empty((4, *pre.shape[:2], h0.shape[-1]), device=h0.device)
    _launch(plan, "gru_forward", (pre.float(), weight_h, h0.float(), mask), (states, r, z, c), 2)
    return states, (r, z, c)


def scan_backward(
    grad_states: Float[Tensor, "time batch hidden"],
    weight_h: Float[Tensor, "gates hidden"],
    h0: Float[Tensor, "batch hidden"],
    states: Float[Tensor, "time batch hidden"],
    gates: Sequence[Float[Tensor, "time batch hidden"]],
    mask: Bool[Tensor, "time batch"] | None = None,
) -> tuple[Float[Tensor, "time batch gates"], Float[Tensor, "batch hidden"]]:
    """Run the derivative's loop over time, from the last step to the first.

    Args:
        grad_states: the derivative by the state after each step.
        weight_h: as in `scan_forward`.
        h0: as in `scan_forward`.
        states: what `scan_forward` returned.
        gates: what `scan_forward` returned.
        mask: as in `scan_forward`.

    Returns:
        The derivatives by `pre` and by `h0`, float32.
    """
    plan = _plan_of(weight_h, h0)
    grad_pre = torch.empty((*states.shape[:2], 3 * states.shape[2]), device=h0.device)
    grad_h0 = torch.empty(h0.shape, device=h0.device)
    inputs = (grad_states.float(), weight_h, h0.float(), mask, states, *gates)
    _launch(plan, "gru_backward", inputs, (grad_pre, grad_h0), 3)
    return grad_pre, grad_h0


def _launch(
    plan: Plan | None, name: str, inputs: Sequence[Tensor | None], outputs: Sequence[Tensor], operands: int
) -> None:
    """Run a kernel over all steps, with memory in which its blocks exchange operands, each word written once.

    Args:
        plan: how the scan is cut.
        name: of the kernel.
        inputs: its inputs.
        outputs: what it writes; the first is [time, batch, ...].
        operands: how many it exchanges at each step.
    """
    device, (time, batch) = outputs[0].device, outputs[0].shape[:2]
    kernels = None if plan is None else _kernels(plan, device.index)
    if plan is None or kernels is None:
        raise ArgumentError(
            f"`h0` must be on a CUDA device, with `weight_h` small enough for its chip, got a state of "
            f"{outputs[-1].shape[-1]} components on {device}: ask `available` first, or use `gru_scan`."
        )
    rows = -(-batch // plan.rows) * plan.rows
    with torch.cuda.device(device):
        exchange = torch.full((time, operands, rows, plan.words), -1, dtype=torch.int32, device=device)
        given = [None if part is None else part.contiguous() for part in inputs]
        arguments = (*given, *outputs, exchange, time, batch)
        kernels[name].launch(plan.groups * plan.parts, 32 * plan.warps, arguments, cooperative=True)


def _kernels(plan: Plan, device: int) -> dict[str, nvrtc.Kernel] | None:
    """Compile both kernels; the number of groups does not matter."""
    fields = ("hidden", "mode", "rows", "cols", "warps", "buffers")
    macros = tuple((name.upper(), int(getattr(plan, name))) for name in fields)
    return nvrtc.library_or_none("gru.cu", ("gru_forward", "gru_backward"), device, macros, plan.shared_memory)


def _plan_of(weight_h: Tensor, h0: Tensor) -> Plan | None:
    return _plan(*h0.shape, _mode(weight_h.dtype), h0.device.index) if h0.is_cuda else None


@functools.cache
def _plan(batch: int, hidden: int, mode: int, device: int) -> Plan | None:
    properties = torch.cuda.get_device_properties(device)
    if properties.major < 8:
        return None
    shared_memory = int(getattr(properties, "shared_memory_per_block_optin"))  # noqa: B009  (not in torch's stubs)
    return choose(batch, hidden, mode, properties.multi_processor_count, shared_memory)


def _mode(dtype: torch.dtype) -> int:
    if dtype == torch.float32:
        return _TF32 if _tf32_allowed() else _FLOAT32
    return _BFLOAT16 if dtype == torch.bfloat16 else _FLOAT16


def _tf32_allowed() -> bool:
    """Say whether torch may round the factors of float32 products to TF32."""
    try:
        return torch.backends.cuda.matmul.allow_tf32
    except RuntimeError:  # the user set it by the newer name, and torch refuses to answer to the older one
        return bool(torch.backends.cuda.matmul.fp32_precision == "tf32")
