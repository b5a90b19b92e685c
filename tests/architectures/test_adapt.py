import math
from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.nn.utils.parametrizations import weight_norm

from architectures.torchvision_reference import _prepare, reference
from lamina._errors import ArgumentError
from lamina.architectures.adapt import adapt, changed_tensors, compare, fill, weight_layers
from lamina.architectures.build import build
from lamina.architectures.table import TABLE
from lamina.layers.convolution import TrueConv2d
from lamina.layers.encoding import Embedding
from lamina.layers.initialized import conv2d, linear


def count(module):
    return sum(p.numel() for p in module.parameters())


def scramble(net, seed=0):
    """Change every floating tensor, as training would: biases and statistics too, and dropout's rate."""
    g = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for t in net.state_dict().values():
            if t.is_floating_point():
                t.mul_(0.5).add_(0.01 + 0.1 * torch.rand(t.shape, generator=g) * (t.dim() < 2))
    return net


def kept_bits(before, after, changed):
    """Assert that every tensor that is not named as changed is the trained one, by torch's own comparison."""
    old, new = before.state_dict(), after.state_dict()
    for name in set(old) & set(new) - set(changed):
        assert torch.equal(old[name], new[name]), name
    assert set(old) ^ set(new) <= set(changed)


WORDS = torch.zeros(2, 3, dtype=torch.int64)
# name: options, what is asked, what changes, the configuration then, an input of the new kind
CASES = {
    "perceptron": ({}, {"inputs": 5}, "affine.weight affine.bias", {"inputs": 5}, torch.ones(2, 5)),
    "perceptron-2": ({}, {"classes": 2}, "affine.weight affine.bias", {"outputs": 2}, torch.ones(2, 3)),
    "fnn": (
        {"inputs": (1, 4, 4), "hidden": (6, 5), "batch_norm": True},
        {"channels": 3, "classes": 2},
        "layers.0.affine.weight layers.2.affine.weight layers.2.affine.bias",
        {"inputs": (3, 4, 4), "outputs": 2},
        torch.ones(2, 3, 4, 4),
    ),
    "fnn-2": (
        {"inputs": 16, "hidden": 6, "dropout": 0.5},
        {"inputs": (3, 4, 4)},
        "layers.0.affine.weight layers.0.affine.bias",
        {"inputs": (3, 4, 4)},
        torch.ones(2, 3, 4, 4),
    ),
    "lenet5": (
        {"dropout": 0.5},
        {"channels": 3, "classes": 4},
        "features.0.weight features.0.bias classifier.7.weight classifier.7.bias",
        {"inputs": (3, 28, 28), "outputs": 4},
        torch.ones(2, 3, 28, 28),
    ),
    "lenet5-1998": ({}, {"inputs": (1, 28, 28)}, "", {"inputs": (1, 28, 28)}, torch.ones(2, 1, 28, 28)),
    "alexnet": (
        {"inputs": (3, 67, 67), "width": 0.05},
        {"channels": 1, "classes": 4},
        "features.0.weight features.0.bias classifier.6.weight classifier.6.bias",
        {"inputs": (1, 67, 67), "outputs": 4},
        torch.ones(2, 1, 67, 67),
    ),
    "alexnet-2012": (
        {"inputs": (3, 67, 67), "width": 0.05},
        {"classes": 4},
        "classifier.6.weight classifier.6.bias",
        {"outputs": 4},
        torch.ones(2, 3, 67, 67),
    ),
    "alexnet-torchvision": (
        {"width": 0.05},
        {"inputs": (1, 64, 64)},
        "features.0.weight features.0.bias",
        {"inputs": (1, 64, 64)},
        torch.ones(2, 1, 64, 64),
    ),
    "alexnet-cifar": (
        {"width": 0.05},
        {"channels": 1, "classes": 4},
        "features.0.weight features.0.bias classifier.6.weight classifier.6.bias",
        {"inputs": (1, 32, 32), "outputs": 4},
        torch.ones(2, 1, 32, 32),
    ),
    "dense-resnet": (
        {"hidden": (2, 4), "outer": True, "step_size": "learned"},
        {"inputs": 3, "classes": 5},
        "layers.0.affine.weight layers.0.affine.bias layers.0.projection.weight readout.weight readout.bias",
        {"inputs": 3, "outputs": 5},
        torch.ones(2, 3),
    ),
    "dense-resnet-2": (
        {"hidden": (4, 4)},
        {"inputs": 4},
        "layers.0.affine.weight layers.0.affine.bias layers.0.projection.weight",
        {"inputs": 4},
        torch.ones(2, 4),
    ),
    "dense-resnet-3": (
        {"hidden": (4, 4), "projection": "zero-pad"},
        {"inputs": 3},
        "layers.0.affine.weight layers.0.affine.bias",
        {"inputs": 3},
        torch.ones(2, 3),
    ),
    "neural-ode": (
        {"knots": 2},
        {"inputs": 3, "classes": 4},
        "projection.weight readout.weight readout.bias",
        {"inputs": 3, "outputs": 4, "width": 2},
        torch.ones(2, 3),
    ),
    "neural-ode-2": ({"width": 4, "projection": "zero-pad"}, {"inputs": 3}, "", {"inputs": 3}, torch.ones(2, 3)),
    "resnet18": (
        {"width": 0.1},
        {"inputs": (1, 40, 36), "classes": 3},
        "conv1.weight fc.weight fc.bias",
        {"inputs": (1, 40, 36), "outputs": 3},
        torch.ones(2, 1, 40, 36),
    ),
    "resnet34": (
        {"width": 0.1},
        {"channels": 4},
        "conv1.weight",
        {"inputs": (4, 224, 224)},
        torch.ones(2, 4, 33, 33),
    ),
    "resnet50": ({"width": 0.1}, {"classes": 3}, "fc.weight fc.bias", {"outputs": 3}, torch.ones(2, 3, 33, 33)),
    "resnet18-cifar": (
        {"width": 0.1},
        {"channels": 1},
        "conv1.weight",
        {"inputs": (1, 32, 32)},
        torch.ones(2, 1, 32, 32),
    ),
    "cifar-resnet": (
        {"depth": 8},
        {"channels": 1, "classes": 2},
        "conv1.weight fc.weight fc.bias",
        {"inputs": (1, 32, 32), "outputs": 2},
        torch.ones(2, 1, 32, 32),
    ),
    "resnet164": (
        {"depth": 11, "bottleneck": True},
        {"classes": 2},
        "fc.weight fc.bias",
        {"outputs": 2},
        torch.ones(2, 3, 32, 32),
    ),
    "resnet1001": (
        {"depth": 11, "bottleneck": True},
        {"channels": 1},
        "conv1.weight",
        {"inputs": (1, 32, 32)},
        torch.ones(2, 1, 32, 32),
    ),
    "one-to-many": (
        {"feedback": True, "hidden": 4},
        {"inputs": 5, "classes": 5},
        "recurrent.cells.0.weight output.weight",
        {"inputs": 5, "outputs": 5},
        torch.ones(2, 5),
    ),
    "many-to-one": (
        {"hidden": 4, "cell": "lstm", "layers": 2, "bidirectional": True, "output_bias": True},
        {"inputs": 5, "classes": 3},
        "recurrent.cells.0.weight recurrent.cells.1.weight output.weight output.bias",
        {"inputs": 5, "outputs": 3},
        torch.ones(2, 3, 5),
    ),
    "many-to-one-2": (
        {"hidden": 4, "embedding": 3},
        {"inputs": 20},
        "encoding.weight",
        {"inputs": 20},
        WORDS + 19,
    ),
    "many-to-many": (
        {"hidden": 4, "embedding": "one-hot", "cell": "rnn"},
        {"inputs": 20, "classes": 2},
        "recurrent.cells.0.weight output.weight",
        {"inputs": 20, "outputs": 2},
        WORDS + 19,
    ),
    "seq2seq": (
        {"hidden": 4},
        {"inputs": 20, "classes": 30},
        "source_encoding.weight target_encoding.weight output.weight",
        {"inputs": 20, "outputs": 30},
        (WORDS + 19, WORDS + 29),
    ),
    "seq2seq-2": (
        {"hidden": 4, "embedding": None, "bidirectional": True},
        {"classes": 5},
        "decoder.cells.0.weight output.weight",
        {"outputs": 5},
        (torch.ones(2, 3, 32), torch.ones(2, 3, 5)),
    ),
}


