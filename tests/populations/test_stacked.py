import copy

import pytest
import torch
from torch import nn
from torch.func import functional_call, vmap

from conformance.cases import ARCHITECTURES, LAYERS
from conformance.checks import floats, squares
from lamina import layers
from lamina._errors import ShapeError
from lamina.architectures.build import build
from lamina.architectures.fnn import FNN
from lamina.architectures.ode import NeuralODE
from lamina.architectures.table import TABLE as NAMES
from lamina.data.arrays import from_arrays
from lamina.data.preprocess import Preprocess
from lamina.data.splits import Sealed, Split
from lamina.populations._chunks import Data, _stacked_network
from lamina.populations._losses import Losses
from lamina.populations._stack import Stack, StackFeed
from lamina.populations.stacked import METHODS, TABLE, _has_rule, _Mapped, _select_members, _stack_modules, notes
from lamina.training.learner import Learner
from lamina.training.loop import Progress, drain, observed
from lamina.training.recipe import Adam, Recipe
from lamina.training.runtime import Runtime
from lamina.training.tasks.arrays import Arrays
from lamina.training.tasks.feed import Feed
from populations.separate import assert_same_history

LARGE = ("resnet34", "resnet50", "resnet164", "resnet1001", "resnet18-cifar", "alexnet-2012", "alexnet-torchvision")
CASES = [
    pytest.param(case, marks=pytest.mark.slow) if case.name.startswith(LARGE) else case
    for case in (*ARCHITECTURES, *LAYERS)
]
K = 3


def of_member(outputs, k, batch):
    """Take one member's part of an output; states have the batch second."""
    return [leaf.select(1 if leaf.shape[0] == batch else 2, k) for leaf in floats(outputs)]


def assert_equals_separate(modules, inputs, own=False, trains=True):
    """Outputs, gradients and buffers of the stack are those of separate modules."""
    stacked, batch = _stack_modules(modules), inputs[0].shape[0]
    outputs = stacked(*(inputs if own else [x.unsqueeze(1) for x in inputs]))
    separate = [module(*([x[:, k] for x in inputs] if own else inputs)) for k, module in enumerate(modules)]
    if trains:
        sum(squares(of_member(outputs, k, batch)) for k in range(len(modules))).backward()
    for k, module in enumerate(modules):
        for ours, theirs in zip(of_member(outputs, k, batch), floats(separate[k]), strict=True):
            torch.testing.assert_close(ours, theirs, rtol=1e-11, atol=1e-11)
        if trains:
            squares(separate[k]).backward()
            for (name, ours), (other, theirs) in zip(
                stacked.named_parameters(), module.named_parameters(), strict=True
            ):
                assert name == other
                torch.testing.assert_close(ours.grad[k], theirs.grad, rtol=1e-8, atol=1e-11)
        for (name, ours), (other, theirs) in zip(
            stacked.state_dict().items(), module.state_dict().items(), strict=True
        ):
            assert name == other
            torch.testing.assert_close(ours[k], theirs, rtol=1e-10, atol=1e-12)
    return stacked


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


def normal(*shape):
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


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


def test_recomputed_blocks_stack():
    nets = [build("cifar-resnet", depth=8, width=0.25, recompute=1, seed=k).double() for k in range(K)]
    assert notes(assert_equals_separate(nets, (normal(3, 3, 8, 8),))) == ()


@pytest.mark.parametrize("name", ("lenet5", "lenet5-1998", "alexnet", "resnet18", "cifar-resnet"))
def test_one_network_refuses_an_axis_of_members_and_a_stack_wants_it(name):
    net = build(name)
    pictures = torch.zeros(2, *net.config.inputs)
    with pytest.raises(
        ShapeError, match=r"each picture must have .* bring the data to \(batch, channels, height, width"
    ):
        net(pictures.unsqueeze(1))
    with pytest.raises(ShapeError, match=r"bring the data to \(batch, members, channels, height, width\)"):
        _stack_modules([net])(pictures)


