r"""Principal component analysis (§1.2 of the notes names it): the directions in which data vary most.

Variances divide by the number N of points, so that the mean squared distance between the points and their
reconstruction is exactly the variance left out.
"""

from dataclasses import dataclass

import torch

from lamina._errors import between
from lamina._types import Float, Tensor
from lamina.classical._checks import finite, same_length


@dataclass(frozen=True)
class PCAFit:
    """The main directions of a data set.

    Notes: N1.29 (§1.2).

    Args:
        mean: the mean of the points.
        components: orthonormal directions, one per row, in falling order of variance; the entry of each with the
            largest absolute value is positive.
        explained_variance: the variance along each direction.
        total_variance: the variance of the data, the sum over all directions.
    """

    mean: Float[Tensor, " feature"]
    components: Float[Tensor, "component feature"]
    explained_variance: Float[Tensor, " component"]
    total_variance: float

    def transform(self, points: Float[Tensor, "batch feature"]) -> Float[Tensor, "batch component"]:
        """Return the coordinates of points along the directions."""
        return (points - self.mean) @ self.components.T

    def reconstruct(self, coordinates: Float[Tensor, "batch component"]) -> Float[Tensor, "batch feature"]:
        """Return the points that have these coordinates and lie at the mean in all other directions."""
        return coordinates @ self.components + self.mean


def fit(points: Float[Tensor, "batch feature"], components: int | None = None) -> PCAFit:
    r"""Find the orthonormal directions of largest variance from the singular value decomposition.

    $$U - 1 \bar u^\top = Q \Sigma V^\top, \qquad \text{variance along } v_j = \tfrac{1}{N} \sigma_j^2$$
    with U = `points`, the columns $v_j$ of V the directions.

    Notes: N1.29 (§1.2).
    Differs: scikit-learn divides variances by N - 1.

    Args:
        points: N points, one per row.
        components: how many directions to keep; all min(N, d) when None.

    >>> result = fit(torch.tensor([[0.0, 0.0], [2.0, 2.0], [4.0, 4.0]], dtype=torch.float64), components=1)
    >>> result.components.round(decimals=4).tolist(), round(result.explained_variance.item(), 6)
    ([[0.7071, 0.7071]], 5.333333)
    """
    same_length("points", points, "points", points)
    finite("points", points)
    count = min(points.shape) if components is None else components
    between("components", count, 1, min(points.shape))
    mean = points.mean(0)
    _, sizes, Vt = torch.linalg.svd(points - mean, full_matrices=False)
    variances = sizes.square() / len(points)
    largest = Vt.gather(-1, Vt.abs().argmax(-1, keepdim=True))
    signs = torch.where(largest < 0, -1.0, 1.0).to(Vt.dtype)
    return PCAFit(mean, (Vt * signs)[:count], variances[:count], float(variances.sum()))
