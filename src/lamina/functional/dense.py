r"""The neuron, the layer and the feedforward network as pure functions (§1, §2 of the notes).

Shapes are torch's: an input is the last axis of a tensor, a weight is (n_out, n_in) as the notes' $W^{[l]}$ and as
`nn.Linear.weight`. A network is described by its widths $(n_0, \ldots, n_L)$.
"""

from collections.abc import Sequence
from itertools import pairwise

import torch

from lamina._errors import ArgumentError, at_least
from lamina._types import Elementwise, Float, Tensor


def neuron(
    inputs: Float[Tensor, "*batch feature"],
    weight: Float[Tensor, " feature"],
    bias: Float[Tensor, ""],
    activation: Elementwise,
) -> Float[Tensor, "*batch"]:
    r"""Compute the activation of one neuron, the perceptron.

    $$y = \sigma\left(\textstyle\sum_i W_i u_i + b\right) = \sigma(W^\top u + b)$$
    with u = `inputs`, W = `weight`, b = `bias`, sigma = `activation`.

    Notes: N1.02 (§1, eq. (1)).

    Args:
        inputs: one or more inputs u.
        weight: one weight a component of the input.
        bias: a number.
        activation: sigma, for example from `get_activation`.

    >>> from lamina.functional.activations import heaviside
    >>> OR = torch.tensor([1.0, 1.0]), torch.tensor(-1.0)
    >>> neuron(torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), *OR, heaviside).tolist()
    [0.0, 1.0, 1.0, 1.0]
    """
    u, W, b = inputs, weight, bias
    return activation(u @ W + b)


def affine(
    inputs: Float[Tensor, "*batch feature"],
    weight: Float[Tensor, "out feature"],
    bias: Float[Tensor, " out"] | None = None,
) -> Float[Tensor, "*batch out"]:
    r"""Compute the pre-activation of a layer, $z = W y + b$; `torch.nn.functional.linear`.

    Notes: N2.02, N2.07, N2.70 (§2, §2.5).
    Corrects: E23, a linear last layer usually has a bias; leave `bias` out for the notes' form.

    Args:
        inputs: feature vectors y along the last axis.
        weight: the matrix W.
        bias: the vector b, or none.

    >>> affine(torch.tensor([1.0, 2.0]), torch.tensor([[1.0, 1.0], [0.0, 1.0]]), torch.tensor([0.0, 0.5])).tolist()
    [3.0, 2.5]
    """
    return torch.nn.functional.linear(inputs, weight, bias)


def layer(
    inputs: Float[Tensor, "*batch feature"],
    weight: Float[Tensor, "out feature"],
    bias: Float[Tensor, " out"] | None,
    activation: Elementwise,
) -> Float[Tensor, "*batch out"]:
    r"""Compute one layer of a feedforward network.

    $$y^{[l]} = f_l(y^{[l-1]}) = \sigma^{[l]}(W^{[l-1]} y^{[l-1]} + b^{[l-1]})$$

    Notes: N2.04 (§2, eq. (2)).

    Args:
        inputs: the feature vector of the layer before.
        weight: the matrix W.
        bias: the vector b, or none.
        activation: sigma of this layer.

    >>> layer(torch.tensor([1.0, 2.0]), torch.tensor([[1.0, -1.0]]), torch.tensor([0.5]), torch.relu).tolist()
    [0.0]
    """
    return activation(affine(inputs, weight, bias))


def forward_propagation(
    inputs: Float[Tensor, "*batch feature"],
    weights: Sequence[Float[Tensor, "_ _"]],
    biases: Sequence[Float[Tensor, " _"] | None],
    activations: Sequence[Elementwise],
) -> tuple[list[Tensor], list[Tensor]]:
    r"""Compute all feature vectors and pre-activations of a feedforward network, as backpropagation needs them.

    $$z^{[l]} = W^{[l-1]} y^{[l-1]} + b^{[l-1]}, \qquad y^{[l]} = \sigma^{[l]}(z^{[l]}), \qquad l = 1, \ldots, L$$

    Notes: N2.65, N2.70 (§2.5).

    Args:
        inputs: the input u, which is the feature vector of layer 0.
        weights: the L matrices.
        biases: the L vectors, or none in their place.
        activations: the L activations.

    Returns:
        The features $[y^{[0]}, \ldots, y^{[L]}]$ and the pre-activations $[z^{[1]}, \ldots, z^{[L]}]$.

    >>> features, pre_activations = forward_propagation(torch.ones(2), [-torch.ones(1, 2)], [None], [torch.relu])
    >>> [y.tolist() for y in features], [z.tolist() for z in pre_activations]
    ([[1.0, 1.0], [0.0]], [[-2.0]])
    """
    if not len(weights) == len(biases) == len(activations):
        raise ArgumentError(
            f"`weights`, `biases` and `activations` must have one entry per layer, got {len(weights)}, {len(biases)} "
            f"and {len(activations)}: use None for a layer without bias and `identity` for one without activation."
        )
    y, z = [inputs], []
    for W, b, sigma in zip(weights, biases, activations, strict=True):
        z.append(affine(y[-1], W, b))
        y.append(sigma(z[-1]))
    return y, z


