r"""One time step of each recurrent cell (§5 of the notes), the output map, and the loop over time.

State and input are concatenated as [h; u], the state first, so a cell has one weight whose first n_h columns act on
the state. A gated cell stacks its weights along the rows in the notes' order: r, u, candidate for the GRU; f, i, o,
candidate for the LSTM. The activation sigma of a gate is always the logistic sigmoid (E64).
"""

from collections.abc import Callable

import torch

from lamina._errors import ArgumentError, choice
from lamina._types import Bool, Elementwise, Float, Int, Tensor

State = Tensor | tuple[Tensor, Tensor]
"""What a cell carries from one step to the next: h, or the pair (h, c) of an LSTM."""

Step = Callable[[Tensor, State], State]
"""One time step: (inputs, state) to the next state."""


def rnn_step(
    inputs: Float[Tensor, "*batch feature"],
    state: Float[Tensor, "*batch hidden"],
    weight: Float[Tensor, "hidden hidden+feature"],
    bias: Float[Tensor, " hidden"],
    activation: Elementwise = torch.tanh,
) -> Float[Tensor, "*batch hidden"]:
    r"""Advance a simple recurrent cell by one time step.

    $$h^{<t>} = \sigma(W_{in} [h^{<t-1>}; u^{<t>}] + b), \qquad \sigma = \tanh$$
    with u = `inputs`, h = `state`, W_in = `weight`, b = `bias` and sigma = `activation`.

    Notes: N5.05, N5.07, N5.15, N5.26 (§5, eq. (11); §5.2).
    Corrects: E64, sigma is tanh here; in gates the same letter means the sigmoid.
    Differs: torch.nn.RNN splits the weight, W_in = [W_hh, W_ih], and has two biases, b = b_ih + b_hh (E61).

    Args:
        inputs: the input of this time step.
        state: the state after the previous step; zeros before the first one.
        weight: one matrix for the concatenation [h; u].
        bias: one number for each component of the state.
        activation: applied to each component, the same at all times.

    >>> u, h = torch.tensor([1.0]), torch.tensor([0.0])
    >>> rnn_step(u, h, weight=torch.tensor([[5.0, 1.0]]), bias=torch.tensor([-1.0])).tolist()
    [0.0]
    """
    u, h, W_in, b = inputs, state, weight, bias
    return activation(torch.cat([h, u], -1) @ W_in.T + b)


def output_step(
    state: Float[Tensor, "*batch hidden"],
    weight: Float[Tensor, "label hidden"],
    bias: Float[Tensor, " label"] | None = None,
    softmax: bool = False,
) -> Float[Tensor, "*batch label"]:
    r"""Read the output of a time step from the state.

    $$y^{<t>} = W_{out} h^{<t>} \quad\text{or}\quad y^{<t>} = \mathrm{softmax}(W_{out} h^{<t>})$$
    with h = `state` and W_out = `weight`; a bidirectional network reads the concatenation [h; g] of both directions.

    Notes: N5.05, N5.08, N5.21 (§5, eq. (12); §5.1).
    Corrects: E66, the notes leave open how h and g are combined.

    Args:
        state: the hidden state of any cell, at one or several times.
        weight: one row for each output.
        bias: none in the notes.
        softmax: return probabilities instead of logits.

    >>> output_step(torch.tensor([1.0, 2.0]), torch.tensor([[1.0, 1.0], [2.0, 0.5]])).tolist()
    [3.0, 3.0]
    >>> output_step(torch.tensor([1.0, 2.0]), torch.tensor([[1.0, 1.0], [2.0, 0.5]]), softmax=True).tolist()
    [0.5, 0.5]
    """
    h, W_out = state, weight
    y = h @ W_out.T if bias is None else h @ W_out.T + bias
    return torch.softmax(y, -1) if softmax else y