def test_every_architecture_of_the_table_has_a_case():
    assert {name.removesuffix("-2").removesuffix("-3") for name in CASES} == set(TABLE) - {"logic-gate"}


@pytest.mark.notes("N4.35", "N4.36", "N4.37", "N4.39", "N4.41")
@pytest.mark.parametrize("case", CASES)
def test_only_first_and_last_layer_change_in_every_architecture(case):
    options, asked, expected, sizes, inputs = CASES[case]
    before = scramble(build(case if case in TABLE else case[:-2], **options))
    original = {name: t.clone() for name, t in before.state_dict().items()}
    after = adapt(before, **asked)
    changed = changed_tensors(before, after)
    assert set(changed) == set(expected.split())
    kept_bits(before, after, changed)
    assert all(torch.equal(t, before.state_dict()[name]) for name, t in original.items())
    assert after.config == replace(before.config, **sizes)
    again = type(after)(after.config)
    again.load_state_dict(after.state_dict())
    arguments = inputs if isinstance(inputs, tuple) else (inputs,)
    outputs = again.eval()(*arguments)
    assert outputs.isfinite().all() and torch.equal(outputs, after.eval()(*arguments))
    assert outputs.shape[-1] == after.config.outputs


@pytest.mark.notes("N4.36", "N4.37")
def test_resnet18_has_the_numbers_of_the_catalogue():
    before = scramble(build("resnet18"))
    gray, ten, both = adapt(before, channels=1), adapt(before, classes=10), adapt(before, 1, 10)
    assert (count(before.conv1), count(gray.conv1)) == (9408, 3136)
    assert (count(before), count(ten), count(both)) == (11689512, 11181642, 11175370)
    assert count(ten.fc) == 512 * 10 + 10
    assert changed_tensors(before, gray) == ("conv1.weight",)
    assert changed_tensors(before, ten) == ("fc.weight", "fc.bias")
    assert changed_tensors(before, both) == ("conv1.weight", "fc.weight", "fc.bias")
    assert len(both.state_dict()) == 122


