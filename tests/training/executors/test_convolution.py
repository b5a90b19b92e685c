"""Small networks convolve by our kernels while they are trained eagerly on a CPU; what they learn does not change."""

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint

import lamina
from lamina.data.arrays import from_arrays
from lamina.kernels import convolution, native
from lamina.layers.detector import Detector
from lamina.training.executors import _convolution, _eager, choose
from lamina.training.executors._convolution import convolved
from lamina.training.executors._swapped import Swapped
from lamina.training.loop import Progress, drain

F64 = torch.float64
needs_compiler = pytest.mark.skipif(not native.works(), reason="needs g++")
PICTURES = torch.randint(256, (46, 1, 28, 28), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
DATA = from_arrays(PICTURES, torch.arange(46) % 10)


@pytest.fixture
def calls(monkeypatch):
    """The forms of all convolutions that our kernels compute."""
    found, call = [], convolution.convolved_alone

    def noted(inputs, weight, bias, form, readable):
        found.append(form)
        return call(inputs, weight, bias, form, readable)

    monkeypatch.setattr(_convolution, "convolved_alone", noted)
    return found


def trained(precision="float32", **choices):
    recipe = lamina.Recipe(lamina.Adam(1e-3), epochs=2, batch_size=8, precision=precision)
    at, net = Progress(), lamina.build("lenet5", **choices)
    runtime = lamina.Runtime("cpu", step="eager")
    drain(lamina.train(net, DATA.split(), recipe, at=at, runtime=runtime))
    return at, net


@needs_compiler
@pytest.mark.parametrize("choices", [{}, {"activation": "relu", "pooling": "max"}])
def test_a_run_learns_what_torchs_layers_learn(choices, calls, monkeypatch):
    at, net = trained("float64", **choices)
    assert len(calls) == 2 * 2 * 4  # epochs, layers, updates; checks are torch's
    assert {form.pool for form in calls} == {2} and net.features[0].weight.is_contiguous()
    monkeypatch.setattr(_eager, "convolved", lambda model: [])
    other, plain = trained("float64", **choices)
    assert len(calls) == 16
    for ours, theirs in zip(at.rows, other.rows, strict=True):
        assert ours["loss"] == pytest.approx(theirs["loss"], rel=1e-10)
        assert ours["validation_loss"] == pytest.approx(theirs["validation_loss"], rel=1e-10)
    torch.testing.assert_close(list(net.parameters()), list(plain.parameters()), rtol=1e-8, atol=1e-9)


@needs_compiler
def test_half_precision_and_a_machine_without_a_compiler_have_torchs(calls, monkeypatch):
    at, _ = trained("bfloat16")
    assert len(at.rows) > 1 and not calls
    monkeypatch.setattr(native, "works", lambda: False)
    _, net = trained()
    assert not calls and net.features[3].weight.is_contiguous(memory_format=torch.channels_last)


@needs_compiler
@pytest.mark.parametrize(("step", "format"), [("eager", torch.contiguous_format), ("compiled", torch.channels_last)])
def test_compiled_updates_keep_the_layout_that_is_fast_for_them(step, format):
    net = lamina.build("lenet5", activation="relu", pooling="max")
    choose.learner(net, lamina.task_of(DATA.split()), lamina.Recipe(batch_size=8), lamina.Runtime("cpu", step=step))
    assert net.features[3].weight.is_contiguous(memory_format=format)


CASES = [
    ((nn.Conv2d(2, 3, 3),), 1),
    ((nn.Conv2d(2, 3, 3, padding=1, bias=False), nn.Tanh()), 2),
    ((nn.Conv2d(2, 3, 3), nn.Sigmoid(), nn.MaxPool2d(3)), 3),
    ((nn.Conv2d(2, 3, 3), nn.ReLU(inplace=True), nn.MaxPool2d(2)), 3),
    ((nn.Conv2d(2, 3, 4, padding=2), Detector("scaled_tanh"), nn.AvgPool2d(2), nn.Softplus()), 3),
    ((nn.Conv2d(2, 3, 3), nn.AvgPool2d(2), nn.Tanh()), 2),
    ((nn.Conv2d(2, 3, 3), nn.Softplus(), nn.AvgPool2d(2)), 1),
    ((nn.Conv2d(2, 3, 3), nn.ReLU(), nn.MaxPool2d(2, ceil_mode=True)), 2),
    ((nn.Conv2d(2, 3, 3, stride=2), nn.ReLU()), 0),
    ((nn.Conv2d(2, 3, 3, padding="same"), nn.ReLU()), 0),
    ((nn.Conv2d(2, 3, 3, padding=1, padding_mode="reflect"), nn.ReLU()), 0),
    ((nn.Conv2d(2, 2, 3, groups=2), nn.ReLU()), 0),
    ((nn.Conv2d(2, 3, (3, 1)), nn.ReLU()), 0),
    ((nn.Conv2d(2, 17, 3), nn.ReLU()), 0),
]


@needs_compiler
@pytest.mark.parametrize(("layers", "together"), CASES, ids=range(len(CASES)))
@pytest.mark.parametrize("batch", [1, 7, 24])
def test_values_and_derivatives_are_those_of_the_layers(layers, together, batch, calls, generator):
    """Derivatives of derivatives, too: a loss may ask for them."""
    net = nn.Sequential(*layers).double()
    inputs = torch.randn(batch, 2, 9, 8, dtype=F64, generator=generator).requires_grad_()
    leaves = [inputs, *net.parameters()]

    def results():
        outputs = net(inputs)
        slopes = torch.autograd.grad(outputs.square().sum(), leaves, create_graph=True)
        if not any(slope.requires_grad for slope in slopes):
            return [outputs, *slopes]
        again = torch.autograd.grad(sum(slope.square().sum() for slope in slopes), leaves, allow_unused=True)
        once = torch.autograd.grad(net(inputs).sin().sum(), leaves)
        return [outputs, *slopes, *again, *once]

    expected = results()
    assert not calls
    with Swapped(convolved(net)):
        found = results()
    assert len(calls) == (2 if together else 0)
    assert all(1 + (form.pool > 1) + (form.activation != "identity") == together for form in calls)
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-10)
    assert "forward" not in vars(net) and bool(convolved(net)) == bool(together)


