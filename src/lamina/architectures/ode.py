"""A network of continuous depth (§4 of the notes): a residual network whose layers are steps of a solver."""

import math
from dataclasses import dataclass
from types import ModuleType

import torch
from torch import nn

from lamina._errors import ArgumentError, MissingExtraError, above, at_least, choice
from lamina._types import Float, Seed, Tensor
from lamina.architectures._dense import Shape, as_shape, as_vectors, check_options, check_sizes
from lamina.architectures._network import Network
from lamina.functional.activations import default_initialization, get_activation
from lamina.functional.dense import affine
from lamina.functional.initialization import draw
from lamina.functional.ode import STEPS, RightHandSide, integrate, layer_dynamics
from lamina.functional.random import as_generator
from lamina.functional.residual import zero_pad_projection
from lamina.layers.initialized import linear
from lamina.layers.residual import PROJECTIONS

METHODS = (*STEPS, "adaptive")
"""Our solvers with fixed steps, and the adaptive one of torchdiffeq."""


def _torchdiffeq() -> ModuleType:
    try:
        import torchdiffeq
    except ImportError as error:
        raise MissingExtraError("torchdiffeq", "ode", 'A neural ODE with `method="adaptive"`') from error
    return torchdiffeq


@dataclass(frozen=True)
class NeuralODEConfig:
    """The choices of a network of continuous depth.

    Notes: N1.65, N4.15, N4.16 (§1.5, §4).

    Args:
        inputs: the shape of one example; images are read as vectors.
        outputs: the number of outputs or classes.
        width: the size of the state y(t); None for the size of the input.
        steps: the number L of solver steps, the depth of the residual network; not used by "adaptive".
        method: "euler" (a residual network), "rk4", or "adaptive" (torchdiffeq: no vmap, compile or export).
        activation: the activation of the right-hand side.
        knots: how many weights W(t) is interpolated from; 1 makes it constant.
        duration: the time T at which the solution is read.
        projection: "learned" or "zero-pad", for the input where the width changes.
        adjoint: whether "adaptive" solves backwards for its gradients, in constant memory.
        tolerance: the relative and absolute tolerance of "adaptive".
        initialization: the rule for the weights W; None for the one that suits the activation.
        scale: the scale of that rule.

    >>> NeuralODEConfig(3, 1).widths
    (3, 3, 1)
    """

    inputs: Shape
    outputs: int
    width: int | None = None
    steps: int = 20
    method: str = "euler"
    activation: str = "tanh"
    knots: int = 1
    duration: float = 1.0
    projection: str = "learned"
    adjoint: bool = False
    tolerance: float = 1e-6
    initialization: str | None = None
    scale: float = 1.0

    def __post_init__(self) -> None:
        check_sizes(self.inputs, self.outputs)
        check_options(self.activation, self.initialization, self.scale)
        if self.width is not None:
            at_least("width", self.width, 1)
        choice("method", self.method, METHODS)
        choice("projection", self.projection, PROJECTIONS)
        at_least("steps", self.steps, 1)
        at_least("knots", self.knots, 1)
        above("duration", self.duration, 0)
        above("tolerance", self.tolerance, 0)
        if self.adjoint and self.method != "adaptive":
            raise ArgumentError(
                f'`adjoint` needs `method="adaptive"`, got {self.method!r}: the fixed steps are differentiated exactly.'
            )

    @property
    def widths(self) -> tuple[int, int, int]:
        """The sizes of the input, of the state and of the output."""
        size = math.prod(as_shape(self.inputs))
        return size, size if self.width is None else self.width, self.outputs


class NeuralODE(Network):
    r"""Read the solution of an ordinary differential equation whose right-hand side is a residual branch.

    $$y'(t) = \sigma(W(t)\,y(t) + b(t)), \quad y(0) = P u, \qquad \mathcal F(u) = C\,y(T) + d$$

    W(t) and b(t) are linear in time between `weight` and `bias` at equally spaced knots, which all start equal. Solved
    by Euler with L steps this is a `DenseResNet` with step size T/L; with one knot its layers share their weights. P is
    the identity where the widths agree.

    Notes: N4.15, N4.16 (§4).
    Corrects: E57, layers are steps in time only where the weights vary slowly and the activation is the same.

    >>> network = NeuralODE(NeuralODEConfig(3, 1, method="rk4"))
    >>> network(torch.zeros(5, 3)).shape, sum(p.numel() for p in network.parameters())
    (torch.Size([5, 1]), 16)
    """

    stackable = True
    padding: Tensor

    def __init__(self, config: NeuralODEConfig, *, seed: Seed = 0) -> None:
        super().__init__()
        self.config = config
        if config.method == "adaptive":
            _torchdiffeq()
        generator, rule = as_generator(seed), config.initialization or default_initialization(config.activation)
        size, n, outputs = config.widths
        weight = draw(rule, (n, n), generator, config.scale)
        self.weight = nn.Parameter(weight.repeat(config.knots, 1, 1))
        self.bias = nn.Parameter(torch.zeros(config.knots, n))
        self.projection, self.padded = None, size != n and config.projection == "zero-pad"
        if self.padded:
            self.register_buffer("padding", zero_pad_projection(size, n), persistent=False)
        elif size != n:
            self.projection = linear(size, n, bias=False, initialization="xavier", seed=generator)
        self.readout = linear(n, outputs, initialization="xavier", seed=generator)

    @property
    def right_hand_side(self) -> RightHandSide:
        r"""The function $f(t, y) = \sigma(W(t)\,y + b(t))$."""
        return self.dynamics()

    def dynamics(self) -> RightHandSide:
        """Make the right-hand side from weight and bias."""
        sigma, end = get_activation(self.config.activation), self.config.duration
        return layer_dynamics(self.weight, self.bias, sigma, end)

    def initial_state(self, inputs: Float[Tensor, "..."]) -> Float[Tensor, "*batch state"]:
        """Return y(0), the input as a vector of the width of the state."""
        u = as_vectors(inputs, self.config.inputs)
        if self.padded:
            return affine(u, self.padding)
        return u if self.projection is None else self.projection(u)

    def final_state(self, inputs: Float[Tensor, "..."]) -> Float[Tensor, "*batch state"]:
        """Return y(T), the solution at the end."""
        config, y = self.config, self.initial_state(inputs)
        if config.method == "adaptive":
            return self._adaptive(y)
        return integrate(self.right_hand_side, y, config.steps, 0.0, config.duration, config.method)

    def _adaptive(self, y: Tensor) -> Tensor:
        solver, config = _torchdiffeq(), self.config
        times = torch.tensor([0.0, config.duration], dtype=y.dtype, device=y.device)
        tolerances = {"rtol": config.tolerance, "atol": config.tolerance}
        if config.adjoint:
            variables = (self.weight, self.bias)
            return solver.odeint_adjoint(self.right_hand_side, y, times, adjoint_params=variables, **tolerances)[-1]
        return solver.odeint(self.right_hand_side, y, times, **tolerances)[-1]

    def forward(self, inputs: Float[Tensor, "..."]) -> Float[Tensor, "*batch label"]:
        """Return the outputs of the linear read-out at time T."""
        return self.readout(self.final_state(inputs))