@pytest.mark.notes("N4.38")
@pytest.mark.parametrize("case", CASES)
def test_nothing_asked_changes_nothing(case):
    options = CASES[case][0]
    before = scramble(build(case if case in TABLE else case[:-2], **options))
    sizes = {"inputs": before.config.inputs, "classes": before.config.outputs}
    for after in (adapt(before), adapt(before, **sizes)):
        assert changed_tensors(before, after) == ()
        assert after is not before and after.config == before.config


@pytest.mark.notes("N4.38")
def test_a_single_bit_is_noticed():
    before = linear(2, 2, bias=False)
    after = adapt(before)
    with torch.no_grad():
        before.weight.fill_(0.0)
        after.weight.fill_(0.0)
        assert changed_tensors(before, after) == ()
        after.weight[1, 1] = -0.0
    assert changed_tensors(before, after) == ("weight",)
    assert changed_tensors(before, before.double()) == ()
    assert changed_tensors(linear(2, 2, bias=False), after.double()) == ("weight",)
    with torch.no_grad():
        after.weight.fill_(math.nan)
    assert changed_tensors(after, after) == ()


def test_extra_state_is_compared_as_it_is():
    class Counting(nn.Module):
        def __init__(self, number):
            super().__init__()
            self.number = number

        def get_extra_state(self):
            return {"number": self.number}

        def set_extra_state(self, state):
            self.number = state["number"]

    assert changed_tensors(Counting(1), Counting(1)) == ()
    assert changed_tensors(Counting(1), Counting(2)) == ("_extra_state",)