def gru_step(
    inputs: Float[Tensor, "*batch feature"],
    state: Float[Tensor, "*batch hidden"],
    weight: Float[Tensor, "3*hidden hidden+feature"],
    bias: Float[Tensor, " 3*hidden"],
    reset: str = "before",
    hidden_bias: Float[Tensor, " hidden"] | None = None,
) -> Float[Tensor, "*batch hidden"]:
    r"""Advance a gated recurrent unit by one time step.

    $$\Gamma_r = \sigma(W_r [h; u] + b_r), \quad \Gamma_u = \sigma(W_u [h; u] + b_u), \quad
    \tilde h = \tanh(W_c [\Gamma_r \odot h; u] + b_c), \quad h' = \Gamma_u \odot \tilde h + (1 - \Gamma_u) \odot h$$
    with u = `inputs`, h = `state`, the rows of `weight` and `bias` stacked as r, u, c, and sigma the sigmoid. With
    `reset="after"` the gate multiplies the product instead: $\tilde h = \tanh(W_{cu} u + b_c + \Gamma_r \odot (W_{ch}
    h + b_h))$ with b_h = `hidden_bias`.

    Notes: N5.30, N5.32, N5.33, N5.34, N5.35 (§5.2, §5.2.1).
    Corrects: E64, sigma in the gates is the sigmoid.
    Differs: torch.nn.GRU resets after the product and writes where its update gate is closed, z = 1 - Gamma_u; it is
        `reset="after"` with the update rows negated. The notes' form equals it for n_h = 1 only (E69); Keras has the
        notes' form as reset_after=False.

    Args:
        inputs: the input of this time step.
        state: the state after the previous step.
        weight: three matrices for [h; u], stacked.
        bias: three biases, stacked.
        reset: "before" the recurrent product, as in the notes, or "after" it.
        hidden_bias: a bias on the recurrent product; for `reset="after"` only.

    >>> u, h = torch.tensor([0.0]), torch.tensor([0.5])
    >>> closed = torch.tensor([0.0, -1000.0, 0.0])  # update gate 0: the state is kept
    >>> gru_step(u, h, torch.ones(3, 2), closed).tolist()
    [0.5]
    """
    choice("reset", reset, ("before", "after"))
    if reset == "before" and hidden_bias is not None:
        raise ArgumentError("`hidden_bias` must be None with reset='before': it is part of the product that is reset.")
    u, h, n = inputs, state, state.shape[-1]
    W_gates, W_c = weight[: 2 * n], weight[2 * n :]
    b_gates, b_c = bias[: 2 * n], bias[2 * n :]
    G_r, G_u = torch.sigmoid(torch.cat([h, u], -1) @ W_gates.T + b_gates).chunk(2, -1)
    if reset == "before":
        candidate = torch.tanh(torch.cat([G_r * h, u], -1) @ W_c.T + b_c)
    else:
        product = h @ W_c[:, :n].T if hidden_bias is None else h @ W_c[:, :n].T + hidden_bias
        candidate = torch.tanh(u @ W_c[:, n:].T + b_c + G_r * product)
    return G_u * candidate + (1 - G_u) * h


def lstm_step(
    inputs: Float[Tensor, "*batch feature"],
    state: tuple[Float[Tensor, "*batch hidden"], Float[Tensor, "*batch hidden"]],
    weight: Float[Tensor, "4*hidden hidden+feature"],
    bias: Float[Tensor, " 4*hidden"],
) -> tuple[Float[Tensor, "*batch hidden"], Float[Tensor, "*batch hidden"]]:
    r"""Advance a long short-term memory cell by one time step.

    $$\Gamma_f, \Gamma_i, \Gamma_o = \sigma(W_\bullet [h; u] + b_\bullet), \quad \tilde c = \tanh(W_c [h; u] + b_c),
    \quad c' = \Gamma_f \odot c + \Gamma_i \odot \tilde c, \quad h' = \Gamma_o \odot \tanh(c')$$
    with u = `inputs`, (h, c) = `state`, the rows of `weight` and `bias` stacked as f, i, o, c, and sigma the sigmoid.

    Notes: N5.30, N5.37, N5.38, N5.39, N5.41 (§5.2, §5.2.2, Remark 5.3).
    Corrects: E70, the forget gate multiplies the old cell state c, not the old candidate; E64.
    Differs: torch.nn.LSTM stacks its rows as i, f, g (the candidate), o and has two biases that add up.

    Args:
        inputs: the input of this time step.
        state: the hidden state h and the cell state c after the previous step; both zero before the first one.
        weight: four matrices for [h; u], stacked.
        bias: four biases, stacked.

    Returns:
        The hidden state and the cell state after this step.

    >>> u, h, c = torch.tensor([0.0]), torch.tensor([0.0]), torch.tensor([0.9])
    >>> keep = torch.tensor([1000.0, -1000.0, -1000.0, 0.0])  # forget gate 1, input and output gate 0
    >>> [part.item() for part in lstm_step(u, (h, c), torch.zeros(4, 2), keep)] == [0.0, c.item()]
    True
    """
    u, (h, c), n = inputs, state, state[0].shape[-1]
    z = torch.cat([h, u], -1) @ weight.T + bias
    G_f, G_i, G_o = torch.sigmoid(z[..., : 3 * n]).chunk(3, -1)
    candidate = torch.tanh(z[..., 3 * n :])
    c = G_f * c + G_i * candidate
    return G_o * torch.tanh(c), c


