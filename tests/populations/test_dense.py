"""Dense layers of two members as one chain, by hand."""

import pytest
import torch

from lamina.kernels import native
from lamina.populations._dense import dense_chain, stacked_affine

W = torch.tensor([[[1.0, -1.0]], [[2.0, 0.5]]], dtype=torch.float64)  # [members, out, in]
B = torch.tensor([[0.5], [-4.0]], dtype=torch.float64)
V = torch.tensor([[[3.0]], [[-2.0]]], dtype=torch.float64)


@pytest.fixture(params=("compiled", "torch"))
def form(request, monkeypatch):
    if request.param == "torch":
        monkeypatch.setattr(native, "works", lambda: False)
    elif native.compiler() is None:
        pytest.skip("needs g++")


def test_values_and_gradients_of_a_chain_by_hand(form):
    x = torch.tensor([[[1.0, 2.0]], [[3.0, 1.0]]], dtype=torch.float64, requires_grad=True)
    w, b, v = (t.clone().requires_grad_() for t in (W, B, V))
    y = dense_chain(x, ("relu", "identity"), [w, v], [b, None])
    # Before the activation: 1 - 2 + 0.5 and 3 - 1 + 0.5; 2 + 1 - 4 and 6 + 0.5 - 4. Each member has one dead unit.
    assert y.tolist() == [[[0.0], [0.0]], [[7.5], [-5.0]]]
    found = torch.autograd.grad(y.sum(), (x, w, b, v))
    assert found[0].tolist() == [[[0.0, 0.0]], [[3 - 4, -3 - 1]]]  # summed over the members, who share the inputs
    assert found[1].tolist() == [[[9.0, 3.0]], [[-6.0, -2.0]]]
    assert found[2].tolist() == [[3.0], [-2.0]]
    assert found[3].tolist() == [[[2.5]], [[2.5]]]


def test_members_with_their_own_inputs_and_more_axes(form):
    x = torch.tensor([[[[1.0, 2.0], [0.0, 1.0]], [[1.0, 2.0], [4.0, 2.0]]]], dtype=torch.float64, requires_grad=True)
    y = stacked_affine(x, W, B)
    assert y.tolist() == [[[[-0.5], [-0.5]], [[-1.0], [5.0]]]]
    (slope,) = torch.autograd.grad(y.sum(), x)
    assert slope.tolist() == [[[[1.0, -1.0]] * 2, [[2.0, 0.5]] * 2]]
