r"""Linear models with a bias and a penalty on the weights: ridge regression and logistic regression.

$$\min_{W, b} \sum_{i=1}^N v_i\, \ell\big(W^\top u^{(i)} + b,\, s^{(i)}\big) + \tfrac{\alpha}{2} \|W\|^2$$
with v = `weights` (1 by default) and $\alpha$ = `penalty`; the bias b is free. For columns that are standardized,
$\alpha = 1$ is a normal prior of variance 1 on each weight.
"""

from dataclasses import dataclass
from typing import Any

import torch

from lamina._errors import above
from lamina._types import Float, Int, Tensor
from lamina.classical._checks import finite, same_length
from lamina.functional.losses import negative_log_likelihood


@dataclass(frozen=True)
class LinearModel:
    """Weights and biases of a linear map."""

    weight: Float[Tensor, "feature label"]
    bias: Float[Tensor, " label"]

    def predict(self, inputs: Float[Tensor, "batch feature"]) -> Float[Tensor, "batch label"]:
        """Return the outputs U W + b for the rows of `inputs`; of classes these are logits."""
        return inputs @ self.weight + self.bias


def ridge(
    inputs: Float[Tensor, "batch feature"],
    targets: Float[Tensor, "batch label"],
    penalty: float = 1.0,
    weights: Float[Tensor, " batch"] | None = None,
) -> LinearModel:
    r"""Minimize the squared error, $\ell = \tfrac12 \|y - s\|^2$, by the normal equations of centered data.

    $$W = (\bar U^\top V \bar U + \alpha I)^{-1} \bar U^\top V \bar S, \qquad b = \bar s - W^\top \bar u$$

    Args:
        inputs: one example per row.
        targets: the supervision of each example.
        penalty: above 0, so that there is one solution.
        weights: of the examples.

    >>> found = ridge(torch.tensor([[-1.0], [1.0]]), torch.tensor([[1.0], [5.0]]), penalty=2.0)
    >>> found.weight.tolist(), found.bias.tolist()
    ([[1.0]], [3.0])
    """
    same_length("inputs", inputs, "targets", targets)
    above("penalty", penalty, 0)
    for name, values in (("inputs", inputs), ("targets", targets)):
        finite(name, values)
    v = (torch.ones(len(inputs)).to(inputs) if weights is None else weights.to(inputs))[:, None]
    u, s = ((v * each).sum(0) / v.sum() for each in (inputs, targets))
    U, S = inputs - u, targets - s
    W = torch.linalg.solve(U.T @ (v * U) + penalty * torch.eye(U.shape[1]).to(U), U.T @ (v * S))
    return LinearModel(W, s - u @ W)


def logistic(
    inputs: Float[Tensor, "batch feature"],
    labels: Int[Tensor, " batch"],
    classes: int,
    penalty: float = 1.0,
    weights: Float[Tensor, " batch"] | None = None,
    steps: int = 100,
) -> LinearModel:
    r"""Minimize the cross entropy of the softmax, $\ell = -\log p_s$, by L-BFGS.

    Differs: of two classes both have a logit here; scikit-learn's `C` is then 2 / `penalty`, else 1 / `penalty`.

    Args:
        inputs: one example per row, in float64 for many digits.
        labels: the class of each example, from 0 on.
        classes: how many there are.
        penalty: above 0, so that there is a minimum where the classes can be separated.
        weights: of the examples.
        steps: the most steps.

    >>> found = logistic(torch.tensor([[-1.0], [1.0]]), torch.tensor([0, 1]), 2)
    >>> found.predict(torch.tensor([[-2.0], [2.0]])).argmax(1).tolist()
    [0, 1]
    """
    same_length("inputs", inputs, "labels", labels)
    above("penalty", penalty, 0)
    finite("inputs", inputs)
    from scipy.optimize import minimize  # torch's optimizers import its compiler, which takes seconds

    v = 1.0 if weights is None else weights.to(inputs)
    features = inputs.shape[1]

    def parts(values: Any) -> tuple[Tensor, Tensor]:
        both = torch.as_tensor(values, dtype=torch.float64).to(inputs).reshape(features + 1, classes)
        return both[:-1], both[-1]

    def loss(values: Any) -> tuple[float, Any]:
        with torch.enable_grad():
            W, b = (part.clone().requires_grad_() for part in parts(values))
            each = negative_log_likelihood(inputs @ W + b, labels, reduction="none")
            mean = ((v * each).sum() + penalty / 2 * W.square().sum()) / len(inputs)
            slopes = torch.autograd.grad(mean, (W, b))
        return mean.item(), torch.cat([slopes[0], slopes[1][None]]).double().flatten().cpu().numpy()

    start = torch.zeros((features + 1) * classes, dtype=torch.float64).numpy()
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": steps, "gtol": 1e-6, "ftol": 1e-12})
    return LinearModel(*parts(found.x))
