import copy
import io

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from lamina._errors import ArgumentError
from lamina.architectures.adapt import adapt, mark_new, new_tensors, weight_layers
from lamina.architectures.build import build
from lamina.data.load import load
from lamina.functional.losses import mse_half
from lamina.layers.dropout import Dropout
from lamina.layers.initialized import conv2d, linear
from lamina.training.fit import describe, fit, rebuild, resume
from lamina.training.freezing import ALL_BUT_LAST, freeze, frozen, stages, unfreeze
from lamina.training.recipe import Adam, MiniBatch, Recipe

RESNET = ("conv1", "layer1", "layer2", "layer3", "layer4", "fc")
STAGES = {
    "perceptron": ({}, ("affine",)),
    "fnn": ({"inputs": 4, "hidden": (3, 3)}, ("layers.0", "layers.1", "layers.2")),
    "lenet5": ({}, ("features", "classifier")),
    "lenet5-1998": ({}, tuple(f"body.{name}" for name in ("C1", "S2", "C3", "S4", "C5", "F6"))),
    "alexnet": ({"width": 0.02}, ("features", "classifier")),
    "dense-resnet": ({"depth": 2}, ("layers.0", "layers.1", "readout")),
    "neural-ode": ({"width": 5}, ("projection", "weight", "readout")),
    "resnet18": ({"width": 0.05}, RESNET),
    "resnet50": ({"width": 0.05, "block": "preactivation"}, RESNET),
    "cifar-resnet": ({"depth": 8}, ("conv1", "layer1", "layer2", "layer3", "fc")),
    "many-to-one": ({}, ("recurrent", "output")),
    "many-to-many": ({"embedding": 4}, ("encoding", "recurrent", "output")),
    "seq2seq": (
        {"bidirectional": True},
        ("source_encoding", "encoder", "bridge", "target_encoding", "decoder", "output"),
    ),
}


def snapshot(net):
    return {name: t.clone() for name, t in net.state_dict().items()}


def moved(net, before):
    return {name for name, t in net.state_dict().items() if not torch.equal(t, before[name])}


def of(net, *parts):
    """Name the tensors of some modules or parameters."""
    return {name for name in net.state_dict() if any(name == p or name.startswith(f"{p}.") for p in parts)}


def three_steps(net, shape, outputs, generator):
    """Train as a plain torch loop would: train(), loss, backward, step; with momentum and weight decay."""
    params = [p for p in net.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(params, lr=0.1, momentum=0.9, weight_decay=0.1)
    for _ in range(3):
        net.train()
        u, labels = torch.randn(6, *shape, generator=generator), torch.arange(6) % outputs
        optimizer.zero_grad()
        cross_entropy(net(u), labels).backward()
        optimizer.step()
        net.eval()


@pytest.mark.notes("N4.39")
@pytest.mark.parametrize("name", STAGES)
def test_stages_go_from_the_input_to_the_output(name):
    options, expected = STAGES[name]
    assert stages(build(name, **options)) == expected


@pytest.mark.parametrize("name", STAGES)
def test_stages_hold_every_parameter_once(name):
    net = build(name, **STAGES[name][0])
    names = stages(net)
    seen = 0
    for number in range(1, len(names)):
        freeze(net, number)
        held = sum(not p.requires_grad for p in net.parameters())
        assert held > seen
        seen = held
    last = [n for n, p in net.named_parameters() if p.requires_grad]
    assert last and all(n == names[-1] or n.startswith(names[-1]) for n in last)
    unfreeze(net)
    assert all(p.requires_grad for p in net.parameters()) and frozen(net) == ()


@pytest.mark.notes("N4.39")
@pytest.mark.parametrize("block", ["original", "preactivation"])
def test_three_steps_change_no_bit_of_what_is_frozen(block, generator):
    net = build("resnet18", inputs=(3, 16, 16), outputs=4, width=0.1, stem="cifar", block=block)
    three_steps(net, (3, 16, 16), 4, generator)  # statistics that are worth keeping
    freeze(net, until="layer2")
    before = snapshot(net)
    three_steps(net, (3, 16, 16), 4, generator)
    still = of(net, "conv1", "bn1", "layer1", "layer2")
    assert moved(net, before) == set(net.state_dict()) - still
    assert any("running_mean" in name for name in still) and any("num_batches_tracked" in name for name in still)


def test_without_freezing_the_same_steps_change_everything(generator):
    net = build("resnet18", inputs=(3, 16, 16), outputs=4, width=0.1, stem="cifar")
    before = snapshot(net)
    three_steps(net, (3, 16, 16), 4, generator)
    assert moved(net, before) == set(net.state_dict())


def test_a_frozen_stage_computes_as_in_evaluation(generator):
    net = build("resnet18", inputs=(3, 16, 16), outputs=4, width=0.1, stem="cifar").double()
    with torch.no_grad():
        net.bn1.running_mean.uniform_(-1, 1, generator=generator)
        net.bn1.running_var.uniform_(0.5, 2, generator=generator)
    u = torch.randn(5, 3, 16, 16, dtype=torch.float64, generator=generator)
    expected = net.eval().layer1(net.bn1(net.conv1(u)).relu())
    freeze(net.train(), "layer1")
    assert torch.equal(net.layer1(net.bn1(net.conv1(u)).relu()), expected)
    unfreeze(net)
    assert not torch.allclose(net.layer1(net.bn1(net.conv1(u)).relu()), expected)


def test_frozen_dropout_lets_everything_pass_and_does_not_count(generator):
    net = build("fnn", inputs=4, outputs=2, hidden=(8, 8), dropout=0.5)
    freeze(net, 1)
    three_steps(net, (4,), 2, generator)
    assert [layer.dropout.counter.item() for layer in net.layers[:2]] == [0, 3]
    u = torch.ones(3, 4)
    assert torch.equal(net.train().layers[0](u), net.eval().layers[0](u))


@pytest.mark.notes("N4.39")
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("lenet5", {"dropout": 0.5}),
        ("resnet18", {"width": 0.05}),
        ("many-to-one", {}),
        ("neural-ode", {"width": 3}),
        ("dense-resnet", {"depth": 2}),
        ("fnn", {"batch_norm": True, "hidden": (3, 3)}),
    ],
)
def test_all_but_the_last_layer(name, options):
    net = freeze(build(name, **options), "all but last")
    last = weight_layers(net)[-1]
    free = {n for n, p in net.named_parameters() if p.requires_grad}
    assert free == of(net, last) and free
    net.train()
    held = [m for n, m in net.named_modules() if n and not last.startswith(n)]
    assert held and not any(m.training for m in held) and net.get_submodule(last).training


