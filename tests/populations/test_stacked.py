import copy

import pytest
import torch
from torch import nn
from torch.func import functional_call, vmap

from conformance.cases import ARCHITECTURES, LAYERS
from conformance.checks import floats, squares
from lamina import layers
from lamina.architectures.build import build
from lamina.architectures.fnn import FNN
from lamina.architectures.ode import NeuralODE
from lamina.architectures.table import TABLE as NAMES
from lamina.populations.stacked import METHODS, TABLE, _has_rule, _Mapped, _select_members, _stack_modules, notes
from populations.separate import K, assert_equals_separate, normal, of_member

LARGE = ("resnet34", "resnet50", "resnet164", "resnet1001", "resnet18-cifar", "alexnet-2012", "alexnet-torchvision")
CASES = [
    pytest.param(case, marks=pytest.mark.slow) if case.name.startswith(LARGE) else case
    for case in (*ARCHITECTURES, *LAYERS)
]


@pytest.mark.parametrize("training", (True, False), ids=("training", "evaluation"))
@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_rule_equals_separate_modules(case, training):
    modules = [case.module(seed).train(training) for seed in range(K)]
    stacked = assert_equals_separate(modules, case.arguments(), trains=case.trains)
    assert notes(stacked) == ()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_members_may_have_their_own_inputs(case):
    modules = [case.module(seed).train() for seed in range(K)]
    shared = case.arguments()
    turned = [torch.stack([x.roll(k, 0) for k in range(K)], 1) for x in shared]
    assert_equals_separate(modules, turned, own=True, trains=case.trains)


MAPS, VECTORS, ROWS = normal(4, 2, 6, 6), normal(4, 3), normal(4, 5, 3)
RULES = {
    **{kind: (lambda seed, kind=kind: kind(), VECTORS) for kind in (
        nn.Identity, nn.ReLU, nn.Tanh, nn.Sigmoid, nn.LeakyReLU, nn.ELU, nn.GELU, nn.SiLU, nn.Softplus)},
    nn.ModuleList: (lambda seed: nn.ModuleList(), None),
    nn.Sequential: (lambda seed: nn.Sequential(layers.conv2d(2, 3, 3, seed=seed), nn.ReLU(), nn.MaxPool2d(2)), MAPS),
    nn.Linear: (lambda seed: layers.linear(3, 2, seed=seed), ROWS),
    nn.Flatten: (lambda seed: nn.Flatten(1, 2), MAPS),
    nn.BatchNorm1d: (lambda seed: nn.BatchNorm1d(3), VECTORS),
    nn.BatchNorm2d: (lambda seed: nn.BatchNorm2d(2), MAPS),
    nn.Conv2d: (lambda seed: layers.conv2d(2, 4, 3, stride=2, padding=1, groups=2, seed=seed), MAPS),
    nn.AvgPool2d: (lambda seed: nn.AvgPool2d(2), MAPS),
    nn.MaxPool2d: (lambda seed: nn.MaxPool2d(3, 2), MAPS),
    nn.AdaptiveAvgPool2d: (lambda seed: nn.AdaptiveAvgPool2d(2), MAPS),
    nn.AdaptiveMaxPool2d: (lambda seed: nn.AdaptiveMaxPool2d(1), MAPS),
    nn.ConstantPad2d: (lambda seed: nn.ConstantPad2d(1, 0.5), MAPS),
    nn.ZeroPad2d: (lambda seed: nn.ZeroPad2d(2), MAPS),
    layers.TrueConv2d: (lambda seed: layers.TrueConv2d(2, 3, 3, padding=1, seed=seed), MAPS),
    layers.PartialConv2d: (lambda seed: layers.PartialConv2d(2, ((0,), (1,), (0, 1)), 3, seed=seed), MAPS),
    layers.Dropout: (lambda seed: layers.Dropout(0.1 * (seed + 1), seed=seed), ROWS),
    layers.WordDropout: (lambda seed: layers.WordDropout(0.1 * (seed + 1), seed=seed), ROWS),
    layers.Detector: (lambda seed: layers.Detector("sigmoid"), VECTORS),
    layers.Embedding: (lambda seed: layers.Embedding(6, 3, seed=seed), torch.arange(12).reshape(4, 3) % 6),
    layers.RNNCell: (lambda seed: layers.RNNCell(3, 4, seed=seed), VECTORS),
    layers.GRUCell: (lambda seed: layers.GRUCell(3, 4, seed=seed), VECTORS),
    layers.LSTMCell: (lambda seed: layers.LSTMCell(3, 4, seed=seed), VECTORS),
    layers.Recurrent: (lambda seed: layers.gru(3, 4, bidirectional=True, seed=seed), ROWS),
    FNN: (lambda seed: build("fnn", inputs=3, outputs=2, hidden=(5,), seed=seed), VECTORS),
    NeuralODE: (lambda seed: build("neural-ode", inputs=3, outputs=2, knots=2, steps=3, seed=seed), VECTORS),
}  # fmt: skip
"""A small module and an input for each rule."""


