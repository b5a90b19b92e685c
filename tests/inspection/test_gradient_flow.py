"""Gradient flow by hand, against autograd and against the catalogue's numbers; warnings and their remedies."""

import math

import pytest
import torch
from torch import nn

from lamina._errors import ArgumentError
from lamina.architectures.build import build
from lamina.architectures.fnn import fnn_from_weights
from lamina.functional.losses import mse_half, negative_log_likelihood
from lamina.inspection._probe import NUMBERS
from lamina.inspection.gradient_flow import Flow, LayerFlow, _flow_from_row, choose_loss, gradient_flow
from lamina.layers.residual import SimpleResNetLayer

F64 = torch.float64


def deep(kind: str, seed: int, scale: float | None = None) -> nn.Module:
    """Twenty layers of width 64, plain or residual, sigmoid with Xavier's weights or tanh with given ones."""
    name = "sigmoid" if scale is None else "tanh"
    start = {"initialization": "xavier"} if scale is None else {"initialization": "gaussian", "scale": scale}
    if kind == "fnn":
        return build(
            "fnn", inputs=64, outputs=64, hidden=(64,) * 19, activation=name, last_activation=name, seed=seed, **start
        ).double()
    g = torch.Generator().manual_seed(seed)
    return nn.Sequential(*[SimpleResNetLayer(64, 64, name, seed=g, **start) for _ in range(20)]).double()


def batch(seed: int, width: int = 64, count: int = 128) -> tuple[torch.Tensor, torch.Tensor]:
    g = torch.Generator().manual_seed(1000 + seed)
    return torch.randn(count, width, generator=g, dtype=F64), torch.randn(count, width, generator=g, dtype=F64)


