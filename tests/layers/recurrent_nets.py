"""Recurrent networks with biases away from zero, and inputs for them."""

import torch

from lamina.layers.recurrent import Recurrent

F64 = torch.float64


KINDS = [
    ("gru", {}),
    ("gru", {"reset": "after"}),
    ("lstm", {}),
    ("rnn", {}),
    ("rnn", {"activation": "relu"}),
]


KIND_NAMES = ["gru", "gru-after", "lstm", "rnn-tanh", "rnn-relu"]


def make(kind, dtype=F64, device="cpu", seed=0, **options):
    """Make a network with biases away from zero."""
    cell, own = kind
    net = Recurrent(cell, 3, 4, seed=seed, **own, **options).to(device, dtype)
    g = torch.Generator().manual_seed(seed + 1)
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=g, dtype=F64).to(parameter))
    return net


def draw(net, batch=4, time=6, start=True, seed=0):
    """Return inputs and, where asked for, an initial state, all with gradient."""
    g = torch.Generator().manual_seed(seed)
    like = next(net.parameters())
    places = net.layers * net.directions
    count = 0 if not start else 2 if net.cell == "lstm" else 1
    shapes = [(batch, time, net.input_size)] + [(places, batch, net.hidden_size)] * count
    return [torch.randn(shape, generator=g, dtype=F64).to(like).detach().requires_grad_() for shape in shapes]