@pytest.mark.notes("N4.39")
def test_a_new_layer_follows_the_rule_of_the_configuration():
    net = scramble(build("resnet18", width=0.5))
    weight = adapt(net, channels=8).conv1.weight
    assert weight.std().item() == pytest.approx(math.sqrt(2 / (8 * 49)), rel=0.03)
    lenet = scramble(build("lenet5", initialization="constant", scale=0.25))
    new = adapt(lenet, channels=2, classes=3)
    for layer in (new.features[0], new.classifier[7]):
        assert (layer.weight == 0.25).all() and (layer.bias == 0).all()
    wide = adapt(scramble(build("fnn", hidden=300, activation="tanh")), inputs=200, classes=100)
    assert wide.layers[0].affine.weight.std().item() == pytest.approx(1 / math.sqrt(200), rel=0.02)
    assert wide.layers[1].affine.weight.std().item() == pytest.approx(1 / math.sqrt(300), rel=0.02)


def test_the_seed_decides_about_the_new_layers():
    net = build("lenet5")
    one, same, other = (adapt(net, classes=3, seed=seed) for seed in (1, 1, 2))
    assert changed_tensors(one, same) == () and changed_tensors(one, other) == ("classifier.7.weight",)
    g = torch.Generator().manual_seed(1)
    assert changed_tensors(one, adapt(net, classes=3, seed=g)) == ()
    assert changed_tensors(one, adapt(net, classes=3, seed=g)) == ("classifier.7.weight",)


