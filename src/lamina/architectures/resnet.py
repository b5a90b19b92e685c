"""ResNets of original or full pre-activation blocks: ResNet-18, -34 and -50, and the thin, deep ones for CIFAR."""

from dataclasses import dataclass
from functools import partial
from typing import Any

from torch import nn

from lamina._errors import ArgumentError, at_least, choice
from lamina._types import Float, Seed, Tensor
from lamina.architectures._network import Network
from lamina.architectures._pictures import check_options, check_pictures, scaled
from lamina.functional.random import as_generator
from lamina.layers.checkpointing import run_blocks
from lamina.layers.initialized import conv2d, linear
from lamina.layers.normalization import norm_relu
from lamina.layers.shortcuts import SHORTCUTS
from lamina.layers.stages import BLOCKS, block_class, stage

_COUNTS = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 6, 3)}


@dataclass(frozen=True)
class _Plan:
    """The values in which the two families differ."""

    stem: str
    channels: int  # of the stem, before the factor `width`
    counts: tuple[int, ...]  # the number of blocks in each stage
    bottleneck: bool
    shortcut: str


@dataclass(frozen=True)
class _Config:
    inputs: tuple[int, int, int]
    outputs: int
    depth: int
    block: str = "original"
    zero_branch: bool = False
    width: float = 1.0
    initialization: str | None = None
    scale: float = 1.0
    recompute: int = 0
    mirror: bool = False

    def __post_init__(self) -> None:
        check_options(self.inputs, self.outputs, self.initialization, self.scale, self.width)
        choice("block", self.block, BLOCKS)
        at_least("recompute", self.recompute, 0)

    @property
    def plan(self) -> _Plan:
        """The stem and the stages that these choices mean."""
        raise NotImplementedError

    @property
    def channels(self) -> tuple[int, ...]:
        """The numbers of maps that leave the stages."""
        first = scaled(self.plan.channels, self.width) * (4 if self.plan.bottleneck else 1)
        return tuple(first * 2**number for number in range(len(self.plan.counts)))


@dataclass(frozen=True)
class ResNetConfig(_Config):
    """Choose the sizes and blocks of `ResNet`.

    Args:
        inputs: the shape (channels, height, width) of one picture; any height and width.
        outputs: the number of labels.
        depth: 18, 34 (two-weight blocks) or 50 (bottleneck blocks).
        block: "original" or "preactivation".
        zero_branch: whether every block starts as its shortcut.
        width: a factor on all numbers of channels.
        initialization: the rule for weights; None is He's.
        scale: the factor of that rule.
        recompute: keep only what enters every so many blocks and compute the rest again in the backward pass (less
            memory, a third more work, equal gradients); 0 keeps everything.
        mirror: whether a trained network answers with the mean of the logits of a picture and of its mirror image;
            training sees pictures as they come.
        stem: "imagenet" (7x7 convolution with stride 2 and pooling) or "cifar" (3x3 convolution).

    >>> ResNetConfig().channels
    (64, 128, 256, 512)
    """

    inputs: tuple[int, int, int] = (3, 224, 224)
    outputs: int = 1000
    depth: int = 18
    stem: str = "imagenet"

    def __post_init__(self) -> None:
        super().__post_init__()
        choice("depth", self.depth, _COUNTS)
        choice("stem", self.stem, ("imagenet", "cifar"))

    @property
    def plan(self) -> _Plan:
        """The stem and the stages that these choices mean."""
        return _Plan(self.stem, 64, _COUNTS[self.depth], bottleneck=self.depth >= 50, shortcut="projection")


@dataclass(frozen=True)
class CifarResNetConfig(_Config):
    """Choose the sizes and blocks of `CifarResNet`; what is not listed is as in `ResNetConfig`.

    Args:
        depth: the number of layers with weights: 6n+2 with two-weight blocks, 9n+2 with bottleneck blocks.
        bottleneck: whether blocks have three weights; None is the published choice: bottlenecks for depths of 9n+2
            above 110, such as 164 and 1001, else two weights.
        shortcut: "projection" or "zero-pad"; None is the published choice: zero padding for two-weight blocks,
            projections for bottlenecks.

    >>> CifarResNetConfig(depth=1001).plan.counts, CifarResNetConfig(depth=110).plan.counts
    ((111, 111, 111), (18, 18, 18))
    """

    inputs: tuple[int, int, int] = (3, 32, 32)
    outputs: int = 10
    depth: int = 20
    bottleneck: bool | None = None
    shortcut: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.shortcut is not None:
            choice("shortcut", self.shortcut, SHORTCUTS)
        weights = 9 if self.plan.bottleneck else 6
        if self.depth < weights + 2 or self.depth % weights != 2:
            raise ArgumentError(
                "`depth` must be 6n+2 (20, 32, 44, 56, 110, ...) or, with bottleneck blocks, 9n+2 (164, 1001), "
                f"got {self.depth}: three equal stages of {weights // 3}-weight blocks, a first convolution and a "
                "last dense layer have no other number of layers."
            )

    @property
    def plan(self) -> _Plan:
        """The stem and the stages that these choices mean."""
        bottleneck = self.depth > 110 and self.depth % 9 == 2 if self.bottleneck is None else self.bottleneck
        count = (self.depth - 2) // (9 if bottleneck else 6)
        shortcut = self.shortcut or ("projection" if bottleneck else "zero-pad")
        return _Plan("cifar", 16, (count,) * 3, bottleneck, shortcut)


