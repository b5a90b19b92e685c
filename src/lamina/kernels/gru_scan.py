r"""The notes' GRU along a whole sequence, fast: one matrix product for all inputs, a backward pass derived by hand.

`functional.recurrent.unroll` with `gru_step` is the specification and stays the readable form; what is here gives the
same numbers in less time. The two loops over time run on the chip by `gru_cuda` where the caller says so, else as the
torch operations below. Time is the first axis inside.

Forward, with $x^{<t>} = W_{\cdot u} u^{<t>} + b$ made for all times at once and $W_r, W_u, W_c$ the columns that act on
the state:
$$r = \sigma(x_r + W_r h), \quad z = \sigma(x_u + W_u h), \quad c = \tanh(x_c + W_c (r \odot h)), \quad
h' = h + z \odot (c - h)$$

Backward, from the last step to the first, with $\bar a$ the derivative of the loss by a and $\bar h'$ what arrives from
the output and from the step after:
$$\bar x_c = \bar h' \odot z \odot (1 - c^2), \quad \bar x_u = \bar h' \odot (c - h) \odot z \odot (1 - z), \quad
d = W_c^T \bar x_c, \quad \bar x_r = d \odot h \odot r \odot (1 - r)$$
$$\bar h = \bar h' \odot (1 - z) + d \odot r + W_r^T \bar x_r + W_u^T \bar x_u$$
The factors that do not depend on $\bar h'$ are made for all times before the loop, and the derivatives of the weights
after it: $\bar W_{r,u} = \sum_t \bar x_{r,u} h^T$, $\bar W_c = \sum_t \bar x_c (r \odot h)^T$,
$\bar W_{\cdot u} = \sum_t \bar x u^T$, each sum one matrix product.

A step beyond the end of a sequence gets $x_u = -\infty$, so z = 0: the state stays, and its derivatives vanish, without
a mask in either loop.
"""

from typing import Any

import torch

from lamina._errors import ShapeError
from lamina._types import Bool, Float, Tensor
from lamina.kernels import gru_cuda

Gates = tuple[Tensor, ...]
"""The reset gate r, the update gate z and the candidate c at all times, each [time, batch, hidden]."""


def gru_scan(
    inputs: Float[Tensor, "time batch feature"],
    state: Float[Tensor, "..."],
    weight: Float[Tensor, "gates columns"],
    bias: Float[Tensor, " gates"],
    mask: Bool[Tensor, "time batch"] | None = None,
    reverse: bool = False,
    on_chip: bool = False,
) -> tuple[Float[Tensor, "time batch hidden"], Float[Tensor, "batch hidden"]]:
    r"""Run the notes' gated recurrent unit along sequences, as `unroll` of `gru_step` does, with time first.

    $$h^{<t>} = \mathrm{gru\_step}(u^{<t>}, h^{<t-1>}), \quad t = 1, \dots, T$$
    Under autocast, and for weights of 16 bits, products have 16 bits and the state has 32.

    Notes: N5.32, N5.33 (§5.2.1).
    Differs: torch.nn.GRU resets after the recurrent product; see `gru_step`.

    Args:
        inputs: the sequences, padded to a common number of steps.
        state: the state before the first step.
        weight: three matrices for [h; u], stacked as r, u, candidate.
        bias: three biases, stacked.
        mask: which steps belong to a sequence; elsewhere the state stays, the output is zero and the input not read.
        reverse: run from the last step to the first.
        on_chip: whether the loops run by `gru_cuda`, which must be `available`.

    Returns:
        The state after each step, in the order of `inputs`, and the last state computed.

    >>> u, h = torch.tensor([[[0.3]], [[0.7]]]), torch.tensor([[0.5]])
    >>> half = torch.tensor([0.0, 0.0, 1000.0])  # both gates are 1/2 and the candidate is 1
    >>> outputs, end = gru_scan(u, h, torch.zeros(3, 2), half)
    >>> outputs.flatten().tolist(), end.item()
    ([0.75, 0.875], 0.875)
    """
    _check(inputs, state, weight)
    if mask is not None:
        inputs = torch.where(mask[..., None], inputs, 0.0)
    low = product_dtype(inputs, weight)
    u, h = inputs.to(low) if low != weight.dtype else inputs, state.to(torch.promote_types(low, torch.float32))
    turned = reverse and on_chip  # a kernel runs forward only; there a copy is cheap
    steps = mask.flip(0) if turned and mask is not None else mask
    u = u.flip(0) if turned else u.contiguous()
    outputs, end = _Scan.apply(u, h, weight, bias, steps, reverse and not turned, low, on_chip)
    outputs, end = (outputs.flip(0) if turned else outputs).to(weight.dtype), end.to(weight.dtype)
    return outputs if mask is None else torch.where(mask[..., None], outputs, 0.0), end


