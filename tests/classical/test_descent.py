import pytest
import torch

from lamina._errors import ArgumentError
from lamina.backprop.backpropagation import forward, name_parameters, objective
from lamina.classical import linear_regression
from lamina.classical.descent import descend, learning_problem
from lamina.functional.initialization import gaussian
from lamina.functional.losses import mse_half, negative_log_likelihood

F64 = torch.float64
INPUTS = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], dtype=F64)
XOR = torch.tensor([[0.0], [1.0], [1.0], [0.0]], dtype=F64)


def start(seed):
    g = torch.Generator().manual_seed(seed)
    weights = [gaussian((2, 2), 1.0, g).to(F64), gaussian((1, 2), 1.0, g).to(F64)]
    return name_parameters(weights, [torch.zeros(2, dtype=F64), torch.zeros(1, dtype=F64)])


@pytest.mark.notes("N1.19")
def test_one_loop_trains_any_network_with_any_loss(as_user):
    """Linear regression, a module with a classification loss, and a network with its gradient by hand."""
    g = torch.Generator().manual_seed(0)
    U, W = torch.randn(20, 3, generator=g, dtype=F64), torch.tensor([1.0, -2.0, 0.5], dtype=F64)
    S = U @ W + 0.1 * torch.randn(20, generator=g, dtype=F64)
    linear = learning_problem(lambda p, u: u @ p["W"], mse_half, U, S)
    run = descend(linear, {"W": torch.zeros(3, dtype=F64)}, learning_rate=0.5, steps=500)
    torch.testing.assert_close(run.params["W"], linear_regression.fit(U, S).weight, rtol=0, atol=1e-12)

    model = torch.nn.Linear(3, 2, dtype=F64)
    labels = (U[:, 0] > 0).long()
    problem = learning_problem(lambda p, u: torch.func.functional_call(model, p, u), negative_log_likelihood, U, labels)
    params = {name: torch.zeros_like(p) for name, p in model.named_parameters()}
    run = descend(problem, params, learning_rate=1.0, steps=200)
    outputs = torch.func.functional_call(model, run.params, U)
    assert (outputs.argmax(1) == labels).all() and run.losses[-1] < 0.1 < run.losses[0]


@pytest.mark.notes("N2.11")
def test_xor_is_learned_by_hand_and_by_autograd_alike(as_user):
    """The learning problem over all layers and all samples, solved with either gradient."""
    by_hand = descend(objective(["tanh", "sigmoid"], INPUTS, XOR, "bce"), start(1), learning_rate=1.0, steps=1000)

    def network(p, u):
        return torch.tanh(u @ p["W0"].T + p["b0"]) @ p["W1"].T + p["b1"]

    loss = torch.nn.functional.binary_cross_entropy_with_logits
    by_autograd = descend(learning_problem(network, loss, INPUTS, XOR), start(1), learning_rate=1.0, steps=1000)
    torch.testing.assert_close(by_hand.losses, by_autograd.losses, rtol=1e-8, atol=1e-10)
    p = by_hand.params
    outputs = forward([p["W0"], p["W1"]], [p["b0"], p["b1"]], ["tanh", "sigmoid"], INPUTS).outputs
    assert (outputs.round() == XOR).all() and by_hand.losses[-1] < 0.01


@pytest.mark.notes("N1.50")
def test_different_seeds_end_at_stationary_points_of_different_loss(as_user):
    """XOR with two hidden units: a small gradient each time, but one seed is stuck at (log 2) / 2."""
    problem = objective(["tanh", "sigmoid"], INPUTS, XOR, "bce")
    ends = {}
    for seed in (0, 1):
        run = descend(problem, start(seed), learning_rate=1.0, steps=3000)
        gradient = problem(run.params)[1]
        norm = torch.cat([g.flatten() for g in gradient.values()]).norm()
        assert norm < 2e-3
        ends[seed] = run.losses[-1].item()
    assert ends[0] == pytest.approx(0.3466, abs=1e-3) and ends[1] < 2e-3


def test_all_losses_are_kept_and_zero_steps_change_nothing():
    def parabola(p):
        return p["x"] ** 2, {"x": 2 * p["x"]}

    x = {"x": torch.tensor(1.0, dtype=F64)}
    assert descend(parabola, x, 0.25, 3).losses.tolist() == [1, 0.25, 0.0625, 0.015625]
    still = descend(parabola, x, 0.25, 0)
    assert still.params == x and still.losses.tolist() == [1]


def test_wrong_arguments():
    x = {"x": torch.tensor(1.0)}
    with pytest.raises(ArgumentError, match="`learning_rate` must be greater than 0, got 0"):
        descend(lambda p: (p["x"], p), x, 0.0, 1)
    with pytest.raises(ArgumentError, match="`steps` must be at least 0, got -1"):
        descend(lambda p: (p["x"], p), x, 0.1, -1)
