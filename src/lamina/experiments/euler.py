"""Residual networks as steps in time (§4 of the notes)."""

from itertools import pairwise
from typing import Any, cast

import torch

from lamina._errors import choice
from lamina._types import Float, Tensor
from lamina.architectures.build import build
from lamina.architectures.dense_resnet import DenseResNet
from lamina.experiments.result import Claim, Plot, Result, _mean_and_spread, experiment, geometric_mean, quotients
from lamina.functional.activations import get_activation
from lamina.functional.ode import integrate, layer_dynamics
from lamina.functional.random import as_generator
from lamina.layers.dense_blocks import DenseOriginalBlock, DensePreActBlock

F64 = torch.float64


@experiment("N4.15")
def euler_order(seeds: range = range(5), depths: tuple[int, ...] = (8, 16, 32, 64, 128), width: int = 8) -> Result:
    r"""Read residual networks of step size 1/L as explicit Euler for $y' = \sigma(W y + b)$ on [0, 1].

    W and b are the same in all layers. Errors are distances to a solution by 512 steps of fourth order, relative to
    its size, geometric means over the seeds; "ratio" is the error before divided by this one. Of first order means
    that half the step size leaves half the error.

    Notes: N4.15, N4.16 (§4).
    Corrects: E57, explicit Euler is of first order.

    Args:
        seeds: weights, biases and inputs.
        depths: numbers L of layers, each the double of the one before.
        width: the size of a state.
    """
    euler: dict[int, list[float]] = {depth: [] for depth in depths}
    fourth: dict[int, list[float]] = {depth: [] for depth in depths}
    apart = dict.fromkeys(depths, 0.0)
    sigma = get_activation("tanh")
    for seed in seeds:
        g = as_generator(seed)
        weight, bias, u = (
            torch.randn(*shape, generator=g, dtype=F64) for shape in ((width, width), (width,), (16, width))
        )
        f = layer_dynamics(weight[None], bias[None], sigma)
        exact = integrate(f, u, 512, method="rk4")
        for depth in depths:
            y, other = integrate(f, u, depth), integrate(f, u, depth, method="rk4")
            network = _chain(weight, bias, depth)
            apart[depth] = max(apart[depth], (network(u) - y).abs().max().item())
            euler[depth].append(((y - exact).norm() / exact.norm()).item())
            fourth[depth].append(((other - exact).norm() / exact.norm()).item())
    errors = [geometric_mean(each) for each in euler.values()]
    ratios = [float("nan"), *(before / after for before, after in pairwise(errors))]
    rows = tuple(
        (depth, error, ratio, geometric_mean(fourth[depth]), apart[depth])
        for depth, error, ratio in zip(depths, errors, ratios, strict=True)
    )
    return Result(
        f"residual networks of L layers as Euler's method, tanh, width {width}, {len(seeds)} seeds",
        ("L", "error", "ratio", "error of order 4", "network apart"),
        rows,
        Claim("the network with step size 1/L is explicit Euler, to 1e-12", max(apart.values()) < 1e-12),
        *(Claim.on_average(f"its error halves with the step size: error(L = {a}) / error(L = {b})",
                           quotients(euler[a], euler[b]), least=1.8, most=2.1)
          for a, b in pairwise(depths)),
        Claim.often("a method of fourth order has less than a hundredth of the error with as many steps",
                    [y < 0.01 * x for depth in depths for x, y in zip(euler[depth], fourth[depth], strict=True)]),
        plot=Plot("L", ("error", "error of order 4"), log_x=True, log_y=True, y_label="relative error"),
    )  # fmt: skip


def _chain(weight: Tensor, bias: Tensor, depth: int) -> torch.nn.Module:
    """Make a residual network of L layers with the same weights and the step size 1/L, without its read-out."""
    width = len(bias)
    network = build(
        "dense-resnet", inputs=width, outputs=1, hidden=(width,) * depth, activation="tanh", step_size="1/L"
    )
    for layer in cast(DenseResNet, network.double()).layers:
        cast(torch.nn.Linear, layer.affine).load_state_dict({"weight": weight, "bias": bias})
    return cast(DenseResNet, network).layers


@experiment("N4.21")
def blocks_as_steps(seeds: range = range(5), step_sizes: tuple[float, ...] = (1.0, 0.1, 0.01, 0.001)) -> Result:
    r"""Make the branch of both blocks smaller and smaller, and ask whether the block becomes a step in time.

    A step of $y' = f(y)$ is $F_\tau(y) = y + \tau f(y)$: the difference quotient $(F_\tau(y) - y)/\tau$ is f(y),
    whatever $\tau$. The pre-activation block is of this form. The original block rectifies the sum, so that for
    negative components of y its quotient is $-y/\tau$ and grows without bound. Numbers are root mean squares, means
    over the seeds.

    Notes: N4.21 (§4.1).

    Args:
        seeds: weights and inputs.
        step_sizes: factors tau on the branch, decreasing.
    """
    rows: list[tuple[Any, ...]] = []
    grown = []
    for tau in step_sizes:
        found: dict[str, list[float]] = {"original": [], "preactivation": []}
        apart, least = 0.0, 0.0
        for seed in seeds:
            y = torch.randn(64, 16, generator=as_generator(seed), dtype=F64)
            for kind in found:
                quotient, other = ((damped_block(kind, y, size, seed) - y) / size for size in (tau, 1.0))
                found[kind].append(quotient.square().mean().sqrt().item())
                if kind == "preactivation":
                    apart = max(apart, (quotient - other).abs().max().item())
                else:
                    least = min(least, (y + tau * quotient).min().item())
        rows.append((tau, *(_mean_and_spread(each)[0] for each in found.values()), apart, least))
    grown = [tau * value for value in found["original"]]
    return Result(
        f"difference quotients of both blocks, dense layers of width 16, {len(seeds)} seeds",
        ("tau", "original", "pre-activation", "pre-activation apart", "least output of original"),
        rows,
        Claim("pre-activation: the quotient does not depend on tau, to 1e-9", all(row[3] < 1e-9 for row in rows)),
        Claim.on_average(
            "original: it grows as 1/tau; tau times the quotient, for the last tau,", grown, least=0.6, most=0.8
        ),
        Claim("since its outputs are never negative", all(row[4] > -1e-12 for row in rows)),
        plot=Plot("tau", ("original", "pre-activation"), log_x=True, log_y=True, y_label="difference quotient"),
    )


@torch.no_grad()
def damped_block(kind: str, inputs: Float[Tensor, "batch feature"], tau: float = 1.0, seed: int = 0) -> Tensor:
    r"""Send vectors through a block of dense layers whose branch is multiplied by $\tau$.

    Notes: N4.19, N4.21, N4.23 (§4.1).

    Args:
        kind: "original" or "preactivation".
        inputs: the vectors.
        tau: the factor on the branch; 0 leaves the skip connection and, in the original block, the last ReLU.
        seed: of the weights.

    >>> y = torch.tensor([[1.0, -2.0], [3.0, 4.0]], dtype=F64)
    >>> [damped_block(kind, y, tau=0.0)[0].tolist() for kind in ("original", "preactivation")]
    [[1.0, 0.0], [1.0, -2.0]]
    """
    choice("kind", kind, ("original", "preactivation"))
    if kind == "original":
        original = DenseOriginalBlock(inputs.shape[1], seed=seed).to(inputs.dtype)
        original.bn2.weight.mul_(tau)
        return cast(Tensor, original(inputs))
    block = DensePreActBlock(inputs.shape[1], seed=seed).to(inputs.dtype)
    block.dense2.weight.mul_(tau)
    return cast(Tensor, block(inputs))