@needs_compiler
def test_inputs_without_derivatives_and_single_precision(calls, generator):
    net = nn.Sequential(nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2))
    inputs = torch.randn(32, 1, 28, 28, generator=generator)
    with Swapped(convolved(net)):
        found = net(inputs)
        with torch.no_grad():
            assert torch.equal(net(inputs), found)
    assert len(calls) == 2 and not calls[0].inputs_grad
    slopes = torch.autograd.grad(found.square().mean(), net.parameters())
    net.double()
    exact = net(inputs.double())
    torch.testing.assert_close(found.double(), exact, rtol=1e-4, atol=1e-5)
    for ours, theirs in zip(slopes, torch.autograd.grad(exact.square().mean(), net.parameters()), strict=True):
        torch.testing.assert_close(ours.double(), theirs, rtol=1e-4, atol=1e-5)


@needs_compiler
def test_the_number_of_threads_does_not_decide_about_bits(generator):
    net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.Tanh(), nn.AvgPool2d(2))
    inputs, found, threads = torch.randn(24, 1, 12, 12, generator=generator), [], torch.get_num_threads()
    try:
        for number in (1, 2):
            torch.set_num_threads(number)
            with Swapped(convolved(net)):
                outputs = net(inputs)
            found.append([outputs, *torch.autograd.grad(outputs.square().sum(), net.parameters())])
    finally:
        torch.set_num_threads(threads)
    assert all(map(torch.equal, *found))


@needs_compiler
def test_what_is_not_plain_is_torchs(calls):
    """Other numbers and other shapes get the answers, or the errors, of the layers themselves."""
    net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU())
    empty, single = torch.zeros(0, 1, 5, 5), torch.ones(1, 5, 5)
    with Swapped(convolved(net)):
        assert net(empty).shape == (0, 4, 3, 3) and torch.equal(net(single), net[1](net[0](single)))
        with pytest.raises(RuntimeError, match=r"expected input.* to have 1 channels, but got 2"):
            net(torch.zeros(1, 2, 5, 5))
        with pytest.raises(RuntimeError, match="type"):
            net(torch.zeros(1, 1, 5, 5, dtype=F64))
    assert not calls and "forward" not in vars(net)


@needs_compiler
def test_who_looks_at_a_layer_sees_what_it_computes(calls):
    net, seen = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2)), []
    handle = net[1].register_forward_hook(lambda module, given, result: seen.append(result))
    x = torch.randn(1, 1, 6, 6, generator=torch.Generator().manual_seed(0))
    with Swapped(convolved(net)):
        net(x)
        assert torch.equal(seen[0], net[0](x).relu()) and not calls
        handle.remove()
        net(x)
    assert len(seen) == 1 and len(calls) == 1


class Names(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names = [*getattr(self, "names", ()), str(func)]
        return func(*args, **kwargs or {})


@needs_compiler
def test_what_follows_operations_sees_torchs(calls):
    net, x = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU()), torch.ones(3, 2, 1, 5, 5)
    plain = net(x[0])
    with Swapped(convolved(net)):
        mapped = torch.func.vmap(net)(x)
        with Names() as names:
            net(x[0])
        leaf = x[0].requires_grad_()
        y = checkpoint(net, leaf, use_reentrant=False)
    assert not calls and "aten.convolution.default" in names.names
    torch.testing.assert_close(mapped[1], plain)
    y.square().sum().backward()  # computes again, without our kernels
    torch.testing.assert_close(leaf.grad, torch.autograd.grad(net(leaf).square().sum(), leaf)[0])


def test_a_network_with_a_large_convolution_or_on_another_device_stays_as_it_is():
    small = nn.Conv2d(1, 4, 3)
    assert not convolved(nn.Sequential(small, nn.Conv2d(4, 64, 3)))
    assert not convolved(nn.Sequential(nn.Conv2d(1, 4, 3, device="meta")))
    assert not convolved(nn.Sequential(nn.Conv2d(1, 4, 3, dtype=torch.bfloat16)))
    assert not convolved(small)  # no sequence


class Smallest(nn.MaxPool2d):
    def forward(self, inputs):
        return -super().forward(-inputs)


class Shifted(Detector):
    def forward(self, inputs):
        return super().forward(inputs) + 1


@needs_compiler
@pytest.mark.parametrize("layers", [(nn.ReLU(), Smallest(2)), (Shifted("relu"), nn.MaxPool2d(2))], ids=["pool", "act"])
def test_layers_that_derive_from_known_ones_compute_for_themselves(layers, calls, generator):
    net = nn.Sequential(nn.Conv2d(1, 4, 3), *layers)
    x = torch.randn(2, 1, 6, 6, generator=generator)
    expected = net(x)
    with Swapped(convolved(net)):
        torch.testing.assert_close(net(x), expected)
    assert len(calls) == 1 and calls[0].pool == 1


@needs_compiler
@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_layer_with_a_function_of_its_own_is_called(number, calls):
    net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2))
    net[number].forward = lambda inputs: torch.full((1, 4, 4, 4), 7.0)
    with Swapped(convolved(net)):
        assert net(torch.zeros(1, 1, 6, 6)).unique().tolist() == [7.0]
    assert not calls
