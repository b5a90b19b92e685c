"""LeNet-5 in two forms: as the notes draw it, and as it was published in 1998."""

from collections import OrderedDict
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import nn

from lamina._errors import ArgumentError, at_least, between, choice
from lamina._types import Float, Seed, Tensor
from lamina.architectures._network import Network
from lamina.architectures._pictures import Step, chain, check_options, check_pictures, check_size, fits
from lamina.functional.activations import default_initialization
from lamina.functional.random import as_generator
from lamina.layers.detector import Detector
from lamina.layers.dropout import Dropout
from lamina.layers.initialized import conv2d, linear
from lamina.layers.partial import LENET5_TABLE, PartialConv2d
from lamina.layers.rbf import RadialBasis, digit_codes
from lamina.layers.subsampling import Subsampling


@dataclass(frozen=True)
class LeNet5Config:
    """Choose the sizes and layers of `LeNet5`.

    Args:
        inputs: the shape (channels, height, width) of one picture.
        outputs: the number of labels.
        activation: the name of the activation of all hidden layers.
        pooling: "average" or "max".
        padding: the zeros around the pictures for the first convolution and around the maps for the second; None
            stands for (2, 0), as in the notes, for (0, 0) at 32 x 32 pixels, as in 1998, and for (2, 2) at pictures
            below 12 x 12, for which (2, 0) leaves nothing.
        initialization: the rule for weights; None is Xavier, or He for the ReLU family.
        scale: the factor of that rule.
        dropout: the rate at which hidden dense units are dropped while training.

    >>> LeNet5Config().paddings, LeNet5Config((1, 32, 32)).paddings, LeNet5Config((1, 8, 8)).paddings
    ((2, 0), (0, 0), (2, 2))
    """

    inputs: tuple[int, int, int] = (1, 28, 28)
    outputs: int = 10
    activation: str = "sigmoid"
    pooling: str = "average"
    padding: tuple[int, int] | None = None
    initialization: str | None = None
    scale: float = 1.0
    dropout: float = 0.0

    def __post_init__(self) -> None:
        check_options(self.inputs, self.outputs, self.initialization, self.scale)
        default_initialization(self.activation)
        choice("pooling", self.pooling, ("average", "max"))
        between("dropout", self.dropout, 0, 1, open_high=True)
        for padding in self.padding or ():
            at_least("padding", padding, 0)
        check_size(self.inputs, _steps(self.paddings), "enlarge the pictures or set `padding`, for example to (2, 2).")

    @property
    def paddings(self) -> tuple[int, int]:
        """The padding of both convolutions."""
        if self.padding is not None:
            return self.padding
        if self.inputs[1:] == (32, 32):
            return 0, 0
        return (2, 0) if all(fits(size, _steps((2, 0))) for size in self.inputs[1:]) else (2, 2)

    @property
    def flat_size(self) -> int:
        """The number of features after the last pooling, 400 for 28 x 28 pixels."""
        height, width = (chain(size, _steps(self.paddings))[-1] for size in self.inputs[1:])
        return 16 * height * width


def _steps(paddings: tuple[int, int]) -> tuple[Step, ...]:
    return (5, paddings[0], 1), (2, 0, 2), (5, paddings[1], 1), (2, 0, 2)


class LeNet5(Network):
    """Classify pictures by (convolution, detector, pooling) twice and three dense layers.

    Convolution, detector and pooling are layers of their own in `features`, as the notes count. 28 x 28 pixels become
    6 maps of 28 x 28, of 14 x 14, 16 maps of 10 x 10, of 5 x 5, and 400, 120, 84, 10 numbers: 61,706 parameters.

    Notes: N3.07, N3.09, N3.32 (§3, §3.2).
    Corrects: E37, this is the common modern form, not the network of 1998 (see `LeNet5Original`).

    >>> net = LeNet5(LeNet5Config())
    >>> sum(p.numel() for p in net.parameters()), net(torch.zeros(2, 1, 28, 28)).shape
    (61706, torch.Size([2, 10]))
    """

    stackable, leading = True, ("batch",)

    def __init__(self, config: LeNet5Config, *, seed: Seed = 0) -> None:
        super().__init__()
        self.config = config
        generator = as_generator(seed)
        rule, scale = config.initialization or default_initialization(config.activation), config.scale
        pool, (first, second) = nn.AvgPool2d if config.pooling == "average" else nn.MaxPool2d, config.paddings
        self.features = nn.Sequential(
            conv2d(config.inputs[0], 6, 5, padding=first, initialization=rule, scale=scale, seed=generator),
            Detector(config.activation),
            pool(2),
            conv2d(6, 16, 5, padding=second, initialization=rule, scale=scale, seed=generator),
            Detector(config.activation),
            pool(2),
        )
        widths = (config.flat_size, 120, 84, config.outputs)
        dense = [linear(a, b, initialization=rule, scale=scale, seed=generator) for a, b in pairwise(widths)]
        mask_seed = int(torch.randint(2**31, (), generator=generator, device="cpu"))
        self.classifier = nn.Sequential(
            nn.Flatten(),
            dense[0],
            Detector(config.activation),
            _dropout(config.dropout, mask_seed, 0),
            dense[1],
            Detector(config.activation),
            _dropout(config.dropout, mask_seed, 1),
            dense[2],
        )

    def forward(self, inputs: Float[Tensor, "*#batch channel height width"]) -> Float[Tensor, "*batch label"]:
        """Return the logits of a batch of pictures."""
        check_pictures(inputs, self.config.inputs, self.leading)
        return self.classifier(self.features(inputs))