def test_one_recurrent_network_refuses_an_axis_of_members_and_a_stack_wants_it():
    net, rows = build("many-to-one", inputs=3, outputs=2), torch.zeros(4, 5, 3)
    with pytest.raises(ShapeError, match=r"float of shape \[batch, time, 3\], got float32 of shape \[4, 1, 5, 3\]"):
        net(rows.unsqueeze(1))
    with pytest.raises(
        ShapeError, match=r"float of shape \[batch, members, time, 3\], got float32 of shape \[4, 5, 3\]"
    ):
        _stack_modules([net])(rows)
    with pytest.raises(ShapeError, match=r"must have the shape \[batch, time, 3\] with time at least 1"):
        net.recurrent(rows.unsqueeze(1))
    with pytest.raises(ShapeError, match=r"must have the shape \[batch, members, time, 3\] with time at least 1"):
        _stack_modules([net.recurrent])(rows)
    with pytest.raises(ShapeError, match=r"one number for each of the 4 sequences, got shape \(4, 1\)"):
        net.recurrent(rows, lengths=torch.ones(4, 1, dtype=torch.long))
    with pytest.raises(ShapeError, match=r"`state` must be one tensor h of shape \(1, 4, 64\)"):
        net.recurrent(rows, state=torch.zeros(1, 4, 1, 64))


def test_the_table_covers_every_architecture():
    assert {case.name.split(" ")[0] for case in ARCHITECTURES} == set(NAMES)


def dataset(case, outputs):
    """Make 20 examples of a case's shape, with classes, or real targets where the network gives more than a vector."""
    g = torch.Generator().manual_seed(1)
    shape = case.arguments()[0].shape[1:]
    inputs = torch.randn(20, *shape, generator=g)
    if outputs.ndim > 2:
        return from_arrays(inputs, torch.randn(20, *outputs.shape[1:], generator=g), kind="vector")
    return from_arrays(inputs, torch.arange(20) % max(2, outputs.shape[1]), kind="vector" if inputs.ndim < 4 else None,
                       classes=[str(i) for i in range(max(2, outputs.shape[1]))])  # fmt: skip


TRAINABLE = [case for case in ARCHITECTURES if case.trains and len(case.inputs) == 1]


def assert_twenty_updates(case, device, tolerance, recording=None):
    """Twenty updates of a population give the histories of separate runs on the CPU."""
    data = dataset(case, case.module()(*case.arguments()))
    split = Split(data, data, Sealed(data), "all for training")
    recipes = [Recipe(Adam(lr), epochs=4, batch_size=4, precision="float64") for lr in (1e-4, 1e-3, 3e-3)]
    networks = [case.module(seed) for seed in range(K)]
    for norm in [part.bn3 for network in networks for part in network.modules() if hasattr(part, "bn3")]:
        # As it starts, a ResNet50 turns one unit in the last place of one weight into 1e-9 of its gradients.
        norm.weight.data.mul_(0.25)
    there, here = (Data.of(Arrays(Preprocess.fit(data), split), recipes[0], Runtime(name)) for name in (device, "cpu"))
    objective = Arrays(here.preprocess, split).objective(networks[0], recipes[0])
    feed = StackFeed(there.train, recipes, there.preprocess.finisher(device))
    step = Stack(_stacked_network(networks).to(device), feed, there.validation, Losses(objective.kind), recipes,
                 recording)  # fmt: skip
    rows = [[] for _ in range(K)]
    for epoch in range(4):
        step.begin(epoch)
        for _ in range(step.batches):
            step()
        values = step.totals() | step.evaluate() | {"step": [step.step] * K}
        gradients = values.pop("gradients")
        for k in range(K):
            mine = {name: value[k] for name, value in values.items()}
            rows[k].append(mine | {"gradients": {name: norms[k] for name, norms in gradients.items()}})
    assert step.step == 20 and step.first_bad_step() == [None] * K
    for k, network in enumerate(networks):
        at = Progress()
        drain(
            observed(Learner(network, Feed(here.train, recipes[k]), here.validation, objective, recipes[k]), 4, at=at)
        )
        assert_same_history(rows[k], [{name: row[name] for name in rows[k][0]} for row in at.rows], tolerance)
    return step


QUICK = ("perceptron", "fnn", "lenet5", "lenet5-1998", "dense-resnet", "neural-ode", "cifar-resnet", "many-to-one",
         "many-to-many", "one-to-many")  # fmt: skip


@pytest.mark.parametrize(
    "case", [case if case.name in QUICK else pytest.param(case, marks=pytest.mark.slow) for case in TRAINABLE], ids=str
)
def test_twenty_updates_of_every_architecture_equal_separate_runs(case):
    assert_twenty_updates(case, "cpu", 1e-10)


