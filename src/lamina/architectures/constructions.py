r"""Networks that are built, not trained, to show what depth and width can do (§2.1 of the notes).

One hidden layer fits any continuous function on a compact set when it is wide enough; parity and the tent map need
exponentially many units in one hidden layer and few in many layers. Everything here is a real `FNN` with its weights
set.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise, product

import torch

from lamina._errors import ArgumentError, ShapeError, above, at_least, choice
from lamina._types import Float, Seed, Tensor
from lamina.architectures.fnn import FNN, fnn_from_weights
from lamina.functional.activations import get_activation
from lamina.functional.dense import layer
from lamina.functional.random import as_generator


def approximate(
    inputs: Float[Tensor, "batch feature"],
    targets: Float[Tensor, "rows label"],
    width: int,
    *,
    activation: str = "sigmoid",
    gain: float = 20.0,
    seed: Seed = 0,
) -> FNN:
    r"""Fit one hidden layer and a linear output to data: random hidden weights, output weights by least squares.

    $$\mathcal F(u) = C\,\sigma(A u + b) + d, \qquad A_{ij} \sim \mathcal N(0, \mathrm{gain}^2),\quad b_i = -A_i c_i$$
    with the center $c_i$ of unit i drawn uniformly from the box that the inputs fill, and C, d the solution of least
    norm of the least squares problem.

    Notes: N2.15, N2.16 (§2.1).
    Corrects: E24, this works for continuous functions on a compact set, an activation that is no polynomial and a
        linear output; a measurable function can be approached in measure only, and nothing on an unbounded domain.

    Args:
        inputs: points u.
        targets: the values to fit there.
        width: the number of hidden units.
        activation: the hidden activation.
        gain: how steep the hidden units are.
        seed: an integer or a generator for the hidden layer.

    Returns:
        A network in the precision of the data; use float64 for errors below 1e-6.

    >>> u = torch.linspace(0, 1, 200, dtype=torch.float64)[:, None]
    >>> bool((approximate(u, u**2, 64)(u) - u**2).abs().max() < 1e-6)
    True
    """
    at_least("width", width, 1)
    above("gain", gain, 0)
    sigma, g = get_activation(activation), as_generator(seed)
    if len(inputs) != len(targets):
        raise ShapeError(f"`targets` must have one row per input ({len(inputs)}), got {len(targets)}.")
    u, s = inputs.cpu(), targets.cpu()  # the solver for problems without full rank exists on the CPU only
    low, high = u.min(0).values, u.max(0).values
    slopes = torch.randn(u.shape[1], width, generator=g, dtype=u.dtype) * gain
    share = torch.rand(u.shape[1], width, generator=g, dtype=u.dtype)
    W, b = slopes.T, -(slopes * (low[:, None] + (high - low)[:, None] * share)).sum(0)
    features = torch.cat([layer(u, W, b, sigma), torch.ones(len(u), 1, dtype=u.dtype)], dim=1)
    solution = torch.linalg.lstsq(features, s, driver="gelsd").solution
    return fnn_from_weights([W, solution[:-1].T], [b, solution[-1]], activation).to(inputs.device)


def approximation_errors(
    function: Callable[[Tensor], Tensor],
    widths: Sequence[int],
    *,
    activation: str = "sigmoid",
    gain: float = 20.0,
    points: int = 400,
    seed: int = 0,
) -> list[float]:
    """Measure how the largest error on [0, 1] falls with the width of the hidden layer, the notes' first approach.

    Notes: N2.15, N2.16 (§2.1).

    Args:
        function: a continuous function, applied to a column of points.
        widths: the numbers of hidden units to try.
        activation: the hidden activation.
        gain: how steep the hidden units are.
        points: how many equally spaced points are fitted and compared.
        seed: the hidden layer of every width starts from this number.

    >>> small, large = approximation_errors(torch.sin, [2, 32])
    >>> large < 1e-6 < small
    True
    """
    at_least("points", points, 2)
    u = torch.linspace(0, 1, points, dtype=torch.float64)[:, None]
    errors = []
    for width in widths:
        network = approximate(u, function(u), width, activation=activation, gain=gain, seed=seed)
        errors.append((network(u) - function(u)).detach().abs().max())
    return torch.stack(errors).tolist() if errors else []


def smooth_step(gain: float) -> FNN:
    r"""Give the network $\sigma(\mathrm{gain}\cdot u)$ with one sigmoid unit, which approaches the step function.

    Its largest error stays 1/2 for every gain, since it is continuous and the step jumps by 1; the mean error tends to
    0.

    Notes: N2.15 (§2.1).
    Corrects: E24, discontinuous functions are approached in the mean, not uniformly.

    >>> smooth_step(100.0)(torch.tensor([[-1.0], [0.0], [1.0]])).flatten().tolist()
    [0.0, 0.5, 1.0]
    """
    above("gain", gain, 0)
    one, zero = torch.ones(1, 1), torch.zeros(1)
    return fnn_from_weights([gain * one, one], [zero, zero], "sigmoid")


def output_bound(network: FNN) -> Float[Tensor, " label"]:
    r"""Bound the output of a network with a linear last layer whose last hidden units stay in [-1, 1].

    $$|\mathcal F(u)_i| \le \textstyle\sum_j |C_{ij}| + |d_i|$$

    Notes: N2.15 (§2.1).
    Corrects: E24, such a network is bounded, so that it approximates nothing unbounded on all of R.

    >>> output_bound(smooth_step(3.0)).tolist()
    [1.0]
    """
    hidden = network.config.activations[-2] if len(network.config.activations) > 1 else "identity"
    choice("activation", hidden, ("heaviside", "sigmoid", "tanh"))
    choice("last_activation", network.config.last_activation, ("identity",))
    bias = network.biases[-1]
    total = network.weights[-1].abs().sum(1)
    return total if bias is None else total + bias.abs()


def shallow_parity(bits: int) -> FNN:
    """Compute the parity of n bits with one hidden layer: one unit for each of the 2^(n-1) odd inputs.

    Notes: N2.18 (§2.1).
    Corrects: E25, it is the network with one hidden layer whose size grows exponentially.

    Args:
        bits: the number n of inputs.

    Returns:
        A Heaviside network with margin 1/2.

    >>> network = shallow_parity(3)
    >>> network.config.widths, network(torch.tensor([[1.0, 1.0, 1.0], [1.0, 0.0, 1.0]])).flatten().tolist()
    ((3, 4, 1), [1.0, 0.0])
    """
    at_least("bits", bits, 1)
    patterns = torch.tensor(list(product((0.0, 1.0), repeat=bits)))
    odd = patterns[patterns.sum(1) % 2 == 1]
    # unit i counts agreements with pattern i and fires only when all bits agree
    weights = [2 * odd - 1, torch.ones(1, len(odd))]
    return fnn_from_weights(weights, [0.5 - odd.sum(1), torch.tensor([-0.5])], "heaviside", "heaviside")


def parity_tree(bits: int) -> FNN:
    """Compute the parity of n bits with a tree of XOR networks: 3(n-1) units in 2 log2(n) layers.

    Notes: N2.19 (§2.1).
    Corrects: E25, depth saves units: a further level of the tree doubles the inputs for two more layers.

    Args:
        bits: the number n of inputs, a power of two.

    Returns:
        A Heaviside network with margin 1/2 whose matrices have one XOR block for each pair.

    >>> parity_tree(4).config.widths
    (4, 4, 2, 2, 1)
    """
    at_least("bits", bits, 2)
    if bits & (bits - 1):
        raise ArgumentError(f"`bits` must be a power of two, got {bits}: add inputs that are always 0.")
    or_nand, both = torch.tensor([[1.0, 1.0], [-1.0, -1.0]]), torch.tensor([[1.0, 1.0]])
    weights, biases, pairs = [], [], bits // 2
    while pairs:
        weights += [torch.block_diag(*[or_nand] * pairs), torch.block_diag(*[both] * pairs)]
        biases += [torch.tensor([-0.5, 1.5]).repeat(pairs), torch.tensor([-1.5]).repeat(pairs)]
        pairs //= 2
    return fnn_from_weights(weights, biases, "heaviside", "heaviside")


def tent_map(layers: int) -> FNN:
    r"""Iterate the tent map k times with k ReLU layers of width 2: a zigzag with $2^k$ linear pieces on [0, 1].

    $$T(u) = 2\max\{u, 0\} - 4\max\{u - \tfrac12, 0\}, \qquad \mathcal F = T \circ \cdots \circ T$$

    Notes: N2.19 (§2.1).
    Corrects: E25, the number of linear pieces is what grows exponentially with depth.

    Args:
        layers: the number k of hidden layers.

    Returns:
        The network; it is exact in floating point at multiples of $2^{-k}$.

    >>> tent_map(2)(torch.tensor([[0.0], [0.25], [0.5], [0.75], [1.0]])).flatten().tolist()
    [0.0, 1.0, 0.0, 1.0, 0.0]
    """
    at_least("layers", layers, 1)
    first, again, last = torch.ones(2, 1), torch.tensor([[2.0, -4.0], [2.0, -4.0]]), torch.tensor([[2.0, -4.0]])
    weights = [first, *[again] * (layers - 1), last]
    return fnn_from_weights(weights, [*[torch.tensor([0.0, -0.5])] * layers, torch.zeros(1)], "relu")


def shallow_tent_map(layers: int) -> FNN:
    r"""Compute the same zigzag as `tent_map(k)` on [0, 1] with one hidden ReLU layer of $2^k$ units.

    Fewer cannot do it. Each of the $2^k - 1$ corners needs a unit of its own, which changes the slope there by
    $\pm 2 \cdot 2^k$; without a further unit the slope of the first piece is a sum of some of these changes, a multiple
    of $2 \cdot 2^k$, and it should be $2^k$.

    Notes: N2.19 (§2.1).

    Args:
        layers: the number k of iterations.

    >>> shallow_tent_map(3).config.widths
    (1, 8, 1)
    """
    at_least("layers", layers, 1)
    units = 2**layers
    corner = torch.arange(units)
    # the slope starts at `units` and alternates between that and its negative
    kinks = units * torch.where(corner == 0, 1.0, 2.0 * (-1.0) ** corner)
    return fnn_from_weights([torch.ones(units, 1), kinks[None]], [-corner / units, torch.zeros(1)], "relu")


Path = list[tuple[Fraction, list[Fraction]]]
"""A piecewise linear curve: parameters in order, with the point at each."""


def linear_pieces(network: FNN, low: float = 0.0, high: float = 1.0) -> int:
    """Count the linear pieces of a ReLU network with one input and one output on an interval, exactly.

    The corners are followed through the layers in rational arithmetic, so that no grid can miss one.

    Notes: N2.19 (§2.1).
    Corrects: E25, this is the number that a further layer can double.

    Args:
        network: a network with activations relu and identity.
        low: the left end of the interval.
        high: the right end.

    >>> linear_pieces(tent_map(5)), linear_pieces(shallow_tent_map(5))
    (32, 32)
    """
    above("high", high, low)
    config = network.config
    if config.widths[0] != 1 or config.widths[-1] != 1 or config.batch_norm:
        raise ArgumentError(
            f"`network` must have one input, one output and no batch norm, got widths {config.widths} and "
            f"batch_norm={config.batch_norm}."
        )
    for name in config.activations:
        choice("activation", name, ("relu", "identity"))
    path: Path = [(Fraction(t), [Fraction(t)]) for t in (low, high)]
    for W, b, name in zip(network.weights, network.biases, config.activations, strict=True):
        path = _affine(path, W, b)
        if name == "relu":
            path = [(t, [max(z, Fraction(0)) for z in point]) for t, point in _with_zeros(path)]
    slopes = [(q[0] - p[0]) / (t - s) for (s, p), (t, q) in pairwise(path)]
    return 1 + sum(before != after for before, after in pairwise(slopes))


def _affine(path: Path, weight: Tensor, bias: Tensor | None) -> Path:
    """Map every corner of a path by z = W y + b."""
    rows = [[Fraction(w) for w in row] for row in weight.tolist()]
    shift = [Fraction(0)] * len(rows) if bias is None else [Fraction(b) for b in bias.tolist()]
    return [
        (t, [sum((w * y for w, y in zip(row, point, strict=True)), b) for row, b in zip(rows, shift, strict=True)])
        for t, point in path
    ]


def _with_zeros(path: Path) -> Path:
    """Add a corner wherever a component changes its sign between two corners."""
    result = path[:1]
    for (s, p), (t, q) in pairwise(path):
        shares = {a / (a - b) for a, b in zip(p, q, strict=True) if a * b < 0}
        result += [
            (s + share * (t - s), [a + share * (b - a) for a, b in zip(p, q, strict=True)]) for share in sorted(shares)
        ]
        result.append((t, q))
    return result
