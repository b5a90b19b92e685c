"""Which layers a kernel may serve, and when: the one place in `layers` that knows of kernels.

A readable function or method names its fast form above its head, `@served_by(...)`, and says no more about it. The fast
form takes the same arguments and returns None where no kernel fits, or where somebody looks at values in between.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import torch
from torch import nn
from torch.autograd import forward_ad
from torch.nn.modules.module import _has_any_global_hook

from lamina._types import Bool, Float, Tensor
from lamina.functional.recurrent import State, hidden
from lamina.kernels import bottleneck, gru_cuda, norm, torch_recurrent
from lamina.kernels.gru_scan import gru_scan, product_dtype
from lamina.layers.cells import Cell, GRUCell, LSTMCell, RNNCell

Readable = TypeVar("Readable", bound=Callable[..., Any])


def served_by(fast: Callable[..., Any]) -> Callable[[Readable], Readable]:
    """Let a fast form answer in place of the readable one, wherever it does not answer None.

    >>> @served_by(lambda x: x + x if x > 9 else None)
    ... def double(x):
    ...     return 2 * x
    >>> double(3), double(10)
    (6, 20)
    """

    def decorate(readable: Readable) -> Readable:
        @functools.wraps(readable)
        def either(*args: Any, **kwargs: Any) -> Any:
            found = fast(*args, **kwargs)
            return readable(*args, **kwargs) if found is None else found

        return cast(Readable, either)

    return decorate


def follows_operations() -> bool:
    """Say whether something follows each operation, so that a fused path with its own derivative would break it.

    True under `torch.compile`, `torch.export`, `torch.jit.trace`, the transforms of `torch.func` and forward-mode
    differentiation.

    >>> follows_operations(), torch.func.vmap(lambda x: x + follows_operations())(torch.zeros(2)).tolist()
    (False, [1.0, 1.0])
    """
    if torch.compiler.is_compiling() or torch._C._get_tracing_state() is not None:
        return True
    if torch._C._are_functorch_transforms_active():
        return True
    return bool(forward_ad._current_level >= 0)


def unobserved(*modules: nn.Module) -> bool:
    """Say whether calls of modules are only their computation: no hook, and nothing that follows operations.

    >>> unobserved(nn.ReLU())
    True
    """
    hooks = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    if follows_operations() or _has_any_global_hook():
        return False
    return not any(getattr(module, name) for module in modules for name in hooks)


def norm_relu(
    module: nn.Module, inputs: Tensor, residual: Tensor | None = None, relu: bool = True
) -> Float[Tensor, "batch channel height width"] | None:
    """Normalize, add a residual and rectify in one operation; see `layers.normalization.norm_relu`."""
    if not _norm_fits(module, inputs) or (residual is not None and residual.dtype != inputs.dtype):
        return _rectified_in_place(module, inputs, residual) if relu else None
    return norm.batch_norm_relu(inputs, _norm_values(module), residual, relu)


def _rectified_in_place(module: nn.Module, inputs: Tensor, residual: Tensor | None) -> Tensor | None:
    """Normalize on a CPU and rectify where the values lie, which nobody needs as they were; the bits are the same."""
    known = type(module) is nn.BatchNorm2d and "forward" not in vars(module)
    if inputs.device.type != "cpu" or not known or not unobserved(module):
        return None
    y: Tensor = module(inputs)
    return (y if residual is None else residual + y).relu_()


def norm_relu_and_skip(module: nn.Module, inputs: Tensor) -> tuple[Tensor, Tensor] | None:
    """Add the gradients of both results in one pass; see `layers.normalization.norm_relu_and_skip`."""
    if _norm_fits(module, inputs):
        return norm.batch_norm_relu_and_skip(inputs, _norm_values(module))
    active = _rectified_in_place(module, inputs, None)
    return None if active is None else (active, inputs)


def normalized(module: nn.Module, inputs: Tensor) -> Tensor | None:
    """Normalize; see `layers.normalization.normalized`."""
    return norm_relu(module, inputs, relu=False)


def _norm_fits(module: nn.Module, inputs: Tensor) -> bool:
    """Say whether the kernels may stand in for the call of a normalization."""
    return (
        norm.kernels_apply(inputs)
        and type(module) is nn.BatchNorm2d
        and "forward" not in vars(module)  # looks at more than it is given
        and module.training
        and module.affine
        and module.momentum is not None
        and inputs.numel() > inputs.shape[1]
        and unobserved(module)
    )


def _norm_values(module: Any) -> norm.Values:
    """Return weight, bias, running statistics, momentum and eps of an `nn.BatchNorm2d`."""
    running = module.running_mean, module.running_var, module.num_batches_tracked
    return module.weight, module.bias, running if module.track_running_stats else None, module.momentum, module.eps


def preact_bottleneck(block: Any, inputs: Tensor) -> Float[Tensor, "batch channel height width"] | None:
    """Run a whole `PreActBottleneck` as one operation: in bfloat16, with the identity as shortcut."""
    if not norm.kernels_apply(inputs) or not torch.is_autocast_enabled(inputs.device.type):
        return None
    norms, convolutions = (block.bn1, block.bn2, block.bn3), (block.conv1, block.conv2, block.conv3)
    weights = [part.weight for part in convolutions]
    fits = (
        isinstance(block.downsample, nn.Identity)
        and _norm_fits(block.bn1, inputs)
        and unobserved(*norms, *convolutions, block.downsample)
        and bottleneck.block_kernels_apply(inputs, weights)
        and all(part.training for part in norms)
    )
    return bottleneck.bottleneck(inputs, [_norm_values(part) for part in norms], weights) if fits else None


def recurrent_layer(
    network: Any,
    cells: Sequence[nn.Module],
    inputs: Float[Tensor, "batch time feature"],
    starts: Sequence[State],
    mask: Bool[Tensor, "batch time"] | None = None,
) -> tuple[Float[Tensor, "batch time outputs"], list[State]] | None:
    """Run one layer of a `Recurrent` along a sequence, as its `run_layer` does.

    The notes' GRU runs by `kernels.gru_scan`; the other cells are torch's own formulas and run by its kernels. None
    where no kernel fits: another activation, a hook on a cell, `vmap`, `torch.compile`, forward-mode derivatives, a
    precision that the CPU lacks, a single step without derivatives on a CPU, where the kernels' copy of all weights
    costs more than the step.
    """
    if not network.fast or inputs.numel() == 0 or not unobserved(*cells) or not all(map(_has_kernel, cells)):
        return None
    if inputs.shape[1] == 1 and inputs.device.type == "cpu" and not torch.is_grad_enabled():
        return None
    if isinstance(cells[0], GRUCell) and cells[0].reset == "before":
        return _scans(cast(Sequence[GRUCell], cells), inputs, starts, mask)
    if isinstance(cells[0], LSTMCell) and inputs.device.type == "cpu" and torch.is_autocast_enabled("cpu"):
        if not torch_recurrent.has_lstm(torch.get_autocast_dtype("cpu")):
            return None
    first: Any = cells[0]
    kind = "lstm" if isinstance(first, LSTMCell) else "gru"
    kind = f"rnn_{first.activation.name}" if isinstance(first, RNNCell) else kind
    rows = [torch_rows(cell) for cell in cast(Sequence[Cell], cells)]
    return torch_recurrent.run_layer(kind, rows, inputs, starts, mask)


def _has_kernel(cell: nn.Module) -> bool:
    plain = isinstance(cell, RNNCell) and cell.activation.name in ("tanh", "relu")
    return plain or isinstance(cell, (GRUCell, LSTMCell))


def _scans(
    cells: Sequence[GRUCell], inputs: Tensor, starts: Sequence[State], mask: Tensor | None
) -> tuple[Tensor, list[State]]:
    """Run the notes' GRU in each direction, with time first from layer to layer."""
    steps, u = None if mask is None else mask.T, inputs.transpose(0, 1)
    dtype, shape = product_dtype(inputs, cells[0].weight), hidden(starts[0]).shape
    on_chip = inputs.is_cuda and gru_cuda.available(dtype, *shape)
    found = [
        gru_scan(u, hidden(start), cell.weight, cell.bias, steps, reverse=place == 1, on_chip=on_chip)
        for place, (cell, start) in enumerate(zip(cells, starts, strict=True))
    ]
    outputs = found[0][0] if len(found) == 1 else torch.cat([states for states, _ in found], -1)
    return outputs.transpose(0, 1), [end for _, end in found]


def torch_rows(cell: Cell) -> tuple[Tensor, Tensor, Tensor]:
    """Reorder our rows into torch's, the inverse of `layers.torch_weights`; our one bias becomes (bias, 0)."""
    W, b = cell.weight, cell.bias
    if isinstance(cell, LSTMCell):
        order = (1, 0, 3, 2)  # f, i, o, c to i, f, c, o
        Ws, bs = W.chunk(4), b.chunk(4)
        return torch.cat([Ws[k] for k in order]), torch.cat([bs[k] for k in order]), torch.zeros_like(b)
    if isinstance(cell, GRUCell):
        # 1 - sigmoid(x) = sigmoid(-x): torch's gate keeps where the notes' gate writes.
        (W_r, W_u, W_c), (b_r, b_u, b_c) = W.chunk(3), b.chunk(3)
        b_h = torch.zeros_like(b_c) if cell.hidden_bias is None else cell.hidden_bias
        zero = torch.zeros_like(b_c)
        return torch.cat([W_r, -W_u, W_c]), torch.cat([b_r, -b_u, b_c]), torch.cat([zero, zero, b_h])
    return W, b, torch.zeros_like(b)