def scan_forward(
    pre: Float[Tensor, "time batch gates"],
    weight_h: Float[Tensor, "gates hidden"],
    h0: Float[Tensor, "batch hidden"],
    reverse: bool = False,
) -> tuple[Float[Tensor, "time batch hidden"], Gates]:
    r"""Run the loop over time, two dependent products a step.

    Notes: N5.32 (§5.2.1).

    Args:
        pre: the products with the inputs plus the bias; overwritten by the gates.
        weight_h: the columns of the weight that act on the state; of 16 bits for products of 16 bits.
        h0: the state before the first step.
        reverse: run from the last step to the first.

    Returns:
        The states after each step, and r, z, c, which are views of `pre`.

    >>> states, (r, z, c) = scan_forward(torch.zeros(2, 1, 3), torch.zeros(3, 1), torch.ones(1, 1))
    >>> states.flatten().tolist(), r.flatten().tolist(), c.flatten().tolist()
    ([0.5, 0.25], [0.5, 0.5], [0.0, 0.0])
    """
    n = h0.shape[-1]
    W_gates, W_c = weight_h[: 2 * n].T.contiguous(), weight_h[2 * n :].T.contiguous()
    r, z, c = pre.split(n, -1)
    states, rh, h = h0.new_empty(r.shape), torch.empty_like(h0), h0
    steps = zip(*(part.unbind() for part in (pre[..., : 2 * n], r, z, c, states)), strict=True)
    for gates, r_t, z_t, c_t, h_next in list(steps)[:: -1 if reverse else 1]:
        _add_product_(gates, h, W_gates).sigmoid_()
        torch.mul(r_t, h, out=rh)
        _add_product_(c_t, rh, W_c).tanh_()
        h = torch.lerp(h, c_t, z_t, out=h_next)
    return states, (r, z, c)


def scan_backward(
    grad_states: Float[Tensor, "time batch hidden"],
    weight_h: Float[Tensor, "gates hidden"],
    h0: Float[Tensor, "batch hidden"],
    states: Float[Tensor, "time batch hidden"],
    gates: Gates,
    reverse: bool = False,
) -> tuple[Float[Tensor, "time batch gates"], Float[Tensor, "batch hidden"]]:
    r"""Run the derivative's loop over time, from the last step to the first, two dependent products a step.

    Notes: N5.32 (§5.2.1).

    Args:
        grad_states: the derivative by the state after each step.
        weight_h: as in `scan_forward`.
        h0: the state before the first step.
        states: what `scan_forward` returned.
        gates: r, z, c, what `scan_forward` returned.
        reverse: as in `scan_forward`.

    Returns:
        The derivatives by `pre` and by `h0`.

    >>> h0, gates = torch.ones(1, 1), (torch.tensor([[[0.5]]]), torch.tensor([[[0.5]]]), torch.tensor([[[0.0]]]))
    >>> scan_backward(torch.ones(1, 1, 1), torch.zeros(3, 1), h0, 0.5 * h0[None], gates)
    (tensor([[[ 0.0000, -0.2500,  0.5000]]]), tensor([[0.5000]]))
    """
    n, (r, z, c) = h0.shape[-1], gates
    W_gates, W_c = weight_h[: 2 * n].contiguous(), weight_h[2 * n :].contiguous()
    grad_pre = h0.new_empty((*r.shape[:-1], 3 * n))
    grad_r, grad_z, grad_c = grad_pre.split(n, -1)
    for at, h in _previous(h0, states, reverse):
        torch.ops.aten.sigmoid_backward.grad_input(h, r[at], grad_input=grad_r[at])
        torch.sub(c[at], h, out=grad_z[at])
    torch.ops.aten.sigmoid_backward.grad_input(grad_z, z, grad_input=grad_z)
    torch.ops.aten.tanh_backward.grad_input(z, c, grad_input=grad_c)
    backward = slice(None, None, 1 if reverse else -1)
    parts = (grad_r, grad_z, grad_c, grad_pre[..., : 2 * n], r, 1 - z)
    steps = zip(*(part.unbind()[backward] for part in parts), strict=True)
    arriving = [*grad_states.unbind()[backward], torch.zeros_like(h0)]
    d, dh_next, dh = torch.empty_like(h0), torch.empty_like(h0), torch.empty_like(h0)
    dh.copy_(arriving[0])
    for (x_r, x_z, x_c, x_gates, r_t, kept), arrives in zip(steps, arriving[1:], strict=True):
        x_z.mul_(dh)
        x_c.mul_(dh)
        _product(x_c, W_c, out=d)
        x_r.mul_(d)
        torch.addcmul(arrives, dh, kept, out=dh_next)
        _add_product_(dh_next.addcmul_(d, r_t), x_gates, W_gates)
        dh, dh_next = dh_next, dh
    return grad_pre, dh