def test_all_but_last_leaves_parameters_between_to_nobody():
    class Head(nn.Module):
        def __init__(self):
            super().__init__()
            self.gain = nn.Parameter(torch.ones(2))
            self.out = linear(2, 2)

        def forward(self, u):
            return self.out(self.gain * u)

    net = nn.Sequential(linear(2, 2), Head())
    freeze(net, "all but last")
    assert {n for n, p in net.named_parameters() if p.requires_grad} == {"1.out.weight", "1.out.bias"}
    assert frozen(net) == ("0", "1.gain")
    other = freeze(nn.Sequential(linear(2, 2), Head()), frozen(net))
    assert frozen(other) == frozen(net)
    assert frozen(unfreeze(other)) == ()


def test_nothing_before_a_single_layer_is_frozen():
    net = freeze(build("perceptron"), "all but last")
    assert frozen(net) == () and all(p.requires_grad for p in net.parameters())


def test_copies_and_files_stay_frozen(generator):
    net = freeze(build("resnet18", inputs=(3, 16, 16), outputs=4, width=0.1, stem="cifar"), 3)
    buffer = io.BytesIO()
    torch.save(net, buffer)
    buffer.seek(0)
    for other in (copy.deepcopy(net), torch.load(buffer, weights_only=False)):
        assert frozen(other) == frozen(net) == ("conv1", "bn1", "maxpool", "layer1", "layer2")
        before = snapshot(other)
        three_steps(other, (3, 16, 16), 4, generator)
        assert not moved(other, before) & of(other, *frozen(other))
        unfreeze(other)
        assert frozen(net) and not frozen(other)  # the copy's hold is on the copy
    assert set(frozen(adapt(net))) == set(frozen(net))


@pytest.mark.notes("N4.39")
def test_unfreezing_step_by_step(generator):
    net = freeze(build("resnet18", inputs=(3, 16, 16), outputs=4, width=0.1, stem="cifar"), "layer4")
    assert [n for n, p in net.named_parameters() if p.requires_grad] == ["fc.weight", "fc.bias"]
    unfreeze(net, since="layer4")
    assert frozen(net)[-1] == "layer3" and net.train().layer4[0].bn1.training
    unfreeze(net.eval(), since=3)  # the last three stages: layer3, layer4, fc
    assert frozen(net)[-1] == "layer2" and not net.layer3[0].training
    before = snapshot(net)
    three_steps(net, (3, 16, 16), 4, generator)
    assert moved(net, before) == of(net, "layer3", "layer4", "fc")
    unfreeze(net)
    before = snapshot(net)
    three_steps(net, (3, 16, 16), 4, generator)
    assert moved(net, before) == set(net.state_dict())


