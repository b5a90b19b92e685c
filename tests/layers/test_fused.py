"""Which layers a kernel serves, and when the readable code runs."""

import contextlib

import pytest
import torch
from torch import nn
from torch.autograd import forward_ad
from torch.func import functional_call, jacfwd, jacrev, stack_module_state, vmap

from kernels import blocks, norms
from lamina.kernels.norm import recorded_kernels
from lamina.layers._fused import recurrent_layer
from lamina.layers.normalization import norm_relu, norm_relu_and_skip, normalized
from layers.recurrent_nets import KIND_NAMES, KINDS, draw, make


@pytest.mark.cuda
def test_a_hook_sees_the_parts(generator):
    made, seen = blocks.block(64, generator), []
    made.conv2.register_forward_hook(lambda *_: seen.append("conv2"))
    y = blocks.maps(generator, 4, 64, 8, 8)
    with recorded_kernels(), torch.autocast("cuda", torch.bfloat16):
        made(y)
    assert seen == ["conv2"]
    assert isinstance(made.downsample, nn.Identity)


@pytest.mark.cuda
def test_the_readable_functions_give_the_same_when_they_are_served(generator):
    u, r = (norms.draw(generator, 16, 8, 6, 6, dtype=torch.float32).cuda() for _ in range(2))
    for function in (
        norm_relu,
        normalized,
        lambda m, x: norm_relu(m, x, r),
        lambda m, x: sum(norm_relu_and_skip(m, x)),
    ):
        results = []
        for served in (False, True):
            module, leaf = nn.BatchNorm2d(8).cuda(), u.clone().requires_grad_()
            with recorded_kernels() if served else contextlib.nullcontext():
                y = function(module, leaf)
            assert ("NormRelu" in str(y.grad_fn) + str(y.grad_fn.next_functions)) == served
            y.square().sum().backward()
            results.append([y.detach(), leaf.grad, module.weight.grad, module.running_mean, module.running_var])
        norms.close(*results, 1e-4)


@pytest.mark.parametrize("kind", KINDS, ids=KIND_NAMES)
def test_a_population_takes_the_loop_and_equals_its_members(kind):
    nets = [make(kind, seed=seed, bidirectional=True) for seed in range(3)]
    params, buffers = stack_module_state(nets)
    (inputs,) = draw(nets[0], start=False)
    inputs = inputs.detach()
    stacked = vmap(lambda p, b: functional_call(nets[0], (p, b), (inputs, None, [6, 2, 4, 5]))[0])(params, buffers)
    for k, net in enumerate(nets):
        torch.testing.assert_close(stacked[k], net(inputs, lengths=[6, 2, 4, 5])[0], rtol=0, atol=1e-14)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's own, from forward mode
def test_jacobians_in_either_mode_take_the_loop():
    net = make(KINDS[0])
    u, h = (part.detach() for part in draw(net, 2, 4))

    def end(start):
        return net(u, start)[1]

    slow = torch.autograd.functional.jacobian(end, h)
    for transform in (jacrev, jacfwd):
        torch.testing.assert_close(transform(end)(h), slow, rtol=0, atol=1e-14)
    with forward_ad.dual_level():
        found = forward_ad.unpack_dual(end(forward_ad.make_dual(h, torch.ones_like(h)))).tangent
    torch.testing.assert_close(found, slow.sum((-3, -2, -1)), rtol=0, atol=1e-14)


def layer(net, inputs):
    return recurrent_layer(net, list(net.cells), inputs, [net.cells[0].initial_state(inputs[:, 0])])


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's own, from forward mode
def test_the_loop_runs_where_no_kernel_computes_the_same():
    (inputs,) = draw(make(KINDS[0]), start=False)
    assert layer(make(("rnn", {"activation": "sigmoid"})), inputs) is None
    for kind in KINDS:
        net = make(kind)
        assert layer(net, inputs) is not None
        with forward_ad.dual_level():
            assert layer(net, inputs) is None
        assert layer(net, inputs[:0]) is None
        handle = net.cells[0].register_forward_hook(lambda *_: None)
        assert layer(net, inputs) is None
        handle.remove()
        assert layer(net, inputs) is not None


@pytest.mark.parametrize("kind", KINDS, ids=KIND_NAMES)
def test_one_step_without_derivatives_copies_no_weights(kind):
    net = make(kind)
    (inputs,) = draw(net, time=1, start=False)
    served, _ = net(inputs)
    assert layer(net, inputs) is not None
    with torch.no_grad():
        assert layer(net, inputs) is None
        torch.testing.assert_close(net(inputs)[0], served.detach())


def test_a_hook_on_a_cell_sees_every_step():
    net, calls = make(KINDS[0]), []
    net.cells[0].register_forward_hook(lambda module, arguments, result: calls.append(result))
    outputs, _ = net(draw(net, time=5, start=False)[0])
    assert torch.equal(torch.stack(calls, 1), outputs)