class _Scan(torch.autograd.Function):
    """The whole sequence as one operation: products for all times outside, the loops on the chip or by torch."""

    @staticmethod
    def forward(
        ctx: Any,
        inputs: Tensor,
        state: Tensor,
        weight: Tensor,
        bias: Tensor,
        mask: Tensor | None,
        reverse: bool,
        low: torch.dtype,
        on_chip: bool,
    ) -> tuple[Tensor, Tensor]:
        (T, B, _), n = inputs.shape, state.shape[-1]
        ctx.set_materialize_grads(False)
        with torch.autocast(inputs.device.type, enabled=False):
            W = weight.to(low)
            u, W_u = inputs.flatten(0, 1), W[:, n:].T
            pre = torch.addmm(bias, u, W_u) if low == state.dtype else torch.mm(u, W_u) + bias.to(state.dtype)
            pre = pre.view(T, B, 3 * n)
            if mask is not None:
                pre[..., n : 2 * n].masked_fill_(~mask[..., None], -torch.inf)
            if on_chip:
                states, gates = gru_cuda.scan_forward(pre, W[:, :n], state)
            else:
                states, gates = scan_forward(pre, W[:, :n], state, reverse)
        ctx.save_for_backward(inputs, state, weight, bias, mask, states, *gates)
        ctx.reverse, ctx.low, ctx.on_chip = reverse, low, on_chip
        return states, states[0 if reverse else -1].clone()

    @staticmethod
    def backward(ctx: Any, grad_states: Tensor | None, grad_end: Tensor | None) -> tuple[Tensor | None, ...]:
        (inputs, state, weight, bias, _, states), gates = ctx.saved_tensors[:6], ctx.saved_tensors[6:]
        if torch.is_grad_enabled():  # derivatives of derivatives are asked for
            return (*_differentiable_backward(ctx, grad_states, grad_end), None, None, None, None)
        wanted, reverse, low, n = ctx.needs_input_grad, ctx.reverse, ctx.low, state.shape[-1]
        arriving = torch.zeros_like(states) if grad_states is None else grad_states
        if grad_end is not None:
            arriving = arriving if grad_states is None else arriving.clone()
            arriving[0 if reverse else -1] += grad_end
        with torch.autocast(inputs.device.type, enabled=False):
            W, r = weight.to(low), gates[0]
            if ctx.on_chip:
                grad_pre, grad_h0 = gru_cuda.scan_backward(arriving, W[:, :n], state, states, gates)
            else:
                grad_pre, grad_h0 = scan_backward(arriving, W[:, :n], state, states, gates, reverse)
            x = grad_pre.to(low)
            grad_inputs = (x.flatten(0, 1) @ W[:, n:]).view_as(inputs) if wanted[0] else None
            grad_weight = _grad_weight(x, inputs, state, states, r, reverse).to(weight.dtype) if wanted[2] else None
            grad_bias = grad_pre.sum((0, 1)).to(bias.dtype) if wanted[3] else None
        return grad_inputs, grad_h0 if wanted[1] else None, grad_weight, grad_bias, None, None, None, None