def test_freezing_adds_up_and_takes_numbers_as_text():
    net = build("resnet18", width=0.05)
    assert frozen(freeze(net, "2")) == ("conv1", "bn1", "maxpool", "layer1")
    assert frozen(freeze(net, 1)) == ("conv1", "bn1", "maxpool", "layer1")
    plain = nn.Sequential(linear(2, 2), nn.ReLU(), linear(2, 2), nn.BatchNorm1d(2), linear(2, 2))
    assert stages(plain) == ("0", "2", "4")
    assert frozen(freeze(plain, "2")) == ("0", "1", "2", "3")  # the name of a stage goes before a number


def test_layers_without_parameters_belong_to_the_stage_before_them():
    net = nn.Sequential(
        nn.Flatten(), linear(2, 2), nn.BatchNorm1d(2), Dropout(0.5), linear(2, 2), Dropout(0.5, place=1)
    )
    assert stages(net) == ("1", "4")
    freeze(net, 1)
    assert [m.training for m in net.train()] == [False, False, False, False, True, True]
    normed = nn.Sequential(nn.BatchNorm1d(2), linear(2, 2))
    assert stages(normed) == ("0", "1")


ERRORS = [
    ("layer5", r"`until` must be one of the stages conv1, layer1, .*, fc, got 'layer5'; did you mean 'layer4'\?"),
    ("xyz", r"`until` must be one of the stages conv1, .*, got 'xyz'\."),
    (0, r"the number of stages must be in \[1, 6\] \(conv1, .*, fc\), got 0"),
    ("7", r"the number of stages must be in \[1, 6\] \(conv1, .*, fc\), got 7"),
    ("fc", r"`until` 'fc' would freeze all of conv1, .*, fc: leave at least the last layer to train"),
    (6, r"`until` 6 would freeze all of"),
    (("conv1", "nose"), r"the network has no part 'nose' to freeze: it has conv1, layer1"),
]


@pytest.mark.parametrize(("until", "message"), ERRORS)
def test_what_cannot_be_frozen_is_said_and_nothing_is(until, message):
    net = build("resnet18", width=0.05)
    with pytest.raises(ArgumentError, match=message):
        freeze(net, until)
    assert frozen(net) == ()


def test_what_cannot_be_unfrozen_is_said():
    net = freeze(build("resnet18", width=0.05), 2)
    with pytest.raises(ArgumentError, match=r"`since` must be one of the stages conv1, .*; did you mean 'layer1'\?"):
        unfreeze(net, "layer11")
    with pytest.raises(ArgumentError, match=r"the number of stages must be in \[1, 6\] .* got 9"):
        unfreeze(net, 9)
    assert len(frozen(net)) == 4


@pytest.mark.notes("N4.39")
@pytest.mark.parametrize("optimizer", [Adam(0.01), MiniBatch(0.1, momentum=0.9)])
def test_fit_changes_nothing_that_is_frozen(optimizer, tmp_path):
    data = load("digits")
    net = build("resnet18", inputs=(1, 8, 8), outputs=10, width=0.1, stem="cifar")
    freeze(net, "layer1")
    before = snapshot(net)
    run = fit(net, data, Recipe(optimizer, epochs=1, batch_size=256), folder=tmp_path / "run")
    assert not moved(run.model, before) & of(net, "conv1", "bn1", "layer1")
    assert {"fc.weight", "layer2.0.bn1.running_mean", "layer4.1.conv2.weight"} <= moved(run.model, before)


def test_a_frozen_run_is_rebuilt_and_resumed_frozen(tmp_path):
    data = load("digits").split()
    recipe = Recipe(Adam(0.01), epochs=2, batch_size=128)
    nets = [build("lenet5", inputs=(1, 8, 8), activation="relu", dropout=0.5) for _ in range(2)]
    for net in nets:
        freeze(net, 1)
    whole = fit(nets[0], data, recipe, folder=tmp_path / "whole")
    half = fit(nets[1], data, Recipe(Adam(0.01), epochs=1, batch_size=128), folder=tmp_path / "half")
    assert frozen(rebuild(describe(nets[0]))) == ("features",)
    end = resume(half.folder, data=data, epochs=2)
    assert frozen(end.model) == ("features",)
    assert all(torch.equal(t, end.model.state_dict()[name]) for name, t in whole.model.state_dict().items())
    assert [row["loss"] for row in end.rows] == [row["loss"] for row in whole.rows]


