"""Logical functions as networks (§1.6, §2 of the notes): OR and AND as perceptrons, XOR with one hidden layer."""

from dataclasses import dataclass

import torch

from lamina._errors import ArgumentError, above, choice
from lamina._types import Float, Seed, Tensor
from lamina.architectures._network import Network
from lamina.architectures.fnn import FNN, fnn_from_weights
from lamina.architectures.perceptron import Perceptron, PerceptronConfig
from lamina.functional.activations import ACTIVATIONS, heaviside
from lamina.functional.dense import forward_propagation

TRUTH_INPUTS = ((0, 0), (1, 0), (0, 1), (1, 1))
"""The rows of a truth table in the notes' order; true is 1, false is 0."""

TRUTH_TABLES = {"or": (0, 1, 1, 1), "and": (0, 0, 0, 1), "nand": (1, 1, 1, 0), "xor": (0, 1, 1, 0)}
"""The outputs of each gate for `TRUTH_INPUTS` (Tables 1 and 2 of the notes; N1.73, N1.77)."""

# Each layer: weight, bias as printed (or, for AND, the value that continues the printed pattern), robust bias.
_LAYERS: dict[str, list[tuple[list[list[float]], list[float], list[float]]]] = {
    "or": [([[1, 1]], [-1], [-0.5])],
    "and": [([[1, 1]], [-2], [-1.5])],
    "nand": [([[-1, -1]], [1], [1.5])],
    "xor": [([[1, 1], [-1, -1]], [-1, 1], [-0.5, 1.5]), ([[1, 1]], [-2], [-1.5])],
}
GATES = tuple(_LAYERS)
"""The names of the gates."""


def _matrices(gate: str, robust: bool) -> tuple[list[Tensor], list[Tensor]]:
    choice("gate", gate, GATES)
    rows = [(weight, safe if robust else printed) for weight, printed, safe in _LAYERS[gate]]
    return [torch.tensor(W, dtype=torch.float32) for W, _ in rows], [
        torch.tensor(b, dtype=torch.float32) for _, b in rows
    ]


def logic_gate(gate: str, robust: bool = False, activation: str = "heaviside", gain: float = 1.0) -> Perceptron | FNN:
    r"""Make a network that computes a logical function of two inputs, with the notes' weights.

    XOR is AND(OR, NAND): $W^{[0]} = \begin{pmatrix}1&1\\-1&-1\end{pmatrix}$, $b^{[0]} = (-1, 1)$,
    $W^{[1]} = (1, 1)$, $b^{[1]} = -2$. The output is 1 where $W_1 y_1 + W_2 y_2 + b \ge 0$.

    Notes: N1.74, N1.75, N1.76, N2.08, N2.09, N2.10 (§1.6, §2, Tables 1-3).
    Corrects: E21, the printed biases have margin 0 and rest on H(0) = 1; `robust` ones have margin 1/2.

    Args:
        gate: one of `GATES`.
        robust: whether to use biases with a margin instead of the printed ones.
        activation: "heaviside", or a smooth one that approximates it for a large `gain`.
        gain: a factor on all weights and biases; it sharpens a smooth activation.

    >>> gate = logic_gate("xor")
    >>> gate(torch.tensor(TRUTH_INPUTS, dtype=torch.float32)).flatten().tolist()
    [0.0, 1.0, 1.0, 0.0]
    """
    above("gain", gain, 0)
    choice("activation", activation, ACTIVATIONS)
    weights, biases = _matrices(gate, robust)
    weights, biases = [gain * W for W in weights], [gain * b for b in biases]
    if len(weights) > 1:
        return fnn_from_weights(weights, biases, activation, activation)
    perceptron = Perceptron(PerceptronConfig(2, activation=activation))
    with torch.no_grad():
        perceptron.affine.weight.copy_(weights[0])
        perceptron.affine.bias.copy_(biases[0])
    return perceptron


def pre_activations(gate: str, robust: bool = False) -> Float[Tensor, "4 node"]:
    """Give the number that each node compares with zero, for each row of the truth table.

    Their smallest absolute value is the margin: how far any of them may be disturbed.

    Notes: N1.75, N1.76, N2.09 (§1.6, §2).
    Corrects: E21, half of those of the printed OR and XOR are exactly 0.

    Args:
        gate: one of `GATES`.
        robust: whether to use the biases with a margin.

    Returns:
        One column per node, hidden nodes first.

    >>> pre_activations("or").flatten().tolist(), pre_activations("or", robust=True).abs().min().item()
    ([-1.0, 0.0, 0.0, 1.0], 0.5)
    """
    weights, biases = _matrices(gate, robust)
    u = torch.tensor(TRUTH_INPUTS, dtype=torch.float32)
    _, z = forward_propagation(u, weights, biases, [heaviside] * len(weights))
    return torch.cat(z, dim=-1)


@dataclass(frozen=True)
class LogicGateConfig:
    """The choices of a logic gate.

    Notes: N1.65 (§1.5).

    Args:
        inputs: 2, the two truth values.
        outputs: 1, the answer.
        gate: one of `GATES`.
        robust: whether to use biases with a margin instead of the printed ones.
        activation: "heaviside", or a smooth one that can be trained further.
        gain: a factor on all weights and biases.

    >>> LogicGateConfig(gate="or").robust
    True
    """

    inputs: int = 2
    outputs: int = 1
    gate: str = "xor"
    robust: bool = True
    activation: str = "heaviside"
    gain: float = 1.0

    def __post_init__(self) -> None:
        if self.inputs != 2 or self.outputs != 1:
            raise ArgumentError(
                f"a logic gate must have `inputs` 2 and `outputs` 1, got {self.inputs} and {self.outputs}: "
                "for more inputs see `shallow_parity` and `parity_tree`."
            )
        choice("gate", self.gate, GATES)
        choice("activation", self.activation, ACTIVATIONS)
        above("gain", self.gain, 0)


class LogicGate(Network):
    """A logic gate as an architecture: its weights are given by the notes, not drawn.

    Notes: N1.75, N1.76, N2.09 (§1.6, §2).
    Corrects: E21, the biases with a margin are the default here.

    >>> LogicGate(LogicGateConfig(gate="and"))(torch.tensor([[1.0, 1.0], [1.0, 0.0]])).flatten().tolist()
    [1.0, 0.0]
    """

    stackable = True

    def __init__(self, config: LogicGateConfig, *, seed: Seed = 0) -> None:
        super().__init__()
        self.config = config
        self.network = logic_gate(config.gate, config.robust, config.activation, config.gain)

    def forward(self, inputs: Float[Tensor, "*#batch 2"]) -> Float[Tensor, "*batch 1"]:
        """Return the output of the gate for each pair of truth values."""
        return self.network(inputs)
