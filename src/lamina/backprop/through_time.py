r"""Backpropagation through time by hand (§5 of the notes): Alg. 6 on the unrolled network, whose layers share W and b.

A time step is a layer with the input $x^{<t>} = [h^{<t-1>}; u^{<t>}]$; the same weight acts at every time, so that its
gradient is the sum of the gradients of all times. The conventions are those of `functional.recurrent.rnn_step`.
"""

from dataclasses import dataclass

import torch

from lamina._errors import ArgumentError, ShapeError, choice
from lamina._types import Bool, Float, Tensor
from lamina.functional.activations import get_activation, softmax
from lamina.functional.chain_rule import activation_pullback, affine_pullback
from lamina.functional.dense import affine
from lamina.functional.losses import negative_log_likelihood, squared_error, sum_over_time

LOSSES = ("mse", "nll")
"""Half squared error, and negative log-likelihood of a label after softmax, at each time."""


@dataclass(frozen=True)
class RecurrentGradients:
    r"""The loss of a simple recurrent network and its gradients.

    Notes: N5.17 (§5).

    Args:
        loss: the sum over time of the mean losses of all sequences.
        weight: $\bar W_{in}$.
        bias: $\bar b$.
        output_weight: $\bar W_{out}$.
        states: $\bar h^{<1>}, \dots, \bar h^{<T>}$, through the output of that time and through all later ones.
        first_state: $\bar h^{<0>}$.
    """

    loss: Float[Tensor, ""]
    weight: Float[Tensor, "hidden column"]
    bias: Float[Tensor, " hidden"]
    output_weight: Float[Tensor, "label hidden"]
    states: Float[Tensor, "batch time hidden"]
    first_state: Float[Tensor, "batch hidden"]


def backpropagate_through_time(
    inputs: Float[Tensor, "batch time feature"],
    targets: Tensor,
    weight: Float[Tensor, "hidden hidden+feature"],
    bias: Float[Tensor, " hidden"],
    output_weight: Float[Tensor, "label hidden"],
    *,
    loss: str = "mse",
    mask: Bool[Tensor, "batch time"] | None = None,
    state: Float[Tensor, "batch hidden"] | None = None,
    activation: str = "tanh",
) -> RecurrentGradients:
    r"""Run a simple recurrent network forward and its gradients backward through time.

    $$h^{<t>} = \sigma(W_{in} [h^{<t-1>}; u^{<t>}] + b), \qquad y^{<t>} = W_{out} h^{<t>}, \qquad
      \mathscr L = \sum_{t=1}^T \mathscr L^{<t>}(y^{<t>})$$
    $$\bar h^{<t>} = W_{out}^\top \bar y^{<t>} + (W_{in}^\top \bar z^{<t+1>})_h, \qquad
      \bar z^{<t>} = \bar h^{<t>} \odot \sigma'(z^{<t>}), \qquad
      \bar W_{in} = \sum_t \bar z^{<t>} [h^{<t-1>}; u^{<t>}]^\top, \qquad \bar b = \sum_t \bar z^{<t>}, \qquad
      \bar W_{out} = \sum_t \bar y^{<t>} (h^{<t>})^\top$$
    with u = `inputs`, W_in = `weight`, b = `bias`, W_out = `output_weight`; index h means the state's part of [h; u].

    Notes: N5.17 (§5, eqs. (11), (12)).
    Corrects: E35, shared weights may be updated only after the sum over time is complete.

    Args:
        inputs: sequences of one length T.
        targets: the supervision of each time: vectors like the outputs for "mse", class numbers for "nll".
        weight: one matrix for [h; u].
        bias: one number for each component of the state.
        output_weight: one row for each output; no bias, as in the notes.
        loss: one of `LOSSES`.
        mask: True where an output counts in the loss; everywhere when None, only at the last time for many-to-one.
        state: the state before the first step; zeros when None.
        activation: the name of sigma.

    >>> u, S = torch.tensor([[[1.0], [1.0]]]), torch.tensor([[[0.0], [1.0]]])
    >>> W_in, b, W_out = torch.tensor([[1.0, 1.0]]), torch.zeros(1), torch.tensor([[1.0]])
    >>> result = backpropagate_through_time(u, S, W_in, b, W_out, activation="identity")
    >>> result.loss.item(), result.weight.tolist(), result.states.flatten().tolist()  # h = 1, 2
    (1.0, [[1.0, 3.0]], [2.0, 1.0])
    """
    sigma = get_activation(activation)
    choice("loss", loss, LOSSES)
    h = inputs.new_zeros(len(inputs), len(bias)) if state is None else state
    _check(inputs, targets, weight, output_weight, h, loss)
    x, z, states = [], [], []
    for u in inputs.unbind(1):
        x.append(torch.cat([h, u], -1))
        z.append(affine(x[-1], weight, bias))
        h = sigma(z[-1])
        states.append(h)
    y = affine(torch.stack(states, 1), output_weight)
    value, y_bar = _loss_gradient(y, targets, loss, mask)
    from_outputs, W_out_bar, _ = affine_pullback(y_bar, torch.stack(states, 1), output_weight)

    W_in_bar, b_bar = torch.zeros_like(weight), torch.zeros_like(bias)
    from_later = torch.zeros_like(h)
    h_bars: list[Tensor] = []
    for t in reversed(range(len(x))):
        h_bar = from_outputs[:, t] + from_later
        h_bars.insert(0, h_bar)
        z_bar = activation_pullback(h_bar, z[t], sigma.derivative)
        x_bar, W_part, b_part = affine_pullback(z_bar, x[t], weight)
        W_in_bar, b_bar = W_in_bar + W_part, b_bar + b_part
        from_later = x_bar[:, : len(bias)]
    return RecurrentGradients(value, W_in_bar, b_bar, W_out_bar, torch.stack(h_bars, 1), from_later)


def _loss_gradient(y: Tensor, targets: Tensor, loss: str, mask: Tensor | None) -> tuple[Tensor, Tensor]:
    """Return the loss and its gradient with respect to all outputs, each divided by the number of sequences."""
    if loss == "mse":
        losses, difference = squared_error(y, targets), y - targets
    else:
        losses = negative_log_likelihood(y, targets, reduction="none")
        difference = softmax(y) - torch.nn.functional.one_hot(targets.long(), y.shape[-1]).to(y.dtype)
    if mask is not None:
        difference = torch.where(mask.unsqueeze(-1), difference, torch.zeros_like(difference))
    return sum_over_time(losses, mask), difference / len(y)


def _check(inputs: Tensor, targets: Tensor, weight: Tensor, output_weight: Tensor, h: Tensor, loss: str) -> None:
    hidden, features = h.shape[-1], inputs.shape[-1]
    if weight.shape != (hidden, hidden + features):
        raise ShapeError(
            f"`weight` must be ({hidden}, {hidden} + {features}) for [h; u], got {tuple(weight.shape)}: "
            "the state comes first."
        )
    if output_weight.ndim != 2 or output_weight.shape[1] != hidden:
        raise ShapeError(f"`output_weight` must be (outputs, {hidden}), got {tuple(output_weight.shape)}.")
    if inputs.shape[1] == 0:
        raise ShapeError("`inputs` must have at least 1 time step, got 0.")
    if loss == "nll" and (targets.is_floating_point() or targets.min() < 0 or targets.max() >= len(output_weight)):
        raise ArgumentError(
            f"`targets` must be class numbers from 0 to {len(output_weight) - 1} for the loss 'nll', "
            f"got {targets.dtype} from {targets.min().item()} to {targets.max().item()}."
        )
