r"""Backpropagation by hand (§2.5 of the notes): Alg. 6, corrected, on batches of samples.

A bar is a gradient of the loss: $\bar z^{[l]} = \partial \mathscr L / \partial z^{[l]}$ and so on, each with the shape
of its tensor. Samples are rows, so that the notes' column $W y$ is `y @ W.T` here and a sum over samples is a product
of matrices. Nothing in this file uses automatic differentiation.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch

from lamina._errors import ArgumentError, ShapeError, choice
from lamina._types import Elementwise, Float, Tensor
from lamina.classical._checks import same_length
from lamina.classical.descent import Objective
from lamina.functional.activations import ACTIVATIONS, get_activation, softmax, softmax_vjp
from lamina.functional.chain_rule import activation_pullback, affine_pullback
from lamina.functional.dense import forward_propagation
from lamina.functional.losses import binary_cross_entropy, mse_half, negative_log_likelihood
from lamina.functional.optimizers import Params

Matrices = Sequence[Float[Tensor, "_ _"]]
"""The weights of a network, first layer first, each (n_out, n_in)."""

Vectors = Sequence[Float[Tensor, " _"]]
"""Its biases."""

Rows = Float[Tensor, "batch feature"]
"""Samples, one per row."""

LOSSES = ("mse", "bce", "nll")
"""Half mean squared error, binary cross entropy after a sigmoid, negative log-likelihood after a softmax."""

_LAST = {"bce": "sigmoid", "nll": "softmax"}


@dataclass(frozen=True)
class ForwardPass:
    r"""What forward propagation leaves for the way back.

    Notes: N2.70 (§2.5).

    Args:
        features: the feature vectors $y^{[0]}, \dots, y^{[L]}$, one row per sample.
        pre_activations: the vectors $z^{[1]}, \dots, z^{[L]}$.
    """

    features: tuple[Tensor, ...]
    pre_activations: tuple[Tensor, ...]

    @property
    def outputs(self) -> Tensor:
        """The output of the network."""
        return self.features[-1]


@dataclass(frozen=True)
class Gradients:
    r"""The loss and its gradient.

    Notes: N2.65 (§2.5).

    Args:
        loss: the loss, a number.
        weights: $\bar W^{[0]}, \dots, \bar W^{[L-1]}$.
        biases: $\bar b^{[0]}, \dots, \bar b^{[L-1]}$.
    """

    loss: Tensor
    weights: tuple[Tensor, ...]
    biases: tuple[Tensor, ...]

    def flatten(self) -> Float[Tensor, " parameter"]:
        """Return the gradient as one vector, in the order of `flatten`."""
        return flatten(self.weights, self.biases)


def forward(weights: Matrices, biases: Vectors, activations: Sequence[str], inputs: Rows) -> ForwardPass:
    r"""Feed samples forward and keep every z and y.

    $$z^{[l](i)} = W^{[l-1]} y^{[l-1](i)} + b^{[l-1]}, \qquad y^{[l](i)} = \sigma^{[l]}(z^{[l](i)})$$

    Notes: N2.65, N2.70, N2.80 (§2.5, Alg. 6).
    Corrects: E36, y on the right carries the sample index too; E33, the split into z and y has nothing to do with
        biases.

    Args:
        weights: the L matrices W, first layer first, each (n_out, n_in).
        biases: the L vectors b.
        activations: the L names, component-wise ones or "softmax".
        inputs: the samples u, one per row.

    >>> forward([torch.tensor([[1.0, 1.0]])], [torch.tensor([-1.0])], ["relu"], torch.tensor([[2.0, 3.0]])).outputs
    tensor([[4.]])
    """
    _check(weights, biases, activations, inputs)
    y, z = forward_propagation(inputs, weights, biases, [_function(name) for name in activations])
    return ForwardPass(tuple(y), tuple(z))


def backpropagate(
    weights: Matrices, biases: Vectors, activations: Sequence[str], inputs: Rows, targets: Tensor, loss: str = "mse"
) -> Gradients:
    r"""Compute the loss and all its gradients by Alg. 6, for all samples at once.

    $$\bar z^{[l](i)} = \bar y^{[l](i)} \odot (\sigma^{[l]})'(z^{[l](i)}), \qquad
      \bar W^{[l-1]} = \sum_{i=1}^N \bar z^{[l](i)} (y^{[l-1](i)})^\top, \qquad
      \bar b^{[l-1]} = \sum_{i=1}^N \bar z^{[l](i)}, \qquad
      \bar y^{[l-1](i)} = (W^{[l-1]})^\top \bar z^{[l](i)}$$
    for l = L, ..., 1, starting from the gradient of the loss, see `output_gradient`.

    Notes: N2.65, N2.67, N2.68, N2.69, N2.71, N2.72, N2.77, N2.79, N2.80 (§2.5, Alg. 6).
    Corrects: E07, sums run over i = 1, ..., N; E36, the loss takes the supervision, and the gradients can be collected
        in one vector (`Gradients.flatten`); E32, the transposes; E34, softmax has its own rule.

    Args:
        weights: the L matrices W, first layer first, each (n_out, n_in).
        biases: the L vectors b.
        activations: the L names, component-wise ones or "softmax".
        inputs: the samples u, one per row.
        targets: their supervision: numbers in the shape of the outputs for "mse" and "bce", class numbers for "nll".
        loss: one of `LOSSES`.

    >>> u, S = torch.tensor([[3.0]]), torch.tensor([[5.0]])
    >>> backpropagate([torch.tensor([[2.0]])], [torch.zeros(1)], ["identity"], u, S)
    Gradients(loss=tensor(0.5000), weights=(tensor([[3.]]),), biases=(tensor([1.]),))
    """
    cache = forward(weights, biases, activations, inputs)
    y, z = cache.features, cache.pre_activations
    value, z_bar = output_gradient(cache, activations[-1], targets, loss)
    W_bar: list[Tensor] = []
    b_bar: list[Tensor] = []
    for l in range(len(weights), 0, -1):
        # The last y_bar, that of the inputs, is not needed (E36).
        y_bar, weight_gradient, bias_gradient = affine_pullback(z_bar, y[l - 1], weights[l - 1])
        W_bar.insert(0, weight_gradient)
        b_bar.insert(0, bias_gradient)
        if l > 1:
            z_bar = pull_through_activation(activations[l - 2], z[l - 2], y[l - 1], y_bar)
    return Gradients(value, tuple(W_bar), tuple(b_bar))


def output_gradient(
    cache: ForwardPass, activation: str, targets: Tensor, loss: str
) -> tuple[Float[Tensor, ""], Float[Tensor, "batch label"]]:
    r"""Compute the loss and its gradient with respect to the last pre-activation.

    $$\bar z^{[L](i)} = \tfrac1N (y^{[L](i)} - S(u^{(i)})) \odot (\sigma^{[L]})'(z^{[L](i)}) \text{ (mse)}, \qquad
      \tfrac1N (y^{[L](i)} - S(u^{(i)})) \text{ (bce, and nll with S one-hot)}$$
    The cross entropies are taken together with their activation, which cancels its derivative: no quotient of small
    numbers, no logarithm of zero. With several outputs, bce is the mean over them too.

    Notes: N2.71, N2.77 (§2.5).
    Corrects: E34, the Hadamard rule does not hold for softmax; E30, E31, losses work from z.

    Args:
        cache: the forward pass.
        activation: the name of the last activation.
        targets: the supervision.
        loss: one of `LOSSES`; it depends on the last layer only.

    Returns:
        The loss and the gradient, one row per sample.

    >>> cache = forward([torch.zeros(1, 1)], [torch.zeros(1)], ["sigmoid"], torch.ones(1, 1))
    >>> value, z_bar = output_gradient(cache, "sigmoid", torch.ones(1, 1), "bce")
    >>> round(value.item(), 4), z_bar.item()  # log 2
    (0.6931, -0.5)
    """
    z, y = cache.pre_activations[-1], cache.outputs
    choice("loss", loss, LOSSES)
    if activation != _LAST.get(loss, activation):
        raise ArgumentError(
            f"`loss` {loss!r} must follow the activation {_LAST[loss]!r}, got {activation!r}: change one."
        )
    if loss == "mse":
        value = mse_half(y, targets)
        return value, pull_through_activation(activation, z, y, (y - targets) / len(y))
    if loss == "bce":
        value = binary_cross_entropy(z, targets)
        _in_range(targets, 1)
        return value, (y - targets) / y.numel()
    if targets.is_floating_point():
        raise ArgumentError(f"`targets` must be class numbers for the loss 'nll', got {targets.dtype}: use integers.")
    _in_range(targets, y.shape[-1] - 1)
    value = negative_log_likelihood(z, targets)
    one_hot = torch.nn.functional.one_hot(targets.long(), y.shape[-1]).to(y.dtype)
    return value, (y - one_hot) / len(y)


def pull_through_activation(activation: str, pre_activations: Rows, features: Rows, cotangent: Rows) -> Rows:
    r"""Compute $\bar z$ from $\bar y$ for $y = \sigma(z)$: Eq. (5), or the rule of softmax.

    Notes: N2.77 (§2.5).
    Corrects: E34, softmax has the Jacobian diag(p) - p p^T.

    Args:
        activation: the name of sigma.
        pre_activations: z, one row per sample.
        features: y, which softmax needs.
        cotangent: the gradient with respect to y.

    >>> z = torch.tensor([[-1.0, 1.0]])
    >>> pull_through_activation("relu", z, z.relu(), torch.tensor([[5.0, 5.0]])).tolist()
    [[0.0, 5.0]]
    """
    if activation == "softmax":
        return softmax_vjp(features, cotangent)
    return activation_pullback(cotangent, pre_activations, get_activation(activation).derivative)


def backpropagate_by_sample(
    weights: Matrices, biases: Vectors, activations: Sequence[str], inputs: Rows, targets: Tensor, loss: str = "mse"
) -> Gradients:
    r"""Compute what `backpropagate` does by looping over the samples and summing.

    Notes: N2.79 (§2.5, Remark 2.5 (ii)).

    The arguments are those of `backpropagate`.

    >>> u, S = torch.tensor([[3.0], [1.0]]), torch.tensor([[5.0], [2.0]])
    >>> backpropagate_by_sample([torch.tensor([[2.0]])], [torch.zeros(1)], ["identity"], u, S).biases
    (tensor([0.5000]),)
    """
    same_length("inputs", inputs, "targets", targets)
    each = [
        backpropagate(weights, biases, activations, u[None], s[None], loss)
        for u, s in zip(inputs, targets, strict=True)
    ]
    mean = [
        tuple(torch.stack(samples).sum(0) / len(each) for samples in zip(*gradients, strict=True))
        for gradients in ([g.weights for g in each], [g.biases for g in each])
    ]
    return Gradients(torch.stack([g.loss for g in each]).mean(), mean[0], mean[1])


def flatten(weights: Matrices, biases: Vectors) -> Float[Tensor, " parameter"]:
    r"""Collect weights and biases in one vector $\theta = (W^{[0]}, b^{[0]}, W^{[1]}, b^{[1]}, \dots)$.

    The order is that of `torch.nn.utils.parameters_to_vector` for a stack of dense layers; the length is
    `parameter_count` of the widths.

    Notes: N2.12, N2.65 (§2, §2.5).

    >>> flatten([torch.tensor([[1.0, 2.0]])], [torch.tensor([3.0])]).tolist()
    [1.0, 2.0, 3.0]
    """
    return torch.cat([part.reshape(-1) for pair in zip(weights, biases, strict=True) for part in pair])


def unflatten(
    vector: Float[Tensor, " parameter"], widths: Sequence[int]
) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Cut a vector made by `flatten` into weights and biases again.

    Notes: N2.12 (§2).

    Args:
        vector: theta.
        widths: the widths n_0, ..., n_L of the layers.

    >>> weights, biases = unflatten(torch.tensor([1.0, 2.0, 3.0]), [2, 1])
    >>> weights[0].tolist(), biases[0].tolist()
    ([[1.0, 2.0]], [3.0])
    """
    sizes = [size for n_in, n_out in pairwise(widths) for size in (n_in * n_out, n_out)]
    if sum(sizes) != len(vector):
        raise ShapeError(f"`vector` must have {sum(sizes)} entries for the widths {list(widths)}, got {len(vector)}.")
    parts = vector.split(sizes)
    shapes = [(n_out, n_in) for n_in, n_out in pairwise(widths)]
    return tuple(part.reshape(shape) for part, shape in zip(parts[::2], shapes, strict=True)), tuple(parts[1::2])