@pytest.mark.cuda
@pytest.mark.parametrize("case", TRAINABLE, ids=str)
def test_twenty_captured_updates_of_every_architecture_equal_separate_runs(case):
    from lamina.training.executors.recording import Recording

    assert assert_twenty_updates(case, "cuda", 1e-6, Recording()).reason == ""


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


@pytest.mark.parametrize("own", (True, False))
@pytest.mark.parametrize("name", ("many-to-one", "many-to-many"))
@pytest.mark.parametrize("pooling", ("last", "mean", "max"))
def test_padded_words_and_dropout_around_cells(name, own, pooling):
    more = {"embedding": 3, "padding": 0, "input_dropout": 0.3, "output_dropout": 0.2, "bidirectional": True}
    if pooling != "last":
        more |= {"word_dropout": 0.4, **({"pooling": pooling} if name == "many-to-one" else {})}
    nets = [build(name, inputs=5, outputs=2, hidden=4, seed=k, **more).double() for k in range(K)]
    words = torch.tensor([[1, 2, 3, 4], [3, 2, 0, 0], [4, 0, 0, 0]])
    inputs = torch.stack([words.roll(k, 0) for k in range(K)], 1) if own else words
    assert_equals_separate(nets, (inputs,), own=own)


@pytest.mark.parametrize("feedback", (True, False))
def test_one_to_many_with_and_without_feedback(feedback):
    nets = [
        build("one-to-many", inputs=3, outputs=3, hidden=4, steps=4, feedback=feedback, seed=k).double()
        for k in range(K)
    ]
    assert_equals_separate(nets, (torch.randn(4, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0)),))


@pytest.mark.parametrize("reset", ("before", "after"))
def test_lengths_and_resets_of_gated_units(reset):
    modules = [layers.gru(3, 4, bidirectional=True, reset=reset, seed=k).double() for k in range(K)]
    inputs = torch.randn(4, 6, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    stacked = _stack_modules(modules)
    lengths = [6, 2, 4, 1]
    outputs, state = stacked(inputs.unsqueeze(1), lengths=lengths)
    for k, module in enumerate(modules):
        expected, last = module(inputs, lengths=lengths)
        torch.testing.assert_close(outputs[:, k], expected)
        torch.testing.assert_close(state[:, :, k], last)
    single = stacked.cells[0](inputs[:, :1])
    torch.testing.assert_close(single[:, 1], modules[1].cells[0](inputs[:, 0]))


@pytest.mark.parametrize("cell", ("rnn", "gru", "lstm"))
def test_without_a_compiled_step_cells_advance_one_by_one(cell, monkeypatch):
    modules = [layers.Recurrent(cell, 3, 4, layers=2, bidirectional=True, seed=k).double() for k in range(K)]
    inputs, lengths = normal(4, 6, 3), torch.tensor([6, 2, 4, 1])
    results = []
    for compiled in (True, False):
        stacked = _stack_modules(modules)
        with monkeypatch.context() as patch:
            if not compiled:
                patch.setattr("lamina.populations._sequences.can_scan", lambda *_: False)
            outputs = stacked(inputs.unsqueeze(1), lengths=lengths)
        sum(squares(of_member(outputs, k, 4)) for k in range(K)).backward()
        results.append([*floats(outputs), *(p.grad for p in stacked.parameters())])
    torch.testing.assert_close(*results, rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(results[1][0][:, 1], modules[1](inputs, lengths=lengths)[0], rtol=1e-10, atol=1e-12)


def test_residual_layers_with_projection_outer_weight_and_learned_steps():
    inputs = (torch.randn(5, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0)),)
    for options in ({"projection": "zero-pad"}, {"outer": True, "step_size": "learned"}, {"dropout": 0.4}):
        nets = [build("dense-resnet", inputs=3, outputs=2, hidden=(5, 5), seed=k, **options).double() for k in range(K)]
        assert_equals_separate(nets, inputs)
    for options in ({"knots": 3, "width": 4}, {"width": 4, "projection": "zero-pad", "method": "rk4"}):
        nets = [build("neural-ode", inputs=3, outputs=2, seed=k, **options).double() for k in range(K)]
        assert_equals_separate(nets, inputs)
    for block in (layers.DenseOriginalBlock, layers.DensePreActBlock):
        assert_equals_separate([block(3, seed=k).double() for k in range(K)], inputs)


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