def _dropout(rate: float, seed: int, place: int) -> nn.Module:
    return Dropout(rate, seed=seed, place=place) if rate else nn.Identity()


@dataclass(frozen=True)
class LeNet5OriginalConfig:
    """Choose the few options that the 1998 network leaves open.

    Args:
        inputs: (1, 32, 32), or (1, 28, 28) for pictures that the network pads by 2 pixels on each side.
        outputs: 10, one for each digit code.
        background: the value of the padded pixels.
        initialization: the rule for weights; None is Xavier.
        scale: the factor of that rule.

    >>> LeNet5OriginalConfig((1, 28, 28)).padding
    2
    """

    inputs: tuple[int, int, int] = (1, 32, 32)
    outputs: int = 10
    background: float = 0.0
    initialization: str | None = None
    scale: float = 1.0

    def __post_init__(self) -> None:
        check_options(self.inputs, self.outputs, self.initialization, self.scale)
        if self.inputs not in ((1, 32, 32), (1, 28, 28)):
            raise ArgumentError(
                f"`inputs` must be (1, 32, 32), or (1, 28, 28) which is padded to it, got {self.inputs}: "
                "the network of 1998 has fixed sizes; LeNet5 takes others."
            )
        if self.outputs != 10:
            raise ArgumentError(
                f"`outputs` must be 10, got {self.outputs}: the output codes are the ten digits; "
                "LeNet5 takes other numbers of labels."
            )

    @property
    def padding(self) -> int:
        """How many pixels are added on each side."""
        return (32 - self.inputs[1]) // 2


class LeNet5Original(Network):
    """Classify digits by the network of 1998: trainable subsampling, a connection table and distances to codes.

    C1 156, S2 12, C3 1516, S4 32, C5 48,120 and F6 10,164 parameters, 60,000 in all; scaled tanh after each of them.
    The output layer has none: it measures squared distances to ten fixed bitmaps. The network returns their negatives,
    so that the largest logit is the best label, as everywhere.

    Notes: N3.07 (§3).
    Corrects: E37, the notes draw the modern form under the name of this one.
    Differs: the codes are our own bitmaps, and weights start by a rule of the notes, not uniform within 2.4/n_in.

    >>> net = LeNet5Original(LeNet5OriginalConfig())
    >>> sum(p.numel() for p in net.parameters()), net(torch.zeros(2, 1, 32, 32)).shape
    (60000, torch.Size([2, 10]))
    """

    stackable, leading = True, ("batch",)

    def __init__(self, config: LeNet5OriginalConfig, *, seed: Seed = 0) -> None:
        super().__init__()
        self.config = config
        generator, rule, scale = as_generator(seed), config.initialization or "xavier", config.scale
        self.body = nn.Sequential(
            OrderedDict(
                padding=nn.ConstantPad2d(config.padding, config.background) if config.padding else nn.Identity(),
                C1=conv2d(1, 6, 5, initialization=rule, scale=scale, seed=generator),
                C1_detector=Detector("scaled_tanh"),
                S2=Subsampling(6),
                C3=PartialConv2d(6, LENET5_TABLE, 5, initialization=rule, scale=scale, seed=generator),
                C3_detector=Detector("scaled_tanh"),
                S4=Subsampling(16),
                C5=conv2d(16, 120, 5, initialization=rule, scale=scale, seed=generator),
                C5_detector=Detector("scaled_tanh"),
                flatten=nn.Flatten(),
                F6=linear(120, 84, initialization=rule, scale=scale, seed=generator),
                F6_detector=Detector("scaled_tanh"),
            )
        )
        self.output = RadialBasis(digit_codes())

    def forward(self, inputs: Float[Tensor, "*#batch channel height width"]) -> Float[Tensor, "*batch label"]:
        """Return the logits of a batch of pictures: minus the squared distances to the codes."""
        check_pictures(inputs, self.config.inputs, self.leading)
        return self.output.logits(self.body(inputs))