def geometric(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def test_two_scalar_layers_by_hand():
    # y1 = relu(2 u), y2 = 3 y1, loss = y2^2 / 2 at u = 1: y1 = 2, y2 = 6
    net = fnn_from_weights([torch.tensor([[2.0]]), torch.tensor([[3.0]])], [torch.zeros(1)] * 2, "relu")
    flow = gradient_flow(net, torch.tensor([[1.0]]), torch.zeros(1, 1), learning_rate=0.1)
    first, second = flow.layers
    assert flow.loss == 18
    assert (second.state_gradient, first.state_gradient, flow.input_gradient) == (6, 18, 36)
    assert (first.weight_gradient, second.weight_gradient) == (18, 12)
    assert (first.mean_square, second.mean_square, first.std) == (4, 36, 0)
    assert first.update_ratio == pytest.approx(0.1 * 18 / 2)
    assert second.update_ratio == pytest.approx(0.1 * 12 / 3)
    assert (first.kind, second.kind) == ("relu", "identity")
    assert flow.state_ratio == 6 and flow.weight_ratio == 1.5


def test_dead_and_saturated_shares_by_hand():
    weight = torch.tensor([[1.0], [-1.0], [-1.0], [0.0]])
    dead = fnn_from_weights([weight, torch.ones(1, 4)], [torch.zeros(4), torch.zeros(1)], "relu")
    flow = gradient_flow(dead, torch.tensor([[1.0], [2.0]]), torch.zeros(2, 1))
    assert flow.layers[0].dead == 0.75 and math.isnan(flow.layers[0].saturated)
    full = fnn_from_weights([10 * weight, torch.ones(1, 4)], [torch.zeros(4), torch.zeros(1)], "tanh")
    flow = gradient_flow(full, torch.tensor([[1.0], [2.0]]), torch.zeros(2, 1))
    assert flow.layers[0].saturated == 0.75 and flow.layers[0].dead == 0.25


def test_norms_equal_autograd():
    net = build("lenet5", activation="tanh")
    g = torch.Generator().manual_seed(0)
    u, s = torch.randn(5, 1, 28, 28, generator=g), torch.randint(10, (5,), generator=g)
    flow = gradient_flow(net, u, s)
    states = []
    net.features[1].register_forward_hook(lambda *a: states.append(a[2]))
    loss = negative_log_likelihood(net(u.requires_grad_()), s)
    wanted = torch.autograd.grad(loss, [u, states[0], net.features[0].weight, net.classifier[7].weight])
    inputs, state, first, last = (gradient.norm().item() for gradient in wanted)
    assert flow.input_gradient == pytest.approx(inputs, rel=1e-5)
    assert flow.layers[0].state_gradient == pytest.approx(state, rel=1e-5)
    assert flow.layers[0].weight_gradient == pytest.approx(first, rel=1e-5)
    assert flow.layers[-1].weight_gradient == pytest.approx(last, rel=1e-5)
    assert flow.layers[0].mean_square == pytest.approx(states[0].square().mean().item(), rel=1e-5)
    assert flow.layers[0].std == pytest.approx(states[0].std(correction=0).item(), rel=1e-5)


def test_the_network_is_left_as_it_was():
    net = build("fnn", inputs=3, outputs=2, hidden=(4,), batch_norm=True, dropout=0.5).eval()
    before = {name: t.clone() for name, t in net.state_dict().items()}
    gradient_flow(net, torch.randn(6, 3, generator=torch.Generator().manual_seed(0)), torch.tensor([0, 1] * 3))
    assert not net.training and all(p.grad is None for p in net.parameters())
    assert all(torch.equal(t, before[name]) for name, t in net.state_dict().items())
    assert not any(m._forward_hooks for m in net.modules())


@pytest.mark.notes("N2.22", "N4.12")
def test_depth_20_has_the_catalogues_ratios():
    plain = [gradient_flow(deep("fnn", seed), *batch(seed)) for seed in range(4)]
    skip = [gradient_flow(deep("resnet", seed), *batch(seed)) for seed in range(4)]
    assert geometric([f.state_ratio for f in plain]) == pytest.approx(2.4e-13, rel=0.3)
    assert geometric([f.weight_ratio for f in plain]) == pytest.approx(3.6e-13, rel=0.3)
    assert geometric([f.state_ratio for f in skip]) == pytest.approx(1.2, rel=0.1)
    assert geometric([f.weight_ratio for f in skip]) == pytest.approx(3.4e-2, rel=0.3)
    assert all("gradients vanish" in f.warnings[0] for f in plain)
    assert all(not any("vanish" in w for w in f.warnings) for f in skip)


@pytest.mark.notes("N2.30", "N4.12")
def test_small_weights_vanish_and_skips_save_them_also_in_single_precision():
    u, s = batch(0)
    plain, skip = (gradient_flow(deep(kind, 0, 0.01), u, s) for kind in ("fnn", "resnet"))
    assert plain.state_ratio == pytest.approx(1.1e-22, rel=0.5)
    assert skip.state_ratio == pytest.approx(1.1, rel=0.1)
    single = gradient_flow(deep("fnn", 0, 0.01).float(), u.float(), s.float())
    assert single.state_ratio == pytest.approx(plain.state_ratio, rel=1e-3)


@pytest.mark.notes("N4.03")
def test_large_linear_weights_explode():
    net = build("fnn", inputs=64, outputs=64, hidden=(64,) * 19, activation="identity", initialization="gaussian",
                scale=0.2).double()  # fmt: skip
    flow = gradient_flow(net, *batch(0))
    assert flow.state_ratio > 1e3
    warning = flow.warnings[0]
    assert warning.startswith("gradients explode") and "N2.33" in warning and "clipping (N5.27)" in warning


def layer(**changes: float | str) -> LayerFlow:
    plain = {"name": "a", "kind": "relu", "saturated": math.nan, "dead": 0.0}
    return LayerFlow(**{**dict.fromkeys(NUMBERS, 1.0), **plain, **changes})


def test_warnings_name_the_layer_and_the_remedy():
    assert Flow((layer(), layer())).warnings == ()
    (dead,) = Flow((layer(), layer(name="b", dead=0.5), layer(name="c", dead=0.3))).warnings
    assert (
        "50% of b (and more than 25% in 1 other layers) are zero" in dead and "leaky ReLU" in dead and "N1.17" in dead
    )
    assert (
        Flow((layer(dead=0.5),), examples=15).warnings == ()
        and len(Flow((layer(dead=0.5),), examples=16).warnings) == 1
    )
    (full,) = Flow((layer(name="b", kind="tanh", saturated=0.45),)).warnings
    assert "45% of the values of b are at the ends of tanh" in full and "N2.32" in full
    (bad,) = Flow((layer(), layer(name="b", weight_gradient=math.nan))).warnings
    assert "not finite: first in b" in bad and "N5.27" in bad
    (cell,) = Flow((layer(kind="rnn", state_gradient=1e-9), layer())).warnings
    assert "gates of a GRU or an LSTM (N5.31)" in cell
    (signal,) = Flow((layer(), layer(mean_square=1e9))).warnings
    assert signal.startswith("signals explode") and "He's initialization (N2.36)" in signal
    (branch,) = Flow((layer(kind="residual", state_gradient=1e9), layer(kind="residual"))).warnings
    assert "step size of 1/L" in branch
    vanishing = Flow((layer(state_gradient=1e-9), *[layer()] * 10)).warnings[0]
    assert "skip connections (N4.11)" in vanishing and "He's" in vanishing


def test_the_table_is_text():
    net = fnn_from_weights([torch.tensor([[2.0]]), torch.tensor([[3.0]])], [torch.zeros(1)] * 2, "relu")
    lines = str(gradient_flow(net, torch.tensor([[1.0]]), torch.zeros(1, 1))).splitlines()
    assert lines[0].split() == ["layer", "activation", "mean", "square", "std", "state", "gradient", "weight",
                                "gradient", "update/weight", "dead", "saturated"]  # fmt: skip
    assert lines[1].split() == ["inputs", "-", "-", "36", "-", "-", "-", "-"]
    assert lines[2].split() == ["layers.0.affine", "relu", "4", "0", "18", "18", "0.09", "0", "-"]


def test_recurrent_states_count_wherever_they_are_read():
    net = build("many-to-one", inputs=3, outputs=2, hidden=4, cell="lstm").double()
    u = torch.randn(5, 6, 3, generator=torch.Generator().manual_seed(0), dtype=F64)
    flow = gradient_flow(net, u, torch.tensor([0, 1, 0, 1, 1]))
    recurrent, output = flow.layers
    assert (recurrent.name, recurrent.kind, output.kind) == ("recurrent", "lstm", "identity")
    logits = net(u)
    (slope,) = torch.autograd.grad(negative_log_likelihood(logits, torch.tensor([0, 1, 0, 1, 1])), logits)
    assert recurrent.state_gradient == pytest.approx((slope @ net.output.weight).norm().item())


def test_frozen_layers_and_losses():
    net = build("fnn", inputs=2, outputs=1, hidden=(3,))
    net.layers[0].requires_grad_(False)
    flow = gradient_flow(net, torch.ones(2, 2), torch.tensor([[0.0], [1.0]]), loss="bce")
    assert flow.layers[0].weight_gradient == 0 and flow.layers[0].state_gradient > 0
    assert choose_loss("mse", torch.ones(1), torch.ones(1)) is mse_half
    value = choose_loss(None, torch.zeros(2, 1), torch.tensor([0, 1]))(torch.zeros(2, 1), torch.tensor([0, 1]))
    assert value.item() == pytest.approx(math.log(2))
    own = gradient_flow(net, torch.ones(2, 2), torch.zeros(2, 1), loss=lambda y, s: (y - s).abs().sum())
    assert own.layers[-1].state_gradient == pytest.approx(math.sqrt(2))
    with pytest.raises(ArgumentError, match="`loss` must be one of None, 'nll', 'bce', 'mse', got 'l1'"):
        gradient_flow(net, torch.ones(2, 2), torch.zeros(2, 1), loss="l1")
    with pytest.raises(ArgumentError, match="`learning_rate` must be greater than 0"):
        gradient_flow(net, torch.ones(2, 2), torch.zeros(2, 1), learning_rate=0)
    with pytest.raises(ArgumentError, match="unfreeze a layer"):
        gradient_flow(net.requires_grad_(False), torch.ones(2, 2), torch.zeros(2, 1))
    with pytest.raises(ArgumentError, match="nothing to measure"):
        gradient_flow(nn.BatchNorm1d(2), torch.ones(2, 2), torch.zeros(2, 2))


def test_in_place_activations_and_shared_ones():
    relu = nn.ReLU(inplace=True)
    net = nn.Sequential(nn.Linear(3, 4), relu, nn.Linear(4, 4), relu, nn.Linear(4, 2)).double()
    u = torch.randn(7, 3, generator=torch.Generator().manual_seed(1), dtype=F64)
    flow = gradient_flow(net, u, torch.zeros(7, 2, dtype=F64))
    hidden = torch.relu(net[0](u)).detach().requires_grad_()
    loss = mse_half(net[4](torch.relu(net[2](hidden))), torch.zeros(7, 2, dtype=F64))
    (slope,) = torch.autograd.grad(loss, hidden)
    assert [x.kind for x in flow.layers] == ["relu", "relu", "identity"]
    assert flow.layers[0].state_gradient == pytest.approx(slope.norm().item())


def test_a_row_becomes_a_record():
    row = {"step": 7, "layers": ["a"], "kinds": ["tanh"], **{name: [2.0] for name in NUMBERS}, "saturated": [None]}
    flow = _flow_from_row(row)
    assert flow.step == 7 and flow.layers[0].update_ratio == 1 and math.isnan(flow.layers[0].saturated)
