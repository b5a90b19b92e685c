"""Run tests as on another CPU: `PYTHONPATH=tests pytest -p other_cpu` moves results by their last bit.

Products, sums and transcendental functions come out otherwise on other processors. Here each result moves by -1, 0 or 1
unit in the last place, as a function of the operation, the shapes and the place in the result: the same operation on
the same shapes gives the same bits again, and a slice or a stack gives others. What is exact in any order stays:
results of numbers with few bits, such as small integers, products with unit vectors, single products and sums of two.
A test that fails here and not without compares different operations bit for bit, or with a tolerance of a bit or two.
Processes that a test starts are not changed.
"""

import zlib

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

SHAPED = set(
    "mm addmm bmm baddbmm addbmm mv addmv dot convolution convolution_backward mkldnn_convolution avg_pool2d "
    "_adaptive_avg_pool2d sum mean var std var_mean norm linalg_vector_norm cumsum prod logsumexp _softmax "
    "_log_softmax _softmax_backward_data _log_softmax_backward_data native_batch_norm _native_batch_norm_legit "
    "_batch_norm_with_update native_batch_norm_backward native_layer_norm _linalg_eigh _linalg_svd _linalg_solve_ex "
    "linalg_lstsq".split()
)
"""Operations whose kernels are chosen by the shapes."""
POINTWISE = set("exp log tanh sigmoid sin cos erf expm1 log1p softplus log_sigmoid_forward".split())
"""Operations that give equal results for equal inputs, whatever the shape."""
LOW_BITS = {torch.float32: (torch.int32, 2**12 - 1), torch.float64: (torch.int64, 2**40 - 1)}


class OtherCPU(TorchDispatchMode):
    """While it is entered, every inexact result differs from this CPU's in the last bit."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        outputs = func(*args, **(kwargs or {}))
        name = func._schema.name.removeprefix("aten::").rstrip("_")
        if name in SHAPED or name in POINTWISE:
            with torch._C._DisableTorchDispatch(), torch.no_grad():
                inputs = [t for t in tree_leaves(args) if isinstance(t, torch.Tensor)]
                exact = name in SHAPED and _is_exact(name, inputs, outputs)
                shapes = [tuple(t.shape) for t in inputs] if name in SHAPED else None
                for tensor in [] if exact else tree_leaves(outputs):
                    if isinstance(tensor, torch.Tensor) and tensor.dtype in LOW_BITS and tensor.device.type == "cpu":
                        tensor.copy_(_nudged(tensor, zlib.crc32(repr((name, shapes)).encode()), name in POINTWISE))
        return outputs


def _is_exact(name, inputs, outputs):
    """Say whether every CPU computes the same, in whatever order it adds."""
    if name in ("sum", "mean") and inputs[0].numel() <= 2 * outputs.numel():
        return True
    if name in ("mm", "mv", "dot") and inputs[0].shape[-1] == 1:
        return True
    return all(map(_few_bits, inputs)) or any(map(_units, inputs))


def _few_bits(tensor):
    if tensor.dtype not in LOW_BITS or tensor.device.type != "cpu":
        return True
    kind, mask = LOW_BITS[tensor.dtype]
    return bool((tensor.contiguous().view(kind) & mask == 0).all())


def _units(tensor):
    """Say whether a matrix has at most one 1 in each row, or in each column, and zeros else."""
    if tensor.ndim == 0 or not tensor.is_floating_point() or not ((tensor == 0) | (tensor == 1)).all():
        return False
    return any(bool((tensor.sum(axis) <= 1).all()) for axis in {-1, max(-2, -tensor.ndim)})


def _nudged(tensor, salt, by_value):
    kind, mask = LOW_BITS[tensor.dtype]
    bits = tensor.contiguous().view(kind)
    place = bits.long() if by_value else torch.arange(tensor.numel()).reshape(tensor.shape)
    mixed = place * 2654435761 + (salt & 0xFFFF) * 40503
    mixed = ((mixed ^ (mixed >> 15)) * 2246822519) & 0x7FFFFFFF
    moved = bits + ((mixed >> 13) % 3 - 1).to(kind)
    return torch.where((bits & mask == 0) | ~tensor.isfinite(), bits, moved).view(tensor.dtype)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Run every test within the mode."""
    with OtherCPU():
        return (yield)
