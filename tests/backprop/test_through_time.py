import pytest
import torch

from lamina._errors import ArgumentError, ShapeError
from lamina.backprop.through_time import backpropagate_through_time
from lamina.functional.activations import get_activation
from lamina.functional.losses import negative_log_likelihood, squared_error, sum_over_time
from lamina.functional.recurrent import output_step, rnn_step, unroll

F64 = torch.float64
SAMPLES, TIME, FEATURES, HIDDEN, OUTPUTS = 3, 7, 2, 4, 3


def example(loss="mse"):
    g = torch.Generator().manual_seed(0)

    def draw(*shape):
        return torch.randn(shape, generator=g, dtype=F64)

    weights = draw(HIDDEN, HIDDEN + FEATURES), draw(HIDDEN), draw(OUTPUTS, HIDDEN)
    targets = torch.randint(OUTPUTS, (SAMPLES, TIME), generator=g) if loss == "nll" else draw(SAMPLES, TIME, OUTPUTS)
    mask = torch.arange(TIME) < torch.tensor([7, 4, 1])[:, None]
    return draw(SAMPLES, TIME, FEATURES), targets, weights, draw(SAMPLES, HIDDEN), mask


def by_autograd(inputs, targets, weights, state, loss, mask, activation="tanh"):
    """The same loss from the library's cell and torch's autograd, with the gradient of every state."""
    W, b, W_out = leaves = [w.clone().requires_grad_() for w in weights]
    h = first = state.clone().requires_grad_()
    states = []
    for t in range(inputs.shape[1]):
        h = rnn_step(inputs[:, t], h, W, b, get_activation(activation).function)
        h.retain_grad()
        states.append(h)
    y = output_step(torch.stack(states, 1), W_out)
    losses = squared_error(y, targets) if loss == "mse" else negative_log_likelihood(y, targets, reduction="none")
    value = sum_over_time(losses, mask)
    value.backward()
    return value.detach(), [leaf.grad for leaf in leaves], torch.stack([s.grad for s in states], 1), first.grad


@pytest.mark.notes("N5.17")
@pytest.mark.parametrize("loss", ["mse", "nll"])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("activation", ["tanh", "sigmoid", "relu"])
def test_backpropagation_through_time_equals_autograd(loss, masked, activation):
    inputs, targets, weights, state, mask = example(loss)
    mask = mask if masked else None
    ours = backpropagate_through_time(
        inputs, targets, *weights, loss=loss, mask=mask, state=state, activation=activation
    )
    value, grads, states, first = by_autograd(inputs, targets, weights, state, loss, mask, activation)
    size = max(g.abs().max().item() for g in grads)
    assert ours.loss.item() == pytest.approx(value.item(), rel=1e-14)
    for mine, reference in zip((ours.weight, ours.bias, ours.output_weight), grads, strict=True):
        torch.testing.assert_close(mine, reference, rtol=0, atol=1e-14 * max(1.0, size))
    torch.testing.assert_close(ours.states, states, rtol=0, atol=1e-14 * max(1.0, size))
    torch.testing.assert_close(ours.first_state, first, rtol=0, atol=1e-14 * max(1.0, size))


@pytest.mark.notes("N5.17")
def test_shared_weights_add_up_over_time():
    """Give every time its own copy of W: the gradients of the copies sum to the gradient of the one."""
    inputs, targets, (W, b, W_out), _, _ = example()
    copies = [W.clone().requires_grad_() for _ in range(TIME)]
    h, y = torch.zeros(SAMPLES, HIDDEN, dtype=F64), []
    for t, copy in enumerate(copies):
        h = rnn_step(inputs[:, t], h, copy, b)
        y.append(output_step(h, W_out))
    parts = torch.autograd.grad(sum_over_time(squared_error(torch.stack(y, 1), targets)), copies)
    ours = backpropagate_through_time(inputs, targets, W, b, W_out)
    torch.testing.assert_close(ours.weight, sum(parts), rtol=0, atol=1e-12)
    assert (parts[0] - ours.weight).abs().max() > 0.1


def test_the_states_are_those_of_the_cell_and_the_first_is_zero():
    inputs, targets, (W, b, W_out), _, _ = example()
    zeros = torch.zeros(SAMPLES, HIDDEN, dtype=F64)
    states = unroll(lambda u, h: rnn_step(u, h, W, b), inputs, zeros)[0]
    expected = squared_error(output_step(states, W_out), targets).sum(1).mean()
    ours = backpropagate_through_time(inputs, targets, W, b, W_out)
    assert ours.loss.item() == pytest.approx(expected.item(), rel=1e-14)
    again = backpropagate_through_time(inputs, targets, W, b, W_out, state=zeros)
    assert again.weight.equal(ours.weight)


def test_many_to_one_reaches_back_to_the_first_input():
    inputs, targets, (W, b, W_out), _, _ = example()
    last = torch.zeros(SAMPLES, TIME, dtype=torch.bool)
    last[:, -1] = True
    ours = backpropagate_through_time(inputs, targets, W, b, W_out, mask=last)
    assert (ours.states[:, 0].abs().sum(-1) > 0).all()
    early = backpropagate_through_time(inputs, targets, W, b, W_out, mask=last.flip(1))
    assert (early.states[:, 1:] == 0).all() and (early.states[:, 0] != 0).all()


def test_wrong_arguments(as_user):
    inputs, targets, (W, b, W_out), _, _ = example()
    run = backpropagate_through_time
    with pytest.raises(
        ShapeError, match=r"`weight` must be \(4, 4 \+ 2\) for \[h; u\], got \(4, 5\): the state comes first"
    ):
        run(inputs, targets, W[:, 1:], b, W_out)
    with pytest.raises(ShapeError, match=r"`output_weight` must be \(outputs, 4\), got \(3, 3\)"):
        run(inputs, targets, W, b, W_out[:, 1:])
    with pytest.raises(ShapeError, match="`inputs` must have at least 1 time step, got 0"):
        run(inputs[:, :0], targets[:, :0], W, b, W_out)
    with pytest.raises(ArgumentError, match="`loss` must be one of 'mse', 'nll', got 'bce'"):
        run(inputs, targets, W, b, W_out, loss="bce")
    with pytest.raises(ArgumentError, match=r"`activation` must be one of .* got 'swish'"):
        run(inputs, targets, W, b, W_out, activation="swish")
    with pytest.raises(
        ArgumentError,
        match=r"`targets` must be class numbers from 0 to 2 for the loss 'nll', got torch\.int64 from 3 to 3",
    ):
        run(inputs, torch.full((SAMPLES, TIME), 3), W, b, W_out, loss="nll")
    with pytest.raises(ArgumentError, match=r"`targets` must be class numbers .* got torch\.float64"):
        run(inputs, targets, W, b, W_out, loss="nll")
    with pytest.raises(ShapeError, match=r"`targets` must have the shape of `outputs`, \(3, 7, 3\), got \(3, 7, 2\)"):
        run(inputs, targets[..., :2], W, b, W_out)
    with pytest.raises(ShapeError, match="`mask` must have the shape of `losses`"):
        run(inputs, targets, W, b, W_out, mask=torch.ones(SAMPLES, 1, dtype=torch.bool))