def feedforward(
    inputs: Float[Tensor, "*batch feature"],
    weights: Sequence[Float[Tensor, "_ _"]],
    biases: Sequence[Float[Tensor, " _"] | None],
    activations: Sequence[Elementwise],
) -> Float[Tensor, "*batch out"]:
    r"""Compute a feedforward network, the composition of its layers.

    $$y^{[L]} = \mathcal F(u) = f_L \circ f_{L-1} \circ \cdots \circ f_1(u)$$

    Notes: N2.04, N2.05, N2.07 (§2).
    Corrects: E03, no layer is skipped.

    Args:
        inputs: the input u.
        weights: the L matrices.
        biases: the L vectors, or none in their place.
        activations: the L activations; the last one may be `identity`.

    >>> from lamina.functional.activations import heaviside
    >>> W = [torch.tensor([[1.0, 1.0], [-1.0, -1.0]]), torch.tensor([[1.0, 1.0]])]
    >>> b = [torch.tensor([-1.0, 1.0]), torch.tensor([-2.0])]
    >>> truth_table = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> feedforward(truth_table, W, b, [heaviside, heaviside]).flatten().tolist()  # XOR
    [0.0, 1.0, 1.0, 0.0]
    """
    return forward_propagation(inputs, weights, biases, activations)[0][-1]


def collapse_affine(
    weights: Sequence[Float[Tensor, "_ _"]], biases: Sequence[Float[Tensor, " _"]]
) -> tuple[Float[Tensor, "out feature"], Float[Tensor, " out"]]:
    r"""Give the one affine map that a network with identity activations is.

    $$W = W^{[L-1]} \cdots W^{[0]}, \qquad b = W^{[L-1]}(\cdots(W^{[1]} b^{[0]} + b^{[1]})\cdots) + b^{[L-1]}$$

    Notes: N1.11, N2.06 (§1, §2).
    Corrects: E09, with biases the composition is affine, not linear.

    Args:
        weights: the matrices, first layer first.
        biases: the vectors, first layer first.

    >>> one, two = torch.ones(1), 2 * torch.ones(1, 1)
    >>> [m.tolist() for m in collapse_affine([two, two], [one, one])]  # 2 (2 u + 1) + 1
    [[[4.0]], [3.0]]
    """
    if not 1 <= len(weights) == len(biases):
        raise ArgumentError(
            f"`weights` and `biases` must be equally long and not empty, got {len(weights)} and {len(biases)}: "
            "give every layer a bias, zeros if necessary."
        )
    W, b = weights[0], biases[0]
    for W_l, b_l in zip(weights[1:], biases[1:], strict=True):
        W, b = W_l @ W, W_l @ b + b_l
    return W, b


def _check(widths: Sequence[int]) -> None:
    if len(widths) < 2:
        raise ArgumentError(f"`widths` must name at least 2 layers, the input and the output, got {list(widths)}.")
    for width in widths:
        at_least("widths", width, 1)


def parameter_count(widths: Sequence[int]) -> int:
    r"""Count the variables of a feedforward network, the length of theta.

    $$n_0 n_1 + \cdots + n_{L-1} n_L + n_1 + \cdots + n_L$$

    Notes: N2.12, N2.65 (§2, §2.5).

    >>> parameter_count([3, 5, 5, 5, 1])
    86
    """
    _check(widths)
    return sum(n_in * n_out + n_out for n_in, n_out in pairwise(widths))


def depth(widths: Sequence[int]) -> int:
    """Count the layers L of a network, without the input layer.

    Notes: N2.01 (§2).

    >>> depth([3, 5, 5, 5, 1])
    4
    """
    _check(widths)
    return len(widths) - 1


def is_deep(widths: Sequence[int]) -> bool:
    """Say whether a network has at least two hidden layers.

    Notes: N2.01 (§2).
    Corrects: E22, the notes use shallow both for no and for one hidden layer; deep has this one meaning.

    >>> is_deep([2, 2, 1]), is_deep([3, 5, 5, 5, 1])
    (False, True)
    """
    return depth(widths) >= 3
