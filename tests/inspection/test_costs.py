"""What single operations cost, by hand."""

import weakref

import torch
from torch import nn

from lamina.inspection._costs import kept_tensors, operation_flops

aten = torch.ops.aten


def test_products_take_a_multiplication_and_an_addition_each():
    a, b = torch.zeros(2, 3), torch.zeros(5, 2, 3)
    assert operation_flops(aten.mm.default, [a, a.T], a @ a.T) == 24
    assert operation_flops(aten.bmm.default, [b, b.mT], b @ b.mT) == 5 * 24
    assert operation_flops(aten.mv.default, [a, a[0]], a @ a[0]) == 12
    assert operation_flops(aten.relu.default, [a], a) == 0


def test_a_convolution_takes_its_whole_kernel_at_every_place():
    u, weight = torch.zeros(1, 1, 28, 28), torch.zeros(6, 1, 5, 5)
    arguments = [u, weight, None, [1, 1], [2, 2], [1, 1], False, [0, 0], 1]
    assert operation_flops(aten.convolution.default, arguments, torch.zeros(1, 6, 28, 28)) == 235200


def test_each_piece_of_memory_is_kept_once_and_parameters_not_at_all():
    weight, kept = torch.ones(3, requires_grad=True), []
    with kept_tensors([weight], kept.append):
        y = weight.exp()
        (y * y * weight).sum()
    assert [tensor.tolist() for tensor in kept] == [y.tolist(), (y * y).tolist()]


def test_what_was_looked_at_is_let_go():
    net, kept = nn.Sequential(nn.Linear(3, 4), nn.Sigmoid(), nn.Linear(4, 2), nn.Tanh()), []
    with kept_tensors(list(net.parameters()), lambda tensor: kept.append(tensor.numel())):
        net(torch.zeros(5, 3))
    gone = [weakref.ref(p) for p in net.parameters()]
    del net
    assert kept == [15, 20, 10] and [ref() for ref in gone] == [None] * 4
