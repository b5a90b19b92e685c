"""The dense residual network: Eq. (9) layer by layer, counts, widths that change, step sizes."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina._errors import ArgumentError, ShapeError
from lamina.architectures.dense_resnet import DenseResNet, DenseResNetConfig
from lamina.architectures.fnn import FNN, FNNConfig
from lamina.functional.residual import residual_step


def rand(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def count(module):
    return sum(p.numel() for p in module.parameters())


@pytest.mark.notes("N4.04")
def test_layers_are_equation_9():
    net, u = DenseResNet(DenseResNetConfig(4, 2, hidden=(4, 4, 4)), seed=1).double(), rand(6, 4)
    y = u
    for layer in net.layers:
        y = residual_step(y, layer.affine.weight, layer.affine.bias, torch.tanh)
    torch.testing.assert_close(net(u), y @ net.readout.weight.T + net.readout.bias, rtol=0, atol=1e-14)
    torch.testing.assert_close(net.features(u)[-1], y, rtol=0, atol=1e-14)


@pytest.mark.notes("N4.04")
@settings(max_examples=30)
@given(st.integers(1, 8), st.integers(1, 6), st.sampled_from(["relu", "tanh"]))
def test_same_parameters_as_the_fnn_and_identity_with_zero_weights(width, depth, name):
    config = DenseResNetConfig(width, 3, hidden=(width,) * depth, activation=name, initialization="constant", scale=0.0)
    net = DenseResNet(config).double()
    assert count(net) == count(FNN(FNNConfig(width, 3, hidden=(width,) * depth)))
    u = rand(5, width)
    assert all(torch.equal(y, u) for y in net.features(u)) and torch.equal(net(u), net.readout(u))


@pytest.mark.notes("N4.06")
@pytest.mark.parametrize("projection", ["learned", "zero-pad"])
def test_width_sequence(projection):
    net, u = DenseResNet(DenseResNetConfig(3, 1, hidden=(5, 5, 2), projection=projection), seed=1).double(), rand(6, 3)
    assert net.config.widths == (3, 5, 5, 2, 1) and [y.shape[-1] for y in net.features(u)] == [3, 5, 5, 2]
    projected = 0 if projection == "zero-pad" else 3 * 5 + 5 * 2
    assert count(net) == (3 * 5 + 5) + (5 * 5 + 5) + (5 * 2 + 2) + (2 + 1) + projected
    y = net.features(u)
    skips = [
        torch.nn.functional.pad(y[0], (0, 2)) if projection == "zero-pad" else y[0] @ net.layers[0].projection.weight.T,
        y[1],
        y[2][:, :2] if projection == "zero-pad" else y[2] @ net.layers[2].projection.weight.T,
    ]
    for layer, before, skip, after in zip(net.layers, y, skips, y[1:], strict=False):
        branch = torch.tanh(before @ layer.affine.weight.T + layer.affine.bias)
        torch.testing.assert_close(after, skip + branch, rtol=0, atol=1e-14)


@pytest.mark.notes("N4.14")
def test_step_size_one_over_depth_stays_bounded():
    def growth(depth, step_size):
        config = DenseResNetConfig(16, 1, hidden=16, depth=depth, activation="relu", step_size=step_size)
        u = rand(8, 16)
        return (DenseResNet(config, seed=1).double().features(u)[-1].norm() / u.norm()).item()

    assert all(1 < growth(depth, "1/L") < 2.5 for depth in (4, 40, 160))
    assert growth(40, 1.0) > 1e6
    assert DenseResNet(DenseResNetConfig(16, 1, depth=40, step_size="1/L")).step_sizes.tolist() == pytest.approx(
        [1 / 40] * 40
    )


@pytest.mark.notes("N4.14", "N4.15")
def test_difference_quotients_are_the_branches():
    net, u = DenseResNet(DenseResNetConfig(4, 1, hidden=4, depth=5, step_size="1/L"), seed=1).double(), rand(6, 4)
    y = net.features(u)
    for layer, before, after in zip(net.layers, y, y[1:], strict=False):
        branch = torch.tanh(before @ layer.affine.weight.T + layer.affine.bias)
        torch.testing.assert_close((after - before) / 0.2, branch, rtol=0, atol=1e-14)


@pytest.mark.notes("N4.17")
@pytest.mark.parametrize(("start", "value"), [("1/L", 0.25), (0.7, 0.7)])
def test_learned_step_sizes(start, value):
    config = DenseResNetConfig(4, 1, hidden=4, depth=4, step_size="learned", initial_step_size=start)
    net, u = DenseResNet(config, seed=1).double(), rand(6, 4)
    fixed = DenseResNet(DenseResNetConfig(4, 1, hidden=4, depth=4, step_size=value), seed=1).double()
    assert net.step_sizes.tolist() == [value] * 4 and torch.equal(net(u), fixed(u))
    assert count(net) == count(fixed) + 4
    net(u).square().sum().backward()
    assert all(layer.raw_step_size.grad.ne(0) for layer in net.layers)
    optimizer = torch.optim.SGD(net.parameters(), 10.0)
    optimizer.step()
    assert (net.step_sizes > 0).all()


@pytest.mark.notes("N4.26")
def test_outer_weights():
    net, u = DenseResNet(DenseResNetConfig(4, 1, hidden=(4, 4), outer=True), seed=1).double(), rand(6, 4)
    assert count(net) == count(DenseResNet(DenseResNetConfig(4, 1, hidden=(4, 4)))) + 2 * 16
    for layer in net.layers:
        torch.nn.init.zeros_(layer.outer.weight)
    assert all(torch.equal(y, u) for y in net.features(u))


def test_dropout_images_and_default_depth():
    config = DenseResNetConfig((1, 4, 4), 3, hidden=20, dropout=0.5)
    net, plain = DenseResNet(config, seed=1), DenseResNet(DenseResNetConfig((1, 4, 4), 3, hidden=20), seed=1)
    u = torch.rand(2, 1, 4, 4, generator=torch.Generator().manual_seed(0))
    assert config.widths == (16, *(20,) * 8, 3)
    assert not torch.equal(net(u), plain(u)) and torch.equal(net.eval()(u), plain(u))
    torch.testing.assert_close(plain(u), plain.readout(plain.layers(u.reshape(2, 16))))


@pytest.mark.parametrize("training", [True, False])
def test_vmap_of_three_members_equals_three_runs(training):
    config = DenseResNetConfig(3, 2, hidden=(4, 4, 5), step_size="learned", projection="zero-pad", dropout=0.3)
    members = [DenseResNet(config, seed=seed).double().train(training) for seed in range(3)]
    skeleton, u = DenseResNet(config).double().train(training), rand(8, 3)
    state = torch.func.stack_module_state(members)
    together = torch.func.vmap(lambda p, b: torch.func.functional_call(skeleton, (p, b), (u,)))(*state)
    torch.testing.assert_close(together, torch.stack([member(u) for member in members]), rtol=0, atol=1e-13)


def test_round_trip():
    config = DenseResNetConfig(3, 2, hidden=(4, 4), step_size="learned", outer=True, projection="zero-pad")
    net, other, u = DenseResNet(config, seed=1), DenseResNet(config, seed=2), torch.ones(2, 3)
    other.load_state_dict(net.state_dict())
    assert torch.equal(net(u), other(u))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"inputs": 0}, r"`inputs` must be at least 1, got 0"),
        ({"hidden": ()}, r"`hidden` must name at least 1 residual layer, got none: use an `fnn`"),
        ({"hidden": (3, 0)}, r"`hidden` must be at least 1, got 0"),
        ({"hidden": 0}, r"`hidden` must be at least 1, got 0"),
        ({"depth": 0}, r"`depth` must be at least 1, got 0"),
        (
            {"hidden": (3, 3), "depth": 3},
            r"`depth` must be the number of widths in `hidden` \(2\), got 3: leave it out",
        ),
        ({"activation": "swish"}, r"`activation` must be one of .*, got 'swish'"),
        ({"step_size": 0.0}, r"`step_size` must be greater than 0, got 0.0"),
        ({"step_size": "small"}, r"`step_size` must be a positive number or '1/L' or 'learned', got 'small'"),
        ({"initial_step_size": "learned"}, r"`initial_step_size` must be a positive number or '1/L', got 'learned'"),
        ({"projection": "random"}, r"`projection` must be one of 'learned', 'zero-pad', got 'random'"),
        ({"dropout": -0.1}, r"`dropout` must be in \[0, 1\), got -0.1"),
        ({"initialization": "lecun"}, r"`initialization` must be one of .*, got 'lecun'"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ArgumentError, match=message):
        DenseResNetConfig(**{"inputs": 3, "outputs": 2, **options})


def test_wrong_inputs():
    with pytest.raises(ShapeError, match=r"each example must have the shape \(3,\)"):
        DenseResNet(DenseResNetConfig(3, 1))(torch.zeros(2, 4))