def valid_steps(lengths: Int[Tensor, "*batch"], time: int) -> Bool[Tensor, "*batch time"]:
    """Mark the steps that belong to each sequence, the rest being padding.

    Notes: N5.14 (§5).

    Args:
        lengths: how many steps each sequence has; more than `time` counts as `time`.
        time: how many steps the padded batch has.

    Returns:
        True at step t of sequence k where t < lengths[k].

    >>> valid_steps(torch.tensor([1, 3]), 3).int().tolist()
    [[1, 0, 0], [1, 1, 1]]
    """
    return torch.arange(time, device=lengths.device) < lengths[..., None]


def hidden(state: State) -> Tensor:
    """Return the hidden state h, whether or not a cell state comes with it.

    >>> hidden((torch.tensor(1.0), torch.tensor(2.0))).item()
    1.0
    """
    return state if isinstance(state, Tensor) else state[0]


def unroll(
    step: Step,
    inputs: Float[Tensor, "*batch time feature"],
    state: State,
    mask: Bool[Tensor, "*#batch time"] | None = None,
    reverse: bool = False,
) -> tuple[Float[Tensor, "*batch time hidden"], State]:
    r"""Apply one step to every time of a sequence, each with the state that the one before left.

    $$h^{<t>} = \mathrm{step}(u^{<t>}, h^{<t-1>}), \quad t = 1, \dots, T; \qquad
    g^{<t>} = \mathrm{step}(u^{<t>}, g^{<t+1>}), \quad t = T, \dots, 1 \text{ with reverse}$$

    The step and its weights are the same at all times, so T is free. Where `mask` is False the state stays as it is,
    the output is zero and the input is not read, not even a NaN; a backward pass thus starts at each sequence's end.

    Notes: N5.02, N5.14, N5.18 (§5, §5.1).

    Args:
        step: one time step of a cell.
        inputs: the sequences, padded to a common number of steps.
        state: the state before the first step.
        mask: which steps belong to a sequence; all without it.
        reverse: run from the last step to the first.

    Returns:
        The hidden state after each step, in the order of `inputs`, and the last state computed.

    >>> total = lambda u, h: h + u
    >>> unroll(total, torch.tensor([[[1.0], [2.0], [3.0]]]), torch.zeros(1, 1), reverse=True)
    (tensor([[[6.],
             [5.],
             [3.]]]), tensor([[6.]]))
    """
    if mask is not None:
        inputs = torch.where(mask[..., None], inputs, 0.0)
    outputs: list[Tensor] = []
    for t in range(inputs.shape[-2])[:: -1 if reverse else 1]:
        new = step(inputs[..., t, :], state)
        if mask is None:
            state = new
            outputs.append(hidden(new))
        else:
            valid = mask[..., t, None]
            state = _where(valid, new, state)
            outputs.append(torch.where(valid, hidden(new), 0.0))
    return torch.stack(outputs[:: -1 if reverse else 1], -2), state


def _where(valid: Tensor, new: State, old: State) -> State:
    if isinstance(new, Tensor):
        return torch.where(valid, new, hidden(old))
    return torch.where(valid, new[0], old[0]), torch.where(valid, new[1], old[1])