def name_parameters(weights: Sequence[Tensor], biases: Sequence[Tensor]) -> Params:
    """Give weights and biases the names W0, b0, W1, b1, ..., in the order of `flatten`.

    >>> list(name_parameters([torch.zeros(1, 1)] * 2, [torch.zeros(1)] * 2))
    ['W0', 'b0', 'W1', 'b1']
    """
    pairs = zip(weights, biases, strict=True)
    return {name: part for l, pair in enumerate(pairs) for name, part in zip((f"W{l}", f"b{l}"), pair, strict=True)}


def objective(activations: Sequence[str], inputs: Rows, targets: Tensor, loss: str = "mse") -> Objective:
    """State the learning problem of a feedforward network, with its gradient by hand, for `descent.descend`.

    Notes: N2.11 (§2 (P_l)).

    Args:
        activations: the names of the activations.
        inputs: the samples u, one per row.
        targets: their supervision.
        loss: one of `LOSSES`.

    Returns:
        A function of parameters named as by `name_parameters` that gives the loss and its gradient.

    >>> problem = objective(["identity"], torch.tensor([[3.0]]), torch.tensor([[5.0]]))
    >>> problem({"W0": torch.tensor([[2.0]]), "b0": torch.zeros(1)})[1]
    {'W0': tensor([[3.]]), 'b0': tensor([1.])}
    """

    def value_and_gradient(params: Params) -> tuple[Tensor, Params]:
        layers = range(len(activations))
        weights, biases = [params[f"W{l}"] for l in layers], [params[f"b{l}"] for l in layers]
        gradients = backpropagate(weights, biases, activations, inputs, targets, loss)
        return gradients.loss, name_parameters(gradients.weights, gradients.biases)

    return value_and_gradient


