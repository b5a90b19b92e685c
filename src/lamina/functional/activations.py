r"""Activation functions of the notes (§1, §2.4) and their derivatives, and GELU, which is not in the notes.

All but softmax act on each component alone, so one function serves numbers, vectors and image tensors. Where torch
computes the notes' formula, its function is called. Derivatives are functions of the pre-activation z and follow
torch's convention where a function has a corner: at z = 0 the derivative of ReLU is 0 and that of leaky ReLU is its
slope.
"""

import math
from dataclasses import dataclass

import torch

from lamina._errors import between, choice
from lamina._types import Elementwise, Float, Tensor


def heaviside(y: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    r"""Say whether a neuron fires: 1 from zero on, 0 below.

    $$H(y) = 1 \text{ if } y \ge 0, \quad 0 \text{ if } y < 0$$

    Notes: N1.04, N1.10 (§1).
    Differs: torch.heaviside takes the value at 0 as an argument and raises in the backward pass; this one is cut off
        from the graph. No network learns through it by gradients (E45).

    >>> heaviside(torch.tensor([-1.0, 0.0, 2.0])).tolist()
    [0.0, 1.0, 1.0]
    """
    return (y >= 0).to(y.dtype)


def sigmoid(y: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    r"""Apply the logistic function, a smooth stand-in for Heaviside; `torch.sigmoid`, stable for both signs.

    $$\sigma(y) = \frac{1}{1 + \exp(-y)} = \frac{\exp(y)}{\exp(y) + 1}$$

    Notes: N1.05, N1.12, N2.48, N2.49 (§1, §2.4).
    Corrects: E31, in floating point the value 1 is reached (at 17.4 in float32, at 36.8 in float64).

    >>> sigmoid(torch.tensor([-1000.0, 0.0, 1000.0])).tolist()
    [0.0, 0.5, 1.0]
    """
    return torch.sigmoid(y)


def tanh(y: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    r"""Apply the hyperbolic tangent, close to the identity around 0; `torch.tanh`, which does not overflow.

    $$\tanh(y) = \frac{\exp(y) - \exp(-y)}{\exp(y) + \exp(-y)} = 2\,\sigma(2y) - 1$$

    Notes: N1.06, N1.14 (§1).

    >>> tanh(torch.tensor([-1000.0, 0.0, 1000.0])).tolist()
    [-1.0, 0.0, 1.0]
    """
    return torch.tanh(y)


def relu(y: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    r"""Apply the rectified linear unit $\max\{y, 0\}$; `torch.relu`.

    Notes: N1.07, N1.16 (§1).

    >>> relu(torch.tensor([-1.0, 0.0, 2.0])).tolist()
    [0.0, 0.0, 2.0]
    """
    return torch.relu(y)


def leaky_relu(y: Float[Tensor, "..."], slope: float = 0.1) -> Float[Tensor, "..."]:
    r"""Apply leaky ReLU, which keeps a gradient on negative inputs; `torch.nn.functional.leaky_relu`.

    $$\sigma(y) = \max\{\alpha y, y\}, \qquad 0 \le \alpha < 1, \quad \alpha = \mathrm{slope}$$

    Notes: N1.08, N1.17 (§1).
    Corrects: E44, the maximum is the usual function for slopes below 1 only; others are refused.
    Differs: torch's default slope is 0.01; ours is the 0.1 of the notes' figure.

    Args:
        y: numbers of any shape.
        slope: the factor alpha on negative numbers.

    >>> leaky_relu(torch.tensor([-2.0, 2.0]), 0.5).tolist()
    [-1.0, 2.0]
    """
    between("slope", slope, 0, 1, open_high=True)
    return torch.nn.functional.leaky_relu(y, slope)


def gelu(y: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    r"""Apply GELU, a smooth ReLU: the input times the probability that a standard normal number is smaller.

    $$\mathrm{GELU}(y) = y\,\Phi(y) = \frac y2 \left(1 + \mathrm{erf}\frac{y}{\sqrt 2}\right)$$

    Not in the notes: Hendrycks and Gimpel, Gaussian error linear units, 2016. `torch.nn.functional.gelu`.

    >>> [round(value, 4) for value in gelu(torch.tensor([-1.0, 0.0, 2.0])).tolist()]
    [-0.1587, 0.0, 1.9545]
    """
    return torch.nn.functional.gelu(y)


def gelu_tanh(y: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    r"""Apply GELU with a hyperbolic tangent in place of the error function, as GPT-2 does; they differ by up to 5e-4.

    $$\frac y2 \left(1 + \tanh\left(\sqrt{2/\pi}\,(y + 0.044715\,y^3)\right)\right)$$

    Not in the notes; `torch.nn.functional.gelu(approximate="tanh")`.

    >>> [round(value, 4) for value in gelu_tanh(torch.tensor([-1.0, 0.0, 2.0])).tolist()]
    [-0.1588, 0.0, 1.9546]
    """
    return torch.nn.functional.gelu(y, approximate="tanh")


def identity(y: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return the input: the activation of a linear layer.

    Notes: N2.06, N2.07 (§2).

    >>> identity(torch.tensor([-2.0, 2.0])).tolist()
    [-2.0, 2.0]
    """
    return y


def softmax(y: Float[Tensor, "*batch label"]) -> Float[Tensor, "*batch label"]:
    r"""Turn the last axis into probabilities; `torch.softmax`, which subtracts the maximum first.

    $$\mathrm{softmax}(y)_i = \frac{\exp(y_i)}{\sum_j \exp(y_j)}$$

    Notes: N2.60, N2.61 (§2.4).
    Corrects: E72, softmax is the activation of layer L itself, not a further layer with weights.

    >>> softmax(torch.tensor([1000.0, 1000.0])).tolist()
    [0.5, 0.5]
    """
    return torch.softmax(y, dim=-1)


def heaviside_derivative(z: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return zeros, the derivative of Heaviside off its jump.

    Notes: N1.15 (§1).

    >>> heaviside_derivative(torch.tensor([-1.0, 2.0])).tolist()
    [0.0, 0.0]
    """
    return torch.zeros_like(z)


def sigmoid_derivative(z: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    r"""Differentiate the sigmoid, $\sigma'(z) = \sigma(z)(1 - \sigma(z)) \le 1/4$.

    Notes: N1.15, N2.23, N2.74 (§1, §2.1, §2.5).

    >>> sigmoid_derivative(torch.tensor([0.0])).tolist()
    [0.25]
    """
    s = torch.sigmoid(z)
    return s * (1 - s)


def tanh_derivative(z: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    r"""Differentiate the hyperbolic tangent, $\tanh'(z) = 1 - \tanh^2(z) \le 1$.

    Notes: N1.14, N1.15, N2.74 (§1, §2.5).

    >>> tanh_derivative(torch.tensor([0.0])).tolist()
    [1.0]
    """
    return 1 - torch.tanh(z).square()


def relu_derivative(z: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Differentiate ReLU: 1 for z > 0, else 0, which includes the corner z = 0 as in torch.

    Notes: N1.16, N1.18, N2.74 (§1, §2.5).

    >>> relu_derivative(torch.tensor([-1.0, 0.0, 2.0])).tolist()
    [0.0, 0.0, 1.0]
    """
    return (z > 0).to(z.dtype)


def leaky_relu_derivative(z: Float[Tensor, "..."], slope: float = 0.1) -> Float[Tensor, "..."]:
    """Differentiate leaky ReLU: 1 for z > 0, else `slope`, which includes the corner z = 0 as in torch.

    Notes: N1.17, N1.18, N2.74 (§1, §2.5).
    Differs: the derivative of torch.maximum(slope * z, z) is (1 + slope) / 2 at 0.

    Args:
        z: pre-activations of any shape.
        slope: the factor alpha on negative numbers.

    >>> leaky_relu_derivative(torch.tensor([-1.0, 0.0, 2.0]), 0.5).tolist()
    [0.5, 0.5, 1.0]
    """
    between("slope", slope, 0, 1, open_high=True)
    return torch.where(z > 0, torch.ones_like(z), torch.full_like(z, slope))


def gelu_derivative(z: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    r"""Differentiate GELU, $\Phi(z) + z\,\varphi(z)$ with the density $\varphi$ of a standard normal number.

    >>> gelu_derivative(torch.tensor([0.0])).tolist()
    [0.5]
    """
    density = torch.exp(-z.square() / 2) / math.sqrt(2 * math.pi)
    return (1 + torch.erf(z / math.sqrt(2))) / 2 + z * density


def gelu_tanh_derivative(z: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    r"""Differentiate `gelu_tanh`, $\frac{1+t}2 + \frac z2 (1-t^2)\sqrt{2/\pi}\,(1 + 0.134145\,z^2)$ with the tangent t.

    >>> gelu_tanh_derivative(torch.tensor([0.0])).tolist()
    [0.5]
    """
    t = torch.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z**3))
    return (1 + t) / 2 + z / 2 * (1 - t.square()) * math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * z.square())


def identity_derivative(z: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return ones, the derivative of the identity.

    Notes: N2.74 (§2.5).

    >>> identity_derivative(torch.tensor([-1.0, 2.0])).tolist()
    [1.0, 1.0]
    """
    return torch.ones_like(z)


def softmax_jacobian(probabilities: Float[Tensor, "*batch label"]) -> Float[Tensor, "*batch label label"]:
    r"""Give the matrix of derivatives of softmax at a point, which is not diagonal.

    $$J = \mathrm{diag}(p) - p\,p^\top, \qquad p = \mathrm{softmax}(z)$$

    Notes: N2.60, N2.74 (§2.4, §2.5).
    Corrects: E34, softmax is not component-wise, so that no vector of derivatives exists.

    >>> softmax_jacobian(torch.tensor([0.5, 0.5])).tolist()
    [[0.25, -0.25], [-0.25, 0.25]]
    """
    p = probabilities
    return torch.diag_embed(p) - p.unsqueeze(-1) * p.unsqueeze(-2)


def softmax_vjp(
    probabilities: Float[Tensor, "*batch label"], cotangent: Float[Tensor, "*batch label"]
) -> Float[Tensor, "*batch label"]:
    r"""Pull a gradient back through softmax without forming its Jacobian.

    $$\bar z = J^\top g = p \odot \left(g - \textstyle\sum_j p_j g_j\right)$$
    with p = `probabilities` and g = `cotangent`, the gradient with respect to p.

    Notes: N2.60, N2.75 (§2.4, §2.5).
    Corrects: E34, the Hadamard rule of Eq. (5) does not hold for softmax.

    Args:
        probabilities: the output of softmax.
        cotangent: the derivative of a scalar with respect to that output.

    >>> softmax_vjp(torch.tensor([0.5, 0.5]), torch.tensor([1.0, 0.0])).tolist()
    [0.25, -0.25]
    """
    p, g = probabilities, cotangent
    return p * (g - (p * g).sum(-1, keepdim=True))


def probabilities(logits: Float[Tensor, "*batch label"]) -> Float[Tensor, "*batch category"]:
    r"""Turn a network's outputs into the probabilities of the categories.

    One output z stands for two categories, $[1 - p, p]$ with $p = \sigma(z)$, the probability of category 1; this is
    the softmax of $(0, z)$. Several outputs go through softmax.

    Notes: N2.46, N2.47, N2.61 (§2.4).
    Corrects: E30, the output estimates P(S(u) = 1), the probability of label 1.

    Args:
        logits: outputs before the last activation; the last axis has size 1 for two categories.

    >>> probabilities(torch.tensor([[0.0]])).tolist(), probabilities(torch.tensor([[2.0, 2.0]])).tolist()
    ([[0.5, 0.5]], [[0.5, 0.5]])
    """
    if logits.shape[-1] == 1:
        return torch.sigmoid(torch.cat([-logits, logits], dim=-1))
    return softmax(logits)


@dataclass(frozen=True)
class Activation:
    """An activation that acts on each component, with what the rest of the library asks about it.

    Notes: N2.03, N3.38 (§2, §3.3).

    Args:
        name: its key in `ACTIVATIONS`.
        function: the function of one number, applied to each entry of a tensor of any shape.
        derivative: its derivative, as a function of the pre-activation.
        zero_centered: whether it is odd, as Xavier's rule assumes.
        rectifier: whether it belongs to the ReLU family, for which He's rule is made.

    >>> get_activation("tanh")(torch.zeros(2)).tolist()
    [0.0, 0.0]
    """

    name: str
    function: Elementwise
    derivative: Elementwise
    zero_centered: bool = False
    rectifier: bool = False

    def __call__(self, y: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        """Apply the function to each component."""
        return self.function(y)


ACTIVATIONS: dict[str, Activation] = {
    "heaviside": Activation("heaviside", heaviside, heaviside_derivative),
    "sigmoid": Activation("sigmoid", sigmoid, sigmoid_derivative),
    "tanh": Activation("tanh", tanh, tanh_derivative, zero_centered=True),
    "relu": Activation("relu", relu, relu_derivative, rectifier=True),
    "leaky_relu": Activation("leaky_relu", leaky_relu, leaky_relu_derivative, rectifier=True),
    "gelu": Activation("gelu", gelu, gelu_derivative, rectifier=True),
    "gelu_tanh": Activation("gelu_tanh", gelu_tanh, gelu_tanh_derivative, rectifier=True),
    "identity": Activation("identity", identity, identity_derivative, zero_centered=True),
}
"""The component-wise activations by name; softmax is not one of them."""


def get_activation(name: str) -> Activation:
    """Look up a component-wise activation by its name.

    Notes: N2.03, N2.04 (§2).

    >>> get_activation("relu").derivative(torch.tensor([3.0])).tolist()
    [1.0]
    """
    choice("activation", name, ACTIVATIONS)
    return ACTIVATIONS[name]


def default_initialization(name: str) -> str:
    """Name the rule for starting weights that suits an activation: He for the ReLU family, else Xavier.

    Notes: N2.35, N2.36 (§2.2).

    >>> default_initialization("relu"), default_initialization("tanh")
    ('he', 'xavier')
    """
    return "he" if get_activation(name).rectifier else "xavier"
