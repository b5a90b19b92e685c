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


def _entry(name: str, title: str, place: str, home: str, parameters: int, **options: Any) -> Entry:
    module, network = home.split(":")
    return Entry(name, title, place, f"lamina.architectures.{module}", f"{network}Config", network, parameters, options)


TABLE: dict[str, Entry] = {
    entry.name: entry
    for entry in (
        _entry("perceptron", "perceptron, eq. (1)", "§1, N1.02", "perceptron:Perceptron", 4, inputs=3),
        _entry("logic-gate", "OR, AND and XOR with given weights", "§2, N2.09", "logic:LogicGate", 9),
        _entry("fnn", "feedforward network, eq. (2)", "§2, N2.04", "fnn:FNN", 109386, inputs=784, outputs=10),
        _entry("lenet5", "LeNet-5 as in the notes", "§3, N3.07", "lenet:LeNet5", 61706),
        _entry("lenet5-1998", "LeNet-5 as published in 1998", "§3, N3.07", "lenet:LeNet5Original", 60000),
        _entry("alexnet", "AlexNet in one column", "§3.5, N3.50", "alexnet:AlexNet", 62378344, form="one-column"),
        _entry(
            "alexnet-2012",
            "AlexNet of 2012 in two groups",
            "§3.5, N3.50",
            "alexnet:AlexNet",
            60965224,
            form="two-group",
        ),
        _entry(
            "alexnet-torchvision",
            "AlexNet in torchvision's layout",
            "§3.5, N3.50",
            "alexnet:AlexNet",
            61100840,
            form="torchvision",
            inputs=(3, 224, 224),
        ),
        _entry(
            "dense-resnet",
            "simplified ResNet, eq. (9)",
            "§4, N4.04",
            "dense_resnet:DenseResNet",
            7618,
            inputs=2,
            outputs=2,
        ),
        _entry(
            "neural-ode", "Neural ODE with Euler or RK4 steps", "§4, N4.16", "ode:NeuralODE", 12, inputs=2, outputs=2
        ),
        _entry("resnet18", "ResNet18", "§4.2, N4.33", "resnet:ResNet", 11689512, depth=18),
        _entry("resnet34", "ResNet34", "§4.2, N4.33", "resnet:ResNet", 21797672, depth=34),
        _entry("resnet50", "ResNet50", "§4.2, N4.33", "resnet:ResNet", 25557032, depth=50),
        _entry(
            "resnet18-cifar",
            "ResNet18 with a stem for 32x32 images",
            "§4.2, N4.33",
            "resnet:ResNet",
            11173962,
            depth=18,
            stem="cifar",
            inputs=(3, 32, 32),
            outputs=10,
        ),
        _entry(
            "cifar-resnet",
            "CIFAR ResNet of depth 6n+2 or 9n+2",
            "§4.1, N4.28",
            "resnet:CifarResNet",
            269722,
        ),
        _entry(
            "resnet164",
            "pre-activation ResNet-164",
            "§4.1, N4.28",
            "resnet:CifarResNet",
            1703258,
            depth=164,
            block="preactivation",
        ),
        _entry(
            "resnet1001",
            "pre-activation ResNet-1001",
            "§4.1, N4.28",
            "resnet:CifarResNet",
            10327706,
            depth=1001,
            block="preactivation",
        ),
        _entry(
            "one-to-many",
            "recurrent, one input, many outputs",
            "§5, N5.09",
            "recurrent:OneToMany",
            14528,
            inputs=8,
            outputs=8,
        ),
        _entry(
            "many-to-one",
            "recurrent, many inputs, one output",
            "§5, N5.10",
            "recurrent:ManyToOne",
            14144,
            inputs=8,
            outputs=2,
        ),
        _entry(
            "many-to-many",
            "recurrent, one output for each input",
            "§5, N5.12",
            "recurrent:ManyToMany",
            14528,
            inputs=8,
            outputs=8,
        ),
        _entry("seq2seq", "encoder and decoder", "§5, N5.11", "seq2seq:EncoderDecoder", 41344, inputs=32, outputs=32),
    )
}