def _grad_weight(x: Tensor, inputs: Tensor, h0: Tensor, states: Tensor, r: Tensor, reverse: bool) -> Tensor:
    """Return the derivative by the weight from x, the one by the products, in one product over all times a block."""
    n, low = h0.shape[-1], x.dtype
    grad = x.new_empty((3 * n, n + inputs.shape[-1]))
    torch.mm(x.flatten(0, 1).T, inputs.flatten(0, 1), out=grad[:, n:])
    (rest, h), (first, start) = _previous(h0, states, reverse)
    for rows, factor in ((slice(0, 2 * n), None), (slice(2 * n, None), r)):
        h_rest, h_first = (h, start) if factor is None else (factor[rest] * h, factor[first] * start)
        torch.mm(x[rest, :, rows].flatten(0, 1).T, h_rest.to(low).flatten(0, 1), out=grad[rows, :n])
        grad[rows, :n].addmm_(x[first, :, rows].flatten(0, 1).T, h_first.to(low).flatten(0, 1))
    return grad


def _previous(h0: Tensor, states: Tensor, reverse: bool) -> tuple[tuple[slice, Tensor], tuple[slice, Tensor]]:
    """Pair times with the state before each, without a copy: all steps but the first, then the first."""
    if reverse:
        return (slice(0, -1), states[1:]), (slice(-1, None), h0[None])
    return (slice(1, None), states[:-1]), (slice(0, 1), h0[None])


def _product(a: Tensor, W: Tensor, out: Tensor) -> None:
    """Write a W to `out`, in the precision of W."""
    if a.dtype == W.dtype:
        torch.mm(a, W, out=out)
    else:
        out.copy_(a.to(W.dtype) @ W)


def _add_product_(out: Tensor, a: Tensor, W: Tensor) -> Tensor:
    """Add a W to `out`, the product in the precision of W."""
    return out.addmm_(a, W) if a.dtype == W.dtype else out.add_(a.to(W.dtype) @ W)


def _differentiable(
    u: Tensor, h: Tensor, W: Tensor, b: Tensor, mask: Tensor | None, reverse: bool, low: torch.dtype
) -> tuple[Tensor, Tensor]:
    """Compute the states and the last one by operations whose derivatives torch can differentiate again."""
    n, states = h.shape[-1], []

    def product(a: Tensor, M: Tensor) -> Tensor:
        return (a.to(low) @ M.to(low).T).to(h.dtype)

    x = product(u, W[:, n:]) + b.to(h.dtype)
    for t in range(len(u))[:: -1 if reverse else 1]:
        r, z = torch.sigmoid(x[t, :, : 2 * n] + product(h, W[: 2 * n, :n])).chunk(2, -1)
        c = torch.tanh(x[t, :, 2 * n :] + product(r * h, W[2 * n :, :n]))
        new = h + z * (c - h)
        h = new if mask is None else torch.where(mask[t, :, None], new, h)
        states.append(h)
    return torch.stack(states[:: -1 if reverse else 1]), h


def _differentiable_backward(ctx: Any, grad_states: Tensor | None, grad_end: Tensor | None) -> list[Tensor | None]:
    """Compute the derivatives so that they can be differentiated again."""
    u, h, W, b, mask = ctx.saved_tensors[:5]
    wanted = [part for part, needed in zip((u, h, W, b), ctx.needs_input_grad, strict=False) if needed]
    pairs = zip(_differentiable(u, h, W, b, mask, ctx.reverse, ctx.low), (grad_states, grad_end), strict=True)
    outputs, grads = zip(*[(output, grad) for output, grad in pairs if grad is not None], strict=True)
    found = iter(torch.autograd.grad(outputs, wanted, grads, create_graph=True, allow_unused=True))
    return [next(found) if needed else None for needed in ctx.needs_input_grad[:4]]


def product_dtype(inputs: Tensor, weight: Tensor) -> torch.dtype:
    """Return the precision of the products: autocast's, else the weight's.

    >>> product_dtype(torch.zeros(1), torch.zeros(1))
    torch.float32
    """
    kind = inputs.device.type
    if torch.is_autocast_enabled(kind) and weight.dtype == torch.float32:
        return torch.get_autocast_dtype(kind)
    return weight.dtype


def _check(inputs: Tensor, state: Tensor, weight: Tensor) -> None:
    """Raise unless the sizes fit, with time first."""
    expected = (inputs.shape[1], weight.shape[0] // 3)
    if inputs.shape[0] < 1 or tuple(state.shape) != expected or weight.shape[1] != expected[1] + inputs.shape[2]:
        raise ShapeError(
            f"`inputs` [time, batch, feature], `state` [batch, hidden] and `weight` [3 * hidden, hidden + feature] "
            f"must fit, with time at least 1, got {list(inputs.shape)}, {list(state.shape)} and "
            f"{list(weight.shape)}: put time first."
        )