def test_a_frozen_network_runs_under_functional_call_and_vmap():
    nets = [build("fnn", inputs=3, outputs=1, hidden=(4, 4), batch_norm=True, seed=seed) for seed in range(2)]
    for net in nets:
        freeze(net, 1).train()
    params, buffers = torch.func.stack_module_state(nets)
    u = torch.rand(2, 5, 3, generator=torch.Generator().manual_seed(0))

    def loss(p, b, x):
        return mse_half(torch.func.functional_call(nets[0], (p, b), (x,)), torch.zeros(5, 1))

    together = torch.vmap(loss)(params, {n: b.clone() for n, b in buffers.items()}, u)
    alone = torch.stack([mse_half(net(x), torch.zeros(5, 1)) for net, x in zip(nets, u, strict=True)])
    assert torch.allclose(together, alone, atol=1e-6)


def test_convolutions_by_hand_freeze_too(generator):
    net = nn.Sequential(conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), linear(16, 2))
    freeze(net, 1)
    before = snapshot(net)
    three_steps(net, (1, 4, 4), 2, generator)
    assert moved(net, before) == {"4.weight", "4.bias"}


# What starts anew


def new_in(net, *names):
    return mark_new(net, [name for name in net.state_dict() if name.startswith(names)])


def trainable(net):
    return {name.rpartition(".")[0] for name, p in net.named_parameters() if p.requires_grad}


@pytest.mark.notes("N4.38", "N4.39")
@pytest.mark.parametrize("until", ["layer4", 5, ALL_BUT_LAST, "fc"])
def test_a_new_stem_is_never_frozen_nor_the_normalization_behind_it(until):
    net = freeze(new_in(build("resnet18", width=0.1), "conv1.", "fc."), until)
    assert trainable(net) == {"conv1", "bn1", "fc"}
    net.train()
    assert net.bn1.training and not net.layer1[0].bn1.training
    assert {"layer1", "layer4"} <= set(frozen(net)) and not {"conv1", "bn1"} & set(frozen(net))


def test_a_new_layer_within_a_stage_is_not_frozen_with_it(generator):
    net = freeze(new_in(build("resnet18", width=0.1, outputs=4), "layer2.0.conv1."), "layer2")
    assert trainable(net) - {"fc"} - {name for name in trainable(net) if name.startswith(("layer3", "layer4"))} == {
        "layer2.0.conv1",
        "layer2.0.bn1",
    }
    assert {"layer2.0.conv2", "layer2.0.bn2", "layer2.1"} <= set(frozen(net))
    assert frozen(freeze(build("resnet18", width=0.1, outputs=4), frozen(net))) == frozen(net)
    before = snapshot(net)
    net.train()
    for _ in range(2):
        optimizer = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], 0.1)
        net(torch.rand(4, 3, 32, 32, generator=generator)).square().sum().backward()
        optimizer.step()
    changed = moved(net, before)
    assert {"layer2.0.conv1.weight", "layer2.0.bn1.running_mean"} <= changed
    assert not changed & of(net, "layer2.0.conv2", "layer2.0.bn2", "layer2.1", "layer1")


def test_adapted_layers_are_new_and_not_frozen():
    ours = adapt(build("resnet18", width=0.1, inputs=(3, 32, 32)), channels=1, classes=4)
    assert new_tensors(ours) == ("conv1.weight", "fc.weight", "fc.bias")
    assert trainable(freeze(ours, "fc")) == {"conv1", "bn1", "fc"}
    foreign = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.LayerNorm(3), torch.nn.Linear(3, 3))
    other = adapt(foreign, inputs=5, classes=2)
    assert new_tensors(other) == ("0.weight", "0.bias", "2.weight", "2.bias")
    assert new_tensors(adapt(foreign, classes=2)) == ("2.weight", "2.bias") and new_tensors(foreign) == ()
    assert new_tensors(adapt(adapt(foreign, classes=2), inputs=5)) == new_tensors(other)
    assert new_tensors(adapt(torch.nn.Linear(2, 3), classes=4)) == ("weight", "bias")


def test_a_recurrent_cell_that_reads_other_inputs_is_not_frozen():
    net = adapt(build("many-to-one", inputs=4, outputs=2, hidden=3), inputs=6)
    cell = next(name for name in new_tensors(net) if name.endswith("weight")).rpartition(".")[0]
    freeze(net, ALL_BUT_LAST)
    assert cell in trainable(net)


def test_a_new_parameter_of_the_whole_network_is_not_frozen():
    class Own(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.scale, self.last = (
                torch.nn.Linear(2, 2),
                torch.nn.Parameter(torch.ones(2)),
                torch.nn.Linear(2, 1),
            )

    net = freeze(mark_new(Own(), ["scale"]), ALL_BUT_LAST)
    assert net.scale.requires_grad and not net.first.weight.requires_grad
