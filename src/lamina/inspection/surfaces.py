"""Functions of two variables to watch optimizers on: a bowl, a bent valley, two valleys, a saddle."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch

from lamina._errors import at_least
from lamina._types import Float, Tensor

Range = tuple[float, float]


@dataclass(frozen=True)
class Surface:
    """A function of two variables, where to look at it and where to start on it.

    Args:
        name: what it is called.
        function: takes pairs of numbers along the last axis.
        x_range: the ends of the first variable in a picture.
        y_range: the ends of the second one.
        start: where descents begin.
        lowest: where it is smallest.
        curvature: the largest eigenvalue of its second derivative at the lowest point.
        log: whether its heights are better seen on a logarithmic scale.
    """

    name: str
    function: Callable[[Tensor], Tensor]
    x_range: Range
    y_range: Range
    start: tuple[float, float]
    lowest: tuple[float, float]
    curvature: float
    log: bool = False

    def heights(self, points: int = 40) -> Float[Tensor, "row column"]:
        """Compute the function at the centers of equal cells, rows from the low end of the second variable.

        >>> SURFACES["bent valley"].heights(3).shape
        torch.Size([3, 3])
        """
        at_least("points", points, 2)
        share = (torch.arange(points, dtype=torch.float64) + 0.5) / points
        x, y = (low + (high - low) * share for low, high in (self.x_range, self.y_range))
        return self.function(torch.stack(torch.meshgrid(x, y, indexing="xy"), -1))


def bowl(condition: float = 10.0, turn: float = 0.0) -> Surface:
    r"""Make a quadratic function whose curvatures differ by a factor, turned by an angle.

    $$\mathscr L(\theta) = \tfrac12 \big(a^2 + \kappa\, b^2\big), \qquad
      \begin{pmatrix} a \\ b \end{pmatrix} = \begin{pmatrix} \cos\alpha & \sin\alpha \\ -\sin\alpha & \cos\alpha
      \end{pmatrix} \theta$$
    with the condition number kappa = `condition` and alpha = `turn` in degrees. Gradient descent converges on it if and
    only if $\tau < 2/\kappa$.

    Notes: N1.36, N1.38 (§1.3).

    Args:
        condition: kappa, at least 1.
        turn: alpha.

    >>> bowl(4.0).function(torch.tensor([1.0, 2.0])).item()
    8.5
    """
    at_least("condition", condition, 1)
    cos, sin = math.cos(math.radians(turn)), math.sin(math.radians(turn))

    def function(theta: Tensor) -> Tensor:
        a, b = cos * theta[..., 0] + sin * theta[..., 1], cos * theta[..., 1] - sin * theta[..., 0]
        return 0.5 * (a.square() + condition * b.square())

    return Surface("bowl", function, (-2.0, 2.0), (-1.5, 1.5), (-1.7, 1.1), (0.0, 0.0), condition)


def _bent_valley(theta: Tensor) -> Tensor:
    x, y = theta[..., 0], theta[..., 1]
    return (1 - x).square() + 10 * (y - x.square()).square()


def _two_valleys(theta: Tensor) -> Tensor:
    x, y = theta[..., 0], theta[..., 1]
    return x**4 - 2 * x.square() + x / 2 + y.square()


def _saddle(theta: Tensor) -> Tensor:
    x, y = theta[..., 0], theta[..., 1]
    return 2 * y.square() - x.square() + x**4 / 4


SURFACES = {
    surface.name: surface
    for surface in (
        Surface("bent valley", _bent_valley, (-1.6, 1.6), (-0.7, 2.0), (-1.2, 1.6), (1.0, 1.0), 101.606324, log=True),
        Surface("two valleys", _two_valleys, (-1.7, 1.7), (-1.2, 1.2), (1.5, 1.0), (-1.057454, 0.0), 9.418508),
        Surface("saddle", _saddle, (-2.0, 2.0), (-1.2, 1.2), (0.01, 1.0), (math.sqrt(2), 0.0), 4.0),
    )
}
"""Functions that are not quadratic, by name; the first is Rosenbrock's with 10 instead of 100."""