def by_vmap(modules, inputs, axis):
    """Compute K modules by `vmap`: the outputs with the members first, and their tensors after it."""
    each = [{**dict(module.named_parameters()), **dict(module.named_buffers())} for module in modules]
    tensors = {name: torch.stack([one[name].detach() for one in each]).requires_grad_(t.requires_grad)
               for name, t in each[0].items()}  # fmt: skip
    template = copy.deepcopy(modules[0])
    outputs = vmap(lambda tensors, x: functional_call(template, tensors, (x,)), (0, axis))(tensors, inputs)
    return outputs, tensors


def test_every_rule_has_a_case():
    assert set(RULES) == {*TABLE, *METHODS}


def assert_equals_vmap(kind, own):
    make, inputs = RULES[kind]
    modules = [make(seed).double() for seed in range(K)]
    inputs = torch.stack([inputs.roll(k, 0) for k in range(K)], 1) if own else inputs
    stacked = _stack_modules(modules)
    assert _has_rule(modules[0]) and type(stacked) is kind
    outputs = stacked(inputs if own else inputs.unsqueeze(1))
    mapped, tensors = by_vmap(modules, inputs, 1 if own else None)
    ours = [of_member(outputs, k, len(inputs)) for k in range(K)]
    theirs = [[leaf[k] for leaf in floats(mapped)] for k in range(K)]
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)
    for name, buffer in stacked.named_buffers():
        if buffer.shape == tensors[name].shape:  # a table of connections is not stacked
            torch.testing.assert_close(buffer, tensors[name])
    if dict(stacked.named_parameters()):
        for results in (ours, theirs):
            sum(squares(of_one) for of_one in results).backward()
        for name, parameter in stacked.named_parameters():
            torch.testing.assert_close(parameter.grad, tensors[name].grad, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("kind", [kind for kind in RULES if kind is not nn.ModuleList], ids=lambda kind: kind.__name__)
def test_every_rule_is_bound_to_vmap(kind):
    assert_equals_vmap(kind, own=True)
    module = RULES[kind][0](0)
    if [*module.parameters(), *module.buffers()]:  # else nothing differs between members that share inputs
        assert_equals_vmap(kind, own=False)


def test_the_table_covers_every_architecture():
    assert {case.name.split(" ")[0] for case in ARCHITECTURES} == set(NAMES)


def test_twenty_updates_of_sequence_to_sequence_equal_separate_runs():
    case = next(case for case in ARCHITECTURES if case.name == "seq2seq")
    networks, inputs = [case.module(seed) for seed in range(K)], case.arguments()
    stacked = _stack_modules(networks)
    together = torch.optim.Adam(stacked.parameters(), 1e-2)
    alone = [torch.optim.Adam(network.parameters(), 1e-2) for network in networks]
    for _ in range(20):
        together.zero_grad()
        outputs = stacked(*[x.unsqueeze(1) for x in inputs])
        sum(squares(outputs[:, k]) for k in range(K)).backward()
        together.step()
        for k, (network, optimizer) in enumerate(zip(networks, alone, strict=True)):
            optimizer.zero_grad()
            value = squares(network(*inputs))
            torch.testing.assert_close(squares(outputs[:, k]), value, rtol=1e-10, atol=1e-10)
            value.backward()
            optimizer.step()


@pytest.mark.parametrize("mode", ("notes", "feedback"))
@pytest.mark.parametrize("cell", ("rnn", "gru", "lstm"))
def test_variants_of_sequence_to_sequence(cell, mode):
    options = {"bidirectional": True, "layers": 2} if mode == "feedback" else {}
    nets = [
        build("seq2seq", inputs=7, outputs=6, hidden=4, cell=cell, mode=mode, seed=k, **options).double()
        for k in range(K)
    ]
    g = torch.Generator().manual_seed(0)
    inputs = torch.randint(7, (3, 5), generator=g), torch.randint(6, (3, 4), generator=g)
    assert_equals_separate(nets, inputs)
    if mode == "feedback":
        more = {"context": True, "tied": True, "padding": 0, "input_dropout": 0.3, "output_dropout": 0.2}
        nets = [
            build("seq2seq", inputs=7, outputs=6, hidden=4, cell=cell, seed=k, **options, **more).double()
            for k in range(K)
        ]
        assert_equals_separate(nets, inputs)
        more |= {"context": "mean", "word_dropout": 0.3}
        nets = [build("seq2seq", inputs=7, outputs=6, hidden=4, cell=cell, seed=k, **more).double() for k in range(K)]
        assert_equals_separate(nets, inputs)


class Odd(nn.Module):
    """A network of somebody else: its own forward, a tied weight."""

    def __init__(self, seed):
        super().__init__()
        self.first, self.norm = layers.linear(4, 4, seed=seed), nn.LayerNorm(4)
        self.second = layers.linear(4, 4, seed=seed + 100)
        self.second.weight = self.first.weight

    def forward(self, inputs):
        return self.second(torch.tanh(self.norm(self.first(inputs))))


class Counting(nn.Module):
    """Something that `vmap` cannot batch: a branch on a value."""

    def __init__(self, seed):
        super().__init__()
        self.part = layers.linear(4, 2, seed=seed)
        self.register_buffer("calls", torch.tensor(0))

    def forward(self, inputs):
        self.calls.add_(1)
        return self.part(inputs) if self.calls > 0 else inputs


class Stackable(nn.Module):
    stackable = True

    def __init__(self, seed):
        super().__init__()
        self.part = layers.linear(4, 2, seed=seed)

    def forward(self, inputs):
        return 2 * self.part(inputs)


@pytest.fixture
def vectors():
    return torch.randn(6, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def test_other_modules_are_mapped_and_tied_weights_stay_tied(vectors):
    modules = [nn.Sequential(layers.linear(4, 4, seed=k), Odd(k)).double() for k in range(K)]
    stacked = assert_equals_separate(modules, (vectors,))
    assert notes(stacked) == ("1 (Odd) is computed by vmap",)
    assert isinstance(stacked[1], _Mapped) and stacked[1].first.weight is stacked[1].second.weight
    _select_members(stacked, torch.tensor([2]))
    assert stacked[1].first.weight is stacked[1].second.weight
    torch.testing.assert_close(stacked(vectors.unsqueeze(1))[:, 0], modules[2](vectors))


def test_what_vmap_cannot_do_runs_one_by_one_and_says_so(vectors):
    modules = [Counting(k).double() for k in range(K)]
    stacked = assert_equals_separate(modules, (vectors,))
    assert len(notes(stacked)) == 1 and "the network (Counting) runs one by one, since vmap" in notes(stacked)[0]
    stacked(vectors.unsqueeze(1))
    assert stacked.calls.tolist() == [2] * K


def test_a_module_can_declare_itself_stackable(vectors):
    modules = [Stackable(k).double() for k in range(K)]
    assert notes(assert_equals_separate(modules, (vectors,))) == ()
    modules = [type("Derived", (Stackable,), {})(k).double() for k in range(K)]  # a subclass may compute otherwise
    assert notes(assert_equals_separate(modules, (vectors,))) == ("the network (Derived) is computed by vmap",)


def test_rules_hold_under_conditions_only(vectors):
    average = [nn.BatchNorm1d(4, momentum=None).double() for _ in range(K)]
    assert not _has_rule(average[0])
    assert "one by one" in notes(assert_equals_separate(average, (vectors,)))[0]
    mirrored = [nn.Conv2d(1, 2, 3, padding=1, padding_mode="reflect").double() for _ in range(K)]
    assert "vmap" in notes(assert_equals_separate(mirrored, (vectors.reshape(6, 1, 2, 2),)))[0]


def test_frozen_parts_stay_frozen():
    from lamina.training.freezing import freeze

    nets = [freeze(build("fnn", inputs=4, outputs=2, hidden=(5, 5), batch_norm=True, seed=k), 1) for k in range(K)]
    stacked = _stack_modules(nets).train()
    assert not stacked.layers[0].norm.training and stacked.layers[1].norm.training
    assert [p.requires_grad for p in stacked.parameters()] == [p.requires_grad for p in nets[0].parameters()]


def test_stacking_copies(vectors):
    modules = [layers.linear(4, 2, seed=k).double() for k in range(K)]
    before = copy.deepcopy(modules[0].state_dict())
    stacked = _stack_modules(modules)
    with torch.no_grad():
        stacked.weight.zero_()
    assert torch.equal(modules[0].weight, before["weight"])
