"""The conformance table: a small instance of every architecture and every layer, with inputs and a reference."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import lamina
from conformance import references
from lamina import layers


def normal(*shape: int) -> Callable[[torch.Generator], Tensor]:
    return lambda g: torch.randn(shape, generator=g, dtype=torch.float64)


def tokens(vocabulary: int, *shape: int) -> Callable[[torch.Generator], Tensor]:
    return lambda g: torch.randint(vocabulary, shape, generator=g)


@dataclass(frozen=True)
class Case:
    """One row.

    Args:
        name: what the test is called.
        make: builds the module from a seed.
        inputs: one function a forward argument.
        parameters: the number of trainable numbers, from the notes' formula; None where `TABLE` has the published one.
        reference: computes the output in evaluation from (state dict, module, inputs) without the module.
        trains: whether gradients reach the parameters (Heaviside's do not).
    """

    name: str
    make: Callable[[int], nn.Module]
    inputs: tuple[Callable[[torch.Generator], Tensor], ...]
    parameters: int | None
    reference: Callable[..., Tensor]
    trains: bool = True

    def module(self, seed: int = 0) -> nn.Module:
        return self.make(seed).double()

    def arguments(self) -> tuple[Tensor, ...]:
        generator = torch.Generator().manual_seed(7)
        return tuple(draw(generator) for draw in self.inputs)

    def __str__(self) -> str:
        return self.name


def architecture(name, arguments, parameters, reference, variant="", /, trains=True, **options) -> Case:
    def expected(state, module, *x):
        return reference(state, module.config, *x)

    return Case(
        name + variant, lambda seed: lamina.build(name, seed=seed, **options), arguments, parameters, expected, trains
    )


picture = (normal(4, 3, 32, 32),)
ARCHITECTURES = (
    architecture("perceptron", (normal(4, 3),), 4, references.perceptron, inputs=3, activation="sigmoid"),
    architecture("logic-gate", (normal(4, 2),), 9, references.logic_gate, trains=False),
    architecture(
        "fnn",
        (normal(8, 5),),
        5 * 4 + 2 * 4 + 4 * 6 + 2 * 6 + 6 * 3 + 3,
        references.fnn,
        inputs=5,
        outputs=3,
        hidden=(4, 6),
        dropout=0.2,
        batch_norm=True,
        activation="tanh",
    ),
    architecture("lenet5", (normal(2, 1, 28, 28),), 61706, references.lenet5),
    architecture("lenet5-1998", (normal(2, 1, 32, 32),), 60000, references.lenet5_1998),
    architecture(
        "alexnet", (normal(2, 3, 67, 67),), None, references.alexnet, inputs=(3, 67, 67), outputs=5, width=1 / 16
    ),
    architecture(
        "alexnet-2012", (normal(2, 3, 67, 67),), None, references.alexnet, inputs=(3, 67, 67), outputs=5, width=1 / 16
    ),
    architecture(
        "alexnet-torchvision",
        (normal(2, 3, 67, 67),),
        None,
        references.alexnet,
        inputs=(3, 67, 67),
        outputs=5,
        width=1 / 16,
    ),
    architecture("alexnet-cifar", (normal(2, 3, 32, 32),), None, references.alexnet, outputs=5, width=1 / 16),
    architecture(
        "dense-resnet",
        (normal(4, 3),),
        3 * 5 + 5 + 3 * 5 + 30 + 30 + 12,
        references.dense_resnet,
        inputs=3,
        outputs=2,
        hidden=(5, 5, 5),
        step_size="1/L",
    ),
    architecture(
        "neural-ode",
        (normal(4, 3),),
        3 * 3 + 3 + 3 * 2 + 2,
        references.neural_ode,
        inputs=3,
        outputs=2,
        steps=5,
        method="rk4",
    ),
    architecture(
        "resnet18", (normal(4, 3, 64, 64),), None, references.resnet, inputs=(3, 64, 64), outputs=5, width=1 / 16
    ),
    architecture(
        "resnet18",
        (normal(4, 3, 64, 64),),
        None,
        references.resnet,
        " preactivation",
        inputs=(3, 64, 64),
        outputs=5,
        width=1 / 16,
        block="preactivation",
    ),
    architecture(
        "resnet34", (normal(4, 3, 64, 64),), None, references.resnet, inputs=(3, 64, 64), outputs=5, width=1 / 16
    ),
    architecture(
        "resnet50", (normal(4, 3, 64, 64),), None, references.resnet, inputs=(3, 64, 64), outputs=5, width=1 / 16
    ),
    architecture("resnet18-cifar", picture, None, references.resnet, outputs=5, width=1 / 16),
    architecture("cifar-resnet", picture, None, references.resnet, depth=8, width=0.25),
    architecture(
        "cifar-resnet", picture, None, references.resnet, " preactivation", depth=8, width=0.25, block="preactivation"
    ),
    architecture("resnet164", picture, None, references.resnet, depth=20, bottleneck=True, width=0.25),
    architecture(
        "resnet1001",
        picture,
        None,
        references.resnet,
        " original",
        depth=11,
        bottleneck=True,
        width=0.25,
        block="original",
    ),
    architecture(
        "one-to-many",
        (normal(4, 3),),
        3 * (4 * 7 + 4) + 8,
        references.one_to_many,
        inputs=3,
        outputs=2,
        hidden=4,
        steps=5,
    ),
    architecture(
        "many-to-one",
        (normal(4, 6, 3),),
        688,
        references.many_to_one,
        inputs=3,
        outputs=2,
        hidden=4,
        cell="lstm",
        layers=2,
        bidirectional=True,
        dropout=0.3,
    ),
    architecture(
        "many-to-many", (normal(4, 6, 3),), 40, references.many_to_many, inputs=3, outputs=2, hidden=4, cell="rnn"
    ),
    architecture(
        "seq2seq", (tokens(7, 4, 6), tokens(6, 4, 5)), 1586, references.seq2seq, inputs=7, outputs=6, hidden=5
    ),
)


def layer(name, make, arguments, parameters, reference, **options) -> Case:
    return Case(name, make, arguments, parameters, reference, **options)


def _sums(x: Tensor, half: int) -> Tensor:
    rows = [x[:, max(0, k - half) : k + half + 1].square().sum(1) for k in range(x.shape[1])]
    return torch.stack(rows, 1)


def _patches(x: Tensor, half: int) -> Tensor:
    return F.avg_pool2d(x.square(), 2 * half + 1, 1, half) * (2 * half + 1) ** 2


def _recurrent(kind: str, state, x: Tensor, layers_: int, both: bool) -> Tensor:
    for number in range(layers_):
        cells = [f"cells.{number * (1 + both)}"] + [f"cells.{2 * number + 1}"] * both
        x = torch.cat([references._unroll(kind, state, c, x, reverse=bool(i))[0] for i, c in enumerate(cells)], -1)
    return x


def _norm(state, name: str, x: Tensor) -> Tensor:
    return references._norm(state, name, x)


def _full_affine(state, x: Tensor) -> Tensor:
    normal = (x - state["normalization.running_mean"]) / (state["normalization.running_var"] + 1e-5).sqrt()
    return normal @ state["affine.weight"].T + state["affine.bias"]


maps = (normal(4, 6, 8, 7),)
LAYERS = (
    layer(
        "true convolution",
        lambda s: layers.TrueConv2d(6, 4, 3, padding=1, stride=2, seed=s),
        maps,
        4 * (9 * 6 + 1),
        lambda s, m, x: F.conv2d(x, s["weight"].flip(-1, -2), s["bias"], stride=2, padding=1),
    ),
    layer(
        "dropout",
        lambda s: nn.Sequential(layers.linear(3, 3, seed=s), layers.Dropout(0.5, seed=s)),
        (normal(8, 3),),
        12,
        lambda s, m, x: x @ s["0.weight"].T + s["0.bias"],
    ),
    layer(
        "full affine batch norm",
        lambda s: layers.FullAffineBatchNorm(5, seed=s),
        (normal(8, 5),),
        30,
        lambda s, m, x: _full_affine(s, x),
    ),
    layer(
        "LRN between channels",
        lambda s: nn.Sequential(layers.conv2d(6, 6, 1, seed=s), layers.LocalResponseNorm(4, gamma=0.1)),
        maps,
        42,
        lambda s, m, x: (y := F.conv2d(x, s["0.weight"], s["0.bias"])) / (2 + 0.1 * _sums(y, 2)) ** 0.75,
    ),
    layer(
        "LRN within channels",
        lambda s: nn.Sequential(layers.conv2d(6, 6, 1, seed=s), layers.LocalResponseNormWithin(2, gamma=0.1)),
        maps,
        42,
        lambda s, m, x: (y := F.conv2d(x, s["0.weight"], s["0.bias"])) / (2 + 0.1 * _patches(y, 1)) ** 0.75,
    ),
    layer(
        "trainable subsampling",
        lambda s: layers.Subsampling(6),
        (normal(4, 6, 8, 8),),
        12,
        lambda s, m, x: (
            1.7159
            * torch.tanh(2 / 3 * (4 * F.avg_pool2d(x, 2) * s["weight"][:, None, None] + s["bias"][:, None, None]))
        ),
    ),
    layer(
        "partial convolution",
        lambda s: layers.PartialConv2d(3, ((0, 1), (2,)), 3, seed=s),
        (normal(4, 3, 8, 7),),
        29,
        lambda s, m, x: (
            torch.cat([F.conv2d(x[:, :2], s["weight"][None, :2]), F.conv2d(x[:, 2:], s["weight"][None, 2:])], 1)
            + s["bias"][:, None, None]
        ),
    ),
    layer(
        "radial basis",
        lambda s: nn.Sequential(layers.linear(3, 84, seed=s), layers.RadialBasis(layers.digit_codes())),
        (normal(4, 3),),
        336,
        lambda s, m, x: (((x @ s["0.weight"].T + s["0.bias"])[:, None] - s["1.codes"]) ** 2).sum(-1),
    ),
    layer(
        "simplified residual",
        lambda s: layers.SimpleResNetLayer(3, 3, "tanh", step_size="learned", initial_step_size=0.5, seed=s),
        (normal(4, 3),),
        13,
        lambda s, m, x: x + m.step_size * torch.tanh(x @ s["affine.weight"].T + s["affine.bias"]),
    ),
    layer(
        "original block",
        lambda s: layers.OriginalBlock(6, 8, stride=2, seed=s),
        maps,
        None,
        lambda s, m, x: references._block({f"b.{k}": v for k, v in s.items()}, "b", x, 2, False),
    ),
    layer(
        "preactivation block",
        lambda s: layers.PreActBlock(6, 8, stride=2, shortcut="zero-pad", seed=s),
        maps,
        None,
        lambda s, m, x: references._block({f"b.{k}": v for k, v in s.items()}, "b", x, 2, True),
    ),
    layer(
        "original bottleneck",
        lambda s: layers.OriginalBottleneck(6, 8, stride=2, seed=s),
        maps,
        None,
        lambda s, m, x: references._block({f"b.{k}": v for k, v in s.items()}, "b", x, 2, False),
    ),
    layer(
        "preactivation bottleneck",
        lambda s: layers.PreActBottleneck(6, 8, stride=2, seed=s),
        maps,
        None,
        lambda s, m, x: references._block({f"b.{k}": v for k, v in s.items()}, "b", x, 2, True),
    ),
    layer(
        "rnn",
        lambda s: layers.rnn(3, 4, layers=2, seed=s),
        (normal(4, 6, 3),),
        32 + 36,
        lambda s, m, x: _recurrent("rnn", s, x, 2, False),
    ),
    layer(
        "gru",
        lambda s: layers.gru(3, 4, bidirectional=True, seed=s),
        (normal(4, 6, 3),),
        2 * 96,
        lambda s, m, x: _recurrent("gru", s, x, 1, True),
    ),
    layer(
        "lstm",
        lambda s: layers.lstm(3, 4, layers=2, dropout=0.5, memory_bias=1.0, seed=s),
        (normal(4, 6, 3),),
        128 + 144,
        lambda s, m, x: _recurrent("lstm", s, x, 2, False),
    ),
    layer(
        "embedding",
        lambda s: layers.Embedding(5, 3, seed=s),
        (tokens(5, 4, 6),),
        15,
        lambda s, m, x: F.one_hot(x, 5).double() @ s["weight"],
    ),
    layer(
        "one-hot",
        lambda s: nn.Sequential(layers.OneHot(5), layers.linear(5, 3, seed=s)),
        (tokens(5, 4, 6),),
        18,
        lambda s, m, x: s["1.weight"].T[x] + s["1.bias"],
    ),
)