class _ResNet(Network):
    """A stem, stages of residual blocks, global average pooling and a dense layer.

    With full pre-activation blocks the stem is a bare convolution, and a last normalization and ReLU precede the
    pooling.
    """

    leading = ("batch",)

    def __init__(self, config: _Config, *, seed: Seed = 0) -> None:
        super().__init__()
        self.config, self.mirror = config, config.mirror
        rule: dict[str, Any] = {"initialization": config.initialization or "he", "scale": config.scale}
        generator, plan, original = as_generator(seed), config.plan, config.block == "original"
        first = scaled(plan.channels, config.width)
        size, stride, padding = (7, 2, 3) if plan.stem == "imagenet" else (3, 1, 1)
        self.conv1 = conv2d(
            config.inputs[0], first, size, stride=stride, padding=padding, bias=False, seed=generator, **rule
        )
        self.bn1 = nn.BatchNorm2d(first) if original else nn.Identity()
        self.maxpool = nn.MaxPool2d(3, 2, 1) if plan.stem == "imagenet" else nn.Identity()
        make = partial(block_class(config.block, bottleneck=plan.bottleneck), shortcut=plan.shortcut, **rule)
        n_in = first
        for number, (n_out, count) in enumerate(zip(config.channels, plan.counts, strict=True), 1):
            step = 1 if number == 1 else 2
            blocks = stage(make, n_in, n_out, count, stride=step, zero_branch=config.zero_branch, seed=generator)
            self.add_module(f"layer{number}", blocks)
            n_in = n_out
        self.bn = nn.Identity() if original else nn.BatchNorm2d(n_in)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = linear(n_in, config.outputs, seed=generator, **rule)

    def forward(self, inputs: Float[Tensor, "*#batch channel height width"]) -> Float[Tensor, "*batch label"]:
        """Return the logits of a batch of pictures."""
        check_pictures(inputs, self.config.inputs, self.leading, any_size=True)
        if self.mirror and not self.training:
            return (self._logits(inputs) + self._logits(inputs.flip(-1))) / 2
        return self._logits(inputs)

    def _logits(self, inputs: Float[Tensor, "*#batch channel height width"]) -> Float[Tensor, "*batch label"]:
        y = self.conv1(inputs)
        if self.config.block == "original":
            y = norm_relu(self.bn1, y)
        y = self.maxpool(y)
        for number in range(1, len(self.config.channels) + 1):
            y = run_blocks(getattr(self, f"layer{number}"), y, self.config.recompute)
        if self.config.block == "preactivation":
            y = norm_relu(self.bn, y)
        return self.fc(self.avgpool(y).flatten(-3))


class ResNet(_ResNet):
    """Classify pictures by a stem, four stages of residual blocks, global average pooling and a dense layer.

    Block A of the notes is the stem, B to E are `layer1` to `layer4`. Depth 18 counts 17 convolutions and the dense
    layer; the three 1x1 convolutions of shortcuts make 20 convolutions. With original blocks the parts have the names
    of torchvision's resnet18, 34 and 50, and their weights load. With full pre-activation blocks the stem is a bare
    convolution, and a last normalization and ReLU precede the pooling.

    Notes: N3.32, N4.20, N4.31, N4.32, N4.33, N4.34 (§3.2, §4.1, §4.2).
    Corrects: E60, a global average pooling precedes the dense layer; shortcut convolutions are not counted in 18.
    Differs: torchvision starts from He's rule with n_out and has original blocks only.

    >>> import torch
    >>> net = ResNet(ResNetConfig((1, 32, 32), 10, width=0.125))
    >>> net(torch.zeros(2, 1, 32, 32)).shape
    torch.Size([2, 10])
    """

    stackable = True


class CifarResNet(_ResNet):
    """Classify small pictures by a 3x3 convolution, three stages of n residual blocks, pooling and a dense layer.

    Published counts at 10 labels: ResNet-20 269,722 and ResNet-110 1,727,962 (original blocks, zero-padded shortcuts),
    ResNet-164 1,703,258 and ResNet-1001 10,327,706 (pre-activation bottlenecks, projections).

    Notes: N4.20, N4.34 (§4.1, §4.2).
    Corrects: E59, ResNet-1001 is made of three-weight blocks (1001 = 9*111+2; 999 is no multiple of 6).
    Differs: He et al. (2016) also take the first shortcut behind the first activation; here the formula holds in each.

    >>> import torch
    >>> net = CifarResNet(CifarResNetConfig(depth=8))
    >>> net(torch.zeros(2, 3, 32, 32)).shape
    torch.Size([2, 10])
    """

    stackable = True
