"""The one table of all architectures: name, place in the notes, where its classes live. Imports no torch."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Entry:
    """One architecture that `lamina.build` knows.

    Args:
        name: what the user types.
        title: what it is.
        place: the section of the notes, with the catalogue's id.
        module: the module that defines it.
        config: the name of its configuration class there.
        network: the name of its module class there.
        parameters: how many trainable numbers it has as built by default.
        options: what this name sets in the configuration.
    """

    name: str
    title: str
    place: str
    module: str
    config: str
    network: str
    parameters: int
    options: dict[str, Any] = field(default_factory=dict)


_SMALL = {"stem": "cifar", "inputs": (3, 32, 32), "outputs": 10}
_Row = tuple[str, str, int, dict[str, Any]]


def _entries(home: str, place: str, *rows: _Row) -> list[Entry]:
    """Make the rows of one class: name, title, number of parameters, and what the name sets."""
    module, network = home.split(":")
    names = f"lamina.architectures.{module}", f"{network}Config", network
    return [Entry(name, title, place, *names, parameters, options) for name, title, parameters, options in rows]


TABLE: dict[str, Entry] = {
    entry.name: entry
    for entry in (
        *_entries("perceptron:Perceptron", "§1, N1.02", ("perceptron", "perceptron, eq. (1)", 4, {"inputs": 3})),
        *_entries("logic:LogicGate", "§2, N2.09", ("logic-gate", "OR, AND and XOR with given weights", 9, {})),
        *_entries(
            "fnn:FNN",
            "§2, N2.04",
            ("fnn", "feedforward network, eq. (2)", 109386, {"inputs": 784, "outputs": 10}),
        ),
        *_entries("lenet:LeNet5", "§3, N3.07", ("lenet5", "LeNet-5 as in the notes", 61706, {})),
        *_entries("lenet:LeNet5Original", "§3, N3.07", ("lenet5-1998", "LeNet-5 as published in 1998", 60000, {})),
        *_entries(
            "alexnet:AlexNet",
            "§3.5, N3.50",
            ("alexnet", "AlexNet in one column", 62378344, {"form": "one-column"}),
            ("alexnet-2012", "AlexNet of 2012 in two groups", 60965224, {"form": "two-group"}),
            (
                "alexnet-torchvision",
                "AlexNet in torchvision's layout",
                61100840,
                {"form": "torchvision", "inputs": (3, 224, 224)},
            ),
            ("alexnet-cifar", "AlexNet with a stem for 32x32 images", 29983114, {"form": "one-column", **_SMALL}),
        ),
        *_entries(
            "dense_resnet:DenseResNet",
            "§4, N4.04",
            ("dense-resnet", "simplified ResNet, eq. (9)", 7618, {"inputs": 2, "outputs": 2}),
        ),
        *_entries(
            "ode:NeuralODE",
            "§4, N4.16",
            ("neural-ode", "Neural ODE with Euler or RK4 steps", 12, {"inputs": 2, "outputs": 2}),
        ),
        *_entries(
            "resnet:ResNet",
            "§4.2, N4.33",
            ("resnet18", "ResNet18", 11689512, {"depth": 18}),
            ("resnet34", "ResNet34", 21797672, {"depth": 34}),
            ("resnet50", "ResNet50", 25557032, {"depth": 50}),
            ("resnet18-cifar", "ResNet18 with a stem for 32x32 images", 11173962, {"depth": 18, **_SMALL}),
        ),
        *_entries(
            "resnet:CifarResNet",
            "§4.1, N4.28",
            ("cifar-resnet", "CIFAR ResNet of depth 6n+2 or 9n+2", 269722, {}),
            ("resnet164", "pre-activation ResNet-164", 1703258, {"depth": 164, "block": "preactivation"}),
            ("resnet1001", "pre-activation ResNet-1001", 10327706, {"depth": 1001, "block": "preactivation"}),
        ),
        *_entries(
            "recurrent:OneToMany",
            "§5, N5.09",
            ("one-to-many", "recurrent, one input, many outputs", 14528, {"inputs": 8, "outputs": 8}),
        ),
        *_entries(
            "recurrent:ManyToOne",
            "§5, N5.10",
            ("many-to-one", "recurrent, many inputs, one output", 14144, {"inputs": 8, "outputs": 2}),
        ),
        *_entries(
            "recurrent:ManyToMany",
            "§5, N5.12",
            ("many-to-many", "recurrent, one output for each input", 14528, {"inputs": 8, "outputs": 8}),
        ),
        *_entries(
            "seq2seq:EncoderDecoder",
            "§5, N5.11",
            ("seq2seq", "encoder and decoder", 41344, {"inputs": 32, "outputs": 32}),
        ),
    )
}