def _function(name: str) -> Elementwise:
    choice("activations", name, (*ACTIVATIONS, "softmax"))
    return softmax if name == "softmax" else get_activation(name).function


def _in_range(targets: Tensor, high: int) -> None:
    if bool(((targets < 0) | (targets > high)).any()):
        raise ArgumentError(
            f"`targets` must be in [0, {high}], got {targets.min().item()} to {targets.max().item()}: "
            "classes are counted from 0."
        )


def _check(weights: Sequence[Tensor], biases: Sequence[Tensor], activations: Sequence[str], inputs: Tensor) -> None:
    if not len(weights) == len(biases) == len(activations) or not weights:
        raise ArgumentError(
            "`weights`, `biases` and `activations` must have one entry per layer, at least one, "
            f"got {len(weights)}, {len(biases)} and {len(activations)}."
        )
    if inputs.ndim != 2 or len(inputs) == 0:
        raise ShapeError(f"`inputs` must be (samples, features) with at least 1 sample, got {tuple(inputs.shape)}.")
    width = inputs.shape[1]
    for l, (W, b) in enumerate(zip(weights, biases, strict=True)):
        if W.ndim != 2 or W.shape[1] != width or b.shape != W.shape[:1]:
            raise ShapeError(
                f"Layer {l + 1} must have a weight (n, {width}) and a bias (n,), got {tuple(W.shape)} and "
                f"{tuple(b.shape)}: its weight takes the {width} outputs of the layer before."
            )
        width = len(b)