@pytest.mark.notes("N4.35")
def test_the_layers_that_stay_compute_what_they_did():
    before = build("lenet5", seed=3).double()
    after = adapt(before, classes=4)
    u = torch.rand(5, 1, 28, 28, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        after.classifier[7].weight.copy_(before.classifier[7].weight[2:6])
    assert torch.allclose(after(u), before(u)[:, 2:6], atol=1e-13, rtol=0)


def test_a_neural_ode_keeps_its_state_and_gets_a_projection():
    before = build("neural-ode", inputs=2, outputs=3, seed=1).double()
    after = adapt(before, inputs=3)
    u = torch.rand(5, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        after.projection.weight.copy_(torch.eye(2, 3))
    assert torch.allclose(after(u), before(u[:, :2]), atol=1e-14, rtol=0)
    assert adapt(before, inputs=(2, 1)).config.width == 2 and before.config.width is None


@pytest.mark.parametrize("cell", ["rnn", "gru", "lstm"])
def test_a_cell_keeps_its_columns_on_the_state(cell):
    before = scramble(build("many-to-one", inputs=3, hidden=4, cell=cell))
    after = adapt(before, inputs=6)
    old, new = before.recurrent.cells[0], after.recurrent.cells[0]
    assert torch.equal(new.weight[:, :4], old.weight[:, :4]) and torch.equal(new.bias, old.bias)
    fresh = new.weight[:, 4:]
    assert fresh.shape[1] == 6 and not torch.equal(fresh[:, :3], old.weight[:, 4:])
    assert fresh.std().item() == pytest.approx(1 / math.sqrt(10), rel=0.3)  # xavier, fan-in n_h + n_u
    silent = torch.zeros(2, 5, 6), torch.zeros(2, 5, 3)
    assert torch.allclose(after(silent[0]), before(silent[1]), atol=1e-6)


def test_lenet_for_32_pixels_needs_no_new_layer():
    before = scramble(build("lenet5"))
    after = adapt(before, inputs=(1, 32, 32))
    assert changed_tensors(before, after) == () and after(torch.zeros(1, 1, 32, 32)).shape == (1, 10)


def test_precision_and_mode_stay():
    net = build("resnet18", width=0.1).double().train()
    net.layer1.eval()
    after = adapt(net, channels=1)
    assert {p.dtype for p in after.parameters()} == {torch.float64}
    assert after.training and not after.layer1[0].training and after.layer2[0].training


ERRORS = [
    (
        "lenet5",
        {},
        {"inputs": (1, 20, 20)},
        r"dense layers of LeNet5 depend on the size .* \(1, 28, 28\), got \(1, 20,",
    ),
    ("alexnet", {"width": 0.05}, {"inputs": (3, 99, 99)}, r"dense layers of AlexNet depend on the size .* as resnet18"),
    ("lenet5-1998", {}, {"classes": 5}, r"`outputs` must be 10, got 5: the output codes are the ten digits"),
    ("lenet5-1998", {}, {"channels": 3}, r"`inputs` must be \(1, 32, 32\), or \(1, 28, 28\) .* got \(3, 32, 32\)"),
    ("logic-gate", {}, {"classes": 2}, r"a logic gate must have `inputs` 2 and `outputs` 1, got 2 and 2"),
    ("one-to-many", {"feedback": True}, {"classes": 5}, r"`outputs` must equal `inputs` \(8\) with feedback=True"),
    ("fnn", {}, {"channels": 3}, r"`channels` is for networks that read pictures, but this FNN reads 784 numbers"),
    ("many-to-one", {}, {"channels": 3}, r"but this ManyToOne reads 8 numbers: give `inputs` instead"),
    ("resnet18", {"width": 0.1}, {"inputs": 3}, r"`inputs` must be \(channels, height, width\) for ResNet, got 3: or"),
    ("many-to-one", {}, {"inputs": (3, 4)}, r"`inputs` must be a number for ManyToOne, .* got \(3, 4\)"),
    ("lenet5", {}, {"channels": 3, "inputs": (1, 28, 28)}, r"`channels` 3 and `inputs` \(1, 28, 28\) contradict"),
    ("lenet5", {}, {"channels": 3, "inputs": 3}, r"`channels` 3 and `inputs` 3 contradict each other: give one"),
    ("lenet5", {}, {"channels": 0}, r"`channels` must be at least 1, got 0"),
    ("lenet5", {}, {"classes": -1}, r"`classes` must be at least 1, got -1"),
    ("fnn", {}, {"inputs": (3, 0)}, r"`inputs` must be at least 1, got 0"),
    ("fnn", {}, {"inputs": ()}, r"`inputs` must be a number or the shape of one example, got the empty shape"),
]


@pytest.mark.parametrize(("name", "options", "asked", "message"), ERRORS)
def test_what_cannot_be_adapted_is_said(name, options, asked, message):
    with pytest.raises(ArgumentError, match=message):
        adapt(build(name, **options), **asked)


def test_a_frozen_network_is_not_thawed_in_silence():
    net = build("lenet5")
    net.features[0].weight.requires_grad_(False)
    with pytest.raises(ArgumentError, match="partly frozen, and a new one would not be: adapt it first and freeze it"):
        adapt(net, classes=3)
    assert not adapt(net).features[0].weight.requires_grad


@pytest.mark.notes("N4.36", "N4.37", "N4.41")
def test_torchvisions_resnet18_and_ours_are_adapted_alike():
    ours = scramble(build("resnet18"))
    theirs = reference("resnet18", ours.state_dict())
    after = adapt(theirs, channels=1, classes=10)
    assert changed_tensors(theirs, after) == ("conv1.weight", "fc.weight", "fc.bias")
    kept_bits(theirs, after, changed_tensors(theirs, after))
    assert count(after) == count(adapt(ours, 1, 10)) == 11175370
    assert (after.conv1.in_channels, after.fc.out_features) == (1, 10) and after.conv1.stride == (2, 2)
    assert after(torch.zeros(2, 1, 33, 33)).shape == (2, 10) and (after.fc.bias == 0).all()
    assert theirs.conv1.in_channels == 3 and count(theirs) == 11689512


@pytest.mark.notes("N4.41")
@pytest.mark.parametrize(
    ("name", "first", "last"),
    [
        ("alexnet", "features.0", "classifier.6"),
        ("mobilenet_v3_small", "features.0.0", "classifier.3"),
        ("squeezenet1_1", "features.0", "classifier.1"),
        ("densenet121", "features.conv0", "classifier"),
        ("vit_b_16", "conv_proj", "heads.head"),
        ("efficientnet_b0", "features.0.0", "classifier.1"),
        ("googlenet", "conv1.conv", "fc"),
    ],
)
def test_first_and_last_layer_of_other_networks(name, first, last):
    _prepare()
    from torchvision import models

    options = {"init_weights": False} if name == "googlenet" else {}
    with torch.device("meta"):
        net = getattr(models, name)(**options)
    after = adapt(net, channels=1, classes=7)
    layers = weight_layers(net)
    assert (layers[0], layers[-1]) == (first, last)
    old, new = ({n: tuple(t.shape) for n, t in m.state_dict().items()} for m in (net, after))
    differ = {n for n in old if old[n] != new[n]}
    assert differ == {f"{first}.weight", f"{last}.weight", f"{last}.bias"} and set(old) == set(new)
    assert new[f"{first}.weight"][1] == 1 and new[f"{last}.weight"][0] == 7
    if name in ("squeezenet1_1", "vit_b_16"):
        assert after.num_classes == 7 and net.num_classes == 1000


def test_rules_of_a_foreign_first_and_last_layer():
    net = nn.Sequential(conv2d(3, 64, 5), nn.ReLU(), nn.Flatten(), linear(64, 10)).double()
    after = adapt(net, channels=8, classes=50, seed=4)
    assert after[0].weight.std().item() == pytest.approx(math.sqrt(2 / 200), rel=0.03)
    assert after[3].weight.std().item() == pytest.approx(1 / 8, rel=0.05)
    assert (after[0].bias == 0).all() and after[3].weight.dtype == torch.float64
    assert after(torch.zeros(2, 8, 5, 5, dtype=torch.float64)).shape == (2, 50)
    assert changed_tensors(after, adapt(net, channels=8, classes=50, seed=4)) == ()
    assert adapt(net, inputs=(8, 5, 5))[0].in_channels == adapt(net, inputs=8)[0].in_channels == 8


def test_a_lone_layer_is_first_and_last():
    layer = linear(3, 2)
    after = adapt(layer, inputs=(1, 2, 2), classes=5)
    assert tuple(after.weight.shape) == (5, 4) and (after.in_features, after.out_features) == (4, 5)
    assert adapt(layer, classes=5).in_features == 3 and adapt(layer, inputs=9).out_features == 2


def test_tables_of_words_and_true_convolutions_can_be_first():
    for table in (Embedding(10, 3), nn.Embedding.from_pretrained(torch.zeros(10, 3), freeze=False)):
        net = nn.Sequential(table, linear(3, 2))
        after = adapt(net, inputs=40)
        assert tuple(after[0].weight.shape) == (40, 3) and changed_tensors(net, after) == ("0.weight",)
        assert after(torch.tensor([39])).shape == (1, 2)
    net = nn.Sequential(TrueConv2d(1, 2, 3), nn.Flatten(), linear(2, 2))
    assert adapt(net, channels=5)(torch.zeros(1, 5, 3, 3)).shape == (1, 2)
    grouped = nn.Sequential(conv2d(4, 4, 3, groups=2), nn.Flatten(), linear(4, 2))
    assert tuple(adapt(grouped, channels=6)[0].weight.shape) == (4, 3, 3, 3)


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.read = Embedding(10, 3)
        self.write = linear(3, 10, bias=False)
        self.write.weight = self.read.weight


FOREIGN = [
    (nn.Sequential(nn.ReLU()), {"classes": 2}, r"Sequential has no layer with weights: there is nothing to adapt"),
    (
        nn.Sequential(nn.LSTM(3, 4), linear(4, 2)),
        {"inputs": 5},
        r"the first layer with weights, '0', is of the type LSTM",
    ),
    (
        nn.Sequential(linear(4, 2), nn.LSTM(2, 4)),
        {"classes": 5},
        r"the last layer with weights, '1', is of the type LSTM",
    ),
    (
        nn.Sequential(linear(4, 2)),
        {"channels": 5},
        r"`channels` is for convolutions, but the first layer '0' is dense",
    ),
    (conv2d(1, 2, 3), {"inputs": (3, 4)}, r"`inputs` must have 3 axes, channels first, .* 'Conv2d', got \(3, 4\)"),
    (conv2d(1, 2, 3), {"inputs": (3, 4, 4), "channels": 2}, r"`channels` 2 and `inputs` \(3, 4, 4\) contradict"),
    (conv2d(4, 4, 3, groups=2), {"channels": 3}, r"works in 2 groups: its channels must be multiples, got \(3, 4\)"),
    (nn.Sequential(weight_norm(linear(4, 2))), {"classes": 5}, r"the weight of '0' is computed from other parameters"),
    (Tied(), {"classes": 5}, r"'read.weight' and 'write.weight' are the same tensor: untie them before adapting one"),
    (Tied(), {"inputs": 5}, r"'read.weight' and 'write.weight' are the same tensor"),
    (nn.Sequential(Embedding(4, 2)), {"classes": 3}, r"the last layer with weights, '0', is of the type Embedding"),
    (nn.Sequential(Embedding(4, 2)), {"channels": 3}, r"the first layer with weights, '0', is of the type Embedding"),
]


@pytest.mark.parametrize(("net", "asked", "message"), FOREIGN)
def test_foreign_layers_that_cannot_be_adapted(net, asked, message):
    with pytest.raises(ArgumentError, match=message):
        adapt(net, **asked)


def test_nothing_asked_of_a_foreign_module_is_a_copy():
    net = nn.Sequential(nn.LSTM(3, 4), linear(4, 2))
    assert changed_tensors(net, adapt(net)) == () and changed_tensors(net, adapt(net, classes=2)) == ()


@pytest.mark.notes("N4.31")
def test_weight_layers_of_resnet18_are_its_20_convolutions_and_the_dense_one():
    layers = weight_layers(build("resnet18", width=0.1))
    assert len(layers) == 21 and layers[0] == "conv1" and layers[-1] == "fc"
    assert weight_layers(nn.Sequential(nn.LayerNorm((2, 2)), weight_norm(linear(2, 2)))) == ("1",)
    assert weight_layers(weight_norm(linear(2, 2))) == ("",)


@pytest.mark.notes("N4.35")
def test_compare_and_fill_layer_by_layer():
    net = build("fnn", inputs=3, outputs=2, hidden=(4, 5))
    tensors = {name: t + 1 for name, t in net.state_dict().items()}
    tensors["layers.0.affine.weight"] = torch.zeros(4, 9)  # the bias of the same layer fits, but stays out
    del tensors["layers.1.affine.bias"]
    tensors["layers.2.affine.bias"] = torch.zeros(2, dtype=torch.int64)  # no floats
    tensors["other"] = torch.zeros(1)
    fit = compare(net, tensors)
    assert fit.whole == ("layers.1.affine.weight",) and fit.missing == ("layers.1.affine.bias",)
    assert fit.reshaped == tuple(f"layers.{i}.affine.{p}" for i in (0, 2) for p in ("weight", "bias"))
    assert fit.unexpected == ("other",) and fit.partly == ()
    before = {name: t.clone() for name, t in net.state_dict().items()}
    fill(net, tensors, fit)
    moved = [name for name, t in net.state_dict().items() if not torch.equal(t, before[name])]
    assert moved == ["layers.1.affine.weight"]
    assert torch.equal(net.layers[1].affine.weight, tensors["layers.1.affine.weight"])
