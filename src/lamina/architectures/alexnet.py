"""AlexNet: the two-group network of 2012, the same in one column, and torchvision's narrower layout."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import nn

from lamina._errors import between, choice
from lamina._types import Float, Seed, Tensor
from lamina.architectures._network import Network
from lamina.architectures._pictures import Step, chain, check_options, check_pictures, check_size, scaled
from lamina.functional.random import as_generator
from lamina.layers.detector import Detector
from lamina.layers.dropout import Dropout
from lamina.layers.initialized import conv2d, linear
from lamina.layers.normalization import LocalResponseNorm

FORMS = ("one-column", "two-group", "torchvision")
"""The names that `AlexNetConfig.form` accepts."""

NORMALIZATIONS = ("form", "response", "batch")
"""The names that `AlexNetConfig.normalization` accepts beside None."""

_CHANNELS = {"2012": (96, 256, 384, 384, 256), "torchvision": (64, 192, 384, 256, 256)}
_STEMS = {"imagenet": (11, 4), "cifar": (5, 1)}  # kernel size and stride of convolution 1
_KERNELS, _PADDINGS = (5, 3, 3, 3), (2, 1, 1, 1)  # of convolutions 2 to 5


@dataclass(frozen=True)
class AlexNetConfig:
    """Choose the sizes and the form of `AlexNet`.

    Args:
        inputs: the shape (channels, height, width) of one picture.
        outputs: the number of labels.
        form: "one-column"; "two-group", in which convolutions 2, 4 and 5 see only the maps of their own half, as on
            the two GPUs of 2012; or "torchvision", whose weights load: fewer channels, no response normalization,
            an average pooling to 6 x 6 before the dense layers, and dropout before instead of behind them.
        dropout: the rate at which dense units are dropped while training.
        width: a factor on the numbers of channels and of dense units.
        initialization: the rule for weights; None is He's.
        scale: the factor of that rule.
        stem: the first convolution: "imagenet" (11x11 with stride 4) or "cifar" (5x5 with stride 1, for pictures of
            about 32 x 32 pixels).
        normalization: "response" (behind the ReLU of convolutions 1 and 2), "batch" (before the ReLU of all five),
            None for no normalization, or "form": response normalization, but none for torchvision.

    >>> AlexNetConfig().channels, AlexNetConfig().padding, AlexNetConfig((3, 224, 224)).padding
    ((96, 256, 384, 384, 256), 0, 2)
    """

    inputs: tuple[int, int, int] = (3, 227, 227)
    outputs: int = 1000
    form: str = "one-column"
    dropout: float = 0.5
    width: float = 1.0
    initialization: str | None = None
    scale: float = 1.0
    stem: str = "imagenet"
    normalization: str | None = "form"

    def __post_init__(self) -> None:
        check_options(self.inputs, self.outputs, self.initialization, self.scale, self.width)
        choice("form", self.form, FORMS)
        choice("stem", self.stem, _STEMS)
        if self.normalization is not None:
            choice("normalization", self.normalization, NORMALIZATIONS)
        between("dropout", self.dropout, 0, 1, open_high=True)
        check_size(self.inputs, self.steps, "enlarge the pictures or use a smaller network such as LeNet5.")

    @property
    def channels(self) -> tuple[int, ...]:
        """The numbers of maps of the five convolutions; even, so that two groups can share them."""
        return tuple(
            scaled(number, self.width, 2)
            for number in _CHANNELS["torchvision" if self.form == "torchvision" else "2012"]
        )

    @property
    def padding(self) -> int:
        """The padding of the first convolution: 2 where it keeps the size, for torchvision and for 224 x 224 pixels."""
        return 2 if self.stem == "cifar" or self.form == "torchvision" or self.inputs[1:] == (224, 224) else 0

    @property
    def normalizes(self) -> str | None:
        """The normalization that these choices mean."""
        if self.normalization != "form":
            return self.normalization
        return None if self.form == "torchvision" else "response"

    @property
    def steps(self) -> tuple[Step, ...]:
        """Kernel size, padding and stride of every convolution and pooling."""
        pool, same = (3, 0, 2), (3, 1, 1)
        size, stride = _STEMS[self.stem]
        return (size, self.padding, stride), pool, (5, 2, 1), pool, same, same, same, pool

    @property
    def flat_size(self) -> int:
        """The number of features that enter the dense layers, 9216 for 227 x 227 pixels."""
        if self.form == "torchvision":
            return self.channels[-1] * 36
        height, width = (chain(size, self.steps)[-1] for size in self.inputs[1:])
        return self.channels[-1] * height * width


class AlexNet(Network):
    """Classify pictures by five convolutions with overlapping pooling and three dense layers, with ReLU throughout.

    227 x 227 pixels become 96 maps of 55 x 55, pooled to 27 x 27, 256 of 27 x 27, pooled to 13 x 13, 384, 384 and 256
    of 13 x 13, pooled to 6 x 6, and 4096, 4096, 1000 numbers. Local response normalization (n = 5, kappa = 2,
    gamma = 1e-4, beta = 0.75) follows the ReLU of convolutions 1 and 2. 62,378,344 parameters in one column, 60,965,224
    in two groups, 61,100,840 in torchvision's layout.

    Notes: N3.32, N3.50, N3.52 (§3.2, §3.5).
    Corrects: E52, 224 x 224 pixels need a padding of 2; pooling overlaps (m = 3, s = 2).
    Differs: torchvision's alexnet is the form "torchvision" here.

    >>> net = AlexNet(AlexNetConfig((3, 67, 67), 10, width=0.05))
    >>> net(torch.zeros(2, 3, 67, 67)).shape
    torch.Size([2, 10])
    """

    stackable, leading = True, ("batch",)

    def __init__(self, config: AlexNetConfig, *, seed: Seed = 0) -> None:
        super().__init__()
        self.config = config
        start: dict[str, Any] = {
            "initialization": config.initialization or "he",
            "scale": config.scale,
            "seed": as_generator(seed),
        }
        compatible = config.form == "torchvision"
        self.features = _features(config, start)
        self.avgpool = nn.AdaptiveAvgPool2d(6) if compatible else nn.Identity()
        self.classifier = _classifier(config, start)

    def forward(self, inputs: Float[Tensor, "*#batch channel height width"]) -> Float[Tensor, "*batch label"]:
        """Return the logits of a batch of pictures."""
        check_pictures(inputs, self.config.inputs, self.leading, any_size=self.config.form == "torchvision")
        return self.classifier(self.avgpool(self.features(inputs)).flatten(-3))


def _features(config: AlexNetConfig, start: dict[str, Any]) -> nn.Sequential:
    channels, (size, stride) = config.channels, _STEMS[config.stem]
    halves = 2 if config.form == "two-group" else 1
    groups = (halves, 1, halves, halves)
    first = conv2d(config.inputs[0], channels[0], size, stride=stride, padding=config.padding, **start)
    layers: list[nn.Module] = [first]
    for number in range(5):
        if config.normalizes == "batch":
            layers.append(nn.BatchNorm2d(channels[number]))
        layers.append(Detector("relu"))
        if number < 2 and config.normalizes == "response":
            layers.append(LocalResponseNorm(5, 2.0, 1e-4, 0.75))
        if number in (0, 1, 4):
            layers.append(nn.MaxPool2d(3, 2))
        if number < 4:
            m, p, g = _KERNELS[number], _PADDINGS[number], groups[number]
            layers.append(conv2d(channels[number], channels[number + 1], m, padding=p, groups=g, **start))
    return nn.Sequential(*layers)


def _classifier(config: AlexNetConfig, start: dict[str, Any]) -> nn.Sequential:
    hidden = scaled(4096, config.width)
    widths = (config.flat_size, hidden, hidden, config.outputs)
    first, second, last = (linear(a, b, **start) for a, b in pairwise(widths))
    seed = int(torch.randint(2**31, (), generator=start["seed"], device="cpu"))
    drops = [Dropout(config.dropout, seed=seed, place=place) if config.dropout else nn.Identity() for place in range(2)]
    relus = Detector("relu"), Detector("relu")
    if config.form == "torchvision":
        return nn.Sequential(drops[0], first, relus[0], drops[1], second, relus[1], last)
    return nn.Sequential(first, relus[0], drops[0], second, relus[1], drops[1], last)
