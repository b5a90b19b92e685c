"""How long a state remembers its first input: gradients that vanish, explode or stay (§5.2 of the notes)."""

import math
from collections.abc import Callable
from itertools import pairwise

import torch

from lamina._types import Tensor
from lamina.experiments.result import Claim, Plot, Result, experiment, geometric_mean
from lamina.functional.initialization import memory_bias
from lamina.functional.recurrent import State, Step, gru_step, hidden, lstm_step, rnn_step
from lamina.inspection.sensitivity import step_sensitivity

HIDDEN, FEATURES = 16, 4


@experiment("N5.26", "N5.31")
def first_input_over_time(seeds: range = range(5), time: int = 30) -> Result:
    r"""Follow the norm of the derivative of the state at time t with respect to the first input, for several cells.

    $$s^{<t>} = \Bigl\lVert \frac{\partial h^{<t>}}{\partial u^{<1>}} \Bigr\rVert_F, \qquad t = 1, \dots, T$$
    Plain cells have random recurrent weights with a given spectral radius, or 1.3 times an orthogonal matrix and no
    activation: that one grows by exactly 1.3 in each step. Gated cells have weights of torch's size. The first input
    is standard normal, the later ones a tenth of that. Numbers are geometric means over the seeds; the last column is
    the factor of one step on average.

    Notes: N5.26, N5.31 (§5.2).
    Corrects: E67, gates keep the gradient only when they start open.

    Args:
        seeds: random weights and inputs.
        time: the number T of steps, at least 8.
    """
    kinds: dict[str, Callable[[torch.Generator], tuple[Step, State]]] = {
        "tanh, radius 0.5": lambda g: plain_cell(0.5, g),
        "tanh, radius 0.9": lambda g: plain_cell(0.9, g),
        "tanh, radius 2.5": lambda g: plain_cell(2.5, g),
        "linear, 1.3 orthogonal": _growing,
        "gru, bias 0": lambda g: _gated("gru", 0.0, g),
        "gru, bias 6": lambda g: _gated("gru", 6.0, g),
        "lstm, bias 0": lambda g: _gated("lstm", 0.0, g),
        "lstm, bias 6": lambda g: _gated("lstm", 6.0, g),
    }
    found: dict[str, list[list[float]]] = {}
    for name, make in kinds.items():
        generators = [torch.Generator().manual_seed(seed) for seed in seeds]
        found[name] = [sensitivities(*make(g), time, g) for g in generators]
    means = {name: [geometric_mean(column) for column in zip(*curves, strict=True)] for name, curves in found.items()}
    rows = tuple(
        (name, *curve[:7], curve[-1], (curve[-1] / curve[0]) ** (1 / (time - 1))) for name, curve in means.items()
    )
    exact = [curve[t] / curve[0] / 1.3**t for curve in found["linear, 1.3 orthogonal"] for t in range(time)]
    opened = [curve for cell in ("gru", "lstm") for curve in found[f"{cell}, bias 6"]]
    closed = [curve for cell in ("gru", "lstm") for curve in found[f"{cell}, bias 0"]]
    return Result(
        f"norm of the derivative of h<t> by u<1>, n_h = {HIDDEN}, {len(seeds)} seeds",
        ("cell", *(f"t={t}" for t in range(1, 8)), f"t={time}", "a step"),
        rows,
        Claim.often(
            f"with spectral radius 0.5 it vanishes: it is below a millionth after {time} steps",
            [curve[-1] < 1e-6 * curve[0] for curve in found["tanh, radius 0.5"]],
        ),
        Claim.on_average(
            "with spectral radius 0.5 the share of steps at which it falls",
            [sum(a > b for a, b in pairwise(curve)) / (time - 1) for curve in found["tanh, radius 0.5"]],
            least=0.9,
        ),
        Claim.often(
            "with radius 2.5 it grows at first: it doubles at least",
            [max(curve) > 2 * curve[0] for curve in found["tanh, radius 2.5"]],
            rate=0.5,
        ),
        Claim.often(
            "with radius 2.5 it explodes: it is more than ten times as large at the end",
            [curve[-1] > 10 * curve[0] for curve in found["tanh, radius 2.5"]],
            rate=0.2,
        ),
        Claim("the linear network grows as 1.3^(t-1), to rounding", all(abs(x - 1) < 1e-12 for x in exact)),
        Claim.often(
            "gated cells with an open memory keep a tenth or more", [curve[-1] > 0.1 * curve[0] for curve in opened]
        ),
        Claim.often(
            "gated cells with zero biases lose it like the plain one, to below a thousandth",
            [curve[-1] < 1e-3 * curve[0] for curve in closed],
        ),
        plot=Plot("cell", ("t=1", "t=7", f"t={time}"), "bars", log_y=True, y_label="norm of the derivative"),
    )


def sensitivities(step: Step, state: State, time: int, generator: torch.Generator) -> list[float]:
    r"""Compute the norms of the derivatives of the states h at times 1 to `time` by the first input.

    Args:
        step: a cell, (inputs, state) to the next state.
        state: before the first step.
        time: how many steps.
        generator: draws the inputs.

    >>> halve = lambda u, h: 0.5 * h + u
    >>> sensitivities(halve, torch.zeros(4, dtype=torch.float64), 3, torch.Generator().manual_seed(0))
    [2.0, 1.0, 0.5]
    """
    inputs = torch.randn(time, FEATURES, generator=generator, dtype=torch.float64)
    scale = inputs.new_tensor([1.0, *[0.1] * (time - 1)])
    start = state[None] if isinstance(state, Tensor) else (state[0][None], state[1][None])
    return step_sensitivity(step, (scale[:, None] * inputs)[None], start).to(1)


def plain_cell(radius: float, generator: torch.Generator) -> tuple[Step, State]:
    """Make a tanh cell whose recurrent weights have a given spectral radius."""
    weight = torch.randn(HIDDEN, HIDDEN, generator=generator, dtype=torch.float64)
    weight = weight * radius / torch.linalg.eigvals(weight).abs().max()
    return _rnn(weight, torch.tanh, generator)


def _growing(generator: torch.Generator) -> tuple[Step, State]:
    """Make a linear cell with 1.3 times an orthogonal matrix."""
    weight = torch.randn(HIDDEN, HIDDEN, generator=generator, dtype=torch.float64)
    return _rnn(1.3 * torch.linalg.qr(weight)[0], lambda z: z, generator)


def _rnn(recurrent: Tensor, activation: Callable[[Tensor], Tensor], generator: torch.Generator) -> tuple[Step, State]:
    inward = 0.3 * torch.randn(HIDDEN, FEATURES, generator=generator, dtype=torch.float64)
    weight, zero = torch.cat([recurrent, inward], 1), recurrent.new_zeros(HIDDEN)
    return lambda u, h: rnn_step(u, hidden(h), weight, zero, activation), zero


def _gated(cell: str, bias: float, generator: torch.Generator) -> tuple[Step, State]:
    """Make a gated cell with weights uniform in plus and minus 1/sqrt(n_h), as torch draws them."""
    rows = (3 if cell == "gru" else 4) * HIDDEN
    weight = 2 * torch.rand(rows, HIDDEN + FEATURES, generator=generator, dtype=torch.float64) - 1
    weight, b = weight / math.sqrt(HIDDEN), memory_bias(cell, HIDDEN, bias).double()
    zero = weight.new_zeros(HIDDEN)
    if cell == "gru":
        return lambda u, h: gru_step(u, hidden(h), weight, b), zero
    return lambda u, s: lstm_step(u, (s[0], s[1]), weight, b), (zero, zero)
